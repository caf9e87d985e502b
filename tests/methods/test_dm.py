"""DM against its objective written out with a module and torch.optim in float64; its limiting
cases; what it must refuse.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import ddlab
from ddlab import networks
from ddlab.data import siamese_views
from ddlab.methods import dm
from ddlab.methods.shared import matching
from ddlab.runs import Inputs, process
from tests.support import doubled, made_data, refuses, run_to_end

SMALL: dict[str, Any] = {
    "images_per_class": 2,
    "network": networks.spec("convnet", width=3, norm="instance", depth=2),
    "iterations": 5,
    "batch_size": 7,
    "strategy": "",
    "learning_rate": 0.5,
}


def config(**changes: Any) -> dm.Config:
    return dm.Config(**SMALL | changes)


def embedded(module: torch.nn.Module, images: Tensor) -> Tensor:
    """What the linear layer sees, by a hook of torch's own."""
    features: list[Tensor] = []
    handle = module.get_submodule("classifier").register_forward_pre_hook(
        lambda _, arguments: features.append(arguments[0])
    )
    module(images)
    handle.remove()
    return features[0]


def in_double(settings: dm.Config, inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> dm.State:
    fresh = dm.fresh_network

    def double(*arguments: Any) -> Any:
        spec, weights = fresh(*arguments)
        return spec, doubled(weights)

    monkeypatch.setattr(dm, "fresh_network", double)
    state = dm.init(settings, inputs)
    images = state.images.double()
    return dataclasses.replace(
        state, images=images, optimiser=dm.optimisers.sgd_init({"images": images})
    )


@pytest.mark.parametrize("strategy", ["", siamese_views.ALL])
@pytest.mark.parametrize("norm", ["instance", "batch"])
def test_is_its_objective(
    strategy: str, norm: str, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(
        strategy=strategy, network=networks.spec("convnet", width=3, norm=norm, depth=2)
    )
    data = inputs.data
    assert data is not None
    state = in_double(settings, inputs, monkeypatch)
    images, labels = state.images.clone().requires_grad_(), torch.arange(3).repeat(2)
    optimiser = torch.optim.SGD([images], lr=0.5, momentum=0.5)
    for step in process.steps(dm, settings, inputs, state):
        spec, weights = dm.fresh_network(settings, inputs, step.index - 1)
        module = networks.Network(spec=spec, weights=weights).module().train()
        groups = []
        for is_learned in (False, True):
            for c in range(3):
                batch = (
                    images[labels == c]
                    if is_learned
                    else matching.real_batch(settings, inputs, c, step=step.index - 1).double()
                )
                if strategy:
                    place = 2 * ((step.index - 1) * 3 + c)
                    batch = siamese_views.siamese_view(
                        batch, strategy, seed=settings.seed, step=place
                    )
                groups.append(batch)
        real = embedded(module, torch.cat(groups[:3]))
        learned = embedded(module, torch.cat(groups[3:]))
        total = torch.zeros((), dtype=torch.float64)
        for c in range(3):
            total = (
                total
                + (
                    (real[7 * c : 7 * c + 7].mean(0) - learned[2 * c : 2 * c + 2].mean(0)) ** 2
                ).sum()
            )
        optimiser.zero_grad()
        total.backward()
        optimiser.step()
        assert float(step.trace.loss) == pytest.approx(float(total.detach()), rel=1e-9)
        assert float(step.trace.distances.sum()) == pytest.approx(float(step.trace.loss))
        torch.testing.assert_close(step.state.images, images.detach(), rtol=1e-9, atol=1e-9)


def test_the_distance_number_by_number() -> None:
    draw = np.random.default_rng(0)
    real = draw.normal(size=(5, 4))
    learned = draw.normal(size=(3, 4))
    expected = 0.0
    for d in range(4):
        expected += (sum(row[d] for row in real) / 5 - sum(row[d] for row in learned) / 3) ** 2
    leaves = torch.tensor(real), torch.tensor(learned).requires_grad_()
    assert float(dm.mean_feature_distance(*leaves).detach()) == pytest.approx(expected, rel=1e-12)
    assert torch.autograd.gradcheck(
        lambda images: dm.mean_feature_distance(leaves[0], images), leaves[1]
    )


def test_the_real_images_themselves_are_at_no_distance(inputs: Inputs) -> None:
    settings = config(images_per_class=12, batch_size=12, initialisation="real")
    state = dm.init(settings, inputs)
    gradient, distances = dm.matched_step(settings, inputs, state)
    assert float(distances.sum()) < 1e-9 and float(gradient.abs().max()) < 1e-6


def test_classes_at_a_time_change_nothing_but_rounding(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_to_end(dm, config(), inputs).images
    monkeypatch.setattr(dm, "LEARNED_AT_ONCE", 2)
    monkeypatch.setattr(matching, "passes", lambda spec, device: 3)
    torch.testing.assert_close(run_to_end(dm, config(), inputs).images, whole, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_learned_digits_teach_more_than_random_ones() -> None:
    data = ddlab.data.load("digits")
    distilled = ddlab.distill("dm", data, progress=False)
    real = ddlab.distill("selection", data, progress=False)
    options: dict[str, Any] = {"labels": "hard", "seeds": [0, 1, 2], "progress": False}
    learned = ddlab.evaluate(distilled, data, **options)
    random = ddlab.evaluate(real, data, **options)
    assert learned.mean > random.mean + 0.05


def test_one_image_of_each_class_is_enough() -> None:
    distilled = run_to_end(
        dm, config(images_per_class=1), Inputs(data=made_data(train=1), device="cpu")
    )
    assert len(distilled) == 3 and bool(torch.isfinite(distilled.images).all())


def test_refuses_in_a_sentence(inputs: Inputs) -> None:
    with refuses("images_per_class", "at most 12"):
        process.start(dm, config(images_per_class=13), inputs)
    with refuses("strategy", "color"):
        config(strategy="colour")
