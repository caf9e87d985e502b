"""Rows of the lesson's record, found by brute force: what claims, figures and tables are held against."""

from __future__ import annotations

from typing import Any

from tests.support import recorded_rows

PLAIN = {"merge_ratio": 0.5, "merges": 3, "small_size": None, "patches": "real", "precision": "float32"}


def rows(method: str = "FADRM", **changes: Any) -> dict[int, dict[str, Any]]:
    """seed -> row of the record, by brute force."""
    wanted = {"method": method} | (PLAIN if method in ("FADRM", "stopped early", "pulled back") else {}) | changes
    return recorded_rows("residuals", wanted)
