"""The kinds of labels and other targets that a distilled set comes with, and how they are written to its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..core import errors
from . import representations
from .representations import Representations


@dataclass(frozen=True, eq=False)
class HardLabels:
    """One class number per image: int64 [n]."""

    classes: Tensor
    kind: ClassVar[str] = "hard"

    def storage_floats(self) -> int:
        """A class number counts as one float."""
        return self.classes.numel()


@dataclass(frozen=True, eq=False)
class StoredLabels:
    """Teachers' logits for each image as it is, without augmentation, their mean where they are several: float32 [n, classes]."""

    logits: Tensor
    kind: ClassVar[str] = "stored"

    def storage_floats(self) -> int:
        """Every logit counts."""
        return self.logits.numel()


@dataclass(frozen=True)
class OnlineTeacher:
    """Teachers are asked during student training, for each augmented view; the set only names them, by fingerprint.

    `others` are those beside the first, whose logits are averaged with its own.
    """

    fingerprint: str
    others: tuple[str, ...] = ()
    kind: ClassVar[str] = "online"

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """All teachers."""
        return (self.fingerprint, *self.others)

    def storage_floats(self) -> int:
        """The teachers' weights are not part of the set: 0. (They are a cost all the same, and larger than the images.)"""
        return 0


@dataclass(frozen=True, eq=False)
class RegressionLabels:
    """Real-valued labels that a regression is to give, and that need not be probabilities: float32 [n, classes].

    Made by KIP and label solve: one-hot less 1 / classes as they begin. The class is that of the largest value.
    """

    values: Tensor
    kind: ClassVar[str] = "regression"

    def storage_floats(self) -> int:
        """Every value counts."""
        return self.values.numel()


@dataclass(frozen=True, eq=False)
class OrderedSteps:
    """How a network is to be trained on the set: in which order, and at which rates (DD: Wang et al. 2018, arXiv 1811.10959).

    Attributes:
        rates: float32 [epochs, steps], of gradient descent, one for each step of each pass. The images stand in their order: each step
            has n / steps of them.
        passes: how often a network goes through all these steps.
        labels: float32 [n, classes], of which the cross-entropy is taken in the place of class numbers, or None; they need not be
            probabilities (SLDD: Sucholutsky & Schonlau 2021, arXiv 1910.02551).
        momenta: float32 [epochs, steps], what is left of the velocity at each step, or None for none (GTN: Such et al. 2020).
    """

    rates: Tensor
    labels: Tensor | None = None
    passes: int = 1
    momenta: Tensor | None = None
    kind: ClassVar[str] = "steps"

    @property
    def total(self) -> int:
        """Steps of a whole training."""
        return self.passes * self.rates.numel()

    def storage_floats(self) -> int:
        """Every rate, momentum and value of a label counts."""
        return sum(value.numel() for value in (self.rates, self.labels, self.momenta) if value is not None)


Targets = HardLabels | StoredLabels | OnlineTeacher | Representations | RegressionLabels | OrderedSteps
KINDS = ("hard", "stored", "online", "representations", "regression", "steps")


