"""Makes ddlab/records/tables/number_of_images.json: accuracy against the number of images, which
lesson 80 opens with.

python notebooks/studies/number_of_images.py            # a quarter of an hour
"""

from collections.abc import Iterable, Iterator
from typing import Any

from study import QUIET, Setting, Study, images_of

import ddlab
from ddlab.lessons.matching.world import student_config
from ddlab.methods import dc, dm, selection, sldd

PER_CLASS = (1, 2, 5, 10)
OWN_STEPS = "SLDD, its own steps"


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """All data, then each method with each number of images."""
    for seed in seeds:
        yield "all data", len(images_of("digits")), seed
        for count in PER_CLASS:
            for method in ("random real", "DM", "DC", OWN_STEPS):
                yield method, count * images_of("digits").classes, seed


def measure(method: str, images: int, seed: int) -> float:
    """Return the accuracy of a student."""
    data = images_of("digits")
    student = student_config(data)
    once: dict[str, Any] = {"labels": "hard", "seeds": (seed,), **QUIET}
    if method == "all data":
        everything = ddlab.from_images(data.normalised(), data.train_labels, data)
        return ddlab.evaluate(everything, data, config=student.replace(epochs=20), **once).mean
    count = images // data.classes
    if method == OWN_STEPS:
        config = sldd.Config.teaching(
            steps=count, epochs=3, starts="random", networks=4, iterations=200, seed=seed
        )
        distilled = ddlab.distill(sldd, data, config=config, **QUIET)
        return ddlab.evaluate(distilled, data, labels="steps", seeds=(100 + seed,), **QUIET).mean
    shared: dict[str, Any] = {"images_per_class": count, "seed": seed}
    # More images mean more inner training between two matchings.
    fewer: dict[str, Any] = {"networks": 100 if count == 1 else 10, "initialisation": "real"}
    module, config = {
        "random real": (selection, selection.Config(**shared)),
        "DM": (dm, dm.Config.teaching(**shared)),
        "DC": (dc, dc.Config.teaching(**fewer, **shared)),
    }[method]
    distilled = ddlab.distill(module, data, config=config, **QUIET)
    return ddlab.evaluate(distilled, data, config=student, **once).mean


STUDY = Study(
    name="number_of_images",
    description="Digits (16 px): sets of 10 to 100 images, teaching presets (DC with 100 networks for "
    "ten images and 10 for more, from real images), class labels and lesson 05's ConvNet students; "
    "all data: 20 epochs. SLDD: random starts, its perceptron takes three passes over as many "
    "steps as there are images of a class, from a start that it has not met. A seed is every draw.",
    setting=("method", "images", "seed"),
    measured=("accuracy",),
    seeds=range(5),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
