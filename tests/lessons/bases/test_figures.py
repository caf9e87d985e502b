"""What U bases leave, as a plot: the numbers drawn are those of the library."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from ddlab.figures import alt_text
from ddlab.lessons.bases.curves import reconstruction_error_curve
from tests.support import assert_whole_figure


def error_figure(curves: dict[str, Any], scaling: float = 0.0) -> go.Figure:
    return reconstruction_error_curve(curves, scaling, title="Left", x_label="bases", height=300)


def test_the_figure_has_title_labels_and_alt_text():
    assert_whole_figure(error_figure({"a": [0.5, 0.2], "b": [0.6, 0.3]}, 0.1))


def test_long_curves_keep_their_ends_and_their_first_points():
    values = 1.0 / np.arange(1, 3001)
    figure = error_figure({"a": values})
    x, y = figure.data[0].x, figure.data[0].y
    assert len(x) <= 150 and list(x[:5]) == [1, 2, 3, 4, 5] and x[-1] == 3000
    np.testing.assert_allclose(np.asarray(y, float), values[np.asarray(x, int) - 1])


def test_what_scaling_leaves_is_a_dashed_line_with_its_words() -> None:
    figure = error_figure({"a": [0.5, 0.25, 0.125], "b": [0.75]}, 0.1)
    assert [shape.y0 for shape in figure.layout.shapes] == [0.1]
    places = {words.text: (words.x, words.y) for words in figure.layout.annotations}
    assert places["scaling alone 0.1"] == (0, -1), (
        "a line stands at its value, words at its logarithm"
    )
    assert places["a"] == pytest.approx((np.log10(3), np.log10(0.125))), "at the end of its curve"
    assert "a falls from 0.5 to 0.125 with 3" in alt_text(figure)
    assert alt_text(figure).endswith("dashed, scaling alone 0.1.")


def test_axes_have_round_ticks_also_within_one_power_of_ten():
    narrow = error_figure({"a": np.linspace(0.8, 0.5, 40)}, 0.33).layout
    assert [tick for tick in narrow.yaxis.ticktext if 0.33 <= float(tick) <= 0.8] == [
        "0.4",
        "0.5",
        "0.6",
        "0.7",
        "0.8",
    ]
    assert [tick for tick in narrow.xaxis.ticktext if 1 <= float(tick) <= 40] == [
        "1",
        "2",
        "5",
        "10",
        "20",
    ]


def test_an_error_of_nothing_leaves_a_hole_in_the_curve():
    figure = error_figure({"a": [0.5, 1e-16, -1e-17]})
    assert np.isnan(np.asarray(figure.data[0].y, float)).tolist() == [False, True, True]
    assert not figure.layout.shapes and "ashed" not in alt_text(figure)
