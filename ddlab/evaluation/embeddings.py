"""Maps: features of real and distilled images in two dimensions, by PCA, t-SNE or UMAP.

    features = {"real": features_of(teacher, images), "recovered": features_of(teacher, recovered.images)}
    fitted = fit(features, Config(kind="t_sne"))       # one map of all points together
    fitted.positions["recovered"]                      # float32 [m, 2]
    fitted.transform(new_features)                     # float32 [k, 2]: new points on the same map, which does not move

A map is computed once for the same points and settings (`ddlab.runs.cache`). What it shows is a
picture, not a measurement: t-SNE and UMAP keep neighbours together and lose distances, so numbers
such as the coverage (`ddlab.evaluation.measures`) are taken from the features.

pca     scikit-learn: the two directions of largest variance; a projection, so distances can only shrink
t_sne   openTSNE: van der Maaten & Hinton 2008; new points find their place among fixed ones (Poličar et al.
        2019, bioRxiv 731877)
umap    umap-learn: McInnes et al. 2018, arXiv 1802.03426
"""

import importlib
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import networks
from ..core import Parameters, errors, parameter
from ..networks import Network
from ..runs import cache
from ..runs.threads import available, limit_threads

KINDS = ("pca", "t_sne", "umap")
LAYERS = ("features", "logits")

# numba's threads, on which UMAP runs, must not be entered twice at once.
_umap_lock = threading.Lock()
_umap_compiled = False
_MINIMUM_DISTANCE = 0.1  # of two points on a UMAP: its authors' default
_LARGEST = 1e15  # of a feature: float32 can still square and add them
UMAP_WAIT = (
    "UMAP compiles itself at its first map: 10 to 30 seconds, once. Later maps take one or two."
)


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    """Which map."""

    kind: str = parameter(
        "pca", choices=KINDS, help="How points are laid out in two dimensions.", explorable=True
    )
    perplexity: float = parameter(
        30.0,
        symbol="k",
        range=(2, 500),
        explorable=(5, 50),
        step=5,
        help="t-SNE only: about how many neighbours each point keeps close.",
        source="van der Maaten & Hinton 2008",
    )
    neighbours: int = parameter(
        15,
        range=(2, 500),
        explorable=(5, 50),
        help="UMAP only: how many neighbours each point is tied to.",
        source="McInnes et al. 2018",
    )
    seed: int = parameter(
        0, range=(0, 2**31 - 1), help="Of t-SNE and UMAP; PCA has no chance in it."
    )


@dataclass(frozen=True)
class Embedding:
    """A fitted map; made by `fit`.

    Attributes:
        config: how it was made.
        positions: name of the group -> float32 [n, 2], in map units.
        kept_variance: PCA: the share of the variance that the map shows; None for the others.
    """

    config: Config
    positions: dict[str, Tensor]
    kept_variance: float | None
    width: int
    _place: Callable[[np.ndarray], np.ndarray]

    def transform(self, features: Tensor) -> Tensor:
        """Place new points on this map: features [k, d] -> float32 [k, 2].

        The points of the fit stay where they are.

        Raises:
            DDLabError: features of another width than those of the fit, or not finite.
        """
        errors.check_tensor("features", features, shape=[None, self.width])
        if not len(features):
            return torch.zeros((0, 2))
        return torch.from_numpy(np.array(self._place(_array(features)), dtype=np.float32))


def features_of(network: Network, images: Tensor, layer: str = "features") -> Tensor:
    """Return a network's "features" [n, d] or "logits" [n, classes] of normalised images [n, c, h,
    w].
    """
    return getattr(networks.predict(network, images), layer)


def fit(
    groups: Mapping[str, Tensor],
    config: Config | None = None,
    *,
    announce: Callable[[str], Any] | None = print,
) -> Embedding:
    """Fit one map to all groups of points together.

    Args:
        groups: name -> features [n, d], floating point, the same d in all; one group may be empty,
            not all.
        config: default PCA.
        announce: told in a sentence when a long wait begins (UMAP's first map); None for silence.

    Raises:
        DDLabError: groups of different width or with values that are not finite; fewer points than
            the map needs; or t-SNE or UMAP without the package that computes it.
    """
    config = Config() if config is None else config
    points = _join(groups)
    _check_enough(config, len(points))
    sizes = [len(group) for group in groups.values()]
    positions, kept_variance, place = cache.remember(
        lambda: _fit(config, _array(points), announce), "embedding", config, points
    )
    parts = dict(zip(groups, torch.from_numpy(positions).split(sizes), strict=True))
    return Embedding(config, parts, kept_variance, points.shape[1], place)


@dataclass(frozen=True)
class Density:
    """How dense points lie in a map: at x [cells] and y [cells], `rank` [cells (y), cells (x)].

    `rank` is the share of the points that lie where the density is lower: the contour rank = 0.1
    encloses the densest 90% of them.
    """

    x: Tensor
    y: Tensor
    rank: Tensor


