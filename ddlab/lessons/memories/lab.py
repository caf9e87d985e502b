"""The laboratory of memories: digits come two by two, and the reader spends what is kept of the
earlier ones.

MemoryLab(data)
MemoryLab(data, {1: matched, 2: twice_as_many})           # sets that serve as the memory "DM"

Every memory that was visited stays as a point.
"""

import numpy as np
import plotly.graph_objects as go
import torch

from ...data import ImageData
from ...evaluation.incremental import Matrix
from ...explorers.lab import Compute, Lab, Results, Value
from ...explorers.lines import Quest
from ...explorers.ready import HEIGHT, values_by_setting
from ...explorers.views import Chart, Row, Strip, Tabs
from ...figures import cell_table, encode_grid
from ...figures.theme import (
    DASHED,
    faint,
    finish_figure,
    legend_below,
    legend_beside,
    line_style,
    literal,
    neutral,
    series_style,
    start_figure,
)
from ...methods import mnemonics
from ...runs import Run
from ...training.phases import class_ends, class_order
from .world import (
    CENTRES,
    LEARNED,
    LEARNING,
    MATCHED,
    MEMORIES,
    NONE,
    Moment,
    Settings,
    World,
    matrix,
)

PARTS = {"model": "training", "exemplars": "exemplars learn", "tuning": "fine-tuning"}
RIVAL = CENTRES  # with one exemplar, the class mean
# Of an exemplar that is not there yet.
_GREY = 128
# Pixels that an exemplar takes on the page, about.
_CELL = 32


def tasks_of(world: World, config: mnemonics.Config) -> tuple[tuple[str, ...], ...]:
    """Return the names of the classes of each phase."""
    names = []
    for label in class_order(world.data.classes, config.order_seed):
        names.append(world.data.class_names[label])
    task_ends = class_ends(config, len(names))
    tasks = []
    for start, end in zip([0, *task_ends], task_ends, strict=False):
        tasks.append(tuple(names[start:end]))
    return tuple(tasks)


def share_moment(
    world: World, settings: Settings, results: Results
) -> tuple[tuple[tuple[str, ...], ...], Moment, Matrix]:
    """Return the tasks, the moment on show, and the phases that had ended by then."""
    finished = []
    for end in world.task_ends(results.run.config):
        if end <= results.frame.step:
            finished.append(end)
    return tasks_of(world, results.run.config), results.frame.content, matrix(results.run, finished)


def strip_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the exemplars on show."""
    order = tuple(class_order(world.data.classes, settings.order_seed))
    return world.data, results.frame.content, order


def strip(data: ImageData, moment: Moment, order: tuple[int, ...]) -> tuple[bytes, str]:
    """Draw the exemplars, a column for each class, grey where there are none."""
    count = max(len(moment.exemplars) // data.classes, 1)
    pixels = torch.full(
        (data.classes * count, data.channels, *data.image_size), _GREY, dtype=torch.uint8
    )
    is_kept = moment.exemplars.flatten(1).any(1)
    pixels[: len(is_kept)][is_kept] = data.to_uint8(moment.exemplars[is_kept])
    names = [data.class_names[label] for label in order]
    scale = max(1, round(_CELL / data.image_size[1]))
    columns = pixels.unflatten(0, (data.classes, count)).transpose(0, 1).flatten(0, 1)
    description = f"{int(is_kept.sum())} exemplars" if is_kept.any() else "no exemplar"
    return encode_grid(
        columns, data.classes, scale, column_labels=names, gap=4
    ), f"{description}, a column for each class."


def bars_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the accuracies of the moment on show."""
    return results.shared


def of_tasks(tasks: tuple[tuple[str, ...], ...], accuracies: tuple[float, ...]) -> list[float]:
    """Return the accuracy of each task seen, from those of its classes."""
    task_means = []
    remaining = list(accuracies)
    for names in tasks:
        if remaining:
            task_means.append(float(np.mean(remaining[: len(names)])))
            remaining = remaining[len(names) :]
    return task_means


