r"""How much is in an image: Shannon entropies of pixels and features, and the images to compare
them with.

Cui et al. 2025 (FADRM), arXiv 2506.24125, Fig 3: entropy stands for information. The paper names
neither bins nor estimator; here an entropy is that of a histogram, H = - sum_j p_j log2 p_j with
p_j = n_j / N, in bits.

Entropy rewards noise, and where a pixel stands does not enter it: read it beside
`reference_images`. Compare images of one size only: a histogram of N numbers has less entropy than
what they are drawn from, by about (bins - 1) / (2 N ln 2) (Miller 1955).
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...core import errors, randomness
from ...data import ImageData

_VALUES = 256  # of a byte
# Numbers whose places in a histogram are held at once: 4 MB, which stay in the cache.
_AT_ONCE = 2**19


def _full(argument: str, value: Tensor) -> Tensor:
    """Require a tensor [n, ...] with at least one number of each image."""
    if value.ndim < 2 or not math.prod(value.shape[1:]):
        errors.fail(argument, "a tensor [n, ...] with one number in each image at least", value)
    return value


def histogram_entropy(counts: Tensor) -> Tensor:
    """Return the entropy of each histogram in bits: counts int64 [..., bins] -> float64 [...].

    At least 0, and 0 where one bin holds everything.

    Raises:
        DDLabError: counts that are negative, or a histogram without any.
    """
    if (counts < 0).any() or not (counts > 0).any(-1).all():
        errors.fail(
            "counts", "int64 [..., bins] of at least 0, with one above 0 in each histogram", counts
        )
    exact = counts.double()
    total = exact.sum(-1)
    return torch.special.entr(exact / total[..., None]).sum(-1) / math.log(2)


def pixel_entropy(images: Tensor) -> Tensor:
    """Return the entropy of each image's 256 pixel values in bits, the mean over its channels.

    uint8 [n, channels, h, w] -> float64 [n].
    """
    return _in_parts(
        images,
        images.shape[1] * _VALUES,
        lambda part: histogram_entropy(_histograms(part.flatten(2), _VALUES)).mean(1),
    )


def feature_edges(features: Tensor, bins: int = 64) -> Tensor:
    """Return edges of bins of equal width from the least to the largest feature, one ruler for all.

    Args:
        features: float [n, ...] of real images, such as `networks.predict(...).last_conv`.
        bins: how many, 1 to 65,536.

    Returns:
        float64 [bins + 1], rising.

    Raises:
        DDLabError: features that do not differ, or not by enough for so many bins.
    """
    low, high = (float(end) for end in features.detach().aminmax())
    edges = torch.linspace(low, high, bins + 1, dtype=torch.float64, device=features.device)
    if not (edges.diff() > 0).all() or not errors.all_finite(edges):
        span = f"features from {low:g} to {high:g}"
        raise errors.DDLabError(
            f"features must differ by enough for {bins} bins of equal width; given {span}."
        )
    return edges


def feature_entropy(features: Tensor, edges: Tensor) -> Tensor:
    """Return the entropy of each image's features in bits: float [n, ...] -> float64 [n].

    Args:
        features: as for `feature_edges`; what lies outside the edges counts in the first or the
            last bin.
        edges: float [bins + 1], rising, the same for all that is compared. A bin holds its lower
            edge.
    """
    if len(edges) < 2 or not (edges.diff() > 0).all():
        errors.fail("edges", "rising numbers, two at least", edges)
    inner = edges[1:-1].detach().double().to(features.device)
    bins = len(edges) - 1

    def bits(part: Tensor) -> Tensor:
        counts = _histograms(torch.bucketize(part.double(), inner, right=True), bins)
        return histogram_entropy(counts)

    return _in_parts(features.detach().flatten(1), bins, bits)


def reference_images(data: ImageData, count: int, *, seed: int = 0) -> dict[str, Tensor]:
    """Return the images to read any entropy beside: uint8 [count, channels, h, w] each.

    "real": training images drawn at random; image i is of class i modulo the number of classes.
    "shuffled": the same images with their pixels in random order: the same pixel entropy, and
    nothing to be seen. "constant": the mean colour of each: no entropy. "noise": each value from 0
    to 255 as likely: 8 bits, the most there is.
    """
    real = data.train_images[_in_turn(data, count, seed)]
    draw = randomness.generator(seed, 0, "shuffled pixels")
    order = torch.rand((count, 1, real[0, 0].numel()), generator=draw).argsort(-1)
    # A pixel keeps its colour: one order for all channels.
    shuffled = real.flatten(2).gather(2, order.expand(-1, data.channels, -1)).view_as(real)
    constant = (
        real.double()
        .mean((2, 3), keepdim=True)
        .round()
        .to(torch.uint8)
        .expand_as(real)
        .contiguous()
    )
    draw = randomness.generator(seed, 0, "reference noise")
    noise = torch.randint(_VALUES, real.shape, generator=draw, dtype=torch.uint8)
    return {"real": real, "shuffled": shuffled, "constant": constant, "noise": noise}


def distance_to(images: Tensor, patches: Tensor) -> Tensor:
    """Return the root mean square difference of each image from its patch. [n, channels, h, w]
    twice -> float64 [n].

    Both float or both uint8, and of one size (`methods.fadrm.resample` makes it so); in the units
    they have.
    """
    errors.check_tensor("images", images, shape=[None] * 4)
    if not images.is_floating_point() and images.dtype != torch.uint8:
        errors.fail("images", "a float or uint8 tensor [n, channels, h, w]", images)
    _full("images", images)
    errors.check_tensor("patches", patches, shape=list(images.shape), dtype=images.dtype)
    difference = images.detach().double() - patches.detach().double()
    return difference.flatten(1).square().mean(1).sqrt()


def _in_parts(values: Tensor, bins: int, bits: Callable[[Tensor], Tensor]) -> Tensor:
    """Return one float64 number per row, computed in parts that need little memory.

    They are written into one tensor: a small tensor kept from each part would lie in the memory
    that the part leaves, and the next part would ask for more (200 MB for 4,000 images).
    """
    entropies = torch.empty(len(values), dtype=torch.float64, device=values.device)
    size = max(_AT_ONCE // max(math.prod(values.shape[1:]), bins), 1)
    for part, place in zip(values.split(size), entropies.split(size), strict=True):
        place.copy_(bits(part))
    return entropies


def _histograms(places: Tensor, bins: int) -> Tensor:
    """Count how often each of 0 to bins - 1 stands in each row: [..., numbers] -> int64 [...,
    bins].
    """
    rows = places.flatten(0, -2).long()
    offset = torch.arange(len(rows), device=rows.device)[:, None] * bins
    counts = torch.bincount((rows + offset).flatten(), minlength=len(rows) * bins)
    return counts.view(*places.shape[:-1], bins)


def _in_turn(data: ImageData, count: int, seed: Any) -> Tensor:
    """Return the indices of training images, one class after the other."""
    per_class = -(-count // data.classes)
    fewest = int(torch.bincount(data.train_labels, minlength=data.classes).min())
    if per_class > fewest:
        errors.fail(
            "count",
            f"at most {fewest * data.classes} ({fewest} training images in the smallest class)",
            count,
        )
    orders = data.orders_by_class(seed, "reference images")
    return torch.stack([order[:per_class] for order in orders], 1).flatten()[:count]
