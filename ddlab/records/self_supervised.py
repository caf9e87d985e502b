"""What the records about self-supervised distillation measure, and their points: Tables 2, 3, 4, 11 and 12 of Boost (Yu, Yao & Chiu 2025).

Each seed is one pair: it is the seed of the draw of images, of the pool, of the pre-trained network. All points share one teacher, trained
without labels, which is shipped.

Two controls that the paper has not got:
the teacher's targets for all views of real images    what predefined views give without any distillation
bases and coefficients crossed                        Table 4 changes both at once
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import data, methods, networks
from ..core import errors
from ..data import ImageData, aligned
from ..distilled import DistilledSet, Representations, shift_models
from ..distilled.storage_budget import Shift
from ..evaluation import pretrained, probe
from ..methods import boost
from ..networks import Network
from ..runs import cache, process
from ..runs.process import Inputs
from ..training import pretraining, self_supervised
from .setting import SMOKE_IMAGES, TEACHERS, first_of_each_class, kept, loaded_images, one_thread, whole
from .sweep import Place, Point

KRR_ST, BOOST, SELECTED, UNTRAINED = "KRR-ST", "Boost", "real images", "untrained"
METHODS = {KRR_ST: "krr_st", BOOST: "boost", SELECTED: "representation_selection"}
SHIPPED = TEACHERS / "shapes16_self_supervised.safetensors"
SEEDS = range(5)
BUDGET, BUDGETS = 20, (10, 20, 40)  # images
OTHER_IMAGES = 10  # digits of each class to learn from; from a thousand a probe reads them in any network's features
PROBE_STRENGTH = 1e-3  # of the linear probe, for all points alike
FIELDS = (
    "kind", "targets_count", "augmentation", "image_bases", "representation_bases", "bases_start", "coefficients_start", "reset",
)  # fmt: skip
PUBLISHED: dict[str, Point] = {
    KRR_ST: {"reset": True},
    BOOST: {
        "augmentation": "rotation", "image_bases": 40, "representation_bases": 40, "bases_start": "principal",
        "coefficients_start": "projection", "reset": True,
    },
    SELECTED: {"kind": "random", "targets_count": False, "augmentation": "none"},
}  # fmt: skip
"""The columns that apply to each method, as published: twice as many bases as images (Table 5)."""
ONE_RESULT, BY_BUDGET = "one result", "what the budget buys"
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "VGG11": {"family": "vgg11"}, "ResNet-18": {"family": "resnet18"}, "AlexNet": {"family": "alexnet"},
    "MobileNetV2": {"family": "mobilenet_v2"}, "ViT": {"family": "vit", "width": 64, "depth": 4},
}  # fmt: skip
"""What `networks.spec` makes each from; made when asked for, because some families import torchvision, for 150 MB."""
SHIFT_MODELS: tuple[tuple[str, int | None], ...] = (
    ("same", None), ("bias", None), ("networks", 2), ("networks", 4), ("networks", 8), ("stored", None),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """What the points share.

    Attributes:
        data: what is distilled. other: labelled images of the same shape, for transfer.
        teaching: how the teacher is trained, which reads no labels. shipped: the file of the one that comes with ddlab, or None.
        preset: "teaching" or "paper", the methods' Config; fields: of it, the same for all points.
        pretraining: of the networks that are probed. long: runs write checkpoints, from which an interrupted one goes on.
    """

    data: ImageData
    other: ImageData
    teaching: self_supervised.Config
    shipped: Path | None
    preset: str
    fields: dict[str, Any]
    pretraining: pretraining.Config
    long: bool = False

    def teacher(self, place: Place) -> Network:
        """The teacher: the one that is shipped, else trained once, then read from the place's folder or from memory."""
        if self.shipped is not None:
            return networks.load(self.shipped)
        inputs = Inputs(data=self.data, device=place.device)
        return kept(self_supervised, self.teaching, inputs, place, networks.load, long=self.long)

    def inputs(self, place: Place) -> Inputs:
        """Images and teacher on the place's device."""
        return Inputs(data=self.data, teachers=(self.teacher(place),), device=place.device)

    def config(self, method: str, **values: Any) -> tuple[Any, Any]:
        """(module, config) of a method: the preset with the world's fields and these values, as far as the method has such fields."""
        module = methods.get(METHODS[errors.check_choice("method", method, tuple(METHODS))])
        known = module.Config.__dataclass_fields__
        own = {name: value for name, value in (self.fields | values).items() if name in known and value is not None}
        return module, (module.Config.teaching if self.preset == "teaching" else module.Config.paper)(**own)


