"""The laboratory of memories: digits come two by two, and the reader spends what is kept of the
earlier ones.

MemoryLab(data)
MemoryLab(data, {1: matched, 2: twice_as_many})           # sets that serve as the memory "DM"

Every memory that was visited stays as a point.
"""

import itertools
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch

from ...data import ImageData
from ...evaluation.incremental import Matrix
from ...explorers import Chart, Compute, Lab, Named, Quest, Results, Strip, Tabs, Value
from ...explorers.ready import HEIGHT, values_by_setting
from ...figures import (
    cell_table,
    encode_grid,
    finish_figure,
    series_style,
    start_figure,
    tried_settings,
)
from ...figures.theme import faint, legend_below, literal, neutral
from ...methods import mnemonics
from ...runs import Run
from ...training.phases import class_ends, class_order
from .world import (
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
# Accuracy of the quest, with at most five exemplars of each class.
ENOUGH = 0.95
# Accuracies are shown from here, unless one is lower.
_LOW = 0.6
# Of an exemplar that is not there yet.
_GREY = 128
# Pixels that an exemplar takes on the page, about.
_CELL = 32


def tasks_of(world: World, config: mnemonics.Config) -> tuple[tuple[str, ...], ...]:
    """Return the names of the classes of each phase."""
    names = [
        world.data.class_names[label]
        for label in class_order(world.data.classes, config.order_seed)
    ]
    task_ends = class_ends(config, len(names))
    tasks = [
        tuple(names[start:end]) for start, end in zip([0, *task_ends], task_ends, strict=False)
    ]
    return tuple(tasks)


def share_moment(world: World, settings: Settings, results: Results) -> Named:
    """Return the tasks, the moment on show, and the phases that had ended by then."""
    finished = [end for end in world.task_ends(results.run.config) if end <= results.frame.step]
    return {
        "tasks": tasks_of(world, results.run.config),
        "moment": results.frame.content,
        "before": matrix(results.run, finished),
    }


def strip_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the exemplars on show."""
    order = tuple(class_order(world.data.classes, settings.order_seed))
    return {"data": world.data, "moment": results.frame.content, "order": order}


def strip(data: ImageData, moment: Moment, order: tuple[int, ...]) -> tuple[bytes, str]:
    """Draw the exemplars, a column for each class, grey where there are none."""
    count = max(len(moment.exemplars) // data.classes, 1)
    pixels = torch.full(
        (data.classes * count, data.channels, *data.image_size), _GREY, dtype=torch.uint8
    )
    is_kept = moment.exemplars.flatten(1).any(1)
    pixels[: len(is_kept)][is_kept] = data.to_uint8(moment.exemplars[is_kept])
    names = [data.class_names[label] for label in order]
    columns = pixels.unflatten(0, (data.classes, count)).transpose(0, 1).flatten(0, 1)
    description = f"{int(is_kept.sum())} exemplars" if is_kept.any() else "no exemplar"
    return encode_grid(
        columns, data.classes, cell=_CELL, column_labels=names, gap=4
    ), f"{description}, a column for each class."


def bars_data(world: World, settings: Settings, results: Results) -> Named:
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
    rows = [of_tasks(tasks, row) for row in (*before, moment.accuracies)]
    best = [max(row[task] for row in rows if task < len(row)) for task in range(len(heights))]
    title = f"Task {moment.phase + 1} of {len(tasks)}: {PARTS[moment.part]}"
    style = series_style(0)
    figure = start_figure(
        title=title, x_label="classes of a task", y_label="test accuracy", height=HEIGHT
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
        insidetextfont={"color": neutral("text")},
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
    figure.update_yaxes(range=[0, 1.12], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".0%")
    clauses = [f"{name} {height:.0%}" for name, height in zip(names, heights, strict=False)]
    description = ", ".join(clauses)
    return finish_figure(legend_below(figure), alt=f"{title}. Accuracy: {description}.")


def matrix_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the tasks, and what was known at the end of each phase."""
    tasks, _, rows = results.shared.values()
    return {"tasks": tasks, "rows": rows}


def cells(tasks: tuple[tuple[str, ...], ...], rows: Matrix) -> go.Figure:
    """Return the matrix [phase, class]."""
    names = [*itertools.chain.from_iterable(tasks)]
    table = np.full((len(tasks), len(names)), np.nan)
    for phase, row in enumerate(rows):
        table[phase, : len(row)] = row
    phases = [f"{phase + 1}" for phase in range(len(tasks))]
    return cell_table(
        table,
        names,
        phases,
        title="Accuracy by class and phase",
        x_label="class",
        y_label="phase",
        text_format=".0%",
        height=HEIGHT,
    )


def ends_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the accuracy at the end by memory and number of exemplars.

    Only visited settings that differ in these alone count.
    """
    points = []
    for memory in world.memories:
        config = world.config(settings.replace(memory=memory))
        every = values_by_setting(results, world.remembered, config, "images_per_class", memory)
        if every:
            final_means = [
                (exemplars, float(np.mean(rows[-1]))) for exemplars, rows in every.items()
            ]
            points.append((memory, tuple(final_means)))
    rows = results(with_memory(world, settings, settings.memory))
    if rows is None or settings.memory == NONE:
        return {"points_by_memory": tuple(points), "on_show": None}
    return {
        "points_by_memory": tuple(points),
        "on_show": (settings.memory, float(np.mean(rows[-1]))),
    }


def final_chart(points_by_memory: tuple, on_show: tuple[str, float] | None) -> go.Figure:
    """Draw the accuracy at the end by memory, an arm for each number of exemplars.

    Nothing kept has no row: its accuracy, a fifth, would squeeze all others.
    """
    arms: dict[str, dict[str, list[float]]] = {}
    for memory, points in points_by_memory:
        for exemplars, accuracy in points if memory != NONE else ():
            name = f"{exemplars} exemplar{'s' * (exemplars > 1)} per class"
            arms.setdefault(name, {})[memory] = [accuracy]
    return tried_settings(
        dict(sorted(arms.items())) or {"press Try all memories": {}},
        on_show=on_show,
        title="Accuracy on all classes at the end",
        x_label="test accuracy",
        y_label="memory",
        stops={memory: memory for memory in MEMORIES if memory != NONE},
        limits=(_LOW, 1.0),
        across=True,
        lines=False,
        height=HEIGHT,
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
    tasks, moment, _ = results.shared.values()
    heights = of_tasks(tasks, moment.accuracies)
    count = settings.images_per_class
    kept_text = f"Kept: {count} per class ({settings.memory})"
    if settings.memory == NONE:
        kept_text = "Nothing is kept"
    return (
        f"{kept_text}. Task {moment.phase + 1}, {PARTS[moment.part]}: the network classifies "
        f"{np.mean(moment.accuracies):.1%} of the classes so far correctly, {heights[0]:.0%} of the "
        f"first task and {heights[-1]:.0%} of the newest."
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether few exemplars keep nearly everything."""
    rows = results(with_memory(world, settings, settings.memory))
    return rows is not None and float(np.mean(rows[-1])) >= ENOUGH


def step_label(world: World, settings: Settings, step: int) -> str:
    """Return a step as the slider calls it."""
    frame = world.run(settings).at(step)
    return str(step) if frame is None else f"{step} (task {frame.content.phase + 1})"


DECLARED: dict[str, Any] = {
    "controls": ("memory", "images_per_class", "tasks", "distillation_weight"),
    "folded": ("adjust_old", *LEARNING, "seed"),
    "labels": {
        "memory": "memory",
        "images_per_class": "exemplars per class",
        "distillation_weight": "distillation loss",
        "adjust_old": "adjust earlier exemplars",
    },
    "stops": lambda world: {"images_per_class": (1, 5)},
    "run": World.run,
    "jobs": list_jobs,
    "opens_with": 2,
    "shared": share_moment,
    "step_label": step_label,
    "to_end": ("memory", "images_per_class"),
    "pairs": [("memory", "images_per_class")],
    "unused": lambda world, settings: (
        (() if settings.memory == LEARNED else (*LEARNING, "adjust_old"))
        + (("images_per_class",) if settings.memory == NONE else ())
        + (("adjust_old",) if settings.images_per_class == 1 else ())
    ),
    "job_words": lambda world, run: f"{run.config.tasks} phases",
    "sentence": sentence,
}

AT_THE_END = Chart(ends_data, final_chart, ghosts=False, tried=("memory", "images_per_class"))
MemoryLab = Lab(
    "What is worth keeping?",
    World,
    views=[
        Strip(strip_data, strip),
        Tabs(
            ("Accuracy by task", Chart(bars_data, bars)),
            ("At the end", AT_THE_END),
            ("Matrix", Chart(matrix_data, cells)),
        ),
    ],
    buttons=[
        Compute(
            "Try all memories",
            all_memories,
            hint="With as many exemplars per class",
            view=AT_THE_END,
        )
    ],
    quest=Quest(
        f"Keep five exemplars of each class or fewer, and end with {ENOUGH:.0%} or more.",
        quest_met,
        solution=[
            ("memory", "nearest to centres"),
            ("images_per_class", 5),
            ("distillation_weight", 0.0),
        ],
    ),
    **DECLARED,
)
