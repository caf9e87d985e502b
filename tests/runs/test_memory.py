"""What a run will take in memory: counted without numbers, and counted while it runs."""

from __future__ import annotations

import weakref
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ddlab import data, methods, networks
from ddlab.core import errors
from ddlab.runs import cache, memory
from ddlab.runs.process import Inputs
from ddlab.training import self_supervised, supervised
from tests.support import refuses


class Alive(TorchDispatchMode):
    """The most bytes of tensors made inside that lived at one time, in a run with numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {id(each.untyped_storage()) for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)}
        found = func(*args, **kwargs or {})
        for each in tree_leaves(found):
            storage = each.untyped_storage() if isinstance(each, Tensor) else None
            if storage is not None and id(storage) not in given | self.sizes.keys():
                self.sizes[id(storage)] = storage.nbytes()
                weakref.finalize(storage, self.sizes.pop, id(storage), None)
        self.peak = max(self.peak, sum(self.sizes.values()))
        return found


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    images = data.load("shapes", size=16, train=300, test=20)
    teacher = networks.initialise(networks.spec("convnet", width=16).for_data(images), seed=0)
    return Inputs(data=images, teachers=(teacher,), device="cpu")


def run(process: Any, config: Any, inputs: Inputs, steps: int = 2) -> None:
    state = process.init(config, inputs)
    for _ in range(min(steps, process.total_steps(config, inputs))):
        state, _trace = process.update(config, inputs, state)


@pytest.mark.parametrize("name", [*methods.names(), "training", "without labels"])
def test_what_is_said_is_what_a_run_takes(name: str, inputs: Inputs) -> None:
    assert inputs.data is not None
    if name == "training":
        process, config = supervised, supervised.Config.teaching("teacher")
    elif name == "without labels":
        config = self_supervised.Config.for_data(inputs.data)
        process = self_supervised.teacher_of(config)
    else:
        process = methods.get(name)
        config = process.Config.teaching()
    needed = memory.needed_bytes(process, config, inputs, seconds=20)
    with cache.aside(), Alive() as alive:
        run(process, config, inputs)
    teachers = sum(value.nbytes for teacher in inputs.teachers for value in teacher.weights.values())
    assert needed == pytest.approx(alive.peak + teachers, rel=0.15)


def test_a_sum_that_can_be_done_by_hand(inputs: Inputs) -> None:
    class State:
        def __init__(self, step: int, weights: Tensor) -> None:
            self.step, self.weights = step, weights

    def init(config: Any, inputs: Inputs) -> State:
        return State(0, torch.zeros(1000, device=inputs.device))

    def update(config: Any, inputs: Inputs, state: State) -> tuple[State, None]:
        leaf = state.weights.detach().requires_grad_()
        kept: Any = (leaf.expand(50, 1000) * 2).exp()  # doubled and dropped, then kept for the way back
        if float(kept.detach().sum()) < 0 or bool((kept.detach() < 0).any()):
            raise AssertionError("a number was read that is none")
        (slope,) = torch.autograd.grad(kept.sum(), leaf)
        return State(state.step + 1, state.weights - slope), None

    own = ModuleType("own")
    vars(own).update(
        NAME="own", Config=supervised.Config, State=State, Trace=State, init=init, update=update,
        total_steps=lambda config, inputs: 9, finish=init,
    )  # fmt: skip
    alone = Inputs(data=inputs.data, device="cpu")
    needed = memory.needed_bytes(own, supervised.SMALL, alone)
    rows = 4 * 50 * 1000  # on the way back: what was kept, the gradient of the product and that of the row
    assert 2 * rows <= needed <= 3.2 * rows


def test_it_leaves_nothing_behind(inputs: Inputs) -> None:
    process = methods.get("kernel_ridge_self_supervised")
    torch.manual_seed(5)
    before, known = torch.get_rng_state(), dict(cache._results)
    first = memory.needed_bytes(process, process.Config.teaching(), inputs)
    assert memory.needed_bytes(process, process.Config.teaching(), inputs) == first
    assert torch.equal(torch.get_rng_state(), before) and cache._results.keys() == known.keys()
    assert not any(value.is_meta for value in inputs.teachers[0].weights.values())
    for call in (lambda: errors.checked_device("meta"), lambda: errors.check_tensor("x", torch.ones(2, device="meta"))):
        with refuses():
            call()


def test_it_grows_with_the_batch_and_stops_in_time(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    def needed(**changes: Any) -> int:
        return memory.needed_bytes(supervised, supervised.Config.teaching("teacher", **changes), inputs)

    small, large = needed(batch_size=50), needed(batch_size=100)
    assert 1.6 < large / small < 2.05
    assert memory.needed_bytes(supervised, supervised.SMALL, inputs, seconds=0) == 0
    # Where a GPU has memory for all images at once, the CPU takes them in parts: each is counted its own way.
    matching = methods.get("distribution_matching")
    monkeypatch.setattr(errors, "kind_of", lambda device: "cuda")
    on_gpu = memory.needed_bytes(matching, matching.Config.teaching(), inputs)
    monkeypatch.undo()
    assert on_gpu > 2 * memory.needed_bytes(matching, matching.Config.teaching(), inputs)
