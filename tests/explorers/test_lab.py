"""What a declaration gets for nothing, on toy functions: what is computed in which order, what is
shown meanwhile, and what stays.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from ddlab.core import DDLabError, Parameters, fail, narrow, parameter
from ddlab.explorers import (
    Change,
    Chart,
    Compute,
    Html,
    Lab,
    Laboratory,
    Quest,
    Results,
    Row,
    Strip,
    Tabs,
    Value,
    ahead,
)
from ddlab.explorers import lab as lab_module
from ddlab.explorers.views import step_on_show
from ddlab.figures import encode_grid, loss_curves
from ddlab.runs import Inputs, Keep, Run


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """What the toy counts with, and what is looked at."""

    power: int = parameter(1, range=(0, 99), explorable=(0, 9), help="How much an update adds.")
    total: int = parameter(8, range=(1, 99), explorable=(4, 40), help="Updates of a run.")
    twin: int = parameter(
        1,
        range=(0, 99),
        scale="log",
        explorable=(1, 9),
        help="Goes with the power, where a test says so.",
    )
    colour: str = parameter(
        "red", choices=("red", "blue"), explorable=True, help="Of the views alone."
    )
    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")


@dataclass(frozen=True)
class State:
    """A number that grows."""

    step: int
    number: int


class World:
    """A run that adds the power at each update, and a value in four parts; both wait at a gate.

    Attributes:
        gate: closed, nothing goes on. stands: whether something has come to it.
        updates: (power, step) of each, in order. parts: of values, (power, part).
        wrong: powers at which something goes wrong.
    """

    def __init__(self, start: Settings | None = None, wrong: Sequence[int] = ()) -> None:
        self.start = Settings() if start is None else start
        self.gate = threading.Event()
        self.stands = threading.Event()
        self.gate.set()
        self.updates: list[tuple[int, int]] = []
        self.parts: list[tuple[int, int]] = []
        self.wrong = set(wrong)
        self._runs: dict[tuple[int, int], Run] = {}
        self.process = SimpleNamespace(
            NAME="toy",
            Config=Settings,
            State=State,
            total_steps=lambda config, inputs: config.total,
            init=lambda config, inputs: State(0, 0),
            update=self._update,
            finish=lambda config, inputs, state: state.number,
        )

    def run(self, settings: Settings) -> Run:
        """The run of these settings; five steps are kept."""
        key = settings.power, settings.total
        if key not in self._runs:
            config = Settings(power=settings.power, total=settings.total)
            keep = Keep(5, lambda config, inputs, state, trace: state.number)
            self._runs[key] = Run(self.process, config, Inputs(), keep=keep)
        return self._runs[key]

    def value(self, power: int, *, watch: Callable[[str, float], None]) -> int:
        """Ten times the power."""
        for part in range(4):
            self._pass()
            self.parts.append((power, part))
            watch(f"value of {power}", part / 4)
        self._check(power)
        return 10 * power

    def _update(self, config: Settings, inputs: Inputs, state: State) -> tuple[State, None]:
        self._pass()
        self._check(config.power)
        self.updates.append((config.power, state.step))
        return State(state.step + 1, state.number + config.power), None

    def _pass(self) -> None:
        self.stands.set()
        assert self.gate.wait(10)

    def _check(self, power: int) -> None:
        if power in self.wrong:
            raise ValueError(f"power {power} is wrong")


def check(world: World, settings: Settings) -> None:
    if settings.power == 9:
        fail("power", "below 9", settings.power)


def frames(world: World, settings: Settings, results: Results) -> tuple:
    return (
        settings.power,
        tuple(frame.content for frame in world.run(settings).frames),
        results.step,
    )


def listed(power: int, numbers: tuple[int, ...], step: int | None) -> str:
    return f"power {power}: {numbers}, at {step}"


def sentence(world: World, settings: Settings, results: Results) -> str:
    return f"{settings.colour}, power {settings.power}, step {results.step}."


OF_RUNS: dict[str, Any] = {
    "run": World.run,
    "jobs": lambda world, settings, run: [run],
    "job_words": lambda world, run: f"run of {run.config.power}",
}
OF_VALUES: dict[str, Any] = {
    "jobs": lambda world, settings, run: [Value(world.value, settings.power)],
    "views": [
        Html(
            lambda world, settings, results: (results(Value(world.value, settings.power)),),
            lambda computed_value: f"{computed_value}",
        )
    ],
}


def declared(**changes: Any) -> Lab:
    """A laboratory of numbers."""
    usual = {
        "controls": ("power", "total"),
        "folded": ("twin", "colour"),
        "check": check,
        "sentence": sentence,
    }
    return Lab("Numbers", World, **usual | {"views": [Html(frames, listed)]} | changes)


def test_a_quest_is_met_by_what_is_on_show_and_stays_met(opened) -> None:
    lab = opened(
        declared(
            **OF_RUNS,
            quest=Quest("Reach <40>.", lambda world, settings, results: settings.power >= 5),
        )
    )
    assert (
        not lab.quest.met
        and "Reach &lt;40&gt;." in lab.quest.value
        and 'data-met="false"' in lab.quest.value
    )
    lab.panel["power"].value = 5
    assert lab.quest.met and "Done." in lab.quest.value
    lab.panel["power"].value = 1
    assert lab.quest.met
    assert opened(declared()).quest is None
    with pytest.raises(DDLabError, match="words of a quest must"):
        Quest("", lambda world, settings, results: True)


@pytest.fixture
def opened() -> Iterator[Callable[..., Laboratory]]:
    """Makes a laboratory on a world, and closes it."""
    laboratories: list[Laboratory] = []

    def make(lab: Lab, *arguments: Any, join: bool = True, **options: Any) -> Laboratory:
        laboratories.append(lab(*arguments, **options))
        if join:
            laboratories[-1].runner.join(10)
        return laboratories[-1]

    yield make
    for laboratory in laboratories:
        laboratory.world.gate.set()
        laboratory.close()
    assert our_threads() == []


def our_threads() -> list[str]:
    return sorted(
        thread.name for thread in threading.enumerate() if thread.name.startswith("ddlab-lab")
    )


def until(true: Callable[[], Any]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.002)


def go_to_power(lab: Laboratory, power: int) -> None:
    """Ask for a power that is not known while the gate is closed, and wait until the thread stands
    there.
    """
    lab.world.gate.clear()
    lab.world.stands.clear()
    lab.panel["power"].value = power
    assert lab.world.stands.wait(10)


def slowly(world: World) -> None:
    """From now on an update takes a while."""
    update = world.process.update
    world.process.update = lambda *arguments: time.sleep(0.03) or update(*arguments)


def on_show(lab: Laboratory, draw: Callable[..., Any] = listed) -> Any:
    return lab.widget(draw).value


# -- what is computed, and when


def see(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bring the laboratory on a reader's screen, with no rest between a press and computing ahead."""
    monkeypatch.setattr(ahead, "_REST", -1.0)
    lab._sentence._handle_custom_msg({"kind": "seen"}, [])


