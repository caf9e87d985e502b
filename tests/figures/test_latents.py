"""Latents with their arrows and the bars of the inner products: what is drawn where, what is said, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ddlab.figures import alt_text, bars, latent_arrows, move_latents, product_bars, raise_products
from ddlab.figures.latents import LATENTS
from ddlab.figures.theme import THEMES, neutral, series_style
from tests.support import refuses

GIVEN: dict[str, Any] = {
    "points": [[0.0, 1.0], [2.0, 1.0], [1.0, 4.0]],
    "mean_arrows": [[-0.5, 0.0]] * 3,
    "variance_arrows": [[0.1, 0.2], [0.0, 0.0], [0.3, -0.4]],
    "target_mean": [0.5, 1.0],
    "target_variance": [4.0, 0.25],
    "opposed": [False, True, True],
}
OTHER: dict[str, Any] = {
    "points": [[1.0, 1.0], [-1.0, 0.0]],
    "mean_arrows": [[0.0, 0.0]] * 2,
    "variance_arrows": [[1.0, 1.0], [0.0, 2.0]],
    "target_mean": [0.0, 0.0],
    "target_variance": [1.0, 1.0],
    "opposed": [True, False],
}


def trace(figure: Any, name: str) -> Any:
    return next(one for one in figure.data if one.name == name)


@pytest.mark.parametrize("theme", THEMES)
def test_title_labels_alt_text_and_theme(theme) -> None:
    for figure in (latent_arrows(**GIVEN, theme=theme), product_bars([0.1, -0.1], theme=theme)):
        assert figure.layout.title.text and figure.layout.xaxis.title.text and figure.layout.yaxis.title.text
        assert alt_text(figure).endswith(".") and any(character.isdigit() for character in alt_text(figure))
        assert figure.layout.meta["theme"] == theme
        assert all(trace.name for trace in figure.data)


def test_arrows_begin_at_the_points_and_go_where_they_are_told() -> None:
    figure = latent_arrows(**GIVEN)
    pull = trace(figure, "variance gap")
    assert list(pull.x) == [0.0, 0.1, None, 2.0, 2.0, None, 1.0, 1.3, None]
    assert list(pull.y) == [1.0, 1.2, None, 1.0, 1.0, None, 4.0, 3.6, None]
    sizes = list(pull.marker.size)
    assert sizes[1] > 0 and sizes[7] > 0, "a head at each end"
    assert sizes[4] == 0 and sizes[0::3] == [0, 0, 0], "none where there is no length"
    other = trace(figure, "mean gap")
    assert list(other.x)[1::3] == [-0.5, 1.5, 0.5]
    assert (pull.line.dash, pull.marker.symbol, pull.line.color) != (
        other.line.dash, other.marker.symbol, other.line.color
    )  # fmt: skip
    assert pull.line.dash != other.line.dash and pull.marker.symbol != other.marker.symbol, "not by colour alone"


def test_points_means_and_spreads() -> None:
    figure = latent_arrows(**GIVEN)
    points = trace(figure, LATENTS)
    assert isinstance(points.x, tuple) and list(points.x) == [0, 2, 1] and list(points.y) == [1, 1, 4]
    assert list(points.marker.symbol) == ["circle", "diamond", "diamond"]
    assert points.marker.line.width[1] > points.marker.line.width[0]
    assert (
        points.marker.line.color[0] == neutral("text", "light")
        and points.marker.line.color[1] == series_style(2).colour
    )
    assert list(points.customdata) == [1, 2, 3]
    assert (trace(figure, "batch mean").x[0], trace(figure, "batch mean").y[0]) == (1, 2)
    assert (trace(figure, "target mean").x[0], trace(figure, "target mean").y[0]) == (0.5, 1)
    around = trace(figure, "target spread")
    assert max(around.x) == pytest.approx(2.5) and min(around.y) == pytest.approx(0.5)
    around = trace(figure, "batch spread")
    assert max(around.y) == pytest.approx(2 + np.sqrt(2)) and max(around.x) == pytest.approx(1 + np.sqrt(2 / 3))
    assert "3 latents" in alt_text(figure) and "2 are pulled apart" in alt_text(figure)
    assert "mean is (1, 2), the target's (0.5, 1)" in alt_text(figure)
    assert "(0.667, 2), the target's (4, 0.25)" in alt_text(figure)
    shown = latent_arrows(**GIVEN, extent=((-3, 3), (-2, 2)))
    assert tuple(shown.layout.xaxis.range) == (-3, 3) and tuple(shown.layout.yaxis.range) == (-2, 2)


@pytest.mark.parametrize("theme", THEMES)
def test_a_moved_figure_is_the_one_made_anew(theme) -> None:
    figure = latent_arrows(**GIVEN, theme=theme)
    assert move_latents(figure, **OTHER) is figure
    assert figure.to_json() == latent_arrows(**OTHER, theme=theme).to_json()
    outlines = list(trace(figure, LATENTS).marker.line.color)
    assert outlines == [series_style(2, theme).colour, neutral("text", theme)]


def test_bars_of_products_and_their_sum() -> None:
    figure = product_bars([0.25, -0.5, 0.25 + 1e-17])
    assert list(figure.data[0].x) == ["1", "2", "3", "sum"] and figure.layout.xaxis.type == "category"
    assert list(figure.data[0].y) == [0.25, -0.5, 0.25, 0]
    assert list(figure.data[0].text) == ["0.250", "-0.500", "0.250", "0.000"]
    assert figure.layout.yaxis.range[1] == pytest.approx(0.65) and figure.layout.yaxis.range[0] == pytest.approx(-0.65)
    assert "sum 0" in alt_text(figure)
    assert list(product_bars([0.1, 0.2, -0.3]).data[0].y)[-1] == 0 != 0.1 + 0.2 - 0.3
    assert raise_products(figure, [0.1, 0.2, 0.3]) is figure
    assert figure.to_json() == product_bars([0.1, 0.2, 0.3]).to_json()
    assert product_bars([0.1, -0.2], top=2).layout.yaxis.range[1] == 2, "bars are seen to be small"
    assert raise_products(figure, [0.1, 0.2, 0.3], top=0.1).layout.yaxis.range[1] == pytest.approx(0.78), (
        "never cut off"
    )
    # Rounding is not blown up to the full height, and has no sign.
    quiet = product_bars([1e-16, -1e-9])
    assert quiet.layout.yaxis.range[1] > 1e-4 and list(quiet.data[0].text) == ["0.000"] * 3
    assert list(product_bars([-1e-4, -0.01]).data[0].text) == ["0.000", "-0.010", "-0.010"]


def test_what_is_refused() -> None:
    for name, wrong, words in (
        ("points", [[0, 0, 0]], "[any, 2]"),
        ("points", [[0, np.nan]], "finite"),
        ("mean_arrows", [[0, 0]], "[3, 2]"),
        ("variance_arrows", [[1e300, 0]] * 3, "below 1e30"),
        ("target_mean", [0, 0, 0], "2 finite values"),
        ("target_variance", [-1, 0], "at least 0"),
        ("opposed", [True], "3 values"),
        ("extent", 3, "(low, high)"),
    ):
        with refuses(name, words):
            latent_arrows(**{**GIVEN, name: wrong})
    with refuses("figure", "latent_arrows made"):
        move_latents(bars(["a"], [1], title="t", y_label="y"), **GIVEN)
    with refuses("figure", "of 3 products"):
        raise_products(product_bars([1, 2]), [1, 2, 3])
    with refuses("products", "finite"):
        product_bars([np.inf, 0])
