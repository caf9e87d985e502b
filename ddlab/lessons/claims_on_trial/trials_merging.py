r"""Trials of FADRM's residual connection (Corollary 1, condition 11) and of DWA's appendix A.1."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch

from ... import theory
from ...core import randomness
from ...core.parameters import Parameters, parameter
from ...figures import loss_curves, product_bars
from .trial_card import FAILS, Shown, Trial
from .trial_parts import seed_field, share_field, trial

KINK, RANDOM = "|x - c|", "random"
DEFAULT_MERGE = 0.5  # FADRM's alpha
MOST_LATENTS = 30
_ALPHA = np.linspace(0, 1, 101)
_SHARES = np.linspace(0, 1, 101)


@dataclass(frozen=True, kw_only=True)
class Merge(Parameters):
    """Sliders of Corollary 1."""

    merge_ratio: float = share_field(0.5, r"\alpha", "Share of x = -1 in the mixture; the rest is y = 1.")
    function: str = parameter(
        KINK, choices=(KINK, RANDOM), explorable=True, help="A function whose slope is 1 or -1 everywhere."
    )
    kink: float = parameter(0.0, symbol="c", range=(-1, 1), step=0.05, explorable=(-1, 1), help="Where |x - c| turns.")
    seed: int = seed_field()


@dataclass(frozen=True, kw_only=True)
class Condition(Parameters):
    """Sliders of condition (11)."""

    merge_ratio: float = share_field(DEFAULT_MERGE, r"\alpha", "The merge ratio; .5 in the paper.")
    loss_lipschitz: float = parameter(
        0.2, symbol="L_l", range=(0.01, 4), step=0.01, explorable=(0.01, 4), help="How steep the loss is in the logits."
    )
    loss_bound: float = parameter(
        1.0, symbol="B", range=(0.1, 4), step=0.1, explorable=(0.1, 4), help="How large the loss can be."
    )


@dataclass(frozen=True, kw_only=True)
class Latents(Parameters):
    """Sliders of A.1."""

    latents: int = parameter(
        6, symbol="n", range=(2, MOST_LATENTS), explorable=(2, MOST_LATENTS), help="Size of the batch."
    )
    seed: int = seed_field()


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


def combination(view: Merge) -> Shown:
    """Corollary 1: how far a function lies from its chord, against the printed bound and the right one."""
    distance = chord_distance(view, _ALPHA)
    printed, right = (
        np.array([bound(merge_ratio=float(a), lipschitz=1, distance=2) for a in _ALPHA])
        for bound in (theory.printed_combination_bound, theory.combination_bound)
    )
    figure = loss_curves(
        {"printed bound": printed, "right bound": right, "distance to the chord": distance}, _ALPHA,
        title="How far a function lies from its chord", x_label="merge ratio α", y_label="|h(z) − chord|",
    )  # fmt: skip
    here = float(chord_distance(view, np.array([view.merge_ratio]))[0])
    bound = theory.printed_combination_bound(merge_ratio=view.merge_ratio, lipschitz=1, distance=2)
    sentence = (
        f"At α = {view.merge_ratio:g} h(z) lies {here:.3f} from its chord; printed is at most {bound:.3f}, "
        f"right at most {2 * bound:.3f}."
    )
    return Shown(figure=figure, sentence=sentence, holds=here <= bound + 1e-12, cursor=view.merge_ratio)


def condition(view: Condition) -> Shown:
    """Condition (11): below which merge ratio any data can meet it, as printed and put right."""
    printed, right = (
        [limit(loss_lipschitz=2 * float(share), loss_bound=1) for share in _SHARES]
        for limit in (theory.printed_largest_merge_ratio, theory.largest_merge_ratio)
    )
    figure = loss_curves(
        {"printed limit": printed, "right limit": right, "your α": np.full(len(_SHARES), view.merge_ratio)}, _SHARES,
        title="Below which α condition (11) can be met", x_label="L_l / 2B", y_label="merge ratio α",
    )  # fmt: skip
    settings = {"loss_lipschitz": view.loss_lipschitz, "loss_bound": view.loss_bound}
    wrong, limit = theory.printed_largest_merge_ratio(**settings), theory.largest_merge_ratio(**settings)
    sentence = f"α = {view.merge_ratio:g}; by the printed condition α must lie below {wrong:.3f}, by the right one below {limit:.3f}."
    share = view.loss_lipschitz / (2 * view.loss_bound)
    return Shown(
        figure=figure, sentence=sentence, holds=view.merge_ratio >= wrong or view.merge_ratio < limit, cursor=min(share, 1.0)
    )  # fmt: skip


@functools.lru_cache(maxsize=1024)
def gradients(latents: int, seed: int) -> tuple[float, torch.Tensor]:
    """(printed over autograd's derivative of the variance gap, the gaps' inner products at each point [n]); float64, one dimension."""
    points = 1 + torch.randn(
        (latents, 1), generator=randomness.generator(seed, latents, "appendix A.1"), dtype=torch.float64
    )
    mean, variance = torch.zeros(1, dtype=torch.float64), torch.full((1,), 1.5, dtype=torch.float64)
    leaf = points.clone().requires_grad_()
    slopes = [
        torch.autograd.grad(gap, leaf)[0] for gap in (theory.mean_gap(leaf, mean), theory.variance_gap(leaf, variance))
    ]
    ratio = theory.printed_variance_gap_gradient(points, variance).norm() / slopes[1].norm()
    return float(ratio), (slopes[0] * slopes[1]).sum(1)


def derivative(view: Latents) -> Shown:
    """Eq 19: the printed derivative over autograd's, by the size of the batch."""
    sizes = range(2, MOST_LATENTS + 1)
    ratios = [gradients(n, view.seed)[0] for n in sizes]
    figure = loss_curves(
        {"printed / autograd": ratios, "right": [1.0] * len(ratios)}, sizes,
        title="The derivative of the variance gap", x_label="latents in the batch n", y_label="printed / autograd",
    )  # fmt: skip
    ratio = gradients(view.latents, view.seed)[0]
    sentence = f"With {view.latents} latents the printed derivative is {ratio:.4f} times autograd's; 1 − 1/n is {1 - 1 / view.latents:.4f}."
    return Shown(figure=figure, sentence=sentence, holds=abs(ratio - 1) < 1e-9, cursor=float(view.latents))


