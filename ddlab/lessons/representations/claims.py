"""Lesson 45: its claims, declared before any run, and what measures them: the records of ReLA, the clock, and the paper's own tables."""

from __future__ import annotations

import functools

from ..claims import Claim
from . import NAME

claim = functools.partial(Claim, lesson=NAME, test="small")
CONTROL = "control that the paper has not got"
PROBE = "accuracy of a linear probe"
FEW = "a tenth of the images in each epoch"
CLAIMS: list[Claim] = []

CLAIMS += [
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
