r"""How much two classes overlap when augmentation spreads them: ReLA's appendix O.

Sun et al. 2024 (ReLA), arXiv 2405.14669. Two classes N(mu1, s^2) and N(mu2, s^2) in one dimension; augmentation of strength a adds
noise of variance k a (eq 58, 59). The overlap is the integral of the smaller density: 1 for equal classes, 0 for disjoint ones, and
twice the error of the best classifier.

    where                what                                                                     function
    Theorem 6            2 Phi(-gap / (2 sigma)), sigma^2 = s^2 + k a; any two spreads            gaussian_overlap
    eq 67, printed       2 Phi(gap / (sqrt(2) sigma)) - 1                                         printed_gaussian_overlap
    figures 6 to 9       views of images, cut out with a least share of the area                  crop_views
    O.5                  the overlap of two sets of points, from the errors of near neighbours    class_overlap

Eq 67 is the share of one class within gap / sqrt(2) of its mean: with a wrong sign and argument it falls with a, from 1 for classes
infinitely far apart. The theorem itself holds, and for any two distributions, since the same noise on both cannot raise the total
variation between them, which is 1 less the overlap. Its proof does not: Phi(z) does not increase as z decreases.

O.5 says of its figures that a larger least area disperses the points and calls that a wider range by stronger augmentation; a larger
least area is weaker augmentation. `variance_between_and_within` and `class_overlap` of the views measure both sentences.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import errors, randomness
from ..core.boundary import checked, filled, floats, integers, within
from ._check import Deviation, Size, bounded, precise
from ._normal import distribution

_LEAST_RATIO, _LARGEST_RATIO = 3 / 4, 4 / 3  # width over height, as in torchvision's RandomResizedCrop
_TRIES = 10
_ROWS = 1024  # at a time: the distances of all views to each other may not fit


@checked
def gaussian_overlap(
    *,
    gap: Size,
    spread: Deviation,
    other_spread: Deviation | None = None,
    strength: Size = 0.0,
    noise_rate: Size = 1.0,
) -> float:
    r"""The integral of min(p1, p2) of N(0, s1^2 + k a) and N(gap, s2^2 + k a), exact: in [0, 1].

    For equal spreads 2 Phi(-gap / (2 sigma)); for others the densities cross twice (eq 65), and the narrow one is above between.

    Args:
        gap: |mu1 - mu2|. spread: s1, a standard deviation. other_spread: s2, default s1. strength: a. noise_rate: k.

    >>> [round(gaussian_overlap(gap=1, spread=.5, noise_rate=.25, strength=a), 3) for a in (0, 1, 8)]
    [0.317, 0.48, 0.739]
    """
    spreads = (spread, spread if other_spread is None else other_spread)
    narrow, wide = sorted(math.sqrt(one**2 + noise_rate * strength) for one in spreads)
    gap, ratio = gap / narrow, wide / narrow  # in units of the narrow one
    if ratio == 1:
        return 2 * distribution(-gap / 2)
    # Where log p1 = log p2: a x^2 + 2 b x = c; written so that nothing cancels as the spreads become equal.
    a, b = (1 - 1 / ratio) * (1 + 1 / ratio), gap / ratio**2
    c = (gap / ratio) ** 2 + 2 * math.log(ratio)
    root = math.sqrt(b**2 + a * c)
    left, right = -(b + root) / a, c / (b + root)
    outside = distribution(left) + distribution(-right)
    between = distribution((right - gap) / ratio) - distribution((left - gap) / ratio)
    return min(outside + between, 1.0)


@checked
def printed_gaussian_overlap(*, gap: Size, spread: Deviation, strength: Size = 0.0, noise_rate: Size = 1.0) -> float:
    """Eq 67 as printed, 2 Phi(gap / sqrt(2 (s^2 + k a))) - 1: falls as the classes spread.

    >>> [round(printed_gaussian_overlap(gap=1, spread=.5, noise_rate=.25, strength=a), 3) for a in (0, 1, 8)]
    [0.843, 0.683, 0.363]
    """
    return math.erf(gap / (2 * math.sqrt(spread**2 + noise_rate * strength)))


@checked
def crop_views(
    images: Annotated[Tensor, floats("n c h w"), filled, precise],
    *,
    minimum_scale: Annotated[float, within(0, 1, open_low=True)],
    views: Annotated[int, within(1, 10_000)],
    seed: int = 0,
) -> Tensor:
    """Random parts of images, resized to the whole: [n, c, h, w] -> [n, views, c, h, w] (RandomResizedCrop).

    A part has an area between `minimum_scale` and all of the image's, drawn uniformly, and a width of 3/4 to 4/3 of its height, drawn
    uniformly in its logarithm; a part that does not fit is drawn again, ten times, and then the largest in the middle is taken.
    Bilinear, as torchvision does it. Figures 6 to 9 have .02, .04, .08, .2, .5 and no augmentation.

    Args:
        images: float32 or float64. minimum_scale: in (0, 1]; at 1 there is no augmentation, and a view is its image. views: of each image.
    """
    repeated = images[:, None].expand(-1, views, -1, -1, -1)
    draw = randomness.generator(seed, 0, "crop views")
    if minimum_scale == 1:
        return repeated.clone()
    height, width = images.shape[2:]
    flat = []
    for image, (top, left, rows, columns) in zip(
        repeated.flatten(0, 1), _parts(len(images) * views, height, width, minimum_scale, draw), strict=True
    ):
        part = image[None, :, top : top + rows, left : left + columns]
        flat.append(F.interpolate(part, (height, width), mode="bilinear", align_corners=False))
    return torch.cat(flat).unflatten(0, (len(images), views))


@checked
def class_overlap(
    first: Annotated[Tensor, floats("n d"), filled, bounded],
    second: Annotated[Tensor, floats("m d"), filled, bounded],
    *,
    neighbours: Annotated[int, within(1)] = 15,
    first_sources: Annotated[Tensor, integers("n")] | None = None,
    second_sources: Annotated[Tensor, integers("m")] | None = None,
) -> float:
    """The overlap of two sets of points in [0, 1]: the two classes' error rates, added, when the nearest other points vote.

    The best classifier's error rates add up to the integral of min(p1, p2). Those of k neighbours come near it as k and the numbers
    of points per k grow; in one dimension at an exact .317, 400 points a class gave .45, .36 and .34 for k = 1, 5 and 15.

    Args:
        first: [n, d], float32 or float64. second: [m, d], of the same dtype. neighbours: k; votes count by class size.
        first_sources, second_sources: int64 [n], [m]: which image a view was cut from. Views of one image do not vote for each other:
            they would show that an image is like itself. Default: every point has its own.
    """
    groups = [_numbered(first_sources, first), _numbered(second_sources, second)]
    sources = torch.cat([groups[0], groups[1] + int(groups[0].max()) + 1])
    for argument, group in zip(("first", "second"), groups, strict=True):
        if int(group.max()) == 0:
            errors.fail(argument, "points of at least two sources", first if argument == "first" else second)
    points = torch.cat([first, second]).detach()
    side = torch.arange(len(points), device=points.device) >= len(first)
    weight = torch.where(side, len(first), -len(second))  # whole numbers, so that a tie is one
    errors_of: list[Tensor] = []
    for some in torch.arange(len(points), device=points.device).split(_ROWS):
        distances = torch.cdist(points[some], points, compute_mode="donot_use_mm_for_euclid_dist")
        distances[sources[some][:, None] == sources] = math.inf
        # As many as there are for everyone: points of other sources may be fewer than k.
        nearest = distances.topk(min(neighbours, len(points)), largest=False)
        votes = torch.where(nearest.values.isinf(), 0, weight[nearest.indices]).sum(1)
        wrong = torch.where(side[some], -votes, votes).sign().double() / 2 + 0.5  # a tie is half an error
        errors_of.append(wrong)
    wrong = torch.cat(errors_of)
    return min(float(wrong[~side].mean() + wrong[side].mean()), 1.0)


def _numbered(sources: Tensor | None, points: Tensor) -> Tensor:
    """One number per point, 0, 1, ...: which points may not vote for each other."""
    if sources is None:
        return torch.arange(len(points), device=points.device)
    return sources.to(points.device).unique(return_inverse=True)[1]


def _parts(count: int, height: int, width: int, least: float, draw: torch.Generator) -> list[tuple[int, int, int, int]]:
    """(top, left, rows, columns) of each part."""
    area = height * width * (least + (1 - least) * torch.rand(_TRIES, count, generator=draw, dtype=torch.float64))
    low, high = math.log(_LEAST_RATIO), math.log(_LARGEST_RATIO)
    ratio = (low + (high - low) * torch.rand(_TRIES, count, generator=draw, dtype=torch.float64)).exp()
    columns, rows = (area * ratio).sqrt().round().long(), (area / ratio).sqrt().round().long()
    fits = (columns > 0) & (columns <= width) & (rows > 0) & (rows <= height)
    first = fits.int().argmax(0)
    middle = (min(height, round(width / _LEAST_RATIO)), min(width, round(height * _LARGEST_RATIO)))
    found = fits.any(0)
    rows = torch.where(found, rows.gather(0, first[None])[0], middle[0])
    columns = torch.where(found, columns.gather(0, first[None])[0], middle[1])
    free = torch.stack([height - rows, width - columns]).double()
    anywhere = (torch.rand(2, count, generator=draw, dtype=torch.float64) * (free + 1)).floor()
    top, left = torch.where(found, anywhere, (free / 2).floor()).long()
    return list(zip(top.tolist(), left.tolist(), rows.tolist(), columns.tolist(), strict=True))
