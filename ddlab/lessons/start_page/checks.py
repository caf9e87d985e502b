"""The start page: three ways to get fifty images, three kinds of labels, and its exercise."""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import joblib
import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import evaluate_all, interval
from ...methods import selection, sre2l
from ...networks import Network
from ...runs import Inputs, cache
from ...training import supervised
from ..answers import Exercise

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
    return f"**{mean:.0%}**" + (
        "" if span is None else f" ({max(span[0], 0):.0%} to {min(span[1], 1):.0%})"
    )


def _one_view() -> list[tuple[Any, ...]]:
    """Make a student, a teacher, a view, the image it was made of, and labels."""
    draws = torch.Generator().manual_seed(3)
    networks_of_case = []
    for _ in range(2):
        layer = torch.nn.Linear(48, 4).requires_grad_(False)
        layer.weight.copy_(torch.randn(4, 48, generator=draws))
        layer.bias.zero_()
        networks_of_case.append(torch.nn.Sequential(torch.nn.Flatten(), layer))
    view, image = torch.randn((2, 6, 3, 4, 4), generator=draws)
    return [(*networks_of_case, view, image, torch.arange(6) % 4)]


def _divergence(student_logits: Tensor, teacher_logits: Tensor) -> Tensor:
    """Return the page's `distance`: KL(teacher | student) at T = 4, a mean over images."""
    log_targets = (teacher_logits / 4).log_softmax(1)
    log_answers = (student_logits / 4).log_softmax(1)
    return F.kl_div(log_answers, log_targets, log_target=True, reduction="batchmean")


ONLINE = Exercise(
    arguments=("student", "teacher", "view [n, c, h, w]", "image [n, c, h, w]", "label [n]"),
    cases=_one_view,
    expected=lambda student, teacher, view, image, label: _divergence(student(view), teacher(view)),
    mistakes={
        "This is `stored`: the teacher answers the image. Let it answer the view.": (
            lambda student, teacher, view, image, label: _divergence(student(view), teacher(image))
        ),
        "Here both networks see the image. The student must train on the view.": (
            lambda student, teacher, view, image, label: _divergence(student(image), teacher(image))
        ),
        "Here the student sees the image and the teacher the view. Both must see the view.": (
            lambda student, teacher, view, image, label: _divergence(student(image), teacher(view))
        ),
        "The student's answer comes first in `distance`, and the teacher's second.": (
            lambda student, teacher, view, image, label: _divergence(teacher(view), student(view))
        ),
        "This is `hard`: it learns the class labels. Online labels need the teacher.": (
            lambda student, teacher, view, image, label: F.cross_entropy(student(view), label)
        ),
    },
    look="Only one word differs from `stored`: what does the teacher answer?",
    success=(
        "The teacher answers each view. Online labels therefore cost one pass of the teacher "
        "in every step, and stored labels one pass for each image."
    ),
)

CHECKS = {"online": ONLINE}
