"""Information of tables and samples: against plain Python, sklearn's estimator, and what must not change it."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import mutual_info_classif
from torch import Tensor

from ddlab import theory
from tests.support import refuses

tables = st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4), min_size=3, max_size=3).filter(
    lambda rows: any(map(any, rows))
)


def entropy(values: list[Any]) -> float:
    """Of what is in a list, by counting."""
    return -sum(count / len(values) * math.log(count / len(values)) for count in Counter(values).values())


def counted(pairs: list[tuple[Any, Any]]) -> Tensor:
    names = [sorted({pair[side] for pair in pairs}) for side in (0, 1)]
    table = torch.zeros(len(names[0]), len(names[1]))
    for first, second in pairs:
        table[names[0].index(first), names[1].index(second)] += 1
    return table


@given(rows=tables)
def test_tables_are_counted_lists(rows: list[list[int]]) -> None:
    pairs = [(a, b) for a, row in enumerate(rows) for b, count in enumerate(row) for _ in range(count)]
    firsts, seconds = [first for first, _ in pairs], [second for _, second in pairs]
    found = theory.table_information(torch.tensor(rows, dtype=torch.float64))
    assert found.first_entropy == pytest.approx(entropy(firsts), abs=1e-12)
    assert found.second_entropy == pytest.approx(entropy(seconds), abs=1e-12)
    assert found.mutual == pytest.approx(entropy(firsts) + entropy(seconds) - entropy(pairs), abs=1e-12)
    both = found.first_entropy + found.second_entropy
    assert found.normalised == pytest.approx(2 * found.mutual / both if both else 0)
    assert -1e-15 <= found.normalised <= 1 + 1e-12
    turned = theory.table_information(torch.tensor(rows, dtype=torch.float64).T.flip(0) * 7)
    assert turned.mutual == pytest.approx(found.mutual, abs=1e-12)
    merged = torch.tensor(rows, dtype=torch.float64)  # the data processing inequality: two columns become one
    less = theory.table_information(torch.cat([merged[:, :2], merged[:, 2:].sum(1, keepdim=True)], 1))
    assert less.mutual <= found.mutual + 1e-12


@given(targets=st.lists(st.integers(0, 5), min_size=6, max_size=6))
def test_theorem_3_for_every_labeler_of_six_samples(targets: list[int]) -> None:
    found = theory.table_information(counted(list(enumerate(targets))))
    assert found.second_entropy <= found.first_entropy + 1e-12  # what the proof needs and does not say
    assert found.mutual == pytest.approx(found.second_entropy, abs=1e-12)
    one_to_one = len(set(targets)) == 6
    assert (found.normalised == pytest.approx(1, abs=1e-12)) is one_to_one


def test_theorem_5_fails_for_the_normalised_information() -> None:
    """x = (y, z); the target (y, coin) reduced to y: the same information about x, and a larger share."""
    samples = [(y, z) for y in (0, 1) for z in (0, 1)]
    whole = theory.table_information(counted([(x, (x[0], coin)) for x in samples for coin in (0, 1)]))
    reduced = theory.table_information(counted([(x, x[0]) for x in samples for _ in (0, 1)]))
    assert reduced.mutual == pytest.approx(whole.mutual) == pytest.approx(math.log(2))
    assert (whole.normalised, reduced.normalised) == pytest.approx((1 / 2, 2 / 3))


def drawn(n: int, seed: int | torch.Generator, width: int = 2) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed) if isinstance(seed, int) else seed
    labels = torch.randint(0, 2, (n,), generator=draw)
    return 1 + labels[:, None] + 0.5 * torch.randn(n, width, generator=draw, dtype=torch.float64), labels


def plainly(samples: Tensor, labels: Tensor, neighbours: int) -> float:
    """Ross's equation 2 with loops; psi by its own series for whole numbers."""

    def psi(n: int) -> float:
        return -0.5772156649015329 + sum(1 / k for k in range(1, n))

    places, names = samples.tolist(), labels.tolist()
    kept = [i for i in range(len(names)) if names.count(names[i]) > 1]
    total = 0.0
    for i in kept:
        near = sorted(math.dist(places[i], places[j]) for j in kept if j != i and names[j] == names[i])
        k = min(neighbours, len(near))
        strangers = sum(math.dist(places[i], places[j]) <= near[k - 1] for j in kept if j != i)
        total += psi(len(kept)) + psi(k) - psi(len(near) + 1) - psi(strangers)
    return total / len(kept)


