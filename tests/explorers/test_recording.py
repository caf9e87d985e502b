"""What is recorded of explorers for pages: the values of a control, what changes with them, what cannot be recorded and why."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ddlab import networks
from ddlab.core.errors import fail
from ddlab.core.parameters import Parameters, parameter
from ddlab.explorers import Explorer, Html, Known, Lab, Live, Scrubber, Value
from ddlab.explorers.quest import Quest
from ddlab.explorers.recording import Moving, recordings
from ddlab.figures import encode_png, loss_curves
from ddlab.methods import sre2l
from ddlab.runs import Frame
from tests.support import made_data


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """What the toy counts with."""

    power: int = parameter(3, range=(0, 99), explorable=(0, 9), help="How much.")
    colour: str = parameter("red", choices=("red", "blue"), explorable=True, help="Of the words.")


class World:
    """Ten times the power; the settings before are told, too."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.start, self.seconds, self.asked = Settings(), seconds, list[int]()

    def value(self, power: int, *, watch: Callable[[str, float], None]) -> int:
        self.asked.append(power)
        time.sleep(self.seconds)
        return 10 * power

    def check(self, settings: Settings) -> None:
        if settings.power == 9:
            fail("power", "below 9", settings.power)


def data(world: World, settings: Settings, known: Known) -> tuple:
    return settings.colour, known(Value(world.value, settings.power)), len(known.past)


def lab(**changes: Any) -> Lab:
    """A laboratory of numbers."""
    usual: dict[str, Any] = {
        "controls": ("power", "colour"),
        "check": World.check,
        "wanted": lambda world, settings: [Value(world.value, settings.power)],
        "views": [Html(data, lambda *found: f"{found}")],
        "sentence": lambda world, settings, known: f"Power {settings.power}, {settings.colour}.",
    }
    return Lab("Numbers", World, **usual | changes)


@pytest.fixture
def recorded() -> Iterator[Callable[..., dict[str, Any]]]:
    """What is recorded of an explorer, which is closed at the end."""
    made: list[Explorer] = []

    def one(explorer: Explorer, seconds: float = 60.0) -> dict[str, Any]:
        made.append(explorer)
        (found,) = [each for each in recordings(seconds) if each["explorer"] == explorer.model_id]
        return found

    yield one
    for explorer in made:
        explorer.close()


def along(found: dict[str, Any], widget: Any, trait: str) -> list[Any]:
    """A trait of a widget at each combination of the recorded controls."""
    column = found["changes"][widget.model_id][trait]
    return [column["values"][place] for place in column["at"]]


def scrubber(steps: int = 6, curves: int = 1) -> Scrubber:
    frames = [Frame(step, encode_png(np.full((2, 2, 3), step, np.uint8))) for step in range(5, 5 * steps + 1, 5)]
    drawn = {f"curve {number}": loss_curves({"loss": np.arange(30.0) + number}) for number in range(curves)}
    return Scrubber(frames, drawn, describe=lambda step: f"loss {step / 5:g}.")


def test_a_scrubber_is_recorded_at_every_frame(recorded: Any) -> None:
    scrub: Any = scrubber()
    found = recorded(scrub)
    (control,) = found["controls"]
    assert control == {
        "model": scrub.slider.model_id, "name": "step", "labels": ["5", "10", "15", "20", "25", "30"], "at": 5, "of": 6,
    }  # fmt: skip
    assert (
        along(found, scrub.picture, "value")[1]
        == base64.b64encode(encode_png(np.full((2, 2, 3), 10, np.uint8))).decode()
    )
    assert along(found, scrub.plot, "cursor") == [5, 10, 15, 20, 25, 30]
    assert along(found, scrub._sentence, "text")[2] == "Step 15 of 30: loss 3."
    assert "_figure" not in found["changes"][scrub.plot.model_id], "the curve stays the same"
    assert scrub.slider.index == 5 and scrub.plot.cursor == 30


