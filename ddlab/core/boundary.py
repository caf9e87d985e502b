"""The boundary: a public function's arguments are checked once, from its signature, so that its body holds the equation.

    Ratio = Annotated[float, within(0, 1)]

    @checked
    def mixed(images: Annotated[Tensor, floats("n c h w")], labels: Annotated[Tensor, integers("n")], *, ratio: Ratio) -> Tensor:

`int`, `float`, `bool`, `str`, `Literal[...]`, `Tensor`, `Callable[...]` and classes say what is allowed by themselves, also with
`| None`. What follows the type in `Annotated` narrows it: `within`, `among`, a shape, or any function (argument, value) -> value that
raises. A shape names its lengths; a name that stands in several arguments is one length, that with a star one tuple of lengths, and
the float tensors of one call have one dtype, but for those with `alike=False`.
Any other annotation (a sequence, a mapping, a union, `Any`) is left to the body.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union

import torch
from torch import Tensor

from . import errors

Function = TypeVar("Function", bound=Callable[..., Any])
Settled = dict[str, Any]  # lengths by name, and the dtype of float tensors, as a call's earlier arguments have them
Rule = Callable[[str, Any, Settled], Any]

_DTYPE = "dtype"
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def checked(function: Function) -> Function:
    """Check each call's arguments against the annotations of `function`; numbers arrive as int or float.

    Raises (from the call):
        DDLabError: an argument that its annotation does not allow. TypeError: a name that the function does not have, as ever.
    """
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind not in _MANY]
    positional = [each.name for each in parameters if each.kind is not inspect.Parameter.KEYWORD_ONLY]

    @functools.cache
    def rules() -> dict[str, Rule]:  # when first called: an annotation may name what stands further down
        return _rules({each.name: each.annotation for each in parameters}, function.__globals__)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        values, settled = list(args), {}
        for place, name in enumerate(positional[: len(args)]):
            if name in rules():
                values[place] = rules()[name](name, values[place], settled)
        for name, rule in rules().items():  # in the signature's order: earlier arguments settle lengths for later ones
            if name in kwargs:
                kwargs[name] = rule(name, kwargs[name], settled)
        return function(*values, **kwargs)

    return typing.cast(Function, call)


def check_fields(instance: Any) -> None:
    """The same for a dataclass, called from its `__post_init__`; a field whose default is None may be None."""
    settled: Settled = {}
    for name, rule in _field_rules(type(instance)).items():
        object.__setattr__(instance, name, rule(name, getattr(instance, name), settled))


def check(argument: str, value: Any, annotation: Any, **settled: Any) -> Any:
    """The same for one value, such as a member of a sequence or a mapping: check(f"groups[{name!r}]", points, Points, d=2).

    Args:
        settled: lengths of a shape by name, and `dtype` of its float tensors, that are known already.
    """
    rule = _cached_rule(annotation)
    return value if rule is None else rule(argument, value, settled)


class Within(NamedTuple):
    """The ends of a number's range."""

    low: float | None
    high: float | None
    open_low: bool


def within(low: float | None = None, high: float | None = None, *, open_low: bool = False) -> Within:
    """An `int` or a `float` in [low, high], in (low, high] with `open_low`; None leaves an end open.

    Of a `float | Tensor` the number; a tensor of shape [] is not looked into, which would wait for the device.
    """
    return Within(low, high, open_low)


class Among(NamedTuple):
    """What may be chosen."""

    choices: tuple[Any, ...]


def among(*choices: Any) -> Among:
    """One of these. A `Literal` says the same; to a type checker it refuses a choice that is only known to be a text."""
    return Among(choices)


class Shape(NamedTuple):
    """The lengths and the kind of a tensor.

    `lengths`: names, numbers, "..." in front for any that come before; or "*name" at the end for one or more.
    """

    lengths: tuple[str, ...]
    dtype: torch.dtype | None  # None: floating
    finite: bool
    alike: bool = False  # of the other float tensors' dtype

    def check(self, argument: str, value: Any, settled: Settled) -> Tensor:
        """Return `value` if it fits what the earlier arguments have settled; settles the lengths it is the first to name."""
        names = self.lengths[self.lengths[:1] == ("...",) :]
        if names and names[-1][0] == "*":
            names = _unpacked(names, value, settled)
        shape: list[int | str] = [int(name) if name.isdigit() else settled.get(name, name) for name in names]
        if len(names) < len(self.lengths):
            fits = isinstance(value, Tensor) and value.ndim >= len(names)
            shape = [*(value.shape[: value.ndim - len(names)] if fits else ["..."]), *shape]
        dtype = settled.get(_DTYPE) if self.alike else self.dtype
        found = errors.check_tensor(
            argument, value, shape=shape, dtype=dtype, floating=dtype is None, finite=self.finite
        )
        for name, length in zip(reversed(names), reversed(found.shape), strict=False):
            if not name.isdigit() and settled.setdefault(name, length) != length:
                errors.fail(argument, f"a tensor of shape [{', '.join(map(str, self.lengths))}]", value)
        if self.alike:
            settled.setdefault(_DTYPE, found.dtype)
        return found


def _unpacked(names: tuple[str, ...], value: Any, settled: Settled) -> tuple[str, ...]:
    """The names with numbers for the starred last one, as an earlier argument or else `value` has them."""
    *single, starred = names
    if starred not in settled and isinstance(value, Tensor) and value.ndim > len(single):
        settled[starred] = tuple(map(str, value.shape[len(single) :]))
    return (*single, *settled.get(starred, (starred,)))


