"""What the tests of all lessons ask of lesson 05; `tests.lessons.rows` says which."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ddlab import networks, records
from ddlab.core.randomness import derived_seed
from ddlab.methods import dc, dm
from ddlab.runs import Inputs
from tests.lessons.gains import Gain, between, gain
from tests.lessons.whole_method import (
    SEED,
    UPDATES,
    Row,
    Tensors,
    data_of,
    doubled,
    run,
    updated,
    without_weights,
)

NARROW = networks.spec("convnet", width=4, depth=1, norm="instance")


DM = dm.Config.teaching(
    network=NARROW, images_per_class=2, iterations=UPDATES, batch_size=7, seed=SEED
)


MATCHINGS = 4  # in each network, which is trained in between


DC = dc.Config.teaching(
    network=NARROW,
    images_per_class=2,
    networks=UPDATES // MATCHINGS,
    outer_steps=MATCHINGS,
    inner_epochs=2,
    batch_size=7,
    initialisation="real",
    seed=SEED,
)


def fresh_ones() -> Callable[[], Any]:
    """The networks of the library's updates, one after the other."""
    spec = NARROW.for_data(data_of())
    steps = iter(range(UPDATES))
    return lambda: networks.initialise(
        spec, seed=derived_seed(SEED, next(steps), "network")
    ).module()


def match(source: str) -> Tensors:
    data = data_of()
    network = fresh_ones()
    images = doubled(dm.init(DM, Inputs(data=data, device="cpu")).images)
    page = run(
        source,
        data=data,
        new_body=lambda: nn.Sequential(*network().blocks, nn.Flatten()),
    )
    return [page["match"](data.normalised(), data.train_labels, images, UPDATES, 7)]


def matched() -> Tensors:
    return without_weights(updated(dm, DM, Inputs(data=data_of(), device="cpu")).images)


def match_gradients(source: str) -> Tensors:
    data = data_of()
    images = doubled(dc.init(DC, Inputs(data=data, device="cpu")).images)
    page = run(source, data=data, new_classifier=fresh_ones())
    loops = UPDATES // MATCHINGS, MATCHINGS, 2, 7
    return [
        page["condense"](
            data.normalised(), data.train_labels, images, lambda: lambda seen: seen, *loops
        )
    ]


def matched_gradients() -> Tensors:
    return without_weights(updated(dc, DC, Inputs(data=data_of(), device="cpu")).images)


def matching(data: str, new: str, old: str) -> Gain:
    return between("matching", "hard", {"rule": new}, {"rule": old}, data=data)


def counted(images_per_class: int, rule: str) -> Gain:
    """What a rule gains over k-means centres, with more than one image of each digit."""
    rules = {"rule": rule}, {"rule": "centres"}
    return between("matching_counts", "hard", *rules, images_per_class=images_per_class)


RIVALS_OF_DM = ("random", "k_means", "herding", "centres", "DC")


def with_random_batches(turn: Any, sign: float = 1.0, by_class: bool = True) -> Any:
    """The page's `match` with another choice of the network, or another aim."""

    def match_in(bodies: Any, real: Any, real_labels: Any, images: Any, updates: int = 50) -> Any:
        images = images.clone().requires_grad_()
        sgd = torch.optim.SGD([images], lr=1.0, momentum=0.5)
        for update in range(updates):
            distance = torch.zeros(())
            for body in [bodies[number] for number in turn(update, len(bodies))]:
                for label in range(10):
                    members = real[real_labels == label] if by_class else real
                    rows = torch.randperm(len(members))[:32]
                    gap = body(members[rows]).mean(0) - body(images[label::10]).mean(0)
                    distance = distance + sign * gap.square().sum()
            (images.grad,) = torch.autograd.grad(distance, images)
            sgd.step()
        return images.detach()

    return match_in


def one_after_another(update: int, count: int) -> list[int]:
    return [update % count]


METHODS = {
    "DM": Row(
        match, matched, ("body(members[rows]).mean(0)", "body(members[rows])[0]"), taped=True
    ),
    "DC": Row(
        match_gradients,
        matched_gradients,
        ("a.ndim > 1", "a.ndim > 2"),
        tag="gradient-matching",
        taped=True,
    ),
}


LABS = {
    "UnseenNetworks": lambda g: {"data": g.data},
    "MatchingLab": lambda g: {"data": g.data, "config": dm.SMALL, "student": g.student, "seeds": 1},
}


SENTENCES = [
    (
        "With five no difference is seen",
        lambda: (
            counted(2, "DM").ahead
            and counted(5, "DM").unseen
            and counted(5, "DM, 50 updates").behind
        ),
    ),
    (
        "with five images of each digit, no lead over k-means centres is left",
        lambda: not any(counted(5, rule).ahead for rule in ("DM", "DM, 50 updates")),
    ),
    (
        "**With one image of each digit, DM is ahead of every rival**: two points ahead of class means "
        "and twenty ahead of random real images",
        lambda: (
            all(matching("digits", "DM", rival).ahead for rival in RIVALS_OF_DM)
            and 0.015 < matching("digits", "DM", "centres").mean < 0.025
            and 0.19 < matching("digits", "DM", "random").mean < 0.21
        ),
    ),
    (
        "students of ten learned digits end about twenty points ahead of students of ten random ones, "
        "and two points ahead of class means (ten pairs)",
        lambda: (
            0.015 < matching("digits", "DM", "centres").mean < 0.025
            and 0.19 < matching("digits", "DM", "random").mean < 0.21
        ),
    ),
    (
        "its closest rival without learning",
        lambda: all(
            matching("digits", "centres", rival).mean > 0
            for rival in ("random", "k_means", "herding")
        ),
    ),
    (
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
        "On shapes students do *worse* on averages than on random real images",
        lambda: matching("shapes", "centres", "random").behind,
    ),
    (
        "on these digits DM is ahead of DC (+1.0 to +2.2 points, ten pairs)",
        lambda: [round(100 * end, 1) for end in matching("digits", "DM", "DC")[1:]] == [1.0, 2.2],
    ),
    (
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
        "Images that are often forgotten are the worst choice of all, far behind random ones.",
        lambda: all(
            matching(data, "random", "forgetting").mean > 0.2
            and all(matching(data, rule, "forgetting").ahead for rule in ("k_means", "k_center"))
            for data in ("digits", "shapes")
        ),
    ),
]


RIGHT = [
    ("networks in turn", with_random_batches(one_after_another)),
]


WRONG = [
    ("networks in turn", with_random_batches(lambda *_: [0]), "in turn means 0, 1, 2"),
    ("networks in turn", with_random_batches(lambda u, n: range(n)), "every network"),
    ("networks in turn", with_random_batches(one_after_another, -1.0), "move away"),
    (
        "networks in turn",
        with_random_batches(one_after_another, by_class=False),
        "their own classes",
    ),
    (
        "networks in turn",
        lambda bodies, real, labels, images, updates: images,
        "none of the networks",
    ),
]
