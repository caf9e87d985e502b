"""Lesson 90: the effects behind its claims about ReLA's generalisation bound and about normalised information."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from ... import theory
from ..shared.effects import EACH, Measured, drawn, log_uniform, split

LAB = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # S of the toy's distilled samples
FAILURE = 0.05


def _bound(spread: float, samples: int, seed: int, model: str) -> theory.GeneralisationBound:
    distilled, data = (theory.bimodal_mixture(deviation=deviation) for deviation in (spread, 0.5))
    return theory.generalisation_bound(distilled, data, samples, seed=seed, model=model, failure=FAILURE)


def proved_generalisation(pairs: int) -> Measured:
    """R13 proved."""
    values: list[float] = []
    for seed, draw in enumerate(drawn("R13 proved", EACH * pairs)):
        terms = _bound(float(draw.choice(LAB)), int(log_uniform(draw, 10, 1000)), seed, "worst")
        values.append(terms.proved - terms.target_error)
    return Measured(values, f"{EACH * pairs} draws of S of the lab and of 10 to 1000 samples, in 2-D")


def printed_generalisation(pairs: int) -> Measured:
    """R13 printed."""
    values: list[float] = []
    for seed, draw in enumerate(drawn("R13 printed", EACH * pairs)):
        terms = _bound(0.5, int(log_uniform(draw, 10, 1000)), seed, "worst")
        values.append(float(terms.target_error <= terms.printed))
    return Measured(values, f"{EACH * pairs} draws of 10 to 1000 samples with S = .5, in 2-D")


def useful_generalisation(pairs: int) -> Measured:
    """R13 useful."""
    found = [
        (0.5 - _bound(spread, 1000, seed, "fitted").proved, spread == 0.5)
        for seed in range(max(pairs, 2))
        for spread in LAB
    ]
    return split(found, f"S = {', '.join(f'{spread:g}' for spread in LAB)}, {max(pairs, 2)} draws each, in 2-D")


def _labels(draw: np.random.Generator, odds: np.ndarray, labels: np.ndarray) -> theory.TableInformation:
    """Information of samples of these odds and of their labels."""
    table = np.zeros((len(odds), len(odds)))
    table[np.arange(len(odds)), labels] = odds
    return theory.table_information(torch.from_numpy(table))


def labelers(pairs: int) -> Measured:
    """R15 Theorem 3."""
    values: list[float] = []
    for draw in drawn("R15 Theorem 3", EACH * pairs):
        count = int(draw.integers(2, 12))
        odds = draw.dirichlet(np.ones(count))
        any_one = _labels(draw, odds, draw.integers(0, count, count)).normalised
        one_to_one = _labels(draw, odds, draw.permutation(count)).normalised
        values.append(min(1 - any_one, -abs(1 - one_to_one)))
    return Measured(
        values, f"{EACH * pairs} draws of 2 to 11 samples with drawn odds, a labeler and a one-to-one labeler"
    )


def _reductions(pairs: int) -> list[tuple[theory.TableInformation, theory.TableInformation, bool]]:
    """Before and after merging targets at random; in every second table the target is a function of the sample."""
    found: list[tuple[theory.TableInformation, theory.TableInformation, bool]] = []
    for number, draw in enumerate(drawn("R15 reduction", EACH * pairs)):
        samples, targets = draw.integers(2, 7, 2)
        table = draw.dirichlet(np.full(samples * targets, 0.5)).reshape(samples, targets)
        if number % 2:
            labels = draw.integers(0, targets, samples)
            table = np.where(np.arange(targets) == labels[:, None], table.sum(1, keepdims=True), 0.0)
        merged = np.zeros_like(table)
        np.add.at(merged.T, draw.integers(0, targets, targets), table.T)
        before, after = (theory.table_information(torch.from_numpy(each)) for each in (table, merged))
        found.append((before, after, bool(number % 2)))
    return found


def reduced_information(pairs: int) -> Measured:
    """R15 reduction."""
    values = [before.mutual - after.mutual for before, after, _ in _reductions(pairs)]
    return Measured(values, f"{EACH * pairs} drawn tables of 2 to 6 samples and targets, targets merged at random")


def reduced_normalised_information(pairs: int) -> Measured:
    """R15 normalised."""
    found = [(before.normalised - after.normalised, met) for before, after, met in _reductions(pairs)]
    return split(found, f"{EACH * pairs} drawn tables of 2 to 6 samples and targets, targets merged at random")


def relabelled_growth(pairs: int) -> Measured:
    """R17. Its right form: with a hard teacher the share is constant between 0 and 1, but for 1/2, and jumps at 0, 1/2 and 1."""
    found: list[tuple[float, bool]] = []
    for number, draw in enumerate(drawn("R17", EACH * pairs)):
        low, high = sorted(draw.uniform(0, 1, 2))
        low, high = ((0.0, high), (low, 1.0), (low, high), (low, high))[number % 4]
        spread, dimensions = draw.uniform(0.3, 1), int(draw.integers(1, 3))
        shares = [
            theory.relabelled_information(spread=spread, relabelled=float(rho), dimensions=dimensions).share
            for rho in (low, high)
        ]
        found.append(((shares[1] - shares[0]) / (high - low), number % 4 < 2))
    return split(found, f"{EACH * pairs} draws of two rho and of S in [.3, 1], in 1-D or 2-D")


EFFECTS: dict[str, Callable[[int], Measured]] = {
    "R13 proved": proved_generalisation,
    "R13 printed": printed_generalisation,
    "R13 useful": useful_generalisation,
    "R15 Theorem 3": labelers,
    "R15 reduction": reduced_information,
    "R15 normalised": reduced_normalised_information,
    "R17": relabelled_growth,
}
"""Claim -> its effects; the argument is the number of pairs."""
