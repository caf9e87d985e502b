"""Sentences that rest on a number are true of it: one row for each, the words as they stand on the
page, and what they say of a record
or of what the page computes.

A row fails where the sentence is gone, and where its number says otherwise: both times somebody
should read it again.
"""

import functools
import json
import re
from collections import defaultdict
from collections.abc import Callable
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from ddlab import records
from ddlab.core.interval import interval
from ddlab.data import load
from ddlab.evaluation.measures import augmentation_robust_score, label_robust_score
from ddlab.evaluation.network_search import rank_correlation
from ddlab.lessons.at_work import lab as work
from ddlab.lessons.build import NOTEBOOKS
from ddlab.lessons.ideal_data import checks as ideal_data
from ddlab.lessons.ideal_data import toys as toy_world
from ddlab.lessons.kernels import plane as kernel_plane
from ddlab.networks import initialise


class Gain(NamedTuple):
    """Differences of pairs: their mean, and its 95% interval."""

    mean: float
    low: float
    high: float

    @property
    def ahead(self) -> bool:
        return self.low > 0

    @property
    def behind(self) -> bool:
        return self.high < 0

    @property
    def unseen(self) -> bool:
        return self.low <= 0 <= self.high


def gain(new: list[float], old: list[float]) -> Gain:
    pairs = [a - b for a, b in zip(new, old, strict=True)]
    span = interval(pairs)
    assert span is not None
    return Gain(fmean(pairs), *span)


def between(
    table: str, column: str, new: dict[str, Any], old: dict[str, Any], **shared: Any
) -> Gain:
    """Of a record: rows that differ in these columns."""
    table_rows = records.load(table)
    return gain(
        table_rows.values(column, **shared | new), table_rows.values(column, **shared | old)
    )


def mean(table: str, column: str, **conditions: Any) -> float:
    return fmean(records.load(table).values(column, **conditions))


@functools.cache
def toys(exact: bool) -> Any:
    """Lesson 10: the seven Sigmas."""
    seeds = 20 if exact else 100
    configs = [
        toy_world.Config(deviation=sigma, seeds=seeds, exact_gradient=exact)
        for sigma in ideal_data.SIGMAS
    ]
    return ideal_data.on_original(toy_world.train(configs))


def toy(measure: str, new: float, old: float, exact: bool = False) -> Gain:
    values = getattr(toys(exact), measure)[-1]
    return gain(*(values[ideal_data.SIGMAS.index(sigma)].tolist() for sigma in (new, old)))


@functools.cache
def taught_toys() -> dict[str, Any]:
    usual = toy_world.Config(deviation=1.0, seeds=100)
    configs = [
        usual,
        *(usual.replace(relabelling=1.0, teacher=name) for name in ideal_data.TEACHERS),
    ]
    judged = ideal_data.on_original(toy_world.train(configs))
    return {"error": judged.mean_squared_error[-1], "right": judged.accuracy_fraction[-1]}


def teachers(measure: str, new: int, old: int) -> Gain:
    values = taught_toys()[measure]
    return gain(values[new].tolist(), values[old].tolist())


def matching(data: str, new: str, old: str) -> Gain:
    return between("matching", "hard", {"rule": new}, {"rule": old}, data=data)


RIVALS_OF_DM = ("random", "k_means", "herding", "centres", "DC")


def diverse(column: str, new: tuple, old: tuple) -> Gain:
    names = ("start", "lambda_var", "push")
    return between(
        "diversity", column, dict(zip(names, new, strict=True)), dict(zip(names, old, strict=True))
    )


def against_real(column: str) -> Gain:
    """DWA's images, minus the random real ones that they began as."""
    dwa = {"start": "real", "lambda_var": 0.11, "push": "directed"}
    return between("diversity", column, dwa, {"start": "real images"})


def memories(new: str, old: str, count: int, column: str = "last") -> Gain:
    return between("memories", column, {"memory": new}, {"memory": old}, exemplars=count)


def recovered(images: str, labels: str, rival: str = "real") -> Gain:
    return between("recovered", "accuracy", {"images": images}, {"images": rival}, labels=labels)


RECOVERIES = (
    "recovered from noise",
    "recovered from noise, rate 1",
    "recovered from real",
    "recovered from real, rate .02",
    "recovered from real, rate 1",
)


def starts(learner: str, steps: int, images: str) -> Gain:
    return between(
        "unrolled_starts",
        "others",
        {"images": images},
        {"images": "class means"},
        learner=learner,
        steps=steps,
    )


def paths(column: str, new: str, old: str, steps: int = 10) -> Gain:
    return between("trajectories", column, {"images": new}, {"images": old}, steps=steps)


def labelled(times: int) -> Gain:
    network_name = "the learner's network"
    return between(
        "learned_labels",
        "accuracy",
        {"pictures": "learned labels"},
        {"pictures": "true labels"},
        times=times,
        network=network_name,
    )


