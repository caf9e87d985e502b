"""How long the rooms may be, in lines of `*.py`, with 2% of slack. The numbers are lowered when something goes; a new method (200) or
lesson (450) raises those of its room.

Aims: core 1,200, data 1,600, networks 1,150, distilled 1,050, runs 1,050, training 2,700, methods 4,400, evaluation 1,450,
records 100, figures 2,200, explorers 2,400, lessons 6,500; together 27,500. Tests 20,000.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = {
    "ddlab/core": 1392,
    "ddlab/data": 2525,
    "ddlab/networks": 1618,
    "ddlab/distilled": 1537,
    "ddlab/runs": 1439,
    "ddlab/training": 3542,
    "ddlab/methods": 6878,
    "ddlab/evaluation": 1950,
    "ddlab/records": 550,
    "ddlab/figures": 1984,
    "ddlab/explorers": 2803,
    "ddlab/lessons": 9372,
    "tests": 28850,
}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_no_longer_than_it_was(room: str) -> None:
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in (ROOT / room).rglob("*.py"))
    assert lines <= ROOMS[room] * 1.02, f"{room} has {lines} lines: what can go?"


def test_no_room_is_forgotten() -> None:
    rooms = {f"ddlab/{folder.name}" for folder in (ROOT / "ddlab").iterdir() if (folder / "__init__.py").exists()}
    assert rooms | {"tests"} == ROOMS.keys()
