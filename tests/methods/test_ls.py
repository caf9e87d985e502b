"""Label solve against numpy's least squares; batch by batch as at once; on noise and on another
dataset's images.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

import ddlab
from ddlab import evaluation
from ddlab.methods import kip, ls
from ddlab.methods.distillation import from_images
from ddlab.methods.shared.kernels import KernelSpec, kernel_matrix
from ddlab.runs import Inputs, process
from tests.support import made_data, normal_doubles, refuses, run_to_end


def test_equation_8_number_by_number() -> None:
    features = normal_doubles(4, 6)
    real = normal_doubles(9, 6, seed=1)
    targets = normal_doubles(9, 2, seed=2)
    support = (features @ features.T).numpy()
    cross = (real @ features.T).numpy()
    gram = cross.T @ cross
    moments = cross.T @ targets.numpy()
    ridges = [0.2 * np.trace(part) / 4 for part in (support, gram)]
    by_hand = (
        (support + ridges[0] * np.eye(4)) @ np.linalg.inv(gram + ridges[1] * np.eye(4)) @ moments
    )
    solved = ls.solved_labels(*map(torch.tensor, (support, gram, moments)), strength=0.2)
    np.testing.assert_allclose(solved.numpy(), by_hand, rtol=1e-9)


def test_without_a_ridge_the_predictions_are_the_nearest_that_any_labels_give() -> None:
    features = normal_doubles(4, 6)
    real = normal_doubles(9, 6, seed=1)
    targets = normal_doubles(9, 2, seed=2)
    support = features @ features.T
    cross = real @ features.T
    labels = ls.solved_labels(support, cross.T @ cross, cross.T @ targets, strength=0.0)
    weights = np.linalg.lstsq(cross.numpy(), targets.numpy(), rcond=None)[0]
    predicted = kip.predictions(support, cross, labels, strength=0.0)
    np.testing.assert_allclose(predicted.numpy(), cross.numpy() @ weights, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", ["fc1", "conv2"])
def test_batches_give_the_labels_of_all_images_at_once(kernel: str, inputs: Inputs) -> None:
    settings: dict[str, Any] = {"kernel": kernel, "images_per_class": 2, "ridge": 1e-3}
    parts = run_to_end(ls, ls.Config(batch_size=7, **settings), inputs)
    whole = run_to_end(ls, ls.Config(batch_size=99, **settings), inputs)
    data = inputs.data
    torch.testing.assert_close(
        parts.target("regression").values, whole.target("regression").values, rtol=1e-4, atol=1e-5
    )
    assert data is not None
    spec = KernelSpec(kernel=kernel)
    points = whole.images.double()
    within = kernel_matrix(spec, points, points)
    cross = kernel_matrix(spec, data.normalised().double(), points)
    targets = kip.centred_labels(data.train_labels, 3)
    by_hand = ls.solved_labels(within, cross.T @ cross, cross.T @ targets, strength=1e-3)
    torch.testing.assert_close(
        whole.target("regression").values, by_hand.float(), rtol=1e-4, atol=1e-5
    )


def test_images_stay_and_test_images_are_never_seen(inputs: Inputs) -> None:
    data = inputs.data
    settings = ls.Config(images_per_class=2)
    assert data is not None
    other_tests = dataclasses.replace(
        data, test_images=data.test_images.flip(0), test_labels=data.test_labels.flip(0)
    )
    of_data = run_to_end(ls, settings, Inputs(data=data, device="cpu"))
    of_other_tests = run_to_end(ls, settings, Inputs(data=other_tests, device="cpu"))
    assert torch.equal(
        of_data.target("regression").values, of_other_tests.target("regression").values
    )
    assert torch.equal(of_data.images, ls.init(settings, inputs).images)


def test_noise_and_images_of_another_dataset_with_solved_labels() -> None:
    digits = ddlab.data.load("digits")
    shapes = ddlab.data.aligned(ddlab.data.load("shapes", size=16), digits)
    noise = run_to_end(
        ls, ls.Config.teaching(initialisation="noise"), Inputs(data=digits, device="cpu")
    )
    strange = from_images(shapes.normalised(range(100)), shapes.train_labels[:100], shapes)
    lent = run_to_end(
        ls, ls.Config.teaching(), Inputs(data=digits, distilled=strange, device="cpu")
    )
    assert torch.equal(lent.images, strange.images)
    for image_set in (noise, lent):
        solved = evaluation.kernel_accuracy(image_set, digits, labels="regression")
        as_begun = evaluation.kernel_accuracy(image_set, digits, labels="hard")
        assert solved > 0.9 > 0.5 > as_begun


def test_refuses_in_a_sentence(inputs: Inputs) -> None:
    with refuses("images_per_class", "at most 12"):
        process.start(ls, ls.Config(images_per_class=13), inputs)
    few = Inputs(data=made_data(train=1), device="cpu")
    # More points than images: the ridge alone decides.
    nine_each = ls.Config(images_per_class=9, initialisation="noise")
    assert bool(torch.isfinite(run_to_end(ls, nine_each, few).target("regression").values).all())
    with refuses("ridge", "invertible", "27 rows"):
        run_to_end(ls, nine_each.replace(ridge=0.0), few)
    colour = made_data(channels=3)
    wrong = from_images(colour.normalised([0, 1]), colour.train_labels[:2], colour)
    with refuses("distilled", "like the data"):
        process.start(ls, ls.Config(), Inputs(data=made_data(), distilled=wrong, device="cpu"))
