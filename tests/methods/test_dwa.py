"""DWA against a plain PyTorch loop in float64, and against SRe2L where both are the same."""

import copy
import dataclasses
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddlab import networks
from ddlab.core import NonFiniteError
from ddlab.data import ImageData
from ddlab.methods import dwa, sre2l
from ddlab.methods.shared import descent
from ddlab.networks import Network
from ddlab.runs import Inputs, process
from tests.methods.test_recovery import plain_module
from tests.support import assert_same, assert_unchanged, doubled, refuses, run_to_end, snapshot


@pytest.fixture
def inputs(colour: ImageData, colour_teacher: Network) -> Inputs:
    return Inputs(data=colour, teachers=(colour_teacher,))


def settings(**changes: Any) -> dwa.Config:
    small: dict[str, Any] = {"images_per_class": 2, "iterations": 3, "roll_pixels": 0, "seed": 3}
    return dwa.Config(**small | changes)


def real_batch(config: dwa.Config, data: ImageData, batch: int) -> tuple[Tensor, Tensor]:
    indices = descent.real_image_indices(data, config.images_per_class, seed=config.seed)[batch]
    return data.normalised(indices).double(), data.train_labels[indices]


def two_batches(data: ImageData) -> tuple[Tensor, Tensor]:
    """The real images and labels of the first two batches, as one."""
    batches = [real_batch(settings(), data, number) for number in (0, 1)]
    images = torch.cat([images for images, _ in batches])
    return images, torch.cat([labels for _, labels in batches])


def plainly_adjusted(
    module: nn.Module, images: Tensor, labels: Tensor, steps: int, radius: float
) -> tuple[nn.Module, list[float]]:
    """Algorithm 1 as a script would have it: a copied module whose parameters are moved uphill in
    place.
    """
    module = copy.deepcopy(module).requires_grad_(True)
    losses = []
    for _ in range(steps):
        module.zero_grad()
        loss = F.cross_entropy(module(images), labels)
        loss.backward()
        gradients = [value.grad for value in module.parameters() if value.grad is not None]
        length = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients)) + 1e-12
        with torch.no_grad():
            for value, gradient in zip(module.parameters(), gradients, strict=True):
                value += radius / steps * gradient / length
        losses.append(float(loss.detach()))
    return module.requires_grad_(False), losses


@pytest.mark.parametrize(("steps", "radius"), [(1, 0.3), (7, 0.05), (12, 2.0)])
def test_directed_adjustment_is_algorithm_1(
    steps: int, radius: float, colour: ImageData, colour_teacher: Network
) -> None:
    teacher = doubled(colour_teacher)
    module = plain_module(colour_teacher)
    before = snapshot(teacher)
    images, labels = real_batch(settings(), colour, 0)
    adjustment = dwa.directed_adjustment(teacher, images, labels, steps=steps, radius=radius)
    expected, losses = plainly_adjusted(module, images, labels, steps, radius)
    for name, value in expected.named_parameters():
        torch.testing.assert_close(
            teacher.weights[name] + adjustment.weights[name], value, rtol=1e-10, atol=1e-12
        )
    assert adjustment.losses.tolist() == pytest.approx(losses, rel=1e-10)
    squares = sum(float(value.square().sum()) for value in adjustment.weights.values())
    assert float(adjustment.length) == pytest.approx(math.sqrt(squares))
    assert 0 < adjustment.length <= radius * (1 + 1e-9)
    assert_unchanged(before, teacher)


def test_the_adjustment_goes_uphill(colour: ImageData, colour_teacher: Network) -> None:
    images, labels = real_batch(settings(), colour, 0)
    adjustment = dwa.directed_adjustment(
        doubled(colour_teacher), images, labels, steps=8, radius=0.02
    )
    assert (adjustment.losses.diff() > 0).all()


def test_several_images_of_each_class_are_a_batch_too(
    colour: ImageData, colour_teacher: Network
) -> None:
    images, labels = two_batches(colour)
    adjustment = dwa.directed_adjustment(
        doubled(colour_teacher), images, labels, steps=1, radius=0.1
    )
    assert float(adjustment.length) == pytest.approx(0.1)


