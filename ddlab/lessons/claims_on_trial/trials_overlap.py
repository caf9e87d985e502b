r"""Trials of what ReLA says about two classes side by side: the boundary of appendix G, the overlap of appendix O."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import theory
from ...core.parameters import Parameters, parameter
from ...figures import loss_curves
from .trial_card import FAILS, HOLDS, Shown, Trial
from .trial_parts import share_field, spread_field, trial

NOISE_RATE = 0.25  # k: variance per unit of strength
CLOSE = 0.05  # eq 67 is printed with a sign for "about": so far off it may be
_STRENGTHS = np.linspace(0, 10, 81)
_PLACES = np.linspace(-0.5, 3.5, 201)


@dataclass(frozen=True, kw_only=True)
class Boundary(Parameters):
    """The slider of appendix G."""

    spread: float = spread_field(1.0)


@dataclass(frozen=True, kw_only=True)
class Classes(Parameters):
    """Sliders of eq 67: two classes of one spread."""

    strength: float = share_field(
        1.0, "a", "How strong the augmentation is; it adds a variance of a/4.", high=10, step=0.25
    )
    gap: float = parameter(
        1.0, symbol=r"\Delta\mu", range=(0.1, 4), step=0.1, explorable=(0.1, 4), help="Between the two means."
    )
    spread: float = parameter(
        0.5, symbol="s", range=(0.1, 2), step=0.05, explorable=(0.1, 2), help="Of a class, before."
    )


@dataclass(frozen=True, kw_only=True)
class TwoSpreads(Classes):
    """Sliders of Theorem 6: the classes may differ in spread."""

    other_spread: float = parameter(
        0.5, symbol="s_2", range=(0.1, 2), step=0.05, explorable=(0.1, 2), help="Of the second class, before."
    )


def crossing(spread: float) -> float:
    """Where the two classes are equally likely, in one dimension, found by halving; the means are 1 and 2."""
    mixture = theory.bimodal_mixture(distance=1, deviation=spread, dimensions=1)
    low, high = 0.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        likelier = theory.posterior(mixture, mixture.means.new_tensor([middle])) > 0.5
        low, high = (low, middle) if bool(likelier) else (middle, high)
    return (low + high) / 2


def boundary(view: Boundary) -> Shown:
    """Appendix G: the posterior of class 1 for two spreads, and where it is one half."""
    curves = {}
    for spread in dict.fromkeys((0.5, view.spread)):
        mixture = theory.bimodal_mixture(distance=1, deviation=spread, dimensions=1)
        curves[f"Σ = {spread:g}"] = theory.posterior(mixture, mixture.means.new_tensor(_PLACES[:, None]))
    figure = loss_curves(
        curves, _PLACES, title="How likely class 1 is", x_label="sample x (class means 1 and 2)", y_label="P(y = 1 | x)"
    )
    here, usual = crossing(view.spread), crossing(0.5)
    sentence = (
        f"At Σ = {view.spread:g} the posterior crosses one half at x = {here:.4f}, at Σ = 0.5 at x = {usual:.4f}."
    )
    return Shown(figure=figure, sentence=sentence, holds=abs(here - usual) < 1e-9, cursor=here)


def overlap_formula(view: Classes) -> Shown:
    """Eq 67 against the exact overlap."""
    settings = {"gap": view.gap, "spread": view.spread, "noise_rate": NOISE_RATE}
    printed = [theory.printed_gaussian_overlap(strength=float(a), **settings) for a in _STRENGTHS]
    exact = [theory.gaussian_overlap(strength=float(a), **settings) for a in _STRENGTHS]
    figure = _curves({"eq 67 as printed": printed, "exact overlap": exact})
    wrong, right = (
        formula(strength=view.strength, **settings)
        for formula in (theory.printed_gaussian_overlap, theory.gaussian_overlap)
    )
    sentence = (
        f"At strength {view.strength:g} eq 67 gives {wrong:.3f}, the exact overlap is {right:.3f}. As the strength goes to "
        f"10, eq 67 goes to "
        f"{printed[-1]:.3f} and the overlap to {exact[-1]:.3f}."
    )
    return Shown(figure=figure, sentence=sentence, holds=abs(wrong - right) <= CLOSE, cursor=view.strength)


def overlap_grows(view: TwoSpreads) -> Shown:
    """Theorem 6: the exact overlap against the strength, beside the formula that its proof reasons with."""
    settings = {"gap": view.gap, "spread": view.spread, "noise_rate": NOISE_RATE}
    both = {**settings, "other_spread": view.other_spread}
    exact = np.array([theory.gaussian_overlap(strength=float(a), **both) for a in _STRENGTHS])
    printed = [theory.printed_gaussian_overlap(strength=float(a), **settings) for a in _STRENGTHS]
    figure = _curves({"exact overlap": exact, "eq 67, in the proof": printed})
    here = theory.gaussian_overlap(strength=view.strength, **both)
    sentence = (
        f"At strength {view.strength:g} the overlap is {here:.3f}; it goes from {exact[0]:.3f} without augmentation to "
        f"{exact[-1]:.3f} at "
        f"strength 10, while eq 67 goes from {printed[0]:.3f} to {printed[-1]:.3f}."
    )
    return Shown(figure=figure, sentence=sentence, holds=bool((np.diff(exact) >= -1e-12).all()), cursor=view.strength)


def _curves(series: dict[str, object]) -> object:
    return loss_curves(
        series, _STRENGTHS, title="How much two classes overlap", x_label="strength of the augmentation a", y_label="overlap (share)"
    )  # fmt: skip


def trials() -> list[Trial]:
    """Appendix G, eq 67 and Theorem 6."""
    return [
        trial(
            "R5", printed=("R5",), verdict=HOLDS, source="ReLA, appendix G",
            statement=r"The optimal decision boundary between the two classes does not depend on $\Sigma$.",
            parameters=Boundary, show=boundary,
            right=r"As printed: $x = (\mu_1+\mu_2)/2 = 1.5$ for every $\Sigma$.",
            reason=r"Both densities have the same width, so they are equal half way between the means. The probabilities on "
            r"both sides do "
            r"depend on $\Sigma$: same decisions, other squared errors.",
        ),
        trial(
            "R6 formula", printed=("R6 formula",), beside=("R6 direction",), verdict=FAILS, source="ReLA, appendix O, eq 67",
            statement=r"Two classes of spread $s$, augmented with strength $a$, overlap by about "
            r"$O(a) = 2\Phi\bigl(\Delta\mu/\sqrt{2(s^2+ka)}\bigr) - 1$.",
            parameters=Classes, show=overlap_formula,
            right=r"$O(a) = 2\Phi\bigl(-\Delta\mu/(2\sqrt{s^2+ka})\bigr)$.",
            reason=r"The printed formula has a wrong sign and a wrong argument: it is the share of one class near its own mean, falls as "
            r"the classes spread, and is 1 for classes infinitely far apart. Where the curves cross it is right by accident.",
        ),
        trial(
            "R6 theorem", printed=("R6 theorem",), beside=("R6 direction", "R6 views"), verdict=HOLDS, source="ReLA, Theorem 6",
            statement=r"The stronger the augmentation, the more samples of different classes overlap.",
            parameters=TwoSpreads, show=overlap_grows,
            right=r"As printed, and for any two distributions: the same noise on both cannot raise the distance between them.",
            reason=r"The conclusion holds although its proof fails. The proof uses eq 67, which falls with the strength, and "
            r"saves itself by "
            r"saying that $\Phi(z)$ increases as $z$ decreases. Two errors cancel in words, not in numbers.",
        ),
    ]  # fmt: skip
