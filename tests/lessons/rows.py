"""What the tests of all lessons find in a lesson's folder, `tests/lessons/<folder>/rows.py`.

METHODS     name -> `whole_method.Row`: cells that hold a method whole     test_whole_method.py
SENTENCES   (words of the page, () -> whether they are true)               test_sentences.py
RECIPES     how a quest is met                                             test_quests.py
LABS        laboratory -> its arguments, of a `Material`                   contract/test_labs.py
RIGHT       (exercise, an answer with the property)                        contract/test_exercises.py
WRONG       (exercise, an answer without it, words of its hint)            contract/test_exercises.py
TRAINED     name -> (exercise, answer, words or ""): slow ones             contract/test_exercises.py
"""

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from ddlab.lessons import LESSONS

Press = tuple[str, Any]
BUTTON = "button"
DRAG = "drag"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What the instructor's page tells a reader to do.

    Attributes:
        title: of the laboratory, or its beginning.
        presses: (control, value), (BUTTON, its words) or (DRAG, (point, x, y)), in turn.
    """

    title: str
    presses: tuple[Press, ...]


def rows(kind: str) -> list[tuple[str, Any]]:
    """Return (number of the lesson, row) of all lessons; of a mapping a row is (key, value)."""
    found = []
    for lesson, described in LESSONS.items():
        module = importlib.import_module(f"tests.lessons.{described.folder}.rows")
        of_lesson = getattr(module, kind, ())
        pairs = of_lesson.items() if isinstance(of_lesson, Mapping) else of_lesson
        found += [(lesson[:2], row) for row in pairs]
    return found
