"""Lesson 40: its claims, declared before any run, and what measures them: records, and the ranks of features."""

from __future__ import annotations

import functools

import torch

from ... import networks
from ...core import randomness
from ...distilled import bases
from ...networks import Network
from ...records.self_supervised import KRR_ST
from ...training.self_supervised import representations
from ..claims import Claim
from ..shared import unlabelled
from ..shared.effects import Measured, differences, measured
from ..shared.unlabelled import BUDGET, ON_SHAPES, PROBE, values
from . import NAME

claim = functools.partial(Claim, lesson=NAME, test="small")
CLAIMS: list[Claim] = []
_IMAGES = 1000  # of a draw, for the effective ranks

CLAIMS += [
    claim(
        "B1 real",
        "Boost, Table 4",
        "Principal components with projected coefficients are a better beginning than real images with random ones.",
        effect=f"{PROBE}, principal bases and projected coefficients minus real images as bases and random coefficients",
        claimed=0.02,
    ),
    claim(
        "B1 random",
        "Boost, Table 4",
        "Real images as bases are a better beginning than random ones, with random coefficients.",
        effect=f"{PROBE}, real minus random bases, both with random coefficients",
        claimed=0.02,
    ),
    claim(
        "B1 bases",
        "Boost, Table 4, arms crossed",
        "It is the bases: with projected coefficients too, principal ones are better than real images.",
        effect=f"{PROBE}, principal bases minus real images, both with projected coefficients",
        claimed=0.01,
    ),
    claim(
        "B1 coefficients",
        "Boost, Table 4, arms crossed",
        "It is the coefficients: of principal bases, projected ones are better than random ones.",
        effect=f"{PROBE}, projected minus random coefficients, both with principal bases",
        claimed=0.02,
    ),
]


def start_effects() -> dict[str, list[float]]:
    """B1: Table 4, and its arms crossed."""
    found = {
        (first, second): values(bases_start=first, coefficients_start=second)
        for first in ("principal", "real", "random")
        for second in ("projection", "random")
    }
    return {
        "B1 real": differences(found["principal", "projection"], found["real", "random"]),
        "B1 random": differences(found["real", "random"], found["random", "random"]),
        "B1 bases": differences(found["principal", "projection"], found["real", "projection"]),
        "B1 coefficients": differences(found["principal", "projection"], found["principal", "random"]),
    }


CLAIMS += [
    claim(
        "B2 parts",
        "Boost, Table 3",
        "Bases and coefficients help.",
        effect=f"{PROBE}, Boost without views minus KRR-ST, 20 images",
        claimed=0.01,
    ),
    claim(
        "B2 reset",
        "Boost, Algorithm 1 and KRR-ST's code",
        "Counting a network that was drawn anew from 0, which the authors' code forgets, makes a better set.",
        effect=f"{PROBE}, KRR-ST with the counter reset minus without",
        claimed=0.01,
    ),
]


def part_effects() -> dict[str, list[float]]:
    """B2: Table 3's first step, and the switch that the authors' code forgets."""
    plain = values(method=KRR_ST)
    return {
        "B2 parts": differences(values(augmentation="none"), plain),
        "B2 reset": differences(plain, values(method=KRR_ST, reset=False)),
    }


CLAIMS += [
    claim(
        "B7",
        "Boost, section 1",
        "Representations of self-supervised teachers span few dimensions.",
        effect="one minus the effective rank of the teacher's centred representations as a part of their dimension",
        claimed=0.5,
    ),
    claim(
        "B7 learnt",
        "Boost, section 1",
        "Learning without labels makes the directions few: an untrained network's representations span more.",
        effect="effective rank of an untrained network's centred features minus that of the teacher's, as a part of their dimension",
        claimed=0.05,
    ),
]


def rank_effects(seeds: range) -> dict[str, list[float]]:
    """B7: effective ranks of the one shipped teacher and of an untrained network for each seed, on a draw of images for each seed."""
    teacher = unlabelled.teacher()
    found: dict[str, list[float]] = {"B7": [], "B7 learnt": []}
    for seed in seeds:
        fresh = networks.initialise(teacher.spec, seed=seed)
        shares = [rank_share(network, seed=seed) for network in (teacher, fresh)]
        found["B7"].append(1 - shares[0])
        found["B7 learnt"].append(shares[1] - shares[0])
    return found


def rank_share(network: Network, *, seed: int) -> float:
    """Effective rank of a network's centred features of a thousand random training images, as a part of their dimension.

    It is that of the covariance's eigenvalues; of the features' singular values, their roots, it would be larger.
    """
    features = representations(network, unlabelled.world().data, device="cpu")
    draw = randomness.generator(seed, 0, "images for the rank")
    some = features[torch.randperm(len(features), generator=draw)[:_IMAGES]]
    return bases.effective_rank(bases.spectrum(some)) / some.shape[1]


def recorded_effects() -> dict[str, Measured]:
    """What the shipped records say."""
    return measured(start_effects() | part_effects(), f"{ON_SHAPES}, {BUDGET} images")


def quick_effects(seeds: range) -> dict[str, Measured]:
    """B7, which needs no distillation."""
    words = f"{_IMAGES} images of each draw, {unlabelled.SETTING} (one teacher; untrained networks of one seed each)"
    return measured(rank_effects(seeds), words)


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson: from the records, and from `pairs` new draws where there is none."""
    return recorded_effects() | quick_effects(range(pairs))
