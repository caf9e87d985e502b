"""Lesson 30, data residuals: FADRM and what mixing real images back in does."""

from ..contents import Budget

NAME = "30_data_residuals"
BUDGET = Budget(
    folder=__name__,
    title="Data residuals",
    finds="what vanishes from an image that is optimised for long, what mixing the real one back in restores (FADRM), and at what cost",
    wall_seconds=90,
    cpu_seconds=180,
    megabytes=1200,
    minutes=37,
)
