"""A table of mistakes at the public functions: each gives exactly DDLabError, one sentence that names the argument.

The rooms' own files hold further ones: data, networks, distilled sets, evaluation, storage, configs.
"""

# pyright: reportArgumentType=false
# Wrong types are the point here.

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import ddlab
from ddlab import methods, networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.methods import selection
from ddlab.networks import Network
from ddlab.runs import process
from ddlab.runs.process import Inputs
from ddlab.training import supervised
from tests.support import made_data, refuses


class Given:
    """What the mistakes are made with."""

    def __init__(self, data: ImageData, teacher: Network, distilled: DistilledSet, folder: Path) -> None:
        self.data, self.teacher, self.distilled, self.folder = data, teacher, distilled, folder
        self.inputs = Inputs(data=data, teachers=(teacher,))
        self.config = selection.Config(images_per_class=1)
        self.other = networks.initialise(networks.spec("convnet", width=4).for_data(made_data(classes=2)), seed=0)
        self.large = networks.initialise(networks.spec("convnet", width=4).for_data(made_data(size=9)), seed=0)
        self.bare = networks.initialise(networks.spec("convnet", width=4, norm="none").for_data(data), seed=0)


@pytest.fixture
def given(grey: ImageData, teacher: Network, distilled: DistilledSet, tmp_path: Path) -> Given:
    return Given(grey, teacher, distilled, tmp_path)


Call = Callable[[Any], Any]
TABLE: dict[str, tuple[Call, list[str]]] = {
    "distill: unknown method": (lambda g: ddlab.distill("sre2", g.data), ["method", "nearest: 'sre2l'"]),
    "distill: config of another method": (lambda g: ddlab.distill("sre2l", g.data, g.teacher, g.config), ["config", "squeeze_recover"]),
    "distill: other classes": (lambda g: ddlab.distill("sre2l", g.data, g.other), ["teacher", "3 classes", "2 classes"]),
    "distill: other size": (lambda g: ddlab.distill("sre2l", g.data, g.large), ["teacher", "(8, 8)", "(9, 9)"]),
    "distill: no batch norm": (lambda g: ddlab.distill("sre2l", g.data, g.bare), ["teacher", "BatchNorm2d"]),
    "distill: ipc": (
        lambda g: ddlab.distill("selection", g.data, config=selection.Config(images_per_class=99)),
        ["images_per_class", "at most 12", "99"],
    ),
    "distill: checkpoint is a folder": (
        lambda g: ddlab.distill("selection", g.data, checkpoint=g.folder, progress=False),
        ["path", "existing ddlab checkpoint file"],
    ),
    "train_teacher: config": (lambda g: ddlab.train_teacher(g.data, g.config), ["config", "training"]),
    "Inputs: teacher for other data": (lambda g: Inputs(data=g.data, teachers=(g.other,)), ["teacher", "2 classes"]),
    "Inputs: teacher for another set": (lambda g: Inputs(distilled=g.distilled, teachers=(g.large,)), ["teacher", "(9, 9)"]),
    "Inputs: device": (lambda g: Inputs(device="cpux"), ["device", "'auto', 'cpu' or 'cuda'", "'cpux'"]),
    "Inputs: device of another maker": (lambda g: Inputs(data=g.data, device="mps"), ["device"]),
    "steps: config": (lambda g: process.steps(selection, supervised.Config(), g.inputs), ["config", "selection"]),
    "steps: at once": (lambda g: process.steps(selection, g.config, Inputs()), ["data", "selection"]),
    "run: state of another process": (
        lambda g: process.run(selection, g.config, g.inputs, state=supervised.init(supervised.Config(), g.inputs)),
        ["state", "selection"],
    ),
    "DistilledSet.save: a folder": (lambda g: g.distilled.save(g.folder), ["path"]),
    "DistilledSet.load: path": (lambda g: DistilledSet.load(None), ["path"]),
    "DistilledSet.save: path": (lambda g: g.distilled.save(3), ["path"]),
    "Network.save: path": (lambda g: g.teacher.save(None), ["path"]),
    "with_targets": (lambda g: g.distilled.with_targets("hard"), ["targets"]),
}  # fmt: skip


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without CUDA")
def test_cuda_where_there_is_none(grey: ImageData) -> None:
    for device in ("cuda", "cuda:1", torch.device("cuda")):
        with refuses("device", "without CUDA"):
            Inputs(data=grey, device=device)
    assert Inputs(data=grey, device="auto").device == torch.device("cpu")


@pytest.mark.parametrize("name", TABLE)
def test_one_sentence(name: str, given: Given) -> None:
    call, words = TABLE[name]
    with refuses(*words):
        call(given)


def test_nothing_is_written_by_a_refused_call(given: Given) -> None:
    with refuses("images_per_class"):
        ddlab.distill(
            "selection", given.data, config=selection.Config(images_per_class=99), checkpoint=given.folder / "x"
        )
    assert list(given.folder.iterdir()) == []


def test_a_teacher_that_was_cut_short_is_not_distilled_as_if_it_were_whole(
    given: Given, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One Ctrl-C while the teacher trains ends the whole call."""
    update = supervised.update

    def interrupted(config: Any, inputs: Any, state: Any) -> Any:
        if state.step == 1:
            raise KeyboardInterrupt
        return update(config, inputs, state)

    monkeypatch.setattr(supervised, "update", interrupted)
    with pytest.raises(KeyboardInterrupt, match="teacher"):
        ddlab.distill("sre2l", given.data, config=methods.get("sre2l").Config.teaching(iterations=5), progress=False)
    assert "interrupted" in capsys.readouterr().out


def test_distill_trains_a_teacher_where_one_is_needed(
    given: Given, capsys: pytest.CaptureFixture[str], slow_clock: None
) -> None:
    made = ddlab.distill("sre2l", given.data, config=methods.get("sre2l").Config.teaching(iterations=2))
    assert made.complete and len(made) == 3
    assert "training: step" in capsys.readouterr().out
