"""Mnemonics: its equations against loops in float64, phases, exemplars, what is kept bit for bit,
and what is refused.
"""

import dataclasses
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from ddlab import networks
from ddlab.methods import mnemonics, selection
from ddlab.methods.shared import exemplars
from ddlab.runs import Inputs, process
from ddlab.training import ordered, phases
from tests.support import made_data, refuses, run_to_end

FOUR = made_data(classes=4, train=8, test=5, seed=3)
SETTINGS = mnemonics.SMALL.replace(tasks=2, temporary_learning_rate=0.3)


@pytest.fixture
def inputs() -> Inputs:
    return Inputs(data=FOUR, device="cpu")


def doubled(settings: mnemonics.Config) -> tuple[dict[str, Tensor], Any]:
    spec = settings.network.for_data(FOUR)
    weights = {
        name: value.double()
        for name, value in ordered.first_weights(spec, "pytorch", seed=1).items()
    }
    return weights, networks.initialise(spec, seed=0).module().double()


def images_of(count: int) -> Tensor:
    draws = torch.Generator().manual_seed(count)
    return torch.randn(
        (count, FOUR.channels, *FOUR.image_size), generator=draws, dtype=torch.float64
    )


def after_temporary_steps(
    module: Any, start: dict[str, Tensor], images: Tensor, labels: Tensor, classes_so_far: int
) -> Any:
    weights = {name: value.clone().requires_grad_() for name, value in start.items()}
    for _ in range(SETTINGS.temporary_steps):
        loss = F.cross_entropy(
            functional_call(module, weights, (images,))[:, :classes_so_far], labels
        )
        slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = {
            name: value - 0.3 * slope
            for (name, value), slope in zip(weights.items(), slopes, strict=True)
        }
    return weights


def test_exemplars_feel_the_loss_of_the_copy_that_they_trained(inputs: Inputs) -> None:
    weights, module = doubled(SETTINGS)
    images, labels = images_of(4).requires_grad_(), torch.tensor([0, 0, 1, 1])
    judged = (images_of(6), torch.arange(6) % 2)
    last = after_temporary_steps(module, weights, images, labels, 2)
    loss = F.cross_entropy(functional_call(module, last, (judged[0],))[:, :2], judged[1])
    (expected,) = torch.autograd.grad(loss, images)
    our_loss, slopes = exemplars.exemplar_gradient(
        SETTINGS, inputs, weights, images.detach(), labels, judged, 2
    )
    assert float(our_loss) == pytest.approx(loss.item(), rel=1e-12)
    assert expected.any() and torch.allclose(slopes, expected, rtol=1e-9, atol=1e-14)


def test_old_halves_are_judged_by_each_other(inputs: Inputs) -> None:
    weights, module = doubled(SETTINGS)
    images, labels = images_of(4).requires_grad_(), torch.tensor([0, 0, 1, 1])
    slopes = exemplars.adjusting_gradient(SETTINGS, inputs, weights, images.detach(), labels, 4)
    for half, other_half in (([0, 2], [1, 3]), ([1, 3], [0, 2])):
        last = after_temporary_steps(module, weights, images[half], labels[half], 4)
        judged = images.detach()[other_half]
        loss = F.cross_entropy(functional_call(module, last, (judged,)), labels[other_half])
        (expected,) = torch.autograd.grad(loss, images)
        assert expected.any() and torch.allclose(
            slopes[half], expected[half], rtol=1e-9, atol=1e-14
        )


def test_the_released_loss_is_of_cosines_to_class_means(inputs: Inputs) -> None:
    weights, _ = doubled(SETTINGS)
    spec = SETTINGS.network.for_data(FOUR)
    images = images_of(4).requires_grad_()
    labels = torch.tensor([2, 2, 3, 3])
    real = images_of(6)
    answers = torch.arange(6) % 2 + 2
    means = networks.call(spec, weights, images)[0].features.unflatten(0, (2, 2)).mean(1)
    cosines = F.cosine_similarity(
        networks.call(spec, weights, real)[0].features[:, None], means[None], dim=2
    )
    loss = F.cross_entropy(cosines, answers - 2)
    our_loss, slopes = exemplars.release_gradient(
        SETTINGS, inputs, weights, images.detach(), labels, (real, answers)
    )
    assert float(our_loss) == pytest.approx(loss.item(), rel=1e-10)
    assert torch.allclose(slopes, torch.autograd.grad(loss, images)[0], rtol=1e-8, atol=1e-13)


