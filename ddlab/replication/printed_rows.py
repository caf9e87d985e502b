"""What the papers print for their own methods, to stand beside a number that was made here.

ddlab.published("dm", "CIFAR-10")       # in a notebook: a table
ddlab.published(dataset="MNIST", images_per_class=1).records()
ddlab.published("mtt", task="architecture search")
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from .. import methods
from ..core import among, checked, errors
from ..evaluation.tables import Tabled, markdown

_FILE = Path(__file__).parent / "published.csv"
_COLUMNS = (
    "method",
    "dataset",
    "images per class",
    "network",
    "labels",
    "accuracy (%)",
    "rank correlation",
    "setting",
    "source",
)
TASKS = ("one student", "architecture search", "continual learning")


@dataclass(frozen=True)
class Published(Tabled):
    """Printed numbers.

    Attributes:
        rows: dictionaries with method (as `methods.get` takes it), dataset, images_per_class (a
            fraction where a set has fewer images than classes), network of the students, labels,
            accuracy and deviation (percent; None where none is printed), rank_correlation (with
            training on all data; None but for the task "architecture search"), setting, source,
            task (one of `TASKS`).
    """

    rows: tuple[dict[str, Any], ...]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows."""
        return [dict(row) for row in self.rows]

    def table(self) -> str:
        """Return a Markdown table with a line for each row, without columns that have nothing to
        say.
        """
        columns = zip(_COLUMNS, *map(_cells, self.rows), strict=True)
        heads, *rows = zip(*(column for column in columns if any(column[1:])), strict=True)
        return markdown(heads, rows)


@checked
def published(
    method: str | None = None,
    dataset: str | None = None,
    *,
    images_per_class: float | None = None,
    task: Annotated[str, among(*TASKS)] = TASKS[0],
) -> Published:
    """Return the numbers that papers print, all or those of one method, one dataset or one size.

    Args:
        method: its name or alias.
        dataset: "MNIST", "CIFAR-10", ..., in capitals or not, with hyphens or without.
        images_per_class: of the distilled set.
        task: what the set is for: "one student", which trains on it, "architecture search", which
            ranks networks by it, or "continual learning", which meets its classes in turn.

    Raises:
        DDLabError: an unknown method, dataset or task, or nothing printed for what is asked.
    """
    rows = [row for row in _read() if row["task"] == task]
    if method is not None:
        method_asked = methods.get(method)
        rows = [row for row in rows if methods.get(row["method"]) is method_asked]
    if dataset is not None:
        dataset_names = {plain(row["dataset"]): row["dataset"] for row in _read()}
        name = dataset_names.get(plain(str(dataset))) or errors.check_choice(
            "dataset", dataset, list(dataset_names.values())
        )
        rows = [row for row in rows if row["dataset"] == name]
    sizes = sorted({row["images_per_class"] for row in rows})
    if images_per_class is not None:
        if images_per_class not in sizes:
            errors.check_choice("images_per_class", images_per_class, sizes)
        rows = [row for row in rows if row["images_per_class"] == images_per_class]
    if not rows:
        errors.fail(
            "method and dataset",
            "a pair for which a paper prints a number of this task",
            (method, dataset),
        )
    return Published(tuple(rows))


def _read() -> list[dict[str, Any]]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return [_numbers(row) for row in csv.DictReader(file)]


def _numbers(row: dict[str, str]) -> dict[str, Any]:
    size = float(row["images_per_class"])
    numbers: dict[str, Any] = {"images_per_class": int(size) if size.is_integer() else size}
    for column in ("accuracy", "deviation", "rank_correlation"):
        numbers[column] = float(row[column]) if row[column] else None
    return {**row, **numbers, "task": row["task"] or TASKS[0]}


def _cells(row: dict[str, Any]) -> list[str]:
    accuracy, deviation, correlation = (
        "" if row[column] is None else f"{row[column]:g}"
        for column in ("accuracy", "deviation", "rank_correlation")
    )
    printed = accuracy + (f" ± {deviation}" if deviation else "")
    words = (
        row["method"],
        row["dataset"],
        f"{row['images_per_class']:g}",
        row["network"],
        row["labels"],
    )
    return [*words, printed, correlation, row["setting"], row["source"]]


def plain(name: str) -> str:
    """Return a dataset's name without capitals and hyphens."""
    return name.lower().replace("-", "")
