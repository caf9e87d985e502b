"""The laboratory of the merge ratio: one image vanishes under its optimisation, and what FADRM's residual brings back.

ResidualLab(data, teacher)
ResidualLab(data, teacher, fadrm.Config(iterations=200, small_size=48)).run()     # all ratios in the foreground, to be displayed

The chosen ratio is computed first, then 1, which has no residual, then those nearest to the chosen one.
"""

from __future__ import annotations

import statistics

import numpy as np
import plotly.graph_objects as go
from torch import Tensor

from ...core.interval import interval
from ...explorers.lab import Compute, Known, Lab, Value
from ...explorers.quest import Quest
from ...explorers.tables import table
from ...explorers.views import Chart, Html, Strip, Tabs, step_on_show
from ...figures import encode_grid, schedule_diagram, vanishing_curves
from ...runs import Frame, Run
from .world import (
    ALPHAS,
    LABELS,
    LOSS,
    REAL,
    RECOVERED,
    UNITS,
    Reference,
    Settings,
    World,
    by_nearness,
    kept_steps,
    merge_steps,
)

_CELL = 112  # pixels that an image is wide at least, where whole multiples allow it
_EDGE = 4  # of the mark around the chosen image
_MARK = (230, 159, 0)  # Okabe and Ito's orange: seen on light and on dark
_HEIGHT = 330  # of the plots
_MISSING = 128  # the grey of an image that is not there yet
# Nats. A last merge with α = 1, which mixes nothing in, raises it by .015 at most (eleven runs of 80 steps: k = 1 to 6, three draws).
HARM = 0.05
_CAPTION = (
    "All images of a batch are recovered together, one of each class; the row shows one of them, the curves the mean of all. "
    "Images of the small stages are scaled up, and measured so."
)


def frame_at(run: Run, step: int) -> Frame | None:
    """The frame of this very step, where it is there."""
    found = run.at(step)
    return found if found is not None and found.step == step else None


def compared(settings: Settings) -> dict[str, float]:
    """The curves: name -> ratio. Without merges, or with a ratio of 1, there is one."""
    if settings.merges == 0 or settings.merge_ratio == 1:
        return {"without residual": 1.0}
    return {f"with residual, α = {settings.merge_ratio:g}": settings.merge_ratio, "without residual, α = 1": 1.0}


# -- the strip


def strip_data(world: World, settings: Settings, known: Known) -> tuple:
    """The patch and the image of each ratio, from left to right, at one step."""
    ratios = sorted({*ALPHAS, settings.merge_ratio})
    step = known.step or 0
    frames = tuple((alpha, frame_at(world.run(settings, alpha), step)) for alpha in ratios)
    label = world.data.class_names.index(settings.class_name)
    return world, label, step, settings.merge_ratio, world.known_reference(settings), frames


def strip(
    world: World,
    label: int,
    step: int,
    chosen: float,
    reference: Reference | None,
    frames: tuple[tuple[float, Frame | None], ...],
) -> tuple[bytes, str]:
    """The images beside each other, the chosen one framed, and the words for who does not see them."""
    size = world.data.image_size
    cells, heads = [_cell(size, None if reference is None else reference.patches[label])], ["patch"]
    for alpha, frame in frames:
        cell = _cell(size, None if frame is None else frame.content.images[label])
        cells.append(_marked(cell) if alpha == chosen else cell)
        # The font of the grid has no Greek letters.
        heads.append(f"alpha {alpha:g}" + (", chosen" if alpha == chosen else "") + (" ..." if frame is None else ""))
    missing = sum(frame is None for _, frame in frames)
    alt = (
        f"The patch of class {world.data.class_names[label]} and its image after step {step} for merge ratios of "
        f"{', '.join(f'{alpha:g}' for alpha, _ in frames)}, from left to right; {chosen:g} is framed"
        f"{f'; {missing} of them are not computed yet' if missing else ''}."
    )
    return encode_grid(np.stack(cells), columns=len(cells), column_labels=heads, gap=6), alt


