"""Lesson 30: its effects against the records' rows, its runs and its times."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from ddlab import networks, records, theory
from ddlab.data.images import normalise
from ddlab.evaluation import entropy
from ddlab.lessons.data_residuals import claims as residuals_claims
from ddlab.lessons.data_residuals import experiments as residuals
from ddlab.lessons.data_residuals.world import merge_steps
from tests.lessons.data_residuals.recorded_rows import rows
from tests.support import assert_claims_are_measured

pytestmark = pytest.mark.slow  # the register: it goes

TIMED = ("F4 measured", "F5 time")
QUICK = ("F1 rises", "F1 vanishes", "F1 restored", "F1 end", "F13 pixels", "F13 features", "F13 places")


def test_effects_are_paired_rows_of_the_records() -> None:
    effects = {name: found.values for name, found in residuals_claims.recorded_effects().items()}

    def lead(
        one: dict[int, Any], other: dict[int, Any], column: str = "online", minus: str | None = None
    ) -> list[float]:
        return [one[seed][column] - other[seed][minus or column] for seed in range(5)]

    both = {ratio: rows(merge_ratio=ratio, small_size=48) for ratio in (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)}
    counts = {merges: rows(merges=merges) for merges in range(1, 7)}
    others = [fmean(both[ratio][seed]["online"] for ratio in (0.9, 0.8, 0.7, 0.6, 0.4)) for seed in range(5)]
    more = [fmean(counts[merges][seed]["online"] for merges in (1, 2, 4, 5, 6)) for seed in range(5)]
    tasks: dict[Any, dict[str, Any]] = {(r["method"], r["seed"]): r for r in records.load("residual_continual").rows}
    wanted = {
        "F2 residual": lead(both[0.5], both[1.0]),
        "F2 full size": lead(rows(), rows(merge_ratio=1.0)),
        "F2 best": [both[0.5][seed]["online"] - others[seed] for seed in range(5)],
        "F2 weak": lead(both[1.0], both[0.9]),
        "F3 best": [counts[3][seed]["online"] - more[seed] for seed in range(5)],
        "F3 more": lead(counts[3], counts[6]),
        "F3 fewer": lead(counts[3], counts[1]),
        "F4 accuracy": lead(both[0.5], rows()),
        "F4 too small": lead(both[0.5], rows(small_size=32)),
        "F5 accuracy": lead(rows(precision="bfloat16"), rows()),
        "F6": lead(rows(patches="crop"), rows(patches="mosaic")),
        "F10": lead(rows(), rows("RDED", factor=1)),
        "F12": [
            min(tasks["FADRM", seed][f"online_{n}"] - tasks["RDED", seed][f"online_{n}"] for n in (2, 4, 6, 8, 10))
            for seed in range(5)
        ],
        "F13 sets": [
            min(pair)
            for pair in zip(
                lead(rows(), rows("RDED", factor=1), "pixel_entropy"),
                lead(rows("RDED", factor=1), rows("SRe2L"), "pixel_entropy"), strict=True,
            )
        ],
        "F14 stopping": lead(rows(), rows("stopped early")),
        "F14 pulling back": lead(rows(), rows("pulled back")),
        "X1 residual labels": lead(rows(), rows(), "online", "hard"),
        "X1 residual images": lead(rows(), rows("random real images")),
    }  # fmt: skip
    assert effects.keys() == wanted.keys()
    for name, values in wanted.items():
        assert effects[name] == pytest.approx(values), name


def test_every_claim_of_the_lesson_has_its_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("vanishing_effects", "entropy_effects", "cost_effects", "precision_effects"):
        monkeypatch.setattr(residuals_claims, name, _invented(name))
    assert_claims_are_measured(residuals_claims.NAME, anew=TIMED + QUICK)


def _invented(name: str) -> Any:
    ids = {
        "vanishing_effects": QUICK[:4], "entropy_effects": QUICK[4:], "cost_effects": TIMED[:1], "precision_effects": TIMED[1:],
    }[name]  # fmt: skip
    return lambda *_given: {claim: [0.1, 0.2, 0.15] for claim in ids}


def test_what_vanishes_along_a_run() -> None:
    """F1 from the frames of two runs of one seed, the entropies taken anew from their images."""
    without, merged = (residuals.watched(0.5, merges=merges, seed=1) for merges in (0, 3))
    assert merged.config.merge_ratio == 0.5 and without.config.merge_ratio == 1.0

    def bits(run: Any, step: int) -> float:
        (images,) = (frame.content.images for frame in run.frames if frame.step == step)
        world = residuals.world()
        teacher, data = world.teacher(records.Place()), world.data
        seen = networks.predict(teacher, normalise(images, data.mean, data.std)).last_conv
        return float(entropy.feature_entropy(seen, residuals.lab_world().edges).mean())

    steps = [frame.step for frame in without.frames]
    path = [bits(without, step) for step in steps]
    found = residuals_claims.vanishing_effects(range(1, 2))
    assert found["F1 rises"] == pytest.approx([max(path) - path[0]], abs=1e-6)
    assert found["F1 vanishes"] == pytest.approx([max(path) - path[-1]], abs=1e-6)
    assert merge_steps(120, 3) == (30, 60, 90)
    back = fmean(bits(merged, step) - bits(merged, step - 1) for step in (30, 60, 90))
    assert found["F1 restored"] == pytest.approx([back], abs=1e-6)
    assert found["F1 end"] == pytest.approx([bits(merged, 120) - path[-1]], abs=1e-6)


def test_entropies_of_real_images_and_of_noise() -> None:
    found = residuals_claims.entropy_effects(range(2))
    assert found["F13 places"] == [0.0, 0.0], "the same pixels in other places have the same histogram"
    data = residuals.world().data
    kinds = entropy.reference_images(data, 100, seed=1)
    real, noise = (float(entropy.pixel_entropy(kinds[kind]).mean()) for kind in ("real", "noise"))
    assert found["F13 pixels"][1] == pytest.approx(real - noise) and real < noise


def test_times_become_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = residuals.world().teacher(records.Place())
    spent = {None: 2.0, 48: 1.4}
    monkeypatch.setattr(residuals_claims, "_seconds", lambda config, _inputs, **_skip: spent[config.small_size])
    exact = theory.resolution_cost_ratio(budget=40, merges=3, small_side=48, side=64)
    assert residuals_claims.cost_effects(teacher, 2)["F4 measured"] == pytest.approx([0.1 - abs(0.7 / exact - 1)] * 2)
    halves = {"float32": 4.0, "bfloat16": 3.0}
    monkeypatch.setattr(residuals_claims, "_seconds", lambda config, _inputs, **_skip: halves[config.precision])
    assert residuals_claims.precision_effects(3)["F5 time"] == [0.25] * 3
