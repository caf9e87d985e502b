"""Runs: a process driven step by step, watched, left and resumed.

A method of your own needs no more than the parts of a process (`Process`, which type checkers
read), in a module or in anything that has them. Here the mean image of each class is moved until a
teacher is surer of it:

>>> from dataclasses import dataclass, replace
>>> from types import SimpleNamespace
>>> import torch
>>> import ddlab
>>> from ddlab import networks
>>> from ddlab.runs import Parameters, parameter
>>> @dataclass(frozen=True, kw_only=True)
... class Config(Parameters):
...     steps: int = parameter(20, range=(1, None), help="Updates of the images.", explorable=(5, 100))
...     rate: float = parameter(1.0, range=(0, None), help="Of gradient descent on them.", explorable=(0, 5))
>>> @dataclass(frozen=True)
... class State:  # all that is needed to go on
...     step: int
...     images: torch.Tensor
>>> @dataclass(frozen=True)
... class Trace:  # what a figure needs
...     loss: torch.Tensor
>>> def init(config, inputs):
...     classes = [inputs.data.of_class(label) for label in range(inputs.data.classes)]
...     return State(0, torch.stack([inputs.data.normalised(rows, device=inputs.device).mean(0) for rows in classes]))
>>> def update(config, inputs, state):
...     teacher, images = inputs.teachers[0], state.images.detach().requires_grad_()
...     with torch.enable_grad():
...         outputs, _ = networks.call(teacher.spec, teacher.weights, images)
...         loss = torch.nn.functional.cross_entropy(outputs.logits, torch.arange(len(images), device=images.device))
...         (gradient,) = torch.autograd.grad(loss, images)
...     return State(state.step + 1, images.detach() - config.rate * gradient), Trace(loss.detach())
>>> def finish(config, inputs, state):
...     images = state.images.cpu()
...     made = ddlab.from_images(images, torch.arange(len(images)), inputs.data, inputs.teachers[0])
...     return replace(made, complete=state.step >= config.steps)
>>> mine = SimpleNamespace(
...     NAME="moved_means", NEEDS=("data", "teacher"), Config=Config, State=State, Trace=Trace,
...     total_steps=lambda config, inputs: config.steps, init=init, update=update, finish=finish,
... )

Now it is driven, checkpointed, looked at and evaluated like those of the house;
`ddlab.explorers.Live(mine, data, teacher)` plays it:

>>> data = ddlab.data.load("digits")
>>> teacher = networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)
>>> made = ddlab.distill(mine, data, teacher, progress=False)
>>> run = ddlab.Run(mine, Config(steps=4), ddlab.Inputs(data=data, teachers=(teacher,)))
>>> [frame.step for frame in run.advance(until=2).frames], list(run.at(2).content.numbers)
([0, 1, 2], ['loss'])

A `look(config, inputs, state, trace)` of its own says what a reader sees of a step; see `Look`.
"""

from ..core import Parameters, listing, parameter
from ..core.source import source
from . import cache, checkpoint, process
from .inputs import Inputs
from .look import Look, Number, default_look, look
from .process import Process, Step, every, steps
from .run import NOTHING, Frame, Keep, Run, Runs

__all__ = [
    "NOTHING",
    "Frame",
    "Inputs",
    "Keep",
    "Look",
    "Number",
    "Parameters",
    "Process",
    "Run",
    "Runs",
    "Step",
    "cache",
    "checkpoint",
    "default_look",
    "every",
    "look",
    "parameter",
    "process",
    "source",
    "steps",
]
__dir__ = listing(__all__)
