"""Notes for the instructor: a page for each lesson, whole, with an answer to every exercise and
plans whose minutes add up.
"""

import json
import re

import pytest

from ddlab.lessons.build import NOTEBOOKS
from ddlab.lessons.contents import LESSONS

NOTES = NOTEBOOKS / "instructor"
HEADINGS = (
    "Outcomes",
    "Prerequisites",
    "Plan: 90 minutes",
    "What students get wrong",
    "Answers",
    "Discussion",
)
# A comparison, trials, a protocol: what they have instead is said on the page.
WITHOUT_ALGORITHM = ("00_start", "90_theorems_on_trial", "95_at_paper_scale")


def part(text: str, heading: str, level: int = 2) -> str:
    """What stands under a heading."""
    match = re.search(
        rf"^#{{{level}}} {re.escape(heading)}\n(.*?)(?=^#{{1,{level}}} |\Z)",
        text,
        re.MULTILINE | re.DOTALL,
    )
    assert match, f"the instructor's page has no part with the heading {heading!r}"
    return match[1]


def names_on_page(lesson: str, function: str) -> set[str]:
    """The keys of the exercises ("check") or predictions ("predict") of a lesson."""
    cells = json.loads((NOTEBOOKS / "solutions" / f"{lesson}.ipynb").read_text(encoding="utf-8"))[
        "cells"
    ]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return set(re.findall(rf'lesson\.{function}\(\s*"([^"]+)"', code))


def test_there_is_one_page_for_each_lesson() -> None:
    differing = {path.stem for path in NOTES.glob("*.md")} ^ {*LESSONS, "README"}
    assert not differing, (
        f"notebooks/instructor has a page NAME.md for each lesson, not: {differing}"
    )
    readme = (NOTES / "README.md").read_text(encoding="utf-8")
    assert [lesson for lesson in LESSONS if f"({lesson}.md)" not in readme] == [], (
        "without a line in the README"
    )


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_page_is_whole(lesson: str) -> None:
    text = (NOTES / f"{lesson}.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^## (.+)$", text, re.MULTILINE)) == HEADINGS, (
        f"notebooks/instructor/{lesson}.md has the parts {', '.join(HEADINGS)}, in this order"
    )
    assert len(re.findall(r"^\d\. \*\*", part(text, "Outcomes"), re.MULTILINE)) in (2, 3), (
        "two or three outcomes, each '1. **verb** ...'"
    )
    answers = part(text, "Answers")
    exercises = part(answers, "Exercises", 3)
    predictions = part(answers, "Predictions", 3)
    answered = set(re.findall(r"^- `([^`]+)`", exercises, re.MULTILINE))
    assert answered == names_on_page(lesson, "check"), (
        "under Exercises a line '- `key` ...' for each lesson.check"
    )
    told = "".join(re.findall(r"^- [^:]+:", predictions, re.MULTILINE))
    assert set(re.findall(r"\*([^*\n]+)\*", told)) == names_on_page(lesson, "predict"), (
        "under Predictions a line '- *key*: ...' for each lesson.predict"
    )
    plan = part(text, "Plan: 90 minutes")
    rows = [
        (int(begin), int(end))
        for begin, end in re.findall(r"^\| (\d+)-(\d+) \|", plan, re.MULTILINE)
    ]
    assert rows, "the plan is a table with lines '| 0-10 | ...'"
    assert rows[0][0] == 0 and rows[-1][1] == 90, "the plan begins at 0 and ends at 90"
    assert all(begin < end for begin, end in rows), "each line of the plan takes time"
    assert [end for _, end in rows[:-1]] == [begin for begin, _ in rows[1:]], (
        "no minute twice, none left out"
    )
    assert lesson in WITHOUT_ALGORITHM or "**The whole method**" in plan, (
        "the plan has time for **The whole method**"
    )
