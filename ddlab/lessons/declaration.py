"""What a claim is: its source, its words, and which effect of which size would show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["exact", "small", "scale", "table"]


@dataclass(frozen=True, kw_only=True)
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
    """

    id: str
    source: str
    statement: str
    effect: str
    claimed: float
    test: Kind
    lesson: str
    every: bool = False
    when: str = ""
