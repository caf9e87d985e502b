"""Checkpoints: any State in one file and parts beside it that are written once, tied to its config
and inputs.
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

import ddlab
from ddlab import networks
from ddlab.core import DDLabError, optimisers, storage
from ddlab.data import ImageData
from ddlab.methods import dm, selection
from ddlab.networks import Network
from ddlab.runs import Inputs, Run, checkpoint, process
from ddlab.training import supervised
from tests.support import assert_same, refuses, run_to_end


@dataclass(frozen=True)
class Inner:
    rate: float
    values: dict[str, Tensor]


@dataclass(frozen=True)
class State:
    step: int
    inner: Inner
    optimiser: optimisers.SGDState | optimisers.AdamState
    maybe: Tensor | None
    note: str
    flag: bool


def state(optimiser: Any, maybe: Tensor | None) -> State:
    values = {"blocks.0.weight": torch.ones(2, 3).t(), "scalar": torch.tensor(2, dtype=torch.int64)}
    return State(4, Inner(0.1, values), optimiser, maybe, "ü", True)


PROCESS = SimpleNamespace(NAME="toy", State=State, total_steps=lambda config, inputs: 9)
CONFIG = selection.Config()


@pytest.mark.parametrize("maybe", [None, torch.zeros(0, 2)])
@pytest.mark.parametrize("init", [optimisers.sgd_init, optimisers.adam_init])
def test_nested_states(maybe: Tensor | None, init: Any, tmp_path: Path) -> None:
    whole = state(init({"a.b": torch.ones(2), "c": torch.ones(())}), maybe)
    file = checkpoint.save(tmp_path / "x", PROCESS, CONFIG, Inputs(), whole)
    assert_same(checkpoint.load(file, PROCESS, CONFIG, Inputs()), whole)


def test_empty_dicts(tmp_path: Path) -> None:
    whole = state(optimisers.adam_init({}), None)
    file = checkpoint.save(tmp_path / "x", PROCESS, CONFIG, Inputs(), whole)
    assert_same(checkpoint.load(file, PROCESS, CONFIG, Inputs()), whole)


@pytest.mark.parametrize("lost", ["inner.values.scalar", "maybe", "optimiser.first.a"])
def test_a_file_without_some_tensor(lost: str, tmp_path: Path) -> None:
    whole = state(optimisers.adam_init({"a": torch.ones(2)}), torch.ones(2))
    file = checkpoint.save(tmp_path / "x", PROCESS, CONFIG, Inputs(), whole)
    tensors, header = storage.load(file, "checkpoint")
    storage.save(
        file,
        {n: value for n, value in tensors.items() if not n.endswith(lost)},
        header,
        "checkpoint",
    )
    with refuses("path", "whole checkpoint", lost):
        checkpoint.load(file, PROCESS, CONFIG, Inputs())


@pytest.mark.parametrize("lost", ["process", "config", "inputs", "source", "state"])
def test_a_header_without_some_part(lost: str, tmp_path: Path) -> None:
    file = checkpoint.save(
        tmp_path / "x", PROCESS, CONFIG, Inputs(), state(optimisers.adam_init({}), None)
    )
    tensors, header = storage.load(file, "checkpoint")
    storage.save(
        file, tensors, {key: value for key, value in header.items() if key != lost}, "checkpoint"
    )
    with refuses("path", "whole checkpoint", lost):
        checkpoint.load(file, PROCESS, CONFIG, Inputs())


def test_a_step_beyond_the_end(tmp_path: Path) -> None:
    whole = dataclasses.replace(state(optimisers.adam_init({}), None), step=29)
    file = checkpoint.save(tmp_path / "x", PROCESS, CONFIG, Inputs(), whole)
    with refuses("path", "state.step", "29"):
        checkpoint.load(file, PROCESS, CONFIG, Inputs())


def test_an_edited_process_does_not_go_on_unasked(tmp_path: Path) -> None:
    whole = state(optimisers.adam_init({}), None)
    edited = SimpleNamespace(NAME="toy", State=State, total_steps=lambda config, inputs: 8)
    file = checkpoint.save(tmp_path / "x", PROCESS, CONFIG, Inputs(), whole)
    with refuses("checkpoint", "another source", "resume_anyway=True"):
        checkpoint.load(file, edited, CONFIG, Inputs())
    assert_same(checkpoint.load(file, edited, CONFIG, Inputs(), resume_anyway=True), whole)


def test_the_error_says_which_parameters_differ(grey: ImageData, tmp_path: Path) -> None:
    config = supervised.Config.teaching(network=networks.spec("convnet", width=4))
    inputs = Inputs(data=grey)
    file = checkpoint.save(
        tmp_path / "x", supervised, config, inputs, supervised.init(config, inputs)
    )
    with refuses("checkpoint", "epochs=100", "seed=0") as _:
        checkpoint.load(file, supervised, config.replace(epochs=3, seed=1), inputs)
    with refuses("checkpoint", "network=", "'width': 4"):
        checkpoint.load(
            file, supervised, config.replace(network=networks.spec("convnet", width=5)), inputs
        )


def test_files_of_other_kinds(tmp_path: Path, teacher: Network) -> None:
    with refuses("path", "ddlab checkpoint file", "holds network"):
        checkpoint.load(teacher.save(tmp_path / "teacher"), PROCESS, CONFIG, Inputs())
    with refuses("path", "existing"):
        checkpoint.load(tmp_path / "none", PROCESS, CONFIG, Inputs())


@pytest.fixture
def run(grey: ImageData) -> tuple[supervised.Config, Inputs]:
    config = supervised.Config.teaching(
        "teacher", network=networks.spec("convnet", width=4), epochs=2, batch_size=12
    )
    return config, Inputs(data=grey)


def test_truncated_anywhere(run: tuple[supervised.Config, Inputs], tmp_path: Path) -> None:
    file = checkpoint.save(tmp_path / "x", supervised, *run, supervised.init(*run))
    content = file.read_bytes()
    for place in range(100):
        file.write_bytes(content[: len(content) * place // 100])
        with refuses("path", "complete ddlab checkpoint"):
            run_to_end(supervised, *run, checkpoint=file)


def test_a_run_writes_now_and_then(run: tuple[supervised.Config, Inputs], tmp_path: Path) -> None:
    steps_in_file = []
    file = tmp_path / "x"

    def look(step: process.Step) -> None:
        steps_in_file.append(checkpoint.load(file, supervised, *run).step if file.exists() else 0)

    run_to_end(supervised, *run, checkpoint=file, checkpoint_seconds=0.0, on_step=look)
    assert steps_in_file == [0, 1, 2, 3, 4, 5] and not file.exists()


def test_where_a_run_goes_on_is_said(
    run: tuple[supervised.Config, Inputs], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = next(iter(process.every(process.steps(supervised, *run), 4))).state
    file = checkpoint.save(tmp_path / "x", supervised, *run, half)
    whole = run_to_end(supervised, *run, checkpoint=file, keep_checkpoint=True, progress=True)
    assert f"training: going on from step 4 of 6 ({str(file)!r})." in capsys.readouterr().out
    assert checkpoint.load(file, supervised, *run).step == 6
    assert (
        run_to_end(supervised, *run, checkpoint=file).fingerprint == whole.fingerprint
        and not file.exists()
    )


def test_a_given_state_goes_before_the_file(
    run: tuple[supervised.Config, Inputs], tmp_path: Path
) -> None:
    file = tmp_path / "x"
    run_to_end(supervised, *run, checkpoint=file, keep_checkpoint=True)
    indices: list[int] = []
    run_to_end(
        supervised,
        *run,
        checkpoint=file,
        state=supervised.init(*run),
        on_step=lambda step: indices.append(step.index),
    )
    assert indices == [1, 2, 3, 4, 5, 6]


def test_an_error_in_the_consumer_is_not_hidden(
    run: tuple[supervised.Config, Inputs], tmp_path: Path
) -> None:
    def fails(step: process.Step) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run_to_end(supervised, *run, on_step=fails)


def test_the_device_is_not_part_of_the_fingerprint(grey: ImageData) -> None:
    assert Inputs(data=grey).fingerprint == Inputs(data=grey, device="auto").fingerprint
    assert Inputs(data=grey).fingerprint != Inputs().fingerprint
    renamed = dataclasses.replace(grey, class_names=("x", "y", "z"))
    assert Inputs(data=grey).fingerprint != Inputs(data=renamed).fingerprint


def test_the_old_checkpoint_is_whole_until_the_new_one_is(
    tmp_path: Path, grey: ImageData, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = Inputs(data=grey, device="cpu")
    states = [step.state for step in process.steps(supervised, supervised.SMALL, inputs)]
    path = checkpoint.save(tmp_path / "run", supervised, supervised.SMALL, inputs, states[0])

    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(storage, "write_atomically", full)
    with pytest.raises((OSError, DDLabError), match="no space"):
        checkpoint.save(path, supervised, supervised.SMALL, inputs, states[1])
    assert_same(checkpoint.load(path, supervised, supervised.SMALL, inputs), states[0])
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_was_renamed_goes_on(tmp_path: Path) -> None:
    """Equal images under another name, in another place, are the same data."""
    pixels = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    for number, image in enumerate(pixels):
        place = tmp_path / "first" / ("cat", "dog")[number % 2] / f"{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place)
    config = dm.Config.teaching(
        iterations=4, network=networks.spec("convnet", width=4), batch_size=2
    )
    before = Inputs(data=ddlab.data.load("folder", tmp_path / "first"), device="cpu")
    run = Run(dm, config, before).advance(until=2)
    checkpoint.save(tmp_path / "run", dm, config, before, run.state())
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "first").rename(tmp_path / "elsewhere" / "second")
    after = Inputs(data=ddlab.data.load("folder", tmp_path / "elsewhere" / "second"), device="cpu")
    state = checkpoint.load(tmp_path / "run", dm, config, after)
    assert state.step == 2
    images_learned = [
        Run(dm, config, inputs).advance().result().images for inputs in (before, after)
    ]
    assert torch.equal(*images_learned)
