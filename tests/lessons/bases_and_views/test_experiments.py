"""Lesson 40: its effects against the records' rows and against brute force, its figures and tables, its runs, its exercises."""

from __future__ import annotations

import itertools
import re
from statistics import fmean
from typing import Any

import numpy as np
import pytest
import torch

import ddlab
from ddlab import networks, records
from ddlab.commands.claims import runs
from ddlab.data import predefined_views
from ddlab.lessons import claims
from ddlab.lessons.bases_and_views import charts as views
from ddlab.lessons.bases_and_views import experiments as bases
from ddlab.lessons.bases_and_views import measured as bases_claims
from ddlab.lessons.shared import printed_tables as printed
from ddlab.methods import kernel_ridge
from ddlab.records import self_supervised as sweep
from ddlab.runs import cache

TIMED = ("B10 time",)
QUICK = ("B6 biased", "B6 draws", "B7", "B7 learnt")
BOOST = {
    "augmentation": "rotation", "bases_start": "principal", "coefficients_start": "projection", "reset": True,
}  # fmt: skip
REAL = {"kind": "random", "targets_count": False, "augmentation": "none"}


def rows(method: str = "Boost", budget: int = 20, **changes: Any) -> dict[int, dict[str, Any]]:
    """seed -> row of the record, by brute force."""
    own = {"Boost": BOOST | {"image_bases": 2 * budget, "representation_bases": 2 * budget}, "KRR-ST": {"reset": True}}
    wanted = {"method": method, "budget": budget} | own.get(method, REAL) | changes
    table: tuple[dict[str, Any], ...] = records.load("self_supervised").rows
    found = {row["seed"]: row for row in table if all(row[name] == value for name, value in wanted.items())}
    assert sorted(found) == [0, 1, 2, 3, 4]
    return found


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
    effects = {name: found.values for name, found in bases_claims.recorded_effects().items()}

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
        "B1 real": lead(rows(), rows(bases_start="real", coefficients_start="random")),
        "B1 random": lead(
            rows(bases_start="real", coefficients_start="random"), rows(bases_start="random", coefficients_start="random")
        ),
        "B1 bases": lead(rows(), rows(bases_start="real")),
        "B1 coefficients": lead(rows(), rows(coefficients_start="random")),
        "B2 parts": lead(none, rows("KRR-ST")),
        "B2 views": lead(rows(), none),
        "B2 reset": lead(rows("KRR-ST"), rows("KRR-ST", reset=False)),
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
    assert bases_claims.architecture_effects() == {"B8 architectures": pytest.approx([0.2] * 3)}


def test_every_claim_of_the_lesson_has_its_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {"gradient_effects": QUICK[:2], "rank_effects": QUICK[2:], "time_effects": TIMED}
    for name, own in ids.items():
        invented = {claim: [0.1, 0.2, 0.15] for claim in own}
        monkeypatch.setattr(bases_claims, name, lambda *_given, found=invented: found)
    verdicts = runs()[bases.NAME](3)
    declared = [claim.id for claim in claims.CLAIMS.values() if claim.lesson == bases.NAME]
    assert sorted(verdict.claim for verdict in verdicts) == sorted(declared)
    for verdict in verdicts:
        if verdict.claim not in TIMED + QUICK:
            known = claims.recorded(verdict.claim)
            assert verdict.number == pytest.approx(known.number), "verdicts.json is not of the shipped records"


def test_biases_of_drawn_views_by_drawing_every_one_alone() -> None:
    """B6 for one seed: each of the 64 assignments is a fit of its own, its gradient that of the whole graph."""
    problem = bases.view_problem(seed=1)
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
    found = bases_claims.gradient_effects(range(1, 2))
    assert found["B6 biased"] == pytest.approx([float(bias)], rel=1e-4)
    four = bases.drawn(seed=1, draws=4)
    assert not four.exact and four.standard_error < 0.05
    assert found["B6 draws"] == pytest.approx([float(bias) - four.bias], rel=1e-4)


