"""Makes ddlab/records/tables/residual_counts.json: FADRM, its patches and RDED with one, ten and
fifty images of each class, which lesson 30 shows.

python notebooks/studies/residual_counts.py            # half an hour
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from study import QUIET, Setting, Study

import ddlab
from ddlab import data as datasets
from ddlab.methods import fadrm, rded, selection
from ddlab.networks import Network
from ddlab.training import supervised

COUNTS = (1, 10, 50)
METHODS: dict[str, tuple[Any, Any]] = {
    "random real": (selection, selection.Config()),
    "RDED": (rded, rded.Config.teaching()),
    "FADRM": (fadrm, fadrm.Config(iterations=120, merge_ratio=0.5)),
}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each method with each number of images."""
    for seed in seeds:
        yield from ((images, count, seed) for count in COUNTS for images in METHODS)


@functools.cache
def scene() -> tuple[ddlab.ImageData, Network]:
    """The data, and a teacher."""
    data = datasets.load("shapes", size=16)
    return data, ddlab.train_teacher(data, supervised.Config.quick(data, "teacher"), **QUIET)


def measure(images: str, count: int, seed: int) -> float:
    """Return the accuracy of a student with online labels."""
    data, teacher = scene()
    method, config = METHODS[images]
    config = config.replace(images_per_class=count, seed=seed)
    distilled = ddlab.distill(method, data, teacher, config, **QUIET)
    student = supervised.Config.quick(data, network=teacher.spec)
    options: dict[str, Any] = {"labels": "online", "teacher": teacher, "config": student}
    return ddlab.evaluate(distilled, data, seeds=(seed,), **options, **QUIET).mean


def description() -> str:
    """Say what was run, and what the teacher reaches."""
    data, teacher = scene()
    return (
        "FADRM, Table 1. Shapes of 16 px (5,000 images), a ConvNet-3 as teacher, which itself reaches "
        f"{float(ddlab.accuracy(teacher, data)):.4f}, and as students (100 epochs, online labels). "
        "FADRM: 120 updates, three merges, alpha .5, on one real image each. A seed is every draw."
    )


STUDY = Study(
    name="residual_counts",
    description=description,
    setting=("images", "count", "seed"),
    measured=("accuracy",),
    seeds=range(5),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
