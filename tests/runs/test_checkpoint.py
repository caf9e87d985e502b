"""Checkpoints: any State in one file and parts beside it that are written once, tied to its config and inputs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import networks
from ddlab.core import optimisers, storage
from ddlab.core.errors import NonFiniteError
from ddlab.data import ImageData
from ddlab.methods import selection, sre2l
from ddlab.networks import Network
from ddlab.runs import checkpoint, process
from ddlab.runs.process import Finished, Inputs
from ddlab.training import supervised
from tests.support import assert_same, made_data, refuses


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
    storage.save(file, {n: value for n, value in tensors.items() if not n.endswith(lost)}, header, "checkpoint")
    with refuses("path", "whole checkpoint", lost):
        checkpoint.load(file, PROCESS, CONFIG, Inputs())


@pytest.mark.parametrize("lost", ["process", "config", "inputs", "source", "state"])
def test_a_header_without_some_part(lost: str, tmp_path: Path) -> None:
    file = checkpoint.save(tmp_path / "x", PROCESS, CONFIG, Inputs(), state(optimisers.adam_init({}), None))
    tensors, header = storage.load(file, "checkpoint")
    storage.save(file, tensors, {key: value for key, value in header.items() if key != lost}, "checkpoint")
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
    config, inputs = supervised.Config.teaching(network=networks.spec("convnet", width=4)), Inputs(data=grey)
    file = checkpoint.save(tmp_path / "x", supervised, config, inputs, supervised.init(config, inputs))
    with refuses("checkpoint", "epochs=100", "seed=0") as _:
        checkpoint.load(file, supervised, config.replace(epochs=3, seed=1), inputs)
    with refuses("checkpoint", "network=", "'width': 4"):
        checkpoint.load(file, supervised, config.replace(network=networks.spec("convnet", width=5)), inputs)


def test_files_of_other_kinds(tmp_path: Path, teacher: Network) -> None:
    with refuses("path", "ddlab checkpoint file", "holds network"):
        checkpoint.load(teacher.save(tmp_path / "teacher"), PROCESS, CONFIG, Inputs())
    with refuses("path", "existing"):
        checkpoint.load(tmp_path / "none", PROCESS, CONFIG, Inputs())


@pytest.fixture
def run(grey: ImageData) -> tuple[supervised.Config, Inputs]:
    config = supervised.Config.teaching("teacher", network=networks.spec("convnet", width=4), epochs=2, batch_size=12)
    return config, Inputs(data=grey)


def test_truncated_anywhere(run: tuple[supervised.Config, Inputs], tmp_path: Path) -> None:
    file = checkpoint.save(tmp_path / "x", supervised, *run, supervised.init(*run))
    content = file.read_bytes()
    for place in range(100):
        file.write_bytes(content[: len(content) * place // 100])
        with refuses("path", "complete ddlab checkpoint"):
            process.run(supervised, *run, checkpoint=file)


def test_a_run_writes_now_and_then(run: tuple[supervised.Config, Inputs], tmp_path: Path) -> None:
    seen = []
    file = tmp_path / "x"

    def look(step: process.Step) -> None:
        seen.append(checkpoint.load(file, supervised, *run).step if file.exists() else 0)

    process.run(supervised, *run, checkpoint=file, checkpoint_seconds=0.0, on_step=look)
    assert seen == [0, 1, 2, 3, 4, 5] and checkpoint.load(file, supervised, *run).step == 6


def test_a_given_state_goes_before_the_file(run: tuple[supervised.Config, Inputs], tmp_path: Path) -> None:
    file = tmp_path / "x"
    process.run(supervised, *run, checkpoint=file)
    seen: list[int] = []
    process.run(
        supervised, *run, checkpoint=file, state=supervised.init(*run), on_step=lambda step: seen.append(step.index)
    )
    assert seen == [1, 2, 3, 4, 5, 6]


def test_an_error_in_the_consumer_is_not_hidden(run: tuple[supervised.Config, Inputs], tmp_path: Path) -> None:
    def fails(step: process.Step) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        process.run(supervised, *run, on_step=fails)


def test_the_device_is_not_part_of_the_fingerprint(grey: ImageData) -> None:
    assert Inputs(data=grey).fingerprint == Inputs(data=grey, device="auto").fingerprint
    assert Inputs(data=grey).fingerprint != Inputs().fingerprint
    renamed = dataclasses.replace(grey, class_names=("x", "y", "z"))
    assert Inputs(data=grey).fingerprint != Inputs(data=renamed).fingerprint


@dataclass(frozen=True)
class Growing:
    """A batch under work, those that are done, and a number that changes."""

    step: int
    images: Tensor
    done: Finished
    nested: dict[str, Any]


def growing(step: int) -> Growing:
    """Every second step finishes a batch; two lists grow, one of them of dicts."""
    draw = torch.Generator().manual_seed(step)
    if step == 0:
        return Growing(0, torch.zeros(4, 3), Finished(), {"kept": Finished()})
    before = growing(step - 1)
    if step % 2:
        return dataclasses.replace(before, step=step, images=torch.randn(5, 3, generator=draw))
    done, kept = (*before.done, before.images), (*before.nested["kept"], {"step": step, "images": before.images + 1})
    return Growing(step, torch.randn(4, 3, generator=draw), Finished(done), {"kept": Finished(kept)})


GROWING = SimpleNamespace(NAME="growing", State=Growing, total_steps=lambda config, inputs: 9)


def written(folder: Path) -> dict[str, int]:
    """When each file of a folder was written."""
    return {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} if folder.exists() else {}


def test_finished_parts_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.safetensors"
    kept = checkpoint.Checkpoint(path, GROWING, CONFIG, Inputs())
    saved: list[str] = []
    real = storage.save
    monkeypatch.setattr(storage, "save", lambda file, *rest: saved.append(Path(file).name) or real(file, *rest))
    state, per_save = growing(1), []
    for step in range(1, 8):  # as a run has them: what is finished stays the same object
        new = growing(step)
        done = (*state.done, *new.done[len(state.done) :])
        inner = (*state.nested["kept"], *new.nested["kept"][len(state.nested["kept"]) :])
        state = dataclasses.replace(new, done=Finished(done), nested={"kept": Finished(inner)})
        kept.save(state)
        per_save.append(len(saved))
        assert_same(checkpoint.load(path, GROWING, CONFIG, Inputs()), state)
    assert per_save == [1, 4, 5, 8, 9, 12, 13] and len(set(saved)) == 1 + 6
    assert len(written(checkpoint.parts_of(path))) == 6

    before = written(checkpoint.parts_of(path))
    resumed = checkpoint.Checkpoint(path, GROWING, CONFIG, Inputs())
    state = resumed.load()
    resumed.save(dataclasses.replace(state, step=9))
    assert written(checkpoint.parts_of(path)) == before, "what was read is not written again"
    assert type(state.done) is type(state.nested["kept"]) is Finished


def test_parts_go_with_their_checkpoint(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path / "run", GROWING, CONFIG, Inputs(), growing(6))
    folder = checkpoint.parts_of(path)
    many = written(folder)
    (folder / "mine").touch()
    (folder / f".{next(iter(many))}.0123abcd").touch()  # of a writer that was killed
    checkpoint.save(path, GROWING, CONFIG, Inputs(), growing(3))  # a run that began anew
    assert len(many) == 6 and len(written(folder)) == 3 and written(folder).keys() - many.keys() == {"mine"}
    (folder / "mine").unlink()
    checkpoint.remove(path)
    assert not list(tmp_path.iterdir())
    checkpoint.remove(path)
    checkpoint.save(path, GROWING, CONFIG, Inputs(), growing(1))
    assert list(tmp_path.iterdir()) == [path], "without finished parts there is one file"


def test_the_old_checkpoint_is_whole_until_the_new_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = checkpoint.save(tmp_path / "run", GROWING, CONFIG, Inputs(), growing(4))
    real = storage.save

    def full(file: Any, *rest: Any) -> Path:
        if Path(file) == path:
            raise OSError("no space left")
        return real(file, *rest)

    monkeypatch.setattr(storage, "save", full)
    for later in (7, 1):  # what follows, and a run begun anew, without these parts
        with pytest.raises(OSError, match="no space"):
            checkpoint.save(path, GROWING, CONFIG, Inputs(), growing(later))
    assert_same(checkpoint.load(path, GROWING, CONFIG, Inputs()), growing(4))


def test_a_part_that_is_missing_damaged_or_of_another_run(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path / "run", GROWING, CONFIG, Inputs(), growing(4))
    first, *_, foreign = sorted(checkpoint.parts_of(path).iterdir())
    content = first.read_bytes()
    for wrong, words in ((content[:-9], "complete ddlab checkpoint part"), (content[:-1] + b"\7", "damaged")):
        first.write_bytes(wrong)
        with refuses("path", words, first.name):
            checkpoint.load(path, GROWING, CONFIG, Inputs())
    first.write_bytes(foreign.read_bytes())
    with refuses("checkpoint", "of another run", first.name):
        checkpoint.load(path, GROWING, CONFIG, Inputs())
    first.unlink()
    with refuses("checkpoint", "parts beside it", first.name):
        checkpoint.load(path, GROWING, CONFIG, Inputs())
    first.write_bytes(content)
    assert_same(checkpoint.load(path, GROWING, CONFIG, Inputs()), growing(4))
    tensors, header = storage.load(path, "checkpoint")
    header["state"]["of"][1][2]["parts"][0] = "../other"
    storage.save(path, tensors, header, "checkpoint")
    with refuses("path", "no name of a part"):
        checkpoint.load(path, GROWING, CONFIG, Inputs())


def test_a_checkpoint_with_all_in_one_file_is_still_read(tmp_path: Path) -> None:
    """As they were before there were parts: `done` one tensor of all batches."""
    data = made_data()
    teacher = networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)
    inputs, config = Inputs(data=data, teachers=(teacher,), device="cpu"), sre2l.SMALL
    states = [step.state for step in process.steps(sre2l, config, inputs)]
    old = make_dataclass(
        "State", [("step", int), ("images", Tensor), ("optimiser", optimisers.AdamState), ("done", Tensor)]
    )
    older = SimpleNamespace(NAME=sre2l.NAME, State=old, total_steps=sre2l.total_steps)
    parts = vars(states[3]) | {"done": torch.stack(states[3].done)}
    file = checkpoint.save(tmp_path / "old", older, config, inputs, old(**parts))
    with refuses("checkpoint", "another source"):
        checkpoint.load(file, sre2l, config, inputs)
    assert_same(checkpoint.load(file, sre2l, config, inputs, resume_anyway=True), states[3])


def test_nan_in_what_is_finished_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[int] = set()
    state = growing(6)
    process.check_finite("growing", 6, state, seen=seen)
    calls, real = [], torch.isfinite
    monkeypatch.setattr(torch, "isfinite", lambda value: calls.append(value) or real(value))
    process.check_finite("growing", 6, state, seen=seen)
    assert len(calls) == 1
    broken = dataclasses.replace(state, done=Finished((*state.done, state.images * torch.nan)))
    with pytest.raises(NonFiniteError, match=r"in done\[3\] at step 6"):
        process.check_finite("growing", 6, broken, seen=seen)
