r"""What ReLA says about information: eq 24, relabelled targets (C.6), labelers and reduced targets (Theorems 3 and 5)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import torch

from ... import theory
from ...core.parameters import Parameters, parameter
from ...figures import bars, loss_curves
from ..shared.effects import log_uniform
from .statements import Draw, Statements, along, slider, spread_slider
from .trial_card import FAILS, HOLDS, WHEN, Shown

on_trial = Statements()
HARD, SOFT = "hard", "soft"
TEACHER_SPREAD = 0.1  # Definition 4's experiments
SAMPLES = 8  # different samples in the trial of Theorem 3
_RHO = np.linspace(0, 1, 21)
# A hard teacher's information jumps at 0, 1/2 and 1: points close beside them, so that the line is upright there.
_BESIDE = np.array([1e-6, 0.5 - 1e-6, 0.5 + 1e-6, 1 - 1e-6])
_SPREADS = np.round(np.concatenate([np.arange(0.02, 0.3, 0.005), np.arange(0.3, 1.201, 0.02)]), 4)


@on_trial.per_draw(
    "R4 range",
    "ReLA, C.5, eq 24",
    "The normalised mutual information of eq 24 lies in [0, 1].",
    effect="distance of eq 24 to the nearer end of [0, 1], negative outside; drawn S in (0, 1]",
    when="S is at least .242",
    draws="draws of S in (0, 1]",
)
def _printed_range(draw: Draw, _: int) -> tuple[float, bool]:
    spread = 1 - draw.uniform(0, 1)
    value = theory.printed_normalised_information(spread=spread)
    return min(value, 1 - value), spread >= 0.242


@on_trial.per_draw(
    "R4 limit",
    "ReLA, C.5",
    "Eq 24 tends to 1 as S tends to 0.",
    effect="1 minus the distance of eq 24 to 1; drawn S below .01",
    claimed=0.9,
    draws="draws of S between 1e-5 and .01",
)
def _printed_limit(draw: Draw, _: int) -> float:
    return 1 - abs(theory.printed_normalised_information(spread=log_uniform(draw, 1e-5, 1e-2)) - 1)


@on_trial.per_draw(
    "R4 exact",
    "ReLA, C.5",
    "The exact I(X; Y) / H(Y) lies in [0, 1] and tends to 1 as S tends to 0.",
    effect="least of its distances to 0 and to 1 and of its excess over .9 at S / 20; drawn S in (0, 1], one and two dimensions",
    draws="draws of S in (0, 1], half of them in 1-D, half in 2-D",
)
def _exact_information(draw: Draw, number: int) -> float:
    spread, dimensions = 1 - draw.uniform(0, 1), 1 + number % 2
    share, limit = (
        theory.mixture_information(spread=s, dimensions=dimensions).share for s in (spread, max(spread / 20, 1e-6))
    )
    return min(share, 1 - share, limit - 0.9)


@dataclass(frozen=True, kw_only=True)
class Width(Parameters):
    """The slider of eq 24."""

    spread: float = spread_slider(0.5, 0.02, 1.2)


@functools.lru_cache(maxsize=4096)
def _exact_share(spread: float, dimensions: int) -> float:
    return theory.mixture_information(spread=spread, dimensions=dimensions).share


@on_trial.trial(
    "R4",
    Width,
    source="ReLA, appendix C.5, eq 24",
    statement=r"The normalised information of samples and targets is $I_O = 2\log 2\,/\,(\frac12\log(2\pi e\Sigma^2) + 2\log "
    r"2)$; it lies in [0, 1] and tends to 1 as $\Sigma \to 0$.",
    symbols=r"$X$: samples; $Y$: their class; $\Sigma$: standard deviation of each of two classes, whose means are 1 "
    r"apart; $I(X;Y)$: mutual information; $H$: entropy; $I_O = 2I/(H(X)+H(Y))$: normalised information.",
    right="$I(X;Y)/H(Y)$ lies in [0, 1] and does tend to 1; in two dimensions faster than in one.",
    reason=r"Eq 24 takes the two classes as disjoint for every $\Sigma$, and adds a differential entropy to a discrete one. "
    r"It is 1 at $\Sigma = .242$, above 1 below that, without value at .0605 and negative under it. That it lies in [0, 1] "
    r"for $\Sigma \ge .242$ does not save the limit.",
    verdict=FAILS,
    printed=("R4 range", "R4 limit"),
    beside=("R4 exact",),
)
def printed_share(view: Width) -> Shown:
    """Eq 24 against I(X; Y) / H(Y), in one dimension and in the lab's two."""
    one, two = (along(_exact_share, "spread", _SPREADS, dimensions=d) for d in (1, 2))
    printed = np.array(along(theory.printed_normalised_information, "spread", _SPREADS))
    shown = np.where((printed >= -2) & (printed <= 4), printed, np.nan)  # so that the axis keeps its scale
    figure = loss_curves(
        {"eq 24 as printed": shown, "I/H(Y), one dimension": one, "I/H(Y), the lab's two": two},
        _SPREADS,
        title="How much a sample tells about its target",
        x_label="spread Σ",
        y_label="normalised information",
    )
    here = theory.printed_normalised_information(spread=view.spread)
    sentence = (
        f"At Σ = {view.spread:g} eq 24 gives {here:.3g}; exactly it is {_exact_share(view.spread, 1):.3f} in one dimension and "
        f"{_exact_share(view.spread, 2):.3f} in the lab's two. On the way to its limit, at Σ = {_SPREADS[0]:g}, eq 24 is {printed[0]:.3g}."
    )
    return Shown(figure=figure, sentence=sentence, holds=0 <= here <= 1, cursor=view.spread)


