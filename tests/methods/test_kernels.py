"""Kernels against the joint covariance of all pixels of two images, quadrature, and the tangents of
wide finite networks.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.integrate import quad
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from ddlab.methods.shared import kernels
from ddlab.methods.shared.kernels import KernelSpec, kernel_matrix
from tests.support import normal_doubles, refuses

NETWORKS = [name for name in kernels.KERNELS if name != "rbf"]


def by_joint_covariance(spec: KernelSpec, image: np.ndarray, other_image: np.ndarray) -> float:
    """NTK or NNGP of two images [c, h, w] from the covariances of every pixel of both with every
    other, [2 p, 2 p].
    """
    if spec.kernel.startswith("fc"):
        image = image.reshape(-1, 1, 1)
        other_image = other_image.reshape(-1, 1, 1)
    channels, height, width = image.shape
    rows = np.concatenate([part.reshape(channels, -1) for part in (image, other_image)], 1).T
    kernel = rows @ rows.T / channels
    tangent = np.zeros((2 * height * width,) * 2)

    def shift_both(map_: np.ndarray, cell: np.ndarray) -> np.ndarray:
        twice = np.kron(np.eye(2), map_)
        return twice @ cell @ twice.T

    for layer in kernels.layers(spec):
        places = []
        for i in range(height):
            for j in range(width):
                places.append((i, j))
        if layer == "filter":
            offsets = []
            for i in (-1, 0, 1):
                for j in (-1, 0, 1):
                    offsets.append((i, j))
            shifts = []
            for i, j in offsets:
                shift = np.zeros((len(places), len(places)))
                for row, p in enumerate(places):
                    for column, q in enumerate(places):
                        shift[row, column] = (p[0] + i, p[1] + j) == q
                shifts.append(shift)
            kernel = np.mean([shift_both(shift, kernel) for shift in shifts], axis=0)
            tangent = np.mean([shift_both(shift, tangent) for shift in shifts], axis=0)
        elif layer == "dense":
            kernel = spec.weight_std**2 * kernel + spec.bias_std**2
            tangent = kernel + spec.weight_std**2 * tangent
        elif layer == "relu":
            lengths = np.sqrt(np.diag(kernel))
            angle = np.arccos(np.clip(kernel / np.outer(lengths, lengths), -1, 1))
            tangent = tangent * (np.pi - angle) / (2 * np.pi)
            kernel = (
                np.outer(lengths, lengths)
                * (np.sin(angle) + (np.pi - angle) * np.cos(angle))
                / (2 * np.pi)
            )
        else:
            count = height * width
            kernel = np.trace(kernel.reshape(2, count, 2, count), axis1=1, axis2=3) / count
            tangent = np.trace(tangent.reshape(2, count, 2, count), axis1=1, axis2=3) / count
            height = width = 1
    return float((tangent if spec.kind == "ntk" else kernel)[0, 1])


@pytest.mark.parametrize("kind", ["ntk", "nngp"])
@pytest.mark.parametrize("name", NETWORKS)
def test_is_the_covariance_of_all_pixels(name: str, kind: str) -> None:
    spec = KernelSpec(kernel=name, kind=kind, weight_std=1.3, bias_std=0.2)
    first = normal_doubles(2, 2, 4, 5)
    second = normal_doubles(3, 2, 4, 5, seed=1)
    expected = []
    for row_image in first:
        expected.append(
            [
                by_joint_covariance(spec, row_image.numpy(), column_image.numpy())
                for column_image in second
            ]
        )
    np.testing.assert_allclose(kernel_matrix(spec, first, second).numpy(), expected, rtol=1e-9)


def test_networks_are_made_of_their_layers() -> None:
    convolution = ("filter", "dense", "relu")
    assert kernels.layers(KernelSpec(kernel="fc2")) == ("dense", "relu", "dense", "relu", "dense")
    assert kernels.layers(KernelSpec(kernel="conv2")) == (*convolution * 2, "mean", "dense")


def test_the_relu_by_quadrature() -> None:
    """In polar coordinates the expectation is an integral over the angles at which both are above
    0.
    """
    for correlation in (-0.9, -0.3, 0.0, 0.6, 0.99):
        angle = math.acos(correlation)
        (first, second) = (1.7, 0.4)
        norm = math.sqrt(first * second)
        low = angle - math.pi / 2
        high = math.pi / 2
        product = (
            norm
            * quad(lambda phi, a=angle: 2 * math.cos(phi) * math.cos(phi - a), low, high)[0]
            / (2 * math.pi)
        )
        covariances = [
            torch.tensor(value, dtype=torch.float64)
            for value in (correlation * norm, first, second)
        ]
        kernel, factor = kernels.relu(*covariances)
        assert float(kernel) == pytest.approx(product, rel=1e-10)
        assert float(factor) == pytest.approx((high - low) / (2 * math.pi), rel=1e-12)


def test_two_inputs_in_closed_form() -> None:
    """Orthogonal and opposite images of equal length, one hidden layer, no biases: K = q / (2 pi)
    and 0, Theta = 2 K + 0 / 4.
    """
    pair = torch.eye(2, dtype=torch.float64).view(2, 1, 1, 2) * math.sqrt(2)
    for kind, expected in (("nngp", 2 / math.pi), ("ntk", 2 / math.pi)):
        kernel = kernel_matrix(
            KernelSpec(kind=kind, bias_std=0.0), pair, torch.cat([pair[1:], -pair[:1]])
        )
        np.testing.assert_allclose(kernel[0].numpy(), [expected, 0.0], atol=1e-12)
        assert float(kernel[1, 0]) == pytest.approx({"nngp": 2.0, "ntk": 4.0}[kind])
    assert float(kernel_matrix(KernelSpec(kernel="rbf"), pair[:1], pair[1:])) == pytest.approx(
        math.exp(-2)
    )


def finite_tangents(spec: KernelSpec, width: int, pair: Tensor, seed: int) -> Tensor:
    """The empirical kernel [2, 2] of one network of that width: of all its weights, or (NNGP) of
    those of its last layer.
    """
    draw = torch.Generator().manual_seed(seed)
    convolution = spec.kernel.startswith("conv")
    depth = int(spec.kernel[-1])
    weights = []
    inside = pair.shape[1] if convolution else pair[0].numel()
    for _ in range(depth):
        weights += [
            torch.randn(
                (width, inside, *((3, 3) if convolution else ())),
                generator=draw,
                dtype=torch.float64,
            )
        ]
        weights += [torch.randn(width, generator=draw, dtype=torch.float64)]
        inside = width
    features = width * pair.shape[2] * pair.shape[3] if convolution else width
    weights += [
        torch.randn((1, features), generator=draw, dtype=torch.float64),
        torch.randn(1, generator=draw, dtype=torch.float64),
    ]

    def network(image: Tensor, *parameters: Tensor) -> Tensor:
        hidden = image[None] if convolution else image.flatten()[None]
        for place in range(0, 2 * depth, 2):
            weight = parameters[place] * spec.weight_std / math.sqrt(parameters[place][0].numel())
            bias = parameters[place + 1]
            bias = bias * spec.bias_std
            hidden = (
                F.conv2d(hidden, weight, bias, padding=1)
                if convolution
                else F.linear(hidden, weight, bias)
            ).relu()
        last = parameters[-2] * spec.weight_std / math.sqrt(features)
        return F.linear(hidden.flatten(1), last, parameters[-1] * spec.bias_std)[0, 0]

    trained = tuple(range(1, len(weights) + 1))[0 if spec.kind == "ntk" else -2 :]
    slopes = [torch.func.grad(network, trained)(image, *weights) for image in pair]
    flat_slopes = [torch.cat([part.flatten() for part in slope]) for slope in slopes]
    rows = torch.stack(flat_slopes)
    return rows @ rows.T


@pytest.mark.parametrize("name", ["fc1", "fc3", "conv1", "conv2"])
@pytest.mark.parametrize("kind", ["ntk", "nngp"])
def test_wide_networks_come_nearer_as_one_over_the_root_of_width(name: str, kind: str) -> None:
    """16 times as wide: a quarter of the root mean square error of one network, a sixteenth of its
    variance.
    """
    spec = KernelSpec(kernel=name, kind=kind, bias_std=0.3)
    pair = normal_doubles(2, 2, 3, 3)
    exact = kernel_matrix(spec, pair, pair)
    narrow = 24
    wide = 384
    draws = {}
    for width in (narrow, wide):
        draws[width] = torch.stack([finite_tangents(spec, width, pair, seed) for seed in range(48)])
    errors = {
        width: float((estimates - exact).square().mean().sqrt() / exact.norm())
        for width, estimates in draws.items()
    }
    assert errors[wide] < 0.1 and 2.8 < errors[narrow] / errors[wide] < 5.7
    spread = {width: float(estimates.var(0).mean()) for width, estimates in draws.items()}
    assert 8 < spread[narrow] / spread[wide] < 32
    # Three standard errors, of three different numbers.
    mean_error = (draws[wide].mean(0) - exact).abs()
    assert bool((mean_error < 4 * draws[wide].std(0) / math.sqrt(48)).all())


@pytest.mark.parametrize("kind", ["ntk", "nngp"])
@pytest.mark.parametrize("name", kernels.KERNELS)
def test_gradients(name: str, kind: str) -> None:
    spec = KernelSpec(kernel=name, kind=kind)
    leaves = (
        normal_doubles(2, 1, 4, 4).requires_grad_(),
        normal_doubles(2, 1, 4, 4, seed=1).requires_grad_(),
    )
    assert torch.autograd.gradcheck(lambda a, b: kernel_matrix(spec, a, b), leaves, fast_mode=True)
    assert torch.autograd.gradcheck(lambda a: kernel_matrix(spec, a, a), leaves[:1], fast_mode=True)


@pytest.mark.parametrize("name", ["rbf", "fc2", "conv2"])
def test_blocks_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = KernelSpec(kernel=name)
    first = normal_doubles(7, 1, 4, 4).requires_grad_()
    second = normal_doubles(5, 1, 4, 4, seed=1)

    def computed(pairs: int) -> tuple[Tensor, ...]:
        monkeypatch.setattr(kernels, "_pairs_at_once", lambda *_: pairs)
        kernel = kernel_matrix(spec, first, second)
        together = kernels.support_and_cross(spec, second, first)
        return kernel, *together, *torch.autograd.grad(kernel.square().sum(), first)

    for some in (1, 6, 20):
        for in_blocks, at_once in zip(computed(some), computed(100), strict=True):
            torch.testing.assert_close(in_blocks, at_once)


def peak_bytes(work: Callable[[], Any]) -> int:
    """The most that tensors made by `work` hold at one time, by torch's profiler."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        work()
    events: Any = profiled.profiler.kineto_results.events()  # type: ignore[union-attr]
    return max(
        itertools.accumulate(event.nbytes() for event in events if event.name() == "[memory]")
    )


