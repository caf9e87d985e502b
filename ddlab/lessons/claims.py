"""The claim registry: what was found for each claim of the register.

The effect and its size are declared in `register.py`, before any run. A verdict follows from the paired differences by `judge` alone.
The numbers of the recorded runs stand in `verdicts.json`, made by `python -m ddlab.lessons.record`; a lesson recomputes its claims
with fewer pairs and asserts that both agree.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import errors
from ..errors import DDLabError
from ..evaluation import interval
from .register import CLAIMS, Claim

RECORD = Path(__file__).with_name("verdicts.json")
VERDICTS = ("holds", "holds when", "false", "not seen at this scale", "inconclusive")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was found for a claim.

    Attributes:
        verdict: one of `VERDICTS`. number: mean of the effect over pairs. interval: 95%, (low, high). pairs: how many.
        spread: standard deviation over pairs. setting: on what it was measured, in words.
    """

    claim: str
    verdict: str
    number: float
    interval: tuple[float, float]
    pairs: int
    spread: float
    setting: str

    def __str__(self) -> str:
        low, high = self.interval
        opposite = "; the effect is the other way round" if high < 0 else ""
        numbers = f"effect {self.number:+.3f}, 95% interval {low:+.3f} to {high:+.3f}, {self.pairs} pairs"
        return f"{self.claim}: {self.verdict} ({numbers}){opposite}"


def judge(claim_id: str, differences: Sequence[float], *, setting: str) -> Verdict:
    """The verdict that follows from the paired differences of a claim's effect.

    "holds" when the whole 95% interval is at least the claimed effect, "inconclusive" when it contains it. When all of it is below:
    "not seen at this scale", and "false" for a claim that no scale could save, because it is exact or read off the paper's own table.

    Raises:
        DDLabError: an unknown claim, fewer than two pairs, or differences that are not finite.
    """
    claim = CLAIMS[errors.check_choice("claim_id", claim_id, tuple(CLAIMS))]
    errors.check_instance("differences", differences, Sequence, "a sequence of numbers")
    values = [errors.check_number("differences", value) for value in differences]
    if len(values) < 2:
        raise DDLabError(f"differences must be of at least two pairs; given {len(values)}.")
    low, high = interval(values) or (math.nan, math.nan)
    if low >= claim.claimed:
        verdict = "holds"
    elif high < claim.claimed:
        verdict = "false" if claim.test in ("exact", "table") else "not seen at this scale"
    else:
        verdict = "inconclusive"
    return Verdict(
        claim=claim.id,
        verdict=verdict,
        number=statistics.fmean(values),
        interval=(low, high),
        pairs=len(values),
        spread=statistics.stdev(values),
        setting=setting,
    )


def recorded(claim_id: str) -> Verdict:
    """The verdict of the recorded run of a claim."""
    errors.check_choice("claim_id", claim_id, tuple(CLAIMS))
    entry = _record()["verdicts"].get(claim_id)
    if entry is None:
        raise DDLabError(f"claim_id must be a claim with a recorded verdict; given {claim_id!r}, which has none yet.")
    try:
        return _checked(claim_id, Verdict(**entry | {"interval": tuple(entry["interval"])}))
    except (TypeError, KeyError) as problem:
        raise DDLabError(f"the record {RECORD.name} must be whole; given {claim_id!r} with other fields.") from problem


def is_recorded(claim_id: str) -> bool:
    """Whether a claim has a recorded verdict yet."""
    return errors.check_choice("claim_id", claim_id, tuple(CLAIMS)) in _record()["verdicts"]


def agrees(verdict: Verdict) -> bool:
    """Whether a recomputed mean lies within three standard deviations of the recorded pairs (other machines give other bits)."""
    known = recorded(verdict.claim)
    return abs(verdict.number - known.number) <= 3 * known.spread


def provenance(lesson: str) -> dict[str, Any]:
    """Commit and machine of the recorded run of a lesson's claims."""
    known = _record()["provenance"]
    return known[errors.check_choice("lesson", lesson, tuple(known))]


def table(lesson: str | None = None) -> str:
    """All claims (of one lesson) with their recorded verdicts, as a Markdown table."""
    lines = [
        "| id | claim | source | declared effect | found (95% interval, pairs) | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for claim in CLAIMS.values():
        if lesson in (None, claim.lesson):
            lines.append(_row(claim))
    return "\n".join(lines)


def save(verdicts: Sequence[Verdict], provenance: dict[str, Any], path: Path = RECORD) -> None:
    """Write these verdicts into the record; those of other lessons stay, each lesson with the provenance of its own run."""
    from ..storage import write_atomically

    known = _record(path)
    lessons = {CLAIMS[verdict.claim].lesson for verdict in verdicts}
    content = {
        "provenance": known["provenance"] | dict.fromkeys(sorted(lessons), provenance),
        "verdicts": known["verdicts"] | {verdict.claim: asdict(verdict) for verdict in verdicts},
    }
    write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())


def _row(claim: Claim) -> str:
    if claim.id not in _record()["verdicts"]:
        return f"| {claim.id} | {claim.statement} | {claim.source} | {claim.effect}: at least {claim.claimed:g} | not run | |"
    found = recorded(claim.id)
    low, high = found.interval
    number = f"{found.number:+.3f} ({low:+.3f} to {high:+.3f}, {found.pairs}); {found.setting}"
    return f"| {claim.id} | {claim.statement} | {claim.source} | {claim.effect}: at least {claim.claimed:g} | {number} | {found.verdict} |"


def _record(path: Path | None = None) -> dict[str, Any]:
    path = RECORD if path is None else path
    if not path.exists():
        return {"provenance": {}, "verdicts": {}}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found["provenance"], dict) and isinstance(found["verdicts"], dict):
            return found
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise DDLabError(f"the record {path.name} must be whole; given a damaged one.")


def _checked(claim_id: str, found: Verdict) -> Verdict:
    """`found` as it was read, if every field is of its kind."""
    errors.check_choice("the recorded claim", found.claim, (claim_id,))
    errors.check_choice("the recorded verdict", found.verdict, VERDICTS)
    errors.check_integer("the recorded pairs", found.pairs, 2)
    errors.check_text("the recorded setting", found.setting)
    errors.check_number("the recorded spread", found.spread, 0)
    for number in (found.number, *found.interval):
        errors.check_number("a recorded number", number)
    if len(found.interval) != 2:
        errors.fail("the recorded interval", "two numbers", found.interval)
    return found
