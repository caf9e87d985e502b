"""Lesson 10: its claims, declared before any run, and what measures them: Figures 1 and 2 of ReLA, theorems beside them, its conjecture.

A pair is one seed: one start of the network and one sequence of noise, which all settings share. The squared error is that on the
original data G after 1000 updates, where nothing else is said. Sizes are ours: .005 and .02 are a tenth and a third of the .058 that
no network can be below.
"""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from ... import theory
from ...core import randomness
from ...theory import GaussianMixture, ToyRuns
from ..claims import Claim
from ..shared.effects import Measured, measured
from . import NAME
from . import experiments as ideal_data
from .experiments import OWN_POSTERIOR, RHOS, SIGMAS

claim = functools.partial(Claim, lesson=NAME, test="small")
CLAIMS: list[Claim] = []
SEEDS_PER_PAIR = 6  # a run takes milliseconds: sixty seeds where other claims have ten pairs
EARLY = 200  # updates
SETTING = "Definition 4 in the plane, 50 hidden units, settings of Table 8; pairs are seeds"

Effects = dict[str, list[float]]
"""claim -> one effect per seed."""


CLAIMS += [
    claim(
        "R1",
        "ReLA, Theorem 1, Fig 1b",
        "Narrower samples teach more.",
        effect="squared error with Sigma = .5 minus with .1",
        claimed=0.005,
    ),
    claim(
        "R1 smallest",
        "ReLA, Theorem 1, Fig 1b",
        "The narrower the better, however narrow.",
        effect="squared error with Sigma = .2 minus with .05",
        claimed=0.0,
        when="only the first 200 updates are made",
    ),
    claim(
        "R1 own data",
        "ReLA, Theorem 1, eq 5",
        "On the distilled data themselves the error in excess of the best falls with Sigma, too.",
        effect="excess squared error on G' with Sigma = .5 minus with .1",
        claimed=0.005,
    ),
    claim(
        "R1 decisions",
        "ReLA, Fig 1b",
        "Wide samples teach worse decisions.",
        effect="share of wrong decisions on G with Sigma = 1 minus with .1",
        claimed=0.02,
    ),
    claim(
        "R1 without noise",
        "ReLA, Fig 1b",
        "Wide samples teach worse decisions because they are wide, not because single samples are noisy.",
        effect="the same with the exact gradient: share of wrong decisions with Sigma = 1 minus with .1",
        claimed=0.02,
    ),
]


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


CLAIMS += [
    claim(
        "R2",
        "ReLA, Theorem 2, Fig 2b",
        "Targets that are more of a teacher and less of a label teach more.",
        effect="squared error with rho = 0 minus with 1; samples of Sigma = 1, teacher trained at .1",
        claimed=0.02,
    ),
    claim(
        "R2 last step",
        "ReLA, Theorem 2, Fig 2b",
        "The more the better, up to all.",
        effect="squared error with rho = .75 minus with 1; samples of Sigma = 1, teacher trained at .1",
        claimed=0.0,
    ),
    claim(
        "R2 best teacher",
        "ReLA, section 3.2 and Definition 5",
        "The better a teacher knows the distilled data the better it teaches.",
        effect="squared error with the teacher trained at .1 minus with the exact posterior of the samples; rho = 1, Sigma = 1",
        claimed=0.0,
    ),
]


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


CLAIMS += [
    claim(
        "R5",
        "ReLA, appendix G",
        "Rescaling the samples leaves the best boundary where it is.",
        effect="share of 1,000 drawn points that the plane between the means puts where the densities do, minus 1; drawn means, Sigma",
        claimed=0.0,
        test="exact",
        every=True,
    ),
]


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


CLAIMS += [
    claim(
        "R14",
        "ReLA, Conjecture 1",
        "The error in excess of the best falls with 1 - NMI.",
        effect="rank correlation of 1 - I(X;Y)/H(Y) and the excess squared error on G', over seven Sigmas",
        claimed=0.9,
    ),
    claim(
        "R14 on G",
        "ReLA, Conjecture 1",
        "So does the error on the original data.",
        effect="rank correlation of 1 - I(X;Y)/H(Y) and the squared error on G, over seven Sigmas",
        claimed=0.9,
    ),
    claim(
        "R14 bound",
        "ReLA, Conjecture 1, eq 7",
        "One constant times 1 - NMI bounds the excess error for every Sigma.",
        effect="smallest over seven Sigmas of C (1 - I/H) minus the excess squared error on G', C such that it is 0 at Sigma = 1",
        claimed=0.0,
    ),
]


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


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson, with `SEEDS_PER_PAIR` times as many seeds."""
    seeds = SEEDS_PER_PAIR * pairs
    runs, exact = ideal_data.sigma_runs(seeds), ideal_data.sigma_runs(seeds, exact=True)
    trained, taught = ideal_data.rho_runs(seeds), ideal_data.rho_runs(seeds, teacher=OWN_POSTERIOR)
    found = sample_effects(runs) | quiet_effect(exact) | target_effects(trained, taught) | conjecture_effects(runs)
    made, drawn = measured(found, SETTING), "means in 2 to 5 dimensions, Sigma from .05 to 2"
    made["R1 smallest"] = made["R1 smallest"]._replace(under=early_effect(runs))
    return made | measured(boundary_effect(pairs), drawn)


def _difference(values: Tensor, first: float, second: float) -> list[float]:
    """Values [settings, seeds] of one Sigma minus those of another, per seed."""
    return (values[SIGMAS.index(first)] - values[SIGMAS.index(second)]).tolist()


def _rank_correlations(missing: list[float], values: Tensor) -> list[float]:
    from scipy.stats import spearmanr  # 50 MB that no other lesson's claims need

    return [float(spearmanr(missing, column).statistic) for column in values.T.tolist()]
