"""Sentences that rest on a number are true of it: the words as they stand on the page, and what they
say of a record or of what the page computes.

A row fails where the sentence is gone, and where its number says otherwise: both times somebody
should read it again.
"""

import functools
import json
import re
from collections.abc import Callable

import pytest

from ddlab.lessons.build import NOTEBOOKS
from tests.lessons.rows import rows

ROWS = [(number, *row) for number, row in rows("SENTENCES")]


@functools.cache
def words(number: str) -> str:
    (path,) = (NOTEBOOKS / "solutions").glob(f"{number}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    # Captions stand in the code, in string literals over several lines.
    return re.sub(r'"\s*\n\s*f?"', "", text)


@pytest.mark.parametrize(
    ("number", "sentence", "true"), ROWS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_sentence_is_true_of_its_number(
    number: str, sentence: str, true: Callable[[], bool]
) -> None:
    assert sentence in words(number), "the page does not say so any more"
    assert true()
