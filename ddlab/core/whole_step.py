"""A step as one function of tensors: compiled, or captured as a CUDA graph and replayed, so that a GPU is not asked for each kernel.

    found = whole_step.run("graphed", key, function, given)     # what function(given) gives; None: do it eagerly

`function` takes tensors by name, in dicts, and gives tensors by name. It must read all that changes from step to step out of them, draw
nothing and look at no number; two functions with the same key and tensors alike are taken for one. Each thread has its own.
"""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree

KINDS = ("eager", "compiled", "graphed")
_KEPT = 4  # steps of each thread: a graph holds the memory of all that it computes
Step = Callable[[dict[str, Any]], dict[str, Tensor]]
_made = threading.local()


def run(kind: str, key: Hashable, function: Step, given: dict[str, Any]) -> dict[str, Tensor] | None:
    """`function(given)` but for rounding; None where this machine cannot, which a warning says once."""
    known: OrderedDict[Hashable, Step | None] = _made.__dict__.setdefault("steps", OrderedDict())
    leaves, layout = _pytree.tree_flatten(given)
    place = (kind, key, str(layout), *((leaf.shape, leaf.stride(), leaf.dtype, leaf.device) for leaf in leaves))
    if place not in known:
        try:
            known[place] = compiled(function, given) if kind == "compiled" else graphed(function, given)
        except Exception as problem:
            reason = (str(problem).strip() or type(problem).__name__).splitlines()[0].rstrip(".")
            warnings.warn(f"a {kind} step cannot be made here, so steps are eager: {reason}.", stacklevel=2)
            known[place] = None
        while len(known) > _KEPT:
            known.popitem(last=False)
    step = known[place]
    return None if step is None else step(given)


def compiled(function: Step, given: dict[str, Any]) -> Step:
    """The step by torch's compiler, forward and backward and update in one. Needs a C++ compiler; on a GPU Triton.

    Its operations are recorded first: hooks, checks and derivatives of our own are then behind us.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the compiler about itself
        step = torch.compile(make_fx(function)(given), fullgraph=True, dynamic=False)
        step(given)
    return step


def graphed(function: Step, given: dict[str, Any]) -> Step:
    """The step as a CUDA graph."""
    if any(leaf.device.type != "cuda" for leaf in _pytree.tree_leaves(given)):
        raise RuntimeError("a graph needs a CUDA device")
    return Replayed(_captured, function, given)


def _captured(function: Step, static: dict[str, Any]) -> tuple[Callable[[], None], dict[str, Tensor]]:
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):  # libraries choose, and allocate, in their first calls
            function(static)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = function(static)
    return graph.replay, found


class Replayed:
    """A step that reads and writes tensors of its own, always the same: those that are new are copied in, the results copied out.

    Args:
        capture: (function, tensors to read) -> what replays it, and the tensors that this writes.
    """

    def __init__(self, capture: Any, function: Step, given: dict[str, Any]) -> None:
        leaves, layout = _pytree.tree_flatten(given)
        self._static = [leaf.detach().clone() for leaf in leaves]
        self._now: list[Any] = [None] * len(leaves)
        self._replay, self._found = capture(function, _pytree.tree_unflatten(self._static, layout))

    def __call__(self, given: dict[str, Any]) -> dict[str, Tensor]:
        """What the function gives."""
        for place, leaf in enumerate(_pytree.tree_leaves(given)):
            now = (leaf, leaf._version)  # held, so that it is told from others; weights rarely change
            if self._now[place] is None or self._now[place][0] is not leaf or self._now[place][1] != now[1]:
                self._static[place].copy_(leaf)
                self._now[place] = now
        self._replay()
        return {name: value.clone() for name, value in self._found.items()}
