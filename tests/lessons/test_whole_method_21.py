"""The cells of lesson 21 that hold DWA whole, beside the library's method, in float64."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import ddlab
from ddlab import networks
from ddlab.core import optimisers
from ddlab.core.randomness import generator
from ddlab.methods import dwa
from ddlab.methods.recovery import real_image_indices
from ddlab.runs.process import Inputs
from ddlab.training import supervised
from tests.lessons import whole_method
from tests.support import made_data

LESSON = "21_diversity"
UPDATES = 20  # of each of two batches


@pytest.fixture(scope="module")
def given() -> tuple[Any, networks.Network]:
    """Small data, and a teacher in float64 whose batch norms remember something."""
    data = made_data(train=12)
    config = supervised.Config.teaching("teacher", network=networks.spec("convnet", width=4), epochs=3)
    teacher = ddlab.train_teacher(data, config, progress=False)
    double = {name: value.double() if value.is_floating_point() else value for name, value in teacher.weights.items()}
    return data, dataclasses.replace(teacher, weights=double)


def in_double(state: dwa.State) -> dwa.State:
    """A batch that begins does so in float32."""
    if state.images.dtype == torch.float64:
        return state
    images = state.images.double()
    return dataclasses.replace(state, images=images, optimiser=optimisers.adam_init({"images": images}))


def by_the_library(data: Any, teacher: networks.Network) -> torch.Tensor:
    config = dwa.Config.teaching(images_per_class=2, iterations=UPDATES, adjustment_radius=0.3)
    inputs = Inputs(data=data, teachers=(teacher,))
    state = in_double(dwa.init(config, inputs))
    for _ in range(2 * UPDATES):
        state, _ = dwa.update(config, inputs, state)
        state = in_double(state)
    return torch.cat(state.done)


def by_the_lesson(data: Any, teacher: networks.Network, *changes: tuple[str, str]) -> torch.Tensor:
    source = "\n\n".join(whole_method.sources(LESSON))
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    given = {"copy": copy, "torch": torch, "F": F, "generator": generator, "real_image_indices": real_image_indices}
    space: dict[str, Any] = given
    exec(source, space)
    push = lambda network, images, labels: space["push"](network, images, labels, radius=0.3)  # noqa: E731
    return space["recover"](teacher.module(), data, 0, 2, push, iterations=UPDATES)


def test_the_method_is_the_librarys_for_20_updates_of_two_batches(given) -> None:
    lines = [whole_method.lines(source) for source in whole_method.sources(LESSON)]
    assert len(lines) <= 4 and max(lines) <= 15 and sum(lines) <= 60
    torch.testing.assert_close(by_the_lesson(*given), by_the_library(*given), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "change",
    [
        ("radius / steps * gradient / length", "radius / steps * gradient"),
        ("weight += radius", "weight -= radius"),
        ("pushed = push(network, images, labels)", "pushed = copy.deepcopy(network)"),
        ("pushed = push(network, images, labels)", "network = pushed = push(network, images, labels)"),
        ("lambda_mean * mean_gap", "0 * mean_gap"),
        ("lambda_var * variance_gap", "0 * variance_gap"),
        ("lambda_var=0.11", "lambda_var=0.01"),
        ("(10 if number == 0 else 1) * ", ""),
        (".roll(shift, (2, 3))", ""),
        ("generator(seed, step, ", "generator(seed, step % iterations, "),
        ("images.clamp_(*black_white)", "pass"),
    ],
)
def test_it_is_not_without_any_of_its_parts(given, change: tuple[str, str]) -> None:
    assert float((by_the_lesson(*given, change) - by_the_library(*given)).abs().max()) > 1e-4
