"""Check the arguments of a public function once, from its signature.

The body of the function then holds only the work.

    @checked
    def accuracy(network: Network, data: ImageData, *, batch_size: Annotated[int, within(1)] = 512) -> float:

Numbers, texts, `Literal[...]`, `Tensor`, functions and classes say what is allowed by themselves,
also with `| None`. What follows the type in `Annotated` narrows it: `within`, `among`, a shape, or
any function (argument, value) -> value that raises. A name that stands in several shapes of a call
is one length. Any other annotation (a sequence, a mapping, a union, `Any`) is left to the body.
"""

import collections.abc
import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import torch
from torch import Tensor

from . import errors

Function = TypeVar("Function", bound=Callable[..., Any])
Check = Callable[[str, Any], Any]  # of (argument, value): what arrives in its place, or an error
Lengths = dict[str, int]  # by name, as a call's earlier arguments have them


class within(NamedTuple):
    """A float in [low, high], in (low, high] with `open_low`; None leaves an end open.

    Of an `int` a whole number.
    """

    low: float | None = None
    high: float | None = None
    open_low: bool = False


def among(*choices: Any) -> Check:
    """Return a check that a value is one of these choices.

    A `Literal` says the same; to a type checker it refuses a choice that is only known to be a
    text.
    """
    return partial(errors.check_choice, choices=choices)


class tensor(NamedTuple):
    """A tensor of this shape ("n c h w") and dtype.

    None allows any floating dtype; `finite=False` does not look for NaN or infinity.
    """

    shape: str
    dtype: torch.dtype | None = None
    finite: bool = True

    def check(self, argument: str, value: Any, lengths: Lengths) -> Tensor:
        """Return the tensor; its lengths are then known by their names."""
        # A name that an earlier argument has bound stands for that length; a new name matches any.
        names = self.shape.split()
        expected_shape: list[int | str] = [lengths.get(name, name) for name in names]
        kind: Any = {"dtype": self.dtype, "floating": self.dtype is None, "finite": self.finite}
        checked_tensor = errors.check_tensor(argument, value, shape=expected_shape, **kind)
        # From here on "n" means this tensor's n, so a later argument that disagrees is named in the
        # error.
        lengths.update(zip(names, checked_tensor.shape, strict=True))
        return checked_tensor


Index = Annotated[int, within(0)]  # a step, a seed, a number from 0
Count = Annotated[int, within(1)]


def distinct_seeds(argument: str, seeds_given: Any) -> list[int]:
    """Require distinct seeds, and make them integers before they are compared."""
    whole = (
        isinstance(seeds_given, collections.abc.Sequence)
        and not isinstance(seeds_given, str)
        and len(seeds_given) > 0
    )
    seeds = [errors.check_integer(argument, seed, 0) for seed in seeds_given] if whole else []
    # The same seed twice would be the same student twice, and the interval too narrow.
    if not whole or len(set(seeds)) != len(seeds):
        errors.fail(argument, "a sequence of at least one integer, all different", seeds_given)
    return seeds


Seeds = Annotated[collections.abc.Sequence[int], distinct_seeds]


class Rule(NamedTuple):
    """What an annotation allows: checks, one after another, or None where that is allowed too."""

    checks: tuple[Check | tensor, ...]
    optional: bool = False

    def __call__(self, argument: str, value: Any, lengths: Lengths) -> Any:
        if value is None and self.optional:
            return None
        for check in self.checks:
            value = (
                check.check(argument, value, lengths)
                if isinstance(check, tensor)
                else check(argument, value)
            )
        return value


def checked(function: Function) -> Function:
    """Check each call's arguments against the annotations of `function`.

    Numbers arrive as int or float.

    Raises (from the call):
        DDLabError: an argument that its annotation does not allow. TypeError: a name that the
        function does not have, as ever.
    """
    # Read once, at decoration: `inspect.signature` takes longer than all the checks of a call.
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in named
    ]
    # When first called: an annotation may name what stands further down.
    rules = functools.cache(lambda: _rules(function))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # A list, because a check may replace a value (2.0 arrives as 2 where an int is meant).
        values = list(args)
        lengths = Lengths()
        places = {name: place for place, name in enumerate(positional[: len(args)])}
        for name, rule in rules().items():  # in the signature's order
            arguments: Any
            if name in places:
                arguments, key = values, places[name]
            elif name in kwargs:
                arguments, key = kwargs, name
            else:
                continue
            value = arguments[key]
            # A name that was not given keeps its default, which the author of the function answers
            # for.
            if value is None and rule.optional:
                continue
            # Written out, not `rule(...)`: a drawing makes fifty checked calls at every press.
            for check in rule.checks:
                if isinstance(check, tensor):
                    value = check.check(name, value, lengths)
                else:
                    value = check(name, value)
            arguments[key] = value
        return function(*values, **kwargs)

    return typing.cast(Function, call)


