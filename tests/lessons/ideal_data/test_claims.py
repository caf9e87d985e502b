"""Lesson 10: its effects against plain computations."""

from __future__ import annotations

import pytest
import torch

from ddlab import theory
from ddlab.lessons.ideal_data import claims as ideal_data_claims
from ddlab.lessons.ideal_data import experiments as ideal_data
from ddlab.lessons.ideal_data.experiments import RHOS

pytestmark = pytest.mark.slow  # the register: it goes


@pytest.fixture(scope="module")
def runs() -> theory.ToyRuns:
    return ideal_data.sigma_runs(3)


def test_effects_are_differences_of_single_seeds(runs: theory.ToyRuns) -> None:
    found = ideal_data.on_original(runs)
    effects = ideal_data_claims.sample_effects(runs)
    error, right = found.mean_squared_error[-1], found.accuracy_fraction[-1]
    assert effects["R1"] == pytest.approx((error[4] - error[1]).tolist())
    assert effects["R1 smallest"] == pytest.approx((error[2] - error[0]).tolist())
    assert effects["R1 decisions"] == pytest.approx((right[1] - right[6]).tolist(), abs=1e-6)
    early = found.mean_squared_error[2]  # after 200 updates
    assert ideal_data_claims.early_effect(runs) == pytest.approx((early[2] - early[0]).tolist())


def test_targets_effects_take_the_right_ends() -> None:
    trained, taught = ideal_data.rho_runs(2), ideal_data.rho_runs(2, teacher=ideal_data.OWN_POSTERIOR)
    one, other = (ideal_data.on_original(some).mean_squared_error[-1] for some in (trained, taught))
    effects = ideal_data_claims.target_effects(trained, taught)
    assert effects["R2"] == pytest.approx((one[0] - one[4]).tolist())
    assert effects["R2 last step"] == pytest.approx((one[RHOS.index(0.75)] - one[4]).tolist())
    assert effects["R2 best teacher"] == pytest.approx((one[4] - other[4]).tolist())
    assert torch.equal(one[0], other[0]), "at rho = 0 no teacher is asked"


def test_the_constant_of_the_conjecture_fits_at_the_widest(runs: theory.ToyRuns) -> None:
    effects, own = ideal_data_claims.conjecture_effects(runs), ideal_data.excess_on_own(runs)
    missing = ideal_data.missing_information()
    for seed in range(3):
        room = [float(own[6, seed]) / missing[6] * share - float(own[at, seed]) for at, share in enumerate(missing)]
        assert effects["R14 bound"][seed] == pytest.approx(min(room), abs=1e-9) and min(room) <= 1e-9
    assert all(-1 <= value <= 1 for value in effects["R14"] + effects["R14 on G"])


def test_a_boundary_that_moved_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ideal_data_claims.boundary_effect(6)["R5"] == [0.0] * 6
    usual = theory.decision_boundary
    monkeypatch.setattr(
        theory, "decision_boundary", lambda mixture: usual(mixture)._replace(offset=usual(mixture).offset + 0.1)
    )
    assert max(ideal_data_claims.boundary_effect(6)["R5"]) < 0


def test_every_claim_of_the_lesson_has_its_effect() -> None:
    effects = ideal_data_claims.effects(2)
    assert sorted(effects) == sorted(claim.id for claim in ideal_data_claims.CLAIMS)
    assert {len(effect.values) for name, effect in effects.items() if name != "R5"} == {12}
    early = effects["R1 smallest"].under
    assert early is not None and len(early) == 12
