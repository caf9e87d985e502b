"""The laboratory of inner steps: images, and perhaps their labels, are learned for N steps of training
(DD, SLDD), and taught from their own start and from others.

StepsLab(data)
StepsLab(data, dd.Config.teaching(epochs=5))

Every number of steps that was visited stays as a point, so that the curve grows under the reader's
hand.
"""

import dataclasses
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import networks
from ...core import narrow, parameter, with_default
from ...data import ImageData
from ...distilled import DistilledSet
from ...explorers import Chart, Lab, Named, Quest, Results, Strip, Tabs, Value
from ...explorers.ready import (
    HEIGHT,
    MethodWorld,
    SteppedSettings,
    Watch,
    earlier_update,
    in_steps,
    tried_by_arm,
    values_by_setting,
)
from ...figures import bars, encode_grid, heat_map, tried_settings
from ...methods import dd, sldd
from ...methods.shared.ordered_set import inner_targets
from ...networks import NetworkSpec
from ...runs import Inputs, Number, Run
from ...training import ordered

NETWORKS = {
    "perceptron": networks.spec("mlp"),
    "ConvNet": networks.spec("convnet", width=16, norm="instance"),
}
RATES = (0.05, 0.1, 0.2, 0.5, 1.0)  # the rival's: it takes the best of them
AHEAD = 0.25  # of accuracy: what the quest asks for; the more steps, the better the class means
OTHER_STARTS = 5  # starts beside the own one
_LARGEST_SET = 10  # images that a reader can ask for
_STRIP = 540  # pixels of the strip of images


@dataclass(frozen=True, eq=False)
class Moment:
    """What is kept of an update: images [n, c, h, w], their labels [n, classes], and numbers."""

    images: Tensor
    labels: Tensor
    numbers: Mapping[str, Number]


