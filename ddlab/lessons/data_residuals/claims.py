"""Lesson 30: its claims, declared before any run, and what measures them: records, runs of one image per class, and the clock."""

from __future__ import annotations

import functools
import time
from statistics import fmean
from typing import Any

import torch

from ... import networks, records, theory
from ...evaluation import entropy
from ...methods import fadrm
from ...networks import Network
from ...records import Record
from ...records.setting import FADRM, RANDOM, RDED, SRE2L
from ...runs.process import Inputs
from ..claims import Claim
from ..shared.effects import Measured, differences, measured
from . import NAME, experiments
from .sweep import FIELDS, PUBLISHED, PULLED_BACK, RATIOS, SMALL_SIZE, STOPPED
from .world import merge_steps

claim = functools.partial(Claim, lesson=NAME, test="small")
CLAIMS: list[Claim] = []
ON_SHAPES = "shapes 64 px, ConvNet-5 of width 16, 5 images per class"
STAGES = (2, 4, 6, 8, 10)  # classes seen
_IMAGES = 100  # of each kind, for F13
_WARM, _TIMED = 2, 10  # updates of ResNet-18


def values(column: str, method: str = FADRM, record: Record | None = None, **changes: Any) -> list[float]:
    """A column of the record, one number per seed: of FADRM as published at full size, but for these changes, or of another method."""
    own = (PUBLISHED if method in (FADRM, STOPPED, PULLED_BACK) else dict.fromkeys(FIELDS)) | changes
    return (record or records.load("residuals")).values(column, method=method, **own)


CLAIMS += [
    claim(
        "F1 rises",
        "FADRM, Fig 3 left",
        "Without a residual the information in the images first rises.",
        effect="largest mean feature entropy of a run without merges minus that of its start, the patches; bits",
        claimed=0.05,
    ),
    claim(
        "F1 vanishes",
        "FADRM, Fig 3 left",
        "And then it vanishes.",
        effect="largest mean feature entropy of a run without merges minus that of its end; bits",
        claimed=0.05,
    ),
    claim(
        "F1 restored",
        "FADRM, Fig 3 left",
        "The residual restores it.",
        effect="mean feature entropy right after a merge minus right before, mean over three merges; bits",
        claimed=0.05,
    ),
    claim(
        "F1 end",
        "FADRM, Fig 3 left",
        "With the residual more of it is left in the end.",
        effect="mean feature entropy of the result with three merges minus without; bits",
        claimed=0.05,
    ),
]


def vanishing_effects(seeds: range) -> dict[str, list[float]]:
    """F1: mean feature entropy along a run without merges and along one with three, one image per class, one pair for each seed."""
    found: dict[str, list[float]] = {"F1 rises": [], "F1 vanishes": [], "F1 restored": [], "F1 end": []}
    for seed in seeds:
        without, merged = (
            experiments.entropies(experiments.watched(0.5, merges=merges, seed=seed)) for merges in (0, 3)
        )
        first, last, highest = without[0], without[experiments.ITERATIONS], max(without.values())
        found["F1 rises"].append(highest - first)
        found["F1 vanishes"].append(highest - last)
        steps = merge_steps(experiments.ITERATIONS, 3)
        found["F1 restored"].append(fmean(merged[step] - merged[step - 1] for step in steps))
        found["F1 end"].append(merged[experiments.ITERATIONS] - last)
    return found


CLAIMS += [
    claim(
        "F2 residual",
        "FADRM, Table 5",
        "The residual teaches more than none, optimising at two sizes.",
        effect="accuracy with merge ratio .5 minus with 1 (no residual), at 48 and 64 px in turn; online labels",
        claimed=0.01,
    ),
    claim(
        "F2 full size",
        "FADRM, Table 5",
        "The same at full size throughout.",
        effect="accuracy with merge ratio .5 minus with 1 (no residual), at 64 px; online labels",
        claimed=0.01,
    ),
    claim(
        "F2 best",
        "FADRM, Table 5",
        "A merge ratio of .5 is the best.",
        effect="accuracy with merge ratio .5 minus the mean of those with .4, .6, .7, .8 and .9, at 48 and 64 px in turn; online labels",
        claimed=0.01,
    ),
    claim(
        "F2 weak",
        "FADRM, Table 5",
        "A merge ratio of .9 teaches less than no residual.",
        effect="accuracy with merge ratio 1 minus with .9, at 48 and 64 px in turn; online labels",
        claimed=0.005,
    ),
]


