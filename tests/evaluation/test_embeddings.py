"""Maps against independent references: numpy's SVD, scikit-learn's t-SNE and trustworthiness, a
double loop for densities.
"""

import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ddlab.evaluation import embeddings
from ddlab.evaluation.embeddings import Config
from ddlab.runs import cache
from tests.support import refuses

# Numba, on which UMAP runs, looks at functions that newer versions of other packages call old.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SMALL = {
    "pca": Config(),
    "t_sne": Config(kind="t_sne", perplexity=10),
    "umap": Config(kind="umap", neighbours=8),
}


def clusters(
    per_class: int = 30, classes: int = 4, width: int = 12, seed: int = 0
) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(classes).repeat_interleave(per_class)
    centres = 6 * torch.randn((classes, width), generator=draw)
    return centres[labels] + torch.randn((len(labels), width), generator=draw), labels


@pytest.fixture(autouse=True)
def fresh() -> None:
    cache.clear()


def test_pca_is_the_projection_on_the_largest_singular_vectors() -> None:
    points, _ = clusters()
    fitted = embeddings.fit({"a": points[:50], "b": points[50:]})
    centred = points.double().numpy() - points.double().numpy().mean(0)
    _, sizes, rows = np.linalg.svd(centred, full_matrices=False)
    expected = centred @ rows[:2].T
    positions = torch.cat([fitted.positions["a"], fitted.positions["b"]]).numpy()
    # A direction may point either way.
    np.testing.assert_allclose(np.abs(positions), np.abs(expected), atol=1e-4)
    assert fitted.kept_variance == pytest.approx(
        (sizes[:2] ** 2).sum() / (sizes**2).sum(), rel=1e-5
    )


def divergence(points: Tensor, positions: Tensor, perplexity: float) -> float:
    """t-SNE's objective in float64, straight from its definition: joint probabilities by bisection,
    Student's t on the map.
    """
    x, y = points.double().numpy(), positions.double().numpy()
    squared = ((x[:, None] - x[None]) ** 2).sum(-1)
    conditional = np.zeros_like(squared)
    for row, distances in enumerate(squared):
        low, high = 1e-12, 1e6
        for _ in range(200):
            precision = np.sqrt(low * high)
            others_distances = np.where(np.arange(len(x)) == row, np.inf, distances)
            weights = np.exp(-precision * (others_distances - others_distances.min()))
            share = weights / weights.sum()
            entropy = -(share[share > 0] * np.log(share[share > 0])).sum()
            low, high = (precision, high) if entropy > np.log(perplexity) else (low, precision)
        conditional[row] = share
    joint = (conditional + conditional.T) / (2 * len(x))
    similarity = 1 / (1 + ((y[:, None] - y[None]) ** 2).sum(-1))
    np.fill_diagonal(similarity, 0)
    similarity /= similarity.sum()
    used = joint > 1e-12
    return float((joint[used] * np.log(joint[used] / similarity[used])).sum())


def test_t_sne_reaches_the_objective_that_scikit_learn_reaches() -> None:
    from sklearn.manifold import TSNE

    points, _ = clusters()
    ours = embeddings.fit({"all": points}, SMALL["t_sne"]).positions["all"]
    theirs = torch.from_numpy(
        TSNE(perplexity=10, random_state=0, method="exact").fit_transform(points.numpy())
    )
    random = torch.randn(len(points), 2, generator=torch.Generator().manual_seed(0)) * ours.std()
    divergences = [divergence(points, positions, 10) for positions in (ours, theirs, random)]
    assert divergences[0] < 1.1 * divergences[1] < 0.5 * divergences[2], divergences


@pytest.mark.parametrize("kind", ["t_sne", pytest.param("umap", marks=pytest.mark.slow)])
def test_neighbours_stay_together(kind: str) -> None:
    from sklearn.manifold import trustworthiness

    points, labels = clusters()
    positions = embeddings.fit({"all": points}, SMALL[kind], announce=None).positions["all"]
    assert trustworthiness(points.numpy(), positions.numpy(), n_neighbors=5) > 0.9
    centres = torch.stack([positions[labels == label].mean(0) for label in range(4)])
    assert torch.equal(torch.cdist(positions, centres).argmin(1), labels)


