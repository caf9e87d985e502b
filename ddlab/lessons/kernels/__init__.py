"""Lesson 50, kernels: ten images learned by kernel regression (KIP), labels solved for at once (LS)."""

from ..contents import Budget

NAME = "50_kernels"
BUDGET = Budget(
    folder=__name__,
    title="Kernels",
    finds="how ten learned points do the work of hundreds, and how labels alone can do it (KIP, LS)",
    wall_seconds=60,
    cpu_seconds=120,
    megabytes=1000,
    minutes=30,
)
