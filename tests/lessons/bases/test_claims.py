"""Lesson 40: its effects against the records' rows and against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ddlab import networks
from ddlab.lessons.bases import claims as bases_claims
from ddlab.lessons.shared import unlabelled
from tests.lessons.shared.unlabelled_rows import rows
from tests.support import assert_claims_are_measured

pytestmark = pytest.mark.slow  # the register: it goes

QUICK = ("B7", "B7 learnt")


def test_effects_are_paired_rows_of_the_records() -> None:
    effects = {name: found.values for name, found in bases_claims.recorded_effects().items()}

    def lead(one: dict[int, Any], other: dict[int, Any], column: str = "source") -> list[float]:
        return [one[seed][column] - other[seed][column] for seed in range(5)]

    wanted = {
        "B1 real": lead(rows(), rows(bases_start="real", coefficients_start="random")),
        "B1 random": lead(
            rows(bases_start="real", coefficients_start="random"), rows(bases_start="random", coefficients_start="random")
        ),
        "B1 bases": lead(rows(), rows(bases_start="real")),
        "B1 coefficients": lead(rows(), rows(coefficients_start="random")),
        "B2 parts": lead(rows(augmentation="none"), rows("KRR-ST")),
        "B2 reset": lead(rows("KRR-ST"), rows("KRR-ST", reset=False)),
    }  # fmt: skip
    assert effects.keys() == wanted.keys()
    for name, values in wanted.items():
        assert effects[name] == pytest.approx(values), name


def test_every_claim_of_the_lesson_has_its_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases_claims, "rank_effects", lambda _seeds: {claim: [0.1, 0.2, 0.15] for claim in QUICK})
    assert_claims_are_measured(bases_claims.NAME, anew=QUICK)


def test_effective_ranks_of_teacher_and_untrained_networks() -> None:
    found, teacher = bases_claims.rank_effects(range(2)), unlabelled.teacher()
    for seed in range(2):
        shares = []
        for network in (teacher, networks.initialise(teacher.spec, seed=seed)):
            assert 0 < bases_claims.rank_share(network, seed=seed) < 1
            shares.append(bases_claims.rank_share(network, seed=seed))
        assert found["B7"][seed] == pytest.approx(1 - shares[0])
        assert found["B7 learnt"][seed] == pytest.approx(shares[1] - shares[0])


def test_a_rank_is_that_of_the_covariance_of_the_drawn_images(monkeypatch: pytest.MonkeyPatch) -> None:
    features = (
        torch.randn(1000, 6, generator=torch.Generator().manual_seed(0)) * torch.tensor([5.0, 3, 2, 1, 1, 0.1]) + 4
    )
    monkeypatch.setattr(bases_claims, "representations", lambda *_given, **_place: features)
    eigenvalues = np.linalg.eigvalsh(np.cov(features.double().numpy().T))
    odds = eigenvalues / eigenvalues.sum()
    wanted = float(np.exp(-(odds * np.log(odds)).sum())) / 6
    assert bases_claims.rank_share(unlabelled.teacher(), seed=3) == pytest.approx(wanted, rel=1e-5)
