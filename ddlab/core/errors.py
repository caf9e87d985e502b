"""One error class for a user's mistakes, and the helpers that word it.

Every message is one sentence: the argument, what is allowed, what was given. Anything else that
escapes from ddlab is a bug in ddlab.
"""

import difflib
import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeVar

import torch

Kind = TypeVar("Kind")
_ROUNDED_SUM = 1e-4  # of probabilities that somebody wrote down with few digits


class DDLabError(ValueError):
    """A mistake in what ddlab was given, worded in one sentence."""


class NonFiniteError(DDLabError):
    """A run produced NaN or infinity; the message names the step and the term."""


def describe(value: object) -> str:
    """Describe `value` for an error message. Type, shape and range say more than the contents."""
    if isinstance(value, torch.Tensor):
        # A dense tensor is the usual case and needs no adjective; the others explain why it was
        # refused.
        kind = "" if is_dense(value) else "sparse " if not value.is_meta else "meta "
        return (
            f"a {kind}{str(value.dtype).removeprefix('torch.')} tensor of shape {list(value.shape)}"
        )
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"a {value.dtype} array of shape {list(value.shape)}"  # type: ignore[attr-defined]
    if isinstance(value, type):
        return f"the class {value.__name__}"
    # A text keeps its quotes, so that '3' and 3 look different in the message.
    text = repr(value)
    if isinstance(value, str):
        return text if len(text) <= 120 else text[:117] + "..."
    # Long, of several lines, or an address in memory: say what it is instead.
    kind = f"{type(value).__module__.rpartition('.')[2]}.{type(value).__qualname__}".removeprefix(
        "builtins."
    )
    return f"a {kind}" if len(text) > 120 or text.startswith("<") or "\n" in text else text


def fail(argument: str, allowed: str, value: object) -> NoReturn:
    """Raise `DDLabError`: "{argument} must be {allowed}; given {description of given}."."""
    # The mistake that nearly every first user makes: a torchvision model where a Network is meant.
    if isinstance(value, torch.nn.Module) and "Network" in allowed:
        allowed += " (ddlab.networks.from_module makes one of a module)"
    # `from None`: what a check has caught before is no news for the reader of this sentence.
    raise DDLabError(f"{argument} must be {allowed}; given {describe(value)}.") from None


_LONGEST_LIST = 400  # characters; nobody reads more
_ELSEWHERE = {  # what other code says -> what is said here
    "ipc": ("images_per_class",),
    "lr": ("learning_rate",),
    "soft": ("stored", "online"),
    "steps": ("iterations",),
    "wd": ("weight_decay",),
    "bs": ("batch_size",),
    "init": ("initialisation",),
}


def one_of(choices: Iterable[object]) -> str:
    """Return the allowed values in words: "one of 'a', 'b'"."""
    return "one of " + ", ".join(repr(choice) for choice in choices)


def check_choice(argument: str, value: object, choices: Sequence[Any]) -> Any:
    """Return `value` if it is one of `choices`; the error names the nearest valid ones."""
    # `is` first: True == 1, and a choice may be a tensor, whose == is no bool.
    for choice in choices:
        if value is choice or (type(value) is type(choice) and value == choice):
            return value
    # A word of another library finds its counterpart; only then is the spelling compared.
    elsewhere = [choice for choice in choices if choice in _ELSEWHERE.get(str(value).lower(), ())]
    nearest = elsewhere or difflib.get_close_matches(
        str(value), [str(choice) for choice in choices], n=2, cutoff=0.5
    )
    hint = f" (nearest: {', '.join(repr(name) for name in nearest)})" if nearest else ""
    # Four hundred characters hold twenty names; a list of all hundred classes would bury the hint.
    allowed = one_of(choices)
    if len(allowed) > _LONGEST_LIST:
        allowed = f"one of {len(choices)} names" + ("" if nearest else f", such as {choices[0]!r}")
    fail(argument, allowed + hint, value)


def check_integer(
    argument: str, value: Any, low: float | None = None, high: float | None = None
) -> int:
    """Return `value` as int if it is a whole number (bool excluded) in [low, high]."""
    # True is an Integral for Python, and `seed=True` is never what somebody meant.
    fits = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    number: Any = value
    if not fits or (low is not None and number < low) or (high is not None and number > high):
        fail(argument, "an integer" + _between(low, high), value)
    return int(number)


def check_number(
    argument: str,
    value: Any,
    low: float | None = None,
    high: float | None = None,
    *,
    open_low: bool = False,
) -> float:
    """Return `value` as float if it is a finite number in [low, high].

    With `open_low` the range is (low, high].
    """
    fits = isinstance(value, numbers.Real) and not isinstance(value, bool) and _is_finite(value)
    number: Any = value
    fits = fits and (low is None or number > low or (number == low and not open_low))
    if not fits or (high is not None and number > high):
        fail(argument, "a finite number" + _between(low, high, open_low), value)
    return float(number)


def check_boolean(argument: str, value: object) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, bool):
        fail(argument, "True or False", value)
    return value


def check_instance(
    argument: str, value: object, kind: type[Kind] | tuple[type[Kind], ...], allowed: str = ""
) -> Kind:
    """Return `value` if it is an instance of `kind`.

    `allowed` says in words what is meant, where "an ImageData" does not.

    A text becomes one where the kind has `from_name`: "resnet18" is a NetworkSpec's name.
    """
    # Before `isinstance`, because a name is the usual way to give such an argument.
    if isinstance(value, str) and hasattr(kind, "from_name"):
        return kind.from_name(argument, value)  # type: ignore[union-attr]
    if not isinstance(value, kind):
        fail(argument, allowed or a_kind(kind), value)  # type: ignore[arg-type]
    return value