@pytest.mark.parametrize("name", kernels.KERNELS)
def test_memory_is_bounded_and_said_beforehand(name: str) -> None:
    """With the gradient, in one block and in several; beside it there are images, their gradients
    and the kernel.
    """
    many, side = (200, 8) if name == "rbf" or name.startswith("fc") else (30, 8)
    first = normal_doubles(many, 1, side, side).requires_grad_()
    second = normal_doubles(many, 1, side, side, seed=1)
    beside = 8 * (6 * many * side**2 + 3 * many**2)

    def forward_and_backward(megabytes: float) -> None:
        kernel = kernel_matrix(KernelSpec(kernel=name), first, second, megabytes=megabytes)
        torch.autograd.grad(kernel.sum(), first)

    whole = kernels.bytes_per_pair(KernelSpec(kernel=name), height=side, width=side) * many**2
    assert 0.2 * whole < peak_bytes(lambda: forward_and_backward(1e4)) <= whole + beside
    part = max(whole / 6, 2**20)
    assert peak_bytes(lambda: forward_and_backward(part / 2**20)) <= part + beside


def test_both_kernels_of_a_regression_at_once() -> None:
    support = normal_doubles(3, 2, 4, 4)
    queries = normal_doubles(5, 2, 4, 4, seed=1)
    for name in kernels.KERNELS:
        within, cross = kernels.support_and_cross(KernelSpec(kernel=name), support, queries)
        torch.testing.assert_close(within, kernel_matrix(KernelSpec(kernel=name), support, support))
        torch.testing.assert_close(cross, kernel_matrix(KernelSpec(kernel=name), queries, support))


