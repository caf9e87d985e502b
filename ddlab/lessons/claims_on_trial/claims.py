"""Lesson 90: its claims, gathered from the subjects, and what papers' sentences say of their own tables and proofs."""

from __future__ import annotations

import re

from ..claims import Claim
from ..shared import printed_sentences
from ..shared.effects import Measured
from . import NAME, convergence, generalisation, information, losses, merging, networks, overlap
from .statements import Statements

__all__ = ["CLAIMS", "MEASURES", "NAME", "SUBJECTS", "effects"]

on_trial = Statements()


def _read(sentences: list[printed_sentences.Sentence]) -> Measured:
    holds = [float(sentence.holds) for sentence in sentences]
    return Measured(holds, f"{len(holds)} sentences, read against the paper's own numbers")


@on_trial.claim(
    "R16",
    "ReLA, Theorems 1, 2, 4 and 6, appendices A to G and O",
    "What ReLA's theorems print is what its proofs give.",
    effect="statements that their own proof bears out",
    claimed=1.0,
    test="table",
    counted=True,
)
def _rela_sentences(_pairs: int) -> Measured:
    return _read(printed_sentences.rela())


@on_trial.claim(
    "F11",
    "FADRM, abstract, introduction and section 4",
    "What the paper's sentences say of its Tables 1 to 6 agrees with these tables.",
    effect="sentences that their table bears out",
    claimed=1.0,
    test="table",
    counted=True,
)
def _fadrm_sentences(_pairs: int) -> Measured:
    return _read(printed_sentences.fadrm())


@on_trial.claim(
    "B9",
    "Boost, section 4 and appendix A",
    "What the paper's sentences say of its Tables 1 to 4, 6 to 8 and 11 to 13 agrees with these tables.",
    effect="sentences that their table bears out",
    claimed=1.0,
    test="table",
    counted=True,
)
def _boost_sentences(_pairs: int) -> Measured:
    return _read(printed_sentences.boost())


SUBJECTS = [
    module.on_trial for module in (convergence, information, overlap, generalisation, losses, merging, networks)
]


def _entry(claim: Claim) -> tuple[int, int]:
    """Its place in the register: the paper's letter and the entry's number; parts of an entry stay as they are declared."""
    (number,) = re.findall(r"^.(\d+)", claim.id)
    return "RFB".index(claim.id[0]), int(number)


_EVERY = (*SUBJECTS, on_trial)
CLAIMS = sorted((claim for subject in _EVERY for claim in subject.claims), key=_entry)
MEASURES = {claim.id: subject.measures[claim.id] for claim in CLAIMS for subject in _EVERY if claim in subject.claims}
"""Claim -> its effects; the argument is the number of pairs, of which closed forms draw twenty times as many."""


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson, in the order of the register."""
    return {name: measure(pairs) for name, measure in MEASURES.items()}
