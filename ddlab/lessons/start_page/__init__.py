"""Lesson 00, dataset distillation in five minutes."""

from ..contents import Budget

NAME = "00_start"
BUDGET = Budget(
    folder=__name__,
    title="Dataset distillation in five minutes",
    finds="what fifty images teach, and how much of it is the labels",
    wall_seconds=90,
    cpu_seconds=180,
    megabytes=1200,
    minutes=5,
)
