"""Students of several sets: who is trained first, and whose accuracy is taken from whose."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ipywidgets")

from ddlab.explorers import Value
from ddlab.explorers.students import Students, accuracy_text, difference_chart, differences

WORLD = SimpleNamespace(seeds=range(3))
SETS = {name: (len, name) for name in ("ours", "real")}
VALUES = {name: [Value(len, name, seed) for seed in range(3)] for name in SETS}


def test_they_are_trained_seed_by_seed_after_what_comes_first() -> None:
    results: Any = SimpleNamespace()
    images = Value(len, "images")
    students = Students(lambda *_: SETS, lambda *_: [images])
    ours, real = VALUES.values()
    assert students.jobs(WORLD, None, results) == [
        images,
        *(ours[0], real[0]),
        *(ours[1], real[1]),
        *(ours[2], real[2]),
    ]


def test_pairs_are_of_one_seed_though_students_are_missing() -> None:
    known = {VALUES["ours"][0]: 0.5, VALUES["ours"][2]: 0.7}
    known |= {VALUES["real"][1]: 0.2, VALUES["real"][2]: 0.4}
    results: Any = known.get
    accuracies = Students(lambda *_: SETS).accuracies(WORLD, None, results)
    assert accuracies == {"ours": (0.5, None, 0.7), "real": (None, 0.2, 0.4)}
    assert differences(accuracies["ours"], accuracies["real"]) == [pytest.approx(0.3)]
    assert accuracy_text((None, None)) == "not yet"


def test_a_set_without_a_pair_is_left_out_of_the_chart() -> None:
    figure = difference_chart({"ours": [0.1, 0.3], "others": []}, "real", height=300)
    assert [list(trace.x) for trace in figure.data] == [[10, 30], [20]]  # points
    assert list(figure.layout.yaxis.ticktext) == ["ours"]
