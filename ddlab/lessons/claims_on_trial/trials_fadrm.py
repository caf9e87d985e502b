r"""Trials of FADRM's cost (eq 8), of its bounds on the loss (Theorem 3), and of what an image can tell (Theorem 1)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ... import theory
from ...core import randomness
from ...core.parameters import Parameters, parameter
from ...figures import bars, loss_curves
from .trial_card import HOLDS, WHEN, Shown, Trial
from .trial_parts import share_field, trial

BUDGET, SIDE, MOST_MERGES = 2000, 224, 8
CLASSES = 10  # of the trial of Theorem 1
DRAWS = 300
_TEMPERATURES = np.linspace(0.5, 20, 40)
_SURENESS = np.linspace(0, 15, 61)


@dataclass(frozen=True, kw_only=True)
class Resolution(Parameters):
    """Sliders of eq 8."""

    merges: int = parameter(3, symbol="k", range=(0, MOST_MERGES), explorable=(0, MOST_MERGES), help="Residual merges.")
    small_side: int = parameter(
        112, symbol=r"D_{\mathrm{ds}}", range=(32, SIDE), step=8, explorable=(32, SIDE), unit="px",
        help="The small resolution; the full one is 224.",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Softmax(Parameters):
    """Sliders of Theorem 3."""

    classes: int = parameter(10, symbol="k", range=(2, 100), explorable=(2, 100), help="How many classes.")
    temperature: float = parameter(
        4.0, symbol="T", range=(0.5, 20), step=0.5, explorable=(0.5, 20), help="Of the softmax of the logits."
    )
    largest_logit: float = parameter(
        5.0, symbol="C", range=(0.1, 20), step=0.1, explorable=(0.1, 20), help="Logits lie in [-C, C]."
    )
    seed: int = parameter(0, range=(0, 999), help="Of the random logits.")


@dataclass(frozen=True, kw_only=True)
class Sureness(Parameters):
    """Sliders of Theorem 1."""

    sureness: float = share_field(
        8.0, "s", "How far the logit of an image's class is above the others.", high=15, step=0.25
    )
    images: int = parameter(1, symbol="|C|", range=(1, 10), explorable=(1, 10), help="How many images are made.")
    error: float = share_field(0.1, "e", "How often an image points to the wrong one of the two datasets.", high=0.5)


def cost(view: Resolution) -> Shown:
    """Eq 8 against what Algorithm 1 spends, for every number of merges."""
    settings = {"budget": BUDGET, "small_side": view.small_side, "side": SIDE}
    printed, exact = (
        [formula(merges=k, **settings) for k in range(MOST_MERGES + 1)]
        for formula in (theory.printed_resolution_cost_ratio, theory.resolution_cost_ratio)
    )
    figure = loss_curves(
        {"eq 8 as printed": printed, "Algorithm 1": exact}, range(MOST_MERGES + 1), title="Cost of mixed resolutions",
        x_label="merges k", y_label="cost / cost at full size",
    )  # fmt: skip
    wrong, right = printed[view.merges], exact[view.merges]
    sentence = f"With {view.merges} merges eq 8 gives {wrong:.3f} of the full cost, Algorithm 1 spends {right:.3f}."
    return Shown(figure=figure, sentence=sentence, holds=abs(wrong - right) < 1e-12, cursor=float(view.merges))


@functools.lru_cache(maxsize=64)
def drawn(classes: int, seed: int) -> tuple[Tensor, Tensor]:
    """Targets and logits in [-1, 1], float64 [300, k]: half of the targets random, half hard."""
    draw = randomness.generator(seed, 0, "theorem 3")
    targets = (3 * torch.randn(DRAWS, classes, generator=draw, dtype=torch.float64)).softmax(1)
    hard = torch.randint(0, classes, (DRAWS // 2,), generator=draw)
    targets[: DRAWS // 2] = torch.nn.functional.one_hot(hard, classes).double()
    return targets, 2 * torch.rand(DRAWS, classes, generator=draw, dtype=torch.float64) - 1


def kl_bound(view: Softmax) -> Shown:
    """Theorem 3 (i): the printed bound, the tight one, and the largest loss that was drawn."""
    targets, logits = drawn(view.classes, view.seed)
    settings = {"classes": view.classes, "largest_logit": view.largest_logit}
    printed, tight = (
        [bound(temperature=float(t), **settings) for t in _TEMPERATURES]
        for bound in (theory.printed_kl_bound, theory.tight_kl_bound)
    )
    seen = [_largest_loss(targets, view.largest_logit * logits, float(t)) for t in _TEMPERATURES]
    figure = loss_curves(
        {"printed bound": printed, "tight bound": tight, f"largest of {DRAWS} draws": seen}, _TEMPERATURES,
        title="How large the KL loss can be", x_label="temperature T", y_label="KL (nats)",
    )  # fmt: skip
    bound, least = (
        find(temperature=view.temperature, **settings) for find in (theory.printed_kl_bound, theory.tight_kl_bound)
    )
    largest = max(_largest_loss(targets, view.largest_logit * logits, view.temperature), _worst_loss(view))
    sentence = (
        f"At T = {view.temperature:g} the printed bound is {bound:.3f} nats and the tight one {least:.3f}; the largest loss "
        f"found, with a hard "
        f"target and its logit lowest, is {largest:.3f}."
    )
    return Shown(figure=figure, sentence=sentence, holds=largest <= bound, cursor=view.temperature)


def lipschitz(view: Softmax) -> Shown:
    """Theorem 3 (ii): how much the loss changes per unit of the largest change of a logit, against 1/T and 2/T."""
    constants = theory.lipschitz_constants(classes=view.classes, temperature=view.temperature)
    targets, logits = drawn(view.classes, view.seed)
    logits = view.largest_logit * logits
    random = _slope(targets, logits, logits.flip(0), view.temperature)
    hard, low, high = _steep(view)
    steep = _slope(hard, low, high, view.temperature)
    figure = bars(
        [f"{DRAWS} random pairs", "steepest pair", "right bound 2/T"], [random, steep, constants.maximum],
        title="Change of the loss per change of a logit", y_label="slope (nats per unit)",
        reference=("printed 1/T", constants.printed_maximum),
    )  # fmt: skip
    sentence = (
        f"Printed is a slope of at most {constants.printed_maximum:.3g}; the steepest pair has {steep:.3g}, {DRAWS} random pairs at most "
        f"{random:.3g}, and 2/T is {constants.maximum:.3g}."
    )
    return Shown(figure=figure, sentence=sentence, holds=max(steep, random) <= constants.printed_maximum * (1 + 1e-9))


def told(view: Sureness) -> Shown:
    """Theorem 1: the printed bound by the network's output entropy, and what the images tell about the dataset."""
    bounds = np.array([_entropy_bound(float(s), view.images) for s in _SURENESS])
    told_ = image_information(view.images, view.error)
    figure = loss_curves(
        {"printed bound": bounds, "what the images tell": np.full_like(bounds, told_)}, _SURENESS,
        title="Images made from a network that is sure of them", x_label="logit of the own class above the others s",
        y_label="information (nats)",
    )  # fmt: skip
    bound = _entropy_bound(view.sureness, view.images)
    sentence = (
        f"The network is {_sure(view.sureness):.2%} sure of an image: the printed bound is {bound:.3g} nats, and "
        f"{view.images} image{'s' if view.images > 1 else ''} tell{'' if view.images > 1 else 's'} {told_:.3g} nats of the dataset."
    )
    return Shown(figure=figure, sentence=sentence, holds=told_ <= bound, cursor=view.sureness)


