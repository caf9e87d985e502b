"""How exercises judge what a reader hands in: as tables of the right answer and the usual mistakes.

    CHECKS = {
        "survival": Exercise(
            arguments=("alpha", "k", "stage"),
            cases=lambda: [(0.5, 3, 1), (0.9, 3, 4)],
            expected=lambda alpha, k, stage: alpha ** (k + 1 - stage),
            mistakes={"These merges come before.": lambda alpha, k, stage: alpha ** (stage - 1)},
            look="Which merges come after a stage?",
            success="Every merge shortens all that came before it.",
        )
    }
    CHECKS["survival"](answer)               # a sentence for who is right, else `NotYet` with a hint

What is handed in is compared in float64: float32, numpy, lists and tensors of one number are alike.
"""

import contextlib
import inspect
import linecache
import numbers
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Characters of a printed line: as many as fit beside JupyterLab's file browser at 1,280 pixels.
_LINE = 92
_FEW = 8  # numbers that are printed one by one
_LONGEST = 80  # characters of an argument that is printed
_KINDS = {str: "a text", bool: "True or False", list: "a list", tuple: "a tuple", dict: "a dict"}


class NotYet(Exception):
    """What is not right yet, and where to look, in words for the reader."""


def check(exercise: Callable[[Any], str], answer: Any) -> bool:
    """Judge an answer: print what it means, or a hint, and return whether it is right.

    Args:
        exercise: an `Exercise`, or a function of the answer that returns a sentence for who is
            right, and raises `NotYet` with a hint.
    """
    is_right, reply = judge(exercise, answer)
    # In lines that fit on a page: JupyterLab itself would break inside a word.
    print(textwrap.fill(f"Right. {reply}" if is_right else f"Not yet: {reply}", _LINE))
    return is_right


