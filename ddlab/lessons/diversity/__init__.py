"""Lesson 21, diversity: DWA and what pulls the images of one class apart."""

from ..contents import Budget

NAME = "21_diversity"
BUDGET = Budget(
    folder=__name__,
    title="Diversity",
    finds="what pulls images of one class apart: two gaps that do not meet, and a push to the weights on trial (DWA)",
    wall_seconds=90,
    cpu_seconds=180,
    megabytes=1200,
    minutes=40,
)
