"""Images become a set with all kinds of labels."""

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.methods._labelling import labelled_set
from ddlab.networks import Network
from ddlab.runs.process import Inputs


def test_labelled_set(grey: ImageData, teacher: Network) -> None:
    images, labels = grey.normalised([0, 12, 24]), torch.arange(3)
    inputs = Inputs(data=grey, teachers=(teacher,))
    made = labelled_set(images, labels, inputs, complete=False, provenance={"method": "x"})
    assert [target.kind for target in made.targets] == [
        "hard",
        "stored",
        "online",
    ] and not made.complete
    assert torch.equal(made.target("stored").logits, networks.predict(teacher, images).logits)
    assert made.target("online").fingerprint == teacher.fingerprint
    assert made.provenance == {"method": "x", "data": grey.name, "inputs": inputs.fingerprint}
    several = (teacher, networks.initialise(teacher.spec, seed=1))
    mean = sum(networks.predict(each, images).logits for each in several) / 2
    both = labelled_set(
        images, labels, Inputs(data=grey, teachers=several), complete=True, provenance={}
    )
    torch.testing.assert_close(both.target("stored").logits, mean)
    assert both.target("online").fingerprints == tuple(each.fingerprint for each in several)
    alone = labelled_set(images, labels, Inputs(data=grey), complete=True, provenance={})
    assert [target.kind for target in alone.targets] == ["hard"]


def test_pixels_that_left_for_nowhere_are_said(grey: ImageData) -> None:
    with pytest.warns(UserWarning, match="values up to .* has diverged"):
        made = ddlab.distill(
            "kip", grey, learning_rate=1e4, iterations=5, batch_size=8, progress=False
        )
    assert made.complete
    with pytest.warns(UserWarning, match="values up to 255, .* not normalised like the data"):
        ddlab.from_images(
            grey.train_images[:3].float() / grey.train_images[:3].max() * 255,
            grey.train_labels[:3],
            grey,
        )
