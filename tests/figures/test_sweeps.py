"""Sweeps over one and two settings, and sets beside each other: what is drawn, what is said, and
what is refused.
"""

import math
import statistics
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from ddlab.figures import alt_text, cell_table, heat_map, one_class, sets_on_map, sweep_bands
from tests.support import assert_whole_figure, refuses

GRID: dict[str, Any] = {"row_label": "K", "column_label": "ρ"}
LABELS = [0, 1, 1, 0]


def pixels(value: int, count: int = 4) -> np.ndarray:
    """Images that tell their number: all pixels of image n are value + n."""
    return (value + np.arange(count, dtype=np.uint8))[:, None, None, None] * np.ones(
        (1, 1, 8, 8), np.uint8
    )


EVERY = {
    "sweep_bands": lambda: sweep_bands(
        [1, 2], {"a": [[1, 2], [2, 3]]}, x_label="x", reference=("r", 1)
    ),
    "heat_map": lambda: heat_map([1, 2], [3], [[0.5], [np.nan]], **GRID),
    "heat_map_plain": lambda: heat_map([1, 2], [3], [[0.5], [0.7]], **GRID),
    "sets_on_map": lambda: sets_on_map(
        [[0, 0], [1, 1]], {"a": [[0, 1]], "b": [[1, 0]]}, density=([0, 1], [0, 1], np.eye(2))
    ),
}


@pytest.mark.parametrize("name", EVERY)
def test_every_figure_has_title_labels_and_alt_text(name):
    assert_whole_figure(EVERY[name]())


def test_a_sweep_draws_the_mean_and_the_95_percent_interval_of_each_x():
    values = np.array([[0.30, 0.50], [0.34, np.nan], [0.41, 0.56]])
    figure = sweep_bands(
        [0.01, 0.1], {"coupled": values, "decoupled": values + 0.1}, x_label="λ_var", log_x=True
    )
    band, line, other_band, other_line = figure.data
    for position, seeds in enumerate(([0.30, 0.34, 0.41], [0.50, 0.56])):
        mean = statistics.fmean(seeds)
        spread = statistics.stdev(seeds)
        half = stats.t.ppf(0.975, len(seeds) - 1) * spread / math.sqrt(len(seeds))
        assert line.y[position] == pytest.approx(mean)
        np.testing.assert_allclose(line.customdata[position], [mean - half, mean + half])
        np.testing.assert_allclose(
            [band.y[3 - position], band.y[position]], [mean - half, mean + half]
        )
    assert band.fill == "toself" and other_band.fill == "toself"
    assert (line.line.dash, line.marker.symbol) != (
        other_line.line.dash,
        other_line.marker.symbol,
    ), "not by colour alone"
    assert figure.layout.xaxis.type == "log" and list(figure.layout.xaxis.ticktext) == [
        "0.01",
        "0.1",
    ]
    assert "coupled rises from 0.35 to 0.53; its best is 0.53 (0.149 to 0.911) at 0.1" in alt_text(
        figure
    )


def test_ticks_stand_at_values_that_were_run_with_room_between_them():
    x = [0.01, 0.013, 0.10, 0.101, 0.23]
    ticks = sweep_bands(x, {"a": [x]}, x_label="x", log_x=True).layout.xaxis
    assert list(ticks.tickvals) == [0.01, 0.013, 0.10, 0.23] and ticks.ticktext[1] == "0.013"
    assert list(sweep_bands(x, {"a": [x]}, x_label="x").layout.xaxis.tickvals) == [0.01, 0.10, 0.23]


def test_one_seed_has_no_band():
    np.testing.assert_array_equal(
        sweep_bands([1, 2], {"a": [[3, 4]]}, x_label="x").data[1].customdata, [[3, 3], [4, 4]]
    )


def test_cells_carry_their_numbers_and_missing_ones_say_so():
    figure = heat_map(
        [4, 12.0], ["0.005", 0.015], [[0.25, np.nan], [0.5, 0.75]], **GRID, text_format=".2f"
    )
    cells, missing = figure.data
    assert [list(row) for row in cells.text] == [["0.25", ""], ["0.50", "0.75"]]
    assert (list(missing.x), list(missing.y), list(missing.text)) == ([1], [0], ["not run"])
    assert list(figure.layout.yaxis.ticktext) == ["4", "12"] and list(
        figure.layout.xaxis.ticktext
    ) == [
        "0.005",
        "0.015",
    ]
    words = (
        "3 numbers, the largest 0.75 at K 12, ρ 0.015, the smallest 0.25 at K 4, ρ 0.005; 1 "
        "cells were not run."
    )
    assert words in alt_text(figure)
    assert "null" in cells.to_json() or np.isnan(np.asarray(cells.z)[0, 1])


def test_rows_of_settings_rise_and_rows_of_a_table_fall():
    assert heat_map([1, 2], [1], [[1], [2]], **GRID).layout.yaxis.autorange is None
    table = cell_table([[0.1], [0.2]], ["a"], ["b", "c"], title="t", x_label="x", y_label="y")
    assert table.layout.yaxis.autorange == "reversed"