def image_information(images: int, error: float) -> float:
    """I(images; dataset) in nats: one of two datasets, and each image, made by its network, points to the other one with odds `error`.

    Images are independent given the dataset; only how many point to the first matters.
    """
    found = 0.0
    for first in range(images + 1):
        ways = math.comb(images, first)
        odds = [
            ways * (1 - error) ** first * error ** (images - first),
            ways * error**first * (1 - error) ** (images - first),
        ]
        found += sum(one / 2 * math.log(2 * one / sum(odds)) for one in odds if one > 0)
    return max(found, 0.0)


def _entropy_bound(sureness: float, images: int) -> float:
    return theory.printed_information_bound(sureness * torch.eye(CLASSES, dtype=torch.float64), images=images)


def _sure(sureness: float) -> float:
    return 1 / (1 + (CLASSES - 1) * math.exp(-sureness))


def _largest_loss(targets: Tensor, logits: Tensor, temperature: float) -> float:
    return float(theory.temperature_scaled_kl(targets, logits, temperature=temperature).max())


def _worst_loss(view: Softmax) -> float:
    targets = torch.eye(view.classes, dtype=torch.float64)[:1]
    return _largest_loss(targets, view.largest_logit * (1 - 2 * targets), view.temperature)


def _steep(view: Softmax) -> tuple[Tensor, Tensor, Tensor]:
    """A hard target, and two logits near its worst case that differ by C/100 in every entry, towards it and away from it."""
    targets = torch.eye(view.classes, dtype=torch.float64)[:1]
    worst = view.largest_logit * (1 - 2 * targets)
    return targets, worst, 0.99 * worst


