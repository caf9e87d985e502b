"""What lessons do with records: means and intervals in cells, and points that are computed again."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ... import records
from ...core.errors import DDLabError
from ...evaluation import interval
from ...records import Record


def interval_of(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean over seeds.

    Raises:
        DDLabError: fewer than two seeds.
    """
    found = interval(values, confidence)
    if found is None:
        raise DDLabError(f"record must hold at least two seeds of each point; given {len(values)}.")
    return found


def cell(values: Sequence[float], *, fraction: bool = True) -> str:
    """Mean and 95% interval in Markdown; that of a fraction ends at 0 and 1."""
    low, high = interval_of(values)
    if fraction:
        low, high = max(low, 0), min(high, 1)
    return f"**{statistics.fmean(values):.2f}** ({low:.2f} to {high:.2f})"


def compared(conditions: Mapping[str, Sequence[float]], title: str, **options: Any) -> Any:
    """Mean, 95% interval and each seed of conditions by name, beside each other; further options of `figures.comparison`."""
    from ... import figures  # here: sweeps, which stand beside this module, run where there is no plotly

    seeds = list(conditions.values())
    lows, highs = zip(*map(interval_of, seeds), strict=True)
    means = [statistics.fmean(each) for each in seeds]
    return figures.comparison(list(conditions), means, lows, highs, seeds=seeds, title=title, **options)


def near(value: float, known: Sequence[float]) -> bool:
    """Whether one more seed may give `value`: inside the 99.9% prediction interval of the known seeds (Student's t).

    Five seeds know their spread badly, so that three of their standard deviations are left in one of twenty cases.

    Raises:
        DDLabError: fewer than two seeds.
    """
    low, high = interval_of(known, 0.999)
    return abs(value - (low + high) / 2) <= (high - low) / 2 * math.sqrt(len(known) + 1)  # of one seed, not of the mean


def repeated(name: str, known: Record, columns: Sequence[str], *, seeds: Sequence[int]) -> str:
    """Points of the record `name`, computed again: each `near` the recorded seeds.

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
            assert near(found[measured], recorded), f"{measured} of seed {seed} is far from the record"
            lines.append(
                f"seed {seed}, {measured}: here {found[measured]:.3f}, recorded {row[measured]:.3f} "
                f"({mean:.3f} over {len(recorded)} seeds, standard deviation {spread:.3f})"
            )
    return "\n".join(lines)
