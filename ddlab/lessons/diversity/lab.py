"""The laboratory of diversity: DWA on images, with random real images beside it.

DiversityLab(data, teacher)
DiversityLab(data, teacher, dwa.Config.teaching(images_per_class=2, iterations=50)).run()     # in the foreground

The map is fitted once and stands still, so that runs can be compared on it. A change shows the
nearest images there are, recorded for the lesson's data or made before, at once; the run that was
asked for follows.
"""

import functools
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch

from ...evaluation import embeddings
from ...explorers import Chart, Lab, Quest, Results, Strip, Tabs, Value
from ...explorers.views import Row
from ...figures import encode_grid, sets_on_map
from ...figures.theme import (
    DASHED,
    finish_figure,
    legend_below,
    line_style,
    neutral,
    series_style,
    stacked_figure,
)
from ...methods import dwa, selection
from ...methods.shared import recovery
from . import students
from .world import Images, NamedImages, Settings, Source, World, decisive, real, settings_distance

# stops of the sliders
WEIGHTS = (0.01, 0.03, 0.11, 0.33, 1.0)
# A factor of three apart; DWA's own is the first.
RADII = (0.015, 0.05, 0.15, 0.5)
_HEIGHT = 310  # of a plot, in pixels: the pictures stand above it
_PCA = embeddings.Config()  # the map's
STARTS = ("noise", "real")
THIS_RUN = "this run"
NEAREST_RUN = "nearest so far"
REAL = "random real"
BEFORE = "run before"


def compared(world: World, settings: Settings, results: Results) -> dict[str, Images]:
    """Return the images that are compared.

    They are of this run or the nearest there are, of random real ones, and of the run before, if
    any.
    """
    (run,) = results.jobs
    config = run.config
    if run.complete:
        results.compute_now(world.images, config)
    past_images = {}
    for past in map(world.config, results.past):
        past_images[past] = results(Value(world.images, past))
    # The newest first.
    older = {}
    for past, images in past_images.items():
        if images is not None:
            older[past] = images
    name = THIS_RUN
    current = older.pop(config, None)
    if current is None:
        nearest = min(
            [*older, *world.film, world.config(world.start)],
            key=lambda candidate: settings_distance(candidate, config),
        )
        name = NEAREST_RUN
        current = older.get(nearest) or results.compute_now(
            world.recorded if nearest in world.film else world.images, nearest
        )
    image_sets = {name: current, REAL: results.compute_now(world.images, real(current.source))}
    return image_sets | ({BEFORE: next(iter(older.values()))} if older else {})


# -- what is drawn of them


