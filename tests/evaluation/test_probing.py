"""Probes: readers against scikit-learn, scipy and loops; what is chosen, and on which images."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ddlab import networks
from ddlab.core.randomness import generator
from ddlab.data import ImageData
from ddlab.evaluation import (
    Probe,
    adam_predictions,
    held_out_part,
    interval,
    logistic_predictions,
    neighbour_predictions,
    probe,
    ridge_predictions,
    ridge_weights,
    standardised_features,
)
from ddlab.evaluation import probing as rooms
from ddlab.networks import Network
from ddlab.training.self_supervised import representations
from tests.support import made_data, refuses


def blobs(
    count: int = 40, width: int = 5, classes: int = 3, seed: int = 0, spread: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Classes that overlap, with features of different scales."""
    draw = torch.Generator().manual_seed(seed)
    centres = torch.randn((classes, width), generator=torch.Generator().manual_seed(9))
    labels = torch.arange(count) % classes
    features = centres[labels] + spread * torch.randn((count, width), generator=draw)
    return features * torch.logspace(-2, 2, width) + 3, labels


class TestStandardised:
    def test_equals_scikit_learns(self) -> None:
        from sklearn.preprocessing import StandardScaler

        features, others = blobs()[0], blobs(seed=1)[0]
        scaler = StandardScaler().fit(features.double().numpy())
        found = standardised_features(features, others)
        for value, given_features in zip(found, (features, others), strict=True):
            assert value.dtype == torch.float64
            np.testing.assert_allclose(value.numpy(), scaler.transform(given_features.double().numpy()), atol=1e-9)

    @pytest.mark.parametrize("constant", [0.0, 0.1, -7.3e8, 1e-30])
    def test_a_constant_column_is_nothing(self, constant: float) -> None:
        features, others = blobs()[0], blobs(seed=1)[0]
        features[:, 2] = constant
        learning, reading = standardised_features(features, others)
        assert (learning[:, 2] == 0).all() and (reading[:, 2] == 0).all()
        assert learning.isfinite().all() and reading.isfinite().all()

    def test_a_column_that_differs_by_rounding_is_nothing(self) -> None:
        features, _ = blobs()
        features[:, 1] = 3 * (1 + torch.finfo(torch.float32).eps * (torch.arange(40) % 2))
        assert features[:, 1].unique().numel() == 2
        learning, _ = standardised_features(features, features)
        assert (learning[:, 1] == 0).all() and (learning[:, 0].square().mean() - 1).abs() < 1e-9

    def test_large_and_small_numbers(self) -> None:
        features, _ = blobs()
        expected, _ = standardised_features(features, features)
        for factor in (2.0**-100, 2.0**90):
            found, _ = standardised_features(features * factor, features * factor)
            torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)


class TestLogistic:
    @pytest.mark.parametrize("strength", [1.0, 0.01])
    def test_is_the_least_of_its_objective(self, strength: float) -> None:
        """scipy's minimum of the objective as the module writes it, from zero, by its own gradient."""
        from scipy import optimize, special

        features, labels = blobs()
        others, _ = blobs(seed=2, count=60)
        learning, reading = (value.numpy() for value in standardised_features(features, others))
        truth = np.eye(3)[labels.numpy()]

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            weights, bias = flat[:15].reshape(3, 5), flat[15:]
            logits = learning @ weights.T + bias
            error = (special.softmax(logits, axis=1) - truth) / len(learning)
            value = (
                -(truth * special.log_softmax(logits, axis=1)).sum() / len(learning) + strength / 2 * (weights**2).sum()
            )
            return value, np.concatenate([(error.T @ learning + strength * weights).ravel(), error.sum(0)])

        best = optimize.minimize(objective, np.zeros(18), jac=True, method="BFGS", options={"gtol": 1e-9})
        logits = reading @ best.x[:15].reshape(3, 5).T + best.x[15:]
        margin = np.sort(logits, axis=1)
        clear = margin[:, -1] - margin[:, -2] > 1e-4
        found = logistic_predictions(features, labels, others, strength).numpy()
        assert clear.sum() > 55 and (found[clear] == logits.argmax(1)[clear]).all() and len(set(found)) == 3

    def test_strength_does_not_grow_with_the_number_of_images(self) -> None:
        (features, labels), (others, _) = blobs(spread=2.0), blobs(seed=3, count=200, spread=2.0)
        once = logistic_predictions(features, labels, others, 0.1)
        thrice = logistic_predictions(features.repeat(3, 1), labels.repeat(3), others, 0.1)
        assert (once == thrice).float().mean() >= 0.99

    def test_that_does_not_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from ddlab.evaluation import readers

        monkeypatch.setattr(readers, "_ITERATIONS", 1)
        features, labels = blobs()
        with refuses("strength", "to end in 1 steps", "1e-05"):
            logistic_predictions(features, labels, features, 1e-5)


