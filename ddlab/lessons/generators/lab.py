"""The laboratory of curricula: a generator's steps as a film, in learned order or shuffled, and
what a network knows after each.

CurriculumLab(data)
CurriculumLab(data, gtn.Config.teaching(steps=6))

Every way of training that was visited stays as a row of points.
"""

import dataclasses
import statistics
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import describe, parameter, randomness, with_default
from ...data import ImageData
from ...distilled import DistilledSet, HardLabels
from ...explorers import Chart, Lab, Named, Quest, Results, Strip, Tabs, Value
from ...explorers.ready import (
    MethodWorld,
    SteppedSettings,
    Watch,
    earlier_update,
    values_by_setting,
)
from ...figures import (
    encode_grid,
    finish_figure,
    line_style,
    series_style,
    start_figure,
    tried_settings,
)
from ...figures.labels import draw_cells
from ...figures.theme import DASHED, faint, legend_below
from ...methods import gtn
from ...runs import Frame, Inputs, Run, process
from ...training import ordered
from ...training.accuracy import accuracy

ORDERS = ("nothing", "batches", "within classes", "everything")
CURRICULA = describe(gtn.Config)["curriculum"].choices or ()
REAL = "real batches at rates of their own"
# Networks that no generator has seen; their mean is shown.
STUDENTS = 3
# Longer trainings take a reader's patience: memory and time grow with N.
MOST_STEPS = 20
# Accuracy that the quest asks for, however the steps are shuffled.
ENOUGH = 0.87
_LOST = 0.02  # of accuracy, that no order may cost
# Accuracies are shown from here, unless one is lower.
_LOW = 0.5
# Images of a batch that are shown, and the pixels that each takes.
_ROWS = 4
_CELL = 32
_HEIGHT = 336  # of a plot, in pixels: the rows of images stand above it

Path = tuple[float, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, gtn.Config):
    """GTN's hyper-parameters as a reader moves them, and how the finished steps are shuffled."""

    steps: int = parameter(
        12, symbol="N", range=(2, MOST_STEPS), explorable=(2, MOST_STEPS), help="Of a training."
    )
    order: str = parameter(
        ORDERS[0], choices=ORDERS, explorable=True, help="What is shuffled before it teaches."
    )
    iterations: int = with_default(gtn.Config, "iterations", 100, source="teaching")


def shuffled(distilled: DistilledSet, order: str, seed: int) -> DistilledSet:
    """Return the images of a set of steps in another order, one of `ORDERS`.

    Rates and momenta keep their places.

    Args:
        order: "batches" keeps each batch together; "within classes" moves each image to a place of
            its class, so that batches keep their classes; "everything" keeps nothing.
    """
    steps = distilled.target("steps").rates.shape[1]
    count = len(distilled)
    draws = randomness.generator(seed, 0, f"order of {order}")
    rows = torch.arange(count)
    if order == "batches":
        # Whole batches change places; what is in one stays together.
        rows = rows.view(steps, -1)[torch.randperm(steps, generator=draws)].flatten()
    elif order == "within classes":
        for label in range(distilled.classes):
            places = (distilled.labels == label).nonzero().flatten()
            rows[places] = places[torch.randperm(len(places), generator=draws)]
    elif order == "everything":
        rows = torch.randperm(count, generator=draws)
    labels, images = HardLabels(distilled.labels[rows]), {"images": distilled.images[rows]}
    # A generator makes its images in one order alone, so shuffled ones are stored as images.
    plain = dataclasses.replace(distilled, kind="images", tensors=images, settings={})
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
        """Return what is kept of a step: the images as they are made now."""
        return gtn.finish(config, inputs, state)

    def path(self, distilled: DistilledSet, order: str, seed: int) -> Path:
        """Test accuracy of a network after each step of a set, in an order of its images."""
        config = ordered.Config.for_set(distilled, seed=seed)
        inputs = Inputs(distilled=shuffled(distilled, order, seed), device=self.inputs.device)
        every = process.steps(ordered, config, inputs)
        accuracies = [
            accuracy(ordered.finish(config, inputs, step.state), self.data) for step in every
        ]
        return tuple(accuracies)

    def path_on_show(self, config: gtn.Config, step: int, order: str) -> Path:
        """Return `path` on a frame of the run, of one network."""
        frame = self.of(config).at(step)
        assert frame is not None, "a run that is looked at has begun"
        return self.path(frame.content, order, config.seed)

    def learned(
        self, config: gtn.Config, orders: tuple[str, ...] = ORDERS, *, watch: Watch
    ) -> dict[str, Path]:
        """Return `path` on the finished steps by order, the mean of a few networks."""
        run = self.of(config).advance(
            watch=lambda run: watch("steps are learned", run.step / run.total)
        )
        distilled = run.result()
        paths_by_order = dict[str, Path]()
        for number, order in enumerate(orders):
            watch("networks", number / len(orders))
            # Seeds of their own for each run; students of neighbouring seeds would otherwise be
            # the same ones.
            paths = [
                self.path(distilled, order, 100 * config.seed + student)
                for student in range(STUDENTS)
            ]
            paths_by_order[order] = tuple(map(statistics.fmean, zip(*paths, strict=True)))
        return paths_by_order

    def rival(self, config: gtn.Config, *, watch: Watch) -> Path:
        """Return the same of random real batches, at rates and momenta that were learned for them."""
        return self.learned(config.replace(generator="real"), ORDERS[:1], watch=watch)[ORDERS[0]]


