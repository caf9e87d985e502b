"""LD against its loops written out in float64; the reset; other images; the set and its student;
what is refused.
"""

import dataclasses
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.methods import ld
from ddlab.methods.shared import label_steps
from ddlab.runs import Inputs, process
from tests.support import made_data, refuses, run_to_end

BATCHES = ([0, 2, 5], [1, 4, 5], [3, 2, 0])


def ready(settings: ld.Config, inputs: Inputs) -> ld.State:
    """The first state in float64, with labels that differ."""
    state = ld.init(settings, inputs)
    labels = torch.rand(
        state.labels.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    weights = {name: value.double() for name, value in state.weights.items()}
    scale = state.scale.double()
    adam = ld.optimisers.adam_init
    return dataclasses.replace(
        state,
        images=state.images.double(),
        labels=labels / labels.sum(1, keepdim=True),
        weights=weights,
        scale=scale,
        classifier=state.classifier.double(),
        label_optimiser=adam({"labels": labels}),
        optimiser=adam(weights),
        scale_optimiser=adam({"scale": scale}),
    )


def module_of(spec: networks.NetworkSpec, state: ld.State) -> Any:
    module = networks.initialise(spec, seed=0).module().double()
    module.load_state_dict({**module.state_dict(), **state.weights})
    return module


def normalised(labels: Tensor) -> None:
    with torch.no_grad():
        labels.clamp_(0, 1).div_(labels.sum(1, keepdim=True))


def features(module: Any, images: Tensor) -> Tensor:
    hidden = module.hidden(images)
    return torch.cat([hidden, torch.ones(len(hidden), 1, dtype=torch.float64)], 1)


def test_the_ridge_way_is_the_algorithm_with_every_gradient_by_autograd(
    inputs: Inputs, grey: ImageData
) -> None:
    settings = ld.SMALL.replace(network_learning_rate=0.01)
    state = ready(settings, inputs)
    spec = settings.network.for_data(grey)
    real = grey.normalised(slice(12)).double()
    answers = grey.train_labels[:12]
    module = module_of(spec, state)
    labels = state.labels.clone().requires_grad_()
    scale = torch.ones((), dtype=torch.float64, requires_grad=True)
    classifier = state.classifier.clone()
    adams = [
        torch.optim.Adam([labels], 0.1),
        torch.optim.Adam(module.parameters(), 0.01),
        torch.optim.Adam([scale], 0.01),
    ]
    for rows in BATCHES:
        phi = features(module, state.images[rows])
        inverse = torch.linalg.inv(phi.T @ phi + torch.eye(phi.shape[1], dtype=torch.float64))
        # The primal solution.
        classifier = 0.99 * classifier.detach() + 0.01 * inverse @ phi.T @ labels[rows]
        adams[0].zero_grad()
        F.cross_entropy(scale * features(module, real) @ classifier, answers).backward(
            retain_graph=True
        )
        adams[0].step()
        normalised(labels)
        module.zero_grad()
        scale.grad = None
        F.cross_entropy(scale * phi @ classifier, labels[rows].detach()).backward()
        for adam in adams[1:]:
            adam.step()
        step = label_steps.ridge_step(settings, spec, state, torch.tensor(rows), real, answers)
        state = after(state, step, settings)
    assert torch.allclose(state.labels, labels, rtol=1e-9) and torch.allclose(
        state.scale, scale, rtol=1e-9
    )
    assert torch.allclose(state.classifier, classifier, rtol=1e-8, atol=1e-12)
    for name, value in module.named_parameters():
        assert torch.allclose(state.weights[name], value, rtol=1e-8, atol=1e-11), name


def after(state: ld.State, step: Any, settings: ld.Config) -> ld.State:
    """As `ld.update` takes what a step gives."""
    _, labels, label_optimiser, gradients, other_changes = step
    weights, optimiser = ld.optimisers.adam_update(
        state.weights, gradients, state.optimiser, learning_rate=settings.network_learning_rate
    )
    new = {
        "labels": labels,
        "label_optimiser": label_optimiser,
        "weights": weights,
        "optimiser": optimiser,
    }
    return dataclasses.replace(state, **new, **other_changes)


def test_the_second_order_way_is_a_step_of_the_network_and_its_gradient(
    inputs: Inputs, grey: ImageData
) -> None:
    settings = ld.SMALL.replace(solver="second_order", network_learning_rate=0.01)
    state = ready(settings, inputs)
    spec = settings.network.for_data(grey)
    real = grey.normalised(slice(12)).double()
    answers = grey.train_labels[:12]
    module = module_of(spec, state)
    labels = state.labels.clone().requires_grad_()
    adams = [torch.optim.Adam([labels], 0.1), torch.optim.Adam(module.parameters(), 0.01)]
    for rows in BATCHES:
        inner = F.cross_entropy(module(state.images[rows]), labels[rows])
        slopes = torch.autograd.grad(inner, list(module.parameters()), create_graph=True)
        fast = {
            name: value - 0.01 * slope
            for (name, value), slope in zip(module.named_parameters(), slopes, strict=True)
        }
        (labels.grad,) = torch.autograd.grad(
            F.cross_entropy(functional_call(module, fast, (real,)), answers), labels
        )
        assert labels.grad[rows].any() and labels.grad.count_nonzero() == 3 * grey.classes
        for value, slope in zip(module.parameters(), slopes, strict=True):
            value.grad = slope.detach()
        for adam in adams:
            adam.step()
        normalised(labels)
        state = after(
            state,
            label_steps.second_order_step(settings, spec, state, torch.tensor(rows), real, answers),
            settings,
        )
    assert torch.allclose(state.labels, labels, rtol=1e-9)
    for name, value in module.named_parameters():
        assert torch.allclose(state.weights[name], value, rtol=1e-8, atol=1e-11), name


def test_labels_in_closed_form_have_their_gradient() -> None:
    draws = torch.Generator().manual_seed(2)
    phi = torch.randn((5, 9), generator=draws, dtype=torch.float64)
    labels = torch.randn((5, 3), generator=draws, dtype=torch.float64)
    slopes = torch.randn((9, 3), generator=draws, dtype=torch.float64)
    leaf = labels.clone().requires_grad_()
    (label_steps.ridge_weights(phi, leaf, 0.4) * slopes).sum().backward()
    assert leaf.grad is not None and torch.allclose(
        label_steps.label_gradient(phi, slopes, 0.4), leaf.grad
    )


def test_labels_stay_probabilities() -> None:
    probabilities = label_steps.as_probabilities(
        torch.tensor([[2.0, 0.5, -1.0], [-1.0, 0.0, -3.0]])
    )
    assert torch.allclose(probabilities, torch.tensor([[2 / 3, 1 / 3, 0.0], [1 / 3, 1 / 3, 1 / 3]]))


def test_a_network_that_overfits_is_replaced(inputs: Inputs) -> None:
    errors = torch.cat([torch.linspace(1, 0.2, 9), torch.linspace(0.3, 1, 20)])
    patience = 4
    recent = torch.zeros(0)
    lowest = torch.tensor(5.0)
    waited = 0
    sums = [float(errors[max(end - patience, 0) : end].sum()) for end in range(1, 30)]
    best = min(range(patience - 1, 29), key=sums.__getitem__)
    for step, error in enumerate(errors):
        recent, lowest, waited, late = ld.watch_errors(recent, lowest, waited, error, patience)
        assert late is (step == best + patience + 1), step
        if late:
            assert step + 1 - waited == best + 1
            break
    steps = list(process.steps(ld, ld.SMALL.replace(iterations=40, learning_rate=1e-4), inputs))
    resets = [step.index for step in steps if step.trace.reset]
    assert resets and len(steps[-1].state.resets) == len(resets)
    fresh = steps[resets[0] - 1].state
    assert fresh.since_reset == 0 and not fresh.classifier.any() and float(fresh.scale) == 1
    assert not all(
        torch.equal(fresh.weights[name], value)
        for name, value in ld.init(ld.SMALL, inputs).weights.items()
    )
    assert ld.training_steps(dataclasses.replace(fresh, resets=(90, 1, 2, 6))) == 3


def test_labels_of_other_images_than_the_data(
    inputs: Inputs, grey: ImageData, tmp_path: Any
) -> None:
    images = torch.randn((4, 1, 8, 8), generator=torch.Generator().manual_seed(0))
    with_set = dataclasses.replace(
        inputs, distilled=ddlab.from_images(images, torch.arange(4) % 3, grey)
    )
    distilled = run_to_end(ld, ld.SMALL, with_set)
    probabilities = distilled.target("stored").logits.exp()
    assert torch.equal(distilled.images, images) and torch.allclose(
        probabilities.sum(1), torch.ones(4), atol=1e-4
    )
    assert torch.equal(distilled.labels, probabilities.argmax(1)) and not torch.allclose(
        probabilities, torch.full_like(probabilities, 1 / 3), atol=1e-3
    )
    again = DistilledSet.load(distilled.save(tmp_path / "set.safetensors"))
    student = ld.student(again, network=networks.spec("mlp", width=4))
    assert (
        student.epochs == max(round(distilled.provenance["training_steps"] * 3 / 4), 1)
        and student.temperature == 1
    )
    scored = ddlab.evaluate(
        again, grey, labels="stored", config=student, seeds=[0], device="cpu", progress=False
    )
    assert 0 <= scored.mean <= 1


def test_what_cannot_be(inputs: Inputs, grey: ImageData) -> None:
    larger_set = ddlab.from_images(torch.zeros((3, 1, 9, 9)), torch.arange(3), made_data(size=9))
    with refuses("distilled", "8, 8"):
        ld.init(ld.SMALL, dataclasses.replace(inputs, distilled=larger_set))
    with refuses("network", "batch norm"):
        ld.init(ld.SMALL.replace(network=networks.spec("convnet", width=4)), inputs)
    with refuses("images_per_class"):
        ld.init(ld.SMALL.replace(images_per_class=10**4), inputs)
