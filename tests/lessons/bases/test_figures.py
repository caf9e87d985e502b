"""Bases as pictures, spectra, what U bases leave, and what sets take: the numbers drawn are those of the library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ddlab.distilled.bases import effective_rank
from ddlab.figures import alt_text
from ddlab.lessons.bases.curves import reconstruction_error_curve, spectrum_curve
from tests.support import assert_whole_figure, refuses

EVERY = {
    "spectrum_curve": lambda: spectrum_curve({"a": [4, 2, 1], "b": [3, 0, 0]}),
    "reconstruction_error_curve": lambda: reconstruction_error_curve(
        {"a": [0.5, 0.2], "b": [0.6, 0.3]}, references={"scaling alone": 0.1}
    ),
}  # fmt: skip


def trace(figure: Any, name: str) -> Any:
    return next(one for one in figure.data if one.name.startswith(name))


@pytest.mark.parametrize("name", EVERY)
def test_every_figure_has_title_labels_and_alt_text(name):
    assert_whole_figure(EVERY[name]())


def test_marks_of_a_spectrum_are_effective_rank_and_the_share():
    values = np.array([8.0, 4.0, 2.0, 1.0, 1.0])
    figure = spectrum_curve({"a": values, "b": torch.tensor([1.0, 1.0])}, share=0.75)
    ranked = effective_rank(torch.tensor(values))
    curve, first, share = trace(figure, "a"), *(trace(figure, name) for name in ("effective rank", "75%"))
    np.testing.assert_array_equal(curve.x, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(curve.y, values)
    assert first.x[0] == pytest.approx(ranked) and values[-1] < first.y[0] < values[0]
    assert (share.x[0], share.y[0]) == (2, 4.0), "8 + 4 are exactly 75 % of 16"
    assert curve.name == f"a: effective rank {ranked:.3g}, 75% in 2" and "75% in 2" in alt_text(figure)
    assert [one.showlegend for one in figure.data if one.name == "effective rank"] == [True, False]
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert len({one.line.dash for one in figure.data if one.mode == "lines"}) == 2


def test_what_rounding_leaves_of_a_spectrum_is_not_drawn():
    figure = spectrum_curve({"a": [1.0, 1e-3, 1e-14, 0.0]})
    np.testing.assert_array_equal(figure.data[0].y, [1.0, 1e-3])
    assert spectrum_curve({"a": [2.0]}).data[0].mode == "lines+markers"


def test_long_curves_keep_their_ends_and_their_first_points():
    values = 1.0 / np.arange(1, 3001)
    for figure in (spectrum_curve({"a": values}), reconstruction_error_curve({"a": values})):
        x, y = figure.data[0].x, figure.data[0].y
        assert len(x) <= 150 and list(x[:5]) == [1, 2, 3, 4, 5] and x[-1] == 3000
        np.testing.assert_allclose(np.asarray(y, float), values[np.asarray(x, int) - 1])


def test_references_are_dashed_lines_with_their_words() -> None:
    figure = reconstruction_error_curve({"a": [0.5, 0.25, 0.125], "b": [0.75]}, references={"scaling": 0.1})
    assert [shape.y0 for shape in figure.layout.shapes] == [0.1]
    assert figure.layout.annotations[0].y == -1, "a line stands at its value, words at its logarithm"
    assert "a falls from 0.5 to 0.125 with 3" in alt_text(figure)
    assert alt_text(figure).endswith("Dashed lines: scaling 0.1.")


def test_axes_have_round_ticks_also_within_one_power_of_ten():
    narrow = reconstruction_error_curve({"a": np.linspace(0.8, 0.5, 40)}, references={"scaling": 0.33}).layout
    assert [tick for tick in narrow.yaxis.ticktext if 0.33 <= float(tick) <= 0.8] == ["0.4", "0.5", "0.6", "0.7", "0.8"]
    assert [tick for tick in narrow.xaxis.ticktext if 1 <= float(tick) <= 40] == ["1", "2", "5", "10", "20"]
    wide = spectrum_curve({"a": np.geomspace(1, 1e-11, 500)}).layout
    assert wide.yaxis.ticktext == ("1e-10", "1e-8", "1e-6", "0.0001", "0.01", "1") and wide.yaxis.type == "log"
    assert wide.xaxis.ticktext == ("1", "10", "100", "1000") and list(wide.xaxis.tickvals) == [1, 10, 100, 1000]


def test_an_error_of_nothing_leaves_a_hole_in_the_curve():
    figure = reconstruction_error_curve({"a": [0.5, 1e-16, -1e-17]})
    assert np.isnan(np.asarray(figure.data[0].y, float)).tolist() == [False, True, True]
    assert not figure.layout.shapes and "Dashed" not in alt_text(figure)


@pytest.mark.parametrize(
    "call, words",
    [
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_that_names_the_argument(call, words):
    with refuses(words):
        call()