@functools.lru_cache(maxsize=2)
def _shapes16(smoke: bool, _named: str | None) -> World:
    """Shapes at 16 px, a hundred digits in their shape, and a ConvNet of 16, 32 and 64 channels as inner and as pre-trained network."""
    images = data.load("shapes", size=16, **({"train": 10 * SMOKE_IMAGES, "test": 50} if smoke else {}))
    network = networks.spec("convnet", width=2 if smoke else 16, growth=2)
    own_teacher = networks.spec("convnet", width=20 if smoke else 32)
    short: dict[str, Any] = {"iterations": 3, "pool_steps": 3, "pool_size": 2} if smoke else {}
    return World(
        data=images,
        other=_few_digits(images),
        teaching=self_supervised.Config.for_data(images, network=own_teacher, epochs=2 if smoke else 40),
        shipped=None if smoke else SHIPPED,
        preset="teaching",
        fields={"network": network} | short,
        pretraining=pretraining.Config(network=network, epochs=2 if smoke else 300),
    )


@functools.lru_cache(maxsize=2)
def _cifar10_paper(smoke: bool, named: str | None) -> World:
    """CIFAR-10 with a ResNet-18 as teacher, at the published sizes for 100 images: hours on a GPU."""
    images = loaded_images(named or "cifar10", "cifar10", smoke)
    teaching, fields, short = self_supervised.Config.paper("cifar10"), {}, {}
    if smoke:
        network = networks.spec("convnet", width=4, growth=2)
        # Of 256 features: as many bases as at the published size can be had.
        teaching = self_supervised.Config.for_data(images, network=networks.spec("convnet", width=16), epochs=2)
        fields = {"network": network, "iterations": 2, "pool_steps": 2, "pool_size": 1, "batch_size": 16}
        short = {"network": network, "epochs": 1}
    return World(
        data=images,
        other=_few_digits(images),
        teaching=teaching,
        shipped=None,
        preset="paper",
        fields=fields,
        pretraining=pretraining.Config.paper(**short),
        long=True,
    )


SCALES = {"shapes16": _shapes16, "cifar10_paper": _cifar10_paper}


def world(place: Place, scale: str = "shapes16") -> World:
    """The world of that name at a place."""
    errors.check_instance("place", place, Place, "a Place")
    return SCALES[errors.check_choice("scale", scale, tuple(SCALES))](place.smoke, place.data)


def prepare(place: Place, *, scale: str) -> None:
    """Makes the teacher of a scale, so that the points find it."""
    world(place, scale).teacher(place)


def _few_digits(like: ImageData) -> ImageData:
    return first_of_each_class(aligned(data.load("digits"), like), OTHER_IMAGES, ("train",))


def point(method: str, *, seed: int, budget: int = BUDGET, **changes: Any) -> Point:
    """One point; a column that does not apply to its method is None, the others are as published but for the changes."""
    return {"method": method, "budget": budget} | dict.fromkeys(FIELDS) | PUBLISHED[method] | changes | {"seed": seed}


def starts() -> list[Point]:
    """Table 4 with its arms crossed: what bases begin as, by what coefficients begin as."""
    return [
        point(BOOST, seed=seed, bases_start=bases, coefficients_start=coefficients)
        for bases in boost.STARTS for coefficients in ("projection", "random") for seed in SEEDS
    ]  # fmt: skip


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
        for kind in ("random", "k_means") for counted in (False, True) for views in ("none", "rotation") for seed in SEEDS
    ]  # fmt: skip


def budgets() -> list[Point]:
    """Table 2: every method at several budgets, with twice as many bases as images."""
    found = []
    for budget in BUDGETS:
        sizes = {"image_bases": 2 * budget, "representation_bases": 2 * budget}
        kinds: list[tuple[str, Point]] = [(KRR_ST, {}), (BOOST, sizes), (SELECTED, {}), (SELECTED, {"kind": "k_means"})]
        found += [
            point(method, seed=seed, budget=budget, **own)
            for method, own in kinds for seed in SEEDS
        ]  # fmt: skip
    return found


def settings() -> list[Point]:
    """All of them in one table, each point once."""
    points = budgets() + parts() + starts() + baselines()
    return list({tuple(point.values()): point for point in points}.values())


