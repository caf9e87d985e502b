r"""Are the representations of two networks linear transports of each other? ReLA's Proposition 2, measured.

Sun et al. 2024 (ReLA), arXiv 2405.14669, appendix H, eq 40, for any two prior models xi and zeta on the samples D_X with targets D_Y:

    D_Y = W_(xi -> Y) xi(D_X),      xi(D_X) = W_(zeta -> xi) zeta(D_X)

The paper states it and proves nothing. As an equation it is true of every pair, trained or not, once a representation has as many
dimensions as there are samples, and of no pair of real networks beyond that. `linear_transport` asks what can be asked: how much of the
variance of one representation a linear map of the other explains on samples that it was not fitted on.

That it is much says little by itself. Two networks see the same images: on 599 test digits (16 px, ConvNets of width 16 trained for 6
epochs, mean of 6 pairs) the features of one explain .92 of another's, and those of an untrained network .92 of another untrained one's.
What learning adds shows against an untrained network as the source: .83 of the trained features, and .60 against .94 of the logits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from .. import networks
from ..core import errors, randomness
from ..core.boundary import checked, filled, floats, within
from ..networks import Network
from ._check import Points, bounded


@dataclass(frozen=True, kw_only=True)
class LinearTransport:
    """How well a linear map, with a constant, takes one representation to another.

    Attributes:
        r_squared: share of the target's variance that is explained on held-out samples, at most 1; 0 is what the mean explains, and
            below 0 is worse than that. Dimensions count by their variance.
        in_sample: the same on the samples of the fit, all of them: near 1 wherever the source is as wide as there are samples.
    """

    r_squared: float
    in_sample: float


@checked
def linear_transport(
    source: Points,
    target: Annotated[Tensor, floats("n m"), filled, bounded],
    *,
    ridge: Annotated[float, within(0, 1e6)] = 1e-3,
    folds: int = 5,
    seed: int = 0,
) -> LinearTransport:
    r"""Fit W and a constant by ridge regression, min ||target - source W||^2 + lambda ||W||^2, on all folds but one, for each in turn.

    1 - (squared errors of all held-out samples) / (their squared distances to the mean of the samples of the fit). Neither moving,
    turning or scaling the source as a whole nor the target changes it.

    Args:
        source: [n, d], zeta's representation; float32 or float64, solved in float64. target: [n, m], xi's, of the same dtype; or one
            column per class, 1 for the label's.
        ridge: lambda, in units of the summed squares of a source dimension of mean size; 0 is least squares of least norm.
        folds: at least 2, at most n; which sample is in which is drawn with `seed`.

    Raises:
        DDLabError: a target that is the same for all samples.
    """
    errors.check_integer("folds", folds, 2, max(len(source), 2))
    features, wanted = _scaled(source), _scaled(target)
    if float(wanted.abs().max()) == 0:
        errors.fail("target", "a representation that differs between samples", target)
    order = torch.randperm(len(features), generator=randomness.generator(seed, 0, "folds of a transport"))
    order = order.to(features.device)
    missed = spread = 0.0
    for part in order.tensor_split(folds):
        kept = torch.ones(len(features), dtype=torch.bool, device=features.device)
        kept[part] = False
        some = _squares(features[kept], wanted[kept], features[part], wanted[part], ridge)
        missed, spread = missed + some[0], spread + some[1]
    whole = _squares(features, wanted, features, wanted, ridge)
    return LinearTransport(r_squared=1 - missed / spread, in_sample=1 - whole[0] / whole[1])


@checked
def layer_representations(
    network: Network, images: Annotated[Tensor, floats("n c h w")], *, batch_size: Annotated[int, within(1)] = 512
) -> dict[str, Tensor]:
    """What every layer says of images: name -> [n, channels], from the first layer to the last, in evaluation mode.

    The input of each batch norm under its name, "last_conv", "features" and "logits"; maps [n, c, h, w] as their mean over the places.

    Args:
        images: normalised, float [n, c, h, w], of the network's shape and dtype. batch_size: images that are computed at once.
    """
    if not len(images):
        errors.fail("images", "at least one image", images)
    parts: list[dict[str, Tensor]] = []
    with torch.no_grad():
        for some in images.split(min(batch_size, len(images))):
            found, _ = networks.call(network.spec, network.weights, some.to(network.device), batch_norm_inputs=True)
            named = {**found.batch_norm_inputs, "last_conv": found.last_conv}
            pooled = {name: value.mean((2, 3)) if value.ndim == 4 else value for name, value in named.items()}
            parts.append({**pooled, "features": found.features, "logits": found.logits})
    whole = {name: torch.cat([part[name] for part in parts]).to(images.device) for name in parts[0]}
    if not all(bool(value.isfinite().all()) for value in whole.values()):
        errors.fail("network", "one whose representations of the images are finite", network.spec.title)
    return whole


def transport_by_layer(
    source: Network, target: Network, images: Tensor, *, ridge: float = 1e-3, folds: int = 5, seed: int = 0
) -> dict[str, LinearTransport]:
    """`linear_transport` from each layer of one network to the same layer of another, for the layers that both have.

    Those of one family have all layers in common, others the last three: "last_conv", "features", "logits". With an untrained network
    as the source it is the reference.

    Raises:
        DDLabError: images that do not fit, or a layer of the target that says the same of all.
    """
    own, other = layer_representations(source, images), layer_representations(target, images)
    settings = {"ridge": ridge, "folds": folds, "seed": seed}
    return {name: linear_transport(own[name], other[name], **settings) for name in other if name in own}


def _scaled(points: Tensor) -> Tensor:
    """float64, from the first point on and with a largest entry of 1, so that no square vanishes; R^2 is the same."""
    moved = points.detach().double()
    moved = moved - moved[0]
    size = moved.abs().max()
    return moved / size if float(size) > 0 else moved


def _squares(features: Tensor, wanted: Tensor, new: Tensor, truth: Tensor, ridge: float) -> tuple[float, float]:
    """Summed squared errors on `new`, and summed squared distances of `truth` to the mean of `wanted`."""
    centre, mean = features.mean(0), wanted.mean(0)
    left, sizes, right = torch.linalg.svd(features - centre, full_matrices=False)
    squares = sizes.square()
    penalty = ridge * float(squares.sum()) / features.shape[1]
    # Directions of nothing but rounding: without a penalty they would be divided by it.
    real = sizes > sizes.amax() * max(features.shape) * torch.finfo(sizes.dtype).eps
    factors = torch.where(real, sizes / (squares + penalty).clamp_min(torch.finfo(sizes.dtype).tiny), 0.0)
    predicted = mean + (new - centre) @ (right.T * factors) @ (left.T @ (wanted - mean))
    return float((truth - predicted).square().sum()), float((truth - mean).square().sum())
