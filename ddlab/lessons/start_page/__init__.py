"""Lesson 00, the start page: labels or images?"""

from ..contents import Budget

NAME = "00_start"
BUDGET = Budget(
    folder=__name__,
    title="What does the work, the images or the labels?",
    finds="what fifty images teach, and how much of it is the labels",
    wall_seconds=90,
    cpu_seconds=180,
    megabytes=1200,
    minutes=15,
)
