"""The sweeps of lesson 50: few points for kernel regression, learned, chosen or with solved labels; other kernels; CIFAR-10."""

from __future__ import annotations

from typing import Any

from ... import data, networks
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import evaluate, kernel_accuracy
from ...methods import kip, ls, selection
from ...methods.distillation import from_images
from ...methods.kernels import SIX, KernelSpec
from ...records.setting import loaded_images
from ...records.sweep import Place, Point, Sweep
from ...runs import cache
from ...runs.process import Inputs
from ...training import supervised

DATA = ("digits", "shapes")
SEEDS, FEW_SEEDS = range(10), range(5)
TARGETS = (10, 30, 100, 300)
"""Real images in an update, where it is not `MOST`."""
MOST = 1000
_HEAVY: dict[str, Any] = {"corruption": 0.9}
RULES: dict[str, tuple[Any, dict[str, Any], tuple[int, ...]]] = {
    "random": (selection, {"kind": "random"}, (1, 10, 100)),
    "centres": (selection, {"kind": "centres"}, (1, 10)),
    "KIP": (kip, {}, (1, 10)),
    "KIP, labels": (kip, {"learn_labels": True}, (1, 10)),
    "KIP, noise": (kip, _HEAVY, (1, 10)),
    "KIP, zeros": (kip, _HEAVY | {"corrupted_by": "zeros"}, (1, 10)),
    **{f"KIP, {count} targets": (kip, {"batch_size": count}, (1,)) for count in TARGETS},
    "LS": (ls, {}, (10,)),
    "LS, noise": (ls, {"initialisation": "noise"}, (10,)),
    "LS, foreign": (ls, {}, (10,)),
}
"""Rule -> (method, fields of its Config, images per class)."""
TAUGHT = ("random", "KIP", "KIP, noise")
SCENES = {"digits": 1, "shapes": 10}
"""Of students: dataset -> images per class, as in lesson 05."""
LABELLING = ("rbf", "fc1", "fc3", "conv2")
"""Kernels with which labels are solved and used."""
TRUE = "true"
_ASKED = (*SIX, "rbf")
_SMOKE_STEPS = 2


def loaded(name: str, place: Place) -> ImageData:
    """Digits or shapes at 16 px; of shapes 5,000 for training."""
    small = {"train": 1000, "test": 20} if place.smoke and name == "shapes" else {}
    return data.load("digits") if name == "digits" else data.load("shapes", size=16, **small)


def foreign_images(point: Point, place: Place) -> DistilledSet:
    """Images of the other dataset, random ones: those of shapes as grey values, those of digits as three equal channels."""
    name = point["data"]
    own, other = loaded(name, place), loaded(DATA[1 - DATA.index(name)], place)
    config = selection.Config(kind="random", images_per_class=point["images_per_class"], seed=point["seed"])
    chosen = cache.run(selection, config, Inputs(data=other, device=place.device))
    grey = chosen.images.mean(1, keepdim=True)
    return from_images(grey.repeat(1, own.channels, 1, 1), chosen.labels, own)


def made(point: Point, place: Place) -> DistilledSet:
    """The points by a rule; of KIP after 300 updates."""
    rule = point["rule"]
    module, fields, _ = RULES[rule]
    own = {"images_per_class": point["images_per_class"], "seed": point["seed"]} | fields
    if module is kip:
        own = {"iterations": _SMOKE_STEPS if place.smoke else 300, "batch_size": MOST} | own
    inputs = Inputs(data=loaded(point["data"], place), device=place.device)
    if rule == "LS, foreign":
        inputs = Inputs(data=inputs.data, distilled=foreign_images(point, place), device=place.device)
    return cache.run(module, module.Config(**own), inputs)


def regressed(point: Point, place: Place) -> dict[str, float]:
    """accuracy: of kernel regression with FC1 on the points, with their labels, on test images; a fraction in [0, 1]."""
    labels = "hard" if RULES[point["rule"]][0] is selection else "regression"
    return {"accuracy": kernel_accuracy(made(point, place), loaded(point["data"], place), labels=labels)}


def taught(point: Point, place: Place) -> dict[str, float]:
    """hard: test accuracy of one student, a ConvNet, on the same points, by class numbers; a fraction in [0, 1]."""
    images = loaded(point["data"], place)
    network = networks.spec("convnet", width=32, norm="instance")
    short = {"epochs": 2} if place.smoke else {}
    config = supervised.Config.for_data(images, network=network, mixup_alpha=0.0, **short)
    student = {"seeds": (point["seed"],), "config": config, "device": place.device}
    return {"hard": evaluate(made(point, place), images, labels="hard", **student).mean}


