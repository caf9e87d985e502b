"""Wrong values for an argument, made from a right one: of other types, and of the same type but bent."""

from __future__ import annotations

import dataclasses
import fractions
import inspect
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from torch import Tensor

from ddlab.core.boundary import Shape, Within

ANYTHING: list[Any] = [
    None, True, 3, -1, 2.5, float("nan"), float("inf"), "text", "", b"\x00", [], {}, (), object(), [None], {"a": None}, {1: 2}, 1j,
    torch.zeros(2, 3), np.zeros(3), np.array(["text"]), (1, 2), range(3), slice(None), NotImplemented, ValueError("value"),
]  # fmt: skip
WHOLE: list[Any] = [
    0,
    -1,
    1,
    7,
    -(2**31),
    2**31,
    2**63,
    10**400,
    True,
    1.0,
    0.5,
    float("nan"),
    "1",
    np.int64(-1),
    np.float32(2),
]
NUMBERS: list[Any] = [
    0, -1, 1e-320, 1e308, -1e308, float("nan"), float("inf"), -float("inf"), 10**400, True, "0.5", 1j, np.float64("nan"),
    fractions.Fraction(1, 3), torch.tensor(0.5), torch.tensor(float("nan")),
]  # fmt: skip
TEXTS: list[Any] = [
    "",
    " ",
    "nothing",
    "x" * 5000,
    "\0",
    "\ud800",
    "a\nb",
    "../..",
    "<b>",
    "%s{x}",
    b"text",
    3,
    ["text"],
]
PATHS: list[Any] = [*TEXTS, "/proc/none/x", "n" * 300, Path(), Path("/"), Path("none/x"), b"path", Path("\0")]
SWITCHES: list[Any] = [0, 1, "yes", None, np.True_, torch.tensor(True)]
DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
)


def checked_annotations(call: Any) -> Mapping[str, Any]:
    """What `checked` or `check_fields` reads: the annotation of each argument; nothing where neither checks."""
    made = getattr(getattr(call, "__post_init__", None), "__code__", None)
    if not hasattr(call, "__wrapped__") and not (made and "check_fields" in made.co_names):
        return {}
    return typing.get_type_hints(inspect.unwrap(call), include_extras=True)


