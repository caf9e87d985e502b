"""Decision maps: what is drawn where, what is said, and what is refused."""

from typing import Any

import pytest

from ddlab.figures import alt_text, decision_map, loss_curves, move_decisions
from tests.support import assert_whole_figure, refuses, trace, values

MAP: dict[str, Any] = {
    "x": [0.0, 1.0, 2.0],
    "y": [0.0, 1.0],
    "outputs": [[0.0, 0.5, 1.0], [0.1, 0.6, 0.9]],
    "points": [[0.0, 0.0], [2.0, 1.0], [1.0, 1.0]],
    "labels": [0, 1, 1],
    "targets": [0.0, 1.0, 0.25],
    "best_boundary": [[1.0, 0.0], [1.0, 1.0]],
}


def test_a_decision_map_has_classes_by_shape_and_targets_by_colour() -> None:
    figure = decision_map(**MAP)
    assert_whole_figure(figure)
    class_0 = trace(figure, "class 0")
    class_1 = trace(figure, "class 1")
    assert (values(class_0.x), values(class_0.y), values(class_0.marker.color)) == (
        [0.0],
        [0.0],
        [0.0],
    )
    assert (values(class_1.x), values(class_1.y), values(class_1.marker.color)) == (
        [2.0, 1.0],
        [1.0, 1.0],
        [1.0, 0.25],
    )
    assert (
        class_0.marker.symbol != class_1.marker.symbol
        and class_0.marker.colorscale == class_1.marker.colorscale
    )
    for name in ("network's output", "where it is 1/2"):
        assert values(trace(figure, name).z) == values(MAP["outputs"])
    assert trace(figure, "where it is 1/2").contours.start == 0.5
    assert "3 samples, 2 of class 1, with targets from 0 to 1" in alt_text(figure)
    assert "50% of the plane" in alt_text(figure)
    assert figure.layout.yaxis.scaleanchor == "x"


def test_a_map_that_is_moved_is_the_one_that_would_be_made() -> None:
    moved_map = MAP | {
        "outputs": [[1.0, 1.0, 1.0], [0.0, 0.0, 0.6]],
        "points": [[1.0, 0.0]],
        "labels": [0],
        "targets": [0.7],
    }
    moved_map["best_boundary"] = None
    assert (
        move_decisions(decision_map(**MAP), **moved_map).to_json()
        == decision_map(**moved_map).to_json()
    )


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


def test_a_figure_of_another_kind_is_refused() -> None:
    with refuses("figure must be one with a trace 'best boundary'"):
        move_decisions(loss_curves({"a": [1, 2]}), **MAP)
