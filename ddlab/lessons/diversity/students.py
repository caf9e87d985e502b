"""What students learn from this run's images and from as many random real ones: a button that
trains them, and a table.
"""

import itertools
from typing import Any

from ...explorers import Html, Named, Results
from ...explorers.students import Students, accuracy_text, differences
from ...explorers.tables import table
from ...runs import Run
from .world import Settings, World, real

LABELS = {"hard": "class labels", "online": "online labels"}
MADE_IMAGES = "these images"
REAL = "random real images"
Scores = tuple[tuple[tuple[str, str], tuple[float | None, ...]], ...]


def student_sets(
    world: World, settings: Settings, results: Results
) -> dict[tuple[str, str], tuple]:
    """Return what students train on: these images and real ones, with each kind of labels."""
    config = results.jobs[0].config
    sources = {MADE_IMAGES: config, REAL: real(config)}
    pairs = itertools.product(sources, LABELS)
    return {(name, labels): (world.accuracy, sources[name], labels) for name, labels in pairs}


def first_jobs(world: World, settings: Settings, results: Results) -> list[Run]:
    """Return the run that makes the images."""
    return [world.run(settings)]


STUDENTS = Students(student_sets, first_jobs)


def score_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the images of a class, and the accuracies of each set and kind of labels."""
    return {
        "images_per_class": settings.images_per_class,
        "scores": tuple(STUDENTS.accuracies(world, settings, results).items()),
    }


def score_table(images_per_class: int, scores: Scores) -> str:
    """Return an HTML table: a row for each set, and the first minus the second, seed by seed."""
    accuracies = dict(scores)
    rows: list[Any] = []
    for name in (MADE_IMAGES, REAL):
        rows.append((name, *(accuracy_text(accuracies[name, labels]) for labels in LABELS)))
    gains = []
    for labels in LABELS:
        pairs = differences(accuracies[MADE_IMAGES, labels], accuracies[REAL, labels])
        gains.append(accuracy_text(pairs, signed=True))
    rows.append((f"{MADE_IMAGES} minus {REAL}", *gains))
    caption = f"Students' test accuracy, {images_per_class} images per class: mean (95% interval)"
    return table(caption, ("trained on", *LABELS.values()), rows)


VIEW = Html(score_data, score_table)
BUTTON = STUDENTS.button("On the images on show, and on real ones", VIEW)
