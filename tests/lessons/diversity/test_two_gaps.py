"""The opening of lesson 21: equations 17 to 20 of DWA, and what the arrows show."""

import numpy as np
import pytest

from ddlab.lessons.diversity import two_gaps
from ddlab.lessons.diversity.two_gaps import Settings
from ddlab.lessons.shared import dragging

BATCHES = ("0 0; 1 0; 0 1; 1 1; .3 .9", "-1 .5; 1.5 .2; .1 -.7; .4 .4; -.2 1.9")


@pytest.mark.parametrize("points", BATCHES)
def test_the_pulls_are_the_gradients_of_both_gaps(points: str) -> None:
    settings = Settings(points=points, lambda_mean=2.0, lambda_var=3.0)
    batch = dragging.numbers(points).numpy()
    count, mean, variance = len(batch), batch.mean(0), batch.var(0)
    of_mean = 2 * (mean - two_gaps.REAL_MEAN) / count
    of_variance = 2 * (variance - two_gaps.REAL_VARIANCE) * 2 / count * (batch - mean)
    first, second = two_gaps.pulls(settings)
    np.testing.assert_allclose(first.numpy(), np.tile(-2 * of_mean, (count, 1)), atol=1e-12)
    np.testing.assert_allclose(second.numpy(), -3 * of_variance, atol=1e-12)
    # Equation 20 without its factor: the products of a batch cancel.
    assert abs(float((first * second).sum())) < 1e-12


def test_a_batch_like_the_data_has_no_gap() -> None:
    deviation = two_gaps.REAL_VARIANCE**0.5 * 1.25**0.5
    corners = [(x * deviation, y * deviation) for x in (-1, 1) for y in (-1, 1)]
    settings = Settings(points="; ".join(f"{x} {y}" for x, y in (*corners, (0, 0))))
    assert two_gaps.quest_met(None, settings, None)  # type: ignore[arg-type]
    assert "oppose each other at 0 of 5 points" in two_gaps.describe_pulls(settings)
    assert not two_gaps.quest_met(None, Settings(), None)  # type: ignore[arg-type]
