"""Lesson 50, kernels: images and labels learned through a regression with a closed form (KIP and label solve)."""

from ..contents import Budget

NAME = "50_kernels"
BUDGET = Budget(
    folder=__name__,
    title="Kernels: images that learn while you watch",
    finds="what a regression with a closed form learns in a second: ten images (KIP), or a hundred labels (LS)",
    wall_seconds=60,
    cpu_seconds=120,
    megabytes=1100,
    minutes=30,
)
