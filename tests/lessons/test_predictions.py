"""Locked predictions: a restarted kernel finds them, and a teacher collects them."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ddlab.lessons import lesson as frame
from ddlab.lessons import predictions
from tests.support import refuses

QUESTION = ("images", "What does the work?", ["the images", "the labels"])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DDLAB_PREDICTIONS", str(tmp_path / predictions.NAME))
    return tmp_path / predictions.NAME


def restarted(monkeypatch: pytest.MonkeyPatch) -> frame.Lesson:
    """A lesson as a new kernel begins it."""
    monkeypatch.setattr(frame, "_predictions", {})
    return frame.Lesson("00_start", seed=0, device="cpu")


def test_a_locked_answer_survives_a_restart(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = restarted(monkeypatch).predict(*QUESTION)
    question.choose("the images")
    assert restarted(monkeypatch).predict(*QUESTION).locked is None, "chosen is not locked"
    question.lock()
    assert restarted(monkeypatch).predict(*QUESTION).locked == "the images"
    changed = restarted(monkeypatch).predict(*QUESTION[:2], ["both", "neither"])
    assert changed.locked is None, "an answer that is no longer offered"
    (kept,) = json.loads(file.read_text())
    assert (kept["lesson"], kept["key"], kept["answer"]) == ("00_start", "images", "the images")


def test_what_is_locked_by_a_program_is_not_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page without a kernel is recorded with every answer locked in turn."""
    question = restarted(monkeypatch).predict(*QUESTION)
    question.locked = "the labels"
    assert not file.exists()


def test_nothing_is_kept_where_nobody_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DDLAB_PREDICTIONS", "")
    question = restarted(monkeypatch).predict(*QUESTION)
    question.choose("the images")
    question.lock()
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file_stops_no_lesson(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("[{")
    with pytest.warns(UserWarning, match="a list of answers as a lesson writes it"):
        lesson = restarted(monkeypatch)
    question = lesson.predict(*QUESTION)
    question.choose("the images")
    with pytest.warns(UserWarning, match="holds for this kernel alone"):
        question.lock()
    assert file.read_text() == "[{" and question.locked == "the images"


def test_a_teacher_collects_the_answers_of_a_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for student, answer in {"anna": "the images", "=bo": "the labels"}.items():
        folder = tmp_path / "submitted" / student / "00_start"
        folder.mkdir(parents=True)
        monkeypatch.setenv("DDLAB_PREDICTIONS", str(folder / predictions.NAME))
        question = restarted(monkeypatch).predict(*QUESTION)
        question.choose(answer)
        question.lock()
    for student, text in {"carl": "{}", "dora": '[{"lesson": 3}]', "emil": "x" * 2**21}.items():
        (tmp_path / "submitted" / student).mkdir()
        (tmp_path / "submitted" / student / predictions.NAME).write_text(text)
    collected = predictions.collect(tmp_path / "submitted")
    assert set(collected.refused) == {"dora", "emil"} and collected.answers["carl"] == ()
    assert "the images" in str(collected) and str(tmp_path) not in str(collected)
    command = [sys.executable, "-m", "ddlab.lessons.predictions", "submitted"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with (tmp_path / "predictions.csv").open(newline="") as file:
        rows = {row["student"]: row["answer"] for row in csv.DictReader(file)}
    assert rows["anna"] == "the images" and rows["'=bo"] == "the labels"
    assert rows["emil"].startswith("refused: ")
    with refuses("folder", predictions.NAME):
        predictions.collect(tmp_path / "none")
