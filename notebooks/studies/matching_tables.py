"""Makes the six tables of ddlab/records/tables that lesson 05 shows of matching: sets by every rule,
more images per class, views, networks, and a teacher's labels.

python notebooks/studies/matching_tables.py matching --seeds 0     # also siamese, matching_networks, ...

An earlier commit made five of the tables, the rows of which say what is made again here.
"""

import functools
import itertools
from typing import Any

from study import QUIET, Study, again, images_of, main_of

import ddlab
from ddlab import networks
from ddlab.data import siamese_views
from ddlab.distilled import DistilledSet
from ddlab.lessons.matching.world import student_config
from ddlab.methods import dc, dm, dsa, selection, sre2l
from ddlab.networks import Network
from ddlab.training import supervised

COUNTS = {"digits": 1, "shapes": 10}  # images of each class
SMALL = networks.spec("convnet", width=32, norm="instance")
VIEWS = {"digits": siamese_views.UPRIGHT, "shapes": siamese_views.ALL}
MATCHED: dict[str, Any] = {"network": SMALL, "batch_size": 64, "initialisation": "real"}
UPDATES: dict[tuple[str, str], dict[str, Any]] = {
    ("digits", "DM"): {"iterations": 200},
    ("digits", "DC"): {"networks": 100},
    ("shapes", "DM"): {"iterations": 300},
    ("shapes", "DC"): {"networks": 15, "outer_steps": 10, "inner_epochs": 10},
}
FAMILIES = {
    "mlp": networks.spec("mlp"),
    "lenet": networks.spec("lenet"),
    "convnet": SMALL,
    "resnet18": networks.spec("resnet18"),
}


@functools.lru_cache(1)
def image_set(
    data: str, rule: str, seed: int, views: str | None = None, count: int | None = None
) -> DistilledSet:
    """Return the images of a rule; `count` of each class, where it is not the usual number."""
    shared: dict[str, Any] = {"images_per_class": count or COUNTS[data], "seed": seed}
    if rule == "DM":
        updates = UPDATES[data, "DM"]
        config = dm.Config(strategy="", **shared, **MATCHED, **updates)
        return ddlab.distill("dm", images_of(data), config=config, **QUIET)
    if rule == "DC":
        config = dc.Config(**shared, **MATCHED, **UPDATES[data, "DC"])
        return ddlab.distill("dc", images_of(data), config=config, **QUIET)
    if rule == "DSA":  # as many updates as DC
        own: dict[str, Any] = {"strategy": VIEWS[data], "views": views}
        config = dsa.Config(**own, **shared, **MATCHED, **UPDATES[data, "DC"])
        return ddlab.distill("dsa", images_of(data), config=config, **QUIET)
    config = selection.Config(kind=rule, **shared)
    return ddlab.distill("selection", images_of(data), config=config, **QUIET)


def accuracy(distilled: DistilledSet, data: str, config: supervised.Config, seed: int) -> float:
    """Return the accuracy of a student with class labels."""
    return ddlab.evaluate(
        distilled, images_of(data), labels="hard", config=config, seeds=(seed,), **QUIET
    ).mean


def matching(data: str, rule: str, seed: int) -> float:
    """A student of images by a rule."""
    return accuracy(image_set(data, rule, seed), data, student_config(images_of(data)), seed)


def matching_counts(images_per_class: int, rule: str, seed: int) -> float:
    """A student of digits by a rule, with more than one image of each class."""
    if rule == SHORT_DM:
        config = dm.Config.teaching(images_per_class=images_per_class, seed=seed)
        distilled = ddlab.distill("dm", images_of("digits"), config=config, **QUIET)
    else:
        distilled = image_set("digits", rule, seed, count=images_per_class)
    return accuracy(distilled, "digits", student_config(images_of("digits")), seed)


def siamese(data: str, rule: str, views: str | None, seed: int) -> tuple[float, ...]:
    """The same without and with DSA's views."""
    distilled = image_set(data, rule, seed, views)
    return tuple(
        accuracy(distilled, data, student_config(images_of(data), strategy=strategy), seed)
        for strategy in ("", VIEWS[data])
    )


