"""The sweeps of lesson 45: priors and controls, schedules of lambda, subsets, objectives; and what the priors are worth by themselves."""

from __future__ import annotations

import functools
from typing import Any

from ...records.sweep import Place, Point, Sweep
from ...runs import cache
from ...runs.process import Inputs
from ...training import rela as rela_f
from ...training.self_supervised import OBJECTIVES
from .setting import ALONE, PIXELS, PRIORS, SCALES, SHUFFLED, STRONG, UNTRAINED, WEAK, worth

SEEDS = range(5)
RATIOS, SHARES = (0.05, 0.2), (0.2, 0.5, 1.0)
_WITHOUT: Point = {"schedule": "constant", "share": 0.0}
_SHAPES = (
    "Shapes at 16 px (5,000 images). A ConvNet-3 of width 16 learns from a part of the images in each of 12 epochs, in batches of 50, "
    "first the targets of a prior, and after half of the run by the objective alone, unless it says otherwise. Priors are ConvNets of "
    "width 32: untrained (another for each seed), weak (Barlow Twins on digits), strong (on shapes, shipped). A seed is every draw"
)


def point(prior: str, *, seed: int, **changes: Any) -> Point:
    """One point: BYOL on a tenth of the images, with the code's switch, unless `changes` say otherwise."""
    usual: Point = {
        "prior": prior, "objective": "byol", "ratio": 0.1, "subset": "dynamic", "schedule": "switch", "share": None, "epochs": 12,
    }  # fmt: skip
    return usual | (_WITHOUT if prior == ALONE else {}) | changes | {"seed": seed}


def settings() -> list[Point]:
    """Table 2 with its controls, and Figure 4a to c."""
    kinds: list[tuple[str, Point]] = [(name, {}) for name in (ALONE, *PRIORS, SHUFFLED, PIXELS)] + [
        (ALONE, {"epochs": 24})
    ]
    for prior in (UNTRAINED, STRONG):
        kinds += [(prior, {"subset": "static"}), (prior, {"schedule": "adaptive"})]
        kinds += [(prior, {"schedule": "constant", "share": share}) for share in SHARES]
    kinds += [(STRONG, {"ratio": ratio}) for ratio in RATIOS]
    return [point(prior, seed=seed, **changes) for prior, changes in kinds for seed in SEEDS]


def objective_settings() -> list[Point]:
    """Table 4: the other seven objectives, alone and with an untrained prior."""
    others = [name for name in OBJECTIVES if name != "byol"]
    return [
        point(prior, objective=name, seed=seed) for name in others for prior in (ALONE, UNTRAINED) for seed in SEEDS
    ]


def paper_settings() -> list[Point]:
    """Table 2 at 10 percent, with the controls, three seeds."""
    return [point(prior, seed=seed) for prior in (ALONE, *PRIORS, SHUFFLED, PIXELS) for seed in range(3)]


def measured(point: Point, place: Place, *, scale: str = "shapes") -> dict[str, float]:
    """accuracy: of a linear probe of the trained network, a fraction in [0, 1]."""
    world = SCALES[scale](place)
    names = ("ratio", "subset", "schedule", "share", "seed")
    changes = {name: point[name] for name in names if point[name] is not None}
    epochs = point["epochs"] if scale == "shapes" and not place.smoke else None
    config = world.config(point["objective"], epochs=epochs, **changes)
    made = world.make_set(point["prior"], place, seed=point["seed"])
    network = cache.run(rela_f, config, Inputs(distilled=made, device=place.device))
    return {"accuracy": worth(network, world.data, place.device)}


def prior_measured(point: Point, place: Place) -> dict[str, float]:
    """accuracy: of a linear probe of the prior's own features, a fraction in [0, 1]."""
    world = SCALES["shapes"](place)
    return {"accuracy": worth(world.make_prior(point["prior"], place, seed=point["seed"]), world.data, place.device)}


def prepare(place: Place, *, scale: str = "shapes") -> None:
    """Makes the trained priors of a scale, so that the points find them."""
    for name in (WEAK, STRONG):
        SCALES[scale](place).make_prior(name, place)


SWEEPS = (
    Sweep(
        name="representations",
        description=f"ReLA, Table 2 and Figure 4. {_SHAPES}. Measured: accuracy of a linear probe on shapes.",
        settings=settings(),
        run=measured,
        prepare=prepare,
    ),
    Sweep(
        name="representation_objectives",
        description=f"ReLA, Table 4: other objectives than BYOL. {_SHAPES}. Measured: accuracy of a linear probe on shapes.",
        settings=objective_settings(),
        run=measured,
    ),
    Sweep(
        name="representation_priors",
        description="The priors of the record of ReLA, shapes at 16 px. Measured: accuracy of a linear probe of their own features.",
        settings=[{"prior": prior, "seed": seed} for prior in PRIORS for seed in SEEDS],
        run=prior_measured,
        prepare=prepare,
    ),
    Sweep(
        name="representations_cifar10",
        description=(
            "ReLA, Table 2, on 12,000 images of CIFAR-10 with a ConvNet-3 of width 32: 40 epochs of BYOL on a tenth of the images, "
            "priors of width 48. Measured: accuracy of a linear probe on CIFAR-10."
        ),
        settings=paper_settings(),
        run=functools.partial(measured, scale="cifar10_small"),
        prepare=functools.partial(prepare, scale="cifar10_small"),
    ),
    Sweep(
        name="representations_paper",
        description=(
            "ReLA, Table 2, as published for CIFAR-10: ResNet-18, 100 epochs of BYOL on a tenth of the images. "
            "Measured: accuracy of a linear probe on CIFAR-10."
        ),
        settings=paper_settings(),
        run=functools.partial(measured, scale="cifar10_paper"),
        prepare=functools.partial(prepare, scale="cifar10_paper"),
    ),
)