def _cell(size: tuple[int, int], image: Tensor | None) -> np.ndarray:
    """One image, enlarged, uint8 [h, w, 3]."""
    height, width = size
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


# -- the curves and the stages


def curve_data(world: World, settings: Settings, known: Known) -> tuple:
    """The measure along the runs, so far, and what the patch, noise and real images have of it."""
    measure, shown = settings.measure, []
    for name, alpha in compared(settings).items():
        frames = world.run(settings, alpha).frames
        if frames:
            shown.append((name, tuple(float(frame.content.measured[measure].mean()) for frame in frames)))
    reference, levels = world.known_reference(settings), {}
    if reference is not None:
        levels = {"patch": float(reference.patch[measure].mean())}
        levels |= {kind: float(values[measure].mean()) for kind, values in reference.levels.items()}
    return settings.iterations, settings.merges, measure, world.data.classes, tuple(shown), tuple(levels.items())


def curves(
    iterations: int,
    merges: int,
    measure: str,
    classes: int,
    shown: tuple[tuple[str, tuple[float, ...]], ...],
    levels: tuple[tuple[str, float], ...],
) -> go.Figure:
    """The chosen ratio and no residual."""
    longest = max((len(values) for _, values in shown), default=1)
    figure = vanishing_curves(
        dict(shown) or {"not computed yet": [float("nan")]},
        steps=kept_steps(iterations, merges)[:longest],
        merges=merge_steps(iterations, merges),
        references=dict(levels) or None,
        unit=f"{measure} ({UNITS[measure]})",
        title=f"{measure[0].upper()}{measure[1:]}, mean of {classes} classes",
        height=_HEIGHT,
        close=True,
    )
    return figure.update_xaxes(range=[-0.01 * iterations, 1.02 * iterations])


def stage_data(world: World, settings: Settings, known: Known) -> tuple:
    """What the stages depend on."""
    small = world.config(settings).small_size
    return settings.iterations, settings.merges, min(world.data.image_size), small


def stages(iterations: int, merges: int, image_size: int, small_size: int | None) -> go.Figure:
    """The stages and what they cost."""
    return schedule_diagram(
        iterations=iterations, merges=merges, image_size=image_size, small_size=small_size, height=_HEIGHT
    )


# -- students


def students(world: World, settings: Settings, known: Known) -> list[Run | Value]:
    """The images of all classes, then students on them and on random real ones, seed by seed."""
    rounds = [(seed, labels, made) for seed in world.seeds for labels in LABELS for made in (RECOVERED, REAL)]
    return [world.recovery(settings), *(_student(world, settings, *each) for each in rounds)]


def _student(world: World, settings: Settings, seed: int, labels: str, made: str) -> Value:
    return Value(world.student, made, world.whole_config(settings), labels, seed)


def score_data(world: World, settings: Settings, known: Known) -> tuple:
    """Images per class and, for each kind of labels, the accuracies known so far of both sets and of their difference."""
    rows = []
    for labels in LABELS:
        made, real = (
            [known(_student(world, settings, seed, labels, kind)) for seed in world.seeds] for kind in (RECOVERED, REAL)
        )
        pairs = zip(made, real, strict=True)
        gain = [one - other for one, other in pairs if one is not None and other is not None]
        scores = (tuple(value for value in values if value is not None) for values in (made, real, gain))
        rows.append((labels, *scores))
    return settings.images_per_class, len(world.seeds), tuple(rows)


def score_table(images_per_class: int, seeds: int, rows: tuple) -> str:
    """HTML: what students learn from the images of this setting and from random real ones."""
    caption = (
        f"Test accuracy of students, {images_per_class} images per class: mean (95% interval) of up to {seeds} seeds"
    )
    cells = [
        (f"{labels} labels", in_words(made), in_words(real), in_words(gain, signed=True))
        for labels, made, real, gain in rows
    ]
    return table(caption, ("learned from", "recovered images", "random real images", "difference, seed by seed"), cells)


