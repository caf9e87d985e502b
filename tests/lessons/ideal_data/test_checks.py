"""Lesson 10: its runs at a small scale, its exercises."""

import pytest

from ddlab.lessons.ideal_data import checks as ideal_data
from ddlab.lessons.ideal_data import toys
from ddlab.lessons.ideal_data.checks import SIGMAS
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
