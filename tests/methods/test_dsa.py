"""DSA: DC through one view of both; what it shares with DC, bit for bit; who sees the view."""

from typing import Any

import torch
import torch.nn.functional as F

from ddlab import networks
from ddlab.data import siamese_views
from ddlab.methods import dc, dsa
from ddlab.methods.shared import matching
from ddlab.runs import Inputs
from tests.support import refuses, run_to_end

SMALL: dict[str, Any] = {
    "images_per_class": 1,
    "network": networks.spec("convnet", width=3, norm="instance", depth=2),
    "networks": 2,
    "outer_steps": 2,
    "inner_epochs": 1,
    "batch_size": 5,
    "network_learning_rate": 0.1,
    "initialisation": "real",
}


def images(config: dc.Config, inputs: Inputs) -> torch.Tensor:
    return run_to_end(dsa if isinstance(config, dsa.Config) else dc, config, inputs).images


def test_without_a_strategy_it_is_dc_bit_for_bit(inputs: Inputs) -> None:
    plain = images(dc.Config(**SMALL), inputs)
    assert torch.equal(images(dsa.Config(**SMALL, strategy=""), inputs), plain)
    assert not torch.equal(images(dsa.Config(**SMALL), inputs), plain)


def test_who_sees_the_view_decides(inputs: Inputs) -> None:
    images_by_views = [
        images(dsa.Config(**SMALL, views=views, strategy="rotate"), inputs)
        for views in matching.VIEWS
    ]
    assert all(
        not torch.equal(learned, earlier)
        for i, learned in enumerate(images_by_views)
        for earlier in images_by_views[:i]
    )


def test_one_image_is_matched_through_the_view_of_the_real_ones(inputs: Inputs) -> None:
    """Eq 4 for one class, with the view written out."""
    config = dsa.Config(**SMALL, strategy="rotate")
    data = inputs.data
    assert data is not None
    state = dsa.init(config, inputs)
    gradient, _ = dc.matched_step(config, inputs, state, state.network)
    module = networks.Network(spec=dc.network_spec(config, inputs), weights=state.network).module()
    parameters = list(module.parameters())
    image = state.images[1:2].clone().requires_grad_()
    slopes = []
    for batch in (matching.real_batch(config, inputs, 1, step=0), image):
        view = siamese_views.siamese_view(batch, "rotate", seed=config.seed, step=2)
        loss = F.cross_entropy(module(view), torch.ones(len(view), dtype=torch.int64))
        slopes.append(torch.autograd.grad(loss, parameters, create_graph=True))
    total = torch.stack(
        [
            matching.channel_distance(a.detach(), b)
            for a, b in zip(*slopes, strict=True)
            if a.ndim > 1
        ]
    ).sum()
    (expected,) = torch.autograd.grad(total, image)
    torch.testing.assert_close(gradient[1:2], expected, rtol=1e-3, atol=1e-5)


def test_digits_are_not_mirrored() -> None:
    for dataset in ("mnist", "fashion-mnist", "svhn", "cifar10", "cifar100"):
        assert ("flip" in dsa.Config.paper(dataset).strategy) == (dataset not in ("mnist", "svhn"))
    assert (
        "flip" not in dsa.Config.teaching().strategy and dsa.Config().strategy == siamese_views.ALL
    )


def test_refuses_a_strategy_that_is_none() -> None:
    with refuses("strategy", "color"):
        dsa.Config(strategy="blur")
