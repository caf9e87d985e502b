"""Curves, comparisons and bars: what is drawn, what is said, and what is refused."""

import numpy as np
import pytest
import torch

from ddlab.core import DDLabError
from ddlab.figures import (
    Point,
    alt_text,
    bars,
    comparison,
    grouped_comparison,
    loss_curves,
    scatter,
)
from tests.support import assert_whole_figure

EVERY = {
    "loss_curves": lambda: loss_curves({"a": [3, 2, 1], "b": [1, 2, 3]}),
    "loss_curves_log": lambda: loss_curves({"a": [3, 0.2, 0.01]}, log_y=True),
    "comparison": lambda: comparison({"a": [0.45, 0.55]}, x_label="group"),
    "grouped": lambda: grouped_comparison({"g": {"a": [1, 1]}, "h": {"a": [1, 3]}}),
    "bars": lambda: bars(["a", "b"], [1, 2], title="t", y_label="seconds"),
    "scatter": lambda: scatter(
        {
            "a": Point(x=1, y=0.5, family="f", low=0.4, high=0.6),
            "b": Point(x=100, y=0.7, family="g"),
        },
        title="t",
        x_label="s",
        y_label="y",
        logarithmic=True,
        chosen="b",
    ),
}


@pytest.mark.parametrize("name", EVERY)
def test_every_figure_has_title_labels_and_alt_text(name):
    assert_whole_figure(EVERY[name]())


def test_values_and_steps_arrive():
    figure = loss_curves({"a": [3.0, 2.0, 1.0]}, [10, 20, 30])
    np.testing.assert_array_equal(figure.data[0].x, [10, 20, 30])
    np.testing.assert_array_equal(figure.data[0].y, [3, 2, 1])


def test_tensors_with_gradients_are_taken():
    figure = loss_curves({"a": torch.tensor([1.0, 2.0], requires_grad=True)})
    np.testing.assert_array_equal(figure.data[0].y, [1, 2])


def test_a_running_curve_may_be_shorter_than_the_steps():
    figure = loss_curves({"now": [3, 2], "before": [3, 2, 1]})
    assert len(figure.data[0].x) == 2 and len(figure.data[1].x) == 3


def test_one_point_is_visible():
    assert "markers" in loss_curves({"a": [1.0]}).data[0].mode


def test_long_curves_are_thinned_with_both_ends():
    figure = loss_curves({"a": np.arange(10_000.0)})
    x = figure.data[0].x
    assert len(x) <= 2000 and x[0] == 1 and x[-1] == 10_000


def test_log_axis_leaves_holes_and_no_errors():
    figure = loss_curves({"a": [1.0, 0.0, -1.0, 2.0]}, log_y=True)
    assert figure.layout.yaxis.type == "log"
    assert np.isnan(figure.data[0].y[1:3]).all()


def test_alt_text_says_how_curves_run():
    words = alt_text(
        loss_curves(
            {"falling": [2.0, 1.0, 0.5], "flat": [1.0, 1.0, 1.0], "odd": [np.nan, np.nan, np.nan]}
        )
    )
    assert "falling falls from 2 to 0.5" in words
    assert "flat stays at 1" in words
    assert "odd has no finite value" in words


def test_intervals_and_seeds_are_drawn():
    figure = comparison({"a": [0.4, 0.5, 0.6], "b": [0.7]})
    seeds, means = figure.data
    assert len(seeds.x) == 4
    half = 4.30265 * 0.1 / 3**0.5  # Student's t of two degrees of freedom, in a table
    np.testing.assert_allclose(means.error_y.array, [half, 0], rtol=1e-5)
    np.testing.assert_allclose(means.error_y.arrayminus, [half, 0], rtol=1e-5)
    assert "a 0.5 (0.252 to 0.748); b 0.7." in alt_text(figure)
    assert "interval" not in alt_text(comparison({"a": [0.4, 0.6]}, intervals=False))


def test_reference_is_named_in_figure_and_alt_text():
    figure = comparison({"a": [0.5]}, reference=("chance", 0.1))
    assert figure.layout.shapes[0].y0 == 0.1
    assert "chance" in figure.layout.annotations[0].text and "chance, 0.1" in alt_text(figure)


@pytest.mark.parametrize(
    "call, argument",
    [
        (lambda: loss_curves({}), "series"),
        (lambda: loss_curves([1, 2]), "series"),  # type: ignore[arg-type]
        (lambda: loss_curves({"a": []}), "series"),
        (lambda: loss_curves({"a": [[1, 2]]}), "series"),
        (lambda: loss_curves({"a": ["x"]}), "series"),
        (lambda: loss_curves({"a": [1, 2]}, [1]), "steps"),
        (lambda: comparison({}), "conditions"),
        (lambda: comparison(["a"]), "conditions"),  # type: ignore[arg-type]
        (lambda: comparison({"a": []}), "conditions"),
        (lambda: grouped_comparison({"g": {"a": [1]}, "h": {"b": [1]}}), "groups"),
        (lambda: bars(["a"], [1, 2], title="t", y_label="y"), "values"),
    ],
)
def test_bad_input_is_one_sentence_that_names_the_argument(call, argument):
    with pytest.raises(DDLabError) as caught:
        call()
    assert argument in str(caught.value) and "must" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_of_points_stand_where_there_is_room() -> None:
    """Of two points in one place the first one's name, or the chosen one's; of two apart both; and
    nobody's outside.
    """

    def named(chosen: str = "", **at: float) -> set[str]:
        points = {name: Point(x=x, y=x, family="f") for name, x in at.items()}
        (trace,) = scatter(points, title="t", x_label="x", y_label="y", chosen=chosen).data
        return set(trace.text) - {""}

    crowd = {f"a long name {number}": 1.0 + 1e-4 * number for number in range(9)}
    assert named(low=0.0, high=9.0, **crowd) >= {"low", "high", "a long name 0"}
    assert len(named(low=0.0, high=9.0, **crowd)) < 8
    assert "a long name 8" in named(low=0.0, high=9.0, chosen="a long name 8", **crowd)


@pytest.mark.parametrize(
    "point", [Point(x=0, y=1, family="f"), Point(x=1, y=float("nan"), family="f")]
)
def test_a_point_without_a_place_is_refused(point: Point) -> None:
    with pytest.raises(
        DDLabError,
        match=r"points\['a'\] must be of finite numbers, x above 0 on a logarithmic axis",
    ):
        scatter({"a": point}, title="t", x_label="x", y_label="y", logarithmic=True)


def test_bars_of_numbers_stay_categories() -> None:
    figure = bars(["1", "2", "5", "50"], [0.1, 0.2, 0.3, 0.4], title="Networks", y_label="accuracy")
    assert figure.layout.xaxis.type == "category"
