"""What the tests of all lessons ask of lesson 85; `tests.lessons.rows` says which."""

from collections import defaultdict
from statistics import fmean
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from ddlab import records
from ddlab.core import optimisers
from ddlab.data import load
from ddlab.evaluation.network_search import rank_correlation
from ddlab.lessons.at_work import lab as work
from ddlab.networks import initialise
from tests.lessons.gains import Gain, between, gain
from tests.lessons.whole_method import SEED, UPDATES, Row, Tensors, numbers, run


def searched(source: str) -> Tensors:
    page = run(source)
    images, labels = numbers(1.0)(0)
    builds = [lambda width=width: two_layers(width) for width in (2, 3, 5)]
    losses = page["search_by"](
        builds,
        images[:, None],
        labels,
        lambda network: network(images[:, None]).sum(),
        SEED,
        UPDATES,
    )
    first, second = (numbers(1.0)(seed)[0] for seed in (3, 4))
    return [losses.detach(), page["rank_correlation"](first, second)]


def two_layers(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 4)).double()


def searched_by_the_library() -> Tensors:
    """AdamW of the library, from the same first weights and on the same rows."""
    images, labels = numbers(1.0)(0)
    sums = []
    for width in (2, 3, 5):
        torch.manual_seed(SEED)
        network = two_layers(width)
        weights = {name: value.detach() for name, value in network.named_parameters()}
        state: Any = optimisers.begin("adamw", weights)
        for _ in range(UPDATES):
            rows = torch.randint(4, (64,))
            leaves = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
            loss = F.cross_entropy(
                functional_call(network, leaves, (images[rows, None],)), labels[rows]
            )
            slopes = dict(
                zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True)
            )
            weights, state = optimisers.descend(
                weights, slopes, state, learning_rate=0.005, weight_decay=0.01
            )
        sums.append(functional_call(network, weights, (images[:, None],)).sum())
    first, second = (numbers(1.0)(seed)[0].numpy() for seed in (3, 4))
    return [torch.stack(sums).detach(), torch.tensor(rank_correlation(first, second)).double()]


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


def class_means(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    means = [images[labels == label].mean(0) for label in range(10)]
    return torch.stack(means), torch.arange(10)


def four_small(images: Tensor, labels: Tensor) -> tuple[Any, Any]:
    rows = [row for label in range(10) for row in (labels == label).nonzero()[5:9, 0].tolist()]
    return F.avg_pool2d(images[rows], 2).numpy(), labels[rows].tolist()


METHODS = {
    "a search by a proxy": Row(
        searched, searched_by_the_library, ("ranks - ranks.mean(1, keepdim=True)", "ranks")
    ),
}


LABS = {
    "WorkLab": lambda g: {},
}


SENTENCES = [
    (
        "(55% and 75% on average over the networks)",
        lambda: (
            round(students_of("random"), 2) == 0.55
            and round(fmean(map(students_of, work.LEARNED)), 2) == 0.75
        ),
    ),
    (
        "No learned set ranks the networks better than herding's ten real digits.** DM, DC and DSA "
        "show no difference. MTT trains the most accurate students of all and is behind.",
        lambda: (
            all(ranked(name, "herding").unseen for name in ("DM", "DC", "DSA"))
            and ranked("MTT", "herding").behind
            and max(set(SEARCH.proxies) - {work.EARLY}, key=students_of) == "MTT"
        ),
    ),
    (
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
        "Training 48 networks on them takes almost twice as long",
        lambda: 1.6 < SEARCH.proxies["small random"].seconds / SEARCH.proxies["random"].seconds < 2,
    ),
    (
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
        "All proxies but two put a network first that stays less than half a point behind the best",
        lambda: sum(work.shortfall(SEARCH, name) > work.NEAR for name in SEARCH.proxies) == 2,
    ),
    (
        "training 48 networks for 150 updates takes a sixth of the time, and for 50 updates 7%",
        lambda: (
            round(6 * work.price(SEARCH, "random"), 1) == 1.0
            and round(work.price(work.search("digits", "1", "50"), "random"), 2) == 0.07
        ),
    ),
    ("DSA's share is more than a third", lambda: work.price(SEARCH, "DSA") > 1 / 3),
    (
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
        "Only DM's images keep more than herding's**, by 2.4 points (.2 to 4.5). DSA's and Mnemonics' "
        "show no difference.",
        lambda: (
            [round(100 * value, 1) for value in remembered("DM", "herding")] == [2.4, 0.2, 4.5]
            and all(remembered(name, "herding").unseen for name in ("DSA", "Mnemonics"))
            and all(remembered(name, "herding").behind for name in ("random", "SRe2L", "DWA"))
        ),
    ),
    (
        "with class labels they keep *less than random images*",
        lambda: all(remembered(name, "random").behind for name in ("SRe2L", "DWA")),
    ),
    (
        "from random images, which is no difference.",
        lambda: (
            in_turn("continual", "DWA", "random real images").unseen
            and in_turn("continual", "DWA", "SRe2L").ahead
            and in_turn("residual_continual", "FADRM", "RDED").behind
        ),
    ),
    (
        "a small set makes the bias stronger, also without learning.",
        lambda: (
            followed("random", "all").ahead
            and followed("DM", "all").ahead
            and followed("DM", "random").ahead
            and followed("MTT", "random").behind
        ),
    ),
    (
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


WRONG = [
    ("proxy", lambda images, labels: images, "Return two things"),
    ("proxy", lambda images, labels: (images, labels), "floats"),
    ("proxy", lambda images, labels: (images[:5], labels[:5]), "Each of the ten digits"),
    ("proxy", lambda images, labels: (images[:5, 0], labels[:5]), "[n, 1, height, width]"),
    ("proxy", lambda images, labels: (images[:10] / 0, torch.arange(10)), "not finite"),
    ("proxy", lambda images, labels: (["x"], labels), "as tensors"),
]


TRAINED = {
    "class means": ("proxy", class_means, "varied images"),
    "four small images": ("proxy", four_small, ""),
}
