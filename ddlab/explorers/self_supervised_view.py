"""Where the reader of the laboratory of self-supervised distillation stands: settings, and what is looked at. No widgets."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torch import Tensor

from .. import errors, networks
from ..bases import rank
from ..data import ImageData
from ..methods import kernel_ridge_self_supervised as krr
from ..methods import parameterised_self_supervised as boost
from ..networks import NetworkSpec
from ..parameters import parameter, with_default

KRR_ST, BOOST = "KRR-ST", "Boost"
PROCESSES: dict[str, ModuleType] = {KRR_ST: krr, BOOST: boost}
PCA, UMAP = "PCA", "UMAP"
_FRAMES = 24  # of a run, its first not counted
_SCALES = (1, 2, 4, 8)
_OF_FACTORS = (
    "image_bases", "representation_bases", "scale", "bases_start", "coefficients_start", "augmentation", "shift", "hidden",
)  # fmt: skip
_NETWORK = networks.spec("convnet", width=16, growth=2)
_TEACHING = "teaching: 16 pixels, half a minute"


@dataclass(frozen=True, kw_only=True)
class SelfSupervisedView(boost.Config):
    """The hyper-parameters of both methods as a reader moves them, and what is looked at; defaults are the teaching presets."""

    method: str = parameter(
        BOOST, choices=tuple(PROCESSES), explorable=True, help="Whole images and representations, or bases, coefficients and views."
    )  # fmt: skip
    budget: int = parameter(
        20, symbol="N", range=(1, None), scale="log", explorable=(5, 100), source=_TEACHING,
        help="What the set may take, in floats of so many images.",
    )  # fmt: skip
    image_bases: int = parameter(
        40, symbol="U", range=(1, None), scale="log", explorable=(1, 200), source=_TEACHING, help="How many image bases."
    )  # fmt: skip
    representation_bases: int = parameter(
        24, symbol="V", range=(1, None), scale="log", explorable=(1, 200), source=_TEACHING, help="How many representation bases."
    )  # fmt: skip
    hidden: int = parameter(
        4, symbol="h", range=(1, 10**4), scale="log", explorable=(1, 64), source="Boost, A.1",
        help="Width of the approximation networks.",
    )  # fmt: skip
    iterations: int = parameter(
        300, symbol="T", range=(1, None), scale="log", explorable=(10, 1000), source=_TEACHING, help="Outer steps."
    )  # fmt: skip
    learning_rate: float = with_default(krr.Config, "learning_rate", 1e-2, source=_TEACHING)
    network: NetworkSpec = parameter(_NETWORK, source=_TEACHING, help="Architecture of the inner networks.")
    pool_size: int = with_default(krr.Config, "pool_size", 3, source=_TEACHING)
    pool_steps: int = with_default(krr.Config, "pool_steps", 50, source=_TEACHING)
    batch_size: int = with_default(krr.Config, "batch_size", 256, source=_TEACHING)
    all_views: bool = parameter(False, explorable=True, help="Whether the views of every image are shown below it.")
    layout: str = parameter(
        PCA, choices=(PCA, UMAP), explorable=True,
        help="How representations are laid out; the first UMAP takes 10 to 30 seconds, every further picture about one.",
    )  # fmt: skip
    step: int | None = parameter(
        None, range=(0, None), help="Which outer step is looked at; None is the newest there is."
    )

    @property
    def config(self) -> krr.Config:
        """What the method is given. What plays no part has its default, so that equal runs are known to be equal."""
        process = PROCESSES[self.method]
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(process.Config)}
        unused = [name for name in self.unused if name in fields]
        defaults = {field.name: field.default for field in dataclasses.fields(process.Config)}
        return process.Config(**fields | {name: defaults[name] for name in unused})

    @property
    def unused(self) -> tuple[str, ...]:
        """The settings that play no part beside the others."""
        if self.method == KRR_ST:
            return _OF_FACTORS
        if self.augmentation == "none":
            return ("shift", "hidden")
        return () if self.shift == "networks" else ("hidden",)


def process_of(config: krr.Config) -> Any:
    """The method whose config this is."""
    return boost if isinstance(config, boost.Config) else krr


def name_of(config: krr.Config) -> str:
    """ "KRR-ST" or "Boost"."""
    return next(name for name, process in PROCESSES.items() if process is process_of(config))


def kept_iterations(iterations: int) -> tuple[int, ...]:
    """The outer steps after which the set is kept: the first, the last, and some between them.

    >>> kept_iterations(4)
    (0, 1, 2, 3, 4)
    """
    return tuple(sorted({round(iterations * part / _FRAMES) for part in range(_FRAMES + 1)}))


def first_view(data: ImageData, features: Tensor, config: krr.Config | None) -> SelfSupervisedView:
    """The settings that a config gives, or those of a reader who has none, which fit the images and their features [n, d]."""
    made = view_class(data)
    if config is None:
        small = min(data.train_images[0].numel() // 4, len(features) - 1)
        return made(image_bases=min(40, small), representation_bases=min(24, rank(features[:1000], centred=False)))
    fields: dict[str, Any] = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return made(method=name_of(config), **fields)


def view_class(data: ImageData) -> type[SelfSupervisedView]:
    """The view of one explorer: the scales that divide its images are the choices."""
    fitting = tuple(scale for scale in _SCALES if all(side % scale == 0 for side in data.image_size))

    @dataclass(frozen=True, kw_only=True)
    class ChosenView(SelfSupervisedView):
        """What is shown, among the scales of one explorer."""

        scale: int = parameter(
            fitting[:2][-1], symbol="s", range=(1, 224), choices=fitting, explorable=True, source="Boost, A.1",
            help="How much smaller image bases are on each side.",
        )  # fmt: skip

    return ChosenView


def check_config(config: Any) -> krr.Config | None:
    """Raise if this is not a config of one of the two methods, or None."""
    if config is not None and type(config) not in (krr.Config, boost.Config):
        errors.fail(
            "config", "a Config of kernel_ridge_self_supervised or parameterised_self_supervised, or None", config
        )
    return config
