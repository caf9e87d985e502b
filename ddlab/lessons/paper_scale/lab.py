"""The laboratory of protocols: the images stay as they are, and their students are trained otherwise.

    ProtocolLab(data, replication.sets, printed=(89.7, 0.6, 5))

Every protocol that was tried keeps its row, so that several of them can be compared with the
printed number at once.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import networks
from ...core import Parameters, errors, parameter
from ...data import ImageData
from ...distilled import DistilledSet
from ...explorers import Chart, Lab, Named, Quest, Results, Strip, Value
from ...explorers.ready import MethodWorld, Watch
from ...figures import encode_grid, tried_settings
from ...figures.theme import faint, neutral
from ...training import supervised

EPOCHS = (25, 50, 60, 75, 101, 125, 150, 200, 301)
WIDTHS = (16, 32, 64)
CLOSE_ENOUGH = 0.5  # points: what counts as reaching a printed number
_ROWS = 6  # protocols on the chart, the newest ones
_CELL = 30  # pixels of an image in the strip
_HEIGHT = 340


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """How the students of the two sets are trained; nothing here touches an image."""

    epochs: int = parameter(50, choices=EPOCHS, explorable=True, help="Of each student's training.")
    width: int = parameter(
        32, choices=WIDTHS, explorable=True, help="Channels in each block of the ConvNet."
    )
    views: str = parameter(
        "DSA's",
        choices=("DSA's", "none"),
        explorable=True,
        help="Whether a student sees its images cropped, scaled, turned and recoloured.",
    )
    students: int = parameter(
        2, range=(1, 5), explorable=(1, 5), help="How many students each set gets."
    )
    seed: int = parameter(0, range=(0, None), explorable=(0, 9), help="Of the first student.")

    @property
    def protocol(self) -> tuple[int, int, str]:
        """What a student is trained by; how many there are is no part of it."""
        return self.epochs, self.width, self.views

    @property
    def label(self) -> str:
        """The protocol in a few words, for a row of the chart."""
        views = "views" if self.views == "DSA's" else "no views"
        return f"{self.epochs} epochs, width {self.width}, {views}"


class World(MethodWorld):
    """Two or more distilled sets, and a printed number to compare their students with.

    Args:
        data: where the students are tested.
        sets: distilled sets, made by one method.
        printed: mean and deviation in percent as printed, and over how many sets.
        device: of the students.

    Raises:
        DDLabError: fewer than two sets, whose mean has no error, or a printed number without one.
    """

    method = supervised
    settings = Settings
    first = supervised.Config.paper("mnist", recipe="dsa")

    def __init__(
        self,
        data: ImageData,
        sets: Sequence[DistilledSet],
        *,
        printed: tuple[float, float, int],
        device: torch.device | str = "auto",
    ) -> None:
        self.sets = tuple(errors.check_instance("sets", sets, (list, tuple), "a list of sets"))
        for number, image_set in enumerate(self.sets):
            errors.check_instance(f"sets[{number}]", image_set, DistilledSet)
        if len(self.sets) < 2:
            errors.fail("sets", "at least two, or their mean has no error", len(self.sets))
        if not isinstance(printed, tuple) or len(printed) != 3:
            errors.fail("printed", "(mean, deviation, number of sets)", printed)
        self.printed = errors.check_number("printed[0]", printed[0], 0, 100)
        deviation = errors.check_number("printed[1]", printed[1], 0)
        self.printed_error = deviation / math.sqrt(
            errors.check_integer("printed[2]", printed[2], 1)
        )
        super().__init__(data, device=device)

    def started(self, config: supervised.Config) -> Settings:
        """Return the first settings, a training that is clearly too short."""
        return Settings()

    def student(
        self, number: int, protocol: tuple[int, int, str], seed: int, *, watch: Watch
    ) -> float:
        """Return the test accuracy in percent of one student of set `number`."""
        epochs, width, views = protocol
        network = networks.spec("convnet", width=width, norm="instance")
        config = self.first.replace(epochs=epochs, network=network, seed=seed)
        if views == "none":
            config = config.replace(strategy="")
        (accuracy,) = self.taught(self.sets[number], [config], watch)
        return 100 * accuracy

    def students(self, settings: Settings) -> list[list[Value]]:
        """List the students of each set."""
        seeds = range(settings.seed, settings.seed + settings.students)
        values = []
        for number in range(len(self.sets)):
            values.append([Value(self.student, number, settings.protocol, seed) for seed in seeds])
        return values


@dataclass(frozen=True)
class Tried:
    """A protocol whose students are all there.

    Attributes:
        settings: whose students they are.
        sets: percent of each student of each set.
    """

    settings: Settings
    sets: tuple[tuple[float, ...], ...]

    @property
    def label(self) -> str:
        """The name of its row."""
        return self.settings.label

    @property
    def means(self) -> list[float]:
        """The mean of each set."""
        return [statistics.fmean(students) for students in self.sets]

    @property
    def mean(self) -> float:
        """The mean over sets, in percent."""
        return statistics.fmean(self.means)

    @property
    def error(self) -> float:
        """The standard error of this mean: sets are repeated, students of one set are not."""
        return statistics.stdev(self.means) / math.sqrt(len(self.means))


def z_score(tried: Tried, printed: float, printed_error: float) -> float:
    """Return the difference from a printed number, in standard errors of both."""
    standard_error = math.hypot(tried.error, printed_error)
    return (
        (tried.mean - printed) / standard_error
        if standard_error
        else math.copysign(math.inf, tried.mean - printed)
    )


def list_jobs(world: World, settings: Settings, run: Any) -> list[Value]:
    """List the students seed by seed: after each round every set has as many."""
    jobs = []
    # Seed by seed, so that an interrupt leaves sets that can be compared.
    for students_of_seed in zip(*world.students(settings), strict=True):
        jobs.extend(students_of_seed)
    return jobs


def tried_protocols(world: World, settings: Settings, results: Results) -> tuple[Tried, ...]:
    """Return the protocols whose students are all there, the newest first, each once."""
    tried: dict[str, Tried] = {}
    for past in results.past:
        accuracies = [tuple(map(results, students)) for students in world.students(past)]
        # The newest settings come first, so a protocol shows the number of students asked for
        # last.
        if past.label not in tried and not any(None in row for row in accuracies):
            tried[past.label] = Tried(past, tuple(accuracies))
    return tuple(tried.values())


def strip_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return what is drawn once: the sets."""
    return (world,)