@pytest.mark.parametrize("kind", ["pca", "t_sne", pytest.param("umap", marks=pytest.mark.slow)])
def test_new_points_find_their_cluster_and_nothing_else_moves(kind: str) -> None:
    points, labels = clusters()
    fitted = embeddings.fit({"real": points[::2], "some": points[1::2]}, SMALL[kind], announce=None)
    before = {name: positions.clone() for name, positions in fitted.positions.items()}
    placed = fitted.transform(points + 0.01)
    assert placed.dtype == torch.float32 and placed.shape == (len(points), 2)
    cluster_centres = [fitted.positions["real"][labels[::2] == label].mean(0) for label in range(4)]
    centres = torch.stack(cluster_centres)
    assert torch.equal(torch.cdist(placed, centres).argmin(1), labels)
    assert all(torch.equal(fitted.positions[name], before[name]) for name in before)
    assert torch.equal(fitted.transform(points + 0.01), placed), (
        "the same points come to the same place"
    )
    assert fitted.transform(points[:0]).shape == (0, 2)
    if kind == "pca":
        torch.testing.assert_close(
            fitted.transform(points[::2]), fitted.positions["real"], atol=1e-4, rtol=1e-4
        )


def test_points_of_a_t_sne_keep_their_places_where_clusters_are_uneven() -> None:
    points, labels = clusters()
    uneven = torch.cat([points[labels == 0], *(points[labels == label][:5] for label in (1, 2, 3))])
    fitted = embeddings.fit({"real": uneven}, embeddings.Config(kind="t_sne", perplexity=5))
    shift = (fitted.transform(uneven) - fitted.positions["real"]).mean(0)
    assert bool((shift.abs() < 0.1 * fitted.positions["real"].std(0)).all()), shift


