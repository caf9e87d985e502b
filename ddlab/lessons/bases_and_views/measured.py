"""Lesson 40: the effects behind its claims, from the records, from exact outer gradients, from features, and from the clock."""

from __future__ import annotations

import dataclasses
import time
from statistics import fmean
from typing import Any

import torch

from ... import methods, networks, records
from ...core import randomness
from ...distilled import bases
from ...methods import krr_st
from ...networks import Network
from ...records import self_supervised as sweep
from ...records.self_supervised import BOOST, BUDGET, BUDGETS, BY_BUDGET, KRR_ST, METHODS, ONE_RESULT, SELECTED
from ...runs import process
from ...training.self_supervised import representations
from .. import claims
from ..claims import Verdict
from ..shared.effects import Measured, differences
from . import experiments as lesson

ON_SHAPES = "shapes 16 px, ConvNets of 16, 32 and 64 channels, teacher without labels, 300 outer steps"
ARCHITECTURES = "self_supervised_architectures"
VIEWS = ("rotation", "jigsaw", "crop")
FITTING = {"targets_count": True, "augmentation": "rotation"}
"""Random real images with their turned views and the teacher's representations of all of them, inside the budget."""
_IMAGES = 1000  # of a draw, for the effective ranks
_WARM, _TIMED = 3, 30  # outer iterations


def values(column: str = "source", method: str = BOOST, *, budget: int = BUDGET, **changes: Any) -> list[float]:
    """A column of the record, one number per seed: of a method as published, but for these changes.

    Other budgets have twice as many bases as images.
    """
    sizes = {"image_bases": 2 * budget, "representation_bases": 2 * budget} if method == BOOST else {}
    wanted = sweep.point(method, seed=0, budget=budget, **sizes | changes)
    return records.load("self_supervised").values(column, **{name: wanted[name] for name in wanted if name != "seed"})


def shift_values(column: str, shift: str, hidden: int | None = None, *, compared_on: str = ONE_RESULT) -> list[float]:
    """A column of the record of shift models, one number per seed."""
    return records.load("shift_models").values(column, shift=shift, hidden=hidden, compared_on=compared_on)


def recorded_effects() -> dict[str, Measured]:
    """What the shipped records say."""
    twenty = f"{ON_SHAPES}, {BUDGET} images"
    budgets = f"{ON_SHAPES}, {', '.join(map(str, BUDGETS))} images"
    found = _measured(start_effects() | part_effects() | view_effects() | control_effects(), twenty)
    found |= _measured(shift_effects(), twenty) | _measured(budget_effects(), budgets)
    found |= _measured(architecture_effects(), f"{twenty}, other architectures after 60 epochs")
    return found


def start_effects() -> dict[str, list[float]]:
    """B1: Table 4, and its arms crossed."""
    found = {
        (first, second): values(bases_start=first, coefficients_start=second)
        for first in ("principal", "real", "random")
        for second in ("projection", "random")
    }
    return {
        "B1 real": differences(found["principal", "projection"], found["real", "random"]),
        "B1 random": differences(found["real", "random"], found["random", "random"]),
        "B1 bases": differences(found["principal", "projection"], found["real", "projection"]),
        "B1 coefficients": differences(found["principal", "projection"], found["principal", "random"]),
    }


def part_effects() -> dict[str, list[float]]:
    """B2: Table 3, and the switch that the authors' code forgets."""
    plain = values(augmentation="none")
    return {
        "B2 parts": differences(plain, values(method=KRR_ST)),
        "B2 views": differences(values(), plain),
        "B2 reset": differences(values(method=KRR_ST), values(method=KRR_ST, reset=False)),
    }


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


def view_effects() -> dict[str, list[float]]:
    """B4: Table 12."""
    none, rotation, jigsaw, crop = (values(augmentation=kind) for kind in ("none", *VIEWS))
    worst = [min(seed) for seed in zip(rotation, jigsaw, crop, strict=True)]
    others = [max(seed) for seed in zip(jigsaw, crop, strict=True)]
    return {"B4 any": differences(worst, none), "B4 rotation": differences(rotation, others)}


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


