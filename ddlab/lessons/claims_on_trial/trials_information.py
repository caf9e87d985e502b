r"""Trials of what ReLA says about information: eq 24, C.6, and Theorems 3 and 5."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import torch

from ... import theory
from ...core.parameters import Parameters, parameter
from ...figures import bars, loss_curves
from .trial_card import FAILS, HOLDS, WHEN, Shown, Trial
from .trial_parts import share_field, spread_field, trial, within

HARD, SOFT = "hard", "soft"
TEACHER_SPREAD = 0.1  # Definition 4's experiments
SAMPLES = 8  # different samples in the trial of Theorem 3
_RHO = np.linspace(0, 1, 21)
# A hard teacher's information jumps at 0, 1/2 and 1: points close beside them, so that the line is upright there.
_BESIDE = np.array([1e-6, 0.5 - 1e-6, 0.5 + 1e-6, 1 - 1e-6])
_SPREADS = np.round(np.concatenate([np.arange(0.02, 0.3, 0.005), np.arange(0.3, 1.201, 0.02)]), 4)


@dataclass(frozen=True, kw_only=True)
class Width(Parameters):
    """The slider of eq 24."""

    spread: float = spread_field(0.5, 0.02, 1.2)


@dataclass(frozen=True, kw_only=True)
class Teacher(Parameters):
    """Sliders of C.6."""

    relabelled: float = parameter(
        0.5, symbol=r"\rho", range=(0, 1), step=0.05, explorable=(0, 1), help="Share of the teacher's answer in the target."
    )  # fmt: skip
    spread: float = parameter(
        1.0, symbol=r"\Sigma", range=(0.1, 2), step=0.1, explorable=(0.1, 2), help="Of each class."
    )
    teacher: str = parameter(
        HARD, choices=(HARD, SOFT), explorable=True, help="The teacher answers 0 or 1, or a probability."
    )
    levels: int = parameter(
        10, range=(2, 100), scale="log", explorable=(2, 100), help="A soft target is read off to one of so many parts of [0, 1]."
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Reduction(Parameters):
    """Sliders of Theorem 5."""

    coin: float = share_field(
        0.5, "q", "Odds of the unrelated coin in the targets; 0: it always falls the same.", high=0.5
    )
    detail: float = share_field(0.0, "r", "Odds of a detail that samples and targets share.", high=0.5)


@dataclass(frozen=True, kw_only=True)
class Labeler(Parameters):
    """Sliders of Theorem 3."""

    labels: int = parameter(
        4, symbol="k", range=(1, SAMPLES), explorable=(1, SAMPLES), help="How many labels the eight samples get."
    )
    skew: float = share_field(0.5, "s", "How unequal the odds of the samples are: proportional to exp(-s i).", high=2)


def printed_share(view: Width) -> Shown:
    """Eq 24 against I(X; Y) / H(Y), in one dimension and in the lab's two."""
    exact = {d: [_exact_share(float(s), d) for s in _SPREADS] for d in (1, 2)}
    printed = [theory.printed_normalised_information(spread=float(s)) for s in _SPREADS]
    figure = loss_curves(
        {
            "eq 24 as printed": within(printed, -2, 4),
            "I/H(Y), one dimension": exact[1],
            "I/H(Y), the lab's two": exact[2],
        },
        _SPREADS,
        title="How much a sample tells about its target", x_label="spread Σ", y_label="normalised information",
    )  # fmt: skip
    here = theory.printed_normalised_information(spread=view.spread)
    sentence = (
        f"At Σ = {view.spread:g} eq 24 gives {here:.3g}; exactly it is {_exact_share(view.spread, 1):.3f} in one dimension and "
        f"{_exact_share(view.spread, 2):.3f} in the lab's two. On the way to its limit, at Σ = {_SPREADS[0]:g}, eq 24 is {printed[0]:.3g}."
    )
    return Shown(figure=figure, sentence=sentence, holds=0 <= here <= 1, cursor=view.spread)


@functools.lru_cache(maxsize=4096)
def _exact_share(spread: float, dimensions: int) -> float:
    return theory.mixture_information(spread=spread, dimensions=dimensions).share