def check_targets(targets: tuple[Targets, ...], images: int, classes: int) -> None:
    """Raise if shapes, dtypes or values are not those of labels for so many images and classes."""
    kinds = [target.kind for target in targets]
    if not {"hard", "representations"} & set(kinds) or len(set(kinds)) != len(kinds):
        errors.fail("targets", "at most one of each kind, hard labels or representations among them", kinds)
    for target in targets:
        if isinstance(target, HardLabels):
            errors.check_tensor("hard labels", target.classes, shape=[images], dtype=torch.int64)
            if images and not 0 <= int(target.classes.min()) <= int(target.classes.max()) < classes:
                errors.fail("hard labels", f"class numbers from 0 to {classes - 1}", target.classes.tolist())
        elif isinstance(target, StoredLabels):
            errors.check_tensor("stored labels", target.logits, shape=[images, classes], dtype=torch.float32)
        elif isinstance(target, OnlineTeacher):
            _check_names("online teachers", target.fingerprints if isinstance(target.others, tuple) else target.others)
        elif isinstance(target, Representations):
            representations.check_representations(target, images)
        elif isinstance(target, RegressionLabels):
            errors.check_tensor("labels of a regression", target.values, shape=[images, classes], dtype=torch.float32)
        elif isinstance(target, OrderedSteps):
            errors.check_tensor("rates of the steps", target.rates, shape=[None, None], dtype=torch.float32)
            if not target.rates.numel() or images % target.rates.shape[1]:
                allowed = f"float32 [epochs, steps], at least one of each, with steps that share {images} images evenly"
                errors.fail("rates of the steps", allowed, target.rates)
            errors.check_integer("passes of the steps", target.passes, 1)
            if target.labels is not None:
                errors.check_tensor("labels of the steps", target.labels, shape=[images, classes], dtype=torch.float32)
            if target.momenta is not None:
                shape = [*target.rates.shape]
                errors.check_tensor("momenta of the steps", target.momenta, shape=shape, dtype=torch.float32)


def _check_names(argument: str, names: Any) -> None:
    if not isinstance(names, tuple) or not names or not all(isinstance(name, str) for name in names):
        errors.fail(argument, "a tuple of fingerprints", names)


def identity(target: Targets) -> dict[str, Any]:
    """What makes it this one, for a fingerprint: the same as before there could be several teachers, or momenta."""
    found = {field.name: getattr(target, field.name) for field in fields(target)}
    later = ("others", "momenta")
    return {name: value for name, value in found.items() if name not in later or (value is not None and len(value))}


def written(targets: tuple[Targets, ...]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the JSON of a file that say what the targets are."""
    tensors: dict[str, Tensor] = {}
    described: dict[str, Any] = {}
    for target in targets:
        if isinstance(target, OnlineTeacher):
            described["online"] = [*target.fingerprints] if target.others else target.fingerprint
        elif isinstance(target, HardLabels):
            tensors["targets/hard"] = target.classes
        elif isinstance(target, Representations):
            stored, described["representations"] = representations.written(target)
            tensors |= stored
        elif isinstance(target, RegressionLabels):
            tensors["targets/regression"] = target.values
        elif isinstance(target, OrderedSteps):
            tensors["targets/steps"], described["steps"] = target.rates, {"passes": target.passes}
            parts = {"labels": target.labels, "momenta": target.momenta}
            tensors |= {f"targets/steps/{name}": value for name, value in parts.items() if value is not None}
        else:
            tensors[f"targets/{target.kind}"] = target.logits
    return tensors, described


def read(tensors: Mapping[str, Tensor], described: Mapping[str, Any]) -> tuple[Targets, ...]:
    """What `written` gave, and what files held before there were several teachers.

    Raises:
        KeyError: a part of a description is missing. DDLabError: a description of another form.
    """
    targets: list[Targets] = []
    if "targets/hard" in tensors:
        targets.append(HardLabels(tensors["targets/hard"]))
    if "targets/stored" in tensors:
        targets.append(StoredLabels(tensors["targets/stored"]))
    if "online" in described:
        named = described["online"]
        names = _names("online", [named] if isinstance(named, str) else named)
        targets.append(OnlineTeacher(names[0], names[1:]))
    if "targets/regression" in tensors:
        targets.append(RegressionLabels(tensors["targets/regression"]))
    if "targets/steps" in tensors:
        labels, momenta = (tensors.get(f"targets/steps/{name}") for name in ("labels", "momenta"))
        targets.append(OrderedSteps(tensors["targets/steps"], labels, described["steps"]["passes"], momenta))
    if "representations" in described:
        targets.append(representations.read(tensors, described["representations"]))
    return tuple(targets)


def _names(argument: str, given: Any) -> tuple[str, ...]:
    names = tuple(errors.check_instance(argument, given, list, "a list of fingerprints"))
    _check_names(argument, names)
    return names
