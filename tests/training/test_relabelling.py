"""Labels from several teachers, against loops over plain modules; students that need them all."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, OnlineTeacher
from ddlab.methods import selection
from ddlab.networks import Network
from ddlab.runs import Inputs
from ddlab.training import supervised
from ddlab.training.relabelling import teacher_logits
from tests.networks.test_networks import plain
from tests.support import assert_unchanged, refuses, run_to_end, snapshot


@pytest.fixture
def teachers(grey: ImageData, teacher: Network, other_teacher: Network) -> tuple[Network, ...]:
    """Three of two architectures."""
    third = networks.initialise(networks.spec("convnet", width=3).for_data(grey), seed=2)
    return teacher, other_teacher, third


@pytest.mark.parametrize("count", [1, 2, 3])
def test_they_are_the_mean_of_modules(
    count: int, teachers: tuple[Network, ...], grey: ImageData
) -> None:
    images = grey.normalised(slice(0, 10))
    before = snapshot((teachers, images))
    logits = teacher_logits(teachers[:count], images)
    by_teacher = [
        plain(teacher).double().eval()(images.double()).detach().numpy()
        for teacher in teachers[:count]
    ]
    np.testing.assert_allclose(logits.numpy(), np.mean(by_teacher, axis=0), rtol=1e-4, atol=1e-4)
    assert_unchanged(before, (teachers, images))
    assert not logits.requires_grad
    if count == 1:
        assert torch.equal(logits, networks.predict(teachers[0], images).logits), (
            "of one teacher its own bits"
        )


@pytest.mark.parametrize(
    ("count", "batch_parts", "parts"), [(10, 2, (5, 5)), (7, 2, (4, 3)), (3, 2, (3,)), (7, 1, (7,))]
)
def test_teachers_in_training_mode_see_each_part_of_a_batch_for_itself(
    count: int,
    batch_parts: int,
    parts: tuple[int, ...],
    teachers: tuple[Network, ...],
    grey: ImageData,
) -> None:
    images = grey.normalised(slice(0, count))
    before = snapshot(teachers)
    logits = teacher_logits(teachers[:2], images, batch_parts=batch_parts)
    by_teacher = []
    for teacher in teachers[:2]:
        by_teacher.append(
            torch.cat(
                [
                    plain(teacher).double().train()(part.double()).detach()
                    for part in images.split(parts)
                ]
            )
        )
    torch.testing.assert_close(
        logits.double(), torch.stack(by_teacher).mean(0), rtol=1e-4, atol=1e-4
    )
    assert_unchanged(before, teachers)


def test_what_is_refused(teacher: Network, grey: ImageData) -> None:
    images = grey.normalised(slice(0, 4))
    four_classes = networks.initialise(dataclasses.replace(teacher.spec, classes=4), seed=0)
    wrong: list[tuple[Any, list[str]]] = [
        ((), ["teachers", "none"]),
        ((teacher, four_classes), ["teachers", "same number of classes", "[3, 4]"]),
    ]
    for wrong_teachers, words in wrong:
        with refuses(*words):
            teacher_logits(wrong_teachers, images)
    with refuses("images"):
        teacher_logits(teacher, images[:, :, :5])


def test_a_set_of_several_teachers_stores_their_mean_and_needs_them_all_in_any_order(
    grey: ImageData, distilled: DistilledSet, teachers: tuple[Network, ...]
) -> None:
    several_teachers_set = run_to_end(
        selection, selection.Config(images_per_class=2), Inputs(data=grey, teachers=teachers)
    )
    torch.testing.assert_close(
        several_teachers_set.target("stored").logits,
        teacher_logits(teachers, several_teachers_set.images),
    )
    first, *later_fingerprints = (teacher.fingerprint for teacher in teachers)
    assert several_teachers_set.target("online") == OnlineTeacher(first, tuple(later_fingerprints))
    config = supervised.SMALL.replace(labels="online", epochs=1)
    for some_teachers in (teachers, teachers[::-1]):
        run_to_end(
            supervised, config, Inputs(distilled=several_teachers_set, teachers=some_teachers)
        )
    for some_teachers in (teachers[:2], (*teachers, teachers[0]), teachers[:1]):
        with refuses("teacher", "ones that made the set", teachers[2].fingerprint):
            run_to_end(
                supervised, config, Inputs(distilled=several_teachers_set, teachers=some_teachers)
            )
    with refuses("teacher", "the one that made the set"):
        run_to_end(supervised, config, Inputs(distilled=distilled, teachers=teachers))
