"""An explorer on a page without a kernel: its states, recorded one control at a time, and a small
widget that replays them.

    replay = record(laboratory)      # moves each control in front through its stops, then back

What moves on such a page is what moved while it was recorded: the traits of the very widgets that the
notebook shows. What is set is what is shown: for a combination of controls that was not recorded the
other control moves back, and the page says why.
"""

import base64
import functools
import gzip
import importlib.util
import io
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets
import numpy as np
import traitlets
from PIL import Image

from ..core import DDLabError
from ..core.errors import check_instance
from ..core.progress import progress_bar
from ..figures import ghosts, tried
from .front_end import SyncedWidget, front_end, style
from .jobs import Compute
from .lab import ALL_PAIRS
from .layout import explorers_on_page
from .lines import BUTTON, DRAG, Quest
from .page import Laboratory
from .plot import Plot
from .stops import other_stops
from .views import Drag

# Of a control; more would make a page of ten megabytes, and the nearest one is shown anyway.
_MOST_STOPS = 25
_MOST_STEPS = 14  # of a run: each of them has pictures, which take most of a page's bytes
_MOST_PAIRS = 48  # states of two controls that move together; of more the stops are thinned
_MOST_OF_A_PAIR = 6  # to so many of each, besides the opening one
_MOST_PLACES = 50  # to which the points of a chart are dragged, all points together
_MOST_MARKS = 24  # of a chart that are clicked
_PICTURE_WIDTH = 700  # pixels of the picture that stands for an explorer
States = dict[str, dict[str, Any]]


class Replay(SyncedWidget):
    """Sets the traits of an explorer's widgets to a recorded state when a control moves.

    Traits:
        controls: for each recorded control its model, the trait that holds its place, the places that
            were recorded, and the field and values that stand for them in the page's address.
        switches: buttons that show and hide boxes, such as tabs: their model, and for each place the
            layouts that are then on show.
        moves: how many states controls lead to; those of drags, clicks and presses come after them.
        drags: for each chart whose points were dragged while recording its model, the models of its
            sliders, the extent of its axes, the side of the grid of places, and for each point and
            place (x, y) the number of its state.
        clicks: for each chart whose marks were clicked while recording its model, and for each mark its
            `customdata`, where it stands, and the number of its state.
        films: models of the buttons that let a run go on; on the page they play its steps.
        presses: for each button that was pressed while recording its model, the state that was on show
            then, and the number of its own.
        quest: the model of the quest's line, whether it can be met here, its solutions (the states that
            must have been on show, for each answer to a question), and the line once it is met.
        memories: of each chart that remembers what was tried its model, whether it has ghosts, whether
            it joins the points of states, and the controls in which these may differ.
        looks: of ghosts and of curves that are kept.
        reset: the model of the button that goes back to the opening state.
        inactive: models of what only a kernel can answer; the page greys them out.
        packed: gzipped JSON: `values`, each trait's value once, and `states`, each with its `places`,
            its `label` and the numbers of the values that differ from the opening state.
    """

    _esm = front_end("memory.js", "replay.js")
    _css = style()
    controls = traitlets.List().tag(sync=True)
    switches = traitlets.List().tag(sync=True)
    moves = traitlets.Int().tag(sync=True)
    drags = traitlets.List().tag(sync=True)
    clicks = traitlets.List().tag(sync=True)
    films = traitlets.List().tag(sync=True)
    presses = traitlets.List().tag(sync=True)
    quest = traitlets.Dict().tag(sync=True)
    memories = traitlets.List().tag(sync=True)
    looks = traitlets.Dict().tag(sync=True)
    reset = traitlets.Unicode().tag(sync=True)
    inactive = traitlets.List().tag(sync=True)
    packed = traitlets.Bytes().tag(sync=True)