@given(n=st.integers(4, 40), kinds=st.integers(1, 4), neighbours=st.integers(1, 6), seed=st.integers(0, 999))
def test_neighbours_are_counted_as_ross_does(n: int, kinds: int, neighbours: int, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    samples = torch.randn(n, 3, generator=draw, dtype=torch.float64)
    labels = torch.randint(-3, kinds, (n,), generator=draw)
    if labels.unique(return_counts=True)[1].max() < 2:
        labels[:2] = 0
    found = theory.nearest_neighbour_information(samples, labels, neighbours=neighbours)
    assert found == pytest.approx(plainly(samples, labels, neighbours), abs=1e-9)


def test_neighbours_in_one_dimension_are_sklearns() -> None:
    samples, labels = drawn(300, 0, width=1)
    found = theory.nearest_neighbour_information(samples, labels, neighbours=3)
    other = mutual_info_classif(samples.numpy(), labels.numpy(), n_neighbors=3, random_state=0)[0]
    assert found == pytest.approx(other, abs=1e-6)


@given(seed=st.integers(0, 99), angle=st.floats(0, 6), scale=st.floats(0.01, 100))
def test_what_does_not_change_the_estimates(seed: int, angle: float, scale: float) -> None:
    samples, labels = drawn(60, seed)
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]], dtype=torch.float64)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(seed))
    moved, renamed = (scale * samples @ turn + 5)[order], (3 - 10 * labels)[order]
    near = theory.nearest_neighbour_information
    assert near(moved, renamed) == pytest.approx(near(samples, labels), abs=1e-9)
    cells = theory.histogram_information(samples, labels, bins=4)
    assert theory.histogram_information(samples[order] * 4 + 8, renamed, bins=4) == pytest.approx(cells, abs=1e-9)


@pytest.mark.parametrize("bins", [2, 5])
def test_histograms_are_tables_of_cells(bins: int) -> None:
    samples, labels = drawn(200, 3)
    low, high = samples.amin(0).tolist(), samples.amax(0).tolist()
    cells = [
        tuple(min(int((v - a) / (b - a) * bins), bins - 1) for v, a, b in zip(row, low, high, strict=True))
        for row in samples.tolist()
    ]
    names = labels.tolist()
    pairs = list(zip(cells, names, strict=True))
    plain = entropy(cells) + entropy(names) - entropy(pairs)
    assert theory.histogram_information(samples, labels, bins=bins) == pytest.approx(plain, abs=1e-12)
    more = (len(set(pairs)) - len(set(cells)) - len(set(names)) + 1) / 400
    assert theory.histogram_information(samples, labels, bins=bins, corrected=True) == pytest.approx(
        plain - more, abs=1e-12
    )


def test_the_measured_bias() -> None:
    """The table of the module at n = 100, with 150 samples: within four of these standard errors."""
    exact = theory.mixture_information(spread=0.5).mutual
    found: dict[str, list[float]] = {"4": [], "16": [], "16 corrected": [], "k3": []}
    draw = torch.Generator().manual_seed(4_242_424_242)
    for _ in range(150):
        samples, labels = drawn(100, draw)
        found["4"].append(theory.histogram_information(samples, labels, bins=4))
        found["16"].append(theory.histogram_information(samples, labels, bins=16))
        found["16 corrected"].append(theory.histogram_information(samples, labels, bins=16, corrected=True))
        found["k3"].append(theory.nearest_neighbour_information(samples, labels))
    for name, said in (("4", -0.011), ("16", 0.140), ("16 corrected", 0.130), ("k3", 0.014)):
        values = torch.tensor(found[name])
        assert float(values.mean()) - exact == pytest.approx(said, abs=4 * float(values.std()) / math.sqrt(150)), name


def test_labels_that_say_nothing() -> None:
    samples, labels = drawn(2000, 1)
    shuffled = labels[torch.randperm(2000, generator=torch.Generator().manual_seed(0))]
    assert abs(theory.nearest_neighbour_information(samples, shuffled)) < 0.03
    assert theory.histogram_information(samples, torch.zeros_like(labels), bins=9) == 0


def test_what_is_refused() -> None:
    samples, _ = drawn(5, 0)
    with refuses("joint", "negative"):
        theory.table_information(torch.tensor([[1.0, -1.0]]))
    with refuses("joint", "not 0 everywhere"):
        theory.table_information(torch.zeros(2, 2))
    with refuses("labels", "two samples"):
        theory.nearest_neighbour_information(samples, torch.arange(5))
