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
MADE = "these images"
REAL = "random real images"
Scores = tuple[tuple[str, tuple[tuple[float | None, ...], ...]], ...]


def asked(world: World, settings: Settings, known: Results) -> dict[str, list[list[Value]]]:
    """Set -> for each kind of labels its students, one for each seed."""
    config = known.jobs[0].config
    return {
        name: [
            [Value(world.accuracy, source, labels, seed) for seed in world.seeds]
            for labels in LABELS
        ]
        for name, source in ((MADE, config), (REAL, real(config)))
    }


def jobs(world: World, settings: Settings, known: Results) -> list[Run | Value]:
    """Return the run, then the students: one of every kind, then the next of every kind."""
    kinds = [values for of_labels in asked(world, settings, known).values() for values in of_labels]
    return [world.run(settings), *(value for seed in zip(*kinds, strict=True) for value in seed)]


def scores(world: World, settings: Settings, known: Results) -> tuple[int, Scores]:
    """Images of a class; of each set and kind of labels what is known so far, None for a student
    who is not there yet.
    """
    found = asked(world, settings, known).items()
    return settings.images_per_class, tuple(
        (name, tuple(tuple(map(known, one)) for one in kinds)) for name, kinds in found
    )


def drawn(count: int, found: Scores) -> str:
    """HTML: a row for each set, and the first minus the second, seed by seed."""
    rows: list[Any] = [(name, *(scores_text(values) for values in kinds)) for name, kinds in found]
    pairs = [zip(*both, strict=True) for both in zip(*(kinds for _, kinds in found), strict=True)]
    gains = [[one - other for one, other in pair if None not in (one, other)] for pair in pairs]
    rows.append((f"{MADE} minus {REAL}", *(scores_text(gain, signed=True) for gain in gains)))
    caption = f"Students' test accuracy, {count} images per class: mean (95% interval)"
    return table(caption, ("learned from", *(f"{labels} labels" for labels in LABELS)), rows)


def scores_text(values: Sequence[float | None], *, signed: bool = False) -> str:
    """ "41.2% (39.0% to 43.4%)": the mean and its 95% interval over students; "not yet" without any."""
    there = [value for value in values if value is not None]
    return interval.interval_text(there, ".1%", signed=signed) if there else "not yet"


VIEW = Html(scores, drawn)
BUTTON = Compute(
    "Train students", jobs, "graduation-cap", "On the images on show, and on real ones", view=VIEW
)