class _Recorder:
    """The states of one laboratory so far: where each control stood, and what was shown.

    Moves begin at the settings on show when it was opened. Between two moves these are not drawn again,
    because drawing takes most of the time. Each state is shown as if nothing else had been tried: what
    a reader has tried before, the page knows.
    """

    def __init__(self, laboratory: Laboratory, controls: list["_Control"], bar: Any) -> None:
        self.laboratory = laboratory
        self.bar = bar
        self.controls = controls
        self.places: list[list[int]] = []
        self.labels: list[str] = []
        self.states: list[States] = []
        self.meets_quest = False
        self.presses: list[dict[str, Any]] = []
        self.extra_drags: list[list[Any]] = []  # of a quest's solution: point, x, y, state

    def open(self) -> None:
        """Let the moves that follow begin at what is on show."""
        self.settings = self.laboratory.panel.value
        self._known: dict[frozenset[tuple[str, Any]], int | None] = {frozenset(): len(self.states)}

    def take(self, label: str = "") -> int:
        """Keep the state that is on show, with the words of a place; return its number."""
        self.places.append([control.place for control in self.controls])
        self.labels.append(label)
        self.states.append(_states(self.laboratory))
        self.bar.update()
        quest = self.laboratory.quest
        self.meets_quest = self.meets_quest or bool(quest is not None and quest.met)
        return len(self.states) - 1

    def move(self, move: Callable[[], None], label: str = "") -> int | None:
        """Make a move from the opening settings, compute what it asks for, draw it once and keep it.

        Returns the number of its state, None where it was refused.
        """
        laboratory = self.laboratory
        try:
            with laboratory.undrawn():
                laboratory.panel.value = self.settings
                move()
                laboratory.run()
            laboratory.forget()
            # A view that keeps what was on show must be shown the opening state first.
            if not all(view.is_up_to_date for view in laboratory.views_on_page):
                self.close()
                move()
                laboratory.run()
                laboratory.forget()
        # Outside a kernel a refusal is raised as well as shown; in one, `run` raises it.
        except DDLabError:
            return None
        return self.take(label)

    def change(self, values: Mapping[str, Any]) -> int | None:
        """Change some of the opening settings, once; the rest is as in `move`."""
        changed = {
            name: value for name, value in values.items() if value != getattr(self.settings, name)
        }
        key = frozenset(changed.items())
        if key not in self._known:

            def move() -> None:
                # Here, because settings that cannot be are refused as soon as they are made.
                self.laboratory.panel.value = self.settings.replace(**changed)

            self._known[key] = self.move(move)
        return self._known[key]

    def drag(self, place: tuple[int, float, float], values: Mapping[str, Any]) -> int | None:
        """Put a point (its number, x, y) somewhere, with these changes; return the state's number."""

        def move() -> None:
            self.laboratory.panel.value = self.settings.replace(**values)
            self.laboratory.put(_drag_of(self.laboratory), *place)

        number = self.move(move, f"({place[1]:g}, {place[2]:g})")
        self.extra_drags.append([*place, number])
        return number

    def press(self, widget: widgets.Button, after: int) -> int:
        """Press a button that computes where this state is on show; return the number of the next."""
        widget.click()
        self.laboratory.runner.join(None)
        number = self.take()
        self.presses.append({"model": widget.model_id, "after": after, "state": number})
        return number

    def is_idle(self, values: Mapping[str, Any]) -> bool:
        """Return whether one of these fields plays no part where they have these values."""
        fields = {name: value for name, value in values.items() if name != "step"}
        try:
            settings = self.settings.replace(**fields)
        except DDLabError:
            return True
        return not {*fields}.isdisjoint(self.laboratory.lab.unused(self.laboratory.world, settings))

    def show(self, settings: Any) -> None:
        """Show settings without a trace of others."""
        with self.laboratory.undrawn():
            self.laboratory.panel.value = settings
            self.laboratory.run()
        self.laboratory.forget()

    def close(self) -> None:
        """Show the opening settings without a trace of those that were recorded."""
        self.show(self.settings)


