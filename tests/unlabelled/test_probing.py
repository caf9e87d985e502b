"""Probes: readers against scikit-learn, scipy and loops; what is chosen, and on which images."""

import dataclasses
import statistics
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ddlab import networks
from ddlab.data import ImageData
from ddlab.evaluation import interval
from ddlab.networks import Network
from ddlab.unlabelled import Probe, predictions, probe
from ddlab.unlabelled import probing as rooms
from ddlab.unlabelled.self_supervised import representations
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


def standardised(features: Tensor, test_features: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Mean 0 and variance 1 over `features`, by numpy."""
    learning = features.double().numpy()
    reading = test_features.double().numpy()
    return (learning - learning.mean(0)) / learning.std(0), (
        reading - learning.mean(0)
    ) / learning.std(0)


class TestLogistic:
    @pytest.mark.parametrize("strength", [1.0, 0.01])
    def test_is_the_least_of_its_objective(self, strength: float) -> None:
        """scipy's minimum of the objective as the module writes it, from zero, by its own gradient."""
        from scipy import optimize, special

        features, labels = blobs()
        test_features, _ = blobs(seed=2, count=60)
        learning, reading = standardised(features, test_features)
        truth = np.eye(3)[labels.numpy()]

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            weights = flat[:15].reshape(3, 5)
            bias = flat[15:]
            logits = learning @ weights.T + bias
            error = (special.softmax(logits, axis=1) - truth) / len(learning)
            value = (
                -(truth * special.log_softmax(logits, axis=1)).sum() / len(learning)
                + strength / 2 * (weights**2).sum()
            )
            return value, np.concatenate(
                [(error.T @ learning + strength * weights).ravel(), error.sum(0)]
            )

        best = optimize.minimize(
            objective, np.zeros(18), jac=True, method="BFGS", options={"gtol": 1e-9}
        )
        logits = reading @ best.x[:15].reshape(3, 5).T + best.x[15:]
        margin = np.sort(logits, axis=1)
        clear = margin[:, -1] - margin[:, -2] > 1e-4
        predicted = predictions("linear", features, labels, test_features, strength).numpy()
        assert (
            clear.sum() > 55
            and (predicted[clear] == logits.argmax(1)[clear]).all()
            and len(set(predicted)) == 3
        )

    def test_strength_does_not_grow_with_the_number_of_images(self) -> None:
        (features, labels) = blobs(spread=2.0)
        (test_features, _) = blobs(seed=3, count=200, spread=2.0)
        once = predictions("linear", features, labels, test_features, 0.1)
        thrice = predictions("linear", features.repeat(3, 1), labels.repeat(3), test_features, 0.1)
        assert (once == thrice).float().mean() >= 0.99

    def test_that_does_not_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from ddlab.unlabelled import readers

        monkeypatch.setattr(readers, "_ITERATIONS", 1)
        features, labels = blobs()
        with refuses("setting", "to end in 1 steps", "1e-05"):
            predictions("linear", features, labels, features, 1e-5)


class TestRidge:
    @pytest.mark.parametrize("strength", [1e-6, 0.03, 10.0])
    def test_is_the_least_of_its_objective(self, strength: float) -> None:
        """The normal equations, by numpy; class labels need not be without gaps."""
        (features, labels) = blobs()
        (test_features, _) = blobs(seed=4)
        learning, reading = standardised(features, test_features)
        signs = 2 * np.eye(3)[labels.numpy()] - 1
        weights = np.linalg.solve(
            learning.T @ learning + 40 * strength * np.eye(5), learning.T @ signs
        )
        expected = (reading @ weights + signs.mean(0)).argmax(1)
        assert (
            predictions("ridge", features, labels, test_features, strength).tolist()
            == expected.tolist()
        )
        renamed = torch.tensor([2, 5, 7])[labels]
        predicted = predictions("ridge", features, renamed, test_features, strength)
        assert predicted.tolist() == np.array([2, 5, 7])[expected].tolist()


@pytest.mark.parametrize("kind", ["linear", "ridge"])
@pytest.mark.parametrize("constant", [0.0, -7.3e8, 1e-30])
def test_a_constant_column_is_nothing(kind: str, constant: float) -> None:
    (features, labels) = blobs()
    (test_features, _) = blobs(seed=1)
    expected = predictions(kind, features[:, 1:], labels, test_features[:, 1:], 0.1)
    features[:, 0] = constant
    test_features[:, 0] = constant
    assert torch.equal(predictions(kind, features, labels, test_features, 0.1), expected)


class TestNeighbours:
    @given(seed=st.integers(0, 1000), neighbours=st.integers(1, 9))
    def test_equals_a_loop(self, seed: int, neighbours: int) -> None:
        (features, labels) = blobs(15, seed=seed)
        (test_features, _) = blobs(6, seed=seed + 1)
        predicted = predictions("neighbours", features, labels, test_features, neighbours).tolist()
        for row, label in zip(test_features.double().numpy(), predicted, strict=True):
            cosines = [
                float(row @ f / np.linalg.norm(row) / np.linalg.norm(f))
                for f in features.double().numpy()
            ]
            nearest = sorted(range(15), key=lambda n: -cosines[n])[:neighbours]
            votes = [int((labels[nearest] == kind).sum()) for kind in range(3)]
            assert label == votes.index(max(votes))

    def test_rows_of_zeros_and_of_any_length(self) -> None:
        features = torch.tensor([[1e-9, 0.0], [0.0, 1e9], [0.0, 0.0]])
        predicted = predictions(
            "neighbours",
            features,
            torch.tensor([4, 5, 6]),
            torch.tensor([[2.0, 1.0], [1.0, 2.0]]),
            1,
        )
        assert predicted.tolist() == [4, 5]
        assert (
            len(predictions("neighbours", features, torch.tensor([4, 5, 6]), torch.empty(0, 2), 1))
            == 0
        )


class TestHeldOut:
    @given(
        labels=st.lists(st.integers(0, 3), min_size=12, max_size=60),
        share=st.floats(0.2, 0.9),
        seed=st.integers(0, 99),
    )
    def test_a_share_of_each_class(self, labels: list[int], share: float, seed: int) -> None:
        numbers = torch.tensor(labels)
        learning_rows, held_out_rows = rooms.held_out_part(numbers, held_out=share, seed=seed)
        assert sorted([*learning_rows.tolist(), *held_out_rows.tolist()]) == list(
            range(len(labels))
        )
        for label in set(labels):
            count = labels.count(label)
            assert int((numbers[held_out_rows] == label).sum()) == min(
                round(share * count), count - 1
            )

    def test_follows_the_seed(self) -> None:
        labels = torch.arange(40) % 4
        parts = [
            rooms.held_out_part(labels, held_out=0.5, seed=seed)[1].tolist() for seed in (0, 0, 1)
        ]
        assert parts[0] == parts[1] != parts[2]

    @pytest.mark.parametrize(
        "changes", [{"held_out": 0.0}, {"held_out": 0.01}, {"labels": torch.zeros(0).long()}]
    )
    def test_bad_input(self, changes: dict[str, Any]) -> None:
        with refuses("held_out"):
            rooms.held_out_part(
                **{"labels": torch.arange(8) % 2, "held_out": 0.5, "seed": 0} | changes
            )


@pytest.mark.parametrize("kind", ["linear", "ridge", "neighbours"])
def test_the_best_on_the_held_out_part_learns_again_from_all(
    kind: str, grey: ImageData, teacher: Network
) -> None:
    candidates = [10.0, 0.1, 0.001] if kind != "neighbours" else [20, 7, 1]
    result = probe(teacher, grey, kind=kind, candidates=candidates, held_out=0.3, seeds=(0, 4))
    learning = representations(teacher, grey, "train")
    testing = representations(teacher, grey, "test")
    labels = grey.train_labels
    expected = {}

    def predict(*arguments: Any) -> Tensor:
        return predictions(kind, *arguments)

    for seed in (0, 4):
        learning_rows, held_out_rows = rooms.held_out_part(labels, held_out=0.3, seed=seed)
        right = [
            int(
                (
                    predict(
                        learning[learning_rows],
                        labels[learning_rows],
                        learning[held_out_rows],
                        c,
                    )
                    == labels[held_out_rows]
                ).sum()
            )
            for c in candidates
        ]
        best = candidates[right.index(max(right))]
        assert result.chosen[seed] == best
        expected[seed] = float(
            (predict(learning, labels, testing, best) == grey.test_labels).double().mean()
        )
    assert result.per_seed == pytest.approx(expected) and result.mean == pytest.approx(
        statistics.fmean(expected.values())
    )
    assert result.std == pytest.approx(statistics.stdev(expected.values()))
    assert (
        result.interval == pytest.approx(interval(list(expected.values())))
        and result.cpu_seconds > 0
    )
    assert (result.kind, result.network) == (kind, "convnet(width=8)")


def test_nothing_is_chosen_on_the_test_images(
    grey: ImageData, teacher: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other test images change the accuracy and nothing else; each is read by the chosen readers
    alone.
    """
    other_tests = dataclasses.replace(
        grey, test_images=255 - grey.test_images, test_labels=grey.test_labels.flip(0)
    )
    assert (
        probe(teacher, grey, kind="ridge").chosen
        == probe(teacher, other_tests, kind="ridge").chosen
    )
    test_counts: list[int] = []

    def watched(
        kind: str, features: Tensor, labels: Tensor, test_features: Tensor, setting: float
    ) -> Tensor:
        test_counts.append(len(test_features))
        return predictions(kind, features, labels, test_features, setting)

    monkeypatch.setattr(rooms, "predictions", watched)
    result = probe(teacher, grey, kind="ridge", held_out=0.3)
    assert (
        test_counts == [12] * len(rooms.STRENGTHS) + [len(grey.test_labels)] and result.std is None
    )


def test_one_candidate_needs_nothing_held_out(teacher: Network) -> None:
    few = made_data(train=1)
    result = probe(teacher, few, kind="linear", candidates=(0.1,), seeds=(0, 1))
    assert result.chosen == {0: 0.1, 1: 0.1} and len(set(result.per_seed.values())) == 1
    with refuses("held_out", "3 images"):
        probe(teacher, few, kind="linear")


def test_other_data_than_the_networks(teacher: Network) -> None:
    other_data = made_data(classes=5, train=20, seed=3)
    result = probe(teacher, other_data, kind="linear")
    assert 0.2 < result.mean <= 1


def test_default_neighbours_are_those_there_are_images_for(
    teacher: Network, grey: ImageData
) -> None:
    """36 images, 3 held out: 33 to learn from, so 50 is left out."""
    assert probe(teacher, grey, kind="neighbours").chosen[0] in (20, 10, 5, 1)
    with refuses("candidates", "[1, 33]", "34"):
        probe(teacher, grey, kind="neighbours", candidates=(34, 1))


def test_words() -> None:
    several_seeds = Probe(
        mean=0.5,
        std=0.1,
        interval=(0.4, 0.6),
        per_seed={0: 0.4, 1: 0.6},
        chosen={0: 0.1, 1: 0.001},
        kind="linear",
        network="convnet",
        cpu_seconds=1.0,
    )
    words = (
        "accuracy 0.500 of a linear probe over 2 seeds, 95% interval 0.400 to 0.600, strength "
        "0.001 or 0.1, convnet"
    )
    assert str(several_seeds) == words
    single_seed = dataclasses.replace(
        several_seeds, std=None, interval=None, per_seed={0: 0.5}, chosen={0: 5}, kind="neighbours"
    )
    assert (
        str(single_seed)
        == "accuracy 0.500 of a neighbours probe over 1 seeds, neighbours 5, convnet"
    )


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
def test_bad_input(
    changes: dict[str, Any], words: list[str], grey: ImageData, teacher: Network
) -> None:
    with refuses(*words):
        probe(**{"network": teacher, "data": grey, "kind": "ridge"} | changes)


@pytest.mark.parametrize("name", ["linear", "ridge", "neighbours"])
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
        predictions(
            name, *(given_values[key] for key in ("features", "labels", "others", "setting"))
        )


def test_a_network_of_nan_is_refused(grey: ImageData) -> None:
    network = networks.initialise(networks.spec("convnet", width=4).for_data(grey), seed=0)
    broken = {
        name: value * torch.nan if value.is_floating_point() else value
        for name, value in network.weights.items()
    }
    with refuses("features"):
        probe(dataclasses.replace(network, weights=broken), grey, kind="ridge")
