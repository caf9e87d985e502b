"""What the laboratory of targets knows: its settings, the sets of each prior, and the runs with and
without their targets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ... import networks
from ...core import errors, parameter
from ...data import ImageData
from ...explorers.ready import MethodWorld, SteppedSettings
from ...networks import Network, NetworkSpec
from ...runs import Inputs, Run
from ...unlabelled import with_targets
from ...unlabelled.readers import predictions
from .setting import NETWORK, PRIORS, UNTRAINED, make_set, objective

# Images that the reader of features learns from.
_LABELLED = 1000
COMPONENTS = 4  # numbers of a target that are shown
COLUMNS = 12  # images whose targets are drawn
# From the objective that learns least by itself in a short run to the one that learns most.
_WORST_TO_BEST = (
    "dino",
    "byol",
    "simsiam",
    "barlow_twins",
    "vicreg",
    "swav",
    "simclr",
    "moco",
)
# Of the ridge: fixed, so that curves of two settings can be compared.
_STRENGTH = 1e-2


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings):
    """What a reader moves, and the step on show."""

    prior: str = parameter(
        UNTRAINED, choices=PRIORS, help="The frozen network whose answers are the targets."
    )
    ratio: float = parameter(
        0.25,
        range=(0, 1),
        open_low=True,
        step=0.05,
        explorable=(0.05, 0.5),
        help="Share of the images that an epoch sees.",
    )
    schedule: str = parameter(
        "switch",
        choices=("switch", "adaptive", "constant"),
        help="How lambda falls: from 1 to 0 once, by Algorithm 1, or not at all.",
    )
    objective: str = parameter(
        "simclr",
        choices=_WORST_TO_BEST,
        help="The self-supervised loss of two views, from the slowest to the fastest.",
    )
    share: float = parameter(
        0.8,
        symbol=r"\lambda",
        range=(0, 1),
        step=0.05,
        explorable=(0, 1),
        help="Where it is constant.",
    )
    subset: str = parameter(
        "dynamic", choices=("dynamic", "static"), help="New images in each epoch, or the same."
    )
    train_projection: bool = parameter(
        False, help="Train W with the network, as the paper says; the code does not."
    )
    epochs: int = parameter(12, range=(2, 60), explorable=(4, 24), help="Of so many images.")
    seed: int = parameter(
        0, range=(0, None), explorable=(0, 9), help="Of weights, subsets and views."
    )


@dataclass(frozen=True)
class Moment:
    """What is kept of a step: the probe's test accuracy, a fraction in [0, 1], and the loss of the
    targets and lambda before it.

    Before the first update there are neither.
    """

    accuracy: float
    target_loss: float | None
    share: float | None


class World(MethodWorld):
    """Images, priors, and the network that learns.

    Args:
        data: the images; labels are for the probe alone.
        priors: "untrained", "weak", "strong" -> a network, or some of them.
        network: the architecture that learns.
        device: of the runs.

    Raises:
        DDLabError: no prior, or one that does not fit the images.
    """

    method = with_targets
    settings = Settings
    first = with_targets.Config.teaching()
    frames = 16

    def __init__(
        self,
        data: ImageData,
        priors: Mapping[str, Network],
        network: NetworkSpec | None = None,
        *,
        device: torch.device | str = "auto",
    ) -> None:
        errors.check_instance("data", data, ImageData)
        if not isinstance(priors, Mapping) or not priors:
            errors.fail("priors", "a mapping of at least one name to a network", priors)
        self.priors = {
            name: errors.check_instance(f"priors[{name!r}]", prior, Network)
            for name, prior in priors.items()
        }
        self.network = NETWORK if network is None else network
        super().__init__(data, device=device)
        self._few = torch.cat(
            [data.of_class(label)[: _LABELLED // data.classes] for label in range(data.classes)]
        )
        self.sets = {
            name: make_set(prior, data, self.network, device=self.inputs.device)
            for name, prior in self.priors.items()
        }
        self.own = {name: self.accuracy(prior) for name, prior in self.priors.items()}

    def started(self, config: with_targets.Config) -> Settings:
        """Return the laboratory's own first settings: it is never given a Config of the method."""
        return Settings(prior=UNTRAINED if UNTRAINED in self.priors else next(iter(self.priors)))

    def config(self, settings: Settings, *, alone: bool = False) -> with_targets.Config:
        """Return the training of the network, with the targets or alone."""
        training = objective(self.data, settings.objective, self.network, epochs=settings.epochs)
        names = ("ratio", "subset", "schedule", "share", "train_projection", "seed")
        changes = {name: getattr(settings, name) for name in names}
        without: dict[str, Any] = (
            {"schedule": "constant", "share": 0.0, "train_projection": False} if alone else {}
        )
        return with_targets.Config(objective=training, first_views="objective", **changes | without)

    def run(self, settings: Settings, *, alone: bool = False) -> Run:
        """Return the training with these settings, as far as it has come; each frame is a `Moment`."""
        errors.check_choice("prior", settings.prior, tuple(self.sets))
        name = next(iter(self.sets)) if alone else settings.prior  # alone no target is read
        config = self.config(settings, alone=alone)
        return self.of(config, Inputs(distilled=self.sets[name], device=self.inputs.device))

    def accuracy(self, network: Network) -> float:
        """Return the test accuracy of least squares on features, from a thousand labelled images.

        It is quick, and rougher than a probe.
        """
        features = [self._features(network, self._few), self._features(network, None)]
        predicted = predictions(
            "ridge", features[0], self.data.train_labels[self._few], features[1], _STRENGTH
        )
        return float((predicted == self.data.test_labels).double().mean())

    def along(self, name: str) -> Tensor:
        """Return indices [4, 12] of training images, from the smallest to the largest target.

        Row i follows the i-th number of a prior's targets.
        """
        targets = self.sets[name].target("representations").values[0][:, :COMPONENTS]
        places = torch.linspace(0, len(targets) - 1, COLUMNS).round().long()
        return targets.argsort(0)[places].T

    def _features(self, network: Network, indices: Tensor | None) -> Tensor:
        images = (
            self.data.normalised(split="test") if indices is None else self.data.normalised(indices)
        )
        parts = [
            networks.predict(network, part.to(network.device)).features.cpu()
            for part in images.split(500)
        ]
        return torch.cat(parts)

    def frame(self, config: Any, inputs: Inputs, state: Any, trace: Any) -> Moment:
        """Return what is kept of a step."""
        network = with_targets.finish(config, inputs, state)
        target_values = (
            (None, None) if trace is None else (float(trace.target_loss), float(trace.share))
        )
        return Moment(self.accuracy(network), *target_values)
