"""Lesson 20, inverting a network."""

from ..contents import Budget

NAME = "20_inverting_a_network"
BUDGET = Budget(
    folder=__name__,
    title="Inverting a network",
    finds="what a teacher's batch-norm layers remember; what labels give and what images give (SRe2L)",
    wall_seconds=90,
    cpu_seconds=180,
    megabytes=1200,
    minutes=40,
)
