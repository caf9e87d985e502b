"""Pre-trained networks read by probes: numbers that are a probe's own, seeds, architectures, interrupts, what is refused."""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any

import pytest
import torch

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, HardLabels, Representations
from ddlab.evaluation import interval, pretrained, probe
from ddlab.networks import Network
from ddlab.runs import cache, process
from ddlab.runs.process import Inputs
from ddlab.training import pretraining, rela
from tests.support import made_data, refuses

CONFIG = pretraining.Config(network=networks.spec("convnet", width=4), epochs=4, batch_size=8)
SEEDS = (0, 3)


@pytest.fixture(scope="module")
def pairs(grey: ImageData, teacher: Network) -> DistilledSet:
    """Every third image of `grey` and what a teacher's features say of it."""
    images = grey.normalised(slice(None, None, 3))
    values = networks.predict(teacher, images).features[None]
    target = Representations({"representations": values})
    return DistilledSet(tensors={"images": images}, targets=(target,), class_names=(), mean=grey.mean, std=grey.std)


@pytest.fixture(scope="module")
def sets(grey: ImageData) -> dict[str, ImageData]:
    """The one it was made of, and another of fewer classes."""
    return {"own": grey, "other": made_data(classes=2, seed=4)}


@pytest.mark.parametrize("kind", ["linear", "ridge", "neighbours"])
def test_it_is_pretraining_and_a_probe(pairs: DistilledSet, sets: dict[str, ImageData], kind: str) -> None:
    found = pretrained(pairs, sets, kind=kind, seeds=SEEDS, config=CONFIG, held_out=0.3)
    assert list(found.transfers) == ["convnet(width=4)"] and list(found.transfers["convnet(width=4)"]) == [
        "own",
        "other",
    ]
    assert found.complete
    for name, data in sets.items():
        wanted = {}
        for seed in SEEDS:
            network = process.run(pretraining, CONFIG.replace(seed=seed), Inputs(distilled=pairs))
            wanted[seed] = probe(network, data, kind=kind, held_out=0.3, seeds=(seed,)).mean
        each = found.of(name)
        assert each.per_seed == wanted and (each.data, each.kind, each.network) == (name, kind, "convnet(width=4)")
        assert each.mean == pytest.approx(statistics.fmean(wanted.values()))
        assert each.std == pytest.approx(statistics.stdev(wanted.values()))
        assert each.interval == interval(list(wanted.values()))


def test_candidates_go_to_the_probe(pairs: DistilledSet, sets: dict[str, ImageData]) -> None:
    network = process.run(pretraining, CONFIG, Inputs(distilled=pairs))
    for strength in (1e-6, 1e6):
        found = pretrained(pairs, sets, kind="ridge", seeds=(0,), config=CONFIG, candidates=(strength,))
        wanted = probe(network, sets["own"], kind="ridge", candidates=(strength,)).mean
        assert found.of("own").per_seed == {0: wanted}


def test_one_seed_has_no_interval(pairs: DistilledSet, sets: dict[str, ImageData]) -> None:
    found = pretrained(pairs, sets, kind="ridge", seeds=(0,), config=CONFIG)
    assert found.of("own").std is None and found.of("own").interval is None
    assert str(found.of("own")).startswith("accuracy ") and "interval" not in str(found.of("own"))


def test_architectures_by_name(
    pairs: DistilledSet, sets: dict[str, ImageData], capsys: pytest.CaptureFixture[str]
) -> None:
    configs = {"small": CONFIG, "large": CONFIG.replace(network=networks.spec("convnet", width=6), learning_rate=0.01)}
    cache.clear()
    found = pretrained(pairs, sets, kind="ridge", seeds=SEEDS, config=configs, progress=True)
    assert capsys.readouterr().out.count("pretraining:") >= 4
    assert {name: found.of("own", name).network for name in configs} == {
        "small": "convnet(width=4)",
        "large": "convnet(width=6)",
    }
    for name, config in configs.items():
        alone = pretrained(pairs, sets, kind="ridge", seeds=SEEDS, config=config)
        assert {data: each.per_seed for data, each in found.transfers[name].items()} == {
            data: each.per_seed for data, each in alone.transfers[config.network.title].items()
        }
    lines = [" ".join(line.split()) for line in found.table().splitlines()]
    assert len(lines) == 6 and lines[2].startswith("| small | own | 0.") and " to " in lines[2]
    with refuses("network", "one of 'small', 'large'", "None"):
        found.of("own")
    with refuses("network", "nearest: 'small'"):
        found.of("own", "smal")
    with refuses("data", "one of 'own', 'other'"):
        found.of("digits", "small")


def test_the_default_is_the_teaching_preset(
    pairs: DistilledSet, sets: dict[str, ImageData], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretraining.Config, "teaching", classmethod(lambda cls: CONFIG))
    assert list(pretrained(pairs, sets, kind="ridge", seeds=(0,)).transfers) == [CONFIG.network.title]


