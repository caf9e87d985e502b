"""Makes the rows of FINDINGS.md: what is said, and the difference of two arms of a table.

python notebooks/studies/findings.py            # writes them anew

`findings.toml` holds a statement and its arms for each row, in these words:
said, source       the statement, and where it stands; lesson: of the page
table, value       the table and the column, or a word of `VALUES`; several columns count by their mean
where, plus, minus the rows of both arms, of the one and of the other: column = value
mean, least        column = several values, or a list of changes of the entry: the difference is the
                   mean of them, or seed by seed the least
than               changes of the entry: their difference is taken from this one
relative           the difference is a share of the second arm
loss               what a statement allows to be lost, and stands in for zero; effect: the least that
                   we had declared beforehand as printed
beside             other arms that are shown with it: words = changes of the entry
"""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from scipy import stats

from ddlab import records
from ddlab.evaluation import interval

FOLDER = Path(__file__).parent
PAGE = FOLDER / "FINDINGS.md"
HEAD = """| lesson | what is said | what was measured | difference (95% interval) | n | reading | table |
|---|---|---|---|---|---|---|
"""
MARKS = "<!-- findings: begin -->\n", "<!-- findings: end -->"
Row = dict[str, Any]


def rank_correlation(row: Row, table: records.Record) -> float:
    """Return Spearman's correlation of a row's accuracies with the means of training on all data."""
    whole = [
        other["accuracies"]
        for other in table.rows
        if (other["data"], other["proxy"]) == (row["data"], "all data")
    ]
    means = [fmean(accuracies) for accuracies in zip(*whole, strict=True)]
    return float(stats.spearmanr(row["accuracies"], means).statistic)


VALUES: dict[str, Callable[[Row, records.Record], float]] = {
    "rank correlation": rank_correlation,
    "last accuracy": lambda row, _: row["accuracies"][-1],
}


def arm(entry: Row, side: str) -> dict[int, float]:
    """Return seed -> value of an arm; several rows of a seed count by their mean."""
    conditions = entry.get("where", {}) | entry[side]
    table = records.load(conditions.get("table", entry["table"]))
    value = conditions.get("value", entry["value"])
    wanted = {
        column: choice for column, choice in conditions.items() if column not in ("table", "value")
    }
    by_seed: dict[int, list[float]] = {}
    for row in table.rows:
        if all(_fits(row[column], choice) for column, choice in wanted.items()):
            for seed, number in _numbers(row, value, table):
                by_seed.setdefault(seed, []).append(number)
    if not by_seed:
        raise ValueError(f"{table.name} has no row of {wanted} ({entry['said']})")
    return {seed: fmean(numbers) for seed, numbers in by_seed.items()}


def _fits(value: Any, choice: Any) -> bool:
    choices = choice if isinstance(choice, list) else [choice]
    # TOML has no word for nothing.
    return any(value == one or (one == "none" and value is None) for one in choices)


def _numbers(row: Row, value: Any, table: records.Record) -> list[tuple[int, float]]:
    if isinstance(value, list):
        return [(row["seed"], fmean(row[column] for column in value))]
    if value in VALUES:
        return [(row.get("seed", row.get("draw", 0)), VALUES[value](row, table))]
    if isinstance(row[value], list):
        return list(enumerate(row[value]))
    return [(row.get("seed", row.get("draw", 0)), row[value])]


def changed(entry: Row, change: Row) -> Row:
    """Return an entry with other words; tables of words are joined."""
    joined = {
        word: entry.get(word, {}) | value if isinstance(value, dict) else value
        for word, value in change.items()
    }
    return entry | joined


def changes(words: Any) -> list[Row]:
    """Return the changes that `mean` or `least` names."""
    if words is None:
        return [{}]
    if isinstance(words, list):
        return words
    ((column, values),) = words.items()
    return [{"where": {column: value}} for value in values]


def differences(entry: Row) -> list[float]:
    """Return the differences of an entry, a number for each seed that all arms have."""
    if "than" in entry:
        plain = {word: value for word, value in entry.items() if word != "than"}
        both = differences(plain), differences(changed(plain, entry["than"]))
        return [first - second for first, second in zip(*both, strict=True)]
    by_case: list[list[dict[int, float]]] = []
    for outer in changes(entry.get("least")):
        by_case.append([])
        for inner in changes(entry.get("mean")):
            case = changed(changed(entry, outer), inner)
            plus, minus = arm(case, "plus"), arm(case, "minus")
            by_case[-1].append(
                {
                    seed: (plus[seed] - minus[seed])
                    / (minus[seed] if entry.get("relative") else 1.0)
                    for seed in plus.keys() & minus.keys()
                }
            )
    seeds = set.intersection(*(set(case) for cases in by_case for case in cases))
    return [min(fmean(case[seed] for case in cases) for cases in by_case) for seed in sorted(seeds)]


def number(value: float) -> str:
    """Write a difference as the page does.

    >>> number(-0.0123), number(1.5)
    ('−.012', '+1.500')
    """
    words = f"{value:+.3f}".replace("-", "−")
    return re.sub(r"^([+−])0\.", r"\1.", words)


def measured(entry: Row) -> tuple[str, int]:
    """Return mean and interval in words, and how many pairs there are."""
    values = differences(entry)
    low, high = interval(values) or (values[0], values[0])
    return f"{number(fmean(values))} ({number(low)} to {number(high)})", len(values)


def reading(entry: Row) -> str:
    """Return what the interval says of the statement."""
    values = differences(entry)
    low, high = interval(values) or (values[0], values[0])
    loss = entry.get("loss", 0.0)
    if low > -loss:
        is_smaller = "effect" in entry and fmean(values) < entry["effect"]
        return "holds, smaller than printed" if is_smaller else "holds"
    return "reversed" if high < -loss else "no difference seen"


def line(entry: Row) -> str:
    """Return a row of the page."""
    shown = entry["measured"]
    if beside := entry.get("beside"):
        others = [
            f"{words} {measured(changed(entry, change))[0]}" for words, change in beside.items()
        ]
        shown += f" ({'; '.join(others)})"
    difference, count = measured(entry)
    conditions = (entry.get("where", {}), entry["plus"], entry["minus"])
    tables = dict.fromkeys(
        [entry["table"], *(part["table"] for part in conditions if "table" in part)]
    )
    cells = (
        f"{entry['lesson']:02d}",
        f"{entry['said']} *({entry['source']})*",
        shown,
        difference,
        str(count),
        reading(entry),
        ", ".join(f"`{table}`" for table in tables),
    )
    return f"| {' | '.join(cells)} |\n"


def lines() -> str:
    """Return all rows of the page."""
    entries = tomllib.loads((FOLDER / "findings.toml").read_text(encoding="utf-8"))["finding"]
    return HEAD + "".join(map(line, entries))


def main() -> None:
    """Write the rows between their marks."""
    begin, end = MARKS
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    PAGE.write_text(f"{before}{begin}{lines()}{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