def test_what_is_seen_computes_the_neighbours_of_its_first_control(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = opened(declared(**OF_VALUES, quest=None))
    assert {power for power, _ in lab.world.parts} == {1}, "nothing before it is seen"
    see(lab, monkeypatch)
    lab.runner.join(10)
    firsts = [power for power, part in lab.world.parts if part == 0]
    assert firsts == [1, 0, 2, 3, 4, 5, 6, 7, 8], "the nearest first, and none that is refused"
    assert lab.sentence == "red, power 1, step None." and lab.progress.layout.visibility == "hidden"
    lab.world.gate.clear()
    lab.panel["power"].value = 3
    assert lab.views_on_page[0].widget.value == "30", "the first press finds its answer"
    assert lab.runner.task is None


def test_what_views_compute_at_once_is_computed_ahead_with_the_jobs_there(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[tuple[int, int]] = []

    def square(power: int, number: int) -> int:
        computed.append((power, number))
        return power**2

    def data(world: World, settings: Settings, results: Results) -> tuple:
        number = results(Value(world.value, settings.power))
        return (results.compute_now(square, settings.power, number),)

    views = [Html(data, lambda number: f"{number}")]
    lab = opened(declared(jobs=OF_VALUES["jobs"], views=views))
    see(lab, monkeypatch)
    lab.runner.join(10)
    assert (6, 60) in computed, "after its job, whose result it takes"
    before = list(computed)
    lab.panel["power"].value = 6
    assert lab.views_on_page[0].widget.value == "36" and computed == before


def test_computing_ahead_gives_way_and_goes_on(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = opened(declared(**OF_RUNS))
    lab.world.gate.clear()
    lab.world.stands.clear()
    see(lab, monkeypatch)
    assert lab.world.stands.wait(10)  # within the run of power 0
    lab.panel["power"].value = 5
    lab.world.updates.clear()
    lab.world.gate.set()
    lab.runner.join(10)
    order = list(dict.fromkeys(power for power, _ in lab.world.updates))
    assert order[:3] == [0, 5, 4], "left within a step, then what is on show, then its neighbours"
    assert set(order) == {0, 2, 3, 4, 5, 6, 7, 8}


def test_a_failure_ahead_waits_until_somebody_asks(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = opened(declared(**OF_VALUES), wrong=[2])
    see(lab, monkeypatch)
    lab.runner.join(10)
    assert lab.error is None and (3, 3) in lab.world.parts
    lab.panel["power"].value = 2
    with pytest.raises(ValueError, match="power 2 is wrong"):
        lab.runner.join(10)
    assert lab.error is not None


def test_a_stop_ends_computing_ahead(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = opened(declared(**OF_VALUES))
    lab.world.gate.clear()
    lab.world.stands.clear()
    see(lab, monkeypatch)
    assert lab.world.stands.wait(10)
    lab.runner.stop()
    lab.world.gate.set()
    lab.runner.join(10)
    assert (0, 1) not in lab.world.parts and lab.runner.task is None


def test_a_running_cell_is_not_slowed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_REST", 0.05)
    handlers: dict[str, Callable[[Any], None]] = {}
    cells = ahead._Cells(SimpleNamespace(events=SimpleNamespace(register=handlers.__setitem__)))
    monkeypatch.setattr(ahead, "_cells", lambda: cells)
    reader = ahead.Ahead()
    assert not reader._is_quiet, "it was made by a cell that still runs"
    handlers["post_run_cell"](None)
    began = time.monotonic()
    reader.wait(lambda: None)
    assert time.monotonic() - began >= 0.05
    handlers["pre_run_cell"](None)
    assert not reader._is_quiet
    handlers["post_run_cell"](None)
    reader.note_press()
    assert not reader._is_quiet


def test_what_is_wanted_is_computed_and_shown(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS))
    assert lab.world.run(lab.settings).complete and lab.sentence == "red, power 1, step 8."
    assert on_show(lab) == "power 1: (0, 2, 4, 6, 8), at 8" and lab.progress.description == ""


def test_the_newest_settings_come_first_and_a_run_that_is_left_is_resumed(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS))
    world = lab.world
    world.updates.clear()
    go_to_power(lab, 2)
    lab.panel["power"].value = 3
    lab.panel["power"].value = 4
    world.gate.set()
    lab.runner.join(10)
    assert world.updates == [(2, 0), *((4, step) for step in range(8))], (
        "left within a step; what was overtaken is not begun"
    )
    lab.panel["power"].value = 2
    lab.runner.join(10)
    assert [step for power, step in world.updates if power == 2] == list(range(8)), (
        "nothing is done twice"
    )


def test_jobs_are_done_in_order(opened: Any) -> None:
    def two_jobs(world: Any, settings: Any, run: Any) -> list[Any]:
        return [world.run(settings.replace(power=power)) for power in (settings.power, 7, 0)]

    lab = opened(declared(run=World.run, jobs=two_jobs))
    assert [power for power, step in lab.world.updates if step == 0] == [1, 7, 0]


def test_a_value_is_kept_or_left_by_watch(opened: Any) -> None:
    lab = opened(declared(**OF_VALUES))
    (view,) = lab.views_on_page
    assert view.widget.value == "10" and lab.world.parts == [(1, part) for part in range(4)]
    go_to_power(lab, 2)
    assert view.widget.value == "None"
    lab.panel["power"].value = 1
    lab.world.gate.set()
    lab.runner.join(10)
    assert view.widget.value == "10" and lab.world.parts.count((1, 0)) == 1, "kept"
    assert (2, 1) not in lab.world.parts and lab.error is None, "left at the next watch"
    lab.panel["power"].value = 2
    lab.runner.join(10)
    assert view.widget.value == "20"


def test_settings_of_the_views_alone_do_not_begin_a_value_anew(opened: Any) -> None:
    lab = opened(declared(**OF_VALUES))
    go_to_power(lab, 2)
    for colour in ("blue", "red", "blue"):
        lab.panel["colour"].value = colour
    lab.world.gate.set()
    lab.runner.join(10)
    assert [part for power, part in lab.world.parts if power == 2] == [0, 1, 2, 3]


def test_what_is_wanted_at_once_is_there_before_anything_is_drawn(opened: Any) -> None:
    first = [
        Html(
            lambda world, settings, results: (results(Value(world.value, settings.power)) + 1,), str
        )
    ]

    def first_jobs(world: Any, settings: Any, run: Any) -> list[Any]:
        return [Value(world.value, power) for power in (settings.power, 5)]

    lab = opened(declared(jobs=first_jobs, views=first, opens_with=1), join=False)
    assert lab.views_on_page[0].widget.value == "11" and lab.world.parts[:4] == [
        (1, part) for part in range(4)
    ]
    run = opened(declared(**OF_RUNS | {"opens_with": 1}), join=False, key="run")
    assert our_threads() == [] or run.runner.thread is None
    assert on_show(run) == "power 1: (0, 2, 4, 6, 8), at 8"
    with pytest.raises(ValueError, match="power 1 is wrong"):
        declared(jobs=first_jobs, views=first, opens_with=1)(wrong=[1])


def test_first_settings_that_the_check_refuses_are_raised() -> None:
    with pytest.raises(DDLabError, match="power must be below 9; given 9"):
        declared(**OF_RUNS)(Settings(power=9))
    assert our_threads() == []


def test_run_computes_here_and_now(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS), join=False)
    assert lab.run() is lab and lab.world.run(lab.settings).complete
    assert lab.sentence == "red, power 1, step 8." and lab.progress.description == ""
    watched = opened(declared(run=World.run), key="watched")
    assert (
        watched.world.updates == [] and on_show(watched.run()) == "power 1: (0, 2, 4, 6, 8), at 8"
    ), "what is watched too"
    with pytest.raises(DDLabError):
        lab.panel["power"].value = 9
    with pytest.raises(DDLabError, match="power must be below 9"):
        lab.run()


def test_how_far_it_is_and_how_long_it_takes(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS))
    progress_steps: list[tuple[str, float]] = []
    lab.progress.observe(
        lambda change: progress_steps.append((lab.progress.description, change["new"])), "value"
    )
    slowly(lab.world)
    sentences: list[str] = []
    lab._sentence.observe(lambda change: sentences.append(change["new"]), "text")
    lab.panel["total"].value = 20
    lab.runner.join(10)
    words, shares = zip(*progress_steps, strict=True)
    assert (
        "run of 1" in words
        and shares[-1] == 0
        and list(shares[:-1]) == sorted(shares[:-1])
        and len(shares) > 3
    )
    assert any("Being computed: this run takes about" in text for text in sentences)
    assert "Being computed" not in lab.sentence and len(set(sentences)) > 3


def test_at_rest_is_said_after_the_last_picture(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS))
    order: list[str] = []
    lab.widget(listed).observe(lambda change: order.append(change["new"]), "value")
    lab.progress.observe(lambda change: order.append(change["new"]), "description")
    slowly(lab.world)
    lab.panel["power"].value = 3
    lab.runner.join(10)
    assert order[-1] == "" and "power 3: (0, 6, 12, 18, 24), at 8" in order