def bars(tasks: tuple[tuple[str, ...], ...], moment: Moment, before: Matrix) -> go.Figure:
    """Return a bar for each task; a line where it once stood."""
    heights = of_tasks(tasks, moment.accuracies)
    rows = []
    for row in (*before, moment.accuracies):
        rows.append(of_tasks(tasks, row))
    best = []
    for task in range(len(heights)):
        best.append(max(row[task] for row in rows if task < len(row)))
    title = f"Task {moment.phase + 1} of {len(tasks)}: {PARTS[moment.part]}"
    style = series_style(0)
    figure = start_figure(
        title=title, x_label="classes of a task", y_label="test accuracy (fraction)", height=HEIGHT
    )
    names = [literal(", ".join(task)) for task in tasks]
    figure.add_bar(
        x=names[: len(heights)],
        y=heights,
        name="now",
        text=[f"{height:.0%}" for height in heights],
        # Not where the line may stand.
        textposition=["inside" if height > 0.2 else "outside" for height in heights],
        insidetextanchor="end",
        textangle=0,
        cliponaxis=False,
        marker={"color": faint(style.colour, 0.6), "line": {"color": style.colour, "width": 1.5}},
    )
    figure.add_scatter(
        x=names[: len(best)],
        y=best,
        mode="markers",
        name="at its best",
        marker={
            "symbol": "line-ew-open",
            "size": 26,
            "line": {"width": 2.5},
            "color": neutral("text"),
        },
    )
    figure.update_xaxes(
        type="category", range=[-0.5, len(tasks) - 0.5], categoryorder="array", categoryarray=names
    )
    figure.update_yaxes(range=[0, 1.12], tickvals=[0, 0.25, 0.5, 0.75, 1])
    clauses = []
    for name, height in zip(names, heights, strict=False):
        clauses.append(f"{name} {height:.0%}")
    description = ", ".join(clauses)
    return finish_figure(legend_below(figure), alt=f"{title}. Accuracy: {description}.")


def matrix_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the tasks, and what was known at the end of each phase."""
    tasks, _, rows = results.shared
    return tasks, rows


def cells(tasks: tuple[tuple[str, ...], ...], rows: Matrix) -> go.Figure:
    """Return the matrix [phase, class]."""
    names = []
    for task in tasks:
        for name in task:
            names.append(name)
    table = np.full((len(tasks), len(names)), np.nan)
    for phase, row in enumerate(rows):
        table[phase, : len(row)] = row
    phases = [f"{phase + 1}" for phase in range(len(tasks))]
    title = "Accuracy by class and phase"
    return cell_table(
        table, names, phases, title=title, x_label="class", y_label="phase", height=HEIGHT
    )


def ends_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the accuracy at the end by memory and number of exemplars, and the one on show.

    Only visited settings that differ in these alone count.
    """
    points = dict[str, tuple]()
    for memory in world.memories:
        config = world.config(settings.replace(memory=memory))
        every = values_by_setting(results, world.remembered, config, "images_per_class", memory)
        points |= (
            {memory: tuple((m, float(np.mean(rows[-1]))) for m, rows in every.items())}
            if every
            else {}
        )
    return (
        tuple(points.items()),
        settings.images_per_class,
        float(np.mean(results.frame.content.accuracies)),
    )


