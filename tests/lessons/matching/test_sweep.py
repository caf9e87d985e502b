"""The sweep of lesson 05: its points, and what a point measures."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks, records
from ddlab.lessons.matching import sweep
from ddlab.methods import dc, dm, selection
from ddlab.records import SWEEPS, Place
from ddlab.training import supervised

pytestmark = pytest.mark.slow  # the register: it goes

SMOKE = Place(smoke=True)
SMALL: dict[str, Any] = {"network": networks.spec("convnet", width=32, norm="instance"), "initialisation": "real"}
DIGITS = {"DM": {"iterations": 200}, "DC": {"networks": 100}}
SHAPES = {"DM": {"iterations": 300}, "DC": {"networks": 15, "outer_steps": 10, "inner_epochs": 10}}


def test_each_point_is_there_once_and_the_grid_is_whole() -> None:
    points = SWEEPS["matching"].settings
    rules = ("random", "herding", "k_center", "forgetting", "k_means", "centres", "DM", "DC")
    grid = {*itertools.product(("digits", "shapes"), rules, range(10))}
    assert all(list(point) == ["data", "rule", "seed"] for point in points)
    assert len(points) == len(grid) == 160 and {tuple(point.values()) for point in points} == grid


@pytest.mark.parametrize("rule", sweep.RULES)
def test_a_point_is_what_its_rule_makes_and_what_evaluate_says_of_it(rule: str) -> None:
    """One digit per class, written out through `distill`; the seed is that of the draws and of the student."""
    point = {"data": "digits", "rule": rule, "seed": 2}
    digits = ddlab.data.load("digits")
    few: dict[str, Any] = {"images_per_class": 1, "seed": 2}
    config: Any = {
        "DM": lambda: dm.Config(**SMALL, **few, iterations=2, batch_size=64, strategy=""),
        "DC": lambda: dc.Config(**SMALL, **few, networks=1, outer_steps=1, batch_size=64),
    }.get(rule, lambda: selection.Config(kind=rule, **few))()
    made = sweep.made(point, SMOKE)
    wanted = ddlab.distill(
        type(config).__module__.rpartition(".")[2], digits, config=config, device="cpu", progress=False
    )
    assert torch.equal(made.images, wanted.images) and made.labels.tolist() == list(range(10))
    student = supervised.Config.for_data(digits, network=SMALL["network"], mixup_alpha=0.0, epochs=2)
    found = ddlab.evaluate(wanted, digits, labels="hard", seeds=(2,), config=student, device="cpu")
    assert records.run_point("matching", point, SMOKE) == {"hard": found.mean}


def test_ten_shapes_per_class() -> None:
    made = sweep.made({"data": "shapes", "rule": "herding", "seed": 0}, SMOKE)
    assert made.images.shape[2:] == (16, 16) and torch.bincount(made.labels).tolist() == [10] * 10
    assert len(sweep.loaded("shapes").train_labels) == 5000


@pytest.mark.parametrize(("data", "lengths"), [("digits", DIGITS), ("shapes", SHAPES)])
@pytest.mark.parametrize("rule", ["DM", "DC"])
def test_what_is_not_a_smoke_run_is_as_long_as_declared(
    data: str, rule: str, lengths: dict[str, dict[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(sweep.cache, "run", lambda process, config, inputs: asked.append((process, config)))
    sweep.made({"data": data, "rule": rule, "seed": 1}, Place())
    ((process, config),) = asked
    plain = {"strategy": ""} if rule == "DM" else {}
    many = {"images_per_class": 1 if data == "digits" else 10, "seed": 1, "batch_size": 64}
    assert process is (dm if rule == "DM" else dc)
    assert config == process.Config(**SMALL, **many, **plain, **lengths[rule])