def density(
    positions: Tensor, *, cells: int = 48, margin: float = 0.08, bandwidth: float = 0.5
) -> Density:
    """Return the density of points [n, 2] on a grid, by a Gaussian kernel (scipy), as ranks.

    Args:
        bandwidth: of the kernel, times Scott's rule, which is meant for one cluster and blurs
            several.
        cells: of the grid in each direction.
        margin: how far the grid reaches beyond the points, as a share of their extent.

    Raises:
        DDLabError: fewer than three points, or points on one line, which have no density in the
            plane.
    """
    from scipy.stats import gaussian_kde

    points = _array(positions).astype(np.float64).T
    low, high = (points.min(1), points.max(1)) if points.size else (np.zeros(2), np.zeros(2))
    # A kernel estimate needs a covariance that can be inverted.
    if (
        points.shape[1] < 3
        or np.linalg.matrix_rank(points - points.mean(1, keepdims=True), tol=1e-9) < 2
    ):
        errors.fail("positions", "at least three points that do not lie on one line", positions)
    estimate = gaussian_kde(points, bw_method=lambda kernel: bandwidth * kernel.scotts_factor())
    x, y = (
        np.linspace(a - margin * (b - a), b + margin * (b - a), cells)
        for a, b in zip(low, high, strict=True)
    )
    values = estimate(np.stack(np.meshgrid(x, y)).reshape(2, -1)).reshape(cells, cells)
    rank = np.searchsorted(np.sort(estimate(points)), values) / points.shape[1]
    return Density(*(torch.from_numpy(part.astype(np.float32)) for part in (x, y, rank)))


def _join(groups: Mapping[str, Tensor]) -> Tensor:
    if not isinstance(groups, Mapping) or not groups:
        errors.fail("groups", "a mapping of name to features that is not empty", groups)
    width = None
    for name, group in groups.items():
        errors.check_tensor(f"groups[{name!r}]", group, shape=[None, width], floating=True)
        width = group.shape[1]
    joined = torch.cat([group.detach().cpu().float() for group in groups.values()])
    if joined.numel() and float(joined.abs().max()) > _LARGEST:
        errors.fail("groups", f"numbers of at most {_LARGEST:g}", float(joined.abs().max()))
    return joined


def _check_enough(config: Config, count: int) -> None:
    if config.kind == "t_sne" and config.perplexity > (count - 1) / 3:
        raise errors.DDLabError(
            f"perplexity must be at most a third of the other points, {(count - 1) / 3:.3g}; "
            f"given {config.perplexity:g}."
        )
    if config.kind == "umap" and config.neighbours >= count:
        raise errors.DDLabError(
            f"neighbours must be less than the number of points, {count}; given "
            f"{config.neighbours}."
        )
    if count < 3:
        raise errors.DDLabError(f"groups must hold at least 3 points together; given {count}.")


def _array(points: Tensor) -> np.ndarray:
    return points.detach().cpu().float().numpy()


def _fit(config: Config, points: np.ndarray, announce: Any) -> tuple[np.ndarray, float | None, Any]:
    """Fit a map; return positions [n, 2], the variance that PCA kept, and a function for new
    points.
    """
    positions, kept_variance, place = {"pca": _pca, "t_sne": _t_sne, "umap": _umap}[config.kind](
        config, points, announce
    )
    return np.array(positions, dtype=np.float32), kept_variance, place


def _pca(_config: Config, points: np.ndarray, _announce: Any) -> tuple[np.ndarray, float, Any]:
    from sklearn.decomposition import PCA

    # The full solver has no chance in it, and scikit-learn fixes the sign of the directions.
    model = PCA(2, svd_solver="full").fit(points)
    return model.transform(points), float(model.explained_variance_ratio_.sum()), model.transform


def _t_sne(config: Config, points: np.ndarray, _announce: Any) -> tuple[np.ndarray, None, Any]:
    openTSNE = _optional("openTSNE", "t-SNE")

    # Exact neighbours: the approximate search would import numba and compile for fifteen seconds.
    model = openTSNE.TSNE(
        perplexity=config.perplexity,
        random_state=config.seed,
        neighbors="exact",
        n_jobs=torch.get_num_threads(),
        negative_gradient_method="bh",
    )
    fitted = model.fit(points)
    # Each `transform` moves the fitted points themselves to this centre (openTSNE 1.0.4).
    fitted -= (fitted.max(0) + fitted.min(0)) / 2
    # A new point settles among at most as many neighbours as the perplexity allows.
    return (
        np.asarray(fitted),
        None,
        lambda new: np.asarray(fitted.transform(new, perplexity=min(5, config.perplexity))),
    )


def _umap(config: Config, points: np.ndarray, announce: Any) -> tuple[np.ndarray, None, Any]:
    global _umap_compiled
    if not _umap_compiled and announce is not None:
        announce(UMAP_WAIT)
    umap = _optional("umap", "UMAP")
    # With a seed UMAP uses one thread; saying so keeps it from warning.
    model = umap.UMAP(
        n_neighbors=config.neighbours,
        min_dist=_MINIMUM_DISTANCE,
        random_state=config.seed,
        n_jobs=1,
    )
    # Its compiled loops set the number of OpenMP threads, which is torch's as well.
    with _umap_lock, limit_threads(available()):
        positions = model.fit_transform(points)
        _umap_compiled = True

    def place(new: np.ndarray) -> np.ndarray:
        with _umap_lock, limit_threads(available()):
            return model.transform(new)

    return positions, None, place


def _optional(module: str, purpose: str) -> Any:
    try:
        with warnings.catch_warnings():
            # umap says at import that it has no TensorFlow, which only its parametric form needs.
            warnings.simplefilter("ignore", ImportWarning)
            return importlib.import_module(module)
    except ImportError as missing:
        raise errors.DDLabError(
            f"kind must be 'pca' without the package {module}, which computes {purpose} and "
            "comes with ddlab's notebooks "
            f"(pip install '.[lab]' in a clone of ddlab); given a Python without it ({missing})."
        ) from missing
