"""The start page: three ways to get fifty images, three kinds of labels, and the check of its
exercise.
"""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import joblib
import torch
from torch import Tensor

from ... import networks
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import evaluate_all, interval
from ...methods import selection, sre2l
from ...networks import Network
from ...runs import Inputs, cache
from ...training import supervised
from ..answers import NotYet, require_kind

IMAGES_PER_CLASS = 5
IMAGES = ("random", "k-means", "SRe2L")
# Stored ones are in the explorer; nine more students would take too long.
LABELS = ("hard", "online")

# Half as wide as the teaching preset's, so that a click trains a student in a second or two. All
# other settings are the preset's.
NETWORK = networks.spec("convnet", width=32)

AccuraciesByPair = dict[tuple[str, str], list[float]]


def by_class(images: DistilledSet, per_class: int) -> Tensor:
    """Return the first `per_class` images of each class, uint8 [classes, each, channels, h, w]."""
    pixels = images.to_uint8()
    class_images = [pixels[images.labels == label][:per_class] for label in range(images.classes)]
    return torch.stack(class_images)


def three_sets(
    data: ImageData, teacher: Network, *, seed: int, progress: bool = False
) -> dict[str, DistilledSet]:
    """Return five images per class three ways, with the teacher's labels.

    They are drawn, nearest to k-means centres, and recovered by SRe2L.

    Args:
        progress: one line on standard output while images are recovered, which takes some seconds.

    Raises:
        KeyboardInterrupt: the run was interrupted before the images were whole.
    """
    inputs = Inputs(data=data, teachers=(teacher,), device="cpu")
    size: dict[str, Any] = {"images_per_class": IMAGES_PER_CLASS, "seed": seed}
    recovery = sre2l.Config.teaching(**size)
    return {
        "random": cache.run(selection, selection.Config.teaching(**size), inputs),
        "k-means": cache.run(selection, selection.Config.teaching(kind="k_means", **size), inputs),
        "SRe2L": cache.run(sre2l, recovery, inputs, progress=progress),
    }


def accuracies(
    data: ImageData,
    teacher: Network,
    *,
    pairs: int,
    conditions: Sequence[tuple[str, str]] = tuple(itertools.product(IMAGES, LABELS)),
    student: supervised.Config | None = None,
    progress: bool = False,
) -> AccuraciesByPair:
    """Return the test accuracy of one student by (images, labels), a fraction in [0, 1].

    Pair s uses seed s for the draw of the images and for the student; all pairs share the teacher.

    Args:
        student: how students are trained; default the teaching preset for these images with
            `NETWORK`.
        progress: one line for all students on standard output.
    """
    config = supervised.Config.quick(data, network=NETWORK) if student is None else student
    several: dict[tuple[int, str, str], dict[str, Any]] = {}
    for seed in range(pairs):
        sets = three_sets(data, teacher, seed=seed)
        for images, labels in conditions:
            several[seed, images, labels] = {
                "distilled": sets[images],
                "labels": labels,
                "seeds": (seed,),
            }
    shared: dict[str, Any] = {"data": data, "teacher": teacher, "config": config, "device": "cpu"}
    # On one core a second process would only wait for the first.
    jobs = min(joblib.cpu_count(), 2)
    evaluations = evaluate_all(several, progress=progress, jobs=jobs, **shared)
    return {pair: [evaluations[seed, *pair].mean for seed in range(pairs)] for pair in conditions}


def table(accuracies_by_pair: Mapping[tuple[str, str], Sequence[float]]) -> str:
    """Return a Markdown table of images by labels: mean accuracy and 95% interval over the pairs."""
    columns = list(dict.fromkeys(labels for _, labels in accuracies_by_pair))
    lines = [
        "| images | " + " | ".join(f"{labels} labels" for labels in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for images in dict.fromkeys(images for images, _ in accuracies_by_pair):
        lines.append(
            f"| {images} | "
            + " | ".join(_cell(accuracies_by_pair[images, labels]) for labels in columns)
            + " |"
        )
    return "\n".join(lines)


def _cell(values: Sequence[float]) -> str:
    mean = statistics.fmean(values)
    span = interval(values)
    return f"**{mean:.2f}**" + (
        "" if span is None else f" ({max(span[0], 0):.2f} to {min(span[1], 1):.2f})"
    )


def check_average(answer: Any) -> str:
    """Check the exercise: mean images of random fifths, five per class, labelled by the teacher."""
    require_kind(
        answer,
        DistilledSet,
        'Give a DistilledSet: ddlab.distill("selection", data, teacher, selection.Config(...)).',
    )
    kind = answer.provenance.get("config", {}).get("kind")
    if kind == "centres":
        raise NotYet("These are means of images that are similar. Take means of random fifths.")
    if kind != "average":
        raise NotYet('These are not averages. The Config has a field `kind`; it takes "average".')
    if len(answer) != IMAGES_PER_CLASS * answer.classes:
        raise NotYet(
            f"Compare at equal budget: images_per_class={IMAGES_PER_CLASS}; yours holds "
            f"{len(answer)} images."
        )
    if "online" not in [target.kind for target in answer.targets]:
        raise NotYet("They have hard labels only. Pass the teacher to `distill` as well.")
    return (
        "Five averages per class with the teacher's labels. The figure below compares what they "
        "teach with random images."
    )


CHECKS = {"average": check_average}
