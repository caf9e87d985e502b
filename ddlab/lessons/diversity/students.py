"""What students learn from this run's images and from as many random real ones: a button that
trains them, and a table.
"""

from collections.abc import Sequence
from typing import Any

from ...core import interval
from ...explorers import Compute, Html, Results, Value
from ...explorers.tables import table
from ...runs import Run
from .world import Settings, World, real

LABELS = ("hard", "online")
MADE_IMAGES = "these images"
REAL = "random real images"
Scores = tuple[tuple[str, tuple[tuple[float | None, ...], ...]], ...]


def jobs_by_name(
    world: World, settings: Settings, results: Results
) -> dict[str, list[list[Value]]]:
    """Set -> for each kind of labels its students, one for each seed."""
    config = results.jobs[0].config
    jobs: dict[str, list[list[Value]]] = {}
    for name, source in ((MADE_IMAGES, config), (REAL, real(config))):
        jobs[name] = []
        for labels in LABELS:
            jobs[name].append([Value(world.accuracy, source, labels, seed) for seed in world.seeds])
    return jobs


def jobs(world: World, settings: Settings, results: Results) -> list[Run | Value]:
    """Return the run, then the students: one of every kind, then the next of every kind."""
    kinds = []
    for of_labels in jobs_by_name(world, settings, results).values():
        for values in of_labels:
            kinds.append(values)
    return [world.run(settings), *(value for seed in zip(*kinds, strict=True) for value in seed)]


def scores(world: World, settings: Settings, results: Results) -> tuple[int, Scores]:
    """Return the scores known so far of each set and kind of labels, and the images of a class.

    None stands for a student who is not there yet.
    """
    rows = []
    for name, kinds in jobs_by_name(world, settings, results).items():
        rows.append((name, tuple(tuple(map(results, values)) for values in kinds)))
    return settings.images_per_class, tuple(rows)


def score_table(count: int, scores_by_name: Scores) -> str:
    """Return an HTML table: a row for each set, and the first minus the second, seed by seed."""
    rows: list[Any] = []
    for name, kinds in scores_by_name:
        rows.append((name, *(scores_text(values) for values in kinds)))
    pairs = []
    for rows_of_two in zip(*(kinds for _, kinds in scores_by_name), strict=True):
        pairs.append(zip(*rows_of_two, strict=True))
    gains = []
    for pair in pairs:
        gains.append([mine - real for mine, real in pair if None not in (mine, real)])
    rows.append(
        (f"{MADE_IMAGES} minus {REAL}", *(scores_text(gain, signed=True) for gain in gains))
    )
    caption = f"Students' test accuracy, {count} images per class: mean (95% interval)"
    return table(caption, ("learned from", *(f"{labels} labels" for labels in LABELS)), rows)


def scores_text(values: Sequence[float | None], *, signed: bool = False) -> str:
    """Write the mean and its 95% interval over students, as in "41.2% (39.0% to 43.4%)".

    Without any student it is "not yet".
    """
    finished = []
    for value in values:
        if value is not None:
            finished.append(value)
    return interval.interval_text(finished, ".1%", signed=signed) if finished else "not yet"


VIEW = Html(scores, score_table)
BUTTON = Compute(
    "Train students", jobs, "graduation-cap", "On the images on show, and on real ones", view=VIEW
)
