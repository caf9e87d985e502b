"""Lesson 10, ideal data: the toy world of two Gaussian classes, and which samples and targets teach fastest."""

from ..contents import Budget

NAME = "10_ideal_data"
BUDGET = Budget(
    folder=__name__,
    title="Ideal data",
    finds="which samples and targets teach fastest in a world of two Gaussians, and what is noise, geometry or myth (ReLA)",
    wall_seconds=60,
    cpu_seconds=120,
    megabytes=1100,
    minutes=41,
    one_thread_seconds=120,
)
