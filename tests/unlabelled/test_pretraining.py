"""Pre-training on pairs of views and representations: against torch's modules and optimisers, and
what it refuses.
"""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import networks
from ddlab.core import NonFiniteError
from ddlab.data import ImageData, predefined_views
from ddlab.distilled import DistilledSet, HardLabels, Representations
from ddlab.networks import specification
from ddlab.runs import Inputs, process
from ddlab.training import losses
from ddlab.unlabelled import pretraining
from tests.support import assert_same, doubled, normal_floats, refuses, run_to_end

M = 5
D = 6
TINY = networks.spec("convnet", width=4)


def pairs_of(images: Tensor, values: Tensor, augmentation: Any = "rotation") -> DistilledSet:
    channels = images.shape[1]
    target = Representations({"representations": values}, augmentation)
    return DistilledSet(
        tensors={"images": images},
        targets=(target,),
        class_names=(),
        mean=torch.zeros(channels),
        std=torch.ones(channels),
    )


@pytest.fixture
def distilled() -> DistilledSet:
    """Five colour images of 8 px and the representations of their four turns."""
    return pairs_of(normal_floats(M, 3, 8, 8), normal_floats(4, M, D, seed=1))


def small(**changes: Any) -> pretraining.Config:
    return pretraining.Config(**{"network": TINY, "epochs": 3, "batch_size": 8} | changes)


def test_the_loss_is_the_mean_square() -> None:
    outputs = normal_floats(3, 4).double()
    targets = normal_floats(3, 4, seed=1).double()
    expected = (
        sum((float(outputs[i, j]) - float(targets[i, j])) ** 2 for i in range(3) for j in range(4))
        / 12
    )
    assert float(losses.regression_loss(outputs, targets)) == pytest.approx(expected, rel=1e-12)
    leaf = outputs.clone().requires_grad_()
    (slope,) = torch.autograd.grad(losses.regression_loss(leaf, targets), leaf)
    torch.testing.assert_close(slope, 2 * (outputs - targets) / 12)


def test_each_view_is_seen_once_per_epoch_in_a_new_order() -> None:
    epochs = []
    for e in range(4):
        epochs.append(
            torch.cat([pretraining.rows(20, 3 * e + b, batch_size=8, seed=0) for b in range(3)])
        )
    assert all(epoch.sort().values.tolist() == list(range(20)) for epoch in epochs)
    assert len({tuple(epoch.tolist()) for epoch in epochs}) == 4
    assert [len(pretraining.rows(20, step, batch_size=8, seed=0)) for step in range(4)] == [
        8,
        8,
        4,
        8,
    ]
    assert not torch.equal(
        pretraining.rows(20, 0, batch_size=20, seed=0),
        pretraining.rows(20, 0, batch_size=20, seed=1),
    )


