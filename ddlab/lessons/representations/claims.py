"""Lesson 45: its claims, declared before any run, and what measures them: the records of ReLA, the clock, and the paper's own tables."""

from __future__ import annotations

import functools
import statistics
import time
from typing import Any

import torch
import torch.nn.functional as F

from ... import records, theory
from ...core import randomness
from ...methods import rela as rela_d
from ...records.sweep import Place
from ...runs import process
from ...runs.process import Inputs
from ...training import rela as rela_f
from ...training.self_supervised import OBJECTIVES
from ..claims import Claim
from ..shared import printed_sentences
from ..shared.effects import EACH, Measured, differences, measured
from . import NAME, sweep
from .setting import ALONE, PIXELS, SCALES, SHUFFLED, STRONG, UNTRAINED, WEAK
from .sweep import SHARES

claim = functools.partial(Claim, lesson=NAME, test="small")
CONTROL = "control that the paper has not got"
PROBE = "accuracy of a linear probe"
FEW = "a tenth of the images in each epoch"
ON_SHAPES = "shapes 16 px, ConvNet-3 of width 16, 12 epochs, priors of width 32"
_TIMED = 20  # updates
CLAIMS: list[Claim] = []

CLAIMS += [
    claim(
        "R9 gradient", "ReLA, appendix I, eq 46", "SimCLR's gradient is the sum of the two printed terms.",
        effect="minus the largest difference from autograd, as a part of the gradient's largest number",
        claimed=0.0, every=True,
    ),
    claim(
        "R9 dropped", "ReLA, appendix I, eq 46", "The second of them reduces to 0.",
        effect="1 minus the length of the second term over that of the first, all rows of 16 images", claimed=0.9,
    ),
    claim("R10 random", "ReLA, Table 2", "Targets of a network that was never trained help BYOL.",
          effect=f"{PROBE}, BYOL with ReLA and an untrained prior minus BYOL alone, {FEW}", claimed=0.02),
    claim("R10 stronger", "ReLA, Table 2", "A stronger prior helps more than an untrained one.",
          effect=f"{PROBE}, ReLA with a prior trained on shapes without labels minus with an untrained one, {FEW}", claimed=0.02),
    claim("R10 insensitive", "ReLA, section 5.1", "A prior trained on other images is as good as a strong one, but for a little.",
          effect=f"{PROBE}, ReLA with a prior trained on digits without labels minus with one trained on shapes, {FEW}", claimed=-0.02),
    claim("R10 objectives", "ReLA, Table 4", "ReLA helps every one of eight objectives.",
          effect=f"{PROBE}, with an untrained prior minus the objective alone, least of eight objectives, {FEW}", claimed=0.0),
    claim("R10 shuffled", CONTROL, "What helps are the targets of the images, not any targets.",
          effect=f"{PROBE}, with an untrained prior minus with its targets shuffled among the images, {FEW}", claimed=0.02),
    claim("R10 pixels", CONTROL, "An untrained network's targets are worth more than the principal components of the pixels.",
          effect=f"{PROBE}, with an untrained prior minus with the pixels as prior, {FEW}", claimed=0.01),
    claim("R10 longer", CONTROL, "They are worth more than twice as many updates without them.",
          effect=f"{PROBE}, with an untrained prior minus BYOL alone in twice as many epochs, {FEW}", claimed=0.01),
    claim("R10 teacher", CONTROL, "The network becomes better than its untrained prior.",
          effect=f"{PROBE}, with an untrained prior minus of that prior itself, {FEW}", claimed=0.02),
    claim("R11 dynamic", "ReLA, Figure 4a", "A new subset in each epoch is better than the same one always.",
          effect=f"{PROBE}, dynamic minus static subset, mean of an untrained and a strong prior, {FEW}", claimed=0.015),
    claim("R11 adaptive", "ReLA, Figure 4b", "An adaptive lambda suits weak and strong priors better than any constant.",
          effect=f"{PROBE}, adaptive minus the constant with the best mean, mean of an untrained and a strong prior, {FEW}",
          claimed=0.005),
    claim("R11 ratio", "ReLA, Figure 4c", "The more images in an epoch, the better.",
          effect=f"{PROBE}, ReLA with a strong prior, a fifth of the images in each epoch minus a twentieth", claimed=0.02),
    claim("R12 budget", "ReLA, appendix J", "Making the targets takes less than one epoch of training.",
          effect="1 minus the CPU time of all targets over that of an epoch of BYOL on all images", claimed=0.0),
    claim("R10 printed", "ReLA, sections 4 and 5, appendix K",
          "What the paper's sentences say of its Tables 2 to 4 and 6 agrees with these.",
          effect="sentences that their table bears out", claimed=1.0, test="table", counted=True),
]  # fmt: skip


def accuracies(prior: str, **changes: Any) -> list[float]:
    """The probe's accuracy, one for each seed of the record; `changes` as of `sweep.point`."""
    wanted = sweep.point(prior, seed=0, **changes)
    name = "representations" if wanted["objective"] == "byol" else "representation_objectives"
    return records.load(name).values("accuracy", **{column: wanted[column] for column in wanted if column != "seed"})


