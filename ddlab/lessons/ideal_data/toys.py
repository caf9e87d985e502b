r"""Distilled samples and distilled targets in the toy world: Figures 1 and 2 of the ReLA paper, all
settings and seeds at once.

Sun et al. 2024 (ReLA), arXiv 2405.14669, section 3.2 and Tables 7 and 8:

    distilled samples   G' has the means of G and another Sigma             -> deviation
    distilled targets   y' = rho f*(x) + (1 - rho) y                        -> relabelling, distilled_targets
    both, as drawn                                                          -> distilled_samples
    trained on G', judged on G (Sigma = 0.5)                                -> train, judge

Every setting sees the same random numbers: the start, the labels and the noise n of x = mu_y +
Sigma n depend on the seed and the step alone, so that settings are compared in pairs, and a shorter
run is the beginning of a longer one.

Where the paper leaves a choice: f* is a network of a start and samples of its own for each seed
(the paper has one), trained with the settings of Table 8 at `teacher_deviation`; the mean squared
error is that of `spread_points`, which all settings share.

What follows, and is not in the paper (mean squared error on G after 1000 steps, where 0.0578 is the
best that can be):

    Sigma                            .05    .1     .2     .3     .5     .7     1
    one sample a step, 300 seeds    .0624  .0615  .0605  .0632  .0724  .0847  .1122     standard error .0001 to .0014
    exact gradient, 20 seeds        .0664  .0643  .0597  .0585  .0605  .0703  .1039     standard error .0000 to .0021

1. The best Sigma is neither the smallest nor that of G. Smaller is better throughout only early
   (the first 200 steps). 2. With exact gradients every setting decides about as well as can be
   (accuracy .91 to .925): the accuracy that a large Sigma loses (.87 at 1) is the noise of single
   samples. Its squared error stays, since its targets belong to wider classes: the network is right
   about G', which is less sure. 3. The loss at the smallest Sigma stays, too: without samples near
   the boundary, the start decides where it lies. 4. Squared error falls with rho if the teacher
   learned from narrow samples. The exact posterior of the samples at Sigma = 1 teaches their doubt:
   .101 at rho = 1, which is what that posterior itself loses on G.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...core import Parameters, errors, parameter, randomness
from .mixture import Mixture, posterior, spread_points
from .networks import expected_descent, first_weights, outputs, recorded_steps, stochastic_descent

TEACHERS = ("trained", "posterior of the distilled", "posterior of the original")
# Settings of one call share these.
SCHEDULE = ("steps", "record_every", "exact_gradient", "gradient_points", "seeds", "first_seed")
_TABLE_8 = "Table 8"


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    """One setting of the toy experiment; the defaults are G' = G of Definition 4 with the network
    and the steps of Tables 7 and 8.
    """

    deviation: float = parameter(
        0.5,
        symbol=r"\Sigma",
        range=(0.001, 1000),
        explorable=(0.05, 1),
        step=0.05,
        source="Figure 1",
        help="Standard deviation of the distilled samples about their class mean.",
    )
    relabelling: float = parameter(
        0.0,
        symbol=r"\rho",
        range=(0, 1),
        explorable=(0, 1),
        step=0.05,
        source="Figure 2",
        help="Share of the teacher's output in the distilled target; the rest is the label.",
    )
    teacher: str = parameter(
        "trained",
        choices=TEACHERS,
        explorable=True,
        help="What relabels: a network trained at the teacher's deviation, or the exact posterior "
        "of the distilled or original mixture.",
    )
    teacher_deviation: float = parameter(
        0.1,
        symbol=r"\Sigma^\star",
        range=(0.001, 1000),
        explorable=(0.05, 1),
        step=0.05,
        source="Figure 1(c)",
        help="Standard deviation of the samples that the trained teacher learned from.",
    )
    gap: float = parameter(
        1.0,
        symbol=r"\mu_2-\mu_1",
        range=(0, 1000),
        explorable=(0.25, 3),
        step=0.25,
        source="Definition 4",
        help="Difference of the class means in every coordinate: 1 for means (1, 1) and (2, 2), "
        "which are 1.41 apart.",
    )
    original_deviation: float = parameter(
        0.5,
        symbol=r"\Sigma_G",
        range=(0.001, 1000),
        explorable=(0.1, 1),
        step=0.05,
        source="Definition 4",
        help="Standard deviation of the original data, on which networks are judged.",
    )
    learning_rate: float = parameter(
        0.002,
        symbol=r"\eta",
        range=(0, 10),
        scale="log",
        explorable=(1e-4, 0.1),
        source=_TABLE_8,
        help="Step length of SGD.",
    )
    momentum: float = parameter(
        0.98,
        symbol="m",
        range=(0, 0.9999),
        explorable=(0, 0.99),
        step=0.01,
        source=_TABLE_8,
        help="Share of the last update that the next one keeps; one gradient counts 1 / (1 - m) "
        "times.",
    )
    steps: int = parameter(
        1000,
        symbol="T",
        range=(1, 1000),
        explorable=(50, 1000),
        step=50,
        source=_TABLE_8,
        help="Updates, each from one sample; at most 1000 here, so that every slider can train "
        "everything anew.",
    )
    exact_gradient: bool = parameter(
        False,
        explorable=True,
        help="Take the gradient's expectation over the distilled data instead of one sample: "
        "geometry without noise.",
    )
    gradient_points: int = parameter(
        64,
        range=(4, 2**12),
        help="Points per class that stand for the distilled data where the gradient is exact.",
    )
    seeds: int = parameter(
        20, range=(1, 1000), explorable=(1, 60), step=1, help="Runs of each setting."
    )
    first_seed: int = parameter(
        0, range=(0, 2**31), explorable=(0, 100), step=1, help="The seed of the first run."
    )
    record_every: int = parameter(
        100, range=(1, None), help="Steps from one kept network to the next."
    )

    @property
    def original(self) -> Mixture:
        """G."""
        return Mixture(self.gap, self.original_deviation)

    @property
    def distilled(self) -> Mixture:
        """G'."""
        return Mixture(self.gap, self.deviation)


