"""The laboratory of inner steps: ten images are learned for N steps of training, and taught from their own start and from others.

StepsLab(data)
StepsLab(data, dd.Config.teaching(epochs=5))

Every number of steps that was visited stays as a point, so that the curve grows under the reader's hand.
"""

from __future__ import annotations

import dataclasses
import functools
import statistics
from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go
import torch

from ... import networks
from ...core import errors
from ...core.parameters import narrowed, parameter, with_default
from ...data import ImageData
from ...distilled import DistilledSet, OrderedSteps
from ...evaluation.students import student_accuracy
from ...explorers.lab import Known, Lab, Value
from ...explorers.quest import Quest
from ...explorers.ready import HEIGHT, frame_on_show, learned_images
from ...explorers.views import Chart, Row, Strip
from ...figures import bars
from ...figures.theme import finish_figure, legend_below, line_style, neutral, series_style, start_figure
from ...methods import dd, selection
from ...runs import Keep, Run, Runs, cache
from ...runs.process import Inputs
from ...training import ordered

NETWORKS = {"perceptron": networks.spec("mlp"), "ConvNet": networks.spec("convnet", width=16, norm="instance")}
RATES = (0.05, 0.1, 0.2, 0.5, 1.0)  # the rival's: it takes the best of them
AHEAD = 0.15  # of accuracy: what the quest asks for
OTHERS = 5  # starts beside the own one
_FRAMES = 20


@dataclass(frozen=True, kw_only=True)
class Settings(dd.Config):
    """DD's hyper-parameters as a reader moves them."""

    epochs: int = parameter(
        1, symbol="N", range=(1, 10), explorable=(1, 10), help="Steps of training on the ten images."
    )
    learner: str = parameter(
        "perceptron", choices=tuple(NETWORKS), explorable=True, help="The network that is trained."
    )
    starts: str = parameter("fixed", choices=("fixed", "random"), explorable=True, help="One start, or new ones.")
    iterations: int = with_default(dd.Config, "iterations", 100, source="teaching")
    seed: int = parameter(0, range=(0, None), explorable=(0, 9), help="Of the own start, and of every draw.")
    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")


