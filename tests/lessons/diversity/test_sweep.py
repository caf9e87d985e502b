"""The points of lesson 21's sweeps are those of the paper's figures and tables, and what they measure is what it is called."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ddlab
from ddlab import networks, records
from ddlab.evaluation import across, class_incremental, evaluate, measures
from ddlab.lessons.diversity import sweep
from ddlab.methods import dwa, selection, sre2l
from ddlab.records import SWEEPS, Place, setting
from ddlab.records.setting import DWA, RANDOM, SRE2L
from ddlab.training import supervised
from tests.support import refuses

pytestmark = pytest.mark.slow  # the register: it goes

SMOKE = Place(smoke=True)


def test_points_of_figure_3() -> None:
    points = sweep.variance_sweep()
    assert len(points) == 2 * 2 * 6 * 5
    for point in points:
        assert point["lambda_mean"] == (point["lambda_var"] if point["weights"] == "coupled" else 0.01)
        assert point["initialisation"] == {SRE2L: "noise", DWA: "real"}[point["method"]]
        assert point["perturbation"] == {SRE2L: None, DWA: "directed"}[point["method"]]
    assert {point["lambda_var"] for point in points} == {0.01, 0.05, 0.11, 0.17, 0.23, 1.0}


def test_points_of_figure_5() -> None:
    points = sweep.adjustment_grid()
    count = Counter((point["perturbation"], point["adjustment_steps"], point["adjustment_radius"]) for point in points)
    grid = {("directed", k, rho) for k in (1, 4, 12, 24) for rho in (0.005, 0.015, 0.05, 0.15, 0.5)}
    assert count == dict.fromkeys({*grid, ("none", None, None)}, 5)
    assert {(point["lambda_mean"], point["lambda_var"]) for point in points} == {(0.01, 0.11)}


def test_points_of_table_3() -> None:
    count = Counter(
        (point["method"], point["perturbation"], point["images_per_class"]) for point in sweep.perturbation_kinds()
    )
    kinds = [(RANDOM, None), (SRE2L, None), *((DWA, kind) for kind in ("none", "random", "directed"))]
    assert count == {(*kind, size): seeds for kind in kinds for size, seeds in ((1, 10), (10, 10), (50, 5))}


def test_points_on_cifar10_and_of_the_other_tables() -> None:
    small, paper = sweep.cifar10_small(), sweep.cifar10_paper()
    assert len(small) == 7 * 5 and len(paper) == 2 * 7 * 3
    parts = {(p["lambda_mean"], p["lambda_var"], p["perturbation"]) for p in small if p["method"] == DWA}
    assert parts == {
        (0.01, 0.01, "none"),
        (0.11, 0.11, "none"),
        *((0.01, 0.11, k) for k in ("none", "random", "directed")),
    }
    assert len(sweep.architectures()) == 3 * 3 * 5 and len(sweep.continual()) == 3 * 5


def built(point: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Images of a point through `distill`, with all that the point says written out; with data and teacher."""
    images = ddlab.data.load("shapes", size=16, train=500, test=20)
    network = networks.spec("convnet", width=4)
    teaching = supervised.Config.for_data(images, "teacher", network=network, epochs=2)
    teacher = ddlab.train_teacher(images, teaching, progress=False)
    config: Any = selection.Config(images_per_class=2, seed=3)
    if point["method"] == SRE2L:
        config = sre2l.Config(
            images_per_class=2,
            seed=3,
            iterations=2,
            roll_pixels=2,
            initialisation="noise",
            lambda_mean=0.01,
            lambda_var=0.01,
        )
    if point["method"] == DWA:
        config = dwa.Config(
            images_per_class=2, seed=3, iterations=2, roll_pixels=2, initialisation="real", lambda_mean=0.01, lambda_var=0.3,
            perturbation="directed", adjustment_steps=2, adjustment_radius=0.5,
        )  # fmt: skip
    name = {RANDOM: "selection", SRE2L: "sre2l", DWA: "dwa"}[point["method"]]
    return ddlab.distill(name, images, teacher, config, progress=False), images, teacher


def a_point(method: str) -> dict[str, Any]:
    own = {"lambda_var": 0.3, "adjustment_steps": 2, "adjustment_radius": 0.5} if method == DWA else {}
    return sweep.point(method, images_per_class=2, seed=3, **own)


def naive_coverage(real: torch.Tensor, points: torch.Tensor) -> float:
    real_rows, rows = real.double().numpy(), points.double().numpy()
    found = 0
    for i, one in enumerate(real_rows):
        others = sorted(np.linalg.norm(one - other) for j, other in enumerate(real_rows) if j != i)
        found += min(np.linalg.norm(one - row) for row in rows) <= others[4]
    return found / len(real_rows)


