"""The trial of ReLA's Theorem 4: its bound term by term, as printed and as proved, on the toy of two Gaussian classes."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ... import theory
from ...core.parameters import Parameters, parameter
from ...figures import bars
from ...theory import GeneralisationBound
from .trial_card import FAILS, Shown, Trial
from .trial_parts import trial

DATA_SPREAD, DRAWS, FAILURE = 0.5, 20, 0.05


@dataclass(frozen=True, kw_only=True)
class Samples(Parameters):
    """Sliders of Theorem 4."""

    samples: int = parameter(
        100,
        symbol="m",
        range=(2, 2000),
        scale="log",
        explorable=(2, 2000),
        help="How many distilled samples are drawn.",
    )
    spread: float = parameter(
        0.5, symbol=r"\Sigma", choices=(0.1, 0.5, 1.0), explorable=True, help="Of the distilled samples; that of the data is 0.5."
    )  # fmt: skip
    model: str = parameter(
        "worst", choices=("fitted", "worst"), explorable=True,
        help="A threshold that makes no mistake on the samples, or the one that the bound fits worst: it is about every model.",
    )  # fmt: skip


def bound(view: Samples) -> Shown:
    """Every term of the bound for one draw of samples, and in how many of twenty draws it is one."""
    drawn = draws(view.spread, view.samples, view.model)
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
        list(terms), list(terms.values()), title="The bound, term by term (one draw)", y_label="share of points",
        reference=("guessing", 0.5), text_format=".3f",
    )  # fmt: skip
    kept = {name: sum(getattr(each, name) >= each.target_error for each in drawn) for name in ("printed", "proved")}
    sentence = (
        f"{view.samples} samples of Σ = {view.spread:g}: the error on the data is {one.target_error:.3f}, the bound {one.printed:.3f} as "
        f"printed and {one.proved:.3f} as proved. In {kept['printed']} and {kept['proved']} of {DRAWS} draws the error lies below them; "
        f"both are said to hold in {1 - FAILURE:.0%}."
    )
    return Shown(figure=figure, sentence=sentence, holds=kept["printed"] >= (1 - FAILURE) * DRAWS)


@functools.lru_cache(maxsize=256)
def draws(spread: float, samples: int, model: str) -> list[GeneralisationBound]:
    """The terms for twenty draws of the samples."""
    distilled, data = theory.bimodal_mixture(deviation=spread), theory.bimodal_mixture(deviation=DATA_SPREAD)
    return [
        theory.generalisation_bound(distilled, data, samples, seed=seed, model=model, failure=FAILURE)
        for seed in range(DRAWS)
    ]


def trials() -> list[Trial]:
    """The trials of this module."""
    return [
        trial(
            "R13",
            printed=("R13 printed",),
            beside=("R13 proved", "R13 useful"),
            verdict=FAILS,
            source="ReLA, Theorem 4",
            statement=(
                r"With probability $1-\delta$ the error on the data is at most the error on the distilled samples $S$, plus the total "
                r"variation between both, plus the Rademacher complexity $\mathfrak{R}_S$, plus a term of order $1/|S|$."
            ),
            parameters=Samples,
            show=bound,
            right=r"Twice the complexity, and $3\sqrt{\log(2/\delta)/2m}$ in the place of $1/m$ (Proposition 1 and Lemma 3 there).",
            reason=(
                r"The proof in appendix E ends on other terms than the theorem prints. Even right the bound says little here: for narrow "
                r"samples the total variation alone is above what guessing gets, while a network that learns from them decides well."
            ),
        )
    ]