def _slope(targets: Tensor, logits: Tensor, other: Tensor, temperature: float) -> float:
    losses = [theory.temperature_scaled_kl(targets, some, temperature=temperature) for some in (logits, other)]
    return float(((losses[0] - losses[1]).abs() / (logits - other).abs().amax(1)).max())


def trials() -> list[Trial]:
    """Eq 8, Theorem 3 in two parts, Theorem 1."""
    return [
        trial(
            "F4", printed=("F4 odd k",), beside=("F4 times",), verdict=WHEN, when=r"$k$ is odd (or nothing is made smaller)",
            source="FADRM, eq 8",
            statement=r"With $k$ merges, $b = \lfloor B/(k+1)\rfloor$ steps each and $r = (D_\mathrm{ds}/D_\mathrm{orig})^2$, "
            r"mixed resolutions "
            r"cost $1 - \frac{b}{B}\lceil k/2\rceil(1-r)$ of the full cost.",
            parameters=Resolution, show=cost,
            right=r"For even $k$ Algorithm 1 has $k/2+1$ small stages, the last one with the steps that the floor left over.",
            reason=r"The stages take turns and the first is small. For even $k$ so is the last, which eq 8 does not count: it "
            r"overstates the "
            r"cost, and the algorithm returns an image of the small size.",
        ),
        trial(
            "F7 Lipschitz", printed=("F7 Lipschitz",), beside=("F7 corrected",), verdict=WHEN,
            when="both predictions lie within total variation 1/2 of the target", source="FADRM, Theorem 3 (ii)",
            statement=r"The loss changes by at most $\frac1T\lVert z-z'\rVert_\infty$ when the logits change from $z$ to $z'$.",
            parameters=Softmax, show=lipschitz,
            right=r"$\frac2T\lVert z-z'\rVert_\infty$; $\frac1T$ belongs to $\lVert z-z'\rVert_1$, and $\frac{\sqrt2}{T}$ to "
            r"the Euclidean norm.",
            reason=r"A slope by one norm needs the gradient in the dual norm. The proof takes the largest entry of the "
            r"gradient where the sum "
            r"of all is needed. The steepest change moves the logit of a hard target against all others.",
        ),
        trial(
            "F9", printed=("F9",), verdict=WHEN, when=r"the network is unsure of some image by $\log 2$ or more, for one of two datasets",
            source="FADRM, Theorem 1",
            statement=r"Distilled images tell at most $|C|\,\max_x H(\mathrm{softmax}(f(x)))$ about the original dataset.",
            parameters=Sureness, show=told,
            right=r"No bound of this kind: at most $H(f)$, the entropy of the network itself, over what the dataset might have been.",
            reason=r"The proof bounds the information by the entropy of the network as a random variable, then writes the "
            r"entropy of its outputs "
            r"for it. A network that is sure of every image has none of that, and its images may still tell which of two "
            r"datasets it saw.",
        ),
        trial(
            "F7 bound", printed=("F7 bound",), verdict=HOLDS, source="FADRM, Theorem 3 (i)",
            statement=r"For logits in $[-C, C]$ the loss $\mathrm{KL}(p\,\Vert\,\mathrm{softmax}(z/T))$ is at most $\log k + 2C/T$.",
            parameters=Softmax, show=kl_bound,
            right=r"As printed; the tight bound is $\log\bigl(1 + (k-1)e^{2C/T}\bigr)$.",
            reason=r"The largest loss has a hard target whose logit is $-C$ while all others are $C$. The printed bound lies "
            r"a little above it.",
        ),
    ]  # fmt: skip