def rival_of(config: gtn.Config, steps: int) -> gtn.Config:
    """Return the config of the rival with so many steps, on which nothing of a generator has a bearing."""
    rival = gtn.Config.teaching(steps=steps, seed=config.seed, network=config.network)
    return rival.replace(inner_batch=config.inner_batch, iterations=config.iterations)


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """Return the steps, what they teach in each order, and what real batches teach."""
    return [
        run,
        Value(world.learned, run.config),
        Value(world.rival, rival_of(run.config, settings.steps)),
    ]


def share_paths(
    world: World, settings: Settings, results: Results
) -> tuple[dict[str, Path] | None, Path | None, Path]:
    """Return the accuracy after each step by order, of the finished run, of real batches and of the
    film. The film on show is seen by one network.
    """
    _, learned, rival = results.jobs
    path_on_show = results.compute_now(
        world.path_on_show, results.run.config, results.frame.step, settings.order
    )
    return results(learned), results(rival), path_on_show


def strip_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the frame on show, its order, and what one network knows after each of its steps."""
    return {
        "data": world.data,
        "frame": results.frame,
        "order": settings.order,
        "seed": settings.seed,
        "path": results.shared[-1],
    }


def strip(data: ImageData, frame: Frame, order: str, seed: int, path: Path) -> tuple[bytes, str]:
    """Return the film: a column for each step, with the accuracy after it."""
    ordered = shuffled(frame.content, order, seed)
    steps = len(path)
    batches = data.to_uint8(ordered.images).unflatten(0, (steps, -1))[:, :_ROWS]
    pixels = batches.transpose(0, 1).flatten(0, 1)
    accuracy_labels = [f"{accuracy:.0%}" for accuracy in path]
    labels = ordered.labels.unflatten(0, (steps, -1))[:, :_ROWS]
    # Shuffling mixes classes in a row, and then the row has no name.
    alike = (labels == labels[0]).all(0)  # rows of one class
    names = [
        data.class_names[int(label)] if is_one_class else ""
        for label, is_one_class in zip(labels[0], alike, strict=True)
    ]
    description = (
        f"{steps} steps from left to right; accuracy after each: {', '.join(accuracy_labels)}."
    )
    return encode_grid(
        pixels, steps, cell=_CELL, column_labels=accuracy_labels, row_labels=names, gap=4
    ), description


def curve_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the accuracy after each step: of the order on show, the learned one, and real batches."""
    (learned, rival, _) = results.shared
    config = results.run.config
    step = results.frame.step
    # Along the run only one network is asked, so that the slider of steps answers at once.
    if learned is None or step < config.iterations:
        names = dict.fromkeys((ORDERS[0], settings.order))
        learned = {
            order: results.compute_now(world.path_on_show, config, step, order) for order in names
        }
        return {
            "paths": tuple(learned.items()),
            "order": settings.order,
            "rival": rival,
            "networks_text": "one network",
        }
    return {
        "paths": tuple(learned.items()),
        "order": settings.order,
        "rival": rival,
        "networks_text": f"mean of {STUDENTS} networks",
    }


def curve(paths: tuple, order: str, rival: Path | None, networks_text: str) -> go.Figure:
    """Draw the accuracy against steps."""
    path_by_order: dict[str, Path] = dict(paths)
    title = f"Test accuracy after each step ({networks_text})"
    figure = start_figure(title=title, x_label="step", y_label="test accuracy", height=_HEIGHT)
    lines = {"learned order": path_by_order[ORDERS[0]]}
    if order != ORDERS[0]:
        lines[f"{order} shuffled"] = path_by_order[order]
    for index, (name, path) in enumerate(lines.items()):
        x = [*range(1, len(path) + 1)]
        figure.add_scatter(x=x, y=path, name=name, **line_style(series_style(index), markers=True))
    if rival is not None:
        figure.add_scatter(
            x=[*range(1, len(rival) + 1)], y=rival, name=REAL, mode="lines", line=DASHED
        )
        lines |= {REAL: rival}
    figure.update_xaxes(range=[0.5, len(path_by_order[order]) + 0.5])
    figure.update_yaxes(range=[0, 1], tickformat=".0%")
    description = "; ".join(f"{name} {path[-1]:.2f}" for name, path in lines.items())
    return finish_figure(
        legend_below(figure),
        alt=f"Accuracy after the last step: {description}.",
        coordinates=networks_text,
    )


