"""Lesson 30: its exercises, the right answers and the usual mistakes."""

from typing import Any

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


COST = Exercise(
    ask="Write a function of (k, small, full) that returns one number.",
    arguments=("k", "small", "full"),
    # Odd and even k; with small = full nothing is saved.
    cases=lambda: [(3, 32, 64), (1, 160, 224), (2, 32, 64), (4, 48, 64), (0, 32, 64), (3, 64, 64)],
    expected=lambda k, small, full: (
        ((k // 2 + 1) * (small / full) ** 2 + k + 1 - (k // 2 + 1)) / (k + 1)
    ),
    mistakes={
        "This is the paper's equation 8, which counts half of the stages as small. With an even k there "
        "is one more small stage than full ones.": lambda k, small, full: (
            (1 + (small / full) ** 2) / 2
        ),
        "An image has two sides: half the side is a quarter of the pixels.": lambda k, small, full: (
            ((k // 2 + 1) * small / full + k + 1 - (k // 2 + 1)) / (k + 1)
        ),
        "The first stage is a small one, so there is never one full stage more.": (
            lambda k, small, full: (
                ((k + 1) // 2 * (small / full) ** 2 + k + 1 - (k + 1) // 2) / (k + 1)
            )
        ),
        "That is the part that is saved.": lambda k, small, full: (
            (k // 2 + 1) * (1 - (small / full) ** 2) / (k + 1)
        ),
    },
    look="Write the stages down for k = 2 and k = 3, and mark the small ones.",
    success=(
        "For odd k this is equation 8. For even k the run ends with a small stage, and costs less than the "
        "paper says."
    ),
)

CHECKS: dict[str, Any] = {"survival": SURVIVAL, "cost": COST}
