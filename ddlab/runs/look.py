"""A reader's view of one step of a process: images with their labels, and named numbers.

    def look(config, inputs, state, trace):                    # trace is None before the first update
        numbers = {} if trace is None else {"loss": Number(trace.loss, curve="loss", scale="log")}
        return Look(state.images, labels, numbers)

A module without a `look` is looked at by `default_look`: the `images` of its State and the scalars
of its Trace.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from ..core import errors
from .process import Process


@dataclass(frozen=True)
class Number:
    """One scalar of a step, with how it is drawn.

    Attributes:
        value: a float or a tensor of one number (it stays on its device until a frame is kept).
        unit: "bits", "nats", ...; "" for a plain number.
        curve: the plot it is drawn in, together with all numbers of that name; "" gives it one of
            its own.
        scale: of the plot's y axis.
        x: where on the x axis it stands; None is the number of updates done.
        x_label: what the x axis counts.
    """

    value: float | Tensor
    unit: str = ""
    curve: str = ""
    scale: Literal["linear", "log"] = "linear"
    x: float | None = None
    x_label: str = "update"


@dataclass(frozen=True, eq=False)
class Look:
    """The images and numbers of one step.

    Attributes:
        images: float32 [n, channels, height, width], normalised like the data, or None where there
            are none to see.
        labels: int64 [n], the class of each image, or None.
        numbers: name -> `Number`, in the order in which they are shown.
    """

    images: Tensor | None = None
    labels: Tensor | None = None
    numbers: Mapping[str, Number] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.images is not None:
            # NaN is allowed here: a picture of a run that has gone wrong is worth seeing, and the
            # run itself stops.
            errors.check_tensor(
                "images of a look", self.images, shape=[None] * 4, floating=True, finite=False
            )
        if self.labels is not None:
            shape = [None if self.images is None else len(self.images)]
            errors.check_tensor("labels of a look", self.labels, shape=shape, dtype=torch.int64)
        errors.check_instance(
            "numbers of a look", self.numbers, Mapping, "a mapping of name to Number"
        )
        for name, number in self.numbers.items():
            errors.check_instance(f"number {name!r} of a look", number, Number)

    def kept(self) -> "Look":
        """Return a copy that no longer depends on the run: tensors on the CPU, numbers as floats."""
        numbers = {
            name: dataclasses.replace(number, value=float(number.value))
            for name, number in self.numbers.items()
        }
        # Copied also where they are on the CPU already: a method may go on writing into its own
        # memory.
        images = None if self.images is None else self.images.detach().to("cpu", copy=True)
        return Look(images, None if self.labels is None else self.labels.cpu(), numbers)


def default_look(config: Any, inputs: Any, state: Any, trace: Any) -> Look:
    """Return the look of a module that has none.

    It shows `state.images` where they are images, and every scalar field of the trace.
    """
    images = getattr(state, "images", None)
    if not (isinstance(images, Tensor) and images.ndim == 4 and images.is_floating_point()):
        images = None
    scalars = {}
    for part in dataclasses.fields(trace) if dataclasses.is_dataclass(trace) else ():
        value = getattr(trace, part.name)
        if isinstance(value, float) or (isinstance(value, Tensor) and value.numel() == 1):
            scalars[part.name.replace("_", " ")] = Number(value)
    return Look(images, None, scalars)


def look(process: Process, config: Any, inputs: Any, state: Any, trace: Any) -> Look:
    """Return what `process` shows of a step, by its own `look` or by `default_look`."""
    result = getattr(process, "look", default_look)(config, inputs, state, trace)
    return errors.check_instance(f"what look of {process.NAME} returns", result, Look)
