"""What every exercise must hold: the right answer passes in every form a person would return, and
each wrong one gets a sentence that names its mistake.

An `Exercise` with an expected answer is tried from its own table. What is judged by a property has
rows here: right answers, and wrong ones with words of their hints.
"""

import importlib
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab.lessons import LESSONS
from ddlab.lessons.answers import Exercise, NotYet
from tests.lessons.generators.rows import shuffled_within_classes
from tests.lessons.rows import rows

RIGHT = [(number, *row) for number, row in rows("RIGHT")]
WRONG = [(number, *row) for number, row in rows("WRONG")]
TRAINED = {name: (number, *row) for number, (name, row) in rows("TRAINED")}
ALL: dict[tuple[str, str], Callable[[Any], str]] = {}
for lesson, described in LESSONS.items():
    checks = importlib.import_module(f"ddlab.lessons.{described.folder}.checks").CHECKS
    ALL |= {(lesson[:2], key): check for key, check in checks.items()}
TABLES: dict[tuple[str, str], Exercise] = {
    row: check
    for row, check in ALL.items()
    if isinstance(check, Exercise) and check.expected is not None
}
# What is handed in has a gradient that is measured, so numpy and lists are wrong there.
WITH_GRADIENT = {("05", "shifted"), ("75", "halves")}
FORMS: dict[str, Callable[[Tensor], Any]] = {
    "float64": lambda tensor: tensor.double(),
    "float32": lambda tensor: tensor.float(),
    "float16": lambda tensor: tensor.half(),
    "a parameter": lambda tensor: torch.nn.Parameter(tensor.detach().clone()),
    "numpy": lambda tensor: tensor.detach().numpy(),
    "a list or a number": lambda tensor: tensor.tolist(),
    "in a list": lambda tensor: tensor.reshape(1) if tensor.ndim == 0 else tensor,
}
NOTHING = "a function that returns nothing"
KINDS: dict[str, Any] = {
    "nothing": None,
    "a text": "x",
    "a class": int,
    "an empty list": [],
    "a dict": {1: 2},
    "a set": object(),
    NOTHING: lambda *arguments, **named: None,
    "one that raises": lambda *arguments, **named: [][1],
    "one of other arguments": lambda: 1,
    "one that returns a text": lambda *arguments, **named: "x",
    "one that returns True": lambda *arguments, **named: True,
    "one that returns complex numbers": lambda *arguments, **named: torch.zeros(2) * 1j,
    "one that returns a generator": lambda *arguments, **named: (i for i in range(3)),
    "one that returns rows of several lengths": lambda *arguments, **named: [[1], [1, 2]],
    "one that returns nothing of it": lambda *arguments, **named: torch.zeros(0),
}


def assert_words(text: str) -> None:
    """Sentences for a reader, whole and of bearable length."""
    assert text[0] in "`" or text[0].upper() == text[0]
    assert (
        text[-1] in ".?"
        and ".." not in text.replace("...", "")
        and "\n" not in text
        and len(text) < 500
    ), text


def hint_of(row: tuple[str, str], answer: Any) -> str:
    """The hint that a wrong answer gets."""
    with pytest.raises(NotYet) as told:
        ALL[row](answer)
    assert_words(str(told.value))
    return str(told.value)


def answer_like(exercise: Exercise, change: Callable[[Tensor], Any]) -> Any:
    """The right answer of a table, changed."""
    if not exercise.arguments:
        return change(torch.as_tensor(exercise.expected, dtype=torch.float64))

    def changed(*arguments: Any, **named: Any) -> Any:
        returned = exercise.expected(*arguments, **named)
        if isinstance(returned, tuple) and isinstance(returned[0], Tensor):
            return tuple(map(change, returned))
        return change(torch.as_tensor(returned))

    return changed


@pytest.mark.parametrize("row", TABLES, ids=" ".join)
def test_a_right_answer_passes_in_every_form(row: tuple[str, str]) -> None:
    exercise = TABLES[row]
    assert_words(exercise(exercise.expected))
    for form, change in FORMS.items():
        if row not in WITH_GRADIENT or form.startswith("float"):
            assert exercise(answer_like(exercise, change)), form


