"""Lesson 30: its pictures, teacher and runs, and the exercises' checks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ... import data as datasets
from ... import networks, records
from ...data import ImageData
from ...data.images import normalise
from ...evaluation import entropy
from ...figures import image_grid
from ...methods import fadrm
from ...networks import Network
from ...runs import Run
from ...training import supervised
from ..answers import called
from .world import World

ITERATIONS = 120  # as in the records


class Shared(NamedTuple):
    """What the lesson works on: pictures of 64 px, a teacher that takes images of any size, and how students learn."""

    data: ImageData
    teacher: Network
    student: supervised.Config


@functools.cache
def world() -> Shared:
    """4,000 generated pictures to learn from and 1,000 to test; the teacher comes with ddlab."""
    images, teacher = datasets.load("shapes", size=64, train=4000, test=1000), records.teacher("shapes64")
    network = networks.spec("convnet", width=16, depth=5, pooling="max", head="mean")
    return Shared(images, teacher, supervised.Config.for_data(images, network=network, epochs=100))


@functools.cache
def lab_world() -> World:
    """Runs of the world's teacher with one image per class, measured on the way and remembered."""
    return World(world().data, world().teacher, device="cpu")


def start(seed: int) -> fadrm.Config:
    """Where the explorer's controls stand at first: at full size throughout, as the paper has it up to 64 px."""
    return fadrm.Config(images_per_class=2, iterations=80, seed=seed)


def watched(merge_ratio: float, *, seed: int, merges: int = 3) -> Run:
    """A whole run at full size; without merges the ratio says nothing."""
    config = fadrm.Config(
        images_per_class=1, iterations=ITERATIONS, merges=merges, merge_ratio=merge_ratio if merges else 1.0, seed=seed
    )
    return lab_world().run_of(config).advance()


def pictures(run: Run, steps: Sequence[int]) -> Any:
    """The images of all classes at some steps of a run, one row each."""
    known = {frame.step: frame.content.images for frame in run.frames}
    images = torch.cat([known[step] for step in steps])
    return image_grid(
        images, world().data.classes, title="Ten images along a run", column_labels=world().data.class_names,
        row_labels=[f"step {step}" for step in steps], description=f"the same images after {', '.join(map(str, steps))} steps",
    )  # fmt: skip


def feature_entropy(images: Tensor) -> Tensor:
    """Feature entropy in bits, [n], of uint8 images [n, channels, h, w], in the bins of `lab_world`."""
    known = lab_world()
    seen = networks.predict(known.inputs.teachers[0], normalise(images, known.data.mean, known.data.std)).last_conv
    return entropy.feature_entropy(seen, known.edges)


def check_survival(answer: Any) -> tuple[bool, str]:
    """Exercise 2: a function (alpha, k, stage) -> what is left of a stage's change in the end, found by merging numbers."""
    for alpha, merges in ((0.5, 3), (0.9, 3), (0.2, 1), (0.0, 2)):
        for changed in range(1, merges + 2):
            image = torch.zeros(1, 1, 1, 1)
            for stage in range(1, merges + 2):
                image = image + float(stage == changed)
                if stage <= merges:
                    image = fadrm.merged_with_residual(image, torch.zeros(1, 1, 1, 1), alpha)
            given, problem = called(answer, alpha, merges, changed, of="(alpha, k, stage)")
            if problem:
                return False, problem
            if isinstance(given, bool) or not isinstance(given, (int, float)):
                return False, "Return one number from 0 to 1."
            if abs(given - float(image)) > 1e-6:
                said = (
                    f"With alpha = {alpha:g} and k = {merges}, {float(image):.4g} of stage {changed}'s change is left"
                )
                return False, f"{said}; yours is {given:.4g}. Count the merges that come after a stage."
    return (
        True,
        "Every merge shortens all that came before it: with alpha = .5 the first of four stages keeps an eighth.",
    )


def check_cost(answer: Any) -> tuple[bool, str]:
    """Exercise 1: a function (budget, merges, r) -> the exact share of pixels, for even numbers of merges, too."""
    for budget, merges, share in ((120, 3, 0.5625), (120, 2, 0.25), (100, 6, 0.5), (10, 0, 0.25)):
        given, problem = called(answer, budget, merges, share, of="(budget, merges, r)")
        if problem:
            return False, problem
        stages = [fadrm.stage_of(step, iterations=budget, merges=merges) for step in range(budget)]
        wanted = sum(share if stage % 2 else 1.0 for stage in stages) / budget
        printed = 1 - budget // (merges + 1) / budget * -(-merges // 2) * (1 - share)
        if not isinstance(given, (int, float)):
            return False, "Return one number, a share between r and 1."
        if abs(given - wanted) > 1e-9:
            if abs(given - printed) < 1e-9:
                return (
                    False,
                    f"That is equation 8 as printed. With k = {merges} the run also ends small: count that stage.",
                )
            return (
                False,
                f"For budget {budget}, k = {merges}, r = {share:g} the share is {wanted:.4f}; yours is {given:.4f}.",
            )
    return True, "Odd stages are small, and with an even k the last one is odd."


def check_fooling(answer: Any) -> tuple[bool, str]:
    """Exercise 3: a uint8 image [3, 64, 64] of more pixel entropy than any real one."""
    if not isinstance(answer, Tensor) or answer.dtype != torch.uint8 or tuple(answer.shape) != (3, 64, 64):
        return False, "Make a uint8 tensor of shape [3, 64, 64]."
    bits = float(entropy.pixel_entropy(answer[None]))
    real = float(entropy.pixel_entropy(world().data.images()).max())
    if bits <= real:
        return (
            False,
            f"Yours has {bits:.2f} bits, the real image with the most has {real:.2f}. Use more of the 256 values.",
        )
    return True, f"{bits:.2f} bits, more than any real image ({real:.2f}): a high entropy is no proof of information."


CHECKS: dict[str, Callable[[Any], tuple[bool, str]]] = {
    "cost": check_cost,
    "survival": check_survival,
    "fooling": check_fooling,
}
