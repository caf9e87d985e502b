"""Labels against images: swap the images and the kind of labels, and watch a student learn from them.

LabelsAgainstImages(data, teacher, {"real": a, "noise": b, "recovered": c})     # two or more distilled sets of the same size
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, make_dataclass
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from .. import errors, losses, networks, training
from .. import process as driver
from ..data import ImageData
from ..distilled import DistilledSet
from ..errors import DDLabError
from ..figures import cell_table, encode_grid, label_matrix, loss_curves
from ..networks import Network
from ..parameters import Parameters, parameter
from ..process import Inputs
from .controls import controls
from .images import Picture
from .layout import Explorer, side_by_side
from .plot import Plot
from .worker import Worker

LABELS = ("hard", "stored", "online")
_LOOKS = 15  # how often a student is tested while it learns


@dataclass(frozen=True, kw_only=True)
class Choice(Parameters):
    """What the student is given; `choice_among` adds which images there are to choose from."""

    images: str = parameter("", help="What the student sees.")
    labels: str = parameter("hard", choices=LABELS, help="What the student is told.", explorable=True)
    seed: int = parameter(0, range=(0, 9), help="Of the student's weights and views.", explorable=(0, 9))

    @property
    def short(self) -> str:
        """For a legend."""
        return f"{self.images}, {self.labels}" + (f", seed {self.seed}" if self.seed else "")

    @property
    def title(self) -> str:
        """In words."""
        seed = f", seed {self.seed}" if self.seed else ""
        return f"{self.images} images, {self.labels} labels{seed}"


@cache
def choice_among(names: tuple[str, ...]) -> type[Choice]:
    """The class of choices between images of these names; the first is where one begins."""
    images = parameter(names[0], choices=names, help="What the student sees.", explorable=True)
    return make_dataclass(
        "Choice",
        [("images", str, images)],
        bases=(Choice,),
        namespace={"__module__": __name__},
        frozen=True,
        kw_only=True,
    )


@dataclass(frozen=True)
class Learning:
    """A student's test accuracy at some steps."""

    choice: Choice
    steps: list[int]
    accuracy: list[float]


