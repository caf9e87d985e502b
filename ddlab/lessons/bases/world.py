r"""What the laboratory of bases knows: principal bases at every scale, and what the first ones leave of images and representations.

e(U) = sum_n |x_n - o - sum_{k<=U} c_nk d_k|^2 / sum_n |x_n|^2     errors_of_first: for all U at once

d_k = D(b_k) are the bases as they are shown, o the mean where it is added again. With M_k = sum_n c_nk <x_n - o, d_k> and
H_kl = sum_n c_nk c_nl <d_k, d_l>, the sum on top is sum_n |x_n - o|^2 - 2 sum_{k<=U} M_k + sum_{k,l<=U} H_kl.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ... import networks
from ...core import errors, randomness
from ...core.parameters import Parameters, narrowed, parameter
from ...data import ImageData
from ...data.images import Split
from ...distilled import bases as principal
from ...distilled import factorisation
from ...distilled.bases import PrincipalBases
from ...networks import Network

TRAINING, HELD_OUT = "training", "held-out"
SPLITS: dict[str, Split] = {TRAINING: "train", HELD_OUT: "test"}
PROJECTED, STORED, NOT_CENTRED, LOST = "projected", "stored", "not centred", "lost"
WAYS = {
    PROJECTED: "centred bases, and the mean goes into the coefficients",
    STORED: "the mean is taken off, stored and added again",
    NOT_CENTRED: "the bases are not centred, and the first is nearly the mean",
    LOST: "the mean is taken off and forgotten",
}
"""What may become of the mean, as in `factorisation`'s table."""
NOTHING, DIFFERENCE = "nothing", "difference"
PICTURED = 10  # images on a page
_PAGES = 30  # at most
_MOST_NUMBERS = 13_000_000  # in all images together: 100 MB as float64, and seconds for their bases


def _count(default: int, symbol: str, words: str) -> Any:
    return parameter(default, symbol=symbol, range=(1, 10**6), scale="log", explorable=(1, 1000), help=words)


