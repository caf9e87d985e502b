"""Lesson 30: the world of its records, entropies along a run, and the exercises' checks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ... import data as datasets
from ... import networks, records
from ...core import randomness
from ...data import ImageData
from ...data.images import normalise
from ...distilled import DistilledSet
from ...evaluation import entropy
from ...figures import image_grid
from ...methods import fadrm
from ...records import setting
from ...records.residuals import SMALL_SIZE
from ...records.setting import FADRM, RDED, SRE2L
from ...runs import Run
from ..answers import called
from .world import FEATURES, World

ITERATIONS = 120  # as in the records
SETTING = "shapes 64 px, ConvNet-5 of width 16"


@functools.cache
def world() -> setting.Setting:
    """The images, teacher and students of the records, so that a point of theirs can be repeated here."""
    return setting.shapes64(records.Place())


def small_pictures() -> ImageData:
    """A few pictures of 32 px, for timings of large networks."""
    return datasets.load("shapes", size=32, train=100, test=10)


@functools.cache
def lab_world() -> World:
    """Runs of the world's teacher with one image per class, measured on the way and remembered."""
    return World(world().data, world().teacher(records.Place()), device="cpu")


def start(seed: int) -> fadrm.Config:
    """Where the explorer's controls stand at first: the smaller size is 48 px."""
    return fadrm.Config(images_per_class=2, iterations=80, small_size=SMALL_SIZE, seed=seed)


def watched(merge_ratio: float, *, seed: int, merges: int = 3) -> Run:
    """A whole run at full size; without merges the ratio says nothing."""
    config = fadrm.Config(
        images_per_class=1, iterations=ITERATIONS, merges=merges, merge_ratio=merge_ratio if merges else 1.0, seed=seed
    )
    return lab_world().run_of(config).advance()


def entropies(run: Run) -> dict[int, float]:
    """Step -> feature entropy in bits, mean over one image per class."""
    return {frame.step: float(frame.content.measured[FEATURES].mean()) for frame in run.frames}


def levels(run: Run) -> dict[str, float]:
    """Kind of reference image -> feature entropy in bits, mean over classes."""
    return {kind: float(found[FEATURES].mean()) for kind, found in lab_world().reference(run.config).levels.items()}


def pictures(run: Run, steps: Sequence[int]) -> Any:
    """The images of all classes at some steps of a run, one row each."""
    known = {frame.step: frame.content.images for frame in run.frames}
    images = torch.cat([known[step] for step in steps])
    return image_grid(
        images, world().data.classes, title="Ten images along a run", column_labels=world().data.class_names,
        row_labels=[f"step {step}" for step in steps], description=f"the same images after {', '.join(map(str, steps))} steps",
    )  # fmt: skip


def three_sets(seed: int) -> dict[str, DistilledSet]:
    """One image per class by FADRM, SRe2L and RDED (of 60 images of each class)."""
    place, shared = records.Place(), {"images_per_class": 1, "seed": seed}
    return {
        FADRM: world().distilled({"method": FADRM, **shared}, place),
        SRE2L: world().distilled({"method": SRE2L, **shared}, place),
        RDED: world().distilled({"method": RDED, "candidates_per_class": 60, **shared}, place),
    }


def feature_entropy(images: Tensor) -> Tensor:
    """Feature entropy in bits, [n], of uint8 images [n, channels, h, w], in the bins of `lab_world`."""
    known = lab_world()
    seen = networks.predict(known.inputs.teachers[0], normalise(images, known.data.mean, known.data.std)).last_conv
    return entropy.feature_entropy(seen, known.edges)


def check_merge(answer: Any) -> tuple[bool, str]:
    """Exercise 1: a function (images, patches, alpha) -> eq 9, for patches of the images' size."""
    draw = randomness.generator(30, 1, "exercise")
    images, patches = torch.rand(2, 3, 4, 4, generator=draw), torch.rand(2, 3, 4, 4, generator=draw)
    given, problem = called(answer, images, patches, 0.8, of="(images, patches, alpha)")
    if problem:
        return False, problem
    if not isinstance(given, Tensor) or given.shape != images.shape:
        return False, "The result has the shape of the images."
    if torch.allclose(given, 0.8 * patches + 0.2 * images):
        return False, "Nearly: alpha is the share of the optimised image; the patch has the rest."
    if torch.allclose(given, 0.8 * images + 0.2 * patches):
        return True, "With alpha = 1 nothing is merged, with alpha = 0 the patch is back."
    return False, "Equation 9: alpha times the images plus (1 - alpha) times the patches."


def check_cost(answer: Any) -> tuple[bool, str]:
    """Exercise 2: a function (budget, merges, r) -> the exact share of pixels, for even numbers of merges, too."""
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
    "merge": check_merge,
    "cost": check_cost,
    "fooling": check_fooling,
}
