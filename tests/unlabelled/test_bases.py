"""Principal bases against eigenvectors of a covariance that loops make, and against scikit-learn's
PCA.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ddlab.distilled import factorisation
from ddlab.unlabelled import bases
from tests.support import assert_same, draw_globally, refuses

SHAPES = {"rows": st.integers(3, 12), "width": st.integers(1, 6), "seed": st.integers(0, 999)}


@pytest.fixture
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """ "exact", or "randomised", as many points would have it."""
    if request.param == "randomised":
        monkeypatch.setattr(bases, "LARGEST_EXACT", 0)
    return request.param


both_solvers = pytest.mark.parametrize("solver", ["exact", "randomised"], indirect=True)


def cloud(*shape: int, seed: int = 0, shift: float = 0.0) -> Tensor:
    """Points whose variances differ: column j is scaled by 1 / (1 + j)."""
    points = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return points / (1 + torch.arange(shape[-1])) + shift


def low_rank(rows: int, width: int, dimensions: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return (cloud(rows, dimensions) @ cloud(dimensions, width, seed=1)).to(dtype)


def looped_moments(points: Tensor, centred: bool) -> np.ndarray:
    """The matrix of mean products, entry by entry."""
    rows = points.flatten(1).tolist()
    width = len(rows[0])
    mean = [sum(row[j] for row in rows) / len(rows) if centred else 0.0 for j in range(width)]
    entry = []
    for i in range(width):
        covariances = []
        for j in range(width):
            products = [(row[i] - mean[i]) * (row[j] - mean[j]) for row in rows]
            covariances.append(math.fsum(products) / len(rows))
        entry.append(covariances)
    return np.array(entry)


def natural(rows: int = 300, size: int = 8) -> Tensor:
    """Smooth random images [n, 1, size, size], whose spectrum falls as that of photographs does."""
    noise = torch.randn(
        (rows, 1, size, size), generator=torch.Generator().manual_seed(3), dtype=torch.float64
    )
    frequency = torch.fft.fftfreq(size, dtype=torch.float64)
    damping = 1 / (0.05 + (frequency[:, None] ** 2 + frequency**2).sqrt()) ** 2
    return torch.fft.ifft2(torch.fft.fft2(noise) * damping).real


@given(**SHAPES, centred=st.booleans(), shift=st.sampled_from([0.0, 3.0]))
def test_are_the_eigenvectors_of_the_looped_covariance(
    rows: int, width: int, seed: int, centred: bool, shift: float
) -> None:
    points = cloud(rows, width, seed=seed, shift=shift)
    count = min(rows - centred, width)
    principal = bases.principal_bases(points, count=count, centred=centred)
    values, vectors = np.linalg.eigh(looped_moments(points, centred))
    np.testing.assert_allclose(principal.variances, values[::-1][:count], rtol=1e-7, atol=1e-12)
    assert principal.total_variance == pytest.approx(values.sum())
    for row, vector, value in zip(
        principal.bases.numpy(), vectors.T[::-1], values[::-1], strict=False
    ):
        other_values = np.delete(values, np.argmin(abs(values - value)))
        # Else the direction is not well defined.
        if len(other_values) == 0 or abs(other_values - value).min() > 1e-3:
            np.testing.assert_allclose(abs(row @ vector), 1, rtol=1e-8)
    np.testing.assert_allclose(principal.bases @ principal.bases.T, np.eye(count), atol=1e-12)
    torch.testing.assert_close(principal.mean, points.mean(0))
    assert (principal.points, principal.centred) == (rows, centred)


@both_solvers
def test_agree_with_scikit_learn(solver: str) -> None:
    from sklearn.decomposition import PCA

    points = natural()
    reference = PCA(6, svd_solver="full").fit(points.flatten(1).numpy())
    principal = bases.principal_bases(points, count=6)
    assert principal.bases.shape == (6, 1, 8, 8) and principal.mean.shape == (1, 8, 8)
    # scikit-learn divides by n - 1.
    np.testing.assert_allclose(
        principal.variances, reference.explained_variance_ * 299 / 300, rtol=1e-3
    )
    shares = principal.variances / principal.total_variance
    np.testing.assert_allclose(shares, reference.explained_variance_ratio_, rtol=1e-3)
    if solver == "exact":
        signs = np.sign((reference.components_ * principal.bases.flatten(1).numpy()).sum(1))
        np.testing.assert_allclose(
            principal.bases.flatten(1), signs[:, None] * reference.components_, atol=1e-8
        )


@both_solvers
@pytest.mark.parametrize("centred", [True, False])
def test_the_sign_is_that_of_the_largest_entry(solver: str, centred: bool) -> None:
    points = natural()
    principal = bases.principal_bases(points, count=5, centred=centred)
    flat = principal.bases.flatten(1)
    assert (flat.gather(1, flat.abs().argmax(1, keepdim=True)) > 0).all()
    torch.testing.assert_close(
        bases.principal_bases(-points, count=5, centred=centred).bases, principal.bases
    )


def test_of_entries_alike_the_first_is_positive() -> None:
    """A direction (1, -1): rounding must not choose."""
    points = torch.tensor([[1.0, -1.0], [-1.0, 1.0 + 2e-7], [0.5, -0.5]])
    for turned in (points, points.flip(1), -points):
        assert bases.principal_bases(turned, count=1).bases[0, 0] > 0


def test_the_randomised_solver_depends_on_its_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    points = natural()
    monkeypatch.setattr(bases, "LARGEST_EXACT", 300 * 64 * 64 - 1)
    first = bases.principal_bases(points, count=4, seed=1)
    draw_globally()
    assert_same(first, bases.principal_bases(points, count=4, seed=1))
    reseeded = bases.principal_bases(points, count=4, seed=2)
    assert not torch.equal(first.bases, reseeded.bases), (
        "another seed draws other directions to begin with"
    )
    torch.testing.assert_close(first.bases, reseeded.bases, rtol=0, atol=1e-3)


def test_nothing_reconstructs_better() -> None:
    """The error left is the variance left, and random orthonormal bases leave more (Eckart & Young
    1936).
    """
    points = natural(100)
    principal = bases.principal_bases(points, count=7)
    centred = points - principal.mean

    def residual(vectors: Tensor) -> Tensor:
        return factorisation.relative_squared_error(
            centred, factorisation.reconstruct(factorisation.project(centred, vectors), vectors)
        )

    torch.testing.assert_close(
        residual(principal.bases), 1 - (principal.variances / principal.total_variance).sum()
    )
    for seed in range(5):
        turned = torch.linalg.qr(
            principal.bases.flatten(1).T + 0.1 * cloud(64, 7, seed=seed)
        ).Q.T.reshape(7, 1, 8, 8)
        assert residual(turned) > residual(principal.bases)


def test_the_spectrum_is_that_of_the_covariance() -> None:
    points = cloud(9, 5, shift=1.0)
    for centred in (True, False):
        eigenvalues = np.linalg.eigvalsh(looped_moments(points, centred))[::-1]
        np.testing.assert_allclose(bases.spectrum(points, centred=centred), eigenvalues, rtol=1e-9)
    assert bases.spectrum(points[:3]).shape == (3,), "two directions and a 0"
    assert float(bases.spectrum(points[:3])[-1]) < 1e-28


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_the_rank_is_that_without_rounding(dtype: torch.dtype, shift: float) -> None:
    points = (low_rank(60, 20, 7, torch.float64) + shift).to(dtype)
    assert bases.rank(points) == 7
    assert bases.rank(points, centred=False) == (8 if shift else 7)
    assert bases.rank(points[:5]) == 4 and bases.rank(points[:5], centred=False) == 5
    assert bases.rank(points[:1]) == 0 and bases.rank(torch.zeros(3, 2)) == 0
    assert bases.rank(cloud(60, 20).to(dtype)) == 20


@both_solvers
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_more_bases_than_the_rank_are_refused(solver: str, dtype: torch.dtype) -> None:
    points = low_rank(60, 40, 7, dtype)

    def principal(count: int) -> bases.PrincipalBases:
        return bases.principal_bases(points, count=count)

    assert len(principal(7).bases) == 7 and principal(7).bases.dtype == dtype
    assert float(principal(7).variances.sum() / principal(7).total_variance) == pytest.approx(1)
    for count in (8, 40, 41, 10**6):
        with refuses("count", "[1, 7]", "the rank of these 60 points less their mean", str(count)):
            principal(count)


def test_few_points_have_few_bases() -> None:
    points = cloud(4, 9)
    assert len(bases.principal_bases(points, count=4, centred=False).bases) == 4
    with refuses("count", "[1, 4]", "the rank of these 4 points;"):
        bases.principal_bases(points, count=5, centred=False)
    with refuses("count", "[1, 3]", "less their mean"):
        bases.principal_bases(points, count=4)


@both_solvers
def test_points_that_do_not_differ_have_none(solver: str) -> None:
    equal_points = torch.full((5, 3), 0.1)
    with refuses("points", "two points that differ"):
        bases.principal_bases(equal_points, count=1)
    assert len(bases.principal_bases(equal_points, count=1, centred=False).bases) == 1
    with refuses("points", "not all 0"):
        bases.principal_bases(equal_points * 0, count=1, centred=False)
    with refuses("points", "two points that differ"):
        bases.principal_bases(equal_points[:1], count=1)
    with refuses("points", "two points that differ"):  # their squares are 0 in float64
        bases.principal_bases(cloud(5, 3) * 1e-200, count=1)


def test_float32_points_give_float32_bases_and_no_gradient() -> None:
    points = natural()
    single = points.float().requires_grad_()
    principal = bases.principal_bases(single, count=5)
    exact = bases.principal_bases(points, count=5)
    assert (
        principal.bases.dtype == principal.mean.dtype == torch.float32
        and principal.variances.dtype == torch.float64
    )
    assert not principal.bases.requires_grad and not principal.mean.requires_grad
    torch.testing.assert_close(principal.bases, exact.bases.float(), rtol=0, atol=1e-5)
