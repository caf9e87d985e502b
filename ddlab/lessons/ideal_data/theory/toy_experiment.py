r"""Distilled samples and distilled targets in the toy world: Figures 1 and 2 of the ReLA paper, all settings and seeds at once.

Sun et al. 2024 (ReLA), arXiv 2405.14669, section 3.2 and Tables 7 and 8:

    distilled samples   G' has the means of G and another Sigma             -> deviation
    distilled targets   y' = rho f*(x) + (1 - rho) y                        -> relabelling, distilled_targets
    both, as drawn                                                          -> distilled_samples
    trained on G', judged on G (Sigma = 0.5)                                -> train_toys, toy_validation

Every setting sees the same random numbers: the start, the labels and the noise n of x = mu_y + Sigma n depend on the seed and the step
alone, so that settings are compared in pairs, and a shorter run is the beginning of a longer one.

Where the paper leaves a choice: f* is a network of a start and samples of its own for each seed (the paper has one), trained with
the settings of Table 8 at `teacher_deviation`; the mean squared error is that of `spread_points`, which all settings share.

What follows, and is not in the paper (mean squared error on G after 1000 steps, where 0.0578 is the best that can be):

    Sigma                            .05    .1     .2     .3     .5     .7     1
    one sample a step, 300 seeds    .0624  .0615  .0605  .0632  .0724  .0847  .1122     standard error .0001 to .0014
    exact gradient, 20 seeds        .0664  .0643  .0597  .0585  .0605  .0703  .1039     standard error .0000 to .0021

1. The best Sigma is neither the smallest nor that of G. Smaller is better throughout only early (the first 200 steps).
2. With exact gradients every setting decides about as well as can be (accuracy .91 to .925): the accuracy that a large Sigma loses
   (.87 at 1) is the noise of single samples. Its squared error stays, since its targets belong to wider classes: the network is right
   about G', which is less sure.
3. The loss at the smallest Sigma stays, too: without samples near the boundary, the start decides where it lies.
4. Squared error falls with rho if the teacher learned from narrow samples. The exact posterior of the samples at Sigma = 1 teaches
   their doubt: .101 at rho = 1, which is what that posterior itself loses on G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ....core import errors, randomness
from .gaussian_mixture import posterior, spread_points
from .toy_config import TEACHERS, ToyConfig, same_shape
from .toy_descent import expected_descent, recorded_steps, stochastic_descent
from .toy_network import ToyNetworks, initial_toys, toy_outputs


@dataclass(frozen=True, kw_only=True, eq=False)
class ToyRuns:
    """What `train_toys` returns.

    Attributes:
        configs: the settings.
        steps: int64 [frames], after how many updates each frame is.
        networks: [frames, settings, seeds].
    """

    configs: tuple[ToyConfig, ...]
    steps: Tensor
    networks: ToyNetworks


MOST_NUMBERS = 2 * 10**8  # coordinates of all samples: 0.8 GB in float32


class ToyValidation(NamedTuple):
    """How networks do on points: two numbers each, in the shape of the block of networks."""

    mean_squared_error: Tensor
    accuracy_fraction: Tensor


class DistilledSamples(NamedTuple):
    """What networks are trained on: points float32 [settings, seeds, n, d], labels y and targets y' [settings, seeds, n].

    n is the number of steps, or of all points that stand for G' where the gradient is exact.
    """

    points: Tensor
    labels: Tensor
    targets: Tensor


def distilled_targets(labels: Tensor, teacher: Tensor, relabelling: float) -> Tensor:
    r"""y' = rho f*(x) + (1 - rho) y (section 3.2).

    Args:
        labels: y, in [0, 1], [...]. teacher: f*(x) in [0, 1], of their shape and dtype. relabelling: rho in [0, 1].
    """
    return relabelling * teacher + (1 - relabelling) * labels


def distilled_samples(configs: Sequence[ToyConfig]) -> DistilledSamples:
    """The samples and targets that `train_toys` uses, from common random numbers.

    Args:
        configs: as of `train_toys`.
    """
    first = same_shape("configs", configs)[0]
    if first.exact_gradient:
        spread = [spread_points(config.distilled, config.gradient_points) for config in configs]
        points = torch.stack([own.float() for own, _ in spread])[:, None].expand(-1, first.seeds, -1, -1)
        labels = torch.stack([own.float() for _, own in spread])[:, None].expand(-1, first.seeds, -1)
    else:
        points, labels = _draws(configs, "student")
    answers: dict[tuple[Any, ...], Tensor] = {}  # settings that differ in rho alone ask a teacher about the same points
    targets = []
    for config, own, truth in zip(configs, points, labels, strict=True):
        asked = (config.teacher, config.teacher_deviation, config.original_deviation, config.gap, config.deviation)
        if config.relabelling > 0 and asked not in answers:
            answers[asked] = _teacher_outputs(config, own)
        targets.append(distilled_targets(truth, answers.get(asked, truth), config.relabelling))
    return DistilledSamples(points, labels, torch.stack(targets))


def train_toys(configs: Sequence[ToyConfig], *, samples: DistilledSamples | None = None) -> ToyRuns:
    """Train every setting with every seed.

    Args:
        samples: what `distilled_samples` gave for the same settings, where it is at hand.
        configs: the settings. They share what gives all networks one shape and one schedule: dimensions, units, steps, record_every,
            seeds, first_seed, exact_gradient, gradient_points.

    Raises:
        DDLabError: settings that do not share these, too much to hold at once, or weights that grow beyond all numbers.
    """
    first = same_shape("configs", configs)[0]
    points, _, targets = distilled_samples(configs) if samples is None else samples
    start = initial_toys(first.seeds, inputs=first.dimensions, units=first.units, first_seed=first.first_seed)
    start = ToyNetworks(**{name: value.expand(len(configs), *value.shape) for name, value in vars(start).items()})
    rates: dict[str, Any] = {
        name: torch.tensor([getattr(config, name) for config in configs])[:, None].expand(-1, first.seeds)
        for name in ("learning_rate", "momentum")
    }
    rates["record_every"] = first.record_every
    if first.exact_gradient:
        networks = expected_descent(start, points, targets, steps=first.steps, **rates)
    else:
        networks = stochastic_descent(start, points.movedim(2, 0), targets.movedim(2, 0), **rates)
    kept = torch.tensor(recorded_steps(first.steps, first.record_every))
    return ToyRuns(configs=tuple(configs), steps=kept, networks=networks)


def toy_validation(networks: ToyNetworks, points: Tensor, labels: Tensor) -> ToyValidation:
    """Squared error and accuracy of every network, averaged over the same points.

    Args:
        points: [n, d], at least one. labels: [n], in [0, 1]; above 1/2 they count as class 1. Both of the networks' dtype.
    """
    outputs = toy_outputs(networks, points)
    right = (outputs > 0.5) == (labels > 0.5)
    return ToyValidation(outputs.sub_(labels.detach()).square_().mean(-1), right.to(points.dtype).mean(-1))


def validate_toys(runs: ToyRuns, *, per_class: int = 160) -> ToyValidation:
    """The curves of runs on the original data: [frames, settings, seeds], on `per_class` of the `spread_points` of each G."""
    original = [(config.gap, config.original_deviation) for config in runs.configs]
    if len(set(original)) == 1:  # one call for all takes less than one for each
        return _on_original(runs.networks, runs.configs[0], per_class)
    found = [_on_original(runs.networks[:, number], config, per_class) for number, config in enumerate(runs.configs)]
    return ToyValidation(*(torch.stack(part, 1) for part in zip(*found, strict=True)))


def _on_original(networks: ToyNetworks, config: ToyConfig, per_class: int) -> ToyValidation:
    points, labels = spread_points(config.original, per_class)
    return toy_validation(networks, points.float(), labels.float())


def _draws(configs: Sequence[ToyConfig], stream: str) -> tuple[Tensor, Tensor]:
    """Points float32 [settings, seeds, steps, d] and labels [settings, seeds, steps]: one set of random numbers for all settings."""
    first, numbers = configs[0], len(configs) * configs[0].seeds * configs[0].steps * configs[0].dimensions
    if numbers > MOST_NUMBERS:
        errors.fail(
            "configs", f"so few or short that their samples have at most {MOST_NUMBERS:.0e} coordinates", numbers
        )
    noise, ones = [], []
    for seed in range(first.first_seed, first.first_seed + first.seeds):
        # numpy draws one number after the other, so that more steps keep the first ones.
        drawing = randomness.numpy_generator(seed, 0, f"toy noise {stream}")
        noise.append(drawing.standard_normal((first.steps, first.dimensions), np.float32))
        ones.append(randomness.numpy_generator(seed, 0, f"toy labels {stream}").random(first.steps) < 0.5)
    normal, labels = torch.from_numpy(np.stack(noise)), torch.from_numpy(np.stack(ones)).long()
    points = [config.distilled.means.float()[labels] + config.deviation * normal for config in configs]
    return torch.stack(points), labels.float().expand(len(configs), *labels.shape)


def _teacher_outputs(config: ToyConfig, points: Tensor) -> Tensor:
    """f*(x) [seeds, n] at points [seeds, n, d]; each seed has a teacher of its own."""
    if config.teacher != TEACHERS[0]:
        return posterior(config.distilled if config.teacher == TEACHERS[1] else config.original, points)
    shape = {name: getattr(config, name) for name in ("gap", "dimensions", "units", "seeds", "first_seed")}
    teachers = _teachers(config.teacher_deviation, **shape)
    return torch.stack([toy_outputs(teachers[number], own) for number, own in enumerate(points)])


@lru_cache(maxsize=16)
def _teachers(deviation: float, **shape: Any) -> ToyNetworks:
    """f* [seeds], trained as Table 8 says on hard labels; kept, since every rho asks for the same."""
    config = ToyConfig(deviation=deviation, **shape)
    points, labels = _draws([config], "teacher")
    start = initial_toys(
        config.seeds, inputs=config.dimensions, units=config.units, first_seed=config.first_seed, stream="teacher"
    )
    return stochastic_descent(start, points[0].movedim(1, 0), labels[0].movedim(1, 0), record_every=config.steps)[-1]