@pytest.mark.parametrize("name", kernels.KERNELS)
def test_constant_black_and_equal_images_stay_finite(name: str) -> None:
    grey = torch.ones(1, 1, 4, 4, dtype=torch.float64)
    black = torch.zeros(1, 1, 4, 4, dtype=torch.float64)
    some = torch.cat([grey, grey, 2 * grey, black]).requires_grad_()
    kernel = kernel_matrix(KernelSpec(kernel=name, bias_std=0.0), some, some)
    (slope,) = torch.autograd.grad(kernel.sum(), some)
    assert bool(torch.isfinite(kernel).all()) and bool(torch.isfinite(slope).all())
    torch.testing.assert_close(kernel[0], kernel[1])


def test_what_float32_loses() -> None:
    """As the docstring says: the angle of equal images is known to the root of the rounding."""
    some = normal_doubles(6, 1, 16, 16)
    assert (
        float(kernel_matrix(KernelSpec(kernel="rbf", gamma=1e6), some.float(), some.float()).max())
        <= 1
    )
    for name in kernels.SIX:
        exact, single = (
            kernel_matrix(KernelSpec(kernel=name), images_of, images_of)
            for images_of in (some, some.float())
        )
        assert float((single / exact - 1).abs().max()) < 1e-3


def test_refuses_in_a_sentence() -> None:
    with refuses("megabytes", "one pair", "given 1"):
        kernel_matrix(
            KernelSpec(kernel="conv3"),
            normal_doubles(1, 1, 99, 199),
            normal_doubles(1, 1, 99, 199),
            megabytes=1,
        )
    options: dict[str, Any] = {"kernel": "fc4"}
    with refuses("kernel", "nearest", "'fc1'"):
        KernelSpec(**options)
    assert KernelSpec.from_name("kernel", "conv2") == KernelSpec(kernel="conv2")