# -- buttons


def _students(world: World, settings: Settings, results: Results) -> list[Any]:
    return [Value(world.value, settings.power), Value(world.value, settings.power + 50)]


def pressed(lab: Laboratory, number: int = 0) -> Any:
    return list(lab.buttons.values())[number]


@pytest.mark.parametrize("stays", [False, True])
def test_a_button_asks_for_jobs_and_is_grey_while_they_are_done_and_when_known(
    opened: Any, stays: bool
) -> None:
    doing: list[bool] = []

    def sentence(world: World, settings: Settings, results: Results) -> str:
        doing.append(results.doing(Value(world.value, 1)))
        assert not doing[-1] or results(Value(world.value, 1)) is None
        return "said"

    button = Compute(lambda world, settings: f"Do {settings.power}", _students, stays=stays)
    lab = opened(declared(buttons=[button], sentence=sentence))
    assert (
        pressed(lab).description == "Do 1"
        and not pressed(lab).disabled
        and lab.stop_button.disabled
    )
    lab.world.gate.clear()
    pressed(lab).click()
    assert pressed(lab).disabled and not lab.stop_button.disabled and doing[-1], "at once"
    pressed(lab).click()
    lab.world.gate.set()
    lab.runner.join(10)
    assert pressed(lab).disabled and lab.stop_button.disabled and not doing[-1]
    assert lab.world.parts == [(power, part) for power in (1, 51) for part in range(4)], "once"
    lab.panel["power"].value = 2
    assert not pressed(lab).disabled and pressed(lab).description == "Do 2"


