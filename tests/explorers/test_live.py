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
from ddlab.core import DDLabError, NonFiniteError, Parameters, parameter, parameters
from ddlab.data import ImageData
from ddlab.explorers import Laboratory, Live
from ddlab.explorers import live as live_module
from ddlab.methods import sre2l
from ddlab.networks import Network
from ddlab.runs import Keep, Run
from ddlab.training import supervised
from ddlab.unlabelled import pretraining, self_supervised, with_targets
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
def live(data_and_teacher: DataAndTeacher) -> Iterator[Laboratory]:
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


def press(live: Laboratory, *names: str) -> Laboratory:
    """Press buttons and wait after each until the run rests."""
    for name in names:
        button(live, name).click()
        live.runner.join()
    return live


def button(live: Laboratory, words: str) -> Any:
    """The button whose words begin so."""
    shown = [*live.buttons.values(), live.stop_button, live.reset_button]
    return next(candidate for candidate in shown if candidate.description.startswith(words))


def charts(live: Laboratory) -> Any:
    return live.widget(live_module.curves)


def plot(live: Laboratory) -> Any:
    return charts(live).plot


def picture(live: Laboratory) -> Any:
    return live.widget(live_module.picture)


def run_of(live: Laboratory) -> Run:
    assert live.schedule.watched_run is not None
    return live.schedule.watched_run


def curves(live: Laboratory) -> list[str]:
    return [str(trace.name) for trace in plot(live).figure.data]


# -- play, stop, step, reset


def test_play_runs_to_the_end_and_equals_the_plain_run(
    live: Laboratory, data_and_teacher: DataAndTeacher
) -> None:
    press(live, "Play")
    assert live.sentence.startswith("Step 20 of 20, finished: cross-entropy")
    inputs = ddlab.Inputs(data=data_and_teacher[0], teachers=(data_and_teacher[1],))
    plain = list(runs.steps(sre2l, CONFIG, inputs))
    assert torch.equal(run_of(live).state().images, plain[-1].state.images)
    assert "after step 20, from class a to c" in picture(live).alt
    assert f"cross-entropy {float(plain[-1].trace.class_loss):.3g} nats" in live.sentence
    assert button(live, "Play").disabled and button(live, "Step").disabled


def test_step_makes_one_step_and_paints_it(slow: Any) -> None:
    explorer = slow()
    for expected in (1, 2, 3):
        press(explorer, "Step")
        assert run_of(explorer).step == expected
        assert explorer.sentence.startswith(f"Step {expected} of 100, paused: loss ")
        assert f"after step {expected}." in picture(explorer).alt
        assert plot(explorer).cursor == expected


def test_stop_rests_at_a_painted_step_and_play_goes_on(slow: Any) -> None:
    explorer = slow(seconds=0.005)
    button(explorer, "Play").click()
    assert button(explorer, "Play").disabled
    time.sleep(0.1)
    press(explorer, "Stop")
    rested = run_of(explorer).step
    assert 0 < rested < 100 and explorer.sentence.startswith(f"Step {rested} of 100, paused:")
    newest = run_of(explorer).at()
    assert newest is not None and newest.step == rested, "where it rests can be looked at later"
    time.sleep(0.05)
    assert run_of(explorer).step == rested
    press(explorer, "Play")
    process = explorer.world.process
    assert "finished" in explorer.sentence and (process.begun, process.updates) == (1, 100)
    # The beginning is made before the page shows anything.
    assert process.threads == {"ddlab-lab"}


def test_settings_that_were_played_are_remembered(slow: Any) -> None:
    explorer = press(slow(steps=7), "Play")
    explorer.panel["steps"].value = 10
    explorer.runner.join()
    assert explorer.sentence.startswith("Before the first of 10 updates")
    press(explorer, "Reset")
    assert explorer.sentence.startswith("Step 7 of 7, finished")
    assert explorer.world.process.updates == 7, "nothing is computed twice"


# -- what goes wrong


def test_what_breaks_a_run_is_shown_and_the_next_one_works(slow: Any) -> None:
    explorer = slow(fail_at=3)
    button(explorer, "Play").click()
    with pytest.raises(RuntimeError, match="the run broke"):
        explorer.runner.join()
    assert "the run broke" in explorer._error_box.value and run_of(explorer).step == 2
    explorer.panel["fail_at"].value = 0
    press(explorer, "Play")
    assert "finished" in explorer.sentence and explorer.error is None


