r"""What the explorer of bases knows: principal bases at every scale, and what the first ones leave of images and of representations.

No widgets. `Reconstructions` takes some images of both splits; for a scale and a way with the mean it finds all bases once (`Fitted`),
then any number of them is a matter of cutting.

e(U) = sum_n |x_n - o - sum_{k<=U} c_nk d_k|^2 / sum_n |x_n|^2     errors_of_first: for all U at once

d_k = D(b_k) are the bases as they are shown, o the mean where it is added again. With M_k = sum_n c_nk <x_n - o, d_k> and
H_kl = sum_n c_nk c_nl <d_k, d_l>, the sum on top is sum_n |x_n - o|^2 - 2 sum_{k<=U} M_k + sum_{k,l<=U} H_kl.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .. import bases as principal
from .. import errors, factorisation, networks, randomness
from ..bases import PrincipalBases
from ..data import ImageData
from ..networks import Network

TRAINING, HELD_OUT = "training", "held-out"
SPLITS = {TRAINING: "train", HELD_OUT: "test"}
PROJECTED, STORED, NOT_CENTRED, LOST = "projected", "stored", "not centred", "lost"
WAYS = {
    PROJECTED: "centred bases, and the mean goes into the coefficients",
    STORED: "the mean is taken off, stored and added again",
    NOT_CENTRED: "the bases are not centred, and the first is nearly the mean",
    LOST: "the mean is taken off and forgotten",
}
"""What may become of the mean, as in `factorisation`'s table."""
_MOST_NUMBERS = 13_000_000  # in all images together: 100 MB as float64, and seconds for their bases


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """All bases of some points, and what the first ones leave.

    Attributes:
        bases: [K, *shape], K the rank of the points. taken_off: [*shape], before the points are projected; added: after; None: nothing.
        shares: float64 [K], of the variance. effective_rank: of it. errors: split -> float64 [K], e(U) at U - 1.
    """

    bases: Tensor
    taken_off: Tensor | None
    added: Tensor | None
    shares: np.ndarray
    effective_rank: float
    errors: dict[str, np.ndarray]

    def used(self, count: int) -> int:
        """As many as are asked for, or all."""
        return min(count, len(self.bases))

    def error(self, split: str, count: int) -> float:
        """e(U) of the first `count` bases, or of all."""
        return float(self.errors[split][self.used(count) - 1])


def all_bases(points: Tensor, *, centred: bool) -> PrincipalBases:
    """As many principal bases as there are: points [n, *shape], at least two that differ."""
    return principal.principal_bases(points, count=max(principal.rank(points, centred=centred), 1), centred=centred)


def fitted(points: dict[str, Tensor], found: PrincipalBases, way: str, *, scale: int = 1) -> Fitted:
    """What the bases leave of both splits, the mean treated in one of the `WAYS`.

    Args:
        points: split -> [n, *shape]; images [n, c, h, w] where `scale` is above 1. found: bases of the training points, 1 / scale as large.
    """
    taken_off = found.mean if way in (STORED, LOST) else None
    added = found.mean if way == STORED else None
    shown = large(found.bases, scale)
    offset = None if added is None else large(added[None], scale)[0]
    coefficients = {
        split: factorisation.project(small(values, scale), found.bases, mean=taken_off)
        for split, values in points.items()
    }
    return Fitted(
        bases=found.bases,
        taken_off=taken_off,
        added=added,
        shares=found.explained.numpy(),
        effective_rank=principal.effective_rank(found.variances),
        errors={split: errors_of_first(values, shown, coefficients[split], offset) for split, values in points.items()},
    )


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


