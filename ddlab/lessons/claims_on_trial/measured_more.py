"""Lesson 90: the effects behind its claims about FADRM's proofs and costs, and about sentences beside their own tables."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ... import theory
from ..shared import printed_sentences
from ..shared.effects import EACH, Measured, drawn, log_uniform, split

# Seconds per image at D_ds and at 224 px, k = 3: Table 6, then Table 5 for one teacher and for four.
PRINTED_SECONDS = ((160, 0.42, 0.52), (180, 0.44, 0.52), (200, 0.47, 0.52), (200, 0.47, 0.52), (200, 1.09, 1.16))
ROUNDING = 0.02  # what two seconds of two decimals can do to their quotient
DEFAULT_RATIO = 0.5  # alpha, Table 8


def cost_ratio(pairs: int) -> Measured:
    """F4 odd k."""
    found: list[tuple[float, bool]] = []
    for draw in drawn("F4 odd k", EACH * pairs):
        side, merges = int(draw.integers(32, 256)), int(draw.integers(0, 10))
        problem = {
            "budget": int(draw.integers(100, 4000)),
            "merges": merges,
            "small_side": int(draw.integers(8, side)),
            "side": side,
        }
        off = theory.printed_resolution_cost_ratio(**problem) - theory.resolution_cost_ratio(**problem)
        found.append((-abs(off), merges % 2 == 1))
    return split(found, f"{EACH * pairs} draws of B in [100, 4000], k in 0 to 9 and two sizes")


def cost_in_seconds(pairs: int) -> Measured:
    """F4 times: read off the tables, whatever `pairs`."""
    values = [
        ROUNDING - abs(seconds / full - theory.resolution_cost_ratio(budget=2000, merges=3, small_side=side, side=224))
        for side, seconds, full in PRINTED_SECONDS
    ]
    return Measured(values, "Table 6 at 160, 180 and 200 px, Table 5 at 200 px for one and for four teachers; k = 3")


def _loss(targets: Tensor, logits: Tensor, temperature: float) -> float:
    return float(theory.temperature_scaled_kl(targets, logits, temperature=temperature))


def loss_bound(pairs: int) -> Measured:
    """F7 bound; half of the targets are hard."""
    values: list[float] = []
    for number, draw in enumerate(drawn("F7 bound", EACH * pairs)):
        classes, largest, temperature = (
            int(draw.integers(2, 20)),
            log_uniform(draw, 0.1, 20),
            log_uniform(draw, 0.5, 30),
        )
        targets = np.eye(classes)[[draw.integers(classes)]] if number % 2 else draw.dirichlet(np.ones(classes), 1)
        logits = largest * draw.choice([-1, 1, draw.uniform(-1, 1)], (1, classes))
        bound = theory.printed_kl_bound(classes=classes, largest_logit=largest, temperature=temperature)
        values.append(bound - _loss(torch.from_numpy(targets), torch.from_numpy(logits), temperature))
    return Measured(values, f"{EACH * pairs} draws of 2 to 19 classes, targets, logits at and inside +-C, and T")


def _slopes(pairs: int) -> list[tuple[float, bool]]:
    """T |change of the loss| over the largest change of a logit, and whether both predictions are near the target."""
    found: list[tuple[float, bool]] = []
    for number, draw in enumerate(drawn("F7 Lipschitz", EACH * pairs)):
        classes, temperature = int(draw.integers(2, 10)), log_uniform(draw, 0.5, 30)
        logits = torch.from_numpy(draw.normal(size=(1, classes)) * temperature)
        moved = (
            logits + torch.from_numpy(draw.choice([-1.0, 1.0], (1, classes))) * log_uniform(draw, 0.01, 1) * temperature
        )
        near = (logits / temperature).softmax(1).numpy()
        targets = torch.from_numpy(near if number % 2 else np.eye(classes)[[draw.integers(classes)]])
        change = _loss(targets, moved, temperature) - _loss(targets, logits, temperature)
        gaps = [float((targets - (z / temperature).softmax(1)).abs().sum() / 2) for z in (logits, moved)]
        found.append((temperature * abs(change) / float((moved - logits).abs().max()), max(gaps) <= 0.5))
    return found


def loss_slope(pairs: int) -> Measured:
    """F7 Lipschitz. The loss is convex: its slope is at most ||q - p||_1 / T, twice their total variation, at one of the two ends."""
    found = [(1 - slope, met) for slope, met in _slopes(pairs)]
    return split(
        found,
        f"{EACH * pairs} draws of 2 to 9 classes, hard targets or the first prediction itself, two logits, and T",
    )


def corrected_loss_slope(pairs: int) -> Measured:
    """F7 corrected."""
    values = [2 - slope for slope, _ in _slopes(pairs)]
    return Measured(
        values,
        f"{EACH * pairs} draws of 2 to 9 classes, hard targets or the first prediction itself, two logits, and T",
    )


def lipschitz_function(
    draw: np.random.Generator, lipschitz: float, dimensions: int
) -> Callable[[np.ndarray], np.ndarray]:
    """A drawn function R^d -> R of slope at most L everywhere: a mean of +-L ||x - c||."""
    centres, signs = draw.normal(size=(draw.integers(1, 5), dimensions)), draw.choice([-1.0, 1.0], 4)

    def function(points: np.ndarray) -> np.ndarray:
        distances = np.linalg.norm(points[..., None, :] - centres, axis=-1)
        return lipschitz * (distances * signs[: len(centres)]).mean(-1)

    return function


def risk_gap(pairs: int) -> Measured:
    """F8 Lemma 3, with the loss min(L_l |u - y|, B) and the same labels on both sets."""
    values: list[float] = []
    for draw in drawn("F8 Lemma 3", EACH * pairs):
        alpha, steep, slope, largest = draw.uniform(0, 1), *(log_uniform(draw, 0.1, 3) for _ in range(3))
        dimensions = int(draw.integers(1, 6))
        real, recovered = draw.normal(size=(2, 8, dimensions))
        labels, function = draw.normal(size=8), lipschitz_function(draw, slope, dimensions)
        merged = alpha * recovered + (1 - alpha) * real
        risks = [
            np.minimum(steep * np.abs(function(points) - labels), largest).mean() for points in (recovered, merged)
        ]
        apart = float(np.linalg.norm(recovered - real, axis=1).mean())
        bound = theory.risk_gap_bound(
            merge_ratio=alpha, loss_lipschitz=steep, network_lipschitz=slope, discrepancy=apart
        )
        values.append(bound - abs(float(risks[0] - risks[1])))
    return Measured(
        values, f"{EACH * pairs} draws of a function, a loss, 8 pairs of images in 1 to 5 dimensions, and alpha"
    )


def zigzag(draw: np.random.Generator, lipschitz: float) -> Callable[[float], float]:
    """A drawn function of one number of slope +-L, turning at one to five places between -2 and 2."""
    turns = np.sort(draw.uniform(-2, 2, draw.integers(1, 6)))
    slopes = lipschitz * draw.choice([-1.0, 1.0]) * (-1.0) ** np.arange(len(turns) + 1)
    heights = np.concatenate([[0.0], np.cumsum(slopes[1:-1] * np.diff(turns))])

    def function(place: float) -> float:
        part = int(np.searchsorted(turns, place))
        at = max(part - 1, 0)
        return float(heights[at] + slopes[part] * (place - turns[at]))

    return function


def _chords(pairs: int) -> list[float]:
    """Distance of a function to its chord over the printed bound."""
    found: list[float] = []
    for draw in drawn("F8 Corollary 1", EACH * pairs):
        alpha, slope = draw.uniform(0.1, 0.9), log_uniform(draw, 0.1, 10)
        function, (x, y) = zigzag(draw, slope), draw.normal(size=2)
        off = abs(function(alpha * x + (1 - alpha) * y) - alpha * function(x) - (1 - alpha) * function(y))
        bound = theory.printed_combination_bound(merge_ratio=alpha, lipschitz=slope, distance=abs(x - y))
        found.append(off / bound)
    return found


def _on_chords(pairs: int) -> str:
    return f"{EACH * pairs} draws of a function of slope +-L that turns one to five times, two points of the line, and alpha"


def chord(pairs: int) -> Measured:
    """F8 Corollary 1."""
    return Measured([1 - share for share in _chords(pairs)], _on_chords(pairs))


def corrected_chord(pairs: int) -> Measured:
    """F8 corrected."""
    return Measured([2 - share for share in _chords(pairs)], _on_chords(pairs))


def default_ratio(pairs: int) -> Measured:
    """F8 default."""
    values = [
        theory.largest_merge_ratio(loss_lipschitz=log_uniform(draw, 0.01, 2), loss_bound=log_uniform(draw, 0.1, 10))
        - DEFAULT_RATIO
        for draw in drawn("F8 default", EACH * pairs)
    ]
    return Measured(values, f"{EACH * pairs} draws of L_l in [.01, 2] and B in [.1, 10]")


def told_by_an_image(pairs: int) -> Measured:
    """F9: one of two datasets, even odds; a network trained on it, sure or not; an image whose sign is the network's, or flipped."""
    found: list[tuple[float, bool]] = []
    for draw in drawn("F9", EACH * pairs):
        classes, flipped = int(draw.integers(2, 10)), draw.uniform(0, 0.25)
        logits = torch.from_numpy(draw.normal(size=(20, classes)) * log_uniform(draw, 0.1, 1000))
        bound = theory.printed_information_bound(logits, images=1)
        table = torch.tensor([[1 - flipped, flipped], [flipped, 1 - flipped]], dtype=torch.float64) / 2
        found.append((bound - theory.table_information(table).mutual, bound >= math.log(2)))
    return split(
        found,
        f"{EACH * pairs} draws of the logits of 20 images in 2 to 9 classes, from unsure to sure, one image of up to 25% noise",
    )


def _read(sentences: list[printed_sentences.Sentence]) -> Measured:
    return Measured(
        [float(sentence.holds) for sentence in sentences],
        f"{len(sentences)} sentences, read against the paper's own numbers",
    )


EFFECTS: dict[str, Callable[[int], Measured]] = {
    "F4 odd k": cost_ratio,
    "F4 times": cost_in_seconds,
    "F7 bound": loss_bound,
    "F7 Lipschitz": loss_slope,
    "F7 corrected": corrected_loss_slope,
    "F8 Lemma 3": risk_gap,
    "F8 Corollary 1": chord,
    "F8 corrected": corrected_chord,
    "F8 default": default_ratio,
    "F9": told_by_an_image,
    "R16": lambda _pairs: _read(printed_sentences.rela()),
    "F11": lambda _pairs: _read(printed_sentences.fadrm()),
    "B9": lambda _pairs: _read(printed_sentences.boost()),
}
"""Claim -> its effects; the argument is the number of pairs, of which closed forms draw twenty times as many."""
