r"""What FADRM proves of its residual connection (Lemma 3, Corollary 1, condition 11), and what DWA's appendix A.1 says of two gaps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from ... import theory
from ...core import randomness
from ...core.parameters import Parameters, parameter
from ...figures import loss_curves, product_bars
from ..shared.effects import log_uniform
from .statements import Draw, Statements, along, seed_slider, slider
from .trial_card import FAILS, Shown

on_trial = Statements()
KINK, RANDOM = "|x - c|", "random"
DEFAULT_MERGE = 0.5  # FADRM's alpha, Table 8
MOST_LATENTS = 30
_SHARES = np.linspace(0, 1, 101)


def lipschitz_function(draw: Draw, lipschitz: float, dimensions: int) -> Callable[[np.ndarray], np.ndarray]:
    """A drawn function R^d -> R of slope at most L everywhere: a mean of +-L ||x - c||."""
    centres, signs = draw.normal(size=(draw.integers(1, 5), dimensions)), draw.choice([-1.0, 1.0], 4)

    def function(points: np.ndarray) -> np.ndarray:
        distances = np.linalg.norm(points[..., None, :] - centres, axis=-1)
        return lipschitz * (distances * signs[: len(centres)]).mean(-1)

    return function


@on_trial.per_draw(
    "F8 Lemma 3",
    "FADRM, Lemma 3",
    "The risks on residual and merged images lie within L_l L_h (1 - alpha) Delta.",
    effect="bound minus the distance of the two risks, for drawn Lipschitz functions, losses and images",
    draws="draws of a function, a loss, 8 pairs of images in 1 to 5 dimensions, and alpha",
)
def risk_gap(draw: Draw, _: int) -> float:
    """With the loss min(L_l |u - y|, B) and the same labels on both sets."""
    alpha, steep, slope, largest = draw.uniform(0, 1), *(log_uniform(draw, 0.1, 3) for _ in range(3))
    dimensions = int(draw.integers(1, 6))
    real, recovered = draw.normal(size=(2, 8, dimensions))
    labels, function = draw.normal(size=8), lipschitz_function(draw, slope, dimensions)
    merged = alpha * recovered + (1 - alpha) * real
    risks = [np.minimum(steep * np.abs(function(points) - labels), largest).mean() for points in (recovered, merged)]
    apart = float(np.linalg.norm(recovered - real, axis=1).mean())
    bound = theory.risk_gap_bound(merge_ratio=alpha, loss_lipschitz=steep, network_lipschitz=slope, discrepancy=apart)
    return bound - abs(float(risks[0] - risks[1]))


def zigzag(draw: Draw, lipschitz: float) -> Callable[[float], float]:
    """A drawn function of one number of slope +-L, turning at one to five places between -2 and 2."""
    turns = np.sort(draw.uniform(-2, 2, draw.integers(1, 6)))
    slopes = lipschitz * draw.choice([-1.0, 1.0]) * (-1.0) ** np.arange(len(turns) + 1)
    heights = np.concatenate([[0.0], np.cumsum(slopes[1:-1] * np.diff(turns))])

    def function(place: float) -> float:
        part = int(np.searchsorted(turns, place))
        at = max(part - 1, 0)
        return float(heights[at] + slopes[part] * (place - turns[at]))

    return function


def _off_the_chord(draw: Draw) -> float:
    """Distance of a function to its chord over the printed bound."""
    alpha, slope = draw.uniform(0.1, 0.9), log_uniform(draw, 0.1, 10)
    function, (x, y) = zigzag(draw, slope), draw.normal(size=2)
    off = abs(function(alpha * x + (1 - alpha) * y) - alpha * function(x) - (1 - alpha) * function(y))
    return off / theory.printed_combination_bound(merge_ratio=alpha, lipschitz=slope, distance=abs(x - y))


@on_trial.per_draw(
    "F8 Corollary 1",
    "FADRM, Corollary 1",
    "A Lipschitz function lies within L alpha (1 - alpha) ||x - y|| of its chord.",
    effect="1 minus its distance to the chord over the bound; drawn Lipschitz functions, points and alpha",
    draws="draws of a function of slope +-L that turns one to five times, two points of the line, and alpha",
)
def _chord(draw: Draw, _: int) -> float:
    return 1 - _off_the_chord(draw)


@on_trial.per_draw(
    "F8 corrected",
    "FADRM, Corollary 1",
    "It lies within twice that.",
    effect="2 minus its distance to the chord over the printed bound; the same draws",
    draws="draws of a function of slope +-L that turns one to five times, two points of the line, and alpha",
    stream="F8 Corollary 1",
)
def _corrected_chord(draw: Draw, _: int) -> float:
    return 2 - _off_the_chord(draw)


@dataclass(frozen=True, kw_only=True)
class Merge(Parameters):
    """Sliders of Corollary 1."""

    merge_ratio: float = slider(
        0.5, 0, 1, "Share of x = -1 in the mixture; the rest is y = 1.", symbol=r"\alpha", step=0.01
    )
    function: str = parameter(
        KINK, choices=(KINK, RANDOM), explorable=True, help="A function whose slope is 1 or -1 everywhere."
    )
    kink: float = slider(0.0, -1, 1, "Where |x - c| turns.", symbol="c", step=0.05)
    seed: int = seed_slider()


def slope_one(view: Merge, places: np.ndarray) -> np.ndarray:
    """A function of Lipschitz constant 1 at the places, all in [-1, 1]."""
    if view.function == KINK:
        return np.abs(places - view.kink)
    steps = 2 * randomness.numpy_generator(view.seed, 0, "corollary 1").integers(0, 2, 16) - 1
    return np.interp(places, np.linspace(-1, 1, 17), np.concatenate([[0], np.cumsum(steps) / 8]))


def chord_distance(view: Merge, merge_ratio: np.ndarray) -> np.ndarray:
    """|h(alpha x + (1 - alpha) y) - alpha h(x) - (1 - alpha) h(y)| for x = -1, y = 1."""
    ends = slope_one(view, np.array([-1.0, 1.0]))
    return np.abs(slope_one(view, 1 - 2 * merge_ratio) - merge_ratio * ends[0] - (1 - merge_ratio) * ends[1])


@on_trial.trial(
    "F8 Corollary 1",
    Merge,
    source="FADRM, Corollary 1",
    statement=r"For an $L$-Lipschitz $h$ and $z = \alpha x + (1-\alpha)y$: $|h(z) - \alpha h(x) - (1-\alpha)h(y)| \le "
    r"L\,\alpha(1-\alpha)\lVert x-y\rVert$.",
    symbols=r"$L$-Lipschitz: nowhere steeper than $L$; $\alpha$: merge ratio, the share of $x$ in $z$; the left side "
    r"is the distance of $h$ at $z$ from its chord.",
    right=r"$2L\,\alpha(1-\alpha)\lVert x-y\rVert$, attained by $|x-c|$ with its kink at $z$.",
    reason=r"From $z$ it is $(1-\alpha)\lVert x-y\rVert$ to $x$ and $\alpha\lVert x-y\rVert$ to $y$. Weighed with $\alpha$ "
    r"and $1-\alpha$ that is $\alpha(1-\alpha)\lVert x-y\rVert$ twice; printed is one of the two.",
    verdict=FAILS,
    printed=("F8 Corollary 1",),
    beside=("F8 corrected", "F8 Lemma 3"),
)
def combination(view: Merge) -> Shown:
    """Corollary 1: how far a function lies from its chord, against the printed bound and the right one."""
    printed, right = (
        along(bound, "merge_ratio", _SHARES, lipschitz=1, distance=2)
        for bound in (theory.printed_combination_bound, theory.combination_bound)
    )
    figure = loss_curves(
        {"printed bound": printed, "right bound": right, "distance to the chord": chord_distance(view, _SHARES)},
        _SHARES,
        title="How far a function lies from its chord",
        x_label="merge ratio α",
        y_label="|h(z) − chord|",
    )
    here = float(chord_distance(view, np.array([view.merge_ratio]))[0])
    bound = theory.printed_combination_bound(merge_ratio=view.merge_ratio, lipschitz=1, distance=2)
    sentence = (
        f"At α = {view.merge_ratio:g} h(z) lies {here:.3f} from its chord; printed is at most {bound:.3f}, "
        f"right at most {2 * bound:.3f}."
    )
    return Shown(figure=figure, sentence=sentence, holds=here <= bound + 1e-12, cursor=view.merge_ratio)


@on_trial.per_draw(
    "F8 default",
    "FADRM, eq 11 and section 4",
    "The default alpha = .5 lies where condition (11), put right, can hold.",
    effect="largest alpha for which it can hold minus .5; drawn L_l and B",
    draws="draws of L_l in [.01, 2] and B in [.1, 10]",
)
def _default_ratio(draw: Draw, _: int) -> float:
    steep, largest = log_uniform(draw, 0.01, 2), log_uniform(draw, 0.1, 10)
    return theory.largest_merge_ratio(loss_lipschitz=steep, loss_bound=largest) - DEFAULT_MERGE


@dataclass(frozen=True, kw_only=True)
class Condition(Parameters):
    """Sliders of condition (11)."""

    merge_ratio: float = slider(DEFAULT_MERGE, 0, 1, "The merge ratio; .5 in the paper.", symbol=r"\alpha", step=0.01)
    loss_lipschitz: float = slider(0.2, 0.01, 4, "How steep the loss is in the logits.", symbol="L_l", step=0.01)
    loss_bound: float = slider(1.0, 0.1, 4, "How large the loss can be.", symbol="B", step=0.1)


@on_trial.trial(
    "F8 condition",
    Condition,
    source="FADRM, Theorem 2, condition (11)",
    statement=r"Suitable data can meet condition (11) at every merge ratio $\alpha < 1 - L_l/(2B)$; the default .5 is one "
    r"for $L_l < B$.",
    symbols=r"condition (11): what Theorem 2 asks of the data so that a merge helps; $\alpha$: merge ratio; $L_l$: how "
    r"steep the loss is in the logits; $B$: the largest loss.",
    right=r"$\alpha < \frac12\bigl(1 - L_l/(2B)\bigr)$: never .5 or more.",
    reason=r"The missing 2 of Corollary 1 goes on into condition (11). Put right, it asks for more than Lipschitz functions "
    r"can give as soon as $\alpha$ reaches one half. The theorem then says nothing about the paper's own default.",
    verdict=FAILS,
    beside=("F8 default",),
)
def condition(view: Condition) -> Shown:
    """Condition (11): below which merge ratio any data can meet it, as printed and put right."""
    limits = (theory.printed_largest_merge_ratio, theory.largest_merge_ratio)
    printed, right = (along(limit, "loss_lipschitz", 2 * _SHARES, loss_bound=1) for limit in limits)
    figure = loss_curves(
        {"printed limit": printed, "right limit": right, "your α": np.full(len(_SHARES), view.merge_ratio)},
        _SHARES,
        title="Below which α condition (11) can be met",
        x_label="L_l / 2B",
        y_label="merge ratio α",
    )
    wrong, limit = (find(loss_lipschitz=view.loss_lipschitz, loss_bound=view.loss_bound) for find in limits)
    sentence = f"α = {view.merge_ratio:g}; by the printed condition α must lie below {wrong:.3f}, by the right one below {limit:.3f}."
    holds, share = not limit <= view.merge_ratio < wrong, view.loss_lipschitz / (2 * view.loss_bound)
    return Shown(figure=figure, sentence=sentence, holds=holds, cursor=min(share, 1.0))


@dataclass(frozen=True, kw_only=True)
class Latents(Parameters):
    """Sliders of A.1."""

    latents: int = slider(6, 2, MOST_LATENTS, "Size of the batch.", symbol="n")
    seed: int = seed_slider()


@functools.lru_cache(maxsize=1024)
def gradients(latents: int, seed: int) -> tuple[float, torch.Tensor]:
    """(printed over autograd's derivative of the variance gap, the gaps' inner products at each point [n]); float64, one dimension."""
    draw = randomness.generator(seed, latents, "appendix A.1")
    points = 1 + torch.randn((latents, 1), generator=draw, dtype=torch.float64)
    mean, variance = torch.zeros(1, dtype=torch.float64), torch.full((1,), 1.5, dtype=torch.float64)
    leaf = points.clone().requires_grad_()
    gaps = theory.mean_gap(leaf, mean), theory.variance_gap(leaf, variance)
    slopes = [torch.autograd.grad(gap, leaf)[0] for gap in gaps]
    ratio = theory.printed_variance_gap_gradient(points, variance).norm() / slopes[1].norm()
    return float(ratio), (slopes[0] * slopes[1]).sum(1)


@on_trial.trial(
    "D2 factor",
    Latents,
    source="DWA, appendix A.1, eq 19",
    statement=r"$\partial\mathcal{L}_\mathrm{var}/\partial s_i = "
    r"2(\sigma^2(S)-\sigma^2(T))\,\frac2n\,(s_i-\mu(S))\,(1-\frac1n)$.",
    symbols=r"$s_i$: latents, a batch of $n$ outputs of a layer; $\mu(S), \sigma^2(S)$: their mean and variance; "
    r"$\sigma^2(T)$: the variance that batch norm remembers; $\mathcal{L}_\mathrm{var} = "
    r"(\sigma^2(S)-\sigma^2(T))^2$: the variance gap.",
    right=r"The same without $1-\frac1n$.",
    reason="When $s_i$ moves the mean moves too, but the deviations from the mean add up to zero, so that this changes "
    "nothing. The sign, which is all that the appendix goes on to use, is right.",
    verdict=FAILS,
    printed=("D2 factor",),
)
def derivative(view: Latents) -> Shown:
    """Eq 19: the printed derivative over autograd's, by the size of the batch."""
    sizes = range(2, MOST_LATENTS + 1)
    ratios = [gradients(n, view.seed)[0] for n in sizes]
    figure = loss_curves(
        {"printed / autograd": ratios, "right": [1.0] * len(ratios)},
        sizes,
        title="The derivative of the variance gap",
        x_label="latents in the batch n",
        y_label="printed / autograd",
    )
    ratio = gradients(view.latents, view.seed)[0]
    sentence = f"With {view.latents} latents the printed derivative is {ratio:.4f} times autograd's; 1 − 1/n is {1 - 1 / view.latents:.4f}."
    return Shown(figure=figure, sentence=sentence, holds=abs(ratio - 1) < 1e-9, cursor=float(view.latents))


