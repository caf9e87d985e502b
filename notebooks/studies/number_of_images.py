"""Makes ddlab/records/tables/number_of_images.json: accuracy against the number of images, which
lesson 80 opens with.

python notebooks/studies/number_of_images.py            # a quarter of an hour
"""

import time
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab.lessons.matching.world import student_config
from ddlab.methods import dc, dm, selection, sldd

SEEDS = range(5)
PER_CLASS = (1, 2, 5, 10)
QUIET: dict[str, Any] = {"device": "cpu", "progress": False}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("digits")
    student = student_config(data)
    everything = ddlab.from_images(data.normalised(), data.train_labels, data)
    rows: list[list[Any]] = []
    for seed in SEEDS:
        once: dict[str, Any] = {"seeds": (seed,), **QUIET}
        whole = ddlab.evaluate(
            everything, data, labels="hard", config=student.replace(epochs=20), **once
        )
        rows.append(["all data", len(data.train_labels), seed, round(whole.mean, 4)])
        for count in PER_CLASS:
            shared: dict[str, Any] = {"images_per_class": count, "seed": seed}
            real: dict[str, Any] = {"initialisation": "real"}
            for name, (method, config) in {
                "random real": (selection, selection.Config(**shared)),
                "DM": (dm, dm.Config.teaching(**shared)),
                # More images mean more inner training between two matchings.
                "DC": (
                    dc,
                    dc.Config.teaching(networks=100 if count == 1 else 10, **shared, **real),
                ),
            }.items():
                distilled = ddlab.distill(method, data, config=config, **QUIET)
                score = ddlab.evaluate(distilled, data, labels="hard", config=student, **once)
                rows.append([name, count * data.classes, seed, round(score.mean, 4)])
            config = sldd.Config.teaching(
                steps=count, epochs=3, starts="random", networks=4, iterations=200, seed=seed
            )
            distilled = ddlab.distill(sldd, data, config=config, **QUIET)
            score = ddlab.evaluate(distilled, data, labels="steps", seeds=(100 + seed,), **QUIET)
            rows.append(["SLDD, its own steps", count * data.classes, seed, round(score.mean, 4)])
        print(*rows[-17:], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Digits (16 px): sets of 10 to 100 images, teaching presets (DC with 100 networks for ten images and 10 "
        "for more, from real images), class labels and lesson 05's ConvNet students; all data: 20 epochs. SLDD: random starts, its "
        "perceptron takes three passes over as many steps as there are images of a class, from a start that "
        "it has not met. A seed is every draw."
    )
    cost = {"threads": 1, "cpu_seconds": round(time.process_time() - began)}
    save("number_of_images", description, ["method", "images", "seed", "accuracy"], rows, **cost)


if __name__ == "__main__":
    main()
