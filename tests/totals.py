"""One last line for several runs of pytest, in pytest's own words: `python -m tests.totals REPORT.xml ...` (their --junitxml).

A report that is missing or cannot be read counts as an error: its run did not come to an end.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as xml
from pathlib import Path

KINDS = ("failed", "passed", "skipped", "errors")


def counted(reports: list[Path]) -> tuple[dict[str, int], float]:
    """How many tests ended how, and the seconds that they took together."""
    totals: dict[str, int] = dict.fromkeys(KINDS, 0)
    seconds = 0.0
    for report in reports:
        try:
            suites = list(xml.parse(report).getroot().iter("testsuite"))
        except (OSError, xml.ParseError):
            totals["errors"] += 1
            continue
        for suite in suites:
            tests, failed, errors, skipped = (
                int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")
            )
            passed = tests - failed - errors - skipped
            for kind, count in zip(KINDS, (failed, passed, skipped, errors), strict=True):
                totals[kind] += count
            seconds += float(suite.get("time", 0))
    return totals, seconds


def line(totals: dict[str, int], seconds: float) -> str:
    """As pytest ends: "== 2 failed, 10 passed in 12.3s ==", without what did not happen."""
    words = ", ".join(f"{count} {kind}" for kind, count in totals.items() if count) or "no tests ran"
    return f" {words} in {seconds:.1f}s ".center(80, "=")


if __name__ == "__main__":
    found, spent = counted([Path(name) for name in sys.argv[1:]])
    print(line(found, spent))
    sys.exit(1 if found["failed"] or found["errors"] or not found["passed"] else 0)
