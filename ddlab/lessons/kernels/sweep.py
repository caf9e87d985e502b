"""The sweeps of lesson 50: few points for kernel regression, learned, chosen or with solved labels; other kernels; CIFAR-10."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
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
SEEDS, FEW = range(10), range(5)
_HEAVY: dict[str, Any] = {"corruption": 0.9}
RULES: dict[str, tuple[Any, dict[str, Any], tuple[int, ...]]] = {
    "random": (selection, {"kind": "random"}, (1, 10, 100)),
    "centres": (selection, {"kind": "centres"}, (1, 10)),
    "KIP": (kip, {}, (1, 10)),
    "KIP, labels": (kip, {"learn_labels": True}, (1,)),
    "KIP, noise": (kip, _HEAVY, (1, 10)),
    "KIP, zeros": (kip, _HEAVY | {"corrupted_by": "zeros"}, (1,)),
    **{f"KIP, {count} targets": (kip, {"batch_size": count}, (1,)) for count in (10, 30, 100, 300)},
    "LS": (ls, {}, (10,)),
    "LS, noise": (ls, {"initialisation": "noise"}, (10,)),
    "LS, foreign": (ls, {}, (10,)),
}
"""Rule -> (method, fields of its Config, images per class)."""
LABELLING, TRUE = ("rbf", "fc1", "fc3", "conv1"), "true"
"""Kernels with which labels are solved and used; labels that are not solved."""


def loaded(name: str, place: Place) -> ImageData:
    """Digits or shapes at 16 px; of shapes 5,000 for training."""
    small = {"train": 1000, "test": 20} if place.smoke and name == "shapes" else {}
    return data.load("digits") if name == "digits" else data.load("shapes", size=16, **small)


def made(point: Point, place: Place) -> DistilledSet:
    """The images of a point by its rule, of KIP after 300 updates; foreign images are random ones of the other dataset.

    Those of shapes become grey values for digits, those of digits three equal channels for shapes.
    """
    module, fields, _ = RULES[point["rule"]]
    own: dict[str, Any] = {name: point[name] for name in ("images_per_class", "seed")}
    images = loaded(point["data"], place)
    inputs = Inputs(data=images, device=place.device)
    if module is kip:
        fields = {"iterations": 2 if place.smoke else 300, "batch_size": 1000} | fields
    if point["rule"] == "LS, foreign":
        other = loaded(DATA[1 - DATA.index(point["data"])], place)
        chosen = cache.run(selection, selection.Config(kind="random", **own), Inputs(data=other, device=place.device))
        grey = chosen.images.mean(1, keepdim=True).repeat(1, images.channels, 1, 1)
        inputs = Inputs(data=images, distilled=from_images(grey, chosen.labels, images), device=place.device)
    return cache.run(module, module.Config(**own | fields), inputs)


def regressed(images: DistilledSet, data: ImageData, module: Any, kernels: Iterable[str]) -> dict[str, float]:
    """Kernel -> test accuracy of its regression on images, with class numbers if they were selected, else with their labels."""
    labels = "hard" if module is selection else "regression"
    return {name: kernel_accuracy(images, data, labels=labels, kernel=KernelSpec(kernel=name)) for name in kernels}


def pointed(point: Point, place: Place) -> dict[str, float]:
    """accuracy: of the regression with FC1 on the images of a point, test images, a fraction in [0, 1]."""
    found = regressed(made(point, place), loaded(point["data"], place), RULES[point["rule"]][0], ("fc1",))
    return {"accuracy": found["fc1"]}


def taught(point: Point, place: Place) -> dict[str, float]:
    """hard: test accuracy of one student on the same images, by class numbers, a fraction in [0, 1]."""
    images = loaded(point["data"], place)
    short: dict[str, Any] = {"epochs": 2} if place.smoke else {}
    network = networks.spec("convnet", width=32, norm="instance")
    student = supervised.Config.for_data(images, network=network, mixup_alpha=0.0, **short)
    shared: dict[str, Any] = {"seeds": (point["seed"],), "config": student, "device": place.device}
    return {"hard": evaluate(made(point, place), images, labels="hard", **shared).mean}


def learned_by(point: Point, place: Place) -> dict[str, float]:
    """fc1, ..., conv3, rbf: test accuracy in each kernel of ten digits, learned with one kernel or with random ones."""
    digits, steps = loaded("digits", place), 2 if place.smoke else 200
    own: dict[str, Any] = {"kernel": point["learned_by"], "seed": point["seed"]}
    config = kip.Config(iterations=steps, batch_size=100, precision="float32", **own)
    return regressed(cache.run(kip, config, Inputs(data=digits, device=place.device)), digits, kip, (*SIX, "rbf"))


def solved_by(point: Point, place: Place) -> dict[str, float]:
    """rbf, fc1, fc3, conv1: test accuracy in each kernel of 100 random real images, with labels solved by one of them, or true."""
    images, kernel = loaded(point["data"], place), point["solved_by"]
    module, fields = (selection, {"kind": "random"}) if kernel == TRUE else (ls, {"kernel": kernel})
    config = module.Config(images_per_class=10, seed=point["seed"], **fields)
    return regressed(cache.run(module, config, Inputs(data=images, device=place.device)), images, module, LABELLING)


def acceptance(point: Point, place: Place) -> dict[str, float]:
    """natural, learned: test accuracy of the images of CIFAR-10 before the first update and after the last, fractions in [0, 1]."""
    images = loaded_images(place.data or "cifar10", "cifar10", place.smoke)
    inputs = Inputs(data=images, device=place.device)
    short: dict[str, Any] = {"iterations": 2} if place.smoke else {}
    config = kip.Config.paper(**point, **short)
    first = kip.regression_set(kip.NAME, config, inputs, kip.init(config, inputs), total=config.iterations)
    sets = {"natural": first, "learned": cache.run(kip, config, inputs)}
    return {name: kernel_accuracy(each, images, labels="regression") for name, each in sets.items()}


def grid(**columns: Iterable[Any]) -> list[Point]:
    """Each combination, the last column fastest."""
    return [dict(zip(columns, values, strict=True)) for values in itertools.product(*columns.values())]


SWEEPS = (
    Sweep(
        name="kernel_points",
        description=(
            "Few points for kernel regression with the NTK of one hidden layer (FC1): digits and shapes, 16 px, random real images, "
            "k-means centres, KIP (300 updates, 1,000 real images in each unless it says otherwise; with learned labels; with 90% of the "
            "numbers fixed as noise or zeros), and label solve on real images, noise and images of the other dataset. A seed is every draw."
        ),
        settings=[
            point
            for name in DATA
            for rule, (_, _, counts) in RULES.items()
            for point in grid(data=(name,), rule=(rule,), images_per_class=counts, seed=SEEDS)
        ],
        run=pointed,
    ),
    Sweep(
        name="kernel_students",
        description=(
            "The same points for a trained network: one digit and ten shapes per class, ConvNet-3 of width 32 with instance norm, "
            "100 epochs, class numbers. A seed is the draw of images and the student's seed."
        ),
        settings=[
            point
            for name, count in (("digits", 1), ("shapes", 10))
            for point in grid(data=(name,), rule=("random", "KIP", "KIP, noise"), images_per_class=(count,), seed=FEW)
        ],
        run=taught,
    ),
    Sweep(
        name="kernel_learned_by",
        description=(
            "Ten digits, 16 px, learned by KIP (200 updates, 100 real images in each, float32) with one of six kernels, or with one of "
            "these drawn for each update; accuracy of the regression in every kernel, and in RBF."
        ),
        settings=grid(learned_by=(*SIX, kip.RANDOM), seed=FEW),
        run=learned_by,
    ),
    Sweep(
        name="kernel_solved_by",
        description=(
            "Labels of a hundred random real images (digits or shapes, 16 px), solved with one of four kernels, or true; accuracy of the "
            "regression with each of the four."
        ),
        settings=grid(data=DATA, solved_by=(*LABELLING, TRUE), seed=FEW),
        run=solved_by,
    ),
    Sweep(
        name="kernel_cifar10",
        description=(
            "The authors' notebook: CIFAR-10, all 50,000 images, NTK of one hidden layer, ten images per class, 300 updates with 5,000 "
            "images in each. The notebook prints .243 before and .467 after."
        ),
        settings=grid(images_per_class=(10,), seed=range(1)),
        run=acceptance,
    ),
)
