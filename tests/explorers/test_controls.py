"""Controls from a config, and the explorer's box: sentence, errors, state text, close."""

import functools
import threading
import time
from dataclasses import dataclass

import ipywidgets as widgets
import pytest

from ddlab.core import DDLabError, Parameters, describe, parameter
from ddlab.explorers import Plot
from ddlab.explorers.controls import Choices, Controls, label_of, plain_symbol
from ddlab.explorers.layout import Explorer
from ddlab.explorers.runner import Runner
from ddlab.explorers.stops import other_stops, set_stops
from ddlab.figures import loss_curves


@dataclass(frozen=True, kw_only=True)
class Counted(Parameters):
    count: int = parameter(0, help="How many.", range=(0, None), explorable=(0, 49))
    limit: int | None = parameter(1, help="Of all.", choices=(1, 2, None), explorable=True)


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    learning_rate: float = parameter(
        0.1,
        help="Size of a step.",
        symbol=r"\eta",
        range=(0, None),
        open_low=True,
        scale="log",
        explorable=(1e-3, 10.0),
    )
    lambda_var: float = parameter(
        1.0,
        help="Weight of the gap.",
        symbol=r"\lambda_{\mathrm{var}}",
        range=(0, None),
        scale="log",
        explorable=(0, 100),
    )
    momentum: float = parameter(
        0.5, help="Memory of the step.", range=(0, 1), step=0.05, explorable=(0, 1)
    )
    iterations: int = parameter(
        100, help="Image updates.", symbol="T", range=(1, None), step=10, explorable=(10, 400)
    )
    batch_size: int = parameter(
        16, help="Images at once.", range=(1, None), scale="log", explorable=(1, 256)
    )
    labels: str = parameter(
        "hard", help="Kind of labels.", choices=("hard", "stored", "online"), explorable=True
    )
    model: str = parameter("a", help="One of many.", choices=tuple("abcdefghi"), explorable=True)
    flip: bool = parameter(True, help="Flip the images.", explorable=True)
    seed: int = parameter(0, help="Not on a slider.")

    def rules(self) -> None:
        if self.labels == "online" and not self.flip:
            raise DDLabError("Config.flip must be True with online labels; given False.")


@pytest.fixture
def panel():
    controls = Controls(Config())
    yield controls
    controls.close()


def test_kinds_of_controls(panel):
    kinds = {name: type(panel[name]) for name in panel}
    assert kinds == {
        "learning_rate": widgets.SelectionSlider,
        "lambda_var": widgets.SelectionSlider,
        "momentum": widgets.FloatSlider,
        "iterations": widgets.IntSlider,
        "batch_size": widgets.SelectionSlider,
        "labels": Choices,
        "model": widgets.SelectionSlider,
        "flip": widgets.ToggleButtons,
    }


def test_each_control_has_words_symbol_and_help(panel):
    assert panel["learning_rate"].description == "learning rate η"
    assert panel["lambda_var"].description == "λ_var"
    assert panel["iterations"].description == "iterations T"
    for name in panel:
        assert panel[name].tooltip == describe(Config)[name].help
    assert len({panel[name].style.description_width for name in panel}) == 1


def test_moving_a_control_gives_a_new_config(panel):
    configs = []
    panel.observe(lambda change: configs.append(change["new"]), "value")
    panel["learning_rate"].value = 0.2
    panel["labels"].value = "stored"
    panel["flip"].value = False
    panel["batch_size"].value = 256
    assert [config.learning_rate for config in configs] == [0.2] * 4
    assert configs[-1] == Config(learning_rate=0.2, labels="stored", flip=False, batch_size=256)


def test_values_are_what_the_reader_sees(panel):
    stops = dict(panel["learning_rate"].options)
    assert all(text == f"{value:g}" and len(text) <= 7 for text, value in stops.items())
    assert Config().learning_rate in stops.values(), (
        "the value it starts at is one of the stops, exactly"
    )
    panel["momentum"].value = 0.1 + 0.2
    assert panel.value.momentum == 0.3


