"""The inputs of a run: what it is given and never changes.

Labels and pictures of two sources meet here, so this is where class names and normalisations are
compared.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..core import DDLabError, devices, errors, storage
from ..data import ImageData
from ..data.images import resident
from ..distilled import DistilledSet
from ..networks import Network

# Deviations between means, and between logarithms of deviations; another split of the same data
# stays far below.
SAME_NORMALISATION = 0.1


Teachers = Network | Sequence[Network]


def as_teachers(teachers: Teachers | None, argument: str = "teachers") -> tuple[Network, ...]:
    """Return one network or a sequence of networks as a tuple; None makes an empty one."""
    if teachers is None:
        return ()
    if isinstance(teachers, Network):
        return (teachers,)
    if not isinstance(teachers, (tuple, list)) or not all(
        isinstance(teacher, Network) for teacher in teachers
    ):
        errors.fail(argument, "a Network or a sequence of Networks", teachers)
    return tuple(teachers)


@dataclass(frozen=True, kw_only=True, eq=False)
class Inputs:
    """Everything that a run is given and never changes.

    Attributes:
        data: the original dataset, or None. It is typed as if it were always there: what a process
            needs it says as `NEEDS`, which the driver checks before anything reads it.
        teachers: trained networks, for methods that need them.
        distilled: a distilled set, for processes that train on one, or None; typed as `data` is.
        device: "cpu", "cuda", ..., or "auto" (CUDA when there is one).

    Raises:
        DDLabError: a wrong type, a device that is not there, teachers of another shape than the
            data, or of other classes.
    """

    data: ImageData = None  # type: ignore[assignment]
    teachers: tuple[Network, ...] = ()
    distilled: DistilledSet = None  # type: ignore[assignment]
    device: torch.device | str = "auto"

    def __post_init__(self) -> None:
        for name, kind, words in (
            ("data", ImageData, "an ImageData"),
            ("distilled", DistilledSet, "a DistilledSet"),
        ):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                errors.fail(name, words, value)
        if not isinstance(self.teachers, tuple) or not all(
            isinstance(t, Network) for t in self.teachers
        ):
            errors.fail("teachers", "a tuple of Networks", self.teachers)
        # The shape that a network must fit; where both are there, `check_names` compares them with
        # each other.
        source = self.data or self.distilled
        for teacher in self.teachers:
            spec = teacher.spec
            if source is not None and (spec.channels, spec.classes) != (
                source.channels,
                source.classes,
            ):
                requirement = (
                    f"a network for {source.channels} channels and {source.classes} classes"
                )
                errors.fail(
                    "teacher",
                    requirement,
                    f"{spec.title} for {spec.channels} channels and {spec.classes} classes",
                )
            if source is not None and spec.image_size != tuple(source.image_size):
                errors.fail(
                    "teacher",
                    f"a network for images of {tuple(source.image_size)} pixels",
                    spec.image_size,
                )
            check_names("teacher", teacher.class_names, source)
        if self.distilled is not None:
            check_names("distilled", self.distilled.class_names, self.data)
        object.__setattr__(self, "device", devices.checked_device(self.device))
        # Once here, so that no update has to ask where its teacher is.
        on_device = tuple(teacher.to(self.device) for teacher in self.teachers)
        object.__setattr__(self, "teachers", on_device)
        if self.data is not None:
            object.__setattr__(self, "data", resident(self.data, self.device))

    @property
    def teacher(self) -> Network:
        """The first teacher.

        Raises:
            DDLabError: there is none.
        """
        if not self.teachers:
            raise DDLabError("teacher must be given; given none.")
        return self.teachers[0]

    @property
    def fingerprint(self) -> str:
        """A hash of data, teachers and distilled set, as they are now (not of the device)."""
        parts = [None if part is None else part.fingerprint for part in (self.data, self.distilled)]
        return storage.fingerprint(parts, [teacher.fingerprint for teacher in self.teachers])


def warn_of_other_normalisation(argument: str, network: Network, source: Any) -> None:
    """Warn where a network gets images that are normalised otherwise than those that it was trained
    on. Whitened images are an example.

    Args:
        source: an ImageData or a DistilledSet; None says nothing.
    """
    if source is None or network.normalisation is None:
        return
    # In the network's own deviations: a shift by half of a deviation matters, half of 255 says
    # nothing.
    mean, std = (torch.tensor(values) for values in network.normalisation)
    shift = float(((source.mean - mean).abs() / std).max())
    stretch = float((source.std / std).log().abs().max())
    if max(shift, stretch) > SAME_NORMALISATION:
        warnings.warn(
            f"{argument} was trained on images with mean {_numbers(mean)} and deviation "
            f"{_numbers(std)}; these have "
            f"{_numbers(source.mean)} and {_numbers(source.std)}, so it sees other values "
            "than it knows.",
            stacklevel=2,
        )


def _numbers(values: Tensor) -> str:
    return " ".join(f"{value:.3f}" for value in values.tolist())


def check_names(
    argument: str, names: Sequence[str] | None, source: Any, *, strict: bool = False
) -> None:
    """Raise if the classes are not those that the labels of `source` mean, in the same order.

    Where no class label is read, pictures and features may be of something else altogether: but
    with `strict`.
    """
    data_names = () if source is None else source.class_names
    # Names without a single one in common belong to a transfer from another dataset, which is
    # allowed.
    if names and data_names and (strict or not set(names).isdisjoint(data_names)):
        errors.check_same_classes(argument, names, data_names)