def check_fields(instance: Any) -> None:
    """Check the fields of a dataclass, from its `__post_init__`.

    A field whose default is None may be None.
    """
    lengths: Lengths = {}
    for name, rule in _field_rules(type(instance)).items():
        # The dataclasses are frozen, and this runs inside their construction.
        object.__setattr__(instance, name, rule(name, getattr(instance, name), lengths))


@functools.cache
def _field_rules(kind: type) -> dict[str, Rule]:
    rules = _rules(kind)
    rules_by_field = dict[str, Rule]()
    for field in dataclasses.fields(kind):
        if field.init and (rule := rules.get(field.name)):
            rules_by_field[field.name] = rule._replace(
                optional=rule.optional or field.default is None
            )
    return rules_by_field


def _rules(owner: Any) -> dict[str, Rule]:
    # `include_extras` keeps `Annotated`, whose ranges would be dropped otherwise.
    hints = typing.get_type_hints(owner, include_extras=True)
    rules = {name: Rule(*_allowed(hint)) for name, hint in hints.items() if name != "return"}
    return {name: rule for name, rule in rules.items() if rule.checks}


def _allowed(hint: Any) -> tuple[tuple[Check | tensor, ...], bool]:
    """Return the checks of an annotation, and whether it allows None too.

    No checks means that anything is allowed.
    """
    origin = typing.get_origin(hint)
    members = typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        # `float | None` is checked like `float`; a true union (`int | str`) has no single check, so
        # it is left to the body.
        members_without_none = [member for member in members if member is not type(None)]
        return (
            (_allowed(members_without_none[0])[0], True)
            if len(members_without_none) == 1
            else ((), True)
        )
    if origin is Literal:
        return (among(*members),), False
    # Of `Callable[[int], str]` only "a function" can be checked; of `list[int]` not even that much
    # is worth the time at every call.
    if origin is not Annotated:
        allowed_texts = of_kind(origin if origin is collections.abc.Callable else hint)
        return (() if allowed_texts is None else (allowed_texts,)), False
    # `within(1)` needs the type beside it to know whether a whole number is meant.
    kind, *narrower = members
    narrowed: tuple[Any, ...] = tuple(
        of_kind(kind, *constraint) if isinstance(constraint, within) else constraint
        for constraint in narrower
    )
    # A range, a choice or a shape says what the bare type says, and more; a function of the
    # caller's own follows it.
    whole = any(isinstance(constraint, (within, tensor, partial)) for constraint in narrower)
    return (narrowed if whole else (*_allowed(kind)[0], *narrowed)), False


@functools.cache
def of_kind(
    kind: Any, low: float | None = None, high: float | None = None, open_low: bool = False
) -> Check | None:
    """Return the check of a plain type, with the ends of a number's range.

    None means that anything is allowed.
    """
    if kind is int:
        return partial(errors.check_integer, low=low, high=high)
    if kind is float:
        return partial(errors.check_number, low=low, high=high, open_low=open_low)
    # What is left of `typing` here (a TypeVar, a subscripted generic) is no class that `isinstance`
    # takes, and allows anything.
    if kind in _SIMPLE or kind in (object, Any) or not isinstance(kind, type):
        return _SIMPLE.get(kind)
    return partial(errors.check_instance, kind=kind)


# Without the look for NaN: it waits for the device, and most tensors come from ddlab itself.
_SIMPLE: dict[Any, Check] = {
    bool: errors.check_boolean,
    str: errors.check_text,
    Tensor: partial(errors.check_tensor, finite=False),
    collections.abc.Callable: errors.check_function,
}