@dataclass(frozen=True)
class _Control:
    """A control that is recorded: its field, its words, its widget, and the values of its stops."""

    name: str
    words: str
    widget: Any
    values: tuple[Any, ...]
    is_step: bool = False

    @property
    def trait(self) -> str:
        return "index" if hasattr(self.widget, "index") else "value"

    @functools.cached_property
    def stops(self) -> list[Any]:
        """The places of the stops, as the trait of the front end has them at the beginning."""
        if self.trait == "value":
            return list(self.values)
        return [_options(self.widget).index(value) for value in self.values]

    @property
    def place(self) -> int:
        """The number of the stop where the control stands."""
        # Runs differ in length, and all of them end at the last stop.
        if self.is_step and self.widget.index == len(self.widget.options) - 1:
            return len(self.stops) - 1
        position = self.widget.value
        if self.trait == "index":
            position = _options(self.widget).index(position)
        return min(range(len(self.stops)), key=lambda number: abs(self.stops[number] - position))

    @property
    def other_values(self) -> list[Any]:
        """The values at which it does not stand."""
        return [value for number, value in enumerate(self.values) if number != self.place]

    @property
    def on_page(self) -> dict[str, Any]:
        """What the page needs to know of it."""
        return {
            "model": self.widget.model_id,
            "trait": self.trait,
            "stops": self.stops,
            "labels": [self.label(number) for number in range(len(self.stops))],
            "name": self.name,
            "values": [str(value) for value in self.values],
            "updates": self._updates,
            "is_step": self.is_step,
        }

    @property
    def _updates(self) -> list[float] | None:
        """Of a slider of steps the update of each stop, by which runs of other lengths match."""
        words = [self.widget.options[place][0] for place in self.stops] if self.is_step else []
        try:
            return [float(word) for word in words] or None
        except ValueError:  # told in words
            return None

    def label(self, number: int) -> str:
        """Return what the control says at a stop, as "ridge (λ) 0.01"."""
        is_choice = self.trait == "index"
        place = self.stops[number]
        words = self.widget.options[place][0] if is_choice else f"{place:g}"
        return f"{self.words} {words}"


class _Question(_Control):
    """A laboratory's question: its stops are no answer, then each of them locked."""

    @functools.cached_property
    def stops(self) -> list[Any]:
        return list(range(len(self.values)))

    @property
    def place(self) -> int:
        return self.values.index(self.widget.locked)

    @property
    def on_page(self) -> dict[str, Any]:
        return {"stops": self.stops, "question": self.widget.on_page}