@pytest.mark.parametrize("final_fraction", [1.0, 0.25])
@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
def test_steps_are_torchs(
    distilled: DistilledSet, optimiser: str, final_fraction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch's module in training mode, its optimiser and its cosine, for two epochs in float64."""
    config = small(
        epochs=2,
        optimiser=optimiser,
        final_fraction=final_fraction,
        learning_rate=0.02,
        weight_decay=0.05,
    )
    inputs = Inputs(distilled=distilled)
    total = 6
    state = pretraining.init(config, inputs)
    spec = dataclasses.replace(TINY, channels=3, classes=D, image_size=(8, 8))
    module = specification._build(spec)
    module.load_state_dict(state.weights)
    module.double().train()
    exact = doubled(state.weights)
    state = dataclasses.replace(state, weights=exact, optimiser=_doubled(state.optimiser))
    images, targets = (part.double() for part in distilled.pairs())
    monkeypatch.setattr(DistilledSet, "pairs", lambda self: (images, targets))
    solver_class: Any = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[optimiser]
    torchs = solver_class(
        module.parameters(),
        lr=0.02,
        weight_decay=0.05,
        **({"momentum": 0.9} if optimiser == "sgd" else {}),
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
        torchs, total, eta_min=0.02 * final_fraction
    )
    for step in range(total):
        batch_rows = pretraining.rows(4 * M, step, batch_size=8, seed=0)
        torchs.zero_grad()
        loss = torch.nn.functional.mse_loss(module(images[batch_rows]), targets[batch_rows])
        loss.backward()
        rate = torchs.param_groups[0]["lr"]
        torchs.step()
        schedule.step()
        state, trace = pretraining.update(config, inputs, state)
        assert float(trace.loss) == pytest.approx(loss.item(), rel=1e-9)
        assert trace.learning_rate == pytest.approx(rate, rel=1e-9)
    for name, value in module.state_dict().items():
        torch.testing.assert_close(state.weights[name], value, rtol=1e-8, atol=1e-9)


def _doubled(state: Any) -> Any:
    def double_value(value: Any) -> Any:
        return {n: v.double() for n, v in value.items()} if isinstance(value, dict) else value

    return type(state)(
        *(double_value(getattr(state, field.name)) for field in dataclasses.fields(state))
    )


def test_the_weight_decay_depends_on_the_budget() -> None:
    assert pretraining.Config.paper(budget=1000).weight_decay == 1e-4
    with refuses("budget", "one of 100, 25, 50", "200"):
        pretraining.Config.paper("cifar100", budget=200)


def test_the_rate_stays_where_it_was_published_to_stay(distilled: DistilledSet) -> None:
    rates = [
        step.trace.learning_rate
        for step in process.steps(pretraining, small(), Inputs(distilled=distilled))
    ]
    assert rates == [0.1] * 9


def test_a_network_learns_its_pairs(distilled: DistilledSet) -> None:
    losses = []
    inputs = Inputs(distilled=distilled)
    run_to_end(
        pretraining,
        small(epochs=60),
        inputs,
        on_step=lambda step: losses.append(float(step.trace.loss)),
    )
    assert losses[-1] < 0.5 * losses[0]


def test_the_network_says_representations(distilled: DistilledSet, tmp_path: Path) -> None:
    network = run_to_end(pretraining, small(), Inputs(distilled=distilled))
    assert network.spec.classes == D and networks.predict(
        network, distilled.images
    ).logits.shape == (M, D)
    about = network.provenance
    assert (about["process"], about["complete"], about["step"], about["classifier"]) == (
        "pretraining",
        True,
        9,
        "representations",
    )
    assert (
        about["inputs"] == Inputs(distilled=distilled).fingerprint
        and about["config"] == small().to_dict()
    )
    assert_same(networks.load(network.save(tmp_path / "network")), network)


@pytest.mark.parametrize("augmentation", ["none", "rotation"])
def test_factors_train_like_what_they_make(augmentation: Any) -> None:
    """A set of bases and coefficients, and its images and representations stored as they are: the
    same weights, bit for bit.
    """
    views = len(predefined_views.NAMES[augmentation]) - 1
    tensors = {
        "bases": normal_floats(3, D, seed=1),
        "coefficients": normal_floats(M, 3, seed=2),
        "biases": normal_floats(views, 3, seed=3),
    }
    factors = DistilledSet(
        kind="factorised",
        settings={"scale": 2},
        class_names=(),
        mean=torch.zeros(3),
        std=torch.ones(3),
        tensors={
            "image_bases": normal_floats(4, 3, 4, 4),
            "image_coefficients": normal_floats(M, 4),
        },
        targets=(Representations(tensors, augmentation, "bias"),),
    )
    whole = pairs_of(factors.images, factors.target("representations").values, augmentation)
    first = run_to_end(pretraining, small(), Inputs(distilled=factors))
    second = run_to_end(pretraining, small(), Inputs(distilled=whole))
    assert_same(first.weights, second.weights)


def test_pairs_are_made_once(distilled: DistilledSet, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    augmented = predefined_views.augmented
    monkeypatch.setattr(
        predefined_views, "augmented", lambda *arguments: calls.append(1) or augmented(*arguments)
    )
    run_to_end(pretraining, small(), Inputs(distilled=distilled))
    run_to_end(pretraining, small(seed=1), Inputs(distilled=distilled))
    assert len(calls) == 1


def test_what_it_cannot_train_on(distilled: DistilledSet, grey: ImageData) -> None:
    def run(inputs: Inputs, **changes: Any) -> Any:
        return run_to_end(pretraining, small(**changes), inputs)

    with refuses("distilled", "pretraining", "none"):
        run(Inputs())
    with refuses("distilled", "pretraining", "none"):
        run(Inputs(data=grey))
    labelled = dataclasses.replace(
        distilled, targets=(HardLabels(torch.zeros(M, dtype=torch.int64)),), class_names=("a",)
    )
    with refuses("labels", "['hard']", "'representations'"):
        run(Inputs(distilled=labelled))
    empty = pairs_of(normal_floats(0, 3, 8, 8), normal_floats(4, 0, D))
    with refuses("distilled", "at least one image"):
        run(Inputs(distilled=empty))
    little = pairs_of(normal_floats(M, 3, 6, 6), normal_floats(4, M, D))
    with refuses("image_size", "8", "6"):
        run(Inputs(distilled=little))


@pytest.mark.parametrize(("images", "batch_size"), [(1, 8), (5, 1), (9, 8), (9, 4)])
def test_a_batch_of_one_view_is_refused_where_there_is_batch_norm(
    images: int, batch_size: int
) -> None:
    inputs = Inputs(
        distilled=pairs_of(normal_floats(images, 3, 8, 8), normal_floats(1, images, D), "none")
    )
    with refuses("batch_size", f"the {images} views", "batch norm", str(batch_size)):
        run_to_end(pretraining, small(batch_size=batch_size), inputs)
    plain = networks.spec("convnet", width=4, norm="instance")
    assert run_to_end(pretraining, small(batch_size=batch_size, network=plain), inputs).provenance[
        "complete"
    ]


def test_a_batch_larger_than_the_set_is_the_set(distilled: DistilledSet) -> None:
    trained = [
        run_to_end(pretraining, small(batch_size=size), Inputs(distilled=distilled))
        for size in (20, 21, 10**400)
    ]
    assert [network.provenance["step"] for network in trained] == [3, 3, 3]
    for network in trained[1:]:
        assert_same(network.weights, trained[0].weights)


def test_divergence_is_said(distilled: DistilledSet) -> None:
    plain = networks.spec("convnet", width=4, norm="none")
    with pytest.raises(NonFiniteError, match="pretraining must stay finite"):
        run_to_end(
            pretraining,
            small(network=plain, learning_rate=1e3, epochs=30),
            Inputs(distilled=distilled),
        )
