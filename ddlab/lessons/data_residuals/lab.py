"""The laboratory of the merge ratio: one image vanishes under its optimisation, and what FADRM's
residual brings back.

ResidualLab(data, teacher, fadrm.Config(iterations=200))

The chosen ratio is computed first, then 1, which has no residual, then those nearest to the chosen
one.
"""

import functools
from dataclasses import dataclass
from statistics import fmean

import plotly.graph_objects as go
from torch import Tensor

from ...data import ImageData
from ...explorers import BUTTON, Chart, Lab, Named, Quest, Results, Strip, Tabs, Value, step_on_show
from ...explorers.ready import HEIGHT, frame_at, strip, values_by_setting
from ...explorers.students import Students, differences, finished
from ...figures import alt_text, finish_figure, tried_settings
from ...methods import fadrm, selection
from ...runs import Frame, Run
from ..shared.image_landscape import Surface, draw
from .curves import vanishing_curves
from .world import UNITS, MixedIn, Settings, World, by_nearness, kept_steps, merge_steps

# Places of the landscape on each side: images of 64 pixels take sixteen times as long as digits.
_COARSE = 7
_FINE = 15
AHEAD = 0.02  # of accuracy: what the quest asks for
# Of the students' chart: chance is .1, and no image here teaches more than half.
_ACCURACIES = (0.05, 0.6)


def surfaces(world: World, config: fadrm.Config) -> list[Value]:
    """Return the landscape, coarse and then fine; one for all ratios."""
    unmerged = config.replace(merge_ratio=1.0)
    return [Value(world.surface, unmerged, cells) for cells in (_COARSE, _FINE)]


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """Return the chosen ratio, then 1, the landscape and the other ratios."""
    first, *other_runs = (
        world.with_ratio(run.config, alpha) for alpha in by_nearness(settings.merge_ratio)[1:]
    )
    return [run, first, *surfaces(world, run.config), *other_runs]


@dataclass(frozen=True)
class SharedRuns:
    """What views and words share.

    Attributes:
        runs: ratio -> its run.
        compared: name of a curve -> ratio; without merges, or with a ratio of 1, there is one.
        mixed_in: the patches, and what they, noise and real images have of each measure.
    """

    runs: dict[float, Run]
    compared: dict[str, float]
    mixed_in: MixedIn


def share_runs(world: World, settings: Settings, results: Results) -> SharedRuns:
    """Return the runs that views and words share."""
    ratios = [job for job in results.jobs if isinstance(job, Run)]
    runs = dict(zip(by_nearness(settings.merge_ratio), ratios, strict=True))
    with_residual = {f"with residual, α = {settings.merge_ratio:g}": settings.merge_ratio}
    # Without merges, or with a ratio of 1, both curves would be the same one.
    compared = ({} if settings.merges == 0 or settings.merge_ratio == 1 else with_residual) | {
        "without residual": 1.0
    }
    mixed_in = results.compute_now(
        world.mixed_in, settings.patches, settings.candidates_per_class, settings.seed
    )
    return SharedRuns(runs, compared, mixed_in)


