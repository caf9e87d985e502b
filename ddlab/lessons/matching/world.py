"""What the laboratory of learned images knows: its settings, the run of DM, DC or DSA for them, and
students on learned and on real images.
"""

from dataclasses import dataclass
from typing import Any

import torch

from ... import networks
from ...core import describe, narrow, parameter, with_default
from ...data import ImageData, siamese_views
from ...explorers.ready import MethodWorld, SteppedSettings, Watch
from ...methods import dc, dm, dsa
from ...methods.distillation import from_images
from ...runs import Frame, Inputs, Keep, Run
from ...training import supervised

# Networks for fifty updates: a new one for each.
NEW_EACH_TIME = 50
METHODS: dict[str, Any] = {"features": dm, "gradients": dc, "gradients, one view": dsa}
"""What is matched -> the method that matches it."""
# The published rate of images that match gradients, as a share of the one for features.
_RATE_OF_GRADIENTS = 0.1
LEARNED = "learned"
REAL = {
    "random": "random real images",
    "k_means": "typical real images",
    "centres": "k-means centres",
}
"""Kind of selection -> what a reader sees it called; with one image per class the centre is the class mean."""


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, dm.Config):
    """DM's hyper-parameters as a reader moves them, what is matched, and the step on show."""

    match: str = parameter("features", choices=tuple(METHODS), help="DM, DC or DSA.")
    iterations: int = with_default(
        dm.Config, "iterations", 50, source="teaching; the paper has 20,000"
    )
    networks: int | None = parameter(
        1,
        choices=(1, 2, 5, NEW_EACH_TIME),
        explorable=True,
        help="Untrained networks that are used in turn.",
    )
    inner_epochs: int = parameter(
        10,
        range=(0, None),
        explorable=(0, 50),
        help="Passes over the learned images between two matchings of gradients in one network.",
    )

    @property
    def matchings(self) -> int:
        """How often gradients are matched in each network."""
        return max(self.iterations // (self.networks or self.iterations), 1)

    @property
    def trains_between(self) -> bool:
        """Whether a network trains on the learned images between two matchings."""
        return self.match != "features" and self.matchings > 1 and self.inner_epochs > 0


def student_config(data: ImageData, **changes: Any) -> supervised.Config:
    """Return the training of students in this lesson.

    It has class labels, single views, and a ConvNet of width 32 with instance norm.
    """
    network = networks.spec("convnet", width=32, norm="instance")
    return supervised.Config.quick(data, **{"network": network, "mixup_alpha": 0.0} | changes)


class World(MethodWorld):
    """Data, and where the controls start.

    Args:
        data: what is distilled.
        config: where the controls start; default DM's teaching preset in one network.
        student: how students learn; default `student_config(data)`.
        seeds: how many of each kind.
        device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    method = dm
    settings = Settings
    first = dm.Config.teaching(networks=1)
    frames = 40

    def __init__(
        self,
        data: ImageData,
        config: dm.Config | None = None,
        *,
        student: supervised.Config | None = None,
        seeds: int = 3,
        device: torch.device | str = "auto",
    ) -> None:
        student = student_config(data) if student is None else student
        super().__init__(data, config, student=student, seeds=seeds, device=device)

    def started(self, config: dm.Config) -> Settings:
        """Return the first settings; a number of networks that is none of the choices joins them."""
        choices = (*(describe(Settings)["networks"].choices or ()), config.networks)
        first = narrow(Settings, networks=tuple(dict.fromkeys(choices)))(**vars(config))
        assert isinstance(first, Settings)
        return first

    def config(self, settings: Settings) -> Any:
        """Return DM's Config, or that of DC or DSA for as many updates in as many networks."""
        matched = settings.part(dm.Config)
        if settings.match == "features":
            return matched
        shared = ("images_per_class", "momentum", "batch_size", "network", "initialisation", "seed")
        options = {name: getattr(matched, name) for name in shared}
        if settings.match == "gradients, one view":
            strategy = settings.strategy or siamese_views.UPRIGHT
            options |= {"strategy": strategy, "views": settings.views}
        return METHODS[settings.match].Config(
            learning_rate=_RATE_OF_GRADIENTS * settings.learning_rate,
            networks=min(settings.networks or settings.iterations, settings.iterations),
            outer_steps=settings.matchings,
            inner_epochs=settings.inner_epochs,
            **options,
        )

    def of(self, config: Any, inputs: Inputs | None = None) -> Run:
        """Return the run of the method whose Config it is."""
        (method,) = (method for method in METHODS.values() if type(config) is method.Config)
        return self._runs.get(method, config, inputs or self.inputs, self.keep(config))

    def keep(self, config: Any) -> Keep:
        """Return the first two updates, too."""
        if isinstance(config, dm.Config):
            total = config.iterations
        else:
            total = dc.total_steps(config, self.inputs)
        return Keep(tuple(sorted({1, min(2, total), *Keep(self.frames + 1).of(total)})))

    def first_updates(self, run: Run, *, watch: Watch) -> None:
        """Return the losses of two updates, which say how far apart the means are.

        Of a single update momentum changes nothing.
        """
        run.advance(until=2)

    def learned(self, run: Run, frame: Frame, seed: int, *, watch: Watch) -> float:
        """Test accuracy of a student on the images of a frame."""
        distilled = from_images(frame.content.images, frame.content.labels, self.data)
        return self.taught(distilled, [self.learning.replace(seed=seed)], watch)[0]

    def real(self, kind: str, images_per_class: int, seed: int, *, watch: Watch) -> float:
        """Return the same for as many real images by a rule of `selection`, or what it makes of them."""
        chosen = self.chosen(kind, images_per_class, seed)
        return self.taught(chosen, [self.learning.replace(seed=seed)], watch)[0]
