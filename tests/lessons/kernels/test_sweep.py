"""The sweeps of lesson 50: their points, and what a point measures, written out through the public front."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

import ddlab
from ddlab import evaluation, networks, records
from ddlab.lessons.kernels import sweep
from ddlab.methods import kip, ls, selection
from ddlab.methods.kernels import KernelSpec
from ddlab.records import SWEEPS, Place
from ddlab.training import supervised

pytestmark = pytest.mark.slow  # the register: it goes

SMOKE = Place(smoke=True)
SIX = ("fc1", "fc2", "fc3", "conv1", "conv2", "conv3")
LEARNED: dict[str, dict[str, Any]] = {
    "KIP": {},
    "KIP, labels": {"learn_labels": True},
    "KIP, noise": {"corruption": 0.9},
    "KIP, zeros": {"corruption": 0.9, "corrupted_by": "zeros"},
    "KIP, 30 targets": {"batch_size": 30},
}


def accuracy(images: Any, data: Any, labels: Any, kernel: str = "fc1") -> float:
    return evaluation.kernel_accuracy(images, data, labels=labels, kernel=KernelSpec(kernel=kernel))


def test_each_point_is_there_once_and_the_grids_are_whole() -> None:
    for name, grid in {
        "kernel_learned_by": itertools.product((*SIX, "random"), range(5)),
        "kernel_solved_by": itertools.product(("digits", "shapes"), ("rbf", "fc1", "fc3", "conv1", "true"), range(5)),
    }.items():
        assert {tuple(point.values()) for point in SWEEPS[name].settings} == set(grid), name
    points = {tuple(point.values()) for point in SWEEPS["kernel_points"].settings}
    counts = dict.fromkeys(itertools.product(("digits", "shapes"), (1, 10, 100)), 0)
    for name, _, count, seed in points:
        assert seed in range(10)
        counts[name, count] += 1
    assert counts == {key: {1: 100, 10: 70, 100: 10}[key[1]] for key in counts}
    taught = {(point["data"], point["images_per_class"]) for point in SWEEPS["kernel_students"].settings}
    assert taught == {("digits", 1), ("shapes", 10)} and len(SWEEPS["kernel_students"].settings) == 30


@pytest.mark.parametrize("rule", LEARNED)
def test_learned_points_are_those_of_distill(rule: str) -> None:
    digits = ddlab.data.load("digits")
    settings: dict[str, Any] = {"iterations": 2, "batch_size": 1000, "seed": 3} | LEARNED[rule]
    config = kip.Config(**settings)
    wanted = ddlab.distill("kip", digits, config=config, device="cpu", progress=False)
    point = {"data": "digits", "rule": rule, "images_per_class": 1, "seed": 3}
    assert torch.equal(sweep.made(point, SMOKE).images, wanted.images)
    assert records.run_point("kernel_points", point, SMOKE) == {"accuracy": accuracy(wanted, digits, "regression")}


def test_whole_points_are_as_long_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(sweep.cache, "run", lambda process, config, inputs: asked.append(config))
    monkeypatch.setattr(sweep, "regressed", lambda *given: {})
    sweep.made({"data": "digits", "rule": "KIP", "images_per_class": 10, "seed": 1}, Place())
    sweep.learned_by({"learned_by": "random", "seed": 1}, Place())
    assert asked == [
        kip.Config(images_per_class=10, iterations=300, batch_size=1000, seed=1),
        kip.Config(kernel="random", iterations=200, batch_size=100, precision="float32", seed=1),
    ]


def test_a_student_learns_the_class_numbers() -> None:
    point = {"data": "digits", "rule": "random", "images_per_class": 1, "seed": 2}
    digits = ddlab.data.load("digits")
    chosen = ddlab.distill("selection", digits, config=selection.Config(images_per_class=1, seed=2), progress=False)
    network = networks.spec("convnet", width=32, norm="instance")
    config = supervised.Config.for_data(digits, network=network, mixup_alpha=0.0, epochs=2)
    found = ddlab.evaluate(chosen, digits, labels="hard", seeds=(2,), config=config, device="cpu")
    assert records.run_point("kernel_students", point, SMOKE) == {"hard": found.mean}
    assert records.run_point("kernel_points", point, SMOKE) == {"accuracy": accuracy(chosen, digits, "hard")}


@pytest.mark.parametrize("name", sweep.DATA)
def test_foreign_images_are_real_ones_of_the_other_dataset(name: str) -> None:
    point = {"data": name, "rule": "LS, foreign", "images_per_class": 10, "seed": 4}
    other = sweep.loaded("shapes" if name == "digits" else "digits", SMOKE)
    config = selection.Config(images_per_class=10, seed=4)
    real = ddlab.distill("selection", other, config=config, device="cpu", progress=False).images
    wanted = real.mean(1, keepdim=True) if name == "digits" else real.expand(-1, 3, -1, -1)
    assert torch.equal(sweep.made(point, SMOKE).images, wanted)


def test_kernels_are_those_of_the_columns() -> None:
    """Ten digits in every kernel; labels solved by one and used by another, on the images that have the true labels beside."""
    digits = ddlab.data.load("digits")
    config = kip.Config(kernel="conv1", iterations=2, batch_size=100, precision="float32", seed=1)
    learned = ddlab.distill("kip", digits, config=config, device="cpu", progress=False)
    found = records.run_point("kernel_learned_by", {"learned_by": "conv1", "seed": 1}, SMOKE)
    assert list(found) == [*SIX, "rbf"] and found["fc2"] == accuracy(learned, digits, "regression", "fc2")
    config = ls.Config(kernel="rbf", images_per_class=10, seed=1)
    solved = ddlab.distill("ls", digits, config=config, device="cpu", progress=False)
    found = {name: sweep.solved_by({"data": "digits", "solved_by": name, "seed": 1}, SMOKE) for name in ("rbf", "true")}
    assert found["rbf"]["fc3"] == accuracy(solved, digits, "regression", "fc3")
    assert found["true"]["rbf"] == accuracy(solved, digits, "hard", "rbf")


def test_acceptance_runs_and_begins_with_natural_images() -> None:
    place = Place(smoke=True, data="shapes")
    found = records.run_point("kernel_cifar10", {"images_per_class": 10, "seed": 0}, place)
    images = sweep.loaded_images("shapes", "cifar10", smoke=True)
    natural = ddlab.distill("selection", images, config=selection.Config(images_per_class=10), progress=False)
    assert found["natural"] == pytest.approx(accuracy(natural, images, "hard"))
    assert found["learned"] != found["natural"]
