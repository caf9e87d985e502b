"""Makes ddlab/records/tables/residual_pairs.json: what FADRM's images teach beside their patches
and two leashes, which lesson 30 shows.

python notebooks/studies/residual_pairs.py            # an hour
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from study import QUIET, Setting, Study
from torch import Tensor

import ddlab
from ddlab import data as datasets
from ddlab import records, runs
from ddlab.distilled import DistilledSet
from ddlab.methods import fadrm, rded, selection
from ddlab.networks import Network
from ddlab.runs import Inputs
from ddlab.training import supervised

IMAGES_PER_CLASS = 5
PUBLISHED = fadrm.Config(iterations=120)
METHODS: dict[str, tuple[Any, Any]] = {
    "patches": (selection, selection.Config()),
    "RDED, one crop": (rded, rded.Config.teaching(factor=1)),
    **{
        f"alpha {ratio:g}": (fadrm, PUBLISHED.replace(merge_ratio=ratio))
        for ratio in (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    },
    "alpha 0.5, two sizes": (fadrm, PUBLISHED.replace(small_size=48)),
    "alpha 0.5, crops": (fadrm, PUBLISHED.replace(patches="crop")),
}
LEASHED = ("stopped early", "pulled back")


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each kind of images."""
    for seed in seeds:
        yield from ((images, seed) for images in (*METHODS, *LEASHED))


@functools.cache
def scene() -> tuple[ddlab.ImageData, Network]:
    """The data, and the shipped teacher."""
    return datasets.load("shapes", size=64, train=4000, test=1000), records.teacher("shapes64")


@functools.lru_cache(4)
def image_set(images: str, seed: int) -> DistilledSet:
    """Return five images of each class."""
    if images in LEASHED:
        return leashed(image_set("patches", seed), image_set("alpha 0.5", seed), seed)[images]
    data, teacher = scene()
    method, config = METHODS[images]
    config = config.replace(images_per_class=IMAGES_PER_CLASS, seed=seed)
    return ddlab.distill(method, data, teacher, config, **QUIET)


def batches(distilled: DistilledSet) -> Tensor:
    """Return [images of a class, classes, channels, h, w], in the order in which FADRM makes them."""
    return distilled.images[distilled.labels.argsort(stable=True).view(-1, IMAGES_PER_CLASS).T]


def leashed(patches: DistilledSet, reference: DistilledSet, seed: int) -> dict[str, DistilledSet]:
    """Return a run without merges, as far from its patches as the reference is, batch by batch:
    stopped there, or pulled back from its end.
    """
    data, teacher = scene()
    config = PUBLISHED.replace(images_per_class=IMAGES_PER_CLASS, merges=0, seed=seed)
    starts = batches(patches)
    stopped: list[Tensor] = []
    pulled: list[Tensor] = []
    distances_moved = (batches(reference) - starts).flatten(2).norm(dim=2).mean(1)
    for step in runs.steps(fadrm, config, Inputs(data=data, teachers=(teacher,), device="cpu")):
        batch, iteration = divmod(step.index - 1, config.iterations)
        is_last = iteration + 1 == config.iterations
        images = step.state.done[batch] if is_last else step.state.images
        distance = (images - starts[batch]).flatten(1).norm(dim=1).mean()
        if len(stopped) == batch and (is_last or distance >= distances_moved[batch]):
            stopped.append(images)
        if is_last:
            share = min(float(distances_moved[batch] / distance), 1.0)
            pulled.append(starts[batch] + share * (images - starts[batch]))
    labels = torch.arange(data.classes).repeat(IMAGES_PER_CLASS)
    return {
        name: ddlab.from_images(torch.cat(images), labels, data, teacher)
        for name, images in zip(LEASHED, (stopped, pulled), strict=True)
    }


def measure(images: str, seed: int) -> float:
    """Return the accuracy of a student with online labels."""
    data, teacher = scene()
    student = supervised.Config.quick(data, network=teacher.spec, epochs=100)
    options: dict[str, Any] = {"labels": "online", "config": student, "teacher": teacher}
    return ddlab.evaluate(image_set(images, seed), data, seeds=(seed,), **options, **QUIET).mean


STUDY = Study(
    name="residual_pairs",
    description="Shapes at 64 px (4,000 images, 1,000 to test), the shipped ConvNet-5 of width 16 as "
    "teacher and as students (100 epochs, online labels), five images of each class, 120 updates, "
    "three merges. A seed is the draw of images and the student's seed.",
    setting=("images", "seed"),
    measured=("accuracy",),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
