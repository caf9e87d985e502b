"""The teacher against a plain PyTorch loop; what is trained, what is dropped, what is never looked
at.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ddlab import networks
from ddlab.data import ImageData
from ddlab.networks import Network
from ddlab.runs import Inputs, cache, process
from ddlab.unlabelled import self_supervised
from ddlab.unlabelled.self_supervised import project, projector_weights, representations
from ddlab.unlabelled.self_supervised.teacher import _learning_rate
from tests.networks.test_networks import plain
from tests.support import assert_same, made_data, refuses, run_to_end

SMALL: dict[str, Any] = {
    "network": networks.spec("convnet", width=4),
    "projector_width": 6,
    "projector_depth": 3,
    "epochs": 4,
    "warmup_epochs": 1,
    "batch_size": 8,
    "crop_area": 0.5,
}


def config(**changes: Any) -> self_supervised.Config:
    return self_supervised.Config(**SMALL | changes)


def module_of(weights: dict[str, Tensor], depth: int) -> nn.Sequential:
    """The projector as a script has it."""
    layers: list[nn.Module] = []
    for number in range(depth):
        linear = nn.Linear(*reversed(weights[f"linear.{number}"].shape), bias=False)
        linear.weight.data = weights[f"linear.{number}"].clone()
        layers.append(linear)
        if number < depth - 1:
            norm = nn.BatchNorm1d(linear.out_features)
            norm.weight.data = weights[f"scale.{number}"].clone()
            norm.bias.data = weights[f"shift.{number}"].clone()
            layers += [norm, nn.ReLU()]
    return nn.Sequential(*layers)


class TestProjector:
    @pytest.mark.parametrize("depth", [1, 2, 3])
    def test_equals_torchs_layers(self, depth: int) -> None:
        draw = torch.Generator().manual_seed(0)
        weights = projector_weights(5, widths=(4, 3, 2)[:depth], seed=0)
        moved = {
            name: value + 0.1 * torch.randn(value.shape, generator=draw)
            for name, value in weights.items()
        }
        features = torch.randn((7, 5), generator=draw)
        torch.testing.assert_close(project(moved, features), module_of(moved, depth)(features))

    def test_is_drawn_as_torch_draws(self) -> None:
        """Uniform in plus and minus 1 / sqrt(inputs), each layer for itself."""
        weights = projector_weights(400, widths=(100,) * 3, seed=3)
        assert [name for name in weights if name.startswith("linear")] == [
            "linear.0",
            "linear.1",
            "linear.2",
        ]
        for number, inputs in enumerate((400, 100, 100)):
            layer = weights[f"linear.{number}"]
            bound = inputs**-0.5
            assert layer.shape == (100, inputs) and layer.abs().max() <= bound
            error = bound / (3 * layer.numel()) ** 0.5
            assert abs(float(layer.mean())) < 4 * error and float(layer.std()) == pytest.approx(
                bound / 3**0.5, rel=0.02
            )
        assert not torch.equal(weights["linear.1"], weights["linear.2"])
        assert_same(weights, projector_weights(400, widths=(100,) * 3, seed=3))
        assert not torch.equal(
            weights["linear.0"], projector_weights(400, widths=(100,) * 3, seed=4)["linear.0"]
        )
        assert all(
            (weights[f"scale.{n}"] == 1).all() and (weights[f"shift.{n}"] == 0).all()
            for n in (0, 1)
        )


def plain_training(
    settings: self_supervised.Config, data: ImageData, module: Any, projector: Any, steps: int
) -> list[Any]:
    """The loop of a script; order, views and learning rates are the library's, which stand tested
    apart.
    """
    hooked: dict[str, Tensor] = {}
    module.classifier.register_forward_pre_hook(lambda _, inputs: hooked.update(features=inputs[0]))
    normalise = nn.BatchNorm1d(settings.projector_width, affine=False)
    losses = []
    learnt = [
        p for name, p in module.named_parameters() if not name.startswith("classifier")
    ] + list(projector.parameters())
    matrices = [p for p in learnt if p.ndim > 1]
    vectors = [p for p in learnt if p.ndim == 1]
    ratio = settings.bias_learning_rate / settings.learning_rate
    if settings.optimiser == "adamw":
        solver: Any = torch.optim.AdamW(learnt, weight_decay=settings.weight_decay)
        scales = [1.0]
    else:
        solver = torch.optim.SGD(
            [{"params": matrices}, {"params": vectors}], lr=0.1, momentum=settings.momentum
        )
        scales = [1.0, ratio]
    inputs = Inputs(data=data)
    total = self_supervised.total_steps(settings, inputs)
    for step in range(steps):
        rate = _learning_rate(settings, len(data.train_labels), step, total)
        for group, scale in zip(solver.param_groups, scales, strict=True):
            group["lr"] = rate * scale
        images = data.normalised(settings.indices(len(data.train_labels), step))
        projections = []
        for view in settings.pair(images, mean=data.mean, std=data.std, step=step):
            module.train()(view)
            projections.append(projector(hooked["features"]))
        correlation = normalise(projections[0]).T @ normalise(projections[1]) / len(images)
        difference = (correlation - torch.eye(settings.projector_width)) ** 2
        diagonal = difference.diagonal().sum()
        loss = diagonal + settings.off_diagonal_weight * (difference.sum() - diagonal)
        solver.zero_grad()
        loss.backward()
        for value in matrices if settings.optimiser == "lars" else ():
            assert value.grad is not None
            decayed = value.grad + settings.weight_decay * value.detach()
            value.grad = decayed * settings.trust * value.detach().norm() / decayed.norm()
        solver.step()
        losses.append((loss.detach(), correlation.diagonal().mean().detach()))
    return losses


@pytest.mark.parametrize("optimiser", ["lars", "adamw"])
@pytest.mark.parametrize("colours", [1, 3])
def test_updates_equal_a_plain_loop(optimiser: str, colours: int) -> None:
    data = made_data(channels=colours, train=8)
    changes = (
        {"learning_rate": 3.0, "trust": 0.02} if optimiser == "lars" else {"learning_rate": 0.3}
    )
    settings = config(
        optimiser=optimiser, weight_decay=0.01, off_diagonal_weight=0.1, seed=5, **changes
    )
    inputs = Inputs(data=data)
    state = self_supervised.init(settings, inputs)
    module = plain(Network(spec=settings.network.for_data(data), weights=state.weights))
    projector: Any = module_of(state.projector, 3)
    expected = plain_training(settings, data, module, projector, 5)
    for step in process.steps(self_supervised, settings, inputs):
        loss, agreement = expected[step.index - 1]
        torch.testing.assert_close(step.trace.loss, loss, rtol=2e-4, atol=1e-5)
        torch.testing.assert_close(step.trace.agreement, agreement, rtol=2e-4, atol=1e-5)
        state = step.state
        if step.index == 5:
            break
    for name, value in module.state_dict().items():
        if name.endswith(("convolution.bias", "running_mean")):
            # Before batch norm a bias has no gradient but rounding errors, which Adam scales up.
            continue
        torch.testing.assert_close(state.weights[name], value, rtol=2e-3, atol=2e-4, msg=name)
    for number in range(3):
        our_weights = state.projector[f"linear.{number}"]
        expected_weights = projector[3 * number].weight.detach()
        torch.testing.assert_close(our_weights, expected_weights, rtol=2e-3, atol=2e-4)


def test_what_is_trained_and_what_is_dropped(grey: ImageData) -> None:
    inputs = Inputs(data=grey)
    settings = config(optimiser="adamw", learning_rate=0.1)
    before = self_supervised.init(settings, inputs).weights
    network = run_to_end(self_supervised, settings, inputs)
    assert network.weights.keys() == before.keys() and network.spec == settings.network.for_data(
        grey
    )
    for name, value in network.weights.items():
        assert torch.equal(value, before[name]) is name.startswith("classifier."), name
    assert network.provenance["classifier"] == "untrained" and network.provenance["complete"]
    assert self_supervised.Config.from_string(settings.to_string()) == settings
    assert network.provenance["config"]["projector_width"] == 6


@pytest.mark.slow
def test_views_come_to_agree(grey: ImageData) -> None:
    """In the mean of three seeds; one seed of so small a teacher may end anywhere, by rounding
    alone.
    """
    first, last = [], []
    for seed in range(3):
        settings = config(optimiser="adamw", learning_rate=0.1, epochs=60, seed=seed)
        traces = [
            step.trace for step in process.steps(self_supervised, settings, Inputs(data=grey))
        ]
        first, last = first + traces[:8], last + traces[-8:]
    for name, rises in (("agreement", True), ("loss", False)):
        start = sum(float(getattr(trace, name)) for trace in first)
        end = sum(float(getattr(trace, name)) for trace in last)
        assert (end > start) is rises, name


def test_fewer_images_than_a_batch(grey: ImageData) -> None:
    settings = config(batch_size=1000, epochs=2, warmup_epochs=0)
    assert self_supervised.total_steps(settings, Inputs(data=grey)) == 2
    assert run_to_end(self_supervised, settings, Inputs(data=grey)).provenance["complete"]


class TestRepresentations:
    def test_equal_the_networks_features(
        self, grey: ImageData, teacher: Network, no_cache: None
    ) -> None:
        for split in ("train", "test"):
            rows = representations(teacher, grey, split)
            torch.testing.assert_close(
                rows, networks.predict(teacher, grey.normalised(split=split)).features
            )

    def test_are_computed_once(
        self, grey: ImageData, teacher: Network, no_cache: None, monkeypatch: Any
    ) -> None:
        calls = []
        predict = networks.predict
        monkeypatch.setattr(
            networks, "predict", lambda *arguments: calls.append(1) or predict(*arguments)
        )
        rows = representations(teacher, grey)
        rows_again = representations(dataclasses.replace(teacher), grey)
        assert torch.equal(rows, rows_again) and len(calls) == 1
        rows.zero_()  # a copy: what one reader changes is nobody else's
        rows = representations(teacher, grey)
        assert torch.equal(rows, rows_again) and len(calls) == 1
        inverted = dataclasses.replace(grey, train_images=255 - grey.train_images)
        assert not torch.equal(representations(teacher, inverted), rows) and len(calls) == 2
        cache.clear()
        assert torch.equal(representations(teacher, grey), rows) and len(calls) == 3

    @pytest.mark.parametrize(
        ("changes", "word"), [({"channels": 3}, "1 channels"), ({"size": 9}, "(8, 8)")]
    )
    def test_images_of_another_shape(
        self, changes: dict[str, Any], word: str, teacher: Network
    ) -> None:
        with refuses(word):
            representations(teacher, made_data(**changes))

    def test_features_that_are_not_finite(self, grey: ImageData, teacher: Network) -> None:
        broken = {
            name: value * torch.nan if value.ndim == 4 else value
            for name, value in teacher.weights.items()
        }
        with refuses("features", "finite"):
            representations(dataclasses.replace(teacher, weights=broken), grey)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: config(warmup_epochs=4), ["warmup_epochs", "4"]),
        (lambda: self_supervised.Config.paper("mnist"), ["dataset", "cifar10"]),
        (lambda: process.start(self_supervised, config(), Inputs()), ["data"]),
        (
            lambda: process.start(
                self_supervised, config(), Inputs(data=made_data(classes=1, train=1))
            ),
            ["data", "at least two"],
        ),
    ],
)
def test_bad_input(call: Callable[[], Any], words: list[str]) -> None:
    with refuses(*words):
        call()


def test_presets() -> None:
    small = self_supervised.Config.paper("cifar100", seed=3)
    assert (small.batch_size, small.projector_width, small.seed) == (256, 2048, 3)
    assert (
        self_supervised.Config.for_data(made_data(channels=3)).flip
        and not self_supervised.Config.teaching().flip
    )
