"""The laboratory of diversity: DWA on images, with random real images beside it.

DiversityLab(data, teacher)
DiversityLab(data, teacher, dwa.Config.teaching(images_per_class=2, iterations=50)).run()     # in the foreground

The map is fitted once and stands still, so that runs can be compared on it. A change shows the nearest images there are, recorded for
the lesson's data or made before, at once; the run that was asked for follows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...evaluation import embeddings
from ...explorers import Chart, Lab, Quest, Results, Strip, Tabs, Value
from ...explorers.ready import Asked, Students
from ...explorers.views import Row
from ...figures import distances_by_class, encode_grid, sets_on_map
from ...methods import recovery, selection
from .world import Images, NamedImages, Settings, Source, World, real, settings_distance

WEIGHTS, RADII = (0.01, 0.03, 0.11, 0.33, 1.0), (0.015, 0.05, 0.15, 0.5)  # stops of the sliders
_HEIGHT = 310  # of a plot, in pixels: the pictures stand above it
NOW, NEAR, REAL, BEFORE = "this run", "nearest so far", "random real", "run before"


def compared(world: World, settings: Settings, known: Results) -> dict[str, Images]:
    """What is compared: this run or the nearest images there are, as many random real ones, and the run before if there is one."""
    (run,) = known.wanted
    config = run.config
    if run.complete:
        known.now(world.images, config)
    asked = {past: known(Value(world.images, past)) for past in map(world.config, known.past)}
    others = {past: images for past, images in asked.items() if images is not None}  # the newest first
    name, now = NOW, others.pop(config, None)
    if now is None:
        near = min([*others, *world.film, world.config(world.start)], key=lambda one: settings_distance(one, config))
        name, now = NEAR, others.get(near) or known.now(world.recorded if near in world.film else world.images, near)
    shown = {name: now, REAL: known.now(world.images, real(now.source))}
    return shown | ({BEFORE: next(iter(others.values()))} if others else {})


# -- what is drawn of them


def map_data(world: World, settings: Settings, known: Results) -> tuple:
    """What is compared, and the plane that holds all that was ever placed on the map."""
    layer = settings.layer
    placed = [images.places[layer] for compute in (world.images, world.recorded) for _, images in known.every(compute)]
    x, y = zip(*(one.extent for one in [world.mapped.map(layer, embeddings.Config()), *placed]), strict=True)
    extent = tuple((min(low for low, _ in ends), max(high for _, high in ends)) for ends in (x, y))
    return *drawn(world, settings, known), layer, extent


def map_figure(world: World, shown: NamedImages, layer: str, extent: Any) -> go.Figure:
    """All compared images on the one map of a layer; the title has the coverage of those on show."""
    classes, on = world.data.class_names, world.mapped.map(layer, embeddings.Config())
    figure = sets_on_map(
        on.real,
        {name: images.places[layer].points for name, images in shown},
        set_classes={name: [classes[label] for label in images.labels.tolist()] for name, images in shown},
        density=(on.density.x, on.density.y, on.density.rank),
        extent=extent,
        title=f"PCA of {layer}: {shown[0][1].places[layer].coverage:.1%} covered",
        height=_HEIGHT,
    )
    figure.layout.uirevision = layer  # a reader's zoom is kept on the same map
    return figure


def drawn(world: World, settings: Settings, known: Results) -> tuple[World, NamedImages]:
    """What is compared, in turn."""
    return world, tuple(known.found.items())


def pictures(world: World, shown: NamedImages) -> tuple[bytes, str]:
    """Those on show and the real ones, a column for each class, and the words for who does not see them."""
    data, rows, names = world.data, list[np.ndarray](), list[str]()
    for name, images in shown[:2]:
        each = images.source.images_per_class
        rows += [images.pixels[place::each] for place in range(each)]
        names += [name, *[""] * (each - 1)]
    scale = max(1, round(32 / data.image_size[1]))
    alt = f"{shown[0][0]}, then {shown[1][0]}: {each} images of each class, a column for each of {', '.join(data.class_names)}."
    return encode_grid(np.concatenate(rows), data.classes, scale, row_labels=names), alt


def distance_figure(world: World, shown: NamedImages) -> go.Figure:
    """The feature distance inside each class."""
    distances = {name: images.distances for name, images in shown}
    return distances_by_class(world.data.class_names, distances, height=_HEIGHT)


def in_words(source: Source) -> str:
    """The settings that made images."""
    each = f"{source.images_per_class} per class, seed {source.seed}"
    if isinstance(source, selection.Config):
        return each
    start = "real images" if source.initialisation == "real" else "noise"
    push = f"{source.perturbation} push, K = {source.adjustment_steps}, ρ = {source.adjustment_radius:g}"
    return (
        f"from {start}, λ_mean = {source.lambda_mean:g}, λ_var = {source.lambda_var:g}, "
        f"{'no push' if source.perturbation == 'none' else push}, {each}, {source.iterations} updates"
    )


def farther_than_real(world: World, settings: Settings, known: Results) -> bool:
    """Whether the images of this run lie farther apart than as many random real ones: a choice that learns nothing."""
    shown = known.found
    return NOW in shown and bool(shown[NOW].distances.mean() > shown[REAL].distances.mean())


def sentence(world: World, settings: Settings, known: Results) -> str:
    """What the images on show are worth, beside random real ones."""
    (name, now), (_, chosen), *_ = known.found.items()
    coming = "" if name == NOW else "Your images are being made; the nearest there are: "
    chance = world.mapped.chance(settings.layer, now.source.images_per_class)
    return (
        f"{coming}{in_words(now.source)}: feature distance {float(now.distances.mean()):.3f} (random real "
        f"{float(chosen.distances.mean()):.3f}), coverage {now.places[settings.layer].coverage:.1%} "
        f"(random real {chance:.1%} on average)."
    )


def asked(world: World, settings: Settings, known: Results) -> Asked:
    """Students of this run and of random real images, with class numbers and with the teacher's labels."""
    config = known.wanted[0].config
    sources: dict[str, Source] = {"these images": config, "random real images": real(config)}
    return {
        name: {
            labels: [Value(world.accuracy, source, labels, seed) for seed in world.seeds]
            for labels in ("hard", "online")
        }
        for name, source in sources.items()
    }


