"""Curves between merges, and the older figures that show FADRM's Tables 5 and 6 and Figure 4."""

import numpy as np
import pytest
import torch

from ddlab.figures import alt_text, bars, heat_map, sweep_bands
from ddlab.lessons.data_residuals.curves import vanishing_curves
from tests.support import assert_whole_figure, refuses

EVERY = {
    "vanishing_curves": lambda: vanishing_curves(
        {"a": [3, 2, 1], "b": [3, 2]}, unit="bits", merges=[1], references={"real": 2}
    )
}


@pytest.mark.parametrize("name", EVERY)
def test_every_figure_has_title_labels_and_alt_text(name):
    assert_whole_figure(EVERY[name]())


def test_curves_begin_before_the_first_update_and_merges_are_lines():
    curves = {"with": torch.tensor([4.0, 3.0, 3.5, 2.5], requires_grad=True), "without": [4.0, 3.0]}
    figure = vanishing_curves(
        curves, unit="bits", merges=np.array([1, 2]), references={"real": 4.25, "constant": 0}
    )
    assert [trace.name for trace in figure.data] == [
        "with",
        "without",
    ] and figure.layout.yaxis.title.text == "bits"
    np.testing.assert_array_equal(figure.data[0].x, [0, 1, 2, 3])
    np.testing.assert_array_equal(figure.data[0].y, [4, 3, 3.5, 2.5])
    np.testing.assert_array_equal(figure.data[1].x, [0, 1])
    upright = [shape for shape in figure.layout.shapes if shape.x0 == shape.x1]
    level = [shape for shape in figure.layout.shapes if shape.y0 == shape.y1]
    assert [shape.x0 for shape in upright] == [1, 2] and [
        bool(shape.showlegend) for shape in upright
    ] == [True, False]
    assert {shape.y0 for shape in level} == {0, 4.25} and len(level) == 2
    assert {note.text: note.y for note in figure.layout.annotations} == {
        "real 4.25": 4.25,
        "constant 0": 0,
    }
    low, high = figure.layout.yaxis.range
    assert low == 0 and high > 4.25
    assert "mixed in at 1 and 2. Dashed lines: real 4.25 and constant 0." in alt_text(figure)


def test_names_of_near_levels_stand_apart_and_the_axis_holds_everything():
    figure = vanishing_curves(
        {"a": [-2.0, 1.0]}, unit="x", references={"c": 5.002, "a": 5.0, "b": 5.001, "far": -1}
    )
    low, high = figure.layout.yaxis.range
    assert low == -2 and high > 5.002
    pixels = (figure.layout.height - 120) / (high - low)
    at = {note.text[0]: (note.y - low) * pixels + note.yshift for note in figure.layout.annotations}
    assert (
        at["b"] - at["a"] == pytest.approx(15)
        and at["c"] - at["b"] == pytest.approx(15)
        and at["f"] < at["a"]
    )
    assert all(note.yshift == 0 for note in figure.layout.annotations if note.text[0] in "af")
    assert vanishing_curves(
        {"a": [0.0, 0.0]}, unit="x", references={"r": 0}
    ).layout.yaxis.range == (0, 1)


def test_plain_curves_have_neither_lines_nor_legend():
    figure = vanishing_curves({"a": [2, 1]}, unit="bits", steps=[0, 50, 100])
    assert not figure.layout.shapes and list(figure.data[0].x) == [0, 50]
    assert (
        figure.layout.showlegend is None
        and "mixed" not in alt_text(figure)
        and "Dashed" not in alt_text(figure)
    )


def test_the_legend_stands_at_the_lower_edge_whatever_room_the_names_need():
    """In the page's coordinates: in those of the plot, names of ten classes pushed the axis title
    into it.
    """
    legend = bars(["c"], {"a": [1], "b": [2]}, title="t", y_label="y").layout.legend
    assert (legend.yref, legend.y, legend.yanchor) == ("container", 0, "bottom")


def test_a_table_of_merge_ratios_with_and_without_small_stages():
    """FADRM Table 5: what the paper did not run says so, and names stand beside numbers."""
    rows, columns = [0.4, 0.9, "no ARC"], ["full size", "two sizes"]
    values = np.array([[np.nan, 47.4], [np.nan, 45.7], [46.4, 46.2]])
    figure = heat_map(rows, columns, values, row_label="α", column_label="sizes", text_format=".1f")
    assert [list(row) for row in figure.data[0].text] == [
        ["", "47.4"],
        ["", "45.7"],
        ["46.4", "46.2"],
    ]
    assert list(figure.layout.yaxis.ticktext or figure.data[0].y) == ["0.4", "0.9", "no ARC"]
    assert "2 cells were not run" in alt_text(figure) and "α 0.4, sizes two sizes" in alt_text(
        figure
    )


def test_a_sweep_from_no_merges_to_six():
    """FADRM Table 6, from k = 0: each k has its tick."""
    figure = sweep_bands(range(7), {"seeds": np.arange(21).reshape(3, 7) / 21}, x_label="k")
    assert list(figure.layout.xaxis.ticktext) == list("0123456") and len(figure.data[0].x) == 14


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: vanishing_curves({}, unit="bits"), "curves must be"),
        (lambda: vanishing_curves({"a": [1, 2]}, unit="bits", steps="ab"), "steps must be"),
    ],
)
def test_bad_input_is_one_sentence_that_names_the_argument(call, words):
    with refuses(words):
        call()