def record(
    laboratory: Laboratory,
    stop_limits: Mapping[str, int] | None = None,
    *,
    progress: bool = False,
) -> Replay:
    """Record a laboratory's states, put a `Replay` of them into it, and return that.

    Each control in front goes through its stops, one at a time from the settings on show, the slider
    of steps through the frames of these settings, each point that can be dragged through a grid of
    places; marks that answer a click are clicked, and each button that computes is pressed once.
    All of it is computed here and now; at the end the opening state is on show again.

    Args:
        stop_limits: control -> how many of its stops at most, default 25 of each; "drag" -> to how
            many places the points of a chart are dragged at most, default 50; and "click" -> how many
            of its marks are clicked at most, default 24.
        progress: one line on standard output that counts the states.

    Raises:
        DDLabError: no laboratory, or one that is still computing.
    """
    check_instance("explorer", laboratory, Laboratory)
    if laboratory.runner.task is not None:
        raise DDLabError(
            f"{laboratory.title!r} must be at rest to be recorded; it is still computing."
        )
    laboratory.run()
    laboratory.forget()
    limits = stop_limits or {}
    # Listed once: moving a control must not change which stops it has.
    listed = list(_controls(laboratory, limits))
    controls = [control for control in listed if len(control.stops) > 1]
    unmoved = [control.widget for control in listed if len(control.stops) <= 1]
    answer_count = 1 if laboratory.prediction is None else len(laboratory.prediction.choices)
    state_count = answer_count * sum(1 for _ in _combinations(laboratory, controls))
    bar = progress_bar("recording", state_count, progress, unit="state")
    recorder = _Recorder(laboratory, controls, bar)
    solutions = []
    for answer in _answers(laboratory):
        recorder.open()
        recorder.take()
        # Before an answer is locked no control moves.
        if laboratory.prediction is None or answer is not None:
            _record_moves(recorder)
            solutions.append(_record_solution(recorder))
    recorder.open()
    moves = len(recorder.states)
    drags = list(_record_drags(recorder, limits.get("drag", _MOST_PLACES)))
    clicks = list(_record_clicks(recorder, limits.get("click", _MOST_MARKS)))
    films = list(_films(laboratory, controls))
    _record_presses(recorder, films)
    bar.close()
    answering = {*films, *(press["model"] for press in recorder.presses)}
    dragged_plots = {drag["plot"] for drag in drags}
    # A laboratory makes a button to stop also where it has nothing to stop; a page has no such one.
    on_page = set(_tree(laboratory))
    inactive = [
        widget.model_id
        for widget in [*unmoved, *_inactive(laboratory, dragged_plots, answering)]
        if widget in on_page
    ]
    replay = Replay(
        controls=[control.on_page for control in controls],
        switches=list(_switches(laboratory)),
        moves=moves,
        drags=drags,
        clicks=clicks,
        films=films,
        presses=recorder.presses,
        quest=_quest_on_page(recorder, solutions),
        memories=list(_memories(recorder)),
        looks=ghosts.looks() | {"arms": tried.looks()},
        reset=laboratory.reset_button.model_id,
        inactive=inactive,
        packed=_pack(recorder, [*inactive, *films]),
    )
    # Below the controls, where a reader looks who has moved one.
    laboratory.controls_box.children = [*laboratory.controls_box.children, replay]
    return replay


def _quest_on_page(recorder: _Recorder, solutions: list[list[int]]) -> dict[str, Any]:
    """Return what the page needs to know of the quest, {} where there is none."""
    line = recorder.laboratory.quest
    if line is None:
        return {}
    solutions = [numbers for numbers in solutions if numbers]
    return {
        "model": line.model_id,
        "can_be_met": recorder.meets_quest or bool(solutions),
        "solutions": solutions,
        "met": line.words_if(met=True),
    }


def _memories(recorder: _Recorder) -> Iterator[dict[str, Any]]:
    """List the charts that remember what was tried: with ghosts, or with points of other settings."""
    for view_on_page in recorder.laboratory.views_on_page:
        view = view_on_page.view
        if view.has_ghosts or view.tried:
            names = [control.name for control in recorder.controls]
            yield {
                "plot": view_on_page.widget.model_id,
                "has_ghosts": view.has_ghosts,
                "along": [names.index(name) for name in view.tried if name in names],
                "joins": bool(view.tried),
            }


def _answers(laboratory: Laboratory) -> Iterator[str | None]:
    """Let the laboratory's question be open, then locked with each answer in turn, then open again."""
    question = laboratory.prediction
    before = None if question is None else question.locked
    yield before
    if question is not None and before is None:
        for answer in question.choices:
            question.locked = answer
            laboratory.run()
            laboratory.forget()
            yield answer
        # The page opens with the question unanswered, as a reader finds it.
        question.locked = None
        laboratory.forget()


def _record_moves(recorder: _Recorder) -> None:
    """Move each control, and each declared pair, away from the settings on show and back."""
    for values in _combinations(recorder.laboratory, recorder.controls):
        # A control that plays no part there is grey: a reader cannot move it.
        if not recorder.is_idle(values):
            recorder.change(values)
    recorder.close()


