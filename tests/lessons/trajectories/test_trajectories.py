"""Lesson 62: what its laboratory measures, and its exercises."""

import pytest
import torch
import torch.nn.functional as F

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import OrderedSteps
from ddlab.explorers import Laboratory
from ddlab.lessons.shared import one_weight
from ddlab.lessons.trajectories import one_expert
from ddlab.lessons.trajectories.lab import (
    AHEAD,
    TrajectoryLab,
    plane_data,
    quest_met,
)
from ddlab.lessons.trajectories.world import LEARNED, MEANS, RATES, REAL, STUDENTS, left
from ddlab.methods import mtt, selection
from ddlab.runs import Inputs, process
from ddlab.training import ordered
from ddlab.training.trajectories import by_name
from tests.support import run_to_end

CONFIG = mtt.SMALL.replace(strategy="", passes=2, experts=3)


@pytest.fixture
def lab(grey: ImageData) -> Laboratory:
    return TrajectoryLab(grey, CONFIG, device="cpu").run()


def test_the_plane_shows_the_steps_of_a_student_and_of_the_expert(
    lab: Laboratory, grey: ImageData
) -> None:
    inputs = Inputs(data=grey, device="cpu")
    state = list(process.steps(mtt, CONFIG, inputs))[-1].state
    surface, expert, means, newest, _ = plane_data(lab.world, lab.settings, lab.results).values()
    way = expert.weights
    assert len(way) == CONFIG.matched_epochs + 1
    assert len(newest.weights) == CONFIG.inner_steps + 1
    end = lab.world.steps(CONFIG, state.images, state.rate, state.paths[0])
    assert left(newest, way) == pytest.approx(
        float(mtt.matching_loss(end.weights[-1], state.paths[0], state.paths[1])), rel=1e-5
    )
    # The plane goes through the expert's start, its goal and the student's end.
    corners = torch.stack([way[0], way[-1], newest.weights[-1]])
    assert surface.plane.share(corners) == pytest.approx(1) and surface.loss is not None
    # Of the rates, the one whose path ends nearest.
    images = lab.world.chosen("centres").images
    paths = [lab.world.steps(CONFIG, images, rate, state.paths[0]) for rate in RATES]
    assert left(means, way) == pytest.approx(min(left(path, way) for path in paths), rel=1e-5)
    lab.close()


@pytest.mark.parametrize("loss_on", [REAL, LEARNED, MEANS])
def test_the_contours_are_the_loss_on_the_images_that_were_chosen(
    lab: Laboratory, grey: ImageData, loss_on: str
) -> None:
    config = lab.results.run.config
    surface = lab.world.surface(loss_on, config, (0, 0), 3, watch=lambda words, share: None)
    images, labels = {
        REAL: (grey.normalised(split="test"), grey.test_labels),
        LEARNED: (lab.results.run.state().images, torch.arange(3)),
        MEANS: (lab.world.chosen("centres").images, torch.arange(3)),
    }[loss_on]
    spec = config.network.for_data(grey)
    (weights,) = surface.plane.points(torch.stack([surface.x[2], surface.y[0]])[None])
    logits = networks.call(spec, by_name(spec, weights), images)[0].logits
    torch.testing.assert_close(surface.loss[0, 2], F.cross_entropy(logits, labels))
    lab.close()


def test_one_point_feels_the_distance_to_the_expert() -> None:
    settings = one_expert.Settings(steps=1, rate=0.4, points="1.0 1.8")
    weight = one_expert.START - 0.4 * (one_expert.START - 1.8)
    target = one_expert.expert_weight(2)
    expected = ((weight - target) / (one_expert.START - target)) ** 2
    assert one_expert.loss_of(settings) == pytest.approx(expected) and expected < 0.01
    point = torch.tensor([[1.0, 1.8]], dtype=torch.float64)
    pull = one_weight.pulls(point, (0,), 0.4, one_expert.START, target)
    # The weight moves by rate * x with y, so that the pull on y is this times the distance.
    assert float(pull[0, 1]) == pytest.approx(-(weight - target) * 0.4)
    with pytest.raises(ddlab.DDLabError, match="1 of them"):
        one_expert.Settings(points="1 1; 2 2")


def test_numbers_beside_are_those_of_the_library(lab: Laboratory, grey: ImageData) -> None:
    distilled = run_to_end(mtt, CONFIG, Inputs(data=grey, device="cpu"))
    learned, rivals = lab.results.shared
    scored = ddlab.evaluate(distilled, grey, labels="steps", seeds=range(STUDENTS), progress=False)
    assert learned[CONFIG.inner_steps][1:] == pytest.approx(
        (float(distilled.target("steps").rates), scored.mean)
    )
    means = ddlab.distill(
        "selection",
        grey,
        config=selection.Config(kind="centres", images_per_class=1),
        progress=False,
    )
    student = ordered.Config(network=CONFIG.network, initial_weights="pytorch")
    accuracies = []
    for rate in RATES:
        inputs = Inputs(
            distilled=means.with_targets(OrderedSteps(torch.full((1, 1), rate), passes=2)),
            device="cpu",
        )
        runs = [run_to_end(ordered, student.replace(seed=seed), inputs) for seed in range(STUDENTS)]
        accuracies.append(sum(ddlab.accuracy(run, grey) for run in runs) / STUDENTS)
    distance_left, rival_accuracy = rivals[CONFIG.inner_steps]
    assert rival_accuracy == pytest.approx(max(accuracies))
    gap = distance_left - learned[CONFIG.inner_steps][0]
    assert quest_met(lab.world, lab.settings, lab.results) is (gap >= AHEAD)
    lab.close()


def test_other_experts_are_waited_for(lab: Laboratory) -> None:
    before = plane_data(lab.world, lab.settings, lab.results)["expert"]
    lab.panel.value = lab.panel.value.replace(seed=7)
    assert lab.slider.index == 0 and "update 0 of 3" in lab.sentence
    after = plane_data(lab.world, lab.run().settings, lab.results)["expert"]
    assert not torch.equal(after.weights, before.weights)
    lab.close()
