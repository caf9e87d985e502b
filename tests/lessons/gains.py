"""Differences of pairs in the records, for sentences of the pages that rest on them."""

from statistics import fmean
from typing import Any, NamedTuple

from ddlab import records
from ddlab.core.interval import interval


class Gain(NamedTuple):
    """Differences of pairs: their mean, and its 95% interval."""

    mean: float
    low: float
    high: float

    @property
    def ahead(self) -> bool:
        return self.low > 0

    @property
    def behind(self) -> bool:
        return self.high < 0

    @property
    def unseen(self) -> bool:
        return self.low <= 0 <= self.high


def gain(new: list[float], old: list[float]) -> Gain:
    pairs = [a - b for a, b in zip(new, old, strict=True)]
    span = interval(pairs)
    assert span is not None
    return Gain(fmean(pairs), *span)


def between(
    table: str, column: str, new: dict[str, Any], old: dict[str, Any], **shared: Any
) -> Gain:
    """Of a record: rows that differ in these columns."""
    table_rows = records.load(table)
    return gain(
        table_rows.values(column, **shared | new), table_rows.values(column, **shared | old)
    )


def mean(table: str, column: str, **conditions: Any) -> float:
    return fmean(records.load(table).values(column, **conditions))
