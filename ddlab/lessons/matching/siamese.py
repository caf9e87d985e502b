"""The sweeps of claim S7 (DSA: Zhao & Bilen 2021, arXiv 2102.08259): which views images are learned and students taught through.

Sizes were chosen beforehand by the time of two cores (DC or DSA at ten shapes per class: a minute and a half for a set). What
students without views learn from DC's images and from random ones, ten seeds of each, stands in the record `matching`.
"""

from __future__ import annotations

from ...evaluation import evaluate
from ...records.sweep import Place, Point, Sweep
from .sets import DC, DSA, VIEWS, kept_set, loaded
from .world import student_config

Kind = tuple[str, str, str | None, range]
KINDS: tuple[Kind, ...] = (
    ("shapes", "random", None, range(5)),
    ("shapes", DC, None, range(5)),
    ("shapes", DSA, "shared", range(5)),
    ("digits", DSA, "shared", range(5)),
    ("shapes", DSA, "independent", range(5)),
    ("digits", DSA, "shared", range(5, 10)),
    ("shapes", DSA, "shared", range(5, 10)),
)
"""Data, rule, whose views they are, seeds; what is least needed comes last."""
ONE_SIDED: tuple[Kind, ...] = (("shapes", DSA, "real", range(5)), ("shapes", DSA, "learned", range(5)))


def points(kinds: tuple[Kind, ...]) -> list[Point]:
    """Every kind with its seeds."""
    return [
        {"data": name, "rule": rule, "views": views, "seed": seed}
        for name, rule, views, seeds in kinds
        for seed in seeds
    ]


def seen(point: Point, place: Place) -> dict[str, float]:
    """plain, viewed: test accuracy of one student by class numbers, without and with DSA's views, a fraction in [0, 1]."""
    images, made = loaded(point["data"]), kept_set(point, place)
    short = {"epochs": 2} if place.smoke else {}
    return {
        name: evaluate(
            made,
            images,
            labels="hard",
            seeds=(point["seed"],),
            config=student_config(images, strategy=strategy, **short),
            device=place.device,
        ).mean
        for name, strategy in (("plain", ""), ("viewed", VIEWS[point["data"]]))
    }


_SHARED = (
    "Updates, network, real batches and seeds are those of the record `matching`; students are the same ConvNet, 100 epochs, with crops "
    "of a pixel (and flips of shapes), and once more with DSA's views before these. Measured: accuracy with class numbers of both."
)
SWEEPS = (
    Sweep(
        name="siamese",
        description=(
            "DSA at ten shapes and one digit per class, 16 px, through views that real and learned images share, and, of shapes, "
            f"through independent ones; beside it random images and DC's. {_SHARED}"
        ),
        settings=points(KINDS),
        run=seen,
    ),
    Sweep(
        name="siamese_one_sided",
        description=f"DSA at ten shapes per class, with views of the real images alone or of the learned ones. {_SHARED}",
        settings=points(ONE_SIDED),
        run=seen,
    ),
)
