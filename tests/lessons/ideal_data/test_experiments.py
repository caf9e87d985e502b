"""Lesson 10: its runs at a small scale, its effects against plain computations, its exercises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ddlab import theory
from ddlab.lessons.ideal_data import experiments as ideal_data
from ddlab.lessons.ideal_data import measured as ideal_data_claims
from ddlab.lessons.ideal_data.experiments import CHECKS, RHOS, SIGMAS
from ddlab.theory import ToyConfig


@pytest.fixture(scope="module")
def runs() -> theory.ToyRuns:
    return ideal_data.sigma_runs(3)


def test_runs_are_the_papers_settings(runs: theory.ToyRuns) -> None:
    assert [config.deviation for config in runs.configs] == list(SIGMAS)
    assert all(config == ToyConfig(deviation=config.deviation, seeds=3) for config in runs.configs)
    relabelled = ideal_data.rho_runs(1, teacher=ideal_data.OWN_POSTERIOR, rhos=(0.5,))
    assert relabelled.configs == (
        ToyConfig(deviation=1.0, relabelling=0.5, teacher="posterior of the distilled", seeds=1),
    )


def test_the_excess_is_what_lies_above_the_best_on_the_samples_own_data(runs: theory.ToyRuns) -> None:
    excess = ideal_data.excess_on_own(runs)
    draw = np.random.default_rng(0)
    for number in (1, 6):
        mixture = runs.configs[number].distilled
        labels = draw.integers(0, 2, 200_000)
        points = torch.from_numpy(
            mixture.means.numpy()[labels] + mixture.deviation * draw.standard_normal((200_000, 2))
        )
        outputs = theory.toy_outputs(runs.networks[-1, number], points.float())
        risk = (theory.posterior(mixture, points) - torch.from_numpy(labels)).square().mean()
        plain = (outputs - torch.from_numpy(labels)).square().mean(-1) - risk
        assert excess[number].numpy() == pytest.approx(plain.numpy(), abs=2e-3)


def test_missing_information_is_the_closed_form() -> None:
    missing = ideal_data.missing_information()
    assert missing == sorted(missing) and missing[-1] == pytest.approx(1 - 0.291, abs=1e-3)


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


def test_every_claim_of_the_lesson_is_judged(runs: theory.ToyRuns) -> None:
    from ddlab.lessons import claims

    verdicts = ideal_data_claims.verdicts(2)
    assert {verdict.claim for verdict in verdicts} == {
        name for name, one in claims.CLAIMS.items() if one.lesson == ideal_data.NAME
    }
    assert {verdict.pairs for verdict in verdicts if verdict.claim != "R5"} == {12}


def test_the_film_has_every_frame_and_the_colours_of_the_classes(runs: theory.ToyRuns) -> None:
    pictures = ideal_data.decisions(runs, -1)
    assert pictures.shape == (7, 96, 96, 3)
    (top_right, bottom_left) = pictures[1][3, -4], pictures[1][-4, 3]
    assert top_right[2] > top_right[0] and bottom_left[0] > bottom_left[2], "class 1, above on the right, is blue"
    film = ideal_data.film(runs)
    assert len(film.slider.options) == len(runs.steps) == 11
    film.slider.index = 0
    assert film.sentence.startswith("Step 0 of 1000: the error on G goes from")
    film.close()


@pytest.mark.parametrize(
    ("exercise", "answer", "right"),
    [
        ("targets", lambda y, f, rho: rho * f + (1 - rho) * y, True),
        ("targets", lambda y, f, rho: (1 - rho) * f + rho * y, False),
        ("targets", lambda y, f, rho: f, False),
        ("targets", lambda y, f: f, False),
        ("targets", None, False),
        ("posterior", lambda x, s: torch.sigmoid((x.sum(1) - 3) / s**2), True),
        ("posterior", lambda x, s: torch.sigmoid((x.sum(1) - 3) / s), False),
        ("posterior", lambda x, s: torch.sigmoid((3 - x.sum(1)) / s**2), False),
        ("posterior", lambda x, s: x, False),
        ("posterior", 3, False),
        ("quiet", ToyConfig(deviation=1.0, relabelling=1.0), True),
        ("quiet", ToyConfig(deviation=1.0, momentum=0.9, learning_rate=0.01), False),
        ("quiet", ToyConfig(deviation=1.0, relabelling=0.1), False),
        ("quiet", ToyConfig(deviation=0.2), False),
        ("quiet", ToyConfig(deviation=1.0, exact_gradient=True), False),
        ("quiet", "relabelling", False),
    ],
)
def test_exercises_know_right_from_wrong(exercise: str, answer: Any, right: bool) -> None:
    verdict, hint = CHECKS[exercise](answer)
    assert verdict is right and hint.endswith((".", "?")), hint
