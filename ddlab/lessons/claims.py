"""The claims: what each source says, which effect of which size would show it, and what was found.

A lesson declares its claims in its folder's `claims.py`, before any run, beside what measures them: `CLAIMS`, and `effects(pairs)`, which
gives claim -> `Measured`. A verdict follows from the paired differences by `judge` alone. The numbers of the recorded runs stand in
`verdicts.json`; a lesson recomputes its claims with fewer pairs and asserts that both agree.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ..core import errors
from ..core.errors import DDLabError
from ..core.registry import Registry, in_folders
from .shared.effects import Measured, Numbers, numbers_of

RECORD = Path(__file__).with_name("verdicts.json")
MEASURED = ("holds", "weaker", "not seen", "opposite")  # of effects that data show
STATED = ("true", "true when", "false")  # of what is exact, printed, or said of every case
VERDICTS = (*MEASURED, "holds when", *STATED, "undecided")
ROUNDING = 1e-9  # by which a pair may miss what a for-all claim declares, and a recomputed mean the recorded one

_LESSONS = __name__.rpartition(".")[0]
_BAR = r"\|"  # in a cell of a Markdown table
_FIRST = (
    "20_inverting_a_network",
    "00_start",
)  # lessons whose claims come first: labels and images (X1), the control of all others


@dataclass(frozen=True)
class Claim:
    """One testable claim.

    Attributes:
        id: as in the register ("D1"), with a word where one entry has several parts ("X1 labels").
        source: paper and place. statement: the claim in one sentence.
        effect: the number that is measured for each pair, in words. claimed: how large it is at least if the claim holds.
        test: what it takes: "exact", "small" (two cores), "scale" (a GPU), "table" (reading).
        lesson: name of the notebook that tests it.
        every: a for-all statement: each single pair must reach `claimed`, so that one exception makes it false.
        when: a condition, declared beforehand, under which the claim is judged as well ("t = 0"); empty for none.
        counted: each effect is 1 or 0, a sentence that its own numbers bear out or not: a count, which has no interval.
    """

    id: str
    source: str
    statement: str
    _: KW_ONLY
    effect: str
    claimed: float
    test: Literal["exact", "small", "scale", "table"]
    lesson: str
    every: bool = False
    when: str = ""
    counted: bool = False

    @property
    def stated(self) -> bool:
        """Whether it is true or false: exact, printed, or said of every case. Else data show an effect, or not."""
        return self.every or self.test in ("exact", "table")


def _claims() -> dict[str, Claim]:
    """Those of all lessons by their ids."""
    found = [claim for module in in_folders(_LESSONS, "claims") for claim in module.CLAIMS]
    found.sort(key=lambda claim: (*(claim.lesson != first for first in _FIRST), claim.lesson))
    return {claim.id: claim for claim in found}


CLAIMS: Mapping[str, Claim] = Registry(_claims)
EFFECTS: Mapping[str, Callable[[int], dict[str, Measured]]] = Registry(
    lambda: {module.NAME: module.effects for module in sorted(in_folders(_LESSONS, "claims"), key=lambda m: m.NAME)}
)
"""Lesson -> what measures its claims with so many pairs."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was found for a claim.

    Attributes:
        verdict: one of `VERDICTS`. number: mean of the effect over pairs. interval: 95%, (low, high). pairs: how many.
        spread: standard deviation over pairs. setting: on what it was measured, in words.
        least: the smallest effect of a pair. under: the numbers of the pairs that meet the claim's condition `when`, if it has one.
    """

    claim: str
    verdict: str
    number: float
    interval: tuple[float, float]
    pairs: int
    spread: float
    setting: str
    least: float | None = None
    under: Numbers | None = None

    @property
    def numbers(self) -> Numbers:
        """Those of all pairs."""
        return Numbers(self.number, self.interval, self.pairs, self.spread, self.least)

    def __str__(self) -> str:
        claim, found = CLAIMS[self.claim], f"{self.claim}: {in_words(self)} ({effect_in_words(self)})"
        return found if self.under is None else f"{found}; where {claim.when}: {self.under.text(claim.every)}"


def judge(
    claim_id: str, differences: Sequence[float], *, setting: str, under: Sequence[float] | None = None
) -> Verdict:
    """The verdict that follows from the paired differences of a claim's effect.

    An effect that data show "holds" when the whole 95% interval is at least the claimed one, and is "undecided" when the interval
    contains that. When all of it is below: "weaker" (positive), "not seen" (it contains 0), "opposite" (negative).
    What is stated (exact, printed, of every case) is "true", "undecided" or "false" by the same interval; a claim about every pair is
    true when the least one reaches the claimed effect (up to 1e-9), and false by one exception.
    A claim with a condition that does not hold of all pairs but, by the same rule, of those that meet it: "holds when", "true when".

    Args:
        setting: on what it was measured, in words. under: the differences of the pairs that meet the claim's condition `when`; at least
            two, for a claim that has one and for no other.

    Raises:
        DDLabError: an unknown claim, fewer than two pairs, or differences that are not finite.
    """
    claim = _known(claim_id)
    found = numbers_of("differences", differences)
    if bool(claim.when) != (under is not None):
        errors.fail(
            "under", f"the differences where {claim.when}" if claim.when else "None, without a condition", under
        )
    met = None if under is None else numbers_of("under", under)
    verdict = _ruled(claim, found)
    if met is not None and not _reached(claim, found) and _reached(claim, met):
        verdict = "true when" if claim.stated else "holds when"
    return Verdict(claim=claim.id, verdict=verdict, setting=setting, under=met, **found._asdict())


def verdicts(lesson: str, pairs: int) -> list[Verdict]:
    """All claims of a lesson, measured now: from its records, and from so many new pairs where there are none."""
    effects = EFFECTS[errors.check_choice("lesson", lesson, tuple(EFFECTS))](pairs)
    return [judge(name, one.values, setting=one.setting, under=one.under) for name, one in effects.items()]


def in_words(verdict: Verdict) -> str:
    """The verdict, with the condition where that belongs to it."""
    return f"{verdict.verdict} {CLAIMS[verdict.claim].when}" if verdict.verdict.endswith(" when") else verdict.verdict


def effect_in_words(verdict: Verdict) -> str:
    """ "effect +0.210, 95% interval +0.185 to +0.235, 3 pairs", or "6 of 10 sentences"."""
    claim = CLAIMS[verdict.claim]
    return _counted(verdict) if claim.counted else f"effect {verdict.numbers.text(claim.every)}"


def _counted(verdict: Verdict) -> str:
    return f"{round(verdict.number * verdict.pairs)} of {verdict.pairs} sentences"


def declared(claim: Claim) -> str:
    """The effect that was declared, its size, and of what it must be true."""
    least = "all" if claim.counted else f"at least {claim.claimed:g}{' in every pair' if claim.every else ''}"
    words = f"{claim.effect}: {least}"
    return f"{words}; judged as well where {claim.when}" if claim.when else words


def _known(claim_id: object) -> Claim:
    """The claim of that id; all ids would be a long sentence, so that a wrong one is told the nearest."""
    if not isinstance(claim_id, str) or claim_id not in CLAIMS:
        near = difflib.get_close_matches(str(claim_id), CLAIMS, n=2, cutoff=0.5)
        hint = f" (nearest: {', '.join(map(repr, near))})" if near else ""
        errors.fail("claim_id", f"one of the {len(CLAIMS)} ids in ddlab.lessons.CLAIMS{hint}", claim_id)
    return CLAIMS[claim_id]


def _reached(claim: Claim, found: Numbers) -> bool:
    """Whether all of these numbers reach the declared effect."""
    least = found.least if claim.every else found.interval[0]
    return least is not None and least >= claim.claimed - (ROUNDING if claim.every else 0)


def _ruled(claim: Claim, found: Numbers) -> str:
    """What the numbers alone say, of all pairs or of those that meet a condition."""
    low, high = found.interval
    if _reached(claim, found):
        return "true" if claim.stated else "holds"
    if not claim.every and high >= claim.claimed:
        return "undecided"
    if claim.stated:
        return "false"
    return "opposite" if high < 0 else "weaker" if low > 0 else "not seen"


def recorded(claim_id: str) -> Verdict:
    """The verdict of the recorded run of a claim."""
    _known(claim_id)
    entry = _record()["verdicts"].get(claim_id)
    if entry is None:
        raise DDLabError(f"claim_id must be a claim with a recorded verdict; given {claim_id!r}, which has none yet.")
    try:
        fields: dict[str, Any] = _paired(entry)
        if fields.get("under") is not None:
            fields["under"] = Numbers(**_paired(fields["under"]))
        return _checked(claim_id, Verdict(**fields))
    except (TypeError, KeyError, AttributeError) as problem:
        raise DDLabError(f"the record {RECORD.name} must be whole; given {claim_id!r} with other fields.") from problem


def is_recorded(claim_id: str) -> bool:
    """Whether a claim has a recorded verdict yet."""
    return _known(claim_id).id in _record()["verdicts"]


def agrees(verdict: Verdict) -> bool:
    """Whether a recomputed mean lies within three standard deviations of the recorded pairs (other machines give other bits)."""
    known = recorded(verdict.claim)
    return abs(verdict.number - known.number) <= 3 * known.spread + ROUNDING


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
    from ..core.storage import write_atomically

    known = _record(path)
    lessons = {CLAIMS[verdict.claim].lesson for verdict in verdicts}
    content = {
        "provenance": known["provenance"] | dict.fromkeys(sorted(lessons), provenance),
        "verdicts": known["verdicts"] | {verdict.claim: _entry(verdict) for verdict in verdicts},
    }
    write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())


def _entry(verdict: Verdict) -> dict[str, Any]:
    """As it is written: without the condition's numbers where there is no condition."""
    under = {} if verdict.under is None else {"under": verdict.under._asdict()}
    return {name: value for name, value in asdict(verdict).items() if name != "under"} | under