def batch(view: Latents) -> Shown:
    """A.1's conclusion: the inner product of the two gradients at each point, and over the batch."""
    products = gradients(view.latents, view.seed)[1]
    total, opposed = float(products.sum()), int((products < 0).sum())
    sentence = (
        f"At {opposed} of {view.latents} points the two gradients oppose each other; over the batch their inner product is "
        f"{total if abs(total) > 1e-12 else 0:.3f}."
    )
    return Shown(figure=product_bars(products), sentence=sentence, holds=total < -1e-9)


def trials() -> list[Trial]:
    """Corollary 1, condition (11), eq 19 and the conclusion of A.1."""
    return [
        trial(
            "F8 Corollary 1", printed=("F8 Corollary 1",), beside=("F8 corrected", "F8 Lemma 3"), verdict=FAILS,
            source="FADRM, Corollary 1",
            statement=r"For an $L$-Lipschitz $h$ and $z = \alpha x + (1-\alpha)y$: "
            r"$|h(z) - \alpha h(x) - (1-\alpha)h(y)| \le L\,\alpha(1-\alpha)\lVert x-y\rVert$.",
            parameters=Merge, show=combination,
            right=r"$2L\,\alpha(1-\alpha)\lVert x-y\rVert$, attained by $|x-c|$ with its kink at $z$.",
            reason=r"From $z$ it is $(1-\alpha)\lVert x-y\rVert$ to $x$ and $\alpha\lVert x-y\rVert$ to $y$. Weighed with "
            r"$\alpha$ and $1-\alpha$ "
            r"that is $\alpha(1-\alpha)\lVert x-y\rVert$ twice; printed is one of the two.",
        ),
        trial(
            "F8 condition", beside=("F8 default",), verdict=FAILS, source="FADRM, Theorem 2, condition (11)",
            statement=r"Suitable data can meet condition (11) at every merge ratio $\alpha < 1 - L_l/(2B)$; the default .5 is "
            r"one for $L_l < B$.",
            parameters=Condition, show=condition,
            right=r"$\alpha < \frac12\bigl(1 - L_l/(2B)\bigr)$: never .5 or more.",
            reason=r"The missing 2 of Corollary 1 goes on into condition (11). Put right, it asks for more than Lipschitz "
            r"functions can give as "
            r"soon as $\alpha$ reaches one half. The theorem then says nothing about the paper's own default.",
        ),
        trial(
            "D2 factor", printed=("D2 factor",), verdict=FAILS, source="DWA, appendix A.1, eq 19",
            statement=r"$\partial\mathcal{L}_\mathrm{var}/\partial s_i = "
            r"2(\sigma^2(S)-\sigma^2(T))\,\frac2n\,(s_i-\mu(S))\,(1-\frac1n)$.",
            parameters=Latents, show=derivative,
            right=r"The same without $1-\frac1n$.",
            reason=r"When $s_i$ moves the mean moves too, but the deviations from the mean add up to zero, so that this "
            r"changes nothing. The sign, "
            r"which is all that the appendix goes on to use, is right.",
        ),
        trial(
            "D2 batch", printed=("D2 batch",), beside=("D2 one side",), verdict=FAILS, source="DWA, appendix A.1 and section 3.1",
            statement=r"The gradients of the mean gap and of the variance gap work against each other on the batch.",
            parameters=Latents, show=batch,
            right=r"$\sum_i \partial\mathcal{L}_\mathrm{mean}/\partial s_i \cdot \partial\mathcal{L}_\mathrm{var}/\partial "
            r"s_i = 0$: over the "
            r"batch they do not meet.",
            reason=r"The first is the same at every point, the second goes with $s_i - \mu(S)$. They oppose each other on one "
            r"side of the batch and "
            r"agree on the other: a shift and a stretch.",
        ),
    ]  # fmt: skip
