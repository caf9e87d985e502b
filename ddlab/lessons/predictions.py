"""Locked predictions in a file beside the notebook: a restarted kernel finds them, and a teacher
collects them.

    python -m ddlab.lessons.predictions submitted      # a table of all students' answers, also as predictions.csv

The file is `ddlab-predictions.json` in the notebook's folder; the variable DDLAB_PREDICTIONS names
another one, or none where it is empty.
"""

import json
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..core import DDLabError, errors, storage
from ..evaluation.tables import Tabled, markdown

NAME = "ddlab-predictions.json"
_LARGEST = 2**20  # bytes of a student's file; all lessons together take some thousands


def place() -> Path | None:
    """Return the file in which this kernel's locked answers are kept; None keeps none."""
    name = os.environ.get("DDLAB_PREDICTIONS", NAME)
    return Path(name) if name else None


def load(lesson: str) -> dict[str, str]:
    """Return the answers that were locked in a lesson: key of the question -> answer."""
    file = place()
    if file is None or not file.exists():
        return {}
    try:
        return {answer.key: answer.answer for answer in _read(file) if answer.lesson == lesson}
    except DDLabError as problem:
        warnings.warn(str(problem), stacklevel=4)
        return {}


def keep(lesson: str, key: str, question: str, answer: str) -> None:
    """Write a locked answer beside those that are there; a place that cannot be written to is said."""
    if (file := place()) is None:
        return
    try:
        answers = _read(file) if file.exists() else []
        new = Answer(lesson, key, question, answer, datetime.now().isoformat(timespec="seconds"))
        rows = [vars(old) for old in answers if (old.lesson, old.key) != (lesson, key)]
        storage.write_atomically(file, json.dumps([*rows, vars(new)], indent=1).encode())
    except DDLabError as problem:
        warnings.warn(f"The answer holds for this kernel alone: {problem}", stacklevel=2)


@dataclass(frozen=True)
class Answer:
    """A locked answer: to which question of which lesson, and when, in ISO 8601."""

    lesson: str
    key: str
    question: str
    answer: str
    locked: str


@dataclass(frozen=True)
class Collected(Tabled):
    """The locked answers of students; made by `collect`.

    Attributes:
        answers: student -> what was locked, in that order.
        refused: student -> why a file could not be read.
    """

    answers: dict[str, tuple[Answer, ...]]
    refused: dict[str, str]

    def table(self) -> str:
        """Return a Markdown table with a line for each answer, and one for each refused file."""
        columns = ("student", "lesson", "question", "answer", "locked")
        rows = [[record[column] for column in columns] for record in self.records()]
        return markdown(columns, rows)

    def records(self) -> list[dict[str, Any]]:
        """Return one flat mapping for each answer, and one for each student whose file is refused."""
        records = []
        for student, answers in self.answers.items():
            records += [{"student": student} | vars(answer) for answer in answers]
        for student, reason in self.refused.items():
            row = Answer(lesson="", key="", question="", answer=f"refused: {reason}", locked="")
            records.append({"student": student} | vars(row))
        return records


def collect(folder: str | os.PathLike[str]) -> Collected:
    """Read the locked answers of a class; nobody's code runs.

    Args:
        folder: with a folder for each student, and their file `ddlab-predictions.json` somewhere in
            it, as nbgrader packs them.

    Raises:
        DDLabError: a folder that is not there, or without such a file.
    """
    root = storage.checked_path(folder, "folder", "a folder's path")
    answers: dict[str, tuple[Answer, ...]] = {}
    refused: dict[str, str] = {}
    for file in _files(root) if root.is_dir() else ():
        student = file.relative_to(root).parts[0]
        try:
            answers[student] = (*answers.get(student, ()), *_read(file))
        except DDLabError as problem:
            refused[student] = str(problem).replace(str(root), root.name)
    if not answers and not refused:
        errors.fail("folder", f"a folder with at least one file {NAME} below it", str(folder))
    return Collected(answers, refused)


def _files(root: Path) -> Iterator[Path]:
    for file in sorted(root.rglob(NAME)):
        parts = file.relative_to(root).parts
        if len(parts) > 1 and not any(map(storage.is_left_behind, parts)):
            yield file


def _read(file: Path) -> list[Answer]:
    """Return the answers of a file.

    Raises:
        DDLabError: a file that is too large, or not as `keep` writes it.
    """
    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError
        answers = [Answer(**row) for row in json.loads(file.read_text(encoding="utf-8"))]
        if not all(isinstance(value, str) for answer in answers for value in vars(answer).values()):
            raise ValueError
    except (OSError, ValueError, TypeError, RecursionError):
        raise DDLabError(
            f"{file} must be a list of answers as a lesson writes it, of at most {_LARGEST:,} "
            "bytes; given something else."
        ) from None
    return answers


if __name__ == "__main__":
    try:
        found = collect(*sys.argv[1:] or ["."])
        print(found)
        print(found.to_csv("predictions.csv", overwrite=True))
    except DDLabError as problem:
        sys.exit(str(problem))