@pytest.mark.parametrize("method", [RANDOM, SRE2L, DWA])
def test_what_a_point_measures(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point, asked = a_point(method), []

    def spied(made: Any, images: Any, **options: Any) -> Any:
        asked.append((options["labels"], options["seeds"]))
        return evaluate(made, images, **options)

    monkeypatch.setattr(setting, "evaluate", spied)
    found = sweep.measured(point, SMOKE, scale="shapes")
    # Students of a smoke run guess, so that their accuracy does not show the seed.
    assert asked == [("hard", (3,)), ("online", (3,))]
    made, images, teacher = built(point)
    student = supervised.Config.for_data(images, network=networks.spec("convnet", width=4), epochs=2)
    for labels in ("hard", "online"):
        tested = evaluate(made, images, labels=labels, teacher=teacher, config=student, seeds=(3,))
        assert found[labels] == tested.per_seed[3]
    assert found["distance"] == pytest.approx(float(measures.feature_distance(made, teacher).mean()), rel=1e-5)
    order = torch.randperm(500, generator=ddlab.core.randomness.generator(0, 0, "real images of a record"))
    real = networks.predict(teacher, images.normalised(order[:300])).features
    expected = naive_coverage(real.flatten(1), networks.predict(teacher, made.images).features.flatten(1))
    assert found["coverage"] == pytest.approx(expected, abs=1.5 / 300)


def test_a_point_is_repeated_by_its_name() -> None:
    point = SWEEPS["adjustment_grid"].settings[0]
    assert records.run_point("adjustment_grid", point, SMOKE) == sweep.measured(point, SMOKE, scale="shapes")
    with refuses("name", "adjustment_grid"):
        records.run_point("adjustment_gird", point, SMOKE)
    with refuses("point"):
        records.run_point("variance_sweep", point, SMOKE)
    with refuses("method"):
        records.run_point("adjustment_grid", {**point, "method": "magic"}, SMOKE)


def test_the_other_tables_measure_what_evaluation_gives() -> None:
    point = sweep.point(DWA, images_per_class=2, seed=1)
    world = setting.setting("shapes", SMOKE)
    made, teacher = world.distilled(point, SMOKE), world.teacher(SMOKE)
    found = sweep.in_tasks(point, SMOKE)
    assert list(found) == [f"{labels}_{seen}" for labels in ("hard", "online") for seen in (2, 4, 6, 8, 10)]
    run = class_incremental(made, world.data, labels="online", teacher=teacher, seeds=(1,), config=world.student)
    assert [found[f"online_{seen}"] for seen in (2, 4, 6, 8, 10)] == run.accuracies
    config = world.student.replace(epochs=1, batch_size=25)
    for family in ("convnet", "shufflenet_v2_x0_5"):
        spec = world.student.network if family == "convnet" else networks.spec(family)
        expected = across(
            made, world.data, networks=[spec], labels="online", teacher=teacher, seeds=(1,), config=config
        )
        assert sweep.across_architectures({"architecture": family, **point}, SMOKE) == {
            "online": expected.evaluations[spec.title].mean
        }


def test_teacher_and_images_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ddlab.runs.cache.clear()
    place = Place(folder=tmp_path, smoke=True)
    point = a_point(SRE2L)
    first = sweep.measured(point, place, scale="shapes")
    assert sorted(file.name.partition("-")[0] for file in (tmp_path / "made").glob("*.safetensors")) == [
        "squeeze_recover_relabel",
        "training",
    ]
    ddlab.runs.cache.clear()
    monkeypatch.setattr(sre2l, "update", None)
    monkeypatch.setattr(setting.cache.driver, "start", lambda process, *rest: pytest.fail(f"{process.NAME} ran again"))
    world = setting.setting("shapes", place)
    assert torch.equal(world.distilled(point, place).images, world.distilled(point, place).images)
    assert world.teacher(place).fingerprint == world.inputs(place).teachers[0].fingerprint
    assert first["distance"] > 0


def test_a_long_run_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ddlab.runs.cache.clear()
    place, point = Place(folder=tmp_path, smoke=True), a_point(SRE2L)
    world = dataclasses.replace(setting.setting("shapes", place), long=True)
    world.teacher(place)
    update, steps = sre2l.update, []

    def stopped(config: Any, inputs: Any, state: Any) -> Any:
        steps.append(state.step)
        if steps == [0, 1, 2]:
            raise KeyboardInterrupt
        return update(config, inputs, state)

    monkeypatch.setattr(sre2l, "update", stopped)
    with pytest.raises(KeyboardInterrupt):
        world.distilled(point, place)
    assert len(list((tmp_path / "made").glob("*.checkpoint"))) == 1
    resumed = world.distilled(point, place)
    assert steps == [0, 1, 2, 2, 3] and not list((tmp_path / "made").glob("*.checkpoint"))
    assert torch.equal(resumed.images, setting.setting("shapes", SMOKE).distilled(point, SMOKE).images)


def test_an_interrupted_run_is_no_point() -> None:
    made, *_ = built(a_point(RANDOM))
    assert setting.whole(made) is made
    with pytest.raises(KeyboardInterrupt):
        setting.whole(dataclasses.replace(made, complete=False))
