"""Lesson 30: the checks of its exercises."""

import math
from typing import Any

import torch

from ...methods import fadrm
from ..answers import NotYet, call_answer, numbers


def check_survival(answer: Any) -> str:
    """Check exercise 1: a function (alpha, k, stage) that gives what is left of a stage's change.

    The right numbers are found by merging.
    """
    for alpha, merges in ((0.5, 3), (0.9, 3), (0.2, 1), (0.0, 2)):
        for changed in range(1, merges + 2):
            image = torch.zeros(1, 1, 1, 1)
            for stage in range(1, merges + 2):
                image = image + float(stage == changed)
                if stage <= merges:
                    image = fadrm.merged_with_residual(image, torch.zeros(1, 1, 1, 1), alpha)
            (share,) = numbers(answer, (alpha, merges, changed), of="(alpha, k, stage)")
            if abs(share - float(image)) > 1e-6:
                statement = (
                    f"With alpha = {alpha:g} and k = {merges}, {float(image):.4g} of stage "
                    f"{changed}'s change is left"
                )
                raise NotYet(
                    f"{statement}; yours is {share:.4g}. Count the merges that come after a stage."
                )
    return (
        "Every merge shortens all that came before it: with alpha = .5 the first of four stages "
        "keeps an eighth."
    )


def check_schedule(answer: Any) -> str:
    """Check exercise 2: a function of k that gives k merge ratios with equal shares of the stages.

    Stage i of k + 1 must count i / (k + 1), found by merging numbers.
    """
    for merges in (1, 2, 3, 6):
        ratios = _ratios(call_answer(answer, merges, of="(k)"), merges)
        for stage in range(1, merges + 2):
            counts = math.prod(ratios[stage - 1 :])
            if abs(counts - stage / (merges + 1)) > 1e-6:
                correction = (
                    f"With k = {merges}, stage {stage} should count {stage / (merges + 1):.3f}; "
                    f"with yours it counts {counts:.3f}."
                )
                raise NotYet(
                    f"{correction} Begin at the end: the last merge alone decides what stage k counts."
                )
    return (
        "The image is then the patch and a running mean of the stages' changes: what came first "
        "is not lost in a hurry."
    )


def _ratios(answer: Any, merges: int) -> list[float]:
    """Read k merge ratios from a list, a tuple, an array or a tensor."""
    instruction = (
        f"Return a list of k numbers, one for each merge: with k = {merges} a list of {merges}."
    )
    if isinstance(answer, str):
        raise NotYet(instruction)
    try:
        ratios = [float(ratio) for ratio in answer]
    except (TypeError, ValueError):  # no sequence, or one of something else than numbers
        raise NotYet(instruction) from None
    if len(ratios) != merges:
        raise NotYet(instruction)
    return ratios


CHECKS = {"survival": check_survival, "schedule": check_schedule}