def strip(world: World) -> tuple[bytes, str]:
    """Draw one image of each class of each set, a row for each set."""
    rows: list[Tensor] = []
    for image_set in world.sets:
        first = [
            int((image_set.labels == label).nonzero()[0]) for label in range(image_set.classes)
        ]
        rows.append(image_set.to_uint8()[first])
    names = [f"set {number}" for number in range(1, len(rows) + 1)]
    alt = f"{len(rows)} distilled sets, an image of each class; they never change here."
    return encode_grid(torch.cat(rows), len(rows[0]), cell=_CELL, row_labels=names, gap=3), alt


def chart_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the protocols tried so far, the one on show, and the printed number."""
    return {
        "tried": results.shared[:_ROWS],
        "on_show": settings.label,
        "printed": world.printed,
        "printed_error": world.printed_error,
    }


def chart(
    tried: tuple[Tried, ...], on_show: str, printed: float, printed_error: float
) -> go.Figure:
    """Draw a row for each protocol: its students by set, the mean over sets, the printed line."""
    labels = [on_show, *(row.label for row in tried if row.label != on_show)]
    sets = range(len(tried[0].sets) if tried else 0)
    arms = {
        f"set {number + 1}": {row.label: row.sets[number] for row in tried} for number in sets
    } | {"mean over sets": {row.label: [row.mean] for row in tried}}
    means = {row.label: row.mean for row in tried}
    figure = tried_settings(
        arms,
        on_show=(on_show, means[on_show]) if on_show in means else None,
        title="The same images under every protocol",
        x_label="test accuracy (%)",
        y_label="protocol",
        stops={label: label for label in labels},
        limits=(printed - 2, printed + 2),
        percent=False,
        across=True,
        lines=False,
        height=_HEIGHT,
    )
    band = faint(neutral("quiet"), 0.25)
    figure.add_vrect(
        x0=printed - printed_error, x1=printed + printed_error, fillcolor=band, line_width=0
    )
    figure.add_vline(x=printed, line={"color": neutral("quiet"), "dash": "dash"})
    return figure.add_annotation(
        x=printed, y=1, yref="paper", yanchor="bottom", text=f"printed {printed:g}", showarrow=False
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what the students on show reach, and how far that is from the printed number."""
    on_show = next((row for row in results.shared if row.settings == settings), None)
    if on_show is None:
        return f"{settings.label}: students are being trained."
    difference = on_show.mean - world.printed
    z = z_score(on_show, world.printed, world.printed_error)
    of_sets = ", ".join(f"{mean:.1f}" for mean in on_show.means)
    return (
        f"{settings.label}, {settings.students} student{'s' * (settings.students > 1)} of each set: "
        f"{on_show.mean:.1f}% (sets {of_sets}), {difference:+.1f} points from the printed "
        f"{world.printed:g}, z = {z:+.1f} (with {len(on_show.sets)} sets, ask for 4)."
    )


def reached_twice(world: World, settings: Settings, results: Results) -> bool:
    """Return whether students of both widths have come within half a point of the printed number."""
    close = [row for row in results.shared if abs(row.mean - world.printed) <= CLOSE_ENOUGH]
    return {WIDTHS[0], WIDTHS[-1]} <= {row.settings.width for row in close}


ProtocolLab = Lab(
    "The same images: which protocol reaches the printed number?",
    World,
    controls=("epochs", "width", "views", "students"),
    pairs=[("width", "epochs")],
    folded=("seed",),
    jobs=list_jobs,
    opens_with=4,
    shared=tried_protocols,
    job_words=lambda world, job: "students",
    views=[
        Strip(strip_data, strip),
        Chart(chart_data, chart, ghosts=False, tried=("epochs", "width", "views", "students")),
    ],
    sentence=sentence,
    quest=Quest(
        f"Reach the printed number, within {CLOSE_ENOUGH} points, once with width {WIDTHS[0]} and "
        f"once with width {WIDTHS[-1]}.",
        reached_twice,
        solution=[("width", 16), ("epochs", 125), ("width", 64), ("epochs", 60)],
    ),
)
