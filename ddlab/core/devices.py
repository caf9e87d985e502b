"""Which device is meant, and how numbers get to a GPU without a step waiting for it."""

from typing import Any

import torch
from torch import Tensor

from . import errors, storage

_SHARE = 4  # one part in so many of a GPU's free memory is what a dataset may take of it


def checked_device(device: torch.device | str) -> torch.device:
    """Return the device of that name; "auto" is CUDA when there is one, else the CPU."""
    # A device object is never "auto", and comparing one with a text raises in some versions of
    # torch.
    if isinstance(device, str) and device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        resolved = torch.device(device)
    except (RuntimeError, TypeError):
        errors.fail("device", "'auto', 'cpu' or 'cuda'", device)
    # torch also knows "mps", "meta" and others, on which nothing here was ever compared with the
    # CPU.
    if resolved.type not in ("cpu", "cuda"):
        errors.fail("device", "'auto', 'cpu' or 'cuda'", str(device))
    if resolved.type == "cuda" and not torch.cuda.is_available():
        errors.fail("device", "'auto' or 'cpu' on a machine without CUDA", str(device))
    # torch would only notice a missing card at the first tensor, in the middle of a run.
    if resolved.type == "cuda" and (resolved.index or 0) >= torch.cuda.device_count():
        errors.fail("device", f"one of the {torch.cuda.device_count()} CUDA devices", str(device))
    return resolved


def to_device(value: Tensor, device: torch.device | str) -> Tensor:
    """Return a tensor on a device, from pinned memory if it is a GPU.

    The copy then runs beside the computation, and nobody waits for it.
    """
    device = torch.device(device)
    # Only from pinned memory does the copy leave the CPU free; from ordinary memory `non_blocking`
    # is ignored.
    if device.type == "cuda" and value.device.type == "cpu":
        value = value.pin_memory()
    return value.to(device, non_blocking=device.type != "cpu")


def rows_on(
    owner: Any, name: str, value: Tensor, rows: Tensor | slice, device: torch.device | str
) -> Tensor:
    """`value[rows]` on a device.

    All of `value` is copied there once and kept in `owner`, if it takes a quarter of what is free
    at most.

    Args:
        name: of the value in `owner`.
        rows: int64 [n], on the CPU, or a slice.
    """
    if value.device.type == torch.device(device).type:
        return value[rows]
    # Kept beside the tensor's version, so an edit in place on the CPU reaches the GPU at the next
    # step.
    whole = storage.kept_while_unchanged(
        owner, f"{name} on {device}", lambda: _whole(value, device), value
    )
    # Too large for the card: only the rows of this step travel.
    if whole is None:
        return to_device(value[rows], device)
    return whole[to_device(rows, device) if isinstance(rows, Tensor) else rows]


def _whole(value: Tensor, device: torch.device | str) -> Tensor | None:
    if (
        torch.device(device).type == "cuda"
        and _SHARE * value.nbytes > torch.cuda.mem_get_info(device)[0]
    ):
        return None
    return value.to(device)  # once for a run, and not from pinned memory, of which there is less
