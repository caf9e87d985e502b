"""How few bases make the images? Principal bases at several scales, and those of a teacher's representations.

BasesLab(data)              U bases at 1/s of the size: images above what is made of them, the error of every U, the spectrum
BasesLab(data, teacher)     also V bases of the teacher's representations, beside an untrained network's: where they have collapsed

The first use of a scale, or of another way with the mean, takes a second or two: then all bases are known, and U only cuts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from .. import errors
from ..data import ImageData
from ..networks import Network
from . import basis_view as views
from .basis_view import BasesView
from .controls import controls
from .images import Picture
from .layout import Explorer, side_by_side
from .plot import Plot
from .reconstructed import HELD_OUT, TRAINING, Reconstructions, check_teacher
from .stops import set_stops
from .worker import Worker

_LABELS = {
    "bases": "image bases U",
    "scale": "scale s",
    "image_mean": "mean of the images",
    "split": "images shown",
    "below": "third row",
    "representation_bases": "representation bases V",
    "representation_mean": "mean of the representations",
}
_OF_IMAGES = ("bases", "page", "scale", "split", "image_mean", "below")
_OF_REPRESENTATIONS = ("representation_bases", "representation_mean")


class BasesLab(Explorer):
    """Images, what bases make of them, and what is lost; see the module.

    Attributes:
        panel: its `value` is a `BasesView`. known: all that has been computed. worker: finds the bases of new settings.
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network | None = None,
        *,
        images: int = 1000,
        settings: str = "",
        key: str = "bases lab",
    ) -> None:
        """
        Args:
            data: bases come from its training images; its test images are held out.
            teacher: a network for these images, with labels or without; None: images alone.
            images: of each split, drawn at random, at most; fewer where they are large, and the explorer says how many.
            settings: what is shown first, as the explorer's own text says it, such as "bases=20,scale=4".
        """
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        errors.check_integer("images", images, 2, 3000)
        errors.check_text("settings", settings)
        self.known = Reconstructions(data, check_teacher(teacher, data), images)
        self.start = views.view_class(data, self.known).from_string(settings)
        self._compute(self.start)
        self._drawing = threading.RLock()
        self._make_widgets(self.start)
        plots = [side_by_side([self.errors_plot, self.spectrum])]
        plots += [side_by_side([self.representation_errors, self.representation_spectrum])] if teacher else []
        super().__init__(
            "How few bases make the images?",
            controls=[self.panel],
            views=[self.picture, self.caption, *plots],
            key=key,
        )
        self.worker = self.owns(Worker(self._compute, self._arrived, on_error=self.show_error, name="ddlab-bases"))
        self.panel.observe(self.guard(self._moved), "value")
        self.share(self.panel)
        self.say(views.sentence(self.known, self.start))

    # -- what the reader does

    def _moved(self, change: Any) -> None:
        view = change["new"]
        with self._drawing:
            if self._is_known(view):
                self._redraw(view)
            else:
                self.say(f"Bases at scale {view.scale} are being found ...")
                self.worker.submit(view)

    def _compute(self, view: BasesView, _stale: Callable[[], bool] | None = None) -> BasesView:
        self.known.of_images(view.scale, view.image_mean)
        for name in self.known.representations:
            self.known.of_representations(name, view.representation_mean)
        return view

    def _arrived(self, _view: BasesView) -> None:
        with self._drawing:  # the reader may have moved on, also to what is not known yet: then the worker has it next
            if self._is_known(self.panel.value):
                self._redraw(self.panel.value)

    def _is_known(self, view: BasesView) -> bool:
        wanted = [(view.scale, view.image_mean)]
        wanted += [(name, view.representation_mean) for name in self.known.representations]
        return all(self.known.known(*one) for one in wanted)

    # -- views

    def _make_widgets(self, view: BasesView) -> None:
        names = [name for name in _OF_IMAGES if name != "page" or views.pages(self.known) > 1]
        self.panel = controls(view, names + [*_OF_REPRESENTATIONS] * bool(self.known.representations), labels=_LABELS)
        columns = "repeat(auto-fit, minmax(440px, 1fr))"
        self.panel.layout = widgets.Layout(display="grid", grid_template_columns=columns, grid_gap="0 16px")
        numbers = self.data.train_images[0].numel()
        set_stops(self.panel, "bases", 1, min(len(self.known.images[TRAINING]), numbers))
        encoded, alt = views.picture(self.known, self.known.of_images(view.scale, view.image_mean), view)
        self.picture = Picture(encoded, alt=alt)
        self.caption = widgets.HTML(self._counts())
        self._drawn = self._curves_of(view)
        self.errors_plot, self.spectrum = (
            Plot(figure, announce=False, cursor=float(view.bases)) for figure in views.image_curves(self.known, view)
        )
        if self.known.representations:
            size = self.known.representations["teacher"][TRAINING].shape[1]
            set_stops(self.panel, "representation_bases", 1, size)
            self.representation_errors, self.representation_spectrum = (
                Plot(figure, announce=False, cursor=float(view.representation_bases))
                for figure in views.representation_curves(self.known, view)
            )

    def _counts(self) -> str:
        seen, held_out = (f"{len(self.known.images[s])} of {self.known.of[s]}" for s in (TRAINING, HELD_OUT))
        return (
            f"The bases come from {seen} training images, drawn at random; errors are those of all of them, or of {held_out} "
            "held-out images. Upright lines stand at the numbers of bases that are chosen."
        )

    def _curves_of(self, view: BasesView) -> tuple[Any, Any]:
        """What the plots of images and of representations depend on; all else moves their upright lines alone."""
        scales = [scale for scale in views.scales(self.data) if self.known.known(scale, view.image_mean)]
        return (view.scale, view.image_mean, view.split, *scales), view.representation_mean

    def _redraw(self, view: BasesView) -> None:
        encoded, alt = views.picture(self.known, self.known.of_images(view.scale, view.image_mean), view)
        if encoded != self.picture.value:
            self.picture.show_bytes(encoded, alt=alt)
        before, self._drawn = self._drawn, self._curves_of(view)
        if self._drawn[0] != before[0]:
            self.errors_plot.figure, self.spectrum.figure = views.image_curves(self.known, view)
        self.errors_plot.cursor = self.spectrum.cursor = float(view.bases)
        if self.known.representations:
            plots = self.representation_errors, self.representation_spectrum
            if self._drawn[1] != before[1]:
                plots[0].figure, plots[1].figure = views.representation_curves(self.known, view)
            plots[0].cursor = plots[1].cursor = float(view.representation_bases)
        self.say(views.sentence(self.known, view))
        self.clear_error()
