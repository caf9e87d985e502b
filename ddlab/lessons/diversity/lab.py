"""The laboratory of diversity: DWA on images, with random real images beside it.

DiversityLab(data, teacher)
DiversityLab(data, teacher, dwa.Config.teaching(images_per_class=2, iterations=50)).run()     # in the foreground

The map is fitted once and stands still, so that runs can be compared on it. A change shows the
nearest images there are, recorded for the lesson's data or made before, at once; the run that was
asked for follows.
"""

import functools
import itertools
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch

from ...explorers import Chart, Lab, Named, Quest, Results, Row, Strip, Tabs, Value
from ...figures import alt_text, encode_grid, finish_figure, sets_on_map
from ...figures.theme import neutral
from ...figures.tried import tried_settings
from ...methods import dwa, selection
from ...methods.shared import descent
from . import students
from .coverage import Map, map_extent
from .world import (
    KINDS,
    Images,
    NamedImages,
    Settings,
    Source,
    World,
    decisive,
    real,
    settings_distance,
)

# stops of the sliders
WEIGHTS = (0.01, 0.03, 0.11, 0.33, 1.0)
# A factor of three apart; DWA's own is the first.
RADII = (0.015, 0.05, 0.15, 0.5)
_ROWS = 2  # of each class and set at most so many images are shown
_HEIGHT = 332  # of a plot, in pixels: the pictures stand above it
_LITTLE = 0.1  # coverage that the quest asks to stay below
STARTS = ("noise", "real")
THIS_RUN = "this run"
NEAREST_RUN = "nearest so far"
REAL = "random real"


def compared(world: World, settings: Settings, results: Results) -> dict[str, Images]:
    """Return the images that are compared.

    They are of this run or the nearest there are, and of random real ones.
    """
    run, _ = results.jobs
    config = run.config
    if run.complete:
        results.compute_now(world.images, config)
    past_images = {
        past: results(Value(world.images, past)) for past in map(world.config, results.past)
    }
    # The newest first.
    older = {past: images for past, images in past_images.items() if images is not None}
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
    return {name: current, REAL: results.compute_now(world.images, real(current.source))}


# -- what is drawn of them


def map_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the map, the compared images, and the class whose images have lines.

    Until UMAP is there, the map is a t-SNE.
    """
    fitted_map = results(Value(world.fitted, KINDS[settings.map], settings.layer))
    kind = settings.map
    if fitted_map is None and kind == "UMAP":
        kind = "t-SNE"
    if fitted_map is None:
        fitted_map = results.compute_now(world.fitted, KINDS[kind], settings.layer)
    return {
        **picture_data(world, settings, results),
        "kind": kind,
        "layer": settings.layer,
        "fitted_map": fitted_map,
        "moves": settings.moves,
    }


def map_figure(
    world: World, image_sets: NamedImages, kind: str, layer: str, fitted_map: Map, moves: str
) -> go.Figure:
    """Draw the compared images on one map of a layer, each class with its name.

    The title has the coverage of those on show.
    """
    names = world.data.class_names
    places = [fitted_map.place(images.outputs[layer]) for _, images in image_sets]
    figure = sets_on_map(
        fitted_map.real,
        {name: place for (name, _), place in zip(image_sets, places, strict=True)},
        set_classes={
            name: [names[label] for label in images.labels.tolist()] for name, images in image_sets
        },
        real_classes=[names[label] for label in world.mapped.labels.tolist()],
        density=(fitted_map.density.x, fitted_map.density.y, fitted_map.density.rank),
        extent=map_extent(torch.cat([fitted_map.real, *places]), margin=0.06),
        title=f"{kind} of {layer}: {image_sets[0][1].coverage[layer]:.1%} covered",
        height=_HEIGHT,
    )
    if moves in names:
        ends, starts = (
            place[images.labels == names.index(moves)]
            for place, (_, images) in zip(places, image_sets, strict=True)
        )
        gap = torch.full_like(starts, torch.nan)  # ends each line
        x, y = torch.stack([starts, ends, gap], 1).flatten(0, 1).T
        figure.add_scatter(
            x=x.tolist(),
            y=y.tolist(),
            mode="lines",
            line={"color": neutral("text"), "width": 2},
            name="from start to result",
            hoverinfo="skip",
        )
    figure.layout.uirevision = kind + layer  # a reader's zoom is kept on the same map
    return finish_figure(figure, alt=alt_text(figure), coordinates=kind + layer)


def picture_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the images on show and the real ones, in turn."""
    return {"world": world, "image_sets": tuple(results.shared.items())}


def pictures(world: World, image_sets: NamedImages) -> tuple[bytes, str]:
    """Draw the images on show and the real ones, a column for each class, and describe them."""
    data = world.data
    rows = list[np.ndarray]()
    names = list[str]()
    for name, images in image_sets[:2]:
        per_class = images.source.images_per_class
        row_count = min(per_class, _ROWS)
        for place in range(row_count):
            rows.append(images.pixels[place::per_class])
        names += [name, *[""] * (row_count - 1)]
    alt = (
        f"{image_sets[0][0]}, then {image_sets[1][0]}: {row_count} images of each class, "
        f"a column for each of {', '.join(data.class_names)}."
    )
    return encode_grid(np.concatenate(rows), data.classes, cell=29, row_labels=names), alt


@functools.lru_cache(maxsize=64)
def grid_configs(config: dwa.Config) -> tuple[dwa.Config, ...]:
    """Return the config with each start and each weight of the grid, and with its own weight."""
    pairs = itertools.product(STARTS, sorted({*WEIGHTS, config.lambda_var}))
    return tuple(config.replace(initialisation=start, lambda_var=weight) for start, weight in pairs)


