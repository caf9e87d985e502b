"""The laboratory of inner steps: ten images are learned for N steps of training, and taught from
their own start and from others.

StepsLab(data)
StepsLab(data, dd.Config.teaching(epochs=5))

Every number of steps that was visited stays as a point, so that the curve grows under the reader's
hand.
"""

import statistics
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch

from ... import networks
from ...core.parameters import narrowed, parameter, with_default
from ...distilled import DistilledSet
from ...explorers import Chart, Lab, Quest, Results, Tabs, Value
from ...explorers.ready import (
    HEIGHT,
    MethodWorld,
    SteppedSettings,
    Watch,
    earlier_update,
    in_steps,
    learned_images_strip,
    tried_by_arm,
    values_by_setting,
)
from ...figures import bars, tried_settings
from ...methods import dd
from ...networks import NetworkSpec
from ...runs import Run
from ...training import ordered

NETWORKS = {
    "perceptron": networks.spec("mlp"),
    "ConvNet": networks.spec("convnet", width=16, norm="instance"),
}
RATES = (0.05, 0.1, 0.2, 0.5, 1.0)  # the rival's: it takes the best of them
AHEAD = 0.15  # of accuracy: what the quest asks for
_SEVERAL = 2  # steps that the quest asks for at least
OTHER_STARTS = 5  # starts beside the own one


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, dd.Config):
    """DD's hyper-parameters as a reader moves them."""

    inner_steps: int = parameter(
        1,
        symbol="N",
        range=(1, 10),
        explorable=(1, 10),
        help="Steps of training, each on all ten images: DD's epochs of one step.",
    )
    learner: str = parameter(
        "perceptron", choices=tuple(NETWORKS), explorable=True, help="The network that is trained."
    )
    starts: str = parameter(
        "fixed", choices=("fixed", "random"), explorable=True, help="One start, or new ones."
    )
    iterations: int = with_default(dd.Config, "iterations", 100, source="teaching")
    seed: int = parameter(
        0, range=(0, None), explorable=(0, 9), help="Of the own start, and of every draw."
    )


class World(MethodWorld):
    """Data, and where the controls start.

    Args:
        data: what is distilled. config: where the controls start; default DD's teaching preset with
            one step. device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    method = dd
    settings = Settings
    first = dd.Config.teaching(epochs=1)

    def started(self, config: dd.Config) -> Settings:
        """Return the settings with the network that is given as the learner."""
        # A config from a page may hold a network that is none of the two; it gets a button of its
        # own.
        learner = next(
            (name for name, spec in NETWORKS.items() if spec == config.network),
            config.network.title,
        )
        learners = tuple(dict.fromkeys((learner, *NETWORKS)))
        fields = vars(config) | {"learner": learner, "inner_steps": config.epochs}
        return narrowed(Settings, learner=learners)(**fields)

    def config(self, settings: Settings) -> dd.Config:
        """Return the config of a run: the settings as they are on show."""
        return (
            super()
            .config(settings)
            .replace(
                epochs=settings.inner_steps,
                network=NETWORKS.get(settings.learner, settings.network),
            )
        )

    def scores(self, settings: Settings, *, watch: Watch) -> tuple[float, ...]:
        """Return the test accuracies after N steps from the run's own start, then from other
        starts. The run is finished first.
        """
        return self.students(self.run(settings).advance().result(), settings.seed, watch)

    def rival(self, network: NetworkSpec, steps: int, seed: int = 0, *, watch: Watch) -> float:
        """Return the best accuracy of class means in as many steps, the mean over other starts.

        Each rate of `RATES` is tried; nothing is learned.
        """
        # The rival learns nothing but gets the best of five rates, as DD learns its rate.
        means = self.chosen("centres")
        accuracies = []
        for rate in RATES:
            stepped = in_steps(means, network.for_data(self.data), torch.full((steps, 1), rate))
            accuracies.append(statistics.fmean(self.students(stepped, seed, watch)[1:]))
        return max(accuracies)

    def students(self, distilled: DistilledSet, seed: int, watch: Watch) -> tuple[float, ...]:
        """Test accuracy from the start of a seed, and from others."""
        # The first seed is the run's own, hence the first accuracy is that of its own start.
        seeds = range(seed, seed + OTHER_STARTS + 1)
        return self.taught(
            distilled,
            [ordered.Config.for_set(distilled, seed=student_seed) for student_seed in seeds],
            watch,
        )


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """Return the images, what they teach, and what class means teach in as many steps."""
    return [
        run,
        Value(world.scores, settings),
        Value(world.rival, run.config.network, settings.inner_steps),
    ]


def share_scores(
    world: World, settings: Settings, results: Results
) -> tuple[dict[int, Any], dict[int, float]]:
    """Return accuracies by N, of the own start and of others; and those of class means by N.

    Only visited settings that differ in N alone count.
    """
    network = results.jobs[-1].arguments[0]
    # What was computed for the other network stays in the results, and is not drawn.
    rivals = {
        steps: value
        for (rival_network, steps), value in results.every(world.rival)
        if rival_network == network
    }
    return values_by_setting(results, world.scores, settings, "inner_steps"), dict(
        sorted(rivals.items())
    )


def rates_data(world: World, settings: Settings, results: Results) -> tuple | None:
    """Return the rates of the finished run."""
    run = results.run
    return (
        tuple(dd.learned_rates(run.state().learned["raw_rates"]).flatten().tolist())
        if run.complete
        else None
    )


def rates_chart(*rates: float) -> go.Figure:
    """Return a bar for each step."""
    names = [str(step + 1) for step in range(len(rates))]
    return bars(
        names,
        list(rates),
        title="Learned rates",
        x_label="step",
        y_label="rate",
        height=HEIGHT,
        text_format=".2f",
    )


def curve_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the accuracies of both kinds of starts that were tried, and those of class means."""
    scores, rivals = results.shared
    by_starts = tried_by_arm(results, world.scores, settings, "inner_steps", "starts")
    arms = tuple((f"{starts} start", tuple(tried.items())) for starts, tried in by_starts.items())
    own_scores = scores.get(settings.inner_steps)
    ring = (settings.inner_steps, statistics.fmean(own_scores[1:])) if own_scores else None
    return settings.learner, arms, tuple(rivals.items()), ring


