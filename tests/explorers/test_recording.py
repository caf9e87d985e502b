"""Recorded explorers: what a page replays is what the live laboratory shows at the same stops."""

import base64
import gzip
import io
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image

from ddlab.core import DDLabError, Parameters, parameter
from ddlab.explorers import (
    BUTTON,
    DRAG,
    Change,
    Chart,
    Compute,
    Lab,
    Laboratory,
    Quest,
    Strip,
    Tabs,
    Value,
    export,
    recording,
)
from ddlab.explorers import exporting as export_module
from ddlab.explorers.lab import ALL_PAIRS
from ddlab.explorers.layout import explorers_on_page
from ddlab.explorers.recording import Replay, _states, _tree, record, record_page
from ddlab.figures import encode_grid, loss_curves, tried_settings
from ddlab.lessons.memories.plane import PlaneLab
from ddlab.lessons.trajectories.one_expert import OneExpert
from tests.explorers.test_lab import OF_RUNS, declared


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Two controls in front and one that is folded away."""

    rate: float = parameter(0.5, range=(0, 3), explorable=(0, 2), step=0.5, help="Of descent.")
    start: str = parameter("near", choices=("near", "far"), explorable=True, help="Of x.")
    steps: int = parameter(5, range=(1, 9), explorable=(1, 9), help="Of descent.")


class World:
    """Gradient descent on x² / 2."""

    start = Settings()

    def losses(self, settings: Settings, *, watch: Any) -> tuple[float, ...]:
        x = 1.0 if settings.start == "near" else 2.0
        losses = []
        for step in range(settings.steps):
            watch("descending", step / settings.steps)
            losses.append(x**2 / 2)
            x -= settings.rate * x
        return tuple(losses)


def losses(world: World, settings: Settings, results: Any) -> tuple | None:
    known = results(Value(world.losses, settings))
    return None if known is None else (known,)


def curve_of(values: tuple[float, ...]) -> Any:
    return loss_curves({"loss": values}, title="Loss")


def ends(world: World, settings: Settings, results: Any) -> tuple:
    """The last losses of the rates that were tried, of either start."""
    arms: dict[str, dict[float, list[float]]] = {settings.start: {}}
    for (tried,), values in results.every(world.losses):
        if tried.steps == settings.steps:
            arms.setdefault(tried.start, {})[tried.rate] = [values[-1], values[-1] / 2]
    return tuple((name, tuple(sorted(arm.items()))) for name, arm in arms.items()), settings.rate


def ends_of(arms: tuple, rate: float) -> Any:
    by_rate = {name: dict(arm) for name, arm in arms}
    (first, *_) = by_rate.values()
    ring = (rate, first[rate][0]) if rate in first else None
    return tried_settings(by_rate, title="Ends", x_label="rate", on_show=ring, places=(0, 2))


def picture(values: tuple[float, ...]) -> tuple[bytes, str]:
    grey = np.full((1, 2, 2, 3), round(100 * values[0]), np.uint8)
    return encode_grid(grey, 1), f"a grey of {values[0]}"


def sentence(world: World, settings: Settings, results: Any) -> str:
    known = results(Value(world.losses, settings))
    return "Not known." if known is None else f"{settings.rate:g}, {settings.start}: {known[-1]:g}."


DECLARED: dict[str, Any] = {
    "controls": ("rate", "start"),
    "folded": ("steps",),
    "jobs": lambda world, settings, run: [Value(world.losses, settings)],
    "opens_with": 1,
    "views": [
        Strip(losses, picture),
        Tabs(
            ("Curve", Chart(losses, curve_of)),
            ("End", Chart(losses, lambda values: loss_curves({"end": [values[-1]]}, title="End"))),
        ),
        Chart(ends, ends_of, ghosts=False, tried=("rate", "start")),
    ],
    "buttons": [
        Compute(
            "Fewer steps",
            lambda world, settings, results: [Value(world.losses, settings.replace(steps=2))],
        )
    ],
    "quest": Quest("Explode.", lambda world, settings, results: settings.rate >= 2),
    "sentence": sentence,
}
DescentLab = Lab("At which rate?", World, **DECLARED)
QuestionLab = Lab("Which way?", World, **DECLARED, question=("Down?", ["yes", "no"]))
PairLab = Lab("At which rate, from where?", World, **DECLARED, pairs=[("rate", "start")])


@pytest.fixture
def laboratory() -> Iterator[Laboratory]:
    for explorer in explorers_on_page():
        explorer.close()  # another test's is on no page of this one
    opened = DescentLab(key="recorded")
    yield opened
    opened.close()


def unpacked(replay: Replay) -> tuple[list[Any], list[dict[str, Any]]]:
    """Values and states as the page has them, bytes again as bytes."""
    text = gzip.decompress(replay.packed)
    recorded = json.loads(text)
    values = []
    for value in recorded["values"]:
        is_bytes = isinstance(value, dict) and "base64" in value
        values.append(base64.b64decode(value["base64"]) if is_bytes else value)
    return values, recorded["states"]


@pytest.mark.parametrize(
    ("lab", "count"),
    [
        (DescentLab, 1 + 4 + 1),
        (PairLab, 1 + 4 + 1 + 4),
        (QuestionLab, 1 + 2 * 6),
        (declared(**OF_RUNS), 1 + 8 + 24 + 4),
    ],
)
def test_each_recorded_stop_is_what_a_live_laboratory_shows(lab: Any, count: int) -> None:
    laboratory = lab(key="recorded").run()
    laboratory.forget()
    first = _states(laboratory)
    order = [str(widget.model_id) for widget in _tree(laboratory)]
    replay = record(laboratory)
    values, states = unpacked(replay)
    presses = len(replay.presses)
    assert len(states) == count + presses
    for state in states[: len(states) - presses]:
        live = lab(key="live").run()
        if live.prediction is not None:
            live.prediction.locked = (None, "yes", "no")[state["places"][0]]
        live.panel.value = live.world.start.replace(**moved_in(state, states[0], replay, live))
        live.run()
        live.forget()  # what was tried before, the page adds
        shown = dict(zip(order, _states(live).values(), strict=True))
        replayed = {model: dict(traits) for model, traits in first.items()}
        for key, number in (states[0]["traits"] | state["traits"]).items():
            model, trait = key.split(" ")
            replayed[model][trait] = values[number]
        controls = {control.get("model") for control in replay.controls}
        for model, traits in shown.items():
            for trait, value in traits.items():
                grey = trait == "disabled" and model in replay.inactive
                # Names of models, which differ from one laboratory to the next.
                names_models = trait in ("children", "layout", "style", "_own", "_anywidget_id")
                if grey or names_models or model in controls or trait == "_dom_classes":
                    continue
                assert as_shown(replayed[model][trait]) == as_shown(value), (state["places"], trait)
        live.close()
    laboratory.close()


def moved_in(state: Any, opening: Any, replay: Replay, live: Laboratory) -> dict[str, Any]:
    """The settings of a recorded state that differ from those of the opening one."""
    moved = {}
    places = zip(replay.controls, state["places"], opening["places"], strict=True)
    for control, place, home in places:
        if place != home and "question" not in control:
            name, at = control["name"], control["stops"][place]
            widget: Any = live.slider if name == "step" else live.panel[name]
            moved[name] = widget.options[at][1] if control["trait"] == "index" else at
    return moved


def as_shown(value: Any) -> Any:
    """What travels to the page: lists for tuples, pictures by their pixels."""
    if isinstance(value, bytes | memoryview):
        content = bytes(value)
        if content[:4] not in (b"\x89PNG", b"RIFF"):
            return content
        return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).tolist()
    return json.loads(json.dumps(value, default=list))


def test_recording_leaves_the_laboratory_as_it_opened(laboratory: Laboratory) -> None:
    before = laboratory.sentence
    replay = record(laboratory)
    assert laboratory.panel.value == Settings() and laboratory.sentence == before
    assert laboratory.quest is not None and not laboratory.quest.met
    _, states = unpacked(replay)
    rates = [[1, 0], [0, 0], [2, 0], [3, 0], [4, 0]]
    assert [state["places"] for state in states] == [*rates, [1, 1], [1, 0]]
    folded = laboratory.panel["steps"].model_id
    assert {folded, laboratory.stop_button.model_id} <= {*replay.inactive}
    tabs, more = sorted(replay.switches, key=lambda switch: switch["trait"])[:2]
    assert len(tabs["layouts"]) == 2 and len(more["layouts"]) == 1


def test_points_are_dragged_through_a_grid_of_places() -> None:
    laboratory = OneExpert(key="dragged").run()
    replay = record(laboratory, {"drag": 11, "steps": 2, "rate": 2, "epochs": 2})
    values, states = unpacked(replay)
    (drag,) = replay.drags
    # The last one is the quest's solution.
    assert drag["side"] == 3 and len(drag["states"]) == 9 + 1 == len(states) - replay.moves + 1
    sliders = laboratory.views_on_page[0].sliders
    assert sliders is not None and not {*drag["sliders"]} & {*replay.inactive}
    live = OneExpert(key="live").run()
    sentence = f"{laboratory._sentence.model_id} text"
    for point, x, y, number in drag["states"][::4]:
        live.put(live.views_on_page[0].view.drag, point, x, y)
        live.run()
        assert values[states[number]["traits"][sentence]] == live.sentence
        live.panel.value = live.world.start
    live.close()
    laboratory.close()


def test_a_slider_keeps_both_ends_and_where_it_opened() -> None:
    values = list(range(1, 21))
    assert recording._thin(values, 12, 2) == (1, 12, 20)
    assert recording._thin(values, 20, 2) == (1, 20)
    assert recording._thin(values, 19, 4) == (1, 7, 19, 20)
    assert recording._thin(values, 12, 1) == (12,)


def test_marks_are_clicked_one_at_a_time() -> None:
    laboratory = PlaneLab(key="clicked").run()
    replay = record(laboratory, {"click": 4} | dict.fromkeys([*laboratory.panel, "step"], 1))
    values, states = unpacked(replay)
    (clicks,) = replay.clicks
    assert clicks["plot"] == laboratory.views_on_page[0].widget.model_id
    assert len(clicks["states"]) == 4 == len(states) - replay.moves
    live = PlaneLab(key="live").run()
    sentence = f"{laboratory._sentence.model_id} text"
    sentences = set()
    for number, (mark, x, y, state) in enumerate(clicks["states"], 1):
        live.views_on_page[0].widget.clicked = {
            "count": number,
            "customdata": mark,
            "x": x,
            "y": y,
        }
        live.run()
        sentences.add(live.sentence)
        assert values[states[state]["traits"][sentence]] == live.sentence
        live.panel.value = live.world.start
    assert len(sentences) > 1 and laboratory.panel.value == laboratory.world.start
    live.close()
    laboratory.close()


def test_a_run_that_goes_on_is_a_film() -> None:
    go_on = Compute("Go on", lambda world, settings, results: [results.run], goes_on=True)
    laboratory = declared(**OF_RUNS, buttons=[go_on])(key="film").run()
    replay = record(laboratory)
    assert replay.films == [laboratory.buttons[go_on].model_id] and replay.presses == []
    laboratory.close()


def test_what_was_not_moved_is_left_to_a_kernel() -> None:
    laboratory = OneExpert(key="dragged").run()
    # Eight places are too few for a grid, and one stop is no control.
    replay = record(laboratory, {"drag": 8, "steps": 2, "rate": 1, "epochs": 2})
    sliders = laboratory.views_on_page[0].sliders
    assert replay.drags == [] and sliders is not None
    still = {sliders.point.model_id, sliders.across.model_id, laboratory.panel["rate"].model_id}
    assert still <= {*replay.inactive} and len(replay.controls) == 2
    laboratory.close()


@pytest.mark.parametrize("has_kaleido", [True, False])
def test_a_sentence_stands_for_an_explorer_where_no_script_runs(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch, has_kaleido: bool
) -> None:
    monkeypatch.setattr(recording.importlib.util, "find_spec", lambda name: has_kaleido or None)
    monkeypatch.setattr(
        go.Figure, "to_image", lambda figure, *_, **__: figure.layout.title.text.encode()
    )
    at_display = laboratory._repr_mimebundle_()
    assert laboratory.sentence in at_display["text/html"] and "image/png" not in at_display
    in_words = record_page()[laboratory.model_id]
    assert (
        laboratory.title in in_words["text/html"] and laboratory.sentence in in_words["text/html"]
    )
    picture = in_words.get("image/png")
    assert picture == (base64.b64encode(b"Loss").decode() if has_kaleido else None)
    assert picture is None or picture in in_words["text/html"]


def test_an_exported_page_holds_its_explorer_alone(
    laboratory: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_module, "put_scripts", lambda folder: None)
    other = DescentLab(key="other")
    page = export(laboratory, tmp_path / "page.html").read_text(encoding="utf-8")
    assert laboratory.model_id in page and other.model_id not in page
    assert not any(isinstance(child, Replay) for child in laboratory.controls_box.children)
    other.close()


def test_an_exported_page_stands_without_scripts_and_with_any_name(
    laboratory: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_module, "put_scripts", lambda folder: None)
    laboratory.title = laboratory._title.value = "A class <!--<script>"
    page = export(laboratory, tmp_path / "page.html").read_text(encoding="utf-8")
    standing = page[page.index('<div id="stand-in">') : page.index("</div>")]
    assert "A class &lt;!--&lt;script&gt;" in standing and laboratory.sentence in standing
    assert "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:" in standing
    for element in re.findall(r'json">(.*?)</script>', page, flags=re.DOTALL):
        assert "<" not in element and json.loads(element)
    assert "<!--" not in page
    plain = laboratory._repr_mimebundle_()["text/plain"]
    assert plain == repr(laboratory) == f"Explorer: {laboratory.title}. {laboratory.sentence}"


def test_what_cannot_be_exported_is_refused_in_a_sentence(
    laboratory: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DDLabError, match=r"path must end in \.html"):
        export(laboratory, tmp_path / "page.pdf")
    with pytest.raises(DDLabError, match="explorer must be"):
        export("no explorer", tmp_path / "page.html")  # type: ignore[arg-type]
    monkeypatch.setattr(type(laboratory.runner), "task", property(lambda runner: object()))
    with pytest.raises(DDLabError, match="still computing"):
        export(laboratory, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_missing_scripts_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise subprocess.CalledProcessError(1, "npm", stderr="no such registry")

    monkeypatch.setattr(export_module.subprocess, "run", refuse)
    with pytest.raises(DDLabError, match=r"requirejs@.*no such registry"):
        export_module.put_scripts(tmp_path)
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DDLabError, match="npm is missing"):
        export_module.put_scripts(tmp_path)


def test_a_control_that_plays_no_part_is_recorded_with_what_wakes_it() -> None:
    def unused(world: World, settings: Settings) -> tuple[str, ...]:
        return ("start",) if settings.rate < 1 else ()

    pairs = {"unused": unused, "pairs": ALL_PAIRS}
    laboratory = Lab("Awake?", World, **DECLARED, **pairs)(key="awake").run()
    _, states = unpacked(record(laboratory))
    far = [rate for rate, start in (state["places"] for state in states) if start == 1]
    assert far == [2, 3, 4], "at the rates of 1 and more"
    laboratory.close()


def test_a_button_that_changes_settings_is_pressed() -> None:
    def go_far(settings: Settings) -> Settings:
        return settings.replace(start="far", rate=1.0)

    far = Change("From afar", go_far)
    declaration = DECLARED | {"buttons": [far, *DECLARED["buttons"]]}
    laboratory = Lab("How far?", World, **declaration)(key="far").run()
    replay = record(laboratory)
    button = laboratory.buttons[far].model_id
    assert button not in replay.inactive
    (number,) = (press["state"] for press in replay.presses if press["model"] == button)
    values, states = unpacked(replay)
    sentence = values[states[number]["traits"][f"{laboratory._sentence.model_id} text"]]
    live = Lab("How far?", World, **declaration)(key="live").run()
    live.buttons[far].click()
    live.run()
    assert sentence == live.sentence and laboratory.panel.value == Settings()
    stops = [
        control["stops"][place]
        for control, place in zip(replay.controls, states[number]["places"], strict=True)
    ]
    assert stops == [1.0, 1], "the controls follow"
    for opened in (live, laboratory):
        opened.close()


@pytest.mark.parametrize("can_be_met", [True, False])
def test_a_page_knows_whether_its_quest_can_be_met(can_be_met: bool) -> None:
    quest = Quest(
        "Explode.", lambda world, settings, results: settings.rate > (1 if can_be_met else 2)
    )
    laboratory = Lab("When?", World, **DECLARED | {"quest": quest})(key="quest").run()
    on_page = record(laboratory).quest
    assert on_page["model"] == laboratory.quest.model_id and on_page["solutions"] == []
    assert on_page["can_be_met"] is can_be_met
    laboratory.close()


def faster_than_before(world: World, settings: Settings, results: Any) -> bool:
    """A quest that one state alone cannot meet."""
    rates = {past.rate for past in results.past}
    return settings.start == "far" and rates == {0.5, 1.5}


def test_the_solution_of_a_quest_is_recorded_if_it_meets_it() -> None:
    solution = [("rate", 1.5), ("start", "far")]
    for met, count in ((faster_than_before, 2), (lambda *_: False, 0)):
        quest = Quest("Be faster than before.", met, solution)
        laboratory = Lab("How fast?", World, **DECLARED | {"quest": quest})(key="solved").run()
        replay = record(laboratory, {"rate": 3})
        (numbers,) = replay.quest["solutions"] or [[]]
        assert len(numbers) == count and replay.quest["can_be_met"] is bool(count)
        _, states = unpacked(replay)
        stops = [control["stops"] for control in replay.controls]
        places = [states[number]["places"] for number in numbers]
        assert places == [[stops[0].index(1.5), 0], [stops[0].index(1.5), 1]][:count]
        assert laboratory.panel.value == Settings() and not laboratory.quest.met
        laboratory.close()


def test_buttons_and_one_dragged_point_may_be_in_a_solution() -> None:
    press = (BUTTON, "Fewer steps")
    pressed = lambda world, settings, results: (  # noqa: E731
        settings.rate == 1 and results(Value(world.losses, settings.replace(steps=2))) is not None
    )
    quest = Quest("Press.", pressed, [("rate", 1.0), press])
    laboratory = Lab("Pressed?", World, **DECLARED | {"quest": quest})(key="solved").run()
    replay = record(laboratory)
    ((moved, after),) = replay.quest["solutions"]
    button = next(iter(laboratory.buttons.values())).model_id
    assert {"model": button, "after": moved, "state": after} in replay.presses
    values, states = unpacked(replay)
    figures = [values[at] for key, at in states[after]["traits"].items() if "_figure" in key]
    assert figures and not any("ghost" in figure for figure in figures), "the page adds its own"
    laboratory.close()
    laboratory = OneExpert(key="solved").run()
    replay = record(laboratory, {"drag": 11, "rate": 2, "epochs": 2})
    ((_, number),) = replay.quest["solutions"]
    (place,) = ((point, x, y) for point, x, y, to in replay.drags[0]["states"] if to == number)
    assert laboratory.declared_quest.solution[-1] == (DRAG, place)
    laboratory.close()


def test_a_slider_of_steps_matches_runs_by_update() -> None:
    laboratory = declared(**OF_RUNS)(key="steps").run()
    replay = record(laboratory)
    (steps,) = (control for control in replay.controls if control["is_step"])
    options = [float(label) for label, _ in laboratory.slider.options]
    assert steps["updates"] == [options[place] for place in steps["stops"]]
    assert [control["labels"] for control in replay.controls if not control["is_step"]]
    laboratory.close()