def test_the_models_loss_keeps_earlier_answers_in_its_share() -> None:
    draws = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 4, generator=draws, dtype=torch.float64)
    before = torch.randn(5, 2, generator=draws, dtype=torch.float64)
    labels = torch.tensor([0, 1, 2, 3, 3])
    settings = SETTINGS.replace(distillation_weight=0.25, temperature=2.0)
    p, q = (before / 2).softmax(1), (logits[:, :2] / 2).softmax(1)
    distillation = (p * (p / q).log()).sum(1).mean()
    plain = F.cross_entropy(logits, labels)
    our_loss = phases.model_loss(settings, logits, labels, before)
    assert float(our_loss) == pytest.approx(
        float(0.75 * plain + 0.25 * 4 * distillation), rel=1e-12
    )
    assert torch.equal(
        phases.model_loss(settings.replace(distillation_weight=0.0), logits, labels, before), plain
    )
    assert torch.equal(phases.model_loss(settings, logits, labels, None), plain)


def test_phases_share_classes_evenly() -> None:
    assert phases.class_ends(SETTINGS, 4) == [2, 4]
    half = mnemonics.Config.paper("cifar100")
    assert phases.class_ends(half, 100) == [50, 60, 70, 80, 90, 100]
    with refuses("tasks", "shared evenly"):
        phases.class_ends(SETTINGS, 5)
    rows, places = phases.arrivals(SETTINGS.replace(order_seed=1), FOUR, 1)
    order = phases.class_order(4, 1)
    assert [order[place] for place in places.tolist()] == FOUR.train_labels[rows].tolist()


def run_of(inputs: Inputs, **changes: Any) -> mnemonics.State:
    return [*process.steps(mnemonics, SETTINGS.replace(**changes), inputs)][-1].state


def test_an_outer_rate_of_zero_keeps_exemplars_bit_for_bit(inputs: Inputs) -> None:
    still = run_of(inputs, exemplar_learning_rate=0.0)
    chosen = run_of(inputs, exemplar_step="none")
    assert torch.equal(still.exemplars[:4], chosen.exemplars[:4])
    assert not torch.equal(run_of(inputs, exemplar_updates=3).exemplars[:4], chosen.exemplars[:4])


def test_herding_is_that_of_the_phases_own_network(inputs: Inputs) -> None:
    settings = SETTINGS.replace(exemplar_step="none", tuning_steps=0)
    state = run_of(inputs, exemplar_step="none", tuning_steps=0)
    images = FOUR.normalised(FOUR.of_class(1))
    features = networks.call(settings.network.for_data(FOUR), state.models[0], images)[0].features
    assert torch.equal(state.exemplars[2:4], images[selection.herding(features, 2)])
    distilled = mnemonics.finish(settings, inputs, state)
    assert distilled.complete and distilled.labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_an_early_phase_sees_nothing_of_a_later_one(inputs: Inputs) -> None:
    changed = FOUR.train_images.clone()
    changed[FOUR.train_labels >= 2] = 255 - changed[FOUR.train_labels >= 2]
    changed_later = dataclasses.replace(FOUR, train_images=changed)
    first = run_of(inputs, exemplar_step="none")
    second = run_of(Inputs(data=changed_later, device="cpu"), exemplar_step="none")
    assert all(
        torch.equal(value, second.models[0][name]) for name, value in first.models[0].items()
    )
    assert any(
        not torch.equal(value, second.models[1][name]) for name, value in first.models[1].items()
    )


def test_fine_tuning_begins_without_the_speed_of_the_part_before(inputs: Inputs) -> None:
    settings = SETTINGS.replace(exemplar_step="none", momentum=0.9, weight_decay=0.0)
    steps = [*process.steps(mnemonics, settings, inputs)]
    first = phases.model_steps(settings, inputs, 0, 2)
    before, after = steps[first - 1].state, steps[first].state
    leaves = {name: value.clone().requires_grad_() for name, value in before.weights.items()}
    logits = phases.logits_of(settings, inputs, leaves, before.exemplars[:4], 2)
    F.cross_entropy(logits, torch.tensor([0, 0, 1, 1])).backward()
    for name, value in leaves.items():
        assert value.grad is not None and torch.allclose(
            after.velocity[name], value.grad, rtol=1e-4, atol=1e-7
        ), name


def test_given_exemplars_are_those_of_the_set(inputs: Inputs) -> None:
    chosen = run_to_end(selection, selection.Config(images_per_class=2), inputs)
    with_set = Inputs(data=FOUR, distilled=chosen, device="cpu")
    state = run_of(with_set, start="given", exemplar_step="none")
    assert torch.equal(state.exemplars, chosen.images[chosen.labels.argsort(stable=True)])


def test_what_is_refused(inputs: Inputs) -> None:
    with refuses("images_per_class", "8"):
        mnemonics.init(SETTINGS.replace(images_per_class=9), inputs)
    with refuses("tasks", "2"):
        SETTINGS.replace(tasks=1)
    with refuses("images_per_class"):
        SETTINGS.replace(images_per_class=0)
    with refuses("distilled", "4 classes"):
        mnemonics.init(SETTINGS.replace(start="given"), inputs)
    with refuses("network", "batch norm"):
        mnemonics.init(SETTINGS.replace(network=networks.spec("convnet", width=4)), inputs)