def map_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the compared images and the plane that holds all that was ever placed on the map."""
    layer = settings.layer
    placed = []
    for compute in (world.images, world.recorded):
        for _, images in results.every(compute):
            placed.append(images.places[layer])
    x, y = zip(
        *(place.extent for place in [world.mapped.map(layer, _PCA), *placed]),
        strict=True,
    )
    ranges = []
    for limits in (x, y):
        ranges.append((min(low for low, _ in limits), max(high for _, high in limits)))
    extent = tuple(ranges)
    return *picture_data(world, settings, results), layer, extent


def map_figure(world: World, image_sets: NamedImages, layer: str, extent: Any) -> go.Figure:
    """Draw all compared images on the one map of a layer.

    The title has the coverage of those on show.
    """
    classes = world.data.class_names
    on = world.mapped.map(layer, _PCA)
    points_by_set = {}
    classes_by_set = {}
    for name, images in image_sets:
        points_by_set[name] = images.places[layer].points
        classes_by_set[name] = [classes[label] for label in images.labels.tolist()]
    figure = sets_on_map(
        on.real,
        points_by_set,
        set_classes=classes_by_set,
        density=(on.density.x, on.density.y, on.density.rank),
        extent=extent,
        title=f"PCA of {layer}: {image_sets[0][1].places[layer].coverage:.1%} covered",
        height=_HEIGHT,
    )
    if (
        isinstance(image_sets[0][1].source, dwa.Config)
        and image_sets[0][1].source.initialisation == "real"
    ):
        by_class = []
        for _, images in image_sets[:2]:
            by_class.append((images.places[layer].points, images.labels.argsort(stable=True)))
        end_points, start_points = (points[order] for points, order in by_class)
        gap = torch.full_like(start_points, torch.nan)  # ends each line
        x, y = torch.stack([start_points, end_points, gap], 1).flatten(0, 1).T
        line = {"color": neutral("quiet"), "width": 1}
        figure.add_scatter(
            x=x.tolist(),
            y=y.tolist(),
            mode="lines",
            line=line,
            name="from start to result",
            hoverinfo="skip",
        )
    figure.layout.uirevision = layer  # a reader's zoom is kept on the same map
    return figure


def picture_data(world: World, settings: Settings, results: Results) -> tuple[World, NamedImages]:
    """Return the images on show and the real ones, in turn."""
    return world, tuple(results.shared.items())


def pictures(world: World, image_sets: NamedImages) -> tuple[bytes, str]:
    """Draw the images on show and the real ones, a column for each class, and describe them."""
    data = world.data
    rows = list[np.ndarray]()
    names = list[str]()
    for name, images in image_sets[:2]:
        per_class = images.source.images_per_class
        for place in range(per_class):
            rows.append(images.pixels[place::per_class])
        names += [name, *[""] * (per_class - 1)]
    scale = max(1, round(32 / data.image_size[1]))
    alt = (
        f"{image_sets[0][0]}, then {image_sets[1][0]}: {per_class} images of each class, a column for each of "
        f"{', '.join(data.class_names)}."
    )
    return encode_grid(np.concatenate(rows), data.classes, scale, row_labels=names), alt


@functools.lru_cache(maxsize=64)
def grid_configs(config: dwa.Config) -> tuple[dwa.Config, ...]:
    """Return the config with each start and each weight of the grid, and with its own weight."""
    configs = []
    for start in STARTS:
        for weight in sorted({*WEIGHTS, config.lambda_var}):
            configs.append(config.replace(initialisation=start, lambda_var=weight))
    return tuple(configs)


def grid_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return (lambda_var, distance, coverage) by start, of the push on show.

    They are of images made before or recorded, of the chosen ones, and of random real ones.
    """
    config = results.jobs[0].config
    points_by_start = dict[str, list[tuple[float, float, float]]]()
    for grid_config in grid_configs(config):
        images = results(Value(world.images, grid_config))
        recorded = world.recorded_as.get(decisive(grid_config))
        if images is None and recorded is not None:
            images = results.compute_now(world.recorded, recorded)
        if images is not None:
            scores = float(images.distances.mean()), images.places[settings.layer].coverage
            points = points_by_start.setdefault(grid_config.initialisation, [])
            points.append((grid_config.lambda_var, *scores))
    chosen = results.shared[REAL]
    real_scores = float(chosen.distances.mean()), chosen.places[settings.layer].coverage
    current = config.initialisation, config.lambda_var, config.perturbation
    return (
        current,
        tuple((start, tuple(rows)) for start, rows in points_by_start.items()),
        real_scores,
    )


def grid(
    current: tuple[str, float, str], points_by_start: tuple, real_scores: tuple[float, float]
) -> go.Figure:
    """Draw distance and coverage against the weight of the variance gap, a line for each start."""
    names = ("distance", "coverage")
    words = {"none": "without a push", "random": "random push", "directed": "directed push"}
    title = f"Start and λ_var, {words[current[2]]}"
    figure = stacked_figure(title, "λ_var", names, _HEIGHT)
    descriptions = list[str]()
    for row, name in enumerate(names, start=1):
        for start, points in points_by_start:
            style = series_style(STARTS.index(start))
            x = [point[0] for point in points]
            y = [point[row] for point in points]
            ring = []
            for at in x:
                ring.append(16 if (start, at) == current[:2] else 7)
            look = line_style(style, markers=True)
            look["marker"] = {**look["marker"], "size": ring}
            figure.add_scatter(
                x=x,
                y=y,
                name=f"from {start}",
                showlegend=row == 1,
                legendgroup=start,
                row=row,
                col=1,
                **look,
            )
            for at, value in zip(x, y, strict=True):
                descriptions.append(f"from {start}, λ_var {at:g}: {name} {value:.2f}")
        look = {
            "mode": "lines",
            "line": DASHED,
            "name": "random real",
            "legendgroup": "real images",
        }
        figure.add_scatter(
            x=[WEIGHTS[0], WEIGHTS[-1]],
            y=[real_scores[row - 1]] * 2,
            showlegend=row == 1,
            row=row,
            col=1,
            **look,
        )
    figure.update_xaxes(
        type="log", tickvals=WEIGHTS, ticktext=[f"{weight:g}" for weight in WEIGHTS]
    )
    return finish_figure(legend_below(figure), alt=f"{title}: {'; '.join(descriptions)}.")