def _record_solution(recorder: _Recorder) -> list[int]:
    """Record the declared solution of the quest, and return the numbers of its states.

    None are returned where there is no solution, where it meets no quest with these data, where it
    leads through what is not recorded, and where more than one point is dragged, for points are
    recorded one at a time.
    """
    laboratory = recorder.laboratory
    quest = laboratory.declared_quest
    solution = () if quest is None else quest.solution
    stops = {control.name: control.values for control in recorder.controls}
    moves = {name: value for name, value in solution if name not in (BUTTON, DRAG)}
    is_recorded = all(value in stops.get(name, ()) for name, value in moves.items())
    if (
        quest is None
        or not solution
        or not is_recorded
        or sum(name == DRAG for name, _ in solution) > 1
    ):
        return []
    is_met = _meets_quest(laboratory, quest)
    recorder.close()
    numbers: list[Any] = []
    values: dict[str, Any] = {}
    for name, value in solution if is_met else ():
        if name == BUTTON:
            # What a button before has computed for these settings stays.
            if laboratory.panel.value != recorder.settings.replace(**values):
                recorder.show(recorder.settings.replace(**values))
            numbers.append(recorder.press(_button(laboratory, value), [0, *numbers][-1]))
        elif name == DRAG:
            numbers.append(recorder.drag(value, values))
        else:
            values[name] = value
            numbers.append(recorder.change(values))
    recorder.close()
    return numbers


def _meets_quest(laboratory: Laboratory, quest: Quest) -> bool:
    """Return whether its solution meets a quest; other data may not even have its choices."""
    try:
        with laboratory.undrawn():
            for name, value in quest.solution:
                if name == BUTTON:
                    _button(laboratory, value).click()
                    laboratory.runner.join(None)
                elif name == DRAG:
                    laboratory.put(_drag_of(laboratory), *value)
                else:
                    laboratory.panel[name].value = value
                laboratory.run()
        return quest.met(laboratory.world, laboratory.settings, laboratory.results)
    except DDLabError:
        return False


def _drag_of(laboratory: Laboratory) -> Drag:
    """Return what is dragged in a laboratory."""
    views = (view_on_page.view for view_on_page in laboratory.views_on_page)
    return next(view.drag for view in views if view.drag is not None)


def _button(laboratory: Laboratory, words: str) -> widgets.Button:
    """Return the button with these words."""
    return next(button for button in laboratory.buttons.values() if button.description == words)


def record_page() -> dict[str, dict[str, str]]:
    """Record all laboratories that are open in this kernel, as on the page of a lesson.

    Returns for each one's model what stands for it where no script runs, by MIME type.
    """
    stand_ins = {}
    for explorer in explorers_on_page():
        if isinstance(explorer, Laboratory):
            explorer.runner.join(None)
            record(explorer, _stops_on_a_page(explorer))
            stand_ins[str(explorer.model_id)] = explorer.in_words(picture_of(explorer))
    return stand_ins


def _stops_on_a_page(laboratory: Laboratory) -> Any:
    """Return control -> how many of its stops are recorded for the page of a lesson at most."""
    recorded = laboratory.lab.recorded
    return recorded(laboratory.world) if callable(recorded) else recorded


def picture_of(laboratory: Laboratory) -> bytes | None:
    """Return the first chart of a laboratory as PNG, or None where kaleido is not installed."""
    if importlib.util.find_spec("kaleido") is None:
        return None
    for view_on_page in laboratory.views_on_page:
        plot = getattr(view_on_page.widget, "plot", view_on_page.widget)
        if isinstance(plot, Plot):
            return plot.figure.to_image("png", width=_PICTURE_WIDTH)
    return None


