"""What stands on the page of lesson 45 is the library's ReLA: its targets, and its training for 20 updates in float64."""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddlab import networks
from ddlab.core.randomness import generator
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.methods import rela as rela_d
from ddlab.runs import process
from ddlab.runs.process import Inputs
from ddlab.training import rela as rela_f
from ddlab.training.self_supervised import byol
from tests.lessons import whole_method
from tests.support import made_data

LESSON, SEED, EPOCHS, BATCH = "45_representations", 3, 5, 9  # of 36 images: 20 updates
SPEC = networks.spec("convnet", width=4)
DATA = made_data(classes=4)
PRIOR = networks.initialise(networks.spec("convnet", width=8).for_data(DATA), seed=1)


class Double:
    """torch.nn with layers in float64."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(nn, name)
        return functools.partial(found, dtype=torch.float64) if name in ("Linear", "BatchNorm1d") else found


def doubled(value: Any) -> Any:
    """A State whose tensors are float64."""
    if isinstance(value, Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {name: doubled(each) for name, each in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value, **{f.name: doubled(getattr(value, f.name)) for f in dataclasses.fields(value)}
        )
    return value


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> DistilledSet:
    """All images with the library's targets of a prior; after that pixels are in float64 on the page and in the library."""
    found = process.run(rela_d, rela_d.Config(network=SPEC), Inputs(data=DATA, teachers=(PRIOR,), device="cpu"))
    normalised, rows = ImageData.normalised, DistilledSet.rows
    monkeypatch.setattr(ImageData, "normalised", lambda *given, **more: normalised(*given, **more).double())
    monkeypatch.setattr(DistilledSet, "rows", lambda *given, **more: rows(*given, **more).double())
    return found


def config() -> rela_f.Config:
    short: dict[str, Any] = {"epochs": EPOCHS, "batch_size": BATCH, "learning_rate": 0.01}
    own = byol.Config.for_data(DATA, network=SPEC, projector_width=128, output_width=64, **short)
    return rela_f.Config(objective=own, ratio=0.75, crop_area=own.crop_area, seed=SEED)


def on_the_page(*changes: tuple[str, str]) -> dict[str, Any]:
    source = "\n\n".join(whole_method.sources(LESSON))
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    space: dict[str, Any] = {
        "torch": torch, "F": F, "nn": Double(), "math": math, "copy": copy, "generator": generator, "views": config().objective,
    }  # fmt: skip
    exec(source, space)
    return space


def trained(made: DistilledSet, *changes: tuple[str, str]) -> dict[str, Tensor]:
    """Weights after the page's 20 updates."""
    spec = SPEC.for_data(DATA, outputs=1)
    module: Any = networks.initialise(spec, seed=SEED).module().double().train()
    network = nn.Sequential(module.blocks, nn.Flatten())
    targets = made.target("representations").values[0].double()
    size = round(0.75 * len(DATA.train_labels))
    on_the_page(*changes)["train"](network, DATA, targets, SEED, epochs=EPOCHS, size=size, batch=BATCH)
    return {name.removeprefix("0."): value.detach() for name, value in network.named_parameters()}


def in_the_library(made: DistilledSet) -> dict[str, Tensor]:
    inputs = Inputs(distilled=made, device="cpu")
    state = doubled(rela_f.init(config(), inputs))
    assert rela_f.total_steps(config(), inputs) == 20
    for _ in range(20):
        state, _ = rela_f.update(config(), inputs, state)
    return {name.removeprefix("blocks."): value for name, value in state.weights.items() if name.startswith("blocks.")}


def gap(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> float:
    return max(float((found[name] - wanted[name]).abs().max()) for name in found)


RATE = ("0.01 * 50 / 256", f"0.01 * {BATCH} / 256")


def test_rela_is_the_librarys_for_20_updates(made: DistilledSet) -> None:
    assert gap(trained(made, RATE), in_the_library(made)) < 1e-9


def test_targets_are_the_librarys(made: DistilledSet) -> None:
    wanted = made.target("representations").values[0]
    module: Any = PRIOR.module().eval()
    prior = nn.Sequential(module.blocks, nn.Flatten())
    found = on_the_page()["targets_of"](prior, DATA.normalised().float(), wanted.shape[1])
    torch.testing.assert_close(found.float(), wanted, rtol=0, atol=1e-4)


def test_the_method_fits_on_the_page() -> None:
    lines = [whole_method.lines(source) for source in whole_method.sources(LESSON)]
    assert len(lines) == 4 and max(lines) <= 15 and sum(lines) <= 60


@pytest.mark.parametrize(
    "change",
    [
        ("guided=0.5", "guided=0.75"),
        ("weight_decay=1e-4", "weight_decay=1e-2"),
        ("if step in (0, switch)", "if step in (0,)"),
        ("0.99 - (0.99 - 0.9)", "0.99 - (0.99 - 0.8)"),
        ('generator(seed, epoch, "order")', 'generator(seed, 0, "order")'),
        ("reversed(", "iter("),
        ("- 1) / inputs**0.5", "- 1) / inputs"),
        ("targets[seen]", "targets[seen.flip(0)]"),
        ("step / warm if", "1 if"),
        ("step=step)", "step=0)"),
    ],
)
def test_without_any_of_its_parts_it_is_not_rela(made: DistilledSet, change: tuple[str, str]) -> None:
    assert gap(trained(made, RATE, change), in_the_library(made)) > 1e-6
