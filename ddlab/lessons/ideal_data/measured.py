"""Lesson 10: the effects behind its claims, one per seed."""

from __future__ import annotations

import math

import torch
from scipy.stats import spearmanr
from torch import Tensor
from torch.distributions import MultivariateNormal

from ... import theory
from ...core import randomness
from ...theory import GaussianMixture, ToyRuns
from .. import claims
from ..claims import Verdict
from . import experiments as ideal_data
from .experiments import OWN_POSTERIOR, RHOS, SIGMAS

SEEDS_PER_PAIR = 6  # a run takes milliseconds: sixty seeds where other claims have ten pairs
EARLY = 200  # updates

Effects = dict[str, list[float]]
"""claim -> one effect per seed."""


def sample_effects(runs: ToyRuns) -> Effects:
    """R1: what the width of the samples does, on G and on the distilled data themselves."""
    found, own = ideal_data.on_original(runs), ideal_data.excess_on_own(runs)
    error, wrong = found.mean_squared_error[-1], 1 - found.accuracy_fraction[-1]
    return {
        "R1": _difference(error, 0.5, 0.1),
        "R1 smallest": _difference(error, 0.2, 0.05),
        "R1 own data": _difference(own, 0.5, 0.1),
        "R1 decisions": _difference(wrong, 1.0, 0.1),
    }


def early_effect(runs: ToyRuns) -> list[float]:
    """The effect of "R1 smallest" after the first updates only."""
    early = ideal_data.on_original(runs).mean_squared_error[runs.steps.tolist().index(EARLY)]
    return _difference(early, 0.2, 0.05)


def quiet_effect(exact: ToyRuns) -> Effects:
    """R1 without noise: runs with the exact gradient, which differ by their start alone."""
    wrong = 1 - ideal_data.on_original(exact).accuracy_fraction[-1]
    return {"R1 without noise": _difference(wrong, 1.0, 0.1)}


def target_effects(trained: ToyRuns, taught: ToyRuns) -> Effects:
    """R2: what relabelling does.

    Args:
        trained: all rhos with the trained teacher. taught: with the exact posterior of the samples, rho = 1 last.
    """
    error = ideal_data.on_original(trained).mean_squared_error[-1]
    other = ideal_data.on_original(taught).mean_squared_error[-1]
    none, most, all_of_it = (error[RHOS.index(rho)] for rho in (0.0, 0.75, 1.0))
    return {
        "R2": (none - all_of_it).tolist(),
        "R2 last step": (most - all_of_it).tolist(),
        "R2 best teacher": (all_of_it - other[-1]).tolist(),
    }


def boundary_effect(draws: int) -> Effects:
    """R5: for drawn means and Sigma, whether the plane half way puts points where the two densities put them."""
    shares = []
    for seed in range(draws):
        draw = randomness.generator(seed, 0, "mixtures of claim R5")
        means = torch.randn(2, 2 + seed % 4, generator=draw, dtype=torch.float64)
        sigma = float(torch.empty((), dtype=torch.float64).uniform_(math.log(0.05), math.log(2), generator=draw).exp())
        points = means.mean(0) + torch.randn(1000, means.shape[1], generator=draw, dtype=torch.float64)
        plane = theory.decision_boundary(GaussianMixture(means=means, deviation=sigma))
        spread = sigma**2 * torch.eye(means.shape[1], dtype=torch.float64)
        first, second = (MultivariateNormal(mean, spread).log_prob(points) for mean in means)
        shares.append(float(((points @ plane.normal > plane.offset) == (second > first)).double().mean()) - 1)
    return {"R5": shares}


def conjecture_effects(runs: ToyRuns) -> Effects:
    """R14: the error against what the samples do not tell about their classes."""
    missing = ideal_data.missing_information()
    own, error = ideal_data.excess_on_own(runs), ideal_data.on_original(runs).mean_squared_error[-1]
    widest = SIGMAS.index(1.0)
    constant = own[widest] / missing[widest]
    room = torch.stack([constant * share - excess for share, excess in zip(missing, own, strict=True)])
    return {
        "R14": _rank_correlations(missing, own),
        "R14 on G": _rank_correlations(missing, error),
        "R14 bound": room.min(0).values.tolist(),
    }


def verdicts(pairs: int) -> list[Verdict]:
    """All claims of the lesson, with `SEEDS_PER_PAIR` times as many seeds."""
    seeds = SEEDS_PER_PAIR * pairs
    runs, exact = ideal_data.sigma_runs(seeds), ideal_data.sigma_runs(seeds, exact=True)
    trained, taught = ideal_data.rho_runs(seeds), ideal_data.rho_runs(seeds, teacher=OWN_POSTERIOR)
    found = sample_effects(runs) | quiet_effect(exact) | target_effects(trained, taught) | conjecture_effects(runs)
    return judged(found | boundary_effect(pairs), early_effect(runs))


def judged(effects: Effects, early: list[float]) -> list[Verdict]:
    """The verdicts that follow from these effects."""
    return [
        claims.judge(name, values, setting=_setting(name), under=early if name == "R1 smallest" else None)
        for name, values in effects.items()
    ]


def _setting(name: str) -> str:
    if name == "R5":
        return "means in 2 to 5 dimensions, Sigma from .05 to 2"
    return "Definition 4 in the plane, 50 hidden units, settings of Table 8; pairs are seeds"


def _difference(values: Tensor, first: float, second: float) -> list[float]:
    """Values [settings, seeds] of one Sigma minus those of another, per seed."""
    return (values[SIGMAS.index(first)] - values[SIGMAS.index(second)]).tolist()


def _rank_correlations(missing: list[float], values: Tensor) -> list[float]:
    return [float(spearmanr(missing, column).statistic) for column in values.T.tolist()]
