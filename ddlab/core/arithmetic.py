"""What a GPU multiplies float32 numbers in, for as long as a block lasts.

TF32 keeps 10 of float32's 23 bits behind the point. torch takes it for convolutions on CUDA unless it is told otherwise, and not for matrix
products. Here a run says it: a config's `precision` is "tf32" for torch's own choice, and with all else, "float32" too, float32 is float32.
A CPU has no TF32: there nothing is set.

torch has one setting for all threads. Threads that want the same are in a block together, others wait until the last of them has left.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import torch

PRECISIONS = ("float32", "bfloat16", "tf32")  # of a network's passes, as a config says it
_turn = threading.Condition()
_mine = threading.local()  # `wanted`: what the block that this thread is in wants, or None
_inside = 0
_before: tuple[str, ...] = ()


def _settings() -> tuple[Any, ...]:
    return torch.backends.cudnn.conv, torch.backends.cuda.matmul  # type: ignore[attr-defined]


@contextlib.contextmanager
def arithmetic(precision: str | None, device: torch.device | str) -> Iterator[None]:
    """On a GPU: convolutions in TF32 ("tf32") or float32 (any other); matrix products of float32 numbers in float32. As before afterwards.

    Args:
        precision: None stays with the block that this thread is in, and without one takes float32.
    """
    outer = getattr(_mine, "wanted", None)
    wanted = outer if precision is None and outer else "tf32" if precision == "tf32" else "ieee"
    if torch.device(device).type == "cpu" or wanted == outer:
        yield
        return
    if outer:  # who waits holds nothing, so that nobody waits for ever
        _leave()
    _enter(wanted)
    try:
        yield
    finally:
        _leave()
        if outer:
            _enter(outer)


def computing(config: Any, device: torch.device | str) -> contextlib.AbstractContextManager[None]:
    """What a process computes in on a device, by the `precision` of its config; without one float32."""
    return arithmetic(getattr(config, "precision", "float32"), device)


def _enter(wanted: str) -> None:
    global _inside, _before
    convolutions, products = _settings()
    with _turn:
        _turn.wait_for(lambda: _inside == 0 or convolutions.fp32_precision == wanted)
        if _inside == 0:
            _before = (convolutions.fp32_precision, products.fp32_precision)
            convolutions.fp32_precision, products.fp32_precision = wanted, "ieee"
        _inside += 1
    _mine.wanted = wanted


def _leave() -> None:
    global _inside
    _mine.wanted = None
    with _turn:
        _inside -= 1
        if _inside == 0:
            for setting, value in zip(_settings(), _before, strict=True):
                setting.fp32_precision = value
            _turn.notify_all()
