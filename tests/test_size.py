"""Size in statements, which formatting does not change.

A method or a lesson raises both totals in its own commit; anything else finds what can go.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STATEMENTS = {"ddlab": 24_512, "tests": 22_596}


@pytest.mark.parametrize("room", STATEMENTS)
def test_it_has_not_grown(room: str) -> None:
    total = 0
    for file in (ROOT / room).rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        total += sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
    assert total <= STATEMENTS[room], (
        f"{room} has {total} statements; raise STATEMENTS with a new method or lesson"
    )
