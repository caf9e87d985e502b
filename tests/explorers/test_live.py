"""Any process, live: what the buttons do, what is painted and when, the curves of the run before,
students, what ends it.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks, runs
from ddlab.core import parameters
from ddlab.core.errors import DDLabError, NonFiniteError
from ddlab.core.parameters import Parameters, parameter
from ddlab.data import ImageData
from ddlab.explorers import Live
from ddlab.methods import sre2l
from ddlab.networks import Network
from ddlab.runs import Keep, Run
from ddlab.training import pretraining, self_supervised, supervised, with_targets
from tests.contract.cases import CASES, bundle
from tests.support import made_data, refuses

CONFIG = sre2l.Config.teaching(iterations=20)
CHANGES = [
    ("initialisation", "real"),
    ("lambda_mean", 0.5),
    ("lambda_var", 0.5),
    ("learning_rate", 0.05),
    ("iterations", 40),
]


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    steps: int = parameter(100, range=(1, None), help="Updates.", explorable=(5, 500))
    seconds: float = parameter(0.0, range=(0, None), help="Of an update.", explorable=(0, 1))
    fail_at: int = parameter(
        0, range=(0, None), help="The update that breaks.", explorable=(0, 100)
    )


@dataclass(frozen=True)
class State:
    step: int
    images: torch.Tensor


@dataclass(frozen=True)
class Trace:
    loss: torch.Tensor


DataAndTeacher = tuple[ImageData, Network]


class Slow:
    """A process whose updates take a given time; it counts what is done."""

    NAME = "slow"
    Config = Config
    State = State
    Trace = Trace

    def __init__(self) -> None:
        self.begun = 0
        self.updates = 0
        self.threads = set()

    def total_steps(self, config: Config, inputs: Any) -> int:
        return config.steps

    def init(self, config: Config, inputs: Any) -> State:
        self.begun += 1
        return State(0, torch.zeros(2, 1, 8, 8))

    def update(self, config: Config, inputs: Any, state: State) -> tuple[State, Trace]:
        self.threads.add(threading.current_thread().name)
        self.updates += 1
        time.sleep(config.seconds)
        if state.step + 1 == config.fail_at:
            raise RuntimeError("the run broke")
        return State(state.step + 1, state.images + 0.01), Trace(torch.tensor(1 / (state.step + 1)))

    def finish(self, config: Config, inputs: Any, state: State) -> Any:
        return ddlab.from_images(state.images, torch.tensor([0, 2]), inputs.data)


@pytest.fixture(scope="module")
def data_and_teacher() -> tuple[ImageData, Network]:
    data = made_data(size=8)
    return data, networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)


@pytest.fixture
def live(data_and_teacher: DataAndTeacher) -> Iterator[Live]:
    explorer = Live("sre2l", *data_and_teacher, CONFIG)
    yield explorer
    explorer.close()


@pytest.fixture
def slow(data_and_teacher: DataAndTeacher) -> Iterator[Any]:
    """Makes a live explorer of a slow process, and closes it; no thread is left."""
    before = set(threading.enumerate())
    explorers = []

    def make(**settings: Any) -> Any:
        process = Slow()
        explorers.append(Live(process, data_and_teacher[0], config=Config(**settings)))
        return explorers[-1]

    yield make
    for explorer in explorers:
        explorer.close()
    assert set(threading.enumerate()) <= before


def press(live: Live, *names: str) -> Live:
    """Press buttons and wait until the run rests."""
    for name in names:
        live.buttons[name].click()
    live.runner.join()
    return live


def curves(live: Live) -> list[str]:
    return [str(trace.name) for trace in live.plot.figure.data]


# -- play, pause, step, reset, stop, close


def test_play_runs_to_the_end_and_equals_the_plain_run(
    live: Live, data_and_teacher: DataAndTeacher
) -> None:
    press(live, "play")
    assert live.state == "finished" and live.sentence.startswith(
        "Step 20 of 20, finished: cross-entropy"
    )
    plain = list(
        runs.steps(
            sre2l, CONFIG, ddlab.Inputs(data=data_and_teacher[0], teachers=(data_and_teacher[1],))
        )
    )
    assert torch.equal(live.run.state().images, plain[-1].state.images)
    assert live.picture is not None and "after step 20, from class a to c" in live.picture.alt
    assert f"cross-entropy {float(plain[-1].trace.class_loss):.3g} nats" in live.sentence


def test_step_makes_one_step_and_paints_it(slow: Any) -> None:
    explorer = slow()
    for expected in (1, 2, 3):
        press(explorer, "step")
        assert explorer.run.step == expected and explorer.sentence.startswith(
            f"Step {expected} of 100, paused: loss "
        )
        assert (
            f"after step {expected}." in explorer.picture.alt and explorer.plot.cursor == expected
        )


def test_pause_rests_at_a_painted_step_and_play_goes_on(slow: Any) -> None:
    explorer = slow(seconds=0.005)
    explorer.buttons["play"].click()
    assert explorer.state == "running" and explorer.buttons["play"].disabled
    time.sleep(0.1)
    press(explorer, "pause")
    rested = explorer.run.step
    assert 0 < rested < 100 and explorer.sentence.startswith(f"Step {rested} of 100, paused:")
    assert explorer.run.at().step == rested, "where it rests can be looked at later"
    time.sleep(0.05)
    assert explorer.run.step == rested
    press(explorer, "play")
    assert (
        explorer.state == "finished"
        and explorer.process.begun == 1
        and explorer.process.updates == 100
    )
    assert explorer.process.threads == {"ddlab-live"}


def test_reset_forgets_and_repeats_the_same_run(live: Live) -> None:
    press(live, "step")
    first = live.run.state().images.clone()
    press(live, "step", "reset")
    assert (
        live.run.step == 0
        and live.sentence.startswith("Before the first of 20")
        and live.state == "paused"
    )
    press(live, "step")
    assert torch.equal(live.run.state().images, first), "reset keeps the seed"


def test_reset_in_the_middle_of_a_step_keeps_nothing_of_it(slow: Any) -> None:
    explorer = slow(seconds=0.05)
    explorer.buttons["play"].click()
    time.sleep(0.12)
    press(explorer, "reset")
    assert [frame.step for frame in explorer.run.frames] == [0] and explorer.sentence.startswith(
        "Before"
    )


def test_stop_keeps_what_there_is_and_play_starts_again(slow: Any) -> None:
    explorer = slow(seconds=0.005)
    explorer.buttons["play"].click()
    time.sleep(0.1)
    press(explorer, "stop")
    rested = explorer.run.step
    assert explorer.state == "stopped" and explorer.sentence.startswith(
        f"Step {rested} of 100, stopped"
    )
    assert explorer.buttons["stop"].disabled and explorer.buttons["pause"].disabled
    press(explorer, "step")
    assert explorer.run.step == 1 and explorer.process.begun == 2 and explorer.state == "paused"


def test_a_finished_run_is_played_again_from_its_first_step(slow: Any) -> None:
    explorer = press(slow(steps=7), "play")
    press(explorer, "play")
    assert (
        explorer.process.begun == 2
        and explorer.process.updates == 14
        and explorer.state == "finished"
    )


# -- what goes wrong


def test_what_breaks_a_run_is_shown_and_the_next_one_works(slow: Any) -> None:
    explorer = slow(fail_at=3)
    explorer.buttons["play"].click()
    with pytest.raises(RuntimeError, match="the run broke"):
        explorer.runner.join()
    assert (
        explorer.state == "failed"
        and "the run broke" in explorer._error_box.value
        and explorer.run.step == 2
    )
    explorer.panel["fail_at"].value = 0
    press(explorer, "play")
    assert explorer.state == "finished" and explorer.error is None


def test_a_run_that_blows_up_says_at_which_step(data_and_teacher: DataAndTeacher) -> None:
    data, teacher = data_and_teacher
    weights = {}
    for n, v in teacher.weights.items():
        weights[n] = v * torch.nan if v.is_floating_point() else v
    explorer = Live("sre2l", data, Network(spec=teacher.spec, weights=weights), CONFIG)
    explorer.buttons["play"].click()
    with pytest.raises(NonFiniteError, match="at step 1"):
        explorer.runner.join()
    assert isinstance(explorer.error, NonFiniteError) and explorer.state == "failed"
    explorer.close()


def test_settings_that_cannot_run_are_explained_and_what_was_stays(live: Live) -> None:
    press(live, "step")
    assert live.picture is not None
    before = live.sentence
    picture = live.picture.value
    live.share_field.value = CONFIG.replace(
        initialisation="real", images_per_class=1000
    ).to_string()
    with refuses("images_per_class", "at most"):
        live.runner.join()
    assert isinstance(live.error, DDLabError) and live.state == "failed"
    assert live.sentence == before and live.picture.value == picture
    live.share_field.value = CONFIG.to_string()
    press(live, "play")
    assert live.state == "finished" and live.error is None


def test_wrong_arguments_are_refused_at_once(data_and_teacher: DataAndTeacher) -> None:
    data, teacher = data_and_teacher
    with refuses("method", "sre2l"):
        Live("srel", data, teacher)
    for wrong in (3, None, SimpleNamespace(NAME="mine")):
        with refuses("method"):
            Live(wrong, data, teacher)
    with refuses("data", "ImageData"):
        Live("sre2l", "digits", teacher)  # type: ignore[arg-type]
    with refuses("teacher"):
        Live("sre2l", data)
    with refuses("config", "squeeze"):
        Live("sre2l", data, teacher, supervised.Config())
    with refuses("first"):
        Live("sre2l", data, teacher, first=["alpha"])


# -- how often it is painted


@pytest.mark.parametrize(("reduced", "gap"), [(False, 0.1), (True, 0.5)])
def test_ten_pictures_a_second_at_most_and_two_with_reduced_motion(
    slow: Any, reduced: bool, gap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = slow(seconds=0.002, steps=500)
    painted = []
    explorer.plot.reduced_motion = reduced
    draw = explorer._draw
    monkeypatch.setattr(explorer, "_draw", lambda: (painted.append(time.monotonic()), draw()))
    press(explorer, "play")
    between = []
    for before, after in pairwise(painted[:-1]):
        between.append(after - before)
    assert len(painted) >= 3 and min(between) > gap * 0.95
    assert explorer.sentence.startswith("Step 500 of 500"), (
        "the last picture is where the run rests"
    )


def test_slow_pictures_become_rare_and_the_run_stays_fast(
    slow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten milliseconds an update and thirty a picture: painting ten times a second would take a
    quarter of the time.
    """
    explorer = slow(seconds=0.01, steps=200)
    draw = None
    draw = explorer._draw
    painted = []
    monkeypatch.setattr(explorer, "_draw", lambda: (time.sleep(0.03), painted.append(1), draw()))
    press(explorer, "play")
    assert (
        explorer.run.seconds < 200 * 0.0125
        and 3 <= len(painted) <= 0.2 * explorer.run.seconds / 0.03 + 4
    )


