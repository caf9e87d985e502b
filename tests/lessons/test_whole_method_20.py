"""The cells of lesson 20 that hold SRe2L whole and the loss of online labels, beside the library and beside sums by hand, in float64."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import ddlab
from ddlab import networks
from ddlab.core import optimisers
from ddlab.core.randomness import generator
from ddlab.data.augmentation import View
from ddlab.methods import sre2l
from ddlab.runs.process import Inputs
from ddlab.training import losses, supervised
from tests.lessons import whole_method
from tests.support import made_data

LESSON = "20_inverting_a_network"
UPDATES = 20


@pytest.fixture(scope="module")
def given() -> tuple[Any, networks.Network]:
    """Small data, and a teacher in float64 whose batch norms remember something."""
    data = made_data(train=12)
    spec = networks.spec("convnet", width=4)
    config = supervised.Config.teaching("teacher", network=spec, epochs=3)
    teacher = ddlab.train_teacher(data, config, progress=False)
    double = {name: value.double() if value.is_floating_point() else value for name, value in teacher.weights.items()}
    return data, dataclasses.replace(teacher, weights=double)


def by_the_library(data: Any, teacher: networks.Network) -> torch.Tensor:
    config, inputs = sre2l.Config.teaching(iterations=UPDATES, lambda_var=0.02), Inputs(data=data, teachers=(teacher,))
    state = sre2l.init(config, inputs)
    images = state.images.double()
    state = dataclasses.replace(state, images=images, optimiser=optimisers.adam_init({"images": images}))
    for _ in range(UPDATES):
        state, _ = sre2l.update(config, inputs, state)
    return state.images


def by_the_lesson(data: Any, teacher: networks.Network, *changes: tuple[str, str]) -> torch.Tensor:
    (source,) = whole_method.sources(LESSON)
    source = source[: source.index("recovered = ")]  # what uses the method needs the lesson's data
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    space: dict[str, Any] = {"torch": torch, "F": F, "generator": generator}
    exec(source, space)
    return space["recover"](teacher, data, 0, iterations=UPDATES, lambda_var=0.02)


def test_the_method_is_the_librarys_for_20_updates(given) -> None:
    assert whole_method.lines(whole_method.sources(LESSON)[0]) <= 30
    torch.testing.assert_close(by_the_lesson(*given), by_the_library(*given), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        ("lambda_mean * mean_gap", "0 * mean_gap"),
        ("lambda_var * variance_gap", "0 * variance_gap"),
        ("(10 if number == 0 else 1) * ", ""),
        (".roll(shift, (2, 3))", ""),
        ("F.cross_entropy(", "0 * F.cross_entropy("),
        ("images.clamp_(low, high)", "pass"),
        ("cosine.step()", "pass"),
        ("betas=(0.5, 0.9)", "betas=(0.9, 0.999)"),
    ],
)
def test_it_is_not_without_any_of_its_parts(given, change: tuple[str, str]) -> None:
    assert float((by_the_lesson(*given, change) - by_the_library(*given)).abs().max()) > 1e-4


def test_online_labels_are_the_librarys_and_a_sum_by_hand(given) -> None:
    data, teacher = given
    recipe = supervised.Config.teaching(network=networks.spec("convnet", width=4))
    statistics = {"mean": data.mean.double(), "std": data.std.double()}
    space: dict[str, Any] = {"torch": torch, "recipe": recipe, "data": SimpleNamespace(**statistics)}
    whole_method.run(LESSON, space, "relabel")
    assert whole_method.lines(whole_method.sources(LESSON, "relabel")[0]) <= 8
    images = torch.randn(6, data.channels, *data.image_size, generator=generator(1)).double()
    student = networks.initialise(recipe.network.for_data(data), seed=1).module().double().train()
    found = space["online_loss"](student, teacher.module(), images, 3).detach()

    view: View = recipe.view(images, **statistics, step=3)
    targets = supervised.online_targets(view, teacher, temperature=4.0, teacher_mode="eval")
    library = losses.distillation_loss(student(view.images).detach(), targets, temperature=4.0)
    torch.testing.assert_close(found, library, rtol=1e-12, atol=1e-12)

    total = 0.0
    for asked, guessed in zip(teacher.module()(view.images).tolist(), student(view.images).tolist(), strict=True):
        p, q = ([math.exp(value / 4) for value in row] for row in (asked, guessed))
        total += sum(a / sum(p) * math.log((a / sum(p)) / (b / sum(q))) for a, b in zip(p, q, strict=True))
    assert float(found) == pytest.approx(total / 6, rel=1e-9)
    softer = space["online_loss"](student, teacher.module(), images, 3, temperature=8.0).detach()
    assert float(softer) != pytest.approx(float(found), rel=1e-3)
