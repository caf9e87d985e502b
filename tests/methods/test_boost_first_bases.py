"""Boost's first bases: kept components, cut to U and V, are those that `principal_bases` finds for
each of them anew.
"""

import pytest
import torch

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled.factorisation import downsampled
from ddlab.methods import boost, krr_st
from ddlab.runs import Inputs, cache
from ddlab.unlabelled.bases import principal_bases
from tests.support import made_data, refuses


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data(size=8, train=40)


@pytest.fixture(scope="module")
def inputs(data: ImageData) -> Inputs:
    teacher = networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=0)
    return Inputs(data=data, teachers=(teacher,))


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_kept_components_are_those_found_anew(data: ImageData, inputs: Inputs, scale: int) -> None:
    small = downsampled(data.normalised(torch.arange(len(data.train_labels))), scale=scale)
    features = krr_st.teacher_features(inputs)
    cache.clear()
    for count in (3, 1, 4, 3):
        config = boost.Config.teaching(scale=scale, image_bases=count, representation_bases=count)
        bases, _ = boost.image_start(config, inputs, torch.arange(5))
        assert torch.equal(bases, principal_bases(small, count=count).bases)
        start_bases, _ = boost.representation_start(config, inputs)
        assert torch.equal(start_bases, principal_bases(features, count=count, centred=False).bases)
        bases.zero_()  # what is kept is not what is given


def test_more_bases_than_the_rank_are_refused_by_their_name(
    data: ImageData, inputs: Inputs
) -> None:
    with refuses("image_bases", "[1, 4]", "rank", "5"):
        boost.image_start(boost.Config.teaching(scale=4, image_bases=5), inputs, torch.arange(5))
    with refuses("representation_bases", "rank of these 120 points", "17"):
        boost.representation_start(boost.Config.teaching(representation_bases=17), inputs)


def test_large_sets_are_not_kept(
    data: ImageData, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = boost.Config.teaching(scale=2, image_bases=3)
    first_bases, _ = boost.image_start(config, inputs, torch.arange(5))
    cache.clear()
    monkeypatch.setattr(boost, "_FEW", 10)
    monkeypatch.setattr(boost, "is_exact", lambda points: False)
    monkeypatch.setattr(cache, "remember", lambda *_: pytest.fail("nothing is to be kept"))
    again, _ = boost.image_start(config, inputs, torch.arange(5))
    assert torch.equal(first_bases, again)