class Trained(NamedTuple):
    """What `train` gives: the settings; int64 [frames], after how many updates a frame is; rows
    [frames, settings, seeds, 201].
    """

    configs: tuple[Config, ...]
    steps: Tensor
    rows: Tensor


class Judged(NamedTuple):
    """How networks do on points: two numbers each, in the shape of the block of networks."""

    mean_squared_error: Tensor
    accuracy_fraction: Tensor


class Samples(NamedTuple):
    """What networks are trained on: points float32 [settings, seeds, n, 2], labels y and targets y'
    [settings, seeds, n].

    n is the number of steps, or of all points that stand for G' where the gradient is exact.
    """

    points: Tensor
    labels: Tensor
    targets: Tensor


def distilled_targets(labels: Tensor, teacher: Tensor, relabelling: float) -> Tensor:
    """Return y' = rho f*(x) + (1 - rho) y (section 3.2), of labels y and a teacher's answers [...]."""
    return relabelling * teacher + (1 - relabelling) * labels


def distilled_samples(configs: Sequence[Config]) -> Samples:
    """Return the samples and targets that `train` uses, from common random numbers."""
    first = configs[0]
    if first.exact_gradient:
        spread = [spread_points(config.distilled, config.gradient_points) for config in configs]
        points = torch.stack([values.float() for values, _ in spread])[:, None].expand(
            -1, first.seeds, -1, -1
        )
        labels = torch.stack([values.float() for _, values in spread])[:, None].expand(
            -1, first.seeds, -1
        )
    else:
        points, labels = _draws(configs, "student")
    # Settings that differ in rho alone ask a teacher about the same points.
    answers: dict[tuple[Any, ...], Tensor] = {}
    targets = []
    for config, values, truth in zip(configs, points, labels, strict=True):
        teacher_key = (
            config.teacher,
            config.teacher_deviation,
            config.original_deviation,
            config.gap,
            config.deviation,
        )
        if config.relabelling > 0 and teacher_key not in answers:
            answers[teacher_key] = _teacher_outputs(config, values)
        targets.append(
            distilled_targets(truth, answers.get(teacher_key, truth), config.relabelling)
        )
    return Samples(points, labels, torch.stack(targets))


