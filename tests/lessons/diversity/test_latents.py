"""The conflict of the two gaps, driven in Python: what moves, what the bars and the sentence say, and that they are the theory's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import theory
from ddlab.figures.latents import LATENTS
from ddlab.lessons.diversity.latents import (
    EXTENT,
    NORM,
    TARGET_MEAN,
    TARGET_VARIANCE,
    Conflict,
    LatentConflict,
    pulls,
    start_points,
)
from tests.support import refuses


@pytest.fixture
def explorer() -> Iterator[LatentConflict]:
    made = LatentConflict()
    yield made
    made.close()


def trace(explorer: LatentConflict, name: str) -> Any:
    return next(one for one in explorer.plot.figure.data if one.name == name)


def places(explorer: LatentConflict) -> Tensor:
    drawn = trace(explorer, LATENTS)
    return torch.tensor([drawn.x, drawn.y], dtype=torch.float64).T


def arrows(explorer: LatentConflict, name: str) -> Tensor:
    """[n, 2], from where each arrow of a kind begins to where it ends."""
    drawn = trace(explorer, name)
    ends = [torch.tensor([axis[1::3], axis[0::3]], dtype=torch.float64) for axis in (list(drawn.x), list(drawn.y))]
    return torch.stack([end[0] - end[1] for end in ends], 1)


def drag(explorer: LatentConflict, point: int, x: float, y: float) -> None:
    count = explorer.plot.dragged.get("count", 0) + 1
    explorer.plot.dragged = {"count": count, "point": point, "x": x, "y": y, "done": True}


def by_hand(points: Tensor) -> tuple[Tensor, float, float]:
    """Products per point, L_mean and L_var of A.1, by autograd."""
    free = points.clone().requires_grad_()
    one = (free.mean(0) - TARGET_MEAN).square().sum()
    other = (free.var(0, correction=0) - TARGET_VARIANCE).square().sum()
    slopes = [torch.autograd.grad(loss, free, retain_graph=True)[0] for loss in (one, other)]
    return (slopes[0] * slopes[1]).sum(1), float(one.detach()), float(other.detach())


def test_it_shows_what_autograd_says(explorer: LatentConflict) -> None:
    points = start_points(Conflict())
    torch.testing.assert_close(places(explorer), points, atol=1e-4, rtol=0)
    products, one, other = by_hand(points)
    apart = (products < 0).tolist()
    assert list(trace(explorer, LATENTS).marker.symbol) == ["diamond" if one else "circle" for one in apart]
    assert 0 < sum(apart) < 6
    assert explorer.sentence == (
        f"{sum(apart)} of 6 points are pulled apart, the batch's inner product is 0.000. "
        f"Before any update the mean gap is {one:.3f} and the variance gap {other:.3f}."
    )
    heights = torch.tensor(explorer.bars.figure.data[0].y)
    torch.testing.assert_close(heights[:-1], 0.25 * products, atol=1e-6, rtol=0)
    assert float(heights[-1]) == 0
    assert "6 latents" in explorer.plot.alt and "sum 0" in explorer.bars.alt


def test_arrows_go_downhill_and_grow_with_the_weights(explorer: LatentConflict) -> None:
    points = start_points(Conflict())
    names = ("mean gap", "variance gap")
    before = [arrows(explorer, name) for name in names]
    for arrow, gradient in zip(
        before,
        (theory.mean_gap_gradient(points, TARGET_MEAN), theory.variance_gap_gradient(points, TARGET_VARIANCE)),
        strict=True,
    ):
        cosine = torch.nn.functional.cosine_similarity(arrow, -gradient)
        assert (cosine > 0.99).all()
    assert max(float(arrow.norm(dim=1).max()) for arrow in before) == pytest.approx(1.0, abs=1e-3), "2 at weight 1"
    explorer.panel["lambda_var"].value = 1.0
    torch.testing.assert_close(arrows(explorer, names[0]), before[0])
    torch.testing.assert_close(arrows(explorer, names[1]), 2 * before[1], atol=1e-3, rtol=0)
    explorer.panel["lambda_mean"].value = 0.0
    assert arrows(explorer, names[0]).eq(0).all()
    assert explorer.sentence.startswith("With lambda_mean at 0 no point is pulled apart")
    assert set(trace(explorer, LATENTS).marker.symbol) == {"circle"}
    assert list(explorer.bars.figure.data[0].y) == [0] * 7


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 0.3), (0.3, 1.0)])
def test_updates_close_both_gaps_whatever_the_weights(explorer: LatentConflict, weights: tuple[float, float]) -> None:
    explorer.panel["lambda_mean"].value, explorer.panel["lambda_var"].value = weights
    begun, before = explorer.shown, tuple(explorer.bars.figure.layout.yaxis.range)
    explorer.panel["updates"].value = 1
    gradient = weights[0] * theory.mean_gap_gradient(begun.points, TARGET_MEAN)
    gradient += weights[1] * theory.variance_gap_gradient(begun.points, TARGET_VARIANCE)
    torch.testing.assert_close(explorer.shown.points, begun.points - 0.04 * 6 * gradient)
    explorer.panel["updates"].value = 100
    assert explorer.shown.mean_gap < 0.01 * begun.mean_gap and explorer.shown.variance_gap < 0.01 * begun.variance_gap
    assert "After 100 updates" in explorer.sentence
    assert tuple(explorer.bars.figure.layout.yaxis.range) == before, "bars are seen to shrink"
    torch.testing.assert_close(places(explorer), explorer.shown.points, atol=1e-4, rtol=0)
    explorer.panel["updates"].value = 0
    torch.testing.assert_close(explorer.shown.points, begun.points)


def test_a_point_dragged_stays_where_it_is_put(explorer: LatentConflict) -> None:
    before = explorer.shown.points
    drag(explorer, 2, 1.234, -2.0)
    after = explorer.shown.points
    assert after[2].tolist() == pytest.approx([1.23, -2.0])
    torch.testing.assert_close(after[:2], before[:2], atol=0.0051, rtol=0)
    assert explorer.panel.value.hand.split(".")[4:6] == ["123", "-200"]
    products, one, _ = by_hand(after)
    assert f"the mean gap is {one:.3f}" in explorer.sentence and "inner product is 0.000" in explorer.sentence
    torch.testing.assert_close(torch.tensor(explorer.bars.figure.data[0].y)[:-1], 0.25 * products, atol=1e-6, rtol=0)
    assert explorer.sliders.point.value == 2


def test_a_drag_after_updates_begins_anew_from_there(explorer: LatentConflict) -> None:
    explorer.panel["updates"].value = 30
    moved = explorer.shown.points
    drag(explorer, 0, -1.0, 1.0)
    assert explorer.panel.value.updates == 0 and explorer.panel["updates"].value == 0
    torch.testing.assert_close(explorer.shown.points[1:], moved[1:], atol=0.0051, rtol=0)
    assert "Before any update" in explorer.sentence


def test_sliders_do_what_the_mouse_does(explorer: LatentConflict) -> None:
    sliders = explorer.sliders
    sliders.selected_index = 0
    sliders.point.value = 3
    (low, high), _ = EXTENT
    at = explorer.shown.points[3].tolist()
    assert sliders.across.value == pytest.approx((at[0] - low) / (high - low), abs=0.011)
    sliders.across.value, sliders.up.value = 0.2, 0.6
    assert explorer.shown.points[3].tolist() == pytest.approx([-2.1, 0.7])


def test_other_batches(explorer: LatentConflict) -> None:
    first = explorer.shown.points
    drag(explorer, 0, 0.0, 0.0)
    explorer.reset_button.click()
    torch.testing.assert_close(explorer.shown.points, first)
    drag(explorer, 0, 0.0, 0.0)
    explorer.panel["latents"].value = 9
    assert explorer.panel.value.hand == "" == explorer.share_field.value.replace("latents=9", "")
    assert len(places(explorer)) == 9 and list(explorer.bars.figure.data[0].x)[-2:] == ["9", "sum"]
    assert len(explorer.sliders.point.options) == 9 and "of 9 points" in explorer.sentence
    explorer.other_button.click()
    assert explorer.panel.value.seed == 1 and len(explorer.shown.points) == 9
    assert not torch.equal(explorer.shown.points, start_points(Conflict(latents=9)))
    explorer.reset_button.click()
    assert explorer.panel.value.seed == 1, "reset keeps the seed"
    assert explorer.error is None


def test_norms_keep_the_length_of_the_mean_arrows(explorer: LatentConflict) -> None:
    squared = explorer.shown
    explorer.panel["gaps"].value = NORM
    assert explorer.shown.mean_gap == pytest.approx(squared.mean_gap**0.5)
    assert torch.equal(explorer.shown.opposed, squared.opposed), "the same points are opposed"
    begun = arrows(explorer, "mean gap")
    explorer.panel["updates"].value = 5
    torch.testing.assert_close(arrows(explorer, "mean gap"), begun, atol=3e-4, rtol=0)


def test_a_state_is_shared_and_restored(explorer: LatentConflict) -> None:
    drag(explorer, 1, 2.0, 2.0)
    explorer.panel["gaps"].value = NORM
    explorer.panel["updates"].value = 12
    text, sentence = explorer.share_field.value, explorer.sentence
    other = LatentConflict(text, key="other")
    assert other.sentence == sentence and torch.equal(other.shown.points, explorer.shown.points)
    other.reset_button.click()
    assert other.sentence != sentence
    other.share_field.value = text
    assert other.sentence == sentence
    with refuses("hand", "two numbers for each of 6 points"):
        other.share_field.value = 'hand="1.2"'
    assert other.sentence == sentence and other.panel.value.hand, "what cannot be shown changes nothing"
    assert other.error is not None
    with refuses("hand", "from -350 to 350"):
        LatentConflict('latents=3,hand="1.2.3.4.5.351"')
    other.close()


def test_whatever_is_asked_for_is_finite() -> None:
    corners = ".".join(["350", "-350"] * 3 + ["-350", "350"] * 3)
    for hand in ("", corners, ".".join(["350"] * 12), ".".join(["0"] * 12), ".".join(["350", "0"] * 6)):
        for gaps in ("squared (A.1)", NORM):
            view = Conflict(hand=hand, gaps=gaps, lambda_mean=1.0, lambda_var=1.0, updates=100)
            shown = pulls(view)
            assert torch.isfinite(shown.points).all() and torch.isfinite(shown.mean_arrows).all()
            assert shown.points.abs().max() < 10