def shift_models_settings() -> list[Point]:
    """Table 11: each model of the shift, on the pairs that the budget buys with it, and on one result with as many pairs for all."""
    return [
        {"shift": shift, "hidden": hidden, "compared_on": which, "seed": seed}
        for which in (ONE_RESULT, BY_BUDGET) for shift, hidden in SHIFT_MODELS for seed in SEEDS
    ]  # fmt: skip


def architecture_settings() -> list[Point]:
    """Table 1 at small scale: networks of other architectures, pre-trained on the sets of a ConvNet, and on none."""
    none: Point = {"method": UNTRAINED, "budget": 0} | dict.fromkeys(FIELDS)
    return [
        {"architecture": architecture} | (none | {"seed": seed} if method == UNTRAINED else point(method, seed=seed))
        for method in (SELECTED, KRR_ST, BOOST, UNTRAINED) for architecture in ARCHITECTURES for seed in SEEDS
    ]  # fmt: skip


def paper_settings() -> list[Point]:
    """Table 3 at the published sizes for 100 images, and the control of real images with their rotations."""
    arms: list[tuple[str, Point]] = [
        (KRR_ST, {}), (BOOST, {"augmentation": "none"}), (BOOST, {}), (SELECTED, {}), (SELECTED, {"kind": "k_means"}),
        (SELECTED, {"augmentation": "rotation", "targets_count": True}),
    ]  # fmt: skip
    sizes = {"image_bases": 200, "representation_bases": 200}
    return [
        point(method, seed=seed, budget=100, **(sizes if method == BOOST else {}) | own)
        for method, own in arms for seed in range(3)
    ]  # fmt: skip


def distilled(point: Point, place: Place, *, scale: str = "shapes16", **changes: Any) -> DistilledSet:
    """The set of a point of `settings`; `changes` are further fields of its method's Config."""
    shared = world(place, scale)
    own = {column: value for column, value in point.items() if column != "method"}
    module, config = shared.config(point["method"], **own | changes)
    return kept(module, config, shared.inputs(place), place, DistilledSet.load, long=shared.long)


def accuracies(
    made: DistilledSet, seed: int, place: Place, *, scale: str = "shapes16", config: pretraining.Config | None = None
) -> dict[str, float]:
    """source, other: test accuracy of a linear probe of one network pre-trained on the set, fractions in [0, 1]."""
    shared = world(place, scale)
    found = pretrained(
        made,
        {"source": shared.data, "other": shared.other},
        candidates=(PROBE_STRENGTH,),
        seeds=(seed,),
        config=shared.pretraining if config is None else config,
        device=place.device,
    )
    return {name: found.of(name).mean for name in ("source", "other")}


def by_architecture(setting: Point, place: Place) -> dict[str, float]:
    """`accuracies` of a network of another architecture, pre-trained for fewer epochs; "untrained": before it has seen a pair."""
    seed, made_of = setting["seed"], ARCHITECTURES[setting["architecture"]]
    spec = networks.spec("convnet", width=2) if place.smoke else networks.spec(**made_of)
    config = world(place).pretraining.replace(network=spec, epochs=2 if place.smoke else 60, seed=seed)
    if setting["method"] == UNTRAINED:
        return unlearned(config, place)
    made = distilled({column: value for column, value in setting.items() if column != "architecture"}, place)
    return accuracies(made, seed, place, config=config)


def unlearned(config: pretraining.Config, place: Place) -> dict[str, float]:
    """`accuracies` of the network with which a pre-training begins."""
    shared = world(place)
    inputs = Inputs(distilled=distilled(point(SELECTED, seed=config.seed), place), device=place.device)
    network = pretraining.finish(config, inputs, process.start(pretraining, config, inputs))
    options: dict[str, Any] = {
        "kind": "linear",
        "seeds": (config.seed,),
        "candidates": (PROBE_STRENGTH,),
        "keep": False,
    }
    datasets = {"source": shared.data, "other": shared.other}
    return {name: probe(network, each, device=place.device, **options).mean for name, each in datasets.items()}


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


def train_shipped() -> Path:
    """Train the shipped teacher anew, with one thread, and write it over the old one: its file."""
    shared = world(Place())
    with one_thread():
        teacher = whole(cache.run(self_supervised, shared.teaching, Inputs(data=shared.data, device="cpu")))
    return teacher.save(SHIPPED)
