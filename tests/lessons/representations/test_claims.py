"""Lesson 45: its effects against the rows of its records, by brute force; its sentences against the tables."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from ddlab import records
from ddlab.lessons.representations import claims
from ddlab.lessons.shared import printed_sentences, printed_tables
from tests.support import assert_claims_are_measured

pytestmark = pytest.mark.slow  # the register: it goes

USUAL: dict[str, Any] = {
    "objective": "byol",
    "ratio": 0.1,
    "subset": "dynamic",
    "schedule": "switch",
    "share": None,
    "epochs": 12,
}
CONSTANT: dict[str, Any] = {"schedule": "constant"}
ALONE = CONSTANT | {"share": 0.0}


def only(record: str, wanted: dict[str, Any]) -> float:
    (row,) = (each for each in records.load(record).rows if wanted.items() <= each.items())
    return float(str(row["accuracy"]))


def accuracy(seed: int, prior: str, **changes: Any) -> float:
    wanted = {"prior": prior, "seed": seed} | USUAL | (ALONE if prior == "none" else {}) | changes
    name = "representations" if wanted["objective"] == "byol" else "representation_objectives"
    return only(name, wanted)


def both(seed: int, **changes: Any) -> float:
    return statistics.fmean(accuracy(seed, prior, **changes) for prior in ("untrained", "strong"))


def test_effects_are_paired_rows_of_the_records() -> None:
    effects = {name: found.values for name, found in claims.recorded_effects().items()}
    shares = {share: [both(seed, schedule="constant", share=share) for seed in range(5)] for share in (0.2, 0.5, 1.0)}
    shares[0.0] = [accuracy(seed, "none") for seed in range(5)]
    best = max(shares, key=lambda share: sum(shares[share]))
    eight = ("byol", "barlow_twins", "simclr", "moco", "simsiam", "swav", "dino", "vicreg")
    for seed in range(5):
        one = accuracy(seed, "untrained")
        own = only("representation_priors", {"prior": "untrained", "seed": seed})
        gains = [accuracy(seed, "untrained", objective=name) - accuracy(seed, "none", objective=name) for name in eight]
        wanted = {
            "R10 random": one - accuracy(seed, "none"),
            "R10 stronger": accuracy(seed, "strong") - one,
            "R10 insensitive": accuracy(seed, "weak") - accuracy(seed, "strong"),
            "R10 objectives": min(gains),
            "R10 shuffled": one - accuracy(seed, "untrained, shuffled"),
            "R10 pixels": one - accuracy(seed, "pixels"),
            "R10 longer": one - accuracy(seed, "none", epochs=24),
            "R10 teacher": one - own,
            "R11 dynamic": both(seed) - both(seed, subset="static"),
            "R11 adaptive": both(seed, schedule="adaptive") - shares[best][seed],
            "R11 ratio": accuracy(seed, "strong", ratio=0.2) - accuracy(seed, "strong", ratio=0.05),
        }
        assert {name: values[seed] for name, values in effects.items()} == pytest.approx(wanted)


def test_every_claim_of_the_lesson_has_its_effect() -> None:
    assert_claims_are_measured(claims.NAME, anew=("R9 gradient", "R9 dropped", "R12 budget"))


def test_targets_take_a_part_of_an_epoch() -> None:
    (saved,) = claims.budget_effects(1)["R12 budget"].values
    assert 0 < saved < 1


CELLS: list[tuple[str, Any, Any, int]] = [  # table, its row, another row, which sentence it turns
    ("RELA_2", ("CIFAR-10", 1), (39.8, 39.7, 54.1, 51.6, 52.5, 51.1, 52.4), 0),
    ("RELA_2", ("CIFAR-100", 10), (30.0, 36.7, 51.3, 51.1, 50.6, 51.6, 51.7), 1),
    ("RELA_2", ("ImageNet-1K", 10), (45.2, 51.3, 52.8, 52.5, 53.3, 52.3, 52.6), 2),
    ("RELA_2", ("ImageNet-1K", 10), (45.2, 51.3, 52.9, 52.5, 53.3, 52.3, 51.3), 3),
    ("RELA_2_FULL", "ImageNet-1K", 62.3, 6),
    ("RELA_3", ("Tiny-ImageNet", "EfficientNet-B0"), (24.0, 41.8, 33.3, 39.8, 40.8, 48.4, 23.8), 7),
]


@pytest.mark.parametrize(("table", "row", "other", "sentence"), CELLS)
def test_sentences_follow_their_tables(
    monkeypatch: pytest.MonkeyPatch, table: str, row: Any, other: Any, sentence: int
) -> None:
    before = printed_sentences.rela_tables()
    assert [each.holds for each in before] == [
        True,
        True,
        True,
        True,
        False,
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    monkeypatch.setitem(getattr(printed_tables, table), row, other)
    assert not printed_sentences.rela_tables()[sentence].holds and before[sentence].holds