def _choice(default: str, choices: Iterable[str], words: str) -> Any:
    return parameter(default, choices=tuple(choices), explorable=True, help=words)


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """How many bases of which kind are used, and which images are shown; `World` narrows it to what its data allow."""

    bases: int = _count(50, "U", "How many of the first image bases are used.")
    scale: int = parameter(
        2, symbol="s", range=(1, 10**6), source="Boost, A.1", help="By how much the bases are smaller on each side."
    )
    image_mean: str = _choice(PROJECTED, WAYS, "; ".join(f"{name}: {meaning}" for name, meaning in WAYS.items()) + ".")
    split: str = _choice(HELD_OUT, (HELD_OUT, TRAINING), "Images the bases have not seen, or have.")
    page: int = parameter(1, range=(1, 10**6), help="Which images are shown.")
    below: str = _choice(
        DIFFERENCE, (NOTHING, DIFFERENCE), "The third row: what is made less the image (grey is none)."
    )
    representation_bases: int = _count(
        20, "V", "How many of the first bases of the teacher's representations are used."
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """All bases of some points, and what the first ones leave.

    Attributes:
        bases: [K, *shape], K the rank of the points. taken_off: [*shape], before the points are projected; added: after; None: nothing.
        shares: float64 [K], of the variance. effective_rank: of it. errors: split -> float64 [K], e(U) at U - 1.
        scaling: split -> what scaling down and up alone leaves: less cannot be left.
    """

    bases: Tensor
    taken_off: Tensor | None
    added: Tensor | None
    shares: np.ndarray
    effective_rank: float
    errors: dict[str, np.ndarray]
    scaling: dict[str, float]

    def used(self, count: int) -> int:
        """As many as are asked for, or all."""
        return min(count, len(self.bases))

    def error(self, split: str, count: int) -> float:
        """e(U) of the first `count` bases, or of all."""
        return float(self.errors[split][self.used(count) - 1])


class World:
    """Images, what bases make of them, and a teacher's representations of them.

    Args:
        data: bases come from its training images; its test images are held out.
        teacher: a network for these images, with labels or without; None: images alone.
        images: of each split, drawn at random, at most; fewer where they are large, and the laboratory says how many.
        settings: what is shown first, as the laboratory's own text says it, such as "bases=20,scale=4".

    Attributes:
        images: split -> float32 [n, c, h, w], normalised, drawn without regard to their class. scales: which a reader may choose.
        representations: "teacher" and "untrained" -> split -> [n, d]; empty without a teacher.
    """

    def __init__(
        self, data: ImageData, teacher: Network | None = None, *, images: int = 1000, settings: str = ""
    ) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        errors.check_integer("images", images, 2, 3000)
        errors.check_text("settings", settings)
        errors.check_instance("teacher", teacher, (Network, type(None)), "a Network or None")
        shape = data.channels, data.image_size
        if teacher is not None and (teacher.spec.channels, teacher.spec.image_size) != shape:
            allowed = f"a network for {data.channels} channels and {data.image_size} pixels, like the images"
            errors.fail("teacher", allowed, teacher)
        most = min(images, max(2, _MOST_NUMBERS // data.train_images[0].numel()))
        self.images = {split: _drawn(data, name, most) for split, name in SPLITS.items()}
        known = {} if teacher is None else {"teacher": teacher, "untrained": networks.initialise(teacher.spec, seed=0)}
        self.representations = {
            name: {split: networks.predict(network, values).features for split, values in self.images.items()}
            for name, network in known.items()
        }
        self.scales = scales(data)
        pages = min(max(min(map(len, self.images.values())) // PICTURED, 1), _PAGES)
        allowed = {"scale": self.scales, "page": tuple(range(1, pages + 1))}
        if teacher is None:  # a choice of one thing is none
            allowed |= {"representation_bases": (20,)}
        self.start = narrowed(Settings, **allowed).from_string(settings)
        self._bases = functools.cache(self._all_bases)

    def fitted(self, of: int | str, way: str, *, watch: Callable[[str, float], None]) -> Fitted:
        """All bases of the images at a scale, or of the representations of a network, and what they leave of both splits."""
        watch(f"bases of {of}" if isinstance(of, str) else f"bases at scale {of}", 0.0)
        (points, scale), found = self._points(of), self._bases(of, way != NOT_CENTRED)  # three of the ways share them
        mean, shown = large(found.mean[None], scale)[0], large(found.bases, scale)
        taken_off = found.mean if way in (STORED, LOST) else None
        left, scaling = {}, {}
        for split, values in points.items():
            reduced = small(values, scale)
            coefficients = factorisation.project(reduced, found.bases, mean=taken_off)
            left[split] = errors_of_first(values, shown, coefficients, mean if way == STORED else None)
            scaling[split] = float(factorisation.relative_squared_error(values, large(reduced, scale)))
        return Fitted(
            bases=found.bases,
            taken_off=taken_off,
            added=found.mean if way == STORED else None,
            shares=found.explained.numpy(),
            effective_rank=principal.effective_rank(found.variances),
            errors=left,
            scaling=scaling,
        )

    def made(self, found: Fitted, scale: int, count: int, split: str, page: int) -> tuple[Tensor, Tensor]:
        """The images of a page and what the first `count` bases make of them, uint8 [k, c, h, w] each."""
        images, kept = self.images[split][(page - 1) * PICTURED : page * PICTURED], found.bases[:count]
        coefficients = factorisation.project(small(images, scale), kept, mean=found.taken_off)
        made = factorisation.decoded(coefficients, kept, scale=scale, mean=found.added)
        return self.data.to_uint8(images), self.data.to_uint8(made)

    def most(self) -> dict[str, tuple[int, int]]:
        """No more bases than there are images, numbers in an image, or numbers in a representation."""
        most = {"bases": (1, min(self.images[TRAINING].flatten(1).shape))}
        if self.representations:
            most["representation_bases"] = (1, self.representations["teacher"][TRAINING].shape[1])
        return most

    def _points(self, of: int | str) -> tuple[dict[str, Tensor], int]:
        return (self.representations[of], 1) if isinstance(of, str) else (self.images, of)

    def _all_bases(self, of: int | str, centred: bool) -> PrincipalBases:
        points, scale = self._points(of)
        seen = small(points[TRAINING], scale)
        return principal.principal_bases(seen, count=max(principal.rank(seen, centred=centred), 1), centred=centred)


def errors_of_first(points: Tensor, shown: Tensor, coefficients: Tensor, offset: Tensor | None) -> np.ndarray:
    """Relative squared errors e(U) of the first U = 1 ... K bases, float64 [K]; see the module.

    Args:
        points: [n, *shape]. shown: d_k, [K, *shape]. coefficients: [n, K]. offset: [*shape] that is added, or None.
    """
    values, directions, given = points.flatten(1).double(), shown.flatten(1).double(), coefficients.double()
    total = values.square().sum()
    if not float(total) > 0:
        errors.fail("points", "not 0 everywhere", points)
    left = values if offset is None else values - offset.flatten().double()
    cross = ((left @ directions.T) * given).sum(0).cumsum(0)
    products = (directions @ directions.T) * (given.T @ given)
    # Of the block k, l <= U: what row and column U add to the block before it.
    block = (2 * products.tril(-1).sum(1) + products.diagonal()).cumsum(0)
    squared = left.square().sum() - 2 * cross + block
    return (squared / total).clamp(min=0).numpy()


def scales(data: ImageData) -> tuple[int, ...]:
    """The scales a reader may choose: up to five numbers that divide height and width and leave 2 pixels."""
    height, width = data.image_size
    divide = [s for s in range(1, min(height, width) // 2 + 1) if height % s == 0 and width % s == 0]
    return tuple(divide[:5]) or (1,)


def small(points: Tensor, scale: int) -> Tensor:
    """1 / scale as high and wide; at 1 also points that are no images."""
    return points if scale == 1 else factorisation.downsampled(points, scale=scale)


def large(points: Tensor, scale: int) -> Tensor:
    """scale times as high and wide; at 1 also points that are no images."""
    return points if scale == 1 else factorisation.upsampled(points, scale=scale)


def _drawn(data: ImageData, split: Split, most: int) -> Tensor:
    """Some images, whatever their classes: in files those of one class often stand together."""
    count = len(data.images(split))
    chosen = torch.randperm(count, generator=randomness.generator(0, stream=f"images for bases, {split}"))[:most]
    return data.normalised(chosen, split)
