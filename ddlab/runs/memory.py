"""How much memory a run takes, before it begins: its first updates on tensors that have a shape but no numbers.

Everything in them is counted as it comes and goes: weights, the optimiser's state, images, and what each layer keeps for the way back.
What is read from a tensor on the way (a loss, an index) is 0, so a method that asks its numbers what to do next is followed along one
of its ways. Not counted: what libraries take for themselves (a convolution's workspace, CUDA's own), and what lies there before, the
data of `inputs` and what PyTorch is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
import weakref
from typing import Annotated, Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..core import errors, memory
from ..core.boundary import checked, within
from ..core.errors import DDLabError
from . import cache
from .process import Inputs, check_call

_aten = torch.ops.aten
_UPDATES = 2  # the second has the first one's optimiser state beside its own
_READS = "_ddlab_reads"  # on a tensor: what it is read as
_NUMBERLESS = torch.device("meta")


class _Enough(Exception):
    """The time is over; what was counted stands."""


class _Counted(TorchDispatchMode):
    """Counts the bytes of all numberless tensors that live at one time, and reads zeros from them."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._until = time.thread_time() + seconds
        self._alive: dict[int, Any] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler, which takes seconds, to keep it away from here

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if time.thread_time() > self._until:
            raise _Enough
        kwargs = kwargs or {}
        if args and isinstance(args[0], Tensor) and args[0].is_meta:
            if func is _aten._local_scalar_dense.default:
                return _read(args[0])
            if func is _aten._to_copy.default and torch.device(kwargs.get("device") or _NUMBERLESS).type == "cpu":
                return _numbers(args[0], kwargs.get("dtype") or args[0].dtype)
        found = func(*args, **kwargs)
        for each in tree_leaves(found):
            if isinstance(each, Tensor) and each.is_meta:
                self._count(each.untyped_storage())
                if func in (_aten.any.default, _aten.any.dim):
                    setattr(each, _READS, False)
        return found

    def _count(self, storage: Any) -> None:
        place, size = id(storage), storage.nbytes()
        if place in self._alive and self._alive[place]() is storage:
            return

        def gone(_: Any) -> None:
            self.now -= size
            del self._alive[place]

        self._alive[place] = weakref.ref(storage, gone)
        self.now += size
        self.peak = max(self.peak, self.now)


def _read(value: Tensor) -> bool | int | float:
    """A number of a tensor that has none: all is as it should be, and nothing is any other."""
    if value.dtype == torch.bool:
        return getattr(value, _READS, True)
    return 0.5 if value.is_floating_point() else 0


def _numbers(value: Tensor, dtype: torch.dtype) -> Tensor:
    """A tensor without numbers on the CPU: any between 0 and 1, of which bases can be found, or the first index."""
    if not dtype.is_floating_point:
        return torch.zeros(value.shape, dtype=dtype)
    return torch.rand(value.shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


@checked
def needed_bytes(process: Any, config: Any, inputs: Inputs, *, seconds: Annotated[float, within(0)] = 5.0) -> int:
    """The most bytes that tensors of a run take at one time on its device, teachers included, beside the data.

    Args:
        seconds: of computing, for which the run is followed at most; then what was counted so far stands, as it does where an update
            stumbles over numbers that are none.

    Raises:
        DDLabError: what `init` refuses.
    """
    check_call(process, config, inputs)
    with (
        errors.numberless(torch.device(inputs.device)),
        cache.aside(),
        _Counted(seconds) as counted,
        contextlib.suppress(_Enough),
    ):
        alike = dataclasses.replace(inputs, device=_NUMBERLESS)
        state = process.init(config, alike)
        updates = min(_UPDATES, process.total_steps(config, alike))
        with contextlib.suppress(DDLabError):
            for _ in range(updates):
                state, _trace = process.update(config, alike, state)
    return counted.peak


def checked_bytes(process: Any, config: Any, inputs: Inputs) -> int:
    """`needed_bytes`, where that much is free on the device.

    Raises:
        DDLabError: it is not.
    """
    needed, free = needed_bytes(process, config, inputs), memory.free_bytes(inputs.device)
    if needed > free:
        fits = f"one that runs in the {memory.text(free)} free on {str(inputs.device)!r} (fewer images at once, a smaller network)"
        raise DDLabError(f"config must be {fits}; given {process.NAME} with {memory.text(needed)}.")
    return needed