students = Students(
    asked,
    lambda settings: f"Students' test accuracy, {settings.images_per_class} images per class: mean (95% interval)",
    first=lambda world, settings: [world.run(settings)],
)

DiversityLab = Lab(
    "What makes recovered images differ?",
    World,
    controls=("initialisation", "lambda_var", "perturbation", "adjustment_radius"),
    more=("lambda_mean", "adjustment_steps", "images_per_class", "iterations", "seed", "layer"),
    labels={"layer": "map of teacher's"},
    stops=lambda world: {
        "lambda_var": {weight: f"{weight:g}" for weight in WEIGHTS},
        "adjustment_radius": {radius: f"{radius:g}" for radius in RADII},
    },
    check=lambda world, settings: recovery.check_images_per_class(world.data, settings.images_per_class),
    unused=lambda world, settings: ("adjustment_steps", "adjustment_radius") if settings.perturbation == "none" else (),
    wanted=lambda world, settings, run: [world.run(settings)],
    found=compared,
    job_words=lambda world, run: "images",
    buttons=[students.button],
    views=[
        Row(
            Strip(drawn, pictures),
            Tabs(
                ("Map", Chart(map_data, map_figure)),
                ("Distances", Chart(drawn, distance_figure)),
                ("Students", students.view),
            ),
        )
    ],
    sentence=sentence,
    quest=Quest(
        "Pull the images of a class farther apart than real ones are. Then look at the coverage.", farther_than_real
    ),
)
