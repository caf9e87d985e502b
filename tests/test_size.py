"""How long the rooms may be, in lines of `*.py`. The numbers are only lowered; a new method or lesson adds its own row within the budget.

Aims: core 1,200, data 1,600, networks 1,150, distilled 1,050, runs 1,050, training 2,700, methods 4,400, evaluation 1,450, theory 1,600,
records 100, figures 2,200, explorers 2,400, lessons 6,500; together 27,500. Tests 20,000.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = {
    "ddlab/core": 1492,
    "ddlab/data": 2067,
    "ddlab/networks": 1558,
    "ddlab/distilled": 1549,
    "ddlab/runs": 1409,
    "ddlab/training": 3508,
    "ddlab/methods": 6969,
    "ddlab/evaluation": 1698,
    "ddlab/theory": 1173,
    "ddlab/records": 98,
    "ddlab/figures": 2573,
    "ddlab/explorers": 2705,
    "ddlab/lessons": 7595,
    "tests": 28191,
}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_no_longer_than_it_was(room: str) -> None:
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in (ROOT / room).rglob("*.py"))
    assert lines <= ROOMS[room], f"{room} has {lines} lines: what can go?"


def test_no_room_is_forgotten() -> None:
    rooms = {f"ddlab/{folder.name}" for folder in (ROOT / "ddlab").iterdir() if (folder / "__init__.py").exists()}
    assert rooms | {"tests"} == ROOMS.keys()