def source_text(source: Source) -> str:
    """Return the settings that made images."""
    budget = f"{source.images_per_class} per class, seed {source.seed}"
    if isinstance(source, selection.Config):
        return budget
    start = "real images" if source.initialisation == "real" else "noise"
    push = (
        f"{source.perturbation} push, K = {source.adjustment_steps}, ρ = "
        f"{source.adjustment_radius:g}"
    )
    return (
        f"from {start}, λ_mean = {source.lambda_mean:g}, λ_var = {source.lambda_var:g}, "
        f"{'no push' if source.perturbation == 'none' else push}, {budget}, "
        f"{source.iterations} updates"
    )


def farther_and_covering_less(world: World, settings: Settings, results: Results) -> bool:
    """Return whether this run's images lie farther apart than the last run's and cover less."""
    if not {THIS_RUN, BEFORE} <= {*results.shared}:
        return False
    current = results.shared[THIS_RUN]
    before = results.shared[BEFORE]
    covered = current.places[settings.layer].coverage
    earlier = before.places[settings.layer].coverage
    return bool(current.distances.mean() > before.distances.mean()) and covered < earlier


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what the images on show are worth, beside random real ones."""
    (name, current), (_, chosen), *_ = results.shared.items()
    coming = "" if name == THIS_RUN else "Your images are being made; the nearest there are: "
    covered = current.places[settings.layer].coverage
    real_coverage = chosen.places[settings.layer].coverage
    return (
        f"{coming}{source_text(current.source)}: feature distance {float(current.distances.mean()):.3f} "
        "(random real "
        f"{float(chosen.distances.mean()):.3f}), coverage {covered:.1%} "
        f"(random real {real_coverage:.1%})."
    )


DiversityLab = Lab(
    "What makes recovered images differ?",
    World,
    controls=("initialisation", "lambda_var", "perturbation", "adjustment_radius"),
    folded=("lambda_mean", "adjustment_steps", "images_per_class", "iterations", "seed", "layer"),
    labels={
        "layer": "map of teacher's",
        "initialisation": "start",
        "perturbation": "push",
        "adjustment_radius": "length of the push (ρ)",
        "adjustment_steps": "steps of the push (K)",
        "images_per_class": "images per class",
        "iterations": "updates",
    },
    stops=lambda world: {
        "lambda_var": {weight: f"{weight:g}" for weight in WEIGHTS},
        "adjustment_radius": {radius: f"{radius:g}" for radius in RADII},
    },
    check=lambda world, settings: recovery.check_images_per_class(
        world.data, settings.images_per_class
    ),
    unused=lambda world, settings: (
        ("adjustment_steps", "adjustment_radius") if settings.perturbation == "none" else ()
    ),
    jobs=lambda world, settings, run: [world.run(settings)],
    shared=compared,
    job_words=lambda world, run: "images",
    buttons=[students.BUTTON],
    views=[
        Row(
            Strip(picture_data, pictures),
            Tabs(
                ("Start and λ_var", Chart(grid_data, grid)),
                ("Map", Chart(map_data, map_figure)),
                ("Students", students.VIEW),
            ),
        )
    ],
    sentence=sentence,
    quest=Quest(
        "By one change, make images that lie farther apart than those before, and cover "
        "fewer real ones.",
        farther_and_covering_less,
    ),
)
