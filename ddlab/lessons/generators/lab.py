"""The laboratory of curricula: a generator's steps as a film, in learned order or shuffled, and
what a network knows after each.

CurriculumLab(data)
CurriculumLab(data, gtn.Config.teaching(steps=6))

Every way of training that was visited stays as a row of points.
"""

import dataclasses
import statistics
from typing import Any

import plotly.graph_objects as go
import torch

from ...core import randomness
from ...core.parameters import describe, parameter, with_default
from ...data import ImageData
from ...distilled import DistilledSet, HardLabels
from ...explorers.lab import Lab, Results, Value
from ...explorers.lines import Quest
from ...explorers.ready import HEIGHT, MethodWorld, Watch, values_by_setting
from ...explorers.views import Chart, Row, Strip
from ...figures import encode_grid
from ...figures.theme import (
    DASHED,
    finish_figure,
    legend_below,
    line_style,
    neutral,
    series_style,
    start_figure,
)
from ...methods import gtn
from ...runs import Frame, Run, process
from ...runs.process import Inputs
from ...training import ordered
from ...training.accuracy import accuracy

ORDERS = ("nothing", "batches", "within classes", "everything")
CURRICULA = describe(gtn.Config)["curriculum"].choices or ()
REAL = "real batches, own rates"
STUDENTS = 3
MOST_STEPS = 20
FEW = 5  # steps of the quest
_ROWS = 5
_CELL = 32

