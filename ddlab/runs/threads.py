"""How many threads a run computes with: one where its networks are small, all where they are large.

Threads wait for each other in every operation. On two idle cores a second one gains a tenth to a
third below `LARGE` multiply-adds, a third to a half above; beside a busy program it costs more than
it gains, and sums that are cut in other places have other last bits. So a small run takes one: it
is as fast beside a browser as alone, and has the same bits on any number of cores.
"""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ..core.arithmetic import torch_as_usual
from ..networks import NetworkSpec
from ..networks.family import zeros_of
from ..networks.specification import skeleton
from .inputs import Inputs

LARGE = 2e9  # multiply-adds in a forward pass of a batch
_UNKNOWN = 100  # multiply-adds for each weight of a network that cannot say it
_active: list[int] = []
_lock = threading.Lock()
_local = threading.local()


@contextlib.contextmanager
def limit_threads(count: int) -> Iterator[None]:
    """Compute with so many threads, in torch's own defaults.

    While another thread's run takes fewer threads, this one takes fewer too: a part of torch has
    one number for all.
    """
    outermost = not getattr(_local, "inside", False)
    if outermost:
        # First the number, then the mark: `available` answers differently inside a run.
        _local.own = available()
        _local.inside = True
    with _lock:
        _active.append(count)
        torch.set_num_threads(min(_active))
    try:
        with torch_as_usual():
            yield
    finally:
        with _lock:
            _active.remove(count)
            # What this thread finds outside may be another run's number; `available` knows it by
            # this mark.
            _local.left = min(_active, default=_local.own)
            torch.set_num_threads(_local.left)
        if outermost:
            _local.inside = False


def available() -> int:
    """Return the threads that this thread has outside of runs.

    Where it left a run beside another's, they come back with its next one.
    """
    current = torch.get_num_threads()
    is_limited = getattr(_local, "inside", False) or getattr(_local, "left", None) == current
    return _local.own if is_limited else current


def thread_count(config: Any, inputs: Inputs) -> int:
    """Return 1 or `available()`, by the shapes of the networks and the batch alone."""
    # A GPU's kernels are started by one thread anyway.
    if torch.device(inputs.device).type != "cpu":
        return available()
    return 1 if work(config, inputs) < LARGE else available()


def work(config: Any, inputs: Inputs) -> int:
    """Return the multiply-adds of a forward pass of the largest network by a batch.

    Without a network they are those of a kernel by the images that are learned.
    """
    source = inputs.data or inputs.distilled
    if source is None:
        return 0
    network = getattr(config, "network", None)
    specs = (
        [network.for_data(source, outputs=max(source.classes, 1))]
        if isinstance(network, NetworkSpec)
        else []
    )
    specs += [teacher.spec for teacher in inputs.teachers]
    learned = getattr(config, "images_per_class", 1) * max(source.classes, 1)
    # A batch of a learned set has at least one image of each class.
    batch = max(getattr(config, "batch_size", 1), source.classes)
    height, width = source.image_size
    multiply_adds_per_image = max(
        map(multiply_adds, specs), default=learned * source.channels * height * width
    )
    return batch * multiply_adds_per_image


@functools.lru_cache(256)
def multiply_adds(spec: NetworkSpec) -> int:
    """Return the multiply-adds of the layers with weights, for one image."""
    module = zeros_of(skeleton(spec))
    counted = list[int]()

    def count(layer: nn.Module, _inputs: Any, output: Tensor) -> None:
        weight: Any = layer.weight
        counted.append(weight[0].numel() * output[0].numel())

    for layer in module.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            layer.register_forward_hook(count)
    like = next(module.parameters())
    try:
        with torch.no_grad():
            module(
                torch.zeros((1, spec.channels or 1, *(spec.image_size or (1, 1))), dtype=like.dtype)
            )
    except (RuntimeError, TypeError, ValueError):  # a network of one's own may need other numbers
        return _UNKNOWN * sum(weight.numel() for weight in module.parameters())
    return sum(counted)