@functools.lru_cache(256)  # every view asks at every drawing
def config_of(settings: Settings) -> dd.Config:
    """What the method is given; a ConvNet in the place of another network takes fewer updates and, where N is large, smaller rates."""
    config, network = settings.part(dd.Config), NETWORKS.get(settings.learner, settings.network)
    if network == config.network:
        return config
    if settings.learner == "ConvNet":
        rate = config.initial_rate / (5 if config.epochs > 5 else 1)
        config = config.replace(iterations=max(config.iterations * 3 // 5, 1), initial_rate=rate)
    return config.replace(network=network)


class World:
    """Data, and where the controls start.

    Args:
        data: what is distilled. config: where the controls start; default DD's teaching preset with one step. device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    def __init__(
        self, data: ImageData, config: dd.Config | None = None, *, device: torch.device | str = "auto"
    ) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        first = dd.Config.teaching(epochs=1) if config is None else config
        errors.check_instance("config", first, dd.Config, "a dataset_distillation Config or None")
        self.inputs = Inputs(data=data, device=device)
        learner = next((name for name, spec in NETWORKS.items() if spec == first.network), first.network.title)
        learners = tuple(dict.fromkeys((learner, *NETWORKS)))
        self.start = narrowed(Settings, learner=learners)(**vars(first), learner=learner)
        self._runs = Runs()

    def run(self, settings: Settings) -> Run:
        """DD's run with these settings, as far as it has come."""
        return self.of(config_of(settings))

    def of(self, config: dd.Config) -> Run:
        """The run with this config."""
        return self._runs.get(dd, config, self.inputs, _kept(config.iterations))

    def scores(self, config: dd.Config, *, watch: Callable[[str, float], None]) -> tuple[float, ...]:
        """Test accuracy after the N steps, from the start of the run's seed and then from others; of a finished run."""
        return self._taught(dd.finish(config, self.inputs, self.of(config).state()), config, watch)

    def rival(self, config: dd.Config, *, watch: Callable[[str, float], None]) -> float:
        """The best that class means do in as many steps at one rate of `RATES`, mean over the other starts; nothing is learned."""
        means = cache.run(selection, selection.Config(kind="centres", images_per_class=1), self.inputs)
        told = means.provenance | {
            "network": config.network.for_data(self.data).to_dict(),
            "initial_weights": "pytorch",
        }
        found = []
        for rate in RATES:
            steps = OrderedSteps(torch.full((config.epochs, 1), rate))
            made = dataclasses.replace(means.with_targets(steps), provenance=told)
            found.append(statistics.fmean(self._taught(made, config, watch)[1:]))
        return max(found)

    def _taught(self, made: DistilledSet, config: dd.Config, watch: Callable[[str, float], None]) -> tuple[float, ...]:
        found, inputs = [], Inputs(distilled=made, device=self.inputs.device)
        for number, seed in enumerate(range(config.seed, config.seed + OTHERS + 1)):
            watch("students", number / (OTHERS + 1))
            found.append(student_accuracy(ordered.Config.made_for(made, seed=seed), inputs, self.data))
        return tuple(found)


@functools.lru_cache(64)
def _kept(iterations: int) -> Keep:
    return Keep(tuple(sorted({round(iterations * part / _FRAMES) for part in range(_FRAMES + 1)})))


def wanted(world: World, settings: Settings) -> list[Run | Value]:
    """The images, what they teach, and what class means teach in as many steps."""
    config = config_of(settings)
    return [
        world.run(settings),
        Value(world.scores, config),
        Value(world.rival, config.replace(starts="fixed", seed=0)),
    ]


def strip_data(world: World, settings: Settings, known: Known) -> tuple:
    """The frame on show."""
    return world.data, frame_on_show(world.run(settings), known), 1


def rates_data(world: World, settings: Settings, known: Known) -> tuple | None:
    """The rates of the finished run."""
    run = world.run(settings)
    return tuple(dd.learned_rates(run.state().learned["raw_rates"]).flatten().tolist()) if run.complete else None


def rates_chart(*rates: float) -> go.Figure:
    """A bar for each step."""
    names = [str(step + 1) for step in range(len(rates))]
    return bars(
        names, list(rates), title="Learned rates", x_label="step", y_label="rate", height=HEIGHT, text_format=".2f"
    )


def visited(world: World, settings: Settings, known: Known) -> dict[int, tuple[float, ...]]:
    """N -> (own start, other starts ...), of all visited runs that differ in N alone."""
    found = {config: scores for (config,), scores in known.every(world.scores)}
    asked = {steps: config_of(settings.replace(epochs=steps, step=None)) for steps in range(1, 11)}
    return {steps: found[config] for steps, config in asked.items() if config in found}


def curve_data(world: World, settings: Settings, known: Known) -> tuple | None:
    """What is known so far; what was shown stays until the first is."""
    found = visited(world, settings, known)
    rivals = {
        config.epochs: value
        for (config,), value in known.every(world.rival)
        if config.network == config_of(settings).network
    }
    return (settings.learner, settings.starts, tuple(found.items()), tuple(sorted(rivals.items()))) if found else None


def curve(learner: str, starts: str, found: tuple, rivals: tuple) -> go.Figure:
    """Accuracy against N: from the own start, from others (each a point), and of class means."""
    figure = start_figure(
        title=f"A {learner} after N steps", x_label="steps N", y_label="test accuracy (fraction)", height=HEIGHT
    )
    steps = [number for number, _ in found]
    lines = {"start of seed" if starts == "random" else "its own start": [scores[0] for _, scores in found]}
    lines["other starts, mean"] = [statistics.fmean(scores[1:]) for _, scores in found]
    for index, (name, values) in enumerate(lines.items()):
        figure.add_scatter(x=steps, y=values, name=name, **line_style(series_style(index), markers=True))
    each = [(number, value) for number, scores in found for value in scores[1:]]
    colour = series_style(1).colour
    figure.add_scatter(x=[x for x, _ in each], y=[y for _, y in each], mode="markers", showlegend=False, hoverinfo="skip",
                       marker={"color": colour, "size": 5, "opacity": 0.45})  # fmt: skip
    if rivals:
        style = {"color": neutral("quiet"), "dash": "dash", "width": 1.5}
        x, y = zip(*rivals, strict=True)
        figure.add_scatter(
            x=x, y=y, name="class means, best rate", mode="lines+markers", line=style, marker={"symbol": "x"}
        )
    figure.update_xaxes(range=[0.5, 10.5], dtick=1).update_yaxes(range=[0, 1])
    said = "; ".join(f"N = {n}: {scores[0]:.2f} and {statistics.fmean(scores[1:]):.2f}" for n, scores in found)
    return finish_figure(
        legend_below(figure), alt=f"Accuracy of a {learner} from the own start and from others: {said}."
    )


def sentence(world: World, settings: Settings, known: Known) -> str:
    """What is seen."""
    scores, run = visited(world, settings, known).get(settings.epochs), world.run(settings)
    begun = f"Ten images, {settings.epochs} step{'s' * (settings.epochs > 1)} of a {settings.learner}"
    if scores is None:
        return f"{begun}: learning, update {run.step} of {run.total}."
    rival = known(Value(world.rival, config_of(settings).replace(starts="fixed", seed=0)))
    beside = "" if rival is None else f" Class means, which learn nothing, reach {rival:.1%}."
    return (
        f"{begun}: {scores[0]:.1%} from start {settings.seed}, {statistics.fmean(scores[1:]):.1%} from others.{beside}"
    )


def quest_met(world: World, settings: Settings, known: Known) -> bool:
    """Whether the images are ahead of class means from starts that they have not met."""
    scores = visited(world, settings, known).get(settings.epochs)
    rival = known(Value(world.rival, config_of(settings).replace(starts="fixed", seed=0)))
    return None not in (scores, rival) and statistics.fmean(scores[1:]) >= rival + AHEAD  # type: ignore[index, operator]


StepsLab = Lab(
    "What do N steps of training ask of ten images?",
    World,
    controls=("epochs", "learner", "starts"),
    more=("networks", "iterations", "learning_rate", "initial_rate", "seed"),
    labels={"epochs": "steps N", "networks": "starts an update", "iterations": "updates", "initial_rate": "first rate"},
    check=lambda world, settings: world.run(settings).begin(),
    watched=World.run,
    wanted=wanted,
    opens_with=3,
    step_words="update",
    unused=lambda world, settings: () if settings.starts == "random" else ("networks",),
    job_words=lambda world, run: f"learning for N = {run.config.epochs}",
    views=[Strip(strip_data, learned_images), Row(Chart(curve_data, curve), Chart(rates_data, rates_chart))],
    sentence=sentence,
    quest=Quest(
        f"Make ten images that beat class means by {AHEAD:.0%} of the test digits, from starts that they have not met.",
        quest_met,
    ),
)