def test_effective_ranks_of_teacher_and_untrained_networks() -> None:
    found, teacher = bases_claims.rank_effects(range(2)), bases.inputs().teachers[0]
    for seed in range(2):
        shares = []
        for network in (teacher, networks.initialise(teacher.spec, seed=seed)):
            assert 0 < bases_claims.rank_share(network, seed=seed) < 1
            shares.append(bases_claims.rank_share(network, seed=seed))
        assert found["B7"][seed] == pytest.approx(1 - shares[0])
        assert found["B7 learnt"][seed] == pytest.approx(shares[1] - shares[0])


def test_a_rank_is_that_of_the_covariance_of_the_drawn_images(monkeypatch: pytest.MonkeyPatch) -> None:
    features = (
        torch.randn(1000, 6, generator=torch.Generator().manual_seed(0)) * torch.tensor([5.0, 3, 2, 1, 1, 0.1]) + 4
    )
    monkeypatch.setattr(bases_claims, "representations", lambda *_given: features)
    eigenvalues = np.linalg.eigvalsh(np.cov(features.double().numpy().T))
    odds = eigenvalues / eigenvalues.sum()
    wanted = float(np.exp(-(odds * np.log(odds)).sum())) / 6
    assert bases_claims.rank_share(bases.inputs().teachers[0], seed=3) == pytest.approx(wanted, rel=1e-5)


def test_times_become_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = {"KRR-ST": 2.0, "Boost": 3.0}
    monkeypatch.setattr(bases_claims, "_seconds", lambda method, **_seed: spent[method])
    assert bases_claims.time_effects(2)["B10 time"] == pytest.approx([1.3 - 1.5] * 2)


def test_time_is_that_of_outer_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    module, phases = bases.boost, []
    update = module.update

    def seen(*given: Any) -> Any:
        state, trace = update(*given)
        phases.append(trace.phase)
        return state, trace

    monkeypatch.setattr(module, "update", seen)
    monkeypatch.setattr(bases_claims, "_TIMED", 2)
    assert bases_claims._seconds("Boost", seed=0) > 0
    assert phases == ["outer"] * 5


def test_what_is_watched_is_what_the_record_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr(cache, "run", lambda module, config, _inputs, **_options: ran.append((module, config)))
    for method in ("KRR-ST", "Boost"):
        sweep.distilled(sweep.point(method, seed=3), records.Place())
        assert ran.pop()[1] == bases.config(method, seed=3)