# -- controls, curves, slider, text


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_every_control_starts_a_run_with_its_setting(live: Live, name: str, value: Any) -> None:
    press(live, "step")
    live.panel[name].value = value
    live.runner.join()
    assert (
        live.state == "paused"
        and live.run.step == 0
        and live.sentence.startswith("Before the first of")
    )
    assert getattr(live.run.config, name) == pytest.approx(value)
    press(live, "play")
    assert live.state == "finished" and live.run.total == live.panel.value.iterations
    old = CONFIG.to_dict()[name]
    assert f"total loss before ({name} {old})" in curves(live), (
        "the run before stays for comparison"
    )


def test_a_control_moved_while_playing_goes_on_playing(data_and_teacher: DataAndTeacher) -> None:
    explorer = Live("sre2l", *data_and_teacher, CONFIG.replace(iterations=390))
    explorer.buttons["play"].click()
    explorer.panel["lambda_var"].value = 0.5
    explorer.runner.join()
    assert explorer.state == "finished" and explorer.run.config.lambda_var == pytest.approx(0.5)
    explorer.close()


def test_two_methods_are_played_beside_each_other(data_and_teacher: DataAndTeacher) -> None:
    first = Live("sre2l", *data_and_teacher, CONFIG)
    second = Live("selection", *data_and_teacher)
    again = Live("sre2l", *data_and_teacher, CONFIG)
    assert first._closed and not second._closed and not again._closed
    for explorer in (second, again):
        explorer.close()


