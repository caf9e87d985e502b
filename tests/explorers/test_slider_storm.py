"""Two hundred changes in two seconds, as a reader does who drags a slider to and fro: every explorer ends on the last value.

A new explorer is one line in `EXPLORERS`: a function that makes a `Storm` of small things.
"""

from __future__ import annotations

import contextlib
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
from ddlab.core.errors import DDLabError
from ddlab.data import ImageData
from ddlab.explorers import Explorer, Laboratory, Live, Scrubber, film
from ddlab.figures import encode_png, loss_curves
from ddlab.lessons.bases_and_views import bases_lab as bases
from ddlab.lessons.bases_and_views import lab as bases_and_views
from ddlab.lessons.bases_and_views.budget_lab import BudgetLab
from ddlab.lessons.claims_on_trial import crop_lab, experiments
from ddlab.lessons.claims_on_trial.trial_card import TrialCard
from ddlab.lessons.data_residuals import lab as residuals
from ddlab.lessons.diversity import lab as diversity
from ddlab.lessons.diversity.latents import LatentConflict, pulls, start_points
from ddlab.lessons.ideal_data import lab as toys
from ddlab.lessons.inverting_a_network.diversity_view import DiversityView
from ddlab.lessons.shared.labels_against_images import LabelsAgainstImages
from ddlab.methods import boost, dwa, fadrm, sre2l
from ddlab.networks import Network
from ddlab.runs import Frame, Keep, Run
from ddlab.training import supervised
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


def labels_against_images(data: ImageData, teacher: Network) -> Storm:
    real = ddlab.distill("selection", data, teacher, progress=False)
    student = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=30)
    explorer = LabelsAgainstImages(data, teacher, dict.fromkeys(("real", "noise", "recovered"), real), student)
    kinds = ("hard", "stored", "online")

    def move(number: int) -> None:
        explorer.panel["labels"].value = kinds[number % 3]
        explorer.panel["seed"].value = number % 10

    def shows(number: int) -> bool:
        seed = f", seed {number % 10}" if number % 10 else ""
        return explorer.sentence.startswith(f"From real images, {kinds[number % 3]} labels{seed}:")

    return Storm(explorer, move, explorer.runner.join, shows)


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


def diversity_lab(data: ImageData, teacher: Network) -> Storm:
    """Settings that are known and new ones, which are recovered at once, mixed with the two maps."""
    student = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=2)
    config = dwa.Config(images_per_class=2, iterations=3, roll_pixels=2)
    explorer = diversity.DiversityLab(data, teacher, config, student=student, points=30, at_once=1e9)

    def move(number: int) -> None:
        explorer.panel["coupled"].value = number % 3 == 0
        explorer.panel["lambda_mean"].value = [stop for _, stop in explorer.panel["lambda_mean"].options][number % 15]
        explorer.panel["layer"].value = ("features", "logits")[number % 2]
        explorer.panel["adjustment_steps"].value = number % 7

    def shows(number: int) -> bool:
        stop = [stop for _, stop in explorer.panel["lambda_mean"].options][number % 15]
        said = f"λ_mean = {stop:g}, λ_var = {explorer.panel['lambda_var'].value:g}, adjustment directed, K = {number % 7}, "
        shown = diversity.runs(explorer.world, explorer.settings, explorer._known())[2][0][0].source
        used = shown == explorer.panel.value.config and "online labels" in explorer.sentence
        return used and explorer.sentence.startswith(said)

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


def toy_lab(lab: Laboratory, field: str) -> Storm:
    """Every move trains all settings anew; the landscape comes and goes."""

    def move(number: int) -> None:
        lab.panel[field].value = 0.05 + number % 19 / 20
        lab.panel["momentum"].value = number % 90 / 100
        lab.panel["landscape"].value = ("contours", "3-D", "hidden")[number % 3]

    def shows(number: int) -> bool:
        value, momentum = 0.05 + number % 19 / 20, number % 90 / 100
        shown = toys.on_show(lab.world, lab.settings, lab._known())[0].settings
        used = shown == lab.panel.value and shown.momentum == momentum
        drawn = (lab.widget(toys.landscape) is None) == (number % 3 == 2)
        return used and drawn and lab.sentence.startswith(f"{lab.world.sweep.symbol} = {value:g}: after 40 updates")

    return Storm(lab, move, lab.runner.join, shows)


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


def crop_maps(data: ImageData, _teacher: Network) -> Storm:
    explorer = crop_lab.CropMaps(data, images=4, views=2)
    scales = (0.02, 0.04, 0.08, 0.2, 0.5, 1.0)

    def move(number: int) -> None:
        explorer.panel["least_area"].value = scales[number % 6]
        explorer.panel["second"].value = data.class_names[1 + number % 2]

    def shows(number: int) -> bool:
        view = explorer.panel.value
        asked = (view.least_area, view.second) == (scales[number % 6], data.class_names[1 + number % 2])
        found = explorer.values[crop_lab.value(explorer.world, view, view.least_area)]
        drawn = list(explorer.widget(crop_lab.class_map).figure.data[0].x) == found.positions[0][:, 0].tolist()
        return asked and drawn and f"overlap {found.overlap:.2f}" in explorer.sentence

    return Storm(explorer, move, explorer.runner.join, shows)