def test_what_a_button_asked_for_is_dropped_by_other_settings(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS | {"buttons": [Compute("Do", _students, stays=False)]}))
    lab.world.gate.clear()
    pressed(lab).click()
    lab.panel["colour"].value = "blue"  # the same jobs
    assert pressed(lab).disabled and lab.runner.task.button is not None
    lab.panel["power"].value = 2
    lab.world.gate.set()
    lab.runner.join(10)
    assert (
        not any(part == 3 for _, part in lab.world.parts) and lab.world.run(lab.settings).complete
    )
    assert not pressed(lab).disabled


def test_what_stays_goes_on_and_then_comes_what_is_wanted_now(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS | {"buttons": [Compute("Do", _students, stays=True)]}))
    lab.world.gate.clear()
    pressed(lab).click()
    lab.panel["power"].value = 2
    lab.panel["power"].value = 3
    lab.world.gate.set()
    lab.runner.join(10)
    assert lab.world.parts == [(power, part) for power in (1, 51) for part in range(4)], (
        "undisturbed"
    )
    assert {power for power, _ in lab.world.updates} == {1, 3} and lab.world.run(
        lab.settings
    ).complete
    assert lab.sentence == "red, power 3, step 8."


def test_other_settings_come_first_once_what_stays_is_done(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS | {"buttons": [Compute("Do", _students, stays=True)]}))
    lab.world.gate.clear()
    pressed(lab).click()
    lab.panel["power"].value = 2
    slowly(lab.world)
    lab.world.gate.set()
    until(lambda: (2, 1) in lab.world.updates)
    lab.panel["power"].value = 4
    lab.runner.join(10)
    assert lab.world.run(lab.settings).complete and (2, 7) not in lab.world.updates


