"""Makes ddlab/records/tables/flexibility.json: sets of DD, SLDD and LD, trained on in another way
than they were made for, which lesson 65 shows.

python notebooks/studies/flexibility.py            # twenty minutes
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import Any

import torch
from study import QUIET, Setting, Study, images_of

import ddlab
from ddlab import networks
from ddlab.distilled import DistilledSet
from ddlab.methods import dd, ld, sldd
from ddlab.training import ordered, supervised

STEPS = 10  # of ten images each
UNROLLED: dict[str, Any] = {
    "steps": STEPS,
    "epochs": 1,
    "starts": "random",
    "networks": 4,
    "iterations": 200,
}
METHODS: dict[str, tuple[Any, Any]] = {
    "DD": (dd, dd.Config.teaching(**UNROLLED)),
    "SLDD": (sldd, sldd.Config.teaching(**UNROLLED)),
    "LD": (ld, ld.Config.teaching()),
}
ORDERED = ("as made", "other order", "three times as long", "ConvNet", "Adam, mixed batches")
FREE = ("as made", "three times as long", "ConvNet", "Adam, mixed batches")
CONVNET = networks.spec("convnet", width=16, norm="instance")


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each method in each way of training; LD has no order."""
    for seed in seeds:
        for method in METHODS:
            trainings = FREE if method == "LD" else ORDERED
            yield from ((method, training, seed) for training in trainings)


@functools.lru_cache(1)
def image_set(method: str, seed: int) -> DistilledSet:
    """Return a hundred images of a method."""
    module, config = METHODS[method]
    return ddlab.distill(module, images_of("digits"), config=config.replace(seed=seed), **QUIET)


def reordered(distilled: DistilledSet, seed: int) -> DistilledSet:
    """Return the same images, their batches in another order; the rates stay where they are."""
    target = distilled.target("steps")
    order = torch.randperm(STEPS, generator=torch.Generator().manual_seed(seed))
    rows = torch.arange(len(distilled)).view(STEPS, -1)[order].flatten()
    labels = None if target.labels is None else target.labels[rows]
    tensors = distilled.tensors | {"images": distilled.images[rows]}
    if "labels" in tensors:
        tensors["labels"] = tensors["labels"][rows]
    moved = dataclasses.replace(distilled, tensors=tensors)
    return moved.with_targets(dataclasses.replace(target, labels=labels))


def longer(distilled: DistilledSet) -> DistilledSet:
    """Return a set whose training goes through all steps three times."""
    target = distilled.target("steps")
    return distilled.with_targets(dataclasses.replace(target, passes=3 * target.passes))


def measure(method: str, training: str, seed: int) -> float:
    """Return the mean accuracy of three students from starts that no set has met."""
    students = range(100 + 3 * seed, 103 + 3 * seed)
    distilled = image_set(method, seed)
    adam = supervised.Config.quick(
        images_of("digits"), network=networks.spec("mlp"), mixup_alpha=0.0
    )
    if method == "LD":
        recipe = ld.student(distilled, network=networks.spec("mlp"))
        config = {
            "as made": recipe,
            "three times as long": recipe.replace(epochs=3 * recipe.epochs),
            "ConvNet": recipe.replace(network=CONVNET),
            "Adam, mixed batches": adam.replace(labels="stored", temperature=1.0),
        }[training]
        return taught(distilled, "stored", students, config)
    if training == "ConvNet":
        spec = CONVNET.for_data(images_of("digits"))
        starts = [networks.initialise(spec, seed=student) for student in students]
        return fmean(
            float(ddlab.accuracy(ordered.after_steps(distilled, start), images_of("digits")))
            for start in starts
        )
    if training == "Adam, mixed batches":
        plain = ddlab.from_images(distilled.images, distilled.labels, images_of("digits"))
        return taught(plain, "hard", students, adam)
    if training == "other order":
        distilled = reordered(distilled, seed)
    if training == "three times as long":
        distilled = longer(distilled)
    return taught(distilled, "steps", students)


def taught(distilled: DistilledSet, labels: Any, students: range, config: Any = None) -> float:
    """Return the mean accuracy of students of these seeds."""
    return ddlab.evaluate(
        distilled, images_of("digits"), labels=labels, config=config, seeds=students, **QUIET
    ).mean


STUDY = Study(
    name="flexibility",
    description="Digits (16 px), a hundred images each, a perceptron: DD and SLDD (random starts, four "
    "an update, 200 updates, ten steps of ten images with learned rates) and LD (teaching preset, "
    "real digits). Three students a seed, from starts that no set has met: as the set was made "
    "for; with its batches in another order; three times as long; with Adam on mixed batches (100 "
    "epochs; SLDD's images with their class labels); another network.",
    setting=("method", "training", "seed"),
    measured=("accuracy",),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
