r"""Ridge regression in which a row may count several times, and the counts that drawn views give.

Of `augmentation_bias`, where the symbols stand. A fit that sees row r c_r times:

    W(c) = argmin_W  sum_r c_r |phi_r W - y_r|^2 + lambda |W|^2,   phi = [f, 1],   lambda = strength sum_r c_r |phi_r|^2

It is the kernel ridge regression on rows sqrt(c_r) phi_r and targets sqrt(c_r) y_r, which have the same normal equations: one fit of a
fixed size for every assignment, however many views are drawn.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import errors, randomness
from ..core.boundary import checked, filled, floats, within
from ._check import bounded

MOST_ASSIGNMENTS = 100_000
_MOST_DRAWS = 40_000_000

Strength = Annotated[float, within(0, 1e6, open_low=True)]
Images = Annotated[int, within(1, 10**4)]
Views = Annotated[int, within(1, 100)]
Draws = Annotated[int, within(1, 10**4)]


def _weights(argument: str, value: Tensor) -> Tensor:
    if bool((value < 0).any()) or not bool((value.sum(1) > 0).all()):
        errors.fail(argument, "at least 0 and not all 0 in any fit", value)
    return value


@checked
def fitted_losses(
    features: Annotated[Tensor, floats("fits r d"), bounded],
    targets: Annotated[Tensor, floats("r o"), bounded],
    counts: Annotated[Tensor, floats("p r"), filled, bounded, _weights],
    real: Annotated[Tensor, floats("n d"), bounded],
    wanted: Annotated[Tensor, floats("n o"), filled, bounded],
    *,
    strength: Strength,
) -> Tensor:
    """L(X; c) of several fits at once, in each of which row r counts c_r times: [p]. Differentiable; the ridge is a constant.

    Args:
        features: [p or 1, r, d]. targets: [r, o]. counts: [p, r], at least 0, not all 0. real: [n, d]. wanted: [n, o].
        strength: of the ridge, as a part of the kernel's trace; above 0. All tensors of one dtype, float64 for small ridges.
    """
    if len(features) not in (1, len(counts)):
        errors.fail("features", f"of 1 or {len(counts)} fits, as many as counts", features)
    roots = counts.sqrt()[:, :, None]
    rows = roots * torch.cat([features, torch.ones_like(features[..., :1])], -1)  # [p, r, d + 1]
    ridge = strength * rows.detach().square().sum((1, 2))
    # The smaller of two systems that say the same; the larger is singular but for the ridge.
    dual = rows.shape[1] <= rows.shape[2]
    kernel = rows @ rows.mT if dual else rows.mT @ rows
    factor, failed = torch.linalg.cholesky_ex(kernel + ridge[:, None, None] * torch.eye(kernel.shape[1]).to(kernel))
    if bool(failed.any()):
        errors.fail("strength", "large enough to make the kernel of all rows invertible", strength)
    aims = roots * targets
    weights = rows.mT @ torch.cholesky_solve(aims, factor) if dual else torch.cholesky_solve(rows.mT @ aims, factor)
    return (wanted - real @ weights[:, :-1] - weights[:, -1:]).square().mean((1, 2))


@checked
def view_counts(images: Images, views: Views, draws: Draws) -> tuple[Tensor, Tensor]:
    """Every way in which `draws` drawn views of each image can fall: counts float64 [p, views, images] and their probabilities [p].

    p = C(draws + views - 1, draws)^images; with one draw, each of the views^images assignments with the same odds.

    Raises:
        DDLabError: more than `MOST_ASSIGNMENTS` of them.

    >>> counts, odds = view_counts(images=1, views=2, draws=2)
    >>> counts[:, :, 0].tolist(), odds.float().tolist()
    ([[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]], [0.25, 0.5, 0.25])
    """
    of_one = math.comb(draws + views - 1, draws)
    if images * math.log(of_one) > math.log(MOST_ASSIGNMENTS):
        allowed = f"few enough for {MOST_ASSIGNMENTS} assignments of {images} images to {views} views (or give samples)"
        errors.fail("draws", allowed, draws)
    parts = torch.tensor(_compositions(draws, views), dtype=torch.float64)  # [of_one, views]
    logs = math.lgamma(draws + 1) - (parts + 1).lgamma().sum(1) - draws * math.log(views)
    chosen = torch.cartesian_prod(*[torch.arange(of_one)] * images).reshape(-1, images)  # [p, images]
    return parts[chosen].mT.contiguous(), logs[chosen].sum(1).exp()


@checked
def drawn_view_counts(
    images: Images, views: Views, draws: Draws, *, samples: Annotated[int, within(1, 10**6)], seed: int
) -> Tensor:
    """`samples` draws of what `view_counts` lists: float64 [samples, views, images]."""
    if samples * draws * images * views > _MOST_DRAWS:
        errors.fail("samples", f"at most {_MOST_DRAWS // (draws * images * views)} at this size", samples)
    draw = randomness.generator(seed, 0, "views")
    fallen = torch.randint(views, (samples, draws, images), generator=draw)
    return F.one_hot(fallen, views).sum(1).mT.contiguous().double()


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write `total` as a sum of `parts` numbers from 0, in descending order of the first."""
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total, -1, -1) for rest in _compositions(total - first, parts - 1)]
