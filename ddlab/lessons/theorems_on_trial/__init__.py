"""Lesson 90, theorems on trial: what five printed statements say, at every setting of their sliders."""

from ..contents import Budget

NAME = "90_theorems_on_trial"
BUDGET = Budget(
    folder=__name__,
    title="Theorems on trial",
    finds="which printed theorems hold, hold under a condition, or fail, and what is right instead",
    wall_seconds=60,
    cpu_seconds=180,
    megabytes=1000,
    minutes=35,
)
