"""Lesson 75: memories that share a run, what the laboratories say of it, the plane, and the
exercises.
"""

import numpy as np
import pytest
import torch

from ddlab.data import ImageData
from ddlab.evaluation import class_incremental
from ddlab.lessons.memories import lab, plane, world
from ddlab.methods import mnemonics, selection
from ddlab.runs import Inputs
from tests.support import refuses, run_to_end


@pytest.fixture
def place(grey: ImageData) -> world.World:
    chosen = selection.Config(images_per_class=1)
    return world.World(
        grey, {1: run_to_end(selection, chosen, Inputs(data=grey))}, mnemonics.SMALL, device="cpu"
    )


def test_what_plays_no_part_makes_no_other_run(place: world.World) -> None:
    settings = place.start.replace(images_per_class=1, exemplar_learning_rate=0.1)
    for memory in place.memories:
        at_rate_1 = place.config(settings.replace(memory=memory, exemplar_learning_rate=0.1))
        at_rate_2 = place.config(settings.replace(memory=memory, exemplar_learning_rate=0.2))
        assert (at_rate_1 == at_rate_2) == (memory != "learned")
    nothing = [place.config(settings.replace(memory="none", images_per_class=m)) for m in (1, 2)]
    assert nothing[0] == nothing[1] and mnemonics.total_steps(nothing[0], place.inputs) > 0


def test_what_is_remembered_is_what_the_protocol_says(place: world.World, grey: ImageData) -> None:
    for memory, memory_set in (("herding", None), ("DM", place.matched[1])):
        config = place.config(place.start.replace(memory=memory, images_per_class=1))
        matrix = place.remembered(config, memory, watch=lambda *_: None)
        options = {"config": config, "seeds": (config.seed,), "device": "cpu", "progress": False}
        assert matrix == class_incremental(memory_set, grey, **options).per_seed[config.seed]
    with refuses("images_per_class", "[1]"):
        place.run(place.start.replace(memory="DM", images_per_class=2))
    assert "DM" not in world.World(grey, device="cpu").memories


def test_the_matrix_fills_as_phases_end(place: world.World) -> None:
    config = place.config(place.start.replace(memory="random"))
    end_steps = place.task_ends(config)
    run = place.with_memory("random", config)
    run.advance(until=end_steps[1])
    assert [len(row) for row in world.matrix(run, end_steps)] == [1, 2]
    moment = run.at(end_steps[1]).content
    assert (moment.phase, moment.part) == (1, "tuning") and moment.exemplars.flatten(1).any(
        1
    ).sum() == 2 * config.images_per_class
    assert lab.of_tasks((("a", "b"), ("c", "d")), (0.5, 1.0, 0.25)) == [0.75, 0.25]


def test_without_a_memory_the_plane_belongs_to_the_last_task() -> None:
    wheel = plane.PlaneWorld()
    config = wheel.config(wheel.start)
    rows = wheel.remembered(config, "none", watch=lambda *_: None)
    assert np.mean(rows[0]) > 0.95 and np.mean(rows[-1][:4]) < 0.05 and np.mean(rows[-1][4:]) > 0.95
    figure = plane.plane(wheel, config, wheel.with_memory("none", config).at().content)
    answers, shares = np.unique(figure.data[0].z, return_counts=True)
    assert shares[np.isin(answers, (4, 5))].sum() > 0.7 * shares.sum()
    points = plane.points_of(wheel.data.normalised(), wheel.data)
    np.testing.assert_allclose(points, wheel.data.train_images.flatten(1) / 255, atol=1e-6)


def test_a_point_that_is_clicked_is_kept_first() -> None:
    wheel = plane.PlaneWorld()
    settings = plane.keep_clicked(wheel, wheel.start.replace(images_per_class=2), {"customdata": 7})
    settings = plane.keep_clicked(wheel, settings, {"customdata": 3})
    assert (settings.memory, settings.clicked) == ("by hand", "3 7")
    assert plane.keep_clicked(wheel, settings, {"customdata": None}) == settings
    expected = wheel.data.normalised(torch.tensor([3, 7]))
    distilled = wheel.run(settings).inputs.distilled
    assert distilled is not None
    assert torch.equal(distilled.images[distilled.labels == wheel.data.train_labels[3]], expected)