def moment(config: dd.Config, inputs: Inputs, state: dd.State, trace: dd.Trace | None) -> Moment:
    """Return what is kept of an update."""
    look = dd.look(config, inputs, state, trace).kept()
    classes = inputs.data.classes
    targets = inner_targets(config, state.learned, classes).detach().cpu()
    labels = targets if config.learn_labels else torch.nn.functional.one_hot(targets, classes)
    assert look.images is not None
    return Moment(look.images, labels.float(), look.numbers)


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, dd.Config):
    """DD's and SLDD's hyper-parameters as a reader moves them."""

    inner_steps: int = parameter(
        1,
        symbol="N",
        range=(1, 10),
        explorable=(1, 10),
        help="Steps of training, each on all images: DD's epochs of one step.",
    )
    set_size: int = parameter(
        _LARGEST_SET,
        range=(1, None),
        explorable=(1, _LARGEST_SET),
        help="Images, where labels are learned (SLDD).",
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
    frame = staticmethod(moment)

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
        fields["set_size"] = config.images or min(self.data.classes, _LARGEST_SET)
        fields["images"] = None
        return narrow(Settings, learner=learners)(**fields)

    def config(self, settings: Settings) -> dd.Config:
        """Return the config of a run: DD's, or SLDD's where labels are learned."""
        kind = sldd.Config if settings.learn_labels else dd.Config
        fields = {field.name: getattr(settings, field.name) for field in dataclasses.fields(kind)}
        fields |= {
            "epochs": settings.inner_steps,
            "network": NETWORKS.get(settings.learner, settings.network),
            "images": settings.set_size if settings.learn_labels else None,
        }
        return kind(**fields)

    def of(self, config: Any, inputs: Inputs | None = None) -> Run:
        """Return the run of the method whose Config it is."""
        method = sldd if isinstance(config, sldd.Config) else dd
        return self._runs.get(method, config, inputs or self.inputs, self.keep(config))

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


def strip_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the data and the frame on show."""
    return {"data": world.data, "step": results.frame.step, "on_show": results.frame.content}


def strip(data: ImageData, step: int, on_show: Moment) -> tuple[bytes, str]:
    """Draw the images, each under the class that its label names first."""
    count = min(len(on_show.images), _LARGEST_SET)
    names = [data.class_names[label][:8] for label in on_show.labels[:count].argmax(1).tolist()]
    grid = encode_grid(
        data.to_uint8(on_show.images[:count]),
        count,
        cell=_STRIP / max(count, data.classes),
        column_labels=names,
        gap=4,
    )
    return grid, f"{count} learned images after update {step}, mostly for {', '.join(names)}."


def labels_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the labels of the images on show."""
    return {"class_names": world.data.class_names, "on_show": results.frame.content}


def labels_chart(class_names: tuple[str, ...], on_show: Moment) -> go.Figure:
    """Draw what each image says of each class."""
    figure = heat_map(
        [str(number + 1) for number in range(len(on_show.labels))],
        class_names,
        on_show.labels.numpy(),
        title="The labels of the images on show",
        row_label="image",
        column_label="class",
        text_format=".1f",
        value_label="label",
    )
    return figure.update_layout(height=HEIGHT)


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


def curve_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the accuracies of both kinds of starts that were tried, and those of class means."""
    scores, rivals = results.shared
    arms = []
    for learn in (settings.learn_labels, not settings.learn_labels):
        by_starts = tried_by_arm(
            results, world.scores, settings.replace(learn_labels=learn), "inner_steps", "starts"
        )
        words = ", learned labels" if learn else ""
        for starts, tried in by_starts.items():
            # What is on show comes first, whether or not it is known.
            if tried or not arms:
                arms.append((f"{starts}{words}", tuple(tried.items())))
    own_scores = scores.get(settings.inner_steps)
    ring = (settings.inner_steps, statistics.fmean(own_scores[1:])) if own_scores else None
    return {
        "learner": settings.learner,
        "arms": tuple(arms),
        "rivals": tuple(rivals.items()),
        "on_show": ring,
    }


def curve(learner: str, arms: tuple, rivals: tuple, on_show: tuple[int, float] | None) -> go.Figure:
    """Draw the accuracy against N: from the own start, from others, and of class means."""
    accuracies_by_arm: dict[str, dict[int, tuple[float, ...]]] = {}
    for arm, scores_by_steps in arms:
        if not accuracies_by_arm:
            accuracies_by_arm[f"{arm}: the seed's start"] = {
                steps: scores[:1] for steps, scores in scores_by_steps
            }
        accuracies_by_arm[f"{arm}: other starts"] = {
            steps: scores[1:] for steps, scores in scores_by_steps
        }
    return tried_settings(
        accuracies_by_arm,
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
    count = len(results.frame.content.images)
    setting = (
        f"{count} image{'s' * (count > 1)}, {settings.inner_steps} "
        f"step{'s' * (settings.inner_steps > 1)} of a {settings.learner}"
    )
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
    if settings.starts != "random" or settings.inner_steps == 1:
        return False
    scores, rival = (values.get(settings.inner_steps) for values in results.shared)
    return (
        scores is not None and rival is not None and statistics.fmean(scores[1:]) >= rival + AHEAD
    )


def unused(world: World, settings: Settings) -> list[str]:
    """Return the controls that do nothing."""
    fields = [] if settings.starts == "random" else ["networks"]
    return fields if settings.learn_labels else [*fields, "set_size", "initial_labels"]


StepsLab = Lab(
    "Whom do ten learned images teach?",
    World,
    controls=("inner_steps", "learner", "starts", "learn_labels"),
    pairs=[("inner_steps", "learner")],
    folded=(
        "set_size",
        "initial_labels",
        "networks",
        "iterations",
        "learning_rate",
        "initial_rate",
        "seed",
    ),
    labels={
        "learn_labels": "learn labels",
        "set_size": "images",
        "initial_labels": "first labels",
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
    unused=unused,
    job_words=lambda world, run: f"learning for N = {run.config.epochs}",
    views=[
        Strip(strip_data, strip),
        Tabs(
            (
                "Students",
                Chart(
                    curve_data, curve, ghosts=False, tried=("inner_steps", "starts", "learn_labels")
                ),
            ),
            ("Labels", Chart(labels_data, labels_chart, ghosts=False)),
            ("Rates", Chart(rates_data, rates_chart)),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"By new starts and more than one step, learn images that are {100 * AHEAD:.0f} points "
        "ahead of class means from starts that they have not met.",
        quest_met,
        solution=[("starts", "random"), ("inner_steps", 2)],
    ),
)
