"""The laboratory of diversity: DWA on images, with every setting at hand and random real images beside it.

DiversityLab(data, teacher)
DiversityLab(data, teacher, dwa.Config.teaching(images_per_class=2, iterations=50)).run()     # with students, in the foreground

The map is fitted once and stands still, so that runs can be compared on it. The images of a change are recovered at once where that
takes less than `at_once` seconds by the last run, else when Run is pressed; students follow. Until there are others, the last images
stay on show.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...explorers.lab import Compute, Known, Lab, Value
from ...explorers.quest import Quest
from ...explorers.tables import table
from ...explorers.views import Chart, Column, Html, Row, Strip, Tabs
from ...figures import cell_table, distances_by_class, encode_grid, sets_on_map
from ...methods import dwa
from ...runs import Run
from .world import BEFORE, LABELS, NOW, REAL, Images, Settings, Source, World, real

_RUNS = 5  # in the table
_MAP_HEIGHT, _HEIGHT = 400, 260
_HEADS = (
    *("images", "λ_mean", "λ_var", "adjustment", "start", "per class", "updates", "η", "seed"),
    *("feature distance", "coverage", "accuracy, hard labels", "accuracy, online labels"),
)
Scored = tuple[Images, tuple[float | None, ...]]
"""Images, and the accuracy of a student for each of LABELS, as far as it is known."""


def jobs(world: World, settings: Settings, known: Known | None = None) -> list[Run | Value]:
    """The images, then students of both kinds on them and on real ones."""
    sources = settings.config, real(settings.config)
    students = [Value(world.accuracy, source, labels) for labels in LABELS for source in sources]
    return [world.run(settings.config), Value(world.images, settings.config), *students]


def at_once(world: World, new: Settings, old: Settings | None, known: Known) -> bool:
    """Whether other images are asked for, which do not take long."""
    return old is not None and new.config != old.config and world.seconds(new.config) <= world.at_once


def runs(world: World, settings: Settings, known: Known) -> tuple[World, str, tuple[Scored, ...]]:
    """The last runs that were asked for and are there, the newest, which is on show, first; then as many real images."""
    found: dict[Source, Images] = {}
    for past in known.past:
        images = known(Value(world.images, past.config))
        if images is not None:
            found[images.source] = images
        if len(found) == _RUNS:
            break
    shown = [*found.values()] or [known.now(world.images, world.start.config)]
    shown.append(known.now(world.images, real(shown[0].source)))
    scores = [tuple(known(Value(world.accuracy, one.source, labels)) for labels in LABELS) for one in shown]
    return world, settings.layer, tuple(zip(shown, scores, strict=True))


def compared(scored: tuple[Scored, ...]) -> dict[str, Scored]:
    """What is compared; a name keeps its colour."""
    return {NOW: scored[0], REAL: scored[-1]} | ({BEFORE: scored[1]} if len(scored) > 2 else {})


# -- what is drawn of them


def map_data(world: World, settings: Settings, known: Known) -> tuple:
    """With the plane that holds all that was ever placed on the map."""
    placed = [world.map(settings.layer), *(images.places[settings.layer] for _, images in known.every(world.images))]
    x, y = zip(*(one.extent for one in placed), strict=True)
    extent = tuple((min(low for low, _ in ends), max(high for _, high in ends)) for ends in (x, y))
    return *runs(world, settings, known), extent


def map_figure(world: World, layer: str, scored: tuple[Scored, ...], extent: Any) -> go.Figure:
    """All compared images on the one map of a layer; the title has the coverage of the run on show."""
    names, on = world.data.class_names, world.map(layer)
    shown = {name: images for name, (images, _) in compared(scored).items()}
    figure = sets_on_map(
        on.real,
        {name: images.places[layer].points for name, images in shown.items()},
        real_classes=[names[label] for label in world.mapped.labels.tolist()],
        set_classes={name: [names[label] for label in images.labels.tolist()] for name, images in shown.items()},
        density=(on.density.x, on.density.y, on.density.rank),
        extent=extent,
        title=f"PCA of the teacher's {layer}; coverage {percent(shown[NOW].places[layer].coverage)}",
        height=_MAP_HEIGHT,
    )
    figure.layout.uirevision = layer  # a reader's zoom is kept on the same map
    return figure


def picture_now(world: World, layer: str, scored: tuple[Scored, ...]) -> tuple[bytes, str]:
    """The images of the run on show."""
    return _picture(world, NOW, scored)


def picture_real(world: World, layer: str, scored: tuple[Scored, ...]) -> tuple[bytes, str]:
    """The random real ones."""
    return _picture(world, REAL, scored)


def _picture(world: World, name: str, scored: tuple[Scored, ...]) -> tuple[bytes, str]:
    images, _ = compared(scored)[name]
    width, each = images.pixels.shape[-1], images.source.images_per_class
    scale = max(1, min(round(48 / width), 200 // (each * width)))  # beside the map there is room for two
    alt = f"{len(images.pixels)} images, {name}: one row per class, {each} in each."
    return encode_grid(images.pixels, columns=each, scale=scale, row_labels=world.data.class_names), alt


def _captioned(name: str, strip: Strip) -> Column:
    return Column(Html(lambda world, settings, known: (f"<b>{name}</b>",), str), strip)


def distance_figure(world: World, layer: str, scored: tuple[Scored, ...]) -> go.Figure:
    """The feature distance inside each class."""
    distances = {name: images.distances for name, (images, _) in compared(scored).items()}
    return distances_by_class(world.data.class_names, distances, height=_HEIGHT)


def accuracy_figure(world: World, layer: str, scored: tuple[Scored, ...]) -> go.Figure:
    """The accuracy of students."""
    shown = compared(scored)
    return cell_table(
        np.array([scores for _, scores in shown.values()], dtype=float),
        [f"{labels} labels" for labels in LABELS],
        tuple(shown),
        height=_HEIGHT,
        empty="not yet",
        title="Test accuracy of one student each",
        x_label="labels it learns from",
        y_label="images it learns from",
    )


def run_table(world: World, layer: str, scored: tuple[Scored, ...]) -> str:
    """HTML: a row per run, the newest first, and one of real images for the newest."""
    names = ["this run", *[f"{back} before" for back in range(1, len(scored) - 1)], "random real images"]
    rows = []
    for name, (images, scores) in zip(names, scored, strict=True):
        worth = f"{float(images.distances.mean()):.3f}", percent(images.places[layer].coverage), *map(percent, scores)
        rows.append([name, *_settings(images.source), *worth])
    return table("The last runs", _HEADS, rows)


def _settings(source: Source) -> list[str]:
    each, seed = str(source.images_per_class), str(source.seed)
    if not isinstance(source, dwa.Config):
        return [*["–"] * 4, each, "0", "–", seed]
    weights = [f"{source.lambda_mean:g}", f"{source.lambda_var:g}"]
    updates = [each, str(source.iterations), f"{source.learning_rate:g}", seed]
    return [*weights, adjustment_in_words(source), source.initialisation, *updates]


def farther_than_real(world: World, settings: Settings, known: Known) -> bool:
    """Whether the images on show lie farther apart than as many random real ones: a choice that learns nothing."""
    scored = compared(runs(world, settings, known)[2])
    return bool(scored[NOW][0].distances.mean() > scored[REAL][0].distances.mean())


# -- in words


def sentence(world: World, settings: Settings, known: Known) -> str:
    """What the run on show gave, beside random real images; or what is to be done for those that are asked for."""
    seconds = world.seconds(settings.config)
    if seconds > world.at_once and not known.doing(world.run(settings.config)):
        return f"Press Run: these images take about {seconds:.1f} s, then students learn from them."
    layer, scored = settings.layer, compared(runs(world, settings, known)[2])
    (shown, scores), (chosen, scores_of_real) = scored[NOW], scored[REAL]
    config: Any = shown.source
    chance = world.mapped.chance(layer, config.images_per_class)
    start = "real images" if config.initialisation == "real" else "noise"
    text = (
        f"λ_mean = {config.lambda_mean:g}, λ_var = {config.lambda_var:g}, adjustment {adjustment_in_words(config)}, from {start}, "
        f"{config.images_per_class} per class, {config.iterations} updates: feature distance {float(shown.distances.mean()):.3f} "
        f"(random real {float(chosen.distances.mean()):.3f}), coverage {percent(shown.places[layer].coverage)} "
        f"(random real {percent(chance)} on average)"
    )
    learned = [
        f"{labels} labels {percent(one)} (random real {percent(other)})"
        for labels, one, other in zip(LABELS, scores, scores_of_real, strict=True)
        if one is not None
    ]
    return f"{text}; students: {', '.join(learned)}." if learned else f"{text}; press Run to train students."


def adjustment_in_words(config: dwa.Config) -> str:
    """ "directed, K = 12, ρ = 0.015"; "none"."""
    if config.perturbation == "none":
        return "none"
    return f"{config.perturbation}, K = {config.adjustment_steps}, ρ = {config.adjustment_radius:g}"


def percent(share: float | None) -> str:
    """ "94.2%", or "not yet"."""
    return "not yet" if share is None else f"{share:.1%}"


DiversityLab = Lab(
    "What makes recovered images differ?",
    World,
    controls=("initialisation", "lambda_var", "perturbation", "adjustment_radius"),
    more=("coupled", "lambda_mean", "adjustment_steps", "images_per_class", "iterations", "seed", "layer"),
    labels={"layer": "map of teacher's"},
    settle=Settings.settle,
    check=World.check,
    unused=lambda world, settings: ("adjustment_steps", "adjustment_radius") if settings.perturbation == "none" else (),
    wanted=jobs,
    job_words=lambda world, run: "images",
    at_once=at_once,
    buttons=[Compute("Run", jobs, hint="Make the images and train students on them")],
    views=[
        Row(
            Chart(map_data, map_figure),
            Row(_captioned(NOW, Strip(runs, picture_now)), _captioned(REAL, Strip(runs, picture_real)), wraps=False),
        ),
        Tabs(
            ("Distances", Chart(runs, distance_figure)),
            ("Students", Chart(runs, accuracy_figure)),
            ("The last runs", Html(runs, run_table)),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        "Pull the images of a class farther apart than real ones are. Then look at the coverage.", farther_than_real
    ),
)