def strip_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the patch and the image of each ratio, from left to right, at one step."""
    step = results.step or 0
    runs = sorted(results.shared.runs.items())
    # Its font has no α.
    frames = tuple((f"alpha {alpha:g}", frame_at(run, step)) for alpha, run in runs)
    return {
        "data": world.data,
        "mixed_in": results.shared.mixed_in,
        "chosen": f"alpha {settings.merge_ratio:g}",
        "class_name": settings.class_name,
        "step": step,
        "frames": frames,
    }


def ratios_strip(
    data: ImageData, mixed_in: MixedIn, chosen: str, class_name: str, step: int, frames: tuple
) -> tuple[bytes, str]:
    """Draw the images of all ratios beside each other, the chosen one framed, and describe them."""
    label = data.class_names.index(class_name)
    images: dict[str, Tensor | None] = {"patch": mixed_in.patches[label]}
    for name, frame in frames:
        images[name] = None if frame is None else frame.content.images[label]
    missing = [name for name, image in images.items() if image is None]
    alt = (
        f"Class {class_name} after step {step}, from left to right: {', '.join(images)}; "
        f"{chosen} is framed"
    )
    missing_text = f"; not computed yet: {', '.join(missing)}." if missing else "."
    return strip(images, data.image_size, chosen=chosen), alt + missing_text


def mean(frame: Frame, settings: Settings) -> float:
    """Return the measure, mean of all classes."""
    return float(frame.content.measured[settings.measure].mean())


def curve_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the measure along the runs, so far, and what the patch, noise and real images have of it."""
    runs = {name: results.shared.runs[alpha] for name, alpha in results.shared.compared.items()}
    frames_by_name = {name: run.frames for name, run in runs.items() if run.begun}
    return {
        "config": results.run.config,
        "measure": settings.measure,
        "curves_begun": tuple(
            (name, tuple(mean(frame, settings) for frame in frames_by_name[name]))
            for name in frames_by_name
        ),
        "levels": tuple(results.shared.mixed_in.levels[settings.measure].items()),
    }


def curves(config: fadrm.Config, measure: str, curves_begun: tuple, levels: tuple) -> go.Figure:
    """Return the chosen ratio and no residual."""
    figure = vanishing_curves(
        dict(curves_begun) or {"not computed yet": [float("nan")]},
        steps=kept_steps(config),
        merges=merge_steps(config),
        references=dict(levels),
        unit=UNITS[measure],
        height=HEIGHT,
        close=True,
        title=f"{measure[0].upper()}{measure[1:]}, mean of all classes",
    ).update_xaxes(range=[-0.01 * config.iterations, 1.02 * config.iterations])
    return finish_figure(figure, alt=alt_text(figure), coordinates=measure)


def landscape_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the finest landscape that is there, and the runs' frames up to the step on show."""
    coarse, fine = map(results, surfaces(world, results.run.config))
    step = results.step or 0
    paths = []
    for name, alpha in results.shared.compared.items():
        run = results.shared.runs[alpha]
        paths.append((name, tuple(frame for frame in run.frames if frame.step <= step)))
    return {
        "world": world,
        "config": results.run.config,
        "surface": fine or coarse,
        "paths": tuple(paths),
    }


def landscape_chart(
    world: World, config: fadrm.Config, surface: Surface | None, paths: tuple
) -> go.Figure:
    """Draw the loss that every run descends, and the paths of the compared ones."""
    return draw(
        surface,
        (config.lambda_mean, config.lambda_var),
        {name: world.pixels(frames) for name, frames in paths if frames},
        title="Loss of images",
        corner="before the first merge",
        height=HEIGHT,
        x_label="from the patches to the end without residual",
        y_label="away from that line",
    )


def sets(world: World, settings: Settings) -> tuple[fadrm.Config, selection.Config]:
    """Return the settings of FADRM's images and of as many real ones.

    With the usual patches those are the ones that FADRM's images began as.
    """
    return world.config(settings), _real_images(settings.images_per_class, settings.seed)


@functools.lru_cache(maxsize=64)
def _real_images(images_per_class: int, seed: int) -> selection.Config:
    return selection.Config(images_per_class=images_per_class, seed=seed)


def student_sets(
    world: World, settings: Settings, results: Results
) -> dict[fadrm.Config | selection.Config, tuple]:
    """Return the config of each set that students train on, and what computes their accuracy."""
    return {config: (world.student, config) for config in sets(world, settings)}


def set_runs(world: World, settings: Settings, results: Results) -> list[Run]:
    """Return the runs that make both sets."""
    return [world.distilled_run(config) for config in sets(world, settings)]


STUDENTS = Students(student_sets, set_runs)


