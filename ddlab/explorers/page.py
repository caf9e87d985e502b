"""A declared laboratory on the page: its controls, its views and its words, drawn from a `Schedule`.

`_drawing` makes a drawing whole: the settings cannot change between two views of it, whichever thread
draws. Whoever needs the schedule's lock as well takes `_drawing` first.
"""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import ipywidgets as widgets

from ..core import DDLabError
from .controls import Controls
from .jobs import Change, Compute
from .layout import Explorer
from .lines import Progress, QuestLine
from .plot import Plot
from .pointer import PointSliders
from .prediction import Prediction
from .schedule import Results, Schedule
from .stops import name_stops, other_stops, set_stops
from .views import Drag, NotComputed, View, ViewOnPage, make_widget

if TYPE_CHECKING:
    from .lab import Lab

# Seconds between two pictures of what goes on.
_GAP = 0.1
# The same for readers who asked their system for little motion.
_REDUCED_GAP = 0.5


class Laboratory(Explorer):
    """A declared laboratory on the page.

    Attributes:
        lab: the declaration. schedule: what is asked for and what is known.
        views_on_page: all its views, also those in closed tabs.
        panel: the controls; its `value` are the settings that the reader asked for.
        slider: the steps that can be looked at.
        buttons: those declared -> their widgets. stop_button, reset_button: of every laboratory.
        progress: what is computed and how far it is; hidden while nothing is.
        declared_quest, quest: the quest and its line, None where there is none.
        prediction: the question, None where there is none.
    """

    def __init__(self, lab: "Lab", world: Any, title: str, key: str) -> None:
        """Show the first settings.

        Raises:
            DDLabError: first settings that the check refuses.
        """
        self.lab = lab
        self._drawing = threading.RLock()
        self._is_drawn = True
        # The thread that moves the slider to follow the settings. Its own moves come back as
        # events and are ignored; those of the reader come from another thread and count.
        self._placing: int | None = None
        self.progress = Progress(layout=widgets.Layout(width="100%"))
        self.schedule = Schedule(lab, world, self)
        quest = lab.quest
        self.declared_quest = quest(world) if callable(quest) else quest
        self.quest = None if self.declared_quest is None else QuestLine(self.declared_quest.words)
        self.prediction = None if lab.question is None else Prediction(*lab.question)
        self._make_widgets()
        self.views_on_page = [ViewOnPage(view) for view in self.schedule.views]
        for view_on_page in self.views_on_page:
            if view_on_page.view.drag is not None:
                move = functools.partial(self.put, view_on_page.view.drag)
                view_on_page.sliders = PointSliders(move, self.guard)
        # Before the base's `__init__`, which needs the views' widgets.
        self._draw_views(self.results)
        views = [
            make_widget(view, self.views_on_page, self.guard(self.draw))
            for view in self.schedule.declared_views
        ]
        super().__init__(
            title,
            controls=[
                *([self.quest] if self.quest else []),
                *([self.prediction] if self.prediction else []),
                self.panel,
                self._button_row,
                # A laboratory that computes nothing in a second thread needs no place for it.
                *([self.progress] if lab.computes else []),
            ],
            views=[*([self.slider] if lab.run else []), *views],
            key=key,
        )
        self.owns(self.schedule.runner)
        self._observe_reader()
        try:
            self.draw()
            self.schedule.ask()
        except Exception:
            self.close()  # what was never shown is on no page
            raise

    # -- what is on show

    @property
    def world(self) -> Any:
        """The data and everything that is computed from them."""
        return self.schedule.world

    @property
    def settings(self) -> Any:
        """The settings on show, without a step."""
        return self.schedule.settings

    @property
    def results(self) -> Results:
        """What views see now."""
        return self.schedule.results()

    @property
    def runner(self) -> Any:
        """The thread of the jobs."""
        return self.schedule.runner

    def run(self) -> Self:
        """Compute all that the settings on show want, here and now.

        Returns the laboratory, to be displayed.

        Raises:
            DDLabError: settings that the check refuses.
        """
        if self.schedule.refusal:
            raise DDLabError(self.schedule.refusal)
        try:
            self.schedule.run_now()
        finally:
            self.rest(with_hidden=True)
        return self

    def forget(self) -> None:
        """Show the settings on show as if no others had been before: no ghosts, no quest met."""
        self.schedule.forget()
        for view_on_page in self.views_on_page:
            view_on_page.forget()
        if self.quest is not None:
            self.quest.forget()
        self.draw(with_hidden=True)

    @contextlib.contextmanager
    def undrawn(self) -> Iterator[None]:
        """Draw nothing meanwhile, and begin nothing in a second thread."""
        self._is_drawn = False
        try:
            yield
        finally:
            self._is_drawn = True

    def commit(self, answer: str) -> Self:
        """Choose and lock an answer to the question, as clicks would; the first one stays.

        Returns the laboratory.

        Raises:
            DDLabError: an answer that is none, or a laboratory that asks nothing.
        """
        if self.prediction is None:
            raise DDLabError(f"{self.title!r} asks no question; given the answer {answer!r}.")
        self.prediction.choose(answer)
        self.prediction.lock()
        return self

    def widget(self, draw: Callable[..., Any]) -> Any:
        """Return the widget of the view that `draw` draws, also where its tab is closed."""
        view_on_page = next(entry for entry in self.views_on_page if entry.view.draw == draw)
        if view_on_page.is_hidden:
            self.draw(with_hidden=True)
        return view_on_page.widget

    # -- what the reader does

    def put(self, drag: Drag, point: int, x: float, y: float) -> None:
        """Move a point of a chart, as a drag would.

        Raises:
            DDLabError: settings that cannot be.
        """
        settings = drag.put(self.world, self.panel.value, point, x, y)
        # What cannot be is refused before anything moves: a point would jump back under the hand.
        self.lab.check(self.world, settings)
        self.panel.value = settings

    def click(self, click: Callable[[Any, Any, dict[str, Any]], Any], mark: dict[str, Any]) -> None:
        """Click a mark of a chart, as `Plot.clicked` describes it."""
        self.panel.value = click(self.world, self.panel.value, mark)

    def _observe_reader(self) -> None:
        """Listen to every control, button, point and mark."""
        for view_on_page in self.views_on_page:
            view = view_on_page.view
            if view.click is not None:
                clicked = functools.partial(self._on_click, view.click)
                view_on_page.widget.observe(self.guard(clicked), "clicked")
            if view.drag is not None:
                dragged = functools.partial(self._on_drag, view_on_page)
                view_on_page.widget.observe(self.guard(dragged), "dragged")
            plot = getattr(view_on_page.widget, "plot", view_on_page.widget)
            if isinstance(plot, Plot):
                plot.observe(self.guard(self._motion), "reduced_motion")
                plot.on_msg(self.guard(functools.partial(self._keep, view_on_page)))
        if self.prediction is not None:
            self.prediction.observe(self.guard(self._on_answer), "locked")
        self.panel.observe(self.guard(self._on_move), "value")
        self.share(self.panel)
        # A pasted state would show the answer before the reader has committed to one.
        self.share_field.disabled = self.prediction is not None
        scrubbed = self.guard(self._on_scrub)
        self.slider.observe(
            lambda change: None if self._placing == threading.get_ident() else scrubbed(change),
            "index",
        )

    def _on_move(self, change: Any) -> None:
        self.schedule.note_press()
        before = change["old"]
        after = change["new"]
        changed = any(getattr(before, name) != getattr(after, name) for name in self.lab.to_end)
        # A change that moves the step as well, as Reset and a shared text do, keeps its step.
        if changed and before.step == after.step is not None:
            self.panel.value = after.replace(step=None)
            return
        for name, view in self.lab.opens.items():
            if getattr(before, name) != getattr(after, name):
                self._open(view)
        try:
            with self._drawing:  # a drawing that has begun in another thread is of one settings
                self.schedule.show(after)
        except DDLabError as error:
            self.schedule.refusal = str(error)
            self._enable(self.results)
            raise
        self._follow()

    def _follow(self) -> None:
        """Draw what is known for the settings on show, and compute what is missing."""
        self.draw()
        if self._is_drawn:
            self.schedule.ask()

    def _on_click(self, click: Callable[[Any, Any, dict[str, Any]], Any], change: Any) -> None:
        if change["new"]:
            self.click(click, change["new"])

    def _on_drag(self, view_on_page: ViewOnPage, change: Any) -> None:
        place = change["new"]
        drag = view_on_page.view.drag
        if place and drag is not None and view_on_page.sliders is not None:
            view_on_page.sliders.point.value = int(place["point"])
            self.put(drag, int(place["point"]), float(place["x"]), float(place["y"]))

    def _keep(self, view_on_page: ViewOnPage, _plot: Any, content: Any, _buffers: Any) -> None:
        """Keep the curves on show, or let them go."""
        if content.get("kind") == "keep":
            view_on_page.keep()
            self.draw()

    def _motion(self, change: Any) -> None:
        """Draw less often for a reader who asked the system for little motion."""
        self.progress.gap = _REDUCED_GAP if change["new"] else _GAP

    def _on_answer(self, change: Any) -> None:
        """Open what waited for the answer."""
        self.schedule.answer = change["new"]
        self.share_field.disabled = False
        self._follow()

    def _on_scrub(self, change: Any) -> None:
        if change["new"] is None:
            return
        steps = [step for _, step in self.slider.options]
        # The last place follows the run, which may still go on.
        step = None if change["new"] == len(steps) - 1 else steps[change["new"]]
        self.panel.value = self.panel.value.replace(step=step)

    def _reset(self, _button: Any) -> None:
        self.panel.value = self.world.start

    def _press(self, button: Compute | Change, _widget: Any) -> None:
        if isinstance(button, Change):
            self.panel.value = button.change(self.panel.value)
        # A second click may come before the page shows it grey.
        elif not self.buttons[button].disabled:
            jobs = self.schedule.asked_by(button, self.results)
            if button.shows_end or any(job is self.schedule.watched_run for job in jobs):
                self.panel.value = self.panel.value.replace(step=None)  # follow it
            self.schedule.press(button, jobs)
            self._open(button.view)
            self.draw()  # the button is grey at once

    def _open(self, view: View | None) -> None:
        """Open the tab of a view, if it stands in one."""
        for view_on_page in self.views_on_page:
            if view_on_page.view is view:
                view_on_page.bring_forward()

    def _watch_reader(self, is_seen: bool) -> None:
        self.schedule.watch_reader(is_seen)

    # -- what the schedule tells, in any thread

    @property
    def is_due(self) -> bool:
        """Whether the next picture may be drawn."""
        return self.progress.is_due

    def neighbours(self) -> tuple[str, Sequence[Any]]:
        """Return the first control, and its other values, the nearest first."""
        name = next(iter(self.panel), "")
        return name, other_stops(self.panel[name]) if name else ()

    def report(self, words: str, share: float) -> None:
        """Say what is being computed and which share of it is done."""
        self.progress.show(words, share)

    def rest(self, *, with_hidden: bool = False) -> None:
        """Bring what is on show up to date, and say that nothing is being computed."""
        try:
            self.draw(with_hidden=with_hidden)
        finally:
            self.progress.show_rest()  # last: by then everything has been drawn

    def draw(self, *, with_hidden: bool = False) -> None:
        """Bring what is on show up to date.

        Args:
            with_hidden: also views in closed tabs, which a move of the reader leaves until these
                are opened.
        """
        if not self._is_drawn:
            return
        with self._drawing:
            start_time = time.monotonic()
            results = self.results
            self._place_slider(results)
            self._enable(results)
            self._draw_views(results, with_hidden=with_hidden)
            with contextlib.suppress(NotComputed):  # as what was on show stays, so do the words
                quest = self.declared_quest
                if self.quest is not None and quest is not None and not self.quest.met:
                    self.quest.look(quest.met(self.world, self.settings, results))
                sentence = self.lab.sentence(self.world, self.settings, results)
                self.say(f"{sentence} {self.schedule.waiting_words()}".strip())
            self.progress.note_drawing(start_time)

    # -- drawing

    def _make_widgets(self) -> None:
        lab = self.lab
        names, folded = lab.fields_on_page(self.world)
        self.panel = Controls(
            self.world.start,
            names,
            labels={name: words for name, words in lab.labels.items() if name in names},
            folded=folded,
            stacked=True,
            choice_words=lab.choice_words(self.world),
        )
        for name, stops in lab.stops(self.world).items():
            if isinstance(stops, tuple):
                set_stops(self.panel, name, stops[0], max(stops))
            else:
                name_stops(self.panel, name, stops)
        self.slider = step_slider(lab.step_words)
        declared = lab.buttons(self.world) if callable(lab.buttons) else lab.buttons
        self.buttons: dict[Any, widgets.Button] = {}
        for button in declared:
            pressed = icon_button(button.icon, button.hint)
            pressed.on_click(self.guard(functools.partial(self._press, button)))
            self.buttons[button] = pressed
        self.stop_button = icon_button(
            "stop", "Leave what is computed; what there is stays", "Stop"
        )
        self.stop_button.on_click(self.guard(lambda _button: self.schedule.stop()))
        self.reset_button = icon_button(
            "refresh", "The settings this laboratory began with", "Reset"
        )
        self.reset_button.on_click(self.guard(self._reset))
        can_stop = any(isinstance(button, Compute) for button in declared)
        self._button_row = widgets.HBox(
            [*self.buttons.values(), *([self.stop_button] * can_stop), self.reset_button],
            layout=widgets.Layout(flex_flow="row wrap"),
        )

    def _draw_views(self, results: Results, *, with_hidden: bool = False) -> None:
        for view_on_page in self.views_on_page:
            if with_hidden or not view_on_page.is_hidden:
                view_on_page.draw(self.world, self.settings, results)

    def _place_slider(self, results: Results) -> None:
        run = self.schedule.watched_run
        if run is None:
            return
        steps = self.schedule.steps(run)
        self._placing = threading.get_ident()
        try:
            options = [
                (self.lab.step_label(self.world, self.settings, step), step) for step in steps
            ]
            # New options put the index back to 0, which is not a reader's move.
            if list(self.slider.options) != options:
                self.slider.options = options
            reached = [place for place, step in enumerate(steps) if step <= (results.step or 0)]
            self.slider.index = reached[-1] if reached else 0
        finally:
            self._placing = None

    def _enable(self, results: Results) -> None:
        schedule = self.schedule
        unused = self.lab.unused(self.world, self.settings)
        waits = self.prediction is not None and self.prediction.locked is None
        for name in self.panel:
            setattr(self.panel[name], "disabled", waits or name in unused)  # noqa: B010
        task = schedule.runner.task
        for button, pressed in self.buttons.items():
            if isinstance(button, Change):
                pressed.description = button.words
                continue
            words = button.words
            pressed.description = words(self.world, self.settings) if callable(words) else words
            jobs = [] if schedule.refusal else schedule.asked_by(button, results)
            # What was only computed ahead is still to be asked for.
            todo = [job for job in jobs if not (schedule.is_done(job) and schedule.is_wanted(job))]
            # Grey also where nothing is left to do: `all` of nothing is true.
            pressed.disabled = all(results.doing(job) for job in todo)
        self.stop_button.disabled = task is None or task.button is None


def icon_button(icon: str, hint: str, words: str = "") -> widgets.Button:
    """Return a button as wide as its words."""
    return widgets.Button(
        description=words, icon=icon, tooltip=hint, layout=widgets.Layout(width="auto")
    )


def step_slider(words: str) -> widgets.SelectionSlider:
    """Return a slider over steps: a list that drops down would lose its arrow keys to JupyterLab."""
    return widgets.SelectionSlider(
        options=[("0", 0)],
        description=words,
        tooltip="Left and right arrow keys move by one recorded step",
        continuous_update=True,
        style={"description_width": "auto"},
        layout=widgets.Layout(width="auto", max_width="60em"),
    )
