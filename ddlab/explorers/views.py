"""What a laboratory shows, as declarations: where the data come from, and the pure function that
draws them.

    Chart(curve_data, vanishing, cursor=step_on_show)     # draw(*data) -> plotly figure
    Strip(strip_data, strip)                                          # draw(*data) -> (encoded images, alt text)
    Html(score_data, score_table)                                     # draw(*data) -> HTML
    Chart(plane_data, plane, drag=Drag("support points", put, handles))   # points that a reader moves
    Row(view, view), Tabs(("Curve", view), ("Stages", view))

The data function takes (world, settings, results) and returns what `draw` takes: a mapping of its
arguments' names, or a tuple where there is one; None leaves what is on show. A view is drawn anew
only where these data are others, so they hold plain values and frames, not tensors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import ipywidgets as widgets
from torch import Tensor

from ..core import DDLabError
from ..figures.ghosts import KEPT_DASHES, with_ghosts, with_kept
from .images import Picture
from .layout import side_by_side
from .plot import Plot
from .pointer import PointSliders

Named = dict[str, Any]  # the data of a view: argument of its drawing -> value


class NotComputed(Exception):
    """There is no frame to be looked at yet."""


class Handles(NamedTuple):
    """The points of a chart that can be moved, as they are drawn now.

    Attributes:
        names: of the points, for who moves them by keyboard.
        positions: [n, 2], in the axes' units.
        extent: (low, high) of both axes.

    >>> import torch
    >>> handles = Handles(["red", "blue"], torch.tensor([[0.0, 1.0], [2.0, 3.0]]), ((0, 4), (0, 4)))
    >>> handles.names[1], handles.positions[1].tolist()
    ('blue', [2.0, 3.0])
    """

    names: Sequence[str]
    positions: Tensor
    extent: tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Drag:
    """Points of a chart that a reader moves, by mouse or with sliders.

    Attributes:
        trace: the name of their scatter trace, whose x and y are plain lists.
        put: (world, settings, point, x, y) -> the settings to show next.
        handles: (world, settings, results) -> the points as they are drawn, or None while nothing
            can be moved.

    >>> def put(world, settings, point, x, y):
    ...     return {**settings, point: (x, y)}
    >>> drag = Drag("points", put, lambda world, settings, results: None)
    >>> drag.put(None, {0: (0, 0)}, 1, 2.0, 3.0)
    {0: (0, 0), 1: (2.0, 3.0)}
    """

    trace: str
    put: Callable[[Any, Any, int, float, float], Any]
    handles: Callable[[Any, Any, Any], Handles | None]


class View:
    """One view: data and drawing; see the module.

    Args:
        data: (world, settings, results) -> a mapping of names, or a tuple.
        draw: takes what is in it.
        cursor: (world, settings, results) -> where the vertical line of a chart stands.
        move: of a chart: (figure, *data) -> a figure to show next, mostly the same one changed in
            place, which is ten times faster.
        click: of a chart: (world, settings, what was clicked: `Plot.clicked`) -> the settings to
            show next.
        drag: of a chart: its points that can be moved.
        ghosts: of a chart: whether the curves of the settings before stay behind those on show,
            pale, until the next change, and whether a reader can keep curves. They are added to the
            figure that `draw` returns, which must be a new one each time. A chart with `move` has
            none.
        tried: of a chart whose points are settings that were tried: the controls along which these
            may differ. A page without a kernel joins their points.
    """

    def __init__(
        self,
        data: Callable[[Any, Any, Any], Named | tuple[Any, ...] | None],
        draw: Callable[..., Any],
        *,
        cursor: Callable[[Any, Any, Any], float | None] | None = None,
        move: Callable[..., Any] | None = None,
        click: Callable[[Any, Any, dict[str, Any]], Any] | None = None,
        drag: Drag | None = None,
        ghosts: bool = True,
        tried: Sequence[str] = (),
    ) -> None:
        self.data = data
        self.draw = draw
        self.cursor = cursor
        self.move = move
        self.click = click
        self.drag = drag
        self.has_ghosts = ghosts and move is None and isinstance(self, Chart)
        self.tried = tried

    def widget(self, drawing: Any) -> widgets.Widget:
        """Return a widget that shows a first drawing."""
        raise NotImplementedError

    def show(self, widget: Any, drawing: Any) -> None:
        """Let the widget show another one."""
        raise NotImplementedError


def step_on_show(world: Any, settings: Any, results: Any) -> float | None:
    """Return a cursor at the step on show."""
    return results.step


class Chart(View):
    """A plotly figure.

    >>> from ddlab.figures import loss_curves
    >>> def data(world, settings, results):
    ...     return ((3.0, 2.0, 1.0),)
    >>> chart = Chart(data, lambda losses: loss_curves({"loss": losses}, title="Loss"))
    >>> chart.draw(*chart.data(None, None, None)).layout.title.text
    'Loss'
    """

    def widget(self, drawing: Any) -> widgets.Widget:
        draggable = "" if self.drag is None else self.drag.trace
        return Plot(drawing, announce=False, draggable=draggable)

    def show(self, widget: Any, drawing: Any) -> None:
        widget.figure = drawing


class Strip(View):
    """Encoded images with their alt text.

    >>> import torch
    >>> from ddlab.figures import encode_grid
    >>> black = torch.zeros(2, 1, 8, 8, dtype=torch.uint8)
    >>> strip = Strip(lambda world, settings, results: (2,), lambda count: (encode_grid(black), f"{count} images"))
    >>> strip.draw(*strip.data(None, None, None))[1]
    '2 images'
    """

    def widget(self, drawing: Any) -> widgets.Widget:
        return Picture(drawing[0], alt=drawing[1])

    def show(self, widget: Any, drawing: Any) -> None:
        widget.show_bytes(drawing[0], alt=drawing[1])


class Html(View):
    """HTML: a table, a caption. What comes from data is escaped by who draws it.

    >>> score = Html(lambda world, settings, results: (0.5,), "<b>{:.0%}</b>".format)
    >>> score.draw(*score.data(None, None, None))
    '<b>50%</b>'
    """

    def widget(self, drawing: Any) -> widgets.Widget:
        return widgets.HTML(drawing)

    def show(self, widget: Any, drawing: Any) -> None:
        widget.value = drawing


class Formulas(Html):
    r"""HTML with formulas between dollar signs.

    >>> step = Formulas(lambda world, settings, results: (0.1,), r"$\eta = {}$".format)
    >>> step.draw(0.1) == r"$\eta = 0.1$"
    True
    """

    def widget(self, drawing: Any) -> widgets.Widget:
        return widgets.HTMLMath(drawing)


class Row:
    """Views beside each other; they wrap on a narrow page.

    >>> score = Html(lambda world, settings, results: (0.5,), "{:.0%}".format)
    >>> len(Row(score, score).views)
    2
    """

    def __init__(self, *views: Any) -> None:
        self.views = views


class Tabs:
    """Views of which one is on show: (title, view), ...

    >>> score = Html(lambda world, settings, results: (0.5,), "{:.0%}".format)
    >>> Tabs(("Accuracy", score), ("Error", score)).titles
    ['Accuracy', 'Error']
    """

    def __init__(self, *views: tuple[str, Any]) -> None:
        self.titles = [title for title, _ in views]
        self.views = [view for _, view in views]


class ViewOnPage:
    """A view on the page: its widget, and what it shows now."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.widget: Any = None
        self.sliders: PointSliders | None = None  # of points that can be moved
        self._data: Any = None
        # What is drawn, for which settings, and whether all that these ask for was done by then.
        self._drawing: Any = None
        self._settings: Any = None
        self._is_settled = False
        # The drawing of the settings before with its words, and those that the reader keeps.
        self._before: tuple[Any, str] | None = None
        self._kept: dict[Any, Any] = {}
        self._tabs: list[tuple[Any, int]] = []  # the tabs it stands in, each with its own number

    def stands_in(self, buttons: Any, number: int) -> None:
        """Note that this button of tabs stands for the view, or for a part of it."""
        self._tabs.append((buttons, number))

    @property
    def is_hidden(self) -> bool:
        """Whether it stands in a tab that is closed."""
        return any(buttons.index != number for buttons, number in self._tabs)

    def bring_forward(self) -> None:
        """Open its tab, if it stands in one."""
        for buttons, number in self._tabs:
            buttons.index = number

    def forget(self) -> None:
        """Leave no ghost of what was on show before; the next drawing draws anew."""
        self._before = None
        self._data = None
        self._drawing = None
        self._kept = {}

    @property
    def is_up_to_date(self) -> bool:
        """Whether anything was drawn since the view forgot what it shows."""
        return self._data is not None

    def _differs(self, data: Any) -> bool:
        """Return whether data are others than those on show.

        Plain values compare in microseconds; a drawing takes tens of milliseconds.

        Raises:
            DDLabError: data with a tensor or an array of their own, of which nobody knows whether
                they are equal.
        """
        try:
            return bool(data != self._data)
        except (RuntimeError, ValueError):
            raise DDLabError(
                f"what {self.view.data.__name__} returns must be plain values, which `==` compares "
                "(a tensor as a tuple of numbers, or as the bytes of a picture); given a tensor or an "
                "array."
            ) from None

    def draw(self, world: Any, settings: Any, results: Any) -> None:
        """Bring the view up to date. Nothing is drawn where the data are the same as before."""
        try:
            data = self.view.data(world, settings, results)
        except NotComputed:
            if self.widget is None:
                raise
            return
        if self.widget is None or (data is not None and self._differs(data)):
            if settings != self._settings:
                self._before = self._ghost_for(results)
            self._settings = settings
            self._show(data)
            self._data = data
        if settings == self._settings:
            self._is_settled = results.is_settled
        self._name_kept(results)
        if self.view.cursor is not None:
            at = self.view.cursor(world, settings, results)
            widget = cast(Any, self.widget)
            widget.cursor = None if at is None else float(at)
        if self.view.drag is not None and self.sliders is not None:
            handles = self.view.drag.handles(world, settings, results)
            if handles is not None:
                self.sliders.follow(*handles)

    def keep(self) -> None:
        """Keep what is on show behind what comes, or let it go if it is kept; three at most."""
        if self._settings in self._kept:
            del self._kept[self._settings]
        elif len(self._kept) < len(KEPT_DASHES):
            self._kept[self._settings] = self._drawing
        self._data = None  # so that it is drawn anew

    def _ghost_for(self, results: Any) -> tuple[Any, str] | None:
        """Return the drawing of the settings just before, with its words.

        None where it is of others, as in a tab that was closed, or was drawn before they were done.
        """
        is_of_before = results.past[1:2] == (self._settings,)
        if self.view.has_ghosts and self._drawing is not None and is_of_before and self._is_settled:
            return self._drawing, results.words_of(self._settings)
        return None

    def _name_kept(self, results: Any) -> None:
        """Say under a chart which curves are kept, and whether that on show is one of them."""
        if not self.view.has_ghosts:
            return
        signs = KEPT_DASHES.values()
        words = [
            f"{sign} {results.words_of(settings).removeprefix('before: ') or 'on show'}"
            for sign, settings in zip(signs, self._kept, strict=False)
        ]
        is_full = len(words) == len(KEPT_DASHES)
        keep = "Let go" if self._settings in self._kept else "" if is_full else "Keep"
        self.widget.set_trait("kept", words)
        self.widget.set_trait("keep", keep)

    def _show(self, data: Any) -> None:
        widget: Any = self.widget
        draw = self.view.draw
        if self.view.move is not None and widget is not None:
            draw = partial(self.view.move, widget.figure)
        drawing = draw(**data) if isinstance(data, Mapping) else draw(*data)
        self._drawing = drawing
        if self.view.has_ghosts:
            kept_drawings = [kept for of, kept in self._kept.items() if of != self._settings]
            drawing = with_kept(drawing, kept_drawings)
            if self._before is not None:
                drawing = with_ghosts(drawing, *self._before)
        if widget is not None:
            self.view.show(widget, drawing)
        else:
            self.widget = self.view.widget(drawing)


