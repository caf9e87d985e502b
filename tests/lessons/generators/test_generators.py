"""Lesson 70: orders, what a network knows after each step, what the laboratory says, and its
exercises.
"""

import pytest
import torch

import ddlab
from ddlab.data import ImageData
from ddlab.lessons.generators import lab, two_steps
from ddlab.lessons.shared import one_weight
from ddlab.methods import gtn
from ddlab.runs import Inputs
from ddlab.training import ordered
from tests.support import run_to_end

SMALL = gtn.SMALL.replace(inner_batch=6, steps=3)


@pytest.fixture
def world(grey: ImageData) -> lab.World:
    return lab.World(grey, SMALL, device="cpu")


def test_orders_keep_what_their_name_says(world: lab.World) -> None:
    distilled = world.of(SMALL).advance().result()
    images = {order: lab.shuffled(distilled, order, 1).images for order in lab.ORDERS}
    labels = {order: lab.shuffled(distilled, order, 1).labels for order in lab.ORDERS}
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


def test_a_step_keeps_its_classes_unless_everything_is_shuffled(world: lab.World) -> None:
    distilled = world.of(SMALL).advance().result()
    counts = {}
    for order in ("within classes", "everything"):
        counts[order] = lab.class_counts(lab.shuffled(distilled, order, 1))
        assert counts[order].sum() == len(distilled)
    assert (counts["within classes"] == counts["within classes"][:, :1]).all()
    assert not (counts["everything"] == counts["everything"][:, :1]).all()


def test_the_points_feel_the_gradient_through_both_steps() -> None:
    points = torch.tensor([[1.0, -1.0], [0.7, 1.6]], dtype=torch.float64)
    rate, first = 0.5, -0.6
    x1, y1, x2, y2 = points.flatten().tolist()
    after_one = first - rate * x1 * (first * x1 - y1)
    after_two = after_one - rate * x2 * (after_one * x2 - y2)
    weights = one_weight.weights_along(points, (0, 1), rate, first)
    assert [float(weight) for weight in weights] == pytest.approx([first, after_one, after_two])
    # By hand: the last weight moves by 1 - rate x2^2 for each unit of the weight before it.
    slope = after_two - 1
    passed_on = 1 - rate * x2**2
    expected = [
        [passed_on * -rate * (2 * first * x1 - y1), passed_on * rate * x1],
        [-rate * (2 * after_one * x2 - y2), rate * x2],
    ]
    pulls = one_weight.pulls(points, (0, 1), rate, first)
    torch.testing.assert_close(pulls, -slope * torch.tensor(expected, dtype=torch.float64))


def test_the_last_of_two_steps_decides_where_it_is_right() -> None:
    settings = two_steps.Settings(points="1.0 -1.0; 1.4 1.4")
    in_order, swapped = two_steps.losses(settings).values()
    assert in_order < 0.01 and swapped > 0.5
    world = two_steps.TwoSteps.make_world()
    assert two_steps.quest_met(world, settings, None)
    assert not two_steps.quest_met(world, two_steps.Settings(), None)
    dragged = one_weight.put(world, two_steps.Settings(), 1, 1.4, 9.0)
    assert dragged.points == "1.0000 -1.0000; 1.4000 2.0000"
    with pytest.raises(ddlab.DDLabError, match="2 of them"):
        two_steps.Settings(points="1 1")
