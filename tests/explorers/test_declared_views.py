"""What a laboratory's declaration can say of its views and jobs, on a laboratory of nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import pytest
import torch

from ddlab.core import Parameters, parameter
from ddlab.explorers import Chart, Compute, Html, Lab, Laboratory, Row, Tabs, Value
from ddlab.explorers.layout import explorers_on_page
from ddlab.figures import loss_curves
from tests.support import refuses


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Two numbers."""

    height: int = parameter(1, range=(0, 9), explorable=(0, 9), help="Of the curve; none at 0.")
    seed: int = parameter(0, range=(0, 9), explorable=(0, 9), help="Of nothing.")


class World:
    """Where the settings start, and what was computed."""

    def __init__(self) -> None:
        self.start = Settings()
        self.asked: list[int] = []

    def work(self, height: int, *, watch: Callable[[str, float], None]) -> int:
        self.asked.append(height)
        return height


def height(world: World, settings: Settings, results: Any) -> tuple[int]:
    return (settings.height,)


def curve(height: int) -> go.Figure:
    return loss_curves({"loss": [0, height]})


def moved(figure: go.Figure, height: int) -> go.Figure:
    figure.data[0].y = [0, height]
    return figure


def past(world: World, settings: Settings, results: Any) -> tuple[str]:
    return (" ".join(f"{past_settings.height}" for past_settings in results.past),)


def jobs(world: World, settings: Settings, results: Any = None) -> list[Value]:
    return [Value(world.work, settings.height)]


MOVING = Chart(height, curve, move=moved)
Small = Lab(
    "Nothing",
    World,
    controls=lambda world: ("height",),
    folded=("seed",),
    jobs=jobs,
    buttons=[Compute("Run", jobs)],
    views=[Row(MOVING, Html(past, str))],
    sentence=lambda world, settings, results: f"height {settings.height}.",
)


@pytest.fixture
def lab() -> Iterator[Laboratory]:
    laboratory = Small()
    yield laboratory
    laboratory.close()


def test_a_figure_is_moved_in_place(lab: Laboratory) -> None:
    figure = lab.widget(curve).figure
    for value in (5, 2, 5):
        lab.panel["height"].value = value
        assert lab.widget(curve).figure is figure and list(figure.data[0].y) == [0, value]


def test_the_settings_that_were_on_show(lab: Laboratory) -> None:
    for value in (2, 3, 2):
        lab.panel["height"].value = value
    assert lab.widget(str).value == "2 3 1"


def test_the_settings_before_leave_their_curve() -> None:
    """The earlier curve stays with the setting that it had, until the next change; a view that says
    so has none.
    """
    ghostly = Chart(height, curve)
    plain = Chart(height, lambda height: curve(height), ghosts=False)
    lab = Lab(
        "Ghosts",
        World,
        controls=("height", "seed"),
        views=[ghostly, plain],
        sentence=lambda world, settings, results: "",
    )()
    widget = lab.widget(curve)
    assert len(widget.figure.data) == 1
    lab.panel["height"].value = 2
    ghost = widget.figure.data[-1]
    assert (list(ghost.y), ghost.name) == ([0, 1], "before: height 1")
    lab.panel["height"].value = 3
    assert list(widget.figure.data[-1].y) == [0, 2] and len(widget.figure.data) == 2
    assert len(lab.widget(plain.draw).figure.data) == 1
    lab.close()


def ghosts_of(widget: Any) -> list[list[float]]:
    """The heights of the curves that are not the figure's own."""
    return [list(trace.y) for trace in widget.figure.data if trace.meta == "ghost"]


def lab_of(view: Any, **declared: Any) -> Laboratory:
    words = {"sentence": lambda world, settings, results: ""}
    return Lab("Ghosts", World, controls=("height", "seed"), views=[view], **words, **declared)()


def test_a_tab_that_opens_late_has_no_ghost_of_settings_that_are_long_gone() -> None:
    lab = lab_of(Tabs(("Words", Html(height, str)), ("Curve", Chart(height, curve))))
    for value in (2, 3):
        lab.panel["height"].value = value
    assert ghosts_of(lab.widget(curve)) == [], "it was last drawn two settings ago"
    lab.close()


def test_a_drawing_from_before_its_jobs_were_done_leaves_no_ghost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would be called by the settings, and show something else."""
    lab = lab_of(Chart(height, curve), jobs=jobs)
    lab.runner.join(10)
    with monkeypatch.context() as patched:
        patched.setattr(lab.schedule, "ask", lambda: None)  # what is asked for is not done yet
        lab.panel["height"].value = 2
    lab.panel["height"].value = 3
    assert ghosts_of(lab.widget(curve)) == []
    lab.runner.join(10)
    lab.panel["height"].value = 4
    assert ghosts_of(lab.widget(curve)) == [[0, 3]]
    lab.close()


def press_keep(widget: Any) -> None:
    widget._handle_custom_msg({"kind": "keep"}, [])


def test_a_reader_keeps_three_curves_and_lets_them_go() -> None:
    lab = lab_of(Chart(height, curve))
    widget = lab.widget(curve)
    for value in (1, 2, 3):
        lab.panel["height"].value = value
        press_keep(widget)
        assert widget.keep == "Let go"
    lab.panel["height"].value = 4
    lab.panel["height"].value = 5
    assert ghosts_of(widget) == [[0, 1], [0, 2], [0, 3], [0, 4]], "kept, and the one before"
    assert [words.partition(" ")[2] for words in widget.kept] == [
        "height 1",
        "height 2",
        "height 3",
    ]
    assert widget.keep == "", "three at most"
    lab.panel["height"].value = 2
    press_keep(widget)
    assert len(widget.kept) == 2 and widget.keep == "Keep"
    lab.close()


def test_a_closed_tab_forgets_its_ghost_too() -> None:
    lab = Lab(
        "Ghosts",
        World,
        controls=("height", "seed"),
        views=[Tabs(("Words", Html(height, str)), ("Curve", Chart(height, curve)))],
        sentence=lambda world, settings, results: "",
    )()
    lab.panel["height"].value = 2
    lab.forget()
    assert len(lab.widget(curve).figure.data) == 1
    lab.close()


def test_data_that_cannot_be_compared_are_refused_in_words() -> None:
    def pixels(world: World, settings: Settings, results: Any) -> tuple[torch.Tensor]:
        return (torch.full((2,), float(settings.height)),)

    with refuses("what pixels returns", "plain values", "a tensor"):
        Lab(
            "Nothing",
            World,
            controls=("height",),
            jobs=jobs,
            views=[Html(pixels, str)],
            sentence=lambda *_: "",
        )(key="nothing")
    assert not any(explorer.title == "Nothing" for explorer in explorers_on_page())