def ratio_effects() -> dict[str, list[float]]:
    """F2: Table 5."""
    both = {ratio: values("online", merge_ratio=ratio, small_size=SMALL_SIZE) for ratio in RATIOS}
    others = [fmean(seeds) for seeds in zip(*(both[ratio] for ratio in RATIOS if ratio not in (0.5, 1.0)), strict=True)]
    return {
        "F2 residual": differences(both[0.5], both[1.0]),
        "F2 full size": differences(values("online"), values("online", merge_ratio=1.0)),
        "F2 best": differences(both[0.5], others),
        "F2 weak": differences(both[1.0], both[0.9]),
    }


CLAIMS += [
    claim(
        "F3 best",
        "FADRM, Table 6",
        "Three merges are the best.",
        effect="accuracy with 3 merges minus the mean of those with 1, 2, 4, 5 and 6, at 64 px; online labels",
        claimed=0.01,
    ),
    claim(
        "F3 more",
        "FADRM, Table 6",
        "More merges harm.",
        effect="accuracy with 3 merges minus with 6, at 64 px; online labels",
        claimed=0.01,
    ),
    claim(
        "F3 fewer",
        "FADRM, Table 6",
        "Fewer merges teach less.",
        effect="accuracy with 3 merges minus with 1, at 64 px; online labels",
        claimed=0.01,
    ),
]


def merge_effects() -> dict[str, list[float]]:
    """F3: Table 6, left."""
    by_merges = {merges: values("online", merges=merges) for merges in range(1, 7)}
    others = [fmean(seeds) for seeds in zip(*(by_merges[merges] for merges in (1, 2, 4, 5, 6)), strict=True)]
    return {
        "F3 best": differences(by_merges[3], others),
        "F3 more": differences(by_merges[3], by_merges[6]),
        "F3 fewer": differences(by_merges[3], by_merges[1]),
    }


CLAIMS += [
    claim(
        "F4 measured",
        "FADRM, eq 8",
        "The time of a run at two sizes is what counting pixels says, for three merges.",
        effect="a tenth minus the relative difference of CPU-seconds, 48 and 64 px in turn over 64 px throughout, from the share of pixels",
        claimed=0.0,
    ),
    claim(
        "F4 accuracy",
        "FADRM, Table 6",
        "Half of the way at three quarters of the size costs at most .01 of accuracy.",
        effect="accuracy at 48 and 64 px in turn minus at 64 px; merge ratio .5, three merges, online labels",
        claimed=-0.01,
    ),
    claim(
        "F4 too small",
        "FADRM, Table 6",
        "A much smaller size costs accuracy.",
        effect="accuracy with 48 px minus with 32 px in the odd stages; online labels",
        claimed=0.01,
    ),
    claim(
        "F5 accuracy",
        "FADRM, Table 4",
        "Half precision costs at most .01 of accuracy.",
        effect="accuracy of images made in bfloat16 minus in float32; online labels",
        claimed=-0.01,
    ),
    claim(
        "F5 time",
        "FADRM, Table 4",
        "Half precision halves the time.",
        effect="share of the CPU-seconds of an update that bfloat16 saves; ResNet-18, ten images of 32 px",
        claimed=0.5,
    ),
]


def size_effects() -> dict[str, list[float]]:
    """F4: Table 6, right; F5: Table 4."""
    resized = values("online", small_size=SMALL_SIZE)
    return {
        "F4 accuracy": differences(resized, values("online")),
        "F4 too small": differences(resized, values("online", small_size=32)),
        "F5 accuracy": differences(values("online", precision="bfloat16"), values("online")),
    }


