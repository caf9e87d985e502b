"""Products of bases and coefficients, and D, against loops; gradients by gradcheck."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ddlab.distilled import factorisation
from ddlab.unlabelled import bases
from tests.support import normal_doubles, refuses

SIZES = {
    "count": st.integers(0, 4),
    "k": st.integers(1, 3),
    "seed": st.integers(0, 999),
    "with_mean": st.booleans(),
}


@given(**SIZES)
def test_project_and_reconstruct_equal_the_loops(
    count: int, k: int, seed: int, with_mean: bool
) -> None:
    points = normal_doubles(count, 2, 3, seed=seed)
    vectors = normal_doubles(k, 2, 3, seed=seed + 1)
    mean = normal_doubles(2, 3, seed=seed + 2) if with_mean else None
    shift = [0.0] * 6 if mean is None else mean.flatten().tolist()
    rows = points.flatten(1).tolist()
    directions = vectors.flatten(1).tolist()
    expected = []
    for row in rows:
        numbers = []
        for basis in directions:
            numbers.append(sum((x - m) * b for x, m, b in zip(row, shift, basis, strict=True)))
        expected.append(numbers)
    coefficients = factorisation.project(points, vectors, mean=mean)
    torch.testing.assert_close(
        coefficients, torch.tensor(expected, dtype=torch.float64).reshape(count, k)
    )
    reconstructed = factorisation.reconstruct(coefficients, vectors, mean=mean)
    back = []
    for row in expected:
        numbers = []
        for j, m in enumerate(shift):
            numbers.append(m + sum(c * basis[j] for c, basis in zip(row, directions, strict=True)))
        back.append(numbers)
    torch.testing.assert_close(
        reconstructed, torch.tensor(back, dtype=torch.float64).reshape(count, 2, 3)
    )


def test_gradients() -> None:
    points = normal_doubles(3, 2, 2, 2).requires_grad_()
    vectors = normal_doubles(2, 2, 2, 2, seed=1).requires_grad_()
    mean = normal_doubles(2, 2, 2, seed=2).requires_grad_()
    coefficients = normal_doubles(3, 2, seed=3).requires_grad_()

    def projected(points: Tensor, vectors: Tensor, mean: Tensor) -> Tensor:
        return factorisation.project(points, vectors, mean=mean)

    def decoded(coefficients: Tensor, vectors: Tensor, mean: Tensor) -> Tensor:
        return factorisation.decode(coefficients, vectors, scale=2, mean=mean)

    assert torch.autograd.gradcheck(projected, (points, vectors, mean))
    assert torch.autograd.gradcheck(decoded, (coefficients, vectors, mean))
    assert torch.autograd.gradcheck(
        lambda images: factorisation.downsampled(images, scale=2), (points,)
    )
    assert torch.autograd.gradcheck(
        lambda images: factorisation.upsampled(images, scale=3), (points,)
    )
    assert torch.autograd.gradcheck(
        factorisation.relative_squared_error, (points, normal_doubles(3, 2, 2, 2).requires_grad_())
    )


def test_as_many_bases_as_dimensions_lose_nothing() -> None:
    points = normal_doubles(9, 5) + 3
    principal = bases.principal_bases(points, count=5)
    for mean in (None, principal.mean):
        coefficients = factorisation.project(points, principal.bases, mean=mean)
        reconstructed = factorisation.reconstruct(coefficients, principal.bases, mean=mean)
        assert float(factorisation.relative_squared_error(points, reconstructed)) < 1e-28


def test_fitted_coefficients_of_orthonormal_bases_are_projections() -> None:
    points = normal_doubles(7, 2, 3)
    orthonormal = bases.principal_bases(points, count=4).bases
    torch.testing.assert_close(
        factorisation.fit_factors(points, orthonormal), factorisation.project(points, orthonormal)
    )
    coefficients = factorisation.fit_factors(points.float().requires_grad_(), orthonormal.float())
    assert coefficients.dtype == torch.float32 and not coefficients.requires_grad


@pytest.mark.parametrize("k", [1, 3, 6, 9, 40])
def test_fitted_coefficients_are_numpys_least_squares(k: int) -> None:
    """Bases that are not orthonormal; with more of them than numbers the solution of least length."""
    points = normal_doubles(5, 2, 3, seed=1)
    vectors = normal_doubles(k, 2, 3, seed=2)
    if k > 1:
        vectors[-1] = vectors[0]  # and one of them twice
    columns = vectors.flatten(1).T.numpy()
    expected = np.linalg.lstsq(columns, points.flatten(1).T.numpy(), rcond=None)[0].T
    coefficients = factorisation.fit_factors(points, vectors)
    np.testing.assert_allclose(coefficients.numpy(), expected, atol=1e-10)
    if k > 6:
        reconstructed = factorisation.reconstruct(coefficients, vectors)
        assert float(factorisation.relative_squared_error(points, reconstructed)) < 1e-24
        np.testing.assert_allclose(
            coefficients.numpy(),
            (np.linalg.pinv(columns) @ points.flatten(1).T.numpy()).T,
            atol=1e-10,
        )


def test_what_becomes_of_the_mean() -> None:
    """The four ways of the table, each with the error that follows from its algebra."""
    points = normal_doubles(50, 6) / (1 + torch.arange(6)) + torch.tensor([0, 0, 0, 1.0, 2, 3])
    principal_2 = bases.principal_bases(points, count=2)
    raw = bases.principal_bases(points, count=2, centred=False)

    def error(principal: bases.PrincipalBases, subtracted: bool, added: bool) -> float:
        mean = principal.mean
        coefficients = factorisation.project(
            points, principal.bases, mean=mean if subtracted else None
        )
        reconstructed = factorisation.reconstruct(
            coefficients, principal.bases, mean=mean if added else None
        )
        return float(factorisation.relative_squared_error(points, reconstructed))

    size = float(points.square().sum(1).mean())
    residual = principal_2.total_variance - float(principal_2.variances.sum())
    mean_square = float(principal_2.mean.square().sum())
    mean_inside = float((principal_2.bases @ principal_2.mean).square().sum())
    assert error(principal_2, subtracted=True, added=True) == pytest.approx(residual / size)
    assert error(principal_2, subtracted=False, added=False) == pytest.approx(
        (residual + mean_square - mean_inside) / size
    )
    assert error(principal_2, subtracted=True, added=False) == pytest.approx(
        (residual + mean_square) / size
    )
    assert error(raw, subtracted=False, added=False) == pytest.approx(
        1 - float(raw.variances.sum()) / raw.total_variance
    )
    assert (
        error(principal_2, True, True)
        < error(raw, False, False)
        < error(principal_2, False, False)
        < error(principal_2, True, False)
    )


def looped_means(image: Tensor, scale: int) -> list[list[float]]:
    height, width = image.shape
    means = [[0.0] * (width // scale) for _ in range(height // scale)]
    for row in range(height // scale * scale):
        for column in range(width // scale * scale):
            means[row // scale][column // scale] += float(image[row, column]) / scale**2
    return means


def looped_bilinear(image: Tensor, scale: int) -> list[list[float]]:
    """Each new pixel's centre falls between four old ones; outside of them the nearest counts."""
    height, width = image.shape

    def nearby(place: int, length: int) -> tuple[int, int, float]:
        centre = max((place + 0.5) / scale - 0.5, 0)
        low = min(int(centre), length - 1)
        return low, min(low + 1, length - 1), centre - low

    lines = []
    for row in range(height * scale):
        top, bottom, down = nearby(row, height)
        line = []
        for column in range(width * scale):
            left_column, right, along = nearby(column, width)
            upper = (1 - along) * float(image[top, left_column]) + along * float(image[top, right])
            lower = (1 - along) * float(image[bottom, left_column]) + along * float(
                image[bottom, right]
            )
            line.append((1 - down) * upper + down * lower)
        lines.append(line)
    return lines