def test_nothing_run_yet_is_a_map_too():
    assert "none of 2 cells was run" in alt_text(heat_map([1], [1, 2], [[np.nan, np.nan]], **GRID))


def test_each_set_has_a_place_a_colour_and_a_marker_of_its_own():
    sets = {"first": torch.tensor([[0.0, 1.0], [1.0, 3.0]]), "second": [[0.5, 0.5]]}
    figure = sets_on_map(
        [[0, 0], [2, 4]], sets, set_classes={"first": ["a", "b"]}, extent=((-1, 3), (-1, 5))
    )
    named = {trace.name: trace for trace in figure.data}
    np.testing.assert_array_equal([named["first"].x, named["first"].y], [[0, 1], [1, 3]])
    looks = [
        (named[name].marker.symbol, named[name].marker.color)
        for name in ("real images", "first", "second")
    ]
    assert len({symbol for symbol, _ in looks}) == len({colour for _, colour in looks}) == 3
    assert named["first"].text == ("a", "b") and named["second"].text is None
    assert figure.layout.xaxis.range == (-1, 3)
    assert figure.data[-1].name == "first", "drawn last: over the others"
    assert "2 of first, spread over 50% and 50%" in alt_text(figure) and "1 of second" in alt_text(
        figure
    )


def test_one_class_takes_the_images_of_that_class_from_each_method(monkeypatch):
    panels_drawn: dict = {}
    monkeypatch.setattr(
        "ddlab.figures.sets.image_panels",
        lambda panels, *_, **named: panels_drawn.update(panels, **named),
    )
    sets = {"SRe2L": (pixels(0), torch.tensor(LABELS)), "DWA": (pixels(100), LABELS[::-1])}
    one_class(sets, 1, class_name="goldfish")
    assert panels_drawn["SRe2L"][:, 0, 0, 0].tolist() == [1, 2] and panels_drawn["DWA"][
        :, 0, 0, 0
    ].tolist() == [
        101,
        102,
    ]
    assert "goldfish" in panels_drawn["title"]
    one_class({"SRe2L": (pixels(0), LABELS)}, 0)
    assert panels_drawn["SRe2L"][:, 0, 0, 0].tolist() == [0, 3]


def test_one_class_is_a_figure():
    figure = one_class({"SRe2L": (pixels(0), LABELS), "DWA": (pixels(100), LABELS)}, 0)
    assert "2 grids beside each other (SRe2L, DWA), each of 2 images" in alt_text(figure)


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: sweep_bands([2, 1], {"a": [[1, 2]]}, x_label="x"),
            "x must be rising finite numbers",
        ),
        (lambda: sweep_bands([0, 1], {"a": [[1, 2]]}, x_label="x", log_x=True), "above 0"),
        (lambda: sweep_bands([1, 2], {}, x_label="x"), "curves must be"),
        (lambda: sweep_bands([1, 2], {"a": [1, 2]}, x_label="x"), "curves['a'] must be"),
        (lambda: sweep_bands([1, 2], {"a": [[1, 2, 3]]}, x_label="x"), "[seeds, 2]"),
        (lambda: sweep_bands([1, 2], {"a": [[1, np.nan]]}, x_label="x"), "one number at each x"),
        (lambda: sweep_bands([1, 2], {"a": [[1, np.inf]]}, x_label="x"), "finite numbers"),
        (lambda: heat_map([1], [1, 2], [[1]], **GRID), "columns must be"),
        (lambda: heat_map([1, 2], [1], [[1]], **GRID), "rows must be"),
        (lambda: heat_map([1], [1], [[np.inf]], **GRID), "values must be"),
        (lambda: heat_map([1], [1], [1], **GRID), "values must be"),
        (lambda: heat_map([1], [1], [[1]], row_label="", column_label="b"), "row_label must be"),
        (lambda: sets_on_map([[0, 0]], {}), "sets must be"),
        (lambda: sets_on_map([[0, 0]], {"a": [[0, 0, 0]]}), "sets['a'] must be"),
        (
            lambda: sets_on_map([[0, 0]], {"a": [[0, 0]]}, set_classes={"a": ["b", "c"]}),
            "set_classes['a'] must be",
        ),
        (lambda: sets_on_map([[0, 0]], {"a": [[0, 0]]}, set_classes=["a"]), "set_classes must be"),  # type: ignore[arg-type]
        (lambda: one_class({}, 0), "images_by_method must be"),
        (lambda: one_class({"m": (pixels(0), LABELS)}, 2), "with 2 among them"),
        (lambda: one_class({"m": (pixels(0), [0, 1])}, 0), "4 class labels"),
        (
            lambda: one_class({"m": (pixels(0), LABELS), "n": (pixels(0), [0, 1, 1, 1])}, 0),
            "panels must be",
        ),
    ],
)
def test_bad_input_is_one_sentence_that_names_the_argument(call, words):
    with refuses(words):
        call()
