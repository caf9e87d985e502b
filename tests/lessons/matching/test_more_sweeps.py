"""The other sweeps of lesson 05: their points, what each measures, and rows of the records that say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks, records
from ddlab.lessons.matching import across_networks, other_uses, sets
from ddlab.methods import dc, dsa, selection
from ddlab.records import SWEEPS, Place
from ddlab.training import supervised
from tests.records.sweeps import pictures

SMOKE = Place(smoke=True)
CONVNET = networks.spec("convnet", width=32, norm="instance")
UPRIGHT, ALL = "color_crop_cutout_scale_rotate", "color_crop_cutout_flip_scale_rotate"
POINTS = {
    "siamese": 35, "siamese_one_sided": 10, "matching_networks": 35, "matching_transfer": 12, "matching_transfer_large": 21,
    "matching_labels": 30, "matching_continual": 20, "matching_cifar10": 18, "matching_mnist_paper": 18, "matching_cifar10_paper": 18,
}  # fmt: skip


def accuracy(made: Any, data: Any, *, seed: int, epochs: int = 2, **changes: Any) -> float:
    """Of one student of the lesson."""
    config = supervised.Config.for_data(data, **{"network": CONVNET, "mixup_alpha": 0.0, "epochs": epochs} | changes)
    return ddlab.evaluate(made, data, labels="hard", seeds=(seed,), config=config, device="cpu").mean


@pytest.mark.parametrize("name", POINTS)
def test_seeds_of_each_kind_are_paired(name: str) -> None:
    """Every kind of point has the seeds 0, 1, ...: five, ten, or three where a run is long."""
    kinds: dict[tuple, set[int]] = {}
    for point in SWEEPS[name].settings:
        kinds.setdefault(tuple(value for column, value in point.items() if column != "seed"), set()).add(point["seed"])
    assert len(SWEEPS[name].settings) == POINTS[name] == sum(map(len, kinds.values()))
    assert all(seeds == set(range(len(seeds))) and len(seeds) in (3, 5, 10) for seeds in kinds.values())


@pytest.mark.parametrize("data", ["digits", "shapes"])
def test_dsa_has_the_updates_of_dc(data: str) -> None:
    def config(rule: str, place: Place = Place(), **more: Any) -> Any:  # noqa: B008
        module, found = sets.process_of({"data": data, "rule": rule, "seed": 3, **more}, place)
        assert isinstance(found, module.Config)
        return found

    long = {"digits": {"networks": 100}, "shapes": {"networks": 15, "outer_steps": 10, "inner_epochs": 10}}[data]
    shared: dict[str, Any] = {
        "images_per_class": 1 if data == "digits" else 10, "seed": 3, "network": CONVNET, "batch_size": 64,
        "initialisation": "real", **long,
    }  # fmt: skip
    assert config("DC") == dc.Config(**shared)
    strategy = UPRIGHT if data == "digits" else ALL
    assert config("DSA", views="learned") == dsa.Config(**shared, strategy=strategy, views="learned")
    assert config("DSA", SMOKE, views="real") == dsa.Config(
        **shared | {"networks": 1, "outer_steps": 1, "inner_epochs": None}, strategy=strategy, views="real"
    )


def test_a_set_is_kept_beside_the_folder_of_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = {"data": "digits", "rule": "DSA", "views": "independent", "seed": 1}
    found = [sets.kept_set(point, Place(folder=tmp_path / name, smoke=True)) for name in ("siamese", "labels")]
    assert len(list((tmp_path / "matching-sets" / "made").iterdir())) == 1
    assert all(torch.equal(one.images, sets.kept_set(point, SMOKE).images) for one in found)


def test_students_see_the_views_of_dsa() -> None:
    digits = ddlab.data.load("digits")
    point = {"data": "digits", "rule": "DSA", "views": "shared", "seed": 2}
    made = sets.kept_set(point, SMOKE)
    wanted = {"plain": accuracy(made, digits, seed=2), "viewed": accuracy(made, digits, seed=2, strategy=UPRIGHT)}
    assert records.run_point("siamese", point, SMOKE) == wanted and wanted["plain"] != wanted["viewed"]


def test_networks_differ_in_one_option_and_students_are_the_same() -> None:
    options = [
        {name: point[name] for name in across_networks.DEFAULT} for point in SWEEPS["matching_networks"].settings
    ]
    changes = [
        {name: value for name, value in each.items() if value != across_networks.DEFAULT[name]} for each in options
    ]
    assert max(map(len, changes)) == 1 and networks.spec("convnet", width=32, **across_networks.DEFAULT) == CONVNET
    point = {"norm": "batch", "pooling": "average", "activation": "relu", "seed": 1}
    digits, spec = ddlab.data.load("digits"), networks.spec("convnet", width=32, norm="batch")
    few: dict[str, Any] = {"networks": 1, "outer_steps": 1, "initialisation": "real", "seed": 1}
    chosen = selection.Config(images_per_class=1, seed=1)
    made = {
        "learned": ddlab.distill("dc", digits, config=dc.Config(network=spec, **few), device="cpu", progress=False),
        "real": ddlab.distill("selection", digits, config=chosen, device="cpu", progress=False),
    }
    found = records.run_point("matching_networks", point, SMOKE)
    assert found == {name: accuracy(each, digits, seed=1, network=spec) for name, each in made.items()}


def test_a_row_of_the_matrix() -> None:
    digits, point = ddlab.data.load("digits"), {"source": "mlp", "seed": 2}
    found = across_networks.transferred(point, SMOKE, students=("lenet", "convnet"), epochs=60)
    few: dict[str, Any] = {"networks": 1, "outer_steps": 1, "initialisation": "real", "seed": 2}
    config = dc.Config(network=networks.spec("mlp"), **few)
    made = ddlab.distill("dc", digits, config=config, device="cpu", progress=False)
    students = {"lenet": networks.spec("lenet"), "convnet": CONVNET}
    assert found == {name: accuracy(made, digits, seed=2, epochs=1, network=spec) for name, spec in students.items()}


def test_a_teachers_labels_and_tasks() -> None:
    images, world = ddlab.data.load("shapes", size=16), other_uses.with_a_teacher(SMOKE)
    made = sets.kept_set({"data": "shapes", "rule": "DC", "seed": 1}, SMOKE)
    teacher = world.teacher(SMOKE)
    options: dict[str, Any] = {"seeds": (1,), "config": world.student, "device": "cpu"}
    online = ddlab.evaluate(made, images, labels="online", teacher=teacher, **options).mean
    hard = accuracy(made, images, seed=1)
    assert other_uses.labelled({"rule": "DC", "seed": 1}, SMOKE) == {"hard": hard, "online": online}
    tasks = other_uses.remembered({"rule": "DC", "seed": 1}, SMOKE)
    assert list(tasks) == [f"hard_{seen}" for seen in (2, 4, 6, 8, 10)] and tasks["hard_10"] == hard


def test_cifar10_and_the_published_settings(tmp_path: Path) -> None:
    place = Place(data=pictures(tmp_path, 16, 3), smoke=True)
    for name in ("matching_cifar10", "matching_mnist_paper", "matching_cifar10_paper"):
        for point in SWEEPS[name].settings:
            if point["seed"] == 0:
                assert 0 <= records.run_point(name, point, place)["hard"] <= 1


def rows(name: str, column: str, **wanted: Any) -> dict[int, float]:
    """seed -> value; nothing where the record is not made yet."""
    table: tuple[dict[str, Any], ...] = records.load(name).rows if name in records.names() else ()
    return {row["seed"]: row[column] for row in table if all(row[key] == value for key, value in wanted.items())}


@pytest.mark.parametrize(
    ("name", "column", "own"),
    [("siamese", "plain", {"data": "shapes"}), ("matching_labels", "hard", {}), ("matching_continual", "hard_10", {})],
)
@pytest.mark.parametrize("rule", ["random", "herding", "centres", "DM", "DC"])
def test_records_agree_on_the_same_sets_and_students(name: str, column: str, own: dict, rule: str) -> None:
    known = rows("matching", "hard", data="shapes", rule=rule)
    found = rows(name, column, rule=rule, **own)
    assert found == {seed: known[seed] for seed in found}


def test_a_cheap_part_of_the_records_computed_again() -> None:
    """Another machine rounds otherwise: within .05."""
    digits = ddlab.data.load("digits")
    made = across_networks.real({"seed": 0}, Place())
    for name, column, wanted, again in (
        ("matching_networks", "real", across_networks.DEFAULT, accuracy(made, digits, seed=0, epochs=100)),
        ("matching_transfer", "convnet", {"source": across_networks.REAL}, accuracy(made, digits, seed=0, epochs=60)),
    ):
        assert rows(name, column, **wanted)[0] == pytest.approx(again, abs=0.05), name