@on_trial.per_draw(
    "R17",
    "ReLA, C.6",
    "Normalised information grows with rho.",
    effect="growth of I / H from one rho to a larger one with a hard teacher, per unit of rho; drawn rho and S",
    claimed=0.001,
    when="rho begins at 0 or ends at 1",
    draws="draws of two rho and of S in [.3, 1], in 1-D or 2-D",
)
def relabelled_growth(draw: Draw, number: int) -> tuple[float, bool]:
    """Its right form: with a hard teacher the share is constant between 0 and 1, but for 1/2, and jumps at 0, 1/2 and 1."""
    low, high = sorted(draw.uniform(0, 1, 2))
    low, high = ((0.0, high), (low, 1.0), (low, high), (low, high))[number % 4]
    spread, dimensions = draw.uniform(0.3, 1), int(draw.integers(1, 3))
    shares = [
        theory.relabelled_information(spread=spread, relabelled=float(rho), dimensions=dimensions).share
        for rho in (low, high)
    ]
    return (shares[1] - shares[0]) / (high - low), number % 4 < 2


@dataclass(frozen=True, kw_only=True)
class Teacher(Parameters):
    """Sliders of C.6."""

    relabelled: float = slider(0.5, 0, 1, "Share of the teacher's answer in the target.", symbol=r"\rho", step=0.05)
    spread: float = slider(1.0, 0.1, 2, "Of each class.", symbol=r"\Sigma", step=0.1)
    teacher: str = parameter(
        HARD, choices=(HARD, SOFT), explorable=True, help="The teacher answers 0 or 1, or a probability."
    )
    levels: int = slider(10, 2, 100, "A soft target is read off to one of so many parts of [0, 1].", scale="log")


@functools.lru_cache(maxsize=4096)
def _relabelled_share(teacher: str, spread: float, levels: int, rho: float) -> float:
    if teacher == HARD:
        return theory.relabelled_information(spread=spread, relabelled=rho).share
    return theory.soft_relabelled_information(
        spread=spread, relabelled=rho, teacher_spread=TEACHER_SPREAD, levels=levels, points=10_001
    ).share


