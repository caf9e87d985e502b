"""Kernel regression on a set, by hand."""

import numpy as np
import pytest
import torch

from ddlab import evaluation
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, RegressionLabels
from ddlab.methods.distillation import from_images
from ddlab.methods.shared.kernels import KernelSpec, kernel_matrix
from tests.support import made_data, refuses


def first_images(data: ImageData, count: int) -> DistilledSet:
    return from_images(data.normalised(range(count)), data.train_labels[:count], data)


@pytest.mark.parametrize("kernel", ["rbf", "fc2"])
def test_predictions_by_hand(kernel: str, grey: ImageData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation.kernel_regression, "_AT_ONCE", 5)
    support = grey.normalised([0, 13, 26])
    test_images = grey.normalised(split="test")
    labels = torch.eye(3)
    spec = KernelSpec(kernel=kernel)
    within = kernel_matrix(spec, support.double(), support.double()).numpy()
    cross = kernel_matrix(spec, test_images.double(), support.double()).numpy()
    by_hand = cross @ np.linalg.inv(within + 0.1 * np.trace(within) / 3 * np.eye(3)) @ np.eye(3)
    predictions = evaluation.kernel_predictions(
        support, labels, test_images, kernel=spec, ridge=0.1
    )
    np.testing.assert_allclose(predictions.numpy(), by_hand, rtol=1e-9)
    few = first_images(grey, 30)
    by_regression = evaluation.kernel_predictions(
        few.images, torch.eye(3)[few.labels] - 1 / 3, test_images, kernel=kernel
    )  # type: ignore[arg-type]
    right = (by_regression.argmax(1) == grey.test_labels).double().mean()
    assert evaluation.kernel_accuracy(few, grey, labels="hard", kernel=spec) == pytest.approx(
        float(right)
    )


def test_labels_of_a_regression_are_asked_for(grey: ImageData) -> None:
    few = first_images(grey, 36)
    turned = few.with_targets(RegressionLabels(torch.eye(3)[(few.labels + 1) % 3] - 1 / 3))
    hard = evaluation.kernel_accuracy(turned, grey, labels="hard")
    regression = evaluation.kernel_accuracy(turned, grey, labels="regression")
    assert hard > 0.9 and regression < 0.1
    with refuses("labels", "'hard'", "'regression'"):
        evaluation.kernel_accuracy(few, grey, labels="regression")


def test_refuses_in_a_sentence(grey: ImageData) -> None:
    some = grey.normalised([0, 1])
    with refuses("images", "at least one"):
        evaluation.kernel_predictions(some[:0], torch.zeros(0, 3), some)
    with refuses("ridge", "invertible"):
        evaluation.kernel_predictions(some[[0, 0]], torch.eye(3)[:2], some, ridge=0.0)
    with refuses("distilled", "like the data"):
        evaluation.kernel_accuracy(first_images(grey, 3), made_data(channels=3), labels="hard")