def cost_effects(teacher: Network, repeats: int) -> dict[str, list[float]]:
    """F4: CPU-seconds at two sizes over those at one, against the share of pixels; once per repeat."""
    data = experiments.world().data
    inputs, found = Inputs(data=data, teachers=(teacher,), device="cpu"), []
    exact = theory.resolution_cost_ratio(budget=40, merges=3, small_side=SMALL_SIZE, side=data.image_size[0])
    for seed in range(repeats):
        full, both = (
            _seconds(fadrm.Config(images_per_class=1, iterations=40, small_size=size, seed=seed), inputs)
            for size in (None, SMALL_SIZE)
        )
        found.append(0.1 - abs(both / full / exact - 1))
    return {"F4 measured": found}


def precision_effects(repeats: int) -> dict[str, list[float]]:
    """F5: the share of an update's CPU-seconds that bfloat16 saves, with an untrained ResNet-18 and ten images of 32 px."""
    data = experiments.small_pictures()
    teacher = networks.initialise(networks.spec("resnet18").for_data(data), seed=0)
    inputs, saved = Inputs(data=data, teachers=(teacher,), device="cpu"), []
    for seed in range(repeats):
        spent = [
            _seconds(
                fadrm.Config(images_per_class=1, iterations=_WARM + _TIMED, precision=precision, seed=seed),
                inputs,
                skip=_WARM,
            )
            for precision in ("float32", "bfloat16")
        ]
        saved.append(1 - spent[1] / spent[0])
    return {"F5 time": saved}


def _seconds(config: fadrm.Config, inputs: Inputs, *, skip: int = 0) -> float:
    """CPU-seconds of a run's updates, the first ones not counted."""
    state = fadrm.init(config, inputs)
    for _ in range(skip):
        state, _ = fadrm.update(config, inputs, state)
    start = time.process_time()
    for _ in range(config.iterations - skip):
        state, _ = fadrm.update(config, inputs, state)
    return time.process_time() - start


CLAIMS += [
    claim(
        "F6",
        "FADRM, Table 3",
        "One patch to an image teaches no less than a mosaic of four.",
        effect="accuracy with one crop as patch minus with a mosaic of 2 x 2; online labels",
        claimed=0.0,
    ),
    claim(
        "F10",
        "FADRM, Table 1",
        "FADRM's images teach more than RDED's.",
        effect="accuracy with FADRM's images minus with RDED's crops; online labels",
        claimed=0.01,
    ),
    claim(
        "F12",
        "FADRM, Fig 6",
        "When classes arrive in tasks, FADRM's images teach more than RDED's at every stage.",
        effect="smallest difference over the stages, accuracy with FADRM's images minus with RDED's; online labels",
        claimed=0.0,
    ),
    claim(
        "F13 pixels",
        "FADRM, Fig 3 right",
        "Pixel entropy tells information from noise.",
        effect="mean pixel entropy of real images minus that of uniform noise; bits",
        claimed=0.0,
    ),
    claim(
        "F13 features",
        "FADRM, Fig 3 left",
        "Feature entropy tells information from noise.",
        effect="mean feature entropy of real images minus that of uniform noise; bits",
        claimed=0.0,
    ),
    claim(
        "F13 places",
        "FADRM, Fig 3 right",
        "Pixel entropy tells a picture from the same pixels in random places.",
        effect="mean pixel entropy of real images minus that of the same images with shuffled pixels; bits",
        claimed=0.05,
        test="exact",
    ),
    claim(
        "F13 sets",
        "FADRM, Fig 3 right",
        "FADRM's images have more of it than RDED's, and those than SRe2L's.",
        effect="smaller one of two differences in mean pixel entropy: FADRM minus RDED, RDED minus SRe2L; bits",
        claimed=0.0,
    ),
    claim(
        "F14 stopping",
        "FADRM, section 3.4",
        "The residual is more than a leash: it beats stopping early at the same distance from the patches.",
        effect="accuracy with FADRM's images minus with those of the run without merges, stopped at the same distance; online labels",
        claimed=0.01,
    ),
    claim(
        "F14 pulling back",
        "FADRM, section 3.4",
        "It beats one step back towards the patches at the end.",
        effect="accuracy with FADRM's images minus with those of the run without merges, pulled back to the same distance; online labels",
        claimed=0.01,
    ),
]