@pytest.mark.parametrize("kind", ["pca", "t_sne"])
def test_a_map_is_fitted_once_and_a_seed_gives_the_same_map(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    points, _ = clusters()
    first = embeddings.fit({"a": points}, SMALL[kind]).positions["a"]
    cache.clear()
    assert torch.equal(embeddings.fit({"a": points}, SMALL[kind]).positions["a"], first)
    monkeypatch.setattr(embeddings, f"_{kind}", lambda *_: pytest.fail("fitted again"))
    again = embeddings.fit(
        {"real": points[:40], "other": points[40:], "none": points[:0]}, SMALL[kind]
    )
    assert torch.equal(torch.cat([again.positions["real"], again.positions["other"]]), first)
    assert again.positions["none"].shape == (0, 2)


def test_another_seed_or_perplexity_is_another_map() -> None:
    points, _ = clusters()
    maps = [
        embeddings.fit({"a": points}, SMALL["t_sne"].replace(**changes)).positions["a"]
        for changes in ({}, {"seed": 1}, {"perplexity": 5.0})
    ]
    assert not torch.equal(maps[0], maps[2]) and not torch.equal(maps[0], maps[1])


@pytest.mark.slow
def test_the_wait_for_umap_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    points, _ = clusters()
    monkeypatch.setattr(embeddings, "_umap_compiled", False)
    announced: list[str] = []
    threads = torch.get_num_threads()
    embeddings.fit({"a": points}, SMALL["umap"], announce=announced.append)
    assert torch.get_num_threads() == threads, "numba's threads are not torch's"
    embeddings.fit({"a": points}, SMALL["umap"].replace(seed=1), announce=announced.append)
    assert announced == [embeddings.UMAP_WAIT] and "seconds" in announced[0]
    monkeypatch.setattr(embeddings, "_umap_compiled", False)
    embeddings.fit({"a": points}, SMALL["umap"].replace(seed=2))
    assert capsys.readouterr().out.strip() == embeddings.UMAP_WAIT


@pytest.mark.parametrize("kind, package", [("t_sne", "openTSNE"), ("umap", "umap")])
def test_a_missing_package_is_named(
    kind: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with refuses(package, "pip install '.[lab]'"):
        embeddings.fit({"a": clusters()[0]}, SMALL[kind], announce=None)


def test_density_is_the_kernel_estimate_as_ranks() -> None:
    points = torch.randn(80, 2, generator=torch.Generator().manual_seed(1)) * torch.tensor(
        [2.0, 0.5]
    )
    density = embeddings.density(points, cells=9, margin=0.1, bandwidth=0.7)
    x = points.double().numpy()
    factor = 0.7 * len(x) ** (-1 / 6)
    inverse = np.linalg.inv(np.cov(x.T) * factor**2)

    def kernel(at: np.ndarray) -> float:
        return sum(float(np.exp(-0.5 * (at - point) @ inverse @ (at - point))) for point in x)

    at_points = np.array([kernel(location) for location in x])
    for row, column in [(0, 0), (4, 4), (8, 2), (3, 5)]:
        value = kernel(np.array([float(density.x[column]), float(density.y[row])]))
        assert float(density.rank[row, column]) == pytest.approx(
            (at_points < value).mean(), abs=1.1 / 80
        )
    low, high = points.amin(0), points.amax(0)
    torch.testing.assert_close(
        density.x[[0, -1]],
        torch.stack([low[0], high[0]]) + (high - low)[0] * torch.tensor([-0.1, 0.1]),
    )
    assert density.rank.min() >= 0 and density.rank.max() <= 1 and density.rank.shape == (9, 9)


def test_the_contour_encloses_its_share() -> None:
    """Interpolated at the points themselves, a tenth has a rank below 0.1."""
    from scipy.interpolate import RegularGridInterpolator

    points, _ = clusters(per_class=100, width=2)
    density = embeddings.density(points, cells=120)
    at = RegularGridInterpolator((density.y.numpy(), density.x.numpy()), density.rank.numpy())(
        points.numpy()[:, ::-1]
    )
    assert (at < 0.1).mean() == pytest.approx(0.1, abs=0.03) and (at < 0.7).mean() == pytest.approx(
        0.7, abs=0.03
    )


@pytest.mark.parametrize(
    "groups",
    [
        None,
        {},
        [torch.zeros(3, 2)],
        {"a": None},
        {"a": torch.zeros(3)},
        {"a": torch.zeros(4, 2, dtype=torch.long)},
        {"a": torch.full((4, 2), torch.nan)},
        {"a": torch.zeros(4, 2), "b": torch.zeros(4, 3)},
    ],
)
def test_bad_groups(groups: Any) -> None:
    with refuses("groups"):
        embeddings.fit(groups)


def test_bad_input() -> None:
    points, _ = clusters(per_class=5)
    with refuses("groups", "at least 3"):
        embeddings.fit({"a": points[:2]})
    with refuses("perplexity", "6.33", "30"):
        embeddings.fit({"a": points}, Config(kind="t_sne"))
    embeddings._check_enough(Config(kind="t_sne", perplexity=6.0), 19)
    with refuses("neighbours", "20"):
        embeddings.fit({"a": points}, Config(kind="umap", neighbours=20))
    fitted = embeddings.fit({"a": points})
    wrong: Any
    for wrong in (points[:, :3], torch.full((2, 12), torch.inf), None, points[0]):
        with refuses("features"):
            fitted.transform(wrong)
    for wrong in (torch.zeros(2, 2), torch.arange(10.0)[:, None].expand(10, 2)):
        with refuses("positions"):
            embeddings.density(wrong)


def test_nothing_is_warned_about() -> None:
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        embeddings.fit({"a": clusters()[0]}, SMALL["t_sne"])
    assert not [
        str(warning.message) for warning in caught_warnings if "ddlab" in str(warning.filename)
    ]
