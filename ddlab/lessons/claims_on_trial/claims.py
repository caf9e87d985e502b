"""Lesson 90: the effects behind its claims about ReLA's proofs, one function each, and the verdicts of the whole lesson.

A pair is one draw of the statement's numbers, or of samples. An effect of at least 0 means that the statement is true of that draw,
unless its declaration has another size.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from ... import theory
from ..shared.effects import EACH, Measured, drawn, log_uniform, split
from . import declared, measured_information, measured_learned, measured_more

NAME, CLAIMS = declared.NAME, declared.DECLARED


def printed_error(pairs: int) -> Measured:
    """R3 printed."""
    found: list[tuple[float, bool]] = []
    for draw in drawn("R3 printed", EACH * pairs):
        rate, steps = log_uniform(draw, 1e-3, 0.5), int(log_uniform(draw, 1, 1000))
        problem = {"spread": draw.uniform(0.01, 1), "learning_rate": rate, "start": draw.uniform(-2, 2)}
        exact = float(theory.expected_squared_error(steps, **problem)[-1])
        printed = float(theory.printed_squared_error(steps, **problem)[-1])
        found.append(((printed - exact) / exact, (1 - rate) ** (2 * steps) >= 0.5))
    return split(found, f"{EACH * pairs} draws of eta, S, 1 to 1000 steps and the start")


def corrected_error(pairs: int) -> Measured:
    """R3 corrected."""
    values: list[float] = []
    for seed, draw in enumerate(drawn("R3 corrected", pairs)):
        steps = int(draw.integers(5, 150))
        problem = {"spread": draw.uniform(0.01, 1), "learning_rate": log_uniform(draw, 0.01, 0.5), "start": 1.0}
        runs = theory.simulated_errors(steps, **problem, runs=20_000, seed=seed)
        off = runs.squared[-1] - theory.expected_squared_error(steps, **problem)[-1]
        values.append(4 - abs(float(off / runs.squared_standard_error[-1])))
    return Measured(values, f"{pairs} draws of eta, S and 5 to 150 steps")


def settled_error(pairs: int) -> Measured:
    """R3 floor."""
    values: list[float] = []
    for seed, draw in enumerate(drawn("R3 floor", pairs)):
        spread, rate = draw.uniform(0.4, 1), log_uniform(draw, 0.05, 0.5)
        ends = [
            float(theory.simulated_errors(math.ceil(8 / rate), spread=s, learning_rate=rate, seed=seed).squared[-1])
            for s in (spread / 2, spread)
        ]
        values.append(1 - ends[0] / ends[1])
    return Measured(
        values, f"{pairs} draws of S in [.4, 1] and eta, after 8 / eta steps, 10,000 runs with the same noise"
    )


def printed_range(pairs: int) -> Measured:
    """R4 range."""
    found: list[tuple[float, bool]] = []
    for draw in drawn("R4 range", EACH * pairs):
        spread = 1 - draw.uniform(0, 1)
        value = theory.printed_normalised_information(spread=spread)
        found.append((min(value, 1 - value), spread >= 0.242))
    return split(found, f"{EACH * pairs} draws of S in (0, 1]")


def printed_limit(pairs: int) -> Measured:
    """R4 limit."""
    spreads = [log_uniform(draw, 1e-5, 1e-2) for draw in drawn("R4 limit", EACH * pairs)]
    values = [1 - abs(theory.printed_normalised_information(spread=spread) - 1) for spread in spreads]
    return Measured(values, f"{EACH * pairs} draws of S between 1e-5 and .01")


def exact_information(pairs: int) -> Measured:
    """R4 exact."""
    values: list[float] = []
    for number, draw in enumerate(drawn("R4 exact", EACH * pairs)):
        spread, dimensions = 1 - draw.uniform(0, 1), 1 + number % 2
        share, limit = (
            theory.mixture_information(spread=s, dimensions=dimensions).share for s in (spread, max(spread / 20, 1e-6))
        )
        values.append(min(share, 1 - share, limit - 0.9))
    return Measured(values, f"{EACH * pairs} draws of S in (0, 1], half of them in 1-D, half in 2-D")


def _strengths(draw: np.random.Generator) -> tuple[float, float]:
    low, high = sorted(log_uniform(draw, 1e-2, 1e2) for _ in range(2))
    return low, high


def overlap_growth(pairs: int) -> Measured:
    """R6 theorem."""
    values: list[float] = []
    for draw in drawn("R6 theorem", EACH * pairs):
        low, high = _strengths(draw)
        problem = {name: draw.uniform(0.1, 2) for name in ("gap", "spread", "other_spread", "noise_rate")}
        values.append(
            theory.gaussian_overlap(**problem, strength=high) - theory.gaussian_overlap(**problem, strength=low)
        )
    return Measured(values, f"{EACH * pairs} draws of gap, two spreads and two strengths")


def printed_overlap(pairs: int) -> Measured:
    """R6 formula."""
    values: list[float] = []
    for draw in drawn("R6 formula", EACH * pairs):
        problem = {name: draw.uniform(0.1, 2) for name in ("gap", "spread", "noise_rate", "strength")}
        values.append(1 - abs(theory.printed_gaussian_overlap(**problem) - theory.gaussian_overlap(**problem)))
    return Measured(values, f"{EACH * pairs} draws of gap, spread, strength and k in [.1, 2]")


def printed_overlap_growth(pairs: int) -> Measured:
    """R6 direction."""
    values: list[float] = []
    for draw in drawn("R6 direction", EACH * pairs):
        low, high = _strengths(draw)
        problem = {name: draw.uniform(0.1, 2) for name in ("gap", "spread", "noise_rate")}
        ends = [theory.printed_gaussian_overlap(**problem, strength=strength) for strength in (low, high)]
        values.append(ends[1] - ends[0])
    return Measured(values, f"{EACH * pairs} draws of gap, spread and two strengths")


def batch_components(pairs: int) -> Measured:
    """R8, against one singular value decomposition of all points."""
    values: list[float] = []
    for draw in drawn("R8", pairs):
        count, width = int(draw.integers(50, 500)), int(draw.integers(2, 12))
        points = draw.normal(size=(count, width)) @ draw.normal(size=(width, width)) + draw.normal(size=width)
        whole = torch.from_numpy(points)
        found = theory.batch_pca(whole.split(int(draw.integers(1, count))), components=width)
        _, sizes, directions = torch.linalg.svd(whole - whole.mean(0), full_matrices=False)
        reduced = (whole - whole.mean(0)) @ directions.T
        signs = (reduced * found.reduced(whole)).sum(0).sign()
        off = max(
            float((found.reduced(whole) * signs - reduced).abs().max() / reduced.abs().max()),
            float((found.variances - sizes.square() / (count - 1)).abs().max() / found.variances[0]),
        )
        values.append(min(-math.log10(max(off, 1e-16)), 16.0))
    return Measured(
        values, f"{pairs} draws of 50 to 500 points in 2 to 11 dimensions, cut into batches of a drawn size"
    )


EFFECTS: dict[str, Callable[[int], Measured]] = {
    "R3 printed": printed_error,
    "R3 corrected": corrected_error,
    "R3 floor": settled_error,
    "R4 range": printed_range,
    "R4 limit": printed_limit,
    "R4 exact": exact_information,
    "R6 theorem": overlap_growth,
    "R6 formula": printed_overlap,
    "R6 direction": printed_overlap_growth,
    "R8": batch_components,
    **measured_information.EFFECTS,
    **measured_learned.EFFECTS,
    **measured_more.EFFECTS,
}
"""Claim -> its effects; the argument is the number of pairs, of which closed forms draw twenty times as many."""


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson, in the order of their declaration."""
    return {claim.id: EFFECTS[claim.id](pairs) for claim in CLAIMS}
