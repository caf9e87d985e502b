"""What the explorer of the merge ratio shows, from what it knows: the strip of images, curves, tables and the sentence."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import plotly.graph_objects as go
from torch import Tensor

from ..figures import encode_grid, schedule_diagram, vanishing_curves
from .residual_runs import Recovery, ResidualRuns
from .residual_students import LABELS, Students, in_words
from .residual_view import ALPHAS, UNITS, ResidualView, kept_steps, merge_steps
from .tables import table

_CELL = 112  # pixels that an image is wide at least, where whole multiples allow it
_EDGE = 4  # of the mark around the chosen image
_MARK = (230, 159, 0)  # Okabe and Ito's orange: seen on light and on dark
_HEIGHT = 420  # of both plots
_PLOT, _LINE = 280, 15  # pixels of the curves' axis, and from one name to the next
_MISSING = 128  # the grey of an image that is not there yet


def ratios(view: ResidualView) -> list[float]:
    """The ratios in the strip, from left to right."""
    return sorted({*ALPHAS, view.merge_ratio})


def strip(runs: ResidualRuns, view: ResidualView, step: int) -> tuple[bytes, str]:
    """The patch and the image of each ratio at one step, encoded, and the words for who does not see it."""
    label, ground = runs.data.class_names.index(view.class_name), runs.known_ground(runs.config(view))
    cells, heads, missing = [_cell(runs, None if ground is None else ground.patches[label])], ["patch"], 0
    for alpha in ratios(view):
        frame = runs.recovery(runs.config(view, alpha)).frame(step)
        cell, chosen = _cell(runs, None if frame is None else frame.images[label]), alpha == view.merge_ratio
        cells.append(_marked(cell) if chosen else cell)
        # The font of the grid has no Greek letters.
        heads.append(f"alpha {alpha:g}" + (", chosen" if chosen else "") + (" ..." if frame is None else ""))
        missing += frame is None
    later = f"; {missing} of them are not computed yet" if missing else ""
    alt = (
        f"The patch of class {view.class_name} and its image after step {step} for merge ratios of "
        f"{', '.join(f'{alpha:g}' for alpha in ratios(view))}, from left to right; {view.merge_ratio:g} is framed{later}."
    )
    return encode_grid(np.stack(cells), columns=len(cells), column_labels=heads, gap=6), alt


def curves(runs: ResidualRuns, view: ResidualView) -> go.Figure:
    """The measure along the run, with the chosen ratio and without the residual, beside what noise and real images have."""
    label, shown = runs.data.class_names.index(view.class_name), []
    for name, alpha in compared(view).items():
        frames = runs.recovery(runs.config(view, alpha)).frames
        if frames:
            shown.append((name, tuple(float(frame.measured[view.measure][label]) for frame in frames)))
    ground, levels = runs.known_ground(runs.config(view)), {}
    if ground is not None:
        levels = {"patch": float(ground.patch[view.measure][label])}
        levels |= {kind: float(values[view.measure][label]) for kind, values in ground.levels.items()}
    unit, title = f"{view.measure} ({UNITS[view.measure]})", f"What is left of the {view.class_name}"
    return _vanishing(tuple(shown), tuple(levels.items()), view.iterations, view.merges, unit, title)


@lru_cache(maxsize=128)  # plotly takes longer than everything else that a move between known settings does
def _vanishing(
    shown: tuple[tuple[str, tuple[float, ...]], ...],
    levels: tuple[tuple[str, float], ...],
    iterations: int,
    merges: int,
    unit: str,
    title: str,
) -> go.Figure:
    longest = max((len(values) for _, values in shown), default=1)
    figure = vanishing_curves(
        dict(shown) or {"not computed yet": [float("nan")]}, steps=kept_steps(iterations, merges)[:longest],
        merges=merge_steps(iterations, merges), references=dict(levels) or None, unit=unit, title=title, height=_HEIGHT,
    )  # fmt: skip
    figure.update_xaxes(range=[-0.01 * iterations, 1.02 * iterations])
    return _closer(figure, [value for _, values in shown for value in values], dict(levels))


def _closer(figure: go.Figure, values: list[float], levels: dict[str, float]) -> go.Figure:
    """With a y axis that holds the curves and levels and no more: what differs by a tenth is seen. The names follow their lines."""
    known = [*values, *levels.values()]
    if not known or min(known) == max(known):
        return figure
    room = 0.06 * (max(known) - min(known))
    low, high = min(known) - room, max(known) + room
    free = -np.inf
    for name, level in sorted(levels.items(), key=lambda item: item[1]):
        at = (level - low) / (high - low) * _PLOT
        raised = max(at, free)  # names of near levels stand above each other
        free = raised + _LINE
        figure.update_annotations({"yshift": raised - at}, selector={"text": f"{name} {level:.3g}"})
    return figure.update_yaxes(range=[low, high])


def compared(view: ResidualView) -> dict[str, float]:
    """The curves: name -> ratio. Without merges, or with a ratio of 1, there is one."""
    if view.merges == 0 or view.merge_ratio == 1:
        return {"without residual": 1.0}
    return {f"with residual, α = {view.merge_ratio:g}": view.merge_ratio, "without residual, α = 1": 1.0}


def schedule(runs: ResidualRuns, view: ResidualView) -> go.Figure:
    """The stages and what they cost."""
    return _stages(view.iterations, view.merges, min(runs.data.image_size), runs.config(view).small_size)


@lru_cache(maxsize=128)
def _stages(iterations: int, merges: int, image_size: int, small_size: int | None) -> go.Figure:
    return schedule_diagram(
        iterations=iterations, merges=merges, image_size=image_size, small_size=small_size, height=_HEIGHT
    )


def sentence(runs: ResidualRuns, view: ResidualView, step: int) -> str:
    """What is seen at a step."""
    label, unit = runs.data.class_names.index(view.class_name), UNITS[view.measure]
    small = runs.config(view).small_size
    sizes = "full size" if small is None else f"{small} and {min(runs.data.image_size)} px"
    said = (
        f"{view.class_name}, α = {view.merge_ratio:g}, {view.merges} {'merge' if view.merges == 1 else 'merges'}, "
        f"{view.iterations} steps at {sizes}: "
    )
    frame = runs.recovery(runs.config(view)).frame(step)
    ground = runs.known_ground(runs.config(view))
    if frame is None or ground is None:
        return f"{said}step {step} is not computed yet."
    plain = runs.recovery(runs.config(view, 1.0)).frame(step)
    beside = [f"its patch has {ground.patch[view.measure][label]:.2f}"] if view.measure.endswith("entropy") else []
    if plain is not None and len(compared(view)) > 1:
        beside.insert(0, f"without the residual {plain.measured[view.measure][label]:.2f}")
    beside += [f"{kind} images {values[view.measure][label]:.2f}" for kind, values in ground.levels.items()]
    return f"{said}after step {step} the {view.measure} is {frame.measured[view.measure][label]:.2f} {unit}; {', '.join(beside)}."


def waiting(runs: ResidualRuns, view: ResidualView) -> str:
    """How long the runs that are missing will take, or ""."""
    chosen = runs.config(view)
    missing = {config for alpha in ratios(view) if not runs.recovery(config := runs.config(view, alpha)).complete}
    if not missing:
        return ""
    this, every = runs.seconds([chosen]), runs.seconds(sorted(missing, key=lambda config: config.merge_ratio))
    if this is None or every is None:
        return "The runs are being computed ..."
    first = f"this run takes about {this:.1f} s more, " if this else ""
    return f"Being computed: {first}all {len(missing)} that are missing take about {every:.0f} s."


def worth_table(students: Students, view: ResidualView) -> str:
    """HTML: what students learn from the images of this setting and from random real ones."""
    rows = []
    for labels in LABELS:
        worth = students.worth(view, labels)
        rows.append((f"{labels} labels", in_words(worth.made), in_words(worth.real), in_words(worth.gain, signed=True)))
    caption = f"Test accuracy of students, {view.images_per_class} images per class: mean (95% interval) of up to {students.seeds} seeds"
    return table(caption, ("learned from", "recovered images", "random real images", "difference, seed by seed"), rows)


def following(runs: ResidualRuns, view: ResidualView) -> int:
    """The step that is seen: the one asked for, or the newest there is."""
    steps = kept_steps(view.iterations, view.merges)
    if view.step is not None and view.step < view.iterations:
        return min(steps, key=lambda step: abs(step - (view.step or 0)))
    return newest(runs.recovery(runs.config(view)))


def newest(run: Recovery) -> int:
    """The last step that has a frame, 0 before the first."""
    return max((frame.step for frame in run.frames), default=0)


def _cell(runs: ResidualRuns, image: Tensor | None) -> np.ndarray:
    """One image, enlarged, uint8 [h, w, 3]."""
    height, width = runs.data.image_size
    scale = max(1, round(_CELL / width))
    if image is None:
        return np.full((height * scale, width * scale, 3), _MISSING, np.uint8)
    pixels = np.broadcast_to(image.numpy().transpose(1, 2, 0), (height, width, 3))
    return np.ascontiguousarray(pixels.repeat(scale, 0).repeat(scale, 1))


def _marked(cell: np.ndarray) -> np.ndarray:
    """With a frame inside its edge."""
    for side in (np.s_[:_EDGE], np.s_[-_EDGE:], np.s_[:, :_EDGE], np.s_[:, -_EDGE:]):
        cell[side] = _MARK
    return cell
