"""What stands on the page of lesson 05 is the library's, after 20 updates in float64: DM whole, and DC for one image per class."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ddlab
from ddlab import networks
from ddlab.core.randomness import derived_seed, generator
from ddlab.data import ImageData
from ddlab.methods import dc, dm, selection
from ddlab.runs.process import Inputs
from tests.lessons import whole_method
from tests.support import made_data

LESSON, SEED, UPDATES, BATCH = "05_matching", 3, 20, 7
NETWORK = networks.spec("convnet", width=32, norm="instance")
TOLERANCE: dict[str, Any] = {"rtol": 0, "atol": 1e-9}
Changes = tuple[tuple[str, str], ...]
IN_DOUBLE = ("progress=False).images", "progress=False).images.double()")  # a distilled set holds float32


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> ImageData:
    """Small data; pixels and fresh networks are in float64 on the page and in the library."""
    normalised, initialise = ImageData.normalised, networks.initialise

    def in_double(*given: Any, **more: Any) -> networks.Network:
        drawn = initialise(*given, **more)
        weights = {name: each.double() if each.is_floating_point() else each for name, each in drawn.weights.items()}
        return dataclasses.replace(drawn, weights=weights)

    monkeypatch.setattr(networks, "initialise", in_double)
    monkeypatch.setattr(ImageData, "normalised", lambda *given, **more: normalised(*given, **more).double())
    return made_data(size=16)  # in 8 pixels the gradients of DC double what rounding does at every update


def in_the_library(process: Any, config: Any, data: ImageData) -> Tensor:
    inputs = Inputs(data=data, device="cpu")
    state = process.init(config, inputs)
    for _ in range(UPDATES):
        state, _ = process.update(config, inputs, state)
    return state.images


def by_matching_features(data: ImageData, images_per_class: int) -> Tensor:
    config = dm.Config.teaching(images_per_class=images_per_class, iterations=UPDATES, batch_size=BATCH, seed=SEED)
    assert config.network == NETWORK
    return in_the_library(dm, config, data)


def by_matching_gradients(data: ImageData) -> Tensor:
    config = dc.Config.teaching(networks=UPDATES, batch_size=BATCH, initialisation="real", seed=SEED)
    assert config.network == NETWORK and config.loops == (1, 1)
    return in_the_library(dc, config, data)


def on_the_page(tag: str, changes: Changes, last: str = "") -> dict[str, Any]:
    """The cells of a tag, some parts of them changed, as far as `last`: what uses the method needs the lesson's data."""
    source = "\n".join(whole_method.sources(LESSON, tag))
    source = source[: source.index(last)] if last else source
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)

    space: dict[str, Any] = {
        "torch": torch, "F": F, "networks": networks, "derived_seed": derived_seed, "generator": generator, "selection": selection,
        "ddlab": ddlab,
    }  # fmt: skip
    exec(source, space)
    return space


def match(data: ImageData, images_per_class: int, *changes: tuple[str, str]) -> Tensor:
    page: Callable[..., Tensor] = on_the_page("whole-method", changes, "labels = ")["match"]
    return page(data, SEED, iterations=UPDATES, images_per_class=images_per_class, batch=BATCH)


def match_gradients(data: ImageData, *changes: tuple[str, str]) -> Tensor:
    page: Callable[..., Tensor] = on_the_page("gradient-matching", (IN_DOUBLE, *changes))["match_gradients"]
    return page(data, SEED, iterations=UPDATES, batch=BATCH)


@pytest.mark.parametrize("images_per_class", [1, 2])
def test_distribution_matching_is_the_librarys_for_20_updates(data: ImageData, images_per_class: int) -> None:
    found = match(data, images_per_class)
    assert found.dtype == torch.float64 and len(found) == 3 * images_per_class
    torch.testing.assert_close(found, by_matching_features(data, images_per_class), **TOLERANCE)


def test_gradient_matching_is_the_librarys_for_20_updates(data: ImageData) -> None:
    found = match_gradients(data)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, by_matching_gradients(data), **TOLERANCE)


def test_the_methods_fit_on_the_page() -> None:
    (whole,) = whole_method.sources(LESSON)
    assert whole_method.lines(whole) <= 30
    assert all(whole_method.lines(source) <= 20 for source in whole_method.sources(LESSON, "gradient-matching"))


SHARED = [
    ("momentum=0.5", "momentum=0.0"),
    ('derived_seed(seed, step, "network")', 'derived_seed(seed, 0, "network")'),
    ('generator(seed, step, f"real', 'generator(seed, 0, f"real'),
    ("order[:batch]", "order"),
]


@pytest.mark.parametrize(
    "change",
    [
        *SHARED,
        ("lr=1.0", "lr=0.9"),
        ("square().sum()", "square().mean()"),
        ("square().sum()", "abs().sum()"),
        ("real.mean(0) - learned.mean(0)", "(real[:, None] - learned[None]).flatten(0, 1)"),
        ("images[label :: data.classes]", "images[2 * label : 2 * label + 2]"),
        ("network.blocks(images", "network(images"),
        ("torch.stack(first, 1)", "torch.stack(first)"),
    ],
)
def test_without_any_of_its_parts_it_is_not_distribution_matching(data: ImageData, change: tuple[str, str]) -> None:
    changes = [change, ("network.blocks(data", "network(data")] if "network(images" in change[1] else [change]
    assert float((match(data, 2, *changes) - by_matching_features(data, 2)).abs().max()) > 1e-4


BIASES = (("a.ndim > 1", "a.ndim > 0"), ("a.flatten(1), b.flatten(1)", "a.reshape(len(a), -1), b.reshape(len(b), -1)"))


@pytest.mark.parametrize(
    "changes",
    [
        *[(change,) for change in SHARED],
        (("lr=0.1", "lr=0.09"),),
        BIASES,
        (("a.flatten(1), b.flatten(1)", "a.flatten()[None], b.flatten()[None]"),),
        (("(1 - (a * b).sum(1) / ", "((a - b).square().sum(1) + 0 * "),),
        (("1e-6", "1e-2"),),
        (
            (
                "wanted = pull(network, data.normalised(own[order[:batch]]), label)",
                "wanted = pull(network, images, label)",
            ),
        ),
        (("images[label : label + 1], label,", "images[label : label + 1], 0,"),),
    ],
)
def test_without_any_of_its_parts_it_is_not_gradient_matching(data: ImageData, changes: Changes) -> None:
    assert float((match_gradients(data, *changes) - by_matching_gradients(data)).abs().max()) > 1e-4
