"""Lesson 05, matching: learned images that beat real ones with class numbers alone (DM; DC and DSA)."""

from ..contents import Budget

NAME = "05_matching"
BUDGET = Budget(
    folder=__name__,
    title="Ten images that win",
    finds="how learned images beat real ones with nothing but class numbers (DM, DC)",
    wall_seconds=90,
    cpu_seconds=180,
    megabytes=1200,
    minutes=22,
)
