"""Lesson 30: the four cells that hold FADRM whole, beside the library: float64, the same draws, 20 updates and three merges."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import networks
from ddlab.core import optimisers
from ddlab.data import ImageData
from ddlab.methods import fadrm, recovery
from ddlab.networks import Network
from ddlab.runs.process import Inputs
from tests.lessons import whole_method
from tests.methods.test_recovery import in_double
from tests.support import made_data

LESSON, SMALL_SIZE, SIZE, STEPS = "30_data_residuals", 12, 16, 20


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data(size=SIZE, channels=3)


@pytest.fixture(scope="module")
def teacher(data: ImageData) -> Network:
    return in_double(networks.initialise(networks.spec("convnet", width=4, head="mean").for_data(data), seed=0))


def patches_of(data: ImageData) -> Tensor:
    return data.normalised(recovery.real_image_indices(data, 1, seed=3)[0]).double()


@pytest.fixture(scope="module")
def library(data: ImageData, teacher: Network) -> list[Tensor]:
    """The images before each update, and the result."""
    config = fadrm.Config(
        images_per_class=1, iterations=STEPS, merges=3, merge_ratio=0.3, small_size=SMALL_SIZE, seed=3
    )
    inputs = Inputs(data=data, teachers=(teacher,), device="cpu")
    state = fadrm.init(config, inputs)
    images = fadrm.resampled(patches_of(data), (SMALL_SIZE, SMALL_SIZE))
    state = dataclasses.replace(state, images=images, optimiser=optimisers.adam_init({"images": images}))
    found = []
    for _ in range(STEPS):
        found.append(state.images)
        state, _ = fadrm.update(config, inputs, state)
    return [*found, state.done[0]]


def of_the_page(data: ImageData, teacher: Network, **changed: str) -> list[Tensor]:
    """The same by the cells; `changed`: a name -> "old -> new", a part of a cell that reads otherwise."""
    namespace: dict[str, Any] = {"data": data, "teacher": teacher}
    sources = whole_method.sources(LESSON)
    for change in changed.values():
        old, new = change.split(" -> ")
        assert any(old in source for source in sources), old
        sources = [source.replace(old, new) for source in sources]
    for source in sources:
        exec(source, namespace)
    return list(namespace["fadrm"](patches_of(data), 0.3, 3, SMALL_SIZE, full=SIZE, budget=STEPS, seed=3))


def test_the_page_is_the_library(data: ImageData, teacher: Network, library: list[Tensor]) -> None:
    page = of_the_page(data, teacher)
    assert len(page) == len(library) == STEPS + 1 and page[5].shape[-1] == SIZE and page[4].shape[-1] == SMALL_SIZE
    for mine, its in zip(page, library, strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        "9 * gaps[0] -> 0 * gaps[0]",
        "variance_gap.norm() -> 0 * variance_gap.norm()",
        "alpha * images + -> images +",
        "images.data.clamp_(low, high) -> pass",
        "betas=(0.5, 0.9) -> betas=(0.9, 0.9)",
        "seen.flip(3) if -> seen if",
        "full if i % 2 else small -> full",
        "adam = torch -> adam = adam if step else torch",
    ],
)
def test_a_term_that_is_dropped_is_seen(data: ImageData, teacher: Network, library: list[Tensor], change: str) -> None:
    page = of_the_page(data, teacher, one=change)
    assert page[-1].shape == library[-1].shape and (page[-1] - library[-1]).abs().max() > 1e-4


def test_the_cells_are_short_and_call_the_library_for_draws_alone() -> None:
    sources = whole_method.sources(LESSON)
    assert 2 <= len(sources) <= 4 and all(whole_method.lines(source) <= 15 for source in sources)
    imported = [line for source in sources for line in source.splitlines() if "ddlab" in line]
    assert all("generator" in line or "random_rectangle" in line or "real_image_indices" in line for line in imported)