def pictured(count: int, pictures: str = "shapes", rival: str = "one real digit") -> Gain:
    """Return what pictures with learned labels gain over ten real images of a kind."""
    return between(
        "learned_labels",
        "accuracy",
        {"pictures": pictures, "count": count},
        {"pictures": rival, "count": 10},
        network=LEARNER,
    )


def kernel_lead(data: str, rule: str, rival: str, count: int, rival_count: int = 0) -> Gain:
    """Return how far a rule's support points are ahead of a rival's in lesson 50's record."""
    return between(
        "kernel_points",
        "accuracy",
        {"rule": rule, "images_per_class": count},
        {"rule": rival, "images_per_class": rival_count or count},
        data=data,
    )


def dots_of_kip(kernel: str) -> float:
    """Return the accuracy of four support points in lesson 50's plane after all updates."""
    view = kernel_plane.Plane(kernel=kernel, updates=60)
    return kernel_plane.right_fraction(view, kernel_plane.support_of(view))


def distances_to_dots(kernel: str) -> list[float]:
    """Return the distance of each of these points to the nearest real dot."""
    support = kernel_plane.support_of(kernel_plane.Plane(kernel=kernel, updates=60))
    dots, _ = kernel_plane.real_dots()
    return torch.cdist(support, dots).amin(1).tolist()


def curriculum(rival: str) -> Gain:
    return between(
        "generative_teaching",
        "accuracy",
        {"variant": "GTN"},
        {"variant": rival},
        shuffled="nothing",
    )


def shuffled_gain(variant: str, kept: str, shuffled: str) -> Gain:
    """What a plan loses when it is shuffled in another way."""
    return between(
        "generative_teaching",
        "accuracy",
        {"shuffled": kept},
        {"shuffled": shuffled},
        variant=variant,
    )


def lost_by_order(variant: str) -> Gain:
    return shuffled_gain(variant, "nothing", "within classes")


def lost_by_balance(variant: str) -> Gain:
    return shuffled_gain(variant, "within classes", "everything")


def target_gain(objective: str, prior: str = "untrained") -> Gain:
    return between(
        "representations",
        "accuracy",
        {"prior": prior},
        {"prior": "none"},
        objective=objective,
        updates=600,
    )


def few_images(prior: str) -> Gain:
    """What half of the images with a prior's targets gain over all images without, by BYOL."""
    return between(
        "few_updates",
        "accuracy",
        {"prior": prior, "share": 0.5},
        {"prior": "none", "share": 1.0},
        network="ConvNet",
        schedule="switch",
        subset="dynamic",
    )


def stable_rates() -> Gain:
    """What weight normalisation gains at sixteen times the usual rate."""
    return between(
        "teaching_stability",
        "accuracy",
        {"weight_norm": True},
        {"weight_norm": False},
        rate=0.32,
    )


def two_sizes(ratio: float) -> float:
    """How far FADRM at two sizes is ahead of FADRM at one, for a merge ratio."""
    return between(
        "residuals",
        "online",
        {"small_size": 48},
        {"small_size": None},
        method="FADRM",
        merge_ratio=ratio,
        merges=3,
        patches="real",
        precision="float32",
    ).mean


def residual(new: str, old: str = "patches") -> Gain:
    return between("residual_pairs", "accuracy", {"images": new}, {"images": old})


def unlabelled(new: str, old: str = "real") -> Gain:
    return between("unlabelled_sets", "accuracy", {"images": new}, {"images": old})


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


SEARCH, SHORT = (work.search("digits", "1", updates) for updates in ("150", "15"))


def weights_of_networks() -> np.ndarray:
    digits = load("digits")
    networks = [initialise(spec.for_data(digits), seed=0) for spec in SEARCH.networks]
    return np.array([sum(w.numel() for w in network.weights.values()) for network in networks])


def ranked(proxy: str, rival: str) -> Gain:
    """Of lesson 85's record: rank correlations with one image of each digit, draw by draw."""
    return gain(SEARCH.correlation(proxy), SEARCH.correlation(rival))


def students_of(proxy: str) -> float:
    """The mean accuracy of a proxy's students, over networks and draws."""
    return fmean(map(fmean, SEARCH.proxies[proxy].accuracies))


def in_turn(table: str, method: str, rival: str) -> Gain:
    """After all ten classes, trained anew on the sets."""
    return between(table, "hard_10", {"method": method}, {"method": rival})


def followed(images: str, rival: str) -> Gain:
    """Exchanged colours that are taken for the class, where half of the images had its colour."""
    return between("biased", "followed", {"images": images}, {"images": rival}, colours="half")


def choice_effects(proxy: str) -> dict[tuple[str, str], float]:
    accuracies = np.mean(SEARCH.proxies[proxy].accuracies, axis=0)
    return work.choice_effects(SEARCH.networks, accuracies)


def remembered(memory: str, rival: str) -> Gain:
    """Accuracy on ten digits at the end with one image of each that is gone."""
    last = defaultdict[str, list[float]](list)
    for row in records.load("remembering").rows:
        last[row["memory"]].append(row["accuracies"][-1])
    return gain(last[memory], last[rival])


