"""Lesson 50: its effects against the rows of its records, by brute force."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from ddlab import records
from ddlab.lessons.kernels import claims
from tests.support import assert_claims_are_measured

pytestmark = pytest.mark.slow  # the register: it goes

SIX = ("fc1", "fc2", "fc3", "conv1", "conv2", "conv3")
FOUR = ("rbf", "fc1", "fc3", "conv1")


def row(name: str, **point: Any) -> dict[str, Any]:
    """The one row of a record with these columns."""
    (found,) = (each for each in records.load(name).rows if point.items() <= each.items())
    return found


def lead(seed: int, rule: str, count: int, other: str, others: int) -> float:
    """The lesser of digits and shapes."""
    found = []
    for data in ("digits", "shapes"):
        one = row("kernel_points", data=data, rule=rule, images_per_class=count, seed=seed)
        two = row("kernel_points", data=data, rule=other, images_per_class=others, seed=seed)
        found.append(one["accuracy"] - two["accuracy"])
    return min(found)


def test_effects_are_paired_rows_of_the_records() -> None:
    effects = {name: found.values for name, found in claims.effects(3).items()}
    points = {
        "S10 few": ("KIP", 1, "random", 10),
        "S10 many": ("KIP", 10, "random", 100),
        "S10 mean": ("KIP", 1, "centres", 1),
        "S10 centres": ("KIP", 10, "centres", 10),
        "S10 labels": ("KIP, labels", 1, "KIP", 1),
        "S10 targets": ("KIP", 1, "KIP, 100 targets", 1),
        "S10 corruption": ("KIP, noise", 1, "random", 1),
        "S10 corruption hundred": ("KIP, noise", 10, "random", 10),
        "S11 solved": ("LS", 10, "random", 10),
        "S11 noise": ("LS, noise", 10, "random", 10),
        "S11 foreign": ("LS, foreign", 10, "random", 10),
    }
    for name, rules in points.items():
        assert effects[name] == pytest.approx([lead(seed, *rules) for seed in range(10)]), name
    for seed in range(5):
        for name, rule in (("S10 student", "KIP"), ("S10 corrupted student", "KIP, noise")):
            taught = [
                row("kernel_students", data=data, rule=rule, seed=seed)["hard"]
                - row("kernel_students", data=data, rule="random", seed=seed)["hard"]
                for data in ("digits", "shapes")
            ]
            assert effects[name][seed] == pytest.approx(min(taught)), name


def test_effects_over_kernels() -> None:
    effects = {name: found.values for name, found in claims.effects(3).items()}
    for seed in range(5):
        by = {name: row("kernel_learned_by", learned_by=name, seed=seed) for name in (*SIX, "random")}
        unseen = [by["random"]["rbf"] - by[one]["rbf"] for one in SIX]
        others = [by["random"][two] - by[one][two] for one in SIX for two in SIX if one != two]
        assert effects["S10 unseen kernel"][seed] == pytest.approx(statistics.fmean(unseen))
        assert effects["S10 random kernels"][seed] == pytest.approx(statistics.fmean(others))
        gain, loss = [], []
        for data in ("digits", "shapes"):
            by = {name: row("kernel_solved_by", data=data, solved_by=name, seed=seed) for name in (*FOUR, "true")}
            pairs = [(one, two) for one in FOUR for two in FOUR if one != two]
            gain.append(statistics.fmean(by[one][two] - by["true"][two] for one, two in pairs))
            loss.append(statistics.fmean(by[one][two] - by[two][two] for one, two in pairs))
        assert effects["S11 transfer"][seed] == pytest.approx(min(gain))
        assert effects["S11 transfer loss"][seed] == pytest.approx(min(loss))


def test_every_claim_of_the_lesson_has_its_effect() -> None:
    assert_claims_are_measured(claims.NAME, anew=())
