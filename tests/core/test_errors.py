"""One class, one sentence: the argument, what is allowed, what was given."""

import math
import string
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ddlab.core import errors
from tests.support import assert_sentence, refuses

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
)


@given(value=VALUES)
def test_fail_is_one_sentence_whatever_was_given(value: Any) -> None:
    with pytest.raises(errors.DDLabError) as caught:
        errors.fail("argument", "something else", value)
    assert_sentence(caught.value, "argument must be something else; given ")
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (torch.zeros(2, 3), "a float32 tensor of shape [2, 3]"),
        (np.zeros((4,)), "a float64 array of shape [4]"),
        (dict, "the class dict"),
        (object(), "a object"),
        (print, "a builtin_function_or_method"),
        (lambda: 0, "a function"),
        (list(range(1000)), "a list"),
        ([torch.zeros(2, 2)], "a list"),
        ("x" * 500, "'xxx"),
        ("two\nlines", r"'two\nlines'"),
        (True, "True"),
        (math.nan, "nan"),
    ],
)
def test_what_was_given_in_few_words(value: Any, words: str) -> None:
    text = errors.describe(value)
    assert text.startswith(words) and len(text) <= 125 and "\n" not in text and " at 0x" not in text


def test_is_a_value_error() -> None:
    assert issubclass(errors.DDLabError, ValueError) and issubclass(
        errors.NonFiniteError, errors.DDLabError
    )


class TestChoice:
    def test_valid(self) -> None:
        assert errors.check_choice("kind", "hard", ("hard", "stored")) == "hard"
        assert errors.check_choice("channels", 3, (1, 3)) == 3

    @pytest.mark.parametrize(
        "value", ["Hard", "", 1, None, 1.0, True, ["hard"], {}, torch.zeros(2), np.str_("x")]
    )
    def test_invalid(self, value: Any) -> None:
        with refuses("kind", "one of 'hard', 'stored', 3"):
            errors.check_choice("kind", value, ("hard", "stored", 3))

    @pytest.mark.parametrize(
        ("misspelt", "nearest"),
        [("herdin", "'herding'"), ("k_mean", "'k_means'"), ("Random", "'random'")],
    )
    def test_names_the_nearest(self, misspelt: str, nearest: str) -> None:
        with refuses(f"(nearest: {nearest}", misspelt):
            errors.check_choice(
                "kind", misspelt, ("random", "average", "k_means", "herding", "k_center")
            )

    @pytest.mark.parametrize(
        ("foreign_name", "our_name"),
        [("ipc", "images_per_class"), ("LR", "learning_rate"), ("soft", "stored")],
    )
    def test_knows_what_other_code_says(self, foreign_name: str, our_name: str) -> None:
        with refuses(f"nearest: '{our_name}'", foreign_name):
            errors.check_choice(
                "kind",
                foreign_name,
                ("images_per_class", "learning_rate", "hard", "stored", "images", "loss"),
            )

    def test_true_is_not_one(self) -> None:
        with refuses("channels", "True"):
            errors.check_choice("channels", True, (1, 3))
        many = [f"{name}_of_the_field" for name in string.ascii_letters]
        with refuses("kind", "one of 52 names (nearest: 'b_of_the_field'", "'bb_of_the_field'"):
            errors.check_choice("kind", "bb_of_the_field", many)
        with refuses("kind", "one of 52 names, such as 'a_of_the_field'", "'x'"):
            errors.check_choice("kind", "x", many)


class TestInteger:
    @given(value=st.integers())
    def test_any(self, value: int) -> None:
        assert errors.check_integer("n", value) == value

    @pytest.mark.parametrize("value", [np.int64(3), np.uint8(3)])
    def test_numpy_becomes_int(self, value: Any) -> None:
        assert type(errors.check_integer("n", value, 3, 3)) is int

    @pytest.mark.parametrize(
        "value", [2, 6, 3.0, 3.5, "3", True, None, math.nan, torch.tensor(3), 10**30, [3]]
    )
    def test_invalid(self, value: Any) -> None:
        with refuses("n must be an integer in [3, 5]"):
            errors.check_integer("n", value, 3, 5)

    def test_open_ends(self) -> None:
        with refuses("of at least 1", "0"):
            errors.check_integer("n", 0, 1)
        with refuses("of at most 1", "2"):
            errors.check_integer("n", 2, high=1)


class TestNumber:
    @given(value=st.floats(0, 1) | st.integers(0, 1) | st.fractions(0, 1))
    def test_any(self, value: Any) -> None:
        checked = errors.check_number("x", value, 0, 1)
        assert type(checked) is float and checked == pytest.approx(float(value))

    @pytest.mark.parametrize(
        "value", [np.float32(0.5), np.float64(0.5), np.int8(1), Fraction(1, 3)]
    )
    def test_numpy_becomes_float(self, value: Any) -> None:
        assert type(errors.check_number("x", value)) is float

    @pytest.mark.parametrize(
        "value",
        [
            0,
            -1,
            1.01,
            math.nan,
            math.inf,
            -math.inf,
            10**400,
            "1",
            True,
            None,
            1j,
            torch.ones(()),
            [1],
        ],
    )
    def test_invalid(self, value: Any) -> None:
        with refuses("x must be a finite number in (0, 1]"):
            errors.check_number("x", value, 0, 1, open_low=True)

    def test_open_ends(self) -> None:
        with refuses("above 0"):
            errors.check_number("x", 0, 0, open_low=True)
        with refuses("of at least 0"):
            errors.check_number("x", -1, 0)


@pytest.mark.parametrize("value", [0, 1, None, "True", np.bool_(True), torch.tensor(True)])
def test_boolean(value: Any) -> None:
    assert errors.check_boolean("flip", True) is True
    with refuses("flip must be True or False"):
        errors.check_boolean("flip", value)


class TestTensor:
    @pytest.mark.parametrize("value", [None, 1.0, [1.0], np.ones(2), "x"])
    def test_type(self, value: Any) -> None:
        with refuses("images must be a tensor"):
            errors.check_tensor("images", value)

    @given(shape=st.lists(st.integers(0, 3), max_size=4))
    def test_shape(self, shape: list[int]) -> None:
        value = torch.zeros(shape)
        assert errors.check_tensor("x", value, shape=shape) is value
        assert errors.check_tensor("x", value, shape=[None] * len(shape)) is value
        with refuses("x", "of shape", str(shape)):
            errors.check_tensor("x", value, shape=[*shape, 1])
        if shape:
            with refuses("x", "of shape", str(shape)):
                errors.check_tensor("x", value, shape=[*shape[:-1], shape[-1] + 1])

    def test_dtype(self) -> None:
        with refuses("a uint8 tensor", "a float32 tensor"):
            errors.check_tensor("x", torch.zeros(2), dtype=torch.uint8)

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    def test_finite(self, bad: float) -> None:
        value = torch.tensor([1.0, bad, bad])
        assert errors.check_tensor("x", value, finite=False) is value
        with refuses("x must be finite", "2 values"):
            errors.check_tensor("x", value)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_one_number_that_is_none_is_found_wherever_it_stands(bad: float, kind: torch.dtype) -> None:
    for place in (0, 7, 12):
        values = torch.linspace(-1, 1, 13).to(kind)
        assert errors.all_finite(values) and errors.all_finite(values[:0])
        values[place] = bad
        assert not errors.all_finite(values)
    assert not errors.all_finite(torch.tensor([bad, math.nan, 1.0], dtype=kind))