class TestRidge:
    @pytest.mark.parametrize("strength", [1e-6, 0.1, 10.0])
    @pytest.mark.parametrize("shape", [(30, 5), (6, 9)])
    def test_weights_are_scikit_learns(self, strength: float, shape: tuple[int, int]) -> None:
        from sklearn.linear_model import Ridge

        draw = np.random.default_rng(0)
        features, targets = draw.normal(size=shape), draw.normal(size=(shape[0], 2))
        expected = (
            Ridge(alpha=strength * shape[0], fit_intercept=False, solver="cholesky").fit(features, targets).coef_.T
        )
        found = ridge_weights(torch.from_numpy(features), torch.from_numpy(targets), strength)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6, atol=1e-8)

    def test_columns_that_repeat_each_other(self) -> None:
        """Nearly singular: the two share what one would have had; the equations of the minimum hold."""
        features = torch.randn((20, 1), generator=torch.Generator().manual_seed(0), dtype=torch.float64).expand(20, 2)
        weights = ridge_weights(features, features[:, :1] * 3, 1e-12)
        torch.testing.assert_close(weights, torch.full((2, 1), 1.5, dtype=torch.float64))

    def test_predictions_are_scikit_learns(self) -> None:
        from sklearn.linear_model import Ridge

        (features, labels), (others, _) = blobs(), blobs(seed=4)
        learning, reading = (value.numpy() for value in standardised_features(features, others))
        model = Ridge(alpha=0.03 * 40).fit(learning, np.eye(3)[labels.numpy()])
        expected = model.predict(reading).argmax(1)
        assert (ridge_predictions(features, labels, others, 0.03).numpy() == expected).all()
        # Class numbers need not be without gaps.
        renamed = torch.tensor([7, 2, 5])
        expected = np.array([2, 5, 7])[
            Ridge(alpha=1.2).fit(learning, np.eye(3)[[2, 0, 1]][labels.numpy()]).predict(reading).argmax(1)
        ]
        assert (ridge_predictions(features, renamed[labels], others, 0.03).numpy() == expected).all()


class TestAdam:
    @pytest.mark.parametrize("count", [40, 300])
    def test_equals_torchs_loop(self, count: int) -> None:
        """nn.Linear, CrossEntropyLoss and torch's Adam on the same first weights and orders, in float64."""
        (features, labels), others = blobs(count), blobs(seed=1)[0]
        layer = torch.nn.Linear(5, 3).double()
        first = (2 * torch.rand((3, 6), generator=generator(0, 0, "linear layer")).double() - 1) / 5**0.5
        layer.weight.data, layer.bias.data = first[:, :5].clone(), first[:, 5].clone()
        solver = torch.optim.Adam(layer.parameters(), lr=3e-4)
        for epoch in range(30):
            for rows in torch.randperm(count, generator=generator(0, epoch, "linear layer")).split(128):
                solver.zero_grad()
                torch.nn.functional.cross_entropy(layer(features[rows].double()), labels[rows]).backward()
                solver.step()
        assert torch.equal(adam_predictions(features, labels + 4, others, 30), layer(others.double()).argmax(1) + 4)

    def test_is_a_probe(self, grey: ImageData, teacher: Network) -> None:
        found = probe(teacher, grey, kind="adam", seeds=(0, 1))
        assert found.chosen == {0: 100, 1: 100} and found.std == 0 and "epochs 100" in str(found)
        assert probe(teacher, grey, kind="adam", candidates=(1, 400)).chosen[0] in (1, 400)
        with refuses("candidates", "at least 1", "0.5"):
            probe(teacher, grey, kind="adam", candidates=(0.5,))