def prior_accuracies(prior: str) -> list[float]:
    """The same of the prior's own features."""
    return records.load("representation_priors").values("accuracy", prior=prior)


def mean_of(prior_changes: list[tuple[str, dict[str, Any]]]) -> list[float]:
    """The mean over several (prior, changes), for each seed."""
    return [
        statistics.fmean(seed) for seed in zip(*(accuracies(prior, **own) for prior, own in prior_changes), strict=True)
    ]


def over_both(**changes: Any) -> list[float]:
    """The mean over an untrained and a strong prior, for each seed."""
    return mean_of([(UNTRAINED, changes), (STRONG, changes)])


def constants() -> dict[float, list[float]]:
    """Constant lambda -> the mean over both priors, for each seed; 0 is BYOL alone."""
    return {0.0: accuracies(ALONE)} | {share: over_both(schedule="constant", share=share) for share in SHARES}


def gains() -> dict[str, list[float]]:
    """Objective -> with an untrained prior minus alone, for each seed."""
    return {
        name: differences(accuracies(UNTRAINED, objective=name), accuracies(ALONE, objective=name))
        for name in OBJECTIVES
    }


def recorded_effects() -> dict[str, Measured]:
    """What the records say."""
    helped, alone = accuracies(UNTRAINED), accuracies(ALONE)
    best = max(constants().values(), key=statistics.fmean)
    found = {
        "R10 random": differences(helped, alone),
        "R10 stronger": differences(accuracies(STRONG), helped),
        "R10 insensitive": differences(accuracies(WEAK), accuracies(STRONG)),
        "R10 objectives": [min(seed) for seed in zip(*gains().values(), strict=True)],
        "R10 shuffled": differences(helped, accuracies(SHUFFLED)),
        "R10 pixels": differences(helped, accuracies(PIXELS)),
        "R10 longer": differences(helped, accuracies(ALONE, epochs=24)),
        "R10 teacher": differences(helped, prior_accuracies(UNTRAINED)),
        "R11 dynamic": differences(over_both(), over_both(subset="static")),
        "R11 adaptive": differences(over_both(schedule="adaptive"), best),
        "R11 ratio": differences(accuracies(STRONG, ratio=0.2), accuracies(STRONG, ratio=0.05)),
    }
    return measured(found, ON_SHAPES)


def gradient_effects(draws: int) -> dict[str, Measured]:
    """R9: eq 46 of random directions, against autograd of the loss."""
    found: dict[str, list[float]] = {"R9 gradient": [], "R9 dropped": []}
    for seed in range(draws):
        drawn = torch.randn((32, 8), generator=randomness.generator(seed, 0, "claim R9"), dtype=torch.float64)
        rows = F.normalize(drawn).requires_grad_()
        own, others = theory.simclr_gradient_terms(rows.detach()[:16], rows.detach()[16:], temperature=0.5)
        logits = (rows @ rows.T / 0.5).masked_fill(torch.eye(32, dtype=torch.bool), -torch.inf)
        (slope,) = torch.autograd.grad(F.cross_entropy(logits, torch.arange(32).roll(16)), rows)
        found["R9 gradient"].append(-float((own + others - slope).abs().max() / slope.abs().max()))
        found["R9 dropped"].append(1 - float(others.norm() / own.norm()))
    return measured(found, "random directions, 16 images, temperature .5")


def budget_effects(repeats: int) -> dict[str, Measured]:
    """R12, by the clock: all targets, then some steps of BYOL on all images, once per repeat."""
    world, place, found = SCALES["shapes"](Place()), Place(), []
    made = world.make_set(UNTRAINED, place)
    inputs = Inputs(distilled=made, device="cpu")
    config = world.config(ratio=1.0, schedule="constant", share=0.0)
    for seed in range(repeats):
        prior = world.make_prior(UNTRAINED, place, seed=seed)
        start = time.process_time()
        process.run(
            rela_d, rela_d.Config(network=world.network), Inputs(data=world.data, teachers=(prior,), device="cpu")
        )
        spent, state = time.process_time() - start, rela_f.init(config, inputs)
        start = time.process_time()
        for _ in range(_TIMED):
            state, _ = rela_f.update(config, inputs, state)
        step = (time.process_time() - start) / _TIMED
        found.append(1 - spent / (step * config.objective.steps_per_epoch(len(made))))
    return measured({"R12 budget": found}, f"{len(made)} images; an epoch from {_TIMED} of its updates")


def printed_effects() -> dict[str, Measured]:
    """The sentences, read against their tables."""
    holds = [float(sentence.holds) for sentence in printed_sentences.rela_tables()]
    return {"R10 printed": Measured(holds, f"{len(holds)} sentences, read against the paper's own numbers")}


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson: from the records, from `pairs` timings, and from the paper's tables."""
    return gradient_effects(EACH * pairs) | recorded_effects() | budget_effects(pairs) | printed_effects()
