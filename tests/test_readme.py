"""The README: short, and what it names exists. (Its examples take minutes; the lessons and doctests run the same calls.)"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import ddlab

ROOT = Path(ddlab.__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))


def test_it_is_for_a_newcomer() -> None:
    assert len(TEXT.encode()) <= 14_000, "what is longer belongs in CONTRIBUTING.md or a docstring"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_what_it_links_to_is_there(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


def test_every_make_target_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", TEXT, re.MULTILINE))
    assert {"lab", "html", "test", "test-all"} <= named <= targets


def test_every_name_in_the_examples_is_there() -> None:
    found = [ast.unparse(node) for node in ast.walk(ast.parse(EXAMPLES)) if isinstance(node, ast.Attribute)]
    named = [name for name in found if name.startswith("ddlab.") and "(" not in name]
    assert len(named) > 10
    for name in named:
        value = ddlab
        for part in name.split(".")[1:]:
            value = getattr(value, part)


def test_contributing_and_changelog_are_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_bytes()) <= 8 * 1024
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 60
