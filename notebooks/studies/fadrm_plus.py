"""Makes ddlab/records/tables/fadrm_plus.json: FADRM with one network and with three in turn
(FADRM+), by the labels of either.

python notebooks/studies/fadrm_plus.py            # eight minutes
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from study import QUIET, Setting, Study

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.distilled import DistilledSet
from ddlab.methods import fadrm
from ddlab.networks import Network
from ddlab.training import supervised

IMAGES_PER_CLASS = 5
OTHER_NETWORKS = ("shufflenet_v2_x0_5", "mobilenet_v2")
COUNTS = {"one network": 1, "three networks": 3}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Images of one network or three, with the labels of one or three."""
    for seed in seeds:
        yield from ((images, labels, seed) for images in COUNTS for labels in COUNTS)


@functools.cache
def data() -> ddlab.ImageData:
    """The shapes."""
    return datasets.load("shapes", size=16, train=2000)


@functools.cache
def teachers() -> tuple[Network, ...]:
    """Return a ConvNet, and two others that learned for ten epochs."""
    usual = supervised.Config.quick(data(), "teacher")
    configs = [
        usual,
        *(usual.replace(network=networks.spec(name), epochs=10) for name in OTHER_NETWORKS),
    ]
    return tuple(ddlab.train_teacher(data(), config, **QUIET) for config in configs)


@functools.lru_cache(1)
def image_set(images: str, seed: int) -> DistilledSet:
    """Return FADRM's images."""
    config = fadrm.Config(images_per_class=IMAGES_PER_CLASS, iterations=120, seed=seed)
    return ddlab.distill("fadrm", data(), teachers()[: COUNTS[images]], config, **QUIET)


def measure(images: str, labels: str, seed: int) -> float:
    """Return the accuracy of a ConvNet with online labels."""
    judges = teachers()[: COUNTS[labels]]
    distilled = image_set(images, seed)
    relabelled = ddlab.from_images(distilled.images, distilled.labels, data(), judges)
    student = supervised.Config.quick(data(), network=teachers()[0].spec)
    options: dict[str, Any] = {"labels": "online", "config": student, "teacher": judges}
    return ddlab.evaluate(relabelled, data(), seeds=(seed,), **options, **QUIET).mean


def description() -> str:
    """Say what was run, and what the teachers reach."""
    reached = ", ".join(f"{float(ddlab.accuracy(value, data())):.3f}" for value in teachers())
    return (
        "Shapes at 16 px (2,000 images), five images of each class, 120 updates, three merges; a "
        f"ConvNet, or it, a ShuffleNetV2-.5 and a MobileNetV2 in turn (test accuracy {reached}); a "
        "ConvNet student with online labels, of one or the mean of three."
    )


STUDY = Study(
    name="fadrm_plus",
    description=description,
    setting=("images", "labels", "seed"),
    measured=("accuracy",),
    seeds=range(5),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
