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
    labels_chart,
    quest_met,
    strip,
)
from ddlab.methods import dd, selection, sldd
from ddlab.runs import Inputs, process
from ddlab.training import ordered
from tests.support import run_to_end


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


@pytest.mark.parametrize(("learn", "images"), [(False, None), (True, 2), (True, 5)])
def test_labels_are_learned_by_sldd_and_seen_as_they_change(
    grey: ImageData, learn: bool, images: int | None
) -> None:
    world = StepsLab.make_world(grey, dd.Config.teaching(epochs=2, iterations=4), device="cpu")
    settings = world.start.replace(learn_labels=learn, set_size=images or 3)
    run = world.run(settings).advance()
    method = sldd if learn else dd
    config = method.Config.teaching(epochs=2, iterations=4, images=images, learn_labels=learn)
    assert run.process is method and run.config == config
    steps = list(process.steps(method, config, Inputs(data=grey, device="cpu")))
    for frame in run.frames[1:]:
        learned = steps[frame.step - 1].state.learned
        assert torch.equal(frame.content.images, learned["images"])
        expected = learned["labels"] if learn else torch.eye(grey.classes)
        assert torch.equal(frame.content.labels, expected)
    drawn = labels_chart(grey.class_names, run.at().content)
    assert drawn.data[0].z[0] == pytest.approx(run.at().content.labels[0].tolist())
    names = [grey.class_names[label] for label in run.at().content.labels.argmax(1)]
    assert strip(grey, 4, run.at().content)[1].endswith(f"mostly for {', '.join(names)}.")


def test_a_place_is_shaded_by_the_loss_with_the_point_there() -> None:
    for shade in (one_point.THIS_START, one_point.BOTH_STARTS):
        settings = one_point.Settings(points="1 0.5", steps=2, shade=shade)
        own_loss, other_loss = one_point.losses(settings)
        both = (own_loss + other_loss) / 2
        # The plane from -2 to 2 has 41 places on each side.
        shown = 10.0 ** one_point.plane(settings).data[-1].z[25, 30]
        expected = own_loss if shade == one_point.THIS_START else both
        assert shown == pytest.approx(expected, rel=1e-5)