def ends_data(world: World, settings: Settings, results: Results) -> Named:
    """Return what networks know at the end by curriculum and order, and the film on show.

    Only visited settings that differ in the curriculum alone count.
    """
    every = values_by_setting(results, world.learned, results.run.config, "curriculum")
    (_, rival, path) = results.shared
    rows = []
    for name, paths in every.items():
        rows.append((name, tuple(paths[order][-1] for order in ORDERS)))
    return {
        "rows": tuple(rows),
        "rival": None if rival is None else rival[-1],
        "on_show": (settings.order, path[-1]),
    }


def final_chart(rows: tuple, rival: float | None, on_show: tuple[str, float]) -> go.Figure:
    """Draw the accuracy over what is shuffled afterwards, a line for each way of training."""
    return tried_settings(
        {
            f"trained: {words(name)}": {
                order: [accuracy] for order, accuracy in zip(ORDERS, row, strict=True)
            }
            for name, row in rows
        },
        rivals={} if rival is None else {REAL: rival},
        on_show=on_show,
        title=f"After the last step (mean of {STUDENTS}; ring: one)",
        x_label="shuffled afterwards",
        stops={order: order for order in ORDERS},
        limits=(_LOW, 1.0),
        height=_HEIGHT,
    )


def class_counts(distilled: DistilledSet) -> Tensor:
    """Return how many images of each class each step of a set has: int64 [classes, steps]."""
    steps = distilled.target("steps").rates.shape[1]
    batches = distilled.labels.unflatten(0, (steps, -1))
    return torch.stack([batch.bincount(minlength=distilled.classes) for batch in batches], 1)


def counts_data(world: World, settings: Settings, results: Results) -> Named:
    """Return `class_counts` of the film in the order on show."""
    ordered = shuffled(results.frame.content, settings.order, settings.seed)
    return {
        "names": world.data.class_names,
        "rows": tuple(map(tuple, class_counts(ordered).tolist())),
    }


def counts(names: tuple[str, ...], rows: tuple[tuple[int, ...], ...]) -> go.Figure:
    """Draw how many images of each class each step has."""
    images = np.array(rows)
    columns = [str(step + 1) for step in range(images.shape[1])]
    title = "Images of each class in each step"
    figure = start_figure(title=title, x_label="step", y_label="class", height=_HEIGHT)
    blue = series_style(0).colour
    draw_cells(
        figure,
        images,
        images.astype(str).tolist(),
        columns,
        list(names),
        limits=(0, int(images.max())),
        scale=[[0, faint(blue, 0)], [1, faint(blue, 0.75)]],
        hover="step %{x}: %{z} images of class %{y}<extra></extra>",
    )
    figure.update_yaxes(autorange="reversed")
    alt = f"{title}: from {images.min()} to {images.max()}."
    return finish_figure(figure, alt=alt)


def words(curriculum: str) -> str:
    """Return a curriculum as a reader calls it."""
    return {"full": "in order", "none": "fresh noise"}.get(curriculum, curriculum.replace("_", " "))


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what the steps teach in each order, or how far they have been learned."""
    learned, rival, _ = results.shared
    setting = f"{settings.steps} steps, trained {words(settings.curriculum)}"
    if learned is None:
        return f"{setting}, are at update {results.run.step} of {results.run.total}."
    shuffled_texts = [f"{order} {learned[order][-1]:.1%}" for order in ORDERS[1:]]
    statement = (
        f"{setting}, teach networks to classify {learned[ORDERS[0]][-1]:.1%} of the test images "
        f"correctly. Shuffled: {', '.join(shuffled_texts)}."
    )
    beside = "" if rival is None else f" {REAL.capitalize()}: {rival[-1]:.1%}."
    return f"{statement}{beside}{earlier_update(results)}"


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the steps teach enough in every order, and lose next to nothing by any."""
    learned = results.shared[0]
    if learned is None:
        return False
    worst = min(path[-1] for path in learned.values())
    return worst >= ENOUGH and learned[ORDERS[0]][-1] - worst <= _LOST


CurriculumLab = Lab(
    "Does the order matter?",
    World,
    controls=("order", "curriculum", "steps"),
    recorded={"steps": 2},
    folded=("weight_norm", "iterations", "initial_rate", "seed"),
    labels={
        "order": "shuffle",
        "curriculum": "trained",
        "steps": "steps (N)",
        "iterations": "updates",
    },
    choice_words=lambda world: {"curriculum": words},
    run=World.run,
    jobs=list_jobs,
    shared=share_paths,
    step_words="update",
    job_words=lambda world, run: f"{run.config.steps} steps are learned",
    views=[
        Strip(strip_data, strip),
        Tabs(
            (
                "After the last step",
                Chart(ends_data, final_chart, ghosts=False, tried=("curriculum", "order")),
            ),
            ("After each step", Chart(curve_data, curve)),
            ("Classes of each step", Chart(counts_data, counts)),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"Learn steps that teach {ENOUGH:.0%} or more in every order, and lose at most "
        f"{100 * _LOST:.0f} points by any shuffling.",
        quest_met,
        solution=[("curriculum", "all_shuffled"), ("steps", 18)],
    ),
)