def _paired(entry: dict[str, Any]) -> dict[str, Any]:
    """JSON has lists where we have tuples."""
    return entry | {"interval": tuple(entry["interval"])}


def _row(claim: Claim) -> str:
    cells = [claim.id, claim.statement, claim.source, declared(claim)]
    if claim.id not in _record()["verdicts"]:
        return _line([*cells, "not run", ""])
    found = recorded(claim.id)
    where = "" if found.under is None else f"; where {claim.when}: {found.under.cell(claim.every)}"
    numbers = _counted(found) if claim.counted else found.numbers.cell(claim.every)
    return _line([*cells, f"{numbers}{where}; {found.setting}", in_words(found)])


def _line(cells: Sequence[str]) -> str:
    """A row of a Markdown table; a bar inside a cell would end it."""
    return f"| {' | '.join(cell.replace('|', _BAR) for cell in cells)} |".replace("|  |", "| |")


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
    errors.check_text("the recorded setting", found.setting)
    _check_numbers(found.numbers)
    if found.under is not None:
        _check_numbers(found.under)
    return found


def _check_numbers(found: Numbers) -> None:
    errors.check_integer("the recorded pairs", found.pairs, 2)
    errors.check_number("the recorded spread", found.spread, 0)
    for number in (found.number, *found.interval, *(() if found.least is None else (found.least,))):
        errors.check_number("a recorded number", number)
    if len(found.interval) != 2:
        errors.fail("the recorded interval", "two numbers", found.interval)