def test_a_run_that_blows_up_says_at_which_step(data_and_teacher: DataAndTeacher) -> None:
    data, teacher = data_and_teacher
    weights = {n: v * torch.nan if v.is_floating_point() else v for n, v in teacher.weights.items()}
    explorer = Live("sre2l", data, Network(spec=teacher.spec, weights=weights), CONFIG)
    button(explorer, "Play").click()
    with pytest.raises(NonFiniteError, match="at step 1"):
        explorer.runner.join()
    assert isinstance(explorer.error, NonFiniteError)
    explorer.close()


def test_settings_that_cannot_run_are_explained_and_what_was_stays(live: Laboratory) -> None:
    press(live, "Step")
    before = live.sentence
    pixels = picture(live).value
    wrong = CONFIG.replace(initialisation="real", images_per_class=1000)
    live.share_field.value = wrong.to_string()
    with refuses("images_per_class", "at most"):
        live.runner.join()
    assert isinstance(live.error, DDLabError)
    assert live.sentence == before and picture(live).value == pixels
    live.share_field.value = CONFIG.to_string()
    press(live, "Play")
    assert "finished" in live.sentence and live.error is None


def test_wrong_arguments_are_refused_at_once(data_and_teacher: DataAndTeacher) -> None:
    data, teacher = data_and_teacher
    with refuses("method", "sre2l"):
        Live("srel", data, teacher)
    for wrong in (3, None, SimpleNamespace(NAME="mine")):
        with refuses("method"):
            Live(wrong, data, teacher)
    with refuses("data", "ImageData"):
        Live("sre2l", "digits", teacher)
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
    plot(explorer).reduced_motion = reduced
    draw = explorer.draw
    monkeypatch.setattr(explorer, "draw", lambda **_: (painted.append(time.monotonic()), draw()))
    press(explorer, "Play")
    between = []
    for before, after in pairwise(painted[:-2]):  # where it ends is drawn at once
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
    draw = explorer.draw
    painted = []
    monkeypatch.setattr(explorer, "draw", lambda **_: (time.sleep(0.03), painted.append(1), draw()))
    press(explorer, "Play")
    assert (
        run_of(explorer).seconds < 200 * 0.0125
        and 3 <= len(painted) <= 0.35 * run_of(explorer).seconds / 0.03 + 6
    )


# -- controls, curves, slider, text


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_every_control_starts_a_run_with_its_setting(
    live: Laboratory, name: str, value: Any
) -> None:
    press(live, "Step")
    live.panel[name].value = value
    live.runner.join()
    assert run_of(live).step == 0 and live.sentence.startswith("Before the first of")
    assert getattr(run_of(live).config, name) == pytest.approx(value)
    press(live, "Play")
    assert "finished" in live.sentence and run_of(live).total == live.panel.value.iterations
    old = CONFIG.to_dict()[name]
    assert f"total loss before ({name} {old})" in curves(live), (
        "the run before stays for comparison"
    )


def test_a_control_moved_while_playing_goes_on_playing(data_and_teacher: DataAndTeacher) -> None:
    explorer = Live("sre2l", *data_and_teacher, CONFIG.replace(iterations=390))
    button(explorer, "Play").click()
    explorer.panel["lambda_var"].value = 0.5
    explorer.runner.join()
    assert "finished" in explorer.sentence and run_of(explorer).config.lambda_var == pytest.approx(
        0.5
    )
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
    explorable = [
        name for name, field in parameters.describe(CONFIG).items() if field.explorable is not None
    ]
    assert list(visible) == [explorer.panel[name] for name in explorable[:4]]
    explorer.close()
    chosen = Live("sre2l", *data_and_teacher, CONFIG, first=["lambda_var", "initialisation"])
    assert list(chosen.panel)[:2] == ["lambda_var", "initialisation"] and set(chosen.panel) == set(
        explorable
    )
    assert "with lambda var 0.01, initialisation noise" in chosen.sentence
    chosen.close()


def test_each_curve_has_its_chart(live: Laboratory) -> None:
    press(live, "Play")
    assert (
        list(charts(live).buttons.options) == ["loss", "class probability"]
        and plot(live).figure.layout.yaxis.type == "log"
    )
    assert curves(live) == ["cross-entropy", "mean gap", "variance gap", "total loss"]
    for name, values in ((trace.name, trace.y) for trace in plot(live).figure.data):
        recorded = [frame.content.numbers[name].value for frame in run_of(live).frames[1:]]
        assert list(values) == pytest.approx(recorded)
    charts(live).buttons.value = "class probability"
    assert curves(live) == ["class probability"] and plot(live).figure.layout.yaxis.type == "linear"
    press(live, "Reset", "Step")
    assert charts(live).buttons.value == "class probability", "the reader's choice stays"


