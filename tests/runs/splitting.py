"""A process that can be split, and tasks, for worker processes: all of it says in a folder what it does, and may end its worker."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ddlab.core.parameters import Parameters, parameter
from ddlab.core.randomness import generator
from ddlab.runs.process import Finished, Inputs

NAME = "walks"
UPDATES = 3


def folder() -> Path:
    """Where to say it; workers inherit the variable."""
    return Path(os.environ["SPLITTING"])


def said() -> list[str]:
    """All that was said."""
    return (folder() / "said").read_text().split() if (folder() / "said").exists() else []


def say(word: Any) -> None:
    with open(folder() / "said", "a") as file:
        file.write(f"{word}\n")


def end_once(name: str, times: int = 1) -> None:
    """Kill this process, where the folder says so, as often as that."""
    if (folder() / f"kill-{name}").exists() and said().count(f"killed-{name}") < times:
        say(f"killed-{name}")
        os.kill(os.getpid(), signal.SIGKILL)


def task(shared: dict[str, Any], number: int) -> dict[str, Any]:
    """What a worker looks like; some numbers end theirs."""
    say(number)
    end_once(str(number), times=shared.get("times", 1))
    time.sleep(shared.get("seconds", 0))
    if number == shared.get("raises"):
        raise ValueError(f"number {number}")
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES")
    return {"twice": 2 * number, "process": os.getpid(), "threads": torch.get_num_threads(), "gpu": gpu}


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    batches: int = parameter(4, range=(1, None), help="How many walks.")
    seed: int = parameter(0, range=(0, None), help="Of every draw.")


@dataclass(frozen=True)
class State:
    step: int
    images: Tensor
    done: Finished


Trace = type(None)


def total_steps(config: Config, inputs: Inputs) -> int:
    return config.batches * UPDATES


def batches(config: Config, inputs: Inputs) -> int:
    return config.batches


def begin_batch(config: Config, inputs: Inputs, batch: int) -> State:
    images = torch.randn(5, generator=generator(config.seed, batch, "first"))
    return State(batch * UPDATES, images.to(inputs.device), Finished())


def init(config: Config, inputs: Inputs) -> State:
    return begin_batch(config, inputs, 0)


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, None]:
    say(state.step)
    end_once(str(state.step))
    moved = state.images + torch.randn(5, generator=generator(config.seed, state.step, "walk")).to(inputs.device)
    state = dataclasses.replace(state, step=state.step + 1, images=moved)
    if state.step % UPDATES:
        return state, None
    done = Finished((*state.done, moved))
    if state.step == total_steps(config, inputs):
        return dataclasses.replace(state, done=done), None
    return dataclasses.replace(begin_batch(config, inputs, state.step // UPDATES), done=done), None


def finish(config: Config, inputs: Inputs, state: State) -> State:
    return state
