r"""What ReLA says about two classes side by side: the boundary of appendix G, the overlap of appendix O, as a formula and of views."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import data, theory
from ...core.parameters import Parameters
from ...figures import loss_curves
from ..shared.effects import Measured, drawn, log_uniform
from .crop_world import spread_and_overlap, views_of_class
from .statements import Draw, Statements, along, slider, spread_slider
from .trial_card import FAILS, HOLDS, Shown

on_trial = Statements()
NOISE_RATE = 0.25  # k: variance per unit of strength
CLOSE = 0.05  # eq 67 is printed with a sign for "about": so far off it may be
LEAST_AREAS = (0.02, 0.5)  # the strongest and the weakest augmentation of ReLA's Figures 6 to 9
IMAGES, VIEWS = 60, 4  # of each of two classes; of each image
_STRENGTHS = np.linspace(0, 10, 81)
_PLACES = np.linspace(-0.5, 3.5, 201)


@dataclass(frozen=True, kw_only=True)
class Boundary(Parameters):
    """The slider of appendix G."""

    spread: float = spread_slider(1.0)


def crossing(spread: float) -> float:
    """Where the two classes are equally likely, in one dimension, found by halving; the means are 1 and 2."""
    mixture = theory.bimodal_mixture(distance=1, deviation=spread, dimensions=1)
    low, high = 0.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        likelier = theory.posterior(mixture, mixture.means.new_tensor([middle])) > 0.5
        low, high = (low, middle) if bool(likelier) else (middle, high)
    return (low + high) / 2


@on_trial.trial(
    "R5",
    Boundary,
    source="ReLA, appendix G",
    statement=r"The optimal decision boundary between the two classes does not depend on $\Sigma$.",
    symbols=r"$\Sigma$: standard deviation of each of two classes, whose means are 1 apart; optimal: with the fewest "
    r"errors, the classes being equally frequent.",
    right=r"As printed: $x = (\mu_1+\mu_2)/2 = 1.5$ for every $\Sigma$.",
    reason=r"Both densities have the same width, so they are equal half way between the means. The probabilities on both "
    r"sides do depend on $\Sigma$: same decisions, other squared errors.",
    verdict=HOLDS,
    printed=("R5",),
)
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


def _growth(overlap: Any, draw: Draw, names: tuple[str, ...]) -> float:
    """By how much an overlap is larger at the larger one of two drawn strengths."""
    low, high = sorted(log_uniform(draw, 1e-2, 1e2) for _ in range(2))
    problem = {name: draw.uniform(0.1, 2) for name in names}
    return overlap(**problem, strength=high) - overlap(**problem, strength=low)


@on_trial.per_draw(
    "R6 theorem",
    "ReLA, Theorem 6",
    "The overlap of two classes grows with the strength of the augmentation.",
    effect="exact overlap at the larger of two strengths minus that at the smaller; drawn gap, spreads and strengths",
    draws="draws of gap, two spreads and two strengths",
)
def _overlap_growth(draw: Draw, _: int) -> float:
    return _growth(theory.gaussian_overlap, draw, ("gap", "spread", "other_spread", "noise_rate"))


@on_trial.per_draw(
    "R6 formula",
    "ReLA, eq 67",
    "Eq 67 is about that overlap.",
    effect="1 minus the distance between eq 67 and the exact overlap; drawn gap, spread and strength",
    claimed=0.9,
    every=False,
    draws="draws of gap, spread, strength and k in [.1, 2]",
)
def _printed_overlap(draw: Draw, _: int) -> float:
    problem = {name: draw.uniform(0.1, 2) for name in ("gap", "spread", "noise_rate", "strength")}
    return 1 - abs(theory.printed_gaussian_overlap(**problem) - theory.gaussian_overlap(**problem))


@on_trial.per_draw(
    "R6 direction",
    "ReLA, eq 67",
    "Eq 67 grows with the strength of the augmentation.",
    effect="eq 67 at the larger of two strengths minus eq 67 at the smaller; drawn gap, spread and strengths",
    draws="draws of gap, spread and two strengths",
)
def _printed_overlap_growth(draw: Draw, _: int) -> float:
    return _growth(theory.printed_gaussian_overlap, draw, ("gap", "spread", "noise_rate"))


@dataclass(frozen=True, kw_only=True)
class Classes(Parameters):
    """Sliders of eq 67: two classes of one spread."""

    strength: float = slider(
        1.0, 0, 10, "How strong the augmentation is; it adds a variance of a/4.", symbol="a", step=0.25
    )
    gap: float = slider(1.0, 0.1, 4, "Between the two means.", symbol=r"\Delta\mu", step=0.1)
    spread: float = slider(0.5, 0.1, 2, "Of a class, before.", symbol="s", step=0.05)


@dataclass(frozen=True, kw_only=True)
class TwoSpreads(Classes):
    """Sliders of Theorem 6: the classes may differ in spread."""

    other_spread: float = slider(0.5, 0.1, 2, "Of the second class, before.", symbol="s_2", step=0.05)


@on_trial.trial(
    "R6 formula",
    Classes,
    source="ReLA, appendix O, eq 67",
    statement=r"Two classes of spread $s$, augmented with strength $a$, overlap by about $O(a) = "
    r"2\Phi\bigl(\Delta\mu/\sqrt{2(s^2+ka)}\bigr) - 1$.",
    symbols=r"$s$: standard deviation of each class; $\Delta\mu$: distance of their means; $a$: strength of the "
    r"augmentation, which adds a variance of $ka$, $k = 1/4$; overlap: the integral of the smaller density; "
    r"$\Phi$: the normal distribution function.",
    right=r"$O(a) = 2\Phi\bigl(-\Delta\mu/(2\sqrt{s^2+ka})\bigr)$.",
    reason="The printed formula has a wrong sign and a wrong argument: it is the share of one class near its own mean, falls "
    "as the classes spread, and is 1 for classes infinitely far apart. Where the curves cross it is right by accident.",
    verdict=FAILS,
    printed=("R6 formula",),
    beside=("R6 direction",),
)
def overlap_formula(view: Classes) -> Shown:
    """Eq 67 against the exact overlap."""
    formulas = (theory.printed_gaussian_overlap, theory.gaussian_overlap)
    printed, exact = (_by_strength(formula, view, _STRENGTHS) for formula in formulas)
    wrong, right = (_by_strength(formula, view, [view.strength])[0] for formula in formulas)
    sentence = (
        f"At strength {view.strength:g} eq 67 gives {wrong:.3f}, the exact overlap is {right:.3f}. As the strength goes to 10, "
        f"eq 67 goes to {printed[-1]:.3f} and the overlap to {exact[-1]:.3f}."
    )
    figure = _curves({"eq 67 as printed": printed, "exact overlap": exact})
    return Shown(figure=figure, sentence=sentence, holds=abs(wrong - right) <= CLOSE, cursor=view.strength)


@on_trial.trial(
    "R6 theorem",
    TwoSpreads,
    source="ReLA, Theorem 6",
    statement="The stronger the augmentation, the more samples of different classes overlap.",
    symbols=r"$a$: strength of the augmentation, which adds the same noise to both classes; $s, s_2$: their standard "
    r"deviations before; overlap: the integral of the smaller of both densities.",
    right="As printed, and for any two distributions: the same noise on both cannot raise the distance between them.",
    reason=r"The conclusion holds although its proof fails. The proof uses eq 67, which falls with the strength, and saves "
    r"itself by saying that $\Phi(z)$ increases as $z$ decreases. Two errors cancel in words, not in numbers.",
    verdict=HOLDS,
    printed=("R6 theorem",),
    beside=("R6 direction", "R6 views"),
)
def overlap_grows(view: TwoSpreads) -> Shown:
    """Theorem 6: the exact overlap against the strength, beside the formula that its proof reasons with."""
    exact_overlap = functools.partial(theory.gaussian_overlap, other_spread=view.other_spread)
    exact = _by_strength(exact_overlap, view, _STRENGTHS)
    printed = _by_strength(theory.printed_gaussian_overlap, view, _STRENGTHS)
    (here,) = _by_strength(exact_overlap, view, [view.strength])
    sentence = (
        f"At strength {view.strength:g} the overlap is {here:.3f}; it goes from {exact[0]:.3f} without augmentation to "
        f"{exact[-1]:.3f} at strength 10, while eq 67 goes from {printed[0]:.3f} to {printed[-1]:.3f}."
    )
    figure = _curves({"exact overlap": exact, "eq 67, in the proof": printed})
    return Shown(figure=figure, sentence=sentence, holds=bool((np.diff(exact) >= -1e-12).all()), cursor=view.strength)


def _by_strength(overlap: Any, view: Classes, strengths: Any) -> list[float]:
    return along(overlap, "strength", strengths, gap=view.gap, spread=view.spread, noise_rate=NOISE_RATE)


def _curves(series: dict[str, Any]) -> Any:
    labels: dict[str, Any] = {"x_label": "strength of the augmentation a", "y_label": "overlap (share)"}
    return loss_curves(series, _STRENGTHS, title="How much two classes overlap", **labels)


@functools.lru_cache(maxsize=2)  # two claims read one set of views
def cropped_classes(pairs: int) -> list[list[tuple[float, float]]]:
    """For each pair two drawn classes: (variance of the views within them, overlap) at both least areas."""
    shapes = data.load("shapes", size=32, train=2000, test=10)
    found: list[list[tuple[float, float]]] = []
    for seed, draw in enumerate(drawn("R6 views", pairs)):
        classes = [int(label) for label in draw.choice(shapes.classes, 2, replace=False)]
        found.append([])
        for area in LEAST_AREAS:
            views = [
                views_of_class(shapes, label, images=IMAGES, views=VIEWS, least_area=area, seed=2 * seed + number)
                for number, label in enumerate(classes)
            ]
            found[-1].append(spread_and_overlap(*views))
    return found


def _on_views(values: list[float]) -> Measured:
    words = f"{len(values)} drawn pairs of classes, {IMAGES} images of each, {VIEWS} views of each image, in pixels"
    return Measured(values, f"shapes 32 px, {words}")


@on_trial.claim(
    "R6 views",
    "ReLA, O.5 (1)",
    "A larger least area of RandomResizedCrop spreads the views of a class more widely.",
    effect="variance of views within two classes at a least area of .5 over that at .02, minus 1",
    claimed=0.1,
    every=False,
    test="small",
)
def _view_spread(pairs: int) -> Measured:
    return _on_views([weak[0] / strong[0] - 1 for strong, weak in cropped_classes(pairs)])


@on_trial.claim(
    "R6 views overlap",
    "ReLA, O.5 (2)",
    "At a least area of .02 the views of two classes overlap more than at .5.",
    effect="overlap of two classes by 15 nearest neighbours at .02 minus that at .5",
    claimed=0.05,
    every=False,
    test="small",
)
def _view_overlap(pairs: int) -> Measured:
    return _on_views([strong[1] - weak[1] for strong, weak in cropped_classes(pairs)])