# How far apart the images of a set lie, and the fraction of the real images that it covers.
Scored = tuple[float, float]


def trade_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the images on show, those that were made or recorded, and random real ones.

    These are of both starts and all weights, for the push on show or none.
    """
    config = results.jobs[0].config
    layer = settings.layer
    scored = {}
    for grid_config in grid_configs(config):
        recorded = world.recorded_as.get(decisive(grid_config))
        if recorded is not None:
            images = results.compute_now(world.recorded, recorded)
            scored[decisive(grid_config)] = _score(images, layer)
    pushes = {_push(config), _push(config.replace(perturbation="none"))}
    for _, images in results.every(world.images):
        source = images.source
        is_like = isinstance(source, dwa.Config) and _push(source) in pushes
        if is_like and source.images_per_class == config.images_per_class:
            scored[decisive(source)] = _score(images, layer)
    current = next(iter(results.shared.values()))
    return {
        "current": _score(current, layer),
        "scored": scored,
        "real_images": _score(results.shared[REAL], layer),
    }


def _push(config: dwa.Config) -> tuple[Any, ...]:
    """Return the settings of the push, as far as they decide on the images."""
    plain = decisive(config)
    return plain.perturbation, plain.adjustment_steps, plain.adjustment_radius


def _score(images: Images, layer: str) -> Scored:
    return float(images.distances.mean()), images.coverage[layer]


def trade(current: Scored, scored: dict[Any, Scored], real_images: Scored) -> go.Figure:
    """Draw coverage over distance: a line along the weights for each start and push."""
    arms: dict[str, dict[float, list[float]]] = {f"from {start}": {} for start in STARTS}
    for config in sorted(scored, key=lambda config: config.lambda_var):
        name = f"from {config.initialisation}"
        if config.perturbation != "none":
            name = f"{config.initialisation}, pushed"
        distance, coverage = scored[config]
        arms.setdefault(name, {})[distance] = [coverage]
    return tried_settings(
        arms,
        rivals={REAL: {real_images[0]: [real_images[1]]}},
        on_show=current,
        title="Do images that lie farther apart cover more?",
        x_label="feature distance within a class",
        y_label="coverage of real images",
        limits=(0.0, 0.5),
        height=_HEIGHT,
    )


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
    """Return whether this run's images began as real ones, lie farther apart, and cover little."""
    if settings.initialisation != "real" or THIS_RUN not in results.shared:
        return False
    current, chosen = results.shared[THIS_RUN], results.shared[REAL]
    is_farther = bool(current.distances.mean() > chosen.distances.mean())
    return is_farther and current.coverage[settings.layer] < _LITTLE


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what the images on show are worth, beside random real ones."""
    (name, current), (_, chosen), *_ = results.shared.items()
    covered = current.coverage[settings.layer]
    real_coverage = chosen.coverage[settings.layer]
    measured = (
        f"{source_text(current.source)}: feature distance {float(current.distances.mean()):.3f} "
        f"and coverage {covered:.1%}. Random real images: {float(chosen.distances.mean()):.3f} and "
        f"{real_coverage:.1%}."
    )
    if name == THIS_RUN:
        return f"Images {measured}"
    return f"Your images are being recovered. The nearest ones so far, {measured}"


_MAP = Chart(map_data, map_figure, ghosts=False)
DiversityLab = Lab(
    "What makes recovered images differ?",
    World,
    controls=("initialisation", "lambda_var", "perturbation", "adjustment_radius"),
    pairs=[("initialisation", "lambda_var"), ("perturbation", "adjustment_radius")],
    folded=(
        "map",
        "layer",
        "moves",
        "lambda_mean",
        "adjustment_steps",
        "images_per_class",
        "iterations",
        "seed",
    ),
    labels={
        "layer": "map of teacher's",
        "moves": "map: lines of",
        "initialisation": "start",
        "perturbation": "push",
        "adjustment_radius": "length of the push (ρ)",
        "adjustment_steps": "steps of the push (K)",
        "images_per_class": "images per class",
        "iterations": "updates",
    },
    opens={"map": _MAP, "moves": _MAP},
    stops=lambda world: {
        "lambda_var": {weight: f"{weight:g}" for weight in WEIGHTS},
        "lambda_mean": {weight: f"{weight:g}" for weight in WEIGHTS},
        "adjustment_radius": {radius: f"{radius:g}" for radius in RADII},
    },
    check=lambda world, settings: descent.check_images_per_class(
        world.data, settings.images_per_class
    ),
    unused=lambda world, settings: (
        (("adjustment_steps", "adjustment_radius") if settings.perturbation == "none" else ())
        + (("moves",) if settings.initialisation == "noise" else ())
    ),
    jobs=lambda world, settings, run: [
        world.run(settings),
        Value(world.fitted, KINDS[settings.map], settings.layer),
    ],
    shared=compared,
    job_words=lambda world, run: "images",
    buttons=[students.BUTTON],
    views=[
        Row(
            Strip(picture_data, pictures),
            Tabs(
                (
                    "Distance and coverage",
                    Chart(trade_data, trade, ghosts=False, tried=("initialisation", "lambda_var")),
                ),
                ("Map", _MAP),
                ("Students", students.VIEW),
            ),
        )
    ],
    sentence=sentence,
    quest=Quest(
        "Begin with real images, and make images that lie farther apart than random real ones and "
        f"yet cover less than {_LITTLE:.0%}.",
        farther_and_covering_less,
        solution=[
            ("initialisation", "real"),
            ("perturbation", "directed"),
            ("adjustment_radius", 0.5),
        ],
    ),
)