class Reconstructions:
    """Some images of both splits and what is known of them; see the module.

    Attributes:
        images: split -> float32 [n, c, h, w], normalised, drawn without regard to their class. of: split -> how many there are.
        representations: "teacher" and "untrained" -> split -> [n, d]; empty without a teacher.
    """

    def __init__(self, data: ImageData, teacher: Network | None, images: int) -> None:
        """
        Args:
            images: of each split, at most; fewer of large images.
        """
        room = max(2, _MOST_NUMBERS // int(np.prod(data.train_images.shape[1:])))
        self.data = data
        self.of = {split: len(data.images(name)) for split, name in SPLITS.items()}  # type: ignore[arg-type]
        self.images = {split: _drawn(data, name, min(images, room)) for split, name in SPLITS.items()}
        self.representations: dict[str, dict[str, Tensor]] = {}
        if teacher is not None:
            untrained = networks.initialise(teacher.spec, seed=0)
            self.representations = {
                name: {split: networks.predict(network, values).features for split, values in self.images.items()}
                for name, network in (("teacher", teacher), ("untrained", untrained))
            }
        self._bases: dict[tuple[int | str, bool], PrincipalBases] = {}
        self._known: dict[tuple[int | str, str], Fitted] = {}
        self._alone: dict[int, dict[str, float]] = {}

    def known(self, of: int | str, way: str) -> Fitted | None:
        """The bases of images at this scale, or of the representations of this network, if they have been found."""
        return self._known.get((of, way))

    def of_images(self, scale: int, way: str) -> Fitted:
        """The bases of the images, 1 / scale as high and wide; found once."""
        if scale not in self._alone:
            self._alone[scale] = {split: _left_by_scaling(values, scale) for split, values in self.images.items()}
        return self._fitted(scale, way, self.images, scale)

    def of_representations(self, network: str, way: str) -> Fitted:
        """The bases of the representations of "teacher" or "untrained"; found once."""
        return self._fitted(network, way, self.representations[network], 1)

    def by_scaling(self, scale: int, split: str) -> float:
        """The relative squared error of images that are scaled down and up again: less cannot be left; 0 without scaling."""
        return self._alone[scale][split]

    def made(self, found: Fitted, scale: int, count: int, split: str, numbers: slice) -> tuple[Tensor, Tensor]:
        """Some images and what the first `count` bases make of them, uint8 [k, c, h, w] each."""
        images, kept = self.images[split][numbers], found.bases[: found.used(count)]
        coefficients = factorisation.project(small(images, scale), kept, mean=found.taken_off)
        made = factorisation.decoded(coefficients, kept, scale=scale, mean=found.added)
        return self.data.to_uint8(images), self.data.to_uint8(made)

    def _fitted(self, key: int | str, way: str, points: dict[str, Tensor], scale: int) -> Fitted:
        if (key, way) not in self._known:
            centred = way != NOT_CENTRED
            if (key, centred) not in self._bases:  # three of the ways share them
                self._bases[key, centred] = all_bases(small(points[TRAINING], scale), centred=centred)
            self._known[key, way] = fitted(points, self._bases[key, centred], way, scale=scale)
        return self._known[key, way]


def scales(data: ImageData) -> tuple[int, ...]:
    """The scales a reader may choose: up to five numbers that divide height and width and leave 2 pixels."""
    height, width = data.image_size
    divide = [s for s in range(1, min(height, width) // 2 + 1) if height % s == 0 and width % s == 0]
    return tuple(divide[:5]) or (1,)


def check_teacher(teacher: object, data: ImageData) -> Network | None:
    """A network for these images, or None."""
    errors.check_instance("teacher", teacher, (Network, type(None)), "a Network or None")
    if isinstance(teacher, Network) and (teacher.spec.channels, teacher.spec.image_size) != (
        data.channels,
        data.image_size,
    ):
        errors.fail(
            "teacher", f"a network for {data.channels} channels and {data.image_size} pixels, like the images", teacher
        )
    return teacher if isinstance(teacher, Network) else None


def _drawn(data: ImageData, split: str, most: int) -> Tensor:
    """Some images, whatever their classes: in files those of one class often stand together."""
    count = len(data.images(split))  # type: ignore[arg-type]
    chosen = torch.randperm(count, generator=randomness.generator(0, stream=f"images for bases, {split}"))[:most]
    return data.normalised(chosen, split)  # type: ignore[arg-type]


def small(images: Tensor, scale: int) -> Tensor:
    """1 / scale as high and wide; at 1 also points that are no images."""
    return images if scale == 1 else factorisation.downsampled(images, scale=scale)


def large(images: Tensor, scale: int) -> Tensor:
    """scale times as high and wide; at 1 also points that are no images."""
    return images if scale == 1 else factorisation.upsampled(images, scale=scale)


def _left_by_scaling(images: Tensor, scale: int) -> float:
    return float(factorisation.relative_squared_error(images, large(small(images, scale), scale)))
