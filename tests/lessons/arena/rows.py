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


def points(lead: Gain) -> list[float]:
    """A gain in percentage points, as the page prints it."""
    return [round(100 * value, 1) for value in lead]


def over_networks(method: str) -> Gain:
    """The mean over a ConvNet, a LeNet and an MLP, minus that of class means."""
    rows = {(row["method"], row["training"]): row["accuracies"] for row in placed()}
    means = []
    for name in (method, "class means"):
        by_network = [rows[name, network] for network in ("class labels", "lenet", "mlp")]
        means.append([fmean(seeds) for seeds in zip(*by_network, strict=True)])
    return gain(*means)


def ranked(data: str, budget: str) -> list[str]:
    """The methods by class labels, the best first."""
    rows = [row for row in placed(data, budget) if row["training"] == "class labels"]
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


SENTENCES = [
    (
        "No learned set of one image for each digit is ahead of class means when all have "
        "class labels",
        lambda: not any(arena(name, "class means").mean > 0 for name in LEARNED),
    ),
    (
        "| nearest to centres | 97.6%, and no method is ahead |",
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
        "| DD | with its own labels, 6.9 points ahead of class means with class labels (4.7 to 9.1); with "
        "a teacher's labels for class means, 4.8 points ahead (1.7 to 7.8) |",
        lambda: (
            points(arena("dd", "class means", "own", "class labels")) == [6.9, 4.7, 9.1]
            and points(arena("dd", "class means", "own", "teacher")) == [4.8, 1.7, 7.8]
        ),
    ),
    (
        "students of DD's and SLDD's images end behind students of random ones",
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
        "A teacher's labels alone raise students of random images by 18.5 points.",
        lambda: round(arena("random", "random", "teacher", "class labels").mean, 3) == 0.185,
    ),
    (
        "over three networks DSA is level with class means (+.2 points, -1.4 to +1.8), MTT too (-2.6, "
        "-6.0 to +.8), although MTT leads on LeNet",
        lambda: (
            points(over_networks("dsa")) == [0.2, -1.4, 1.8]
            and points(over_networks("mtt")) == [-2.6, -6.0, 0.8]
            and arena("mtt", "class means", "lenet").ahead
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
        "Class means and DSA have the highest scores of these four and can't be told apart; DD has the "
        "lowest",
        lambda: all(
            {*sorted(robust_scores(), key=lambda name: -robust_scores()[name][which])[:2]}
            == {"class means", "dsa"}
            and min(robust_scores(), key=lambda name: robust_scores()[name][which]) == "dd"
            for which in (0, 1)
        ),
    ),
    (
        "| herding | 43.5% with ten images, and no method is ahead |",
        lambda: (
            not any(
                arena(row["method"], "herding", data="shapes", budget="10").mean > 0
                for row in placed("shapes", "10")
                if row["training"] == "class labels"
            )
        ),
    ),
    (
        "with one image of each class, class means are first among digits and among shapes; with ten "
        "they are fifth among digits and thirteenth among shapes",
        lambda: (
            [
                ranked(data, budget).index("class means") + 1
                for budget in ("1", "10")
                for data in ("digits", "shapes")
            ]
            == [1, 1, 5, 13]
            and ranked("shapes", "10")[0] == "herding"
        ),
    ),
    (
        "| MTT | 6.1 points ahead of random images (3.5 to 8.7) |",
        lambda: (
            points(arena("mtt", "random", "teacher", data="shapes", budget="10")) == [6.1, 3.5, 8.7]
        ),
    ),
]
