"""What every laboratory must hold: each `Lab` that the folders of lessons declare, and each
explorer that is none.

A new laboratory is found, moved, stopped, shared and closed as soon as it has a row of arguments
here.
"""

import contextlib
import importlib
import inspect
import pkgutil
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

pytest.importorskip("ipywidgets")  # the contract of processes is run where there are none, too

from ddlab import lessons, methods, networks
from ddlab.core import DDLabError, describe
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.evaluation import embeddings
from ddlab.explorers import Lab, Laboratory, Live, Part, ahead, recording, schedule
from ddlab.explorers.layout import Explorer
from ddlab.lessons.build import NOTEBOOKS
from ddlab.methods import sre2l
from ddlab.networks import Network, NetworkSpec
from ddlab.runs import Run
from tests.contract.material import Material
from tests.explorers.test_recording import moved_in, unpacked
from tests.lessons.rows import rows
from tests.support import assert_sentence

Make = Callable[..., Laboratory]
Arguments = dict[str, Any]

_TIME = re.compile(r"about [\d.,]+ (s|min|h|seconds|minutes|hours)\b")


LABS: dict[str, Callable[[Material], Arguments]] = {
    "Live": lambda g: {
        "method": "sre2l",
        "data": g.data,
        "teacher": g.teacher,
        "config": sre2l.Config.teaching(iterations=20),
    },
    "a film": lambda g: {"method": g.recovery()},
    **dict(row for _, row in rows("LABS")),
}
"""Laboratory -> right arguments."""


def declared_classes() -> dict[str, Any]:
    """The laboratories that the folders of lessons declare, and those of every process."""
    declared: dict[str, Any] = {"Live": Live, "a film": Live}
    for module in pkgutil.walk_packages(lessons.__path__, "ddlab.lessons."):
        members = vars(importlib.import_module(module.name)) if module.name.count(".") > 2 else {}
        room = module.name.rpartition(".")[0]
        for name, value in members.items():
            lab = isinstance(value, Lab) and value.make_world.__module__.rpartition(".")[0] == room
            if lab or (
                inspect.isclass(value)
                and issubclass(value, Explorer)
                and value.__module__ == module.name
            ):
                declared[name] = value
    return declared


@pytest.fixture(scope="module")
def material(
    grey: ImageData,
    teacher: Network,
    distilled: DistilledSet,
    tmp_path_factory: pytest.TempPathFactory,
) -> Material:
    return Material(grey, teacher, distilled, tmp_path_factory.mktemp("labs"))


@pytest.fixture(params=LABS)
def make(
    request: pytest.FixtureRequest, material: Material, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Make]:
    """Makes a laboratory; closed afterwards, when no thread is left, none has let anything out, and
    torch has its threads.
    """
    # UMAP compiles for ten seconds, and `test_embeddings` has it.
    monkeypatch.setattr(embeddings, "_umap", embeddings._pca)
    escaped: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", escaped.append)
    opened: list[Laboratory] = []

    def open_laboratory(key: str = "lab") -> Laboratory:
        lab = declared_classes()[request.param](**LABS[request.param](material), key=key)
        opened.append(lab)
        if lab.prediction is not None:
            lab.commit(lab.lab.question[1][0])
        return lab

    yield open_laboratory
    for lab in opened:
        lab.close()
    assert escaped == [] and own_threads() == [] and torch.get_num_threads() == 1


def odd(config: Any, rules: Callable[[Any], Any]) -> Any:
    """A config each of whose fields has another value, where `rules` let it."""
    for name, field in describe(config).items():
        value = getattr(config, name)
        candidates: tuple[Any, ...] = tuple(
            choice for choice in field.choices or () if choice != value
        )
        if isinstance(value, NetworkSpec):
            candidates = (
                networks.spec("mlp", width=5),
                networks.spec("convnet", width=6, norm="instance"),
            )
        elif isinstance(value, bool):
            candidates = (not value,)
        elif isinstance(value, int | float) and not field.choices:
            candidates = (
                (value + 1, value - 1) if isinstance(value, int) else (value * 0.875 + 0.01,)
            )
        for candidate in candidates:
            with contextlib.suppress(DDLabError):
                changed = config.replace(**{name: candidate})
                rules(changed)
                config = changed
                break
    return config


def names_with_config() -> list[str]:
    """The laboratories that take a Config. A film has that of its run."""
    names = [
        name
        for name in LABS.keys() - {"a film"}
        if "config" in inspect.signature(declared_classes()[name].make_world).parameters
    ]
    return sorted(names)


