"""What the laboratory of gradients knows: its settings, the run, and what an update compares in the network that it matches in."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ... import networks
from ...core import errors
from ...core.parameters import describe, narrowed, parameter, with_default
from ...data import ImageData, siamese_views
from ...methods import dc, dsa, matching, selection
from ...networks import NetworkSpec
from ...runs import Frame, Keep, Run, Runs, cache
from ...runs.process import Inputs

STRATEGIES = {"": "none", "crop": "crop", "rotate": "rotate", "color": "colour", siamese_views.UPRIGHT: "all five"}
"""DSA's operations that a reader can choose -> words; none of them mirrors a digit."""
LEARNED, RANDOM, CENTRES = "learned", "random real", "k-means centres"
_NARROW = networks.spec("convnet", width=16, norm="instance")  # answers at once
_FRAMES = 60
_TEACHING = "teaching"


@dataclass(frozen=True, kw_only=True)
class Settings(dsa.Config):
    """DSA's hyper-parameters as a reader moves them, and what is looked at.

    The loops are numbers here: by the published schedule a network is not trained at all at one image per class.
    """

    images_per_class: int = with_default(dsa.Config, "images_per_class", 2, source=_TEACHING)
    initialisation: str = with_default(dsa.Config, "initialisation", "noise", source="DC's reference code")
    learning_rate: float = with_default(dsa.Config, "learning_rate", 1.0, source=f"{_TEACHING}: 40 updates")
    batch_size: int = parameter(
        32, range=(1, None), unit="images", help="Real images of each class in an update.", explorable=(4, 100)
    )
    network: NetworkSpec = parameter(
        _NARROW, help="Architecture of the networks in which is matched.", source=_TEACHING
    )
    updates: int = parameter(
        40, range=(1, None), help="Of the images, at least; the last network has all its matchings.",
        explorable=(10, 200), step=10,
    )  # fmt: skip
    outer_steps: int = parameter(
        5, symbol="T", range=(1, None), help="Matchings in each network; there are updates / T networks.", explorable=(1, 10)
    )  # fmt: skip
    inner_epochs: int = parameter(
        5, symbol=r"\varsigma_\theta", range=(0, None), explorable=(0, 50),
        help="Passes over the learned images between two matchings.",
    )  # fmt: skip
    strategy: str = parameter(
        "", choices=tuple(STRATEGIES), explorable=True, help="What both see each other through: one operation drawn for each update."
    )  # fmt: skip
    class_name: str = parameter("", help="The class whose gradients are drawn.")
    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")

    @property
    def config(self) -> dsa.Config:
        """What the method is given: as many networks as the updates need."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in describe(dsa.Config)}
        fields["networks"] = -(-self.updates // self.outer_steps)
        return dsa.Config(**fields)


@dataclass(frozen=True, eq=False)
class Compared:
    """What the next update compares for one class.

    Attributes:
        seen: real images [n, c, h, w] and learned ones [ipc, c, h, w], through their views.
        rows: weight -> real and learned gradient as the distance sees them, [output channels, weights of one] each.
        parts: weight -> what each output channel adds to the distance, [output channels]. distances: by layer, as the method sums them.
    """

    seen: tuple[Tensor, Tensor]
    rows: dict[str, tuple[Tensor, Tensor]]
    parts: dict[str, Tensor]
    distances: dict[str, float]


class World:
    """Data, and where the controls start.

    Args:
        data: what is distilled. config: where the controls start, its loops as numbers; default networks of width 16, which answer at once.
        device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    def __init__(
        self, data: ImageData, config: dsa.Config | None = None, *, device: torch.device | str = "auto"
    ) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        errors.check_instance("config", config, (dsa.Config, type(None)), "a siamese_gradient_matching Config or None")
        self.inputs = Inputs(data=data, device=device)
        first: dict[str, Any] = {}
        if config is not None:
            outer, inner = config.loops
            loops = {"outer_steps": outer, "inner_epochs": inner, "updates": config.networks * outer}
            first = {name: value for name, value in vars(config).items() if name != "networks"} | loops
        strategies = tuple(dict.fromkeys((*STRATEGIES, first.get("strategy", ""))))
        self.start = narrowed(Settings, class_name=data.class_names, strategy=strategies)(**first)
        self._runs = Runs()

    def run(self, settings: Settings) -> Run:
        """The method's run with these settings, as far as it has come; its frames hold States, its notes the distances by layer."""
        config = settings.config
        return self._runs.get(dsa, config, self.inputs, _kept(config.networks * config.loops[0]))

    def check(self, settings: Settings) -> None:
        """Make the first images and the first network, which refuses what the method refuses."""
        self.run(settings).begin()

    def seen(self, run: Run, state: dc.State, label: int, instead: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The real batch and the learned images of a class, or others `instead`, as the update after `state` sees them."""
        drawn: dict[str, Any] = {"step": state.step, "label": label, "classes": self.data.classes}
        real = matching.real_batch(run.config, self.inputs, label, step=state.step)
        learned = matching.of_class(state.images, label, self.data.classes) if instead is None else instead
        return (
            matching.seen(run.config, real, learned=False, **drawn),
            matching.seen(run.config, learned, learned=True, **drawn),
        )

    def gradient(self, run: Run, state: dc.State, images: Tensor, label: int) -> dict[str, Tensor]:
        """The gradient of images of one class in the network that the update after `state` matches in."""
        spec, weights = dc.network_spec(run.config, self.inputs), dc.warmed_up(run.config, self.inputs, state)
        at_once = matching.passes(run.config, self.inputs.device)
        return matching.class_gradient(spec, weights, images, label, at_once=at_once)

    def compared(self, run: Run, frame: Frame, label: int) -> Compared:
        """What the update after a frame compares for one class."""
        state, kind = frame.content, run.config.distance
        seen = self.seen(run, state, label)
        real, learned = (self.gradient(run, state, images, label) for images in seen)
        rows = as_compared(real, learned, kind)
        parts = {name: parts_of(*pair, kind) for name, pair in rows.items()}
        distances = {name: float(value) for name, value in matching.distances(real, learned, kind).items()}
        return Compared(seen, rows, parts, distances)

    def rivals(
        self, run: Run, step: int, *, watch: Callable[[str, float], None] = lambda words, share: None
    ) -> dict[str, dict[str, float]]:
        """LEARNED, RANDOM and CENTRES -> layer -> distance to the real batch, mean over classes; as many images of each, one network.

        The random real images are those that a run begins with where it begins as real ones; `step` is one of a frame.
        """
        frame = run.at(step)
        assert frame is not None  # views ask for what is there
        state, config, count = frame.content, run.config, run.config.images_per_class
        own = selection.Config(kind="centres", images_per_class=count, seed=config.seed)
        centres = cache.run(selection, own, self.inputs).images.to(state.images).split(count)
        first = matching.first_images(dsa.NAME, config.replace(initialisation="real"), self.inputs)
        found: dict[str, dict[str, list[float]]] = {}
        for label in range(self.data.classes):
            watch("gradients of all classes", label / self.data.classes)
            others = {
                LEARNED: None,
                RANDOM: matching.of_class(first, label, self.data.classes),
                CENTRES: centres[label],
            }
            wanted = self.gradient(run, state, self.seen(run, state, label)[0], label)
            for name, images in others.items():
                pulled = self.gradient(run, state, self.seen(run, state, label, images)[1], label)
                for layer, value in matching.distances(wanted, pulled, config.distance).items():
                    each = float(value) / channels(run, frame, layer)
                    found.setdefault(name, {}).setdefault(layer, []).append(each)
        return {name: {layer: sum(v) / len(v) for layer, v in layers.items()} for name, layers in found.items()}


def channels(run: Run, frame: Frame, layer: str) -> int:
    """How many output channels a distance sums over: it is shown as their mean; 1 where it takes all weights together."""
    return len(frame.content.network[layer]) if run.config.distance == "channels" else 1


def as_compared(
    real: Mapping[str, Tensor], learned: Mapping[str, Tensor], kind: str
) -> dict[str, tuple[Tensor, Tensor]]:
    """The gradients of each weight as a distance sees them, [output channels, rest].

    "channels": every row at length 1; "vector": all weights together, biases and norms among them, at length 1; "squared": as they are.
    """
    pairs = {name: (real[name].flatten(1), learned[name].flatten(1)) for name in learned if learned[name].ndim > 1}
    if kind == "squared":
        return pairs
    if kind == "channels":
        unit = functools.partial(torch.nn.functional.normalize, dim=1)
        return {name: (unit(one), unit(other)) for name, (one, other) in pairs.items()}
    a, b = (torch.cat([value.flatten() for value in each.values()]).norm() for each in (real, learned))
    return {name: (one / a, other / b) for name, (one, other) in pairs.items()}


def parts_of(real: Tensor, learned: Tensor, kind: str) -> Tensor:
    """What each output channel adds to the distance, [output channels]; for "vector" half the squared error, which sums to 1 - cos."""
    rows = zip(real.split(1), learned.split(1), strict=True)
    if kind == "channels":
        return torch.stack([matching.channel_distance(one, other) for one, other in rows])
    squared = torch.stack([matching.squared_distance({"row": one}, {"row": other}) for one, other in rows])
    return squared / 2 if kind == "vector" else squared


def layer_words(name: str) -> str:
    """ "conv 2" for "blocks.1.convolution.weight"; of other networks the name without "weight"."""
    block = re.fullmatch(r"blocks\.(\d+)\.convolution\.weight", name)
    return f"conv {int(block[1]) + 1}" if block else name.removesuffix(".weight").replace("all", "all weights")


@functools.lru_cache(64)  # every view asks at every drawing
def _kept(total: int) -> Keep:
    steps = {0, 1, *(round(total * part / min(total, _FRAMES)) for part in range(1, min(total, _FRAMES) + 1))}
    return Keep(tuple(sorted(steps)), make=_state, note=_by_layer)


def _state(config: dsa.Config, inputs: Inputs, state: dc.State, trace: Any) -> dc.State:
    return state


def _by_layer(state: dc.State, trace: dc.Trace) -> dict[str, float]:
    """The distance by layer, mean over the classes."""
    return {name: float(value.mean()) for name, value in trace.distances.items()}
