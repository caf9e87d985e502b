"""What the tests of all lessons find in a lesson's folder, `tests/lessons/<folder>/rows.py`.

METHODS     name -> `whole_method.Row`: cells that hold a method whole     test_whole_method.py
SENTENCES   (words of the page, () -> whether they are true)               test_sentences.py
LABS        laboratory -> its arguments, of a `Material`                   contract/test_labs.py
RIGHT       (exercise, an answer with the property)                        contract/test_exercises.py
WRONG       (exercise, an answer without it, words of its hint)            contract/test_exercises.py
TRAINED     name -> (exercise, answer, words or ""): slow ones             contract/test_exercises.py
"""

import importlib
from collections.abc import Mapping
from typing import Any

from ddlab.lessons import LESSONS


def rows(kind: str) -> list[tuple[str, Any]]:
    """Return (number of the lesson, row) of all lessons; of a mapping a row is (key, value)."""
    found = []
    for lesson, described in LESSONS.items():
        module = importlib.import_module(f"tests.lessons.{described.folder}.rows")
        of_lesson = getattr(module, kind, ())
        pairs = of_lesson.items() if isinstance(of_lesson, Mapping) else of_lesson
        found += [(lesson[:2], row) for row in pairs]
    return found
