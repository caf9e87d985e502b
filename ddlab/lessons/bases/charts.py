"""Lesson 40: a figure of bases, and Table 4 of its record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ... import figures
from ...distilled import bases, factorisation
from ..shared import printed_tables as printed
from ..shared import recorded, unlabelled
from ..shared.unlabelled import percent, values


def few_bases(counts: Sequence[int], *, scale: int = 2) -> Any:
    """One image of each class, and what the first of the image bases make of it, one row for each number of them."""
    data = unlabelled.world().data
    every = factorisation.downsampled(data.normalised(torch.arange(len(data.train_labels))), scale=scale)
    first = bases.principal_bases(every, count=max(counts)).bases
    chosen = torch.stack([data.of_class(label)[0] for label in range(data.classes)])
    images = data.normalised(chosen)
    small = factorisation.downsampled(images, scale=scale)
    rows = [images]
    for count in counts:
        coefficients = factorisation.project(small, first[:count])
        rows.append(factorisation.decoded(coefficients, first[:count], scale=scale))
    return figures.image_grid(
        data.to_uint8(torch.cat(rows)), data.classes, title="Ten images from few bases",
        row_labels=["real", *(f"{count} base{'s' * (count > 1)}" for count in counts)],
        description=f"real images above what the first {', '.join(map(str, counts))} bases make of them",
    )  # fmt: skip


def start_table() -> str:
    """Table 4 with its arms crossed: what bases and coefficients begin as, printed and here, in percent."""
    known = {
        ("principal", "projection"): printed.BOOST_4["principal components"],
        ("real", "random"): printed.BOOST_4["real"],
        ("random", "random"): printed.BOOST_4["random"],
    }
    lines = ["| bases begin as | coefficients begin as | paper | here |", "|---|---|---|---|"]
    for first in ("principal", "real", "random"):
        for second in ("projection", "random"):
            ours = recorded.cell(values(bases_start=first, coefficients_start=second))
            lines.append(f"| {first} | {second} | {percent(known.get((first, second)))} | {ours} |")
    return "\n".join(lines)
