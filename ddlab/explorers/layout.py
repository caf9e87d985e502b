"""The base of every explorer: title, controls, views, one sentence that says what they show, and
errors in one sentence.

    class Ringing(Explorer):
        def __init__(self, data):
            self.panel = Controls(Config(), ["learning_rate"])
            self.plot = Plot(figure(compute(Config())), announce=False)
            super().__init__("Learning rate", controls=[self.panel], views=[self.plot], key="ringing")
            self.share(self.panel)                        # a short text that restores the controls
            self.panel.observe(self.guard(self._moved), "value")
        def _moved(self, change):
            self.plot.figure = figure(compute(change["new"]))
            self.say(f"With learning rate {change['new'].learning_rate:g} the loss ends at ...")

What a handler raises would be seen nowhere: `guard` shows it in the explorer, in one sentence with
the traceback folded. Outside a kernel (plain pytest) it is raised as well. `key` closes the
explorer that an earlier run of the same cell has left.
"""

import base64
import functools
import html
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from ..core import DDLabError
from .controls import Controls
from .lines import Sentence
from .runner import Runner

_by_key: dict[str, "Explorer"] = {}  # a cell that runs again closes what it replaces


class Explorer(widgets.VBox):
    """A box that shows itself, its sentence and its errors; see the module."""

    # Here too, because a subclass may raise before it calls __init__, and the half-made widget is
    # closed when collected.
    _belongings: Sequence[Any] = ()

    def __init__(
        self,
        title: str,
        *,
        controls: Sequence[widgets.Widget] = (),
        views: Sequence[widgets.Widget] = (),
        key: str = "",
    ) -> None:
        """
        Args:
            title: what the explorer is for, in a few words.
            controls: panels and buttons. They stand in a narrow column beside the views, with
                errors, so that both are seen together; the sentence stands below both.
            views: plots and pictures.
            key: name under which an earlier explorer is closed; default: none.
        """
        self.title = title
        self.error: BaseException | None = None
        self._closed = False
        self._belongings = []
        self._title = widgets.HTML(
            f'<div class="ddlab-title" role="heading" aria-level="3">{html.escape(title)}</div>'
        )
        self._sentence = Sentence()
        self._sentence.on_msg(self._count_views)
        self._views_on_page = 0
        self._error_box = widgets.HTML(layout=widgets.Layout(display="none"))
        self.controls_box = widgets.VBox(list(controls))
        self.views_box = widgets.VBox(list(views))
        column = widgets.VBox([self.controls_box, self._error_box])
        columns = widgets.Box([column, self.views_box])
        columns.add_class("ddlab-beside")
        # Across the whole width: in the narrow column a sentence of two clauses took ten lines.
        super().__init__([self._title, columns, self._sentence])
        self.add_class("ddlab-explorer")
        before = _by_key.get(key)
        if key:
            _by_key[key] = self
        if before is not None:
            before.close()

    # -- what is said

    @property
    def sentence(self) -> str:
        """The words that say what the explorer shows now."""
        return self._sentence.text

    def in_words(self, picture: bytes | None = None) -> dict[str, str]:
        """Return what stands for the explorer where no script runs, by MIME type.

        Args:
            picture: a PNG image of what it shows.
        """
        bundle = {}
        if picture is not None:
            bundle["image/png"] = base64.b64encode(picture).decode()
        bundle["text/plain"] = f"Explorer: {self.title}. {self.sentence}".strip()
        bundle["text/html"] = (
            f"{self.still(picture)}<p><i>This is an explorer: it moves where scripts run, and once the "
            "notebook is trusted.</i></p>"
        )
        return bundle

    def still(self, picture: bytes | None = None) -> str:
        """Return title, picture and sentence as HTML that no script moves."""
        image = ""
        if picture is not None:
            data = base64.b64encode(picture).decode()
            image = f'<img alt="" src="data:image/png;base64,{data}">'
        return f"<p><b>{html.escape(self.title)}</b></p>{image}<p>{html.escape(self.sentence)}</p>"

    def __repr__(self) -> str:
        return self.in_words()["text/plain"]

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget, with a sentence beside it for readers without scripts."""
        return super()._repr_mimebundle_(**options) | self.in_words()

    def say(self, text: str) -> None:
        """Say what is shown now; a screen reader reads it out when it changes."""
        self._sentence.text = text

    def show_error(self, error: BaseException) -> None:
        """Show an error: one sentence, the traceback folded.

        Of `DDLabError` the sentence is enough.
        """
        self.error = error
        is_own = isinstance(error, DDLabError)
        sentence = str(error) if is_own else f"This did not work: {type(error).__name__}: {error}"
        text = f'<div class="ddlab-error" role="alert">{html.escape(sentence)}'
        if not is_own:
            lines = "".join(traceback.format_exception(error))
            text += f"<details><summary>Where it happened</summary><pre>{html.escape(lines)}</pre></details>"
        self._error_box.value = text + "</div>"
        self._error_box.layout.display = None

    def clear_error(self) -> None:
        """Take the error away, once something has worked again."""
        if self.error is not None:
            self.error = None
            self._error_box.value = ""
            self._error_box.layout.display = "none"

    def guard(self, handler: Callable[..., Any]) -> Callable[..., None]:
        """Wrap a handler of `observe` or `on_click` so that its errors are shown here.

        Outside a kernel they are raised as well.
        """

        @functools.wraps(handler)
        def guarded(*arguments: Any, **keywords: Any) -> None:
            if self._closed:
                return  # its page is gone, a control that somebody holds may still move
            before = self.error
            try:
                handler(*arguments, **keywords)
            except Exception as error:
                self.show_error(error)
                if not in_kernel():
                    raise
            else:
                # Else the handler moved a control whose own handler has failed.
                if self.error is before:
                    self.clear_error()

        return guarded

    # -- state

    def share(self, panel: Controls) -> None:
        """Add a text with the state of `panel`, folded away.

        Typing another state there restores it.
        """
        self.share_field = field = widgets.Text(
            value=panel.value.to_string(),
            placeholder="the settings it began with",
            continuous_update=False,
            tooltip="Copy this text to share what you see; paste one and press Enter to restore it.",
            layout=widgets.Layout(width="100%", max_width="44em"),
        )

        @self.guard
        def restore(change: Any) -> None:
            before = panel.value
            # Cleared, so that a refusal by the panel's own observers can be told from an earlier
            # error.
            self.error = None
            restored = type(before).from_string(change["new"])
            try:
                panel.value = restored
                refused = self.error
            except Exception as error:
                refused = error
            if refused is not None:
                # A state that the explorer cannot show leaves everything as it was, and the reason
                # stays.
                panel.value = before
                raise refused

        def typed(change: Any) -> None:
            # Text that follows the controls restores nothing, and what they have shown as an error
            # stays.
            if change["new"] != panel.value.to_string():
                restore(change)

        def moved(_change: Any) -> None:
            # Not what this change brought: another observer may have changed it since.
            field.value = panel.value.to_string()

        field.observe(typed, "value")
        panel.observe(moved, "value")
        panel.tuck(field, "These settings as a text: copy it, or paste one")

    # -- end

    def _count_views(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Stop computing when the last view goes.

        Its cell was deleted or cleared, and nobody sees what would come.
        """
        if content.get("kind") == "seen":
            self._watch_reader(True)
        if content.get("kind") != "view":
            return
        self._views_on_page += int(content["change"])
        if self._views_on_page <= 0:
            self._views_on_page = 0  # views of a page that was reloaded never said that they went
            self._watch_reader(False)
            for belonging in self._belongings:
                if isinstance(belonging, Runner):
                    belonging.stop()

    def _watch_reader(self, is_seen: bool) -> None:
        """Note that the explorer has come on the screen, or that its last view has gone."""

    def owns(self, belonging: Any) -> Any:
        """Close `belonging` (a worker, a runner) when the explorer is closed; returns it."""
        self._belongings = [*self._belongings, belonging]
        return belonging

    def close(self) -> None:
        """End every thread and take every widget of the explorer away."""
        self._closed = True
        for belonging in self._belongings:
            belonging.close()
        self._belongings = []
        _close_inside(self)
        super().close()


def explorers_on_page() -> list[Explorer]:
    """Return the explorers with a key that are open in this kernel, the oldest first."""
    return [explorer for explorer in _by_key.values() if not explorer._closed]


def side_by_side(views: Sequence[widgets.Widget]) -> widgets.Box:
    """Put views beside each other, each at least 280 pixels wide. They wrap on a narrow page."""
    for view in views:
        if isinstance(view, widgets.DOMWidget) and not isinstance(view, widgets.Image):
            view.layout.flex = "1 1 280px"
            view.layout.min_width = "0"
    return widgets.Box(
        list(views),
        layout=widgets.Layout(
            display="flex", flex_flow="row wrap", align_items="flex-start", grid_gap="8px"
        ),
    )


def in_kernel() -> bool:
    """Return whether this runs in a Jupyter kernel, where nobody sees what a callback raises."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and hasattr(running, "kernel")


def _close_inside(box: widgets.Widget) -> None:
    for child in getattr(box, "children", ()):
        _close_inside(child)
        child.close()
