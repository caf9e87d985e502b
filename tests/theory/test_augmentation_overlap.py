"""ReLA's appendix O: the overlap against its integral, views against torchvision, near neighbours against loops."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from torch import Tensor
from torchvision.transforms import RandomResizedCrop
from torchvision.transforms.functional import resized_crop

from ddlab import data, theory
from ddlab.core import randomness
from ddlab.theory.augmentation_overlap import _parts
from tests.support import refuses

spreads = st.floats(0.1, 3)
gaps = st.floats(0, 5)


def smaller_density(gap: float, first: float, second: float) -> float:
    """The integral of min(p1, p2) on a fine grid, by Simpson's rule."""
    reach = 12 * max(first, second) + gap
    x = torch.linspace(-reach, reach, 400_001, dtype=torch.float64).numpy()
    return float(
        integrate.simpson(
            [min(a, b) for a, b in zip(stats.norm.pdf(x, 0, first), stats.norm.pdf(x, gap, second), strict=True)], x=x
        )
    )


@pytest.mark.parametrize(
    ("gap", "first", "second"), [(1, 0.5, 0.5), (1, 0.5, 0.8), (0, 1, 2), (3, 0.2, 1.5), (1, 1.0, 1.001)]
)
def test_the_overlap_is_the_integral_of_the_smaller_density(gap: float, first: float, second: float) -> None:
    exact = smaller_density(gap, first, second)
    assert theory.gaussian_overlap(gap=gap, spread=first, other_spread=second) == pytest.approx(exact, abs=1e-7)
    added = {"strength": 2.0, "noise_rate": 0.3}
    wider = smaller_density(gap, math.hypot(first, math.sqrt(0.6)), math.hypot(second, math.sqrt(0.6)))
    assert theory.gaussian_overlap(gap=gap, spread=first, other_spread=second, **added) == pytest.approx(
        wider, abs=1e-7
    )


@given(gap=gaps, first=spreads, second=spreads, scale=st.floats(0.01, 100), strength=st.floats(0, 10))
def test_theorem_6_and_what_does_not_change_the_overlap(
    gap: float, first: float, second: float, scale: float, strength: float
) -> None:
    """It grows with the strength of the augmentation, for spreads that differ too."""
    found = theory.gaussian_overlap(gap=gap, spread=first, other_spread=second)
    assert 0 <= found <= 1
    assert theory.gaussian_overlap(gap=gap, spread=second, other_spread=first) == pytest.approx(found, abs=1e-12)
    assert theory.gaussian_overlap(gap=scale * gap, spread=scale * first, other_spread=scale * second) == pytest.approx(
        found, abs=1e-9
    )
    assert theory.gaussian_overlap(gap=gap, spread=first, other_spread=second, strength=strength) >= found - 1e-9
    nearly = theory.gaussian_overlap(gap=gap, spread=first, other_spread=first * (1 + 1e-9))
    assert nearly == pytest.approx(theory.gaussian_overlap(gap=gap, spread=first), abs=1e-8)


@pytest.mark.parametrize(("strength", "exact", "printed"), [(0, 0.317, 0.843), (1, 0.480, 0.683), (8, 0.739, 0.363)])
def test_the_specified_numbers(strength: float, exact: float, printed: float) -> None:
    given_: dict[str, Any] = {"gap": 1, "spread": 0.5, "noise_rate": 0.25, "strength": strength}
    assert round(theory.gaussian_overlap(**given_), 3) == exact
    assert round(theory.printed_gaussian_overlap(**given_), 3) == printed
    by_hand = 2 * stats.norm.cdf(1 / math.sqrt(2 * (0.25 + 0.25 * strength))) - 1
    assert theory.printed_gaussian_overlap(**given_) == pytest.approx(by_hand, abs=1e-12)


def test_the_smallest_overlaps_are_not_lost() -> None:
    assert theory.gaussian_overlap(gap=20, spread=1) == pytest.approx(2 * stats.norm.sf(10), rel=1e-9)
    assert 0 < theory.gaussian_overlap(gap=20, spread=1, other_spread=1.1) < 1e-19