class TestNeighbours:
    @given(seed=st.integers(0, 1000), neighbours=st.integers(1, 9))
    def test_equals_a_loop(self, seed: int, neighbours: int) -> None:
        (features, labels), (others, _) = blobs(15, seed=seed), blobs(6, seed=seed + 1)
        found = neighbour_predictions(features, labels, others, neighbours).tolist()
        for row, label in zip(others.double().numpy(), found, strict=True):
            cosines = [float(row @ f / np.linalg.norm(row) / np.linalg.norm(f)) for f in features.double().numpy()]
            nearest = sorted(range(15), key=lambda n: -cosines[n])[:neighbours]
            votes = [int((labels[nearest] == kind).sum()) for kind in range(3)]
            assert label == votes.index(max(votes))

    def test_rows_of_zeros_and_of_any_length(self) -> None:
        features = torch.tensor([[1e-30, 0.0], [0.0, 1e30], [0.0, 0.0]])
        found = neighbour_predictions(features, torch.tensor([4, 5, 6]), torch.tensor([[2.0, 1.0], [1.0, 2.0]]), 1)
        assert found.tolist() == [4, 5]
        assert len(neighbour_predictions(features, torch.tensor([4, 5, 6]), torch.empty(0, 2), 1)) == 0


class TestHeldOut:
    @given(
        labels=st.lists(st.integers(0, 3), min_size=12, max_size=60), share=st.floats(0.2, 0.9), seed=st.integers(0, 99)
    )
    def test_a_share_of_each_class(self, labels: list[int], share: float, seed: int) -> None:
        numbers = torch.tensor(labels)
        kept, held = held_out_part(numbers, held_out=share, seed=seed)
        assert sorted([*kept.tolist(), *held.tolist()]) == list(range(len(labels)))
        for label in set(labels):
            count = labels.count(label)
            assert int((numbers[held] == label).sum()) == min(round(share * count), count - 1)

    def test_follows_the_seed(self) -> None:
        labels = torch.arange(40) % 4
        parts = [held_out_part(labels, held_out=0.5, seed=seed)[1].tolist() for seed in (0, 0, 1)]
        assert parts[0] == parts[1] != parts[2]

    @pytest.mark.parametrize(
        "changes", [{"held_out": 0.0}, {"held_out": 1.0}, {"held_out": 0.01}, {"labels": torch.zeros(0).long()}]
    )
    def test_bad_input(self, changes: dict[str, Any]) -> None:
        with refuses("held_out"):
            held_out_part(**{"labels": torch.arange(8) % 2, "held_out": 0.5, "seed": 0} | changes)


PREDICTIONS: dict[str, Callable[..., Tensor]] = {
    "linear": logistic_predictions,
    "ridge": ridge_predictions,
    "neighbours": neighbour_predictions,
}


@pytest.mark.parametrize("kind", ["linear", "ridge", "neighbours"])
def test_the_best_on_the_held_out_part_learns_again_from_all(kind: str, grey: ImageData, teacher: Network) -> None:
    candidates = [10.0, 0.1, 0.001] if kind != "neighbours" else [20, 7, 1]
    found = probe(teacher, grey, kind=kind, candidates=candidates, held_out=0.3, seeds=(0, 4))
    learning, testing = (representations(teacher, grey, split) for split in ("train", "test"))
    predict, labels, expected = PREDICTIONS[kind], grey.train_labels, {}
    for seed in (0, 4):
        kept, held = held_out_part(labels, held_out=0.3, seed=seed)
        right = [
            int((predict(learning[kept], labels[kept], learning[held], c) == labels[held]).sum()) for c in candidates
        ]
        best = candidates[right.index(max(right))]
        assert found.chosen[seed] == best
        expected[seed] = float((predict(learning, labels, testing, best) == grey.test_labels).double().mean())
    assert found.per_seed == pytest.approx(expected) and found.mean == pytest.approx(
        statistics.fmean(expected.values())
    )
    assert found.std == pytest.approx(statistics.stdev(expected.values()))
    assert found.interval == pytest.approx(interval(list(expected.values()))) and found.cpu_seconds > 0
    assert (found.kind, found.network) == (kind, "convnet(width=8)")