def test_pressing_for_the_watched_run_follows_it(opened: Any) -> None:
    button = Compute("Run", lambda world, settings, results: [world.run(settings)], stays=True)
    lab = opened(declared(run=World.run, buttons=[button]), Settings(step=0))
    assert lab.panel.value.step == 0 and lab.slider.index == 0
    pressed(lab).click()
    lab.runner.join(10)
    assert lab.panel.value.step is None and lab.sentence == "red, power 1, step 8."


def test_stop_leaves_what_a_button_asked_for_and_keeps_where_it_stands(opened: Any) -> None:
    button = Compute("Run", lambda world, settings, results: [world.run(settings)])
    # The second frame is that of step 10.
    lab = opened(declared(run=World.run, buttons=[button]), Settings(total=40))
    world = lab.world
    slowly(world)
    pressed(lab).click()
    until(lambda: lab.progress.description == "toy")
    order: list[str] = []
    lab._sentence.observe(lambda change: order.append(change["new"]), "text")
    lab.progress.observe(lambda change: order.append(change["new"]), "description")
    lab.stop_button.click()
    lab.runner.join(10)
    run = world.run(lab.settings)
    assert not run.complete and run.at().step == run.step and f"step {run.step}." in lab.sentence, (
        "it can be looked at"
    )
    assert lab.stop_button.disabled and not pressed(lab).disabled
    assert order[-1] == "" and f"step {run.step}." in order[-2], "after the last picture"
    pressed(lab).click()
    lab.runner.join(10)
    assert run.complete and [step for _, step in world.updates] == list(range(40))


def test_a_button_may_change_the_settings_and_reset_brings_the_first_ones_back(opened: Any) -> None:
    next_power = Change("Other", lambda settings: settings.replace(power=settings.power + 1))
    lab = opened(declared(**OF_RUNS | {"buttons": [next_power]}), Settings(power=3, colour="blue"))
    assert pressed(lab).description == "Other" and lab.stop_button not in lab._button_row.children
    pressed(lab).click()
    lab.runner.join(10)
    assert lab.settings.power == 4 and lab.sentence == "blue, power 4, step 8."
    lab.reset_button.click()
    assert (
        lab.panel.value == lab.settings == lab.world.start
        and lab.sentence == "blue, power 3, step 8."
    )


# -- settings


@pytest.mark.parametrize("kernel", [False, True])
def test_settings_that_the_check_refuses(
    opened: Any, monkeypatch: pytest.MonkeyPatch, kernel: bool
) -> None:
    monkeypatch.setattr("ddlab.explorers.layout.in_kernel", lambda: kernel)
    lab = opened(declared(**OF_RUNS | {"buttons": [Compute("Do", _students)]}))

    def refused(does: Callable[[], Any]) -> None:
        if kernel:
            does()
        else:
            with pytest.raises(DDLabError):
                does()
        assert str(lab.error) == lab.schedule.refusal == "power must be below 9; given 9."

    refused(lambda: setattr(lab.panel["power"], "value", 9))
    assert (
        lab.settings.power == 1
        and lab.sentence == "red, power 1, step 8."
        and on_show(lab).startswith("power 1")
    )
    assert pressed(lab).disabled and lab.panel.value.power == 9, (
        "the control stays where the reader has put it"
    )
    refused(lambda: setattr(lab.slider, "index", 2))  # one handler inside another
    pressed(lab).click()
    assert lab.runner.task is None and lab.world.parts == []
    lab.panel["power"].value = 3
    lab.runner.join(10)
    assert (
        lab.error is None
        and lab.schedule.refusal == ""
        and not pressed(lab).disabled
        and lab.settings.power == 3
    )


def test_a_refusal_stays_while_the_run_before_goes_on(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS), Settings(total=12))
    slowly(lab.world)
    lab.panel["power"].value = 2
    with pytest.raises(DDLabError):
        lab.panel["power"].value = 9
    lab.runner.join(10)
    assert (
        lab.sentence == "red, power 2, step 12."
        and str(lab.error) == "power must be below 9; given 9."
    )