def architecture_effects() -> dict[str, list[float]]:
    """B8: the mean over networks of other architectures, for each seed."""
    table = records.load(ARCHITECTURES)
    leads = []
    for name in sweep.ARCHITECTURES:
        one, other = (table.values("source", architecture=name, method=method) for method in (BOOST, SELECTED))
        leads.append(differences(one, other))
    return {"B8 architectures": [fmean(seed) for seed in zip(*leads, strict=True)]}


def gradient_effects(seeds: range) -> dict[str, list[float]]:
    """B6: exact outer gradients of three images with their turned views; images and network are drawn anew for each seed."""
    one, four = ([lesson.drawn(seed=seed, draws=draws).bias for seed in seeds] for draws in (1, 4))
    return {"B6 biased": one, "B6 draws": differences(one, four)}


def rank_effects(seeds: range) -> dict[str, list[float]]:
    """B7: effective ranks of the one shipped teacher and of an untrained network for each seed, on a draw of images for each seed."""
    teacher = lesson.inputs().teachers[0]
    found: dict[str, list[float]] = {"B7": [], "B7 learnt": []}
    for seed in seeds:
        fresh = networks.initialise(teacher.spec, seed=seed)
        shares = [rank_share(network, seed=seed) for network in (teacher, fresh)]
        found["B7"].append(1 - shares[0])
        found["B7 learnt"].append(shares[1] - shares[0])
    return found


def rank_share(network: Network, *, seed: int) -> float:
    """Effective rank of a network's centred features of a thousand random training images, as a part of their dimension.

    It is that of the covariance's eigenvalues; of the features' singular values, their roots, it would be larger.
    """
    features = representations(network, lesson.world().data, device="cpu")
    draw = randomness.generator(seed, 0, "images for the rank")
    some = features[torch.randperm(len(features), generator=draw)[:_IMAGES]]
    return bases.effective_rank(bases.spectrum(some)) / some.shape[1]


def time_effects(repeats: int) -> dict[str, list[float]]:
    """B10: CPU-seconds of outer iterations of both methods in turn, once per repeat."""
    spent = [{method: _seconds(method, seed=seed) for method in (KRR_ST, BOOST)} for seed in range(repeats)]
    return {"B10 time": [1.3 - one[BOOST] / one[KRR_ST] for one in spent]}


def quick_effects(seeds: range) -> dict[str, Measured]:
    """B6 and B7, which need no distillation."""
    small = "three images of shapes 16 px, four views, a network after 25 inner steps, 256 real images; all draws"
    ranks = f"{_IMAGES} images of each draw, {lesson.SETTING} (one teacher; untrained networks of one seed each)"
    return _measured(gradient_effects(seeds), small) | _measured(rank_effects(seeds), ranks)


def timed_effects(repeats: int) -> dict[str, Measured]:
    """B10, by the clock."""
    setting = f"{_TIMED} iterations of the teaching preset, {BUDGET} images, {torch.get_num_threads()} threads"
    return _measured(time_effects(repeats), setting)


def verdicts(pairs: int) -> list[Verdict]:
    """All claims of the lesson: from the records, and from `pairs` new draws or timings where there is none."""
    found = recorded_effects() | quick_effects(range(pairs)) | timed_effects(pairs)
    return [claims.judge(name, effect.values, setting=effect.setting) for name, effect in found.items()]


def _measured(effects: dict[str, list[float]], setting: str) -> dict[str, Measured]:
    return {name: Measured(values, setting) for name, values in effects.items()}


def _seconds(method: str, *, seed: int) -> float:
    """CPU-seconds of outer iterations, the first ones not counted; the pool is that of the start, of untrained networks."""
    chosen, module, inputs = lesson.config(method, seed=seed), methods.get(METHODS[method]), lesson.inputs()
    filled = krr_st.filling_steps(chosen)
    state = dataclasses.replace(process.start(module, chosen, inputs), step=filled)
    start = 0.0
    for number in range(_WARM + _TIMED):
        start = time.process_time() if number == _WARM else start
        state, _ = module.update(chosen, inputs, state)
    return time.process_time() - start