def test_nothing_is_chosen_on_the_test_images(
    grey: ImageData, teacher: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other test images change the accuracy and nothing else; each is read by the chosen readers alone."""
    other = dataclasses.replace(grey, test_images=255 - grey.test_images, test_labels=grey.test_labels.flip(0))
    assert probe(teacher, grey, kind="ridge").chosen == probe(teacher, other, kind="ridge").chosen
    seen: list[int] = []

    def watched(features: Tensor, labels: Tensor, others: Tensor, setting: float) -> Tensor:
        seen.append(len(others))
        return ridge_predictions(features, labels, others, setting)

    monkeypatch.setitem(rooms._PREDICTIONS, "ridge", watched)
    found = probe(teacher, grey, kind="ridge", held_out=0.3)
    assert seen == [12] * len(rooms.STRENGTHS) + [len(grey.test_labels)] and found.std is None


def test_one_candidate_needs_nothing_held_out(teacher: Network) -> None:
    few = made_data(train=1)
    found = probe(teacher, few, kind="linear", candidates=(0.1,), seeds=(0, 1))
    assert found.chosen == {0: 0.1, 1: 0.1} and len(set(found.per_seed.values())) == 1
    with refuses("held_out", "3 images"):
        probe(teacher, few, kind="linear")


def test_other_data_than_the_networks(teacher: Network) -> None:
    other = made_data(classes=5, train=20, seed=3)
    found = probe(teacher, other, kind="linear")
    assert 0.2 < found.mean <= 1


def test_default_neighbours_are_those_there_are_images_for(teacher: Network, grey: ImageData) -> None:
    """36 images, 3 held out: 33 to learn from, so 50 is left out."""
    assert probe(teacher, grey, kind="neighbours").chosen[0] in (20, 10, 5, 1)
    with refuses("candidates", "[1, 33]", "34"):
        probe(teacher, grey, kind="neighbours", candidates=(34, 1))


def test_words() -> None:
    found = Probe(
        mean=0.5, std=0.1, interval=(0.4, 0.6), per_seed={0: 0.4, 1: 0.6}, chosen={0: 0.1, 1: 0.001}, kind="linear",
        network="convnet", cpu_seconds=1.0,
    )  # fmt: skip
    words = "accuracy 0.500 of a linear probe over 2 seeds, 95% interval 0.400 to 0.600, strength 0.001 or 0.1, convnet"
    assert str(found) == words
    one = dataclasses.replace(found, std=None, interval=None, per_seed={0: 0.5}, chosen={0: 5}, kind="neighbours")
    assert str(one) == "accuracy 0.500 of a neighbours probe over 1 seeds, neighbours 5, convnet"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "svm"}, ["kind", "'linear', 'ridge', 'neighbours'"]),
        ({"data": made_data(size=9)}, ["data", "(8, 8)"]),
        ({"data": made_data(classes=1)}, ["data", "at least two classes"]),
        ({"candidates": ()}, ["candidates"]),
        ({"candidates": (0.0, 1.0)}, ["candidates"]),
        ({"seeds": (0, 0)}, ["seeds", "all different"]),
    ],
)
def test_bad_input(changes: dict[str, Any], words: list[str], grey: ImageData, teacher: Network) -> None:
    with refuses(*words):
        probe(**{"network": teacher, "data": grey, "kind": "ridge"} | changes)


@pytest.mark.parametrize("name", PREDICTIONS)
@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"features": torch.ones(0, 2), "labels": torch.zeros(0).long()}, "features"),
        ({"labels": -torch.ones(6).long()}, "labels"),
        ({"setting": 0}, "[1"),
        ({"setting": "1"}, "given '1'"),
    ],
)
def test_bad_reader_input(name: str, changes: dict[str, Any], word: str) -> None:
    good: dict[str, Any] = {
        "features": torch.rand(6, 2),
        "labels": torch.arange(6) % 2,
        "others": torch.rand(3, 2),
        "setting": 1,
    }
    given_values = good | changes
    with refuses(word):
        PREDICTIONS[name](*(given_values[key] for key in ("features", "labels", "others", "setting")))


def test_a_network_of_nan_is_refused(grey: ImageData) -> None:
    network = networks.initialise(networks.spec("convnet", width=4).for_data(grey), seed=0)
    broken = {
        name: value * torch.nan if value.is_floating_point() else value for name, value in network.weights.items()
    }
    with refuses("features"):
        probe(dataclasses.replace(network, weights=broken), grey, kind="ridge")
