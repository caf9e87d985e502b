"""What a user's State may be made of: each type comes back from a checkpoint as it was, or is
refused before the first update.
"""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from typing import Any, NamedTuple, Optional, Union

import numpy as np
import pytest
import torch
from torch import Tensor

from ddlab import networks
from ddlab.core import Parameters
from ddlab.networks import Network
from ddlab.runs import Inputs, checkpoint
from tests.support import assert_same, refuses, run_to_end


@dataclass(frozen=True)
class Part:
    rate: float
    values: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Rounded:
    """Is another after it was made."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", self.value / 2)


class Pair(NamedTuple):
    left: int
    right: int


class Colour(enum.Enum):
    RED = 1


def small_network() -> Network:
    spec = dataclasses.replace(
        networks.spec("vit", width=2, depth=1, heads=1), channels=1, classes=2, image_size=(4, 4)
    )
    return networks.initialise(spec, seed=0)


T = torch.arange(3.0)
COMES_BACK: dict[str, tuple[Any, Any]] = {
    "tensor": (Tensor, T),
    "integers": (Tensor, torch.tensor([1, 2])),
    "booleans": (Tensor, torch.tensor([True])),
    "half": (Tensor, T.bfloat16()),
    "not finite": (float, float("inf")),
    "leaf": (Tensor, T.clone().requires_grad_()),
    "optional tensor": (Optional[Tensor], T),  # noqa: UP045
    "optional None": (Optional[Tensor], None),  # noqa: UP045
    "union of tensor and float": (Union[Tensor, float], T),  # noqa: UP007
    "union of float and tensor": (Tensor | float, 0.5),
    "any tensor": (Any, T),
    "any number": (Any, 3),
    "any dict": (Any, {"a": T, "b": [1, "x"]}),
    "bare dict": (dict, {"a": T, "b": 1}),
    "bare list": (list, [T, 1.0, None]),
    "bare tuple": (tuple, (1, (2, T))),
    "mapping": (Mapping[str, Tensor], {"a": T}),
    "sequence": (Sequence[int], [1, 2]),
    "tuple": (tuple[float, ...], (0.5, 1.5)),
    "list of tensors": (list[Tensor], [T, T + 1]),
    "dict of floats": (dict[str, float], {"a": 0.5}),
    "dict of dicts": (dict[str, dict[str, Tensor]], {"a": {"b/c": T}, "a/b": {"c": T + 1}}),
    "int keys": (dict[int, str], {1: "x", 10: "y", 2: "z"}),
    "empty": (dict[str, Tensor], {}),
    "text": (str, "ü \ud800"),
    "flag": (bool, True),
    "large": (int, 10**40),
    "dataclass": (Part, Part(0.5, {"w": T})),
    "list of dataclasses": (list[Part], [Part(0.5), Part(1.5, {"w": T})]),
    "union of dataclasses": (Rounded | Part, Part(2.0)),
    "network": (Network, small_network()),
}
IS_REFUSED: dict[str, tuple[Any, Any]] = {
    "array": (Any, np.ones(2)),
    "number of numpy": (float, np.float64(0.5)),
    "set": (set, {1, 2}),
    "bytes": (bytes, b"x"),
    "complex": (complex, 1j),
    "named tuple": (Pair, Pair(1, 2)),
    "enumeration": (Colour, Colour.RED),
    "ordered dict": (dict, collections.OrderedDict(a=1)),
    "counter": (dict, collections.Counter("ab")),
    "proxy": (Mapping, types.MappingProxyType({"a": 1})),
    "tuple keys": (dict, {(1, 2): 3}),
    "path": (pathlib.Path, pathlib.Path("x")),
    "date": (datetime.date, datetime.date(2020, 1, 1)),
    "fraction": (Any, fractions.Fraction(1, 2)),
    "decimal": (Any, decimal.Decimal(1)),
    "generator": (torch.Generator, torch.Generator()),
    "parameter": (Tensor, torch.nn.Parameter(T)),
    "module": (Any, torch.nn.Linear(1, 1)),
    "size": (Any, torch.Size([1])),
    "dtype": (Any, torch.float32),
    "function": (Any, len),
    "dataclass behind Any": (Any, Part(0.5)),
    "what changes itself": (Rounded, Rounded(1.0)),
    "deep inside": (dict[str, Any], {"a": [1, {"b": {2}}]}),
}


class Config(Parameters):
    pass


def process_of(annotation: Any, value: Any) -> Any:
    state = make_dataclass("State", [("step", int), ("part", annotation)], frozen=True)
    trace = make_dataclass("Trace", [], frozen=True)
    return types.SimpleNamespace(
        NAME="mine",
        Config=Config,
        State=state,
        Trace=trace,
        total_steps=lambda config, inputs: 2,
        init=lambda config, inputs: state(0, value),
        update=lambda config, inputs, before: (state(before.step + 1, before.part), trace()),
        finish=lambda config, inputs, last: last,
    )


@pytest.mark.parametrize("name", COMES_BACK)
def test_comes_back_as_it_was(name: str, tmp_path: Any) -> None:
    mine = process_of(*COMES_BACK[name])
    result = run_to_end(mine, Config(), Inputs(), checkpoint=tmp_path / "x", keep_checkpoint=True)
    read = checkpoint.load(tmp_path / "x", mine, Config(), Inputs())
    assert read.step == 2 and type(read.part) is type(result.part)
    if isinstance(result.part, Network):
        assert (
            read.part.fingerprint == result.part.fingerprint
            and read.part.provenance == result.part.provenance
        )
    elif isinstance(result.part, Tensor):
        assert (
            read.part.dtype == result.part.dtype
            and read.part.requires_grad == result.part.requires_grad
        )
        assert torch.equal(read.part, result.part)
    else:
        assert_same(read.part, result.part)


@pytest.mark.parametrize("name", IS_REFUSED)
def test_is_refused_before_the_first_update(name: str, tmp_path: Any) -> None:
    mine = process_of(*IS_REFUSED[name])
    steps_done: list[Any] = []
    with refuses("State.part", "must be"):
        run_to_end(mine, Config(), Inputs(), checkpoint=tmp_path / "x", on_step=steps_done.append)
    assert not steps_done


def test_without_a_checkpoint_anything_goes() -> None:
    mine = process_of(set, {1, 2})
    assert run_to_end(mine, Config(), Inputs()).part == {1, 2}
