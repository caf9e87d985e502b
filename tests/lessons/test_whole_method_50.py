"""What stands on the page of lesson 50 is the library's KIP, after 20 updates in float64; and its kernel the library's."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from ddlab.core.randomness import generator
from ddlab.data import ImageData
from ddlab.methods import kip
from ddlab.methods.kernels import KernelSpec, kernel_matrix
from ddlab.runs.process import Inputs
from tests.lessons import whole_method
from tests.support import made_data

LESSON, SEED, UPDATES, BATCH = "50_kernels", 3, 20, 25


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> ImageData:
    """Small data whose pixels are in float64 on the page and in the library; 1 / classes is exact in float32, too."""
    normalised = ImageData.normalised
    monkeypatch.setattr(ImageData, "normalised", lambda *given, **more: normalised(*given, **more).double())
    return made_data(classes=4)


def on_the_page(*changes: tuple[str, str]) -> dict[str, Any]:
    (source,) = whole_method.sources(LESSON)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    space: dict[str, Any] = {"torch": torch, "F": F, "math": math, "generator": generator}
    exec(source, space)
    return space


def learned(data: ImageData, *changes: tuple[str, str], batch: int = BATCH) -> Tensor:
    return on_the_page(*changes)["learn"](data, SEED, iterations=UPDATES, batch=batch, ridge=1e-3)


def in_the_library(data: ImageData, batch: int = BATCH) -> Tensor:
    config = kip.Config.teaching(iterations=UPDATES, batch_size=batch, ridge=1e-3, seed=SEED)
    inputs = Inputs(data=data, device="cpu")
    state = kip.init(config, inputs)
    for _ in range(UPDATES):
        state, _ = kip.update(config, inputs, state)
    return state.images


@pytest.mark.parametrize("batch", [BATCH, 1000])
def test_kip_is_the_librarys_for_20_updates(data: ImageData, batch: int) -> None:
    """Of a batch that holds all images the order differs, and with it the last bits."""
    found = learned(data, batch=batch)
    assert found.dtype == torch.float64 and found.shape == (4, 1, 8, 8)
    torch.testing.assert_close(found, in_the_library(data, batch), rtol=0, atol=1e-9)


def test_the_kernel_is_the_librarys_with_its_gradient() -> None:
    draw = generator(SEED)
    x, z = (torch.randn((count, 1, 3, 3), generator=draw, dtype=torch.float64) for count in (4, 5))
    z[0] = x[1]  # equal images, where the angle has no slope
    kernel = on_the_page()["kernel"]
    weights = torch.randn((4, 5), generator=draw, dtype=torch.float64)
    slopes = []
    for compute in (lambda a: kernel(a.flatten(1), z.flatten(1)), lambda a: kernel_matrix(KernelSpec(), a, z)):
        leaf = x.clone().requires_grad_()
        value = compute(leaf)
        slopes.append((value.detach(), *torch.autograd.grad((weights * value).sum(), leaf)))
    for page, library in zip(*slopes, strict=True):
        torch.testing.assert_close(page, library, rtol=0, atol=1e-9)


def test_the_method_fits_on_the_page() -> None:
    (whole,) = whole_method.sources(LESSON)
    assert whole_method.lines(whole) <= 30


@pytest.mark.parametrize(
    "change",
    [
        ("lr=0.04", "lr=0.03"),
        ("ridge * K", "0 * K"),
        ("K.diagonal().mean()", "K.diagonal().sum()"),
        (".mean() / 2", ".sum() / 2"),
        ("(seed, step,", "(seed, 0,"),
        ("[:batch]", "[:]"),
        ("bias=0.1", "bias=0.5"),
        ("2 * products", "1 * products"),
        ("dense(hidden) + 2", "dense(hidden) + 0"),
        (" - 1 / data.classes", ""),
        ("places[0]", "places[1]"),
    ],
)
def test_without_any_of_its_parts_it_is_not_kip(data: ImageData, change: tuple[str, str]) -> None:
    gap = float((learned(data, change) - in_the_library(data)).abs().max())
    assert gap > (1e-10 if ".sum() / 2" in change[1] else 1e-4)  # of a larger loss Adam notices its constant alone
