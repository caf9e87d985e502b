"""Two hundred changes in two seconds, as a reader does who drags a slider to and fro: every explorer ends on the last value.

Of laboratories that are declared the contract says the same (tests/contract/test_labs.py). An explorer that is none is one line in
`EXPLORERS`: a function that makes a `Storm` of small things.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.explorers import Explorer, Live, Scrubber, film
from ddlab.figures import encode_png, loss_curves
from ddlab.lessons.claims_on_trial import experiments
from ddlab.lessons.claims_on_trial.trial_card import TrialCard
from ddlab.lessons.diversity.latents import LatentConflict, pulls, start_points
from ddlab.lessons.inverting_a_network.diversity_view import DiversityView
from ddlab.lessons.kernels.plane import KernelPlane, support_of
from ddlab.lessons.views.budget_lab import BudgetLab
from ddlab.methods import sre2l
from ddlab.networks import Network
from ddlab.runs import Frame, Keep, Run
from tests.support import made_data

CHANGES, SECONDS = 200, 2.0


@dataclass
class Storm:
    """One explorer in the storm.

    Attributes:
        move: set the controls to a number from 0 on, as the browser would.
        settled: wait until nothing more is computed; raises what a thread raised.
        shows: whether the explorer shows that number.
    """

    explorer: Explorer
    move: Callable[[int], Any]
    settled: Callable[[], Any]
    shows: Callable[[int], bool]


def live_playing(data: ImageData, teacher: Network) -> Storm:
    """While the run plays: every change starts it anew."""
    explorer = Live("sre2l", data, teacher, sre2l.Config.teaching(iterations=20))
    explorer.buttons["play"].click()

    def move(number: int) -> None:
        explorer.panel["lambda_mean"].value = [stop for _, stop in explorer.panel["lambda_mean"].options][number % 20]
        explorer.panel["iterations"].value = 10 * (1 + number % 30)

    def shows(number: int) -> bool:
        total = 10 * (1 + number % 30)
        stop = [stop for _, stop in explorer.panel["lambda_mean"].options][number % 20]
        used = explorer.run.config.lambda_mean == stop and explorer.run.config.iterations == total
        return used and explorer.sentence.startswith(f"Step {total} of {total}, finished:")

    return Storm(explorer, move, explorer.runner.join, shows)


def live_at_rest(data: ImageData, teacher: Network) -> Storm:
    explorer = Live(
        "sre2l", data, teacher, sre2l.Config.teaching(iterations=20), first=("initialisation", "iterations")
    )

    def move(number: int) -> None:
        explorer.panel["initialisation"].value = ("noise", "real")[number % 2]
        explorer.panel["iterations"].value = 10 * (1 + number % 30)

    def shows(number: int) -> bool:
        start, total = ("noise", "real")[number % 2], 10 * (1 + number % 30)
        said = f"Before the first of {total} updates with initialisation {start}, iterations {total}: press Play."
        images = explorer.run.frames[0].content.images
        return explorer.sentence == said and bool(
            (images == sre2l.init(explorer.run.config, explorer.inputs).images).all()
        )

    return Storm(explorer, move, explorer.runner.join, shows)


def recorded(data: ImageData, teacher: Network) -> Storm:
    inputs = ddlab.Inputs(data=data, teachers=(teacher,))
    return _scrubbed(film(Run(sre2l, sre2l.Config.teaching(iterations=25), inputs, keep=Keep(30)).advance()))


def scrubber(data: ImageData, teacher: Network) -> Storm:
    frames = [Frame(step, encode_png(np.full((4, 4, 3), step, np.uint8))) for step in range(1, 31)]
    return _scrubbed(Scrubber(frames, loss_curves({"loss": np.arange(30.0)}), describe=lambda index: f"step {index}."))


def _scrubbed(explorer: Scrubber) -> Storm:
    frames = len(explorer.slider.options)

    def move(number: int) -> None:
        explorer.slider.index = number % frames

    def shows(number: int) -> bool:
        index, content = explorer._frames[number % frames].step, explorer._frames[number % frames].content
        marked = explorer.plot is not None and explorer.plot.cursor == index
        pictured = explorer.picture is not None and bytes(explorer.picture.value) == content
        return marked and pictured and explorer.sentence.startswith(f"Step {index} of ")

    return Storm(explorer, move, lambda: None, shows)


def diversity_view(data: ImageData, teacher: Network) -> Storm:
    run = Run(sre2l, sre2l.Config.teaching(iterations=15), ddlab.Inputs(data=data, teachers=(teacher,)))
    explorer = DiversityView(data, teacher, {"recovered": run.to_end()}, films={"recovered": run}, points=30)
    frames = explorer.panel["frame"].max + 1

    layers = ("features", "logits")

    def move(number: int) -> None:
        explorer.panel["frame"].value = number % frames
        explorer.panel["layer"].value = layers[number % 2]

    def shows(number: int) -> bool:
        moved = (
            explorer.panel.value.frame == number % frames and f"PCA of the {layers[number % 2]}" in explorer.sentence
        )
        return moved and bytes(explorer.picture.value) == explorer._grid()

    return Storm(explorer, move, explorer.runner.join, shows)


def latent_conflict(_data: ImageData, _teacher: Network) -> Storm:
    explorer = LatentConflict()

    def move(number: int) -> None:
        explorer.panel["lambda_var"].value = (number % 100 + 1) / 100
        explorer.panel["latents"].value = 3 + number % 8
        point = {"count": number, "point": number % 3, "x": number % 50 / 25, "y": 1.0, "done": False}
        explorer.plot.dragged = point
        explorer.panel["updates"].value = number % 100

    def shows(number: int) -> bool:
        view = explorer.panel.value
        moved = view.lambda_var == (number % 100 + 1) / 100 and view.updates == number % 100
        drawn = len(explorer.bars.figure.data[0].x) == 4 + number % 8
        begun = start_points(view)[number % 3].tolist() == [number % 50 / 25, 1.0]
        said = (
            f"of {3 + number % 8} points" in explorer.sentence and f"After {number % 100} updates" in explorer.sentence
        )
        return moved and drawn and begun and said and torch.equal(explorer.shown.points, pulls(view).points)

    return Storm(explorer, move, lambda: None, shows)


def kernel_plane(_data: ImageData, _teacher: Network) -> Storm:
    explorer = KernelPlane()

    def move(number: int) -> None:
        explorer.panel["per_class"].value = 1 + number % 5
        point = {"count": number, "point": number % 2, "x": number % 50 / 25, "y": 1.0, "done": False}
        explorer.plot.dragged = point
        explorer.panel["kernel"].value = ("rbf", "fc2")[number % 2]

    def shows(number: int) -> bool:
        view = explorer.panel.value
        put = explorer.support[number % 2].tolist() == [number % 50 / 25, 1.0]
        said = explorer.sentence.startswith(f"{2 + 2 * (number % 5)} support points, put by hand")
        return (
            put
            and said
            and view.kernel == ("rbf", "fc2")[number % 2]
            and torch.equal(explorer.support, support_of(view))
        )

    return Storm(explorer, move, lambda: None, shows)


def trial_card(_data: ImageData, _teacher: Network) -> Storm:
    """The one that simulates: a new simulation for each of fifty rates, found again after."""
    explorer = TrialCard(experiments.trials()["R3"]).commit("holds")

    def move(number: int) -> None:
        explorer.panel["learning_rate"].value = (number % 50 + 1) / 100
        explorer.panel["steps"].value = 1 + number % 100

    def shows(number: int) -> bool:
        view, drawn = explorer.panel.value, explorer.plot is not None and explorer.plot.cursor == 1 + number % 100
        moved = view.learning_rate == (number % 50 + 1) / 100 and view.steps == 1 + number % 100
        return moved and drawn and explorer.sentence.startswith(f"After {1 + number % 100} steps")

    return Storm(explorer, move, lambda: None, shows)


def budget_lab(_data: ImageData, _teacher: Network) -> Storm:
    explorer = BudgetLab()
    stops = [stop for _, stop in explorer.panel["images"].options]

    def move(number: int) -> None:
        explorer.panel["images"].value = stops[number % len(stops)]
        explorer.panel["augmentation"].value = ("none", "rotation", "jigsaw", "crop")[number // 6 % 4]
        explorer.panel["shift"].value = ("same", "bias", "networks", "stored")[number // 9 % 4]

    def shows(number: int) -> bool:
        images, count = stops[number % len(stops)], explorer.found.count
        bought = f"The floats of {images:,} images, {images * 3072:,}, buy m = {count:,} pairs"
        said = explorer.sentence.startswith(bought if count else "This budget buys nothing")
        return said and f"m = {max(count, 1):,} pair" in explorer.bill.figure.layout.title.text

    return Storm(explorer, move, lambda: None, shows)


EXPLORERS: dict[str, Callable[[ImageData, Network], Storm]] = {
    "live, playing": live_playing,
    "live, at rest": live_at_rest,
    "film of a run": recorded,
    "scrubber": scrubber,
    "diversity view": diversity_view,
    "latent conflict": latent_conflict,
    "kernel plane": kernel_plane,
    "trial card": trial_card,
    "budget lab": budget_lab,
}


@pytest.fixture(scope="module")
def given() -> tuple[ImageData, Network]:
    data = made_data(size=8)
    return data, networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)


@pytest.fixture
def escaped(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a thread lets out, which nobody would see."""
    found: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", found.append)
    return found


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("ddlab")]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", EXPLORERS)
def test_two_hundred_changes_in_two_seconds(name: str, given: tuple[ImageData, Network], escaped: list[Any]) -> None:
    threads, before = torch.get_num_threads(), own_threads()
    storm = EXPLORERS[name](*given)
    try:
        start = time.monotonic()
        for number in range(CHANGES):
            storm.move(number)
            # A slow machine falls behind and then does not wait; a reader's hand would not either.
            time.sleep(max(0.0, start + (number + 1) * SECONDS / CHANGES - time.monotonic()))
        storm.settled()
        assert storm.explorer.error is None
        assert storm.shows(CHANGES - 1), storm.explorer.sentence
    finally:
        storm.explorer.close()
    assert escaped == [] and own_threads() == before
    assert torch.get_num_threads() == threads


def test_the_storm_sees_an_explorer_that_stays_behind(given: tuple[ImageData, Network]) -> None:
    """The check itself: a view that is not at the last value is told."""
    storm = EXPLORERS["scrubber"](*given)
    storm.move(3)
    assert storm.shows(3) and not storm.shows(4)
    storm.explorer.close()


@pytest.mark.parametrize("name", EXPLORERS)
def test_closed_in_the_middle(name: str, given: tuple[ImageData, Network], escaped: list[Any]) -> None:
    """The page is left while something is computed: no thread stays, and later changes do nothing harmful."""
    before = own_threads()
    storm = EXPLORERS[name](*given)
    for number in range(20):
        storm.move(number)
    storm.explorer.close()
    storm.move(5)
    assert escaped == [] and own_threads() == before and storm.explorer.error is None