@on_trial.trial(
    "D2 batch",
    Latents,
    source="DWA, appendix A.1 and section 3.1",
    statement="The gradients of the mean gap and of the variance gap work against each other on the batch.",
    symbols=r"$s_i$: latents, a batch of $n$ outputs of a layer; mean gap, variance gap: squared distance of the "
    r"batch's mean and variance to those that batch norm remembers; against each other: their inner product "
    r"over the batch is negative.",
    right=r"$\sum_i \partial\mathcal{L}_\mathrm{mean}/\partial s_i \cdot \partial\mathcal{L}_\mathrm{var}/\partial s_i = 0$: "
    r"over the batch they do not meet.",
    reason=r"The first is the same at every point, the second goes with $s_i - \mu(S)$. They oppose each other on one side "
    r"of the batch and agree on the other: a shift and a stretch.",
    verdict=FAILS,
    printed=("D2 batch",),
    beside=("D2 one side",),
)
def batch(view: Latents) -> Shown:
    """A.1's conclusion: the inner product of the two gradients at each point, and over the batch."""
    products = gradients(view.latents, view.seed)[1]
    total, opposed = float(products.sum()), int((products < 0).sum())
    sentence = (
        f"At {opposed} of {view.latents} points the two gradients oppose each other; over the batch their inner product is "
        f"{total if abs(total) > 1e-12 else 0:.3f}."
    )
    return Shown(figure=product_bars(products), sentence=sentence, holds=total < -1e-9)
