"""Makes ddlab/records/tables/learned_labels.json: what learned labels teach beside controls, which
lesson 65 shows.

python notebooks/studies/learned_labels.py            # half an hour
"""

import functools
from collections.abc import Iterable, Iterator

import torch
from study import QUIET, Setting, Study

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.distilled import DistilledSet
from ddlab.lessons.learned_labels.lab import STUDENT_KINDS, World
from ddlab.methods import ld

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


STUDY = Study(
    name="learned_labels",
    description="Digits (16 px) taught by 100 or 500 pictures with labels of LD (teaching preset), by "
    "ten real images, and by a hundred real digits with LD's or with true labels, for as long as "
    "LD found best and three times as long; mean of two students (of five for digits).",
    setting=("pictures", "count", "network", "times", "seed"),
    measured=("accuracy",),
    seeds=range(30),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