def information_by_rho(view: Teacher) -> Shown:
    """C.6: I / H(target) against rho, for a hard teacher and for a soft one read off with finite precision."""
    shares = [_relabelled_share(view.teacher, view.spread, float(rho), view.levels) for rho in _RHO]
    name = "hard teacher" if view.teacher == HARD else f"soft teacher, {view.levels} levels"
    places = np.sort(np.concatenate([_RHO, _BESIDE])) if view.teacher == HARD else _RHO
    drawn = [_relabelled_share(view.teacher, view.spread, float(rho), view.levels) for rho in places]
    figure = loss_curves(
        {name: drawn}, places, title="How much a sample tells about its relabelled target", x_label="relabelled share ρ",
        y_label="I / H(target)",
    )  # fmt: skip
    here = _relabelled_share(view.teacher, view.spread, view.relabelled, view.levels)
    falls = [float(rho) for rho, step in zip(_RHO[1:], np.diff(shares), strict=True) if step <= 1e-9]
    where = (
        f"it does not grow on the way to {len(falls)} of the 20 steps of ρ" if falls else "it grows at each step of ρ"
    )
    sentence = f"At ρ = {view.relabelled:g} the share is {here:.3f}, at ρ = 0 {shares[0]:.3f}, at ρ = 1 {shares[-1]:.3f}; {where}."
    return Shown(figure=figure, sentence=sentence, holds=not falls, cursor=view.relabelled)


@functools.lru_cache(maxsize=4096)
def _relabelled_share(teacher: str, spread: float, rho: float, levels: int) -> float:
    if teacher == HARD:
        return theory.relabelled_information(spread=spread, relabelled=rho).share
    return theory.soft_relabelled_information(
        spread=spread, relabelled=rho, teacher_spread=TEACHER_SPREAD, levels=levels, points=10_001
    ).share


def reduced_targets(view: Reduction) -> Shown:
    """Theorem 5: I and I_O of the targets (class, detail, coin), and of the class alone."""
    full, reduced = (theory.table_information(table) for table in reduction_tables(view.coin, view.detail))
    names = ["all targets", "reduced"]
    figure = bars(
        names,
        {"normalised I_O": [full.normalised, reduced.normalised], "information I (nats)": [full.mutual, reduced.mutual]},
        title="What is left when targets are reduced to the class", y_label="I_O, and I in nats",
    )  # fmt: skip
    sentence = (
        f"I_O is {full.normalised:.3f} with all targets and {reduced.normalised:.3f} with the reduced ones; I is {full.mutual:.3f} and "
        f"{reduced.mutual:.3f} nats."
    )
    return Shown(figure=figure, sentence=sentence, holds=full.normalised >= reduced.normalised - 1e-12)


