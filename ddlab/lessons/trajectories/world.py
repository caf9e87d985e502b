"""What the laboratory of trajectories knows: experts and their ways, where images lead a student,
and what they teach.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import parameter, randomness, with_default
from ...distilled import DistilledSet
from ...evaluation.landscapes import CELLS, Plane, plane_through, weight_terms
from ...explorers.ready import MethodWorld, SteppedSettings, Watch, in_steps
from ...methods import mtt
from ...runs import Inputs, Keep, Run
from ...training import ordered
from ...training.trajectories import by_name, vector
from ...training.unrolled import train

RATES = (0.05, 0.1, 0.2)  # of sets that learn none: they take the best of them
# Trained on the images of a finished run; their mean is shown.
STUDENTS = 3
# Memory and time grow with N: more would try a reader's patience.
MOST_STEPS = 20
# Of the experts, which every setting shares.
MOST_EPOCHS = 5

REAL = "real test images"
LEARNED = "learned images"
MEANS = "class means"
# Real test images that the landscape's loss is measured on.
_TESTED = 100


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
    loss_on: str = parameter(
        REAL, choices=(REAL, LEARNED, MEANS), explorable=True, help="Whose loss the landscape has."
    )
    begun: int = parameter(
        0, range=(0, None), explorable=(0, 3), help="The epoch from which the student starts."
    )


@dataclass(frozen=True)
class Moment:
    """What a frame holds: learned images, and the rate."""

    images: Tensor
    rate: Tensor


@dataclass(frozen=True, eq=False)
class Path:
    """Weights of a network along a training, [moments, P]."""

    weights: Tensor


@dataclass(frozen=True, eq=False)
class Surface:
    """A plane of weights, its grid, and the loss over it [rows of y, columns of x]; None where it is
    not known yet.
    """

    plane: Plane
    x: Tensor
    y: Tensor
    loss: Tensor | None


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

    def expert_path(self, config: mtt.Config, expert: int, start_epoch: int) -> Path:
        """Return the expert's weights from one epoch to M epochs later."""
        first = expert * (config.expert_epochs + 1) + start_epoch
        epochs = self.of(config).state().paths[first : first + config.matched_epochs + 1]
        return Path(torch.stack(list(epochs)))

    def steps(
        self, config: mtt.Config, images: Tensor, rate: Tensor | float, start: Tensor
    ) -> Path:
        """Return a student's weights, from the start to its last step."""
        learned = {
            "images": images.to(self.inputs.device),
            "rate": torch.as_tensor(rate, device=self.inputs.device),
        }
        inner = mtt.inner_of(config, self.inputs, 0)
        weights = by_name(config.network.for_data(self.data), start)
        steps = [vector(weights_at_step) for weights_at_step in train(inner, weights, learned)]
        return Path(torch.stack(steps))

    def path_on_show(self, config: mtt.Config, step: int, expert: int, start_epoch: int) -> Path:
        """Return the path of a student on the images of one frame."""
        frame = self.of(config).at(step)
        assert frame is not None, "a run that is looked at has begun"
        start = self.expert_path(config, expert, start_epoch).weights[0]
        return self.steps(config, frame.content.images, frame.content.rate, start)

    def path_of_means(self, config: mtt.Config, expert: int, start_epoch: int) -> Path:
        """Return the path of a student on class means, at the rate of `RATES` that ends nearest."""
        way = self.expert_path(config, expert, start_epoch).weights
        means = self.chosen("centres").images
        paths = [self.steps(config, means, rate, way[0]) for rate in RATES]
        return min(paths, key=lambda path: left(path, way))

    def plane(
        self, config: mtt.Config, expert: int, start_epoch: int, step: int, cells: int = CELLS
    ) -> Surface:
        """Return the plane through the expert's start, its goal and the end of a student on the
        images of one step, with a grid that holds their paths.
        """
        place = (expert, start_epoch)
        way = self.expert_path(config, *place).weights
        student = self.path_on_show(config, step, *place).weights
        means = self.path_of_means(config, *place).weights
        plane = plane_through(way[0], way[-1], student[-1])
        return Surface(plane, *plane.axes(torch.cat([way, student, means]), cells), None)

    def surface(
        self, loss_on: str, config: mtt.Config, place: tuple[int, int], cells: int, *, watch: Watch
    ) -> Surface:
        """Return the plane of a finished run, with the loss on these images."""
        watch(f"the loss on {loss_on}", 0.0)
        run = self.of(config)
        flat = self.plane(config, *place, run.total, cells)
        device = self.inputs.device
        images, labels = (tensor.to(device) for tensor in self._images(loss_on, run))
        terms = weight_terms(
            config.network.for_data(self.data),
            (images, lambda logits: F.cross_entropy(logits, labels)),
        )
        (loss,) = flat.plane.measure(terms, flat.x, flat.y)
        return replace(flat, loss=loss.cpu())

    def _images(self, loss_on: str, run: Run) -> tuple[Tensor, Tensor]:
        if loss_on == REAL:
            rows = randomness.permutation(len(self.data.test_labels), 0, stream="landscape")
            chosen = rows[:_TESTED]
            return self.data.normalised(chosen, "test"), self.data.test_labels[chosen]
        images = run.state().images if loss_on == LEARNED else self.chosen("centres").images
        return images, torch.arange(len(images)) % self.data.classes

    def distance_left(self, config: mtt.Config, images: Tensor, rate: Tensor | float) -> float:
        """Return MTT's loss, the mean over all experts, each from another epoch."""
        ways = [
            self.expert_path(config, expert, expert % config.latest_start).weights
            for expert in range(config.experts)
        ]
        return statistics.fmean(left(self.steps(config, images, rate, way[0]), way) for way in ways)

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
        students = [ordered.Config.for_set(distilled, seed=seed) for seed in seeds]
        return self.mean_taught(distilled, students, watch)


def left(student: Path, way: Tensor) -> float:
    """Return MTT's loss: what is left of the squared distance to the end of a way [moments, P]."""
    return float(mtt.matching_loss(student.weights[-1], way[0], way[-1]))
