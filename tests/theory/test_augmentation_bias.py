"""What random views do to the outer gradient, against loops over every draw that fit with repeated rows and an explicit inverse."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ddlab import networks
from ddlab.data import predefined_views
from ddlab.methods import kernel_ridge
from ddlab.theory import (
    RandomViewGradients,
    ViewProblem,
    augmentation_bias,
    counted_ridge,
    drawn_view_counts,
    fitted_losses,
    frozen_features,
    objective_gradient,
    random_view_gradients,
    view_counts,
)
from tests.support import made_data, refuses

KINDS = [kind for kind in predefined_views.KINDS if kind != "none"]


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rectified(width: int = 5, pixels: int = 16, seed: int = 7) -> Any:
    """A fixed linear map of all pixels and a soft rectifier."""
    matrix = numbers(pixels, width, seed=seed) / pixels**0.5
    return lambda images: torch.nn.functional.softplus(3 * images.flatten(1) @ matrix)


def problem(
    m: int = 2, kind: Any = "rotation", strength: float = 0.01, shared: bool = False, **changes: Any
) -> ViewProblem:
    views = len(predefined_views.NAMES.get(kind, (1,)))
    given: dict[str, Any] = {
        "images": numbers(m, 1, 4, 4), "targets": numbers(m, 3, seed=1) if shared else numbers(views, m, 3, seed=1),
        "real": numbers(20, 1, 4, 4, seed=2), "wanted": numbers(20, 3, seed=3), "features": rectified(), "kind": kind,
        "strength": strength,
    }  # fmt: skip
    return ViewProblem(**given | changes)


def repeated_loss(
    features: Tensor, targets: Tensor, real: Tensor, wanted: Tensor, strength: float, ridge: float | None = None
) -> Tensor:
    """Rows as they stand, [r, d] and [r, o]: the normal equations with an explicit inverse."""
    rows = torch.cat([features, torch.ones(len(features), 1, dtype=features.dtype)], 1)
    ridge = strength * float(rows.detach().square().sum()) if ridge is None else ridge
    if len(rows) < rows.shape[1]:  # better conditioned; the same by the push-through identity
        weights = rows.T @ torch.linalg.inv(rows @ rows.T + ridge * torch.eye(len(rows), dtype=rows.dtype)) @ targets
    else:
        inverse = torch.linalg.inv(rows.T @ rows + ridge * torch.eye(rows.shape[1], dtype=rows.dtype))
        weights = inverse @ rows.T @ targets
    predicted = torch.cat([real, torch.ones(len(real), 1, dtype=real.dtype)], 1) @ weights
    return ((wanted - predicted) ** 2).sum() / wanted.numel()


def drawn_gradient(p: ViewProblem, views: Sequence[tuple[int, ...]]) -> tuple[float, Tensor]:
    """Loss and gradient of a fit on view views[i][j] of image i, for every j: row after row."""
    images = p.images.clone().requires_grad_()
    seen = predefined_views.augmented(images, p.kind)
    places = [(view, i) for i, some in enumerate(views) for view in some]
    rows = p.features(torch.stack([seen[view, i] for view, i in places]))
    targets = torch.stack([p.targets[i] if p.targets.ndim == 2 else p.targets[view, i] for view, i in places])
    loss = repeated_loss(rows, targets, p.features(p.real), p.wanted, p.strength)
    return loss.item(), torch.autograd.grad(loss, images)[0]


class TestTheFit:
    @given(strength=st.floats(1e-6, 10), seed=st.integers(0, 99), rows=st.integers(1, 6))
    @settings(max_examples=25)
    def test_counts_are_repeated_rows(self, strength: float, seed: int, rows: int) -> None:
        counts = torch.randint(0, 4, (3, rows), generator=torch.Generator().manual_seed(seed)).double()
        counts[:, 0] += 1
        features, targets = numbers(3, rows, 4, seed=seed), numbers(rows, 2, seed=seed + 1)
        real, wanted = numbers(7, 4, seed=seed + 2), numbers(7, 2, seed=seed + 3)
        found = fitted_losses(features, targets, counts, real, wanted, strength=strength)
        for fit in range(3):
            repeats = counts[fit].long()
            expected = repeated_loss(
                features[fit].repeat_interleave(repeats, 0),
                targets.repeat_interleave(repeats, 0),
                real,
                wanted,
                strength,
            )
            assert float(found[fit]) == pytest.approx(float(expected), rel=1e-6)
        shared = fitted_losses(features[:1], targets, counts, real, wanted, strength=strength)
        assert float(shared[0]) == pytest.approx(float(found[0]), rel=1e-9)

    def test_a_multiple_of_the_counts_is_the_same_fit(self) -> None:
        given = numbers(1, 6, 4), numbers(6, 2, seed=1)
        rest = numbers(9, 4, seed=2), numbers(9, 2, seed=3)
        counts = torch.tensor([[1.0, 2, 0, 5, 1, 1]], dtype=torch.float64)
        one, many = (fitted_losses(*given, c, *rest, strength=0.1) for c in (counts, 7.5 * counts))
        torch.testing.assert_close(one, many, rtol=1e-12, atol=0)

    def test_the_gradient_takes_the_ridge_as_a_constant(self) -> None:
        features, targets = numbers(1, 5, 3), numbers(5, 2, seed=1)
        real, wanted, counts = numbers(9, 3, seed=2), numbers(9, 2, seed=3), torch.ones(1, 5, dtype=torch.float64)
        leaf = features.clone().requires_grad_()
        found = torch.autograd.grad(fitted_losses(leaf, targets, counts, real, wanted, strength=0.3).sum(), leaf)[0]
        ridge = 0.3 * float(features.square().sum() + 5)
        for place in itertools.product(range(5), range(3)):
            step = torch.zeros(5, 3, dtype=torch.float64)
            step[place] = 1e-5
            ends = [repeated_loss(features[0] + sign * step, targets, real, wanted, 0.3, ridge) for sign in (1, -1)]
            assert float(found[0][place]) == pytest.approx(float(ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-9)

    def test_equals_the_methods_own_kernel_ridge_regression(self) -> None:
        features, targets, real, wanted = (
            numbers(5, 3),
            numbers(5, 2, seed=1),
            numbers(9, 3, seed=2),
            numbers(9, 2, seed=3),
        )
        ones = torch.ones(1, 5, dtype=torch.float64)
        for strength in (1e-6, 0.1):
            found = fitted_losses(features[None], targets, ones, real, wanted, strength=strength)[0]
            expected = kernel_ridge.outer_loss(real, wanted, features, targets, strength=strength)
            torch.testing.assert_close(found, expected, rtol=1e-8, atol=0)

    def test_bad_input(self) -> None:
        good: dict[str, Any] = {"features": numbers(1, 5, 3), "targets": numbers(5, 2), "counts": torch.ones(2, 5).double(),
                                "real": numbers(9, 3), "wanted": numbers(9, 2), "strength": 0.1}  # fmt: skip
        fitted_losses(**good)
        wrong: list[tuple[str, Any]] = [
            ("counts", torch.tensor([[1.0, 1.0, -0.5, 1.0, 1.0]] * 2).double()), ("counts", 0 * good["counts"]),
            ("features", numbers(3, 5, 3)),
            ("real", 1e7 * numbers(9, 3)),
        ]  # fmt: skip
        for name, value in wrong:
            with refuses(name):
                fitted_losses(**good | {name: value})
        doubled = torch.cat([good["features"][:, :1]] * 5, 1)
        with refuses("strength", "large enough"):
            fitted_losses(**good | {"features": doubled, "strength": 1e-20})


class TestCounts:
    @pytest.mark.parametrize(("m", "views", "k"), [(1, 1, 3), (1, 4, 2), (2, 4, 1), (3, 2, 3), (2, 3, 2)])
    def test_every_assignment_with_its_odds(self, m: int, views: int, k: int) -> None:
        counts, odds = view_counts(m, views, k)
        tally: dict[tuple[int, ...], int] = {}
        for drawn in itertools.product(range(views), repeat=m * k):
            key = np.zeros((views, m), int)
            for place, view in enumerate(drawn):
                key[view, place % m] += 1
            tally[tuple(key.flatten())] = tally.get(tuple(key.flatten()), 0) + 1
        found = {tuple(row.flatten().long().tolist()): float(p) for row, p in zip(counts, odds, strict=True)}
        assert found == pytest.approx({key: times / views ** (m * k) for key, times in tally.items()}, rel=1e-12)
        assert len(counts) == len(tally) == math.comb(k + views - 1, k) ** m

    def test_draws_follow_the_odds(self) -> None:
        counts, odds = view_counts(2, 3, 2)
        drawn = drawn_view_counts(2, 3, 2, samples=20_000, seed=1)
        share = (drawn[:, None] == counts[None]).flatten(2).all(2).double().mean(0)
        deviation = (odds * (1 - odds) / 20_000).sqrt()
        assert float(share.sum()) == pytest.approx(1) and bool(((share - odds).abs() < 4.5 * deviation).all())
        assert torch.equal(drawn, drawn_view_counts(2, 3, 2, samples=20_000, seed=1))
        assert not torch.equal(drawn, drawn_view_counts(2, 3, 2, samples=20_000, seed=2))

    def test_every_draw_falls_on_a_view(self) -> None:
        drawn = drawn_view_counts(2, 3, 4, samples=5, seed=1)
        assert drawn.shape == (5, 3, 2) and bool((drawn.sum(1) == 4).all())

    def test_too_many(self) -> None:
        assert len(view_counts(2, 4, 9)[0]) == 220**2 <= counted_ridge.MOST_ASSIGNMENTS
        with refuses("draws", "few enough for 100000 assignments of 2 images to 4 views", "given 11"):
            view_counts(2, 4, 11)
        with refuses("samples"):
            drawn_view_counts(100, 4, 1000, samples=1000, seed=0)


class TestDeterministic:
    @pytest.mark.parametrize("kind", predefined_views.KINDS)
    @pytest.mark.parametrize("shared", [False, True])
    def test_all_views_and_none(self, kind: Any, shared: bool) -> None:
        p = problem(3, kind, shared=shared)
        for views, seen in (("predefined", range(p.views)), ("none", range(1))):
            found: Any = objective_gradient(p, views=views)  # type: ignore[arg-type]
            loss, gradient = drawn_gradient(p, [tuple(seen)] * 3)
            assert found.loss == pytest.approx(loss, rel=1e-9)
            torch.testing.assert_close(found.gradient, gradient, rtol=1e-7, atol=1e-10)

    def test_against_finite_differences(self) -> None:
        p = problem(2, "crop", strength=1e-9)  # so small a ridge that its own change does not count
        found = objective_gradient(p)
        for place in [(0, 0, 0, 0), (0, 0, 2, 3), (1, 0, 1, 1), (1, 0, 3, 0)]:
            step = torch.zeros_like(p.images)
            step[place] = 1e-5
            ends = [objective_gradient(dataclasses.replace(p, images=p.images + sign * step)).loss for sign in (1, -1)]
            assert float(found.gradient[place]) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-8)


class TestRandomViews:
    @pytest.mark.parametrize(
        ("m", "kind", "k", "shared"),
        [(2, "rotation", 1, False), (3, "jigsaw", 1, False), (2, "crop", 1, True), (2, "rotation", 2, False), (1, "jigsaw", 3, True)],
    )  # fmt: skip
    def test_equals_a_loop_over_every_draw(self, m: int, kind: Any, k: int, shared: bool) -> None:
        p = problem(m, kind, shared=shared)
        found = random_view_gradients(p, draws=k)
        of_one = list(itertools.product(range(p.views), repeat=k))
        drawn = [drawn_gradient(p, assignment) for assignment in itertools.product(of_one, repeat=m)]
        gradients = torch.stack([gradient for _, gradient in drawn])
        goal = drawn_gradient(p, [tuple(range(p.views))] * m)[1]
        mean, length = gradients.mean(0), float(goal.norm())
        torch.testing.assert_close(found.mean_gradient, mean, rtol=1e-7, atol=1e-10)
        assert found.mean_loss == pytest.approx(sum(loss for loss, _ in drawn) / len(drawn), rel=1e-9)
        assert found.bias == pytest.approx(float((mean - goal).norm()) / length, rel=1e-7)
        spread = float((gradients - mean).square().sum((1, 2, 3, 4)).mean()) ** 0.5 / length
        assert found.spread == pytest.approx(spread, rel=1e-7) and found.spread > 0.01
        assert found.cosine == pytest.approx(float((mean * goal).sum() / mean.norm()) / length, rel=1e-9)
        assert found.exact and found.standard_error == 0 and found.draws == k
        shares = sorted((float((g * goal).sum()) / length**2, float(g.norm()) / length) for g in gradients)
        odds = (found.probabilities * len(drawn)).round().long()
        seen = sorted(zip(found.along.repeat_interleave(odds).tolist(),
                          torch.hypot(found.along, found.across).repeat_interleave(odds).tolist(), strict=True))  # fmt: skip
        np.testing.assert_allclose(seen, shares, rtol=1e-6, atol=1e-9)

    def test_unbiased_for_its_own_objective(self) -> None:
        """E g is the gradient of the mean loss, each ridge held; g_all is not."""
        p = problem(2)
        found = random_view_gradients(p)
        real, seen = p.features(p.real), list(itertools.product(range(4), repeat=2))

        def rows(images: Tensor, views: tuple[int, ...]) -> Tensor:
            return p.features(predefined_views.augmented(images, p.kind)[list(views), [0, 1]])

        def mean_loss(images: Tensor) -> float:
            ridges = {views: p.strength * float(rows(p.images, views).square().sum() + 2) for views in seen}
            losses = [
                repeated_loss(rows(images, views), p.targets[list(views), [0, 1]], real, p.wanted, 0, ridges[views])
                for views in seen
            ]
            return float(sum(losses)) / len(losses)

        assert mean_loss(p.images) == pytest.approx(found.mean_loss, rel=1e-9)
        for place in [(0, 0, 1, 2), (1, 0, 3, 3)]:
            step = torch.zeros_like(p.images)
            step[place] = 1e-5
            slope = (mean_loss(p.images + step) - mean_loss(p.images - step)) / 2e-5
            assert float(found.mean_gradient[place]) == pytest.approx(slope, rel=1e-5)
            assert float(found.all_views.gradient[place]) != pytest.approx(slope, rel=0.05)

    def test_error_is_bias_and_spread(self) -> None:
        found = random_view_gradients(problem(2), draws=2)
        away = (found.along - 1) ** 2 + found.across**2
        assert found.error == pytest.approx(float(found.probabilities @ away) ** 0.5, rel=1e-9)
        assert float(found.probabilities @ found.along) == pytest.approx(
            float((found.mean_gradient * found.all_views.gradient).sum() / found.all_views.gradient.norm() ** 2),
            rel=1e-9,
        )
        assert found.mean_loss == pytest.approx(float(found.probabilities @ found.losses), rel=1e-12)

    @pytest.mark.parametrize("kind", KINDS)
    def test_nothing_to_draw_no_bias(self, kind: Any) -> None:
        """Views that all look the same to the student, with one target; and no views at all.

        Crops of a flat image look the same, but a gradient reaches only the pixels that the drawn crop has: spread without bias.
        """
        flat = (
            torch.full((2, 1, 4, 4), 0.5, dtype=torch.float64) * torch.tensor([1.0, 2.0]).double()[:, None, None, None]
        )
        sees: dict[str, Any] = {"features": lambda x: torch.stack([x.mean((1, 2, 3)), x.square().mean((1, 2, 3))], 1)}
        same = random_view_gradients(problem(2, kind, shared=True, images=flat, **sees))
        none = random_view_gradients(problem(2, "none"))
        for found in (same, none):
            assert found.bias < 1e-9 and (found.spread < 1e-7 or (kind == "crop" and found is same))
            assert found.cosine == pytest.approx(1, abs=1e-9)

    def test_samples_come_to_the_exact_figures(self) -> None:
        p = problem(2)
        exact, sampled = random_view_gradients(p, draws=2), random_view_gradients(p, draws=2, samples=4000, seed=3)
        length = float(exact.all_views.gradient.norm())
        assert float((sampled.mean_gradient - exact.mean_gradient).norm()) / length < 4 * sampled.standard_error
        assert sampled.standard_error == pytest.approx(exact.spread / 4000**0.5, rel=0.1)
        assert sampled.bias == pytest.approx(exact.bias, abs=4 * sampled.standard_error) and not sampled.exact
        again = random_view_gradients(p, draws=2, samples=4000, seed=3)
        assert again.bias == sampled.bias != random_view_gradients(p, draws=2, samples=4000, seed=4).bias

    def test_all_of_it_in_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        p = problem(2)
        whole = random_view_gradients(p, draws=2)
        monkeypatch.setattr(augmentation_bias, "_NUMBERS_AT_ONCE", 1)
        parts = random_view_gradients(p, draws=2)
        assert parts.bias == pytest.approx(whole.bias, rel=1e-9) and parts.spread == pytest.approx(
            whole.spread, rel=1e-9
        )
        torch.testing.assert_close(parts.losses, whole.losses, rtol=1e-9, atol=0)


class TestHowTheBiasFalls:
    def runs(self, p: ViewProblem, draws: Sequence[int]) -> list[RandomViewGradients]:
        return [random_view_gradients(p, draws=k) for k in draws]

    def test_like_one_over_k_where_the_ridge_matters(self) -> None:
        """Second order of the gradient in the shares p of the views: k (E g - g_all) -> 1/2 mean_a D^2 g along e_a - p.

        First order: k spread(k)^2 -> mean_a |D g|^2. Both by differences in the shares, which are the counts of a fit.
        """
        p = problem(1, strength=0.1)
        goal = objective_gradient(p).gradient

        def at(shares: Tensor) -> Tensor:
            images = p.images.clone().requires_grad_()
            return torch.autograd.grad(p.losses(p.view_features(images)[None], shares.reshape(1, 4, 1)).sum(), images)[
                0
            ]

        even, step = torch.full((4,), 0.25, dtype=torch.float64), 1e-3
        ahead, behind = ([at(even + s * (row - even)) for row in torch.eye(4).double()] for s in (step, -step))
        bends = (torch.stack(ahead) + torch.stack(behind) - 2 * goal).sum(0) / step**2 / 4 / 2
        slopes = sum(float((a - b).square().sum()) for a, b in zip(ahead, behind, strict=True)) / (2 * step) ** 2 / 4
        far, near = self.runs(p, (32, 64))
        of_far, of_near = (run.draws * (run.mean_gradient - goal) for run in (far, near))
        limit = 2 * of_near - of_far  # without the part that goes like 1 / k^2
        assert float((limit - bends).norm() / bends.norm()) < 0.03
        assert float((of_near - bends).norm()) < 0.6 * float((of_far - bends).norm())
        spreads = [run.draws * (run.spread * float(goal.norm())) ** 2 for run in (far, near)]
        assert 2 * spreads[1] - spreads[0] == pytest.approx(slopes, rel=0.1)
        assert near.bias == pytest.approx(far.bias / 2, rel=0.1) and near.cosine > far.cosine

    def test_like_the_odds_of_a_view_unseen_where_every_target_is_met(self) -> None:
        """More features than rows and a ridge near 0: only which views were seen matters, so that E g is a sum over such sets."""
        p = problem(1, strength=1e-13, features=rectified(width=12))
        goal = objective_gradient(p).gradient
        sets = [some for size in range(1, 5) for some in itertools.combinations(range(4), size)]
        of_set = {some: drawn_gradient(p, [some])[1] for some in sets}
        for k, found in zip((1, 2, 4, 8, 16), self.runs(p, (1, 2, 4, 8, 16)), strict=True):
            odds = {some: sum((-1) ** (len(some) - j) * math.comb(len(some), j) * (j / 4) ** k for j in range(1, len(some) + 1))
                    for some in sets}  # fmt: skip
            assert sum(odds.values()) == pytest.approx(1)
            bias = torch.stack([odds[some] * (of_set[some] - goal) for some in sets]).sum(0)
            assert found.bias == pytest.approx(float(bias.norm() / goal.norm()), rel=2e-3), k
            missing = 1 - odds[0, 1, 2, 3]
            farthest = max(float((g - goal).norm() / goal.norm()) for g in of_set.values())
            assert found.bias <= missing * farthest and missing <= 4 * (3 / 4) ** k
        assert found.bias * 16 < 0.2 * self.runs(p, (4,))[0].bias * 4  # not like 1 / k


class TestNetworks:
    def test_frozen_features_are_the_networks(self) -> None:
        data = made_data(size=8)
        network = networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=0)
        images = data.normalised(split="train")[:5]
        found = frozen_features(network)(images.double())
        assert found.dtype == torch.float64 and found.shape == (5, 16)
        torch.testing.assert_close(found.float(), networks.predict(network, images).features, rtol=1e-4, atol=1e-5)

    def test_the_setting_of_the_lesson(self) -> None:
        """A small ConvNet; the loop and the batched derivatives agree there too."""
        data = made_data(size=8, train=20)
        network = networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=0)
        pictures = data.normalised(split="train").double()
        p = ViewProblem(
            images=pictures[[0, 25]], targets=numbers(4, 2, 3), real=pictures[5:20], wanted=numbers(15, 3, seed=1),
            features=frozen_features(network), strength=1e-6,
        )  # fmt: skip
        found = random_view_gradients(p)
        mean = torch.stack([drawn_gradient(p, [(a,), (b,)])[1] for a in range(4) for b in range(4)]).mean(0)
        torch.testing.assert_close(found.mean_gradient, mean, rtol=1e-5, atol=1e-5 * float(mean.abs().max()))


class TestBadInput:
    @pytest.mark.parametrize(
        ("changes", "word"),
        [
            ({"images": numbers(0, 1, 4, 4)}, "images"),
            ({"targets": numbers(3, 2, 3)}, "targets"),
            ({"targets": numbers(4, 2, 2)}, "wanted"),
            ({"images": 1e7 * numbers(2, 1, 4, 4)}, "images"),
        ],
    )
    def test_problems(self, changes: dict[str, Any], word: str) -> None:
        with refuses(word):
            problem(**changes)

    def test_functions_of_features(self) -> None:
        for features, words in (
            (lambda x: x.flatten(1).float(), ["what features gives"]),
            (lambda x: x, ["what features gives"]),
            (lambda x: x.flatten(1) - x.flatten(1).mean(0), ["features", "each image for itself"]),
            (lambda x: torch.ones(len(x), 2, dtype=torch.float64), ["features", "differentiable"]),
            (lambda x: 0 * x.flatten(1), ["problem", "not 0"]),
            (lambda x: (0 * x.flatten(1)).sqrt(), ["the gradient", "finite"]),
        ):
            with refuses(*words):
                random_view_gradients(problem(features=features))
        with refuses("problem", "fewer or smaller"):
            random_view_gradients(problem(features=lambda x: x.flatten(1).repeat(1, 20_000)))