def test_the_slider_moves_through_what_was_kept(live: Laboratory) -> None:
    press(live, "Play")
    last_picture = picture(live).value
    live.slider.index = 3
    assert live.sentence.startswith("Step 3 of 20, finished:") and plot(live).cursor == 3
    assert picture(live).value != last_picture and "after step 3," in picture(live).alt
    live.slider.index = 20
    assert live.sentence.startswith("Step 20 of 20") and picture(live).value == last_picture


def test_a_long_run_keeps_frames_spread_evenly_and_where_it_rested(slow: Any) -> None:
    explorer = slow(steps=500)
    press(explorer, "Step", "Step", "Step")
    press(explorer, "Play")
    steps = [frame.step for frame in run_of(explorer).frames]
    assert steps[:4] == [0, 1, 2, 3] and steps[-1] == 500 and len(steps) == 63


# -- students


def test_a_student_of_a_frame_beside_random_real_images(live: Laboratory) -> None:
    press(live, "Play")
    live.slider.index = 5
    press(live, "Train")
    assert (
        "Students of the images at step 5: " in live.sentence
        and "with online labels" in live.sentence
    )
    assert live.sentence.count("%") == 2 and "finished" in live.sentence
    assert live.sentence.startswith("Step 5 of 20")
    live.panel["lambda_mean"].value = 0.5
    live.runner.join()
    assert "Students" not in live.sentence


def test_stop_leaves_a_student_and_the_run_as_it_was(
    live: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    press(live, "Step")
    update = supervised.update
    student_began = threading.Event()

    def slowly(*arguments: Any) -> Any:
        student_began.set()
        time.sleep(0.02)
        return update(*arguments)

    monkeypatch.setattr(supervised, "update", slowly)
    button(live, "Train").click()
    assert (
        student_began.wait(30) and not live.stop_button.disabled and button(live, "Train").disabled
    )
    press(live, "Stop")
    assert (
        "Students" not in live.sentence
        and run_of(live).step == 1
        and not button(live, "Train").disabled
    )
    assert live.error is None
    press(live, "Step")
    assert run_of(live).step == 2, "the run goes on"


def test_a_set_of_which_classes_are_missing_is_compared_with_the_same_classes(
    data_and_teacher: DataAndTeacher,
) -> None:
    explorer = press(Live("selection", *data_and_teacher), "Step", "Step")
    press(explorer, "Train")
    assert "Students of the images at step 2: " in explorer.sentence
    explorer.close()


def test_nothing_can_be_learnt_from_no_images(data_and_teacher: DataAndTeacher) -> None:
    explorer = Live("selection", data_and_teacher[0])
    button(explorer, "Train").click()
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
    assert explorer.world.has_images != (
        case.module in (supervised, self_supervised, pretraining, with_targets)
    )
    press(explorer, "Step")
    sentence = explorer.sentence
    press(explorer, "Play")
    total = case.module.total_steps(case.config, inputs)
    assert sentence.startswith(f"Step 1 of {total}, paused: ") and explorer.sentence.startswith(
        f"Step {total} of {total}, finished: "
    )
    assert charts(explorer).buttons.value in charts(explorer).buttons.options and curves(explorer)
    recorded = Live(run_of(explorer))
    assert plot(recorded).cursor is not None, "the last frame has a marker"
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
        assert run_of(config).config == expected
        config.close()


# -- films


def test_a_film_shows_the_looks_of_a_run(data_and_teacher: DataAndTeacher) -> None:
    data, teacher = data_and_teacher
    run = Run(sre2l, CONFIG, ddlab.Inputs(data=data, teachers=(teacher,)), keep=Keep(5)).advance()
    film = Live(run)
    assert [step for step, _ in film.slider.options] == ["0", "5", "10", "15", "20"]
    assert plot(film).cursor == 20
    last = picture(film).value
    film.slider.index = 1
    assert picture(film).value != last and plot(film).cursor == 5
    assert (
        film.sentence.startswith("Step 5 of 20, finished: cross-entropy ")
        and "class probability" in film.sentence
    )
    film.slider.index = 0
    assert film.sentence == "Step 0 of 20, finished." and plot(film).cursor is None
    charts(film).buttons.value = "class probability"
    film.slider.index = 4
    assert [trace.name for trace in plot(film).figure.data] == ["class probability"] and plot(
        film
    ).cursor == 20
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
