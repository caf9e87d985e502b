"""What the trials of lesson 90 share: their link to the register, and sliders that several have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.parameters import Parameters, parameter
from .. import claims
from .trial_card import FAILS, HOLDS, WHEN, Shown, Trial

_ON_RECORD = {"holds": HOLDS, "holds when": WHEN, "false": FAILS}


def recorded_verdict(printed: Sequence[str]) -> str | None:
    """The recorded verdict on a statement that consists of these claims: it is as good as the worst of them.

    None where there are none, one has no recorded run yet, or its run did not decide.
    """
    known = [claim for claim in printed if claim in claims.CLAIMS and claims.is_recorded(claim)]
    found = [_ON_RECORD.get(claims.recorded(claim).verdict) for claim in known]
    if not printed or len(known) < len(printed) or None in found:
        return None
    return next(verdict for verdict in (FAILS, WHEN, HOLDS) if verdict in found)


def record_lines(ids: Sequence[str]) -> tuple[str, ...]:
    """What the register's record says of these claims; "R2" stands for all claims of that entry."""
    lines = []
    for name in ids:
        found = [claim for claim in claims.CLAIMS if claim == name or claim.startswith(f"{name} ")]
        if not found:
            lines.append(f"{name}: no recorded run yet")
        for claim in found:
            lines.append(str(claims.recorded(claim)) if claims.is_recorded(claim) else f"{claim}: no recorded run yet")
    return tuple(lines)


def trial(
    key: str,
    *,
    printed: Sequence[str] = (),
    beside: Sequence[str] = (),
    verdict: str,
    when: str = "",
    source: str,
    statement: str,
    parameters: type[Parameters],
    show: Callable[[Any], Shown],
    right: str,
    reason: str,
) -> Trial:
    """A `Trial` whose verdict is the recorded one where there is one.

    Args:
        printed: ids of the claims that the statement consists of. beside: those about its right form, or near it.
        verdict, when: what the sliders show, for as long as nothing is recorded; a test holds both to agree.
    """
    shown = recorded_verdict(printed) or verdict
    declared = (getattr(claims.CLAIMS[claim], "when", "") for claim in printed if claim in claims.CLAIMS)
    condition = when or next(filter(None, declared), "")
    return Trial(
        key=key, source=source, statement=statement, parameters=parameters, show=show, right=right, reason=reason,
        verdict=shown, when=condition if shown == WHEN else "", record=record_lines([*printed, *beside]),
    )  # fmt: skip


def spread_field(default: float = 1.0, low: float = 0.05, high: float = 2.0) -> Any:
    """S, the standard deviation of a class; the means are 1 apart in every dimension."""
    return parameter(
        default, symbol=r"\Sigma", range=(low, high), step=0.01, explorable=(low, high),
        help="Standard deviation of each class; the means are 1 apart in each dimension.",
    )  # fmt: skip


def share_field(default: float, symbol: str, words: str, *, high: float = 1.0, step: float = 0.01) -> Any:
    """A number from 0 on."""
    return parameter(default, symbol=symbol, range=(0, high), step=step, explorable=(0, high), help=words)


def seed_field() -> Any:
    """Of what a trial draws."""
    return parameter(0, range=(0, 999), explorable=(0, 20), help="Another draw.")


def within(values: Any, low: float, high: float) -> np.ndarray:
    """The values as an array, with holes where they leave [low, high], so that the axis keeps its scale."""
    array = np.asarray(values, dtype=float)
    return np.where((array >= low) & (array <= high), array, np.nan)
