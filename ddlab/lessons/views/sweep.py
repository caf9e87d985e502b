"""The sweeps of lessons 40 and 41: their points and what each measures (Yu, Yao & Chiu 2025: Tables 1, 2, 3, 4, 11 and 12 of Boost).

Two controls that the paper has not got:
the teacher's targets for all views of real images    what predefined views give without any distillation
bases and coefficients crossed                        Table 4 changes both at once
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from ... import networks
from ...core import errors
from ...distilled import DistilledSet, Representations, shift_models
from ...distilled.storage_budget import Shift
from ...methods import boost
from ...records.self_supervised import BOOST, KRR_ST, SELECTED, prepare, world
from ...records.sweep import Place, Point, Sweep
from ..shared.unlabelled import BUDGET, BUDGETS, FIELDS, PUBLISHED, accuracies, distilled, point, unlearned

UNTRAINED = "untrained"
SEEDS = range(5)
ONE_RESULT, BY_BUDGET = "one result", "what the budget buys"
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "VGG11": {"family": "vgg11"},
    "ResNet-18": {"family": "resnet18"},
    "AlexNet": {"family": "alexnet"},
    "MobileNetV2": {"family": "mobilenet_v2"},
    "ViT": {"family": "vit", "width": 64, "depth": 4},
}
"""What `networks.spec` makes each from; made when asked for, because some families import torchvision, for 150 MB."""
SHIFT_MODELS: tuple[tuple[str, int | None], ...] = (
    ("same", None),
    ("bias", None),
    ("networks", 2),
    ("networks", 4),
    ("networks", 8),
    ("stored", None),
)
_WITHOUT_LABELS = (
    "Shapes at 16 px (5,000 images), a ConvNet-3 of width 32 as teacher without labels (Barlow Twins, 40 epochs; shipped), 300 outer "
    "steps with a pool of three networks, which are ConvNets of 16, 32 and 64 channels like the pre-trained ones (300 epochs). A seed is "
    "that of every draw. Measured: accuracy of a linear probe on shapes and on digits"
)


def starts() -> list[Point]:
    """Table 4 with its arms crossed: what bases begin as, by what coefficients begin as."""
    return [
        point(BOOST, seed=seed, bases_start=bases, coefficients_start=coefficients)
        for bases in boost.STARTS
        for coefficients in ("projection", "random")
        for seed in SEEDS
    ]


def parts() -> list[Point]:
    """Tables 3 and 12: KRR-ST, with and without the authors' slip, bases alone, and with each kind of views."""
    views = ("none", "rotation", "jigsaw", "crop")
    return [point(KRR_ST, seed=seed, reset=reset) for reset in (True, False) for seed in SEEDS] + [
        point(BOOST, seed=seed, augmentation=kind) for kind in views for seed in SEEDS
    ]


def baselines() -> list[Point]:
    """Random images and those nearest to k-means centres, by both conventions, with and without views."""
    return [
        point(SELECTED, seed=seed, kind=kind, targets_count=counted, augmentation=views)
        for kind in ("random", "k_means")
        for counted in (False, True)
        for views in ("none", "rotation")
        for seed in SEEDS
    ]


def budgets() -> list[Point]:
    """Table 2: every method at several budgets, with twice as many bases as images."""
    found = []
    for budget in BUDGETS:
        sizes = {"image_bases": 2 * budget, "representation_bases": 2 * budget}
        kinds: list[tuple[str, Point]] = [(KRR_ST, {}), (BOOST, sizes), (SELECTED, {}), (SELECTED, {"kind": "k_means"})]
        found += [point(method, seed=seed, budget=budget, **own) for method, own in kinds for seed in SEEDS]
    return found


def settings() -> list[Point]:
    """All of them in one table, each point once."""
    points = budgets() + parts() + starts() + baselines()
    return list({tuple(point.values()): point for point in points}.values())


def shift_models_settings() -> list[Point]:
    """Table 11: each model of the shift, on the pairs that the budget buys with it, and on one result with as many pairs for all."""
    return [
        {"shift": shift, "hidden": hidden, "compared_on": which, "seed": seed}
        for which in (ONE_RESULT, BY_BUDGET)
        for shift, hidden in SHIFT_MODELS
        for seed in SEEDS
    ]


def architecture_settings() -> list[Point]:
    """Table 1 at small scale: networks of other architectures, pre-trained on the sets of a ConvNet, and on none."""
    none: Point = {"method": UNTRAINED, "budget": 0} | dict.fromkeys(FIELDS)
    return [
        {"architecture": architecture} | (none | {"seed": seed} if method == UNTRAINED else point(method, seed=seed))
        for method in (SELECTED, KRR_ST, BOOST, UNTRAINED)
        for architecture in ARCHITECTURES
        for seed in SEEDS
    ]


def paper_settings() -> list[Point]:
    """Table 3 at the published sizes for 100 images, and the control of real images with their rotations."""
    arms: list[tuple[str, Point]] = [
        (KRR_ST, {}),
        (BOOST, {"augmentation": "none"}),
        (BOOST, {}),
        (SELECTED, {}),
        (SELECTED, {"kind": "k_means"}),
        (SELECTED, {"augmentation": "rotation", "targets_count": True}),
    ]
    sizes = {"image_bases": 200, "representation_bases": 200}
    return [
        point(method, seed=seed, budget=100, **(sizes if method == BOOST else {}) | own)
        for method, own in arms
        for seed in range(3)
    ]


