r"""What FADRM proves of its cost (eq 8), of the KL loss (Theorem 3), and of what an image can tell of its dataset (Theorem 1)."""

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
from ..shared.effects import Measured, log_uniform
from .statements import Draw, Statements, along, slider
from .trial_card import HOLDS, WHEN, Shown

on_trial = Statements()
BUDGET, SIDE, MOST_MERGES = 2000, 224, 8
# Seconds per image at D_ds and at 224 px, k = 3: Table 6, then Table 5 for one teacher and for four.
PRINTED_SECONDS = ((160, 0.42, 0.52), (180, 0.44, 0.52), (200, 0.47, 0.52), (200, 0.47, 0.52), (200, 1.09, 1.16))
ROUNDING = 0.02  # what two seconds of two decimals can do to their quotient
CLASSES = 10  # of the trial of Theorem 1
DRAWS = 300
_TEMPERATURES = np.linspace(0.5, 20, 40)
_SURENESS = np.linspace(0, 15, 61)


@on_trial.per_draw(
    "F4 odd k",
    "FADRM, eq 8",
    "Eq 8 is the cost of Algorithm 1.",
    effect="minus the distance between the two cost ratios; drawn budget, merges and sizes",
    when="k is odd",
    draws="draws of B in [100, 4000], k in 0 to 9 and two sizes",
)
def _cost_ratio(draw: Draw, _: int) -> tuple[float, bool]:
    side, merges = int(draw.integers(32, 256)), int(draw.integers(0, 10))
    budget, small = int(draw.integers(100, 4000)), int(draw.integers(8, side))
    problem = {"budget": budget, "merges": merges, "small_side": small, "side": side}
    off = theory.printed_resolution_cost_ratio(**problem) - theory.resolution_cost_ratio(**problem)
    return -abs(off), merges % 2 == 1


@on_trial.claim(
    "F4 times",
    "FADRM, Tables 5 and 6",
    "The printed seconds fall with D_ds as the cost formula says.",
    effect=".02 minus the distance between the printed time's ratio to that at 224 px and the formula's",
    test="table",
)
def cost_in_seconds(_pairs: int) -> Measured:
    """Read off the tables, whatever `pairs`."""
    values = [
        ROUNDING - abs(seconds / full - theory.resolution_cost_ratio(budget=2000, merges=3, small_side=side, side=SIDE))
        for side, seconds, full in PRINTED_SECONDS
    ]
    return Measured(values, "Table 6 at 160, 180 and 200 px, Table 5 at 200 px for one and for four teachers; k = 3")


@dataclass(frozen=True, kw_only=True)
class Resolution(Parameters):
    """Sliders of eq 8."""

    merges: int = slider(3, 0, MOST_MERGES, "Residual merges.", symbol="k")
    small_side: int = slider(
        112, 32, SIDE, "The small resolution; the full one is 224.", symbol=r"D_{\mathrm{ds}}", step=8, unit="px"
    )


@on_trial.trial(
    "F4",
    Resolution,
    source="FADRM, eq 8",
    statement=r"With $k$ merges, $b = \lfloor B/(k+1)\rfloor$ steps each and $r = (D_\mathrm{ds}/D_\mathrm{orig})^2$, mixed "
    r"resolutions cost $1 - \frac{b}{B}\lceil k/2\rceil(1-r)$ of the full cost.",
    symbols=r"$B$: all steps; $k$: merges; $b$: steps of one stage; $D_\mathrm{ds}, D_\mathrm{orig}$: sides of the "
    r"small and of the full image, in pixels; $r$: what a small step costs beside a full one.",
    right="For even $k$ Algorithm 1 has $k/2+1$ small stages, the last one with the steps that the floor left over.",
    reason="The stages take turns and the first is small. For even $k$ so is the last, which eq 8 does not count: it "
    "overstates the cost, and the algorithm returns an image of the small size.",
    verdict=WHEN,
    when="$k$ is odd (or nothing is made smaller)",
    printed=("F4 odd k",),
    beside=("F4 times",),
)
def cost(view: Resolution) -> Shown:
    """Eq 8 against what Algorithm 1 spends, for every number of merges."""
    counts, settings = range(MOST_MERGES + 1), {"budget": BUDGET, "small_side": view.small_side, "side": SIDE}
    printed, exact = (
        [formula(merges=k, **settings) for k in counts]
        for formula in (theory.printed_resolution_cost_ratio, theory.resolution_cost_ratio)
    )
    figure = loss_curves(
        {"eq 8 as printed": printed, "Algorithm 1": exact},
        counts,
        title="Cost of mixed resolutions",
        x_label="merges k",
        y_label="cost / cost at full size",
    )
    wrong, right = printed[view.merges], exact[view.merges]
    sentence = f"With {view.merges} merges eq 8 gives {wrong:.3f} of the full cost, Algorithm 1 spends {right:.3f}."
    return Shown(figure=figure, sentence=sentence, holds=abs(wrong - right) < 1e-12, cursor=float(view.merges))


