"""Lesson 70: orders, what a network knows after each step, what the laboratory says, and its
exercises.
"""

from typing import Any

import pytest
import torch

import ddlab
from ddlab.data import ImageData
from ddlab.lessons.generators import checks, lab
from ddlab.methods import gtn
from ddlab.runs import run_to_end
from ddlab.runs.inputs import Inputs
from ddlab.training import ordered

SMALL = gtn.SMALL.replace(inner_batch=6, steps=3)


@pytest.fixture
def world(grey: ImageData) -> lab.World:
    return lab.World(grey, SMALL, device="cpu")


def test_orders_keep_what_their_name_says(world: lab.World) -> None:
    distilled = world.of(SMALL).advance().result()
    images = {}
    for order in lab.ORDERS:
        images[order] = lab.shuffled(distilled, order, 1).images
    labels = {}
    for order in lab.ORDERS:
        labels[order] = lab.shuffled(distilled, order, 1).labels
    assert torch.equal(images["nothing"], distilled.images)
    batches = distilled.images.chunk(3)
    for part in images["batches"].chunk(3):
        assert any(torch.equal(part, batch) for batch in batches)
    assert torch.equal(labels["within classes"], distilled.labels) and not torch.equal(
        images["within classes"], distilled.images
    )
    assert not torch.equal(labels["everything"], distilled.labels)
    for order in lab.ORDERS:
        assert torch.equal(
            images[order].flatten(1).sum(1).sort().values,
            distilled.images.flatten(1).sum(1).sort().values,
        )
        assert torch.equal(
            lab.shuffled(distilled, order, 1).target("steps").rates, distilled.target("steps").rates
        )


def test_the_last_point_of_a_path_is_the_student(world: lab.World, grey: ImageData) -> None:
    paths = world.learned(SMALL, watch=lambda *_: None)
    distilled = world.of(SMALL).result()
    assert set(paths) == set(lab.ORDERS) and all(len(path) == 3 for path in paths.values())
    last_accuracies = []
    for seed in range(lab.STUDENTS):
        inputs = Inputs(distilled=lab.shuffled(distilled, "batches", seed), device="cpu")
        last_accuracies.append(
            ddlab.accuracy(
                run_to_end(ordered, ordered.Config.for_set(distilled, seed=seed), inputs), grey
            )
        )
    assert paths["batches"][-1] == pytest.approx(sum(last_accuracies) / lab.STUDENTS)
    assert world.path_on_show(SMALL, SMALL.iterations, "batches")[-1] == last_accuracies[0]


def test_the_rival_has_rates_of_its_own_and_no_generator(world: lab.World) -> None:
    changed = SMALL.replace(weight_norm=False, curriculum="none", initial_rate=0.3)
    rival = lab.rival_of(SMALL, 3)
    assert lab.rival_of(changed, 3) == rival and rival.steps == 3
    path = world.rival(rival, watch=lambda *_: None)
    assert len(path) == 3 and all(0 <= accuracy <= 1 for accuracy in path)


def test_the_quest_asks_for_few_steps_and_more_than_real_ones(grey: ImageData) -> None:
    place = lab.CurriculumLab(grey, SMALL, device="cpu")

    def met(own_accuracy: float, rival: float, steps: int) -> bool:
        place.panel["steps"].value = steps
        place.run()
        place.keep(place.jobs[1], dict.fromkeys(lab.ORDERS, (0.1, own_accuracy)))
        place.keep(
            lab.Value(place.world.rival, lab.rival_of(place.watched_run.config, SMALL.steps)),
            (0.2, rival),
        )
        return lab.quest_met(place.world, place.settings, place._results())

    assert met(0.9, 0.8, 3) and not met(0.8, 0.9, 3) and not met(0.9, 0.8, lab.FEW + 1)
    place.close()


WRONG: dict[str, list[Any]] = {
    "weight gradient": [
        None,
        lambda *_: 1 / 0,
        lambda V, g, G: G[0],
        lambda V, g, G: g[:, None] * G / V.norm(dim=1, keepdim=True),
    ],
    "fair shuffle": [
        None,
        lambda *_: 1 / 0,
        lambda labels, steps: labels,
        lambda labels, steps: torch.arange(len(labels)),
        lambda labels, steps: torch.randperm(
            len(labels), generator=torch.Generator().manual_seed(0)
        ),
        lambda labels, steps: torch.arange(len(labels)).view(steps, -1).flip(0).flatten(),
    ],
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_told_why(name: str, capsys: Any) -> None:
    lesson = ddlab.start("70_generators")
    hints = set()
    for wrong in WRONG[name]:
        capsys.readouterr()
        assert not lesson.check(name, wrong)
        hints.add(capsys.readouterr().out)
    assert len(hints) == len(WRONG[name]) and set(checks.CHECKS) == set(WRONG)
