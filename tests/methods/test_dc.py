"""DC against Algorithm 1 written out with torch's own modules and optimisers in float64; its
limiting cases; what it must refuse.
"""

import dataclasses
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ddlab
from ddlab import networks
from ddlab.core import NonFiniteError, randomness
from ddlab.data import ImageData
from ddlab.methods import dc
from ddlab.methods.shared import matching
from ddlab.runs import Inputs, process
from tests.support import assert_same, made_data, refuses, run_to_end

SMALL: dict[str, Any] = {
    "images_per_class": 2,
    "network": networks.spec("convnet", width=3, norm="instance", depth=2),
    "networks": 2,
    "outer_steps": 3,
    "inner_epochs": 2,
    "batch_size": 7,
    "learning_rate": 0.3,
    "network_learning_rate": 0.1,
}


def config(**changes: Any) -> dc.Config:
    return dc.Config(**SMALL | changes)


def in_double(config: dc.Config, inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> dc.State:
    """The first state, all of it in float64; later networks are, too."""
    fresh = dc.fresh_network
    monkeypatch.setattr(
        dc,
        "fresh_network",
        lambda *arguments: {name: value.double() for name, value in fresh(*arguments).items()},
    )
    state = dc.init(config, inputs)
    images = state.images.double()
    return dataclasses.replace(
        state, images=images, optimiser=dc.optimisers.sgd_init({"images": images})
    )


def by_hand(
    config: dc.Config, data: ImageData, images: Tensor, modules: list[nn.Module]
) -> tuple[Tensor, list[float]]:
    """Algorithm 1 with modules, backward() and torch.optim; the draws are the library's."""
    images = images.clone().requires_grad_()
    of_images = torch.optim.SGD([images], lr=config.learning_rate, momentum=config.momentum)
    labels = torch.arange(data.classes).repeat(config.images_per_class)
    losses = []
    step = 0
    for module in modules:
        parameters = list(module.parameters())
        of_network = torch.optim.SGD(parameters, lr=config.network_learning_rate)
        for t in range(config.outer_steps or 0):
            total = torch.zeros((), dtype=torch.float64)
            for c in range(data.classes):
                draw = randomness.generator(config.seed, step, f"real images of {c}")
                members = data.of_class(c)
                real = data.normalised(
                    members[torch.randperm(len(members), generator=draw)[: config.batch_size]]
                ).double()
                real_slopes = torch.autograd.grad(
                    F.cross_entropy(module(real), torch.full((len(real),), c)), parameters
                )
                learned = images[labels == c]
                slopes = torch.autograd.grad(
                    F.cross_entropy(module(learned), torch.full((len(learned),), c)),
                    parameters,
                    create_graph=True,
                )
                for real_slope, slope in zip(real_slopes, slopes, strict=True):
                    if real_slope.ndim > 1:
                        rows = real_slope.flatten(1)
                        learned_rows = slope.flatten(1)
                        total = (
                            total
                            + (
                                1
                                - (rows * learned_rows).sum(1)
                                / (rows.norm(dim=1) * learned_rows.norm(dim=1) + 1e-6)
                            ).sum()
                        )
            of_images.zero_grad()
            total.backward()
            of_images.step()
            losses.append(float(total.detach()))
            step += 1
            if t == (config.outer_steps or 0) - 1:
                break
            for epoch in range(config.inner_epochs or 0):
                order = torch.randperm(
                    len(labels), generator=randomness.generator(config.seed, step, f"epoch {epoch}")
                )
                of_network.zero_grad()
                F.cross_entropy(module(images.detach()[order]), labels[order]).backward()
                of_network.step()
    return images.detach(), losses


def test_is_algorithm_1(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = config()
    data = inputs.data
    assert data is not None
    state = in_double(settings, inputs, monkeypatch)
    modules = []
    for number in range(settings.networks):
        network = networks.Network(
            spec=dc.network_spec(settings, inputs),
            weights=dc.fresh_network(settings, inputs, number),
        )
        modules.append(network.module().double())
    images, losses = by_hand(settings, data, state.images, modules)
    run_losses = []
    for step in process.steps(dc, settings, inputs, state):
        run_losses.append(float(step.trace.loss))
        state = step.state
    assert run_losses == pytest.approx(losses, rel=1e-9)
    torch.testing.assert_close(state.images, images, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("count", "loops"),
    [
        (1, (1, 1)),
        (10, (10, 50)),
        (20, (20, 25)),
        (30, (30, 20)),
        (40, (40, 15)),
        (50, (50, 10)),
        (15, (15, 38)),
        (200, (50, 10)),
    ],
)
def test_loops_follow_from_the_images_per_class(count: int, loops: tuple[int, int]) -> None:
    assert dc.schedule(count) == loops == dc.Config(images_per_class=count).loops
    assert dc.Config(images_per_class=count, outer_steps=2, inner_epochs=0).loops == (2, 0)


def test_provenance_says_where_loops_are_interpolated(inputs: Inputs) -> None:
    for count, interpolated in ((1, False), (2, True)):
        settings = dc.SMALL.replace(
            images_per_class=count, outer_steps=None, inner_epochs=None, networks=1
        )
        distilled = run_to_end(dc, settings, inputs)
        assert distilled.provenance["loops_interpolated"] is interpolated
        assert tuple(distilled.provenance["loops"]) == dc.schedule(count)


def test_a_network_that_does_not_learn_is_matched_at_its_start(inputs: Inputs) -> None:
    still = run_to_end(dc, config(network_learning_rate=0.0), inputs)
    untrained = run_to_end(dc, config(inner_epochs=0), inputs)
    assert torch.equal(still.images, untrained.images)
    assert not torch.equal(run_to_end(dc, config(), inputs).images, still.images)


def test_each_network_is_fresh_and_the_last_matching_trains_none(inputs: Inputs) -> None:
    settings = config()
    states = [
        dc.init(settings, inputs),
        *(step.state for step in process.steps(dc, settings, inputs)),
    ]
    fresh = [dc.fresh_network(settings, inputs, number) for number in (0, 1)]
    assert_same(states[0].network, fresh[0])
    assert_same(states[3].network, fresh[1])
    assert_same(states[6].network, states[5].network)
    for before, after in ((0, 1), (1, 2), (3, 4), (4, 5)):
        assert any(
            not torch.equal(states[before].network[name], states[after].network[name])
            for name in fresh[0]
        )
    once = config(images_per_class=1, outer_steps=None, inner_epochs=None)
    steps = list(process.steps(dc, once, inputs))
    assert_same(steps[-1].state.network, fresh[1])


def test_batch_norm_sees_real_images_and_then_stands_still(inputs: Inputs) -> None:
    settings = config(network=networks.spec("convnet", width=3, depth=2), inner_epochs=0)
    data = inputs.data
    state = dc.init(settings, inputs)
    assert data is not None
    warmed = dc.warm_up(settings, inputs, state)
    module = (
        networks.Network(spec=dc.network_spec(settings, inputs), weights=state.network)
        .module()
        .train()
    )
    with torch.no_grad():
        module(
            torch.cat(
                [
                    matching.real_batch(settings, inputs, c, step=0, count=dc.WARM_UP)
                    for c in range(3)
                ]
            )
        )
    for name, value in module.state_dict().items():
        torch.testing.assert_close(warmed[name], value, msg=name)
    after, _ = dc.update(settings, inputs, state)
    assert_same(after.network, warmed)
    plain = dc.init(config(), inputs)
    assert dc.warm_up(config(), inputs, plain) is plain.network


def test_passes_of_real_images_change_rounding_alone(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = run_to_end(dc, config(networks=1), inputs).images
    monkeypatch.setattr(matching, "passes", lambda spec, device: 2)
    in_parts = run_to_end(dc, config(networks=1), inputs).images
    torch.testing.assert_close(at_once, in_parts, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_learned_digits_teach_more_than_random_ones() -> None:
    data = ddlab.data.load("digits")
    distilled = ddlab.distill(
        "dc", data, config=dc.Config.teaching(networks=15, initialisation="real"), progress=False
    )
    real = ddlab.distill("selection", data, progress=False)
    options: dict[str, Any] = {"labels": "hard", "seeds": [0, 1, 2], "progress": False}
    learned = ddlab.evaluate(distilled, data, **options)
    random = ddlab.evaluate(real, data, **options)
    assert learned.mean > random.mean


def test_refuses_in_a_sentence(inputs: Inputs) -> None:
    with refuses("images_per_class", "at most 12"):
        process.start(dc, config(images_per_class=13, initialisation="real"), inputs)
    with refuses("network_learning_rate"):
        config(network_learning_rate=-1)
    broken = dc.init(config(), inputs)
    broken.network["blocks.0.convolution.weight"][:] = torch.nan
    _, trace = dc.update(config(), inputs, broken)
    # Layer and class.
    with pytest.raises(NonFiniteError, match=r"distances\.blocks\.0\.convolution\.weight\[0\]"):
        process.check_finite(dc.NAME, 1, trace)


def test_one_image_of_each_class_is_enough() -> None:
    lonely = Inputs(data=made_data(train=1), device="cpu")
    distilled = run_to_end(dc, config(images_per_class=1, initialisation="real"), lonely)
    assert len(distilled) == 3 and bool(torch.isfinite(distilled.images).all())
