"""Makes three tables of ddlab/records/tables that lesson 65 shows: learned labels beside controls,
which network learns them, and digits as pictures for shapes.

python notebooks/studies/learned_labels.py learned_labels         # half an hour; also label_networks, swapped_labels
"""

import functools
import itertools
from collections.abc import Iterable, Iterator

import torch
from study import QUIET, Setting, Study, main_of

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.data.aligning import aligned
from ddlab.distilled import DistilledSet
from ddlab.lessons.learned_labels.lab import STRANGER, STUDENT_KINDS, World
from ddlab.methods import ld, selection

FEW, MANY = 100, 500
OWN = STUDENT_KINDS[0]
TEN_IMAGES = {"one real digit": "random", "class means": "centres"}
LABELS = {"learned labels": "stored", "true labels": "hard"}
LENGTHS = (1, 3)
STUDENTS = 5  # of a hundred real digits


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Pictures that are no digits, ten digits, and a hundred digits with both kinds of labels."""
    for seed in seeds:
        for pictures in ("noise", "shapes"):
            yield from ((pictures, FEW, network, 1, seed) for network in STUDENT_KINDS)
            yield pictures, MANY, OWN, 1, seed
        yield from ((pictures, 10, OWN, 1, seed) for pictures in TEN_IMAGES)
        for times in LENGTHS:
            yield from ((pictures, FEW, OWN, times, seed) for pictures in LABELS)


@functools.cache
def world() -> World:
    """The digits, and what was learned for them."""
    return World(datasets.load("digits"), device="cpu")


@functools.lru_cache(1)
def with_labels(seed: int) -> DistilledSet:
    """Return a hundred real digits with labels that were learned for them."""
    return ddlab.distill("ld", world().data, config=ld.Config.teaching(seed=seed), **QUIET)


def measure(pictures: str, count: int, network: str, times: int, seed: int) -> float:
    """Return the mean accuracy of the students."""
    setting = world().start.replace(seed=seed)
    if pictures in TEN_IMAGES:
        return world().rival(setting.network, seed, TEN_IMAGES[pictures], watch=lambda *_: None)
    if pictures not in LABELS:
        chosen = setting.replace(source=pictures, pictures=count)
        return world().score(chosen, network, watch=lambda *_: None)
    data, distilled = world().data, with_labels(seed)
    recipe = ld.student(distilled, network=networks.spec("mlp"))
    if pictures == "true labels":
        distilled = ddlab.from_images(distilled.images, torch.arange(FEW) % 10, data)
    return ddlab.evaluate(
        distilled,
        data,
        labels=LABELS[pictures],
        config=recipe.replace(epochs=times * recipe.epochs),
        seeds=range(STUDENTS * seed, STUDENTS * (seed + 1)),
        **QUIET,
    ).mean


NETWORKS = {"perceptron": networks.spec("mlp"), "ConvNet": STRANGER}


def label_networks(learner: str, student: str, seed: int) -> float:
    """Students of one network, on a hundred shapes whose labels another learned for digits."""
    setting = world().start.replace(source="shapes", pictures=FEW, seed=seed)
    distilled = world().run(setting.replace(network=NETWORKS[learner])).advance().result()
    recipe = ld.student(distilled, network=NETWORKS[student])
    seeds = range(2 * seed, 2 * seed + 2)
    return ddlab.evaluate(
        distilled, world().data, labels="stored", config=recipe, seeds=seeds, **QUIET
    ).mean


@functools.cache
def shapes_like_digits() -> ddlab.ImageData:
    """Return shapes, grey and of the digits' size."""
    return aligned(datasets.load("shapes", size=16, train=2000, test=1000), world().data)


@functools.lru_cache(1)
def digits_for_shapes(seed: int) -> DistilledSet:
    """Return a hundred digits with labels that were learned for shapes."""
    shapes = shapes_like_digits()
    draws = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(world().data.train_labels), generator=draws)[:FEW]
    pictures = aligned(world().data, shapes).normalised(rows)
    base = ddlab.from_images(pictures, torch.arange(FEW) % 10, shapes)
    inputs = ddlab.Inputs(data=shapes, distilled=base, device="cpu")
    return ddlab.Run(ld, ld.Config.teaching(seed=seed), inputs).advance().result()


def swapped_labels(trained_on: str, seed: int) -> float:
    """Perceptrons that are tested on shapes."""
    shapes, learned = shapes_like_digits(), digits_for_shapes(seed)
    seeds = range(2 * seed, 2 * seed + 2)
    recipe = ld.student(learned, network=NETWORKS["perceptron"])
    if trained_on == DIGITS:
        return ddlab.evaluate(
            learned, shapes, labels="stored", config=recipe, seeds=seeds, **QUIET
        ).mean
    kind, count = LADDER[trained_on]
    config = selection.Config(kind=kind, images_per_class=count, seed=seed)
    chosen = ddlab.distill("selection", shapes, config=config, **QUIET)
    # As many steps as on the digits.
    steps = recipe.epochs * len(learned) // recipe.batch_size
    passes = max(steps * min(recipe.batch_size, len(chosen)) // len(chosen), 1)
    recipe = recipe.replace(labels="hard", epochs=passes)
    return ddlab.evaluate(chosen, shapes, labels="hard", config=recipe, seeds=seeds, **QUIET).mean


DIGITS = "a hundred digits, learned labels"
LADDER = {
    "one shape of each class": ("random", 1),
    "class means": ("centres", 1),
    "a hundred shapes": ("random", 10),
    "two thousand shapes": ("random", 200),
}
STUDIES = (
    Study(
        name="label_networks",
        description="A hundred shapes with labels that a perceptron or a ConvNet (width 16) learned for "
        "digits (LD, teaching preset), and students of both kinds, trained for as long as LD found "
        "best; mean of two.",
        setting=("learner", "student", "seed"),
        measured=("accuracy",),
        seeds=range(10),
        settings=lambda seeds: itertools.product(NETWORKS, NETWORKS, seeds),
        measure=label_networks,
    ),
    Study(
        name="swapped_labels",
        description="Shapes (16 px, grey) taught to perceptrons by a hundred digits with labels of LD "
        "(teaching preset), and by real shapes with their class labels, in as many steps; mean of two "
        "students.",
        setting=("trained_on", "seed"),
        measured=("accuracy",),
        seeds=range(10),
        settings=lambda seeds: itertools.product((*LADDER, DIGITS), seeds),
        measure=swapped_labels,
    ),
    Study(
        name="learned_labels",
        description="Digits (16 px) taught by 100 or 500 pictures with labels of LD (teaching preset), by "
        "ten real images, and by a hundred real digits with LD's or with true labels, for as long as "
        "LD found best and three times as long; mean of two students (of five for digits).",
        setting=("pictures", "count", "network", "times", "seed"),
        measured=("accuracy",),
        seeds=range(30),
        settings=settings,
        measure=measure,
    ),
)

if __name__ == "__main__":
    main_of(STUDIES)
