"""The sets of images that lesson 05's sweeps stand on: by selection, DM, DC and DSA, at updates that were chosen beforehand.

A set that several sweeps ask for is kept beside their folders: the point that asks first pays for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ... import data, networks
from ...data import ImageData, siamese_views
from ...distilled import DistilledSet
from ...methods import dc, dm, dsa, selection
from ...records.setting import kept
from ...records.sweep import Place, Point
from ...runs.process import Inputs

DM, DC, DSA = "DM", "DC", "DSA"
SELECTED = ("random", "herding", "k_center", "forgetting", "k_means", "centres")
SCENES = {"digits": 1, "shapes": 10}
"""Dataset -> images per class."""
SMALL = networks.spec("convnet", width=32, norm="instance")
VIEWS = {"digits": siamese_views.UPRIGHT, "shapes": siamese_views.ALL}
"""Dataset -> what DSA and its students draw from."""
FEW: dict[str, dict[str, Any]] = {DM: {"iterations": 2}, DC: {"networks": 1, "outer_steps": 1}}
# Chosen beforehand by the time they take: about half a minute of one core for a set.
_UPDATES: dict[str, dict[str, dict[str, Any]]] = {
    "digits": {DM: {"iterations": 200}, DC: {"networks": 100}},
    "shapes": {DM: {"iterations": 300}, DC: {"networks": 15, "outer_steps": 10, "inner_epochs": 10}},
}


def loaded(name: str) -> ImageData:
    """Digits at 16 px, or shapes at 16 px, 5,000 of them."""
    return data.load("digits") if name == "digits" else data.load("shapes", size=16)


def process_of(point: Point, place: Place) -> tuple[Any, Any]:
    """The process that makes the images of a point (data, rule, seed; of DSA also views), and its config."""
    name, rule = point["data"], point["rule"]
    shared: dict[str, Any] = {"images_per_class": SCENES[name], "seed": point["seed"]}
    if rule in SELECTED:
        return selection, selection.Config(kind=rule, **shared)
    kind = DC if rule == DSA else rule  # DSA has as many updates as DC
    shared |= {"network": SMALL, "batch_size": 64, "initialisation": "real"}
    shared |= FEW[kind] if place.smoke else _UPDATES[name][kind]
    if rule == DSA:
        return dsa, dsa.Config(strategy=VIEWS[name], views=point["views"], **shared)
    return (dm, dm.Config(strategy="", **shared)) if rule == DM else (dc, dc.Config(**shared))


def kept_set(point: Point, place: Place) -> DistilledSet:
    """The images of a point; where the place has a folder they are read from the one beside it, or kept there."""
    module, config = process_of(point, place)
    beside = place if place.folder is None else replace(place, folder=place.folder.parent / "matching-sets")
    inputs = Inputs(data=loaded(point["data"]), device=place.device)
    return kept(module, config, inputs, beside, DistilledSet.load)
