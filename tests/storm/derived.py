"""Right arguments read off annotations: a public function needs no entry in a table if they say enough.

They do for numbers, choices, tensors by the names of their lengths, what ddlab itself makes (data, a network, a distilled set), and
arguments that have a default. A rule function says nothing that could be read; `TENSORS` knows how those of tensors are met.
"""

from __future__ import annotations

import inspect
import types
import typing
import zlib
from collections.abc import Callable
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from ddlab import theory
from ddlab.core.boundary import Among, Shape, Within
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.networks import Network
from tests import public_api
from tests.storm.good import Given, Good

LARGEST = 200  # of a whole number in a range: larger ones only cost time, and what lies above its end is thrown anyway
LENGTHS = {"...": (2, 3), "n": (6,), "m": (5,), "d": (2,), "c": (1,), "h": (8,), "w": (8,)}  # others are 3
MADE: dict[Any, Callable[[Given], Any]] = {
    ImageData: lambda g: g.data,
    Network: lambda g: g.teacher,
    DistilledSet: lambda g: g.distilled,
    theory.GaussianMixture: lambda g: theory.bimodal_mixture(dimensions=1),
    theory.ToyNetworks: lambda g: theory.initial_toys(2, units=3),
}
TENSORS: dict[str, Callable[[Tensor], Tensor]] = {
    "variances": Tensor.abs,
    "_weights": Tensor.abs,
    "fractions": Tensor.sigmoid,
    "distributions": lambda value: value.softmax(-1),
}


def derived(call: Any) -> Good | None:
    """The entry of a function or a class, if its annotations say enough."""
    annotations = _annotations(call)
    makers: dict[str, Callable[[Given], Any]] = {}
    for parameter in public_api.parameters(call):
        make = _maker(parameter.name, annotation := annotations.get(parameter.name))
        needed = parameter.default is parameter.empty
        if make is not None and (needed or typing.get_origin(annotation) is not None):
            makers[parameter.name] = make
        elif needed:
            return None
    ended = [name for name, kind in annotations.items() if any(_ends(one) for one in (kind, *typing.get_args(kind)))]
    return Good(lambda g: {name: make(g) for name, make in makers.items()}, largest=dict.fromkeys(ended, LARGEST))


def _annotations(call: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(inspect.unwrap(call), include_extras=True)
    except (NameError, TypeError):  # a name that only type checkers see
        return {}


def _ends(annotation: Any) -> bool:
    """Whether it is a whole number that has a largest one."""
    narrower = getattr(annotation, "__metadata__", (None,))[0]
    return isinstance(narrower, Within) and narrower.high is not None and typing.get_args(annotation)[0] is int


def _maker(argument: str, annotation: Any) -> Callable[[Given], Any] | None:
    """What makes a right value; None where the annotation does not say what is right."""
    members = typing.get_args(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        rest = [member for member in members if member is not type(None)]
        return _maker(argument, rest[0]) if len(rest) == 1 else None
    if typing.get_origin(annotation) is Literal:
        return lambda g: members[0]
    if typing.get_origin(annotation) is not Annotated:
        return MADE.get(annotation) or {int: lambda g: 2, float: lambda g: 0.5}.get(annotation)
    kind, first, rules = members[0], members[1], [rule.__name__ for rule in members[1:] if inspect.isfunction(rule)]
    if isinstance(first, Among):
        return lambda g: first.choices[0]
    if isinstance(first, Within):
        return lambda g: _number(kind, first)
    if isinstance(first, Shape):
        return lambda g: _tensor(argument, first, rules)
    return None


def _number(kind: type, ends: Within) -> float:
    low, high = (end if end is not None else far for end, far in ((ends.low, -1e9), (ends.high, 1e9)))
    near = max(low, 0.0)
    return min(int(near) + 2, int(high)) if kind is int else 0.5 if low < 0.5 <= high else min(near + 1, high)


def _tensor(argument: str, shape: Shape, rules: list[str]) -> Tensor:
    lengths = [n for name in shape.lengths for n in ((int(name),) if name.isdigit() else LENGTHS.get(name, (3,)))]
    drawn = torch.randn(lengths, generator=torch.Generator().manual_seed(zlib.crc32(argument.encode())))
    for rule in rules:
        drawn = TENSORS.get(rule, lambda value: value)(drawn)
    if shape.dtype is None or shape.dtype.is_floating_point:
        return drawn.to(shape.dtype or torch.float32)
    return (torch.arange(drawn.numel()).view(lengths) % 2).to(shape.dtype)
