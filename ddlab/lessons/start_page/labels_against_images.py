"""Labels against images: swap the images and the kind of labels, and watch a student learn from
them.

LabelsAgainstImages(data, teacher, {"real": a, "noise": b, "recovered": c})     # two or more distilled sets of the same size

One image and one of its views stand beside the target of this view. A choice of images or labels
trains a student (a second or two), whose accuracy joins a table. Curves stay for comparison.
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
from ...core import DDLabError, Parameters, errors, narrow, parameter
from ...data import ImageData
from ...distilled import DistilledSet
from ...explorers import Chart, Lab, Named, Quest, Results, Row, Strip, Tabs
from ...explorers.ready import MethodWorld
from ...figures import (
    cell_table,
    encode_grid,
    finish_figure,
    loss_curves,
    series_style,
    start_figure,
)
from ...figures.theme import literal
from ...networks import Network
from ...runs import Inputs, Keep, Run
from ...training import losses, supervised

LABELS = ("hard", "stored", "online")
_LOOKS = 15  # how often a student is tested while it learns
_MOST_VIEWS = 12  # of the image on show
_HEIGHT = 226  # of the target's plot, in pixels
_RESULTS_HEIGHT = 286  # of the plots that carry the conclusion
# Of accuracy that labels must add, and the sets for which they must: the quest.
_POINTS = 0.10
_RAISED_SETS = 2
_LEAST_WRITTEN = 0.03  # share of a target that is written beside its bar


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """What the student is given."""

    images: str = parameter("", help="The images that the student trains on.")
    labels: str = parameter(
        "hard", choices=LABELS, help="The targets that the student learns.", explorable=True
    )
    view: int = parameter(
        1, range=(1, _MOST_VIEWS), help="Which view is on show.", explorable=(1, _MOST_VIEWS)
    )
    picture: int = parameter(0, range=(0, None), help="Which image is on show.", explorable=(0, 49))
    seed: int = parameter(
        0, range=(0, 9), help="Of the student's weights and views.", explorable=(0, 9)
    )

    @property
    def student(self) -> "Settings":
        """The part that decides a student: which picture and view are on show does not."""
        return self.replace(view=1, picture=0)

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
        # A drawing asks for the same runs again and again.
        self._runs_by_student: dict[Settings, Run] = {}

    def started(self, config: supervised.Config) -> Settings:
        """Return the first settings: the student of this config, on the first of the sets."""
        return narrow(Settings, images=tuple(self.sets))(seed=config.seed)

    def config(self, settings: Settings) -> supervised.Config:
        """Return the config of a student with these labels and this seed."""
        return self.student.replace(labels=settings.labels, seed=settings.seed)

    def run(self, settings: Settings) -> Run:
        """Return a student's training; its frames hold its test accuracy."""
        student = settings.student
        if student not in self._runs_by_student:
            inputs = Inputs(distilled=self.sets[student.images], teachers=(self.teacher,))
            self._runs_by_student[student] = self.of(self.config(student), inputs)
        return self._runs_by_student[student]

    def keep(self, config: supervised.Config) -> Keep:
        """Return the steps at which a student is tested: not the first, and always the last."""
        total = config.epochs * config.steps_per_epoch(len(next(iter(self.sets.values()))))
        between = max(1, total // _LOOKS)
        return Keep((*range(between, total, between), total), self.frame)

    def learned(self, results: Results) -> dict[Settings, Run]:
        """Return the students that a reader chose and that have learned, the oldest choice first."""
        runs = {past.student: self.run(past) for past in reversed(results.past)}
        return {student: run for student, run in runs.items() if run.complete}

    def frame(
        self, config: supervised.Config, inputs: Inputs, state: supervised.State, trace: Any
    ) -> float:
        """Return what is kept of a step: the student's accuracy on some test images."""
        images, labels = self._test
        student = Network(spec=config.network.for_data(self.data), weights=state.weights)
        return float((networks.predict(student, images).logits.argmax(1) == labels).float().mean())


@dataclass(frozen=True)
class Example:
    """One view as a student gets it, and its target.

    Attributes:
        pictures: float [3, c, h, w]: the image, the image that is blended into it, and the view.
        names: of the classes of the first two.
        share: of the image in the blend.
        target: float [classes].
    """

    pictures: Tensor
    names: tuple[str, str]
    share: float
    target: Tensor


def example(world: World, settings: Settings) -> Example:
    """Return the view on show with the target that a student learns."""
    chosen = world.sets[settings.images]
    config = world.config(settings)
    at = settings.picture % len(chosen)
    view = config.view(
        chosen.images, mean=world.data.mean, std=world.data.std, step=settings.view - 1
    )
    partner = int(view.partner[at])
    if settings.labels == "online":
        logits = networks.predict(world.teacher, view.images).logits
        target = losses.soft_targets(logits, config.temperature)[at]
    else:
        labels = torch.nn.functional.one_hot(chosen.labels, chosen.classes).float()
        if settings.labels == "stored":
            logits = networks.predict(world.teacher, chosen.images).logits
            labels = losses.soft_targets(logits, config.temperature)
        target = view.share * labels[at] + (1 - view.share) * labels[partner]
    names = world.data.class_names
    return Example(
        pictures=torch.stack([chosen.images[at], chosen.images[partner], view.images[at]]),
        names=(names[int(chosen.labels[at])], names[int(chosen.labels[partner])]),
        share=float(view.share),
        target=target,
    )


def example_data(world: World, settings: Settings, results: Results) -> Named:
    """Return what decides the view and its target."""
    return {"world": world, "settings": settings}


def strip(world: World, settings: Settings) -> tuple[bytes, str]:
    """Draw the image on show, the image that is blended into it, and the view."""
    mixed = example(world, settings)
    first, second = mixed.names
    column_names = [f"{mixed.share:.0%}", f"{1 - mixed.share:.0%}", "view"]
    encoded = encode_grid(
        world.data.to_uint8(mixed.pictures), 3, cell=72, column_labels=column_names, gap=6
    )
    alt = (
        f"An image of {first}, an image of {second}, and the view of {mixed.share:.0%} of the "
        "first and the rest of the second."
    )
    return encoded, alt


def target_bars(world: World, settings: Settings) -> go.Figure:
    """Draw the target of the view on show."""
    targets = {
        "hard": "both class labels",
        "stored": "answers to both images",
        "online": "answer to this view",
    }
    title = f"Target of the view: {targets[settings.labels]}"
    figure = start_figure(title=title, x_label="share", y_label="class", height=_HEIGHT)
    shares = example(world, settings).target.tolist()
    figure.add_bar(
        y=[literal(name) for name in world.data.class_names],
        x=shares,
        text=[f"{share:.2f}" if share >= _LEAST_WRITTEN else "" for share in shares],
        textposition="outside",
        cliponaxis=False,
        orientation="h",
        marker_color=series_style(0).colour,
    )
    figure.update_xaxes(range=[0, 1.05])
    figure.update_yaxes(autorange="reversed", title="", dtick=1, tickfont_size=10)
    figure.update_layout(showlegend=False)
    likely = [
        f"{world.data.class_names[at]} {shares[at]:.0%}" for at in np.argsort(shares)[::-1][:3]
    ]
    return finish_figure(figure, alt=f"{title}. Largest shares: {', '.join(likely)}.")


def curve_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return the accuracies of the student on show, so far."""
    frames = world.run(settings).frames
    if not frames:
        return None
    return {
        "name": settings.student.words("{images}, {labels}"),
        "looks": tuple((frame.step, frame.content) for frame in frames),
    }


def curves(name: str, looks: tuple[tuple[int, float], ...]) -> go.Figure:
    """Draw the accuracy while a student learns."""
    return loss_curves(
        {name: np.array([accuracy for _, accuracy in looks])},
        np.array([step for step, _ in looks]),
        title="A student on test images while it trains",
        x_label="training step",
        y_label="test accuracy",
        height=_RESULTS_HEIGHT,
    )


def table_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the last accuracy of each kind of images and labels; None where none is known."""
    accuracy_by_pair = {
        (run_settings.images, run_settings.labels): run.frames[-1].content
        for run_settings, run in world.learned(results).items()
    }
    rows = []
    for images in world.sets:
        rows.append((images, tuple(accuracy_by_pair.get((images, labels)) for labels in LABELS)))
    return tuple(rows)


def accuracy_table(*rows: tuple[str, tuple[float | None, ...]]) -> go.Figure:
    """Draw the test accuracy of each kind of images and labels."""
    cells = [[math.nan if accuracy is None else accuracy for accuracy in row] for _, row in rows]
    return cell_table(
        cells,
        LABELS,
        tuple(images for images, _ in rows),
        title="Test accuracy of a student, by images and labels",
        x_label="labels",
        y_label="images",
        empty="not tried",
        text_format=".0%",
        height=_RESULTS_HEIGHT,
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say where the student ends."""
    title = settings.words("{images} images with {labels} labels")
    run = world.run(settings)
    if not run.complete:
        return f"A student trains on {title} ..."
    return f"The student of {title} classifies {run.frames[-1].content:.0%} of the test images correctly."


def labels_alone_help(world: World, settings: Settings, results: Results) -> bool:
    """Return whether labels alone raise the students of enough sets by `_POINTS`.

    Images and seed are the same.
    """
    accuracies = {
        (run_settings.images, run_settings.labels): run.frames[-1].content
        for run_settings, run in world.learned(results).items()
        if run_settings.seed == settings.seed
    }
    raised_sets = 0
    for images in world.sets:
        with_hard_labels = accuracies.get((images, "hard"), math.inf)
        best = max(accuracies.get((images, labels), 0.0) for labels in LABELS)
        raised_sets += best - with_hard_labels >= _POINTS
    return raised_sets >= _RAISED_SETS


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
    "Images or labels: what does a student learn from?",
    World,
    controls=("images", "labels", "view"),
    pairs=[("images", "labels")],
    folded=("picture", "seed"),
    stops=lambda world: {"picture": (0, len(next(iter(world.sets.values()))) - 1)},
    jobs=lambda world, settings, run: [world.run(settings)],
    opens_with=1,
    job_words=lambda world, run: "student",
    views=[
        Row(Strip(example_data, strip), Chart(example_data, target_bars, ghosts=False)),
        Tabs(
            ("Test accuracies", Chart(table_data, accuracy_table, tried=("images", "labels"))),
            ("While they train", Chart(curve_data, curves)),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        "For two of the sets, raise the student by 10 points without changing its images or its seed.",
        labels_alone_help,
        solution=[("labels", "online"), ("images", "k-means"), ("labels", "hard")],
    ),
)