def control_effects() -> dict[str, list[float]]:
    """F6, F10, F13 and F14: patches, RDED, and what else keeps images near their patches."""
    kinds: dict[str, dict[str, Any]] = {FADRM: {}, RDED: {"factor": 1}, SRE2L: {}}
    bits = {name: values("pixel_entropy", name, **own) for name, own in kinds.items()}
    gaps = zip(differences(bits[FADRM], bits[RDED]), differences(bits[RDED], bits[SRE2L]), strict=True)
    return {
        "F6": differences(values("online", patches="crop"), values("online", patches="mosaic")),
        "F10": differences(values("online"), values("online", RDED, factor=1)),
        "F13 sets": [min(pair) for pair in gaps],
        "F14 stopping": differences(values("online"), values("online", STOPPED)),
        "F14 pulling back": differences(values("online"), values("online", PULLED_BACK)),
    }


def continual_effect() -> dict[str, list[float]]:
    """F12: the smallest lead over RDED among the five stages, for each seed."""
    tasks = records.load("residual_continual")
    leads = [
        differences(values(f"online_{seen}", record=tasks), values(f"online_{seen}", RDED, tasks, factor=1))
        for seen in STAGES
    ]
    return {"F12": [min(seed) for seed in zip(*leads, strict=True)]}


def entropy_effects(seeds: range) -> dict[str, list[float]]:
    """F13: real images, noise, and the same pixels in other places; a draw of images for each seed."""
    found: dict[str, list[float]] = {"F13 pixels": [], "F13 features": [], "F13 places": []}
    for seed in seeds:
        kinds = entropy.reference_images(experiments.world().data, _IMAGES, seed=seed)
        pixels = {kind: float(entropy.pixel_entropy(images).mean()) for kind, images in kinds.items()}
        features = {kind: float(experiments.feature_entropy(kinds[kind]).mean()) for kind in ("real", "noise")}
        found["F13 pixels"].append(pixels["real"] - pixels["noise"])
        found["F13 features"].append(features["real"] - features["noise"])
        found["F13 places"].append(pixels["real"] - pixels["shuffled"])
    return found


CLAIMS += [
    claim(
        "X1 residual labels",
        "the role of labels",
        "Of FADRM's images, too, the teacher's labels teach more than class numbers.",
        effect="accuracy with online labels minus with hard labels; FADRM's images",
        claimed=0.05,
    ),
    claim(
        "X1 residual images",
        "the role of images",
        "With the same labels FADRM's images teach more than the real images that they began with.",
        effect="accuracy with FADRM's images minus with their patches, random real images; online labels",
        claimed=0.01,
    ),
]


def label_effects() -> dict[str, list[float]]:
    """X1: what the labels give, and what the images."""
    return {
        "X1 residual labels": differences(values("online"), values("hard")),
        "X1 residual images": differences(values("online"), values("online", RANDOM)),
    }


def recorded_effects() -> dict[str, Measured]:
    """What the shipped records say."""
    found = ratio_effects() | merge_effects() | size_effects() | control_effects() | label_effects()
    return measured(found, ON_SHAPES) | measured(continual_effect(), f"{ON_SHAPES}, five tasks of two classes")


def quick_effects(seeds: range) -> dict[str, Measured]:
    """F1 and F13, which need no students: runs of one image per class, and draws of images."""
    return measured(
        vanishing_effects(seeds), f"{experiments.ITERATIONS} steps, one image per class, {experiments.SETTING}"
    ) | measured(entropy_effects(seeds), f"{_IMAGES} images of each kind, {experiments.SETTING}")


def timed_effects(repeats: int) -> dict[str, Measured]:
    """F4 and F5, by the clock."""
    clock = f"{torch.get_num_threads()} threads"
    return measured(
        cost_effects(experiments.world().teacher(records.Place()), repeats), f"40 steps, {experiments.SETTING}, {clock}"
    ) | measured(precision_effects(repeats), f"ten updates of ten images of 32 px, ResNet-18, {clock}")


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson: from the records, and from `pairs` new runs or timings where there is none."""
    return recorded_effects() | quick_effects(range(pairs)) | timed_effects(pairs)