def floats(lengths: str, *, finite: bool = True, alike: bool = True) -> Shape:
    """A floating-point tensor of this shape ("n c h w") without NaN or infinity; `finite=False` does not look for those.

    `alike=False` leaves it a dtype of its own, whatever the other tensors of the call have.
    """
    return Shape(tuple(lengths.split()), None, finite, alike)


def integers(lengths: str) -> Shape:
    """An int64 tensor of this shape: class numbers, indices."""
    return Shape(tuple(lengths.split()), torch.int64, False)


def typed(lengths: str, dtype: torch.dtype) -> Shape:
    """A tensor of this shape and dtype; a floating one without NaN or infinity."""
    return Shape(tuple(lengths.split()), dtype, dtype.is_floating_point)


def filled(argument: str, value: Tensor) -> Tensor:
    """Of a tensor that has at least one entry: Annotated[Tensor, floats("n d"), filled]."""
    if value.numel() == 0:
        errors.fail(argument, "a tensor without an axis of length 0", value)
    return value


@functools.cache
def _field_rules(kind: type) -> Mapping[str, Rule]:
    fields = [field for field in dataclasses.fields(kind) if field.init]
    rules = _rules({field.name: field.type for field in fields}, vars(sys.modules[kind.__module__]))
    return rules | {
        each.name: _or_none(rules[each.name]) for each in fields if each.default is None and each.name in rules
    }


def _rules(annotations: Mapping[str, Any], names: dict[str, Any]) -> dict[str, Rule]:
    """The rule of each annotation that gives one; annotations that are text are read where the function stands."""
    read = {name: eval(text, names) if isinstance(text, str) else text for name, text in annotations.items()}
    rules = {name: _rule(annotation) for name, annotation in read.items() if annotation is not inspect.Parameter.empty}
    return {name: rule for name, rule in rules.items() if rule is not None}


def _rule(annotation: Any) -> Rule | None:
    kind = typing.get_origin(annotation)
    members = typing.get_args(annotation)
    if kind in (Union, types.UnionType):
        rest = [member for member in members if member is not type(None)]
        rule = _rule(rest[0]) if len(rest) == 1 else None
        return rule and (_or_none(rule) if len(rest) < len(members) else rule)
    if kind is Annotated:
        return _narrowed(members[0], members[1:])
    if kind is Literal:
        return _choice(members)
    if kind is collections.abc.Callable or annotation is Callable:
        return lambda argument, value, settled: errors.check_function(argument, value)
    if annotation in (int, float):
        return _number(annotation, within())
    if annotation is bool:
        return lambda argument, value, settled: errors.check_boolean(argument, value)
    if annotation is str:
        return lambda argument, value, settled: errors.check_text(argument, value)
    if annotation is Tensor:
        return lambda argument, value, settled: errors.check_tensor(argument, value, finite=False)
    if isinstance(annotation, type) and kind is None and annotation not in (object, Any):
        name = annotation.__name__
        if name == "Config":  # every process has one
            name = f"{annotation.__module__.rpartition('.')[2]}.Config"
        allowed = f"{'an' if name[0] in 'AEIO' else 'a'} {name}"
        return lambda argument, value, settled: errors.check_instance(argument, value, annotation, allowed)
    return None


_cached_rule = functools.lru_cache(maxsize=256)(_rule)


def _narrowed(kind: Any, narrower: tuple[Any, ...]) -> Rule:
    """The rule of Annotated[kind, *narrower]: one after the other; a range or a shape says more than the bare type and replaces it."""
    rules: list[Rule] = []
    for each in narrower:
        if isinstance(each, Within):
            rules.append(_number(kind, each))
        elif isinstance(each, Shape):
            rules.append(each.check)
        elif isinstance(each, Among):
            rules.append(_choice(each.choices))
        else:
            rules.append(lambda argument, value, settled, check=each: check(argument, value))
    if not any(isinstance(each, Within | Shape | Among) for each in narrower):
        rules = [rule for rule in [_rule(kind)] if rule is not None] + rules

    def rule(argument: str, value: Any, settled: Settled) -> Any:
        for each in rules:
            value = each(argument, value, settled)
        return value

    return rule


def _number(kind: Any, ends: Within) -> Rule:
    low, high, open_low = ends

    def number(argument: str, value: Any, settled: Settled) -> Any:
        if kind is not float and isinstance(value, Tensor):
            return errors.check_tensor(argument, value, shape=[], floating=True, finite=False)
        return errors.check_number(argument, value, low, high, open_low=open_low)

    if kind in (float, float | Tensor):
        return number
    whole = [None if end is None else int(end) for end in (low, high)]
    return lambda argument, value, settled: errors.check_integer(argument, value, *whole)


def _choice(choices: tuple[Any, ...]) -> Rule:
    return lambda argument, value, settled: errors.check_choice(argument, value, choices)


def _or_none(rule: Rule) -> Rule:
    return lambda argument, value, settled: None if value is None else rule(argument, value, settled)


# What arguments of many functions are.
Index = Annotated[int, within(0)]  # a step, a seed, a number from 0
Count = Annotated[int, within(1)]
Share = Annotated[float, within(0, 1)]
Images = Annotated[Tensor, floats("n c h w", finite=False)]  # in every step: whole runs are looked at for NaN
