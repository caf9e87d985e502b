"""What the laboratory of trajectories knows: experts and their ways, where images lead a student,
and what they teach.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...core.parameters import parameter, with_default
from ...distilled import DistilledSet
from ...explorers.ready import MethodWorld, SteppedSettings, Watch, in_steps
from ...methods import mtt
from ...runs import Keep
from ...runs.inputs import Inputs
from ...training import ordered
from ...training.trajectories import by_name, vector
from ...training.unrolled import trained

RATES = (0.05, 0.1, 0.2)  # of sets that learn none: they take the best of them
# Trained on the images of a finished run; their mean is shown.
STUDENTS = 3
# Memory and time grow with N: more would try a reader's patience.
MOST_STEPS = 20
# Of the experts, which every setting shares.
MOST_EPOCHS = 5

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, mtt.Config):
    """MTT's hyper-parameters as a reader moves them, and which way of which expert is on show."""

    inner_steps: int = parameter(
        10, symbol="N", range=(1, MOST_STEPS), explorable=(1, MOST_STEPS), help="Steps on images."
    )
    matched_epochs: int = parameter(
        2, symbol="M", range=(1, MOST_EPOCHS), explorable=(1, MOST_EPOCHS), help="Of the expert."
    )
    iterations: int = with_default(mtt.Config, "iterations", 100, source="teaching")
    seed: int = parameter(
        0, range=(0, None), explorable=(0, 9), help="Of the experts, and of every draw."
    )
    expert: int = parameter(0, range=(0, None), explorable=(0, 4), help="Whose way is on show.")
    begun: int = parameter(
        0, range=(0, None), explorable=(0, 3), help="The epoch from which the student starts."
    )


@dataclass(frozen=True)
class Moment:
    """What a frame holds: learned images, and the rate."""

    images: Tensor
    rate: Tensor


def positions(row: Sequence[Tensor], start: Tensor, goal: Tensor) -> Points:
    """Return (along, aside) of weights [P]: how far on the straight way, and how far off it.

    Lengths are in units of the way from `start` to `goal`.

    The squared distance from (1, 0) is MTT's loss.
    """
    path = goal - start
    places = []
    for point in row:
        along = float((point - start) @ path / path.square().sum())
        places.append((along, float((point - start - along * path).norm() / path.norm())))
    return tuple(places)


class World(MethodWorld):
    """Data, and where the controls start.

    Args:
        data: what is distilled. config: where the controls start; default MTT's teaching preset.
            device: of the runs.

    Raises:
        DDLabError: settings that the method refuses, or starts after which no epochs are left.
    """

    method = mtt
    settings = Settings
    first = mtt.Config.teaching(expert_epochs=8)

    def keep(self, config: mtt.Config) -> Keep:
        """Return the steps from which the experts are trained, which are kept."""
        experts = mtt.expert_updates(config)
        updates = config.iterations
        steps = {experts + round(updates * part / self.frames) for part in range(self.frames + 1)}
        return Keep(tuple(sorted(steps)), self.frame)

    def frame(self, config: Any, inputs: Inputs, state: mtt.State, trace: Any) -> Moment:
        """Return what is kept of a step."""
        return Moment(state.images, state.rate)

    def experts(self, config: mtt.Config, *, watch: Watch) -> None:
        """Train them; their weights stay in the run."""
        total = mtt.expert_updates(config)
        self.of(config).advance(until=total, watch=lambda run: watch("experts", run.step / total))

    def expert_path(self, config: mtt.Config, expert: int, start_epoch: int) -> list[Tensor]:
        """Return the expert's weights [P] from one epoch to M epochs later."""
        first = expert * (config.expert_epochs + 1) + start_epoch
        return list(self.of(config).state().paths[first : first + config.matched_epochs + 1])

    def steps(
        self, config: mtt.Config, images: Tensor, rate: Tensor | float, start: Tensor
    ) -> list[Tensor]:
        """Return a student's weights [P], from the start to its last step."""
        learned = {
            "images": images.to(self.inputs.device),
            "rate": torch.as_tensor(rate, device=self.inputs.device),
        }
        inner = mtt.inner_of(config, self.inputs, 0)
        weights = by_name(config.network.for_data(self.data), start)
        return [vector(weights_at_step) for weights_at_step in trained(inner, weights, learned)]

    def path_on_show(
        self, config: mtt.Config, step: int, expert: int, start_epoch: int, rate_step: int
    ) -> Points:
        """Return the path of a student on the images of one frame, at the rate of another."""
        frames = [self.of(config).at(at) for at in (step, rate_step)]
        path = self.expert_path(config, expert, start_epoch)
        images, rate = (None if frame is None else frame.content for frame in frames)
        assert images is not None and rate is not None, "a run that is looked at has begun"
        return positions(self.steps(config, images.images, rate.rate, path[0]), path[0], path[-1])

    def path_of_means(self, config: mtt.Config, expert: int, start_epoch: int) -> Points:
        """Return the path of a student on class means, at the rate of `RATES` that ends nearest."""
        path = self.expert_path(config, expert, start_epoch)
        means = self.chosen("centres").images
        nearest: tuple[float, Points] | None = None
        for rate in RATES:
            weights = self.steps(config, means, rate, path[0])
            loss = float(mtt.matching_loss(weights[-1], path[0], path[-1]))
            if nearest is None or loss < nearest[0]:
                nearest = loss, positions(weights, path[0], path[-1])
        assert nearest is not None, "there are rates"
        return nearest[1]

    def distance_left(self, config: mtt.Config, images: Tensor, rate: Tensor | float) -> float:
        """Return MTT's loss, the mean over all experts, each from another epoch."""
        paths = [
            self.expert_path(config, expert, expert % config.latest_start)
            for expert in range(config.experts)
        ]
        end_points = [self.steps(config, images, rate, path[0])[-1] for path in paths]
        losses = [
            float(mtt.matching_loss(end, path[0], path[-1]))
            for end, path in zip(end_points, paths, strict=True)
        ]
        return statistics.fmean(losses)

    def learned(self, config: mtt.Config, *, watch: Watch) -> tuple[float, float, float]:
        """Return the squared distance left, the rate and the students' accuracy of a finished run."""
        state = self.of(config).state()
        distilled = mtt.finish(config, self.inputs, state)
        distance_left = self.distance_left(config, state.images, state.rate)
        rate = float(state.rate)
        return distance_left, rate, self._mean(distilled, range(STUDENTS), watch)

    def rival(self, config: mtt.Config, *, watch: Watch) -> tuple[float, float]:
        """Return what class means leave of the way, and what they teach, each at the best of
        `RATES`.
        """
        self.experts(config, watch=watch)
        means = self.chosen("centres")
        network = config.network.for_data(self.data)
        distance_left = min(self.distance_left(config, means.images, rate) for rate in RATES)
        sets = [in_steps(means, network, torch.full((1, 1), rate), config.passes) for rate in RATES]
        return distance_left, max(self._mean(stepped, range(STUDENTS), watch) for stepped in sets)

    def _mean(self, distilled: DistilledSet, seeds: Sequence[int], watch: Watch) -> float:
        return statistics.fmean(
            self.taught(
                distilled, [ordered.Config.for_set(distilled, seed=seed) for seed in seeds], watch
            )
        )
