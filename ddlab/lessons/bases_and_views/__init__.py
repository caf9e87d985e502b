"""Lesson 40, bases and views: KRR-ST and Boost, sets that teach without labels."""

from ..contents import Budget

NAME = "40_bases_and_views"
BUDGET = Budget(
    folder=__name__,
    title="Bases and views",
    finds="what few floats are best spent on without labels: whole images, bases, or predefined views (KRR-ST, Boost)",
    wall_seconds=90,
    cpu_seconds=180,
    megabytes=1200,
    minutes=40,
)