@on_trial.trial(
    "R17",
    Teacher,
    source="ReLA, appendix C.6",
    statement=r"The larger the share $\rho$ of the teacher in the targets, the more samples and targets have in common.",
    symbols=r"$\rho$: share of a teacher's answer in a target; in common: normalised information $I/H$ of samples and "
    r"targets; hard: the teacher answers 0 or 1; soft: a probability.",
    right=r"With a hard teacher $I/H$ takes one value for every $\rho$ between 0 and 1 but 1/2, and jumps at 0, 1/2 and 1.",
    reason=r"The targets of a hard teacher take the same four values for every such $\rho$: which values they are does not "
    r"matter to information. With a soft teacher the exact information is infinite for every $\rho > 0$. What is then seen "
    r"comes from the precision with which a target is read.",
    verdict=WHEN,
    when=r"$\rho$ begins at 0 or ends at 1",
    printed=("R17",),
)
def information_by_rho(view: Teacher) -> Shown:
    """C.6: I / H(target) against rho, for a hard teacher and for a soft one read off with finite precision."""
    share = functools.partial(_relabelled_share, view.teacher, view.spread, view.levels)
    shares = along(share, "rho", _RHO)
    name = "hard teacher" if view.teacher == HARD else f"soft teacher, {view.levels} levels"
    places = np.sort(np.concatenate([_RHO, _BESIDE])) if view.teacher == HARD else _RHO
    figure = loss_curves(
        {name: along(share, "rho", places)},
        places,
        title="How much a sample tells about its relabelled target",
        x_label="relabelled share ρ",
        y_label="I / H(target)",
    )
    falls = int((np.diff(shares) <= 1e-9).sum())
    where = f"it does not grow on the way to {falls} of the 20 steps of ρ" if falls else "it grows at each step of ρ"
    sentence = (
        f"At ρ = {view.relabelled:g} the share is {share(rho=view.relabelled):.3f}, at ρ = 0 {shares[0]:.3f}, "
        f"at ρ = 1 {shares[-1]:.3f}; {where}."
    )
    return Shown(figure=figure, sentence=sentence, holds=not falls, cursor=view.relabelled)


def labelled(odds: torch.Tensor, labels: torch.Tensor, kinds: int) -> theory.TableInformation:
    """Information of samples of these odds [n], which need not add up to 1, and of their labels [n] of so many kinds."""
    table = torch.zeros(len(odds), kinds, dtype=torch.float64)
    table[torch.arange(len(odds)), labels] = odds
    return theory.table_information(table)


@on_trial.per_draw(
    "R15 Theorem 3",
    "ReLA, Theorem 3",
    "The normalised information of labels is at most 1, and 1 for one-to-one labelers.",
    effect="the lesser of 1 minus that of a drawn labeler and of minus the distance to 1 of a drawn one-to-one labeler's",
    draws="draws of 2 to 11 samples with drawn odds, a labeler and a one-to-one labeler",
)
def _labelers(draw: Draw, _: int) -> float:
    count = int(draw.integers(2, 12))
    odds = torch.from_numpy(draw.dirichlet(np.ones(count)))
    any_one, one_to_one = (
        labelled(odds, torch.from_numpy(labels), count).normalised
        for labels in (draw.integers(0, count, count), draw.permutation(count))
    )
    return min(1 - any_one, -abs(1 - one_to_one))


def _reduced(draw: Draw, number: int) -> list[theory.TableInformation]:
    """Before and after merging targets at random; in every second table the target is a function of the sample."""
    samples, targets = draw.integers(2, 7, 2)
    table = draw.dirichlet(np.full(samples * targets, 0.5)).reshape(samples, targets)
    if number % 2:
        labels = draw.integers(0, targets, samples)
        table = np.where(np.arange(targets) == labels[:, None], table.sum(1, keepdims=True), 0.0)
    merged = np.zeros_like(table)
    np.add.at(merged.T, draw.integers(0, targets, targets), table.T)
    return [theory.table_information(torch.from_numpy(each)) for each in (table, merged)]


@on_trial.per_draw(
    "R15 reduction",
    "ReLA, Theorem 5",
    "Reduced targets tell no more about the samples.",
    effect="I before minus I after a drawn reduction of the targets of a drawn table, in nats",
    draws="drawn tables of 2 to 6 samples and targets, targets merged at random",
)
def _reduced_information(draw: Draw, number: int) -> float:
    before, after = _reduced(draw, number)
    return before.mutual - after.mutual


@on_trial.per_draw(
    "R15 normalised",
    "ReLA, Theorem 5, eq 42",
    "Reduced targets have no larger normalised information.",
    effect="I_O before minus I_O after the same reduction",
    when="the targets are a function of the samples",
    draws="drawn tables of 2 to 6 samples and targets, targets merged at random",
    stream="R15 reduction",
)
def _reduced_normalised_information(draw: Draw, number: int) -> tuple[float, bool]:
    before, after = _reduced(draw, number)
    return before.normalised - after.normalised, number % 2 == 1


