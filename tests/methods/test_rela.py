"""ReLA-D: its equations against numpy in float64, and the set that comes out."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.methods import rela, selection
from ddlab.networks import Network
from ddlab.runs import Inputs, process
from tests.support import assert_same, made_data, refuses, run_to_end


@pytest.fixture
def inputs(grey: ImageData, teacher: Network) -> Inputs:
    return Inputs(data=grey, teachers=(teacher,))


def random_features(count: int = 50, width: int = 6, seed: int = 0) -> Tensor:
    """float32, correlated, of unlike scales and far from 0."""
    draw = torch.Generator().manual_seed(seed)
    mixed = torch.randn(count, width, generator=draw) @ torch.randn(width, width, generator=draw)
    return mixed * torch.logspace(-2, 1, width) + 5


def components_of(features: Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, deviations along the components and the components, by numpy's SVD of all points at
    once.
    """
    values = features.double().numpy()
    centred = values - values.mean(0)
    _, sizes, right = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(1)])
    return values.mean(0), sizes / np.sqrt(len(values) - 1), (right * signs[:, None]).T


def test_the_components_are_those_of_pca() -> None:
    """By SVD, which forms no covariance."""
    features = random_features()
    basis = rela.principal_components(features, 4)
    mean, deviations, directions = components_of(features)
    np.testing.assert_allclose(basis["mean"].numpy(), mean, atol=1e-10)
    np.testing.assert_allclose(basis["deviations"].numpy(), deviations[:4], atol=1e-10)
    np.testing.assert_allclose(basis["directions"].numpy(), directions[:, :4], atol=1e-10)


def test_the_targets_are_standardised_components() -> None:
    features = random_features()
    basis = rela.principal_components(features, 4)
    mean, deviations, directions = components_of(features)
    expected = (
        (features.double().numpy() - mean)
        @ directions[:, :4]
        / (deviations[:4] + 1e-6 * deviations[0])
    )
    np.testing.assert_allclose(rela.targets(features, basis).numpy(), expected, atol=1e-5)
    whitened = np.cov(rela.targets(features, basis).double().numpy().T)
    np.testing.assert_allclose(whitened, np.eye(4), atol=1e-3)


def test_a_component_without_variance_is_nothing() -> None:
    """Three images have two components; the rest is rounding, which must not be blown up."""
    features = random_features(3)
    targets = rela.targets(features, rela.principal_components(features, 6))
    assert (
        targets.isfinite().all() and targets[:, 2:].abs().max() < 1e-2 < targets[:, :2].abs().min()
    )


@pytest.mark.parametrize("batch_size", [5, 36])
def test_the_set(
    batch_size: int, inputs: Inputs, grey: ImageData, teacher: Network, tmp_path: Path
) -> None:
    """Images bit for bit, not copied; targets of a student of 4 features, by numpy; written and
    read.
    """
    config = rela.SMALL.replace(ratio=1.0, batch_size=batch_size)
    distilled = run_to_end(rela, config, inputs)
    assert (
        distilled.kind == "bytes"
        and distilled.tensors["pixels"].data_ptr() == grey.train_images.data_ptr()
    )
    assert (
        torch.equal(distilled.images, grey.normalised())
        and distilled.provenance["prior"] == teacher.fingerprint
    )
    features = networks.predict(teacher, grey.normalised()).features
    mean, deviations, directions = components_of(features)
    expected = (features.double().numpy() - mean) @ directions[:, :4] / deviations[:4]
    np.testing.assert_allclose(
        distilled.target("representations").values[0].numpy(), expected, atol=1e-4
    )
    again = DistilledSet.load(distilled.save(tmp_path / "set"))
    assert_same(again, distilled)
    assert again.fingerprint == distilled.fingerprint and torch.equal(
        again.to_uint8(), grey.train_images
    )
    assert torch.equal(again.rows(torch.tensor([3, 1])), grey.normalised([3, 1]))
    assert distilled.storage_floats() == grey.train_images.numel() // 4 + 4 * 36 and repr(
        distilled
    ) == repr(again)
    with refuses("indices", "0 to 35", "36"):
        distilled.rows(torch.tensor([36]))
    for wrong in ({"pixels": distilled.images}, {"images": distilled.images}):
        with refuses("pixels"):
            dataclasses.replace(distilled, tensors=wrong)


def test_a_static_part(inputs: Inputs, grey: ImageData) -> None:
    config = rela.SMALL.replace(ratio=0.5, seed=3)
    first = process.start(rela, config, inputs)
    distilled = run_to_end(rela, config, inputs)
    assert len(distilled) == 18 == len({*first.indices.tolist()})
    assert torch.equal(distilled.images, grey.normalised(first.indices))
    assert not torch.equal(
        first.indices, process.start(rela, config.replace(seed=4), inputs).indices
    )
    half = dataclasses.replace(inputs, data=grey)
    steps = [*process.steps(rela, config, half)]
    partly = rela.finish(config, inputs, steps[0].state)
    assert (
        len(steps) == 2
        and len(partly) == 9
        and not partly.complete
        and torch.equal(partly.images, distilled.images[:9])
    )
    later_features = networks.predict(half.teachers[0], distilled.images[9:]).features
    assert float(steps[1].trace.variance) == pytest.approx(
        float(later_features.double().numpy().var(0).sum()), rel=1e-4
    )


def test_a_labelled_set_gets_targets(inputs: Inputs) -> None:
    """Of a set of training images those that the whole run gives them; its labels stay."""
    chosen = run_to_end(selection, selection.Config(images_per_class=2), inputs)
    config = rela.SMALL.replace(ratio=1.0)
    with_targets = rela.with_targets(chosen, config, inputs)
    assert torch.equal(with_targets.labels, chosen.labels)
    whole = run_to_end(rela, config, inputs)
    places = [
        int((whole.images == image).flatten(1).all(1).nonzero()[0]) for image in chosen.images
    ]
    torch.testing.assert_close(
        with_targets.target("representations").values[0],
        whole.target("representations").values[0][places],
        atol=1e-4,
        rtol=1e-4,
    )
    colour = run_to_end(
        selection, selection.Config(images_per_class=1), Inputs(data=made_data(channels=3))
    )
    with refuses("distilled", "1 channels"):
        rela.with_targets(colour, config, inputs)


def test_what_it_cannot_make(inputs: Inputs, grey: ImageData, teacher: Network) -> None:
    with refuses("components", "at most 4", "5"):
        run_to_end(rela, rela.SMALL.replace(components=5), inputs)
    wide = rela.SMALL.replace(network=networks.spec("convnet", width=64), components=33)
    with refuses("components", "at most 8", "33"):  # the teacher's
        run_to_end(rela, wide, inputs)
    with refuses("ratio", "at least two of 36"):
        run_to_end(rela, rela.SMALL.replace(ratio=0.03), inputs)
    with refuses("ratio", "(0, 1]"):
        rela.Config(ratio=0.0)
    still = dataclasses.replace(
        grey, train_images=grey.train_images[:1].expand(36, -1, -1, -1).clone()
    )
    with refuses("teacher", "differ between images", "36"):
        run_to_end(rela, rela.SMALL.replace(ratio=1.0), Inputs(data=still, teachers=(teacher,)))
    with refuses("components", "6", "7"):
        rela.principal_components(random_features(), 7)
    with refuses("features", "two images"):
        rela.principal_components(random_features(1), 2)
    assert rela.Config.paper("tiny-imagenet") == rela.Config()