def _largest_loss(targets: Tensor, logits: Tensor, temperature: float) -> float:
    return float(theory.temperature_scaled_kl(targets, logits, temperature=temperature).max())


@on_trial.per_draw(
    "F7 bound",
    "FADRM, Theorem 3 (i)",
    "The KL loss is at most log k + 2 C / T.",
    effect="bound minus loss in nats; drawn targets, logits in [-C, C] and T",
    draws="draws of 2 to 19 classes, targets, logits at and inside +-C, and T",
)
def loss_bound(draw: Draw, number: int) -> float:
    """Half of the targets are hard."""
    classes, largest, temperature = int(draw.integers(2, 20)), log_uniform(draw, 0.1, 20), log_uniform(draw, 0.5, 30)
    targets = np.eye(classes)[[draw.integers(classes)]] if number % 2 else draw.dirichlet(np.ones(classes), 1)
    logits = largest * draw.choice([-1, 1, draw.uniform(-1, 1)], (1, classes))
    bound = theory.printed_kl_bound(classes=classes, largest_logit=largest, temperature=temperature)
    return bound - _largest_loss(torch.from_numpy(targets), torch.from_numpy(logits), temperature)


def _drawn_slope(draw: Draw, number: int) -> tuple[float, bool]:
    """T times the slope between two drawn logits, and whether both predictions are near the target."""
    classes, temperature = int(draw.integers(2, 10)), log_uniform(draw, 0.5, 30)
    logits = torch.from_numpy(draw.normal(size=(1, classes)) * temperature)
    signs = torch.from_numpy(draw.choice([-1.0, 1.0], (1, classes)))
    moved = logits + signs * log_uniform(draw, 0.01, 1) * temperature
    near = (logits / temperature).softmax(1).numpy()
    targets = torch.from_numpy(near if number % 2 else np.eye(classes)[[draw.integers(classes)]])
    change = _largest_loss(targets, moved, temperature) - _largest_loss(targets, logits, temperature)
    gaps = [float((targets - (z / temperature).softmax(1)).abs().sum() / 2) for z in (logits, moved)]
    return temperature * abs(change) / float((moved - logits).abs().max()), max(gaps) <= 0.5


@on_trial.per_draw(
    "F7 Lipschitz",
    "FADRM, Theorem 3 (ii)",
    "The KL loss is 1/T-Lipschitz in the largest change of a logit.",
    effect="1 minus T times the loss's change over the largest change of a logit; drawn targets, logits and T",
    when="both predictions lie within total variation 1/2 of the target",
    draws="draws of 2 to 9 classes, hard targets or the first prediction itself, two logits, and T",
)
def loss_slope(draw: Draw, number: int) -> tuple[float, bool]:
    """The loss is convex: its slope is at most ||q - p||_1 / T, twice their total variation, at one of the two ends."""
    slope, near = _drawn_slope(draw, number)
    return 1 - slope, near


@on_trial.per_draw(
    "F7 corrected",
    "FADRM, Theorem 3 (ii)",
    "It is 2/T-Lipschitz.",
    effect="2 minus T times the loss's change over the largest change of a logit; the same draws",
    draws="draws of 2 to 9 classes, hard targets or the first prediction itself, two logits, and T",
    stream="F7 Lipschitz",
)
def _corrected_loss_slope(draw: Draw, number: int) -> float:
    return 2 - _drawn_slope(draw, number)[0]


@dataclass(frozen=True, kw_only=True)
class Softmax(Parameters):
    """Sliders of Theorem 3."""

    classes: int = slider(10, 2, 100, "How many classes.", symbol="k")
    temperature: float = slider(4.0, 0.5, 20, "Of the softmax of the logits.", symbol="T", step=0.5)
    largest_logit: float = slider(5.0, 0.1, 20, "Logits lie in [-C, C].", symbol="C", step=0.1)
    seed: int = parameter(0, range=(0, 999), help="Of the random logits.")