@pytest.mark.parametrize("name", names_with_config())
def test_a_laboratory_runs_the_config_that_it_was_given(name: str, material: Material) -> None:
    """Every field of it: what no control shows is not silently that of a preset."""
    lab = declared_classes()[name]
    arguments = dict(LABS[name](material))
    arguments.pop("settings", None)

    def configs(config: Any) -> list[Any]:
        world = lab.make_world(**arguments | {"config": config})
        start = world.start.replace(memory="learned") if name == "MemoryLab" else world.start
        watched = lab.run(world, start) if lab.run else None
        jobs = [*lab.jobs(world, start, watched), *([watched] if watched else [])]
        parts = []
        for job in jobs:
            run = job.run if isinstance(job, Part) else job
            parts.extend([run.config] if isinstance(run, Run) else run.arguments)
        return [part for part in parts if isinstance(part, type(config))]

    config = odd(arguments["config"], configs)
    differ = []
    for used in configs(config):
        differ.append([f for f in describe(config) if getattr(used, f) != getattr(config, f)])
    assert sum(getattr(config, f) != getattr(arguments["config"], f) for f in describe(config)) >= 5
    assert min(differ, key=len) == CHANGED_FIELDS.get(name, []), (
        f"{name} runs with other values than it was given"
    )


# Made in one pass over the data: there is nothing between the first step and the last.
IN_ONE_PASS = {"selection", "representation_selection", "ls", "rela"}


def test_every_method_is_replayed_on_a_page(material: Material) -> None:
    missing = {*methods.names()} - {methods.get(name).NAME for name in IN_ONE_PASS}
    for path in (NOTEBOOKS / "solutions").glob("*.ipynb"):
        played = re.findall(r'Live\(\\"(\w+)\\"', path.read_text(encoding="utf-8"))
        missing -= {methods.get(name).NAME for name in played}
    for name, lab in declared_classes().items():
        if not isinstance(lab, Lab):
            continue
        arguments = LABS[name](material)
        arguments.pop("settings", None)
        world = lab.make_world(**arguments)
        for settings in varied(world.start):
            with contextlib.suppress(DDLabError):  # what cannot be is refused
                run = lab.run(world, settings) if lab.run else None
                for job in (run, *lab.jobs(world, settings, run)):
                    job_run = job.run if isinstance(job, Part) else job
                    if isinstance(job_run, Run):
                        missing.discard(job_run.process.NAME)
    assert missing == set(), "no page replays them, by a laboratory or by explorers.Live"


def varied(start: Any) -> Iterator[Any]:
    """The first settings, and each other choice of a field alone."""
    yield start
    for name, description in describe(start).items():
        is_switch = isinstance(getattr(start, name), bool)
        for choice in description.choices or ((True, False) if is_switch else ()):
            with contextlib.suppress(DDLabError):
                yield start.replace(**{name: choice})


# What their own controls say, or what is on show: one image of each class, of which students learn
# from all.
CHANGED_FIELDS = {
    "ResidualLab": ["images_per_class"],
    "MemoryLab": ["start"],
    "LabelsAgainstImages": ["labels"],
}


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("ddlab")]


def settled(lab: Laboratory) -> None:
    """Wait until nothing is computed; raises what a thread raised."""
    lab.runner.join(60)


def stops(lab: Laboratory, name: str) -> list[Any]:
    """Three places of a control, where it stands and the nearest: what these take is what the first
    one takes.
    """
    control: Any = lab.panel[name]
    if hasattr(control, "options"):
        values = [value for _, value in control.options]
    else:
        values = [round(control.min + n * (control.max - control.min) / 20, 6) for n in range(21)]
        values = sorted({type(control.value)(value) for value in values})
    at = min(range(len(values)), key=lambda n: values[n] != control.value)
    return sorted(values, key=lambda value: abs(values.index(value) - at))[:3]


def visible_controls(lab: Laboratory) -> list[str]:
    """The controls that are not folded away."""
    return [name for name in lab.panel if lab.panel[name] in lab.panel.children]


def other_settings(lab: Laboratory) -> Any:
    """Settings which the laboratory takes, and which are not those of now: two controls stand
    elsewhere.
    """
    settings = lab.world.start
    for name in visible_controls(lab)[:2]:
        for value in stops(lab, name):
            with contextlib.suppress(DDLabError):
                new = settings.replace(**{name: value})
                lab.lab.check(lab.world, new)
                if getattr(new, name) != getattr(settings, name):
                    settings = new
                    break
    assert settings != lab.world.start
    return settings