@functools.lru_cache(1)
def matched_digits(network: networks.NetworkSpec, seed: int) -> DistilledSet:
    """Return one digit of each class by DC in this network."""
    few: dict[str, Any] = {"networks": 50, "batch_size": 32, "initialisation": "real"}
    config = dc.Config(network=network, seed=seed, **few)
    return ddlab.distill("dc", images_of("digits"), config=config, **QUIET)


def matching_networks(norm: str, pooling: str, activation: str, seed: int) -> tuple[float, ...]:
    """Students of learned and of random digits, in the network that they were learned in."""
    options: dict[str, Any] = {"norm": norm, "pooling": pooling, "activation": activation}
    network = networks.spec("convnet", width=32, **options)
    config = student_config(images_of("digits"), network=network)
    sets = (matched_digits(network, seed), image_set("digits", "random", seed))
    return tuple(accuracy(distilled, "digits", config, seed) for distilled in sets)


def matching_transfer(source: str, seed: int) -> tuple[float, ...]:
    """Students of four families (AlexNet has left the library), of digits that one network learned, or of random ones."""
    distilled = image_set("digits", "random", seed)
    if source in FAMILIES:
        distilled = matched_digits(FAMILIES[source], seed)
    config = student_config(images_of("digits"), epochs=60)
    return tuple(
        accuracy(distilled, "digits", config.replace(network=network), seed)
        for network in FAMILIES.values()
    )


@functools.cache
def teacher() -> Network:
    """Return a teacher of the shapes."""
    shapes = images_of("shapes")
    spec = networks.spec("convnet", width=32)
    config = supervised.Config.for_data(shapes, "teacher", network=spec)
    return ddlab.train_teacher(shapes, config, **QUIET)


def matching_labels(rule: str, seed: int) -> tuple[float, ...]:
    """Students with class labels, and with a teacher's for every view."""
    shapes = images_of("shapes")
    if rule == "SRe2L":
        own: dict[str, Any] = {"iterations": 150, "roll_pixels": 2}
        recovered = sre2l.Config(images_per_class=10, seed=seed, **own)
        distilled = ddlab.distill("sre2l", shapes, teacher(), config=recovered, **QUIET)
    else:
        distilled = image_set("shapes", rule, seed)
    named = ddlab.from_images(distilled.images, distilled.labels, shapes, teacher())
    options: dict[str, Any] = {"config": student_config(shapes), "seeds": (seed,), **QUIET}
    return tuple(
        ddlab.evaluate(named, shapes, labels=labels, teacher=teacher(), **options).mean
        for labels in ("hard", "online")
    )


SHORT_DM = "DM, 50 updates"
RULES_OF_COUNTS = ("random", "k_means", "centres", "DM", SHORT_DM)
STUDIES = (
    Study(
        name="matching_counts",
        description="Digits (16 px), two and five images of each class, as in the table `matching`: "
        "DM from random real images (200 updates, batches of 64, ConvNet of width 32; or the teaching "
        "preset, 50 updates), the random ones, k-means centres, and the real images nearest to them. "
        "Students with class labels.",
        setting=("images_per_class", "rule", "seed"),
        measured=("hard",),
        seeds=range(10),
        settings=lambda seeds: itertools.product((2, 5), RULES_OF_COUNTS, seeds),
        measure=matching_counts,
    ),
    again("matching", "data rule seed", "hard", 10, matching, gone=("forgetting",)),
    again("siamese", "data rule views seed", "plain viewed", 10, siamese),
    again(
        "matching_networks", "norm pooling activation seed", "learned real", 5, matching_networks
    ),
    again("matching_transfer", "source seed", "mlp lenet convnet resnet18", 3, matching_transfer),
    again("matching_labels", "rule seed", "hard online", 5, matching_labels),
)

if __name__ == "__main__":
    main_of(STUDIES)