def curve(learner: str, arms: tuple, rivals: tuple, on_show: tuple[int, float] | None) -> go.Figure:
    """Draw the accuracy against N: from the own start, from others, and of class means."""
    drawn: dict[str, dict[int, tuple[float, ...]]] = {}
    for starts, scores_by_steps in arms:
        if not drawn:
            own = {steps: scores[:1] for steps, scores in scores_by_steps}
            drawn[f"{starts}: the seed's start"] = own
        drawn[f"{starts}: other starts"] = {steps: scores[1:] for steps, scores in scores_by_steps}
    return tried_settings(
        drawn,
        rivals={"class means, best rate": {steps: [score] for steps, score in rivals}},
        on_show=on_show,
        title=f"A {learner} after N steps",
        x_label="steps (N)",
        places=range(1, 11),
        height=HEIGHT,
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what the images teach from their own start and from others."""
    scores, rival = (values.get(settings.inner_steps) for values in results.shared)
    setting = f"Ten images, {settings.inner_steps} step{'s' * (settings.inner_steps > 1)} of a {settings.learner}"
    if scores is None:
        return f"{setting}: the images are at update {results.run.step} of {results.run.total}."
    beside = "" if rival is None else f" From those, class means at their best rate: {rival:.1%}."
    return (
        f"{setting}: accuracy {scores[0]:.1%} from start {settings.seed}, and "
        f"{statistics.fmean(scores[1:]):.1%} from {OTHER_STARTS} other starts.{beside}"
        f"{earlier_update(results)}"
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether images that met new starts, in several steps, are ahead of class means.

    They are compared from starts that they have not met.
    """
    if settings.starts != "random" or settings.inner_steps < _SEVERAL:
        return False
    scores, rival = (values.get(settings.inner_steps) for values in results.shared)
    return (
        scores is not None and rival is not None and statistics.fmean(scores[1:]) >= rival + AHEAD
    )


StepsLab = Lab(
    "Whom do ten learned images teach?",
    World,
    controls=("inner_steps", "learner", "starts"),
    folded=("networks", "iterations", "learning_rate", "initial_rate", "seed"),
    labels={
        "inner_steps": "steps (N)",
        "networks": "starts per update",
        "iterations": "updates",
        "initial_rate": "first rate",
    },
    run=World.run,
    jobs=list_jobs,
    opens_with=3,
    shared=share_scores,
    step_words="update",
    unused=lambda world, settings: () if settings.starts == "random" else ("networks",),
    job_words=lambda world, run: f"learning for N = {run.config.epochs}",
    views=[
        learned_images_strip(),
        Tabs(
            ("Students", Chart(curve_data, curve, ghosts=False)),
            ("Rates", Chart(rates_data, rates_chart)),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"By new starts and {_SEVERAL} steps or more, learn ten images that are {100 * AHEAD:.0f} "
        "points ahead of class means from starts that they have not met.",
        quest_met,
    ),
)
