"""The ConvNet's layer norm, and second derivatives of every ConvNet against finite differences."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddlab import networks
from ddlab.core import parameters
from ddlab.networks import convnet
from tests.support import doubled, made_data, normal_doubles

CHOICES = {
    name: field.choices
    for name, field in parameters.describe(convnet.Options).items()
    if field.choices
}
OPTIONS = [{name: choice} for name in ("norm", "pooling", "activation") for choice in CHOICES[name]]


def double(options: dict[str, Any]) -> tuple[Any, dict[str, Tensor]]:
    """A tiny ConvNet in float64, its norms and their statistics moved away from where they begin."""
    spec = networks.spec("convnet", width=3, depth=2, **options).for_data(made_data())
    weights = networks.initialise(spec, seed=0).weights
    moved = doubled(weights)
    for seed, name in enumerate(
        name for name in moved if ".normalisation." in name and moved[name].ndim
    ):
        moved[name] = (
            moved[name] * (1 + 0.2 * normal_doubles(len(moved[name]), seed=seed).tanh()) + 0.1
        )
    return spec, moved


def test_layer_norm_is_of_each_image() -> None:
    """Mean 0 and variance 1 over channels and pixels of an image, whatever the other images are;
    then scale and shift of a channel.
    """
    options = convnet.Options(norm="layer", width=6)
    module: Any = convnet.ConvNet(1, 3, (8, 8), options).double().blocks[0].normalisation
    maps = 3 + 5 * normal_doubles(4, 6, 8, 8) * torch.arange(1, 7).view(1, 6, 1, 1)
    normal = module(maps).detach()
    torch.testing.assert_close(
        normal.mean((1, 2, 3)), torch.zeros(4, dtype=torch.float64), rtol=0, atol=1e-10
    )
    spread = normal.var((1, 2, 3), correction=0)
    torch.testing.assert_close(spread, torch.ones(4, dtype=torch.float64), rtol=0, atol=1e-6)
    assert float(normal.mean((2, 3)).abs().max()) > 0.01, "channels alone are not normalised"
    assert torch.equal(module(maps[:1]).detach(), normal[:1])
    torch.testing.assert_close(normal, F.layer_norm(maps, (6, 8, 8)))
    scale = normal_doubles(6, seed=1)
    shift = normal_doubles(6, seed=2)
    module.load_state_dict({"weight": scale, "bias": shift})
    torch.testing.assert_close(
        module(maps).detach(), normal * scale.view(1, 6, 1, 1) + shift.view(1, 6, 1, 1)
    )


@pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda options: "-".join(next(iter(options.items())))
)
def test_the_gradient_of_a_gradient(options: dict[str, Any]) -> None:
    """Of <v, dL/dweights> and of |dL/dimages|^2 with respect to the images, in eval mode, along two
    directions.
    """
    spec, weights = double(options)
    images, labels = normal_doubles(4, 1, 8, 8), torch.tensor([0, 1, 2, 0])
    towards = {
        name: normal_doubles(*weights[name].shape, seed=n)
        for n, name in enumerate(networks.parameter_names(spec))
    }

    def matched(at: Tensor) -> Tensor:
        leaves = {name: weights[name].detach().requires_grad_() for name in towards}
        loss = F.cross_entropy(
            networks.call(spec, {**weights, **leaves}, at, train=False)[0].logits, labels
        )
        slopes = torch.autograd.grad(loss, list(leaves.values()), create_graph=True)
        return sum(
            ((v * s).sum() for v, s in zip(towards.values(), slopes, strict=True)), torch.zeros(())
        )

    def steepness(at: Tensor) -> Tensor:
        at = at if at.requires_grad else at.clone().requires_grad_()
        loss = F.cross_entropy(networks.call(spec, weights, at, train=False)[0].logits, labels)
        return torch.autograd.grad(loss, at, create_graph=True)[0].square().sum()

    for measure in (matched, steepness):
        leaf = images.clone().requires_grad_()
        (slope,) = torch.autograd.grad(measure(leaf), leaf)
        for seed in (5, 6):
            direction = normal_doubles(*images.shape, seed=seed)
            step = 1e-6
            ahead = float(measure(images + 1 * step * direction).detach())
            behind = float(measure(images + (-1) * step * direction).detach())
            expected = float((slope * direction).sum())
            assert expected != 0 and (ahead - behind) / (2 * step) == pytest.approx(
                expected, rel=1e-5, abs=0
            )


def test_group_norm_has_four_groups_where_the_width_has() -> None:
    for width, groups in ((8, 4), (6, 2), (7, 1)):
        module = networks.initialise(
            networks.spec("convnet", width=width, norm="group").for_data(made_data()), seed=0
        ).module()
        assert {
            layer.num_groups for layer in module.modules() if isinstance(layer, nn.GroupNorm)
        } == {groups}


def test_a_first_convolution_that_pads_makes_28_pixels_32() -> None:
    """As in DC's code for grey images: what it sees is the image in a frame of two zeros more."""
    small = {"width": 4, "norm": "instance"}
    wide = networks.spec("convnet", padding=3, **small)  # type: ignore[arg-type]
    spec = wide.for_data(made_data(size=28))
    like = networks.spec("convnet", **small).for_data(made_data(size=32))  # type: ignore[arg-type]
    network = networks.initialise(spec, seed=0)
    assert network.weights["classifier.weight"].shape == (3, 4 * 4 * 4)
    images = normal_doubles(2, 1, 28, 28)
    weights = {name: value.double() for name, value in network.weights.items()}
    padded = networks.call(spec, weights, images)[0]
    framed = networks.call(like, weights, F.pad(images, (2,) * 4))[0]
    # Not to the bit: on some processors the two convolutions add up in another order.
    torch.testing.assert_close(padded.logits, framed.logits, rtol=1e-12, atol=1e-12)