def _combinations(laboratory: Laboratory, controls: list[_Control]) -> Iterator[dict[str, Any]]:
    """List the changes of the opening settings: one control each, then the declared pairs."""
    # All before the first is made: a move changes where its control stands.
    moves = {
        control.name: control.other_values
        for control in controls
        if not isinstance(control, _Question)
    }
    for name, values in moves.items():
        for value in values:
            yield {name: value}
    pairs = laboratory.lab.pairs
    for first, second in itertools.combinations(moves, 2) if pairs == ALL_PAIRS else pairs:
        # A choice of one thing, as with a reader's own data, has no control.
        first_values, second_values = moves.get(first, []), moves.get(second, [])
        if len(first_values) * len(second_values) > _MOST_PAIRS:
            first_values, second_values = _spread(first_values), _spread(second_values)
        for pair in itertools.product(first_values, second_values):
            yield dict(zip((first, second), pair, strict=True))


def _spread(items: list[Any], most: int = _MOST_OF_A_PAIR) -> list[Any]:
    """Return at most so many of the items, evenly spread, the first and the last among them."""
    places = np.linspace(0, len(items) - 1, min(len(items), most)).round().astype(int)
    return [items[place] for place in places]


def _record_drags(recorder: _Recorder, most: int) -> Iterator[dict[str, Any]]:
    """Drag each point of each chart through a grid of places, the others where they opened."""
    laboratory = recorder.laboratory
    for view_on_page in laboratory.views_on_page:
        drag, sliders = view_on_page.view.drag, view_on_page.sliders
        if drag is None or sliders is None:
            continue
        handles = drag.handles(laboratory.world, laboratory.settings, laboratory.results)
        side = 0 if handles is None else int((most / len(handles[0])) ** 0.5)
        # Two places along an axis show no more than that something moves.
        if handles is None or side < 3:
            continue
        names, _, extent = handles
        states = []
        for point, row, column in itertools.product(range(len(names)), range(side), range(side)):
            # In the middles of the cells: on the edge of a plot a point is cut in half.
            x, y = (
                low + (cell + 0.5) / side * (high - low)
                for cell, (low, high) in zip((column, row), extent, strict=True)
            )
            put = functools.partial(laboratory.put, drag, point, x, y)
            number = recorder.move(put, f"{names[point]} at ({x:.2f}, {y:.2f})")
            if number is not None:
                states.append([point, x, y, number])
        recorder.close()
        yield {
            "plot": view_on_page.widget.model_id,
            "sliders": [widget.model_id for widget in (sliders.point, sliders.across, sliders.up)],
            "extent": [list(limits) for limits in extent],
            "side": side,
            "states": states + recorder.extra_drags,
        }


def _record_clicks(recorder: _Recorder, most: int) -> Iterator[dict[str, Any]]:
    """Click marks of each chart that answers clicks, one at a time, at the opening settings."""
    for view_on_page in recorder.laboratory.views_on_page:
        click = view_on_page.view.click
        if click is None:
            continue
        marks = {}
        for trace in view_on_page.widget.figure.data:
            if trace.customdata is not None:
                for mark, x, y in zip(trace.customdata, trace.x, trace.y, strict=True):
                    marks[str(mark)] = {"customdata": mark, "x": float(x), "y": float(y)}
        spread_marks = _spread([*marks.values()], most)
        label = f"{len(spread_marks)} of the marks, of which this is the nearest"
        states = []
        for mark in spread_marks:
            press = functools.partial(recorder.laboratory.click, click, mark)
            number = recorder.move(press, label)
            if number is not None:
                states.append([*mark.values(), number])
        recorder.close()
        if states:
            yield {"plot": view_on_page.widget.model_id, "states": states}


def _inactive(
    laboratory: Laboratory, dragged_plots: set[str], answering: set[str]
) -> Iterator[Any]:
    """List what only a kernel can answer: folded settings, Stop, buttons that were not pressed and
    points that were not dragged while recording.
    """
    paired = {laboratory.panel[name] for name in _paired(laboratory)}
    yield from (child for child in laboratory.panel.folded_box.children if child not in paired)
    yield laboratory.share_field
    yield laboratory.stop_button
    for widget in laboratory.buttons.values():
        if widget.model_id not in answering:
            yield widget
    for view_on_page in laboratory.views_on_page:
        sliders = view_on_page.sliders
        if sliders is not None and view_on_page.widget.model_id not in dragged_plots:
            yield from (view_on_page.widget, sliders.point, sliders.across, sliders.up)