PLAIN = ("random", "herding", "nearest to centres", "class means")
LEARNED = tuple({row["method"] for row in placed()} - {*PLAIN})
REAL = ("real", 0.11, "none")
NOISE = ("noise", 0.01, "none")
LEARNER = "the learner's network"
ROWS: list[tuple[str, str, Callable[[], bool]]] = [
    (
        "05",
        "**On digits, DM is ahead of every rival**, by two points of class means and by twenty of "
        "random real images",
        lambda: (
            all(matching("digits", "DM", rival).ahead for rival in RIVALS_OF_DM)
            and 0.015 < matching("digits", "DM", "centres").mean < 0.025
            and 0.19 < matching("digits", "DM", "random").mean < 0.21
        ),
    ),
    (
        "05",
        "teach about twenty points more than ten random ones, with class labels alone, and two "
        "points more than class means",
        lambda: (
            0.015 < matching("digits", "DM", "centres").mean < 0.025
            and 0.19 < matching("digits", "DM", "random").mean < 0.21
        ),
    ),
    (
        "05",
        "its closest rival without learning",
        lambda: all(
            matching("digits", "centres", rival).mean > 0
            for rival in ("random", "k_means", "herding")
        ),
    ),
    (
        "05",
        "the strongest rival is herding: DM minus herding is two points, with an interval that "
        "still contains zero",
        lambda: (
            matching("shapes", "DM", "herding").unseen
            and 0.015 < matching("shapes", "DM", "herding").mean < 0.025
            and all(
                matching("shapes", "herding", rival).mean > 0
                for rival in ("k_means", "DC", "centres")
            )
        ),
    ),
    (
        "05",
        "On shapes averages teach *less* than random real images",
        lambda: matching("shapes", "centres", "random").behind,
    ),
    (
        "05",
        "on these digits DM is ahead of DC (+.6 to +1.8 points, ten pairs)",
        lambda: [round(100 * end, 1) for end in matching("digits", "DM", "DC")[1:]] == [0.6, 1.8],
    ),
    (
        "10",
        "they fall a little from the narrowest samples to $\\Sigma = 0.2$",
        lambda: (
            toy("mean_squared_error", 0.2, 0.05).behind
            and toy("accuracy_fraction", 0.2, 0.05).ahead
        ),
    ),
    (
        "10",
        "**Narrow samples are better than true ones, in probabilities and in decisions.**",
        lambda: (
            toy("mean_squared_error", 0.2, 0.5).behind and toy("accuracy_fraction", 0.2, 0.5).ahead
        ),
    ),
    (
        "10",
        "so networks keep the boundary of their start",
        lambda: toy("mean_squared_error", 0.05, 0.2, exact=True).ahead,
    ),
    (
        "10",
        "The *decisions* of all settings from 0.2 to 1 are then equally good",
        lambda: all(
            abs(toy("accuracy_fraction", sigma, 0.2, exact=True).mean) < 0.002
            for sigma in (0.3, 0.5, 0.7, 1.0)
        ),
    ),
    (
        "10",
        "Their *probabilities* stay wrong without any noise",
        lambda: toy("mean_squared_error", 1.0, 0.2, exact=True).mean > 0.03,
    ),
    (
        "10",
        "**In probabilities the trained network is better**",
        lambda: teachers("error", 1, 2).behind,
    ),
    (
        "10",
        "**In decisions the posterior is a little better**",
        lambda: teachers("right", 2, 1).ahead and teachers("right", 2, 1).mean < 0.01,
    ),
    (
        "10",
        "Both teachers remove the noise of the labels",
        lambda: teachers("right", 1, 0).ahead and teachers("right", 2, 0).ahead,
    ),
    (
        "20",
        "images recovered *from real ones* teach four to seven points more than the images that "
        "they started from",
        lambda: all(
            recovered("recovered from real", labels).ahead
            and 0.035 < recovered("recovered from real", labels).mean < 0.075
            for labels in ("hard", "stored", "online")
        ),
    ),
    (
        "20",
        "From noise, images are far behind at the authors' rate",
        lambda: all(
            recovered("recovered from noise", labels).high < -0.05
            for labels in ("hard", "stored", "online")
        ),
    ),
    (
        "20",
        "A rate of 1 gains about fifteen points",
        lambda: all(
            0.13
            < recovered("recovered from noise, rate 1", labels, "recovered from noise").mean
            < 0.17
            for labels in ("hard", "stored", "online")
        ),
    ),
    (
        "20",
        "enough for online labels and not for class labels: there the images from noise remain ten "
        "points behind",
        lambda: (
            recovered("recovered from noise, rate 1", "online").unseen
            and recovered("recovered from noise, rate 1", "hard").behind
            and -0.105 < recovered("recovered from noise, rate 1", "hard").mean < -0.09
        ),
    ),
    (
        "20",
        "level with them at a rate of 1",
        lambda: recovered("recovered from noise, rate 1", "online").unseen,
    ),
    (
        "20",
        "**No recovered set is ahead of typical real images**",
        lambda: (
            not any(
                recovered(images, labels, "typical").mean > 0
                for images in RECOVERIES
                for labels in ("hard", "stored", "online")
            )
        ),
    ),
    (
        "20",
        "With online labels ten pairs show no difference between typical images and images "
        "recovered from real ones; with class labels the typical images are fourteen points ahead",
        lambda: (
            recovered("typical", "online", "recovered from real").unseen
            and 0.135 < recovered("typical", "hard", "recovered from real").mean < 0.145
        ),
    ),
    (
        "20",
        "matching the stored statistics raises students by 14 to 22 points with online labels",
        lambda: (
            [
                round(100 * recovered(images, "online", f"{images}, no gaps").mean)
                for images in ("recovered from noise", "recovered from noise, rate 1")
            ]
            == [14, 22]
        ),
    ),
    (
        "20",
        "Images from noise teach at most as much as random real ones",
        lambda: (
            not any(
                recovered(images, labels).ahead
                for images in RECOVERIES
                if "noise" in images
                for labels in ("hard", "stored", "online")
            )
        ),
    ),
    (
        "21",
        "More weight pulls images apart",
        lambda: (
            diverse("distance", ("noise", 0.11, "none"), NOISE).ahead
            and diverse("distance", REAL, ("real", 0.01, "none")).ahead
        ),
    ),
    (
        "21",
        "from real images they cover more",
        lambda: diverse("coverage", REAL, ("real", 0.01, "none")).ahead,
    ),
    (
        "21",
        "A real start pulls images together",
        lambda: diverse("distance", ("real", 0.01, "none"), NOISE).behind,
    ),
    (
        "21",
        "covers 2.5 times as much at a weight of .01, and 4.0 times as much at .11",
        lambda: (
            [
                round(
                    mean("diversity", "coverage", start="real", lambda_var=weight, push="none")
                    / mean("diversity", "coverage", start="noise", lambda_var=weight),
                    1,
                )
                for weight in (0.01, 0.11)
            ]
            == [2.5, 4.0]
        ),
    ),
    (
        "21",
        "the images that lie farther apart cover less",
        lambda: diverse("coverage", ("noise", 0.11, "none"), NOISE).behind,
    ),
    (
        "21",
        "A directed push even covers a little less than a random one",
        lambda: diverse("coverage", ("real", 0.11, "directed"), ("real", 0.11, "random")).behind,
    ),
    (
        "21",
        "the push nothing that ten pairs can show",
        lambda: all(
            diverse("online", ("real", 0.11, push), REAL).unseen for push in ("random", "directed")
        ),
    ),
    (
        "21",
        "points ahead of the real images that they began as",
        lambda: 0.02 < against_real("hard").mean < 0.03,
    ),
    (
        "21",
        "With the teacher's labels, random real images teach most",
        lambda: -0.07 < against_real("online").mean < -0.055,
    ),
    (
        "30",
        "the patches, which involve no learning, teach .07 more still",
        lambda: residual("alpha 0.5").behind,
    ),
    (
        "30",
        "At $\\alpha = .4$, the leftmost point above, no difference from the patches is seen",
        lambda: residual("alpha 0.4").unseen,
    ),
    (
        "30",
        "with it ($\\alpha = .5$) the same run teaches .11 more than without",
        lambda: residual("alpha 0.5", "alpha 1").ahead,
    ),
    (
        "30",
        "Ten pairs cannot distinguish either from FADRM",
        lambda: all(
            residual("alpha 0.5", leash).unseen for leash in ("stopped early", "pulled back")
        ),
    ),
    (
        "30",
        "No variant is ahead of its own start beyond chance",
        lambda: (
            not any(
                residual(images, start).ahead
                for images, start in (
                    ("alpha 0.5", "patches"),
                    ("alpha 0.4", "patches"),
                    ("alpha 0.5, two sizes", "patches"),
                    ("alpha 0.5, crops", "RDED, one crop"),
                )
            )
        ),
    ),
    (
        "30",
        "such crops teach most",
        lambda: residual("RDED, one crop").ahead and residual("RDED, one crop", "alpha 0.4").ahead,
    ),
    (
        "30",
        "At every step the patches ",
        lambda: all(
            between(
                "residual_labels",
                "accuracy",
                {"method": "random real images"},
                {"method": "FADRM"},
                labels=labels,
            ).mean
            > 0
            for labels in {row["labels"] for row in records.load("residual_labels").rows}
        ),
    ),
    (
        "40",
        "which are eight points ahead of twenty real images without any learning",
        lambda: round(unlabelled("principal, few").mean, 3) == 0.081,
    ),
    (
        "40",
        "Learning helps twenty whole images by .020 (.004 to .037)",
        lambda: unlabelled("KRR-ST").ahead and round(unlabelled("KRR-ST").mean, 3) == 0.020,
    ),
    (
        "40",
        "No difference is seen for the 30 pairs of V = 40",
        lambda: unlabelled("bases, no views", "principal").unseen,
    ),
    (
        "40",
        "learning harms the 125 pairs of V = 10 by .022 (.008 to .036)",
        lambda: unlabelled("bases, no views, few", "principal, few").behind,
    ),
    (
        "40",
        "**The split of the floats is worth more than learning.**",
        lambda: unlabelled("principal, few", "principal").mean > unlabelled("KRR-ST").mean,
    ),
    (
        "40",
        "Views help: at V = 10 they are worth",
        lambda: unlabelled("Boost, few", "bases, no views, few").ahead,
    ),
    (
        "40",
        "level with bases that are not learned",
        lambda: unlabelled("Boost, few", "principal, few").unseen,
    ),
    (
        "40",
        "ahead of them ({0}) only at V = 40",
        lambda: unlabelled("Boost", "principal").ahead,
    ),
    (
        "45",
        "With SimCLR, the answers of an untrained prior bring no gain that ten pairs can show",
        lambda: target_gain("simclr").unseen,
    ),
    (
        "45",
        "With BYOL, half of the images after such answers teach as much as all images without them",
        lambda: not few_images("untrained").behind,
    ),
    (
        "45",
        "nothing that ten pairs can show for the four on the right",
        lambda: all(target_gain(name).unseen for name in ("simclr", "vicreg", "moco", "swav")),
    ),
    (
        "45",
        "The answers help objectives that learn slowly (DINO, BYOL, SimSiam, Barlow Twins)",
        lambda: all(
            target_gain(name).ahead for name in ("dino", "byol", "simsiam", "barlow_twins")
        ),
    ),
    (
        "45",
        "for principal components of the pixels, no difference is seen",
        lambda: (
            between(
                "representations",
                "accuracy",
                {"prior": "untrained"},
                {"prior": "pixels"},
                objective="simclr",
            ).unseen
        ),
    ),
    (
        "50",
        "Ten learned digits beat a hundred random ones and the class means",
        lambda: (
            kernel_lead("digits", "KIP", "random", 1, 10).ahead
            and kernel_lead("digits", "KIP", "centres", 1).ahead
        ),
    ),
    (
        "50",
        "a thousand random digits stay ahead",
        lambda: kernel_lead("digits", "KIP", "random", 1, 100).behind,
    ),
    (
        "50",
        "With the RBF kernel, KIP takes four points to 99.5% of the dots",
        lambda: round(dots_of_kip("rbf"), 3) == 0.995,
    ),
    (
        "50",
        "With *FC1* the same updates stop at 90.0%",
        lambda: round(dots_of_kip("fc1"), 3) == 0.9,
    ),
    (
        "50",
        "three of the four leave their moons",
        lambda: (
            sum(distance > 0.3 for distance in distances_to_dots("fc1")) == 3
            and max(distances_to_dots("rbf")) < 0.2
        ),
    ),
    (
        "50",
        "On digits the centres are ahead of all solved labels.",
        lambda: all(
            kernel_lead("digits", rule, "centres", 10).behind
            for rule in ("LS", "LS, foreign", "LS, noise")
        ),
    ),
    (
        "50",
        "On shapes, real images with solved",
        lambda: (
            kernel_lead("shapes", "LS", "centres", 10).ahead
            and kernel_lead("shapes", "LS, foreign", "centres", 10).ahead
        ),
    ),
    (
        "50",
        "A hundred noise images with solved labels beat a hundred real digits with true labels",
        lambda: kernel_lead("digits", "LS, noise", "random", 10).ahead,
    ),
    (
        "50",
        "On digits, frozen images are level with real ones",
        lambda: all(kernel_lead("digits", "KIP, noise", "random", n).unseen for n in (1, 10)),
    ),
    (
        "50",
        "On shapes they stay ahead of real images, and behind KIP on all pixels.",
        lambda: all(
            kernel_lead("shapes", "KIP, noise", "random", n).ahead
            and kernel_lead("shapes", "KIP, noise", "KIP", n).behind
            for n in (1, 10)
        ),
    ),
    (
        "60",
        "are ten points behind class means after one step",
        lambda: starts("perceptron", 1, "one start").behind,
    ),
    (
        "60",
        "After three or ten steps no difference is seen",
        lambda: all(starts("perceptron", n, "one start").unseen for n in (3, 10)),
    ),
    (
        "60",
        "win at each length, by 26, 23 and 8 points",
        lambda: (
            [round(100 * starts("perceptron", n, "four starts an update").mean) for n in (1, 3, 10)]
            == [26, 23, 8]
        ),
    ),
    (
        "60",
        "Sentences for one start lose much on others",
        lambda: all(
            between(
                "text_networks",
                "others",
                {"starts": "new starts"},
                {"starts": "one start"},
                network=network,
            ).ahead
            for network in ("TextConvNet", "RNN", "LSTM")
        ),
    ),
    (
        "60",
        "the images fall further behind",
        lambda: (
            starts("ConvNet", 10, "one start").mean
            < starts("ConvNet", 3, "one start").mean
            < starts("ConvNet", 1, "one start").mean
            < 0
        ),
    ),
    (
        "62",
        "their students are twenty points ahead",
        lambda: 0.17 < paths("accuracy", "MTT", "random real, MTT's rate").mean < 0.22,
    ),
    (
        "62",
        "ten pairs of students show no difference",
        lambda: paths("accuracy", "MTT", "class means, best rate").unseen,
    ),
    (
        "62",
        "With one to ten steps learned images lead closer",
        lambda: all(
            paths("left", "MTT", "class means, best rate", steps=n).behind for n in (1, 5, 10)
        ),
    ),
    (
        "62",
        "with twenty no difference is seen",
        lambda: paths("left", "MTT", "class means, best rate", steps=20).unseen,
    ),
    (
        "65",
        "learned labels are a point ahead of the true ones during the training",
        lambda: labelled(1).ahead and 0.005 < labelled(1).mean < 0.015,
    ),
    (
        "65",
        "and five points behind after three times as many steps",
        lambda: labelled(3).behind and -0.06 < labelled(3).mean < -0.045,
    ),
    ("65", "of the digits, as much as ten real digits", lambda: pictured(100).unseen),
    (
        "65",
        "is still four points ahead of five hundred shapes (3 to 5)",
        lambda: -0.045 < pictured(500, rival="class means").mean < -0.03,
    ),
    (
        "65",
        "teach a perceptron two thirds of the digits",
        lambda: (
            0.64
            < mean("learned_labels", "accuracy", pictures="shapes", count=100, network=LEARNER)
            < 0.69
        ),
    ),
    (
        "70",
        "**Weight normalisation** makes no difference to these means",
        lambda: curriculum("weight norm off").unseen,
    ),
    (
        "70",
        "at sixteen times this rate plans without it lose a third of the accuracy",
        lambda: 0.3 < stable_rates().mean < 0.37,
    ),
    (
        "30",
        "At every α from .5 on, two sizes teach more than one",
        lambda: all(two_sizes(ratio) > 0 for ratio in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
    ),
    (
        "70",
        "Of the twelve points that shuffling costs, **six are order and six are balance**",
        lambda: (
            0.115 < lost_by_order("GTN").mean + lost_by_balance("GTN").mean < 0.125
            and 0.055 < lost_by_order("GTN").mean < 0.065
            and 0.055 < lost_by_balance("GTN").mean < 0.065
        ),
    ),
    (
        "70",
        "half of what shuffling costs is order, the other half is class balance",
        lambda: 0.45 < lost_by_order("GTN").mean / 0.124 < 0.55,
    ),
    (
        "70",
        "its students lose nothing by order that ten pairs can show",
        lambda: lost_by_order("all shuffled").unseen and lost_by_order("real batches").unseen,
    ),
    (
        "70",
        "Training with all images shuffled costs five points, as much as the lead over real batches",
        lambda: (
            0.045 < curriculum("all shuffled").mean < 0.055
            and 0.045 < curriculum("real batches").mean < 0.055
        ),
    ),
    (
        "70",
        "Shuffling only the batches costs a point and a half",
        lambda: 0.0125 < curriculum("batches shuffled").mean < 0.0175,
    ),
    (
        "70",
        "Fresh noise in place of learned latent vectors costs four points",
        lambda: 0.035 < curriculum("fresh noise").mean < 0.045,
    ),
    (
        "70",
        "The generated steps beat as many real ones",
        lambda: curriculum("real batches").ahead,
    ),
    (
        "75",
        "**Learned exemplars: no difference seen** from herding's, from which they start, at any size",
        lambda: all(memories("learned", "herding", n).unseen for n in (1, 2, 5)),
    ),
    (
        "75",
        "herding's is about ten points ahead of a random image, and with five exemplars random "
        "images are as good",
        lambda: (
            0.085 < memories("herding", "random", 1).mean < 0.115
            and memories("random", "herding", 5).unseen
        ),
    ),
    (
        "75",
        "herding's image is about ten points ahead of a random one",
        lambda: 0.085 < memories("herding", "random", 1).mean < 0.115,
    ),
    (
        "75",
        "With two and five exemplars, averages of groups (*k-means centres*) and the real images "
        "nearest to them are about two points ahead of herding",
        lambda: all(
            memories(name, "herding", n).ahead and 0.015 < memories(name, "herding", n).mean < 0.025
            for name in ("k-means centres", "nearest to centres")
            for n in (2, 5)
        ),
    ),
    (
        "75",
        "With one, lesson 05's images are three points ahead",
        lambda: (
            memories("DM", "herding", 1).ahead and 0.025 < memories("DM", "herding", 1).mean < 0.035
        ),
    ),
    (
        "75",
        "With one exemplar per class, the loss lessens forgetting by five points",
        lambda: (
            0.045
            < memories("herding, no distillation loss", "herding", 1, "forgotten").mean
            < 0.055
        ),
    ),
    (
        "75",
        "With five, the network ends three points higher without it",
        lambda: 0.025 < memories("herding, no distillation loss", "herding", 5).mean < 0.035,
    ),
    (
        "05",
        "in ten pairs with all of DSA's operations, no difference from DC is seen with one image of "
        "each digit",
        lambda: (
            gain(
                records.load("siamese").values("viewed", data="digits", rule="DSA", views="shared"),
                records.load("matching").values("hard", data="digits", rule="DC"),
            ).unseen
        ),
    ),
    (
        "05",
        "Images that are often forgotten are the worst choice of all, far behind random ones.",
        lambda: all(
            matching(data, "random", "forgetting").mean > 0.2
            and all(matching(data, rule, "forgetting").ahead for rule in ("k_means", "k_center"))
            for data in ("digits", "shapes")
        ),
    ),
    (
        "80",
        "No learned set of one image for each digit is ahead of class means when all have "
        "class labels",
        lambda: not any(arena(name, "class means").mean > 0 for name in LEARNED),
    ),
    (
        "80",
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
        "80",
        "most are behind",
        lambda: sum(arena(name, "class means").behind for name in LEARNED) == len(LEARNED) - 2,
    ),
    (
        "80",
        "| DD | .069 ahead of class means (.047 to .091) |",
        lambda: (
            [round(value, 3) for value in arena("dd", "class means", "own", "class labels")]
            == [0.069, 0.047, 0.091]
        ),
    ),
    (
        "80",
        "the images of DD and SLDD teach less than random ones",
        lambda: all(arena(name, "random").behind for name in ("dd", "sldd")),
    ),
    (
        "80",
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
        "80",
        "random images with the same teacher gain .185",
        lambda: round(arena("random", "random", "teacher", "class labels").mean, 3) == 0.185,
    ),
    (
        "80",
        "on LeNet MTT is .031 ahead (.005 to .056)",
        lambda: (
            [round(value, 3) for value in arena("mtt", "class means", "lenet")]
            == [0.031, 0.005, 0.056]
        ),
    ),
    (
        "80",
        "| herding or class means | no method is ahead beyond chance |",
        lambda: (
            arena("herding", "class means", "teacher").unseen
            and not any(arena(name, "class means", "teacher").ahead for name in LEARNED)
        ),
    ),
    (
        "80",
        "Class means have the highest scores of these four, and DD the lowest",
        lambda: all(
            sorted(robust_scores(), key=lambda name: -robust_scores()[name][which])[0]
            == "class means"
            and min(robust_scores(), key=lambda name: robust_scores()[name][which]) == "dd"
            for which in (0, 1)
        ),
    ),
    (
        "80",
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
        "80",
        "class means are first among digits and thirteenth of twenty with ten of each shape",
        lambda: (
            ten_shapes()[0] == "herding"
            and ten_shapes().index("class means") == 12
            and len(ten_shapes()) == 20
        ),
    ),
    (
        "80",
        "| MTT | .061 ahead of random images (.035 to .087) |",
        lambda: (
            [
                round(value, 3)
                for value in arena("mtt", "random", "teacher", data="shapes", budget="10")
            ]
            == [0.061, 0.035, 0.087]
        ),
    ),
    (
        "21",
        "DWA is ahead of SRe2L with every student.",
        lambda: all(
            between(
                "architectures", "online", {"method": "DWA"}, {"method": "SRe2L"}, architecture=name
            ).ahead
            for name in dict.fromkeys(
                row["architecture"] for row in records.load("architectures").rows
            )
        ),
    ),
    (
        "40",
        "Only the ViT gains.",
        lambda: all(
            between(
                "self_supervised_architectures",
                "source",
                {"method": "Boost"},
                {"method": "untrained"},
                architecture=name,
            ).ahead
            is (name == "ViT")
            for name in ("VGG11", "ResNet-18", "AlexNet", "MobileNetV2", "ViT")
        ),
    ),
    (
        "85",
        "(55% and 75% on average over the networks)",
        lambda: (
            round(students_of("random"), 2) == 0.55
            and round(fmean(map(students_of, work.LEARNED)), 2) == 0.75
        ),
    ),
    (
        "85",
        "No learned set ranks the networks better than herding's ten real digits.** DM, DC and DSA "
        "show no difference. MTT trains the most accurate students of all and is behind.",
        lambda: (
            all(ranked(name, "herding").unseen for name in ("DM", "DC", "DSA"))
            and ranked("MTT", "herding").behind
            and max(set(SEARCH.proxies) - {work.EARLY}, key=students_of) == "MTT"
        ),
    ),
    (
        "85",
        "Four small random images are ahead of every other set**, although their students are less "
        "accurate than those of learned images",
        lambda: (
            all(
                ranked("small random", name).ahead
                for name in set(SEARCH.proxies) - {"small random", work.EARLY}
            )
            and students_of("small random") < min(map(students_of, work.LEARNED))
        ),
    ),
    (
        "85",
        "Training 48 networks on them takes almost twice as long",
        lambda: 1.6 < SEARCH.proxies["small random"].seconds / SEARCH.proxies["random"].seconds < 2,
    ),
    (
        "85",
        "Early stopping has the truest order, at three times the price** of a set with as many updates. "
        "After only 15 updates it still has +.85, more than any set after 150, for half their price.",
        lambda: (
            all(ranked(work.EARLY, name).ahead for name in set(SEARCH.proxies) - {work.EARLY})
            and 2.5 < work.price(SEARCH, work.EARLY) / work.price(SEARCH, "random") < 3.5
            and round(fmean(SHORT.correlation(work.EARLY)), 2) == 0.85
            and all(
                fmean(SEARCH.correlation(name)) < 0.85
                for name in set(SEARCH.proxies) - {work.EARLY}
            )
            and work.price(SHORT, work.EARLY) < 0.55 * work.price(SEARCH, "random")
        ),
    ),
    (
        "85",
        "after 15, sets still rank the networks with +.71 to +.75, for 3% of the price and the set",
        lambda: (
            (
                means := [
                    fmean(SHORT.correlation(name)) for name in work.PROXIES if name != work.EARLY
                ]
            )
            and (round(min(means), 2), round(max(means), 2)) == (0.71, 0.75)
            and round(work.price(SHORT, "random"), 2) == 0.03
        ),
    ),
    (
        "85",
        "It ranks the networks with +.42, and the largest network stays 3.2 points behind the best one",
        lambda: (
            round(float(rank_correlation(weights_of_networks(), SEARCH.reference)), 2) == 0.42
            and round(
                100 * (SEARCH.reference.max() - SEARCH.reference[weights_of_networks().argmax()]), 1
            )
            == 3.2
        ),
    ),
    (
        "85",
        "All proxies but two put a network first that stays less than half a point behind the best",
        lambda: sum(work.shortfall(SEARCH, name) > work.NEAR for name in SEARCH.proxies) == 2,
    ),
    (
        "85",
        "training 48 networks for 150 updates takes a sixth of the time, and for 50 updates 7%",
        lambda: (
            round(6 * work.price(SEARCH, "random"), 1) == 1.0
            and round(work.price(work.search("digits", "1", "50"), "random"), 2) == 0.07
        ),
    ),
    (
        "85",
        "DSA's share is more than a third",
        lambda: work.price(SEARCH, "DSA") > 1 / 3,
    ),
    (
        "85",
        "both prefer ReLU, instance norm and max pooling. The set exaggerates what depth costs.",
        lambda: (
            (on_set := choice_effects("DM"))
            and (on_all := work.choice_effects(SEARCH.networks, SEARCH.reference))
            and all(
                effects[choice] > 0
                for effects in (on_set, on_all)
                for choice in (
                    ("activation", "relu"),
                    ("norm", "instance norm"),
                    ("pooling", "max pooling"),
                )
            )
            and on_set["depth", "depth 3"] < 2 * on_all["depth", "depth 3"] < 0
        ),
    ),
    (
        "85",
        "Only DM's images keep more than herding's**, by 2.4 points (.2 to 4.5). DSA's and Mnemonics' "
        "show no difference.",
        lambda: (
            [round(100 * value, 1) for value in remembered("DM", "herding")] == [2.4, 0.2, 4.5]
            and all(remembered(name, "herding").unseen for name in ("DSA", "Mnemonics"))
            and all(remembered(name, "herding").behind for name in ("random", "SRe2L", "DWA"))
        ),
    ),
    (
        "85",
        "with class labels they keep *less than random images*",
        lambda: all(remembered(name, "random").behind for name in ("SRe2L", "DWA")),
    ),
    (
        "85",
        "from random images, which is no difference.",
        lambda: (
            in_turn("continual", "DWA", "random real images").unseen
            and in_turn("continual", "DWA", "SRe2L").ahead
            and in_turn("residual_continual", "FADRM", "RDED").behind
        ),
    ),
    (
        "85",
        "a small set makes the bias stronger, also without learning.",
        lambda: (
            followed("random", "all").ahead
            and followed("DM", "all").ahead
            and followed("DM", "random").ahead
            and followed("MTT", "random").behind
        ),
    ),
    (
        "85",
        "all three sets add",
        lambda: all(
            between(
                "moving", "accuracy", {"images": name}, {"images": "untrained"}, target=target
            ).ahead
            for name in ("real", "KRR-ST", "Boost")
            for target in ("shapes", "digits")
        ),
    ),
]


@functools.cache
def words(number: str) -> str:
    (path,) = (NOTEBOOKS / "solutions").glob(f"{number}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    # Captions stand in the code, in string literals over several lines.
    return re.sub(r'"\s*\n\s*f?"', "", text)


@pytest.mark.parametrize(
    ("number", "sentence", "true"), ROWS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_sentence_is_true_of_its_number(
    number: str, sentence: str, true: Callable[[], bool]
) -> None:
    assert sentence in words(number), "the page does not say so any more"
    assert true()