class LabelsAgainstImages(Explorer):
    """The first thing a reader plays with: some kinds of images times three kinds of labels.

    A choice starts a student (a second or two); its accuracy is drawn while it learns. Curves stay for comparison, and a choice made
    before is shown at once.
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        sets: Mapping[str, DistilledSet],
        config: training.Config | None = None,
        *,
        key: str = "labels against images",
    ) -> None:
        """
        Args:
            data: where students are tested. teacher: gives stored and online labels.
            sets: name -> distilled set, shown in this order: at least two, of the same size, with stored labels.
            config: how students are trained; default `training.Config.teaching()`.

        Raises:
            DDLabError: sets that are too few, not distilled sets, or not of one size.
        """
        errors.check_instance("data", data, ImageData, "an ImageData")
        errors.check_instance("config", config, (training.Config, type(None)), "a training Config or None")
        self.data, self.teacher, self.sets = data, teacher, _checked(sets)
        self.config = training.Config.teaching() if config is None else config
        # Five hundred images are enough for a curve and keep the looks cheap.
        self._test = data.normalised(slice(0, 500), "test"), data.test_labels[:500]
        self.learned: dict[Choice, Learning] = {}
        self.panel = controls(choice_among(tuple(self.sets))())
        choice = self.panel.value
        self.picture = Picture(self._grid(choice), alt=self._alt(choice))
        self.matrix = Plot(self._matrix(choice), announce=False)
        self.curves = Plot(self._curves(self._learn(choice, lambda: False)), announce=False)
        self.table = Plot(self._table(), announce=False)
        super().__init__(
            "Labels or images: what does the student learn from?",
            controls=[self.panel],
            views=[side_by_side([self.picture, self.matrix]), side_by_side([self.curves, self.table])],
            key=key,
        )
        self.worker = self.owns(Worker(self._learn, self._show, on_error=self.show_error, name="ddlab-labels"))
        self.share(self.panel)
        self.panel.observe(self.guard(self._moved), "value")
        self._show(self.learned[choice])

    def _moved(self, change: Any) -> None:
        choice = change["new"]
        self.picture.show_bytes(self._grid(choice), alt=self._alt(choice))
        self.matrix.figure = self._matrix(choice)
        if choice in self.learned:
            self._show(self.learned[choice])
        else:
            self.say(f"A student learns from {choice.title} ...")
            self.worker.submit(choice)

    def _learn(self, choice: Choice, stale: Callable[[], bool]) -> Learning | None:
        """Train a student and look at it on the way; what it knew before is found again."""
        if choice in self.learned:
            return self.learned[choice]
        config = self.config.replace(labels=choice.labels, seed=choice.seed)
        inputs = Inputs(distilled=self.sets[choice.images], teachers=(self.teacher,))
        spec = config.network.for_data(self.data)
        every = max(1, training.total_steps(config, inputs) // _LOOKS)
        learning = Learning(choice, [], [])
        for step in driver.every(driver.steps(training, config, inputs), every):
            if stale():
                return None
            driver.check_finite("the student", step.index, step.trace)
            learning.steps.append(step.index)
            learning.accuracy.append(_accuracy(Network(spec=spec, weights=step.state.weights), *self._test))
            if hasattr(self, "worker") and choice == self.panel.value and len(learning.steps) % 3 == 0:
                self.curves.figure = self._curves(learning)
        self.learned[choice] = learning
        return learning

    def _show(self, learning: Learning) -> None:
        self.table.figure = self._table()
        if learning.choice != self.panel.value:
            return
        self.curves.figure = self._curves(learning)
        best = max(self.learned.values(), key=lambda known: known.accuracy[-1])
        self.say(
            f"From {learning.choice.title}: the student ends at {learning.accuracy[-1]:.0%} of the test images. "
            f"Best so far: {best.choice.title}, {best.accuracy[-1]:.0%}."
        )

    def _curves(self, learning: Learning | None) -> go.Figure:
        shown = {known.choice.short: known for known in self.learned.values()}
        if learning is not None:
            shown.pop(learning.choice.short, None)  # the newest comes last and is never the one left out
            shown[learning.choice.short] = learning
        latest = dict(list(shown.items())[-5:])
        steps = max((known.steps for known in latest.values()), key=len)
        return loss_curves(
            {name: np.array(known.accuracy) for name, known in latest.items()},
            np.array(steps),
            title="The student on test images",
            x_label="training step",
            y_label="test accuracy (fraction)",
            height=330,
        )

    def _table(self) -> go.Figure:
        known = {(c.images, c.labels): value.accuracy[-1] for c, value in self.learned.items()}
        values = [[known.get((images, labels), np.nan) for labels in LABELS] for images in self.sets]
        return cell_table(
            values,
            LABELS,
            tuple(self.sets),
            title="Test accuracy so far",
            x_label="kind of labels",
            y_label="kind of images",
            empty="not tried",
            height=330,
        )

    def _grid(self, choice: Choice) -> bytes:
        chosen = self.sets[choice.images]
        # Some methods return one class after another, others one image of each class after another: one order for the eye.
        images = chosen.to_uint8()[chosen.labels.argsort(stable=True)].numpy()
        columns = 5 if len(images) <= 20 else 10
        return encode_grid(images[:100], columns=columns, scale=max(1, round(480 / columns / images.shape[-1])))

    def _alt(self, choice: Choice) -> str:
        return f"The {len(self.sets[choice.images])} {choice.images} images the student sees."

    def _matrix(self, choice: Choice) -> go.Figure:
        chosen = self.sets[choice.images]
        words = {
            "hard": "Hard labels: one class, for sure",
            "stored": f"Stored labels: the teacher's softmax at temperature {self.config.temperature:g}",
            "online": "Online labels: new for every view (here: unchanged images)",
        }
        if choice.labels == "hard":
            table = torch.nn.functional.one_hot(chosen.labels, chosen.classes).float()
        else:
            logits = networks.predict(self.teacher, chosen.images).logits
            table = losses.soft_targets(logits, self.config.temperature)
        rows = torch.arange(len(table))
        if len(rows) > 20:  # there is no room for all: the first of each class
            rows = torch.stack([torch.nonzero(chosen.labels == label)[0, 0] for label in chosen.labels.unique()])[:20]
        names = [self.data.class_names[label] for label in chosen.labels[rows].tolist()]
        return label_matrix(
            table[rows].numpy(),
            self.data.class_names,
            names,
            title=words[choice.labels],
            height=330 if len(table) <= 20 else 480,  # about as high as the picture beside it
        )


def _checked(sets: Any) -> dict[str, DistilledSet]:
    if not isinstance(sets, Mapping) or len(sets) < 2 or not all(isinstance(name, str) and name for name in sets):
        given = list(sets) if isinstance(sets, Mapping) else sets
        errors.fail("sets", "a mapping of at least two names to distilled sets", given)
    for name, images in sets.items():
        if not isinstance(images, DistilledSet):
            errors.fail(f"sets[{name!r}]", "a DistilledSet", images)
    sizes = {name: len(images) for name, images in sets.items()}
    if len(set(sizes.values())) > 1:
        numbers = ", ".join(f"{name!r} of {size}" for name, size in sizes.items())
        raise DDLabError(
            f"sets must be of the same size, so that images are compared at equal budget; given {numbers}."
        )
    return dict(sets)


def _accuracy(network: Network, images: Tensor, labels: Tensor) -> float:
    return float((networks.predict(network, images).logits.argmax(1) == labels).float().mean())
