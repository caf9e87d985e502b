"""The laboratory of trajectories: ten images learn to lead a student, in N steps, to where an expert went.

TrajectoryLab(data)
TrajectoryLab(data, mtt.Config.teaching(inner_steps=10))

The plane on show bends nothing: how far along the expert's way, and how far off it. The squared distance from the goal is the loss.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core.parameters import parameter, with_default
from ...distilled import DistilledSet
from ...explorers.lab import Lab, Results, Value
from ...explorers.lines import Quest
from ...explorers.ready import HEIGHT, MethodWorld, Watch, in_steps, learned_images, visited
from ...explorers.views import Chart, Row, Strip
from ...figures.theme import finish_figure, legend_below, line_style, neutral, series_style, start_figure
from ...methods import mtt
from ...runs import Keep, Run
from ...runs.process import Inputs
from ...training import ordered
from ...training.trajectories import by_name, vector
from ...training.unrolled import trained

RATES = (0.05, 0.1, 0.2)  # of sets that learn none: they take the best of them
AHEAD = 0.15  # of the squared way: what the quest asks for
STUDENTS = 3
MOST_STEPS, MOST_EPOCHS = 20, 5
_HEIGHT = HEIGHT + 40  # with a legend of five lines

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Settings(mtt.Config):
    """MTT's hyper-parameters as a reader moves them, and which way of which expert is on show."""

    inner_steps: int = parameter(
        10, symbol="N", range=(1, MOST_STEPS), explorable=(1, MOST_STEPS), help="Steps on images."
    )
    matched_epochs: int = parameter(
        2, symbol="M", range=(1, MOST_EPOCHS), explorable=(1, MOST_EPOCHS), help="Of the expert."
    )
    iterations: int = with_default(mtt.Config, "iterations", 100, source="teaching")
    seed: int = parameter(0, range=(0, None), explorable=(0, 9), help="Of the experts, and of every draw.")
    expert: int = parameter(0, range=(0, None), explorable=(0, 4), help="Whose way is on show.")
    begun: int = parameter(0, range=(0, None), explorable=(0, 3), help="The epoch from which the student starts.")
    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")


@dataclass(frozen=True)
class Moment:
    """What a frame holds: learned images, and the rate."""

    images: Tensor
    rate: Tensor


def positions(row: Sequence[Tensor], start: Tensor, goal: Tensor) -> Points:
    """(along, aside) of weights [P]: how far on the straight way from `start` to `goal`, and how far off it, in lengths of that way.

    The squared distance from (1, 0) is MTT's loss.
    """
    way, found = goal - start, []
    for point in row:
        along = float((point - start) @ way / way.square().sum())
        found.append((along, float((point - start - along * way).norm() / way.norm())))
    return tuple(found)


