"""A point that is computed again lies where one more seed could."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ddlab.core.errors import DDLabError
from ddlab.lessons.shared.recorded import near


def test_one_more_seed_is_near_in_999_of_1000_cases() -> None:
    draws = np.random.default_rng(0).normal(size=(4000, 6))
    missed = sum(not near(float(row[5]), row[:5].tolist()) for row in draws)
    assert missed <= stats.binom.ppf(0.999, 4000, 0.001)
    assert missed < sum(abs(row[5] - row[:5].mean()) > 3 * row[:5].std(ddof=1) for row in draws), (
        "three deviations miss more"
    )


def test_the_interval_is_that_of_a_prediction() -> None:
    known = [0.2, 0.25, 0.22, 0.27, 0.21]
    half = stats.t.ppf(0.9995, 4) * np.std(known, ddof=1) * (1 + 1 / 5) ** 0.5
    mean = float(np.mean(known))
    assert near(mean + 0.999 * half, known) and near(mean - 0.999 * half, known)
    assert not near(mean + 1.001 * half, known) and not near(mean - 1.001 * half, known)


def test_one_seed_knows_nothing() -> None:
    with pytest.raises(DDLabError, match="at least two seeds"):
        near(1.0, [1.0])
