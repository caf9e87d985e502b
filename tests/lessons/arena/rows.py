"""What the tests of all lessons ask of lesson 80; `tests.lessons.rows` says which."""

import functools
from statistics import fmean
from typing import Any

import torch
from scipy import stats

from ddlab import records
from ddlab.core.interval import interval
from ddlab.evaluation.measures import augmentation_robust_score, label_robust_score
from tests.lessons.gains import Gain, gain
from tests.lessons.rows import Recipe
from tests.lessons.whole_method import (
    Row,
    Tensors,
    numbers,
    run,
)


def compared_fairly(source: str) -> Tensors:
    page = run(source, t=stats.t)
    return [
        torch.stack(
            page["fair"](
                numbers(1.0), numbers(3.0), lambda x, y, seed: x.sum() + seed * y.sum(), float
            )
        )
    ]


def interval_of_the_library() -> Tensors:
    gains = [float(numbers(1.0)(seed)[0].sum() - numbers(3.0)(seed)[0].sum()) for seed in range(5)]
    limits = interval(gains)
    assert limits is not None
    return [torch.tensor([sum(gains) / 5, *limits]).double()]


def arena(
    method: str, rival: str, training: str = "class labels", rival_training: str = "", **cell: str
) -> Gain:
    """Of lesson 80's record, one image of each digit where `cell` says nothing else."""
    rows = {(row["method"], row["training"]): row["accuracies"] for row in placed(**cell)}
    return gain(rows[method, training], rows[rival, rival_training or training])


def placed(data: str = "digits", budget: str = "1") -> list[dict[str, Any]]:
    return [
        row
        for row in records.load("arena").rows
        if (row["data"], row["budget"]) == (data, budget) and row["accuracies"]
    ]


def methods_placed(budget: str) -> list[tuple[str, str]]:
    """(method, training) of each row of digits of this budget."""
    return [(row["method"], row["training"]) for row in placed(budget=budget)]


def ten_shapes() -> list[str]:
    """The methods by class labels, the best first."""
    rows = [row for row in placed("shapes", "10") if row["training"] == "class labels"]
    return [row["method"] for row in sorted(rows, key=lambda row: -fmean(row["accuracies"]))]


@functools.cache
def robust_scores() -> dict[str, tuple[float, float]]:
    """LRS and ARS of the methods in the page's table, by the record."""
    rows = {(row["method"], row["training"]): row for row in placed()}
    (everything,) = placed(budget="all")
    whole = fmean(everything["accuracies"])
    scores = {}
    for name in ("class means", "dsa", "mtt", "dd"):
        missing = whole - fmean(rows[name, "class labels"]["accuracies"])
        views, without = (fmean(rows[name, kind]["gains"]) for kind in ("class labels", "no views"))
        own = fmean(rows[name, "own"]["gains"])
        scores[name] = (
            label_robust_score(own, missing),
            augmentation_robust_score(views, without),
        )
    return scores


PLAIN = ("random", "herding", "nearest to centres", "class means")


LEARNED = tuple({row["method"] for row in placed()} - {*PLAIN})


METHODS = {
    "a fair comparison": Row(
        compared_fairly, interval_of_the_library, ("/ len(gains) ** 0.5", ""), tolerance=1e-6
    ),
}


LABS = {
    "ArenaLab": lambda g: {},
    "ChoiceLab": lambda g: {},
}


RECIPES = [
    Recipe("Which method, at", (("labels", "own"), ("method", "dd"))),
]


SENTENCES = [
    (
        "No learned set of one image for each digit is ahead of class means when all have "
        "class labels",
        lambda: not any(arena(name, "class means").mean > 0 for name in LEARNED),
    ),
    (
        "| nearest to centres | .976, and no method is ahead |",
        lambda: (
            not any(
                arena(name, "nearest to centres", training, "class labels", budget="floats").ahead
                for name, training in methods_placed("floats")
                if name not in PLAIN and training in ("class labels", "own")
            )
        ),
    ),
    (
        "most are behind",
        lambda: sum(arena(name, "class means").behind for name in LEARNED) == len(LEARNED) - 2,
    ),
    (
        "| DD | .069 ahead of class means (.047 to .091) |",
        lambda: (
            [round(value, 3) for value in arena("dd", "class means", "own", "class labels")]
            == [0.069, 0.047, 0.091]
        ),
    ),
    (
        "the images of DD and SLDD teach less than random ones",
        lambda: all(arena(name, "random").behind for name in ("dd", "sldd")),
    ),
    (
        "only MTT's images keep a gain that five seeds can tell from zero",
        lambda: (
            [
                name
                for name in (
                    "sre2l",
                    "dwa",
                    "fadrm",
                    "rded",
                    "kip",
                    "ls",
                    "ld",
                    "dd",
                    "sldd",
                    "mtt",
                    "gtn",
                )
                if arena(name, "random").ahead
            ]
            == ["mtt"]
        ),
    ),
    (
        "random images with the same teacher gain .185",
        lambda: round(arena("random", "random", "teacher", "class labels").mean, 3) == 0.185,
    ),
    (
        "on LeNet MTT is .031 ahead (.005 to .056)",
        lambda: (
            [round(value, 3) for value in arena("mtt", "class means", "lenet")]
            == [0.031, 0.005, 0.056]
        ),
    ),
    (
        "| herding or class means | no method is ahead beyond chance |",
        lambda: (
            arena("herding", "class means", "teacher").unseen
            and not any(arena(name, "class means", "teacher").ahead for name in LEARNED)
        ),
    ),
    (
        "Class means have the highest scores of these four, and DD the lowest",
        lambda: all(
            sorted(robust_scores(), key=lambda name: -robust_scores()[name][which])[0]
            == "class means"
            and min(robust_scores(), key=lambda name: robust_scores()[name][which]) == "dd"
            for which in (0, 1)
        ),
    ),
    (
        "| herding | .435 with ten images, and no method is ahead |",
        lambda: (
            not any(
                arena(row["method"], "herding", data="shapes", budget="10").mean > 0
                for row in placed("shapes", "10")
                if row["training"] == "class labels"
            )
        ),
    ),
    (
        "class means are first among digits and thirteenth of twenty with ten of each shape",
        lambda: (
            ten_shapes()[0] == "herding"
            and ten_shapes().index("class means") == 12
            and len(ten_shapes()) == 20
        ),
    ),
    (
        "| MTT | .061 ahead of random images (.035 to .087) |",
        lambda: (
            [
                round(value, 3)
                for value in arena("mtt", "random", "teacher", data="shapes", budget="10")
            ]
            == [0.061, 0.035, 0.087]
        ),
    ),
]