def test_the_first_four_fields_are_seen_and_any_may_be_chosen(
    data_and_teacher: DataAndTeacher,
) -> None:
    explorer = Live("sre2l", *data_and_teacher, CONFIG)
    folded = next(
        child
        for child in explorer.panel.children
        if getattr(child, "description", "") == "More settings"
    )
    visible = explorer.panel.children[: list(explorer.panel.children).index(folded)]
    explorable = []
    for name, field in parameters.describe(CONFIG).items():
        if field.explorable is not None:
            explorable.append(name)
    assert list(visible) == [explorer.panel[name] for name in explorable[:4]]
    explorer.close()
    chosen = Live("sre2l", *data_and_teacher, CONFIG, first=["lambda_var", "initialisation"])
    assert list(chosen.panel)[:2] == ["lambda_var", "initialisation"] and set(chosen.panel) == set(
        explorable
    )
    assert "with lambda var 0.01, initialisation noise" in chosen.sentence
    chosen.close()


def test_each_curve_has_its_chart(live: Live) -> None:
    press(live, "play")
    assert (
        list(live.charts.buttons.options) == ["loss", "class probability"]
        and live.plot.figure.layout.yaxis.type == "log"
    )
    assert curves(live) == ["cross-entropy", "mean gap", "variance gap", "total loss"]
    for name, values in ((trace.name, trace.y) for trace in live.plot.figure.data):
        recorded = []
        for frame in live.run.frames[1:]:
            recorded.append(frame.content.numbers[name].value)
        assert list(values) == pytest.approx(recorded)
    live.charts.buttons.value = "class probability"
    assert curves(live) == ["class probability"] and live.plot.figure.layout.yaxis.type == "linear"
    press(live, "reset", "step")
    assert live.charts.buttons.value == "class probability", "the reader's choice stays"