def test_setting_the_config_moves_the_controls_once(panel):
    configs = []
    panel.observe(lambda change: configs.append(change["new"]), "value")
    config = Config(
        learning_rate=2.0, lambda_var=0, momentum=0.95, iterations=400, labels="online", seed=3
    )
    panel.value = config
    assert configs == [config] and panel.value == config
    assert panel["lambda_var"].value == 0 and panel["labels"].value == "online"
    panel["momentum"].value = 0.5
    assert panel.value == config.replace(momentum=0.5), "fields without a control are kept"


def test_values_off_the_slider_are_kept():
    outside = Config(learning_rate=50.0, lambda_var=33.3, iterations=1234)
    panel = Controls(outside)
    assert panel.value == outside
    panel["momentum"].value = 0.25
    assert panel.value == outside.replace(momentum=0.25)
    panel.value = Config(lambda_var=77.7, learning_rate=1e-5)
    panel["momentum"].value = 0.75
    assert panel.value == Config(lambda_var=77.7, learning_rate=1e-5, momentum=0.75)
    panel.close()


def test_a_forbidden_combination_is_said_and_the_config_stays_valid(panel):
    panel["flip"].value = False
    panel["labels"].value = "online"
    assert panel.value.labels == "hard"
    assert "Config.flip must be True with online labels; given False." in panel._message.value
    panel["flip"].value = True
    assert panel.value == Config(labels="online") and panel._message.value == ""


def test_zero_is_on_a_logarithmic_slider(panel):
    stops = [value for _, value in panel["lambda_var"].options]
    assert stops[0] == 0 and stops[-1] == 100 and 1.0 in stops and stops == sorted(stops)
    whole = [value for _, value in panel["batch_size"].options]
    assert whole[0] == 1 and whole[-1] == 256 and all(isinstance(value, int) for value in whole)


def test_chosen_names_and_words():
    panel = Controls(Config(), ["iterations", "learning_rate"], labels={"iterations": "updates"})
    assert list(panel) == ["iterations", "learning_rate"]
    assert panel["iterations"].description == "updates"
    panel.close()


def test_symbols_become_plain_text():
    assert plain_symbol(r"\lambda_{\mathrm{var}}") == "λ_var"
    assert plain_symbol("T") == "T" and plain_symbol("") == ""
    assert label_of(describe(Config)["momentum"]) == "momentum"


@pytest.mark.parametrize(
    "call, argument",
    [
        (lambda: Controls(Config(), ["learning"]), "learning_rate"),
        (lambda: Controls(Config(), ["seed"]), "seed"),
    ],
)
def test_bad_input(call, argument):
    with pytest.raises(DDLabError, match=argument):
        call()


class Demo(Explorer):
    def __init__(self, key: str = "", **keywords):
        self.panel = Controls(Config(), ["learning_rate", "labels"])
        self.plot = Plot(loss_curves({"loss": [1.0]}), announce=False)
        super().__init__("Demo", controls=[self.panel], views=[self.plot], key=key, **keywords)
        self.share(self.panel)
        self.panel.observe(self.guard(self.moved), "value")

    def moved(self, change):
        if change["new"].labels == "stored":
            raise RuntimeError("<nothing> here")
        if change["new"].labels == "online":
            raise DDLabError("labels must be hard; given 'online'.")
        self.plot.figure = loss_curves({"loss": [change["new"].learning_rate]})
        self.say(f"learning rate < {change['new'].learning_rate:g}")


def test_a_handler_changes_plot_and_sentence():
    demo = Demo()
    demo.panel["learning_rate"].value = 0.5
    assert demo.plot.figure.data[0].y[0] == 0.5
    assert demo.sentence == "learning rate < 0.5"
    demo.close()


def test_errors_are_shown_folded_and_raised_outside_a_kernel():
    demo = Demo()
    with pytest.raises(RuntimeError):
        demo.panel["labels"].value = "stored"
    error_box = demo._error_box
    assert (
        "RuntimeError: &lt;nothing&gt; here" in error_box.value and "<details>" in error_box.value
    )
    assert "test_controls.py" in error_box.value and error_box.layout.display is None
    with pytest.raises(DDLabError):
        demo.panel["labels"].value = "online"
    assert "labels must be hard" in error_box.value and "<details>" not in error_box.value
    demo.panel["labels"].value = "hard"
    assert demo.error is None and error_box.layout.display == "none" and error_box.value == ""
    demo.close()