def behind(lab: Laboratory) -> list[str]:
    """The views that do not show what there is to be shown once their tab is open."""
    names = []
    # Those on show first: a tab that opens draws all that is on show then.
    for view_on_page in sorted(lab.views_on_page, key=lambda one: one.is_hidden):
        view_on_page.bring_forward()
        data = view_on_page.view.data(lab.world, lab.settings, lab.results)
        if data is not None and data != view_on_page._data:
            names.append(view_on_page.view.draw.__name__)
    return names


def at_rest(lab: Laboratory) -> bool:
    return lab.progress.description == "" and lab.progress.value == 0 and behind(lab) == []


def pictures(lab: Laboratory) -> list[Any]:
    """What each view shows: the bytes of a picture, the text of a table, the figure of a chart."""
    widgets = [view_on_page.widget for view_on_page in lab.views_on_page]
    return [getattr(widget, "value", None) or getattr(widget, "figure", None) for widget in widgets]


def on_page(lab: Laboratory) -> dict[str, Any]:
    """All that a reader sees: what views show, the sentence, the buttons and the quest."""
    lab.draw(with_hidden=True)
    drawn = [
        picture.to_json() if hasattr(picture, "to_json") else picture for picture in pictures(lab)
    ]
    buttons = [(button.description, button.disabled) for button in lab.buttons.values()]
    quest = None if lab.quest is None else lab.quest.met
    return {"views": drawn, "sentence": lab.sentence, "buttons": buttons, "quest": quest}


