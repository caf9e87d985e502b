"""What the diversity view knows: the points of real and distilled images, which real ones are
covered, and their maps. No widgets.

points = MappedImages(data, teacher, {"random": chosen, "recovered": recovered})
points.coverage(PointsOnShow("recovered", "features"))
points.map("features", embeddings.Config(kind="t_sne")).sets["recovered"]
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ... import networks
from ...core import errors, randomness
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import embeddings, measures
from ...networks import Network

BY_HAND = "by hand"
_DRAWS = 20  # of as many random real images


@dataclass(frozen=True)
class PointsOnShow:
    """Which points: of a set, or real ones chosen by hand (positions in the pool)."""

    name: str
    layer: str
    hand: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Map:
    """One fitted map: where the real points [n, 2] and each set [m, 2] lie, and what is drawn below
    them.
    """

    real: Tensor
    sets: dict[str, Tensor]
    density: embeddings.Density
    extent: tuple[tuple[float, float], tuple[float, float]]
    kept_variance: float | None
    place: Callable[[Tensor], Tensor]  # features [k, d] -> [k, 2], on this map


class MappedImages:
    """Points in feature space and on maps; everything is computed once.

    Attributes:
        pool: training-set indices [n] of the real images. labels: their classes [n].
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        sets: Mapping[str, DistilledSet],
        points: int = 300,
    ) -> None:
        """
        Args:
            data: where real images are drawn from. teacher: whose layers see all images.
            sets: name -> the set whose images are shown.
            points: how many real images are drawn, as many of each class.
        """
        self.data = data
        self.teacher = teacher
        self.sets = _checked_sets(sets, data)
        self.pool = _balance(data, errors.check_integer("points", points, 3 * data.classes))
        self.labels = data.train_labels[self.pool]
        self._points = self._outputs_by_layer()
        self._radii = {
            layer: measures.neighbourhood_radii(
                points_of_layer["real"], neighbours=min(5, len(self.pool) - 1)
            )
            for layer, points_of_layer in self._points.items()
        }
        self._covered: dict[PointsOnShow, Tensor] = {}
        self._chance: dict[tuple[str, int], float] = {}
        self._maps: dict[tuple[str, embeddings.Config], Map] = {}

    def outputs(self, distilled: DistilledSet) -> dict[str, Tensor]:
        """Return the teacher's features and logits of other images, layer -> [m, d]."""
        output = networks.predict(self.teacher, distilled.images.float())
        return {layer: getattr(output, layer).float().cpu() for layer in self._points}

    def share_covered(self, layer: str, points: Tensor) -> float:
        """Return the share of the real images that other points [m, d] of a layer cover."""
        return float(self._coverage_of(layer, points).double().mean())

    def points(self, on_show: PointsOnShow) -> tuple[Tensor, Tensor]:
        """Return points [m, d] in feature space, and labels [m]."""
        points_of_layer = self._points[on_show.layer]
        if on_show.name == BY_HAND:
            rows = torch.tensor(on_show.hand)
            return points_of_layer["real"][rows], self.labels[rows]
        return points_of_layer[f"set {on_show.name}"], self.sets[on_show.name].labels

    def images(self, on_show: PointsOnShow) -> Tensor:
        """Return the images of points, uint8 [m, c, h, w]."""
        if on_show.name == BY_HAND:
            return self.data.train_images[self.pool[torch.tensor(on_show.hand)]]
        return self.sets[on_show.name].to_uint8()

    def positions(self, on: Map, on_show: PointsOnShow) -> Tensor:
        """Return the places of points on a map, [m, 2]."""
        if on_show.name == BY_HAND:
            return on.real[torch.tensor(on_show.hand)]
        return on.sets[on_show.name]

    def covered(self, on_show: PointsOnShow) -> Tensor:
        """Return which real images are covered, bool [n]."""
        if on_show not in self._covered:
            self._covered[on_show] = self._coverage_of(on_show.layer, self.points(on_show)[0])
        return self._covered[on_show]

    def coverage(self, on_show: PointsOnShow) -> float:
        """Return the share of the real images that is covered."""
        return float(self.covered(on_show).double().mean())

    def chance(self, layer: str, per_class: int) -> float:
        """Return the coverage of `per_class` random real images of each class, the mean of several
        draws.
        """
        key = (layer, per_class)
        if key not in self._chance:
            self._chance[key] = sum(self._at_random(layer, per_class, _DRAWS)) / _DRAWS
        return self._chance[key]

    def luck(self, layer: str, per_class: int, draws: int = 100) -> float:
        """Return the most that `per_class` random real images of each class cover in so many draws."""
        return max(self._at_random(layer, per_class, draws))

    def _at_random(self, layer: str, per_class: int, draws: int) -> list[float]:
        shares = []
        for draw in range(draws):
            order = randomness.permutation(len(self.pool), draw, 0, "diversity view")
            class_rows = [
                order[self.labels[order] == label][:per_class] for label in range(self.data.classes)
            ]
            rows = torch.cat(class_rows)
            shares.append(
                float(self._coverage_of(layer, self._points[layer]["real"][rows]).double().mean())
            )
        return shares

    def nearest_real(self, on_show: PointsOnShow) -> tuple[int, ...]:
        """Return for each image the nearest real one of its class, as a position in the pool.

        The teacher's features count.
        """
        points, labels = self.points(PointsOnShow(on_show.name, "features", on_show.hand))
        distances = torch.cdist(points, self._points["features"]["real"])
        distances[labels[:, None] != self.labels[None]] = torch.inf
        return tuple(distances.argmin(1).tolist())

    def nearest_on(self, on: Map, label: int, x: float, y: float) -> int:
        """Return the real image of a class that lies nearest to (x, y) on a map: its position in the pool."""
        members = (self.labels == label).nonzero().flatten()
        return int(members[(on.real[members] - torch.tensor([x, y])).norm(dim=1).argmin()])

    def known_map(self, layer: str, config: embeddings.Config) -> Map | None:
        """Return the map if it has been fitted already."""
        return self._maps.get((layer, config))

    def map(
        self, layer: str, config: embeddings.Config, announce: Callable[[str], Any] | None = None
    ) -> Map:
        """Fit all points once; other images are placed on the map that this gives."""
        cached_map = self.known_map(layer, config)
        if cached_map is not None:
            return cached_map
        points_of_layer = self._points[layer]
        fitted = embeddings.fit(points_of_layer, config, announce=announce)
        real = fitted.positions["real"]
        sets = {name: fitted.positions[f"set {name}"] for name in self.sets}
        every = torch.cat([real, *sets.values()])
        new_map = Map(
            real,
            sets,
            embeddings.density(real),
            map_extent(every, margin=0.06),
            fitted.kept_variance,
            fitted.transform,
        )
        self._maps[layer, config] = new_map
        return new_map

    def _coverage_of(self, layer: str, points: Tensor) -> Tensor:
        return measures.coverage(self._points[layer]["real"], self._radii[layer], points)

    def _outputs_by_layer(self) -> dict[str, dict[str, Tensor]]:
        """Return points [n, d] by layer and by "real" and each set."""
        images = {"real": self.data.normalised(self.pool)}
        for name, chosen in self.sets.items():
            images[f"set {name}"] = chosen.images.float()
        outputs = {name: networks.predict(self.teacher, pixels) for name, pixels in images.items()}
        points_by_layer = {}
        for layer in embeddings.LAYERS:
            points_by_layer[layer] = {
                name: getattr(output, layer).float().cpu() for name, output in outputs.items()
            }
        return points_by_layer


