"""What matching methods share: distances against plain loops in float64, gradients of a gradient,
real batches, views.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import networks
from ddlab.data import ImageData
from ddlab.data.siamese_views import siamese_view
from ddlab.methods import dc, dsa
from ddlab.methods.shared import descent, matching
from ddlab.runs import Inputs
from tests.support import refuses

SHAPES = {"convolution": (4, 3, 2, 2), "linear": (5, 6), "bias": (5,)}


def random_gradients(seed: int) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(shape, generator=draw, dtype=torch.float64)
        for name, shape in SHAPES.items()
    }


def cosine(first: list[float], second: list[float]) -> float:
    product = sum(a * b for a, b in zip(first, second, strict=True))
    lengths = math.sqrt(sum(a * a for a in first)) * math.sqrt(sum(b * b for b in second))
    return product / (lengths + 1e-6)


def reference(real: dict[str, Tensor], learned: dict[str, Tensor], kind: str) -> dict[str, float]:
    """The three distances number by number."""
    if kind == "channels":
        distances = dict.fromkeys(("convolution", "linear"), 0.0)
        for name in distances:
            for a, b in zip(real[name], learned[name], strict=True):
                distances[name] += 1 - cosine(a.flatten().tolist(), b.flatten().tolist())
        return distances
    real_numbers = []
    for name in SHAPES:
        for number in real[name].flatten().tolist():
            real_numbers.append(number)
    learned_numbers = []
    for name in SHAPES:
        for number in learned[name].flatten().tolist():
            learned_numbers.append(number)
    if kind == "squared":
        return {
            "all": sum((a - b) ** 2 for a, b in zip(real_numbers, learned_numbers, strict=True))
        }
    return {"all": 1 - cosine(real_numbers, learned_numbers)}


@pytest.mark.parametrize("kind", matching.DISTANCES)
def test_distances_number_by_number(kind: str) -> None:
    real = random_gradients(0)
    learned = random_gradients(1)
    distance_of = matching.distances(real, learned, kind)
    assert {name: float(value) for name, value in distance_of.items()} == pytest.approx(
        reference(real, learned, kind), rel=1e-12
    )
    leaves = tuple(value.requires_grad_() for value in learned.values())

    def total(*parts: Tensor) -> Tensor:
        return torch.stack(
            list(matching.distances(real, dict(zip(SHAPES, parts, strict=True)), kind).values())
        ).sum()

    assert torch.autograd.gradcheck(total, leaves)


def test_equal_gradients_are_at_no_distance_and_opposite_ones_at_two() -> None:
    real = random_gradients(2)
    for factor, per_channel in ((3.0, 0.0), (-0.5, 2.0)):
        distance_of = matching.distances(
            real, {name: factor * value for name, value in real.items()}
        )
        for name, value in distance_of.items():
            assert float(value) == pytest.approx(per_channel * SHAPES[name][0], abs=1e-5)


def test_a_row_of_zeros_counts_one_and_sends_no_nan_back() -> None:
    real = torch.ones(3, 4, dtype=torch.float64)
    learned = torch.cat([torch.zeros(1, 4), torch.ones(2, 4)]).double().requires_grad_()
    distance = matching.channel_distance(real, learned)
    (slope,) = torch.autograd.grad(distance, learned)
    assert float(distance.detach()) == pytest.approx(1, abs=1e-6) and bool(
        torch.isfinite(slope).all()
    )


def test_refuses_what_cannot_be_matched() -> None:
    with refuses("network", "more than one axis"):
        matching.distances({"bias": torch.ones(3)}, {"bias": torch.ones(3)})


@pytest.fixture
def spec(grey: ImageData) -> networks.NetworkSpec:
    return networks.spec("convnet", width=3, norm="instance", depth=2).for_data(grey)


@pytest.fixture
def weights(spec: networks.NetworkSpec) -> dict[str, Tensor]:
    return {
        name: value.double() for name, value in networks.initialise(spec, seed=0).weights.items()
    }


def test_the_gradient_of_a_class_is_torchs_whatever_goes_through_at_once(
    grey: ImageData, spec: networks.NetworkSpec, weights: dict[str, Tensor]
) -> None:
    images = grey.normalised(grey.of_class(1)).double()
    module = networks.Network(spec=spec, weights=weights).module().double()
    loss = torch.nn.CrossEntropyLoss()(module(images), torch.full((len(images),), 1))
    loss.backward()
    expected = {name: value.grad for name, value in module.named_parameters()}
    for at_once in (None, 5, 1, 100):
        gradients = matching.class_gradient(spec, weights, images, 1, at_once=at_once)
        assert gradients.keys() == expected.keys()
        for name, value in gradients.items():
            torch.testing.assert_close(value, expected[name], rtol=1e-10, atol=1e-12)
            assert not value.requires_grad


def test_images_feel_the_distance_of_the_gradients(
    grey: ImageData, spec: networks.NetworkSpec, weights: dict[str, Tensor]
) -> None:
    real = matching.class_gradient(spec, weights, grey.normalised(grey.of_class(0)).double(), 0)
    draw = torch.Generator().manual_seed(4)
    images = torch.randn((2, 1, 8, 8), generator=draw, dtype=torch.float64, requires_grad=True)

    def total(images_now: Tensor) -> Tensor:
        slopes = matching.class_gradient(spec, weights, images_now, 0, differentiable=True)
        return torch.stack(list(matching.distances(real, slopes).values())).sum()

    assert torch.autograd.gradcheck(total, images, eps=1e-5, atol=1e-5)


def test_a_real_batch_is_of_its_class_without_repetition(grey: ImageData) -> None:
    config = dc.SMALL.replace(batch_size=8)
    inputs = Inputs(data=grey, device="cpu")
    batches = []
    for label in range(3):
        for step in range(5):
            batches.append(matching.real_batch(config, inputs, label, step=step))
    for number, batch in enumerate(batches):
        members = grey.normalised(grey.of_class(number // 5))
        rows = []
        for image in batch:
            rows.append(next(i for i, real in enumerate(members) if torch.equal(real, image)))
        assert len(set(rows)) == len(batch) == 8
    assert not any(torch.equal(batches[0], later) for later in batches[1:5]), (
        "another draw at each step"
    )
    # More than the class has: all of it.
    every = matching.real_batch(config.replace(batch_size=99), inputs, 2, step=0)
    assert len(every) == 12 and torch.equal(
        every.sum(), grey.normalised(grey.of_class(2))[_order(every, grey)].sum()
    )


def _order(batch: Tensor, data: ImageData) -> list[int]:
    members = data.normalised(data.of_class(2))
    rows = []
    for image in batch:
        rows.append(next(i for i, real in enumerate(members) if torch.equal(real, image)))
    assert sorted(rows) == list(range(12))
    return rows


def test_learned_images_belong_to_the_classes_in_turn(grey: ImageData) -> None:
    config = dc.SMALL.replace(images_per_class=2, initialisation="real")
    inputs = Inputs(data=grey, device="cpu")
    images = descent.first_images("dc", config, inputs)
    assert descent.classes_in_turn(6, grey).tolist() == [0, 1, 2, 0, 1, 2]
    for label in range(3):
        members = grey.normalised(grey.of_class(label))
        for image in matching.of_class(images, label, 3):
            assert any(torch.equal(image, real) for real in members)


@pytest.mark.parametrize("views", matching.VIEWS)
def test_who_sees_the_operation(views: str, grey: ImageData) -> None:
    images = grey.normalised(grey.of_class(0))
    config = dsa.SMALL.replace(views=views, strategy="scale_rotate")
    step_options: dict[str, Any] = {"step": 3, "label": 1, "classes": 3}
    real = matching.augment(config, images, learned=False, **step_options)
    learned = matching.augment(config, images, learned=True, **step_options)
    assert torch.equal(real, images) == (views in ("learned", "none"))
    assert torch.equal(learned, images) == (views in ("real", "none"))
    assert torch.equal(real, learned) == (views in ("shared", "none"))
    if views == "shared":
        assert torch.equal(
            real, siamese_view(images, config.strategy, seed=config.seed, step=2 * (3 * 3 + 1))
        )
    plain = matching.augment(config.replace(strategy=""), images, learned=True, **step_options)
    assert (
        plain is images
        and matching.augment(dc.SMALL, images, learned=True, **step_options) is images
    )
