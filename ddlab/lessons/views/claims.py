"""Lesson 41: its claims, declared before any run, and what measures them: records, exact outer gradients, and the clock."""

from __future__ import annotations

import dataclasses
import functools
import time
from statistics import fmean
from typing import Any

import torch

from ... import methods, records
from ...methods import krr_st
from ...records.self_supervised import BOOST, KRR_ST, METHODS, SELECTED
from ...runs import process
from ..claims import Claim
from ..shared import unlabelled
from ..shared.effects import Measured, differences, measured
from ..shared.unlabelled import BUDGET, BUDGETS, FITTING, ON_SHAPES, PROBE, values
from . import NAME, sweep
from . import experiments as lesson
from .sweep import BY_BUDGET, ONE_RESULT

claim = functools.partial(Claim, lesson=NAME, test="small")
CLAIMS: list[Claim] = []
ARCHITECTURES = "self_supervised_architectures"
VIEWS = ("rotation", "jigsaw", "crop")
_WARM, _TIMED = 3, 30  # outer iterations


def shift_values(column: str, shift: str, hidden: int | None = None, *, compared_on: str = ONE_RESULT) -> list[float]:
    """A column of the record of shift models, one number per seed."""
    return records.load("shift_models").values(column, shift=shift, hidden=hidden, compared_on=compared_on)


CLAIMS += [
    claim(
        "B2 views",
        "Boost, Table 3",
        "Predefined views with approximation networks help.",
        effect=f"{PROBE}, Boost with rotations minus without views, 20 images",
        claimed=0.01,
    ),
]


def part_effects() -> dict[str, list[float]]:
    """B2: Table 3's second step."""
    return {"B2 views": differences(values(), values(augmentation="none"))}


CLAIMS += [
    claim(
        "B3 bias",
        "Boost, Table 11",
        "A vector for each view predicts its shift better than no shift.",
        effect="mean square error of no shift minus that of one vector for each view, over the mean square of the shifts; one result",
        claimed=0.02,
    ),
    claim(
        "B3 networks",
        "Boost, Table 11",
        "Approximation networks predict the shift of a view better than a vector.",
        effect="the same mean square error of one vector for each view minus that of networks of width 4; one result",
        claimed=0.1,
    ),
    claim(
        "B3 width",
        "Boost, Table 11",
        "Wider networks predict it better.",
        effect="the same error of networks of width 2 minus that of width 8; one result",
        claimed=0.05,
    ),
    claim(
        "B3 accuracy",
        "Boost, Table 11",
        "At one budget networks teach more than a vector for each view.",
        effect=f"{PROBE}, networks of width 4 minus a vector for each view, each with as many pairs as the budget buys",
        claimed=0.005,
    ),
    claim(
        "B3 budget",
        "Boost, Table 11",
        "At one budget width 8 teaches less than width 4, because it leaves fewer pairs.",
        effect=f"{PROBE}, networks of width 4 minus of width 8, each with as many pairs as the budget buys",
        claimed=0.005,
    ),
]


def shift_effects() -> dict[str, list[float]]:
    """B3: Table 11."""
    same, bias = (shift_values("error", shift) for shift in ("same", "bias"))
    by_width = {width: shift_values("error", "networks", width) for width in (2, 4, 8)}
    four = shift_values("source", "networks", 4, compared_on=BY_BUDGET)
    return {
        "B3 bias": differences(same, bias),
        "B3 networks": differences(bias, by_width[4]),
        "B3 width": differences(by_width[2], by_width[8]),
        "B3 accuracy": differences(four, shift_values("source", "bias", compared_on=BY_BUDGET)),
        "B3 budget": differences(four, shift_values("source", "networks", 8, compared_on=BY_BUDGET)),
    }


CLAIMS += [
    claim(
        "B4 any",
        "Boost, Table 12",
        "Any of the predefined views is better than none.",
        effect=f"{PROBE}, the worst of rotations, jigsaws and crops minus no views",
        claimed=0.01,
    ),
    claim(
        "B4 rotation",
        "Boost, Table 12",
        "Rotations are the best of them.",
        effect=f"{PROBE}, rotations minus the better of jigsaws and crops",
        claimed=0.005,
    ),
]


def view_effects() -> dict[str, list[float]]:
    """B4: Table 12."""
    none, rotation, jigsaw, crop = (values(augmentation=kind) for kind in ("none", *VIEWS))
    worst = [min(seed) for seed in zip(rotation, jigsaw, crop, strict=True)]
    others = [max(seed) for seed in zip(jigsaw, crop, strict=True)]
    return {"B4 any": differences(worst, none), "B4 rotation": differences(rotation, others)}


CLAIMS += [
    claim(
        "B5 random",
        "Boost, Table 2",
        "Better than random real images at every budget.",
        effect=f"{PROBE}, Boost minus random images with the teacher's representations, least of budgets of 10, 20 and 40 images",
        claimed=0.01,
    ),
    claim(
        "B5 k-means",
        "Boost, Table 2",
        "Better than images nearest to k-means centres at every budget.",
        effect=f"{PROBE}, Boost minus images nearest to centres, least of budgets of 10, 20 and 40 images",
        claimed=0.01,
    ),
    claim(
        "B5 KRR-ST",
        "Boost, Table 2",
        "Better than KRR-ST at every budget.",
        effect=f"{PROBE}, Boost minus KRR-ST, least of budgets of 10, 20 and 40 images",
        claimed=0.01,
    ),
    claim(
        "B5 control",
        "Boost, Table 3, a control the paper has not got",
        "The gain is not that of the teacher's representations of rotated real images.",
        effect=f"{PROBE}, Boost minus random real images with their rotations and the teacher's representations, which together "
        "fit the budget",
        claimed=0.01,
    ),
]


