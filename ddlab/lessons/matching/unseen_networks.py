"""Images that are matched in a few untrained networks: what do networks see in them that they never
met?

    UnseenNetworks(data)
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import errors, parameter
from ...data import ImageData
from ...explorers import Chart, Lab, Named, Results, Strip, step_on_show
from ...explorers.ready import SteppedSettings, learned_images
from ...figures import alt_text, finish_figure, loss_curves
from ...methods import dm
from ...runs import Inputs, Keep, Run, Runs

COUNTS = (1, 2, 5, 50)
_MEASURED = 5  # networks of either kind, in which the distance is measured
_UNSEEN_SEED = 1_000_000  # added to the seed of a run, for networks that it never draws
_FRAMES = 11
_HEIGHT = 320


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings):
    """In how many networks the images are matched, and the update on show."""

    networks: int = parameter(
        1, choices=COUNTS, explorable=True, help="Untrained networks that are used in turn."
    )

    @property
    def images_per_class(self) -> int:
        return 1


class Moment(NamedTuple):
    """Images at one update, and equation 6 in networks of this run and in others, sums over classes."""

    images: Tensor
    met: float
    unseen: float


class World:
    """Images that begin as noise and are matched to real ones, in so many networks.

    Args:
        data: what is matched.
        seed: of the noise and the networks.
    """

    def __init__(self, data: ImageData, seed: int = 0) -> None:
        self.data = errors.check_instance("data", data, ImageData)
        self.seed = errors.check_integer("seed", seed, 0)
        self.start = Settings()
        self.inputs = Inputs(data=data, device="cpu")
        self._runs = Runs()
        self.real_means = functools.lru_cache(maxsize=64)(self._real_means)

    def run(self, settings: Settings) -> Run:
        """Return DM's run from noise in so many networks."""
        config = dm.Config.teaching(
            initialisation="noise", networks=settings.networks, seed=self.seed
        )
        return self._runs.get(dm, config, self.inputs, Keep(_FRAMES, self.moment))

    def moment(self, config: dm.Config, inputs: Inputs, state: dm.State, trace: object) -> Moment:
        """Return what is kept of an update."""
        others = config.replace(seed=config.seed + _UNSEEN_SEED, networks=None)
        met = range(min(config.networks or _MEASURED, _MEASURED))
        return Moment(
            state.images,
            sum(self.distance(config, number, state.images) for number in met) / len(met),
            sum(self.distance(others, number, state.images) for number in range(_MEASURED))
            / _MEASURED,
        )

    def distance(self, config: dm.Config, number: int, images: Tensor) -> float:
        """Return equation 6 in one network, with the means of all real images."""
        spec, weights = dm.fresh_network(config, self.inputs, number)
        features = dm.features(spec, weights, images)
        return float((self.real_means(config, number) - features).square().sum())

    def _real_means(self, config: dm.Config, number: int) -> Tensor:
        """Return the mean feature of each class in one network, [classes, d]."""
        spec, weights = dm.fresh_network(config, self.inputs, number)
        features = dm.features(spec, weights, self.data.normalised(), at_once=256)
        labels = self.data.train_labels
        means = [features[labels == label].mean(0) for label in range(self.data.classes)]
        return torch.stack(means)


def strip_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the images on show."""
    return {"data": world.data, "frame": results.frame, "rows": 1}


def curve_data(world: World, settings: Settings, results: Results) -> Named:
    """Return both distances at the updates that were kept, so far."""
    moments = [(frame.step, frame.content.met, frame.content.unseen) for frame in results.frames]
    return {"networks": settings.networks, "moments": tuple(moments)}


def curves(networks: int, moments: tuple[tuple[int, float, float], ...]) -> go.Figure:
    """Draw the distance in the networks of the run, and in others."""
    steps, met, unseen = zip(*moments, strict=True)
    figure = loss_curves(
        {_own(networks): met, "in five networks they never met": unseen},
        steps,
        title="How far the images are from real digits, as networks see them",
        x_label="update",
        y_label="squared distance (equation 6)",
        log_y=True,
        height=_HEIGHT,
    )
    figure.update_yaxes(dtick="D2")
    return finish_figure(figure, alt=alt_text(figure))


def _own(networks: int) -> str:
    return (
        "in the network they are matched in" if networks == 1 else "in networks they are matched in"
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how far either distance has fallen."""
    first, moment = results.frames[0].content, results.frame.content
    number = f"{settings.networks} network{'s' * (settings.networks > 1)}"
    return (
        f"From noise, matched in {number}, after update {results.frame.step} of "
        f"{results.run.total}: there the distance falls from {first.met:.3g} to {moment.met:.3g}, in "
        f"networks that the images never met from {first.unseen:.3g} to {moment.unseen:.3g}."
    )


UnseenNetworks = Lab(
    "Matched in one network: what do other networks see?",
    World,
    controls=("networks",),
    labels={"networks": "networks they are matched in"},
    run=World.run,
    jobs=lambda world, settings, run: [run],
    opens_with=1,
    step_words="update",
    job_words=lambda world, run: f"matching in {run.config.networks}",
    views=[Strip(strip_data, learned_images), Chart(curve_data, curves, cursor=step_on_show)],
    sentence=sentence,
)