def residual_lab(data: ImageData, _teacher: Network) -> Storm:
    """New settings, which start a run each, mixed with other ratios and steps."""
    teacher = networks.initialise(networks.spec("convnet", width=4, depth=2, head="mean").for_data(data), seed=0)
    explorer = residuals.ResidualLab(
        data, teacher, fadrm.Config(images_per_class=1, iterations=8, roll_pixels=1, small_size=6)
    )

    def move(number: int) -> None:
        explorer.panel["merges"].value = number % 4
        explorer.panel["merge_ratio"].value = number % 5 / 4
        explorer.slider.index = number % 9

    def shows(number: int) -> bool:
        view, (_, step) = explorer.panel.value, explorer.slider.options[number % 9]
        asked = (view.merges, view.merge_ratio, view.step) == (number % 4, number % 5 / 4, None if step == 8 else step)
        said = explorer.sentence.startswith(f"a, α = {number % 5 / 4:g}, {number % 4} merge")
        words = f"after step {step} the feature entropy is" in explorer.sentence and "computed" not in explorer.sentence
        drawn = (
            "not computed" not in explorer.widget(residuals.strip).alt
            and explorer.widget(residuals.curves).cursor == step
        )
        return asked and drawn and said and words

    return Storm(explorer, move, explorer.runner.join, shows)


def bases_lab(data: ImageData, teacher: Network) -> Storm:
    """Scales and ways with the mean that are new for the worker, mixed with numbers of bases, which are shown at once."""
    explorer = bases.BasesLab(data, teacher, images=20)
    stops = [stop for _, stop in explorer.panel["bases"].options]
    ways = ("projected", "stored", "not centred", "lost")

    def move(number: int) -> None:
        explorer.panel["scale"].value = (1, 2, 4)[number // 8 % 3]
        explorer.panel["image_mean"].value = ways[number // 12 % 4]
        explorer.panel["bases"].value = stops[number % len(stops)]
        explorer.panel["representation_bases"].value = 1 + number % 3

    def shows(number: int) -> bool:
        view, scale = explorer.panel.value, (1, 2, 4)[number // 8 % 3]
        asked = (view.scale, view.bases, view.image_mean) == (scale, stops[number % len(stops)], ways[number // 12 % 4])
        found = explorer.values[bases.wanted(explorer.world, view)[0]]
        said = f"{found.used(view.bases)} of {len(found.bases)} bases of {8 // scale} x {8 // scale} pixels"
        placed = explorer.widget(bases.error_curves).cursor == view.bases
        drawn = placed and f"V = {1 + number % 3} bases leave" in explorer.sentence
        pictured = f"what {found.used(view.bases)} bases at scale {scale} make" in explorer.widget(bases.picture).alt
        return asked and drawn and pictured and explorer.sentence.startswith(said)

    return Storm(explorer, move, explorer.runner.join, shows)


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


def self_supervised_lab(_data: ImageData, _teacher: Network) -> Storm:
    """Settings that are new, refused, or known, while a run goes on; KRR-ST and Boost in turn."""
    data = made_data(size=8, train=60)
    network = networks.spec("convnet", width=2, depth=2)
    teacher = networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=0)
    config = boost.Config(
        budget=12, image_bases=6, representation_bases=3, hidden=2, network=network, pool_size=2, pool_steps=3, iterations=30,
        batch_size=16,
    )  # fmt: skip
    explorer = bases_and_views.SelfSupervisedLab(data, teacher, config)
    stops = [stop for _, stop in explorer.panel["image_bases"].options][:8]
    next(button for button in explorer.buttons.values() if button.description == "Run").click()

    def move(number: int) -> None:
        wanted = {
            "method": ("KRR-ST", "Boost")[number // 9 % 2],
            "scale": (2, 4, 1)[number // 7 % 3],
            "image_bases": stops[number % len(stops)],
        }
        for name, value in wanted.items():
            with contextlib.suppress(DDLabError):  # settings that make no set
                explorer.panel[name].value = value

    def shows(number: int) -> bool:
        method, scale, bases = (
            ("KRR-ST", "Boost")[number // 9 % 2],
            (2, 4, 1)[number // 7 % 3],
            stops[number % len(stops)],
        )
        view = explorer.panel.value
        asked = (view.method, view.scale, view.image_bases) == (method, scale, bases)
        refused = method == "Boost" and bases > 64 // scale**2
        said = refused or explorer.sentence.startswith(f"{method}: a budget of 12 images")
        grey = all(button.disabled for button in explorer.buttons.values())
        return asked and said and bool(explorer.refusal) == refused == grey == (explorer.error is not None)

    return Storm(explorer, move, explorer.runner.join, shows)


SMALL = "steps=40,seeds=2"
EXPLORERS: dict[str, Callable[[ImageData, Network], Storm]] = {
    "labels against images": labels_against_images,
    "live, playing": live_playing,
    "live, at rest": live_at_rest,
    "film of a run": recorded,
    "scrubber": scrubber,
    "diversity view": diversity_view,
    "diversity lab": diversity_lab,
    "latent conflict": latent_conflict,
    "sigma lab": lambda *_: toy_lab(toys.SigmaLab(SMALL), "deviation"),
    "rho lab": lambda *_: toy_lab(toys.RhoLab(SMALL), "relabelling"),
    "landscape lab": lambda *_: toy_lab(toys.LandscapeLab(SMALL), "deviation"),
    "trial card": trial_card,
    "crop maps": crop_maps,
    "residual lab": residual_lab,
    "bases lab": bases_lab,
    "budget lab": budget_lab,
    "self-supervised lab": self_supervised_lab,
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