@dataclass(frozen=True, kw_only=True)
class Reduction(Parameters):
    """Sliders of Theorem 5."""

    coin: float = slider(
        0.5, 0, 0.5, "Odds of the unrelated coin in the targets; 0: it always falls the same.", symbol="q", step=0.01
    )
    detail: float = slider(0.0, 0, 0.5, "Odds of a detail that samples and targets share.", symbol="r", step=0.01)


@on_trial.trial(
    "R15 Theorem 5",
    Reduction,
    source="ReLA, Theorem 5",
    statement=r"Reducing targets cannot raise the normalised information: $I_O(R_Y, R_X) \ge I_O(R'_Y, R_X)$.",
    symbols=r"$R_X, R_Y$: samples and targets as random variables; $R'_Y$: the targets reduced, as by PCA, to a "
    r"function of themselves; $I_O = 2I/(H+H)$: their mutual information over the mean of both entropies.",
    right=r"$I(R_Y; R_X) \ge I(R'_Y; R_X)$, without the normalisation: the data processing inequality.",
    reason="Reducing also lowers the entropy that $I_O$ divides by. Targets that carry a coin which has nothing to do with "
    "the samples have less $I_O$ than without it. Where a detail is dropped that both share, the sentence can be true.",
    verdict=WHEN,
    when="the targets are a function of the samples: no coin",
    printed=("R15 normalised",),
    beside=("R15 reduction",),
)
def reduced_targets(view: Reduction) -> Shown:
    """Theorem 5: I and I_O of the targets (class, detail, coin), and of the class alone."""
    full, reduced = (theory.table_information(table) for table in reduction_tables(view.coin, view.detail))
    figure = bars(
        ["all targets", "reduced"],
        {
            "normalised I_O": [full.normalised, reduced.normalised],
            "information I (nats)": [full.mutual, reduced.mutual],
        },
        title="What is left when targets are reduced to the class",
        y_label="I_O, and I in nats",
    )
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


@dataclass(frozen=True, kw_only=True)
class Labeler(Parameters):
    """Sliders of Theorem 3."""

    labels: int = slider(4, 1, SAMPLES, "How many labels the eight samples get.", symbol="k")
    skew: float = slider(
        0.5, 0, 2, "How unequal the odds of the samples are: proportional to exp(-s i).", symbol="s", step=0.01
    )


@on_trial.trial(
    "R15 Theorem 3",
    Labeler,
    source="ReLA, Theorem 3",
    statement=r"For targets $y = \psi(x)$ the normalised information $I_O$ is at most 1, and it is 1 for a labeler that can "
    r"be inverted.",
    symbols=r"$\psi$: a labeler, a function that gives each sample its label; $I_O = 2I/(H(X)+H(Y))$: normalised "
    r"information.",
    right=r"As printed, for discrete variables: $I_O = 2H(Y)/(H(X)+H(Y)) \le 1$ because $H(Y) \le H(X)$.",
    reason=r"The conclusion holds; the proof takes $2H(Y)/(H(Y)+H(X)) \le 1$ from $H(Y) \le H(Y)+H(X)$, which does not give "
    r"it. What is needed is that a function of $x$ has no more entropy than $x$.",
    verdict=HOLDS,
    printed=("R15 Theorem 3",),
)
def labels_of_samples(view: Labeler) -> Shown:
    """Theorem 3: I_O of eight samples of odds ~ exp(-skew i) with labels i mod k, for every number of labels k."""
    counts, samples = range(1, SAMPLES + 1), torch.arange(SAMPLES)
    odds = torch.exp(-view.skew * samples.double())
    values = [labelled(odds, samples % k, k).normalised for k in counts]
    figure = bars(
        [str(k) for k in counts],
        values,
        title="Labels as a function of the sample",
        x_label="number of labels k",
        y_label="normalised information I_O",
        reference=("ideal", 1.0),
        text_format=".3f",
    )
    here = values[view.labels - 1]
    sentence = f"With {view.labels} labels I_O is {here:.3f}; with a label for every sample it is {values[-1]:.3f}."
    ideal = math.isclose(values[-1], 1, rel_tol=1e-12)
    return Shown(figure=figure, sentence=sentence, holds=max(values) <= 1 + 1e-12 and ideal, cursor=float(view.labels))
