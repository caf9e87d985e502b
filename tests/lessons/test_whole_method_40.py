"""The method on the page of lesson 40 is the library's: in float64, with the same draws, over the first 20 outer steps."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from ddlab import networks
from ddlab.core.randomness import derived_seed, generator
from ddlab.data import ImageData
from ddlab.methods import krr_st
from ddlab.networks import Network
from ddlab.runs import process
from ddlab.runs.process import Inputs
from tests.lessons import whole_method
from tests.support import made_data

T, L, Z, SEED = 20, 2, 4, 3
INNER = networks.spec("convnet", width=3, growth=2, depth=2)


def doubled(network: Network) -> Network:
    return dataclasses.replace(
        network,
        weights={
            name: value.double() if value.is_floating_point() else value for name, value in network.weights.items()
        },
    )


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What stands on the page before the method, in float64; the library sees the same numbers."""
    normalised, initialise = ImageData.normalised, networks.initialise
    monkeypatch.setattr(ImageData, "normalised", lambda *given, **more: normalised(*given, **more).double())
    monkeypatch.setattr(networks, "initialise", lambda spec, *, seed: doubled(initialise(spec, seed=seed)))
    data = made_data(size=8, train=60)
    teacher = networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=0)
    return {
        "torch": torch, "networks": networks, "derived_seed": derived_seed, "generator": generator, "data": data,
        "teacher": teacher, "seed": SEED, "T": T, "L": L, "Z": Z, "inner": INNER,
    }  # fmt: skip


def by_the_library(space: dict[str, Any], wanted: torch.Tensor, patch: pytest.MonkeyPatch) -> tuple[Any, list[float]]:
    """What is distilled after 20 outer steps, and their losses; the targets are those of the page, which are float64."""
    patch.setattr(krr_st, "teacher_features", lambda inputs: wanted)
    config = krr_st.Config(
        budget=20, network=INNER, pool_size=L, pool_steps=Z, iterations=T, batch_size=256, learning_rate=1e-2, seed=SEED
    )
    taken = list(process.steps(krr_st, config, Inputs(data=space["data"], teachers=(space["teacher"],))))
    return taken[-1].state.parameters, [float(step.trace.loss) for step in taken if step.trace.phase == "outer"]


def test_the_page_is_the_librarys_krr_st(space: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    page = whole_method.run("40_bases", space)
    known = networks.predict(space["teacher"], space["data"].normalised()).features
    torch.testing.assert_close(page["wanted"], known, rtol=1e-12, atol=1e-12)
    found, losses = by_the_library(space, page["wanted"], monkeypatch)
    assert page["losses"] == pytest.approx(losses, rel=1e-7) and len(losses) == T
    torch.testing.assert_close(page["X"].detach(), found["images"], rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(page["Y"].detach(), found["representations"], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("term", "without"),
    [
        ("made @ made.T + 1", "made @ made.T"),
        ("1e-6 * K", "1e-4 * K"),
        ("births[index], age[index] = births[index] + 1, 0", "births[index] = births[index] + 1"),
        ("adam.step(), falling.step(), ", "adam.step(), "),
    ],
)
def test_a_term_that_is_left_out_is_seen(
    space: dict[str, Any], term: str, without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = [source.replace(term, without) for source in whole_method.sources("40_bases")]
    assert changed != whole_method.sources("40_bases")
    monkeypatch.setattr(whole_method, "sources", lambda *_given: changed)
    page = whole_method.run("40_bases", space)
    _, losses = by_the_library(space, page["wanted"], monkeypatch)
    assert page["losses"] != pytest.approx(losses, rel=1e-4)
