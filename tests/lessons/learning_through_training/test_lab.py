"""Lesson 60: what its laboratory measures, and its exercises."""

import pytest
import torch

import ddlab
from ddlab.data import ImageData
from ddlab.distilled import OrderedSteps
from ddlab.explorers import Laboratory
from ddlab.lessons.learning_through_training import one_point
from ddlab.lessons.learning_through_training.lab import (
    AHEAD,
    OTHER_STARTS,
    RATES,
    StepsLab,
    quest_met,
)
from ddlab.methods import dd, selection
from ddlab.runs import run_to_end
from ddlab.runs.inputs import Inputs
from ddlab.training import ordered


@pytest.fixture
def lab(grey: ImageData) -> Laboratory:
    return StepsLab(grey, dd.Config.teaching(epochs=1, iterations=3), device="cpu").run()


def silent(words: str, share: float) -> None: ...


def test_scores_are_those_of_ordered_students(lab: Laboratory, grey: ImageData) -> None:
    config = lab.world.config(lab.settings)
    distilled = run_to_end(dd, config, Inputs(data=grey, device="cpu"))
    scored = ddlab.evaluate(
        distilled, grey, labels="steps", seeds=range(OTHER_STARTS + 1), progress=False
    )
    assert lab.results.shared[0] == {1: tuple(scored.per_seed.values())}


def test_the_rival_is_the_best_of_class_means_that_learned_nothing(
    lab: Laboratory, grey: ImageData
) -> None:
    config = lab.world.config(lab.settings)
    means = ddlab.distill(
        "selection",
        grey,
        config=selection.Config(kind="centres", images_per_class=1),
        progress=False,
    )
    assert len(means) == grey.classes
    student = ordered.Config(network=config.network, initial_weights="pytorch")
    accuracies = []
    for rate in RATES:
        inputs = Inputs(
            distilled=means.with_targets(OrderedSteps(torch.full((2, 1), rate))), device="cpu"
        )
        runs = [
            run_to_end(ordered, student.replace(seed=seed), inputs)
            for seed in range(1, OTHER_STARTS + 1)
        ]
        accuracies.append(sum(ddlab.accuracy(run, grey) for run in runs) / OTHER_STARTS)
    assert lab.world.rival(config.network, 2, watch=silent) == pytest.approx(max(accuracies))


def test_settings_reach_the_method_and_the_quest_asks_for_other_starts(lab: Laboratory) -> None:
    start = lab.world.start
    config_of = lab.world.config
    assert config_of(start.replace(starts="random", networks=3)).networks == 3
    convnet = config_of(start.replace(learner="ConvNet", inner_steps=10, iterations=100))
    assert convnet.network.family == "convnet" and convnet.epochs == 10
    assert (convnet.iterations, convnet.initial_rate) == (100, start.initial_rate)
    scores = lab.results.shared[0][1]
    rival = lab.world.rival(start.network, 1, watch=silent)
    assert quest_met(lab.world, lab.settings, lab.results) is (
        sum(scores[1:]) / OTHER_STARTS >= rival + AHEAD
    )
    lab.close()


def test_a_place_is_shaded_by_the_loss_with_the_point_there() -> None:
    for shade in (one_point.THIS_START, one_point.BOTH_STARTS):
        settings = one_point.Settings(points="1 0.5", steps=2, shade=shade)
        own_loss, other_loss = one_point.losses(settings)
        both = (own_loss + other_loss) / 2
        # The plane from -2 to 2 has 41 places on each side.
        shown = 10.0 ** one_point.plane(settings).data[-1].z[25, 30]
        expected = own_loss if shade == one_point.THIS_START else both
        assert shown == pytest.approx(expected, rel=1e-5)