def map_extent(points: Tensor, *, margin: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return (low, high) of both axes around points [n, 2], with a margin as a share of their
    width.
    """
    low, high = points.amin(0), points.amax(0)
    edge = margin * (high - low)
    x, y = zip((low - edge).tolist(), (high + edge).tolist(), strict=True)
    return x, y


def _checked_sets(sets: Any, data: ImageData) -> dict[str, DistilledSet]:
    if not isinstance(data, ImageData):
        errors.fail("data", "an ImageData", data)
    if not isinstance(sets, Mapping) or not sets:
        errors.fail("sets", "a mapping of name to DistilledSet that is not empty", sets)
    shape = list(data.train_images.shape[1:])
    for name, chosen in sets.items():
        if not isinstance(name, str) or name == BY_HAND:
            errors.fail("a name in sets", f"a text other than {BY_HAND!r}", name)
        if not isinstance(chosen, DistilledSet):
            errors.fail(f"sets[{name!r}]", "a DistilledSet", chosen)
        if (
            list(chosen.images.shape[1:]) != shape
            or not len(chosen)
            or chosen.classes != data.classes
        ):
            allowed = f"of shape {shape} and {data.classes} classes, at least one"
            errors.fail(f"the images of sets[{name!r}]", allowed, chosen.images)
    return dict(sets)


def _balance(data: ImageData, points: int) -> Tensor:
    """Return training-set indices, equally many of each class, in a fixed random order."""
    orders = data.orders_by_class(0, "diversity pool")
    return torch.cat([order[: points // data.classes] for order in orders])
