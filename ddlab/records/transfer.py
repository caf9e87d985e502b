"""What the records about the use of a distilled set measure, and their points: DWA's Tables 4 and 10 (Du et al. 2024, arXiv 2409.17612)."""

from __future__ import annotations

from .. import networks
from ..evaluation import across, class_incremental
from .diversity import point
from .setting import DWA, RANDOM, SRE2L, setting
from .sweep import Place, Point

ARCHITECTURES = ("convnet", "resnet18", "vgg11", "mobilenet_v2", "shufflenet_v2_x0_5")
# Shorter than elsewhere, in smaller batches: ResNet-18 takes 1.5 CPU-seconds for 100 images of 16 px.
EPOCHS, BATCH_SIZE = 30, 25
TASKS = 5


def architectures() -> list[Point]:
    """Table 4: students of five families on the same sets of ten images per class."""
    return [
        {"architecture": architecture} | point(method, images_per_class=10, seed=seed)
        for method in (RANDOM, SRE2L, DWA) for seed in range(3) for architecture in ARCHITECTURES
    ]  # fmt: skip


def across_architectures(point: Point, place: Place) -> dict[str, float]:
    """online: test accuracy of one student of the point's architecture, a fraction in [0, 1], with online labels."""
    world = setting("shapes", place)
    teacher, family = world.teacher(place), point["architecture"]
    spec = world.student.network if family == "convnet" else networks.spec(family)
    config = world.student.replace(epochs=1 if place.smoke else EPOCHS, batch_size=BATCH_SIZE)
    found = across(
        world.distilled(point, place), world.data, networks=[spec], labels="online", teacher=teacher,
        seeds=(point["seed"],), config=config, device=place.device,
    )  # fmt: skip
    return {"online": found.evaluations[spec.title].mean}


def continual() -> list[Point]:
    """Table 10: five tasks of two classes, twenty images per class."""
    return [point(method, images_per_class=20, seed=seed) for method in (RANDOM, SRE2L, DWA) for seed in range(5)]


def in_tasks(point: Point, place: Place) -> dict[str, float]:
    """hard_2, ..., online_10: test accuracy over the classes seen, after 2, 4, ... classes, of one student, by its labels."""
    world = setting("shapes", place)
    found = {}
    for labels in ("hard", "online"):
        run = class_incremental(
            world.distilled(point, place), world.data, labels=labels, tasks=TASKS, teacher=world.teacher(place),
            seeds=(point["seed"],), config=world.student, device=place.device,
        )  # fmt: skip
        found |= {f"{labels}_{len(stage.classes)}": stage.evaluation.mean for stage in run.stages}
    return found