def test_what_is_computed_ahead_is_not_seen_before_it_is_asked_for(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in a view, a sentence, a button or the quest: tried means shown."""
    monkeypatch.setattr(ahead, "_REST", -1.0)
    monkeypatch.setattr(schedule, "MOST_AHEAD", 3)
    lab = make()
    settled(lab)
    before = on_page(lab)
    lab.schedule.watch_reader(True)
    settled(lab)
    assert on_page(lab) == before
    assert before["quest"] in (None, False), "a quest is not met at the opening"


def test_every_laboratory_has_its_row() -> None:
    declared = declared_classes()
    labs = {name for name, value in declared.items() if isinstance(value, Lab)}
    assert labs == LABS.keys() == declared.keys(), "every explorer of a lesson is a laboratory"
    assert all(value.__doc__ and value.title for value in declared.values())


def test_at_most_four_controls_are_seen_and_the_rest_is_folded_away(make: Make) -> None:
    lab = make()
    assert 1 <= len(visible_controls(lab)) <= 4, (
        f"one to four of its `controls` are seen, not {len(visible_controls(lab))}"
    )
    folded = [lab.panel[name] for name in lab.panel if name not in visible_controls(lab)]
    assert list(lab.panel.folded_box.children) == folded
    assert all(
        described.help
        for name, described in describe(lab.world.start).items()
        if name in list(lab.panel)
    )


def test_run_ends_at_rest_with_a_picture_in_each_view(make: Make) -> None:
    lab = make()
    assert lab.run() is lab and at_rest(lab) and lab.error is None
    assert lab.sentence and "Being computed" not in lab.sentence and "..." not in lab.sentence
    for view_on_page, picture in zip(lab.views_on_page, pictures(lab), strict=True):
        assert picture, view_on_page.view.draw.__name__
        assert getattr(picture, "data", True), "a chart without a trace"


def test_a_shared_text_restores_what_is_on_show(make: Make) -> None:
    lab = make()
    lab.panel.value = other_settings(lab)
    lab.run()
    lab.slider.index = len(lab.slider.options) // 2
    settled(lab)
    settings = lab.settings
    sentence = lab.sentence
    text = lab.share_field.value
    lab.reset_button.click()
    settled(lab)
    assert lab.settings == lab.world.start
    lab.share_field.value = text
    settled(lab)
    assert lab.settings == settings and lab.sentence == sentence and lab.share_field.value == text
    again = make("again")
    again.share_field.value = text
    again.run()
    assert again.settings.to_dict() == settings.to_dict() and untimed(again.sentence) == untimed(
        sentence
    )


def test_it_is_recorded_for_a_page_and_is_as_it_was(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "_MOST_STOPS", 2)
    monkeypatch.setattr(recording, "_MOST_STEPS", 2)
    monkeypatch.setattr(recording, "_MOST_MARKS", 2)
    monkeypatch.setattr(recording, "_MOST_PAIRS", 2)
    monkeypatch.setattr(recording, "_MOST_OF_A_PAIR", 1)
    lab = make().run()
    settings = lab.settings
    replay = recording.record(lab)
    values, states = unpacked(replay)
    assert lab.settings == settings and lab.error is None and lab.schedule.refusal == ""
    moved = set()
    for state in states:
        for number, place in enumerate(state["places"]):
            if place != states[0]["places"][number]:
                moved.add(number)
    for number, control in enumerate(replay.controls):
        if number in moved or "question" in control or len(control["stops"]) == 1:
            continue
        (name,) = (name for name in lab.panel if lab.panel[name].model_id == control["model"])
        for stop in {*control["stops"]} - {getattr(settings, name)}:
            with pytest.raises(DDLabError):
                lab.panel.value = settings.replace(**{name: stop})
    # What is set is what is shown, one move or two away.
    apart = {press["state"] for press in replay.presses}
    apart |= {state[-1] for drag in replay.drags for state in drag["states"]}
    numbers = [number for number in range(replay.moves) if number not in apart]
    for number in numbers[:: max(1, len(numbers) // 6)]:
        lab.panel.value = settings  # a view that waits for its data leaves what was on show
        lab.run().forget()
        state = states[number]
        lab.panel.value = settings.replace(**moved_in(state, states[0], replay, lab))
        lab.run().forget()
        recorded = states[0]["traits"] | state["traits"]
        for widget in recording._tree(lab):
            for trait in ("text", "_figure", "alt"):
                at = recorded.get(f"{widget.model_id} {trait}")
                if at is not None:
                    assert untimed(values[at]) == untimed(getattr(widget, trait)), state["places"]


def test_a_setting_that_is_none_is_refused_in_one_sentence_and_nothing_moves(make: Make) -> None:
    lab = make()
    lab.run()
    before = lab.panel.value
    sentence = lab.sentence
    figures_before = pictures(lab)
    for name, described in {"no_such_field": None, **describe(lab.world.start)}.items():
        low = None if described is None or described.range is None else described.range[0]
        wrong = "[]" if low is None else f"{low - 1:g}"
        with pytest.raises(DDLabError) as caught:
            lab.share_field.value = f"{name}={wrong}"
        assert_sentence(caught.value, name)
        settled(lab)
        assert lab.error is caught.value and lab.panel.value == before and lab.sentence == sentence
        assert pictures(lab) == figures_before


def test_stop_leaves_everything_and_reset_begins_anew(make: Make) -> None:
    lab = make()
    lab.panel.value = other_settings(lab)
    for button in lab.buttons.values():
        button.click()
        lab.stop_button.click()
    settled(lab)
    assert lab.error is None and at_rest(lab) and lab.stop_button.disabled
    lab.reset_button.click()
    settled(lab)
    assert lab.panel.value == lab.settings == lab.world.start and lab.error is None and at_rest(lab)


def test_a_cell_that_runs_again_closes_what_it_replaces(make: Make) -> None:
    first = make()
    for button in first.buttons.values():
        button.click()
    first.panel.value = other_settings(first)
    second = make()
    assert first.runner.thread is None and first.comm is None
    settled(second)
    second.close()
    assert own_threads() == []


def moved(lab: Laboratory, number: int) -> None:
    """One of the reader's changes: a control or the slider of steps; settings that the laboratory
    refuses are told.
    """
    names = list(lab.panel) if number % 20 == 0 else visible_controls(lab)
    name = names[number % len(names)]
    with contextlib.suppress(DDLabError):
        if number % 3 == 2 and lab.lab.run:
            lab.slider.index = number % len(lab.slider.options)
        else:
            places = stops(lab, name)
            lab.panel[name].value = places[number // 7 % len(places)]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("changes", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_many_changes_end_on_the_last(make: Make, changes: int) -> None:
    lab = make()
    last = other_settings(lab)
    for button in [*lab.buttons.values()][:1]:
        button.click()
    for number in range(changes):
        moved(lab, number)
    lab.panel.value = last
    settled(lab)
    assert (
        lab.error is None
        and lab.schedule.refusal == ""
        and lab.settings == lab.panel.value == last
        and at_rest(lab)
    )
    sentence = untimed(lab.run().sentence)
    fresh = make("fresh")
    fresh.share_field.value = lab.share_field.value
    assert untimed(fresh.run().sentence) == sentence


def test_closed_in_the_middle(make: Make) -> None:
    """The page is left while something is computed; later changes do nothing harmful."""
    lab = make()
    for button in lab.buttons.values():
        button.click()
    for number in range(20):
        moved(lab, number)
    lab.close()
    assert own_threads() == []
    error = lab.error
    moved(lab, 5)
    assert lab.error is error


def untimed(text: str) -> str:
    """Without the times that a sentence tells."""
    return _TIME.sub(r"about ... \1", text)
