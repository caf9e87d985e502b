"""The curves of settings: what is drawn where, and what is said."""

from typing import Any

from ddlab.figures import alt_text
from ddlab.lessons.ideal_data.drawing import move_curves, setting_curves
from tests.support import assert_whole_figure, trace, values

CURVES: dict[str, Any] = {
    "steps": [0, 10, 20],
    "curves": {"Σ = 0.1": [0.3, 0.2, 0.1], "Σ = 1": [0.3, 0.3, 0.2]},
    "chosen": ("Σ = 0.5", [0.3, 0.25, 0.15]),
    "error": [0.05, 0.025, 0.025],
    "least": 0.05,
}


def test_title_labels_and_alt_text() -> None:
    assert_whole_figure(setting_curves(**CURVES))


def test_curves_have_the_chosen_one_on_top() -> None:
    figure = setting_curves(**CURVES)
    names = [curve.name for curve in figure.data]
    assert names.index("chosen") > names.index("Σ = 1")
    chosen = trace(figure, "chosen")
    assert (
        values(chosen.y) == [0.3, 0.25, 0.15]
        and chosen.line.width > trace(figure, "Σ = 1").line.width
    )
    assert values(trace(figure, "chosen, two standard errors").y) == [0.4, 0.3, 0.2, 0.1, 0.2, 0.2]
    assert list(trace(figure, "least possible").y) == [0.05, 0.05]
    assert trace(figure, "Σ = 0.1").line.dash != trace(figure, "Σ = 1").line.dash
    assert "Chosen is Σ = 0.5, which falls from 0.3 to 0.15" in alt_text(
        figure
    ) and "0.05" in alt_text(figure)


def test_curves_that_are_moved_are_those_that_would_be_made() -> None:
    changes: dict[str, Any] = {
        "steps": [0, 5],
        "curves": {"Σ = 0.1": [0.5, 0.4], "Σ = 1": [0.5, 0.45]},
        "chosen": ("Σ = 0.2", [0.5, 0.3]),
        "error": [0.0, 0.0],
        "least": 0.01,
    }
    assert (
        move_curves(setting_curves(**CURVES), **changes).to_json()
        == setting_curves(**changes).to_json()
    )
