"""The plot widget: a plotly figure that answers at once, in a page with many of them.

    plot = Plot(loss_curves({"loss": [3, 2, 1]}))     # show it as last line of a cell, or put it in a box
    plot.figure = loss_curves({"loss": [3, 2, 1, 1]})  # redraws; a reader's zoom is kept
    plot.cursor = 3                                    # a vertical line at x = 3, without a redraw
    Plot(figure, draggable="latents").observe(handler, "dragged")   # {"count", "point", "x", "y", "done"} while a point is moved
    plot.observe(handler, "clicked")                   # change["new"] == {"count", "curve", "point", "x", "y", "name", "customdata"}

Build figures in the light theme. The front end (plot.js) follows the page from light to dark by
exchanging colours, fits the width, drops frames that were overtaken, and offers the numbers as a
table. Plotly's own FigureWidget sends its 5 MB of script with every figure and loses data under
load; here the script travels once per kernel, packed, and the whole figure is one text that cannot
be lost because the first one goes with the widget itself.

Setting `figure` or `cursor` is allowed from any thread.
"""

import gzip
import html
import threading
from functools import cache
from importlib.resources import files
from typing import Any

import anywidget
import plotly.graph_objects as go
import traitlets
from plotly.offline import get_plotlyjs_version

from ..core import fail
from ..figures import alt_text
from ..figures.theme import THEMES, palette
from .front_end import SyncedWidget, front_end, style

_library_lock = threading.Lock()


class PlotLibrary(anywidget.AnyWidget):
    """What all plots of a kernel share: plotly.js, packed, and the colours of both themes.

    Use `shared_library`.
    """

    _esm = "export default {}"
    gzipped = traitlets.Bytes().tag(sync=True)
    version = traitlets.Unicode().tag(sync=True)
    palettes = traitlets.Dict().tag(sync=True)


class Plot(SyncedWidget):
    """A plotly figure as widget; see the module for how to use it.

    Traits:
        cursor: x of a vertical line, or None.
        clicked: where the cursor was, in the axes' units, and the mark under it, if there was one.
        draggable: name of a scatter trace, its x and y plain lists, whose points a reader may move.
        dragged: where one of them is moved to; put sliders beside it for a keyboard.
        keep: the words of the button that keeps the curves on show, "" without one. A press sends
            {"kind": "keep"}.
        kept: what is kept, in words.
        alt: what a screen reader says.
        announce: False if changes are not read out, for a plot beside a sentence that is.
        reduced_motion: the reader's setting.
    """

    _esm = front_end("figure.js", "drag.js", "plot.js")
    _css = style()
    _resent = ("_figure", "alt", "cursor", "keep", "kept")
    _figure = traitlets.Unicode().tag(sync=True)
    _library = traitlets.Unicode().tag(sync=True)
    keep = traitlets.Unicode().tag(sync=True)
    kept = traitlets.List().tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(360).tag(sync=True)
    cursor = traitlets.Float(None, allow_none=True).tag(sync=True)
    clicked = traitlets.Dict().tag(sync=True)
    draggable = traitlets.Unicode().tag(sync=True)
    dragged = traitlets.Dict().tag(sync=True)
    announce = traitlets.Bool(True).tag(sync=True)
    reduced_motion = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        figure: go.Figure,
        *,
        announce: bool = True,
        cursor: float | None = None,
        draggable: str = "",
        **keywords: Any,
    ) -> None:
        self._shown = _checked(figure)
        self._changing = threading.RLock()
        fixed = {
            "_library": shared_library().model_id,
            "announce": announce,
            "draggable": draggable,
        }
        super().__init__(
            **_state_of(figure),
            **fixed,
            cursor=cursor,
            height=int(figure.layout.height or 360),
            **keywords,
        )

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget, with the alt text beside it for readers without scripts."""
        representation: Any = super()._repr_mimebundle_(**options)
        bundle, metadata = representation
        words = {"text/plain": self.alt, "text/html": f"<p>{html.escape(self.alt)}</p>"}
        return bundle | words, metadata

    @property
    def figure(self) -> go.Figure:
        """The figure that is shown.

        Assign a new one to redraw; changing this one in place does nothing.
        """
        return self._shown

    @figure.setter
    def figure(self, figure: go.Figure) -> None:
        _checked(figure)
        # One message for both, so that the alt text never belongs to another picture; under the
        # lock what is sent last is what is kept, whichever thread comes last.
        with self._changing, self.hold_sync():
            self._shown = figure
            for name, value in _state_of(figure).items():
                self.set_trait(name, value)


def shared_library() -> PlotLibrary:
    """Return the one library model of this kernel.

    It is made anew if it was closed, as by `Widget.close_all()`.
    """
    with _library_lock:
        if _make_library().comm is None:
            _make_library.cache_clear()
        return _make_library()


@cache
def _make_library() -> PlotLibrary:
    script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    palettes = {name: palette(name) for name in THEMES}
    return PlotLibrary(
        gzipped=gzip.compress(script, 6), version=get_plotlyjs_version(), palettes=palettes
    )


def _checked(figure: Any) -> go.Figure:
    if not isinstance(figure, go.Figure):
        fail("figure", "a plotly.graph_objects.Figure", figure)
    return figure


def _state_of(figure: go.Figure) -> dict[str, str]:
    return {
        "_figure": str(figure.to_json()),
        "alt": alt_text(figure) or str(figure.layout.title.text or "a figure without description"),
    }
