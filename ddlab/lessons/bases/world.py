r"""What the laboratory of bases knows: principal bases at every scale, what the first ones leave,
what they cost, and what they teach.

e(U) = sum_n |x_n - o - sum_{k<=U} c_nk d_k|^2 / sum_n |x_n|^2     errors_of_first: for all U at once

d_k = D(b_k) are the bases as they are shown, o a mean that is stored. With M_k = sum_n c_nk <x_n - o, d_k> and
H_kl = sum_n c_nk c_nl <d_k, d_l>, the sum on top is sum_n |x_n - o|^2 - 2 sum_{k<=U} M_k + sum_{k,l<=U} H_kl.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ... import networks
from ...core import Parameters, errors, narrow, parameter, randomness
from ...data import ImageData
from ...data.images import Split
from ...distilled import factorisation
from ...distilled.storage_budget import Factorised
from ...networks import Network
from ...unlabelled import bases as principal
from ...unlabelled import pretraining
from ...unlabelled.bases import PrincipalBases
from . import unlabelled

PICTURED = 10  # images on a page
SEEDS = (0, 1, 2)  # of networks
_PAGES = 30  # at most
_MOST_NUMBERS = 13_000_000  # in all images together: 100 MB as float64, and seconds for their bases
_SPLITS: tuple[Split, Split] = ("train", "test")
_BATCH = pretraining.Config.teaching().batch_size
Watch = Callable[[str, float], None]


def _count(default: int, symbol: str, words: str) -> Any:
    return parameter(
        default, symbol=symbol, range=(1, 10**6), scale="log", explorable=(1, 1000), help=words
    )


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """How many bases of which kind are used, and which images are shown; `World` narrows it to what
    its data allow.
    """

    bases: int = _count(40, "U", "How many of the first image bases are used.")
    vector_bases: int = _count(
        40, "V", "How many of the first bases of the teacher's vectors are used."
    )
    scale: int = parameter(
        2,
        symbol="s",
        range=(1, 10**6),
        source="Boost, A.1",
        help="By how much the bases are smaller on each side.",
    )
    page: int = parameter(1, range=(1, 10**6), help="Which images are shown.")


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """All bases of some points, and what the first ones leave of points they have not seen.

    Attributes:
        bases: [K, *shape], K the rank of the points.
        mean: [*shape], of vectors, stored and added again; None for images.
        errors: float64 [K], e(U) at U - 1.
        scaling: what scaling down and up alone leaves: less cannot be left.
    """

    bases: Tensor
    mean: Tensor | None
    errors: np.ndarray
    scaling: float

    def used(self, count: int) -> int:
        """Return the bases that are asked for, or all there are."""
        return min(count, len(self.bases))

    def error(self, count: int) -> float:
        """Return e(U) of the first `count` bases, or of all."""
        return float(self.errors[self.used(count) - 1])


class World:
    """Images, a teacher's vectors for them, and what bases make of both.

    Args:
        data: bases come from its training images; its test images are held out.
        teacher: a network for these images, with labels or without.
        images: of each split, drawn at random, at most; fewer where they are large.
        settings: what is shown first, as the laboratory's own text says it, such as
            "bases=20,scale=4".

    Attributes:
        images, vectors: split -> float32 [n, c, h, w], normalised, drawn without regard to their
            class, and [n, d].
        scales: which a reader may choose.
    """

    def __init__(
        self, data: ImageData, teacher: Network, *, images: int = 1000, settings: str = ""
    ) -> None:
        self.data = errors.check_instance("data", data, ImageData)
        errors.check_integer("images", images, 2, 3000)
        errors.check_text("settings", settings)
        self.teacher = errors.check_instance("teacher", teacher, Network)
        if (teacher.spec.channels, teacher.spec.image_size) != (data.channels, data.image_size):
            allowed = (
                f"a network for {data.channels} channels and {data.image_size} pixels, like the "
                "images"
            )
            errors.fail("teacher", allowed, teacher)
        image_count = min(images, max(2, _MOST_NUMBERS // data.train_images[0].numel()))
        self.images = {split: _sample_images(data, split, image_count) for split in _SPLITS}
        self.vectors = {
            split: networks.predict(teacher, values).features
            for split, values in self.images.items()
        }
        self.scales = scales(data)
        pages = min(max(min(map(len, self.images.values())) // PICTURED, 1), _PAGES)
        self.start = narrow(
            Settings, scale=self.scales, page=tuple(range(1, pages + 1))
        ).from_string(settings)
        self.bases_of_images = functools.cache(
            lambda scale: principal_bases(small(self.images["train"], scale))
        )

    def fitted(self, scale: int | None, *, watch: Watch) -> Fitted:
        """Return all bases of the images at a scale, or of the vectors (None), and their errors."""
        watch("bases of vectors" if scale is None else f"bases at scale {scale}", 0.0)
        if scale is None:
            basis = principal_bases(self.vectors["train"])
            held_out = self.vectors["test"]
            coefficients = factorisation.project(held_out, basis.bases, mean=basis.mean)
            errors_left = errors_of_first(held_out, basis.bases, coefficients, basis.mean)
            return Fitted(bases=basis.bases, mean=basis.mean, errors=errors_left, scaling=0.0)
        basis = self.bases_of_images(scale)
        held_out = self.images["test"]
        reduced = small(held_out, scale)
        coefficients = factorisation.project(reduced, basis.bases)
        errors_left = errors_of_first(held_out, large(basis.bases, scale), coefficients, None)
        alone = float(factorisation.relative_squared_error(held_out, large(reduced, scale)))
        return Fitted(bases=basis.bases, mean=None, errors=errors_left, scaling=alone)

    def rebuilt(self, bases: Tensor, scale: int, images: Tensor) -> Tensor:
        """Return the images [n, c, h, w], normalised, that some bases make of them."""
        return factorisation.decode(
            factorisation.project(small(images, scale), bases), bases, scale=scale
        )

    def sizes(self, scale: int, bases: int, vector_bases: int) -> Factorised:
        """Return the sizes of a set without views whose vectors' mean is stored too."""
        _, channels, height, width = self.images["train"].shape
        return Factorised(
            channels=channels,
            height=height,
            width=width,
            scale=scale,
            image_bases=bases,
            representation_size=self.vectors["train"].shape[1],
            representation_bases=vector_bases,
            representation_mean=True,
            views=0,
        )

    def pairs(self, scale: int, bases: int, vector_bases: int) -> int:
        """Return how many pairs the floats of twenty images buy.

        0 where the bases alone cost more, and no more than there are images.
        """
        sizes = self.sizes(scale, bases, vector_bases)
        budget = unlabelled.BUDGET * sizes.image_floats
        count = (
            0
            if sizes.bill(1).total > budget
            else min(sizes.largest_count(budget), len(self.images["train"]))
        )
        return count - (count % _BATCH == 1)  # batch norm has no variance of a single pair

    def probe_score(
        self, scale: int, bases: int, vector_bases: int, seed: int, *, watch: Watch
    ) -> float:
        """Return the score of the pairs that this split of the floats buys, none of them learned.

        See `unlabelled.probe_score`.
        """
        rows = self._rows(self.pairs(scale, bases, vector_bases), seed)
        chosen = principal_bases(self.vectors["train"])
        vector_basis = chosen.bases[:vector_bases]
        vectors = self.vectors["train"][rows]
        coefficients = factorisation.project(vectors, vector_basis, mean=chosen.mean)
        images = self.rebuilt(
            self.bases_of_images(scale).bases[:bases], scale, self.images["train"][rows]
        )
        return self._teach(
            images,
            factorisation.reconstruct(coefficients, vector_basis, mean=chosen.mean),
            seed,
            watch,
        )

    def real(self, seed: int, *, watch: Watch) -> float:
        """Return the score of twenty real images with the teacher's vectors, which nobody pays for."""
        rows = self._rows(unlabelled.BUDGET, seed)
        return self._teach(self.images["train"][rows], self.vectors["train"][rows], seed, watch)

    def limits(self, *, watch: Watch) -> tuple[float, float]:
        """Return the probe's scores of an untrained network and of the teacher."""
        watch("two probes", 0.0)
        rows = self._rows(2, 0)
        untrained = unlabelled.untrained(
            self.data, self.images["train"][rows], self.vectors["train"][rows], seed=0
        )
        return untrained, unlabelled.probe(self.teacher, self.data, device="cpu")

    def slider_limits(self) -> dict[str, tuple[int, int]]:
        """Return the sliders' ends: the number of images, of numbers in an image, and in a vector."""
        images = min(self.images["train"].flatten(1).shape)
        vectors = min(self.vectors["train"].flatten(1).shape)
        return {"bases": (1, images), "vector_bases": (1, vectors)}

    def _rows(self, count: int, seed: int) -> Tensor:
        order = randomness.permutation(len(self.images["train"]), seed, stream="pairs")
        return order[:count]

    def _teach(self, images: Tensor, vectors: Tensor, seed: int, watch: Watch) -> float:
        words = f"a network learns {len(images)} pairs"
        return unlabelled.probe_score(
            self.data, images, vectors, seed=seed, watch=lambda share: watch(words, share)
        )


