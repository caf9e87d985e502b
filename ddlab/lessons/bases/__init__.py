"""Lesson 40, bases: KRR-ST, pairs that teach without labels, and images as sums of few bases."""

from ..contents import Budget

NAME = "40_bases"
BUDGET = Budget(
    folder=__name__,
    title="Images with vectors, and bases",
    finds="how a small set teaches without labels: targets that are learned, a last layer that is solved for, images as sums of bases",
    wall_seconds=90,
    cpu_seconds=150,
    megabytes=1200,
    minutes=40,
)
