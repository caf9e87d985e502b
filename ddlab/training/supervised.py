r"""Training a network, as a process: teachers on a dataset, students on a distilled set.

What it trains on is what the inputs hold: `inputs.distilled` if given, else the training images of
`inputs.data`. What it learns from is `config.labels`: hard class labels, the soft labels stored
with a distilled set, or the teachers asked for every augmented view.

One step (sources: SRe2L's relabelling, Yin et al. 2023, arXiv 2306.13092; mixup, Zhang et al. 2018,
arXiv 1710.09412)
view x' = mixup(flip(crop(x)))                                     augmentation.augment
p = one-hot | softmax(stored / T), mixed like the views               mixed_targets
p = softmax(mean over the teachers of their logits for x' / T)        online_targets
l = KL(p || softmax(student(x') / T)); T = 1 for hard labels          losses.distillation_loss
l = mean (student(x') - y)^2 for the labels y of a regression         losses.regression_loss
theta <- SGD or AdamW, the learning rate falling                       core.optimisers

FADRM's eq 57, lr = base / 2 (1 + cos(pi e / (eta E))), has the epoch e, and its code, like RDED's,
keeps the rate through an epoch; here it falls with every update, as everywhere in the house. eta is
`stretch`.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import torch.nn.functional as F
from torch import Tensor

from .. import networks
from ..core import DDLabError, errors, optimisers, parameter, published, to_device
from ..core.devices import rows_on
from ..data import ImageData
from ..data.augmentation import View, Views
from ..data.siamese_views import ALL, UPRIGHT, operations, siamese_view
from ..distilled import DistilledSet, OnlineTeacher, Targets
from ..networks import Network, NetworkSpec
from ..runs import Inputs, Look, Number
from ..runs.inputs import Teachers, as_teachers
from . import losses
from .relabelling import teacher_logits
from .trained import State, initial_state, train_step, trained_network

NAME = "training"
_RESNET = networks.spec("resnet18")
_SGD: dict[str, Any] = {
    "optimiser": "sgd",
    "learning_rate": 0.01,
    "weight_decay": 5e-4,
    "schedule": "half",
    "batch_size": 256,
    "crop_pixels": 0,
    "flip": False,
    "mixup_alpha": 0.0,
}
BATCH_PARTS = {"running": None, "batch": 1, "halves": 2}  # teacher_statistics -> parts of a batch


def _short_student(data: ImageData | DistilledSet, images: int) -> dict[str, Any]:
    """Return the settings of the student of DC, DSA and DM, shortened; measured in `for_data`."""
    padding = 3 if min(data.image_size) == 28 else 1  # makes 32 pixels of 28, as DC's code
    # One image of each class makes the most uncertain student, and the paper's width steadies it.
    width = 128 if images <= 50 else 64
    epochs = round(200 * math.sqrt(10 / images)) if images > 10 else 200
    return {
        **_SGD,
        "network": networks.spec("convnet", width=width, norm="instance", padding=padding),
        "epochs": max(epochs, 5),
        "batch_size": 64,
        "strategy": ALL if data.channels == 3 else UPRIGHT,
    }


@dataclass(frozen=True, kw_only=True)
class Config(Views):
    """Hyper-parameters: the views, and how a network learns from them.

    The defaults train a student as SRe2L's CIFAR code does.
    """

    network: NetworkSpec = parameter(_RESNET, help="Architecture.")
    labels: str = parameter(
        "hard",
        choices=("hard", "stored", "online", "regression"),
        help="Class labels, stored soft labels, the teachers asked for every view, or a "
        "regression's.",
    )
    epochs: int = parameter(
        400, range=(1, None), help="Passes over the images.", explorable=(10, 400), step=10
    )
    optimiser: str = parameter(
        "adamw", choices=("adamw", "sgd"), help="AdamW, or SGD with momentum."
    )
    learning_rate: float = parameter(
        1e-3,
        symbol=r"\mathrm{lr}",
        range=(0, None),
        open_low=True,
        scale="log",
        help="At the start of the cosine.",
        explorable=(1e-4, 1e-1),
    )
    schedule: str = parameter(
        "cosine",
        choices=("cosine", "half"),
        help="The rate falls to 0, or once to a tenth, right after half of the epochs, where "
        "momentum begins anew.",
    )
    stretch: float = parameter(
        1.0,
        symbol=r"\eta",
        range=(1, None),
        help="The cosine is as long as so many runs: with 2 it ends at half the rate.",
    )
    teacher_statistics: str = parameter(
        "running",
        choices=tuple(BATCH_PARTS),
        help="Of an online teacher's batch norm: those it remembers, those of the batch, or of "
        "each half of it (BSSL).",
    )
    batch_norm_images: int | None = parameter(
        None,
        range=(1, None),
        unit="images",
        help="The student's batch norm sees so many images of a batch at a time; None shows it "
        "all.",
        source="FADRM, validate_fadrm.sh: two accumulated halves of 16",
    )
    forward_passes: int = parameter(
        1,
        range=(1, 10),
        help="How often a batch passes through the student; its running statistics move each time.",
        source="RDED, validation/main.py: a first pass measures the accuracy, in training mode",
    )
    momentum: float = parameter(0.9, range=(0, 0.9999), help="Of SGD.")
    weight_decay: float = parameter(
        0.01, range=(0, None), help="Decoupled for AdamW, in the gradient for SGD."
    )
    strategy: str = parameter(
        "", help="Operations of DSA, joined by _; one for each batch, with values for each image."
    )
    temperature: float = parameter(
        30.0,
        symbol="T",
        range=(0, None),
        open_low=True,
        scale="log",
        help="Softens stored and online labels.",
        explorable=(1, 50),
    )

    @classmethod
    def teaching(cls, role: str = "student", **changes: Any) -> Self:
        """Return a preset for two CPU cores, seconds and 16-pixel digits: a ConvNet of width 64, as
        "student" or "teacher".
        """
        errors.check_choice("role", role, ("student", "teacher"))
        common = {"network": networks.spec("convnet", width=64), "crop_pixels": 1, "flip": False}
        special = {
            "student": {"epochs": 100, "learning_rate": 5e-3, "temperature": 4.0},
            "teacher": {"epochs": 10, "learning_rate": 5e-3, "batch_size": 64, "mixup_alpha": 0.0},
        }
        return cls(**common | special[role] | changes)

    @classmethod
    def for_data(
        cls,
        data: ImageData | DistilledSet,
        role: str = "student",
        *,
        images: int | None = None,
        **changes: Any,
    ) -> Self:
        """Return settings for these images: a short version of the papers' students.

        A student of hard labels is the one of DC, DSA and DM: their ConvNet with instance norm,
        SGD at 0.01, and one operation of DSA in every batch. It learns for a fifth of their time or
        less. More images make more updates in an epoch, so they take fewer epochs. Teachers, and
        students of soft labels, are those of `quick`. So two kinds of labels are compared fairly
        only by students of one config.

        Test accuracy of random images and of DM's, by the students of `quick`, by these, and by
        the papers' (`paper`); CPU-seconds of a student of these and of the papers' (means of three
        sets; of one where the papers' students learn from ten images of a class):

        | data, images of a class | quick | these | the papers' | seconds |
        |---|---|---|---|---|
        | digits (16 px), 1 | .668, .843 | .743, .919 | .760, - | 3, 14 |
        | MNIST (28 px), 1 | .421, .429 | .495, .850 | .511, .845 | 9, 45 |
        | CIFAR-10 (32 px), 1 | .164, .207 | .142, .260 | .145, .256 | 9, 45 |
        | CIFAR-10 (32 px), 10 | .322, .32 | .277, .376 | .329, .403 | 11, 570 |
        | shapes (32 px), 1 | .104, .124 | .161, .393 | - | 9, - |
        | shapes (32 px), 10 | .225, .266 | .413, .614 | - | 13, - |

        So at ten CIFAR-10 images of a class they are three to five points below the papers'.

        Args:
            data: what the student is trained or tested on.
            images: how many images the student trains on; default the size of a `DistilledSet`, and
                one image of each class of an `ImageData`.
            changes: fields with other values.
        """
        errors.check_choice("role", role, ("student", "teacher"))
        # SGD at .01 suits hard labels; with a teacher's soft labels it is 8 points behind AdamW on
        # digits.
        if role == "teacher" or changes.get("labels", "hard") != "hard":
            return cls.quick(data, role, **changes)
        if images is None:
            images = len(data) if isinstance(data, DistilledSet) else data.classes
        return cls(**_short_student(data, images) | changes)

    @classmethod
    def quick(cls, data: ImageData | DistilledSet, role: str = "student", **changes: Any) -> Self:
        """Return the lessons' settings: a student of ten 16-pixel images takes a second.

        With hard labels it is 5 to 9 points below the student of `for_data`.

        It is `teaching` with flips for colour only, because digits must not be mirrored, and crops
        of 4 px above 16 px.
        """
        fitting: dict[str, Any] = {"flip": data.channels == 3}
        if min(data.image_size) > 16:
            fitting["crop_pixels"] = 4
        return cls.teaching(role, **fitting | changes)

    @classmethod
    def paper(
        cls,
        dataset: str = "cifar10",
        role: str = "student",
        *,
        recipe: str = "sre2l",
        **changes: Any,
    ) -> Self:
        """Return the published settings of a student on "cifar10", ..., or of its ResNet-18
        teacher.

        Unlike theirs, RDED's and FADRM's students decay biases and norms too, and their learning
        rate falls within an epoch.

        Args:
            recipe: whose student. "sre2l": mixup, T = 30, and a teacher whose batch norm uses the
                statistics of the batch (relabel_cifar.py never calls `eval`). "dc": no views, but
                for "mnist", where it sees three of DSA's instead of turns by 45 degrees. "dsa": of
                DSA, DM and, at the learned rate, MTT. "dc" and "dsa" run one epoch more than
                printed, as the code does. "rded" and "fadrm": CutMix, T = 20, and a cosine that
                ends at half the rate. FADRM's teacher (role "teacher", Table 10) has 50 epochs and
                a decay of 1e-4; the others have SRe2L's.
        """
        errors.check_choice("role", role, ("student", "teacher"))
        students, teachers = (published.tables()[roles] for roles in ("students", "teachers"))
        errors.check_choice("recipe", recipe, tuple(students))
        table = students[recipe] if role == "student" else teachers.get(recipe, teachers["sre2l"])
        return cls(**published.fitting(cls, table, {"dataset": dataset}) | changes)

    @property
    def summary(self) -> str:
        """One line for a table: the network, how long it is trained, and on which views."""
        optimiser = "SGD" if self.optimiser == "sgd" else "AdamW"
        views = []
        if self.crop_pixels or self.crop_area < 1:
            views.append("crops")
        if self.flip:
            views.append("flips")
        if self.mixup_alpha:
            views.append("mixup")
        if self.cutmix_alpha:
            views.append("CutMix")
        if self.strategy:
            views.append("DSA")
        training = f"{self.epochs} epochs of {optimiser} at {self.learning_rate:g}"
        return f"{self.network.title}, {training}, views: {', '.join(views) or 'none'}"

    def rules(self) -> None:
        """Raise unless the strategy names operations."""
        super().rules()
        operations(self.strategy)

    def learning_rate_at(self, step: int, steps: int, per_epoch: int) -> float:
        """Return the learning rate before `step` (0-based) of `steps`."""
        if self.schedule == "cosine":
            # A cosine that is longer than the run: with a stretch of 2 it ends half way down.
            return optimisers.cosine(step, round(self.stretch * steps), self.learning_rate)
        return self.learning_rate / (10 if step >= self.fall_step(per_epoch) else 1)

    def fall_step(self, per_epoch: int) -> int:
        """Return the first step at a tenth of the rate, with the schedule "half".

        It comes after epoch E / 2 + 1 of E + 1, counted from 0.
        """
        return (self.epochs // 2 + 2) * per_epoch


@dataclass(frozen=True)
class Trace:
    """One update: the loss before it [], the share of the batch classified correctly before it [],
    the learning rate.
    """

    loss: Tensor
    accuracy_fraction: Tensor
    learning_rate: float


def online_targets(
    view: View, teacher: Teachers, *, temperature: float, batch_parts: int | None = None
) -> Tensor:
    """Return softmax(teacher(x') / T) for the views, mixed ones included: [n, classes].

    Several teachers give their mean logits; `batch_parts` is that of `teacher_logits`.
    """
    logits = teacher_logits(as_teachers(teacher, "teacher"), view.images, batch_parts=batch_parts)
    return losses.soft_targets(logits, temperature)


def mixed_targets(view: View, targets: Tensor) -> Tensor:
    """Return targets [n, classes], mixed as the views were: share p_i + (1 - share) p_partner[i]."""
    return view.share * targets + (1 - view.share) * targets[view.partner]


def total_steps(config: Config, inputs: Inputs) -> int:
    """Return epochs times batches per epoch; a last smaller batch counts.

    Every run asks for it first, resumed ones too, so the labels are checked here.
    """
    _check_labels(config, inputs)
    return config.epochs * config.steps_per_epoch(_count(inputs))


def init(config: Config, inputs: Inputs) -> State:
    """Draw fresh weights for the seed.

    Raises:
        DDLabError: nothing to train on, labels that the inputs do not have, a teacher that is not
            the one that made the set.
    """
    source = _source(inputs)
    total_steps(config, inputs)
    crop_pixels = config.crop_pixels
    if crop_pixels >= min(source.image_size):
        errors.fail(
            "crop_pixels", f"below the image size of {min(source.image_size)} px", crop_pixels
        )
    return initial_state(config.network.for_data(source), config, inputs.device)


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Take one step on one batch."""
    source = _source(inputs)
    spec = config.network.for_data(source)
    indices = _batch(config, inputs, state.step)
    images, labels, stored = _examples(config, inputs, indices, state.step)
    view = config.view(images, mean=source.mean, std=source.std, step=state.step)
    augmented = siamese_view(
        view.images, config.strategy, seed=config.seed, step=state.step, per_image=True
    )
    view = view._replace(images=augmented)
    targets = _targets_of(config, inputs, view, labels, stored)

    def loss(logits: Tensor) -> Tensor:
        logits = logits.to(targets.dtype)
        if config.labels == "regression":
            return losses.regression_loss(logits, targets)
        temperature = 1.0 if config.labels == "hard" else config.temperature
        return losses.distillation_loss(logits, targets, temperature=temperature)

    per_epoch = config.steps_per_epoch(_count(inputs))
    rate = config.learning_rate_at(state.step, total_steps(config, inputs), per_epoch)
    state, batch_loss, logits = train_step(
        spec,
        config,
        state,
        view.images,
        loss,
        learning_rate=rate,
        restart=config.schedule == "half" and state.step == config.fall_step(per_epoch),
        batch_norm_images=config.batch_norm_images,
        forward_passes=config.forward_passes,
    )
    # Of a mixed view the larger share counts.
    is_correct = logits.argmax(1) == targets.argmax(1)
    return state, Trace(batch_loss, is_correct.float().mean(), rate)


def finish(config: Config, inputs: Inputs, state: State) -> Network:
    """Return the network with its weights, and whether its training was complete in `provenance`."""
    spec = config.network.for_data(_source(inputs))
    total = total_steps(config, inputs)
    return trained_network(NAME, config, inputs, spec, state, total)


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return how well the last batch was classified before its update; there are no images to see."""
    if trace is None:
        return Look()
    numbers = {
        "loss": Number(trace.loss, "nats", scale="log"),
        "accuracy on the batch": Number(trace.accuracy_fraction),
        "learning rate": Number(trace.learning_rate, scale="log"),
    }
    return Look(numbers=numbers)


def _source(inputs: Inputs) -> ImageData | DistilledSet:
    source = inputs.distilled if inputs.distilled is not None else inputs.data
    if source is None:
        raise DDLabError("data or distilled must be given to training; given neither.")
    return source


def _count(inputs: Inputs) -> int:
    source = _source(inputs)
    count = len(source) if isinstance(source, DistilledSet) else len(source.train_labels)
    if count == 0:
        raise DDLabError("distilled must hold at least one image to train on; given an empty set.")
    return count


def _check_labels(config: Config, inputs: Inputs) -> None:
    if config.labels in ("stored", "regression"):
        if inputs.distilled is None:
            raise DDLabError(
                "labels must be 'hard' or 'online' to train on a dataset; given "
                f"{config.labels!r}, which a distilled set has."
            )
        inputs.distilled.target(config.labels)
    if config.labels == "online":
        if not inputs.teachers:
            raise DDLabError("teacher must be given to training with online labels; given none.")
        # A set that names its teacher was relabelled by it; another one would teach other answers.
        named_target = next(
            (target for target in _targets(inputs) if isinstance(target, OnlineTeacher)), None
        )
        fingerprints = [teacher.fingerprint for teacher in inputs.teachers]
        if named_target is not None and sorted(named_target.fingerprints) != sorted(fingerprints):
            is_single = len(named_target.fingerprints) == 1
            raise DDLabError(
                f"teacher must be the {'one' if is_single else 'ones'} that made the set "
                f"({', '.join(named_target.fingerprints)}); "
                f"given {', '.join(fingerprints)}."
            )


def _targets_of(
    config: Config, inputs: Inputs, view: View, labels: Tensor, stored: Tensor | None
) -> Tensor:
    if config.labels == "online":
        return online_targets(
            view,
            inputs.teachers,
            temperature=config.temperature,
            batch_parts=BATCH_PARTS[config.teacher_statistics],
        )
    if stored is None:
        return mixed_targets(view, F.one_hot(labels, _source(inputs).classes).to(view.images.dtype))
    if config.labels == "regression":
        return mixed_targets(view, stored)
    return mixed_targets(view, losses.soft_targets(stored, config.temperature))


def _targets(inputs: Inputs) -> tuple[Targets, ...]:
    return () if inputs.distilled is None else inputs.distilled.targets


def _batch(config: Config, inputs: Inputs, step: int) -> Tensor:
    return config.indices(_count(inputs), step)


def _examples(
    config: Config, inputs: Inputs, indices: Tensor, step: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    source = _source(inputs)
    device = inputs.device
    if isinstance(source, ImageData):
        return (
            source.normalised(indices, device=device),
            to_device(source.train_labels[indices], device),
            None,
        )
    stored = None
    if config.labels == "stored":
        stored = to_device(source.target("stored").logits[indices], device)
    elif config.labels == "regression":
        stored = to_device(source.target("regression").values[indices], device)
    # Kept on the device for the run: a distilled set is small and read in every step.
    images = rows_on(inputs, "distilled images", source.images, indices, device)
    return images, to_device(source.labels[indices], device), stored


SMALL = Config(  # for the contract tests
    network=networks.spec("convnet", width=4),
    epochs=3,
    batch_size=4,
    crop_pixels=1,
    learning_rate=0.01,
    temperature=4.0,
)