def judge(exercise: Callable[[Any], str], answer: Any) -> tuple[bool, str]:
    """Return whether an answer is right, and what is said of it."""
    try:
        return True, exercise(answer)
    except NotYet as hint:
        return False, f"{'No answer yet. ' if answer is None else ''}{hint}"


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """An exercise whose answer is a function or a number; called with an answer it judges that.

    Attributes:
        ask: what is to be handed in, as a sentence; default: a function of the arguments.
        arguments: of the function, each in words that begin with its name ("labels [n]"). A number
            has none, and one case.
        cases: makes the arguments of each call, anew whenever it is called.
        named: further arguments, by their names.
        expected: the right answer; None where `success` decides.
        mistakes: hint -> the answer that the mistake gives; None for a case, and NaN for a number,
            that it doesn't concern.
        read: what the function returns -> the numbers in it.
        shape: (*arguments) -> the shape of these numbers, where `measure` needs it.
        measure: (numbers, *arguments) -> what is compared. The numbers are in float64 and have
            their gradient. It may raise `NotYet`.
        parts: the names of the compared numbers, where they are more than one and have names.
        look: where to look if no mistake is recognised, or (numbers, *arguments) -> it.
        success: what a right answer means, or the numbers of all cases -> it. It may raise `NotYet`.
        tolerance: as a share of the largest expected number.
    """

    ask: str = ""
    arguments: Sequence[str] = ()
    cases: Callable[[], Sequence[tuple[Any, ...]]] = lambda: [()]
    named: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None
    mistakes: Mapping[str, Any] = field(default_factory=dict)
    read: Callable[[Any], Any] = lambda returned: returned
    shape: Callable[..., Sequence[int]] | None = None
    measure: Callable[..., Any] = lambda numbers, *arguments: numbers
    parts: Sequence[str] = ()
    look: str | Callable[..., str] = ""
    success: str | Callable[[list[Tensor]], str] = ""
    tolerance: float = 1e-4

    def __call__(self, answer: Any) -> str:
        """Return what a right answer means.

        Raises:
            NotYet: a wrong answer.
        """
        self._check_kind(answer)
        results = []
        precision = 0.0
        for number, case in enumerate(self.cases()):
            call_words = self.words_of(case)
            returned = self._call(answer, case, number) if self.arguments else answer
            # A bound for the rounding error of such numbers, as a share of the largest.
            precision = 0.01 if "float16" in str(getattr(returned, "dtype", "")) else precision
            numbers = to_float64(returned, call_words)
            if self.shape is not None:
                require_shape(numbers, self.shape(*case))
            results.append(self.measure(numbers, *case).detach())
        if self.expected is not None:
            self._judge(results, max(self.tolerance, precision))
        return self.success if isinstance(self.success, str) else self.success(results)

    def values(self, answer: Any) -> list[Tensor | None]:
        """Return what an answer of our own gives for each case, as it is compared."""
        values = []
        for number, case in enumerate(self.cases()):
            returned = answer
            if self.arguments:
                with _with_seed(number):
                    returned = answer(*case, **self.named)
            if returned is not None:
                returned = self.measure(_as_float64(self.read(returned)), *case).detach()
            values.append(returned)
        return values

    def words_of(self, case: Sequence[Any]) -> str:
        """Return the arguments of a call in words, as "alpha = 0.5 and k = 3"."""
        words = []
        for name, value in zip(map(_name, self.arguments), case, strict=True):
            if isinstance(value, Tensor) and value.numel() > _FEW:
                words.append(f"{name} of shape {[*value.shape]}")
            elif isinstance(value, Tensor | list | int | float):
                entries = value.tolist() if isinstance(value, Tensor) else value
                words.append(f"{name} = {_digits(entries)}")
        return _join(words)

    def _check_kind(self, answer: Any) -> None:
        """Refuse what is no function, or a function where a number is asked for."""
        ask = self.ask or f"Write a function of {_join(self.arguments)}."
        if answer is None:
            raise NotYet(ask)
        is_function = callable(answer) and not isinstance(answer, type)
        if self.arguments and not is_function:
            raise NotYet(f"{ask} Hand in the function itself; yours is {kind_of(answer)}.")
        if not self.arguments and callable(answer):
            raise NotYet(f"{ask} Yours is {kind_of(answer)}.")

    def _call(self, answer: Any, case: tuple[Any, ...], seed: int) -> Any:
        """Return what a reader's function returns for one case, read."""
        names = [*map(_name, self.arguments), *self.named]
        with _with_seed(seed):
            returned = call_answer(
                answer, *case, names=names, call_words=self.words_of(case), **self.named
            )
        try:
            return self.read(returned)
        except (TypeError, ValueError, IndexError, RuntimeError, AttributeError):
            ask = self.ask or f"Write a function of {_join(self.arguments)}."
            raise NotYet(f"{ask} Yours returns {kind_of(returned)}.") from None

    def _judge(self, results: list[Tensor], tolerance: float) -> None:
        """Compare results with the right ones, and then with those of each mistake."""
        expected = self.values(self.expected)
        if _agree(results, expected, tolerance):
            return
        for hint, mistake in self.mistakes.items():
            if _agree(results, self.values(mistake), tolerance):
                raise NotYet(hint)
        for case, result, right in zip(self.cases(), results, expected, strict=True):
            assert right is not None
            if not _agree([result], [right], tolerance):
                look = self.look
                if callable(look):
                    look = look(result, *case) if result.shape == right.shape else ""
                raise NotYet(f"{self._difference(case, result, right)} {look}".strip())
        raise NotYet(f"Your numbers are nearly right, but not to {tolerance:.0e}.")

    def _difference(self, case: tuple[Any, ...], result: Tensor, right: Tensor) -> str:
        """Return the input, the reader's value and the right one, as a sentence."""
        if not self.arguments:
            return f"Yours is {_digits(result.tolist())}."
        call_words = self.words_of(case)
        opening = f"For {call_words}, your" if call_words else "Your"
        sentence = f"{opening} function gives"
        if result.shape != right.shape:
            return (
                f"{sentence} numbers of shape {[*result.shape]}, and they should have shape "
                f"{[*right.shape]}."
            )
        place = int((result - right).abs().argmax())
        yours, target = _apart(float(result.flatten()[place]), float(right.flatten()[place]))
        if self.parts:
            return f"{opening} {self.parts[place]} is {yours}; it should be {target}."
        position_words = ""
        if right.numel() > 1:
            position = [int(index) for index in np.unravel_index(place, right.shape)]
            position_words = f" at position {position}"
        return f"{sentence} {yours}{position_words}, and it should be {target}."


def call_answer(
    function: Any, *arguments: Any, names: Sequence[str], call_words: str = "", **named: Any
) -> Any:
    """Call a reader's function and return what it returns.

    Args:
        names: of its arguments, for who takes others.
        call_words: the arguments in words.

    Raises:
        NotYet: a function of other arguments, one that raises, or one that returns nothing.
    """
    try:
        signature = inspect.signature(function)
        signature.bind(*arguments, **named)
    except TypeError:
        own_names = _join([*signature.parameters]) or "nothing"
        raise NotYet(f"Your function must take {_join(names)}; yours takes {own_names}.") from None
    except ValueError:  # a built-in function, which doesn't say what it takes
        pass
    try:
        returned = function(*arguments, **named)
    except NotYet:
        raise
    except Exception as problem:
        call_sentence = f" It was called with {call_words}." if call_words else ""
        raise NotYet(f"{_stop_words(problem, function)}{call_sentence}") from None
    if returned is None:
        raise NotYet("Your function returns nothing. Does it end with `return`?")
    return returned


