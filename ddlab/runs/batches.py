"""A run by its batches, several at the same time, for a process that says that it can be split:

    batches(config, inputs) -> int                  how many there are; each takes equally many updates, none needs another
    begin_batch(config, inputs, batch) -> State     the State before the first update of one, with nothing done before it

What the batches made is what their States hold as `Finished`. While they are made, `run.safetensors.batches/` beside the checkpoint
`run.safetensors` holds a file for each that is done and a checkpoint for each under work; at the end they go up in the checkpoint, which is
that of a run in one process, bit for bit.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from ..core import errors, storage
from ..core.errors import DDLabError
from ..core.progress import Progress
from . import workers
from .checkpoint import Checkpoint, remove
from .process import Finished, Inputs, check_call


@dataclass(frozen=True)
class Made:
    """What a batch made: the fields of its State that are `Finished`, after `step` updates of the whole run."""

    step: int
    finished: dict[str, Finished]


@dataclass(frozen=True)
class _Split:
    """What a worker is told."""

    process: Any
    config: Any
    inputs: Inputs
    device: str
    folder: Path
    checkpoint_seconds: float
    resume_anyway: bool

    @property
    def count(self) -> int:
        return self.process.batches(self.config, self.inputs)

    @property
    def updates(self) -> int:
        """Of each batch."""
        return self.process.total_steps(self.config, self.inputs) // self.count

    def part(self, batch: int) -> Any:
        """The process that makes one batch and finishes with its State."""
        whole, end = self.process, (batch + 1) * self.updates
        return SimpleNamespace(
            __module__=whole.__name__ if isinstance(whole, ModuleType) else whole.__module__,  # whose source it is of
            NAME=whole.NAME,
            Config=whole.Config,
            State=whole.State,
            total_steps=lambda config, inputs: end,
            init=lambda config, inputs: whole.begin_batch(config, inputs, batch),
            update=whole.update,
            finish=lambda config, inputs, state: state,
        )

    def under_work(self, batch: int) -> Checkpoint:
        return Checkpoint(self.folder / f"{batch:05}", self.part(batch), self.config, self.inputs)

    def made(self, batch: int) -> Checkpoint:
        process = SimpleNamespace(**{**vars(self.part(batch)), "State": Made})
        return Checkpoint(self.folder / f"{batch:05}.made", process, self.config, self.inputs)


def run(
    process: Any,
    config: Any,
    inputs: Inputs,
    *,
    jobs: int = 1,
    dask: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 30.0,
    resume_anyway: bool = False,
    progress: bool = False,
) -> Any:
    """`process.run`, its batches by several workers, with as many threads each as this process has: the same result, bit for bit.

    Args:
        jobs, dask: who computes, as for `workers.spread`; on CUDA each worker has a GPU of its own.
        checkpoint: a file as for `process.run`; batches that are done are kept beside it, and a second call goes on from them. With dask it
            is needed, in a folder that all workers see. None keeps them in a temporary folder, as long as this call takes.
        checkpoint_seconds, resume_anyway, progress: as for `process.run`.

    Raises:
        DDLabError: a process that cannot be split, or a worker that was lost several times at the same batch.
        KeyboardInterrupt: batches that are done, and checkpoints of those under work, are kept beside the checkpoint.
    """
    check_call(process, config, inputs)
    if not (hasattr(process, "batches") and hasattr(process, "begin_batch")):
        given = f"jobs={jobs!r}" if dask is None else f"dask={dask!r}"
        raise DDLabError(f"jobs must be 1, and dask None, for {process.NAME}, which goes step by step; given {given}.")
    if dask is not None and checkpoint is None:
        raise DDLabError("checkpoint must be a file in a folder that all workers see where dask is given; given None.")
    with tempfile.TemporaryDirectory(prefix="ddlab-") as spare:
        path = Path(spare) / "run" if checkpoint is None else storage.checked_path(checkpoint, "checkpoint")
        folder = Path(f"{os.path.realpath(path)}.batches")
        device = torch.device(inputs.device).type  # "cuda" is another GPU in each worker
        split = _Split(process, config, inputs, device, folder, checkpoint_seconds, resume_anyway)
        whole = Checkpoint(path, process, config, inputs)
        state = whole.load(resume_anyway=resume_anyway) if path.exists() else None
        if state is None:
            process.init(config, inputs)  # says what is wrong with them before workers are asked
        total, count = process.total_steps(config, inputs), process.batches(config, inputs)
        if total % count:
            errors.fail(f"{process.NAME}.batches", f"a number that divides the {total} updates of the run", count)
        if state is None or state.step < total:
            try:
                state = _joined(split, state, jobs, dask, progress)
            except KeyboardInterrupt:
                kept = "" if checkpoint is None else "; the same call goes on from the batches that are done"
                raise KeyboardInterrupt(f"{process.NAME} was under work{kept}") from None
            if checkpoint is not None:
                whole.save(state)
        shutil.rmtree(folder, ignore_errors=True)
        return process.finish(config, inputs, state)


def _joined(split: _Split, before: Any, jobs: int, dask: str | None, progress: bool) -> Any:
    """The State at the end of the whole run: the last batch's, with what all of them made."""
    first = 0 if before is None else before.step // split.updates
    made = {
        batch: split.made(batch).load(resume_anyway=split.resume_anyway)
        for batch in range(first, split.count)
        if split.made(batch).path.exists()
    }
    missing = [batch for batch in range(first, split.count) if batch not in made]
    line, lost = Progress(f"{split.process.NAME}, batches", split.count, progress), []
    given: dict[str, Any] = {"jobs": jobs, "dask": dask, "threads": torch.get_num_threads(), "device": split.device}
    sent = dataclasses.replace(split, inputs=dataclasses.replace(split.inputs, device="cpu"))
    for batch, done in workers.spread(_make, sent, missing, **given):
        if done is None:
            lost.append(batch)
        elif split.made(batch).path.exists():
            made[batch] = split.made(batch).load(resume_anyway=split.resume_anyway)
        else:
            raise DDLabError(f"checkpoint must lie where all workers see it; given one beside {str(split.folder)!r}.")
        line.show(first + len(made))
    line.close(False, split.count)
    if lost:
        those = f"batches {', '.join(map(str, lost))}, whose workers were lost {workers.LOST} times"
        raise DDLabError(f"{split.process.NAME} must keep its workers (their memory may not be enough); given {those}.")
    last = split.under_work(split.count - 1).load(resume_anyway=split.resume_anyway)
    joined = {name: () if before is None else getattr(before, name) for name in made[split.count - 1].finished}
    for batch in sorted(made):
        joined = {name: Finished((*items, *made[batch].finished[name])) for name, items in joined.items()}
    return dataclasses.replace(last, **joined)


def _make(split: _Split, batch: int) -> int:
    """Make one batch in a worker and keep it in the folder; nothing is made twice."""
    from .run import Keep, Run

    made, under_work = split.made(batch), split.under_work(batch)
    if not made.path.exists():
        inputs = dataclasses.replace(split.inputs, device=split.device)
        state = Run(split.part(batch), split.config, inputs, keep=Keep(()), states=0).to_end(
            checkpoint=under_work.path,
            checkpoint_seconds=split.checkpoint_seconds,
            resume_anyway=split.resume_anyway,
        )
        if state.step < (batch + 1) * split.updates:
            raise KeyboardInterrupt(f"batch {batch} was under work")
        fields = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
        made.save(Made(state.step, {name: value for name, value in fields.items() if type(value) is Finished}))
    if batch + 1 < split.count:  # the last one's State is that of the whole run
        remove(under_work.path)
    return batch
