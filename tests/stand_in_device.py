"""A second device for machines that have none: its tensors lie in the CPU's memory, but whatever
mixes them with the CPU's is refused.

    with stand_in_device() as device:        # "auto" means this device here
        torch.zeros(3, device=device) + torch.zeros(3)      # MixedDevices, as on a GPU

Allowed is what CUDA allows: copies from one to the other, a CPU scalar in a pointwise operation,
CPU indices of a tensor on the device. Drawing with a CPU generator on the device and `.numpy()` are
refused. Autograd, `torch.func.grad` and `vmap` pass through it.
"""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only

from ddlab.core import devices

# A type of which no build of PyTorch has kernels, and which nothing has to be registered for.
DEVICE = torch.device("lazy")
_aten = torch.ops.aten
_COPIES = {_aten._to_copy.default, _aten.copy_.default}
_INDEXED = {  # operation -> the place of its indices, which may lie on the CPU
    _aten.index.Tensor: 1,
    _aten.index_put.default: 1,
    _aten.index_put_.default: 1,
    _aten._index_put_impl_.default: 1,
    _aten._unsafe_index.Tensor: 1,
    _aten._unsafe_index_put.default: 1,
}
_FILLS = {_aten.fill_.Tensor, _aten.masked_fill.Tensor, _aten.masked_fill_.Tensor, _aten.where.self}


class MixedDevices(AssertionError):
    """An operation on tensors of both devices."""


class DeviceTensor(Tensor):
    """A tensor on the stand-in device; `inner` holds its values."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> Any:
        layout: dict[str, Any] = {
            "strides": inner.stride(),
            "storage_offset": inner.storage_offset(),
        }
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=DEVICE, **layout
        )

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    def __repr__(self, **_: Any) -> str:
        return f"Away({self.inner})"

    def tolist(self) -> Any:
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _dispatched(func, args, kwargs or {})


class _Mode(TorchDispatchMode):
    """Sees what makes new tensors as well."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _dispatched(func, args, kwargs or {})


def _dispatched(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    device = kwargs.get("device")
    on_device = any(isinstance(leaf, DeviceTensor) for leaf in tree_leaves((args, kwargs)))
    lands = on_device if device is None else torch.device(device).type == DEVICE.type
    if on_device or lands:
        _check(func, args, kwargs)
    inner_args, inner_kwargs = tree_map_only(
        DeviceTensor, lambda value: value.inner, (args, kwargs)
    )
    if device is not None:
        inner_kwargs["device"] = torch.device("cpu")
    out = func(*inner_args, **inner_kwargs)
    if func is _aten.copy_.default:
        return args[0]
    if not lands:
        return out
    out = tree_map_only(Tensor, DeviceTensor, out)
    return return_and_correct_aliasing(func, args, kwargs, out) if on_device else out


def _check(func: Any, args: Any, kwargs: dict[str, Any]) -> None:
    """Raise if CUDA would refuse this for its tensors."""
    if func in _COPIES:
        return
    if isinstance(kwargs.get("generator"), torch.Generator):
        raise MixedDevices(f"{func} draws on the device with a generator of the CPU")
    place = _INDEXED.get(func)
    if place is not None and isinstance(args[0], DeviceTensor):
        args = (*args[:place], *args[place + 1 :])
    scalars = torch.Tag.pointwise in func.tags or func in _FILLS or place is not None
    values = [value for value in tree_leaves((args, kwargs)) if isinstance(value, Tensor)]
    on_cpu = [
        value
        for value in values
        if not isinstance(value, DeviceTensor) and not (scalars and value.ndim == 0)
    ]
    if on_cpu and len(on_cpu) < len(values):
        places = [
            f"{'device' if isinstance(v, DeviceTensor) else 'CPU'} {tuple(v.shape)}" for v in values
        ]
        shapes = ", ".join(places)
        raise MixedDevices(f"{func} of {shapes}")


def _checked_device(device: Any, check: Any = devices.checked_device) -> torch.device:
    if str(device).partition(":")[0] in ("auto", DEVICE.type):
        return DEVICE
    return check(device)


def _autocast(device_type: str, *args: Any, context: Any = torch.autocast, **kwargs: Any) -> Any:
    return context("cpu" if device_type == DEVICE.type else device_type, *args, **kwargs)


@contextlib.contextmanager
def stand_in_device() -> Iterator[torch.device]:
    """The device; inside, "auto" means it, as it means the GPU where there is one."""
    with (
        mock.patch.object(devices, "checked_device", _checked_device),
        mock.patch.object(torch, "autocast", _autocast),
        _lifted_on_the_cpu(),
        _Mode(),
    ):
        yield DEVICE


@contextlib.contextmanager
def _lifted_on_the_cpu() -> Iterator[None]:
    """`torch.tensor(numbers, device=...)` makes a CPU tensor first and moves it where the mode sees
    it.
    """
    before = torch._C._only_lift_cpu_tensors()
    torch._C._set_only_lift_cpu_tensors(True)
    try:
        yield
    finally:
        torch._C._set_only_lift_cpu_tensors(before)
