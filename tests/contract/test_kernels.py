"""How many kernels a GPU would be asked for in one step: calls on tensors of the stand-in device that make or change numbers."""

from __future__ import annotations

import torch
import torch.nn.functional as F

import ddlab
from ddlab import networks
from ddlab.commands.bench.gpu import calls
from ddlab.data import ImageData
from ddlab.methods import sre2l
from ddlab.runs.process import Inputs
from ddlab.training import supervised
from tests.stand_in_device import stand_in_device
from tests.support import made_data


def teacher(data: ImageData) -> networks.Network:
    return networks.initialise(networks.spec("resnet18").for_data(data), seed=0)


def test_a_step_of_sre2l_asks_for_300_at_most() -> None:
    data = made_data(size=8)
    with stand_in_device() as device:
        inputs = Inputs(data=data, teachers=(teacher(data),), device=device)
        config = sre2l.Config(images_per_class=1)
        state = sre2l.init(config, inputs)
        found = calls(lambda: sre2l.update(config, inputs, state), device)
    assert found <= 300


def test_a_students_step_asks_for_little_more_than_the_bare_network() -> None:
    data = made_data(size=8)
    made = ddlab.distill("selection", data, progress=False)
    with stand_in_device() as device:
        inputs = Inputs(distilled=made, device=device)
        config = supervised.Config(network=networks.spec("resnet18"), batch_size=3)
        state = supervised.init(config, inputs)
        found = calls(lambda: supervised.update(config, inputs, state), device)
        network = teacher(data).to(device)
        images, labels = made.images.to(device), made.labels.to(device)
        names = networks.parameter_names(network.spec)

        def bare() -> None:
            leaves = {name: network.weights[name].detach().requires_grad_() for name in names}
            logits = networks.call(network.spec, {**network.weights, **leaves}, images, train=True)[0].logits
            torch.autograd.grad(F.cross_entropy(logits, labels), list(leaves.values()))

        alone = calls(bare, device)
    assert found <= 1.4 * alone