def test_a_large_batch_is_taken_in_parts(
    colour: ImageData, colour_teacher: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is a matter of the parts; the adjustment is that of the whole batch."""
    images, labels = two_batches(colour)
    whole = dwa.directed_adjustment(doubled(colour_teacher), images, labels, steps=3, radius=0.5)
    part_sizes = []
    real = networks.call
    monkeypatch.setattr(
        networks,
        "call",
        lambda s, w, some, *a, **k: part_sizes.append(len(some)) or real(s, w, some, *a, **k),
    )
    monkeypatch.setattr(dwa, "AT_ONCE", 3)
    parts = dwa.directed_adjustment(doubled(colour_teacher), images, labels, steps=3, radius=0.5)
    assert part_sizes == [3, 1] * 3
    for in_one, in_parts in zip(
        (*whole.weights.values(), whole.losses),
        (*parts.weights.values(), parts.losses),
        strict=True,
    ):
        torch.testing.assert_close(in_one, in_parts, rtol=1e-10, atol=1e-12)


def test_random_adjustment_has_the_length_and_no_direction(teacher: Network) -> None:
    seed_0 = dwa.random_adjustment(teacher, length=0.7, seed=0, batch=1)
    seed_0_again = dwa.random_adjustment(teacher, length=0.7, seed=0, batch=1)
    seed_1 = dwa.random_adjustment(teacher, length=0.7, seed=1, batch=1)
    assert_same(seed_0, seed_0_again)
    flat = torch.cat([value.flatten() for value in seed_0.weights.values()])
    flat_1 = torch.cat([value.flatten() for value in seed_1.weights.values()])
    assert float(flat.norm()) == pytest.approx(0.7) == float(seed_0.length)
    assert list(seed_0.weights) == networks.parameter_names(teacher.spec)
    # A Gaussian direction: every weight has the same spread, and two draws have next to nothing in
    # common.
    cosine = float(flat @ flat_1) / 0.49
    assert abs(cosine) < 5 / math.sqrt(len(flat))
    spread = flat / flat.std()
    assert abs(float(spread.mean())) < 5 / math.sqrt(len(flat)) and float(
        spread.pow(4).mean()
    ) == pytest.approx(3, abs=0.5)


@pytest.mark.parametrize(
    "changes",
    [{"adjustment_radius": 0.0}, {"adjustment_steps": 0}, {"perturbation": "none"}],
    ids=str,
)
def test_without_adjustment_it_is_sre2l_bit_for_bit(
    changes: dict[str, Any], inputs: Inputs
) -> None:
    shared: dict[str, Any] = {
        "initialisation": "noise",
        "lambda_mean": 0.03,
        "lambda_var": 0.03,
        "roll_pixels": 2,
    }
    config = settings(**shared, **changes)
    alike = sre2l.Config(images_per_class=2, iterations=3, seed=3, **shared)
    ours = list(process.steps(dwa, config, inputs))
    theirs = list(process.steps(sre2l, alike, inputs))
    for our_step, their_step in zip(ours, theirs, strict=True):
        for part in dataclasses.fields(sre2l.State):
            assert_same(getattr(our_step.state, part.name), getattr(their_step.state, part.name))
        for part in dataclasses.fields(sre2l.Trace):
            assert_same(getattr(our_step.trace, part.name), getattr(their_step.trace, part.name))
    assert_same(run_to_end(dwa, config, inputs).tensors, run_to_end(sre2l, alike, inputs).tensors)


def test_each_batch_is_adjusted_from_the_untouched_teacher(inputs: Inputs) -> None:
    """The second batch is what a run that begins there gives: perturbations do not pile up, and no
    optimiser state leaks.
    """
    config = settings(adjustment_radius=0.5)
    whole = list(process.steps(dwa, config, inputs))
    second = whole[config.iterations - 1].state
    assert_same(second.adjusted, dwa._adjustment(config, inputs, 1)["adjusted"])
    lengths = [float(step.trace.adjustment_length) for step in whole]
    assert lengths[0] == lengths[2] != lengths[3] == lengths[5] and max(lengths) <= 0.5 * (1 + 1e-6)


def test_random_is_as_long_as_directed(inputs: Inputs) -> None:
    random = dwa.init(settings(perturbation="random"), inputs)
    directed = dwa.init(settings(perturbation="directed"), inputs)
    assert float(random.adjustment_length) == pytest.approx(float(directed.adjustment_length))
    assert not torch.equal(*(next(iter(state.adjusted.values())) for state in (random, directed)))


def test_one_step_of_the_adjustment_goes_along_the_gradient(
    inputs: Inputs, colour_teacher: Network
) -> None:
    state = dwa.init(settings(adjustment_steps=1, adjustment_radius=0.5), inputs)
    assert float(state.adjustment_length) == pytest.approx(0.5, rel=1e-4)
    assert not torch.equal(
        *(weights["classifier.weight"] for weights in (state.adjusted, colour_teacher.weights))
    )


def test_labels_and_result_come_from_the_untouched_teacher(
    inputs: Inputs, colour_teacher: Network
) -> None:
    distilled = run_to_end(dwa, settings(adjustment_radius=3.0), inputs)
    assert torch.equal(
        distilled.target("stored").logits, networks.predict(colour_teacher, distilled.images).logits
    )
    assert (
        distilled.provenance["method"] == dwa.NAME
        and distilled.provenance["config"]["adjustment_radius"] == 3.0
    )


def test_bad_input(inputs: Inputs, colour: ImageData, colour_teacher: Network) -> None:
    bare = networks.initialise(
        networks.spec("convnet", width=4, norm="none").for_data(colour), seed=0
    )
    with refuses("teacher", "BatchNorm2d", dwa.NAME):
        dwa.init(settings(), dataclasses.replace(inputs, teachers=(bare,)))
    with refuses("images_per_class", "at most 8", "9"):
        dwa.init(settings(images_per_class=9, initialisation="noise"), inputs)
    with refuses("config", "squeeze_recover_relabel Config"):
        run_to_end(sre2l, settings(), inputs)
    images, labels = real_batch(settings(), colour, 0)
    with pytest.raises(NonFiniteError, match=r"at step \d of 3, with radius=1e\+25"):
        dwa.directed_adjustment(colour_teacher, images.float(), labels, steps=3, radius=1e25)