def test_a_watched_run_keeps_frames_and_losses(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    for method in ("KRR-ST", "Boost"):
        monkeypatch.setattr(bases, "_watched", {})
        short = bases.config(method, seed=7).replace(iterations=12, pool_size=1, pool_steps=2)
        monkeypatch.setattr(bases, "config", lambda _method, config=short, **_seed: config)
        run = bases.watched(method, seed=7)
        assert list(run.frames) == [0, 10, 12] and len(run.losses) == 12
        assert run.made is not None and torch.equal(run.frames[12], run.made.to_uint8()[: len(run.made)])
        assert bases.watched(method, seed=7) is run, "a second look costs nothing"
        monkeypatch.setattr(bases, "_watched", {})
        assert list(bases.watched(method, seed=7).frames) == [0, 10, 12], "a result that was known has no frames"
        monkeypatch.undo()
    scrubber = views.film([run])
    assert scrubber.slider.options[0] == ("0", 0) and len(scrubber.slider.options) == 3
    scrubber.slider.index = 1
    assert f"Boost {fmean(run.losses[:10]):.4f}" in scrubber.sentence
    scrubber.close()
    assert "step" in capsys.readouterr().out


def test_figures_and_tables_show_the_records() -> None:
    shown = views.comparison()
    mean = fmean(row["source"] for row in rows("real images", targets_count=True, augmentation="rotation").values())
    assert any(
        value == pytest.approx(mean) for trace in shown.data for value in (trace.y if trace.y is not None else ())
    )
    assert len(views.ROWS) == 8 and "digits" in str(views.comparison("Boost", column="other").layout.title.text)
    curves = {trace.name: trace for trace in views.budget_curves().data if trace.mode == "lines+markers"}
    ours = [fmean(row["source"] for row in rows("KRR-ST", size).values()) for size in (10, 20, 40)]
    assert list(curves["KRR-ST"].y) == pytest.approx(ours)
    for table in (views.parts_table(), views.start_table(), views.shifts_table()):
        for middle, low, high in re.findall(r"\*\*(-?\d\.\d\d)\*\* \((-?\d\.\d\d) to (-?\d\.\d\d)\)", table):
            assert float(low) <= float(middle) <= float(high)


def test_the_papers_tables_stand_beside_ours() -> None:
    _, _, *parts = views.parts_table().splitlines()
    assert [line.split(" | ")[1] for line in parts] == ["47.00%", "-", "48.57%", "52.41%", "50.93%", "51.03%"]
    _, _, *starts = views.start_table().splitlines()
    assert [line.split(" | ")[2] for line in starts] == ["52.41%", "-", "-", "30.99%", "-", "22.05%"]
    assert f"**{fmean(row['source'] for row in rows(bases_start='real').values()):.2f}**" in starts[2]
    _, _, *models = views.shifts_table().splitlines()
    assert len(models) == len(printed.BOOST_11_SHIFTS) and models[3].startswith("| networks of width 4 | 0.19 |")
    assert models[0].split(" | ")[2].startswith("**1.00**"), "no shift leaves all of it"
    head, _, *others = views.architectures_table().splitlines()
    assert head.split(" | ")[3:] == ["untrained", "real images", "KRR-ST", "Boost |"]
    assert [line.split(" | ")[:3] for line in others[:2]] == [
        ["| VGG11", "27.78%", "35.35%"], ["| ResNet-18", "21.20%", "20.90%"]
    ]  # fmt: skip
    table: tuple[dict[str, Any], ...] = records.load("self_supervised_architectures").rows
    drawn = [row["source"] for row in table if (row["architecture"], row["method"]) == ("ViT", "untrained")]
    assert len(drawn) == 5 and others[4].split(" | ")[3].startswith(f"**{fmean(drawn):.2f}** (")


def test_pairs_do_not_depend_on_the_budget_under_the_papers_rule() -> None:
    _, _, *lines = views.pairs_table().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[3] for row in cells[:3]] == ["114"] * 3
    for row in cells:
        count, most, floats = int(row[3]), int(row[4]), 768 if "CIFAR" in row[0] else 192
        assert most * (floats + count) < count * floats <= (most + 1) * (floats + count)


def test_a_point_of_the_record_that_is_far_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {method: rows(method)[3] for method in ("KRR-ST", "Boost")}
    monkeypatch.setattr(records, "run_point", lambda _name, point: known[point["method"]])
    assert views.repeated(seed=3).count("recorded") == 4
    known["Boost"] = known["Boost"] | {"other": 0.1}
    with pytest.raises(AssertionError, match="other of seed 3"):
        views.repeated(seed=3)


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start(bases.NAME)

    def ridge(ones: float, half: bool) -> Any:
        def loss(real: Any, wanted: Any, distilled: Any, targets: Any) -> Any:
            kernel = distilled @ distilled.T + ones
            regular = kernel + 1e-6 * kernel.trace() * torch.eye(len(kernel), dtype=kernel.dtype)
            squares = (wanted - (real @ distilled.T + ones) @ torch.linalg.solve(regular, targets)).square()
            return squares.sum() / 2 if half else squares.mean()

        return loss

    answers: dict[str, tuple[list[Any], list[Any]]] = {
        "pairs": ([114], [None, 127, 128, 113, 85, 115, 200, 114.0, True]),
        "outer loss": (
            [ridge(1, False)],
            [None, ridge(1, True), ridge(0, False), lambda r, w, d, t: w.mean(), lambda r, w, d, t: 0.1, lambda r: r],
        ),
        "restore": (
            [lambda view, places: view.flatten(1)[:, places.argsort()].view_as(view)],
            [
                None, lambda view, places: view, lambda view, places: view.flatten(1)[:, places].view_as(view),
                lambda view, places: view.flatten(1), lambda view: view,
            ],
        ),
    }  # fmt: skip
    assert answers.keys() == bases.CHECKS.keys()
    hints = set()
    for name, (right, wrong) in answers.items():
        for answer in right:
            assert lesson.check(name, answer), name
        for answer in wrong:
            capsys.readouterr()
            assert not lesson.check(name, answer), (name, answer)
            hints.add(capsys.readouterr().out)
    assert len(hints) >= 14, "wrong answers get different hints"
