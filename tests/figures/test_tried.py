"""The chart of settings that were tried."""

from typing import Any

import pytest

from ddlab.core.interval import interval
from ddlab.figures import alt_text
from ddlab.figures.tried import tried_settings

ARMS = {"fixed": {1: [0.3, 0.4, 0.5], 5: [0.6]}, "random": {5: [0.7]}}


def chart(**options: Any) -> Any:
    arms = options.pop("arms", ARMS)
    return tried_settings(arms, **{"title": "After N steps", "x_label": "steps N"} | options)


def trace(figure: Any, name: str) -> Any:
    return next(trace for trace in figure.data if trace.name == name)


def test_an_arm_has_its_means_in_one_colour_and_shape_and_its_seeds_beside() -> None:
    figure = chart()
    fixed, random = trace(figure, "fixed"), trace(figure, "random")
    assert (list(fixed.x), list(fixed.y)) == ([1, 5], pytest.approx([0.4, 0.6]))
    assert fixed.marker.color != random.marker.color
    assert fixed.marker.symbol != random.marker.symbol
    (seeds,) = (dots for dots in figure.data if dots.name is None)
    assert [*zip(seeds.x, seeds.y, strict=True)] == [(1, 0.3), (1, 0.4), (1, 0.5)]
    low, high = interval([0.3, 0.4, 0.5]) or (0, 0)
    assert fixed.error_y.array[0] == pytest.approx(high - 0.4)
    assert fixed.error_y.arrayminus[0] == pytest.approx(0.4 - max(low, 0))
    assert fixed.error_y.array[1] == 0, "one seed has no interval"
    assert "fixed 40.0% at 1, 60.0% at 5; random 70.0% at 5" in alt_text(figure)


def test_choices_stay_categories_whatever_they_are_called() -> None:
    words = {1: "1", 2: "2", 5: "5", 50: "50 or more"}
    figure = chart(stops=words, rivals={"class means": 0.5}, on_show=(5, 0.6))
    assert list(trace(figure, "fixed").x) == [0, 2], "places, not numbers"
    assert list(figure.layout.xaxis.ticktext) == list(words.values())
    assert list(trace(figure, "class means").x) == [0, 3]
    assert list(trace(figure, "on show").x) == [2]


def test_rivals_are_dashed_and_an_arm_without_a_value_keeps_its_place() -> None:
    rivals = {"level": 0.5, "along": {1: [0.2], 5: [0.3]}}
    figure = chart(arms={"not yet": {}}, rivals=rivals, places=(1, 5, 10))
    assert list(trace(figure, "level").x) == [1, 10] and list(trace(figure, "along").y) == [
        0.2,
        0.3,
    ]
    assert {trace(figure, name).line.dash for name in rivals} == {"dash", "dot"}
    assert "not yet not tried yet" in alt_text(figure)


def test_nothing_is_cut_by_the_edge() -> None:
    """Values beyond the limits, on either axis, have room."""
    for across in (False, True):
        figure = chart(arms={"far": {1: [-0.2], 10: [1.4]}}, across=across, places=(1, 10))
        values, along = figure.layout.yaxis, figure.layout.xaxis
        if across:
            values, along = along, values
        assert values.range[0] < -0.2 and values.range[1] > 1.4
        assert along.range[0] < 1 and along.range[1] > 10
    logarithmic = chart(places=(1, 100), log=True).layout.xaxis
    assert logarithmic.type == "log" and logarithmic.range[0] < 0 < 2 < logarithmic.range[1]