def train(configs: Sequence[Config], *, samples: Samples | None = None) -> Trained:
    """Train every setting with every seed.

    Use `samples` where those of `distilled_samples` are at hand.

    Raises:
        DDLabError: what are no settings, settings of unlike steps, seeds or kind of gradient, or
            weights that grow beyond all numbers.
    """
    if not configs:
        errors.fail("configs", "a list of settings that is not empty", configs)
    for config in configs:
        errors.check_instance("a member of configs", config, Config, "a toys.Config")
    first = configs[0]
    for name in SCHEDULE:
        if len(values := {getattr(config, name) for config in configs}) > 1:
            errors.fail(f"{name} in configs", "the same in all of them", sorted(values))
    points, _, targets = distilled_samples(configs) if samples is None else samples
    start = first_weights(first.seeds, first_seed=first.first_seed).expand(len(configs), -1, -1)
    rates: dict[str, Any] = {}
    for name in ("learning_rate", "momentum"):
        rates[name] = torch.tensor([getattr(config, name) for config in configs])[:, None].expand(
            -1, first.seeds
        )
    rates["record_every"] = first.record_every
    if first.exact_gradient:
        rows = expected_descent(start, points, targets, steps=first.steps, **rates)
    else:
        rows = stochastic_descent(start, points.movedim(2, 0), targets.movedim(2, 0), **rates)
    return Trained(
        tuple(configs), torch.tensor(recorded_steps(first.steps, first.record_every)), rows
    )


def judge_on(rows: Tensor, mixture: Mixture, per_class: int) -> Judged:
    """Return squared error and accuracy of every network [..., P] on a mixture.

    Both are averaged over its `spread_points`.
    """
    points, labels = (values.to(rows.dtype) for values in spread_points(mixture, per_class))
    probabilities = outputs(rows, points)
    right = (probabilities > 0.5) == (labels > 0.5)
    return Judged(probabilities.sub_(labels).square_().mean(-1), right.to(rows.dtype).mean(-1))


def judge(runs: Trained, *, per_class: int = 160) -> Judged:
    """Return the curves of runs on the original data: [frames, settings, seeds]."""
    originals = [config.original for config in runs.configs]
    if len(set(originals)) == 1:  # one call for all takes less than one for each
        return judge_on(runs.rows, originals[0], per_class)
    judged = [
        judge_on(runs.rows[:, number], original, per_class)
        for number, original in enumerate(originals)
    ]
    return Judged(*(torch.stack(part, 1) for part in zip(*judged, strict=True)))


def _draws(configs: Sequence[Config], stream: str) -> tuple[Tensor, Tensor]:
    """Draw points float32 [settings, seeds, steps, 2] and labels [settings, seeds, steps].

    All settings share one set of random numbers.
    """
    first = configs[0]
    noise = []
    class_draws = []
    for seed in range(first.first_seed, first.first_seed + first.seeds):
        # numpy draws one number after the other, so that more steps keep the first ones.
        drawing = randomness.numpy_generator(seed, 0, f"toy noise {stream}")
        noise.append(drawing.standard_normal((first.steps, 2), np.float32))
        class_draws.append(
            randomness.numpy_generator(seed, 0, f"toy labels {stream}").random(first.steps) < 0.5
        )
    normal = torch.from_numpy(np.stack(noise))
    labels = torch.from_numpy(np.stack(class_draws)).long()
    points = [
        config.distilled.means.float()[labels] + config.deviation * normal for config in configs
    ]
    return torch.stack(points), labels.float().expand(len(configs), *labels.shape)


def _teacher_outputs(config: Config, points: Tensor) -> Tensor:
    """Return f*(x) [seeds, n] at points [seeds, n, 2]. Each seed has a teacher of its own."""
    if config.teacher != TEACHERS[0]:
        return posterior(
            config.distilled if config.teacher == TEACHERS[1] else config.original, points
        )
    teachers = _teachers(
        config.teacher_deviation, gap=config.gap, seeds=config.seeds, first_seed=config.first_seed
    )
    answers = [
        outputs(teacher, points_of_seed)
        for teacher, points_of_seed in zip(teachers, points, strict=True)
    ]
    return torch.stack(answers)


@lru_cache(maxsize=16)
def _teachers(deviation: float, **shared: Any) -> Tensor:
    """Return f*, rows [seeds, 201], trained as Table 8 says on hard labels.

    They are kept, since every rho asks for the same.
    """
    config = Config(deviation=deviation, **shared)
    points, labels = (draws[0].movedim(1, 0) for draws in _draws([config], "teacher"))
    start = first_weights(config.seeds, first_seed=config.first_seed, stream="teacher")
    rates = {
        name: torch.full((config.seeds,), getattr(config, name))
        for name in ("learning_rate", "momentum")
    }
    return stochastic_descent(start, points, labels, **rates, record_every=config.steps)[-1]
