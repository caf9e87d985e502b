"""What stands on the page of lesson 41 is the library's: pairs with their gradients, and shift networks after 20 updates, in float64."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from ddlab import networks
from ddlab.core.randomness import generator
from ddlab.data import ImageData
from ddlab.distilled import shift_models
from ddlab.methods import boost, krr_st
from ddlab.runs import cache
from ddlab.runs.process import Inputs
from tests.lessons import whole_method
from tests.support import made_data

SEED, U, V, COUNT, STEPS = 3, 5, 4, 6, 20


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What stands on the page before the method, in float64; the library sees the same numbers."""
    cache.clear()
    normalised = ImageData.normalised
    monkeypatch.setattr(ImageData, "normalised", lambda *given, **more: normalised(*given, **more).double())
    data = made_data(size=8, train=60)
    drawn = networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=0)
    weights = {name: value.double() if value.is_floating_point() else value for name, value in drawn.weights.items()}
    return {
        "torch": torch, "F": F, "generator": generator, "data": data, "teacher": dataclasses.replace(drawn, weights=weights),
        "seed": SEED, "U": U, "V": V, "count": COUNT, "fitting_steps": STEPS,
    }  # fmt: skip


def in_the_library(
    page: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> tuple[boost.Config, dict[str, torch.Tensor]]:
    """Boost's first factors; the teacher's features are those of the page, which are float64."""
    monkeypatch.setattr(krr_st, "teacher_features", lambda inputs: page["wanted"])
    config = boost.Config(
        image_bases=U,
        representation_bases=V,
        pairs=COUNT,
        seed=SEED,
        pool_size=1,
        network=networks.spec("convnet", width=2),
    )
    inputs = Inputs(data=page["data"], teachers=(page["teacher"],))
    return config, boost.init(config, inputs).parameters


def test_pairs_and_their_gradients_are_the_librarys(space: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    page = whole_method.run("41_views", space)
    config, first = in_the_library(page, monkeypatch)
    ours = [value.clone().requires_grad_() for value in (page["Bx"], page["Cx"], page["By"], page["Cy"])]
    names = ("image_bases", "image_coefficients", "representation_bases", "representation_coefficients")
    theirs = [first[name].clone().requires_grad_() for name in names]
    made = page["pairs_of"](*ours), boost.pairs(config, dict(zip(names, theirs, strict=True)))
    for one, other in zip(*made, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
    slopes = [
        torch.autograd.grad((images**3).mean() + (targets**3).mean(), factors)
        for (images, targets), factors in zip(made, (ours, theirs), strict=True)
    ]
    for one, other in zip(*slopes, strict=True):
        # A basis and its coefficients may have changed their sign together.
        torch.testing.assert_close(one.abs(), other.reshape(one.shape).abs(), rtol=1e-8, atol=1e-10)


def test_shift_networks_are_the_librarys(space: dict[str, Any]) -> None:
    page = whole_method.run("41_views", space)
    found = shift_models.fit(page["Cy"][0], page["Cy"][1:], "networks", hidden=4, seed=SEED, steps=STEPS)
    for value, name in zip(page["Q"], shift_models.TENSORS["networks"], strict=True):
        torch.testing.assert_close(value.detach(), found[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("term", "without"), [("falling.step()", "None"), (".mean((1, 2)).sum()", ".mean()"), ("torch.relu", "")]
)
def test_a_term_of_the_shift_networks_that_is_left_out_is_seen(
    space: dict[str, Any], term: str, without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = [source.replace(term, without) for source in whole_method.sources("41_views")]
    assert changed != whole_method.sources("41_views")
    monkeypatch.setattr(whole_method, "sources", lambda *_given: changed)
    with pytest.raises(AssertionError, match="close"):
        test_shift_networks_are_the_librarys(space)
