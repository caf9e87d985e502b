"""The laboratory of the merge ratio: one image vanishes under its optimisation, and what FADRM's residual brings back.

ResidualLab(data, teacher, fadrm.Config(iterations=200))

The chosen ratio is computed first, then 1, which has no residual, then those nearest to the chosen one.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks
from ...core import errors
from ...core.parameters import narrowed, parameter, with_default
from ...data import ImageData
from ...data.images import normalise
from ...evaluation import entropy
from ...evaluation.students import student_accuracy
from ...explorers import Chart, Known, Lab, Quest, Strip, Tabs, Value
from ...explorers.ready import HEIGHT, Asked, Students, frame_at, strip
from ...explorers.views import step_on_show
from ...figures import vanishing_curves
from ...methods import fadrm, recovery, selection
from ...networks import Network
from ...runs import Frame, Keep, Run, Runs
from ...runs.process import Inputs
from ...training import supervised

ALPHAS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)  # Figure 4
DISTANCE, FEATURES, PIXELS, LOSS = "distance to the patch", "feature entropy", "pixel entropy", "teacher's loss"
UNITS = {DISTANCE: "pixel values", FEATURES: "bits", PIXELS: "bits", LOSS: "nats"}
_EVEN, _REFERENCES = 16, 8  # frames of a run beside those around the merges; images of each class and kind
# Nats. A last merge with α = 1, which mixes nothing in, raises it by .015 at most (eleven runs of 80 steps: k = 1 to 6, three draws).
HARM = 0.05


@dataclass(frozen=True, kw_only=True)
class Settings(fadrm.Config):
    """FADRM's hyper-parameters as a reader moves them, and what is looked at."""

    images_per_class: int = with_default(fadrm.Config, "images_per_class", 5, source="for the students alone")
    iterations: int = parameter(100, symbol="B", range=(1, None), help="Steps of a run.", explorable=(20, 400), step=20)
    class_name: str = parameter("", help="The class whose image is watched.")
    measure: str = parameter(DISTANCE, choices=tuple(UNITS), explorable=True, help="What the curves show.")
    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")


@functools.lru_cache(512)  # every view asks at every drawing
def config_of(settings: Settings, alpha: float | None = None) -> fadrm.Config:
    """What is watched: one image per class, and this ratio instead of that of the settings; without merges it is 1."""
    ratio = (settings.merge_ratio if alpha is None else alpha) if settings.merges else 1.0
    return whole_config(settings).replace(images_per_class=1, merge_ratio=ratio)


@functools.lru_cache(64)
def whole_config(settings: Settings) -> fadrm.Config:
    """What students learn from: all images of each class."""
    return settings.part(fadrm.Config)