def test_views_are_torchvisions_crops() -> None:
    images = torch.rand(2, 3, 12, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = theory.crop_views(images, minimum_scale=0.1, views=20, seed=3)
    assert found.shape == (2, 20, 3, 12, 10)
    again = theory.crop_views(images, minimum_scale=0.1, views=20, seed=3)
    assert torch.equal(found, again) and not torch.equal(
        found, theory.crop_views(images, minimum_scale=0.1, views=20, seed=4)
    )
    parts = _parts(40, 12, 10, 0.1, randomness.generator(3, 0, "crop views"))
    for number, (top, left, rows, columns) in enumerate(parts):
        image = images[number // 20]
        by_torchvision = resized_crop(image, top, left, rows, columns, [12, 10], antialias=True)
        torch.testing.assert_close(found[number // 20, number % 20], by_torchvision)
    narrow = images[..., :3]  # of which no part of the drawn shapes is all
    whole = theory.crop_views(narrow, minimum_scale=1, views=3)
    assert all(torch.equal(whole[:, view], narrow) for view in range(3))


@pytest.mark.parametrize("least", [0.02, 0.5])
def test_parts_are_drawn_as_torchvision_does(least: float) -> None:
    """The mean and spread of areas, sides and places, within four standard errors of the difference."""
    count, height, width = 3000, 32, 40
    own = torch.tensor(_parts(count, height, width, least, torch.Generator().manual_seed(1))).double()
    torch.manual_seed(2)
    blank = torch.zeros(1, height, width)
    other = torch.tensor(
        [RandomResizedCrop.get_params(blank, (least, 1.0), (3 / 4, 4 / 3)) for _ in range(count)], dtype=torch.float64
    )
    for measure in (lambda p: p[:, 2] * p[:, 3], lambda p: p[:, 3] / p[:, 2], lambda p: p[:, 0], lambda p: p[:, 1]):
        values = [measure(one) for one in (own, other)]
        error = math.sqrt(sum(float(one.var()) for one in values) / count)
        assert abs(float(values[0].mean() - values[1].mean())) < 4 * error
        assert float(values[0].std()) == pytest.approx(float(values[1].std()), rel=0.1)
    assert bool((own[:, 0] + own[:, 2] <= height).all()) and bool((own[:, 1] + own[:, 3] <= width).all())
    assert float(own[:, 0].min()) == 0 and float((own[:, 1] + own[:, 3]).max()) == width


def test_what_never_fits_is_taken_from_the_middle() -> None:
    """All of a narrow image: no part of 3/4 to 4/3 has that area."""
    assert set(_parts(5, 9, 60, 0.99, torch.Generator().manual_seed(0))) == {(0, 24, 9, 12)}
    assert set(_parts(5, 60, 9, 0.99, torch.Generator().manual_seed(0))) == {(24, 0, 12, 9)}


def drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def plainly(first: Tensor, second: Tensor, neighbours: int, sources: list[tuple[int, int]]) -> float:
    """Votes by loops; a class of n points has votes of 1 / n."""
    points, n = [*first.tolist(), *second.tolist()], len(first)
    wrong = [0.0, 0.0]
    for i, point in enumerate(points):
        others = sorted((math.dist(point, q), j) for j, q in enumerate(points) if sources[j] != sources[i])[:neighbours]
        vote = sum(1 / len(second) if j >= n else -1 / n for _, j in others)
        side = i >= n
        wrong[side] += 0.5 if abs(vote) < 1e-12 else float((vote > 0) != side)
    return min(wrong[0] / n + wrong[1] / len(second), 1.0)


@given(seed=st.integers(0, 999), n=st.integers(2, 12), m=st.integers(2, 12), neighbours=st.integers(1, 9))
def test_class_overlap_is_the_counted_one(seed: int, n: int, m: int, neighbours: int) -> None:
    first, second = drawn(seed, n, 2), drawn(seed + 1000, m, 2) + 0.7
    own = [(0, i) for i in range(n)] + [(1, i) for i in range(m)]
    found = theory.class_overlap(first, second, neighbours=neighbours)
    assert found == pytest.approx(plainly(first, second, neighbours, own), abs=1e-9)
    names = [torch.arange(n) % 2, 5 - 3 * (torch.arange(m) % 2)]
    shared = [(0, i % 2) for i in range(n)] + [(1, i % 2) for i in range(m)]
    found = theory.class_overlap(first, second, neighbours=neighbours, first_sources=names[0], second_sources=names[1])
    assert found == pytest.approx(plainly(first, second, neighbours, shared), abs=1e-9)


@given(seed=st.integers(0, 99), angle=st.floats(0, 6), scale=st.floats(0.01, 100))
def test_what_does_not_change_the_class_overlap(seed: int, angle: float, scale: float) -> None:
    first, second = drawn(seed, 15, 2), drawn(seed + 500, 15, 2) + 1
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]], dtype=torch.float64)
    found = theory.class_overlap(first, second, neighbours=5)
    assert theory.class_overlap(first @ turn * scale + 3, second @ turn * scale + 3, neighbours=5) == pytest.approx(
        found
    )
    assert theory.class_overlap(second.flip(0), first, neighbours=5) == pytest.approx(found)


def test_class_overlap_comes_near_the_exact_one() -> None:
    """400 points a class: its mean over eight draws, which the docstring tells."""
    draw = torch.Generator().manual_seed(3_333_333_333)
    found: dict[int, list[float]] = {1: [], 15: []}
    for _ in range(8):
        one, other = 0.5 * torch.randn(2, 400, 1, generator=draw, dtype=torch.float64)
        for k, values in found.items():
            values.append(theory.class_overlap(one, other + 1, neighbours=k))
    exact = theory.gaussian_overlap(gap=1, spread=0.5)
    assert sum(found[15]) / 8 == pytest.approx(exact, abs=0.05) and sum(found[1]) / 8 == pytest.approx(0.45, abs=0.04)


def test_augmentation_of_images_spreads_and_overlaps_the_classes() -> None:
    """Threes and eights: Theorem 6 holds of them, and the spread falls with the least area, not O.5's other way round."""
    digits = data.load("digits")
    pictures = [digits.normalised((digits.train_labels == label).nonzero().flatten()[:40]) for label in (3, 8)]
    sources = torch.arange(40).repeat_interleave(3)
    overlaps, within = [], []
    for least in (0.02, 0.2, 0.5, 1.0):
        views = [theory.crop_views(some, minimum_scale=least, views=3, seed=seed) for seed, some in enumerate(pictures)]
        points = [some.flatten(0, 1).flatten(1) for some in views]
        overlaps.append(theory.class_overlap(*points, first_sources=sources, second_sources=sources))
        parts = theory.variance_between_and_within(torch.cat(points), torch.arange(2).repeat_interleave(120))
        within.append(parts.within)
    assert overlaps == sorted(overlaps, reverse=True) and overlaps[0] > overlaps[-1] + 0.15
    assert within == sorted(within, reverse=True) and within[0] > 2 * within[-1]


def test_what_is_refused() -> None:
    images = torch.zeros(2, 1, 4, 4)
    with refuses("images", "float32 or float64"):
        theory.crop_views(images.half(), minimum_scale=0.5, views=2)
    with refuses("first", "two sources"):
        theory.class_overlap(torch.zeros(1, 2), torch.zeros(3, 2))
