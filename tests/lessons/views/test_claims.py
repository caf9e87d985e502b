"""Lesson 41: its effects against the records' rows and against brute force."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from ddlab import records
from ddlab.data import predefined_views
from ddlab.lessons.views import claims as views_claims
from ddlab.lessons.views import experiments, sweep
from ddlab.methods import boost, kernel_ridge
from tests.lessons.shared.unlabelled_rows import rows
from tests.support import assert_claims_are_measured

pytestmark = pytest.mark.slow  # the register: it goes

TIMED = ("B10 time",)
QUICK = ("B6 biased", "B6 draws")


def shifts(shift: str, hidden: int | None, which: str) -> dict[int, dict[str, Any]]:
    """The same of the record of shift models."""
    wanted = {"shift": shift, "hidden": hidden, "compared_on": which}
    table: tuple[dict[str, Any], ...] = records.load("shift_models").rows
    return {row["seed"]: row for row in table if all(row[name] == value for name, value in wanted.items())}


def mean_lead_elsewhere() -> list[float]:
    """Boost minus random images for each seed, mean over the other architectures, by brute force."""
    found: dict[tuple[Any, ...], float] = {}
    table: tuple[dict[str, Any], ...] = records.load("self_supervised_architectures").rows
    for row in table:
        found[row["architecture"], row["method"], row["seed"]] = row["source"]
    names = sorted({name for name, _, _ in found})
    assert names == ["AlexNet", "MobileNetV2", "ResNet-18", "VGG11", "ViT"]
    return [
        sum(found[name, "Boost", seed] - found[name, "real images", seed] for name in names) / 5 for seed in range(5)
    ]


def test_effects_are_paired_rows_of_the_records() -> None:
    effects = {name: found.values for name, found in views_claims.recorded_effects().items()}

    def lead(one: dict[int, Any], other: dict[int, Any], column: str = "source") -> list[float]:
        return [one[seed][column] - other[seed][column] for seed in range(5)]

    def least(*leads: list[float]) -> list[float]:
        return [min(seed) for seed in zip(*leads, strict=True)]

    def leads(method: str, **own: Any) -> list[float]:
        return least(*(lead(rows(budget=size), rows(method, size, **own)) for size in (10, 20, 40)))

    none, jigsaw, crop = (rows(augmentation=kind) for kind in ("none", "jigsaw", "crop"))
    one, bought = "one result", "what the budget buys"
    four = shifts("networks", 4, bought)
    wanted = {
        "B2 views": lead(rows(), none),
        "B3 bias": lead(shifts("same", None, one), shifts("bias", None, one), "error"),
        "B3 networks": lead(shifts("bias", None, one), shifts("networks", 4, one), "error"),
        "B3 width": lead(shifts("networks", 2, one), shifts("networks", 8, one), "error"),
        "B3 accuracy": lead(four, shifts("bias", None, bought)),
        "B3 budget": lead(four, shifts("networks", 8, bought)),
        "B4 any": least(lead(rows(), none), lead(jigsaw, none), lead(crop, none)),
        "B4 rotation": least(lead(rows(), jigsaw), lead(rows(), crop)),
        "B5 random": leads("real images"),
        "B5 k-means": leads("real images", kind="k_means"),
        "B5 KRR-ST": leads("KRR-ST"),
        "B5 control": lead(rows(), rows("real images", targets_count=True, augmentation="rotation")),
        "B8 other": lead(rows(), rows("real images"), "other"),
        "B8 architectures": mean_lead_elsewhere(),
    }  # fmt: skip
    assert effects.keys() == wanted.keys()
    for name, values in wanted.items():
        assert effects[name] == pytest.approx(values), name


def test_the_lead_on_other_architectures_is_a_mean_over_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an invented table, so that it does not matter whether the sweep has been made."""
    scores = {
        (method, name, seed): 0.5 + 0.1 * place * (method == "Boost") + 0.01 * seed + 0.02 * place
        for method in ("Boost", "KRR-ST", "real images") for place, name in enumerate(sweep.ARCHITECTURES) for seed in range(3)
    }  # fmt: skip
    rows = tuple(
        {"architecture": name, "method": method, "seed": seed, "source": score}
        for (method, name, seed), score in scores.items()
    )
    table = records.Record(name="x", description="", columns=tuple(rows[0]), rows=rows)
    monkeypatch.setattr(records, "load", {"self_supervised_architectures": table}.__getitem__)
    assert views_claims.architecture_effects() == {"B8 architectures": pytest.approx([0.2] * 3)}


def test_every_claim_of_the_lesson_has_its_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {"gradient_effects": QUICK, "time_effects": TIMED}
    for name, own in ids.items():
        invented = {claim: [0.1, 0.2, 0.15] for claim in own}
        monkeypatch.setattr(views_claims, name, lambda *_given, found=invented: found)
    assert_claims_are_measured(views_claims.NAME, anew=TIMED + QUICK)


def test_biases_of_drawn_views_by_drawing_every_one_alone() -> None:
    """B6 for one seed: each of the 64 assignments is a fit of its own, its gradient that of the whole graph."""
    problem = experiments.view_problem(seed=1)
    images = problem.images.clone().requires_grad_()
    features = problem.features(predefined_views.augmented(images, "rotation").flatten(0, 1)).unflatten(0, (4, 3))
    real = problem.features(problem.real)

    def gradient(chosen: list[tuple[int, int]]) -> torch.Tensor:
        seen = torch.stack([features[view, image] for view, image in chosen])
        targets = torch.stack([problem.targets[view, image] for view, image in chosen])
        loss = kernel_ridge.outer_loss(real, problem.wanted, seen, targets, strength=problem.strength)
        return torch.autograd.grad(loss, images, retain_graph=True)[0]

    every = gradient(list(itertools.product(range(4), range(3))))
    drawn = [gradient(list(zip(draw, range(3), strict=True))) for draw in itertools.product(range(4), repeat=3)]
    bias = (torch.stack(drawn).mean(0) - every).norm() / every.norm()
    found = views_claims.gradient_effects(range(1, 2))
    assert found["B6 biased"] == pytest.approx([float(bias)], rel=1e-4)
    four = experiments.drawn(seed=1, draws=4)
    assert not four.exact and four.standard_error < 0.05
    assert found["B6 draws"] == pytest.approx([float(bias) - four.bias], rel=1e-4)


def test_times_become_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = {"KRR-ST": 2.0, "Boost": 3.0}
    monkeypatch.setattr(views_claims, "_seconds", lambda method, **_seed: spent[method])
    assert views_claims.time_effects(2)["B10 time"] == pytest.approx([1.3 - 1.5] * 2)


def test_time_is_that_of_outer_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    module, phases = boost, []
    update = module.update

    def seen(*given: Any) -> Any:
        state, trace = update(*given)
        phases.append(trace.phase)
        return state, trace

    monkeypatch.setattr(module, "update", seen)
    monkeypatch.setattr(views_claims, "_TIMED", 2)
    assert views_claims._seconds("Boost", seed=0) > 0
    assert phases == ["outer"] * 5
