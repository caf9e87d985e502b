"""How many kernels a GPU would be asked for in one step: calls on tensors of the stand-in device that make or change numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.methods import sre2l
from ddlab.runs.process import Inputs
from ddlab.training import supervised
from tests.stand_in_device import Away, stand_in_device
from tests.support import made_data

_ALLOCATES = ("empty", "empty_like", "new_empty", "new_empty_strided")


class Calls(TorchDispatchMode):
    """Counts them; to look at numbers in another shape asks for none."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        away = any(isinstance(leaf, Away) for leaf in tree_leaves((args, kwargs, result)))
        self.count += away and not func.is_view and func.overloadpacket.__name__ not in _ALLOCATES
        return result


def calls(work: Callable[[], Any]) -> int:
    """Of the second time: what is kept for later steps is made in the first."""
    work()
    with Calls() as counted:
        work()
    return counted.count


def teacher(data: ImageData) -> networks.Network:
    return networks.initialise(networks.spec("resnet18").for_data(data), seed=0)


def test_a_step_of_sre2l_asks_for_300_at_most() -> None:
    data = made_data(size=8)
    with stand_in_device() as device:
        inputs = Inputs(data=data, teachers=(teacher(data),), device=device)
        config = sre2l.Config(images_per_class=1)
        state = sre2l.init(config, inputs)
        found = calls(lambda: sre2l.update(config, inputs, state))
    assert found <= 300


def test_a_students_step_asks_for_little_more_than_the_bare_network() -> None:
    data = made_data(size=8)
    made = ddlab.distill("selection", data, progress=False)
    with stand_in_device() as device:
        inputs = Inputs(distilled=made, device=device)
        config = supervised.Config(network=networks.spec("resnet18"), batch_size=3)
        state = supervised.init(config, inputs)
        found = calls(lambda: supervised.update(config, inputs, state))
        network = teacher(data).to(device)
        images, labels = made.images.to(device), made.labels.to(device)
        names = networks.parameter_names(network.spec)

        def bare() -> None:
            leaves = {name: network.weights[name].detach().requires_grad_() for name in names}
            logits = networks.call(network.spec, {**network.weights, **leaves}, images, train=True)[0].logits
            torch.autograd.grad(F.cross_entropy(logits, labels), list(leaves.values()))

        alone = calls(bare)
    assert found <= 1.4 * alone
