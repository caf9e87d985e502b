"""Colours: enough contrast in both themes, and an exchange that loses nothing."""

import pytest

from ddlab.core import DDLabError
from ddlab.figures import alt_text, finish_figure, series_style, start_figure
from ddlab.figures.theme import THEMES, neutral, palette


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, other_colour: str) -> float:
    high, low = sorted([luminance(colour), luminance(other_colour)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_text_is_readable_on_its_background(theme):
    partner = dict(zip(palette("light"), palette(theme), strict=True))
    background = partner[neutral("background")]
    text = partner[neutral("text")]
    quiet = partner[neutral("quiet")]
    assert contrast(text, background) > 12 and contrast(quiet, background) > 4.5
    assert contrast(partner[series_style(0).colour], background) > 4.5


def test_series_differ_in_more_than_colour():
    styles = [series_style(index) for index in range(7)]
    assert len({style.colour for style in styles}) == 7
    assert len({style.marker for style in styles}) == 7
    assert len({style.pattern for style in styles}) == 7
    assert len({style.dash for style in styles[:6]}) == 6
    assert series_style(7) == styles[0]


def test_red_is_not_set_against_green():
    colours = [series_style(index).colour for index in range(5)]
    assert "#009E73" not in colours or "#D55E00" not in colours


def test_every_colour_has_one_partner():
    for theme in THEMES:
        assert len(set(palette(theme))) == len(palette(theme))
    assert len(palette("light")) == len(palette("dark"))


def test_alt_text_is_one_line_and_read_back():
    figure = finish_figure(start_figure(title="t", x_label="x", y_label="y"), alt="Two\n  lines.")
    assert alt_text(figure) == "Two lines."
    assert alt_text(start_figure(title="t", x_label="x", y_label="y")) == ""


@pytest.mark.parametrize(
    "call",
    [
        lambda: start_figure(title="", x_label="x", y_label="y"),
        lambda: finish_figure(start_figure(title="t", x_label="x", y_label="y"), alt=" "),
        lambda: series_style(-1),
    ],
)
def test_bad_input(call):
    with pytest.raises(DDLabError, match="must be"):
        call()