def test_fields_that_play_no_part_are_grey(opened: Any) -> None:
    lab = opened(
        declared(
            **OF_RUNS
            | {"unused": lambda world, settings: ["twin"] if settings.colour == "red" else []}
        )
    )
    assert [name for name in lab.panel if lab.panel[name].disabled] == ["twin"]
    lab.panel["colour"].value = "blue"
    assert not any(lab.panel[name].disabled for name in lab.panel)


def test_the_panel(opened: Any) -> None:
    words = {
        "labels": {"power": "how much", "colour": "of what"},
        "stops": lambda world: {"twin": (1, 40) if world.wrong else {9: "all", 4: "four"}},
        "choice_words": lambda world: {"colour": str.upper},
    }
    lab = opened(declared(**OF_RUNS | words))
    assert (
        list(lab.panel) == ["power", "total", "twin", "colour"]
        and lab.panel["power"].description == "how much"
    )
    assert (
        lab.panel["twin"].options == (("1", 1), ("four", 4), ("all", 9))
        and lab.panel["twin"].value == 1
    )
    stops = opened(declared(**OF_RUNS | words), wrong=[5], key="stops").panel["twin"].options
    assert [stop for _, stop in stops] == [1, 2, 3, 4, 5, 7, 10, 15, 20, 25, 30, 40]
    assert [words for words, _ in lab.panel["colour"].options] == ["RED", "BLUE"]
    more_button, folded = lab.panel.children[2:4]
    assert more_button.description == "More settings" and folded.layout.display == "none"
    assert list(folded.children) == [lab.panel["twin"], lab.panel["colour"]]
    small_button, small = lab.panel.children[4:6]
    assert small_button.description == "Share" and small.children == (lab.share_field,)
    more_button.value = True
    assert folded.layout.display == "flex"
    laboratory = opened(declared(**OF_RUNS), narrow(Settings, colour=("blue",))(), key="one")
    assert "colour" not in laboratory.panel, "a choice of one thing is none"


# -- the slider of steps


def test_the_slider_follows_the_newest_and_stays_where_it_is_put(opened: Any) -> None:
    label = lambda world, settings, step: f"{step} of {settings.total}"  # noqa: E731
    lab = opened(declared(**OF_RUNS | {"step_label": label, "step_words": "update"}))
    assert lab.slider.description == "update" and lab.slider.options[1] == ("2 of 8", 2)
    assert lab.slider.index == 4 and lab.panel.value.step is None
    go_to_power(lab, 2)
    until(lambda: lab.sentence.startswith("red, power 2, step 0"))
    assert lab.slider.index == 0 and [step for _, step in lab.slider.options] == [0, 2, 4, 6, 8], (
        "to come, too"
    )
    lab.world.gate.set()
    lab.runner.join(10)
    assert lab.slider.index == 4 and lab.panel.value.step is None, "it followed"
    lab.slider.index = 1
    assert lab.panel.value.step == 2 and lab.sentence == "red, power 2, step 2."
    lab.panel["power"].value = 3
    lab.runner.join(10)
    assert lab.slider.index == 1 and lab.sentence == "red, power 3, step 2."
    lab.slider.index = 4
    assert lab.panel.value.step is None, "the last one is the end"
    lab.panel["total"].value = 12
    lab.runner.join(10)
    assert lab.sentence == "red, power 3, step 12."


def test_what_is_known_can_be_read_while_another_thread_keeps_a_value(opened: Any) -> None:
    """Reading asks each value for its hash, in Python: another thread may come in between."""
    lab = opened(declared(**OF_RUNS))
    meddling = list[threading.Thread]()

    class Argument:
        def __hash__(self) -> int:
            if armed and not meddling:
                meddling.append(
                    threading.Thread(target=lab.schedule.keep, args=(Value(print, "later"), 2))
                )
                meddling[0].start()
                meddling[0].join(0.2)
            return 7

    armed = False
    argument = Argument()
    lab.schedule.keep(Value(print, argument), 1)
    lab.schedule.want([Value(print, argument), Value(print, "later")])
    armed = True
    assert lab.results.every(print) == [((argument,), 1)]
    meddling[0].join(10)
    assert len(lab.results.every(print)) == 2


def test_the_nearest_step_there_is(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS), Settings(step=5))
    assert (
        lab.sentence == "red, power 1, step 4."
        and lab.slider.index == 2
        and lab.panel.value.step == 5
    )
    lab.panel["total"].value = 10
    lab.runner.join(10)
    assert [step for _, step in lab.slider.options] == [
        0,
        2,
        5,
        8,
        10,
    ] and lab.sentence == "red, power 1, step 5."
    lab.panel["total"].value = 4
    lab.runner.join(10)
    assert lab.sentence == "red, power 1, step 4.", "beyond the end is the end"
    go_to_power(lab, 2)
    until(lambda: lab.sentence.startswith("red, power 2, step 0."))  # and the newest until then


