"""Makes ddlab/records/tables/recovered.json: what images recovered from noise and from real ones
teach, which lesson 20 shows.

python notebooks/studies/recovered.py            # ten minutes
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from study import QUIET, Setting, Study, images_of

import ddlab
from ddlab.distilled import DistilledSet
from ddlab.methods import selection, sre2l
from ddlab.methods.shared import descent
from ddlab.networks import Network
from ddlab.training import supervised

LABELS = ("hard", "stored", "online")
NO_GAPS = {"lambda_mean": 0.0, "lambda_var": 0.0}
FROM_REAL = {"initialisation": "real"}
RECOVERED: dict[str, dict[str, Any]] = {
    "recovered from noise": {},
    "recovered from noise, no gaps": NO_GAPS,
    "recovered from noise, rate 1": {"learning_rate": 1.0},
    "recovered from noise, rate 1, no gaps": NO_GAPS | {"learning_rate": 1.0},
    "recovered from real": FROM_REAL,
    "recovered from real, no gaps": FROM_REAL | NO_GAPS,
    "recovered from real, rate .02": FROM_REAL | {"learning_rate": 0.02},
    "recovered from real, rate 1": FROM_REAL | {"learning_rate": 1.0},
}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each kind of images with each kind of labels."""
    for seed in seeds:
        for images in ("real", "typical", *RECOVERED):
            yield from ((images, labels, seed) for labels in LABELS)


@functools.lru_cache(1)
def teacher(seed: int) -> Network:
    """Return the teacher of a seed."""
    config = supervised.Config.quick(images_of("digits"), "teacher")
    return ddlab.train_teacher(images_of("digits"), config.replace(seed=seed), **QUIET)


@functools.lru_cache(1)
def image_set(images: str, seed: int) -> DistilledSet:
    """Return one image of each class."""
    data = images_of("digits")
    if images == "real":
        (chosen,) = descent.real_image_indices(data, 1, seed=seed)
        return ddlab.from_images(
            data.normalised(chosen), data.train_labels[chosen], data, teacher(seed)
        )
    if images == "typical":
        typical = selection.Config.teaching(kind="k_means", seed=seed)
        return ddlab.distill("selection", data, teacher(seed), config=typical, **QUIET)
    config = sre2l.Config.teaching(images_per_class=1, seed=seed, **RECOVERED[images])
    return ddlab.distill("sre2l", data, teacher(seed), config=config, **QUIET)


def measure(images: str, labels: str, seed: int) -> float:
    """Return the accuracy of a student."""
    options: dict[str, Any] = {
        "labels": labels,
        "config": supervised.Config.quick(images_of("digits")),
    }
    return ddlab.evaluate(
        image_set(images, seed),
        images_of("digits"),
        teacher=teacher(seed),
        seeds=(seed,),
        **options,
        **QUIET,
    ).mean


STUDY = Study(
    name="recovered",
    description="Digits (16 px), one image of each class, a teacher for each seed: students of real "
    "images, of those that SRe2L (teaching preset) made of them and of noise, at several learning "
    "rates, with and without the batch-norm gaps, and of typical real ones (nearest to the mean of "
    "their class).",
    setting=("images", "labels", "seed"),
    measured=("accuracy",),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