class World(MethodWorld):
    """Data, and where the controls start.

    Args:
        data: what is distilled. config: where the controls start; default MTT's teaching preset. device: of the runs.

    Raises:
        DDLabError: settings that the method refuses, or starts after which no epochs are left.
    """

    method, settings, first = mtt, Settings, mtt.Config.teaching(expert_epochs=8)

    def keep(self, config: mtt.Config) -> Keep:
        """From where the experts are trained."""
        experts, updates = mtt.expert_updates(config), config.iterations
        steps = {experts + round(updates * part / self.frames) for part in range(self.frames + 1)}
        return Keep(tuple(sorted(steps)), self.frame)

    def frame(self, config: Any, inputs: Inputs, state: mtt.State, trace: Any) -> Moment:
        """What is kept of a step."""
        return Moment(state.images, state.rate)

    def experts(self, config: mtt.Config, *, watch: Watch) -> None:
        """Train them; their weights stay in the run."""
        most = mtt.expert_updates(config)
        self.of(config).advance(until=most, watch=lambda run: watch("experts", run.step / most))

    def way(self, config: mtt.Config, expert: int, begun: int) -> list[Tensor]:
        """The expert's weights [P] from one epoch to M epochs later."""
        first = expert * (config.expert_epochs + 1) + begun
        return list(self.of(config).state().paths[first : first + config.matched_epochs + 1])

    def steps(self, config: mtt.Config, images: Tensor, rate: Tensor | float, start: Tensor) -> list[Tensor]:
        """A student's weights [P], from the start to its last step."""
        learned = {"images": images.to(self.inputs.device), "rate": torch.as_tensor(rate, device=self.inputs.device)}
        inner = mtt.inner_of(config, self.inputs, 0)
        weights = by_name(config.network.for_data(self.data), start)
        return [vector(each) for each in trained(inner, weights, learned)]

    def shown(self, config: mtt.Config, step: int, expert: int, begun: int) -> Points:
        """Where a student's steps lead it on the images of a frame."""
        frame, way = self.of(config).at(step), self.way(config, expert, begun)
        assert frame is not None, "a run that is looked at has begun"
        return positions(self.steps(config, frame.content.images, frame.content.rate, way[0]), way[0], way[-1])

    def left(self, config: mtt.Config, images: Tensor, rate: Tensor | float) -> float:
        """MTT's loss, the mean over all experts, each from another epoch."""
        ways = [self.way(config, expert, expert % config.latest_start) for expert in range(config.experts)]
        ends = [self.steps(config, images, rate, way[0])[-1] for way in ways]
        return statistics.fmean(
            float(mtt.matching_loss(end, way[0], way[-1])) for end, way in zip(ends, ways, strict=True)
        )

    def learned(self, config: mtt.Config, *, watch: Watch) -> tuple[float, float, float]:
        """Of a finished run: what is left of the way, the rate, and the accuracy of students."""
        state = self.of(config).state()
        made = mtt.finish(config, self.inputs, state)
        left, rate = self.left(config, state.images, state.rate), float(state.rate)
        return left, rate, self._mean(made, range(STUDENTS), watch)

    def rival(self, config: mtt.Config, *, watch: Watch) -> tuple[float, float]:
        """What class means leave of the way, and what they teach, each at the best of `RATES`."""
        self.experts(config, watch=watch)
        images = self.chosen("centres").images
        return min(self.left(config, images, rate) for rate in RATES), self.control(config, "centres", watch=watch)

    def control(self, config: mtt.Config, kind: str, seeds: Sequence[int] = range(STUDENTS), *, watch: Watch) -> float:
        """Mean accuracy of students that learn from a `selection`, in as many passes, at the best of `RATES`."""
        chosen, network = self.chosen(kind, seed=seeds[0]), config.network.for_data(self.data)
        sets = [in_steps(chosen, network, torch.full((1, 1), rate), config.passes) for rate in RATES]
        return max(self._mean(made, seeds, watch) for made in sets)

    def _mean(self, made: DistilledSet, seeds: Sequence[int], watch: Watch) -> float:
        return statistics.fmean(self.taught(made, [ordered.Config.made_for(made, seed=seed) for seed in seeds], watch))


