"""MTT against its loops written out in float64; its limiting case; the experts; the set; what is
refused.
"""

import dataclasses
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ddlab
from ddlab import networks
from ddlab.core import NonFiniteError
from ddlab.data import ImageData
from ddlab.data.siamese_views import siamese_view
from ddlab.distilled import DistilledSet, OrderedSteps
from ddlab.methods import mtt
from ddlab.runs import Inputs, process
from ddlab.training.trajectories import by_name, vector
from tests.support import refuses, run_to_end

SMALL: dict[str, Any] = {
    **vars(mtt.SMALL),
    "strategy": "flip",
    "images_per_class": 2,
    "learned_batch": 4,
    "inner_steps": 3,
}


def ready(settings: mtt.Config, inputs: Inputs) -> mtt.State:
    """The state with all experts, in float64."""
    run = list(process.steps(mtt, settings, inputs))[mtt.expert_updates(settings) - 1]
    state = run.state
    images = state.images.double()
    rate = state.rate.double()
    sgd = mtt.optimisers.sgd_init
    return dataclasses.replace(
        state,
        paths=tuple(path.double() for path in state.paths),
        images=images,
        rate=rate,
        image_optimiser=sgd({"images": images}),
        rate_optimiser=sgd({"rate": rate}),
    )


@pytest.mark.parametrize("recompute", [False, True])
def test_an_update_is_its_equation(recompute: bool, inputs: Inputs, grey: ImageData) -> None:
    settings = mtt.Config(**SMALL | {"recompute": recompute})
    state = ready(settings, inputs)
    draws = mtt.randomness.generator(settings.seed, state.step, "expert and start")
    expert = int(torch.randint(2, (), generator=draws))
    first_epoch = int(torch.randint(2, (), generator=draws))
    start = state.paths[3 * expert + first_epoch]
    aim = state.paths[3 * expert + first_epoch + 1]
    order = mtt.randomness.generator(settings.seed, state.step, "learned batches")
    batches = []
    for _ in range(2):
        for rows in torch.randperm(6, generator=order).split(4):
            batches.append(rows)
    images = state.images.clone().requires_grad_()
    rate = state.rate.clone().requires_grad_()
    spec = settings.network.for_data(grey)
    module = networks.initialise(spec, seed=0).module().double()
    theta = by_name(spec, start.clone().requires_grad_())
    for number, rows in enumerate(batches[:3]):
        view = siamese_view(
            images[rows], "flip", seed=settings.seed, step=state.step * 3 + number, per_image=True
        )
        loss = F.cross_entropy(torch.func.functional_call(module, theta, (view,)), rows % 3)
        slopes = torch.autograd.grad(loss, list(theta.values()), create_graph=True)
        theta = {
            name: value - rate * slope
            for (name, value), slope in zip(theta.items(), slopes, strict=True)
        }
    distance = ((vector(theta) - aim) ** 2).sum() / ((start - aim) ** 2).sum()
    distance.backward()
    after, trace = mtt.update(settings, inputs, state)
    assert trace.phase == "match" and float(trace.loss) == pytest.approx(distance.item(), rel=1e-10)
    assert (
        images.grad is not None and rate.grad is not None and images.grad.any() and rate.grad.any()
    )
    assert torch.allclose(
        after.images, state.images - settings.learning_rate * images.grad, rtol=1e-9
    )
    assert torch.allclose(
        after.rate, state.rate - settings.rate_learning_rate * rate.grad, rtol=1e-9
    )


def test_without_steps_the_student_is_as_far_as_the_expert_went(inputs: Inputs) -> None:
    settings = mtt.Config(**SMALL | {"inner_steps": 0})
    loss, slopes = mtt.matched_step(settings, inputs, ready(settings, inputs))
    assert float(loss) == 1.0 and not any(bool(value.any()) for value in slopes.values())


