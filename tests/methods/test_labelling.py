"""Images become a set with all kinds of labels."""

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.methods.shared.labelling import labelled_set
from ddlab.networks import Network
from ddlab.runs import Inputs


def test_labelled_set(grey: ImageData, teacher: Network) -> None:
    images, labels = grey.normalised([0, 12, 24]), torch.arange(3)
    inputs = Inputs(data=grey, teachers=(teacher,))
    distilled = labelled_set(images, labels, inputs, complete=False, provenance={"method": "x"})
    assert [target.kind for target in distilled.targets] == [
        "hard",
        "stored",
        "online",
    ] and not distilled.complete
    assert torch.equal(distilled.target("stored").logits, networks.predict(teacher, images).logits)
    assert distilled.target("online").fingerprint == teacher.fingerprint
    assert distilled.provenance == {"method": "x", "data": grey.name, "inputs": inputs.fingerprint}
    several = (teacher, networks.initialise(teacher.spec, seed=1))
    mean = sum(networks.predict(network, images).logits for network in several) / 2
    of_several = labelled_set(
        images, labels, Inputs(data=grey, teachers=several), complete=True, provenance={}
    )
    torch.testing.assert_close(of_several.target("stored").logits, mean)
    assert of_several.target("online").fingerprints == tuple(
        network.fingerprint for network in several
    )
    alone = labelled_set(images, labels, Inputs(data=grey), complete=True, provenance={})
    assert [target.kind for target in alone.targets] == ["hard"]


def test_pixels_that_left_for_nowhere_are_said(grey: ImageData) -> None:
    with pytest.warns(UserWarning, match="values up to .* has diverged"):
        distilled = ddlab.distill(
            "kip", grey, learning_rate=1e4, iterations=5, batch_size=8, progress=False
        )
    assert distilled.complete
    with pytest.warns(UserWarning, match="values up to 255, .* not normalised like the data"):
        ddlab.from_images(
            grey.train_images[:3].float() / grey.train_images[:3].max() * 255,
            grey.train_labels[:3],
            grey,
        )
