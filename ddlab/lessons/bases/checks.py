"""Lesson 40: its exercises, the right answers and the usual mistakes."""

import torch
from torch import Tensor

from ...core import randomness
from ...distilled.storage_budget import Factorised, plain_floats
from ...methods.shared import kernel_ridge
from ..answers import Exercise


def _features() -> list[tuple[Tensor, Tensor, Tensor]]:
    draw = randomness.generator(40, 1, "exercise")
    real = torch.randn((40, 12), generator=draw)
    outputs = real @ torch.randn((12, 3), generator=draw)
    return [(real, outputs, torch.randn((6, 12), generator=draw))]


def _matrix(real: Tensor, distilled: Tensor) -> Tensor:
    """Return A [n, m], with which the predictions of equation 3 are A times the targets."""
    return kernel_ridge.predictions(real, distilled, torch.eye(len(distilled)).to(real))


def _without_ones(real: Tensor, outputs: Tensor, distilled: Tensor) -> Tensor:
    matrix = real @ distilled.T @ torch.linalg.inv(distilled @ distilled.T)
    return torch.linalg.lstsq(matrix, outputs).solution


TARGETS = Exercise(
    arguments=("real [n, k]", "outputs [n, d]", "distilled [m, k]"),
    cases=_features,
    shape=lambda real, outputs, distilled: (len(distilled), outputs.shape[1]),
    measure=lambda targets, real, outputs, distilled: (
        (_matrix(real, distilled).double() @ targets - outputs).square().mean()
    ),
    expected=lambda real, outputs, distilled: (
        torch.linalg.lstsq(_matrix(real, distilled), outputs).solution
    ),
    mistakes={
        "Zero targets predict zero everywhere. Which targets predict the outputs best?": (
            lambda real, outputs, distilled: torch.zeros(len(distilled), outputs.shape[1])
        ),
        "Nearly: add 1 to each product of features, for the bias of the last layer.": _without_ones,
        "These are the weights (K + ridge)^-1 Y. The targets Y are K times them.": (
            lambda real, outputs, distilled: (
                torch.linalg.lstsq(real @ distilled.T + 1, outputs).solution
            )
        ),
        "These are outputs of real images. The distilled images have other features.": (
            lambda real, outputs, distilled: outputs[: len(distilled)]
        ),
        "These are outputs of the real images that are nearest. Other targets predict better.": (
            lambda real, outputs, distilled: outputs[torch.cdist(distilled, real).argmin(1)]
        ),
        "These are the teacher's own outputs for the distilled images. Other targets do better: "
        "they make up for features that are missing.": (
            lambda real, outputs, distilled: distilled @ torch.linalg.lstsq(real, outputs).solution
        ),
    },
    look=(
        "These numbers are outer losses. The predictions of equation 3 are A Y for a matrix A; "
        "which product is A?"
    ),
    tolerance=1e-3,
    success="No targets leave a smaller outer loss. For fixed images nothing needs to be trained.",
)

_SIZES = Factorised(views=0)
_FLOATS = 100 * _SIZES.image_floats
_BASES = 200
_VECTOR = 512
PAIRS = Exercise(
    ask="Give one whole number, the pairs that fit into 307,200 floats.",
    expected=_SIZES.largest_count(_FLOATS),
    mistakes={
        "So many plain pairs fit. Here images and vectors are sums of bases.": _FLOATS
        // plain_floats(1, image_floats=_SIZES.image_floats, representation_floats=_VECTOR),
        "The bases have to be paid, too.": _FLOATS // (2 * _BASES),
        "Image bases are half as high and half as wide.": (
            _FLOATS - _BASES * (_SIZES.image_floats + _VECTOR)
        )
        // (2 * _BASES),
        "One pair too many is over the budget. Round down.": _SIZES.largest_count(_FLOATS) + 1,
        "The vector bases have to be paid, too.": (_FLOATS - _BASES * _SIZES.image_floats // 4)
        // (2 * _BASES),
        "Each pair has coefficients for its image and for its vector: U + V of them.": (
            _FLOATS - _BASES * (_SIZES.image_floats // 4 + _VECTOR)
        )
        // _BASES,
        "This bill has the mean of the vectors in it, 512 floats and more. The formula has none.": (
            _FLOATS - _BASES * (_SIZES.image_floats // 4 + _VECTOR) - 2 * _VECTOR
        )
        // (2 * _BASES),
    },
    look="First pay the bases. What is left buys pairs, each of U + V floats.",
    tolerance=1e-9,
    success="So many pairs, and not one more, fit into the floats of a hundred images.",
)

CHECKS = {"targets": TARGETS, "pairs": PAIRS}