def test_the_buttons_of_its_curves_are_a_second_control_and_nothing_is_kept_twice(recorded: Any) -> None:
    scrub: Any = scrubber(curves=2)
    found = recorded(scrub)
    assert [len(control["labels"]) for control in found["controls"]] == [6, 2]
    assert found["controls"][1]["labels"] == ["curve 0", "curve 1"]
    figures = found["changes"][scrub.plot.model_id]["_figure"]
    assert len(figures["values"]) == 2 and figures["at"] == [0, 1] * 6
    assert found["changes"][scrub.picture.model_id]["tooltip"]["at"] == [number // 2 for number in range(12)]


def test_a_laboratory_is_recorded_along_its_first_control_as_if_nothing_had_been_on_show(recorded: Any) -> None:
    numbers = lab()()
    found = recorded(numbers)
    (control,) = found["controls"]
    assert control["labels"] == [str(power) for power in range(9)], "9 is refused"
    assert (control["name"], control["at"], control["of"]) == ("power", 3, 10)
    assert along(found, numbers._shown[0].widget, "value") == [f"('red', {10 * power}, 1)" for power in range(9)]
    assert along(found, numbers._sentence, "text")[8] == "Power 8, red."
    assert numbers.settings == numbers.start and numbers.error is None and numbers.sentence == "Power 3, red."
    assert sorted(numbers.world.asked) == list(range(9)), "each is computed once"


def test_a_quest_is_met_where_the_control_meets_it_alone(recorded: Any) -> None:
    quest = Quest("More than six.", lambda world, settings, known: settings.power > 6)
    numbers = lab(quest=quest)()
    found = recorded(numbers)
    assert ["★" in text for text in along(found, numbers.quest, "value")] == [power > 6 for power in range(9)]
    assert numbers.quest is not None and not numbers.quest.met


def test_a_laboratory_may_declare_another_control(recorded: Any) -> None:
    found = recorded(lab(still="colour")())
    assert found["controls"][0]["name"] == "colour" and found["controls"][0]["labels"] == ["red", "blue"]


def test_without_time_there_are_two_values_far_apart(recorded: Any) -> None:
    numbers = lab()(seconds=0.05)
    assert recorded(numbers, 0)["controls"][0]["labels"] == ["0", "3"]
    assert len(numbers.world.asked) == 2


def test_of_many_values_those_are_taken_that_lie_evenly(recorded: Any) -> None:
    class Few(Scrubber):
        def to_record(self) -> list[Moving]:
            return [Moving(self.slider, 3)]

    scrub = Few([Frame(step, encode_png(np.zeros((2, 2, 3), np.uint8))) for step in range(101)])
    control = recorded(scrub)["controls"][0]
    assert control["labels"] == ["0", "50", "100"] and control["at"] == 2 and control["of"] == 101


def test_a_process_is_played_to_its_end_and_recorded_along_its_steps(recorded: Any) -> None:
    images = made_data(size=8)
    teacher = networks.initialise(networks.spec("convnet", width=4).for_data(images), seed=0)
    live = Live("sre2l", images, teacher, sre2l.Config.teaching(iterations=12))
    found = recorded(live)
    assert live.state == "finished" and found["controls"][0]["labels"][0] == "0"
    assert found["controls"][0]["labels"][-1] == "12" and "Step 12 of 12" in along(found, live._sentence, "text")[-1]


def test_what_cannot_be_recorded_says_why_and_the_others_are(recorded: Any) -> None:
    class Broken(Explorer):
        def to_record(self) -> list[Moving]:
            raise RuntimeError("no way")

    broken, alone, wrong = Broken("Broken"), scrubber(steps=1), lab(views=[Html(lambda *given: (), lambda: "")])()
    wrong.world.value = None
    assert recorded(broken) == {"explorer": broken.model_id, "title": "Broken", "failed": "RuntimeError: no way"}
    assert recorded(alone)["failed"] == "step has only one value"
    assert "TypeError" in recorded(wrong)["failed"]
    assert "changes" in recorded(scrubber())


def test_an_explorer_without_controls_or_with_closed_ones_is_left_alone(recorded: Any) -> None:
    shown, shut = Explorer("Nothing to move"), lab()()
    shut.panel.disabled = True
    known = {one["explorer"] for one in recordings()}
    assert not known & {shown.model_id, shut.model_id}
    shown.close()
    shut.close()