def excluded(annotation: Any, good: Any) -> Iterator[Any]:
    """What an annotation excludes: another kind of thing, what lies beyond the ends of its range, NaN in its tensor."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
        if len(kinds) == 1:
            yield from excluded(kinds[0], good)
    elif typing.get_origin(annotation) is Annotated:
        yield object()
        for narrower in annotation.__metadata__:
            if isinstance(narrower, Within):
                yield from [float("nan"), float("inf")]
                low = narrower.low
                yield from [] if low is None else [low if narrower.open_low else min(low - 1, 2 * low)]
                yield from [] if narrower.high is None else [2 * narrower.high + 1]
            elif isinstance(narrower, Shape) and isinstance(good, Tensor):
                yield from [good.to_sparse(), good.to("meta"), good.to(torch.int32), good.tolist()]
                yield from [torch.full_like(good, torch.nan)] if narrower.finite else []
                yield from [] if "..." in narrower.lengths or "*" in "".join(narrower.lengths) else [good[None]]
                yield from [] if "..." in narrower.lengths or good.ndim == 0 else [good.flatten()[0]]
    elif annotation in (int, float, bool, str, Tensor) or typing.get_origin(annotation) is typing.Literal:
        yield object()


def wrong(good: Any, strangers: list[Any], largest: float | None = None, *, whole: bool = False) -> SearchStrategy[Any]:
    """Values to put in the place of `good`; with `whole` none that is made from it."""
    near = [] if whole else bent(good)
    pool = near + strangers + [value for value in ANYTHING if not (callable(good) and callable(value))]
    return st.one_of(st.sampled_from(near or pool), st.sampled_from(pool), _generated(good, largest)).filter(
        lambda value: largest is None or not _is_number(value) or not value > largest
    )


def bent(good: Any) -> list[Any]:
    """Values of nearly the same kind as `good`."""
    if isinstance(good, bool):
        return SWITCHES
    if isinstance(good, int):
        return WHOLE
    if isinstance(good, float):
        return NUMBERS
    if isinstance(good, str):
        return TEXTS
    if isinstance(good, Path):
        return PATHS
    if isinstance(good, Tensor):
        return _tensors(good)
    if isinstance(good, np.ndarray):
        return [
            item.numpy() if isinstance(item, Tensor) else item
            for item in _tensors(torch.from_numpy(good))
            if _has_numpy(item)
        ]
    if isinstance(good, (tuple, list)) and not hasattr(good, "_fields"):
        return _sequences(good)
    if isinstance(good, Mapping):
        return _mappings(good)
    if hasattr(good, "_fields") or (dataclasses.is_dataclass(good) and not isinstance(good, type)):
        return _records(good)
    return []


def _tensors(good: Tensor) -> list[Any]:
    other = [
        good[None],
        good.flatten(),
        good.flatten()[:0],
        good.tolist(),
        good.T if good.ndim == 2 else good.mT if good.ndim > 2 else good,
    ]
    other += [good[:-1], good[:0], torch.cat([good, good]), good.unsqueeze(-1)] if good.ndim else []
    kinds = [good.to(dtype) for dtype in DTYPES if dtype != good.dtype]
    values = [~good] if good.dtype == torch.bool else [good - 1, good * 0, good * 100]
    values += [good.to("meta"), good.to_sparse()]
    if good.is_floating_point():
        first_is = [good.clone() for _ in range(3)]
        for value, number in zip(first_is, (torch.nan, torch.inf, -torch.inf), strict=True):
            value.view(-1)[:1] = number
        values += [*first_is, good * 1e38, good.clone().requires_grad_()]
    return other + kinds + values


def _has_numpy(item: Any) -> bool:
    plain = isinstance(item, Tensor) and not item.requires_grad and item.layout is torch.strided
    return not isinstance(item, Tensor) or (plain and not item.is_meta and item.dtype != torch.bfloat16)


def _sequences(good: tuple[Any, ...] | list[Any]) -> list[Any]:
    kind = type(good)
    found: list[Any] = [
        kind(),
        kind([*good, *good]),
        kind(good[:-1]),
        kind([*good, None]),
        dict(enumerate(good)),
        iter(good),
    ]
    for value in [*ANYTHING[:12], *(bent(good[0]) if good else [])]:
        found.append(kind([value, *good[1:]]))
    return found


def _mappings(good: Mapping[str, Any]) -> list[Any]:
    found: list[Any] = [
        {},
        list(good),
        dict(list(good.items())[1:]),
        {**good, "another": None},
        {**good, 3: None},
        tuple(good.items()),
    ]
    for name in list(good)[:1]:
        found += [{**good, name: value} for value in [*ANYTHING[:12], *bent(good[name])]]
    return found


def _records(good: Any) -> list[Any]:
    """One field replaced, in records that do not look at what they are given."""
    named = hasattr(good, "_fields")
    found = []
    for name in good._fields if named else [field.name for field in dataclasses.fields(good)]:
        for value in [*ANYTHING[:12], *bent(getattr(good, name))]:
            try:
                found.append(good._replace(**{name: value}) if named else dataclasses.replace(good, **{name: value}))
            except (ValueError, TypeError):  # it does look
                continue
    return found


def _generated(good: Any, largest: float | None) -> SearchStrategy[Any]:
    top = None if largest is None else int(largest)
    if isinstance(good, bool) or good is None:
        return st.sampled_from(SWITCHES)
    if isinstance(good, int):
        return st.integers(max_value=top)
    if isinstance(good, float):
        return st.floats() | st.integers(max_value=top)
    if isinstance(good, (str, Path)):
        return st.text(max_size=12)
    if isinstance(good, Tensor):
        shapes = st.lists(st.integers(0, 4), max_size=5)
        return st.builds(lambda shape, dtype: torch.ones(shape).to(dtype), shapes, st.sampled_from(DTYPES))
    return st.one_of(st.text(max_size=3), st.integers(), st.floats(), st.lists(st.integers(), max_size=3))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, np.number) and not np.iscomplexobj(value))
