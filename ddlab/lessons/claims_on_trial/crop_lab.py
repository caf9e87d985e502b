"""Do stronger crops spread two classes and make them overlap? Views of their images on a map, one map per least area.

CropMaps(data, classes=(0, 1))

The slider is the least area of RandomResizedCrop, as in ReLA's Figures 6 to 9: .02, .04, .08, .2, .5, and no augmentation. Each map is
laid out anew by t-SNE, as there. It keeps neighbours and loses distances, so that the two numbers below it are taken from the pixels:
how much the views of a class vary about its mean, and how often near neighbours of a view belong to the other class.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from ...explorers.lab import Known, Lab, Value
from ...explorers.views import Chart, Row, Strip
from ...figures import bars, classes_on_map, encode_grid
from .crop_world import PICTURED, SCALES, Cropped, Settings, World

_MAP, _BARS = 320, 230  # heights


def value(world: World, settings: Settings, least_area: float) -> Value:
    """The views of these classes at a least area."""
    return Value(world.cropped, settings.first, settings.second, least_area)


def map_data(world: World, settings: Settings, known: Known) -> tuple | None:
    """The views on show; None while they are laid out."""
    found = known(value(world, settings, settings.least_area))
    return None if found is None else (settings, found)


def class_map(settings: Settings, found: Cropped) -> go.Figure:
    """Where the views lie."""
    places = dict(zip((settings.first, settings.second), found.positions, strict=True))
    figure = classes_on_map(places, title=f"t-SNE of the views, {in_words(settings.least_area)}")
    return figure.update_layout(uirevision=settings.to_string(), height=_MAP)


def strip(settings: Settings, found: Cropped) -> tuple[bytes, str]:
    """Some of the views."""
    pixels = found.images.flatten(0, 1)
    alt = (
        f"Views with {in_words(settings.least_area)}: {PICTURED} of {settings.first} above, "
        f"{PICTURED} of {settings.second} below."
    )
    return encode_grid(pixels.numpy(), columns=PICTURED, scale=max(1, round(48 / pixels.shape[-1]))), alt


def bar_data(world: World, settings: Settings, known: Known) -> tuple | None:
    """What is known of these two classes, by least area; None before the map on show is."""
    every = [(area, known(value(world, settings, area))) for area in sorted({*SCALES, settings.least_area})]
    found = tuple((area, one) for area, one in every if one is not None)
    return found if settings.least_area in dict(found) else None


def spread(*found: tuple[float, Cropped]) -> go.Figure:
    """The variance at each least area."""
    values = {area: one.within for area, one in found}
    return _bars(values, title="Spread within the classes", y_label="variance of the pixels", text_format=".0f")


def overlap(*found: tuple[float, Cropped]) -> go.Figure:
    """The overlap at each least area."""
    values = {area: one.overlap for area, one in found}
    return _bars(values, title="Overlap of the classes", y_label="overlap (1 = the same)", text_format=".2f")


def _bars(values: dict[float, float], **words: Any) -> go.Figure:
    names = [SCALES.get(area, f"{area:g}") for area in values]
    figure = bars(names, list(values.values()), x_label="least area", height=_BARS, **words)
    # Else plotly would take ".02" for a place on the axis, and "none" for none.
    return figure.update_xaxes(type="category")


def in_words(least_area: float) -> str:
    """ "a least area of 0.08"."""
    return "no augmentation" if least_area == 1 else f"a least area of {least_area:g}"


def sentence(world: World, settings: Settings, known: Known) -> str:
    """What is shown, with its numbers."""
    found, whole = (known(value(world, settings, area)) for area in (settings.least_area, 1.0))
    views = f"Views of {settings.first} and {settings.second}"
    if found is None:
        return f"{views} are laid out ..."
    beside = ""
    if whole is not None and whole is not found:
        beside = f", {whole.within:.0f} and {whole.overlap:.2f} without augmentation"
    return (
        f"{views} with {in_words(settings.least_area)}: the variance within the classes is {found.within:.0f} and their "
        f"overlap {found.overlap:.2f}{beside}."
    )


CropMaps = Lab(
    "Do stronger crops make two classes overlap?",
    World,
    controls=("least_area", "first", "second"),
    stops=lambda world: {"least_area": SCALES | {1.0: "no augmentation"}},
    # The one on show first; then those that a reader may want next.
    wanted=lambda world, settings: [
        value(world, settings, area) for area in dict.fromkeys([settings.least_area, *SCALES])
    ],
    opens_with=1,
    views=[
        Row(Chart(map_data, class_map), Strip(map_data, strip)),
        Row(Chart(bar_data, spread), Chart(bar_data, overlap)),
    ],
    sentence=sentence,
)