def by_architecture(setting: Point, place: Place) -> dict[str, float]:
    """`accuracies` of a network of another architecture, pre-trained for fewer epochs; "untrained": before it has seen a pair."""
    seed, made_of = setting["seed"], ARCHITECTURES[setting["architecture"]]
    spec = networks.spec("convnet", width=2) if place.smoke else networks.spec(**made_of)
    config = world(place).pretraining.replace(network=spec, epochs=2 if place.smoke else 60, seed=seed)
    if setting["method"] == UNTRAINED:
        return unlearned(config, place)
    made = distilled({column: value for column, value in setting.items() if column != "architecture"}, place)
    return accuracies(made, seed, place, config=config)


def measured(point: Point, place: Place, *, scale: str = "shapes16") -> dict[str, float]:
    """What one point gives: `accuracies`; pairs: m; floats: what the set takes, targets included."""
    made = distilled(point, place, scale=scale)
    found = accuracies(made, point["seed"], place, scale=scale)
    return found | {"pairs": len(made), "floats": made.storage_floats()}


def by_shift(model: Point, place: Place) -> dict[str, float]:
    """`accuracies` with one model of the shifts; pairs: m; error: its mean square error, as a part of the mean square of the shifts.

    The distillation has coefficients for every view whatever the model, which is fitted to them afterwards.
    """
    seed, shift = model["seed"], model["shift"]
    hidden = {} if model["hidden"] is None else {"hidden": model["hidden"]}
    start = point(BOOST, seed=seed)
    sized = {} if model["compared_on"] == ONE_RESULT else {"shift": shift, **hidden}
    shared = world(place)
    _, config = shared.config(BOOST, **PUBLISHED[BOOST] | sized)
    count = boost.count_pairs(config, shared.inputs(place))
    result = distilled(start, place, shift="stored", pairs=count)
    made = with_shift(result, shift, seed=seed, **hidden)
    target = result.target("representations").tensors
    images, views = target["coefficients"], target["view_coefficients"]
    fitted = {name: made.target("representations").tensors[name] for name in shift_models.TENSORS[shift]}
    error = shift_models.mean_squared_error(images, views, fitted, shift)
    return accuracies(made, seed, place) | {
        "pairs": len(made),
        "error": float(error / (views - images).square().mean()),
    }


def with_shift(made: DistilledSet, shift: Shift, *, seed: int, hidden: int = 4) -> DistilledSet:
    """A set that has coefficients for every view, with a model of the shifts in their place.

    Raises:
        DDLabError: a set whose views' coefficients are not stored.
    """
    target = made.target("representations")
    if target.shift != "stored" or "view_coefficients" not in target.tensors:
        errors.fail("made", "a factorised set with shift 'stored'", target.shift)
    kept = {name: value for name, value in target.tensors.items() if name != "view_coefficients"}
    model = shift_models.fit(kept["coefficients"], target.tensors["view_coefficients"], shift, hidden=hidden, seed=seed)
    other = Representations(tensors=kept | model, augmentation=target.augmentation, shift=shift)
    return replace(made, targets=(other,))


SWEEPS = (
    Sweep(
        name="self_supervised",
        description=(
            "Boost, Tables 2, 3, 4 and 12: KRR-ST, bases and coefficients, predefined views, what bases and coefficients begin as, "
            f"budgets, and real images with the teacher's representations. {_WITHOUT_LABELS}, number of pairs, floats."
        ),
        settings=settings(),
        run=measured,
    ),
    Sweep(
        name="self_supervised_architectures",
        description=(
            "Boost, Table 1: networks of other architectures, pre-trained for 60 epochs on random real images with the teacher's "
            f"representations, on KRR-ST's and on Boost's pairs, and on none. {_WITHOUT_LABELS}."
        ),
        settings=architecture_settings(),
        run=by_architecture,
    ),
    Sweep(
        name="self_supervised_paper",
        description=(
            "Boost, Table 3, on CIFAR-10 at the published sizes for 100 images: a ResNet-18 as teacher without labels (Barlow Twins, "
            "1,000 epochs), 30,000 outer steps with ten networks of 128, 256 and 512 channels, pre-training 1,000 epochs. Measured: "
            "accuracy of a linear probe on CIFAR-10 and on digits, number of pairs, floats."
        ),
        settings=paper_settings(),
        run=functools.partial(measured, scale="cifar10_paper"),
        prepare=functools.partial(prepare, scale="cifar10_paper"),
    ),
    Sweep(
        name="shift_models",
        description=(
            "Boost, Table 11: how the representations of views are stored, on one result and on what each model leaves of a budget "
            f"of {BUDGET} images. {_WITHOUT_LABELS}, number of pairs, the model's relative squared error."
        ),
        settings=shift_models_settings(),
        run=by_shift,
    ),
)
