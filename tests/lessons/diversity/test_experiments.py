"""Lesson 21: its experiments at a small scale, its figures and tables, its exercises."""

from __future__ import annotations

import copy
import re
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import ddlab
from ddlab import methods, networks, records
from ddlab.lessons.diversity import charts as views
from ddlab.lessons.diversity import experiments as diversity
from ddlab.methods import dwa

pytestmark = pytest.mark.usefixtures("quick_recovery")


def test_the_push_of_equation_12_is_measured_on_batch_and_rest(small: Any) -> None:
    data, teacher = small
    batch = diversity.one_batch(data, 3)
    assert data.train_labels[batch].tolist() == [0, 1, 2] and not torch.equal(batch, diversity.one_batch(data, 4))
    change = diversity.rest_change(data, teacher, seed=3, radius=0.1)
    images, labels = data.normalised(batch), data.train_labels[batch]
    before = torch.nn.functional.cross_entropy(networks.predict(teacher, images).logits, labels)
    assert change.batch_before == pytest.approx(float(before), rel=1e-5) and change.batch_after > change.batch_before
    assert (change.batch_images, change.rest_images) == (3, 33)
    found = dwa.directed_adjustment(teacher, images, labels, steps=12, radius=0.1)
    weights = teacher.weights | {name: teacher.weights[name] + change for name, change in found.weights.items()}
    moved = torch.nn.functional.cross_entropy(networks.call(teacher.spec, weights, images)[0].logits, labels)
    assert change.batch_after == pytest.approx(float(moved), rel=1e-5)
    part = diversity.rest_change(data, teacher, seed=3, radius=0.1, only=["classifier.bias"])
    assert change.batch_before == part.batch_before != part.batch_after != change.batch_after


