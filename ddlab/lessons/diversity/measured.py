"""Lesson 21: the effects behind its claims, from the records, from draws of latents, and from the paper's own tables."""

from __future__ import annotations

from statistics import fmean

import torch

from ... import records
from ...core import randomness
from ...theory import batch_norm_conflict as conflict
from .. import claims
from ..claims import Verdict
from ..shared.printed_sentences import Sentence
from . import experiments as diversity

ON_SHAPES = "shapes 16 px, ConvNet-3 of width 32"
ON_CIFAR = "CIFAR-10, 12,000 images, ConvNet-3 of width 48, 5 images per class"


# Accuracies in percent as printed: Table 3, CIFAR-100 (none, random, directed) at 10 and at 50 images per class.
TABLE_3 = {
    "ResNet-18": ((30.6, 14.9, 39.6), (56.1, 56.2, 60.3)),
    "ResNet-50": ((26.5, 15.0, 35.2), (55.7, 57.1, 60.6)),
    "MobileNetV2": ((18.2, 14.4, 27.8), (46.9, 50.7, 53.6)),
    "ShuffleNet": ((10.3, 10.7, 19.4), (30.9, 39.1, 41.7)),
    "EfficientNet": ((11.8, 11.1, 20.2), (28.6, 38.8, 40.7)),
}
# Table 4, CIFAR-100, ResNet-18 then ConvNet-128 as teacher, 10 then 50 images per class: SRe2L and DWA for each student.
TABLE_4 = {
    "MobileNetV2": ((16.1, 27.8), (43.2, 53.6), (28.7, 37.3), (48.8, 53.5)),
    "ShuffleNet": ((11.8, 19.4), (27.5, 41.7), (25.3, 25.3), (49.3, 44.37)),
    "EfficientNet": ((11.1, 20.2), (24.9, 40.7), (18.0, 24.5), (45.7, 45.7)),
    "VGG-16": ((19.2, 30.0), (40.4, 51.6), (21.5, 29.6), (38.9, 38.9)),
    "ResNet-50": ((22.4, 35.2), (52.8, 60.6), (41.8, 47.1), (53.4, 56.3)),
    "ConvNet-128": ((19.4, 27.3), (19.4, 37.0)),
}
TABLE_10 = {"SRe2L": (15.7, 10.6, 9.0, 7.9, 6.9), "DWA": (34.6, 25.7, 22.5, 20.2, 18.1)}
SECONDS = {"SRe2L": 116.58, "DWA": 125.12}  # Table 11, one image per class of CIFAR-100


def sentences() -> list[Sentence]:
    """Sentences of the paper beside its own tables, in our words."""
    small = [row[0] for row in TABLE_3.values()]
    large = [row[1] for row in TABLE_3.values()]
    cells = [pair for row in TABLE_4.values() for pair in row]
    overhead = SECONDS["DWA"] / SECONDS["SRe2L"] - 1
    examples = ("ShuffleNet", "EfficientNet", "ConvNet-128")
    return [
        Sentence(
            "DWA adds less than 0.1% of computation", "introduction", f"Table 11: {overhead:.1%}; K / T = 1.2%", overhead < 0.001
        ),
        Sentence(
            "On CIFAR-10 and CIFAR-100 it gains at least 5 and 8 points over SRe2L", "4.1",
            "Table 1: 5.4 and 5.6; 8.0 and 8.7",
            min(32.6 - 27.2, 53.1 - 47.5) >= 5 and min(round(39.6 - 31.6, 1), round(60.9 - 52.2, 1)) >= 8,
        ),
        Sentence(
            "On CIFAR-100 with 50 images per class it gains over 10 points over MTT", "4.1", "Table 1: 59.0 and 47.7",
            59.0 - 47.7 > 10,
        ),
        Sentence(
            "On ImageNet-1K with 10 images per class it gains 16.6 points", "4.1", "Table 2: 37.9 and 21.3",
            round(37.9 - 21.3, 1) == 16.6,
        ),
        Sentence(
            "At 10 images per class a random perturbation degrades, across architectures", "4.2",
            "Table 3: ShuffleNet 10.3 without, 10.7 with it", all(random < none for none, random, _ in small),
        ),
        Sentence(
            "At 50 images per class it improves", "4.2", "Table 3: in all five rows, by .1 to 10.2",
            all(random > none for none, random, _ in large),
        ),
        Sentence(
            "The larger weight on the variance gap alone improves on SRe2L", "4.2, Fig 3",
            "ResNet-18, 10 images per class: 30.6 without adjustment (Table 3), SRe2L 31.6", small[0][0] > 31.6,
        ),
        Sentence(
            "DWA's images serve all architectures better", "4.2",
            "Table 4: ConvNet-128 to ShuffleNet, 50 images per class, 44.37 against SRe2L's 49.3; three cells equal",
            all(ours >= theirs for theirs, ours in cells),
        ),
        Sentence(
            "Its three examples of Table 4 gain 14.2, 15.8 and 17.6 points", "4.2", "Table 4: the same",
            [round(TABLE_4[name][1][1] - TABLE_4[name][1][0], 1) for name in examples] == [14.2, 15.8, 17.6],
        ),
        Sentence(
            "In continual learning it is ahead at every stage", "A.2.4", "Table 10: by 18.9 to 11.2",
            all(ours > theirs for theirs, ours in zip(TABLE_10["SRe2L"], TABLE_10["DWA"], strict=True)),
        ),
    ]  # fmt: skip


