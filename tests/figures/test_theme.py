"""Colours: enough contrast in both themes, and an exchange that loses nothing."""

from __future__ import annotations

import json
import re

import pytest

from ddlab.core.errors import DDLabError
from ddlab.figures import alt_text, finish_figure, loss_curves, series_style, start_figure
from ddlab.figures.theme import THEMES, neutral, palette


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_text_is_readable_on_its_background(theme):
    background = neutral("background", theme)
    assert contrast(neutral("text", theme), background) > 12
    assert contrast(neutral("quiet", theme), background) > 4.5
    assert contrast(series_style(0, theme).colour, background) > 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_series_differ_in_more_than_colour(theme):
    styles = [series_style(index, theme) for index in range(7)]
    assert len({style.colour for style in styles}) == 7
    assert len({style.marker for style in styles}) == 7
    assert len({style.pattern for style in styles}) == 7
    assert len({style.dash for style in styles[:6]}) == 6
    assert series_style(7, theme) == styles[0]


def test_red_is_not_set_against_green():
    colours = [series_style(index).colour for index in range(5)]
    assert "#009E73" not in colours or "#D55E00" not in colours


def test_every_colour_has_one_partner():
    for theme in THEMES:
        assert len(set(palette(theme))) == len(palette(theme))
    assert len(palette("light")) == len(palette("dark"))


def test_recoloured_light_figure_equals_the_dark_one():
    series = {"a": [1, 2, 3], "b": [2, 1, 4]}
    light, dark = (json.loads(str(loss_curves(series, theme=theme).to_json())) for theme in THEMES)
    codes = dict(zip(*map(palette, THEMES), strict=True))
    changed = json.loads(re.sub("|".join(codes), lambda found: codes[found.group()], json.dumps(light)))
    for figure in (light, dark, changed):
        figure["layout"].pop("meta")
    # The colourway may name each colour in its own order; what is drawn must agree.
    assert changed["data"] == dark["data"]
    assert changed["layout"] == dark["layout"]


def test_alt_text_is_one_line_and_read_back():
    figure = finish_figure(start_figure(title="t", x_label="x", y_label="y"), alt="Two\n  lines.")
    assert alt_text(figure) == "Two lines."
    assert alt_text(start_figure(title="t", x_label="x", y_label="y")) == ""


@pytest.mark.parametrize("call", [
    lambda: start_figure(title="", x_label="x", y_label="y"),
    lambda: start_figure(title="t", x_label="x", y_label="y", theme="grey"),  # type: ignore[arg-type]
    lambda: finish_figure(start_figure(title="t", x_label="x", y_label="y"), alt=" "),
    lambda: series_style(0, "sepia"),  # type: ignore[arg-type]
])  # fmt: skip
def test_bad_input(call):
    with pytest.raises(DDLabError, match="must be"):
        call()
