"""The cells of a lesson that hold a method whole are the library's: the same draws, float64, twenty
updates; without one of its terms they are not.
"""

import contextlib
import math

import pytest

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.runs import cache
from tests.lessons.rows import rows
from tests.lessons.whole_method import (
    SOLUTIONS,
    TAPE,
    Tensors,
    doubled,
    source_of,
    teacher_of,
)

ROWS = {f"{number} {name}": (number, row) for number, (name, row) in rows("METHODS")}


@pytest.fixture(autouse=True)
def in_double(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pixels, rows of distilled sets and fresh networks are in float64, on the page and in the
    library.
    """
    teacher_of(trained=True)
    for _, row in ROWS.values():
        row.prepare()
    cache.clear()
    normalised = ImageData.normalised
    rows_of_set = DistilledSet.rows
    initialise = networks.initialise
    monkeypatch.setattr(
        ImageData, "normalised", lambda *args, **kwargs: normalised(*args, **kwargs).double()
    )
    monkeypatch.setattr(
        DistilledSet, "rows", lambda *args, **kwargs: rows_of_set(*args, **kwargs).double()
    )
    monkeypatch.setattr(
        networks, "initialise", lambda *args, **kwargs: doubled(initialise(*args, **kwargs))
    )


def test_every_whole_method_has_a_row() -> None:
    pages = {
        path.name[:2]
        for path in SOLUTIONS.glob("*.ipynb")
        if '"whole-method"' in path.read_text(encoding="utf-8")
    }
    without = sorted(pages - {number for number, _ in ROWS.values()})
    assert without == [], (
        f"lesson {', '.join(without)} has cells with the tag 'whole-method' and no row for them in METHODS "
        "of tests/lessons/FOLDER/rows.py, where the library's draws are played into them"
    )


def gap(first: Tensors, second: Tensors) -> float:
    """The largest difference; of what has not the same shapes, infinite."""
    if [tensor.shape for tensor in first] != [tensor.shape for tensor in second]:
        return math.inf
    gaps = [float((mine - theirs).abs().max()) for mine, theirs in zip(first, second, strict=True)]
    return max(gaps)


@pytest.mark.parametrize("name", ROWS)
def test_the_page_is_the_library_and_notices_a_dropped_term(name: str) -> None:
    number, row = ROWS[name]
    source = source_of(number, row.tag)
    with TAPE.recorded():
        by_library = row.library()
    term, without = row.dropped
    assert term in source
    with TAPE.played() if row.taped else contextlib.nullcontext():
        by_page = row.page(source)
    with TAPE.played() if row.taped else contextlib.nullcontext():
        by_edited_page = row.page(source.replace(term, without))
    assert (
        gap(by_page, by_library) < row.tolerance
        and gap(by_edited_page, by_library) > 1e3 * row.tolerance
    )
