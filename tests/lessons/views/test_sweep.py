"""The sweeps of lessons 40 and 41: their points, and what a point measures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from ddlab import data, distill, networks, records
from ddlab.distilled import DistilledSet, shift_models
from ddlab.distilled.storage_budget import Shift
from ddlab.evaluation import pretrained, probe
from ddlab.lessons.shared import unlabelled
from ddlab.lessons.views import sweep
from ddlab.methods import boost, krr_st, representation_selection
from ddlab.records import SWEEPS, Place, self_supervised
from ddlab.records.self_supervised import BOOST, KRR_ST, SELECTED
from ddlab.runs import cache
from tests.support import refuses

pytestmark = pytest.mark.slow  # the register: it goes

SMOKE = Place(smoke=True)


def test_each_point_is_there_once_and_the_grids_are_whole() -> None:
    points = SWEEPS["self_supervised"].settings
    assert all(list(point) == ["method", "budget", *sweep.FIELDS, "seed"] for point in points)
    keys = {tuple(point.values()) for point in points}
    parts = (sweep.starts(), sweep.parts(), sweep.baselines(), sweep.budgets())
    assert len(keys) == len(points) and keys == {tuple(point.values()) for grid in parts for point in grid}
    starts = Counter((p["bases_start"], p["coefficients_start"]) for p in sweep.starts())
    kinds = [(bases, how) for bases in ("principal", "real", "random") for how in ("projection", "random")]
    assert starts == dict.fromkeys(kinds, 5)  # Table 4, crossed
    parts_of = Counter((p["method"], p["augmentation"], p["reset"]) for p in sweep.parts())
    views = [(BOOST, kind, True) for kind in ("none", "rotation", "jigsaw", "crop")]
    assert parts_of == dict.fromkeys([(KRR_ST, None, True), (KRR_ST, None, False), *views], 5)  # Tables 3 and 12
    controls = Counter((p["kind"], p["targets_count"], p["augmentation"]) for p in sweep.baselines())
    assert len(controls) == 8 and set(controls.values()) == {5}
    by_budget = Counter((p["method"], p["kind"], p["budget"]) for p in sweep.budgets())
    methods = [(KRR_ST, None), (BOOST, None), (SELECTED, "random"), (SELECTED, "k_means")]
    assert by_budget == {(*method, budget): 5 for method in methods for budget in (10, 20, 40)}  # Table 2
    for point in sweep.budgets():
        bases = 2 * point["budget"] if point["method"] == BOOST else None
        assert point["image_bases"] == point["representation_bases"] == bases


def test_points_of_the_shift_models() -> None:
    points = SWEEPS["shift_models"].settings
    models = [("same", None), ("bias", None), ("networks", 2), ("networks", 4), ("networks", 8), ("stored", None)]
    wanted = {(*model, which): 5 for model in models for which in ("one result", "what the budget buys")}
    assert Counter((p["shift"], p["hidden"], p["compared_on"]) for p in points) == wanted  # Table 11
    assert len({tuple(point.values()) for point in points}) == len(points) == 60


@pytest.mark.parametrize("method", [KRR_ST, BOOST, SELECTED])
def test_a_point_is_what_the_method_makes_of_its_columns(method: str) -> None:
    """Written out through `distill`; the seeds are those of the draws and of the pre-trained network."""
    world = self_supervised.world(Place(smoke=True))
    point = sweep.point(method, seed=2)
    teacher = world.teacher(SMOKE)
    short: dict[str, Any] = {
        "network": world.pretraining.network,
        "iterations": 3,
        "pool_steps": 3,
        "pool_size": 2,
        "seed": 2,
    }
    config: Any = {
        KRR_ST: lambda: krr_st.Config.teaching(budget=20, reset=True, **short),
        BOOST: lambda: boost.Config.teaching(budget=20, image_bases=40, representation_bases=40, **short),
        SELECTED: lambda: representation_selection.Config(budget=20, seed=2),
    }[method]()
    wanted = distill(config.__class__.__module__.rpartition(".")[2], world.data, teacher, config, "cpu", progress=False)
    made = sweep.distilled(point, SMOKE)
    for one, other in zip(made.pairs(), wanted.pairs(), strict=True):
        assert torch.equal(one, other)
    found = sweep.measured(point, SMOKE)
    assert list(found) == ["source", "other", "pairs", "floats"]
    asked = {"shapes": world.data, "digits": world.other}
    tested = pretrained(wanted, asked, candidates=(1e-3,), seeds=(2,), config=world.pretraining, device="cpu")
    assert [found["source"], found["other"]] == [tested.of(name).mean for name in asked]
    assert (found["pairs"], found["floats"]) == (len(wanted), wanted.storage_floats())
    if method == BOOST:
        assert found["floats"] <= 20 * 768 < found["floats"] + 40 + 40


@pytest.mark.parametrize(("shift", "hidden"), [("same", None), ("bias", None), ("networks", 2), ("stored", None)])
@pytest.mark.parametrize("which", [sweep.ONE_RESULT, sweep.BY_BUDGET])
def test_what_a_shift_model_measures(shift: Shift, hidden: int | None, which: str) -> None:
    found = sweep.by_shift({"shift": shift, "hidden": hidden, "compared_on": which, "seed": 1}, SMOKE)
    assert list(found) == ["source", "other", "pairs", "error"]
    # (20 x 768 - 40 x 192 - 40 x 80 - shifts) / (40 + 40), with 3 views of 40 coefficients and 80 features.
    shifts = {"same": 0, "bias": 3 * 40, "networks": 3 * (2 * 40 * 2 + 2 + 40)}
    room, one = 20 * 768 - 40 * 192 - 40 * 80, 80 + (3 * 40 if shift == "stored" else 0)
    bought = (room - shifts.get(shift, 0)) // one
    published = (room - 3 * (2 * 40 * 4 + 4 + 40)) // 80
    assert found["pairs"] == (published if which == sweep.ONE_RESULT else bought)
    assert found["error"] == pytest.approx({"same": 1.0, "stored": 0.0}.get(shift, found["error"]))
    if shift in ("bias", "networks"):
        assert 0 < found["error"] < 1


def test_another_shift_model_changes_nothing_else() -> None:
    made = sweep.distilled(sweep.point(BOOST, seed=1), SMOKE, shift="stored", pairs=6)
    other = sweep.with_shift(made, "bias", seed=0)
    assert torch.equal(made.images, other.images) and other.target("representations").shift == "bias"
    one, two = (some.target("representations").tensors for some in (made, other))
    wanted = shift_models.mean_shifts(one["coefficients"], one["view_coefficients"])
    assert torch.equal(two["biases"], wanted) and torch.equal(one["bases"], two["bases"])
    with refuses("made", "stored", "bias"):
        sweep.with_shift(other, "same", seed=0)


@pytest.mark.parametrize("architecture", ["ResNet-18", "ViT"])
def test_other_architectures_learn_the_same_sets(architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(
        unlabelled,
        "pretrained",
        lambda made, data, *, config, **options: (
            seen.append((made, config)) or pretrained(made, data, config=config, **options)
        ),
    )
    point = {"architecture": architecture} | sweep.point(SELECTED, seed=1)
    assert set(records.run_point("self_supervised_architectures", point, SMOKE)) == {"source", "other"}
    ((made, config),) = seen
    assert made.fingerprint == sweep.distilled(sweep.point(SELECTED, seed=1), SMOKE).fingerprint
    assert config.epochs == 2 and len(SWEEPS["self_supervised_architectures"].settings) == 5 * 4 * 5


def test_an_untrained_network_is_the_one_that_pre_training_begins_with(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()  # a known result would begin with no network
    begun, probed, initialise = [], [], networks.initialise
    monkeypatch.setattr(
        networks, "initialise", lambda spec, *, seed: begun.append(initialise(spec, seed=seed)) or begun[-1]
    )
    monkeypatch.setattr(
        unlabelled,
        "probe",
        lambda network, data, **options: probed.append(network) or probe(network, data, **options),
    )
    points = [
        point | {"architecture": "VGG11"} for point in SWEEPS["self_supervised_architectures"].settings
        if point["method"] in ("untrained", SELECTED) and point["architecture"] == "VGG11" and point["seed"] == 1
    ]  # fmt: skip
    found = [records.run_point("self_supervised_architectures", point, SMOKE) for point in points]
    assert found[0].keys() == found[1].keys() == {"source", "other"} and len(probed) == 2
    first, last = [network for network in begun if network.spec == probed[0].spec]
    assert first.weights.keys() == probed[0].weights.keys()
    for name, weight in probed[0].weights.items():
        assert torch.equal(weight, first.weights[name]) and torch.equal(weight, last.weights[name])


def test_the_published_sizes_run_on_a_folder_of_images(tmp_path: Path) -> None:
    """As a smoke run; what is published are m = 114, the networks and the lengths."""
    settings = SWEEPS["self_supervised_paper"].settings
    assert Counter(point["method"] for point in settings) == {KRR_ST: 3, BOOST: 6, SELECTED: 9}
    draw = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (260, 3, 32, 32), dtype=torch.uint8, generator=draw)
    labels = torch.arange(260) % 10
    made = data.ImageData(
        name="noise", train_images=images, train_labels=labels, test_images=images[:50], test_labels=labels[:50],
        class_names=tuple("0123456789"),
    )  # fmt: skip
    self_supervised._cifar10_paper.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(self_supervised, "loaded_images", lambda *_: made)
        boosted = next(p for p in settings if p["method"] == BOOST and p["augmentation"] == "rotation")
        found = records.run_point("self_supervised_paper", boosted, SMOKE)
    self_supervised._cifar10_paper.cache_clear()
    assert found["pairs"] == (100 * 3072 - 200 * 768 - 200 * 256 - 3 * (2 * 200 * 4 + 4 + 200)) // 400
    published = sweep.boost.Config.paper(image_bases=200, representation_bases=200)
    assert (published.pool_size, published.iterations, published.network.title) == (10, 30_000, "convnet(growth=2)")


def test_points_are_repeated_by_name() -> None:
    point = sweep.point(SELECTED, seed=4)
    assert records.run_point("self_supervised", point, SMOKE) == sweep.measured(point, SMOKE)


def test_sets_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, point = Place(folder=tmp_path, smoke=True), sweep.point(KRR_ST, seed=0)
    cache.clear()
    made = sweep.distilled(point, place)
    (file,) = (tmp_path / "made").glob("kernel_ridge_self_supervised-*.safetensors")
    assert DistilledSet.load(file).fingerprint == made.fingerprint
    cache.clear()
    monkeypatch.setattr(krr_st, "update", lambda *_: pytest.fail("it ran again"))
    assert sweep.distilled(point, place).fingerprint == made.fingerprint
