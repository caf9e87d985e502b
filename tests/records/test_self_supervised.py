"""What records without labels share: their images, and the teacher that is shipped."""

from __future__ import annotations

import torch

from ddlab import data, networks
from ddlab.records import Place, self_supervised
from ddlab.runs.process import Inputs
from ddlab.training import self_supervised as teaching


def test_other_images_are_a_hundred_digits_in_the_shape_of_shapes() -> None:
    world = self_supervised.world(Place(smoke=True))
    digits = data.load("digits")
    assert world.other.train_labels.bincount().tolist() == [10] * 10
    assert (world.other.channels, world.other.image_size) == (3, (16, 16))
    first = [int(digits.of_class(label)[0]) for label in range(10)]
    assert torch.equal(world.other.train_images[::10, :1], digits.train_images[first])
    assert torch.equal(world.other.test_labels, digits.test_labels)


def test_the_shipped_teacher_is_the_records() -> None:
    """Its provenance names these images and this recipe: no label was read."""
    world = self_supervised.world(Place())
    teacher = networks.load(self_supervised.SHIPPED)
    assert teacher.provenance["process"] == "self_supervised" and teacher.provenance["complete"] is True
    # What came to the config later has its default in the recipe.
    recipe, plain = world.teaching.to_dict(), teaching.Config().to_dict()
    assert recipe == {**plain, **teacher.provenance["config"]}
    assert teacher.provenance["inputs"] == Inputs(data=world.data).fingerprint
    assert teacher.spec == world.teaching.network.for_data(world.data)
    assert world.teacher(Place()).fingerprint == teacher.fingerprint
    assert self_supervised.SHIPPED.stat().st_size < 10**5
