"""What all commands share: help that comes at once, exit statuses, one line for a mistake, `--json`, progress."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from ddlab import commands
from ddlab.commands import arguments, lessons, main
from ddlab.core import errors
from ddlab.methods import selection
from tests.support import refuses
from tests.test_imports import loaded_after

NAMES = ["distill", "evaluate", "bench", "records", "claims", *(f"lessons {part}" for part in lessons.PARTS)]


def test_the_help_is_shown_by_python_m_ddlab() -> None:
    done = subprocess.run([sys.executable, "-m", "ddlab", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: ddlab ") and not done.stderr
    assert all(f"\n    {name.split()[0]}" in done.stdout for name in NAMES)


def test_the_help_waits_for_nothing() -> None:
    loaded = loaded_after("import ddlab.commands; ddlab.commands.parser().format_help()")
    assert "argparse" in loaded and not loaded & {"torch", "numpy", "nbconvert", "plotly"}


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_help_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert f"examples:\n  ddlab {name}" in said and "--json" in said and "--quiet" in said


@pytest.mark.parametrize("given", [[], ["distil"], ["lessons"], ["distill", "sre2l"], ["evaluate"], ["bench", "x"]])
def test_wrong_usage_is_status_2(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(given) == 2
    said = capsys.readouterr()
    assert said.err.startswith("usage: ddlab") and "error: " in said.err and not said.out


@pytest.mark.parametrize(
    ("problem", "status", "sentence"),
    [
        (errors.DDLabError("a must be b;\ngiven c."), 2, "a must be b; given c."),
        (errors.NonFiniteError("a must stay finite; given NaN."), 1, "a must stay finite; given NaN."),
        (OSError("the disk is full"), 1, "the disk is full"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (KeyboardInterrupt("in the middle"), 130, "interrupted: in the middle"),
    ],
)
def test_what_goes_wrong_is_one_line(
    problem: BaseException, status: int, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    def fails(_: Any) -> None:
        print("half of something")
        raise problem

    monkeypatch.setattr(commands.records, "run", fails)
    assert main(["records", "--json"]) == status
    assert tuple(capsys.readouterr()) == ("", f"ddlab: {sentence}\n")


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands.records, "run", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["records"])


def test_json_stands_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def chatty(_: Any) -> tuple[int, dict[str, Any]]:
        print("for a reader")
        return 1, {"a": [1, None]}

    monkeypatch.setattr(commands.records, "run", chatty)
    assert main(["records", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"a": [1, None]}
    assert main(["records"]) == 1
    assert capsys.readouterr().out == "for a reader\n"


def test_progress_can_be_turned_off() -> None:
    given = ["evaluate", "set", "--data", "digits"]
    plain, quiet = (commands.parser().parse_args(words) for words in (given, [*given, "--quiet"]))
    assert arguments.progress(plain) and not arguments.progress(quiet)


def test_settings_from_words() -> None:
    found = arguments.changes(selection.Config, "--config", ["kind=k_means", '{"images_per_class": 2}', "seed=3"])
    assert found == {"kind": "k_means", "images_per_class": 2, "seed": 3}
    for wrong in ("kind", "=3", "{", '{"a": 1'):
        with refuses("--config", "name=value or a JSON object", wrong):
            arguments.pairs("--config", [wrong])
    with refuses("a setting in --config", "kind", "knid"):
        arguments.changes(selection.Config, "--config", ["knid=random"])
