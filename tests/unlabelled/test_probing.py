"""Probes: readers against scipy and numpy, and on which images they learn and are tested."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ddlab import networks
from ddlab.data import ImageData
from ddlab.networks import Network
from ddlab.unlabelled import predictions, probe
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
        with refuses("strength", "to end in 1 steps", "1e-05"):
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


def test_it_is_logistic_regression_on_the_networks_features(
    grey: ImageData, teacher: Network
) -> None:
    """The test images are looked at last, for the accuracy alone."""
    learning = representations(teacher, grey, "train")
    testing = representations(teacher, grey, "test")
    predicted = predictions("linear", learning, grey.train_labels, testing, 0.1)
    expected = float((predicted == grey.test_labels).double().mean())
    assert probe(teacher, grey, strength=0.1) == expected
    others = dataclasses.replace(grey, test_images=255 - grey.test_images)
    assert probe(teacher, others, strength=0.1) != expected


def test_other_data_than_the_networks(teacher: Network) -> None:
    other_data = made_data(classes=5, train=20, seed=3)
    assert 0.2 < probe(teacher, other_data) <= 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": made_data(size=9)}, ["data", "(8, 8)"]),
        ({"data": made_data(classes=1)}, ["data", "at least two classes"]),
        ({"strength": 0.0}, ["strength"]),
    ],
)
def test_bad_input(
    changes: dict[str, Any], words: list[str], grey: ImageData, teacher: Network
) -> None:
    with refuses(*words):
        probe(**{"network": teacher, "data": grey} | changes)


@pytest.mark.parametrize("name", ["linear", "ridge"])
@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"features": torch.ones(0, 2), "labels": torch.zeros(0).long()}, "features"),
        ({"labels": -torch.ones(6).long()}, "labels"),
        ({"strength": 0}, "strength"),
        ({"strength": "1"}, "given '1'"),
    ],
)
def test_bad_reader_input(name: str, changes: dict[str, Any], word: str) -> None:
    good: dict[str, Any] = {
        "features": torch.rand(6, 2),
        "labels": torch.arange(6) % 2,
        "others": torch.rand(3, 2),
        "strength": 1.0,
    }
    given_values = good | changes
    with refuses(word):
        predictions(
            name, *(given_values[key] for key in ("features", "labels", "others", "strength"))
        )


def test_a_network_of_nan_is_refused(grey: ImageData) -> None:
    network = networks.initialise(networks.spec("convnet", width=4).for_data(grey), seed=0)
    broken = {
        name: value * torch.nan if value.is_floating_point() else value
        for name, value in network.weights.items()
    }
    with refuses("features"):
        probe(dataclasses.replace(network, weights=broken), grey)
