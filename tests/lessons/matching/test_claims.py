"""Lesson 05: its effects against the rows of its record, by brute force."""

from __future__ import annotations

from typing import Any

import pytest

from ddlab import records
from ddlab.lessons.matching import claims as matching_claims
from tests.support import assert_claims_are_measured

pytestmark = pytest.mark.slow  # the register: it goes

OF_MATCHING = {
    *(f"S6 {rule}" for rule in ("random", "herding", "k-center", "forgetting", "typical", "DM", "mean", "centres"))
}


def taught(data: str, rule: str) -> dict[int, float]:
    """seed -> accuracy, row by row."""
    table: tuple[dict[str, Any], ...] = records.load("matching").rows
    found = {row["seed"]: row["hard"] for row in table if (row["data"], row["rule"]) == (data, rule)}
    assert sorted(found) == list(range(10))
    return found


def column(record: str, name: str, *fields: Any) -> dict[int, float]:
    """seed -> value of the rows that begin with these fields."""
    table: tuple[dict[str, Any], ...] = records.load(record).rows
    return {row["seed"]: row[name] for row in table if tuple(row.values())[: len(fields)] == fields}


def gaps(one: dict[int, float], other: dict[int, float]) -> list[float]:
    """Of the seeds of both, at least five."""
    both = sorted(one.keys() & other.keys())
    assert both[:5] == list(range(5))
    return [one[seed] - other[seed] for seed in both]


def test_effects_of_the_other_records() -> None:
    effects = {name: found.values for name, found in matching_claims.effects(3).items()}

    def viewed(data: str, rule: str, views: str | None) -> dict[int, float]:
        return column("siamese", "viewed", data, rule, views)

    def learned(*options: str) -> dict[int, float]:
        return column("matching_networks", "learned", *options)

    shared, default = viewed("shapes", "DSA", "shared"), learned("instance", "average", "relu")
    norms = [learned(norm, "average", "relu") for norm in ("none", "batch", "layer")]
    online = {rule: column("matching_labels", "online", rule) for rule in ("DC", "random")}
    wanted = {
        "S7 ipc 10": gaps(shared, taught("shapes", "DC")),
        "S7 ipc 1": gaps(viewed("digits", "DSA", "shared"), taught("digits", "DC")),
        "S7 shared": gaps(shared, viewed("shapes", "DSA", "independent")),
        "S7 images": gaps(shared, viewed("shapes", "DC", None)),
        "S7 evaluation": gaps(viewed("shapes", "DC", None), column("siamese", "plain", "shapes", "DC", None)),
        "S6 instance norm": [default[seed] - sum(norm[seed] for norm in norms) / 3 for seed in range(5)],
        "S6 average pooling": gaps(default, learned("instance", "max", "relu")),
        "S6 leaky ReLU": gaps(learned("instance", "average", "leaky_relu"), default),
        "X1 matching labels": gaps(online["DC"], column("matching_labels", "hard", "DC")),
        "X1 matching images": gaps(online["DC"], online["random"]),
    }
    assert wanted.keys() == effects.keys() - OF_MATCHING
    for name, values in wanted.items():
        assert effects[name] == pytest.approx(values), name


def test_effects_are_paired_rows_of_the_record() -> None:
    found = matching_claims.effects(3)
    effects = {name: found[name].values for name in OF_MATCHING}

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