def latents(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Points [2 + seed, 3] with a target mean [3] and variance [3], float64."""
    draw = randomness.generator(seed, 0, "latents of claim D2")
    points = torch.randn(2 + seed, 3, generator=draw, dtype=torch.float64)
    return (
        points,
        torch.randn(3, generator=draw, dtype=torch.float64),
        torch.rand(3, generator=draw, dtype=torch.float64) + 0.1,
    )


def a1_effects(draws: int) -> dict[str, list[float]]:
    """D2: for each draw of latents the printed factor over autograd's, the share of signs eq 20 foresees, minus the batch's cosine."""
    effects: dict[str, list[float]] = {"D2 factor": [], "D2 one side": [], "D2 batch": []}
    for seed in range(draws):
        points, mean, variance = latents(seed)
        leaf = points.requires_grad_()
        (to_mean,) = torch.autograd.grad(conflict.mean_gap(leaf, mean), leaf)
        (to_variance,) = torch.autograd.grad(conflict.variance_gap(leaf, variance), leaf)
        points = points.detach()
        printed = conflict.printed_variance_gap_gradient(points, variance)
        effects["D2 factor"].append(float((printed / to_variance).mean()))
        r = (points.mean(0) - mean) * (points.var(0, correction=0) - variance)
        foreseen = r * (points - points.mean(0)) < 0
        effects["D2 one side"].append(float(((to_mean * to_variance < 0) == foreseen).double().mean()))
        effects["D2 batch"].append(-float((to_mean * to_variance).sum() / (to_mean.norm() * to_variance.norm())))
    return effects


Effects = dict[str, tuple[list[float], str]]
"""claim -> (one effect per pair, setting)."""

NONE, RANDOM, DIRECTED = ({"method": "DWA", "perturbation": kind} for kind in ("none", "random", "directed"))


def recorded_effects() -> Effects:
    """What the shipped records say, at 5, 10 and 50 images per class on shapes and on CIFAR-10."""
    return weight_effects() | perturbation_effects() | grid_effect() | cifar_effects() | continual_effect()


def weight_effects() -> Effects:
    """D3 and D4: the weight of the variance gap alone (decoupled) and together with the mean gap's (coupled), under DWA."""
    sweep, setting = records.load("variance_sweep").where(method="DWA"), f"{ON_SHAPES}, 5 images per class"
    apart, together = sweep.where(lambda_var=0.11, weights="decoupled"), sweep.where(lambda_var=0.11, weights="coupled")
    weak = sweep.where(lambda_var=0.01, weights="decoupled")
    return {
        "D3 decoupled": (_differences(apart.values("online"), together.values("online")), setting),
        "D3 best": (_differences(apart.values("online"), weak.values("online")), setting),
        "D4": (_ratios(apart.values("distance"), together.values("distance")), setting),
    }


def perturbation_effects() -> Effects:
    """D5, D7 and D12: none, random and directed at 10 and 50 images per class."""
    kinds = records.load("perturbation_kinds")
    ten, fifty = kinds.where(images_per_class=10), kinds.where(images_per_class=50)
    at_ten, at_fifty = (f"{ON_SHAPES}, {count} images per class" for count in (10, 50))
    coverage = _differences(ten.values("coverage", **DIRECTED), ten.values("coverage", method="SRe2L"))
    return {
        "D5": (_ratios(ten.values("distance", **RANDOM), ten.values("distance", **NONE)), at_ten),
        "D7 directed": (_differences(ten.values("online", **DIRECTED), ten.values("online", **NONE)), at_ten),
        "D7 random": (_differences(ten.values("online", **NONE), ten.values("online", **RANDOM)), at_ten),
        "D7 more images": (_differences(fifty.values("online", **RANDOM), fifty.values("online", **NONE)), at_fifty),
        "D12": (coverage, at_ten),
    }


def grid_effect() -> Effects:
    """D8: nine cells of K x rho, each seed's mean, against no adjustment."""
    grid = records.load("adjustment_grid")
    cells = [
        grid.values("online", adjustment_steps=steps, adjustment_radius=radius)
        for steps in (4, 12, 24)
        for radius in (0.005, 0.015, 0.05)
    ]
    plateau = [fmean(seeds) for seeds in zip(*cells, strict=True)]
    return {"D8": (_differences(plateau, grid.values("online", **NONE)), f"{ON_SHAPES}, 5 images per class")}


def cifar_effects() -> Effects:
    """D3, D7 and D12 on CIFAR-10."""
    cifar = records.load("cifar10_small")
    apart, together = cifar.where(**NONE, lambda_mean=0.01, lambda_var=0.11), cifar.where(**NONE, lambda_mean=0.11)
    directed, sre2l = cifar.where(**DIRECTED), cifar.where(method="SRe2L")
    return {
        "D3 CIFAR-10": (_differences(apart.values("online"), together.values("online")), ON_CIFAR),
        "D7 CIFAR-10": (_differences(directed.values("online"), apart.values("online")), ON_CIFAR),
        "D12 CIFAR-10": (_differences(directed.values("coverage"), sre2l.values("coverage")), ON_CIFAR),
    }


def continual_effect() -> Effects:
    """D10: the smallest lead over SRe2L among the five stages, for each seed."""
    tasks = records.load("continual")
    stages = [f"online_{seen}" for seen in (2, 4, 6, 8, 10)]
    leads = [_differences(tasks.values(stage, method="DWA"), tasks.values(stage, method="SRe2L")) for stage in stages]
    smallest = [min(seed) for seed in zip(*leads, strict=True)]
    return {"D10": (smallest, f"{ON_SHAPES}, 20 images per class, five tasks of two classes")}


def verdicts(pairs: int) -> list[Verdict]:
    """All claims of the lesson: from the records, and `pairs` new draws where there is none."""
    data, teacher = diversity.trained_on_shapes()
    changes = [diversity.rest_change(data, teacher, seed=seed) for seed in range(pairs)]
    found = {
        name: (values, f"{pairs} draws of 2 to {pairs + 1} latents in 3 dimensions")
        for name, values in a1_effects(pairs).items()
    }
    found |= recorded_effects()
    found["D6"] = (
        [(c.rest_before - c.rest_after) / c.rest_before for c in changes],
        f"{ON_SHAPES}, K = 12, rho = .015, one image per class",
    )
    found["D11"] = (
        diversity.overhead(data, teacher, repeats=pairs),
        f"{ON_SHAPES}, one image per class, 1000 iterations",
    )
    found["D14"] = (
        [float(sentence.holds) for sentence in sentences()],
        "ten sentences, read against the paper's tables",
    )
    return [claims.judge(name, values, setting=setting) for name, (values, setting) in found.items()]


def _differences(first: list[float], second: list[float]) -> list[float]:
    return [one - other for one, other in zip(first, second, strict=True)]


def _ratios(first: list[float], second: list[float]) -> list[float]:
    return [one / other - 1 for one, other in zip(first, second, strict=True)]