def wanted(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """The experts; the images; how far they lead and what they teach; the same of class means."""
    config = run.config
    beside = Value(world.rival, config.replace(iterations=1))
    return [Value(world.experts, config), run, Value(world.learned, config), beside]


def found(world: World, settings: Settings, known: Results) -> tuple[dict[int, Any], dict[int, Any]]:
    """N -> of learned images (left, rate, accuracy) and of class means (left, accuracy), of all settings that differ in N alone."""
    _, _, learned, rival = known.wanted
    return tuple(visited(known, each.compute, *each.arguments, "inner_steps") for each in (learned, rival))  # type: ignore[return-value]


def strip_data(world: World, settings: Settings, known: Results) -> tuple:
    """The frame on show."""
    return world.data, known.frame, 1


def plane_data(world: World, settings: Settings, known: Results) -> tuple:
    """(along, aside) of the expert's epochs, of a student on real images, and of one on the images on show."""
    config, frame, place = known.run.config, known.frame, (settings.expert, settings.begun)
    way = world.way(config, *place)
    first = known.now(world.shown, config, mtt.expert_updates(config), *place)
    return positions(way, way[0], way[-1]), first, known.now(world.shown, config, frame.step, *place)


def plane(expert: Points, first: Points, now: Points) -> go.Figure:
    """Their paths; the loss is the squared distance from the star."""
    left = squared(now)
    figure = start_figure(
        title=f"Squared distance left: {left:.2f}", x_label="along the expert's way", y_label="off it", height=_HEIGHT
    )
    ways = {f"expert, {len(expert) - 1} epochs": expert, "on real images": first, "on the images on show": now}
    for index, (name, points) in enumerate(ways.items()):
        x, y = zip(*points, strict=True)
        style = line_style(series_style(index), markers=True)
        figure.add_scatter(x=x, y=y, name=name, **style)
    figure.add_scatter(
        x=[1],
        y=[0],
        mode="markers",
        showlegend=False,
        hoverinfo="skip",
        marker={"symbol": "star", "size": 15, "color": series_style(0).colour},
    )
    widest = max(1.1, *(x for x, _ in now), *(y for _, y in now))
    figure.update_xaxes(range=[-0.1, widest]).update_yaxes(range=[-0.05, widest])
    return finish_figure(
        legend_below(figure),
        alt=f"The student ends {now[-1][0]:.2f} along the expert's way and {now[-1][1]:.2f} off it; on real images "
        f"{first[-1][0]:.2f} along and {first[-1][1]:.2f} off.",
    )


def squared(points: Points) -> float:
    """The squared distance of the last point from (1, 0)."""
    along, aside = points[-1]
    return (1 - along) ** 2 + aside**2


def curve_data(world: World, settings: Settings, known: Results) -> tuple:
    """What is known so far, and what the images on show leave of the way on show."""
    learned, rivals = (tuple(each.items()) for each in known.found)
    return learned, rivals, (settings.inner_steps, squared(plane_data(world, settings, known)[-1]))


def curve(found: tuple, rivals: tuple, now: tuple[int, float]) -> go.Figure:
    """Against N: what is left of the way, and the accuracy of students, of learned images and of class means."""
    figure = start_figure(title="After learning", x_label="steps N", y_label="fraction", height=_HEIGHT)
    quiet = {"color": neutral("quiet")}
    for beside, points in (("", found), (", class means", rivals)):
        for index, (what, place) in enumerate((("left", 0), ("accuracy", -1))):
            style = line_style(series_style(index), markers=True)
            if beside:
                style["line"] |= quiet
                style["marker"] |= quiet | {"symbol": ("circle-x-open", "square-x-open")[index]}
            x, y = [number for number, _ in points], [values[place] for _, values in points]
            figure.add_scatter(x=x, y=y, name=f"{what}{beside}", **style)
    figure.add_scatter(
        x=now[:1],
        y=now[1:],
        name="left, on show",
        mode="markers",
        marker={"symbol": "circle-open", "size": 12, "color": series_style(0).colour},
    )
    figure.update_xaxes(range=[0.5, MOST_STEPS + 0.5]).update_yaxes(range=[0, 1])
    said = "; ".join(f"N = {n}: {left:.2f} left, accuracy {right:.2f}" for n, (left, _, right) in found)
    return finish_figure(legend_below(figure), alt=f"What is left of the way, and what students learn. {said}.")


def sentence(world: World, settings: Settings, known: Results) -> str:
    """What is seen."""
    config, run = known.run.config, known.run
    begun = f"N = {config.inner_steps}, M = {config.matched_epochs}"
    scores, rival = (each.get(config.inner_steps) for each in known.found)
    if scores is None:
        return f"{begun}: learning, update {max(run.step - mtt.expert_updates(config), 0)} of {config.iterations}."
    left, rate, right = scores
    than = "" if rival is None else f", class means at their best rate {rival[0]:.2f}"
    return (
        f"{begun}: the images leave {left:.2f} of the squared way (mean of {config.experts} experts){than}. "
        f"The rate is {rate:.3f}, times N {rate * config.inner_steps:.2f}; students read {right:.1%}."
    )


def quest_met(world: World, settings: Settings, known: Results) -> bool:
    """Whether the images lead clearly further than class means."""
    scores, rival = (each.get(settings.inner_steps) for each in known.found)
    return scores is not None and rival is not None and rival[0] - scores[0] >= AHEAD


TrajectoryLab = Lab(
    "How far do ten images lead?",
    World,
    controls=("inner_steps", "expert", "begun"),
    more=("matched_epochs", "iterations", "learning_rate", "rate_learning_rate", "seed"),
    labels={
        "inner_steps": "steps N",
        "matched_epochs": "epochs M",
        "begun": "from epoch",
        "iterations": "updates",
        "learning_rate": "images' rate",
        "rate_learning_rate": "rate's rate",
    },
    watched=World.run,
    wanted=wanted,
    opens_with=1,
    found=found,
    step_words="update",
    step_label=lambda world, settings, step: str(max(step - mtt.expert_updates(settings), 0)),
    job_words=lambda world, run: f"learning for N = {run.config.inner_steps}",
    stops=lambda world: {"expert": (0, world.start.experts - 1), "begun": (0, world.start.latest_start - 1)},
    views=[Strip(strip_data, learned_images), Row(Chart(plane_data, plane), Chart(curve_data, curve))],
    sentence=sentence,
    quest=Quest(f"Find images that leave {AHEAD} less of the way than class means do.", quest_met),
)
