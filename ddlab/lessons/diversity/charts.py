"""Lesson 21: its map, and figures and tables of the records."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ... import figures
from ...core import randomness
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import embeddings
from ...networks import Network
from ...records import Record
from ..shared import recorded
from ..shared.recorded import cell, interval_of
from . import experiments as diversity
from .sweep import coverage

# What the lesson calls the rows of the records.
ROWS: dict[str, dict[str, Any]] = {
    diversity.RANDOM: {"method": "random real images"},
    diversity.SRE2L: {"method": "SRe2L"},
    diversity.NONE: {"method": "DWA", "perturbation": "none"},
    diversity.PERTURBED: {"method": "DWA", "perturbation": "random"},
    diversity.DIRECTED: {"method": "DWA", "perturbation": "directed"},
}
REAL_POINTS = 500


def covered(data: ImageData, teacher: Network, made: DistilledSet) -> float:
    """The share in [0, 1] of 300 real images that have an image of the set near them, for the teacher."""
    return coverage(data, teacher, made.images)


def on_one_map(data: ImageData, teacher: Network, sets: Mapping[str, DistilledSet]) -> dict[str, Any]:
    """The arguments of `figures.sets_on_map`: t-SNE of the teacher's logits of 500 real images and of all sets together (Fig 1)."""
    order = torch.randperm(len(data.train_labels), generator=randomness.generator(0, 0, "real images of the map"))
    chosen = order[:REAL_POINTS]
    groups = {name: embeddings.features_of(teacher, made.images, "logits") for name, made in sets.items()}
    real = embeddings.features_of(teacher, data.normalised(chosen), "logits")
    positions = embeddings.fit({"": real} | groups, embeddings.Config(kind="t_sne")).positions
    dense = embeddings.density(positions[""])
    names = data.class_names
    return {
        "real": positions[""],
        "sets": {name: positions[name] for name in sets},
        "real_classes": [names[label] for label in data.train_labels[chosen].tolist()],
        "set_classes": {name: [names[label] for label in made.labels.tolist()] for name, made in sets.items()},
        "density": (dense.x, dense.y, dense.rank),
        "title": "SRe2L and DWA among the real images (t-SNE of logits)",
    }


def comparison(kinds: Record, labels: str, *, title: str) -> Any:
    """Mean, 95% interval and seeds of each of the five ways, from the rows of one number of images per class (Table 3)."""
    seeds = {name: kinds.values(labels, **where) for name, where in ROWS.items()}
    return recorded.compared(seeds, title, x_label="images")


def sweep(record: Record, method: str) -> Any:
    """Accuracy along lambda_var, coupled and decoupled, for "SRe2L" or "DWA" (Fig 3)."""
    rows = record.where(method=method)
    weights = sorted({float(value) for value in rows.values("lambda_var")})
    curves = {
        name: torch.tensor([rows.values("online", weights=name, lambda_var=weight) for weight in weights]).T.tolist()
        for name in ("coupled", "decoupled")
    }
    return figures.sweep_bands(
        weights, curves, x_label="λ_var (coupled: λ_mean as well, decoupled: λ_mean = .01)", log_x=True,
        title=f"{method}: five images per class, online labels", y_label="test accuracy (fraction)",
    )  # fmt: skip


def grid(record: Record) -> Any:
    """Mean accuracy over K and rho, against no adjustment (Fig 5)."""
    rows = record.where(perturbation="directed")
    steps, radii = (sorted(set(rows.values(column))) for column in ("adjustment_steps", "adjustment_radius"))
    cells = [[rows.values("online", adjustment_steps=k, adjustment_radius=rho) for rho in radii] for k in steps]
    means = [[statistics.fmean(seeds) for seeds in row] for row in cells]
    spans = [[interval_of(seeds) for seeds in row] for row in cells]
    lows, highs = ([[span[end] for span in row] for row in spans] for end in (0, 1))
    return figures.heat_map(
        steps, radii, means, row_label="steps K", column_label="radius ρ", intervals=(lows, highs),
        reference=("no adjustment", statistics.fmean(record.values("online", perturbation="none"))),
        title="DWA: five images per class, online labels, five seeds",
    )  # fmt: skip


def architectures_table(record: Record) -> str:
    """Students of other architectures on the same sets, as a Markdown table (Table 4)."""
    names = list(dict.fromkeys(record.values("architecture")))
    return _table("student", names, record, lambda name: {"architecture": name}, lambda _name: "online")


def continual_table(record: Record) -> str:
    """Accuracy over the classes seen so far, as a Markdown table (Table 10)."""
    return _table("classes seen", [2, 4, 6, 8, 10], record, lambda _seen: {}, lambda seen: f"online_{seen}")


def parts_table(record: Record) -> str:
    """What each part of DWA gives, as a Markdown table: start, weights and push by accuracy, feature distance and coverage."""
    measured = {
        "hard": "hard labels",
        "online": "online labels",
        "distance": "feature distance",
        "coverage": "coverage",
    }
    lines = ["| images | " + " | ".join(measured.values()) + " |", "|---" * (len(measured) + 1) + "|"]
    columns = ("method", "lambda_mean", "lambda_var", "perturbation")
    for values in dict.fromkeys(tuple(row[column] for column in columns) for row in record.rows):
        where: dict[str, Any] = dict(zip(columns, values, strict=True))
        cells = [cell(record.values(column, **where), fraction=column != "distance") for column in measured]
        lines.append(f"| {_part(where)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _part(where: Mapping[str, Any]) -> str:
    """One row of an ablation in words."""
    if where["method"] != "DWA":
        return f"{where['method']}" + ", from noise" * (where["method"] == "SRe2L")
    coupled = where["lambda_mean"] == where["lambda_var"]
    weights = f"both weights {where['lambda_var']:g}" if coupled else f"λ_var {where['lambda_var']:g} alone"
    push = {"none": "no push", "random": "random push", "directed": "DWA's push"}[where["perturbation"]]
    return f"real start, {weights}, {push}"


def repeated(sweep: Record, *, seeds: Sequence[int]) -> str:
    """Points of DWA as published, computed again: each near the recorded seeds.

    Raises:
        AssertionError: one is farther off.
    """
    known = sweep.where(method="DWA", weights="decoupled", lambda_var=0.11)
    return recorded.repeated(sweep.name, known, ("hard", "online", "distance", "coverage"), seeds=seeds)


def _table(head: str, columns: Sequence[Any], record: Record, where: Any, column: Any) -> str:
    lines = [
        f"| images \\ {head} | " + " | ".join(str(name) for name in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for method in dict.fromkeys(record.values("method")):
        cells = [cell(record.values(column(name), method=method, **where(name))) for name in columns]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
