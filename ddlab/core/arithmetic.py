"""What networks compute in: float32, whatever a notebook has set before.

torch takes TF32, with 10 of float32's 23 bits behind the point, for convolutions on CUDA unless it
is told otherwise. A cell that called `torch.set_default_dtype(torch.float64)` or
`torch.set_float32_matmul_precision("medium")`, or that stands under `inference_mode`, `autocast` or
a default device, would otherwise change numbers or end in an error of torch's.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch

# On a CPU with bfloat16 units these two decide whether float32 is rounded to it.
_PRODUCTS: tuple[Any, ...] = (
    torch.backends.mkldnn.matmul,  # type: ignore[attr-defined]
    torch.backends.mkldnn.conv,  # type: ignore[attr-defined]
)

Function = TypeVar("Function", bound=Callable[..., Any])


def exact_float32(device: torch.device | str) -> None:
    """Make float32 exact on a GPU, in convolutions and in matrix products, for this process."""
    # The CPU knows no TF32. On a GPU both settings are needed: matrix products are exact by torch's
    # default, but convolutions are not, and a reader's own cell may have changed either.
    if torch.device(device).type != "cpu":
        torch.backends.cudnn.conv.fp32_precision = "ieee"  # type: ignore[attr-defined]
        torch.backends.cuda.matmul.fp32_precision = "ieee"


@contextlib.contextmanager
def torch_as_usual() -> Iterator[None]:
    """Compute with torch's own defaults, whatever the caller has set.

    float32, gradients, no autocast, and the CPU where no device is named.
    """
    # The common case costs eight flags and enters no context; a checked call is made fifty times at a
    # press.
    if _is_as_usual():
        yield
        return
    dtype = torch.get_default_dtype()
    precisions = [product.fp32_precision for product in _PRODUCTS]
    # Each of these belongs to this thread alone, so another thread's cell keeps what it has set.
    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.autocast("cpu", enabled=False),
        torch.autocast("cuda", enabled=False),
        torch.device("cpu"),
    ):
        # These are one for all threads, so they come back even where this one fails.
        torch.set_default_dtype(torch.float32)
        for product in _PRODUCTS:
            product.fp32_precision = "ieee"
        try:
            yield
        finally:
            torch.set_default_dtype(dtype)
            for product, precision in zip(_PRODUCTS, precisions, strict=True):
                product.fp32_precision = precision


def _is_as_usual() -> bool:
    return (
        torch.get_default_dtype() == torch.float32
        and torch.is_grad_enabled()
        and not torch.is_inference_mode_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not torch.is_autocast_enabled("cuda")
        and torch.get_default_device().type == "cpu"
        and all(product.fp32_precision in ("none", "ieee") for product in _PRODUCTS)
    )


def as_usual(function: Function) -> Function:
    """Call a function with torch's own defaults (`torch_as_usual`)."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with torch_as_usual():
            return function(*arguments, **named)

    return call  # type: ignore[return-value]
