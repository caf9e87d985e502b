"""Makes ddlab/records/tables/flexibility.json: sets of DD, SLDD and LD, trained on in another way
than they were made for, which lesson 65 shows.

python notebooks/studies/flexibility.py            # twenty minutes
"""

import dataclasses
import time
from statistics import fmean
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.distilled import DistilledSet
from ddlab.methods import dd, ld, sldd
from ddlab.training import ordered, supervised

SEEDS = range(10)
STEPS = 10  # of ten images each
QUIET: dict[str, Any] = {"device": "cpu", "progress": False}
CONVNET = networks.spec("convnet", width=16, norm="instance")


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


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("digits")
    rows = []
    for seed in SEEDS:
        students = range(100 + 3 * seed, 103 + 3 * seed)  # starts that no set has met
        unrolled: dict[str, Any] = {
            "steps": STEPS,
            "epochs": 1,
            "starts": "random",
            "networks": 4,
            "iterations": 200,
            "seed": seed,
        }
        for method in (dd, sldd):
            name = "DD" if method is dd else "SLDD"
            distilled = ddlab.distill(
                method, data, config=method.Config.teaching(**unrolled), **QUIET
            )
            for words, image_set in {
                "as made": distilled,
                "other order": reordered(distilled, seed),
                "three times as long": longer(distilled),
            }.items():
                score = ddlab.evaluate(image_set, data, labels="steps", seeds=students, **QUIET)
                rows.append([name, words, seed, round(score.mean, 4)])
            starts = [
                networks.initialise(CONVNET.for_data(data), seed=student) for student in students
            ]
            stepped = [
                ddlab.accuracy(ordered.after_steps(distilled, start), data) for start in starts
            ]
            rows.append([name, "ConvNet", seed, round(fmean(map(float, stepped)), 4)])
            plain = ddlab.from_images(distilled.images, distilled.labels, data)
            adam = supervised.Config.quick(data, network=networks.spec("mlp"), mixup_alpha=0.0)
            score = ddlab.evaluate(plain, data, labels="hard", config=adam, seeds=students, **QUIET)
            rows.append([name, "Adam, mixed batches", seed, round(score.mean, 4)])
        distilled = ddlab.distill(ld, data, config=ld.Config.teaching(seed=seed), **QUIET)
        recipe = ld.student(distilled, network=networks.spec("mlp"))
        adam = adam.replace(labels="stored", temperature=1.0)
        for words, config in {
            "as made": recipe,
            "three times as long": recipe.replace(epochs=3 * recipe.epochs),
            "ConvNet": recipe.replace(network=CONVNET),
            "Adam, mixed batches": adam,
        }.items():
            score = ddlab.evaluate(
                distilled, data, labels="stored", config=config, seeds=students, **QUIET
            )
            rows.append(["LD", words, seed, round(score.mean, 4)])
        print(*rows[-14:], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Digits (16 px), a hundred images each, a perceptron: DD and SLDD (random starts, four an update, "
        "200 updates, ten steps of ten images with learned rates) and LD (teaching preset, real digits). "
        "Three students a seed, from starts that no set has met: as the set was made for; with its batches in "
        "another order; three times as long; with Adam on mixed batches (100 epochs; SLDD's images with "
        "their class labels); another network."
    )
    cost = {"threads": 1, "cpu_seconds": round(time.process_time() - began)}
    save("flexibility", description, ["method", "training", "seed", "accuracy"], rows, **cost)


if __name__ == "__main__":
    main()
