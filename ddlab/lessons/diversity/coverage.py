"""Real and distilled images as points of a teacher's features: which real ones are covered, and maps of
them. No widgets.

    points = MappedImages(data, teacher, chosen)
    points.share_covered("features", points.outputs(distilled)["features"])
    points.map("features", embeddings.Config(kind="t_sne")).real
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ... import networks
from ...core import errors
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import embeddings, measures
from ...networks import Network


@dataclass(frozen=True, eq=False)
class Map:
    """One fitted map: where the real points lie, [n, 2], and what is drawn below them."""

    real: Tensor
    density: embeddings.Density
    place: Callable[[Tensor], Tensor]  # features [k, d] -> [k, 2], on this map


class MappedImages:
    """Points in feature space and on maps; everything is computed once.

    Attributes:
        pool: training-set indices [n] of the real images. labels: their classes [n].
    """

    def __init__(
        self, data: ImageData, teacher: Network, chosen: DistilledSet, points: int = 300
    ) -> None:
        """
        Args:
            data: where real images are drawn from. teacher: whose layers see all images.
            chosen: a set that the maps are fitted to as well.
            points: how many real images are drawn, as many of each class.
        """
        self.teacher = teacher
        self.pool = _balance(data, errors.check_integer("points", points, 3 * data.classes))
        self.labels = data.train_labels[self.pool]
        self._real = self._outputs(data.normalised(self.pool))
        self._chosen = self.outputs(chosen)
        self._radii = {
            layer: measures.neighbourhood_radii(real, neighbours=min(5, len(self.pool) - 1))
            for layer, real in self._real.items()
        }
        self._maps: dict[tuple[str, embeddings.Config], Map] = {}

    def outputs(self, distilled: DistilledSet) -> dict[str, Tensor]:
        """Return the teacher's features and logits of other images, layer -> [m, d]."""
        return self._outputs(distilled.images.float())

    def share_covered(self, layer: str, points: Tensor) -> float:
        """Return the share of the real images that other points [m, d] of a layer cover."""
        is_covered = measures.coverage(self._real[layer], self._radii[layer], points)
        return float(is_covered.double().mean())

    def map(self, layer: str, config: embeddings.Config) -> Map:
        """Fit all points once; other images are placed on the map that this gives."""
        key = layer, config
        if key not in self._maps:
            points = {"real": self._real[layer], "chosen": self._chosen[layer]}
            fitted = embeddings.fit(points, config, announce=None)
            real = fitted.positions["real"]
            self._maps[key] = Map(real, embeddings.density(real), fitted.transform)
        return self._maps[key]

    def _outputs(self, images: Tensor) -> dict[str, Tensor]:
        output = networks.predict(self.teacher, images)
        return {layer: getattr(output, layer).float().cpu() for layer in embeddings.LAYERS}


def map_extent(points: Tensor, *, margin: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return (low, high) of both axes around points [n, 2], with a margin as a share of their
    width.
    """
    low, high = points.amin(0), points.amax(0)
    edge = margin * (high - low)
    x, y = zip((low - edge).tolist(), (high + edge).tolist(), strict=True)
    return x, y


def _balance(data: ImageData, points: int) -> Tensor:
    """Return training-set indices, equally many of each class, in a fixed random order."""
    orders = data.orders_by_class(0, "diversity pool")
    return torch.cat([order[: points // data.classes] for order in orders])
