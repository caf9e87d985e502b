"""Lesson 21: its experiments at a small scale, its figures and tables, its exercises."""

from __future__ import annotations

import dataclasses
import re
from statistics import fmean
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks, records
from ddlab.lessons.diversity import charts as views
from ddlab.lessons.diversity import experiments as diversity
from ddlab.methods import dwa

pytestmark = pytest.mark.usefixtures("quick_recovery")


def test_five_ways_to_make_as_many_images(small: Any) -> None:
    data, teacher = small
    one, same, other = (diversity.five_sets(data, teacher, images_per_class=2, seed=seed) for seed in (1, 1, 2))
    assert tuple(one) == diversity.METHODS and {len(made) for made in one.values()} == {2 * data.classes}
    for name, made in one.items():
        assert torch.equal(made.images, same[name].images) and not torch.equal(made.images, other[name].images)
    kinds = {name: made.provenance["config"].get("perturbation") for name, made in one.items()}
    assert kinds == dict(zip(diversity.METHODS, (None, None, "none", "random", "directed"), strict=True))


def test_an_interrupt_is_not_taken_for_a_whole_set(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data, teacher = small
    whole = diversity.five_sets(data, teacher, images_per_class=1, seed=0)["SRe2L"]
    partial = dataclasses.replace(whole, complete=False)
    monkeypatch.setattr(diversity.cache, "run", lambda *_arguments, **_options: partial)
    with pytest.raises(KeyboardInterrupt):
        diversity.five_sets(data, teacher, images_per_class=1, seed=0)


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
    moved = diversity.batch_loss(teacher, {n: teacher.weights[n] + c for n, c in found.weights.items()}, images, labels)
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
    made = diversity.five_sets(data, teacher, images_per_class=30 // data.classes, seed=0)
    found = views.on_one_map(data, teacher, {name: made[name] for name in ("SRe2L", "DWA")})
    assert len(found["real"]) == len(data.train_labels) == len(found["real_classes"])
    assert {name: len(at) for name, at in found["sets"].items()} == {"SRe2L": 30, "DWA": 30}


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start("21_diversity")
    usual = diversity.config_of(diversity.DIRECTED, images_per_class=3, seed=0, iterations=100)[1]
    answers: dict[str, tuple[list[Any], list[Any]]] = {
        "spread": (
            [lambda f: (f[:, None] - f[None]).square().sum(), lambda f: 2 * len(f) * (f - f.mean(0)).square().sum()],
            [None, lambda f: f, lambda f: f.sum(), lambda f: torch.pdist(f).square().sum(), lambda f: torch.cdist(f, f).sum(),
             lambda f: f.missing],
        ),
        "ascent": (
            [lambda w, g, k, rho: w + rho / k * g / g.norm()],
            [None, lambda w, g, k, rho: w - rho / k * g / g.norm(), lambda w, g, k, rho: w + rho / k * g,
             lambda w, g, k, rho: w + rho * g / g.norm(), lambda w, g, k, rho: w, lambda w, g, k, rho: w[0], lambda w: w],
        ),
        "wide": (
            [usual.replace(lambda_var=1.0), usual.replace(adjustment_radius=1.0)],
            [None, usual, usual.replace(lambda_var=1.0, lambda_mean=1.0)],
        ),
    }  # fmt: skip
    assert set(answers) == set(diversity.CHECKS)
    for exercise, (right, wrong) in answers.items():
        assert all(lesson.check(exercise, answer) for answer in right)
        capsys.readouterr()
        said = []
        for answer in wrong:
            assert not lesson.check(exercise, answer)
            said.append(capsys.readouterr().out)
        assert all(hint.startswith("Not yet: ") for hint in said) and len(set(said)) == len(wrong), said
