"""Rows of the lesson's record, found by brute force: what claims, figures and tables are held against."""

from __future__ import annotations

from typing import Any

from tests.support import recorded_rows

BOOST = {
    "augmentation": "rotation", "bases_start": "principal", "coefficients_start": "projection", "reset": True,
}  # fmt: skip
REAL = {"kind": "random", "targets_count": False, "augmentation": "none"}


def rows(method: str = "Boost", budget: int = 20, **changes: Any) -> dict[int, dict[str, Any]]:
    """seed -> row of the record, by brute force."""
    own = {"Boost": BOOST | {"image_bases": 2 * budget, "representation_bases": 2 * budget}, "KRR-ST": {"reset": True}}
    wanted = {"method": method, "budget": budget} | own.get(method, REAL) | changes
    return recorded_rows("self_supervised", wanted)
