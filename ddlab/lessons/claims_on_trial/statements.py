"""What the subjects of lesson 90 share: claims and trials, each declared with its function; what the register says; sliders.

An equality or an inequality that is said to hold always is about every draw; its effect is what is left of it, so that 0 is enough: an
effect of at least 0 means that the statement is true of that draw. A condition (`when`) is declared with it. Sizes of statements without
a number are ours: .9 for "about" and for a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...core.parameters import Parameters, parameter
from .. import claims
from ..claims import Claim
from ..shared.effects import EACH, Measured, drawn, split
from . import NAME
from .trial_card import FAILS, HOLDS, WHEN, Trial

_ON_RECORD = {"holds": HOLDS, "true": HOLDS, "holds when": WHEN, "true when": WHEN, "false": FAILS}
Draw = np.random.Generator
Function = TypeVar("Function", bound=Callable[..., Any])


class Statements:
    """What one module puts on trial: its methods decorate the functions that measure or show what is declared.

    Attributes:
        claims: as declared. measures: claim -> its effects for so many pairs. trials: key -> what makes the trial, from the record of now.
    """

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self.measures: dict[str, Callable[[int], Measured]] = {}
        self.trials: dict[str, Callable[[], Trial]] = {}

    def claim(
        self,
        id: str,
        source: str,
        statement: str,
        *,
        claimed: float = 0.0,
        every: bool = True,
        test: Any = "exact",
        **more: Any,
    ) -> Callable[[Function], Function]:
        """A `Claim`, about every pair unless it says otherwise; its function gives the effects for so many pairs."""
        declared = Claim(id, source, statement, claimed=claimed, every=every, test=test, lesson=NAME, **more)

        def add(measure: Function) -> Function:
            self.claims.append(declared)
            self.measures[id] = measure
            return measure

        return add

    def per_draw(
        self, id: str, *place: str, draws: str, stream: str = "", each: int = EACH, when: str = "", **declared: Any
    ) -> Callable[[Function], Function]:
        """A `claim` whose function gives the effect of one draw, from its generator and number; with a condition, whether that is met, too.

        Args:
            draws: what is drawn, in words behind their number. stream: whose draws these are, default its own. each: draws per pair.
        """

        def add(effect_of: Function) -> Function:
            def measure(pairs: int) -> Measured:
                found = [effect_of(draw, number) for number, draw in enumerate(drawn(stream or id, each * pairs))]
                setting = f"{each * pairs} {draws}"
                return split(found, setting) if when else Measured(found, setting)

            self.claim(id, *place, when=when, **declared)(measure)
            return effect_of

        return add

    def trial(
        self,
        key: str,
        parameters: type[Parameters],
        *,
        verdict: str,
        when: str = "",
        printed: Sequence[str] = (),
        beside: Sequence[str] = (),
        **words: str,
    ) -> Callable[[Function], Function]:
        """A `Trial` whose function shows it; its verdict is the recorded one where there is one.

        Args:
            verdict, when: what the sliders show, for as long as nothing is recorded; a test holds both to agree.
            printed: ids of the claims that the statement consists of. beside: those about its right form, or near it.
            words: source, statement, right and reason.
        """

        def add(show: Function) -> Function:
            def made() -> Trial:
                shown = recorded_verdict(printed) or verdict
                condition = when or next(filter(None, (claims.CLAIMS[claim].when for claim in printed)), "")
                lines, met = record_lines([*printed, *beside]), condition if shown == WHEN else ""
                return Trial(key=key, parameters=parameters, show=show, verdict=shown, when=met, record=lines, **words)

            self.trials[key] = made
            return show

        return add


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
        for claim in found or [name]:
            known = claim in found and claims.is_recorded(claim)
            lines.append(str(claims.recorded(claim)) if known else f"{claim}: no recorded run yet")
    return tuple(lines)


def slider(default: float, low: float, high: float, words: str, *, step: float | None = None, **more: Any) -> Any:
    """A number whose slider reaches over all that is allowed."""
    return parameter(default, range=(low, high), step=step, explorable=(low, high), help=words, **more)


def spread_slider(default: float = 1.0, low: float = 0.05, high: float = 2.0) -> Any:
    """S, the standard deviation of a class; the means are 1 apart in every dimension."""
    words = "Standard deviation of each class; the means are 1 apart in each dimension."
    return slider(default, low, high, words, symbol=r"\Sigma", step=0.01)


def seed_slider() -> Any:
    """Of what a trial draws."""
    return parameter(0, range=(0, 999), explorable=(0, 20), help="Another draw.")


def along(formula: Callable[..., float], name: str, values: Iterable[float], **settings: Any) -> list[float]:
    """A formula at each of these values of one argument."""
    return [formula(**{name: float(value)}, **settings) for value in values]