def test_the_slider_moves_through_what_was_kept(live: Live) -> None:
    press(live, "play")
    assert live.picture is not None
    last_picture = live.picture.value
    live.slider.index = 3
    assert live.sentence.startswith("Step 3 of 20, finished:") and live.plot.cursor == 3
    assert live.picture.value != last_picture and "after step 3," in live.picture.alt
    live.slider.index = 20
    assert live.sentence.startswith("Step 20 of 20") and live.picture.value == last_picture


def test_a_long_run_keeps_frames_spread_evenly_and_where_it_rested(slow: Any) -> None:
    explorer = slow(steps=500)
    press(explorer, "step", "step", "step")
    press(explorer, "play")
    steps = [frame.step for frame in explorer.run.frames]
    assert steps[:2] == [0, 3] and steps[-1] == 500 and len(steps) == 61


# -- students


def test_a_student_of_a_frame_beside_random_real_images(live: Live) -> None:
    press(live, "play")
    live.slider.index = 5
    press(live, "student")
    assert (
        "Students of the images at step 5: " in live.sentence
        and "with online labels" in live.students
    )
    assert live.students.count("%") == 2 and live.state == "finished"
    assert live.sentence.startswith("Step 5 of 20")
    press(live, "reset")
    assert live.students == ""


def test_stop_leaves_a_student_and_the_run_as_it_was(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    press(live, "step")
    update = supervised.update
    student_began = threading.Event()

    def slowly(*arguments: Any) -> Any:
        student_began.set()
        time.sleep(0.02)
        return update(*arguments)

    monkeypatch.setattr(supervised, "update", slowly)
    live.buttons["student"].click()
    assert (
        student_began.wait(30)
        and not live.buttons["stop"].disabled
        and live.buttons["student"].disabled
    )
    press(live, "stop")
    assert (
        live.students == ""
        and live.state == "paused"
        and live.run.step == 1
        and not live.buttons["student"].disabled
    )
    assert live.error is None
    press(live, "step")
    assert live.run.step == 2, "the run goes on"


def test_a_set_of_which_classes_are_missing_is_compared_with_the_same_classes(
    data_and_teacher: DataAndTeacher,
) -> None:
    explorer = press(Live("selection", *data_and_teacher), "step", "step")
    press(explorer, "student")
    assert explorer.students.startswith("Students of the images at step 2: ")
    explorer.close()


def test_nothing_can_be_learnt_from_no_images(data_and_teacher: DataAndTeacher) -> None:
    explorer = Live("selection", data_and_teacher[0])
    explorer.buttons["student"].click()
    with refuses("distilled", "at least one"):
        explorer.runner.join()
    assert isinstance(explorer.error, DDLabError)
    explorer.close()


# -- every process


CHOSEN = [case for case in CASES if "-" not in case.name] + [
    case
    for case in CASES
    if case.name
    in (
        "teacher-hard-adamw",
        "student-hard-sgd",
        "self-supervised-adamw",
        "pretraining-sgd",
        "rela-adaptive",
    )
]


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_every_process_is_played_and_filmed(
    case: Any, teacher: Network, grey: ImageData, distilled: Any
) -> None:
    inputs = bundle(case, grey, teacher, distilled)
    data: Any = inputs.data or inputs.distilled
    explorer = Live(case.module, data, inputs.teachers, case.config)
    assert (explorer.picture is None) == (
        case.module in (supervised, self_supervised, pretraining, with_targets)
    )
    press(explorer, "step")
    sentence = explorer.sentence
    press(explorer, "play")
    total = case.module.total_steps(case.config, inputs)
    assert sentence.startswith(f"Step 1 of {total}, paused: ") and explorer.sentence.startswith(
        f"Step {total} of {total}, finished: "
    )
    assert explorer.charts.buttons.value in explorer.charts.buttons.options and curves(explorer)
    recorded = Live(explorer.run)
    assert recorded.plot is None or recorded.plot.cursor is not None, "the last frame has a marker"
    recorded.slider.index = 1
    assert recorded.sentence.startswith(f"Step 1 of {total}, finished: ")
    recorded.close()
    explorer.close()


def test_presets_follow_the_data(data_and_teacher: DataAndTeacher) -> None:
    data, teacher = data_and_teacher
    for process, expected in (
        ("dwa", ddlab.methods.get("dwa").Config.teaching()),
        (supervised, supervised.Config.for_data(data, "teacher")),
        (self_supervised, self_supervised.Config.for_data(data)),
    ):
        config = Live(process, data, teacher)
        assert config.run.config == expected
        config.close()


# -- films


def test_a_film_shows_the_looks_of_a_run(data_and_teacher: DataAndTeacher) -> None:
    data, teacher = data_and_teacher
    run = Run(sre2l, CONFIG, ddlab.Inputs(data=data, teachers=(teacher,)), keep=Keep(5)).advance()
    film = Live(run)
    assert [step for step, _ in film.slider.options] == ["0", "5", "10", "15", "20"]
    assert film.picture is not None and film.plot is not None and film.plot.cursor == 20
    last = film.picture.value
    film.slider.index = 1
    assert film.picture.value != last and film.plot.cursor == 5
    assert (
        film.sentence.startswith("Step 5 of 20, finished: cross-entropy ")
        and "class probability" in film.sentence
    )
    film.slider.index = 0
    assert film.sentence == "Step 0 of 20, finished." and film.plot.cursor is None
    film.charts.buttons.value = "class probability"  # type: ignore[union-attr]
    film.slider.index = 4
    assert [trace.name for trace in film.plot.figure.data] == [
        "class probability"
    ] and film.plot.cursor == 20
    film.close()


def test_an_interrupted_run_can_be_watched(data_and_teacher: DataAndTeacher) -> None:
    data, teacher = data_and_teacher
    run = Run(sre2l, CONFIG, ddlab.Inputs(data=data, teachers=(teacher,)))

    def interrupt(step: runs.Step) -> None:
        if step.index == 5:
            raise KeyboardInterrupt

    assert not run.to_end(on_step=interrupt).complete
    film = Live(run)
    assert film.sentence.startswith("Step 5 of 20, paused")
    film.close()


def test_what_is_no_film_is_refused(data_and_teacher: DataAndTeacher) -> None:
    data, teacher = data_and_teacher
    inputs = ddlab.Inputs(data=data, teachers=(teacher,))
    with refuses("run", "frames that hold looks", "none"):
        Live(Run(sre2l, CONFIG, inputs))
    without_looks = Run(sre2l, CONFIG, inputs, keep=Keep(2, make=lambda *_: 3)).begin()
    with refuses("run", "int"):
        Live(without_looks)