def reduction_tables(coin: float, detail: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Samples (class, detail) by targets (class, detail, coin) [4, 8], and by the class alone [4, 2]; float64."""
    odds = torch.tensor([0.5, 0.5], dtype=torch.float64)
    first, second = (torch.tensor([1 - share, share], dtype=torch.float64) for share in (detail, coin))
    samples = torch.outer(odds, first).flatten()
    full = torch.diag(samples)[:, :, None] * second
    reduced = torch.zeros(4, 2, dtype=torch.float64)
    reduced[:2, 0], reduced[2:, 1] = samples[:2], samples[2:]
    return full.flatten(1), reduced


def labelers(view: Labeler) -> Shown:
    """Theorem 3: I_O of eight samples and labels that a function gives them, for every number of labels."""
    values = [labeler_information(k, view.skew) for k in range(1, SAMPLES + 1)]
    figure = bars(
        [str(k) for k in range(1, SAMPLES + 1)], values, title="Labels as a function of the sample", x_label="number of labels k",
        y_label="normalised information I_O", reference=("ideal", 1.0),
    )  # fmt: skip
    here = values[view.labels - 1]
    sentence = f"With {view.labels} labels I_O is {here:.3f}; with a label for every sample it is {values[-1]:.3f}."
    ideal = math.isclose(values[-1], 1, rel_tol=1e-12)
    return Shown(figure=figure, sentence=sentence, holds=max(values) <= 1 + 1e-12 and ideal, cursor=float(view.labels))


def labeler_information(labels: int, skew: float) -> float:
    """I_O of eight samples of odds ~ exp(-skew i) and y = i mod labels."""
    odds = torch.exp(-skew * torch.arange(SAMPLES, dtype=torch.float64))
    table = torch.zeros(SAMPLES, labels, dtype=torch.float64)
    table[torch.arange(SAMPLES), torch.arange(SAMPLES) % labels] = odds
    return theory.table_information(table).normalised


def trials() -> list[Trial]:
    """Eq 24, C.6, and Theorems 5 and 3."""
    return [
        trial(
            "R4", printed=("R4 range", "R4 limit"), beside=("R4 exact",), verdict=FAILS, source="ReLA, appendix C.5, eq 24",
            statement=r"The normalised information of samples and targets is "
            r"$I_O = 2\log 2\,/\,(\frac12\log(2\pi e\Sigma^2) + 2\log 2)$; it lies in [0, 1] and tends to 1 as $\Sigma \to 0$.",
            parameters=Width, show=printed_share,
            right=r"$I(X;Y)/H(Y)$ lies in [0, 1] and does tend to 1; in two dimensions faster than in one.",
            reason=r"Eq 24 takes the two classes as disjoint for every $\Sigma$, and adds a differential entropy to a "
            r"discrete one. It is 1 "
            r"at $\Sigma = .242$, above 1 below that, without value at .0605 and negative under it. That it lies in [0, 1] for "
            r"$\Sigma \ge .242$ does not save the limit.",
        ),
        trial(
            "R17", printed=("R17",), verdict=WHEN, when=r"$\rho$ begins at 0 or ends at 1", source="ReLA, appendix C.6",
            statement=r"The larger the share $\rho$ of the teacher in the targets, the more samples and targets have in common.",
            parameters=Teacher, show=information_by_rho,
            right=r"With a hard teacher $I/H$ takes one value for every $\rho$ between 0 and 1 but 1/2, and jumps at 0, 1/2 and 1.",
            reason=r"The targets of a hard teacher take the same four values for every such $\rho$: which values they are "
            r"does not matter to "
            r"information. With a soft teacher the exact information is infinite for every $\rho > 0$. What is then seen "
            r"comes from the precision with which a target is read.",
        ),
        trial(
            "R15 Theorem 5", printed=("R15 normalised",), beside=("R15 reduction",), verdict=WHEN,
            when="the targets are a function of the samples: no coin", source="ReLA, Theorem 5",
            statement=r"Reducing targets cannot raise the normalised information: $I_O(R_Y, R_X) \ge I_O(R'_Y, R_X)$.",
            parameters=Reduction, show=reduced_targets,
            right=r"$I(R_Y; R_X) \ge I(R'_Y; R_X)$, without the normalisation: the data processing inequality.",
            reason=r"Reducing also lowers the entropy that $I_O$ divides by. Targets that carry a coin which has nothing to "
            r"do with the samples "
            r"have less $I_O$ than without it. Where a detail is dropped that both share, the sentence can be true.",
        ),
        trial(
            "R15 Theorem 3", printed=("R15 Theorem 3",), verdict=HOLDS, source="ReLA, Theorem 3",
            statement=r"For targets $y = \psi(x)$ the normalised information $I_O$ is at most 1, and it is 1 for a labeler that can be "
            r"inverted.",
            parameters=Labeler, show=labelers,
            right=r"As printed, for discrete variables: $I_O = 2H(Y)/(H(X)+H(Y)) \le 1$ because $H(Y) \le H(X)$.",
            reason=r"The conclusion holds; the proof takes $2H(Y)/(H(Y)+H(X)) \le 1$ from $H(Y) \le H(Y)+H(X)$, which does not give it. "
            r"What is needed is that a function of $x$ has no more entropy than $x$.",
        ),
    ]  # fmt: skip