def to_float64(value: Any, call_words: str = "") -> Tensor:
    """Return the numbers that a reader handed in, in float64, with their gradient.

    Args:
        call_words: the arguments for which a function gave them, in words.

    Raises:
        NotYet: what is no number, and numbers that are not finite.
    """
    tensor = _as_float64(value)
    call_clause = f" for {call_words}" if call_words else ""
    if bool(tensor.isnan().any()):
        raise NotYet(
            f"Your answer is not a number (NaN){call_clause}. NaN comes from 0 / 0, from infinity minus "
            "infinity, from the mean of nothing, or from the root or logarithm of a negative number."
        )
    if not bool(tensor.isfinite().all()):
        raise NotYet(
            f"Your answer is infinite{call_clause}. Infinity comes from a division by zero, from the "
            "logarithm of 0, or from an exponential of a large number."
        )
    return tensor


def require_shape(result: Tensor, shape: Sequence[int], of: str = "The result") -> None:
    """Refuse a result of another shape.

    Raises:
        NotYet: another shape.
    """
    if [*result.shape] != [*shape]:
        raise NotYet(f"{of} must have shape {[*shape]}; yours has {[*result.shape]}.")


def require_kind(answer: Any, kind: type, ask: str) -> None:
    """Refuse an answer that is not of the class asked for.

    Raises:
        NotYet: another kind.
    """
    if not isinstance(answer, kind):
        raise NotYet(ask if answer is None else f"{ask} Yours is {kind_of(answer)}.")


def _join(words: Sequence[str]) -> str:
    """Join words as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def kind_of(value: Any) -> str:
    """Return what a value is, in words."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value) and not isinstance(value, torch.nn.Module):
        return "a function"
    if isinstance(value, tuple | list):
        return f"{_KINDS[tuple if isinstance(value, tuple) else list]} of {len(value)}"
    if isinstance(value, Tensor | np.ndarray):
        return f"numbers of shape {[*value.shape]} and type {str(value.dtype).rpartition('.')[2]}"
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return f"the number {float(value):g}"
    return _KINDS.get(type(value), f"of type {type(value).__name__}")


def _name(words: str) -> str:
    """Return the name that the words for an argument begin with."""
    return words.partition(" ")[0].rstrip(",")


def _as_float64(value: Any) -> Tensor:
    try:
        if isinstance(value, np.ndarray | np.generic):
            value = torch.as_tensor(value)
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            value = torch.tensor(float(value))
        if isinstance(value, list | tuple) and value:
            value = torch.stack([_as_float64(member) for member in value])
    except (TypeError, ValueError, RuntimeError):  # texts in an array, or rows of several lengths
        raise NotYet(f"Numbers of one shape are asked for; yours is {kind_of(value)}.") from None
    if not isinstance(value, Tensor) or value.dtype == torch.bool or value.is_complex():
        raise NotYet(f"Real numbers are asked for; yours is {kind_of(value)}.")
    # One number is one number, in whatever brackets.
    return (value.reshape(()) if value.numel() == 1 else value).double()


def _agree(results: Sequence[Tensor], values: Sequence[Tensor | None], tolerance: float) -> bool:
    """Return whether results are these values, wherever there is a value."""
    pairs = []
    for result, value in zip(results, values, strict=True):
        if value is not None:
            if result.shape != value.shape:
                return False
            pairs.append(torch.stack([result.flatten(), value.flatten()]))
    if not pairs:
        return False
    result, value = torch.cat(pairs, 1)
    counts = ~value.isnan()
    scale = float(value[counts].abs().max()) if bool(counts.any()) else 0.0
    return bool(((result - value)[counts].abs() <= tolerance * scale).all())


@contextlib.contextmanager
def _with_seed(seed: int) -> Iterator[None]:
    """Let torch draw the same numbers inside, and go on outside as if nothing had been drawn."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def _stop_words(problem: Exception, function: Any) -> str:
    """Return what a reader's function raised, and in which of its lines."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    lines = str(problem).splitlines()
    error_words = (
        f"{type(problem).__name__}: {lines[0].rstrip('.')}" if lines else type(problem).__name__
    )
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        if code is not None and frame.filename == code.co_filename:
            line = linecache.getline(frame.filename, frame.lineno or 0).strip()
            quoted_line = f", `{line}`," if line else ""
            return f"Your function stops at line {frame.lineno}{quoted_line} with {error_words}."
    return f"Your function stops with {error_words}."


def _digits(value: Any) -> str:
    """Return numbers in a few digits, a long list by its length."""
    if not isinstance(value, list):
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    text = f"[{', '.join(map(_digits, value))}]"
    return text if len(text) <= _LONGEST else f"a list of {len(value)}"


def _apart(yours: float, target: float) -> tuple[str, str]:
    """Return two different numbers in as many digits as tell them apart."""
    for digits in range(4, 16):
        texts = f"{yours:.{digits}g}", f"{target:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts
