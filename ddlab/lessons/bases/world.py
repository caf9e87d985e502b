"""What the laboratory of sets without labels knows: settings, runs of KRR-ST and Boost, and what their sets are worth."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from ... import networks
from ...core import errors, randomness
from ...core.parameters import narrowed, parameter, with_default
from ...data import ImageData
from ...data.predefined_views import NAMES, Kind
from ...distilled import DistilledSet
from ...distilled.bases import rank
from ...evaluation import embeddings, probe
from ...evaluation.probing import checked_reading
from ...methods import boost, krr_st
from ...methods import representation_selection as selection
from ...networks import Network, NetworkSpec
from ...runs import Frame, Keep, Run, Runs
from ...runs import process as driver
from ...runs.process import Inputs
from ...training import pretraining

KRR_ST, BOOST = "KRR-ST", "Boost"
PROCESSES: dict[str, ModuleType] = {KRR_ST: krr_st, BOOST: boost}
UNTRAINED = "untrained network"
_FRAMES = 24  # of a run, its first not counted
_SHOWN = 40  # frames as they look: of 100 images of 32 px with four views 4 MB each
_ON_MAP = 400  # real images
_SCALES = (1, 2, 4, 8)
_OF_FACTORS = (
    "image_bases",
    "representation_bases",
    "scale",
    "bases_start",
    "coefficients_start",
    "augmentation",
    "shift",
    "hidden",
)
_NETWORK = networks.spec("convnet", width=16, growth=2)
_TEACHING = "teaching: 16 pixels, half a minute"

Watch = Callable[[str, float], None]


def _slider(default: int, low: int, high: int, *, of: type[krr_st.Config], name: str) -> Any:
    """A field of a method's config with a teaching default and a logarithmic slider."""
    field = with_default(of, name, default, source=_TEACHING)
    told = dataclasses.replace(field.metadata["parameter"], explorable=(low, high), scale="log")
    return dataclasses.field(default=default, metadata={"parameter": told})


@dataclass(frozen=True, kw_only=True)
class Settings(boost.Config):
    """The hyper-parameters of both methods as a reader moves them, and what is looked at; defaults are the teaching presets."""

    method: str = parameter(
        BOOST,
        choices=tuple(PROCESSES),
        explorable=True,
        help="Whole images and representations, or bases, coefficients and views.",
    )
    budget: int = _slider(20, 5, 100, of=krr_st.Config, name="budget")
    image_bases: int = _slider(40, 1, 200, of=boost.Config, name="image_bases")
    representation_bases: int = _slider(24, 1, 200, of=boost.Config, name="representation_bases")
    hidden: int = _slider(4, 1, 64, of=boost.Config, name="hidden")
    iterations: int = _slider(300, 10, 1000, of=krr_st.Config, name="iterations")
    learning_rate: float = with_default(krr_st.Config, "learning_rate", 1e-2, source=_TEACHING)
    network: NetworkSpec = parameter(_NETWORK, source=_TEACHING, help="Architecture of the inner networks.")
    pool_size: int = with_default(krr_st.Config, "pool_size", 3, source=_TEACHING)
    pool_steps: int = with_default(krr_st.Config, "pool_steps", 50, source=_TEACHING)
    batch_size: int = with_default(krr_st.Config, "batch_size", 256, source=_TEACHING)
    augmentation: Kind = with_default(boost.Config, "augmentation", "none", source=_TEACHING)  # noqa: RUF009
    all_views: bool = parameter(False, explorable=True, help="Whether the views of every image are shown below it.")
    step: int | None = parameter(
        None, range=(0, None), help="After which update, those of the pool counted; None is the newest there is."
    )

    @property
    def config(self) -> krr_st.Config:
        """What the method is given. What plays no part has its default, so that equal runs are known to be equal."""
        process = PROCESSES[self.method]
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(process.Config)}
        defaults = {field.name: field.default for field in dataclasses.fields(process.Config)}
        return process.Config(**fields | {name: defaults[name] for name in self.unused if name in fields})

    @property
    def unused(self) -> tuple[str, ...]:
        """The settings that play no part beside the others."""
        if self.method == KRR_ST:
            return _OF_FACTORS
        if self.augmentation == "none":
            return ("shift", "hidden")
        return () if self.shift == "networks" else ("hidden",)


class Looks:
    """What a frame looks like.

    Attributes:
        images: uint8 [A + 1, m, c, h, w], the images themselves first. targets: float32 [A + 1, m, d].
    """

    def __init__(self, images: Tensor, targets: Tensor, normalised: Tensor, teacher: Network) -> None:
        self.images, self.targets, self._normalised, self._teacher = images, targets, normalised, teacher

    @cached_property
    def representations(self) -> Tensor:
        """The teacher's, of the images as they are now, float32 [m, d]. Asked for after the images have been shown."""
        return networks.predict(self._teacher, self._normalised).features


@dataclass(frozen=True, eq=False)
class Places:
    """Where representations lie on a map of the real ones: float32 [n, 2] each."""

    real: Tensor
    targets: Tensor
    targets_of_views: Tensor
    representations: Tensor


@dataclass(frozen=True)
class Score:
    """One network: what it learned from, of how many images (0: of none), and a linear probe's test accuracy on each dataset."""

    words: str
    pairs: int
    accuracies: tuple[float, ...]


class World:
    """Data, a teacher without labels, and how networks learn from what is distilled.

    Args:
        data, teacher: what is distilled; the teacher's features are its targets, its labels are never asked.
        config: where the controls start, of KRR-ST or of Boost; default Boost's teaching preset.
        other: images of the same shape, for the probe of what was learned (`ddlab.data.aligned`).
        pretraining: how fresh networks learn from a set; default 300 epochs of the architecture of the inner networks.
        candidates: strengths of the probe, of which the best is taken on held-out images, as of `evaluation.probe`.

    Attributes:
        features: float32 [n, d], the teacher's representations of the training images. sample: which of them are on the map.
        datasets: name -> images that probes learn from and are tested on; the distilled one first.

    Raises:
        DDLabError: settings that the method refuses, or `other` of another shape.
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        config: krr_st.Config | None = None,
        *,
        other: ImageData | None = None,
        pretraining: pretraining.Config | None = None,
        candidates: Sequence[float] | None = None,
    ) -> None:
        if config is not None and type(config) not in (krr_st.Config, boost.Config):
            allowed = "a Config of kernel_ridge_self_supervised or parameterised_self_supervised, or None"
            errors.fail("config", allowed, config)
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        self.inputs = Inputs(data=data, teachers=(errors.check_instance("teacher", teacher, Network, "a Network"),))
        self.teacher = self.inputs.teachers[0]
        self.features = krr_st.teacher_features(self.inputs)
        draw = randomness.generator(0, 0, "real images on the map")
        self.sample = torch.randperm(len(self.features), generator=draw)[:_ON_MAP]
        self.start = first_settings(data, self.features, config)
        self.learning, self.candidates = _checked_learning(pretraining, self.start.network), candidates
        self.datasets = {data.name: data} | _checked_other(other, data)
        for each in self.datasets.values():
            checked_reading(each, kind="linear", candidates=candidates, held_out=0.1, seeds=(self.learning.seed,))
        self.looks = functools.lru_cache(_SHOWN)(self._looks)
        self.places = functools.lru_cache(_SHOWN)(self._places)
        self._map = functools.cache(self._fitted_map)
        self._runs = Runs()

    @property
    def runs(self) -> list[Run]:
        """Those that steps were done of, the newest first."""
        return [run for run in self._runs if run.started]

    def run(self, settings: Settings) -> Run:
        """The run of these settings, as far as it has come; its frames hold what is distilled, name -> tensor."""
        config, keep = _what_runs(settings)
        return self._runs.get(process_of(config), config, self.inputs, keep)

    def check(self, settings: Settings) -> None:
        """Make the set before any step, which refuses what the method refuses."""
        self.run(settings).begin()

    # -- what a frame looks like

    def real(self, run: Run) -> Tensor:
        """uint8 [m, c, h, w]: the real images that images or coefficients began as."""
        return self.data.train_images[krr_st.real_indices(len(self.features), pairs(run), seed=run.config.seed)]

    def _looks(self, config: krr_st.Config, frame: Frame) -> Looks:
        views = len(NAMES[config.augmentation]) if isinstance(config, boost.Config) else 1
        with torch.no_grad():
            made = (
                boost.pairs(config, frame.content) if isinstance(config, boost.Config) else krr_st.pairs(frame.content)
            )
            images, targets = (part.unflatten(0, (views, -1)) for part in made)
        pixels = self.data.to_uint8(images.flatten(0, 1)).cpu().unflatten(0, (views, -1))
        return Looks(pixels, targets.cpu(), images[0].clone(), self.teacher)

    def _places(self, config: krr_st.Config, frame: Frame) -> Places:
        embedding, looks = self._map(), self.looks(config, frame)
        groups = (looks.targets[0], looks.targets[1:].flatten(0, 1), looks.representations.cpu())
        placed = embedding.transform(torch.cat(groups)).split([len(group) for group in groups])
        return Places(embedding.positions["real"], *placed)

    def _fitted_map(self) -> embeddings.Embedding:
        return embeddings.fit({"real": self.features[self.sample].cpu()}, embeddings.Config(kind="pca"), announce=None)

    # -- what a set is worth

    def distilled(self, run: Run, frame: Frame) -> DistilledSet:
        """The set of a frame, as the method finishes it: with the model of the shifts, whose networks take a second."""
        state = dataclasses.replace(run.state(), step=frame.step, parameters=frame.content)
        return run.process.finish(run.config, self.inputs, state)

    def untrained(self, *, watch: Watch) -> Score:
        """The network that all others begin as."""
        size, data = self.features.shape[1], self.data
        spec = dataclasses.replace(
            self.learning.network, channels=data.channels, classes=size, image_size=data.image_size
        )
        return self._score(UNTRAINED, 0, networks.initialise(spec, seed=self.learning.seed), watch)

    def random_real(self, budget: int, *, watch: Watch) -> Score:
        """As many random real images as the budget has, with their representations."""
        chosen = driver.run(selection, selection.Config(budget=budget, seed=self.learning.seed), self.inputs)
        words = f"{budget} random real images, their representations"
        return self._score(words, budget, self._learned(chosen, "real images", watch), watch)

    def learned(self, run: Run, frame: Frame, words: str, *, watch: Watch) -> Score:
        """The set of a frame."""
        watch(f"{name_of(run.config)}: the set", 0.0)
        made = self.distilled(run, frame)
        return self._score(words, len(made), self._learned(made, words, watch), watch)

    def _learned(self, distilled: DistilledSet, words: str, watch: Watch) -> Network:
        inputs = Inputs(distilled=distilled, device=self.inputs.device)
        return driver.run(
            pretraining, self.learning, inputs, on_step=lambda step: watch(words, step.index / step.total)
        )

    def _score(self, words: str, images: int, network: Network, watch: Watch) -> Score:
        accuracies = []
        for name, each in self.datasets.items():
            watch(f"probe on {name}", 1.0)
            options: dict[str, Any] = {"candidates": self.candidates, "seeds": (self.learning.seed,)}
            accuracies.append(
                probe(network, each, kind="linear", device=self.inputs.device, keep=False, **options).mean
            )
        return Score(words, images, tuple(accuracies))


def process_of(config: krr_st.Config) -> Any:
    """The method whose config this is."""
    return boost if isinstance(config, boost.Config) else krr_st


def name_of(config: krr_st.Config) -> str:
    """ "KRR-ST" or "Boost"."""
    return BOOST if isinstance(config, boost.Config) else KRR_ST


def pairs(run: Run) -> int:
    """m: images of the set, each with its target."""
    return len(run.frames[0].content["images" if name_of(run.config) == KRR_ST else "image_coefficients"])


def iteration(run: Run, step: int) -> int:
    """How many outer steps are done after `step` updates; those before fill the pool."""
    return max(step - (run.total - run.config.iterations), 0)


def outer_losses(run: Run) -> tuple[float, ...]:
    """The outer loss of each outer step so far, before it."""
    return tuple(loss for phase, _, loss in run.notes if phase == "outer")


@functools.lru_cache(256)  # every view asks at every drawing
def _what_runs(settings: Settings) -> tuple[krr_st.Config, Keep]:
    """The config, and what is kept: the set before any step and after some outer steps, and every loss."""
    config = settings.config
    filling = krr_st.filling_steps(config)
    steps = tuple(step + filling if step else 0 for step in kept_iterations(config.iterations))
    return config, Keep(steps, _distilled, _noted)


def kept_iterations(iterations: int) -> tuple[int, ...]:
    """The outer steps after which the set is kept: the first, the last, and some between them.

    >>> kept_iterations(4)
    (0, 1, 2, 3, 4)
    """
    return tuple(sorted({round(iterations * part / _FRAMES) for part in range(_FRAMES + 1)}))


def _distilled(config: krr_st.Config, inputs: Inputs, state: krr_st.State, trace: Any) -> dict[str, Tensor]:
    return state.parameters


def _noted(state: krr_st.State, trace: krr_st.Trace) -> tuple[str, int, float]:
    driver.check_finite("the run", state.step, trace, state.parameters)
    return trace.phase, trace.network, float(trace.loss)


def first_settings(data: ImageData, features: Tensor, config: krr_st.Config | None) -> Settings:
    """The settings that a config gives, or those of a reader who has none, which fit the images and their features [n, d]."""
    fitting = tuple(scale for scale in _SCALES if all(side % scale == 0 for side in data.image_size))
    kind = narrowed(Settings, scale=fitting)
    if config is None:
        most = min(data.train_images[0].numel() // 4, len(features) - 1)
        bases = min(24, rank(features[:1000], centred=False))
        return kind(image_bases=min(40, most), representation_bases=bases, scale=fitting[:2][-1])
    fields: dict[str, Any] = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return kind(**{"scale": fitting[:2][-1]} | fields | {"method": name_of(config)})


def _checked_learning(config: Any, network: NetworkSpec) -> pretraining.Config:
    errors.check_instance("pretraining", config, (pretraining.Config, type(None)), "a pretraining Config or None")
    return pretraining.Config(network=network, epochs=300) if config is None else config


def _checked_other(other: ImageData | None, data: ImageData) -> dict[str, ImageData]:
    if other is None:
        return {}
    errors.check_instance("other", other, ImageData, "an ImageData or None")
    if (other.channels, other.image_size) != (data.channels, data.image_size):
        wanted = f"of {data.channels} channels and {data.image_size} pixels, like data (ddlab.data.aligned)"
        errors.fail("other", wanted, (other.channels, other.image_size))
    return {other.name if other.name != data.name else f"other {other.name}": other}
