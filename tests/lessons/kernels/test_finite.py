"""The kernel of a finite network, against autograd and against its limit; and the laboratory of widths."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import ddlab
from ddlab.core import randomness
from ddlab.distilled import DistilledSet
from ddlab.lessons.kernels.finite import WidthLab, World, entries, finite_kernel
from ddlab.methods import kip
from ddlab.methods.kernels import KernelSpec, kernel_matrix
from tests.support import made_data, refuses

SPEC = KernelSpec(bias_std=0.7)


def ten(data: Any) -> DistilledSet:
    return ddlab.distill(kip, data, config=kip.Config.teaching(iterations=3, batch_size=20), progress=False)


def rows(count: int) -> Tensor:
    return torch.randn((count, 6), generator=randomness.generator(count), dtype=torch.float64)


def test_it_is_the_inner_product_of_the_gradients_of_all_weights() -> None:
    width, first, second = 9, rows(3), rows(4)
    draw = randomness.generator(5, width, "finite network")
    shapes = ((width, 6), (width,), (width,))
    weights, biases, outer = (torch.randn(shape, generator=draw, dtype=torch.float64) for shape in shapes)
    last = torch.zeros((), dtype=torch.float64)

    def network(parts: tuple[Tensor, ...], x: Tensor) -> Tensor:
        w, b, v, c = parts
        hidden = (math.sqrt(2) / math.sqrt(6) * w @ x + 0.7 * b).relu()
        return math.sqrt(2 / width) * v @ hidden + 0.7 * c

    def slope(x: Tensor) -> Tensor:
        leaves = tuple(part.clone().requires_grad_() for part in (weights, biases, outer, last))
        return torch.cat([part.flatten() for part in torch.autograd.grad(network(leaves, x), leaves)])

    wanted = torch.stack([slope(x) for x in first]) @ torch.stack([slope(x) for x in second]).T
    torch.testing.assert_close(finite_kernel(first, second, width=width, seed=5, spec=SPEC), wanted)


def test_its_error_falls_as_one_over_the_square_root_of_the_width() -> None:
    points = rows(5)
    exact = kernel_matrix(SPEC, points[:, None, None], points[:, None, None])

    def error(width: int) -> float:
        found = [finite_kernel(points, points, width=width, seed=seed, spec=SPEC) - exact for seed in range(40)]
        return float(torch.stack(found).square().mean().sqrt())

    assert error(16) / error(1024) == pytest.approx(8, rel=0.25)


def test_the_laboratory_says_what_was_measured() -> None:
    data = made_data()
    learned = ten(data)
    lab: Any = WidthLab(data, learned)
    images = learned.images.double()
    exact = kernel_matrix(KernelSpec(), images, images)
    for width, networks in ((4, 1), (256, 3)):
        lab.panel.value = lab.panel.value.replace(width=width, networks=networks, draw=2)
        seeds = range(2, 2 + networks)
        flat = images.flatten(1)
        own = torch.stack([finite_kernel(flat, flat, width=width, seed=seed) for seed in seeds]).mean(0)
        assert f"the kernel is {float((own - exact).norm() / exact.norm()):.0%} off" in lab.sentence
        assert list(lab.widget(entries).figure.data[-1].y) == pytest.approx(own.flatten().tolist())
        assert lab._shown[1].widget.cursor == math.log2(width)
    lab.close()


def test_bad_input() -> None:
    data = made_data()
    with refuses("data"):
        World(None, ten(data))  # type: ignore[arg-type]
    with refuses("learned"):
        World(data, "ten")  # type: ignore[arg-type]
    with refuses("distilled"):
        World(made_data(size=6), ten(data))