def merge_steps(config: fadrm.Config) -> tuple[int, ...]:
    """The steps after which patches are mixed in."""
    return tuple(config.iterations // (config.merges + 1) * stage for stage in range(1, config.merges + 1))


def kept_steps(config: fadrm.Config) -> tuple[int, ...]:
    """The steps whose images are kept: the first, the last, some between them, and each merge with the step before it."""
    even = {round(config.iterations * part / _EVEN) for part in range(_EVEN + 1)}
    return tuple(sorted(even | {near for step in merge_steps(config) for near in (step - 1, step)}))


def by_nearness(chosen: float) -> list[float]:
    """The ratios that are shown, in the order in which they are computed: the chosen one, 1 to compare with, then the nearest."""
    return list(dict.fromkeys([chosen, 1.0, *sorted(ALPHAS, key=lambda alpha: abs(alpha - chosen))]))


@dataclass(frozen=True, eq=False)
class Moment:
    """What is kept of a step: images uint8 [classes, c, h, w]; measured: name -> float64 [classes]."""

    images: Tensor
    measured: dict[str, Tensor]


class World:
    """Data, and a teacher whose images are recovered, one of each class at a time.

    Args:
        config: where the controls start. student: how students are trained; default `supervised.Config.for_data(data)`.
        seeds: how many students of each kind. device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        config: fadrm.Config | None = None,
        *,
        student: supervised.Config | None = None,
        seeds: int = 3,
        device: torch.device | str = "auto",
    ) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        errors.check_instance("teacher", teacher, Network, "a Network")
        errors.check_instance("config", config, (fadrm.Config, type(None)), "a data_residual_matching Config or None")
        errors.check_instance("student", student, (supervised.Config, type(None)), "a training Config or None")
        self.inputs = Inputs(data=data, teachers=(teacher,), device=device)
        self.seeds = range(errors.check_integer("seeds", seeds, 1, 20))
        self.learning = supervised.Config.for_data(data) if student is None else student
        given = {} if config is None else vars(config)
        self.start = narrowed(Settings, class_name=data.class_names)(**given)
        few = min(_REFERENCES, int(data.train_labels.bincount().min()))
        found = entropy.reference_images(data, few * data.classes)
        self._kinds = {kind: found[kind] for kind in ("real", "noise", "constant")}
        self.edges = entropy.feature_edges(self._seen(found["real"]).last_conv)
        self._runs, self._levels = Runs(), functools.lru_cache(16)(self._measured_levels)
        fadrm.init(whole_config(self.start), self.inputs)

    def run(self, settings: Settings, alpha: float | None = None) -> Run:
        """The run of a ratio, as far as it has come; each frame is a `Moment`."""
        config = config_of(settings, alpha)
        return self._runs.get(fadrm, config, self.inputs, Keep(kept_steps(config), self._moment))

    def levels(self, settings: Settings) -> dict[str, float]:
        """What the patches of these settings and other images have of the measure: whose -> mean."""
        shared = {name: getattr(settings, name) for name in ("patches", "candidates_per_class", "seed")}
        return self._levels(fadrm.Config(images_per_class=1, **shared))[settings.measure]

    def _seen(self, images: Tensor) -> Any:
        return networks.predict(self.inputs.teachers[0], normalise(images, self.data.mean, self.data.std))

    def _measured_levels(self, config: fadrm.Config) -> dict[str, dict[str, float]]:
        patches, found = self.patches(config), dict[str, dict[str, Tensor]]()
        for kind, images in {"patch": patches, **self._kinds}.items():
            found[kind] = self.measured(images, patches.repeat(len(images) // len(patches), 1, 1, 1))
        return {name: {kind: float(values[name].mean()) for kind, values in found.items()} for name in UNITS}

    def patches(self, config: fadrm.Config) -> Tensor:
        """uint8 [classes, c, h, w]: what is mixed in."""
        return self.data.to_uint8(fadrm.patches(config, self.inputs)).cpu()

    def measured(self, images: Tensor, patches: Tensor) -> dict[str, Tensor]:
        """All measures of uint8 images [n, c, h, w]; image i is of class i modulo the number of classes."""
        labels, seen = torch.arange(len(images)) % self.data.classes, self._seen(images)
        return {
            DISTANCE: entropy.distance_to(images, patches),
            FEATURES: entropy.feature_entropy(seen.last_conv, self.edges),
            PIXELS: entropy.pixel_entropy(images),
            LOSS: F.cross_entropy(seen.logits, labels, reduction="none").double(),
        }

    def _moment(self, config: fadrm.Config, inputs: Inputs, state: fadrm.State, trace: Any) -> Moment:
        images = self.data.to_uint8(fadrm.resampled(state.images, self.data.image_size)).cpu()
        return Moment(images, self.measured(images, self.patches(config)))

    def made(self, config: fadrm.Config | selection.Config) -> Run:
        """What makes a whole set, or chooses one: for students."""
        return self._runs.get(
            selection if isinstance(config, selection.Config) else fadrm, config, self.inputs, Keep(1)
        )

    def student(self, config: Any, labels: str, seed: int, *, watch: Callable[[str, float], None]) -> float:
        """Test accuracy of one student of such a set; those of one seed share first weights and views."""
        inputs = dataclasses.replace(self.inputs, data=None, distilled=self.made(config).result())
        learning, words = self.learning.replace(labels=labels, seed=seed), f"student {seed + 1}, {labels} labels"
        return student_accuracy(learning, inputs, self.data, on_step=lambda step: watch(words, step.index / step.total))


def strip_data(world: World, settings: Settings, known: Known) -> tuple:
    """The patch and the image of each ratio, from left to right, at one step."""
    ratios, step = sorted({*ALPHAS, settings.merge_ratio}), known.step or 0
    frames = tuple(
        (f"alpha {alpha:g}", frame_at(world.run(settings, alpha), step)) for alpha in ratios
    )  # its font has no α
    return world, config_of(settings), f"alpha {settings.merge_ratio:g}", settings.class_name, step, frames


def ratios_strip(
    world: World, config: fadrm.Config, chosen: str, class_name: str, step: int, frames: tuple
) -> tuple[bytes, str]:
    """Those images beside each other, the chosen one framed, and the words for who does not see them."""
    label = world.data.class_names.index(class_name)
    images: dict[str, Tensor | None] = {"patch": world.patches(config)[label]}
    images |= {name: None if frame is None else frame.content.images[label] for name, frame in frames}
    missing = [name for name, image in images.items() if image is None]
    alt = f"Class {class_name} after step {step}, from left to right: {', '.join(images)}; {chosen} is framed"
    left = f"; not computed yet: {', '.join(missing)}." if missing else "."
    return strip(images, world.data.image_size, chosen=chosen), alt + left


def compared(settings: Settings) -> dict[str, float]:
    """The curves: name -> ratio. Without merges, or with a ratio of 1, there is one."""
    with_residual = {f"with residual, α = {settings.merge_ratio:g}": settings.merge_ratio}
    return ({} if settings.merges == 0 or settings.merge_ratio == 1 else with_residual) | {"without residual": 1.0}


def mean(frame: Frame, settings: Settings) -> float:
    """The measure, mean of all classes."""
    return float(frame.content.measured[settings.measure].mean())


def curve_data(world: World, settings: Settings, known: Known) -> tuple:
    """The measure along the runs, so far, and what the patch, noise and real images have of it."""
    runs = {name: world.run(settings, alpha) for name, alpha in compared(settings).items()}
    shown = tuple(
        (name, tuple(mean(frame, settings) for frame in run.frames)) for name, run in runs.items() if run.begun
    )
    return config_of(settings), settings.measure, shown, tuple(world.levels(settings).items())


def curves(config: fadrm.Config, measure: str, shown: tuple, levels: tuple) -> go.Figure:
    """The chosen ratio and no residual."""
    return vanishing_curves(
        dict(shown) or {"not computed yet": [float("nan")]}, steps=kept_steps(config), merges=merge_steps(config),
        references=dict(levels), unit=f"{measure} ({UNITS[measure]})", height=HEIGHT, close=True,
        title=f"{measure[0].upper()}{measure[1:]}, mean of all classes",
    ).update_xaxes(range=[-0.01 * config.iterations, 1.02 * config.iterations])  # fmt: skip


def sets(settings: Settings) -> dict[str, Any]:
    """FADRM's images, and as many random real ones: name -> config of what makes them."""
    real = selection.Config(images_per_class=settings.images_per_class, seed=settings.seed)
    return {"FADRM's images": whole_config(settings), "random real images": real}


def asked(world: World, settings: Settings, known: Known) -> Asked:
    """Students of both, with class numbers and with the teacher's labels."""
    return {
        name: {
            labels: [Value(world.student, config, labels, seed) for seed in world.seeds]
            for labels in ("hard", "online")
        }
        for name, config in sets(settings).items()
    }


students = Students(
    asked,
    lambda settings: f"Students' test accuracy, {settings.images_per_class} images per class: mean (95% interval)",
    first=lambda world, settings: [world.made(config) for config in sets(settings).values()],
)


def sentence(world: World, settings: Settings, known: Known) -> str:
    """What is seen at a step."""
    step, merges, unit = known.step or 0, settings.merges, UNITS[settings.measure]
    words = f"α = {settings.merge_ratio:g}, {merges} merge{'s' * (merges != 1)}, {settings.iterations} steps: "
    frames = {name: frame_at(world.run(settings, alpha), step) for name, alpha in compared(settings).items()}
    means = {name: mean(frame, settings) for name, frame in frames.items() if frame is not None}
    if len(means) < len(frames):
        return f"{words}step {step} is not computed yet."
    real = {name: level for name, level in world.levels(settings).items() if name == "real"}
    (_, chosen), *others = (means | real).items()
    beside = ", ".join(f"{name} {level:.2f}" for name, level in others)
    return f"{words}after step {step} the {settings.measure} is {chosen:.2f} {unit}; {beside}."


def merges_harm(world: World, settings: Settings, known: Known) -> bool:
    """Whether the last merge of the chosen run raised the teacher's loss by `HARM`, in the mean over classes."""
    around = [near for step in merge_steps(config_of(settings))[-1:] for near in (step - 1, step)]
    frames = [frame for frame in (frame_at(world.run(settings), near) for near in around) if frame is not None]
    losses = [mean(frame, settings.replace(measure=LOSS)) for frame in frames]
    return len(losses) == 2 and losses[1] - losses[0] >= HARM


ResidualLab = Lab(
    "Does a residual bring the image back?",
    World,
    controls=("merge_ratio", "merges", "class_name", "measure"),
    more=("iterations", "learning_rate", "initialisation", "images_per_class"),
    labels={
        "class_name": "class in the row",
        "measure": "curve of",
        "initialisation": "start",
        "iterations": "steps B",
    },
    check=lambda world, settings: recovery.check_images_per_class(world.data, settings.images_per_class),
    watched=World.run,
    wanted=lambda world, settings: [world.run(settings, alpha) for alpha in by_nearness(settings.merge_ratio)],
    job_words=lambda world, run: f"α = {run.config.merge_ratio:g}" if run.process is fadrm else "real images",
    buttons=[students.button],
    views=[
        Strip(strip_data, ratios_strip),
        Tabs(("What is left", Chart(curve_data, curves, cursor=step_on_show)), ("Students", students.view)),
    ],
    sentence=sentence,
    quest=Quest(
        f"Find settings in which the last merge raises the teacher's loss by {HARM:g} nats or more.", merges_harm
    ),
)
