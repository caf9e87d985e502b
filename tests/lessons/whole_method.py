"""A lesson's cells beside the library: what the rows `METHODS` of the lessons' folders are made of."""

import contextlib
import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import ddlab
from ddlab import networks
from ddlab.core.randomness import generator
from ddlab.data import ImageData
from ddlab.networks import Network
from ddlab.runs import Inputs
from ddlab.training import supervised
from tests.support import doubled, made_data

SOLUTIONS = Path(__file__).parents[2] / "notebooks" / "solutions"


SEED = 3


UPDATES = 20


Tensors = list[Tensor]


@dataclasses.dataclass(frozen=True)
class Row:
    """The cells of a lesson with `tag`: `page` runs them, `library` makes the same; `dropped`: a
    term, and what stands without it.
    """

    page: Callable[[str], Tensors]
    library: Callable[[], Tensors]
    dropped: tuple[str, str]
    taped: bool = False  # the page draws from torch's global generator
    tag: str = "whole-method"
    tolerance: float = 1e-9
    prepare: Callable[[], Any] = float  # makes what stays in float32, before anything else


class Tape(TorchDispatchMode):
    """Takes down what every operation draws; while it plays it hands the same out, in order, to who
    draws from the global generator.

    So a page may seed and draw as its reader would, and makes the images of the library, whose
    draws are seeded step by step.
    """

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Tensor] = []
        self.left: list[Tensor] | None = None  # to be handed out; None while it records

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in function.tags:
            if self.left is None:
                self.drawn.append(result.clone())
            elif kwargs.get("generator") is None:
                assert self.left and self.left[0].shape == result.shape, (
                    f"the library draws something else than {function}"
                )
                result.copy_(self.left.pop(0))
        return result

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Inside, the library runs."""
        self.drawn = []
        self.left = None
        with self:
            yield

    @contextlib.contextmanager
    def played(self) -> Iterator[None]:
        """Inside, the page runs; at its end nothing is left."""
        self.left = list(self.drawn)
        with self:
            yield
        assert not self.left, f"the page leaves out {len(self.left)} draws"


TAPE = Tape()


def source_of(number: str, tag: str = "whole-method") -> str:
    """Return the code cells of a lesson's solution that carry the tag, in order."""
    (path,) = SOLUTIONS.glob(f"{number}_*.ipynb")
    cells = nbformat.read(path, 4).cells
    tagged = [cell.source for cell in cells if tag in cell.metadata.get("tags", [])]
    return "\n\n\n".join(tagged)


def run(source: str, **names: Any) -> dict[str, Any]:
    """What the cells have made."""
    space: dict[str, Any] = {
        "torch": torch,
        "F": F,
        "nn": nn,
        "math": math,
        "copy": copy,
        "ddlab": ddlab,
        "networks": networks,
        **names,
    }
    exec(source, space)
    return space


def updated(module: Any, config: Any, inputs: Inputs, updates: int = UPDATES) -> Any:
    """The State after so many updates in float64; what begins in float32 does so from the same
    numbers. The tape begins after `init`.
    """
    state = doubled(module.init(config, inputs))
    TAPE.drawn.clear()
    for _ in range(updates):
        state = doubled(module.update(config, inputs, state)[0])
    return state


@functools.cache
def data_of(**shape: int) -> ImageData:
    return made_data(**shape)


@functools.cache
def teacher_of(trained: bool = False, **shape: int) -> Network:
    """Fresh, or one whose batch norms remember something; in float64."""
    data = data_of(**shape)
    spec = networks.spec("convnet", width=4)
    if trained:
        config = supervised.Config.teaching("teacher", network=spec, epochs=3)
        return doubled(ddlab.train_teacher(data, config, progress=False))
    return doubled(
        networks.initialise(networks.spec("convnet", width=4, head="mean").for_data(data), seed=0)
    )


def without_weights(images: Tensor) -> Tensors:
    """What was learned; the page's networks have weights of their own."""
    TAPE.drawn = [draw for draw in TAPE.drawn if not draw.is_floating_point()]
    return [images]


FOUR = {"classes": 4}


def perceptron() -> Network:
    return networks.initialise(networks.spec("mlp", width=6).for_data(data_of()), seed=1)


def numbers(scale: float) -> Callable[[int], tuple[Tensor, Tensor]]:
    return lambda seed: (
        scale * torch.rand(4, generator=generator(seed, 0, "x")).double(),
        torch.arange(4),
    )
