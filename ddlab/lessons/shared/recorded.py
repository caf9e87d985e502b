"""What lessons do with records: means and intervals in cells, and points that are computed again."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ... import records
from ...core.errors import DDLabError
from ...evaluation import interval
from ...records import Record


def interval_of(values: Sequence[float]) -> tuple[float, float]:
    """Student's 95% interval of the mean over seeds.

    Raises:
        DDLabError: fewer than two seeds.
    """
    found = interval(values)
    if found is None:
        raise DDLabError(f"record must hold at least two seeds of each point; given {len(values)}.")
    return found


def cell(values: Sequence[float], *, fraction: bool = True) -> str:
    """Mean and 95% interval in Markdown; that of a fraction ends at 0 and 1."""
    low, high = interval_of(values)
    if fraction:
        low, high = max(low, 0), min(high, 1)
    return f"**{statistics.fmean(values):.2f}** ({low:.2f} to {high:.2f})"


def repeated(name: str, known: Record, columns: Sequence[str], *, seeds: Sequence[int]) -> str:
    """Points of the record `name`, computed again: each within three standard deviations of the recorded seeds.

    Args:
        known: its rows of one setting, one for each seed. columns: what was measured, and is compared.

    Raises:
        AssertionError: one is farther off.
    """
    lines = []
    for seed in seeds:
        (row,) = known.where(seed=seed).rows
        point = {column: row[column] for column in records.SWEEPS[name].settings[0]}
        found = records.run_point(name, point)
        for measured in columns:
            recorded = known.values(measured)
            mean, spread = statistics.fmean(recorded), statistics.stdev(recorded)
            assert abs(found[measured] - mean) <= 3 * spread, f"{measured} of seed {seed} is far from the record"
            lines.append(
                f"seed {seed}, {measured}: here {found[measured]:.3f}, recorded {row[measured]:.3f} "
                f"({mean:.3f} over {len(recorded)} seeds, standard deviation {spread:.3f})"
            )
    return "\n".join(lines)
