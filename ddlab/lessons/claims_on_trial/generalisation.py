"""ReLA's bound on generalisation (Theorem 4) on the toy of two Gaussian classes: term by term, as printed and as proved."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ... import theory
from ...core.parameters import Parameters, parameter
from ...figures import bars
from ...theory import GeneralisationBound
from ..shared.effects import Measured, log_uniform, split
from .statements import Draw, Statements, slider
from .trial_card import FAILS, Shown

on_trial = Statements()
SPREADS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # S of the lab's distilled samples
DATA_SPREAD, DRAWS, FAILURE = 0.5, 20, 0.05


def bound_of(spread: float, samples: int, seed: int, model: str) -> GeneralisationBound:
    """The terms for one draw of samples."""
    distilled, data = (theory.bimodal_mixture(deviation=deviation) for deviation in (spread, DATA_SPREAD))
    return theory.generalisation_bound(distilled, data, samples, seed=seed, model=model, failure=FAILURE)


@on_trial.per_draw(
    "R13 proved",
    "ReLA, Proposition 1",
    "With Lemma 3's constants the generalisation bound holds.",
    effect="bound minus the data's error of the worst threshold, delta = .05; drawn S and number of samples",
    draws="draws of S of the lab and of 10 to 1000 samples, in 2-D",
)
def _proved_generalisation(draw: Draw, seed: int) -> float:
    terms = bound_of(float(draw.choice(SPREADS)), int(log_uniform(draw, 10, 1000)), seed, "worst")
    return terms.proved - terms.target_error


@on_trial.per_draw(
    "R13 printed",
    "ReLA, Theorem 4",
    "As printed, with R once and 1 / |S|, it holds with probability 1 - delta.",
    effect="share of draws whose worst threshold it covers, delta = .05; samples from the data's own distribution",
    claimed=0.95,
    every=False,
    draws="draws of 10 to 1000 samples with S = .5, in 2-D",
)
def _printed_generalisation(draw: Draw, seed: int) -> float:
    terms = bound_of(DATA_SPREAD, int(log_uniform(draw, 10, 1000)), seed, "worst")
    return float(terms.target_error <= terms.printed)


@on_trial.claim(
    "R13 useful",
    "ReLA, Theorem 4 and Definition 5",
    "At 1000 samples the bound says more than guessing does.",
    effect="1/2, the error of guessing, minus the bound of the fitted threshold with Lemma 3's constants; S of the lab",
    when="the samples have the data's own S = .5",
)
def _useful_generalisation(pairs: int) -> Measured:
    draws = max(pairs, 2)
    found = [
        (0.5 - bound_of(spread, 1000, seed, "fitted").proved, spread == DATA_SPREAD)
        for seed in range(draws)
        for spread in SPREADS
    ]
    return split(found, f"S = {', '.join(f'{spread:g}' for spread in SPREADS)}, {draws} draws each, in 2-D")


@dataclass(frozen=True, kw_only=True)
class Samples(Parameters):
    """Sliders of Theorem 4."""

    samples: int = slider(100, 2, 2000, "How many distilled samples are drawn.", symbol="m", scale="log")
    spread: float = parameter(
        0.5,
        symbol=r"\Sigma",
        choices=(0.1, 0.5, 1.0),
        explorable=True,
        help="Of the distilled samples; that of the data is 0.5.",
    )
    model: str = parameter(
        "worst",
        choices=("fitted", "worst"),
        explorable=True,
        help="A threshold that makes no mistake on the samples, or the one that the bound fits worst: it is about every model.",
    )


@functools.lru_cache(maxsize=256)
def twenty_draws(view: Samples) -> list[GeneralisationBound]:
    """The terms for twenty draws of the samples."""
    return [bound_of(view.spread, view.samples, seed, view.model) for seed in range(DRAWS)]


@on_trial.trial(
    "R13",
    Samples,
    source="ReLA, Theorem 4",
    statement=r"With probability $1-\delta$ the error on the data is at most the error on the distilled samples $S$, plus "
    r"the total variation between both, plus the Rademacher complexity $\mathfrak{R}_S$, plus a term of order $1/|S|$.",
    symbols=r"$S$: the distilled samples, $m = |S|$ of them; total variation: half the integral of the difference of "
    r"two densities; $\mathfrak{R}_S$: how well thresholds fit random labels of $S$; $\delta$: odds of bad "
    r"luck, here .05.",
    right=r"Twice the complexity, and $3\sqrt{\log(2/\delta)/2m}$ in the place of $1/m$ (Proposition 1 and Lemma 3 there).",
    reason="The proof in appendix E ends on other terms than the theorem prints. Even right the bound says little here: for "
    "narrow samples the total variation alone is above what guessing gets, while a network that learns from them decides "
    "well.",
    verdict=FAILS,
    printed=("R13 printed",),
    beside=("R13 proved", "R13 useful"),
)
def bound(view: Samples) -> Shown:
    """Every term of the bound for one draw of samples, and in how many of twenty draws it is one."""
    drawn = twenty_draws(view)
    one = drawn[0]
    terms = {
        "error on the data": one.target_error,
        "error on the samples": one.empirical_error,
        "total variation": one.total_variation,
        "2 R": 2 * one.complexity,
        "3 √(log(2/δ)/2m)": one.confidence,
        "bound as proved": one.proved,
        "bound as printed": one.printed,
    }
    figure = bars(
        list(terms),
        list(terms.values()),
        title="The bound, term by term (one draw)",
        y_label="share of points",
        reference=("guessing", 0.5),
        text_format=".3f",
    )
    printed, proved = (
        sum(getattr(each, name) >= each.target_error for each in drawn) for name in ("printed", "proved")
    )
    sentence = (
        f"{view.samples} samples of Σ = {view.spread:g}: the error on the data is {one.target_error:.3f}, the bound {one.printed:.3f} as "
        f"printed and {one.proved:.3f} as proved. In {printed} and {proved} of {DRAWS} draws the error lies below them; "
        f"both are said to hold in {1 - FAILURE:.0%}."
    )
    return Shown(figure=figure, sentence=sentence, holds=printed >= (1 - FAILURE) * DRAWS)
