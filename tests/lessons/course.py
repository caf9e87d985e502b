"""A small nbgrader course in a folder, graded; run by test_assignments.py in a process of its own.

nbgrader and what it imports warn a lot, and this suite makes warnings errors.

python course.py FOLDER SOURCE STUDENT=NOTEBOOK ...    prints JSON: student -> {cell: points, None for an answer that is to be read}
"""

import json
import shutil
import sys
from pathlib import Path


def main(
    folder: Path, source: Path, submissions: dict[str, Path]
) -> dict[str, dict[str, float | None]]:
    # Here, because pytest imports this file too when it looks for doctests.
    from nbgrader.api import Gradebook
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    config = Config()
    name = source.stem
    # The instructor's settings, as a course would copy them.
    exec((source.parent / "nbgrader_config.py").read_text(), {"get_config": lambda: config})
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.course_id = "course"
    api = NbGraderAPI(config=config)
    _copy(source, folder / "source" / name)
    _check(api.generate_assignment(name))
    scores: dict[str, dict[str, float | None]] = {}
    for student, notebook in submissions.items():
        _copy(notebook, folder / "submitted" / student / name)
        _check(api.autograde(name, student))
        with Gradebook(api.coursedir.db_url, "course") as book:
            grades = book.find_submission_notebook(name, name, student).grades
            scores[student] = {grade.name: grade.auto_score for grade in grades}
    return scores


def _copy(notebook: Path, place: Path) -> None:
    place.mkdir(parents=True)
    shutil.copy(notebook, place / f"{place.name}.ipynb")


def _check(result: dict) -> None:
    if not result["success"]:
        raise SystemExit(f"{result.get('log')}\n{result.get('error')}")


if __name__ == "__main__":
    pairs = dict(argument.split("=", 1) for argument in sys.argv[3:])
    grades = main(
        Path(sys.argv[1]),
        Path(sys.argv[2]),
        {student: Path(file) for student, file in pairs.items()},
    )
    print(json.dumps(grades))
