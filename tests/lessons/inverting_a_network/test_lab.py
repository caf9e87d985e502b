"""Lesson 20: what the laboratory of recovery measures, and when its quest is met."""

from collections.abc import Iterator

import pytest
import torch

from ddlab.data import ImageData
from ddlab.explorers import Laboratory
from ddlab.lessons.inverting_a_network import lab
from ddlab.networks import Network
from ddlab.training import supervised


@pytest.fixture
def place(grey: ImageData, teacher: Network) -> Iterator[Laboratory]:
    student = supervised.Config.quick(grey, epochs=1)
    laboratory = lab.RecoveryLab(grey, teacher, student=student, iterations=4, device="cpu")
    laboratory.run()
    yield laboratory
    laboratory.close()


def test_offsets_are_those_of_the_layers_inputs(grey: ImageData, teacher: Network) -> None:
    images = grey.normalised(slice(6))
    expected = []

    def compare(layer: torch.nn.BatchNorm2d, arguments: tuple[torch.Tensor]) -> None:
        mean = arguments[0].double().mean((0, 2, 3))
        expected.append((mean - layer.running_mean) / layer.running_var.double().sqrt())

    module = teacher.module()
    for layer in module.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.register_forward_pre_hook(compare)
    module(images)
    offsets = lab.channel_offsets(teacher, images)
    torch.testing.assert_close(offsets.double(), torch.cat(expected), rtol=1e-4, atol=1e-5)


def test_the_histogram_has_every_channel_once() -> None:
    offsets = torch.tensor([-9.0, -0.1, 0.1, 0.1, 9.0])
    (curve,) = lab.offset_histogram({"images": offsets}, height=300).data
    assert sum(curve.y) == pytest.approx(1.0) and curve.y[0] == curve.y[-1] == pytest.approx(0.2)


def test_one_weight_is_that_of_both_gaps(place: Laboratory) -> None:
    place.panel["weight"].value = 0.01
    config = place.world.config(place.settings)
    assert config.lambda_mean == config.lambda_var == 0.01
    place.panel["weight"].value = 0.0
    config = place.world.config(place.settings)
    assert config.lambda_mean == config.lambda_var == 0.0


def test_every_setting_that_was_tried_is_a_point(place: Laboratory) -> None:
    place.panel["weight"].value = 0.03
    place.panel["initialisation"].value = "real"
    place.run()
    arms, on_show, accuracies = lab.students_data(
        place.world, place.settings, place.results
    ).values()
    assert [(start, [weight for weight, _ in tried]) for start, tried in arms] == [
        ("noise", [0.0]),
        ("real", [0.03]),
    ]
    assert on_show == 0.03 and None not in accuracies
    assert arms[1][1] == ((0.03, accuracies[0]),)
