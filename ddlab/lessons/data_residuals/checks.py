"""Lesson 30: its exercises, the right answers and the usual mistakes."""

import math
from typing import Any

from torch import Tensor

from ..answers import Exercise

SURVIVAL = Exercise(
    arguments=("alpha", "k", "stage"),
    # (alpha, merges, stage); with alpha = 0 only the last stage is left.
    cases=lambda: [
        (0.5, 3, 1),
        (0.5, 3, 2),
        (0.5, 3, 4),
        (0.9, 3, 1),
        (0.9, 3, 3),
        (0.2, 1, 1),
        (0.2, 1, 2),
        (0.0, 2, 1),
        (0.0, 2, 3),
    ],
    expected=lambda alpha, k, stage: alpha ** (k + 1 - stage),
    mistakes={
        "One merge too few: the merge right after a stage already shortens its change.": (
            lambda alpha, k, stage: alpha ** max(k - stage, 0)
        ),
        "These are the merges before the stage. Its change is shortened by those that come after.": (
            lambda alpha, k, stage: alpha ** (stage - 1)
        ),
        "Your power grows with the stage. Which stage is followed by more merges?": (
            lambda alpha, k, stage: alpha**stage
        ),
        "All stages get the same share here. The last stage is followed by no merge at all.": (
            lambda alpha, k, stage: alpha**k
        ),
        "That is the share of the patch. A merge keeps alpha of the images that it meets.": (
            lambda alpha, k, stage: (1 - alpha) ** (k + 1 - stage)
        ),
        "One merge after another multiplies; you added them up.": (
            lambda alpha, k, stage: alpha * (k + 1 - stage)
        ),
    },
    look="Count the merges that come after this stage.",
    success=(
        "Every merge shortens all that came before it: with alpha = .5 the first of four stages "
        "keeps an eighth."
    ),
)


def _stage_counts(ratios: Tensor, k: int) -> str:
    """Return which stage counts otherwise than it should with these merge ratios."""
    for stage in range(1, k + 2):
        count = math.prod(ratios.reshape(-1)[stage - 1 :].tolist())
        if abs(count - stage / (k + 1)) > 1e-4:
            break
    return (
        f"Stage {stage} should count {stage / (k + 1):.3f}; with your schedule it counts "
        f"{count:.3f}. Begin at the end: the last merge alone decides what stage k counts."
    )


SCHEDULE = Exercise(
    ask="Write a function of k that returns k numbers, one for each merge.",
    arguments=("k",),
    cases=lambda: [(merges,) for merges in (1, 2, 3, 6)],
    expected=lambda k: [merge / (merge + 1) for merge in range(1, k + 1)],
    mistakes={
        "These are the counts that the stages should have. A stage counts the product of the "
        "ratios of all merges after it.": lambda k: [stage / (k + 1) for stage in range(1, k + 1)],
        "Your schedule is the wrong way round: the first merge comes first.": (
            lambda k: [merge / (merge + 1) for merge in range(k, 0, -1)]
        ),
        "There are k + 1 stages, but only k merges between them.": (
            lambda k: [stage / (stage + 1) for stage in range(1, k + 2)]
        ),
        "Your merges begin one too late: the first one has the ratio 1/2.": (
            lambda k: [merge / (merge + 1) for merge in range(2, k + 2)]
        ),
        "These ratios are what a merge takes from the patch. A schedule says what it keeps.": (
            lambda k: [1 / (merge + 1) for merge in range(1, k + 1)]
        ),
    },
    look=_stage_counts,
    success=(
        "The image is then the patch and a running mean of the stages' changes: what came first "
        "is not lost in a hurry."
    ),
)

CHECKS: dict[str, Any] = {"survival": SURVIVAL, "schedule": SCHEDULE}
