"""Batch PCA against scikit-learn's, which has the whole matrix and takes its singular values."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from ddlab.core.errors import DDLabError
from ddlab.theory import batch_pca


def _points(count: int, width: int, seed: int = 0) -> torch.Tensor:
    """Correlated, far from the origin, of clearly different variances."""
    draw = torch.Generator().manual_seed(seed)
    free = torch.randn(count, width, generator=draw, dtype=torch.float64) * 2.0 ** -torch.arange(width)
    return free @ torch.linalg.qr(torch.randn(width, width, generator=draw, dtype=torch.float64))[0] + 100


@pytest.mark.parametrize("size", [1, 2, 7, 64, 200, 1000])
def test_batches_of_any_size_give_the_components_of_all_at_once(size: int) -> None:
    points = _points(200, 6)
    found = batch_pca(points.split(size), components=4)
    known = PCA(4, svd_solver="full").fit(points.numpy())
    signs = np.sign(np.sum(known.components_ * found.directions.T.numpy(), 1))
    assert found.mean.numpy() == pytest.approx(known.mean_, abs=1e-10) and found.points == 200
    assert found.variances.numpy() == pytest.approx(known.explained_variance_, abs=1e-10)
    assert found.directions.T.numpy() == pytest.approx(known.components_ * signs[:, None], abs=1e-10)
    assert found.reduced(points).numpy() == pytest.approx(known.transform(points.numpy()) * signs, abs=1e-10)


def test_the_lengths_of_batches_may_differ_and_they_may_come_from_a_generator() -> None:
    points = _points(50, 3, seed=1)
    whole = batch_pca([points], components=3)
    parts = batch_pca((points[a:b] for a, b in ((0, 1), (1, 30), (30, 31), (31, 50))), components=3)
    assert torch.allclose(whole.directions, parts.directions, atol=1e-10, rtol=0)
    assert torch.allclose(whole.variances, torch.linalg.eigvalsh(points.T.cov()).flip(0), atol=1e-10, rtol=0)
    assert bool((whole.directions.abs().amax(0) == whole.directions.amax(0)).all()), "the largest entry is positive"


def test_float32_is_summed_in_float64() -> None:
    points = (_points(5000, 3) + 1e4).float()
    known = PCA(3, svd_solver="full").fit(points.double().numpy())
    assert batch_pca(points.split(16), components=3).variances.numpy() == pytest.approx(
        known.explained_variance_, rel=1e-9
    )


@pytest.mark.parametrize(
    ("batches", "components", "message"),
    [
        ([], 1, "batches must be of at least two points together; given 0"),
        ([torch.zeros(1, 2)], 1, "at least two points"),
        ([torch.zeros(2, 2), torch.zeros(2, 3)], 1, r"batches must be a float tensor of shape \[n, 2\]"),
        ([torch.zeros(2, 2)], 3, "components must be an integer"),
        (3, 1, "batches must be an iterable"),
    ],
)
def test_wrong_batches_are_refused(batches, components: int, message: str) -> None:
    with pytest.raises(DDLabError, match=message):
        batch_pca(batches, components=components)