def budget_effects() -> dict[str, list[float]]:
    """B5: Table 2; the least lead among the budgets, for each seed."""
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "B5 random": (SELECTED, {}), "B5 k-means": (SELECTED, {"kind": "k_means"}), "B5 KRR-ST": (KRR_ST, {}),
    }  # fmt: skip
    found = {}
    for name, (method, own) in kinds.items():
        leads = [differences(values(budget=size), values(method=method, budget=size, **own)) for size in BUDGETS]
        found[name] = [min(seed) for seed in zip(*leads, strict=True)]
    return found


def control_effects() -> dict[str, list[float]]:
    """B5: turned real images with their targets, as many as the budget holds; B8: another dataset."""
    return {
        "B5 control": differences(values(), values(method=SELECTED, **FITTING)),
        "B8 other": differences(values("other"), values("other", SELECTED)),
    }


CLAIMS += [
    claim(
        "B6 biased",
        "Boost, section 3.1",
        "Random views bias the outer gradient.",
        effect="distance of the mean gradient over all draws of one view of each image from the gradient with all views, as a part of "
        "its length",
        claimed=0.1,
    ),
    claim(
        "B6 draws",
        "Boost, section 3.1",
        "It is the draw: with more drawn views of each image the bias falls.",
        effect="bias with one drawn view of each image minus bias with four, as a part of the length of the gradient with all views",
        claimed=0.05,
    ),
]


def gradient_effects(seeds: range) -> dict[str, list[float]]:
    """B6: exact outer gradients of three images with their turned views; images and network are drawn anew for each seed."""
    one, four = ([lesson.drawn(seed=seed, draws=draws).bias for seed in seeds] for draws in (1, 4))
    return {"B6 biased": one, "B6 draws": differences(one, four)}


CLAIMS += [
    claim(
        "B8 other",
        "Boost, Table 1",
        "What is learnt is of use for another dataset.",
        effect="accuracy of a linear probe on digits, Boost minus random images with the teacher's representations, 20 images",
        claimed=0.005,
    ),
    claim(
        "B8 architectures",
        "Boost, Table 1",
        "And to networks of other architectures than the one that made the set.",
        effect=f"{PROBE}, Boost minus random images with representations, mean of VGG11, ResNet-18, AlexNet, MobileNetV2 and ViT",
        claimed=0.01,
    ),
]


def architecture_effects() -> dict[str, list[float]]:
    """B8: the mean over networks of other architectures, for each seed."""
    table = records.load(ARCHITECTURES)
    leads = []
    for name in sweep.ARCHITECTURES:
        one, other = (table.values("source", architecture=name, method=method) for method in (BOOST, SELECTED))
        leads.append(differences(one, other))
    return {"B8 architectures": [fmean(seed) for seed in zip(*leads, strict=True)]}


CLAIMS += [
    claim(
        "B10 time",
        "Boost, Table 13",
        "A run takes hardly longer than KRR-ST's.",
        effect="1.3 minus the CPU time of an outer iteration of Boost over that of KRR-ST, 20 images each",
        claimed=0.0,
    ),
]


def time_effects(repeats: int) -> dict[str, list[float]]:
    """B10: CPU-seconds of outer iterations of both methods in turn, once per repeat."""
    spent = [{method: _seconds(method, seed=seed) for method in (KRR_ST, BOOST)} for seed in range(repeats)]
    return {"B10 time": [1.3 - one[BOOST] / one[KRR_ST] for one in spent]}


def _seconds(method: str, *, seed: int) -> float:
    """CPU-seconds of outer iterations, the first ones not counted; the pool is that of the start, of untrained networks."""
    chosen, module, inputs = unlabelled.config(method, seed=seed), methods.get(METHODS[method]), unlabelled.inputs()
    filled = krr_st.filling_steps(chosen)
    state = dataclasses.replace(process.start(module, chosen, inputs), step=filled)
    start = 0.0
    for number in range(_WARM + _TIMED):
        start = time.process_time() if number == _WARM else start
        state, _ = module.update(chosen, inputs, state)
    return time.process_time() - start


def recorded_effects() -> dict[str, Measured]:
    """What the shipped records say."""
    twenty = f"{ON_SHAPES}, {BUDGET} images"
    budgets = f"{ON_SHAPES}, {', '.join(map(str, BUDGETS))} images"
    found = measured(part_effects() | view_effects() | control_effects(), twenty)
    found |= measured(shift_effects(), twenty) | measured(budget_effects(), budgets)
    return found | measured(architecture_effects(), f"{twenty}, other architectures after 60 epochs")


def quick_effects(seeds: range) -> dict[str, Measured]:
    """B6, which needs no distillation."""
    small = "three images of shapes 16 px, four views, a network after 25 inner steps, 256 real images; all draws"
    return measured(gradient_effects(seeds), small)


def timed_effects(repeats: int) -> dict[str, Measured]:
    """B10, by the clock."""
    setting = f"{_TIMED} iterations of the teaching preset, {BUDGET} images, {torch.get_num_threads()} threads"
    return measured(time_effects(repeats), setting)


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson: from the records, and from `pairs` new draws or timings where there is none."""
    return recorded_effects() | quick_effects(range(pairs)) | timed_effects(pairs)