def test_in_a_kernel_errors_are_only_shown(monkeypatch):
    monkeypatch.setattr("ddlab.explorers.layout.in_kernel", lambda: True)
    demo = Demo()
    demo.panel["labels"].value = "stored"
    assert isinstance(demo.error, RuntimeError)
    demo.close()


def test_state_is_a_short_text_and_comes_back():
    demo = Demo()
    restored = Demo()
    demo.panel["learning_rate"].value = 0.5
    text = demo.share_field.value
    assert text == "learning_rate=0.5"
    restored.share_field.value = text
    assert restored.panel.value == demo.panel.value and restored.plot.figure.data[0].y[0] == 0.5
    with pytest.raises(DDLabError, match="learning_rate"):
        restored.share_field.value = "learning_rat=1"
    assert restored.panel.value == demo.panel.value
    demo.close()
    restored.close()


def test_a_choice_of_nothing_has_neighbours_too() -> None:
    panel = Controls(Counted(limit=None))
    assert other_stops(panel["limit"]) == [2, 1]


def test_neighbours_are_what_a_move_there_gives(panel):
    """To the last bit: what is computed ahead for another number helps nobody."""
    slider = panel["momentum"]
    neighbours = other_stops(slider)
    given = []
    for place in range(21):
        slider.value = place * slider.step
        given.append(panel.value.momentum)
    assert sorted([*neighbours, 0.5]) == given and 0.15 in neighbours


def test_whole_numbers_end_where_the_data_do() -> None:
    panel = Controls(Counted(count=3))
    set_stops(panel, "count", 0, 5)
    assert (panel["count"].min, panel["count"].max) == (0, 5)
    assert other_stops(panel["count"]) == [2, 4, 1, 5, 0]
    set_stops(panel, "count", 0, 2)
    assert panel["count"].value == 3, "where it stands, it stays"


def test_close_ends_threads_and_widgets():
    demo = Demo()
    worker = demo.owns(Runner(lambda task, leave: None, name="ddlab-demo-worker"))
    worker.submit(1)
    demo.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ddlab-demo")]
    assert demo.comm is None and demo.plot.comm is None and demo.panel["labels"].comm is None


def test_work_stops_when_the_last_view_goes():
    """A cell whose output is deleted: of two views of an explorer one may go, with the other the
    work ends.
    """
    demo = Demo()
    work_began = threading.Event()
    work_left = threading.Event()

    def work(_task, leave):
        work_began.set()
        try:
            while True:
                time.sleep(0.01)
                leave()
        finally:
            work_left.set()

    worker = demo.owns(Runner(work, name="ddlab-demo-worker"))
    view = functools.partial(demo._sentence._handle_custom_msg, buffers=[])
    view({"kind": "view", "change": 1})
    view({"kind": "view", "change": 1})
    worker.submit(1)
    assert work_began.wait(10)
    view({"kind": "view", "change": -1})
    assert not work_left.wait(0.2) and worker.task == 1
    view({"kind": "view", "change": -1})
    assert work_left.wait(10) and worker.task is None
    demo.close()


def test_a_cell_run_again_closes_what_it_replaces():
    first = Demo(key="tests.demo")
    second = Demo(key="tests.demo")
    assert first.comm is None and second.comm is not None
    second.close()


def test_what_a_thread_shows_while_a_handler_runs_stays():
    explorer = Demo()
    explorer.guard(lambda: explorer.show_error(DDLabError("the run broke")))()
    assert "the run broke" in explorer._error_box.value
    explorer.guard(lambda: None)()
    assert explorer.error is None
    explorer.close()


def test_a_choice_of_none_is_a_button_like_the_others() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Sized(Parameters):
        size: int | None = parameter(None, choices=(None, 8, 16), explorable=True, help="Pixels.")

    panel = Controls(Sized())
    assert panel["size"].index == 0 and panel.value.size is None
    panel["size"].index = 2
    assert panel.value.size == 16
    panel["size"].index = 0
    assert panel["size"].index == 0 and panel.value.size is None
    panel.value = Sized(size=8)
    assert panel["size"].index == 1
