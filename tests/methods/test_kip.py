"""KIP against its loss written out with scikit-learn and torch.optim in float64; what is never
updated; what it must refuse.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge
from torch import Tensor

import ddlab
from ddlab import evaluation
from ddlab.distilled import DistilledSet, RegressionLabels
from ddlab.methods import kip, selection
from ddlab.methods.shared import kernels
from ddlab.methods.shared.kernels import kernel_matrix
from ddlab.runs import Inputs, process
from tests.support import made_data, normal_doubles, refuses, run_to_end

SMALL: dict[str, Any] = {"images_per_class": 2, "iterations": 4, "batch_size": 11}


def config(**changes: Any) -> kip.Config:
    return kip.Config(**SMALL | changes)


@pytest.mark.parametrize("strength", [1e-6, 0.1])
def test_predictions_are_scikit_learns(strength: float) -> None:
    features = normal_doubles(5, 7)
    real = normal_doubles(4, 7, seed=1)
    labels = normal_doubles(5, 3, seed=2)
    support = features @ features.T
    cross = real @ features.T
    model = KernelRidge(alpha=strength * np.trace(support.numpy()) / 5, kernel="precomputed").fit(
        support.numpy(), labels.numpy()
    )
    predicted = kip.predictions(support, cross, labels, strength=strength)
    np.testing.assert_allclose(
        predicted.numpy(), model.predict(cross.numpy()), rtol=1e-8, atol=1e-9
    )
    targets = normal_doubles(4, 3, seed=3)
    assert float(kip.kernel_loss(predicted, targets)) == pytest.approx(
        float(((targets - predicted) ** 2).sum()) / 24
    )


def test_gradients_pass_through_the_ridge_too() -> None:
    def loss(support: Tensor, cross: Tensor, labels: Tensor) -> Tensor:
        support = support @ support.T
        return kip.kernel_loss(
            kip.predictions(support, cross, labels, strength=0.3), normal_doubles(4, 2, seed=9)
        )

    leaves = [
        part.requires_grad_()
        for part in (
            normal_doubles(3, 5),
            normal_doubles(4, 3, seed=1),
            normal_doubles(3, 2, seed=2),
        )
    ]
    assert torch.autograd.gradcheck(loss, leaves)
    kernel = normal_doubles(3, 3).requires_grad_()
    torch.testing.assert_close(
        torch.autograd.grad(kip.mean_ridge(kernel, strength=0.3), kernel)[0],
        0.1 * torch.eye(3).double(),
    )


def test_labels_are_centred() -> None:
    centred = kip.centred_labels(torch.tensor([2, 0]), 4)
    assert centred.tolist() == [[-0.25, -0.25, 0.75, -0.25], [0.75, -0.25, -0.25, -0.25]]


@pytest.mark.parametrize("learn_labels", [False, True])
@pytest.mark.parametrize("kernel", ["fc2", "rbf", "conv1"])
def test_is_its_loss_and_torchs_adam(kernel: str, learn_labels: bool, inputs: Inputs) -> None:
    settings = config(kernel=kernel, learn_labels=learn_labels, ridge=1e-3)
    state = kip.init(settings, inputs)
    data = inputs.data
    assert data is not None
    images = state.images.clone().requires_grad_()
    labels = state.labels.clone().requires_grad_()
    adam = torch.optim.Adam([images, labels] if learn_labels else [images], lr=0.04)
    for step in process.steps(kip, settings, inputs, state):
        real, targets = kip.target_batch(settings, inputs, step.index - 1)
        spec = kip.draw_kernel(settings, 0)
        points = images.double()
        within = kernel_matrix(spec, points, points)
        cross = kernel_matrix(spec, real.double(), points)
        regular = within + 1e-3 * within.trace() / 6 * torch.eye(6, dtype=torch.float64)
        predicted = cross @ torch.linalg.inv(regular) @ labels.double()
        loss = ((targets - predicted) ** 2).sum() / (2 * 9 * 3)
        adam.zero_grad()
        loss.backward()
        adam.step()
        assert float(step.trace.loss) == pytest.approx(float(loss.detach()), rel=1e-6)
        right = [
            int(p.argmax()) == int(w.argmax()) for p, w in zip(predicted, targets, strict=True)
        ]
        assert float(step.trace.accuracy_fraction) == pytest.approx(sum(right) / 9)
        torch.testing.assert_close(step.state.images, images.detach(), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(step.state.labels, labels.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["noise", "zeros"])
def test_corrupted_numbers_are_a_share_of_each_image_and_stay(kind: str, inputs: Inputs) -> None:
    settings = config(corruption=0.3, corrupted_by=kind)
    first = kip.init(settings, inputs)
    last = list(process.steps(kip, settings, inputs, first))[-1].state
    clean = kip.init(config(), inputs)
    fixed = first.corrupted
    assert fixed.flatten(1).sum(1).tolist() == [round(0.3 * 64)] * 6 and not bool(
        (fixed[0] == fixed[1]).all()
    )
    assert torch.equal(last.corrupted, fixed) and torch.equal(
        last.images[fixed], first.images[fixed]
    )
    assert torch.equal(first.images[~fixed], clean.images[~fixed]) and not bool(
        (last.images == first.images)[~fixed].any()
    )
    if kind == "zeros":
        assert bool((first.images[fixed] == 0).all())
    else:
        assert (
            abs(float(first.images[fixed].mean())) < 0.4
            and 0.7 < float(first.images[fixed].std()) < 1.3
        )


def test_random_kernels_are_the_six() -> None:
    settings = config(kernel="random", kind="nngp", weight_std=1.1)
    specs = [kip.draw_kernel(settings, step) for step in range(60)]
    assert {spec.kernel for spec in specs} == set(kernels.SIX)
    assert {(spec.kind, spec.weight_std) for spec in specs} == {("nngp", 1.1)}


def test_real_images_of_a_step_are_drawn_anew_and_augmented(inputs: Inputs) -> None:
    step_0 = kip.target_batch(config(), inputs, 0)
    step_1 = kip.target_batch(config(), inputs, 1)
    assert step_0[1].argmax(1).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2], (
        "of 11 as many of each class"
    )
    assert len(torch.unique(step_0[0], dim=0)) == 9 and not torch.equal(step_0[0], step_1[0])
    everything, labels = kip.target_batch(config(batch_size=99), inputs, 0)
    data = inputs.data
    assert (
        data is not None
        and torch.equal(everything, data.normalised())
        and torch.equal(labels.argmax(1), data.train_labels)
    )
    views = kip.target_batch(config(batch_size=99, strategy="flip"), inputs, 0)[0]
    unchanged = (views == everything).flatten(1).all(1)
    assert 0 < int(unchanged.sum()) < len(unchanged) and torch.equal(
        views[~unchanged], everything[~unchanged].flip(3)
    )


@pytest.mark.parametrize("name", ["digits", "shapes"])
def test_learned_points_teach_more_than_the_mean_of_each_class(name: str) -> None:
    data = ddlab.data.load(name, size=16)
    for seed in range(2):
        distilled = run_to_end(
            kip, kip.Config.teaching(iterations=150, seed=seed), Inputs(data=data, device="cpu")
        )
        means = ddlab.distill(
            "selection",
            data,
            config=selection.Config(kind="average", images_per_class=1),
            progress=False,
        )
        learned = evaluation.kernel_accuracy(distilled, data, labels="hard")
        mean = evaluation.kernel_accuracy(means, data, labels="hard")
        assert learned > mean + 0.01


def test_the_set_has_labels_for_a_regression_and_for_students(
    inputs: Inputs, tmp_path: Path
) -> None:
    data = inputs.data
    assert data is not None
    distilled = run_to_end(kip, config(learn_labels=True, iterations=30), inputs)
    assert isinstance(
        distilled.target("regression"), RegressionLabels
    ) and distilled.labels.tolist() == [
        0,
        1,
        2,
        0,
        1,
        2,
    ]
    back = DistilledSet.load(distilled.save(tmp_path / "set"))
    assert back.fingerprint == distilled.fingerprint and torch.equal(
        back.target("regression").values, distilled.target("regression").values
    )
    assert (
        distilled.storage_floats() == 6 * 64 + 6 + 18
        and len(distilled.as_dataset("regression")[0][1]) == 3
    )
    student = ddlab.training.supervised.SMALL.replace(
        epochs=60, mixup_alpha=0.0, network=ddlab.networks.spec("vit", width=16, depth=1)
    )
    scores = evaluation.evaluate(back, data, labels="regression", config=student, seeds=[0])
    assert scores.mean > 0.6  # chance is a third


# Three grey images are equal.
@pytest.mark.filterwarnings("ignore:.*are training images too:UserWarning")
def test_bad_input_is_named(inputs: Inputs) -> None:
    with refuses("images_per_class", "at most 12"):
        process.start(kip, config(images_per_class=13), inputs)
    # More points than images.
    many = run_to_end(kip, config(images_per_class=20, initialisation="noise"), inputs)
    assert len(many) == 60 and bool(torch.isfinite(many.images).all())
    twice = made_data(train=1)
    equal = Inputs(
        data=ddlab.data.from_arrays(
            twice.train_images[:1].expand(6, -1, -1, -1).numpy(), [0, 1, 2] * 2
        ),
        device="cpu",
    )
    with refuses("ridge", "invertible"):
        run_to_end(kip, config(images_per_class=1, ridge=0.0), equal)
    distilled = run_to_end(
        kip, config(images_per_class=1), equal
    )  # constant images, and all the same
    assert bool(torch.isfinite(distilled.images).all())
    assert bool(torch.isfinite(run_to_end(kip, config(ridge=0.0), inputs).images).all())
    for changes, words in (
        ({"strategy": "colour"}, "color"),
        ({"corruption": 1.0}, "0.99"),
        ({"kernel": "fc9"}, "'fc1'"),
    ):
        with refuses(*changes, words):
            config(**changes)