def in_words(values: tuple[float, ...], *, signed: bool = False) -> str:
    """ "41.2% (39.0% to 43.4%)": the mean and its 95% interval over students; "not yet" without any."""
    if not values:
        return "not yet"
    form = "{:+.1%}" if signed else "{:.1%}"
    around = interval(values)
    spread = "one seed" if around is None else " to ".join(form.format(end) for end in around)
    return f"{form.format(statistics.fmean(values))} ({spread})"


# -- in words


def sentence(world: World, settings: Settings, known: Known) -> str:
    """What is seen at a step."""
    measure, step = settings.measure, known.step or 0
    small = world.config(settings).small_size
    sizes = "full size" if small is None else f"{small} and {min(world.data.image_size)} px"
    setting = (
        f"α = {settings.merge_ratio:g}, {settings.merges} "
        f"{'merge' if settings.merges == 1 else 'merges'}, {settings.iterations} steps at {sizes}: "
    )
    frame, reference = frame_at(world.run(settings), step), world.known_reference(settings)
    if frame is None or reference is None:
        return f"{setting}step {step} is not computed yet."
    plain = frame_at(world.run(settings, 1.0), step)
    beside = [f"the patches have {reference.patch[measure].mean():.2f}"] if measure.endswith("entropy") else []
    if plain is not None and len(compared(settings)) > 1:
        beside.insert(0, f"without the residual {plain.content.measured[measure].mean():.2f}")
    beside += [f"{kind} images {values[measure].mean():.2f}" for kind, values in reference.levels.items()]
    now = f"{frame.content.measured[measure].mean():.2f} {UNITS[measure]}"
    return (
        f"{setting}after step {step} the {measure}, mean of {world.data.classes} classes, is {now}; {', '.join(beside)}. "
        f"The row shows the {settings.class_name}."
    )


# -- the quest


def merges_harm(world: World, settings: Settings, known: Known) -> bool:
    """Whether the last merge of the chosen run raised the teacher's loss by `HARM`, in the mean over classes."""
    run, merges = world.run(settings), merge_steps(settings.iterations, settings.merges)
    around = [frame_at(run, near) for last in merges[-1:] for near in (last - 1, last)]
    losses = [float(frame.content.measured[LOSS].mean()) for frame in around if frame is not None]
    return len(losses) == 2 and losses[1] - losses[0] >= HARM


ResidualLab = Lab(
    "Does a residual bring the image back?",
    World,
    controls=("merge_ratio", "merges", "class_name", "measure"),
    more=("iterations", "learning_rate", "small_size", "patches", "initialisation", "images_per_class"),
    labels={
        "class_name": "class in the row",
        "small_size": "small stages D_ds",
        "measure": "curve of",
        "initialisation": "start",
        "images_per_class": "images per class, for students",
        "iterations": "steps B",
    },
    choice_words=lambda world: {"small_size": world.size_in_words},
    check=World.check,
    watched=World.run,
    wanted=lambda world, settings: [world.run(settings, alpha) for alpha in by_nearness(settings.merge_ratio)],
    job_words=lambda world, run: f"α = {run.config.merge_ratio:g}",
    buttons=[
        Compute("Train students", students, "graduation-cap", "On the images of all classes, and on random real ones")
    ],
    views=[
        Strip(strip_data, strip),
        Tabs(
            ("What is left", Chart(curve_data, curves, cursor=step_on_show)),
            ("Stages and cost", Chart(stage_data, stages, cursor=step_on_show)),
            ("Students", Html(score_data, score_table)),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"Make a merge harm: the last one is to raise the teacher's loss by {HARM:g} nats, in the mean.",
        merges_harm,
    ),
    caption=_CAPTION,
)