@given(
    height=st.integers(1, 3),
    width=st.integers(1, 3),
    scale=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_scaling_equals_the_loops(height: int, width: int, scale: int, seed: int) -> None:
    small = normal_doubles(2, 3, height, width, seed=seed)
    large = normal_doubles(2, 3, height * scale, width * scale, seed=seed)
    down = factorisation.downsampled(large, scale=scale)
    up = factorisation.upsampled(small, scale=scale)
    assert down.shape == small.shape and up.shape == large.shape
    for n in range(2):
        for c in range(3):
            expected = [looped_means(large[n, c], scale), looped_bilinear(small[n, c], scale)]
            torch.testing.assert_close(down[n, c], torch.tensor(expected[0], dtype=torch.float64))
            torch.testing.assert_close(up[n, c], torch.tensor(expected[1], dtype=torch.float64))


def test_scaling_by_two_is_bilinear_both_ways() -> None:
    images = normal_doubles(2, 3, 8, 6)
    bilinear = F.interpolate(images, scale_factor=0.5, mode="bilinear", align_corners=False)
    torch.testing.assert_close(factorisation.downsampled(images, scale=2), bilinear)


def test_scaling_by_one_changes_nothing_and_constants_stay() -> None:
    images = normal_doubles(2, 3, 4, 6)
    for scaled in (factorisation.downsampled, factorisation.upsampled):
        torch.testing.assert_close(scaled(images, scale=1), images, rtol=0, atol=0)
        torch.testing.assert_close(
            scaled(torch.full((1, 1, 4, 4), 0.3), scale=2).unique(), torch.tensor([0.3])
        )


def test_decoded_images_are_combinations_of_upsampled_bases() -> None:
    """D is linear: D(C B) = C D(B)."""
    coefficients = normal_doubles(4, 3)
    vectors = normal_doubles(3, 2, 4, 5, seed=1)
    mean = normal_doubles(2, 4, 5, seed=2)
    decoded = factorisation.decode(coefficients, vectors, scale=2)
    assert decoded.shape == (4, 2, 8, 10)
    torch.testing.assert_close(
        decoded, factorisation.reconstruct(coefficients, factorisation.upsampled(vectors, scale=2))
    )
    moved = factorisation.decode(coefficients, vectors, scale=2, mean=mean)
    torch.testing.assert_close(
        moved - decoded, factorisation.upsampled(mean[None], scale=2).expand(4, -1, -1, -1)
    )


def test_relative_squared_error_by_hand() -> None:
    points = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    reconstructed = torch.tensor([[3.0, 3.0], [0.0, 2.0]])
    assert float(factorisation.relative_squared_error(points, reconstructed)) == pytest.approx(
        5 / 25
    )
    assert float(
        factorisation.relative_squared_error(points * 1e30, reconstructed * 1e30)
    ) == pytest.approx(5 / 25)
    assert float(factorisation.relative_squared_error(points, points)) == 0


@pytest.mark.parametrize("scale", [3, 8])
def test_a_scale_that_does_not_divide_is_refused(scale: Any) -> None:
    with refuses("scale"):
        factorisation.downsampled(torch.zeros(1, 1, 4, 4), scale=scale)
    with refuses("scale", "divisor of the height, 4, and of the width, 6", "4"):
        factorisation.downsampled(torch.zeros(1, 1, 4, 6), scale=4)
    with refuses("scale", "divisor", "4"):
        factorisation.downsampled(torch.zeros(1, 1, 6, 4), scale=4)
