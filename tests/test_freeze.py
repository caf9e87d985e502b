"""The comparison of two frozen trees: a changed, a missing and a new entry are named, and nothing else is."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests import freeze

FROZEN: dict[str, Any] = {
    "made with": {"torch": "1", "threads": 1},
    "sections": {"draws": {"a": "1.0", "b": ["x", "y"]}, "training": {"methods": 0.4}},
}


def compared(tmp_path: Path, new: dict[str, Any], *options: str) -> int:
    for name, content in (("old", FROZEN), ("new", new)):
        (tmp_path / name).write_text(json.dumps(content))
    return freeze.main(
        ["compare", str(tmp_path / "old"), str(tmp_path / "new"), "--only", "draws", "training", *options]
    )


def test_equal_trees_are_equal_and_it_is_said_what_was_compared(tmp_path: Path, capsys: Any) -> None:
    assert compared(tmp_path, FROZEN) == 0
    said = capsys.readouterr().out
    assert "draws: 2 and 2 entries compared, 0 differences" in said and said.endswith("all the same\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda draws: draws.update(a="2.0"), "draws: changed: a: '1.0' -> '2.0'"),
        (lambda draws: draws.update(b=["x", "z"]), "draws: changed: b: ['y'] -> ['z']"),
        (lambda draws: draws.update(b=["y", "x"]), "draws: changed: b: ['x', 'y'] -> ['y', 'x']"),
        (lambda draws: draws.pop("a"), "draws: gone: a (was '1.0')"),
        (lambda draws: draws.update(c="3.0"), "draws: new: c (is '3.0')"),
    ],
)
def test_every_difference_is_named(tmp_path: Path, capsys: Any, change: Any, said: str) -> None:
    new = copy.deepcopy(FROZEN)
    change(new["sections"]["draws"])
    assert compared(tmp_path, new) == 1
    lines = capsys.readouterr().out.splitlines()
    assert said in lines and lines[-1] == "1 differences"


def test_a_section_that_is_not_there_and_another_torch_are_differences(tmp_path: Path, capsys: Any) -> None:
    assert compared(tmp_path, {**FROZEN, "sections": {"training": FROZEN["sections"]["training"]}}) == 1
    assert "draws: nothing to compare" in capsys.readouterr().out
    assert compared(tmp_path, {**FROZEN, "made with": {"torch": "2", "threads": 1}}) == 1
    assert "made with: changed: torch: '1' -> '2'" in capsys.readouterr().out


def test_a_long_text_is_shown_where_it_differs() -> None:
    one = "a" * 1000
    (line,) = freeze.differences({"text": one}, {"text": one[:600] + "b" + one[601:]})
    assert "from character 570 on" in line and "b" in line.split("->")[1] and len(line) < 500


def test_one_bit_of_a_tensor_is_another_text() -> None:
    one = torch.tensor([1.0, 2.0])
    other = torch.tensor([1.0, 2.0000002])
    assert freeze.written(one) == freeze.written(one.clone()) != freeze.written(other)
    assert freeze.written(torch.tensor(0.0)) != freeze.written(torch.tensor(-0.0))
    assert freeze.together({"a": one, "b": 1}) != freeze.together({"a": one, "b": 1.0})
    with pytest.raises(TypeError):
        freeze.written(object())


def test_the_command_writes_what_it_compares(tmp_path: Path, capsys: Any) -> None:
    threads = torch.get_num_threads()
    files = [str(tmp_path / name) for name in ("old.json", "new.json")]
    for file in files:
        assert freeze.main(["write", file, "--only", "draws"]) == 0
    torch.set_num_threads(threads)
    assert freeze.main(["compare", *files, "--only", "draws"]) == 0
    assert "entries in" in capsys.readouterr().out
