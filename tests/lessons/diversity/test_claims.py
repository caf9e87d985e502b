"""Lesson 21: its effects, from the records and from draws, and the paper's sentences."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from ddlab import records
from ddlab.lessons.diversity import claims as diversity_claims
from ddlab.lessons.diversity import experiments as diversity
from tests.support import assert_claims_are_measured, recorded_rows

pytestmark = pytest.mark.slow  # the register: it goes

pytestmark = pytest.mark.usefixtures("quick_recovery")


def test_what_appendix_a1_says_of_free_latents() -> None:
    found = diversity_claims.a1_effects(6)
    assert found["D2 factor"] == pytest.approx([1 - 1 / n for n in range(2, 8)])
    assert found["D2 one side"] == [1.0] * 6 and found["D2 batch"] == pytest.approx([0.0] * 6, abs=1e-12)


def test_sentences_follow_from_the_printed_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours are words; what they say of a table is computed, so that other numbers give another reading."""
    found = {sentence.words: sentence.holds for sentence in diversity_claims.sentences()}
    assert len(found) == 9 and sum(found.values()) == 6
    rows = dict(diversity_claims.TABLE_3)
    rows["ShuffleNet"] = ((10.3, 10.2, 19.4), rows["ShuffleNet"][1])
    monkeypatch.setattr(diversity_claims, "TABLE_3", rows)
    monkeypatch.setattr(diversity_claims, "SECONDS", {"SRe2L": 116.58, "DWA": 116.6})
    changed = {sentence.words for sentence in diversity_claims.sentences() if sentence.holds != found[sentence.words]}
    assert {words.split(",")[0] for words in changed} == {
        "DWA adds less than 0.1% of computation",
        "At 10 images per class a random perturbation degrades",
    }


def test_effects_are_paired_rows_of_the_records() -> None:
    effects = diversity_claims.recorded_effects()
    kinds: list[dict[str, Any]] = [
        row
        for row in records.load("perturbation_kinds").rows
        if row["images_per_class"] == 10 and row["method"] == "DWA"
    ]
    by_seed = {(row["perturbation"], row["seed"]): row for row in kinds}
    seeds = sorted({row["seed"] for row in kinds})
    wanted = [by_seed["directed", seed]["online"] - by_seed["none", seed]["online"] for seed in seeds]
    assert len(seeds) == 10 and effects["D7 directed"].values == pytest.approx(wanted)
    wanted = [by_seed["random", seed]["distance"] / by_seed["none", seed]["distance"] - 1 for seed in seeds]
    assert effects["D5"].values == pytest.approx(wanted)
    grid: tuple[dict[str, Any], ...] = records.load("adjustment_grid").rows
    cells = [r for r in grid if r["adjustment_steps"] in (4, 12, 24) and r["adjustment_radius"] in (0.005, 0.015, 0.05)]
    none = {r["seed"]: r["online"] for r in grid if r["perturbation"] == "none"}
    wanted = [fmean(r["online"] for r in cells if r["seed"] == seed) - none[seed] for seed in sorted(none)]
    assert len(cells) == 9 * len(none) and effects["D8"].values == pytest.approx(wanted)
    sre2l: dict[Any, Any] = {
        row["seed"]: row["online"]
        for row in records.load("perturbation_kinds").rows
        if row["images_per_class"] == 10 and row["method"] == "SRe2L"
    }
    assert effects["D9"].values == pytest.approx([by_seed["directed", seed]["online"] - sre2l[seed] for seed in seeds])
    tasks: dict[Any, dict[str, Any]] = {(r["method"], r["seed"]): r for r in records.load("continual").rows}
    leads = [
        min(tasks["DWA", s][f"online_{n}"] - tasks["SRe2L", s][f"online_{n}"] for n in (2, 4, 6, 8, 10))
        for s in range(5)
    ]
    assert effects["D10"].values == pytest.approx(leads)
    dwa, sre2l_too = (recorded_rows("batch_norm_vit", {"method": method}) for method in ("DWA", "SRe2L"))
    assert effects["D13"].values == pytest.approx([dwa[s]["online"] - sre2l_too[s]["online"] for s in range(5)])


def test_every_claim_of_the_lesson_has_its_effect(monkeypatch: pytest.MonkeyPatch, small: Any) -> None:
    monkeypatch.setattr(diversity, "trained_on_shapes", lambda: small)
    monkeypatch.setattr(diversity, "overhead", lambda *_a, repeats, **_k: [0.01 + 0.001 * n for n in range(repeats)])
    assert_claims_are_measured(diversity_claims.NAME, anew=("D2 factor", "D2 one side", "D2 batch", "D6", "D11"))