def final_chart(points_by_memory: tuple, count: int, current: float) -> go.Figure:
    """Draw the accuracy at the end over exemplars of a class, a line for each memory."""
    label = "accuracy on all classes (fraction)"
    figure = start_figure(
        title="At the end", x_label="exemplars of a class", y_label=label, height=HEIGHT
    )
    descriptions = []
    for memory, points in points_by_memory:
        x, y = zip(*points, strict=True)
        descriptions.append(f"{memory} {', '.join(f'{value:.2f} with {m}' for m, value in points)}")
        if memory == NONE:
            figure.add_scatter(x=[0.5, 5.5], y=[y[0]] * 2, name=NONE, mode="lines", line=DASHED)
        else:
            figure.add_scatter(
                x=x,
                y=y,
                name=memory,
                **line_style(series_style(MEMORIES.index(memory) - 1), markers=True),
            )
    figure.add_scatter(
        x=[count],
        y=[current],
        name="on show, so far",
        mode="markers",
        marker={"symbol": "circle-open", "size": 12, "color": neutral("text")},
    )
    least = min(
        0.8,
        current,
        *(y for memory, points in points_by_memory for _, y in points if memory != NONE),
    )
    figure.update_xaxes(range=[0.5, 5.5], dtick=1).update_yaxes(range=[max(least - 0.05, 0), 1])
    return finish_figure(
        legend_beside(figure),
        alt=f"Accuracy at the end: {'; '.join(descriptions) or 'not there yet'}.",
    )


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """Return the run, and what is left at its end."""
    return [run, Value(world.remembered, run.config, settings.memory)]


def with_memory(world: World, settings: Settings, memory: str) -> Value:
    """Return the end's matrix with another memory, of as many exemplars."""
    return Value(world.remembered, world.config(settings.replace(memory=memory)), memory)


def all_memories(world: World, settings: Settings, results: Results) -> list[Value]:
    """List the matrix with each memory; the one that takes long comes last."""
    usable = (
        memory
        for memory in world.memories
        if memory != MATCHED or settings.images_per_class in world.matched
    )
    return [with_memory(world, settings, memory) for memory in usable]


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what is known and forgotten at the moment on show."""
    tasks, moment, _ = results.shared
    heights = of_tasks(tasks, moment.accuracies)
    kept_text = (
        f"{settings.images_per_class} of each class ({settings.memory})"
        if settings.memory != NONE
        else "nothing"
    )
    setting = (
        f"Kept: {kept_text}. Task {moment.phase + 1}, {PARTS[moment.part]}: {np.mean(moment.accuracies):.1%} "
        "of the classes so far"
    )
    return f"{setting}, {heights[0]:.0%} of the first task, {heights[-1]:.0%} of the newest."


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether one exemplar of a class keeps more than its mean does, with the same seed."""
    if settings.images_per_class > 1:
        return False
    mine = results(with_memory(world, settings, settings.memory))
    rival = results(with_memory(world, settings, RIVAL))
    return None not in (mine, rival) and np.mean(mine[-1]) > np.mean(rival[-1])


def step_label(world: World, settings: Settings, step: int) -> str:
    """Return a step as the slider calls it."""
    frame = world.run(settings).at(step)
    return str(step) if frame is None else f"{step} (task {frame.content.phase + 1})"


DECLARED = {
    "controls": ("memory", "images_per_class", "distillation_weight"),
    "folded": (*LEARNING, "seed"),
    "labels": {
        "memory": "keep",
        "images_per_class": "exemplars of a class",
        "distillation_weight": "distillation loss",
    },
    "stops": lambda world: {"images_per_class": (1, 5)},
    "run": World.run,
    "jobs": list_jobs,
    "opens_with": 2,
    "shared": share_moment,
    "step_label": step_label,
    "to_end": ("memory", "images_per_class"),
    "unused": lambda world, settings: (
        (() if settings.memory == LEARNED else LEARNING)
        + (("images_per_class",) if settings.memory == NONE else ())
    ),
    "job_words": lambda world, run: f"{run.config.tasks} phases",
    "sentence": sentence,
}

AT_THE_END = Chart(ends_data, final_chart)
MemoryLab = Lab(
    "What is worth keeping?",
    World,
    views=[
        Strip(strip_data, strip),
        Row(
            Chart(bars_data, bars),
            Tabs(("Matrix", Chart(matrix_data, cells)), ("At the end", AT_THE_END)),
        ),
    ],
    buttons=[
        Compute(
            "Try all memories",
            all_memories,
            hint="With as many exemplars of each class",
            view=AT_THE_END,
        )
    ],
    quest=Quest(
        "With one exemplar of each class, end with more right than the class means (k-means "
        "centres) do.",
        quest_met,
    ),
    **DECLARED,
)
