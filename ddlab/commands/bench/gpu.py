"""What a step takes of a GPU beside the bare network: `ddlab bench gpu`. It runs on a CPU too, where the goals mean nothing."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from ... import methods, networks
from ...core.arithmetic import arithmetic
from ...methods import dwa
from ...runs.process import Inputs
from ...training import supervised
from . import peak_megabytes
from .steps import noise_inputs

METHODS = ("sre2l", "fadrm", "dwa", "student")
SIZES = (32, 224)
# (method, size) -> what is measured for it, and at most how much, on one H200 with 100 images in bfloat16.
GOALS = {
    ("sre2l", 32): ("milliseconds", 2.0),
    ("fadrm", 224): ("milliseconds_per_image", 0.05),  # .26 on a 4090: FADRM, Table 4
    ("dwa", 32): ("seconds_per_image_per_class", 4.0),  # 125 on an A100: DWA, CIFAR-100
}
_ALLOCATES = ("empty", "empty_like", "new_empty", "new_empty_strided")


class Calls(TorchDispatchMode):
    """Counts what a device is asked for: calls on its tensors that make or change numbers. To look at them in another shape asks for none.

    A library's call may be several kernels; a convolution is one here.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device, self.count = device, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs, result))
        there = any(isinstance(leaf, Tensor) and leaf.device.type == self.device.type for leaf in leaves)
        self.count += there and not func.is_view and func.overloadpacket.__name__ not in _ALLOCATES
        return result


def calls(work: Callable[[], Any], device: torch.device) -> int:
    """Calls of the second time: what is kept for later steps is made in the first."""
    work()
    with Calls(device) as counted:
        work()
    return counted.count


def every(
    device: str, images: int, precision: str, sizes: tuple[int, ...], repeats: int, execution: str = "eager"
) -> list[dict[str, Any]]:
    """All methods at all sizes, and the matrix rate that they are compared with. Students have no `execution`: theirs is eager."""
    rate = matrix_rate(precision, device, repeats)
    asked: dict[str, Any] = {"rate": rate, "repeats": repeats, "execution": execution}
    return [one(method, size, images, precision, device, **asked) for size in sizes for method in METHODS]


def matrix_rate(precision: str, device: str, repeats: int) -> float:
    """Multiplications and additions per second of a product of square matrices, in what convolutions have in that precision."""
    side = 8192 if device == "cuda" else 512
    a = torch.rand(side, side, device=device, dtype=torch.bfloat16 if precision == "bfloat16" else torch.float32)
    weights, images = a.view(side, side, 1, 1), a.T.reshape(1, side, side, 1)  # as a convolution, for TF32's sake
    work = (lambda: a @ a) if precision == "bfloat16" else (lambda: F.conv2d(images, weights))
    with arithmetic(precision, device):
        return 2 * side**3 / seconds(work, repeats, device)


def one(
    method: str, size: int, images: int, precision: str, device: str, *, rate: float, repeats: int, execution: str
) -> dict[str, Any]:
    """One update of ResNet-18 (`student`: of its own weights) beside the bare network, forward and backward, nothing else.

    Calls and operations are those of the eager step, whatever is timed.
    """
    inputs = noise_inputs(images, size, device)
    if method == "student":
        update, bare, config = _student(inputs, images, precision)
        eager = update
    else:
        eager = _recovery(method, inputs, precision, "eager")[0]
        update, bare, config = _recovery(method, inputs, precision, execution)
    with arithmetic(precision, device):
        alone = {"milliseconds": 1e3 * seconds(bare, repeats, device), "calls": calls(bare, inputs.device)}
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        taken = seconds(update, repeats, device)
        memory, asked = peak_megabytes(device), calls(eager, inputs.device)
        with FlopCounterMode(display=False) as counter:
            eager()
        found: dict[str, Any] = {
            "milliseconds": 1e3 * taken,
            "milliseconds_per_image": 1e3 * taken / images,
            "calls": asked,
            "peak_megabytes": memory,
            "bare network": alone,
            "ratio_to_bare": 1e3 * taken / alone["milliseconds"],
            "share_of_matrix_rate": counter.get_total_flops() / taken / rate,
        }
        if isinstance(config, dwa.Config):  # the updates of a batch and the adjustment of its teacher
            adjusting = seconds(lambda: dwa.init(config, inputs), 1, device)
            found["seconds_per_image_per_class"] = config.iterations * taken + adjusting
    if (method, size) in GOALS:
        quantity, most = GOALS[method, size]
        found["goal"] = {"of": quantity, "at_most": most, "met": found[quantity] <= most}
    return {
        "name": f"{method} step, ResNet-18, {size} px", "images": images, "precision": precision, "device": device,
        "execution": getattr(config, "execution", "eager"),
        **_rounded({"matrix_teraflops": rate / 1e12, **found}),
    }  # fmt: skip


def seconds(work: Callable[[], Any], repeats: int, device: str) -> float:
    """Wall seconds per call, of many calls in a row: a GPU is waited for once."""
    work()
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    wait()
    return (time.perf_counter() - start) / repeats


def _rounded(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _rounded(value) for name, value in found.items()}
    return float(f"{found:.4g}") if isinstance(found, float) else found


def _recovery(
    method: str, inputs: Inputs, precision: str, execution: str
) -> tuple[Callable[[], Any], Callable[[], Any], Any]:
    module, teacher = methods.get(method), inputs.teachers[0]
    config = module.Config(images_per_class=1, precision=precision, execution=execution)
    begun = module.init(config, inputs)
    state = [begun]
    labels = torch.arange(len(begun.images), device=inputs.device)

    def update() -> None:
        after = module.update(config, inputs, state[0])[0]
        state[0] = after if after.step + 1 < config.iterations else dataclasses.replace(begun, step=1)

    def bare() -> None:
        leaf = begun.images.detach().requires_grad_()
        with networks.passes_in(precision, leaf.device):
            logits = networks.call(teacher.spec, teacher.weights, leaf, any_size=True)[0].logits
        torch.autograd.grad(F.cross_entropy(logits.float(), labels), leaf)

    return update, bare, config


def _student(inputs: Inputs, images: int, precision: str) -> tuple[Callable[[], Any], Callable[[], Any], Any]:
    network = inputs.teachers[0]
    inputs = dataclasses.replace(inputs, teachers=())
    config = supervised.Config(
        network=networks.spec("resnet18"), batch_size=images, labels="hard", crop_pixels=1, precision=precision
    )
    state = supervised.init(config, inputs)
    assert inputs.data is not None
    pixels, labels = inputs.data.normalised(device=inputs.device), inputs.data.train_labels.to(inputs.device)
    names = networks.parameter_names(network.spec)

    def update() -> None:
        supervised.update(config, inputs, state)

    def bare() -> None:
        leaves = {name: network.weights[name].detach().requires_grad_() for name in names}
        with networks.passes_in(precision, pixels.device):
            logits = networks.call(network.spec, {**network.weights, **leaves}, pixels, train=True)[0].logits
        torch.autograd.grad(F.cross_entropy(logits.float(), labels), list(leaves.values()))

    return update, bare, config
