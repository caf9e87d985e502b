"""The door: the arguments of a public function are checked once, from its signature, so that its body holds the work.

    @checked
    def accuracy(network: Network, data: ImageData, *, batch_size: Annotated[int, within(1)] = 512) -> float:

Numbers, texts, `Literal[...]`, `Tensor`, functions and classes say what is allowed by themselves, also with `| None`. What follows the
type in `Annotated` narrows it: `within`, `among`, a shape, or any function (argument, value) -> value that raises. A name that stands
in several shapes of a call is one length. Any other annotation (a sequence, a mapping, a union, `Any`) is left to the body.
"""

import collections.abc
import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, Union

import torch
from torch import Tensor

from . import errors

Function = TypeVar("Function", bound=Callable[..., Any])
Lengths = dict[str, int]  # by name, as a call's earlier arguments have them
Rule = Callable[[str, Any, Lengths], Any]


def checked(function: Function) -> Function:
    """Check each call's arguments against the annotations of `function`; numbers arrive as int or float.

    Raises (from the call):
        DDLabError: an argument that its annotation does not allow. TypeError: a name that the function does not have, as ever.
    """
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [each.name for each in inspect.signature(function).parameters.values() if each.kind in named]

    @functools.cache
    def rules() -> dict[str, Rule]:  # when first called: an annotation may name what stands further down
        hints = typing.get_type_hints(function, include_extras=True)
        return _rules({name: hint for name, hint in hints.items() if name != "return"})

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        values, lengths = list(args), Lengths()
        places = {name: place for place, name in enumerate(positional[: len(args)])}
        for name, rule in rules().items():  # in the signature's order
            if name in places:
                values[places[name]] = rule(name, values[places[name]], lengths)
            elif name in kwargs:
                kwargs[name] = rule(name, kwargs[name], lengths)
        return function(*values, **kwargs)

    return typing.cast(Function, call)


def check_fields(instance: Any) -> None:
    """The same for a dataclass, called from its `__post_init__`; a field whose default is None may be None."""
    lengths: Lengths = {}
    for name, rule in _field_rules(type(instance)).items():
        object.__setattr__(instance, name, rule(name, getattr(instance, name), lengths))


@functools.cache
def _field_rules(kind: type) -> dict[str, Rule]:
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    hints = typing.get_type_hints(kind, include_extras=True)
    rules = _rules({name: hints[name] for name in fields})
    return {name: _or_none(rule) if fields[name].default is None else rule for name, rule in rules.items()}


def within(low: float | None = None, high: float | None = None, *, open_low: bool = False) -> Rule:
    """A float in [low, high], in (low, high] with `open_low`; None leaves an end open. Of an `int` a whole number."""

    def number(argument: str, value: Any, lengths: Lengths) -> Any:
        return errors.check_number(argument, value, low, high, open_low=open_low)

    number.ends = low, high
    return number


def among(*choices: Any) -> Rule:
    """One of these. A `Literal` says the same; to a type checker it refuses a choice that is only known to be a text."""
    return lambda argument, value, lengths: errors.check_choice(argument, value, choices)


def tensor(shape: str, dtype: torch.dtype | None = None, *, finite: bool = True) -> Rule:
    """A tensor of this shape ("n c h w") and dtype (None: any floating one); `finite=False` does not look for NaN or infinity."""

    def fits(argument: str, value: Any, lengths: Lengths) -> Any:
        names = shape.split()
        wanted: list[int | str] = [lengths.get(name, name) for name in names]
        floating = dtype is None
        found = errors.check_tensor(argument, value, shape=wanted, dtype=dtype, floating=floating, finite=finite)
        lengths.update(zip(names, found.shape, strict=True))
        return found

    return fits


def _rules(hints: dict[str, Any]) -> dict[str, Rule]:
    rules = {name: _rule(hint) for name, hint in hints.items()}
    return {name: rule for name, rule in rules.items() if rule is not None}


def _rule(hint: Any) -> Rule | None:
    """What an annotation allows, None for anything."""
    kind, members = typing.get_origin(hint), typing.get_args(hint)
    if kind in (Union, types.UnionType):
        rest = [member for member in members if member is not type(None)]
        rule = _rule(rest[0]) if len(rest) == 1 else None
        return _or_none(rule) if rule and len(rest) < len(members) else rule
    if kind is Annotated:
        return _narrowed(members[0], members[1:])
    if kind is Literal:
        return among(*members)
    if kind is collections.abc.Callable:
        return lambda argument, value, lengths: errors.check_function(argument, value)
    if hint in _SIMPLE:
        return lambda argument, value, lengths: _SIMPLE[hint](argument, value)
    if isinstance(hint, type) and kind is None and hint not in (object, Any):
        allowed = errors.a_kind(hint)
        return lambda argument, value, lengths: errors.check_instance(argument, value, hint, allowed)
    return None


def _narrowed(kind: Any, narrower: tuple[Any, ...]) -> Rule:
    """The rule of Annotated[kind, *narrower]; a range, a choice or a shape replaces the bare type, another function follows it."""
    rules: list[Rule] = []
    for each in narrower:
        if hasattr(each, "ends") and kind is int:
            low, high = each.ends
            rules.append(lambda argument, value, lengths: errors.check_integer(argument, value, low, high))  # noqa: B023
        elif each.__module__ == __name__:
            rules.append(each)
        else:
            rules.append(lambda argument, value, lengths, check=each: check(argument, value))
    if not any(each.__module__ == __name__ for each in narrower):
        rules = [rule for rule in [_rule(kind)] if rule is not None] + rules

    def rule(argument: str, value: Any, lengths: Lengths) -> Any:
        for each in rules:
            value = each(argument, value, lengths)
        return value

    return rule


def _or_none(rule: Rule) -> Rule:
    return lambda argument, value, lengths: None if value is None else rule(argument, value, lengths)


_SIMPLE: dict[Any, Callable[[str, Any], Any]] = {
    int: errors.check_integer,
    float: errors.check_number,
    bool: errors.check_boolean,
    str: errors.check_text,
    Tensor: functools.partial(errors.check_tensor, finite=False),
}
Index = Annotated[int, within(0)]  # a step, a seed, a number from 0
Count = Annotated[int, within(1)]
