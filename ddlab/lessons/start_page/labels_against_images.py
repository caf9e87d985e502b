"""Labels against images: swap the images and the kind of labels, and watch a student learn from
them.

LabelsAgainstImages(data, teacher, {"real": a, "noise": b, "recovered": c})     # two or more distilled sets of the same size

One image and three of its views stand beside what the student is told of each. A choice trains a
student (a second or two), whose accuracy is drawn while it learns. Curves stay for comparison.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import networks
from ...core import errors
from ...core.errors import DDLabError
from ...core.parameters import Parameters, narrowed, parameter
from ...data import ImageData
from ...distilled import DistilledSet
from ...explorers.lab import Lab, Results
from ...explorers.lines import Quest
from ...explorers.ready import MethodWorld
from ...explorers.views import Chart, Row, Strip
from ...figures import cell_table, encode_grid, loss_curves
from ...figures.theme import finish_figure, legend_beside, literal, series_style, start_figure
from ...networks import Network
from ...runs import Keep, Run
from ...runs.inputs import Inputs
from ...training import losses, supervised

LABELS = ("hard", "stored", "online")
_LOOKS = 15  # how often a student is tested while it learns
_VIEWS = 3  # of the image on show
_CURVES = 5  # beside each other, the last ones
_HEIGHT = 228  # of the plots
# Of the quest; other seeds of students with class numbers give .64 to .67, ten real digits.
_POINTS = 0.15


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """What the student is given."""

    images: str = parameter("", help="What the student sees.")
    labels: str = parameter(
        "hard", choices=LABELS, help="What the student is told.", explorable=True
    )
    picture: int = parameter(0, range=(0, None), help="Which image is on show.", explorable=(0, 49))
    seed: int = parameter(
        0, range=(0, 9), help="Of the student's weights and views.", explorable=(0, 9)
    )

    def words(self, form: str) -> str:
        """Write the settings in a form such as "{images} images, {labels} labels".

        The seed is named where it is not 0.
        """
        return form.format(images=self.images, labels=self.labels) + (
            f", seed {self.seed}" if self.seed else ""
        )


class World(MethodWorld):
    """Sets of images, a teacher that labels them, and the students that have learned from them.

    Args:
        data: where students are tested.
        teacher: gives stored and online labels.
        sets: name -> distilled set, shown in this order: at least two, of the same size, with
            stored labels.
        config: how students are trained; default `supervised.Config.teaching()`.

    Raises:
        DDLabError: sets that are too few, not distilled sets, or not of one size.
    """

    method = supervised
    settings = Settings
    first = supervised.Config.teaching()

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        sets: Mapping[str, DistilledSet],
        config: supervised.Config | None = None,
    ) -> None:
        errors.check_instance("data", data, ImageData)
        self.sets = _checked(sets)
        super().__init__(data, config)
        self.teacher = teacher
        self.student = self.first if config is None else config
        # Five hundred images are enough for a curve and keep the looks cheap.
        self._test = data.normalised(slice(0, 500), "test"), data.test_labels[:500]
        # Runs by their settings, in the order in which they were first on show.
        self._shown: dict[Settings, Run] = {}
        self._learned: dict[Settings, Run] = {}

    def started(self, config: supervised.Config) -> Settings:
        """Return the first settings: the student of this config, on the first of the sets."""
        return narrowed(Settings, images=tuple(self.sets))(seed=config.seed)

    def config(self, settings: Settings) -> supervised.Config:
        """Return the config of a student with these labels and this seed."""
        return self.student.replace(labels=settings.labels, seed=settings.seed)

    def run(self, settings: Settings) -> Run:
        """Return a student's training; its frames hold its test accuracy."""
        # Looked up first, because every drawing asks for it.
        if settings not in self._shown:
            inputs = Inputs(distilled=self.sets[settings.images], teachers=(self.teacher,))
            self._shown.setdefault(settings, self.of(self.config(settings), inputs))
        return self._shown[settings]

    def keep(self, config: supervised.Config) -> Keep:
        """Return the steps at which a student is tested: not the first, and always the last."""
        total = config.epochs * config.steps_per_epoch(len(next(iter(self.sets.values()))))
        between = max(1, total // _LOOKS)
        return Keep((*range(between, total, between), total), self.frame)

    def learned(self) -> dict[Settings, Run]:
        """Return the students that have learned, in the order in which they were done."""
        self._learned |= {
            run_settings: run for run_settings, run in list(self._shown.items()) if run.complete
        }
        return self._learned

    def frame(
        self, config: supervised.Config, inputs: Inputs, state: supervised.State, trace: Any
    ) -> float:
        """Return what is kept of a step: the student's accuracy on some test images."""
        images, labels = self._test
        student = Network(spec=config.network.for_data(self.data), weights=state.weights)
        return float((networks.predict(student, images).logits.argmax(1) == labels).float().mean())


def views(world: World, settings: Settings) -> tuple[Tensor, Tensor, Tensor]:
    """Return the image on show with three of its views [4, c, h, w], their targets [3, classes],
    its class. Views and targets are those that a student gets.
    """
    chosen = world.sets[settings.images]
    config = world.config(settings)
    at = settings.picture % len(chosen)
    labels_told = list[Tensor]()
    pictures = [chosen.images[settings.picture % len(chosen)]]
    for step in range(_VIEWS):
        view = config.view(chosen.images, mean=world.data.mean, std=world.data.std, step=step)
        pictures.append(view.images[at])
        if settings.labels == "online":
            labels_told.append(
                losses.soft_targets(
                    networks.predict(world.teacher, view.images).logits, config.temperature
                )[at]
            )
            continue
        labels = torch.nn.functional.one_hot(chosen.labels, chosen.classes).float()
        if settings.labels == "stored":
            labels = losses.soft_targets(
                networks.predict(world.teacher, chosen.images).logits, config.temperature
            )
        labels_told.append(view.share * labels[at] + (1 - view.share) * labels[view.partner[at]])
    return torch.stack(pictures), torch.stack(labels_told), chosen.labels[at]


def told_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return what decides the views and the labels."""
    return world, settings


def strip(world: World, settings: Settings) -> tuple[bytes, str]:
    """Return the image on show, and its views."""
    pictures, _, label = views(world, settings)
    names = ["image", *(f"view {number}" for number in range(1, len(pictures)))]
    scale = max(1, round(88 / pictures.shape[-1]))
    encoded = encode_grid(
        world.data.to_uint8(pictures), len(pictures), scale, column_labels=names, gap=6
    )
    return (
        encoded,
        f"A {settings.images} image of {world.data.class_names[int(label)]}, and three views "
        "of it.",
    )


def label_bars(world: World, settings: Settings) -> go.Figure:
    """Draw the target that a student gets for each of the views."""
    names = world.data.class_names
    (_, labels_told, _) = views(world, settings)
    words = {
        "hard": "class numbers",
        "stored": "the teacher's answer, stored",
        "online": "the teacher's answer to each view",
    }
    figure = start_figure(
        title=f"Told: {words[settings.labels]}", x_label="share", y_label="class", height=_HEIGHT
    )
    for number, row in enumerate(labels_told):
        style = series_style(number)
        class_labels = [literal(name) for name in names]
        figure.add_bar(
            y=class_labels,
            x=row.tolist(),
            name=f"view {number + 1}",
            orientation="h",
            marker_color=style.colour,
        )
    figure.update_xaxes(range=[0, 1]).update_yaxes(autorange="reversed", title="", dtick=1)
    clauses = []
    for n, row in enumerate(labels_told, 1):
        clauses.append(f"view {n}: {names[int(row.argmax())]} {float(row.max()):.0%}")
    sure = ", ".join(clauses)
    return finish_figure(legend_beside(figure), alt=f"What is told most of each view: {sure}.")


def curve_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the accuracies of the last students, so far.

    That of the student on show comes last and is never the one left out.
    """
    runs = {
        run_settings: run
        for run_settings, run in world.learned().items()
        if run_settings != settings
    } | {settings: world.run(settings)}
    frames_by_name = {}
    for run_settings, run in runs.items():
        if run.frames:
            frames_by_name[run_settings.words("{images}, {labels}")] = run.frames
    curves = []
    for name, frames in list(frames_by_name.items())[-_CURVES:]:
        curves.append((name, tuple((frame.step, frame.content) for frame in frames)))
    return tuple(curves)


def curves(*curve_points: tuple[str, tuple[tuple[int, float], ...]]) -> go.Figure:
    """Return the accuracy while students learn."""
    accuracies = {}
    steps: list[int] = []
    for name, looks in curve_points:
        accuracies[name] = np.array([accuracy for _, accuracy in looks])
        if len(looks) > len(steps):
            steps = [step for step, _ in looks]
    return loss_curves(
        accuracies,
        np.array(steps),
        title="The student on test images",
        x_label="training step",
        y_label="test accuracy (fraction)",
        height=_HEIGHT,
    )


def table_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the last accuracy of each kind of images and labels; None where none is known."""
    accuracy_by_pair = {}
    for run_settings, run in world.learned().items():
        accuracy_by_pair[(run_settings.images, run_settings.labels)] = run.frames[-1].content
    rows = []
    for images in world.sets:
        rows.append((images, tuple(accuracy_by_pair.get((images, labels)) for labels in LABELS)))
    return tuple(rows)


def accuracy_table(*rows: tuple[str, tuple[float | None, ...]]) -> go.Figure:
    """Test accuracy of each kind of images and labels."""
    cells = []
    for _, row in rows:
        cells.append([math.nan if accuracy is None else accuracy for accuracy in row])
    return cell_table(
        cells,
        LABELS,
        tuple(images for images, _ in rows),
        title="Test accuracy so far",
        x_label="kind of labels",
        y_label="kind of images",
        empty="not tried",
        height=_HEIGHT,
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say where the student ends, and the best so far."""
    title = settings.words("{images} images, {labels} labels")
    learned = world.learned()
    if settings not in learned:
        return f"A student learns from {title} ..."
    final_accuracies = {}
    for run_settings, run in learned.items():
        final_accuracies[run_settings.words("{images} images, {labels} labels")] = run.frames[
            -1
        ].content
    best = max(final_accuracies, key=lambda run_settings: final_accuracies[run_settings])
    return (
        f"From {title}: the student ends at {final_accuracies[title]:.0%} of the test images. Best so far: "
        f"{best}, {final_accuracies[best]:.0%}."
    )


def labels_alone_help(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the student on show is `_POINTS` better than one with class numbers.

    Images and seed are the same.
    """
    learned = world.learned()
    pair = []
    for compared_settings in (settings, settings.replace(labels="hard")):
        if compared_settings in learned:
            pair.append(learned[compared_settings].frames[-1].content)
    return len(pair) == 2 and pair[0] - pair[1] >= _POINTS


def _checked(sets: Any) -> dict[str, DistilledSet]:
    if (
        not isinstance(sets, Mapping)
        or len(sets) < 2
        or not all(isinstance(name, str) and name for name in sets)
    ):
        names_given = list(sets) if isinstance(sets, Mapping) else sets
        errors.fail("sets", "a mapping of at least two names to distilled sets", names_given)
    for name, images in sets.items():
        errors.check_instance(f"sets[{name!r}]", images, DistilledSet)
    sizes = {name: len(images) for name, images in sets.items()}
    if len(set(sizes.values())) > 1:
        numbers = ", ".join(f"{name!r} of {size}" for name, size in sizes.items())
        raise DDLabError(
            "sets must be of the same size, so that images are compared at equal budget; "
            f"given {numbers}."
        )
    return dict(sets)


LabelsAgainstImages = Lab(
    "Labels or images: what does the student learn from?",
    World,
    controls=("images", "labels", "picture"),
    folded=("seed",),
    stops=lambda world: {"picture": (0, len(next(iter(world.sets.values()))) - 1)},
    jobs=lambda world, settings, run: [world.run(settings)],
    opens_with=1,
    job_words=lambda world, run: "student",
    views=[
        Row(Strip(told_data, strip), Chart(told_data, label_bars)),
        Row(Chart(curve_data, curves), Chart(table_data, accuracy_table)),
    ],
    sentence=sentence,
    quest=Quest(
        "Without changing images or seed, raise the student by 15 points.", labels_alone_help
    ),
)