def make_widget(
    view: Any, views_on_page: list[ViewOnPage], before_opening: Callable[[], None]
) -> widgets.Widget:
    """Return the widgets of a declaration, whose first drawings have been made.

    Args:
        before_opening: called when a reader presses a tab, before its view is seen.
    """
    if isinstance(view, View):
        entry = next(view_on_page for view_on_page in views_on_page if view_on_page.view is view)
        return (
            entry.widget if entry.sliders is None else widgets.VBox([entry.widget, entry.sliders])
        )
    children = [make_widget(part, views_on_page, before_opening) for part in view.views]
    if isinstance(view, Row):
        return side_by_side(children)
    whole = _tabs(view.titles, children, before_opening)
    for number, part in enumerate(view.views):
        for view_on_page in views_on_page:
            if view_on_page.view in flatten([part]):
                view_on_page.stands_in(whole.children[0], number)
    return whole


def _tabs(
    titles: list[str], children: list[Any], before_opening: Callable[[], None]
) -> widgets.VBox:
    """Return buttons, one of them pressed, above what it stands for.

    Unlike a tab bar they take the Tab and arrow keys.
    """
    buttons = widgets.ToggleButtons(
        options=list(zip(titles, range(len(titles)), strict=True)), index=0
    )
    buttons.style.button_width = "auto"
    boxes = [
        widgets.Box([child], layout=widgets.Layout(display="none", flex="1 1 auto"))
        for child in children
    ]
    for child in children:
        if isinstance(child, widgets.DOMWidget):
            child.layout.flex = "1 1 auto"

    def open_box() -> None:
        for number, box in enumerate(boxes):
            box.layout.display = "flex" if number == buttons.index else "none"

    def press(_change: Any) -> None:
        before_opening()
        open_box()

    buttons.observe(press, "index")
    open_box()
    whole = widgets.VBox([buttons, *boxes])
    whole.add_class("ddlab-tabs")  # a page without a kernel shows what is folded away, too
    return whole


def flatten(views: Any) -> list[View]:
    """Return the views inside rows and tabs, in order."""
    leaves: list[View] = []
    for view in views:
        leaves += [view] if isinstance(view, View) else flatten(view.views)
    return leaves
