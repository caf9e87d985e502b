"""Differentiating through training: unrolled, recomputed, and by finite differences, in float64."""

import dataclasses
import itertools
import math
import weakref
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ddlab import networks
from ddlab.core import NonFiniteError
from ddlab.training.unrolled import Inner, Tensors, outer_gradient, train

STEPS = 4
LABELS = torch.tensor([0, 1, 2])


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def numbers(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def inner_loss(step: int, weights: Tensors, learned: Tensors) -> Tensor:
    """A small network with a bend in it, on images whose order turns with the step."""
    hidden = torch.tanh(learned["images"].roll(step, 0) @ weights["first"])
    return F.cross_entropy(hidden @ weights["last"], LABELS.roll(step))


INNER = Inner(
    steps=STEPS,
    loss=inner_loss,
    rate=lambda step, learned: learned["rates"][step],
    momentum=lambda step, learned: learned["momenta"][step],
)


@pytest.fixture
def case(generator: torch.Generator) -> tuple[Tensors, Tensors, Any]:
    weights = {"first": numbers(generator, 5, 4), "last": numbers(generator, 4, 3)}
    learned = {
        "images": numbers(generator, 3, 5),
        "rates": torch.linspace(0.1, 0.7, STEPS, dtype=torch.float64),
        "momenta": torch.linspace(0.2, 0.9, STEPS, dtype=torch.float64),
        "unused": numbers(generator, 2),
    }
    real = numbers(generator, 6, 5)
    answers = torch.arange(6) % 3

    def outer(weights_now: Tensors, tensors: Tensors) -> Tensor:
        return (
            F.cross_entropy(torch.tanh(real @ weights_now["first"]) @ weights_now["last"], answers)
            + tensors["images"].square().mean()
        )

    return weights, learned, outer


@pytest.mark.parametrize("on_the_way", [False, True])
@pytest.mark.parametrize("recompute", [False, True])
def test_the_gradient_is_that_of_finite_differences(
    recompute: bool, on_the_way: bool, case: tuple[Tensors, Tensors, Any]
) -> None:
    weights, learned, outer = case

    def along(step: int, weights_now: Tensors, tensors: Tensors) -> Tensor:
        return step * outer({**weights_now, "last": 2 * weights_now["last"]}, tensors)

    def whole(tensors: Tensors) -> float:
        path = train(INNER, weights, tensors)
        extra = (
            sum(float(along(step, path[step], tensors)) for step in range(1, STEPS))
            if on_the_way
            else 0.0
        )
        return float(outer(path[-1], tensors)) + extra

    loss, slopes, last = outer_gradient(
        INNER, weights, learned, outer, along=along if on_the_way else None, recompute=recompute
    )
    path = train(INNER, weights, learned)
    assert len(path) == STEPS + 1 and all(
        torch.allclose(path[-1][name], last[name], rtol=1e-12) for name in last
    )
    assert float(loss) == pytest.approx(whole(learned), rel=1e-12)
    assert not slopes["unused"].any() and not any(value.requires_grad for value in learned.values())
    for name in ("images", "rates", "momenta"):
        for place in range(learned[name].numel()):
            totals = []
            for shift in (1e-5, -1e-5):
                value = learned[name].clone()
                value.view(-1)[place] += shift
                totals.append(whole({**learned, name: value}))
            assert float(slopes[name].view(-1)[place]) == pytest.approx(
                (totals[0] - totals[1]) / 2e-5, rel=1e-5, abs=1e-9
            )


def test_both_ways_agree_through_a_network_and_with_torchs_sgd(generator: torch.Generator) -> None:
    spec = networks.spec("convnet", width=4, depth=2, norm="instance")
    spec = dataclasses.replace(spec, channels=1, classes=3, image_size=(8, 8))
    weights = {
        name: value.double() for name, value in networks.initialise(spec, seed=0).weights.items()
    }
    learned = {
        "images": numbers(generator, 3, 1, 8, 8),
        "rate": torch.tensor(0.2, dtype=torch.float64),
    }
    real = numbers(generator, 6, 1, 8, 8)
    answers = torch.arange(6) % 3

    def loss_of(images: Tensor, labels: Tensor, weights_now: Tensors) -> Tensor:
        return F.cross_entropy(networks.call(spec, weights_now, images)[0].logits, labels)

    inner = Inner(
        steps=3,
        loss=lambda step, weights_now, tensors: loss_of(tensors["images"], LABELS, weights_now),
        rate=lambda step, tensors: tensors["rate"],
        momentum=lambda step, tensors: 0.5,
    )
    results = []
    for recompute in (False, True):
        results.append(
            outer_gradient(
                inner,
                weights,
                learned,
                lambda weights_now, tensors: loss_of(real, answers, weights_now),
                recompute=recompute,
            )
        )
    assert results[0][0] == results[1][0]
    for name, slope in results[0][1].items():
        assert slope.any() and torch.allclose(slope, results[1][1][name], rtol=1e-10, atol=1e-14)
    module: nn.Module = networks.initialise(spec, seed=0).module().double()
    optimiser = torch.optim.SGD(module.parameters(), lr=0.2, momentum=0.5)
    for _ in range(3):
        optimiser.zero_grad()
        F.cross_entropy(module(learned["images"]), LABELS).backward()
        optimiser.step()
    for name, value in module.named_parameters():
        assert torch.allclose(value, results[1][2][name], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("recompute", [False, True])
def test_limiting_cases(recompute: bool, case: tuple[Tensors, Tensors, Any]) -> None:
    """Without a rate, or without a step, the images have the outer loss's own gradient alone; rates
    are felt all the same.
    """
    weights, learned, outer = case
    still = {**learned, "rates": torch.zeros(STEPS, dtype=torch.float64)}
    expected_slope = 2 * learned["images"] / learned["images"].numel()
    slopes = outer_gradient(INNER, weights, still, outer, recompute=recompute)[1]
    assert torch.allclose(slopes["images"], expected_slope, rtol=1e-12) and slopes["rates"].all()
    none = dataclasses.replace(INNER, steps=0)
    loss, slopes, last = outer_gradient(none, weights, learned, outer, recompute=recompute)
    assert torch.allclose(slopes["images"], expected_slope, rtol=1e-12) and torch.equal(
        last["first"], weights["first"]
    )
    assert loss == outer(weights, learned)


@pytest.mark.parametrize("recompute", [False, True])
def test_training_that_diverges_names_step_and_rate(
    recompute: bool, case: tuple[Tensors, Tensors, Any]
) -> None:
    weights, learned, outer = case
    wild = {**learned, "rates": torch.tensor([0.1, math.inf, 0.1, 0.1], dtype=torch.float64)}
    with pytest.raises(NonFiniteError, match=r"after inner step 2 of 4, of rate inf"):
        outer_gradient(INNER, weights, wild, outer, recompute=recompute)
    with pytest.raises(
        NonFiniteError, match=r"outer loss must stay finite; given nan after 4 inner steps"
    ):
        outer_gradient(
            INNER,
            weights,
            learned,
            lambda *arguments: outer(*arguments) * math.nan,
            recompute=recompute,
        )


class SavedTensor:
    """A tensor that a graph keeps, counted as long as it does."""

    count = peak = 0

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        SavedTensor.count += 1
        SavedTensor.peak = max(SavedTensor.peak, SavedTensor.count)

    def __del__(self) -> None:
        SavedTensor.count -= 1


@pytest.mark.parametrize("recompute", [False, True])
def test_recomputing_keeps_the_graph_of_one_step(
    recompute: bool, case: tuple[Tensors, Tensors, Any]
) -> None:
    weights, learned, outer = case
    steady = dataclasses.replace(
        INNER, rate=lambda step, tensors: tensors["rates"][0], momentum=lambda step, tensors: 0.5
    )
    peaks = []
    for steps in (3, 30):
        SavedTensor.peak = SavedTensor.count
        with torch.autograd.graph.saved_tensors_hooks(SavedTensor, lambda saved: saved.tensor):
            outer_gradient(
                dataclasses.replace(steady, steps=steps),
                weights,
                learned,
                outer,
                recompute=recompute,
            )
        peaks.append(SavedTensor.peak)
    assert (peaks[1] <= 1.5 * peaks[0]) is recompute and (recompute or peaks[1] > 8 * peaks[0])


class Live(TorchDispatchMode):
    """The most bytes of tensors that were made inside it and are there at once."""

    def __init__(self) -> None:
        super().__init__()
        self.held = dict[int, int]()
        self.peak = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        for storage in (
            tensor.untyped_storage() for tensor in tree_leaves(result) if isinstance(tensor, Tensor)
        ):
            if storage._cdata not in self.held:
                self.held[storage._cdata] = storage.nbytes()
                self.peak = max(self.peak, sum(self.held.values()))
                weakref.finalize(storage, self.held.pop, storage._cdata)
        return result


def test_recomputation_keeps_one_step_and_a_copy_of_the_weights_of_each() -> None:
    spec = dataclasses.replace(
        networks.spec("convnet", width=8, norm="instance"),
        channels=1,
        classes=10,
        image_size=(16, 16),
    )
    weights = networks.initialise(spec, seed=0).weights
    labels = torch.arange(10)
    learned = {"images": torch.randn((10, 1, 16, 16), generator=torch.Generator().manual_seed(0))}
    copy = sum(value.nbytes for value in weights.values())

    def loss(step: int, weights_now: Tensors, tensors: Tensors) -> Tensor:
        return F.cross_entropy(
            networks.call(spec, weights_now, tensors["images"])[0].logits, labels
        )

    peaks = dict[tuple[int, bool], int]()
    for steps, recompute in itertools.product((3, 30), (False, True)):
        inner = Inner(steps=steps, loss=loss, rate=lambda step, tensors: 0.1)
        with Live() as live:
            outer_gradient(
                inner,
                weights,
                learned,
                lambda weights_now, tensors: loss(0, weights_now, tensors),
                recompute=recompute,
            )
        peaks[steps, recompute] = live.peak
    assert peaks[30, False] > 8 * peaks[3, False]
    assert peaks[30, True] < 1.5 * peaks[3, True] + 27 * copy
