"""Lesson 21: its claims, declared before any run, and what measures them: records, draws of latents, and the paper's own tables."""

from __future__ import annotations

import functools
from statistics import fmean

import torch

from ... import records
from ...core import randomness
from ...theory import batch_norm_conflict as conflict
from ..claims import Claim
from ..shared.effects import Measured, differences, measured
from ..shared.printed_sentences import Sentence
from . import NAME
from . import experiments as diversity

claim = functools.partial(Claim, lesson=NAME, test="small")
CLAIMS: list[Claim] = []
ON_SHAPES = "shapes 16 px, ConvNet-3 of width 32"
ON_CIFAR = "CIFAR-10, 12,000 images, ConvNet-3 of width 48, 5 images per class"


def latents(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Points [2 + seed, 3] with a target mean [3] and variance [3], float64."""
    draw = randomness.generator(seed, 0, "latents of claim D2")
    points = torch.randn(2 + seed, 3, generator=draw, dtype=torch.float64)
    return (
        points,
        torch.randn(3, generator=draw, dtype=torch.float64),
        torch.rand(3, generator=draw, dtype=torch.float64) + 0.1,
    )


CLAIMS += [
    claim(
        "D2 factor",
        "DWA, eq 19",
        "The derivative of the squared variance gap is the printed one.",
        effect="printed derivative over autograd's, mean over all coordinates",
        claimed=1.0,
        test="exact",
    ),
    claim(
        "D2 one side",
        "DWA, eq 20",
        "The points on one side of the batch mean, and only they, are pulled apart by the two gaps.",
        effect="share of coordinates whose two derivatives are opposed exactly when eq 20 says so",
        claimed=1.0,
        test="exact",
    ),
    claim(
        "D2 batch",
        "DWA, A.1 and section 3.1",
        "The two gaps work against each other on the batch as a whole.",
        effect="minus the cosine between the two gradients over the whole batch",
        claimed=0.1,
        test="exact",
    ),
]


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


NONE, RANDOM, DIRECTED = ({"method": "DWA", "perturbation": kind} for kind in ("none", "random", "directed"))

CLAIMS += [
    claim(
        "D3 decoupled",
        "DWA, Fig 3b",
        "A larger weight on the variance gap alone teaches more than the same weight on both gaps.",
        effect="accuracy with lambda_var = .11 and lambda_mean = .01 minus accuracy with both .11; DWA, online labels",
        claimed=0.02,
    ),
    claim(
        "D3 best",
        "DWA, Fig 3b",
        "lambda_var = .11 teaches more than .01.",
        effect="accuracy with lambda_var = .11 minus accuracy with .01, lambda_mean = .01; DWA, online labels",
        claimed=0.02,
    ),
    claim(
        "D3 CIFAR-10",
        "DWA, Fig 3",
        "The same decoupling on CIFAR-10, from real images without adjustment.",
        effect="accuracy with lambda_var = .11 and lambda_mean = .01 minus accuracy with both .11; online labels",
        claimed=0.02,
    ),
    claim(
        "D4",
        "DWA, Fig 4",
        "Decoupling raises the normalised feature distance.",
        effect="feature distance (eq 21) with lambda_var = .11 alone over that with both .11, minus 1; DWA",
        claimed=0.05,
    ),
]


def weight_effects() -> dict[str, Measured]:
    """D3 and D4: the weight of the variance gap alone (decoupled) and together with the mean gap's (coupled), under DWA."""
    sweep = records.load("variance_sweep").where(method="DWA")
    apart, together = sweep.where(lambda_var=0.11, weights="decoupled"), sweep.where(lambda_var=0.11, weights="coupled")
    weak = sweep.where(lambda_var=0.01, weights="decoupled")
    found = {
        "D3 decoupled": differences(apart.values("online"), together.values("online")),
        "D3 best": differences(apart.values("online"), weak.values("online")),
        "D4": _ratios(apart.values("distance"), together.values("distance")),
    }
    return measured(found, f"{ON_SHAPES}, 5 images per class")


CLAIMS += [
    claim(
        "D5",
        "DWA, eq 11",
        "A perturbation of the weights raises the variance of the images.",
        effect="feature distance (eq 21) with a random perturbation over that without, minus 1; 10 images per class",
        claimed=0.05,
    ),
    claim(
        "D6",
        "DWA, eq 15",
        "The directed step lowers the loss on the data outside its batch.",
        effect="fall of the mean cross-entropy on the rest of the data, as a share of its value before",
        claimed=0.0,
    ),
    claim(
        "D7 directed",
        "DWA, Table 3",
        "At 10 images per class the directed adjustment teaches more than none.",
        effect="accuracy with directed adjustment minus accuracy without; online labels",
        claimed=0.02,
    ),
    claim(
        "D7 random",
        "DWA, Table 3",
        "At 10 images per class a random perturbation harms.",
        effect="accuracy without perturbation minus accuracy with a random one; online labels",
        claimed=0.02,
    ),
    claim(
        "D7 more images",
        "DWA, Table 3",
        "At 50 images per class a random perturbation no longer harms.",
        effect="accuracy with a random perturbation minus accuracy without; online labels",
        claimed=0.0,
    ),
    claim(
        "D7 CIFAR-10",
        "DWA, Table 3",
        "The directed adjustment teaches more than none, on CIFAR-10 with 5 images per class.",
        effect="accuracy with directed adjustment minus accuracy without; online labels",
        claimed=0.02,
    ),
]


def perturbation_effects() -> dict[str, Measured]:
    """D5, D7 and D12: none, random and directed at 10 and 50 images per class."""
    kinds = records.load("perturbation_kinds")
    ten, fifty = kinds.where(images_per_class=10), kinds.where(images_per_class=50)
    of_ten = {
        "D5": _ratios(ten.values("distance", **RANDOM), ten.values("distance", **NONE)),
        "D7 directed": differences(ten.values("online", **DIRECTED), ten.values("online", **NONE)),
        "D7 random": differences(ten.values("online", **NONE), ten.values("online", **RANDOM)),
        "D12": differences(ten.values("coverage", **DIRECTED), ten.values("coverage", method="SRe2L")),
    }
    of_fifty = {"D7 more images": differences(fifty.values("online", **RANDOM), fifty.values("online", **NONE))}
    return measured(of_ten, f"{ON_SHAPES}, 10 images per class") | measured(
        of_fifty, f"{ON_SHAPES}, 50 images per class"
    )


CLAIMS += [
    claim(
        "D8",
        "DWA, Fig 5",
        "The adjustment helps over a wide range of K and rho.",
        effect="accuracy, mean over K = 4, 12, 24 and rho = .005, .015, .05, minus accuracy without adjustment; online labels",
        claimed=0.01,
    ),
]


def grid_effect() -> dict[str, Measured]:
    """D8: nine cells of K x rho, each seed's mean, against no adjustment."""
    grid = records.load("adjustment_grid")
    cells = [
        grid.values("online", adjustment_steps=steps, adjustment_radius=radius)
        for steps in (4, 12, 24)
        for radius in (0.005, 0.015, 0.05)
    ]
    plateau = [fmean(seeds) for seeds in zip(*cells, strict=True)]
    return {"D8": Measured(differences(plateau, grid.values("online", **NONE)), f"{ON_SHAPES}, 5 images per class")}


def cifar_effects() -> dict[str, Measured]:
    """D3, D7 and D12 on CIFAR-10."""
    cifar = records.load("cifar10_small")
    apart, together = cifar.where(**NONE, lambda_mean=0.01, lambda_var=0.11), cifar.where(**NONE, lambda_mean=0.11)
    directed, sre2l = cifar.where(**DIRECTED), cifar.where(method="SRe2L")
    found = {
        "D3 CIFAR-10": differences(apart.values("online"), together.values("online")),
        "D7 CIFAR-10": differences(directed.values("online"), apart.values("online")),
        "D12 CIFAR-10": differences(directed.values("coverage"), sre2l.values("coverage")),
    }
    return measured(found, ON_CIFAR)


CLAIMS += [
    claim(
        "D9",
        "DWA, Table 1",
        "DWA's images teach more than SRe2L's.",
        effect="accuracy with DWA's images minus with SRe2L's; 10 images per class, online labels",
        claimed=0.05,
    ),
    claim(
        "D10",
        "DWA, Table 10",
        "When classes arrive in tasks, DWA's images teach more than SRe2L's at every stage.",
        effect="smallest difference over the stages, accuracy with DWA's images minus with SRe2L's",
        claimed=0.05,
    ),
    claim(
        "D11",
        "DWA, Table 11",
        "The adjustment adds 7.32% to the time of a recovery.",
        effect="CPU-seconds of the K = 12 steps over those of 1000 image updates",
        claimed=0.07,
    ),
    claim(
        "D12",
        "DWA, Fig 1",
        "DWA's images lie wider over the real ones than SRe2L's.",
        effect="nearest-neighbour coverage of 300 real images, DWA minus SRe2L; 10 images per class",
        claimed=0.05,
    ),
    claim(
        "D12 CIFAR-10",
        "DWA, Fig 1",
        "The same on CIFAR-10 with 5 images per class.",
        effect="nearest-neighbour coverage of 300 real images, DWA minus SRe2L",
        claimed=0.05,
    ),
    claim(
        "D13",
        "DWA, Table 9",
        "Recovered from a ViT with batch norm, too, DWA's images teach more than SRe2L's.",
        effect="accuracy with DWA's images minus with SRe2L's; teacher a ViT with batch norm, 10 images per class, online labels",
        claimed=0.05,
    ),
]


def against_sre2l_effect() -> dict[str, Measured]:
    """D9: the lead over SRe2L, for each seed."""
    kinds = records.load("perturbation_kinds")
    own = [kinds.values("online", images_per_class=10, **one) for one in (DIRECTED, {"method": "SRe2L"})]
    return {"D9": Measured(differences(*own), f"{ON_SHAPES}, 10 images per class")}


def continual_effect() -> dict[str, Measured]:
    """D10: the smallest lead over SRe2L among the five stages, for each seed."""
    tasks = records.load("continual")
    stages = [f"online_{seen}" for seen in (2, 4, 6, 8, 10)]
    leads = [differences(tasks.values(stage, method="DWA"), tasks.values(stage, method="SRe2L")) for stage in stages]
    smallest = [min(seed) for seed in zip(*leads, strict=True)]
    return {"D10": Measured(smallest, f"{ON_SHAPES}, 20 images per class, five tasks of two classes")}


def transformer_effect() -> dict[str, Measured]:
    """D13: the lead over SRe2L where a ViT with batch norm is the teacher, for each seed."""
    images = records.load("batch_norm_vit")
    lead = differences(images.values("online", method="DWA"), images.values("online", method="SRe2L"))
    return {"D13": Measured(lead, f"{ON_SHAPES}, a ViT of width 48 with batch norm as teacher, 10 images per class")}


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

CLAIMS += [
    claim(
        "D14",
        "DWA, introduction, sections 4.1 and 4.2, A.2",
        "What the paper's sentences say of its Tables 1 to 4, 10 and 11 agrees with these tables.",
        effect="sentences that their table bears out",
        claimed=1.0,
        test="table",
        every=True,
        counted=True,
    ),
]


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


def recorded_effects() -> dict[str, Measured]:
    """What the shipped records say, at 5, 10 and 50 images per class on shapes and on CIFAR-10."""
    return (
        weight_effects()
        | perturbation_effects()
        | grid_effect()
        | cifar_effects()
        | against_sre2l_effect()
        | continual_effect()
        | transformer_effect()
    )


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson: from the records, and `pairs` new draws where there is none."""
    data, teacher = diversity.trained_on_shapes()
    changes = [diversity.rest_change(data, teacher, seed=seed) for seed in range(pairs)]
    falls = [(change.rest_before - change.rest_after) / change.rest_before for change in changes]
    slower = diversity.overhead(data, teacher, repeats=pairs)
    read = [float(sentence.holds) for sentence in sentences()]
    drawn = measured(a1_effects(pairs), f"{pairs} draws of 2 to {pairs + 1} latents in 3 dimensions")
    others = {
        "D6": Measured(falls, f"{ON_SHAPES}, K = 12, rho = .015, one image per class"),
        "D11": Measured(slower, f"{ON_SHAPES}, one image per class, 1000 iterations"),
        "D14": Measured(read, "nine sentences, read against the paper's tables"),
    }
    return drawn | recorded_effects() | others


def _ratios(first: list[float], second: list[float]) -> list[float]:
    return [one / other - 1 for one, other in zip(first, second, strict=True)]