def _controls(laboratory: Laboratory, stop_limits: Mapping[str, int]) -> Iterator[_Control]:
    """List the controls in front, and the slider of steps where there is one."""
    if laboratory.prediction is not None:
        question = laboratory.prediction
        yield _Question("answer", "your answer", question, (None, *question.choices))
    folded = set(laboratory.panel.folded_box.children)
    paired = _paired(laboratory)
    solution = getattr(laboratory.declared_quest, "solution", ())
    for name in laboratory.panel:
        widget: Any = laboratory.panel[name]
        if widget in folded and name not in paired:
            continue
        values = sorted([widget.value, *other_stops(widget)], key=_order(widget))
        stops = _thin(values, widget.value, stop_limits.get(name, _MOST_STOPS))
        # The quest's solution is always there.
        stops = tuple(value for value in values if value in stops or (name, value) in solution)
        yield _Control(name, widget.description, widget, stops)
    if laboratory.schedule.watched_run is not None:
        slider = laboratory.slider
        steps = _options(slider)
        yield _Control(
            "step",
            slider.description,
            slider,
            _thin(steps, steps[-1], stop_limits.get("step", _MOST_STEPS)),
            is_step=True,
        )


def _paired(laboratory: Laboratory) -> set[str]:
    """Return the fields that are named in declared pairs.

    One that is folded away is moved by clicks.
    """
    pairs = laboratory.lab.pairs
    names = set() if pairs == ALL_PAIRS else {*itertools.chain.from_iterable(pairs)}
    return names & {*laboratory.panel}


def _order(widget: Any) -> Callable[[Any], Any]:
    """Return the key that sorts a control's values from left to right."""
    if not hasattr(widget, "index"):
        return lambda value: value
    return _options(widget).index


def _options(widget: Any) -> list[Any]:
    """Return the values of a choice, from left to right."""
    return [value for _, value in widget.options]


def _thin(values: list[Any], opening: Any, limit: int) -> tuple[Any, ...]:
    """Return at most so many of the values, evenly spread; two become three if both ends and the
    opening one are three.

    Without an end a slider would stop before it, and further presses would have no answer.
    """
    home = values.index(opening)
    if limit == 1:
        return (opening,)
    places = np.linspace(0, len(values) - 1, min(len(values), limit)).round().astype(int)
    between = places[1:-1]
    if home not in places and len(between):
        # The nearest stop gives way to the opening one, which the page must be able to show.
        between[np.abs(between - home).argmin()] = home
    return tuple(values[place] for place in sorted({*places, home}))


def _films(laboratory: Laboratory, controls: list[_Control]) -> Iterator[str]:
    """List the buttons that let the watched run go on, if its steps are recorded."""
    has_steps = any(control.is_step for control in controls)
    for button, widget in laboratory.buttons.items():
        if has_steps and isinstance(button, Compute) and button.goes_on:
            yield str(widget.model_id)


def _record_presses(recorder: _Recorder, films: list[str]) -> None:
    """Press each button at the opening settings, and keep what it shows."""
    laboratory = recorder.laboratory
    pressed = [
        (button, widget)
        for button, widget in laboratory.buttons.items()
        if not widget.disabled and widget.model_id not in films
    ]
    # Those that change settings first, for what the others compute stays.
    for button, widget in pressed:
        if not isinstance(button, Compute):
            number = recorder.move(widget.click)
            if number is not None:
                press = {"model": widget.model_id, "after": 0, "state": number}
                recorder.presses.append(press)
    recorder.close()
    for button, widget in pressed:
        if isinstance(button, Compute):
            recorder.press(widget, 0)