@pytest.mark.parametrize("row", TABLES, ids=" ".join)
def test_what_is_not_finite_is_refused_with_where_it_comes_from(row: tuple[str, str]) -> None:
    exercise = TABLES[row]
    assert "0 / 0" in hint_of(row, answer_like(exercise, lambda tensor: tensor * math.nan))
    infinite = hint_of(row, answer_like(exercise, lambda tensor: tensor * 0 + math.inf))
    assert "division by zero" in infinite


@pytest.mark.parametrize("row", ALL, ids=" ".join)
def test_what_is_no_answer_gets_a_sentence(row: tuple[str, str]) -> None:
    """Of every kind, and never an error; of a function that raises it names the line."""
    hints = {kind: hint_of(row, answer) for kind, answer in KINDS.items()}
    if isinstance(ALL[row], Exercise) and ALL[row].arguments:  # type: ignore[attr-defined]
        assert "return" in hints[NOTHING] and "IndexError" in hints["one that raises"]
        assert (
            "at line" in hints["one that raises"] and "must take" in hints["one of other arguments"]
        )


@pytest.mark.parametrize("row", TABLES, ids=" ".join)
def test_each_usual_mistake_is_named(row: tuple[str, str]) -> None:
    exercise = TABLES[row]
    assert 3 <= len(exercise.mistakes) <= 9, "three usual mistakes at least"
    for hint, mistake in exercise.mistakes.items():
        assert hint_of(row, completed(exercise, mistake)) == hint


def completed(exercise: Exercise, mistake: Any) -> Any:
    """A mistake, with the right answer wherever it gives none."""
    if not exercise.arguments:
        return mistake

    def answer(*arguments: Any, **named: Any) -> Any:
        given = mistake(*arguments, **named)
        right = exercise.expected(*arguments, **named)
        if given is None:
            return right
        if isinstance(given, tuple) and not isinstance(given[0], Tensor):
            return [two if math.isnan(one) else one for one, two in zip(given, right, strict=True)]
        return given

    return answer


@pytest.mark.parametrize("row", sorted(set(TABLES) - WITH_GRADIENT), ids=" ".join)
def test_any_other_mistake_is_shown_beside_the_right_value(row: tuple[str, str]) -> None:
    exercise = TABLES[row]
    wrong = answer_like(exercise, lambda tensor: tensor * 1.37 + 0.711)
    hint = hint_of(row, wrong)
    assert hint not in exercise.mistakes
    if exercise.arguments:
        assert "should be" in hint
        seven = answer_like(exercise, lambda tensor: torch.stack([tensor] * 7))
        assert "shape" in hint_of(row, seven) or row == ("62", "rate only")


# -- exercises that are judged by a property


@pytest.mark.parametrize(("lesson", "key", "answer"), RIGHT)
def test_an_answer_with_the_property_passes(lesson: str, key: str, answer: Any) -> None:
    for seed in range(3):
        torch.manual_seed(seed)
        assert_words(ALL[lesson, key](answer))


@pytest.mark.parametrize(("lesson", "key", "answer", "words"), WRONG)
def test_an_answer_without_it_is_told_why(lesson: str, key: str, answer: Any, words: str) -> None:
    assert words in hint_of((lesson, key), answer)


def test_draws_in_an_answer_are_the_same_at_every_try() -> None:
    """So a right answer is right again, and a reader's own draws go on as if nothing had been asked."""
    torch.manual_seed(3)
    before = torch.get_rng_state()
    assert ALL["70", "fair shuffle"](shuffled_within_classes)
    assert torch.equal(torch.get_rng_state(), before)


# -- exercises that train


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_an_answer_that_is_trained_with(name: str) -> None:
    lesson, key, answer, words = TRAINED[name]
    if words:
        assert words in hint_of((lesson, key), answer)
    else:
        assert_words(ALL[lesson, key](answer))
