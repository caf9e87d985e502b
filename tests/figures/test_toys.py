"""Decision maps, the curves of settings and landscapes: what is drawn where, what is said, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ddlab.figures import alt_text, decision_map, loss_curves, move_curves, move_decisions, setting_curves
from ddlab.lessons.ideal_data.landscape import landscape_contours
from tests.support import assert_whole_figure, refuses

MAP: dict[str, Any] = {
    "x": [0.0, 1.0, 2.0], "y": [0.0, 1.0], "outputs": [[0.0, 0.5, 1.0], [0.1, 0.6, 0.9]],
    "points": [[0.0, 0.0], [2.0, 1.0], [1.0, 1.0]], "labels": [0, 1, 1], "targets": [0.0, 1.0, 0.25],
    "best_boundary": [[1.0, 0.0], [1.0, 1.0]],
}  # fmt: skip
CURVES: dict[str, Any] = {
    "steps": [0, 10, 20], "curves": {"Σ = 0.1": [0.3, 0.2, 0.1], "Σ = 1": [0.3, 0.3, 0.2]}, "chosen": ("Σ = 0.5", [0.3, 0.25, 0.15]),
    "band": ([0.2, 0.2, 0.1], [0.4, 0.3, 0.2]), "least": 0.05,
}  # fmt: skip
PLANE: dict[str, Any] = {
    "x": [0.0, 1.0, 2.0], "y": [0.0, 1.0], "loss": [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]],
    "paths": {"Σ = 0.1": [[0.0, 0.0], [1.5, 0.5]], "Σ = 1": [[0.0, 0.0], [5.0, 0.5]]}, "captured": 0.874,
}  # fmt: skip


def trace(figure: Any, name: str) -> Any:
    return next(one for one in figure.data if one.name == name)


def values(array: Any) -> list[float]:
    return np.asarray(array, float).round(6).tolist()


def test_title_labels_and_alt_text() -> None:
    makers = ((decision_map, MAP), (setting_curves, CURVES), (landscape_contours, PLANE))
    for make, given in makers:
        assert_whole_figure(make(**given))


def test_a_decision_map_has_classes_by_shape_and_targets_by_colour() -> None:
    figure = decision_map(**MAP)
    zero, one = trace(figure, "class 0"), trace(figure, "class 1")
    assert (values(zero.x), values(zero.y), values(zero.marker.color)) == ([0.0], [0.0], [0.0])
    assert (values(one.x), values(one.y), values(one.marker.color)) == ([2.0, 1.0], [1.0, 1.0], [1.0, 0.25])
    assert zero.marker.symbol != one.marker.symbol and zero.marker.colorscale == one.marker.colorscale
    assert (zero.marker.cmin, zero.marker.cmax) == (0, 1)
    for name in ("network's output", "where it is 1/2"):
        assert values(trace(figure, name).z) == MAP["outputs"]
    assert trace(figure, "where it is 1/2").contours.start == 0.5
    assert "3 samples, 2 of class 1, with targets from 0 to 1" in alt_text(figure)
    assert "50% of the plane" in alt_text(figure)
    assert figure.layout.yaxis.scaleanchor == "x"


def test_a_map_that_is_moved_is_the_one_that_would_be_made() -> None:
    other = MAP | {
        "outputs": [[1.0, 1.0, 1.0], [0.0, 0.0, 0.6]],
        "points": [[1.0, 0.0]],
        "labels": [0],
        "targets": [0.7],
        "best_boundary": None,
    }
    assert move_decisions(decision_map(**MAP), **other).to_json() == decision_map(**other).to_json()


def test_curves_have_the_chosen_one_on_top() -> None:
    figure = setting_curves(**CURVES)
    names = [one.name for one in figure.data]
    assert names.index("chosen") > names.index("Σ = 1")
    chosen = trace(figure, "chosen")
    assert values(chosen.y) == [0.3, 0.25, 0.15] and chosen.line.width > trace(figure, "Σ = 1").line.width
    assert values(trace(figure, "chosen, two standard errors").y) == [0.4, 0.3, 0.2, 0.1, 0.2, 0.2]
    assert list(trace(figure, "least possible").y) == [0.05, 0.05]
    assert trace(figure, "Σ = 0.1").line.dash != trace(figure, "Σ = 1").line.dash
    assert "Chosen is Σ = 0.5, which falls from 0.3 to 0.15" in alt_text(figure) and "0.05" in alt_text(figure)


def test_curves_that_are_moved_are_those_that_would_be_made() -> None:
    other: dict[str, Any] = {
        "steps": [0, 5], "curves": {"Σ = 0.1": [0.5, 0.4], "Σ = 1": [0.5, 0.45]}, "chosen": ("Σ = 0.2", [0.5, 0.3]), "least": 0.01,
    }  # fmt: skip
    assert move_curves(setting_curves(**CURVES), **other).to_json() == setting_curves(**other).to_json()
    bare = {name: value for name, value in CURVES.items() if name not in ("band", "least")}
    assert move_curves(setting_curves(**CURVES), **bare).to_dict()["data"] != setting_curves(**CURVES).to_dict()["data"]


def test_paths_end_with_a_large_mark_and_the_plane_says_what_it_holds() -> None:
    figure = landscape_contours(**PLANE)
    path = trace(figure, "Σ = 0.1")
    assert values(path.x) == [0.0, 1.5] and path.marker.size[-1] > path.marker.size[0]
    assert trace(figure, "Σ = 1").marker.symbol != path.marker.symbol
    assert figure.layout.xaxis.range == (0, 2) and "87%" in figure.layout.title.text and "87%" in alt_text(figure)
    assert "from 0 at (0, 0) to 3" in alt_text(figure)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"outputs": [[0.0, 1.0], [0.0, 1.0]]}, "shape [2, 3]"),
        ({"outputs": [[0.0, 0.5, 1.1], [0.1, 0.6, 0.9]]}, "outputs"),
        ({"labels": [0, 1]}, "labels must be an array of 3"),
        ({"targets": [0.0, 1.0, -1.0]}, "targets"),
        ({"targets": [0.0, 1.0, float("nan")]}, "targets"),
        ({"points": [[0.0], [1.0], [2.0]]}, "points"),
        ({"best_boundary": [1.0, 2.0]}, "best_boundary"),
    ],
)
def test_maps_that_are_refused(change: dict[str, Any], sentence: str) -> None:
    with refuses(sentence):
        decision_map(**MAP | change)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"steps": [0, 0, 1]}, "rising"),
        ({"steps": [0, 1]}, "2 values, one per step"),
        ({"curves": {}}, "curves"),
        ({"curves": {str(number): [1.0, 1.0, 1.0] for number in range(8)}}, "at most 7"),
        ({"chosen": [0.1, 0.2, 0.3]}, "chosen"),
        ({"chosen": ("a", [0.1])}, "chosen must be an array of 3"),
        ({"band": ([0.1], [0.2])}, "band"),
        ({"least": "low"}, "least"),
    ],
)
def test_curves_that_are_refused(change: dict[str, Any], sentence: str) -> None:
    with refuses(sentence):
        setting_curves(**CURVES | change)


def test_a_figure_of_another_kind_is_refused() -> None:
    with refuses("a figure that decision_map made"):
        move_decisions(setting_curves(**CURVES), **MAP)
    with refuses("a figure that setting_curves made"):
        move_curves(loss_curves({"a": [1, 2]}), **CURVES)
    others: dict[str, Any] = CURVES | {"curves": {"Σ = 0.1": [1, 1, 1], "Σ = 2": [1, 1, 1]}}
    with refuses("made of Σ = 0.1 and Σ = 2"):
        move_curves(setting_curves(**CURVES), **others)
