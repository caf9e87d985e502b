"""What the storm's tables are made of: an entry for each public function, and the small things that right arguments are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.methods import selection, sre2l
from ddlab.networks import Network
from ddlab.runs.process import Inputs
from ddlab.training import supervised
from tests.support import made_data

EVERY_STEP = "called in every step, where looking for NaN would wait for the device; whole runs are looked at"
BUNDLE = "a bundle of what it is given"
RECORD = "a record that ddlab fills and does not look at; bent ones are thrown at all functions that take one"
DRIVEN = "called by process.steps and process.run, which check config, inputs and state; called in every step"


class Given:
    """Right things of every kind, and strangers: whole and valid, but at the wrong place nearly everywhere."""

    def __init__(self, data: ImageData, teacher: Network, distilled: DistilledSet, folder: Path) -> None:
        self.data, self.teacher, self.distilled, self.folder, self.files = data, teacher, distilled, folder, 0
        self.open: list[Any] = []
        self.spec = networks.spec("convnet", width=4)
        self.inputs = Inputs(data=data, teachers=(teacher,))
        self.student = supervised.Config.teaching(network=self.spec, epochs=1, batch_size=4)
        self.teaching = supervised.Config.teaching("teacher", network=self.spec, epochs=1, batch_size=12)
        self.chosen = selection.Config(images_per_class=1)
        self.recovery = sre2l.Config.teaching(iterations=2)
        other = networks.initialise(self.spec.for_data(made_data(classes=2, channels=3, size=9)), seed=0)
        broken = {name: torch.full_like(value, torch.nan) for name, value in teacher.weights.items() if value.ndim}
        self.strangers: list[Any] = [
            data, made_data(classes=2, channels=3, size=9), distilled, self.inputs, Inputs(), teacher, other, self.spec,
            Network(spec=teacher.spec, weights=teacher.weights | broken), networks.spec("convnet", norm="none"),
            self.student, self.chosen, self.recovery, selection, sre2l, supervised,
        ]  # fmt: skip

    def tensor(self, *shape: int, seed: int = 0) -> torch.Tensor:
        """Numbers from N(0, 1)."""
        return torch.randn(shape, generator=torch.Generator().manual_seed(seed))

    def probabilities(self, *shape: int) -> torch.Tensor:
        """Rows that sum to 1."""
        return self.tensor(*shape).softmax(-1)

    def images(self, count: int = 4) -> torch.Tensor:
        """float32 [count, channels, h, w] of the data's shape."""
        return self.tensor(count, self.data.channels, *self.data.image_size)

    def any_size(self) -> Network:
        """A teacher that takes images of any size."""
        spec = networks.spec("convnet", width=4, depth=2, head="mean").for_data(self.data)
        return networks.initialise(spec, seed=0)

    def opened(self, widget: Any) -> Any:
        """A widget that is closed after the test."""
        self.open.append(widget)
        return widget

    def file(self) -> Path:
        """A path where nothing is yet."""
        self.files += 1
        return self.folder / f"file-{self.files}"

    def state(self, process: Any, config: Any) -> Any:
        """The first state of a process."""
        return ddlab.runs.process.start(process, config, self.inputs)


@dataclass(frozen=True)
class Good:
    """One public function with arguments that are right, of which the storm replaces one at a time.

    Attributes:
        make: the arguments, small and fast. Those that are left out keep their default and are replaced all the same.
        call: what is called with them; default the public function itself.
        only: the arguments that are replaced; default all.
        left_out: argument -> why it is not replaced.
        whole: arguments of which nothing inside is bent, because ddlab makes them.
        largest: argument -> largest number tried: larger ones are allowed and only cost time and memory.
        not_none: arguments whose None is allowed and takes seconds.
        nan_passes: why NaN may come out where NaN went in; "" where it may not.
    """

    make: Callable[[Given], Mapping[str, Any]]
    call: Callable[..., Any] | None = None
    only: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    whole: tuple[str, ...] = ()
    largest: Mapping[str, float] = field(default_factory=dict)
    not_none: tuple[str, ...] = ()
    nan_passes: str = ""
