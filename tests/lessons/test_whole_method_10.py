"""Lesson 10: the cell that holds the whole experiment, beside the library: float64, the same draws, 20 updates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ddlab import theory
from ddlab.theory import ToyConfig
from tests.lessons import whole_method

LESSON, SIGMAS, SEEDS, STEPS = "10_ideal_data", (0.1, 1.0), 3, 20


def of_the_page(change: str = "") -> tuple[list[Tensor], Tensor, Tensor]:
    """Weights after the updates, points and labels; `change`: "old -> new", a part of the cells that reads otherwise."""
    source = "\n\n\n".join(whole_method.sources(LESSON))
    if change:
        old, new = change.split(" -> ")
        assert old in source, old
        source = source.replace(old, new)
    namespace: dict[str, Any] = {"np": np, "torch": torch, "theory": theory}
    exec(source, namespace)
    points, labels = namespace["draw"](SIGMAS, SEEDS, STEPS)
    toys = namespace["Toys"](len(SIGMAS), SEEDS).double()
    *_, weights = namespace["train"](toys, points.double(), labels.double())
    return weights, points, labels


def of_the_library() -> tuple[theory.ToyNetworks, theory.DistilledSamples]:
    samples = theory.distilled_samples([ToyConfig(deviation=sigma, seeds=SEEDS, steps=STEPS) for sigma in SIGMAS])
    start = theory.initial_toys(SEEDS)
    start = theory.ToyNetworks(**{n: v.double().expand(len(SIGMAS), *v.shape) for n, v in vars(start).items()})
    frames = theory.stochastic_descent(
        start, samples.points.double().movedim(2, 0), samples.targets.double().movedim(2, 0)
    )
    return frames[-1], samples


def test_the_page_is_the_library() -> None:
    (weights, points, labels), (networks, samples) = of_the_page(), of_the_library()
    assert torch.equal(points, samples.points.movedim(2, 0)) and torch.equal(labels, samples.labels.movedim(2, 0))
    for mine, its in zip(weights, vars(networks).values(), strict=True):
        torch.testing.assert_close(mine.view(its.shape), its, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "change",
    ["momentum=0.98 -> momentum=0.9", "+ w3 -> + 0 * w3", "lr=0.002 -> lr=0.001", "torch.sigmoid -> torch.tanh"],
)
def test_a_term_that_is_dropped_is_seen(change: str) -> None:
    (weights, _, _), (networks, _) = of_the_page(change), of_the_library()
    assert (
        max(
            float((mine.view(its.shape) - its).abs().max())
            for mine, its in zip(weights, vars(networks).values(), strict=True)
        )
        > 1e-5
    )


def test_the_cell_is_short() -> None:
    source = "\n\n\n".join(whole_method.sources(LESSON))
    assert whole_method.lines(source) <= 30
    assert all("numpy_generator" in line for line in source.splitlines() if "ddlab" in line)