def test_the_overhead_is_a_share_of_the_updates(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data, teacher = small
    clock = iter([0.0, 5.0, 6.0, 26.0])  # adjusted start 5 s, plain start 1 s, 100 updates 20 s
    monkeypatch.setattr(diversity.time, "process_time", lambda: next(clock))
    assert diversity.overhead(data, teacher, repeats=1) == [pytest.approx((5 - 1) / (20 * 10))]


def test_figures_and_tables_show_the_records() -> None:
    kinds = records.load("perturbation_kinds").where(images_per_class=10)
    shown = views.comparison(kinds, "online", title="Title")
    mean = fmean(kinds.values("online", method="DWA", perturbation="directed"))
    assert any(
        value == pytest.approx(mean) for trace in shown.data for value in (trace.y if trace.y is not None else ())
    )
    for method in ("SRe2L", "DWA"):
        names = {trace.name for trace in views.sweep(records.load("variance_sweep"), method).data}
        assert {"coupled", "decoupled"} <= names
    assert "no adjustment" in views.grid(records.load("adjustment_grid")).layout.title.text
    for table, columns in (
        (views.architectures_table(records.load("architectures")), ("convnet", "resnet18", "vgg11")),
        (views.continual_table(records.load("continual")), ("2", "4", "6", "8", "10")),
    ):
        head, _, *rows = table.splitlines()
        assert all(f" {name} " in head for name in columns)
        assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == ["random real images", "SRe2L", "DWA"]


def test_the_parts_of_dwa_on_cifar10_have_a_row_each() -> None:
    cifar = records.load("cifar10_small")
    _, _, *rows = views.parts_table(cifar).splitlines()
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [
        "random real images", "SRe2L, from noise", "real start, both weights 0.01, no push", "real start, both weights 0.11, no push",
        "real start, λ_var 0.11 alone, no push", "real start, λ_var 0.11 alone, random push", "real start, λ_var 0.11 alone, DWA's push",
    ]  # fmt: skip
    mean = fmean(cifar.values("online", method="SRe2L"))
    assert f"**{mean:.2f}**" in rows[1].split(" | ")[2]
    for row in rows:  # a distance may be above 1, and every mean lies in its interval
        for cell in row.split(" | ")[1:]:
            middle, low, high = (float(number) for number in re.findall(r"\d\.\d\d", cell))
            assert low <= middle <= high, cell


def test_images_of_a_vit_have_a_row_each() -> None:
    """The table of parts shows them, too."""
    images = records.load("batch_norm_vit")
    _, _, *rows = views.parts_table(images).splitlines()
    names = ["random real images", "SRe2L, from noise", "real start, λ_var 0.11 alone, DWA's push"]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == names
    assert f"**{fmean(images.values('online', method='DWA')):.2f}**" in rows[2].split(" | ")[2]


def test_a_point_of_the_record_that_is_far_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = records.load("variance_sweep")
    known = {row["seed"]: row for row in sweep.where(method="DWA", weights="decoupled", lambda_var=0.11).rows}
    monkeypatch.setattr(records, "run_point", lambda _name, point: known[point["seed"]])
    assert views.repeated(sweep, seeds=(0, 1)).count("recorded") == 8
    monkeypatch.setattr(records, "run_point", lambda _name, _point: {**known[0], "distance": 1.5})
    with pytest.raises(AssertionError, match="distance of seed 0"):
        views.repeated(sweep, seeds=(0,))


def test_the_map_holds_the_real_images_and_every_set(small: Any) -> None:
    data, teacher = small
    made = {}
    for name, module in {"SRe2L": methods.get("sre2l"), "DWA": methods.get("dwa")}.items():
        config = module.Config(images_per_class=10, iterations=2, roll_pixels=2)
        made[name] = ddlab.distill(module, data, teacher, config, progress=False)
    found = views.on_one_map(data, teacher, made)
    assert len(found["real"]) == len(data.train_labels) == len(found["real_classes"])
    assert {name: len(at) for name, at in found["sets"].items()} == {"SRe2L": 30, "DWA": 30}


def pushed(network: Any, draw: Any, radius: float, only: str = "") -> Any:
    made = copy.deepcopy(network).requires_grad_(False)
    chosen = [(weight, draw(weight.shape)) for name, weight in made.named_parameters() if name.startswith(only)]
    length = torch.stack([direction.norm() for _, direction in chosen]).norm()
    for weight, direction in chosen:
        weight += radius * direction / length
    return made


def moved_itself(network: Any) -> Any:
    with torch.no_grad():
        next(network.parameters()).add_(0.1)
    return copy.deepcopy(network)


def test_the_last_exercise_makes_the_images_and_measures_them(small: Any, capsys: Any, monkeypatch: Any) -> None:
    data, teacher = small
    lesson, usual = ddlab.start("21_diversity"), dwa.Config.teaching(images_per_class=2, iterations=2)
    distances = {usual.lambda_var: 1.0, 1.0: 1.06, 0.0: 0.9, 0.12: 1.04, 5.0: 1.3}
    shares = {usual.lambda_var: 0.5, 1.0: 0.38, 0.0: 0.5, 0.12: 0.5, 5.0: 0.37}
    runs: list[float] = []

    def run(_process: Any, config: Any, _inputs: Any) -> Any:
        runs.append(config.lambda_var)
        return SimpleNamespace(images=config.lambda_var)

    monkeypatch.setattr(diversity.cache, "run", run)
    monkeypatch.setattr(diversity.measures, "feature_distance", lambda made, _: torch.tensor([distances[made.images]]))
    monkeypatch.setattr(diversity, "coverage", lambda _data, _teacher, images: shares[images])
    assert lesson.check("wide", (data, teacher, usual, usual.replace(lambda_var=1.0))) and runs == [
        usual.lambda_var,
        1.0,
    ]
    for weight, why in ((0.0, "less than 5%"), (0.12, "less than 5%"), (5.0, "away from the real ones")):
        assert not lesson.check("wide", (data, teacher, usual, usual.replace(lambda_var=weight)))
        assert why in capsys.readouterr().out
    for wrong in (None, usual, (data, teacher, usual, usual), (data, teacher, usual, usual.replace(lambda_mean=1.0))):
        assert not lesson.check("wide", wrong)


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start("21_diversity")
    answers: dict[str, tuple[list[Any], list[Any]]] = {
        "spread": (
            [lambda f: (f[:, None] - f[None]).square().sum(), lambda f: 2 * len(f) * (f - f.mean(0)).square().sum()],
            [None, lambda f: f, lambda f: f.sum(), lambda f: torch.pdist(f).square().sum(), lambda f: torch.cdist(f, f).sum(),
             lambda f: f.missing],
        ),
        "random push": (
            [lambda n, x, y, k, rho: pushed(n, torch.randn, rho)],
            [None, lambda n, x, y, k, rho: n, lambda n, x, y, k, rho: pushed(n, torch.ones, rho), lambda n: n,
             lambda n, x, y, k, rho: pushed(n, torch.randn, 2 * rho), lambda n, x, y, k, rho: moved_itself(n),
             lambda n, x, y, k, rho: pushed(n, torch.randn, rho, only="classifier")],
        ),
    }  # fmt: skip
    assert {*answers, "wide"} == set(diversity.CHECKS)
    for exercise, (right, wrong) in answers.items():
        assert all(lesson.check(exercise, answer) for answer in right)
        capsys.readouterr()
        said = []
        for answer in wrong:
            assert not lesson.check(exercise, answer)
            said.append(capsys.readouterr().out)
        assert all(hint.startswith("Not yet: ") for hint in said) and len(set(said)) == len(wrong), said