def student_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the students' accuracies on the images of every ratio that was tried, and on real
    ones.
    """
    distilled_config, real = sets(world, settings)
    tried: dict[float, list[float]] = {}
    for seed in world.seeds:
        for alpha, accuracy in values_by_setting(
            results, world.student, distilled_config, "merge_ratio", seed
        ).items():
            tried.setdefault(alpha, []).append(accuracy)
    level = finished(STUDENTS.accuracies(world, settings, results)[real])
    points = tuple((alpha, tuple(accuracies)) for alpha, accuracies in sorted(tried.items()))
    name = "patches" if settings.patches == "real" else "real images"
    return {"points": points, "chosen": settings.merge_ratio, "name": name, "level": tuple(level)}


def student_points(points: tuple, chosen: float, name: str, level: tuple[float, ...]) -> go.Figure:
    """Draw the students' mean over the ratio, with a dot for each student."""
    tried = dict(points)
    return tried_settings(
        {"FADRM's images": tried},
        rivals={name: fmean(level)} if level else {},
        on_show=(chosen, fmean(tried[chosen])) if chosen in tried else None,
        title="Students with the teacher's labels",
        x_label="merge ratio (α)",
        places=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
        limits=_ACCURACIES,
        height=HEIGHT,
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what the images hold at the step on show."""
    step = results.step or 0
    merges = settings.merges
    unit = UNITS[settings.measure]
    words = f"α = {settings.merge_ratio:g}, {merges} merge{'s' * (merges != 1)}: "
    shared = results.shared
    frames = {name: frame_at(shared.runs[alpha], step) for name, alpha in shared.compared.items()}
    means = {name: mean(frame, settings) for name, frame in frames.items() if frame is not None}
    if len(means) < len(frames):
        return f"{words}step {step} is not computed yet."
    real = {"real": shared.mixed_in.levels[settings.measure]["real"]}
    # Images with the residual stand first where there are any, then what they are compared with.
    (_, chosen), *references = (means | real).items()
    beside = ", ".join(f"{name} {level:.2f}" for name, level in references)
    return f"{words}after step {step} the {settings.measure} is {chosen:.2f} {unit}; {beside}."


def ahead_of_patches(world: World, settings: Settings, results: Results) -> bool:
    """Return whether all students are there, and ahead of those of the patches in the mean."""
    distilled_config, real = sets(world, settings)
    accuracies = STUDENTS.accuracies(world, settings, results)
    ahead = differences(accuracies[distilled_config], accuracies[real])
    return len(ahead) == len(world.seeds) and fmean(ahead) >= AHEAD


_STUDENT_CHART = Chart(
    student_data, student_points, ghosts=False, tried=("merge_ratio", "class_name", "measure")
)

ResidualLab = Lab(
    "Does a residual bring the image back?",
    World,
    controls=("merge_ratio", "merges", "class_name", "measure"),
    # Ratios that Figure 4 has need no run of their own.
    recorded={"merge_ratio": 3, "merges": 2, "class_name": 2, "step": 4},
    pairs=[("merges", "step")],
    folded=("small_size", "iterations", "learning_rate", "initialisation", "images_per_class"),
    labels={
        "class_name": "class in the row",
        "measure": "measure",
        "images_per_class": "images per class, for students",
        "initialisation": "start",
        "iterations": "steps (B)",
        "small_size": "pixels in odd stages",
    },
    check=World.check,
    run=World.run,
    jobs=list_jobs,
    shared=share_runs,
    job_words=lambda world, run: (
        f"α = {run.config.merge_ratio:g}" if run.process is fadrm else "real images"
    ),
    buttons=[STUDENTS.button("On FADRM's images, and on their patches", _STUDENT_CHART)],
    views=[
        Strip(strip_data, ratios_strip),
        Tabs(
            ("What is left", Chart(curve_data, curves, cursor=step_on_show)),
            ("Landscape", Chart(landscape_data, landscape_chart, ghosts=False)),
            ("Students", _STUDENT_CHART),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"Find an α whose students are {100 * AHEAD:.0f} points ahead of those of the patches, in the "
        "mean.",
        ahead_of_patches,
        solution=[("merge_ratio", 0.2), (BUTTON, "Train students")],
    ),
)
