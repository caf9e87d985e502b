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

from .. import cache, data, errors, methods, networks, pretraining, self_supervised, shift_models
from ..data import ImageData, aligned
from ..distilled import DistilledSet, Representations
from ..evaluation import pretrained
from ..methods import parameterised_self_supervised as boost
from ..networks import Network, NetworkSpec
from ..process import Inputs
from .setting import SMOKE_IMAGES, TEACHERS, first_of_each_class, whole
from .sweep import Place, Point

KRR_ST, BOOST, SELECTED = "KRR-ST", "Boost", "real images"
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
SHIFT_MODELS: tuple[tuple[str, int | None], ...] = (
    ("same", None), ("bias", None), ("networks", 2), ("networks", 4), ("networks", 8), ("stored", None),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """What the points share: the images, others of the same shape, the teacher's training, the inner and the pre-trained networks."""

    data: ImageData
    other: ImageData
    teaching: self_supervised.Config
    network: NetworkSpec
    shared: dict[str, Any]
    pretraining: pretraining.Config

    def teacher(self, place: Place) -> Network:
        """The shipped teacher; of a smoke run one of its own."""
        if not place.smoke:
            return networks.load(SHIPPED)
        return whole(cache.run(self_supervised, self.teaching, Inputs(data=self.data, device=place.device)))

    def inputs(self, place: Place) -> Inputs:
        """Images and teacher on the place's device."""
        return Inputs(data=self.data, teachers=(self.teacher(place),), device=place.device)


@functools.lru_cache(maxsize=2)
def world(smoke: bool = False) -> World:
    """Shapes at 16 px, a hundred digits in their shape, and a ConvNet of 16, 32 and 64 channels as inner and as pre-trained network."""
    counts = {"train": 10 * SMOKE_IMAGES, "test": 50} if smoke else {}
    images = data.load("shapes", size=16, **counts)
    network = networks.spec("convnet", width=2 if smoke else 16, growth=2)
    teaching = self_supervised.Config.for_data(
        images, network=networks.spec("convnet", width=20 if smoke else 32), epochs=2 if smoke else 40
    )
    short: dict[str, Any] = {"iterations": 3, "pool_steps": 3, "pool_size": 2} if smoke else {}
    return World(
        data=images,
        other=first_of_each_class(aligned(data.load("digits"), images), OTHER_IMAGES, ("train",)),
        teaching=teaching,
        network=network,
        shared={"network": network} | short,
        pretraining=pretraining.Config(network=network, epochs=2 if smoke else 300),
    )


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


def distilled(point: Point, place: Place, **changes: Any) -> DistilledSet:
    """The set of a point of `settings`; `changes` are further fields of its method's Config."""
    shared, module = world(place.smoke), methods.get(METHODS[point["method"]])
    known = module.Config.__dataclass_fields__
    own = {column: value for column, value in point.items() if column in known and value is not None}
    values = {name: value for name, value in shared.shared.items() if name in known} | own | changes
    config, inputs = module.Config.teaching(**values), shared.inputs(place)
    folder = None if place.folder is None else place.folder / "made"
    options = {} if folder is None else {"folder": folder, "load": DistilledSet.load}
    return whole(cache.run(module, config, inputs, **options))


def accuracies(made: DistilledSet, seed: int, place: Place) -> dict[str, float]:
    """source, other: test accuracy of a linear probe of one network pre-trained on the set, fractions in [0, 1]."""
    shared = world(place.smoke)
    found = pretrained(
        made,
        {"source": shared.data, "other": shared.other},
        candidates=(PROBE_STRENGTH,),
        seeds=(seed,),
        config=shared.pretraining,
        device=place.device,
    )
    return {name: found.of(name).mean for name in ("source", "other")}


def measured(point: Point, place: Place) -> dict[str, float]:
    """What one point gives: `accuracies`; pairs: m; floats: what the set takes, targets included."""
    made = distilled(point, place)
    return accuracies(made, point["seed"], place) | {"pairs": len(made), "floats": made.storage_floats()}


def by_shift(model: Point, place: Place) -> dict[str, float]:
    """`accuracies` with one model of the shifts; pairs: m; error: its mean square error, as a part of the mean square of the shifts.

    The distillation has coefficients for every view whatever the model, which is fitted to them afterwards.
    """
    seed, shift = model["seed"], model["shift"]
    hidden = {} if model["hidden"] is None else {"hidden": model["hidden"]}
    start = point(BOOST, seed=seed)
    sized = {} if model["compared_on"] == ONE_RESULT else {"shift": shift, **hidden}
    shared = world(place.smoke)
    config = boost.Config.teaching(**PUBLISHED[BOOST] | shared.shared | sized)
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


def with_shift(made: DistilledSet, shift: str, *, seed: int, hidden: int = 4) -> DistilledSet:
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
    """Train the shipped teacher anew and write it over the old one: its file."""
    shared = world()
    teacher = whole(cache.run(self_supervised, shared.teaching, Inputs(data=shared.data)))
    return teacher.save(SHIPPED)
