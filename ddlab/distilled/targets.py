"""The kinds of labels and other targets of a distilled set, and how a file holds them."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ..core import errors
from .representations import Representations

Written = tuple[dict[str, Tensor], Any]


@dataclass(frozen=True, eq=False)
class _Stored:
    """Targets that are tensors, and perhaps a few numbers beside them; the first field is a tensor."""

    kind: ClassVar[str]

    def storage_floats(self) -> int:
        """Return the size: every number of a tensor counts as one float, a class label too."""
        tensors = (value for value in vars(self).values() if isinstance(value, Tensor))
        return sum(tensor.numel() for tensor in tensors)

    def to_file(self) -> Written:
        """Return the tensors of a file, by name, and its JSON, as of every target."""
        tensors: dict[str, Tensor] = {}
        described: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                tensors[f"targets/{self.kind}{f'/{name}' if tensors else ''}"] = value
            elif value is not None:
                described[name] = value
        # None: the tensors say everything, so the file's JSON has no entry for them.
        return tensors, described or None

    @classmethod
    def from_file(cls, tensors: Mapping[str, Tensor], described: Any) -> Self:
        """Read what `to_file` gave, as every target does."""
        first, *optional = (field.name for field in fields(cls))
        stored = {name: tensors.get(f"targets/{cls.kind}/{name}") for name in optional}
        return cls(**{first: tensors[f"targets/{cls.kind}"]}, **stored | (described or {}))


@dataclass(frozen=True, eq=False)
class HardLabels(_Stored):
    """One class label per image: int64 [n]."""

    classes: Tensor
    kind: ClassVar[str] = "hard"

    def check(self, images: int, classes: int) -> None:
        """Raise if these are not labels of so many images and classes, as of every target."""
        errors.check_tensor("hard labels", self.classes, shape=[images], dtype=torch.int64)
        if images and not 0 <= int(self.classes.min()) <= int(self.classes.max()) < classes:
            errors.fail(
                "hard labels", f"class labels from 0 to {classes - 1}", self.classes.tolist()
            )


@dataclass(frozen=True, eq=False)
class StoredLabels(_Stored):
    """Teachers' logits for each image without augmentation: float32 [n, classes].

    Several teachers give their mean.
    """

    logits: Tensor
    kind: ClassVar[str] = "stored"

    def check(self, images: int, classes: int) -> None:
        errors.check_tensor(
            "stored labels", self.logits, shape=[images, classes], dtype=torch.float32
        )
        if images and errors.are_probabilities(self.logits):
            warnings.warn(
                "stored labels are taken for logits, but look like probabilities: each row sums to "
                "1. Their logarithm is what is meant (probabilities.clamp(min=1e-6).log()).",
                stacklevel=6,
            )


@dataclass(frozen=True)
class OnlineTeacher:
    """Teachers that label each augmented view during student training.

    The set only names them, by fingerprint.

    `others` are those beside the first, whose logits are averaged with its own.
    """

    fingerprint: str
    others: tuple[str, ...] = ()
    kind: ClassVar[str] = "online"

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprints of all teachers."""
        return (self.fingerprint, *self.others)

    def storage_floats(self) -> int:
        """Return 0: the teachers' weights are not part of the set.

        They are a cost all the same, and larger than the images.
        """
        return 0

    def check(self, images: int, classes: int) -> None:
        names = self.fingerprints if isinstance(self.others, tuple) else self.others
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            errors.fail("online teachers", "a tuple of fingerprints", names)

    def to_file(self) -> Written:
        return {}, [*self.fingerprints]

    @classmethod
    def from_file(cls, tensors: Mapping[str, Tensor], described: Any) -> Self:
        if (
            not isinstance(described, list)
            or not described
            or not all(isinstance(name, str) for name in described)
        ):
            errors.fail("online", "a list of fingerprints", described)
        return cls(described[0], tuple(described[1:]))


