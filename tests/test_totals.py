"""The line that counts several runs of pytest together."""

from __future__ import annotations

from pathlib import Path

from tests.totals import counted, line

REPORT = '<testsuites><testsuite errors="{}" failures="{}" skipped="{}" tests="{}" time="{}"/></testsuites>'


def test_runs_are_added_up(tmp_path: Path) -> None:
    for name, numbers in (("one", (0, 2, 1, 10, 1.5)), ("two", (1, 0, 0, 4, 2.0))):
        (tmp_path / name).write_text(REPORT.format(*numbers))
    totals, seconds = counted([tmp_path / "one", tmp_path / "two"])
    assert (totals, seconds) == ({"failed": 2, "passed": 10, "skipped": 1, "errors": 1}, 3.5)
    assert line(totals, seconds).strip("= ") == "2 failed, 10 passed, 1 skipped, 1 errors in 3.5s"


def test_a_run_that_did_not_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "half").write_text("<testsuites><testsuite")
    assert counted([tmp_path / "half", tmp_path / "none"])[0]["errors"] == 2