def learned_by(point: Point, place: Place) -> dict[str, float]:
    """fc1, ..., conv3, rbf: accuracy of ten digits, learned with one kernel or with random ones, in each kernel."""
    digits = loaded("digits", place)
    steps = {"iterations": _SMOKE_STEPS if place.smoke else 300}
    config = kip.Config(kernel=point["learned_by"], batch_size=200, precision="float32", seed=point["seed"], **steps)
    learned = cache.run(kip, config, Inputs(data=digits, device=place.device))
    return {
        name: kernel_accuracy(learned, digits, labels="regression", kernel=KernelSpec(kernel=name)) for name in _ASKED
    }


def solved_by(point: Point, place: Place) -> dict[str, float]:
    """rbf, fc1, fc3, conv2: accuracy of a hundred random real images in each kernel, with labels solved by one of them, or true ones."""
    images, shared = loaded(point["data"], place), {"images_per_class": 10, "seed": point["seed"]}
    inputs = Inputs(data=images, device=place.device)
    if point["solved_by"] == TRUE:
        labels, chosen = "hard", cache.run(selection, selection.Config(kind="random", **shared), inputs)
    else:
        labels, chosen = "regression", cache.run(ls, ls.Config(kernel=point["solved_by"], **shared), inputs)
    return {name: kernel_accuracy(chosen, images, labels=labels, kernel=KernelSpec(kernel=name)) for name in LABELLING}


def acceptance(point: Point, place: Place) -> dict[str, float]:
    """natural, learned: accuracy of a hundred images of CIFAR-10 before the first update and after the last, fractions in [0, 1]."""
    images = loaded_images(place.data or "cifar10", "cifar10", place.smoke)
    inputs = Inputs(data=images, device=place.device)
    config = kip.Config.paper(seed=point["seed"], **({"iterations": _SMOKE_STEPS} if place.smoke else {}))
    total = kip.total_steps(config, inputs)
    first = kip.regression_set(kip.NAME, config, inputs, kip.init(config, inputs), total=total)
    sets = {"natural": first, "learned": cache.run(kip, config, inputs)}
    return {name: kernel_accuracy(each, images, labels="regression") for name, each in sets.items()}


def points() -> list[Point]:
    """Every rule on both datasets."""
    return [
        {"data": name, "rule": rule, "images_per_class": count, "seed": seed}
        for name in DATA
        for rule, (_, _, counts) in RULES.items()
        for count in counts
        for seed in SEEDS
    ]


SWEEPS = (
    Sweep(
        name="kernel_points",
        description=(
            "Few points for kernel regression with the NTK of one hidden layer (FC1): digits and shapes, 16 px, random real images, "
            "k-means centres, KIP (300 updates, 1,000 real images in each unless it says otherwise; with learned labels; with 90% of the "
            "numbers fixed as noise or zeros), and label solve on real images, noise and images of the other dataset. A seed is every draw."
        ),
        settings=points(),
        run=regressed,
    ),
    Sweep(
        name="kernel_students",
        description=(
            "The same points for a trained network: one digit and ten shapes per class, ConvNet-3 of width 32 with instance norm, "
            "100 epochs, class numbers. A seed is the draw of images and the student's seed."
        ),
        settings=[
            {"data": name, "rule": rule, "images_per_class": count, "seed": seed}
            for name, count in SCENES.items()
            for rule in TAUGHT
            for seed in SEEDS
        ],
        run=taught,
    ),
    Sweep(
        name="kernel_learned_by",
        description=(
            "Ten digits, 16 px, learned by KIP (300 updates, 200 real images in each, float32) with one of six kernels, or with one of "
            "these drawn for each update; accuracy of the regression in every kernel, and in RBF."
        ),
        settings=[{"learned_by": kernel, "seed": seed} for kernel in (*SIX, kip.RANDOM) for seed in FEW_SEEDS],
        run=learned_by,
    ),
    Sweep(
        name="kernel_solved_by",
        description=(
            "Labels of a hundred random real images (digits or shapes, 16 px), solved with one of four kernels, or true; accuracy of the "
            "regression with each of the four."
        ),
        settings=[
            {"data": name, "solved_by": kernel, "seed": seed}
            for name in DATA
            for kernel in (*LABELLING, TRUE)
            for seed in SEEDS
        ],
        run=solved_by,
    ),
    Sweep(
        name="kernel_cifar10",
        description=(
            "The authors' notebook: CIFAR-10, all 50,000 images, NTK of one hidden layer, ten images per class, 300 updates with 5,000 "
            "images in each. The notebook prints .243 before and .467 after."
        ),
        settings=[{"seed": seed} for seed in range(1)],
        run=acceptance,
    ),
)