@functools.lru_cache(maxsize=64)
def drawn(classes: int, seed: int) -> tuple[Tensor, Tensor]:
    """Targets and logits in [-1, 1], float64 [300, k]: half of the targets random, half hard."""
    draw = randomness.generator(seed, 0, "theorem 3")
    targets = (3 * torch.randn(DRAWS, classes, generator=draw, dtype=torch.float64)).softmax(1)
    hard = torch.randint(0, classes, (DRAWS // 2,), generator=draw)
    targets[: DRAWS // 2] = torch.nn.functional.one_hot(hard, classes).double()
    return targets, 2 * torch.rand(DRAWS, classes, generator=draw, dtype=torch.float64) - 1


def worst(view: Softmax) -> tuple[Tensor, Tensor]:
    """A hard target, and logits whose loss is the largest: -C at the target, C elsewhere; float64 [1, k]."""
    target = torch.eye(view.classes, dtype=torch.float64)[:1]
    return target, view.largest_logit * (1 - 2 * target)


@on_trial.trial(
    "F7 bound",
    Softmax,
    source="FADRM, Theorem 3 (i)",
    statement=r"For logits in $[-C, C]$ the loss $\mathrm{KL}(p\,\Vert\,\mathrm{softmax}(z/T))$ is at most $\log k + 2C/T$.",
    symbols=r"$p$: target, a distribution over $k$ classes; $z$: logits; $T$: temperature; $C$: the largest absolute "
    r"value of a logit.",
    right=r"As printed; the tight bound is $\log\bigl(1 + (k-1)e^{2C/T}\bigr)$.",
    reason="The largest loss has a hard target whose logit is $-C$ while all others are $C$. The printed bound lies a little "
    "above it.",
    verdict=HOLDS,
    printed=("F7 bound",),
)
def kl_bound(view: Softmax) -> Shown:
    """Theorem 3 (i): the printed bound, the tight one, and the largest loss that was drawn."""
    targets, logits = drawn(view.classes, view.seed)
    logits, settings = view.largest_logit * logits, {"classes": view.classes, "largest_logit": view.largest_logit}
    bounds = (theory.printed_kl_bound, theory.tight_kl_bound)
    printed, tight = (along(bound, "temperature", _TEMPERATURES, **settings) for bound in bounds)
    seen = [_largest_loss(targets, logits, float(t)) for t in _TEMPERATURES]
    figure = loss_curves(
        {"printed bound": printed, "tight bound": tight, f"largest of {DRAWS} draws": seen},
        _TEMPERATURES,
        title="How large the KL loss can be",
        x_label="temperature T",
        y_label="KL (nats)",
    )
    bound, least = (formula(temperature=view.temperature, **settings) for formula in bounds)
    largest = max(_largest_loss(*pair, view.temperature) for pair in ((targets, logits), worst(view)))
    sentence = (
        f"At T = {view.temperature:g} the printed bound is {bound:.3f} nats and the tight one {least:.3f}; the largest loss "
        f"found, with a hard target and its logit lowest, is {largest:.3f}."
    )
    return Shown(figure=figure, sentence=sentence, holds=largest <= bound, cursor=view.temperature)


def _slope(targets: Tensor, logits: Tensor, other: Tensor, temperature: float) -> float:
    """The largest change of the loss over the largest change of a logit."""
    losses = [theory.temperature_scaled_kl(targets, some, temperature=temperature) for some in (logits, other)]
    return float(((losses[0] - losses[1]).abs() / (logits - other).abs().amax(1)).max())


@on_trial.trial(
    "F7 Lipschitz",
    Softmax,
    source="FADRM, Theorem 3 (ii)",
    statement=r"The loss changes by at most $\frac1T\lVert z-z'\rVert_\infty$ when the logits change from $z$ to $z'$.",
    symbols=r"the loss: $\mathrm{KL}(p\,\Vert\,\mathrm{softmax}(z/T))$ of a target $p$; $z, z'$: logits; $T$: "
    r"temperature; $\lVert\cdot\rVert_\infty$: the largest absolute entry.",
    right=r"$\frac2T\lVert z-z'\rVert_\infty$; $\frac1T$ belongs to $\lVert z-z'\rVert_1$, and $\frac{\sqrt2}{T}$ to the "
    r"Euclidean norm.",
    reason="A slope by one norm needs the gradient in the dual norm. The proof takes the largest entry of the gradient where "
    "the sum of all is needed. The steepest change moves the logit of a hard target against all others.",
    verdict=WHEN,
    when="both predictions lie within total variation 1/2 of the target",
    printed=("F7 Lipschitz",),
    beside=("F7 corrected",),
)
def lipschitz(view: Softmax) -> Shown:
    """Theorem 3 (ii): how much the loss changes per unit of the largest change of a logit, against 1/T and 2/T."""
    constants = theory.lipschitz_constants(classes=view.classes, temperature=view.temperature)
    targets, logits = drawn(view.classes, view.seed)
    logits = view.largest_logit * logits
    random = _slope(targets, logits, logits.flip(0), view.temperature)
    hard, lowest = worst(view)
    steep = _slope(hard, lowest, 0.99 * lowest, view.temperature)
    figure = bars(
        [f"{DRAWS} random pairs", "steepest pair", "right bound 2/T"],
        [random, steep, constants.maximum],
        title="Change of the loss per change of a logit",
        y_label="slope (nats per unit)",
        reference=("printed 1/T", constants.printed_maximum),
    )
    sentence = (
        f"Printed is a slope of at most {constants.printed_maximum:.3g}; the steepest pair has {steep:.3g}, {DRAWS} random pairs at most "
        f"{random:.3g}, and 2/T is {constants.maximum:.3g}."
    )
    return Shown(figure=figure, sentence=sentence, holds=max(steep, random) <= constants.printed_maximum * (1 + 1e-9))


@on_trial.per_draw(
    "F9",
    "FADRM, Theorem 1, eq 3",
    "An image tells of its dataset at most the largest entropy of the network's outputs.",
    effect="printed bound minus what one image tells of which of two datasets, in nats; drawn sureness and noise",
    when="the network is unsure of some image by log 2 or more",
    draws="draws of the logits of 20 images in 2 to 9 classes, from unsure to sure, one image of up to 25% noise",
)
def told_by_an_image(draw: Draw, _: int) -> tuple[float, bool]:
    """One of two datasets, even odds; a network trained on it, sure or not; an image whose sign is the network's, or flipped."""
    classes, flipped = int(draw.integers(2, 10)), draw.uniform(0, 0.25)
    logits = torch.from_numpy(draw.normal(size=(20, classes)) * log_uniform(draw, 0.1, 1000))
    bound = theory.printed_information_bound(logits, images=1)
    table = torch.tensor([[1 - flipped, flipped], [flipped, 1 - flipped]], dtype=torch.float64) / 2
    return bound - theory.table_information(table).mutual, bound >= math.log(2)


@dataclass(frozen=True, kw_only=True)
class Sureness(Parameters):
    """Sliders of Theorem 1."""

    sureness: float = slider(
        8.0, 0, 15, "How far the logit of an image's class is above the others.", symbol="s", step=0.25
    )
    images: int = slider(1, 1, 10, "How many images are made.", symbol="|C|")
    error: float = slider(
        0.1, 0, 0.5, "How often an image points to the wrong one of the two datasets.", symbol="e", step=0.01
    )


@on_trial.trial(
    "F9",
    Sureness,
    source="FADRM, Theorem 1",
    statement=r"Distilled images tell at most $|C|\,\max_x H(\mathrm{softmax}(f(x)))$ about the original dataset.",
    symbols=r"$C$: the set of distilled images, $|C|$ their number; $f$: the network's logits; $H$: entropy; tell: "
    r"mutual information of the images and the dataset.",
    right="No bound of this kind: at most $H(f)$, the entropy of the network itself, over what the dataset might have been.",
    reason="The proof bounds the information by the entropy of the network as a random variable, then writes the entropy of "
    "its outputs for it. A network that is sure of every image has none of that, and its images may still tell which of two "
    "datasets it saw.",
    verdict=WHEN,
    when=r"the network is unsure of some image by $\log 2$ or more, for one of two datasets",
    printed=("F9",),
)
def told(view: Sureness) -> Shown:
    """Theorem 1: the printed bound by the network's output entropy, and what the images tell about the dataset."""
    bounds = np.array([_entropy_bound(float(s), view.images) for s in _SURENESS])
    known = image_information(view.images, view.error)
    figure = loss_curves(
        {"printed bound": bounds, "what the images tell": np.full_like(bounds, known)},
        _SURENESS,
        title="Images made from a network that is sure of them",
        x_label="logit of the own class above the others s",
        y_label="information (nats)",
    )
    bound, sure = _entropy_bound(view.sureness, view.images), 1 / (1 + (CLASSES - 1) * math.exp(-view.sureness))
    tell = "1 image tells" if view.images == 1 else f"{view.images} images tell"
    sentence = (
        f"The network is {sure:.2%} sure of an image: the printed bound is {bound:.3g} nats, and {tell} {known:.3g} nats of the "
        "dataset."
    )
    return Shown(figure=figure, sentence=sentence, holds=known <= bound, cursor=view.sureness)


def image_information(images: int, error: float) -> float:
    """I(images; dataset) in nats: one of two datasets, and each image, made by its network, points to the other one with odds `error`.

    Images are independent given the dataset; only how many point to the first matters.
    """
    found = 0.0
    for first in range(images + 1):
        ways, right = math.comb(images, first), 1 - error
        odds = [ways * right**first * error ** (images - first), ways * error**first * right ** (images - first)]
        found += sum(one / 2 * math.log(2 * one / sum(odds)) for one in odds if one > 0)
    return max(found, 0.0)


def _entropy_bound(sureness: float, images: int) -> float:
    return theory.printed_information_bound(sureness * torch.eye(CLASSES, dtype=torch.float64), images=images)