def principal_bases(points: Tensor) -> PrincipalBases:
    """Return all principal bases that the points have, centred."""
    return principal.principal_bases(
        points, count=max(principal.rank(points, centred=True), 1), centred=True
    )


def errors_of_first(
    points: Tensor, basis: Tensor, coefficients: Tensor, offset: Tensor | None
) -> np.ndarray:
    """Return the relative squared errors e(U) of the first U = 1 ... K bases, float64 [K].

    See the module.

    Args:
        points: [n, *shape].
        basis: d_k, [K, *shape].
        coefficients: [n, K].
        offset: [*shape] that is added, or None.
    """
    values = points.flatten(1).double()
    directions = basis.flatten(1).double()
    weights = coefficients.double()
    total = values.square().sum()
    if not float(total) > 0:
        errors.fail("points", "not 0 everywhere", points)
    residual = values if offset is None else values - offset.flatten().double()
    cross = ((residual @ directions.T) * weights).sum(0).cumsum(0)
    products = (directions @ directions.T) * (weights.T @ weights)
    # Of the block k, l <= U: what row and column U add to the block before it.
    block = (2 * products.tril(-1).sum(1) + products.diagonal()).cumsum(0)
    squared = residual.square().sum() - 2 * cross + block
    return (squared / total).clamp(min=0).numpy()


def scales(data: ImageData) -> tuple[int, ...]:
    """Return up to five scales that divide height and width and leave 2 pixels."""
    height, width = data.image_size
    divide = [
        s for s in range(1, min(height, width) // 2 + 1) if height % s == 0 and width % s == 0
    ]
    return tuple(divide[:5]) or (1,)


def small(points: Tensor, scale: int) -> Tensor:
    """Scale images to 1 / scale of their height and width."""
    return points if scale == 1 else factorisation.downsampled(points, scale=scale)


def large(points: Tensor, scale: int) -> Tensor:
    """scale times as high and wide."""
    return points if scale == 1 else factorisation.upsampled(points, scale=scale)


def _sample_images(data: ImageData, split: Split, limit: int) -> Tensor:
    """Draw some images, whatever their classes. In files those of one class often stand together."""
    count = len(data.images(split))
    chosen = randomness.permutation(count, 0, stream=f"images for bases, {split}")[:limit]
    return data.normalised(chosen, split)
