"""Makes ddlab/records/tables/diversity.json: what the start, the variance gap's weight and a push
each do, which lesson 21 shows.

python notebooks/studies/diversity.py            # half an hour
"""

import functools
from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import Any

from study import QUIET, Setting, Study

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.distilled import DistilledSet
from ddlab.evaluation import measures
from ddlab.lessons.diversity.checks import coverage
from ddlab.methods import dwa, selection
from ddlab.networks import Network
from ddlab.training import supervised

IMAGES_PER_CLASS = 10
SMALL = networks.spec("convnet", width=32)
REAL = ("real images", None, "none")
ARMS = [(start, weight, "none") for start in ("noise", "real") for weight in (0.01, 0.11)]
LONG = "directed, ρ = .5"
ARMS += [("real", 0.11, push) for push in ("random", "directed", LONG)]


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Random real images, then each start, weight and push."""
    for seed in seeds:
        yield from ((*arm, seed) for arm in (REAL, *ARMS))


@functools.cache
def scene() -> tuple[ddlab.ImageData, Network]:
    """The data, and a teacher."""
    data = datasets.load("shapes", size=16)
    config = supervised.Config.quick(data, "teacher", network=SMALL)
    return data, ddlab.train_teacher(data, config, **QUIET)


def image_set(start: str, lambda_var: float | None, push: str, seed: int) -> DistilledSet:
    """Return ten images of each class."""
    data, teacher = scene()
    shared: dict[str, Any] = {"images_per_class": IMAGES_PER_CLASS, "seed": seed}
    if lambda_var is None:
        return ddlab.distill("selection", data, teacher, selection.Config(**shared), **QUIET)
    config = dwa.Config.teaching(
        iterations=150,
        initialisation=start,
        lambda_var=lambda_var,
        perturbation="directed" if push == LONG else push,
        adjustment_radius=0.5 if push == LONG else 0.015,
        **shared,
    )
    return ddlab.distill("dwa", data, teacher, config, **QUIET)


def measure(start: str, lambda_var: float | None, push: str, seed: int) -> tuple[float, ...]:
    """Return feature distance, coverage, and the accuracy with class labels and with online ones."""
    data, teacher = scene()
    distilled = image_set(start, lambda_var, push, seed)
    student = supervised.Config.quick(data, network=SMALL)
    options: dict[str, Any] = {"teacher": teacher, "config": student, "seeds": (seed,), **QUIET}
    return (
        fmean(measures.feature_distance(distilled, teacher).tolist()),
        coverage(data, teacher, distilled.images),
        *(
            ddlab.evaluate(distilled, data, labels=labels, **options).mean
            for labels in ("hard", "online")
        ),
    )


STUDY = Study(
    name="diversity",
    description=f"Shapes (16 px), {IMAGES_PER_CLASS} images of each class, one teacher (ConvNet, width "
    "32), 150 iterations: from noise or real images, with two weights of the variance gap (the "
    "mean gap: .01), no push, a random one, DWA's (12 steps, .015), or one of length .5; the random real images of "
    "the same seed. Normalised feature distance, coverage of 300 real images, students with class "
    "labels and online labels.",
    setting=("start", "lambda_var", "push", "seed"),
    measured=("distance", "coverage", "hard", "online"),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
