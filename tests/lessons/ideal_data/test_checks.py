"""Lesson 10: its runs at a small scale, its exercises."""

from typing import Any

import pytest
import torch

from ddlab.lessons.answers import NotYet
from ddlab.lessons.ideal_data import checks as ideal_data
from ddlab.lessons.ideal_data import toys
from ddlab.lessons.ideal_data.checks import CHECKS, SIGMAS
from ddlab.lessons.ideal_data.toys import Config


@pytest.fixture(scope="module")
def runs() -> toys.Trained:
    return toys.train([Config(deviation=sigma, seeds=3) for sigma in SIGMAS])


def test_the_maps_have_the_colours_of_the_classes(runs: toys.Trained) -> None:
    pictures = ideal_data.decisions(runs, -1)
    assert pictures.shape == (7, 96, 96, 3)
    top_right = pictures[1][3, -4]
    bottom_left = pictures[1][-4, 3]
    assert top_right[2] > top_right[0] and bottom_left[0] > bottom_left[2], (
        "class 1, above on the right, is blue"
    )


@pytest.mark.parametrize(
    ("exercise", "answer", "right"),
    [
        ("momentum", lambda m, n: 1 - m**n, True),
        ("momentum", lambda m, n: sum((1 - m) * m**i for i in range(n)), True),
        ("momentum", lambda m, n: m**n, False),
        ("momentum", lambda m, n: n * (1 - m), False),
        ("momentum", lambda m: m, False),
        ("momentum", lambda m, n: "0.6", False),
        ("momentum", None, False),
        ("posterior", lambda x, s: torch.sigmoid((x.sum(1) - 3) / s**2), True),
        ("posterior", lambda x, s: torch.sigmoid((x.sum(1) - 3) / s), False),
        ("posterior", lambda x, s: torch.sigmoid((3 - x.sum(1)) / s**2), False),
        ("posterior", lambda x, s: x, False),
        ("posterior", 3, False),
        ("quiet", Config(deviation=1.0, relabelling=1.0), True),
        ("quiet", Config(deviation=1.0, momentum=0.9, learning_rate=0.01), False),
        ("quiet", Config(deviation=1.0, relabelling=0.1), False),
        ("quiet", Config(deviation=0.2), False),
        ("quiet", Config(deviation=1.0, exact_gradient=True), False),
        ("quiet", "relabelling", False),
    ],
)
def test_exercises_know_right_from_wrong(exercise: str, answer: Any, right: bool) -> None:
    if right:
        assert CHECKS[exercise](answer).endswith(".")
    else:
        with pytest.raises(NotYet, match=r"[.?]$"):
            CHECKS[exercise](answer)
