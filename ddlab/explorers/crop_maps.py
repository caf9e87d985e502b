"""Do stronger crops spread two classes and make them overlap? Views of their images on a map, one map per least area.

CropMaps(data, classes=(0, 1))

The slider is the least area of RandomResizedCrop, as in ReLA's Figures 6 to 9: .02, .04, .08, .2, .5, and no augmentation. Each map is
laid out anew by t-SNE, as there. It keeps neighbours and loses distances, so that the two numbers beside it are taken from the pixels:
how much the views of a class vary about its mean, and how often near neighbours of a view belong to the other class.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch

from .. import errors
from ..data import ImageData
from ..figures import bars, classes_on_map, encode_grid
from ..parameters import Parameters, parameter
from .controls import controls
from .cropped import PICTURED, Cropped, cropped
from .images import Picture
from .layout import Explorer, side_by_side
from .plot import Plot
from .worker import Worker

SCALES = {0.02: ".02", 0.04: ".04", 0.08: ".08", 0.2: ".2", 0.5: ".5", 1.0: "none"}


@dataclass(frozen=True, kw_only=True)
class Crop(Parameters):
    """What is shown; `first` and `second` get their choices from the classes of one data set."""

    least_area: float = parameter(
        0.08, range=(0.01, 1), scale="log", explorable=(0.02, 1),
        help="The smallest share of the image that a view shows; at 1 it shows all of it.", source="ReLA, Figures 6 to 9",
    )  # fmt: skip
    first: str = parameter("", help="One class.")
    second: str = parameter("", help="The other class.")

    def rules(self) -> None:
        """Two classes."""
        if self.first == self.second:
            errors.fail("second", f"another class than {self.first!r}", self.second)


class CropMaps(Explorer):
    """A map of views for each least area; see the module.

    Attributes:
        panel: its `value` is a `Crop`. known: what has been computed, by view. shown: the `Cropped` on the screen.
    """

    def __init__(
        self,
        data: ImageData,
        *,
        classes: tuple[int, int] = (0, 1),
        images: int = 30,
        views: int = 4,
        key: str = "crop maps",
    ) -> None:
        """
        Args:
            data: whose training images are cut out. classes: the two that are shown first.
            images: of each class, at least 2; views: of each image; at most 600 views on a map.
        """
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        start = _first_view(data, classes)
        self._images = errors.check_integer("images", images, 2, 300)
        self._views = errors.check_integer("views", views, 2, 300 // self._images)
        self.panel = controls(start, ["least_area", "first", "second"])
        stops: Any = self.panel["least_area"]
        stops.options = [("no augmentation" if scale == 1 else said, scale) for scale, said in SCALES.items()]
        stops.value = start.least_area
        self.known: dict[Crop, Cropped] = {start: self._cropped(start)}
        self.shown = self.known[start]
        self._drawing = threading.RLock()
        self.plot = Plot(self._map(), announce=False)
        self.spread, self.overlap = (Plot(figure, announce=False) for figure in self._bars())
        self.picture = Picture(self._grid(), alt=self._alt())
        super().__init__(
            "Do stronger crops make two classes overlap?",
            controls=[self.panel],
            views=[side_by_side([self.plot, self.picture]), side_by_side([self.spread, self.overlap])],
            key=key,
        )
        self.worker = self.owns(Worker(self._compute, self._computed, on_error=self.show_error, name="ddlab-crops"))
        self.panel.observe(self.guard(self._moved), "value")
        self.share(self.panel)
        self._redraw()
        self._ahead()

    # -- what the reader does

    def _moved(self, change: Any) -> None:
        view = change["new"]
        # One after the other with `_ahead`, which would put its view in the place of this one.
        with self._drawing:
            if view in self.known:
                self._redraw()
                self._ahead()
            else:
                self.say(f"Views of {view.first} and {view.second} are laid out ...")
                self.worker.submit(view)

    def _compute(self, view: Crop, _stale: Callable[[], bool]) -> Crop:
        # A map cannot be given up halfway; the worker takes the newest view next.
        if view not in self.known:
            self.known[view] = self._cropped(view)
        return view

    def _computed(self, view: Crop) -> None:
        if view == self.panel.value:
            self._redraw()
        else:
            with self._drawing:
                self._draw_bars()
        self._ahead()

    def _ahead(self) -> None:
        """The next map of these classes that a reader may want; a view that is asked for comes first."""
        with self._drawing:
            view = self.panel.value
            if view in self.known:
                missing = [other for scale in SCALES if (other := view.replace(least_area=scale)) not in self.known]
                if missing:
                    self.worker.submit(missing[0])

    # -- what is known

    def _cropped(self, view: Crop) -> Cropped:
        return cropped(
            self.data, (view.first, view.second), least_area=view.least_area, images=self._images, views=self._views
        )

    def _row(self) -> dict[float, Cropped]:
        """What is known of these two classes, by least area."""
        view = self.panel.value
        found = {scale: self.known.get(view.replace(least_area=scale)) for scale in sorted({*SCALES, view.least_area})}
        return {scale: one for scale, one in found.items() if one is not None}

    # -- views

    def _redraw(self) -> None:
        with self._drawing:
            found = self.known.get(self.panel.value)
            if found is None:  # the reader has gone on meanwhile, and the worker will draw what is wanted now
                return
            self.shown = found
            self.plot.figure = self._map()
            self._draw_bars()
        self.picture.show_bytes(self._grid(), alt=self._alt())
        self.say(self._words())

    def _draw_bars(self) -> None:
        self.spread.figure, self.overlap.figure = self._bars()

    def _map(self) -> go.Figure:
        view = self.panel.value
        figure = classes_on_map(
            dict(zip((view.first, view.second), self.shown.positions, strict=True)),
            title=f"t-SNE of the views, {_said(view.least_area)}",
        )
        figure.layout.uirevision = view.to_string()
        return figure

    def _bars(self) -> tuple[go.Figure, go.Figure]:
        row = self._row()
        names = [SCALES.get(scale, f"{scale:g}") for scale in row]
        drawn = (
            (
                "Spread within the classes",
                "variance of the pixels",
                [found.within for found in row.values()],
                ".0f",
            ),
            ("Overlap of the classes", "overlap (1 = the same)", [found.overlap for found in row.values()], ".2f"),
        )
        first, second = (
            bars(names, values, title=title, y_label=label, x_label="least area", height=260, text_format=digits)
            # Else plotly would take ".02" for a place on the axis, and "none" for none.
            .update_xaxes(type="category")
            for title, label, values, digits in drawn
        )
        return first, second

    def _grid(self) -> bytes:
        pixels = self.shown.images.flatten(0, 1)
        return encode_grid(pixels.numpy(), columns=PICTURED, scale=max(1, round(48 / pixels.shape[-1])))

    def _alt(self) -> str:
        view = self.panel.value
        return (
            f"Views with {_said(view.least_area)}: {PICTURED} of {view.first} above, {PICTURED} of {view.second} below."
        )

    def _words(self) -> str:
        view, shown = self.panel.value, self.shown
        whole = self.known.get(view.replace(least_area=1.0))
        beside = (
            ""
            if whole is None or whole is shown
            else f", {whole.within:.0f} and {whole.overlap:.2f} without augmentation"
        )
        return (
            f"Views of {view.first} and {view.second} with {_said(view.least_area)}: the variance within the classes is "
            f"{shown.within:.0f} and their overlap {shown.overlap:.2f}{beside}."
        )


def _said(least_area: float) -> str:
    return "no augmentation" if least_area == 1 else f"a least area of {least_area:g}"


def _first_view(data: ImageData, classes: Any) -> Crop:
    if not isinstance(classes, tuple) or len(classes) != 2 or classes[0] == classes[1]:
        errors.fail("classes", "two different class numbers", classes)
    first, second = (errors.check_integer("classes", label, 0, data.classes - 1) for label in classes)
    return _crop_class(data)(first=data.class_names[first], second=data.class_names[second])


def _crop_class(data: ImageData) -> type[Crop]:
    """The Crop of one explorer: the classes of its data that have two images are the choices."""
    sizes = torch.bincount(data.train_labels, minlength=data.classes)
    names = tuple(name for name, size in zip(data.class_names, sizes.tolist(), strict=True) if size > 1)
    if len(names) < 2:
        errors.fail("data", "with two classes of at least two training images", data.name)

    @dataclass(frozen=True, kw_only=True)
    class ClassesCrop(Crop):
        """What is shown, among the classes of the data."""

        first: str = parameter(names[0], choices=names, help="One class.", explorable=True)
        second: str = parameter(names[1], choices=names, help="The other class.", explorable=True)

    return ClassesCrop