def test_without_a_watched_run_there_is_no_slider(opened: Any) -> None:
    lab = opened(declared(**OF_VALUES))
    assert lab.slider not in lab.views_box.children and lab.sentence == "red, power 1, step None."


# -- what is known


def test_now_is_computed_once_and_every_lists_what_is_known(opened: Any) -> None:
    squares: list[int] = []

    def square(number: int) -> int:
        squares.append(number)
        return number * number

    def data(world: World, settings: Settings, results: Results) -> tuple:
        return results.compute_now(square, settings.power), tuple(results.every(square))

    lab = opened(declared(views=[Html(data, lambda square, every: f"{square} {every}")]))
    for power in (3, 1, 3):
        lab.panel["power"].value = power
    assert squares == [1, 3] and lab.views_on_page[0].widget.value == "9 (((1,), 1), ((3,), 9))"


# -- views


def test_only_what_has_changed_is_drawn(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    drawings: list[Any] = []

    def of_power(power: int) -> str:
        drawings.append(power)
        return f"power {power}"

    def of_colour(colour: str) -> str:
        drawings.append(colour)
        return colour

    views = [
        Html(lambda world, settings, results: (settings.power,), of_power),
        Html(lambda world, settings, results: (settings.colour,), of_colour),
    ]
    shows: list[str] = []
    show = Html.show
    monkeypatch.setattr(
        Html,
        "show",
        lambda view, widget, drawing: shows.append(drawing) or show(view, widget, drawing),
    )
    lab = opened(declared(**OF_RUNS | {"views": views}))
    assert drawings == [1, "red"] and shows == [], "not again for every step"
    lab.panel["power"].value = 2
    lab.panel["colour"].value = "blue"
    lab.runner.join(10)
    assert drawings == [1, "red", 2, "blue"] and shows == ["power 2", "blue"]


def test_charts_strips_and_cursors(opened: Any) -> None:
    def curve(numbers: tuple[int, ...]) -> go.Figure:
        return loss_curves({"number": [*numbers, 0.0]})

    def strip(power: int) -> tuple[bytes, str]:
        return encode_grid(np.full((1, 4, 4, 3), power, np.uint8)), f"Power {power}."

    numbers = lambda world, settings, results: frames(world, settings, results)[1:2]  # noqa: E731
    chart = Chart(numbers, curve, cursor=step_on_show)
    lab = opened(
        declared(**OF_RUNS | {"views": [chart, Strip(lambda w, s, results: (s.power,), strip)]})
    )
    figure = lab.widget(curve).figure
    assert list(figure.data[0].y) == [0, 2, 4, 6, 8, 0] and lab.widget(curve).cursor == 8.0
    lab.slider.index = 1
    assert lab.widget(curve).cursor == 2.0 and lab.widget(curve).figure is figure, (
        "moved, not drawn"
    )
    lab.panel["power"].value = 3
    assert lab.widget(strip).alt == "Power 3." and bytes(lab.widget(strip).value) == strip(3)[0]


def test_tabs_are_buttons_and_rows_stand_beside_each_other(opened: Any) -> None:
    pages = [
        Html(
            lambda world, settings, results, n=n: (n, settings.power),
            lambda n, power: f"{n}: {power}",
        )
        for n in "abc"
    ]
    lab = opened(declared(views=[Tabs(("First", pages[0]), ("Both", Row(*pages[1:])))]))
    (tabs,) = lab.views_box.children
    buttons, *boxes = tabs.children
    assert [words for words, _ in buttons.options] == ["First", "Both"]
    assert [box.layout.display for box in boxes] == ["flex", "none"]
    buttons.index = 1
    assert [box.layout.display for box in boxes] == ["none", "flex"]
    lab.panel["power"].value = 4
    assert [widget.value for widget in boxes[1].children[0].children] == ["b: 4", "c: 4"]
    buttons.index = 0
    assert boxes[0].children[0].value == "a: 4", "what is opened is up to date"


def test_a_closed_tab_is_drawn_just_before_it_opens(opened: Any) -> None:
    drawings: list[str] = []

    def page(name: str) -> Html:
        def draw(power: int) -> str:
            drawings.append(f"{name} {power}")
            return f"{name} {power}"

        return Html(lambda world, settings, results: (settings.power,), draw)

    inner = Tabs(("B", page("b")), ("C", page("c")))
    lab = opened(declared(views=[Tabs(("A", page("a")), ("Inner", inner))]))
    outer_buttons, _, inner_box = lab.views_box.children[0].children
    inner_buttons, _, c_box = inner_box.children[0].children
    assert drawings == ["a 1", "b 1", "c 1"]
    for power in (2, 3):
        lab.panel["power"].value = power
    assert drawings[3:] == ["a 2", "a 3"], "nobody sees the others"
    seen: list[str] = []
    c_box.layout.observe(lambda _: seen.append(c_box.children[0].value), "display")
    outer_buttons.index = 1
    inner_buttons.index = 1
    assert drawings[5:] == ["b 3", "c 3"] and seen == ["c 3"]
    outer_buttons.index = 0
    assert len(drawings) == 7, "nothing has changed"
    lab.panel["power"].value = 4
    lab.run()
    assert drawings[7:] == ["a 4", "b 4", "c 4"], "what code asks for is whole"


def test_views_may_depend_on_the_world(opened: Any) -> None:
    html = Html(frames, listed)
    lab = opened(
        declared(
            **OF_RUNS
            | {"views": lambda world: [html] if world.wrong else [html, Html(frames, repr_of)]}
        )
    )
    assert len(lab.views_on_page) == 2
    assert (
        len(
            opened(
                declared(**OF_RUNS | {"views": lambda world: [html] * len(world.wrong)}),
                wrong=[3],
                key="b",
            ).views_on_page
        )
        == 1
    )


def repr_of(*data: Any) -> str:
    return repr(data)


def test_a_drawing_is_of_one_settings_whatever_the_reader_does_meanwhile(opened: Any) -> None:
    power_pairs: list[tuple[int, int]] = []
    inside = threading.Event()

    def first(world: World, settings: Settings, results: Results) -> tuple:
        if threading.current_thread().name == "ddlab-lab" and settings.power == 2:
            inside.set()
            time.sleep(0.05)
        first.power = settings.power
        return (settings.power,)

    def second(world: World, settings: Settings, results: Results) -> tuple:
        power_pairs.append((first.power, settings.power))
        return (settings.power,)

    lab = opened(declared(**OF_RUNS | {"views": [Html(first, str), Html(second, str)]}))
    lab.panel["power"].value = 2
    assert inside.wait(10)
    lab.panel["power"].value = 3
    lab.runner.join(10)
    assert all(in_data == in_sentence for in_data, in_sentence in power_pairs) and power_pairs[
        -1
    ] == (3, 3)


# -- what goes wrong


def test_what_a_job_raises_is_shown_and_the_thread_goes_on(opened: Any) -> None:
    lab = opened(declared(**OF_RUNS), wrong=[2])
    lab.panel["power"].value = 2
    with pytest.raises(ValueError, match="power 2 is wrong"):
        lab.runner.join(10)
    assert "power 2 is wrong" in str(lab.error) and lab.progress.description == ""
    thread = lab.runner.thread
    lab.panel["power"].value = 3
    lab.runner.join(10)
    assert (
        lab.error is None
        and lab.sentence == "red, power 3, step 8."
        and lab.runner.thread is thread
    )


@pytest.mark.parametrize("part", ["data", "draw", "sentence"])
def test_what_a_drawing_raises_in_the_thread_is_shown_and_the_thread_goes_on(
    opened: Any, part: str
) -> None:
    def wrong_once_there_is_something(
        raising_part: str, numbers: tuple[int, ...], power: int
    ) -> None:
        if part == raising_part and len(numbers) > 1 and power == 2:
            raise RuntimeError(f"cannot draw {power}")

    def data(world: World, settings: Settings, results: Results) -> tuple:
        wrong_once_there_is_something("data", frames(world, settings, results)[1], settings.power)
        return frames(world, settings, results)

    def draw(power: int, numbers: tuple[int, ...], step: int | None) -> str:
        wrong_once_there_is_something("draw", numbers, power)
        return listed(power, numbers, step)

    def sentence_of(world: World, settings: Settings, results: Results) -> str:
        wrong_once_there_is_something(
            "sentence", frames(world, settings, results)[1], settings.power
        )
        return sentence(world, settings, results)

    lab = opened(declared(**OF_RUNS | {"views": [Html(data, draw)], "sentence": sentence_of}))
    lab.panel["power"].value = 2
    with pytest.raises(RuntimeError, match="cannot draw 2"):
        lab.runner.join(10)
    assert "cannot draw 2" in str(lab.error) and lab.progress.description == ""
    lab.panel["power"].value = 3
    lab.runner.join(10)
    assert (
        lab.error is None
        and lab.sentence == "red, power 3, step 8."
        and on_show(lab, draw).startswith("power 3")
    )


# -- the end


def test_the_toy_of_the_readme_runs_and_explodes() -> None:
    text = (Path(lab_module.__file__).parent / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {"__name__": "toy"}
    exec(compile(block, "README.md", "exec", dont_inherit=True), names)
    toy = names["DescentLab"]()
    toy.run()
    assert toy.sentence == "The last loss is 1.8e-12."
    toy.panel["rate"].value = 2.5
    assert float(toy.run().sentence.split()[-1].rstrip(".")) > 1000
    toy.close()