@dataclass(frozen=True, eq=False)
class RegressionLabels(_Stored):
    """Real-valued labels of a regression, which need not be probabilities: float32 [n, classes].

    Made by KIP and label solve: one-hot less 1 / classes as they begin. The class is that of the
    largest value.
    """

    values: Tensor
    kind: ClassVar[str] = "regression"

    def check(self, images: int, classes: int) -> None:
        errors.check_tensor(
            "labels of a regression", self.values, shape=[images, classes], dtype=torch.float32
        )


@dataclass(frozen=True, eq=False)
class OrderedSteps(_Stored):
    """The order and the rates in which a network trains on the set.

    DD: Wang et al. 2018, arXiv 1811.10959.

    Attributes:
        rates: float32 [epochs, steps], of gradient descent, one for each step of each pass. The
            images stand in their order: each step has n / steps of them.
        passes: how often a network goes through all these steps.
        labels: float32 [n, classes], of which the cross-entropy is taken in the place of class
            numbers, or None; they need not be probabilities (SLDD: Sucholutsky & Schonlau 2021,
            arXiv 1910.02551).
        momenta: float32 [epochs, steps], what is left of the velocity at each step, or None for
            none (GTN: Such et al. 2020).
    """

    rates: Tensor
    labels: Tensor | None = None
    passes: int = 1
    momenta: Tensor | None = None
    kind: ClassVar[str] = "steps"

    @property
    def total(self) -> int:
        """The number of steps of a whole training."""
        return self.passes * self.rates.numel()

    def check(self, images: int, classes: int) -> None:
        errors.check_tensor(
            "rates of the steps", self.rates, shape=[None, None], dtype=torch.float32
        )
        # Step k takes images k n / steps to (k + 1) n / steps, which must be whole numbers.
        if not self.rates.numel() or images % self.rates.shape[1]:
            allowed = (
                f"float32 [epochs, steps], at least one of each, with steps that share {images} "
                "images evenly"
            )
            errors.fail("rates of the steps", allowed, self.rates)
        errors.check_integer("passes of the steps", self.passes, 1)
        if self.labels is not None:
            errors.check_tensor(
                "labels of the steps", self.labels, shape=[images, classes], dtype=torch.float32
            )
        if self.momenta is not None:
            shape = [*self.rates.shape]
            errors.check_tensor(
                "momenta of the steps", self.momenta, shape=shape, dtype=torch.float32
            )


Targets = (
    HardLabels | StoredLabels | OnlineTeacher | Representations | RegressionLabels | OrderedSteps
)
KINDS: dict[str, Any] = {
    target_class.kind: target_class
    for target_class in (
        HardLabels,
        StoredLabels,
        OnlineTeacher,
        Representations,
        RegressionLabels,
        OrderedSteps,
    )
}


def check_targets(targets: tuple[Targets, ...], images: int, classes: int) -> None:
    """Raise if shapes, dtypes or values are not those of labels for so many images and classes."""
    kinds = [target.kind for target in targets]
    if not {"hard", "representations"} & set(kinds) or len(set(kinds)) != len(kinds):
        errors.fail(
            "targets", "at most one of each kind, hard labels or representations among them", kinds
        )
    for target in targets:
        target.check(images, classes)


def write_targets(targets: tuple[Targets, ...]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the JSON of a file that say what the targets are."""
    tensors: dict[str, Tensor] = {}
    described: dict[str, Any] = {}
    for target in targets:
        target_tensors, description = target.to_file()
        tensors |= target_tensors
        described |= {} if description is None else {target.kind: description}
    return tensors, described


def read_targets(
    tensors: Mapping[str, Tensor], described: Mapping[str, Any]
) -> tuple[Targets, ...]:
    """Read the targets that `write_targets` gave.

    Raises:
        KeyError: a part of a description is missing. DDLabError: a description of another form.
    """
    # An online teacher has no tensor, hard labels have no description.
    kinds = [kind for kind in KINDS if f"targets/{kind}" in tensors or kind in described]
    return tuple(KINDS[kind].from_file(tensors, described.get(kind)) for kind in kinds)