def test_known_networks_are_found_again_and_their_features_are_not_kept(
    pairs: DistilledSet, sets: dict[str, ImageData], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    first = pretrained(pairs, sets, kind="ridge", seeds=SEEDS, config=CONFIG)
    assert len(cache._results) == len(SEEDS)  # the numbers of each network: neither weights nor features
    monkeypatch.setattr(pretraining, "update", None)
    assert pretrained(pairs, sets, kind="ridge", seeds=SEEDS, config=CONFIG).transfers == first.transfers


def test_another_set_config_kind_or_dataset_is_computed_anew(pairs: DistilledSet, sets: dict[str, ImageData]) -> None:
    cache.clear()
    moved = dataclasses.replace(pairs, tensors={"images": pairs.images + 0.5})
    asked: list[tuple[DistilledSet, dict[str, ImageData], dict[str, Any]]] = [
        (pairs, sets, {}), (moved, sets, {}), (pairs, {"own": sets["other"]}, {}), (pairs, sets, {"kind": "neighbours"}),
        (pairs, sets, {"candidates": (1.0,)}), (pairs, sets, {"held_out": 0.5}), (pairs, sets, {"config": CONFIG.replace(epochs=5)}),
    ]  # fmt: skip
    for number, (given, data, changes) in enumerate(asked, 1):
        pretrained(given, data, **{"kind": "ridge", "seeds": (0,), "config": CONFIG} | changes)
        assert len(cache._results) == number


@pytest.mark.parametrize("done", [0, 1, 3])
def test_an_interrupt_leaves_whole_seeds(
    done: int, pairs: DistilledSet, sets: dict[str, ImageData], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the network after `done` whole ones, of two architectures with two seeds each."""
    cache.clear()
    update, steps = pretraining.update, pretraining.total_steps(CONFIG, Inputs(distilled=pairs))
    calls = []

    def interrupted(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == done * steps + 2:
            raise KeyboardInterrupt
        return update(*given)

    monkeypatch.setattr(pretraining, "update", interrupted)
    configs = {"one": CONFIG, "two": CONFIG.replace(learning_rate=0.01)}
    if done == 0:
        with pytest.raises(KeyboardInterrupt):
            pretrained(pairs, sets, kind="ridge", seeds=SEEDS, config=configs)
        return
    found = pretrained(pairs, sets, kind="ridge", seeds=SEEDS, config=configs)
    assert not found.complete
    seen = {name: list(each["own"].per_seed) for name, each in found.transfers.items()}
    assert seen == ({"one": [0]} if done == 1 else {"one": [0, 3], "two": [0]})


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no set": ({"distilled": None}, ["distilled", "DistilledSet"]),
    "data alone": ({"data": made_data()}, ["data", "mapping"]),
    "no data": ({"data": {}}, ["data", "at least one"]),
    "data of no kind": ({"data": {"own": 3}}, ["data['own']", "ImageData"]),
    "data of another size": ({"data": {"own": made_data(), "large": made_data(size=9)}}, ["data['large']", "(8, 8)", "(9, 9)"]),
    "data of other channels": ({"data": {"colour": made_data(channels=3)}}, ["data['colour']", "1 channels"]),
    "one class": ({"data": {"one": made_data(classes=1)}}, ["data", "two classes"]),
    "kind": ({"kind": "knn"}, ["kind", "'neighbours'"]),
    "seeds": ({"seeds": ()}, ["seeds", "at least one"]),
    "config": ({"config": networks.spec("convnet")}, ["config", "pretraining or rela"]),
    "no config": ({"config": {}}, ["config", "at least one"]),
    "config of another kind": ({"config": {"a": CONFIG, "b": "convnet"}}, ["config['b']", "pretraining or rela"]),
    "candidates": ({"candidates": (0.0,)}, ["candidates"]),
    "held out": ({"held_out": 1.0}, ["held_out", "0.9"]),
    "progress": ({"progress": 1}, ["progress"]),
    "device": ({"device": "tpu"}, ["device"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused_is_refused_before_anything_is_trained(
    name: str, pairs: DistilledSet, sets: dict[str, ImageData], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretraining, "init", None)
    changes, words = WRONG[name]
    with refuses(*words):
        pretrained(**{"distilled": pairs, "data": sets, "kind": "ridge", "config": CONFIG} | changes)


def test_a_set_of_labels_alone_is_refused(distilled: DistilledSet, sets: dict[str, ImageData]) -> None:
    hard = dataclasses.replace(distilled, targets=(HardLabels(distilled.labels),))
    with refuses("labels", "['hard']", "'representations'"):
        pretrained(hard, sets)


def test_global_threads_and_gradients_stay(pairs: DistilledSet, sets: dict[str, ImageData]) -> None:
    with torch.no_grad():
        found = pretrained(pairs, sets, kind="ridge", seeds=(5,), config=CONFIG)
        assert not torch.is_grad_enabled()
    assert 0 <= found.of("other").mean <= 1 and found.cpu_seconds > 0


def test_rela_beside_its_baseline(pairs: DistilledSet, sets: dict[str, ImageData]) -> None:
    """Two configs of the same seeds, each as its own process trains it."""
    alone = rela.SMALL.replace(schedule="constant", share=0.0)
    data = {"own": sets["own"]}
    found = pretrained(
        pairs, data, kind="ridge", seeds=SEEDS, config={"ReLA": rela.SMALL, "alone": alone}, held_out=0.3
    )
    for name, config in (("ReLA", rela.SMALL), ("alone", alone)):
        network = process.run(rela, config.replace(seed=3), Inputs(distilled=pairs))
        wanted = probe(network, sets["own"], kind="ridge", held_out=0.3, seeds=(3,)).mean
        assert found.of("own", name).per_seed[3] == wanted
    with refuses("config['other']", "pretraining or rela"):
        pretrained(pairs, data, config={"other": 3})  # type: ignore[dict-item]