def _tree(widget: widgets.Widget) -> Iterator[widgets.Widget]:
    """List a widget, its layout, and all widgets inside it."""
    yield widget
    if isinstance(widget, widgets.DOMWidget):
        yield widget.layout
    for child in getattr(widget, "children", ()):
        yield from _tree(child)


def _states(laboratory: Laboratory) -> States:
    """Return model -> trait -> value of all widgets of a laboratory, as they travel to the page."""
    widgets_on_page = [widget for widget in _tree(laboratory) if not isinstance(widget, Replay)]
    return {str(widget.model_id): widget.get_state() for widget in widgets_on_page}


def as_webp(content: bytes) -> bytes:
    """Return a PNG as a lossless WebP, which takes a third; browsers look at bytes, not at names."""
    if not content.startswith(b"\x89PNG"):
        return content
    smaller = io.BytesIO()
    Image.open(io.BytesIO(content)).save(smaller, "WEBP", lossless=True)
    return smaller.getvalue()


def _pack(recorder: _Recorder, on_page_alone: list[str]) -> bytes:
    """Return the states as gzipped JSON, each value once, all but the first as differences."""
    numbers: dict[str, int] = {}
    # The slider of steps counts the steps of its own run, so each state says where it stands.
    moved = {
        (control.widget.model_id, control.trait)
        for control in recorder.controls
        if not control.is_step
    }
    # Whether these can be pressed is the page's own matter.
    moved |= {(model, "disabled") for model in on_page_alone}

    def number(value: Any) -> int:
        # Equal values have equal texts, so a plot that two states share is stored once.
        text = json.dumps(value, default=_as_json, sort_keys=True)
        return numbers.setdefault(text, len(numbers))

    first = recorder.states[0]
    differing = set()
    for state in recorder.states[1:]:
        for model, traits in state.items():
            for trait, value in traits.items():
                # A widget that came later has no place on the page, which is made of the first
                # state.
                is_in_first = model in first and trait in first[model]
                if is_in_first and (model, trait) not in moved and value != first[model][trait]:
                    differing.add((model, trait))
    states = []
    for places, label, state in zip(recorder.places, recorder.labels, recorder.states, strict=True):
        traits = {}
        for model, trait in sorted(differing):
            value = state.get(model, first[model]).get(trait, first[model][trait])
            # A state holds its differences from the first one, most of them none.
            if state is first or value != first[model][trait]:
                traits[f"{model} {trait}"] = number(value)
        states.append({"places": places, "label": label, "traits": traits})
    text = f'{{"values": [{", ".join(numbers)}], "states": {json.dumps(states)}}}'
    # No time stamp, so that the same record has the same bytes.
    return gzip.compress(text.encode(), mtime=0)


def _as_json(value: Any) -> Any:
    """Return what JSON has no word for: bytes as base64, marked as such."""
    if isinstance(value, bytes | memoryview):
        return {"base64": base64.b64encode(as_webp(bytes(value))).decode()}
    raise DDLabError(f"A trait of an explorer cannot be recorded: {type(value).__name__}.")


def _switches(laboratory: Laboratory) -> Iterator[dict[str, Any]]:
    """List the buttons that show and hide boxes: tabs, and what is folded away."""
    for widget in _tree(laboratory):
        children: list[Any] = list(getattr(widget, "children", ()))
        if "ddlab-tabs" in getattr(widget, "_dom_classes", ()):
            buttons, *boxes = children
            yield {
                "model": buttons.model_id,
                "trait": "index",
                "layouts": [box.layout.model_id for box in boxes],
            }
        for button, box in itertools.pairwise(children):
            if isinstance(button, widgets.ToggleButton):
                yield {
                    "model": button.model_id,
                    "trait": "value",
                    "layouts": [box.layout.model_id],
                }