Path = tuple[float, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(gtn.Config):
    """GTN's hyper-parameters as a reader moves them, and how the finished steps are shuffled."""

    steps: int = parameter(
        12, symbol="N", range=(2, MOST_STEPS), explorable=(2, MOST_STEPS), help="Of a training."
    )
    order: str = parameter(
        ORDERS[0], choices=ORDERS, explorable=True, help="What is shuffled before it teaches."
    )
    iterations: int = with_default(gtn.Config, "iterations", 100, source="teaching")
    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")


def shuffled(made: DistilledSet, order: str, seed: int) -> DistilledSet:
    """Return the images of a set of steps in another order, one of `ORDERS`; rates and momenta keep their
    places.

    Args:
        order: "batches" keeps each batch together; "within classes" moves each image to a place of
            its class, so that batches keep their classes; "everything" keeps nothing.
    """
    steps = made.target("steps").rates.shape[1]
    count = len(made)
    draws = randomness.generator(seed, 0, f"order of {order}")
    rows = torch.arange(count)
    if order == "batches":
        rows = rows.view(steps, -1)[torch.randperm(steps, generator=draws)].flatten()
    elif order == "within classes":
        for label in range(made.classes):
            places = (made.labels == label).nonzero().flatten()
            rows[places] = places[torch.randperm(len(places), generator=draws)]
    elif order == "everything":
        rows = torch.randperm(count, generator=draws)
    labels, images = HardLabels(made.labels[rows]), {"images": made.images[rows]}
    plain = dataclasses.replace(made, kind="images", tensors=images, settings={})
    return plain.with_targets(labels)


class World(MethodWorld):
    """Data, and where the controls start.

    Args:
        data: which classes are taught. config: where the controls start; default GTN's teaching
            preset. device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    method = gtn
    settings = Settings
    first = gtn.Config.teaching()

    def frame(self, config: Any, inputs: Inputs, state: gtn.State, trace: Any) -> DistilledSet:
        """What is kept of a step: the images as they are made now."""
        return gtn.finish(config, inputs, state)

    def path(self, made: DistilledSet, order: str, seed: int) -> Path:
        """Test accuracy of a network after each step of a set, in an order of its images."""
        config = ordered.Config.for_set(made, seed=seed)
        inputs = Inputs(distilled=shuffled(made, order, seed), device=self.inputs.device)
        every = process.steps(ordered, config, inputs)
        return tuple(
            accuracy(ordered.finish(config, inputs, step.state), self.data) for step in every
        )

    def shown(self, config: gtn.Config, step: int, order: str) -> Path:
        """`path` on a frame of the run, of one network."""
        frame = self.of(config).at(step)
        assert frame is not None, "a run that is looked at has begun"
        return self.path(frame.content, order, config.seed)

    def learned(
        self, config: gtn.Config, orders: tuple[str, ...] = ORDERS, *, watch: Watch
    ) -> dict[str, Path]:
        """Order -> `path` on the finished steps, mean of a few networks."""
        run = self.of(config).advance(
            watch=lambda run: watch("steps are learned", run.step / run.total)
        )
        made = run.result()
        found = dict[str, Path]()
        for number, order in enumerate(orders):
            watch("networks", number / len(orders))
            paths = [
                self.path(made, order, 100 * config.seed + student) for student in range(STUDENTS)
            ]
            found[order] = tuple(map(statistics.fmean, zip(*paths, strict=True)))
        return found

    def rival(self, config: gtn.Config, *, watch: Watch) -> Path:
        """Return the same of random real batches, at rates and momenta that were learned for them."""
        return self.learned(config.replace(generator="real"), ORDERS[:1], watch=watch)[ORDERS[0]]


def rival_of(config: gtn.Config, steps: int) -> gtn.Config:
    """Return the config of the rival with so many steps, on which nothing of a generator has a bearing."""
    own = gtn.Config.teaching(steps=steps, seed=config.seed, network=config.network)
    return own.replace(inner_batch=config.inner_batch, iterations=config.iterations)


def wanted(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """Return the steps, what they teach in each order, and what real batches teach."""
    return [
        run,
        Value(world.learned, run.config),
        Value(world.rival, rival_of(run.config, settings.steps)),
    ]


def found(
    world: World, settings: Settings, known: Results
) -> tuple[dict[str, Path] | None, Path | None, Path]:
    """Order -> accuracy after each step of the finished run; the same of real batches; and of the
    film on show, one network.
    """
    _, learned, rival = known.jobs
    shown = known.compute_now(world.shown, known.run.config, known.frame.step, settings.order)
    return known(learned), known(rival), shown


def strip_data(world: World, settings: Settings, known: Results) -> tuple:
    """Return the frame on show, its order, and what one network knows after each of its steps."""
    return world.data, known.frame, settings.order, settings.seed, known.shared[-1]


def strip(data: ImageData, frame: Frame, order: str, seed: int, path: Path) -> tuple[bytes, str]:
    """Return the film: a column for each step, with the accuracy after it."""
    made = shuffled(frame.content, order, seed)
    steps = len(path)
    batches = data.to_uint8(made.images).unflatten(0, (steps, -1))[:, :_ROWS]
    pixels = batches.transpose(0, 1).flatten(0, 1)
    scale = max(1, round(_CELL / data.image_size[1]))
    told = [f"{each:.0%}" for each in path]
    labels = made.labels.unflatten(0, (steps, -1))[:, :_ROWS]
    alike = (labels == labels[0]).all(0)  # rows of one class
    names = [
        data.class_names[int(label)] if same else ""
        for label, same in zip(labels[0], alike, strict=True)
    ]
    said = f"{steps} steps from left to right; accuracy after each: {', '.join(told)}."
    return encode_grid(pixels, steps, scale, column_labels=told, row_labels=names, gap=4), said


def curve_data(world: World, settings: Settings, known: Results) -> tuple:
    """Accuracy after each step: the order on show, the learned one, and real batches."""
    (learned, rival, _) = known.shared
    config = known.run.config
    step = known.frame.step
    if learned is None or step < config.iterations:
        names = dict.fromkeys((ORDERS[0], settings.order))
        learned = {order: known.compute_now(world.shown, config, step, order) for order in names}
        return tuple(learned.items()), settings.order, rival, "one network"
    return tuple(learned.items()), settings.order, rival, f"mean of {STUDENTS} networks"


def curve(paths: tuple, order: str, rival: Path | None, who: str) -> go.Figure:
    """Accuracy against steps."""
    found: dict[str, Path] = dict(paths)
    title = f"After each step ({who})"
    y_label = "test accuracy (fraction)"
    figure = start_figure(title=title, x_label="step", y_label=y_label, height=HEIGHT)
    lines = {"learned order": found[ORDERS[0]]}
    if order != ORDERS[0]:
        lines[f"{order} shuffled"] = found[order]
    for index, (name, path) in enumerate(lines.items()):
        x = [*range(1, len(path) + 1)]
        figure.add_scatter(x=x, y=path, name=name, **line_style(series_style(index), markers=True))
    if rival is not None:
        figure.add_scatter(
            x=[*range(1, len(rival) + 1)], y=rival, name=REAL, mode="lines", line=DASHED
        )
        lines |= {REAL: rival}
    figure.update_xaxes(range=[0.5, len(found[order]) + 0.5]).update_yaxes(range=[0, 1])
    said = "; ".join(f"{name} {path[-1]:.2f}" for name, path in lines.items())
    return finish_figure(legend_below(figure), alt=f"Accuracy after the last step: {said}.")


def ends_data(world: World, settings: Settings, known: Results) -> tuple:
    """Curriculum -> what networks know at the end in each order, of all visited settings that
    differ in it alone; and the film on show.
    """
    every = values_by_setting(known, world.learned, known.run.config, "curriculum")
    (_, rival, path) = known.shared
    rows = tuple(
        (name, tuple(paths[order][-1] for order in ORDERS)) for name, paths in every.items()
    )
    return rows, None if rival is None else rival[-1], (settings.order, path[-1])


def ends(rows: tuple, rival: float | None, now: tuple[str, float]) -> go.Figure:
    """Return a line of points for each way of training, over what is shuffled afterwards."""
    found: dict[str, Path] = dict(rows)
    title = "At the end, by what is shuffled"
    x_label = "test accuracy (fraction)"
    figure = start_figure(
        title=title, x_label=x_label, y_label="shuffled afterwards", height=HEIGHT
    )
    for index, name in enumerate(CURRICULA):
        if name in found:
            style = line_style(series_style(index), markers=True)
            figure.add_scatter(x=found[name], y=ORDERS, name=f"trained: {words(name)}", **style)
    if rival is not None:
        figure.add_scatter(x=[rival] * len(ORDERS), y=ORDERS, name=REAL, mode="lines", line=DASHED)
    ring = {"symbol": "circle-open", "size": 12, "color": neutral("text")}
    figure.add_scatter(
        x=now[1:], y=now[:1], name="on show, one network", mode="markers", marker=ring
    )
    short = [name.replace(" ", "<br>") for name in ORDERS]
    figure.update_yaxes(
        type="category", categoryorder="array", categoryarray=ORDERS[::-1], title_text=""
    )
    figure.update_yaxes(tickvals=ORDERS, ticktext=short).update_xaxes(range=[0, 1])
    said = "; ".join(
        f"{words(name)} {', '.join(f'{each:.2f}' for each in row)}" for name, row in found.items()
    )
    alt = f"Accuracy with nothing, batches, images of a class, everything shuffled: {said}."
    return finish_figure(legend_below(figure), alt=alt)


def words(curriculum: str) -> str:
    """Return a curriculum as a reader calls it."""
    return {"full": "in order", "none": "fresh noise"}.get(curriculum, curriculum.replace("_", " "))


def sentence(world: World, settings: Settings, known: Results) -> str:
    """What is seen."""
    learned, rival, _ = known.shared
    begun = (
        f"{settings.steps} steps of {settings.inner_batch} images, trained "
        f"{words(settings.curriculum)}"
    )
    if learned is None:
        return f"{begun}: update {known.run.step} of {known.run.total}."
    rest = ", ".join(f"{order} {learned[order][-1]:.1%}" for order in ORDERS[1:])
    beside = "" if rival is None else f" Real batches at rates of their own: {rival[-1]:.1%}."
    return (
        f"{begun}: networks get {learned[ORDERS[0]][-1]:.1%} right in learned order; shuffled: "
        f"{rest}.{beside}"
    )


def quest_met(world: World, settings: Settings, known: Results) -> bool:
    """Return whether a few made steps are ahead of twelve real ones."""
    learned = known.shared[0]
    rival = known(Value(world.rival, rival_of(known.run.config, world.start.steps)))
    return (
        settings.steps <= FEW
        and None not in (learned, rival)
        and learned[ORDERS[0]][-1] > rival[-1]
    )


CurriculumLab = Lab(
    "Does the order matter?",
    World,
    controls=("steps", "order", "curriculum"),
    folded=("weight_norm", "iterations", "initial_rate", "seed"),
    labels={"order": "shuffle", "curriculum": "trained", "iterations": "updates"},
    choice_words=lambda world: {"curriculum": words},
    run=World.run,
    jobs=wanted,
    shared=found,
    step_words="update",
    job_words=lambda world, run: f"{run.config.steps} steps are learned",
    views=[Strip(strip_data, strip), Row(Chart(curve_data, curve), Chart(ends_data, ends))],
    sentence=sentence,
    quest=Quest(f"Beat twelve real batches with at most {FEW} made ones.", quest_met),
)
