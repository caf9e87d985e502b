"""Lesson 41, views: Boost, predefined views of every image, and what all of it takes of a storage budget."""

from ..contents import Budget

NAME = "41_views"
BUDGET = Budget(
    folder=__name__,
    title="Predefined views and the storage budget",
    finds="what few floats are best spent on: more images, or views of each that small networks describe (Boost)",
    wall_seconds=90,
    cpu_seconds=150,
    megabytes=1200,
    minutes=36,
)