def a_kind(kind: type) -> str:
    """Return a class with its article: "an ImageData".

    Every process has a class Config, so its module comes along: "a dm.Config".
    """
    name = (
        kind.__name__
        if kind.__name__ != "Config"
        else f"{kind.__module__.rpartition('.')[2]}.Config"
    )
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def are_probabilities(rows: torch.Tensor) -> bool:
    """Return whether each row [n, classes] is at least 0 and sums to 1, as those of logits never do."""
    sums_to_one = (rows.sum(1) - 1).abs() < _ROUNDED_SUM
    return bool((rows >= 0).all() and sums_to_one.all())


def check_text(argument: str, value: object, *, empty: bool = True) -> str:
    """Return `value` if it is a string; with `empty=False` one that has more than white space."""
    if not isinstance(value, str) or not (empty or value.strip()):
        fail(argument, "a text" if empty else "a text that is not empty", value)
    return value


def check_function(argument: str, value: object, *, optional: bool = False) -> Any:
    """Return `value` if it can be called; with `optional` None as well."""
    if not callable(value) and not (optional and value is None):
        fail(argument, "a function" + " or None" * optional, value)
    return value


def check_names(argument: str, names: Any) -> tuple[str, ...]:
    """Return the names of classes as a tuple if they are texts, all different."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        fail(argument, "a sequence with one name per class", names)
    texts = tuple(str(name) for name in names)
    if len(set(texts)) < len(texts):
        twice = next(name for name in texts if texts.count(name) > 1)
        raise DDLabError(
            f"{argument} must be different names; given {twice!r} for {texts.count(twice)} classes."
        )
    return texts


def check_same_classes(argument: str, names: Sequence[str], data_names: Sequence[str]) -> None:
    """Raise if the classes are not those of the data, in the same order.

    A class label is a position among the names.
    """
    if len(names) != len(data_names):
        raise DDLabError(
            f"{argument} must be of the data's {len(data_names)} classes; given one of {len(names)}."
        )
    # The same names in another order are the dangerous case: every accuracy would be near 0, with
    # no error.
    for number, (name, data_name) in enumerate(zip(names, data_names, strict=True)):
        if name != data_name:
            remedy = (
                "subset(classes=[...]) of the data puts them in order"
                if sorted(names) == sorted(data_names)
                else ""
            )
            remedy = remedy or "replace(..., class_names=...) of dataclasses gives other names"
            position = f"class {number} is {data_name!r}"
            raise DDLabError(
                f"{argument} must have the data's classes in their order ({position}; {remedy}); "
                f"given {name!r} there."
            )


def check_tensor(
    argument: str,
    value: Any,
    *,
    shape: Sequence[int | str | None] | None = None,
    dtype: torch.dtype | None = None,
    floating: bool = False,
    finite: bool = True,
) -> torch.Tensor:
    """Return `value` if it is a dense tensor of this shape and dtype, without NaN or infinity.

    In `shape`, None or a name matches any length.

    `floating` asks for any floating-point dtype. Cheap with `finite=False`; else it waits for the
    device.
    """
    # In this order each condition may assume the one before: a list has no layout, a sparse tensor
    # no plain shape.
    fits = isinstance(value, torch.Tensor) and is_dense(value)
    fits = (
        fits
        and (dtype is None or value.dtype == dtype)
        and (not floating or value.is_floating_point())
    )
    if fits and shape is not None:
        actual_shape = value.shape
        fits = len(actual_shape) == len(shape) and all(
            isinstance(n, str | None) or n == m for n, m in zip(shape, actual_shape, strict=True)
        )
    if not fits:
        expected_shape = (
            ""
            if shape is None
            else f" of shape [{', '.join('any' if n is None else str(n) for n in shape)}]"
        )
        kind = (
            "float "
            if floating
            else ""
            if dtype is None
            else f"{str(dtype).removeprefix('torch.')} "
        )
        fail(argument, f"a {kind}tensor{expected_shape}", value)
    # Last, because it reads every number and, on a GPU, waits for the device.
    if finite and value.is_floating_point() and not all_finite(value):
        bad = int((~torch.isfinite(value)).sum())
        raise DDLabError(
            f"{argument} must be finite everywhere; given {describe(value)} with {bad} "
            "values that are NaN or infinite."
        )
    return value


def all_finite(value: torch.Tensor) -> bool:
    """Return whether a floating-point tensor has no NaN and no infinity."""
    if value.numel() == 0:
        return True
    # Least and largest are NaN where anything is; found in a sixteenth of the time that `isfinite`
    # takes on a CPU.
    low, high = value.detach().aminmax()
    return bool(torch.isfinite(low) & torch.isfinite(high))


def is_dense(value: torch.Tensor) -> bool:
    """Return whether a tensor has its numbers laid out in memory."""
    return value.layout is torch.strided and not value.is_meta


def _is_finite(value: numbers.Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number too large for a float
        return False


def _between(low: float | None, high: float | None, open_low: bool = False) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f" {'above' if open_low else 'of at least'} {_end(low)}"
    if low is None:
        return f" of at most {_end(high)}"
    return f" in {'(' if open_low else '['}{_end(low)}, {_end(high)}]"


def _end(number: float | None) -> str:
    try:
        return f"{number:g}"
    except OverflowError:  # a whole number too large for a float: another field that is one
        return f"{'-' if number < 0 else ''}10^{int(math.log10(abs(number)))}"  # type: ignore[operator]