def test_experts_are_torchs_sgd(inputs: Inputs, grey: ImageData) -> None:
    settings = mtt.Config(**SMALL | {"strategy": ""})
    steps = list(process.steps(mtt, settings, inputs))[:4]
    assert [step.trace.phase for step in steps] == ["experts"] * 4 and len(
        steps[-1].state.paths
    ) == 6
    spec = settings.network.for_data(grey)
    paths = steps[-1].state.paths
    module = networks.initialise(spec, seed=0).module()
    with torch.no_grad():
        for name, value in module.named_parameters():
            value.copy_(by_name(spec, paths[3])[name])  # the second expert's start
    sgd = torch.optim.SGD(module.parameters(), lr=settings.expert_learning_rate)
    for epoch in (2, 3):
        order = torch.randperm(
            len(grey.train_labels),
            generator=mtt.randomness.generator(settings.seed, epoch, "order of an epoch"),
        )
        for rows in order.split(settings.batch_size):
            sgd.zero_grad()
            F.cross_entropy(module(grey.normalised(rows)), grey.train_labels[rows]).backward()
            sgd.step()
    flat_weights = torch.cat([value.detach().flatten() for value in module.parameters()])
    assert torch.allclose(flat_weights, paths[5], rtol=1e-4, atol=1e-6)


def test_the_set_holds_its_rate(inputs: Inputs, grey: ImageData, tmp_path: Any) -> None:
    distilled = ddlab.distill("mtt", grey, config=mtt.Config(**SMALL), device="cpu", progress=False)
    target = distilled.target("steps")
    again = DistilledSet.load(distilled.save(tmp_path / "set.safetensors"))
    assert (
        target.rates.shape == (1, 1)
        and target.total == 3
        and distilled.storage_floats() == 6 * 64 + 6 + 1
    )
    assert again.fingerprint == distilled.fingerprint and again.target("steps").passes == 3
    scored = ddlab.evaluate(again, grey, labels="steps", seeds=[0], progress=False)
    assert scored.network == "mlp(width=4)" and 0 <= scored.mean <= 1


def test_what_is_refused(inputs: Inputs) -> None:
    with refuses("matched_epochs", "at most, 1"):
        mtt.Config(**SMALL | {"matched_epochs": 2})
    with refuses("network", "without batch norm"):
        run_to_end(
            mtt, mtt.Config(**SMALL | {"network": networks.spec("convnet", width=4)}), inputs
        )


def test_rows_and_names_are_each_others_inverse(grey: ImageData) -> None:
    spec = networks.spec("mlp", width=3).for_data(grey)
    row: Tensor = torch.arange(64 * 3 + 3 + 9 + 3.0)
    assert torch.equal(vector(by_name(spec, row)), row)


def test_what_a_run_can_learn_its_set_can_hold(inputs: Inputs) -> None:
    """A rate that has turned negative is one that students take; one that leaves for infinity is
    said at its step.
    """
    data = inputs.data
    assert data is not None
    distilled = run_to_end(mtt, mtt.SMALL, inputs).with_targets(
        OrderedSteps(torch.tensor([[-0.05]]), passes=2)
    )
    assert 0 <= ddlab.evaluate(distilled, data, labels="steps", seeds=[0], progress=False).mean <= 1
    with pytest.raises(
        NonFiniteError,
        match=r"learned rate must stay within 1000 of 0; given .* at step \d+; a smaller "
        r"rate_learning",
    ):
        run_to_end(mtt, mtt.SMALL.replace(rate_learning_rate=1e5, iterations=30), inputs)


def test_published_experts_train_as_long_as_they_are_read() -> None:
    counts = (1, 9, 10, 50, 60)
    epochs = [mtt.Config.paper(images_per_class=count).expert_epochs for count in counts]
    assert epochs == [3, 3, 21, 41, 41]
    assert mtt.Config.paper("cifar100", images_per_class=50).learned_batch == 125
    assert mtt.Config.paper(expert_epochs=50).expert_epochs == 50
