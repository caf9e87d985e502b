"""Lesson 05: its effects against the rows of its record, by brute force."""

from __future__ import annotations

from typing import Any

import pytest

from ddlab import records
from ddlab.lessons.matching import claims as matching_claims
from tests.support import assert_claims_are_measured


def taught(data: str, rule: str) -> dict[int, float]:
    """seed -> accuracy, row by row."""
    table: tuple[dict[str, Any], ...] = records.load("matching").rows
    found = {row["seed"]: row["hard"] for row in table if (row["data"], row["rule"]) == (data, rule)}
    assert sorted(found) == list(range(10))
    return found


def test_effects_are_paired_rows_of_the_record() -> None:
    effects = {name: found.values for name, found in matching_claims.effects(3).items()}

    def lead(data: str, learned: str, rule: str) -> list[float]:
        one, other = taught(data, learned), taught(data, rule)
        return [one[seed] - other[seed] for seed in range(10)]

    def lesser(learned: str, rule: str) -> list[float]:
        pairs = zip(lead("digits", learned, rule), lead("shapes", learned, rule), strict=True)
        return [digits if digits < shapes else shapes for digits, shapes in pairs]

    wanted = {
        "S6 random": lesser("DC", "random"),
        "S6 herding": lesser("DC", "herding"),
        "S6 k-center": lesser("DC", "k_center"),
        "S6 forgetting": lesser("DC", "forgetting"),
        "S6 typical": lesser("DM", "k_means"),
        "S6 DM": lead("digits", "DM", "random"),
        "S6 mean": lead("digits", "DM", "centres"),
        "S6 centres": lead("shapes", "DM", "centres"),
    }
    assert effects.keys() == wanted.keys()
    for name, values in wanted.items():
        assert effects[name] == pytest.approx(values), name


def test_every_claim_of_the_lesson_has_its_effect() -> None:
    assert_claims_are_measured(matching_claims.NAME, anew=())


def test_settings_name_the_data_of_the_effect() -> None:
    """What a claim says of one digit and of ten shapes is what its setting says."""
    for claim in matching_claims.CLAIMS:
        setting = matching_claims.effects(3)[claim.id].setting
        for words, kind in (
            ("one digit", "digits 16 px, 1 image per class"),
            ("ten shapes", "shapes 16 px, 10 images"),
        ):
            assert (words in claim.effect) == (kind in setting), claim.id
