"""Lesson 45, representations: any network's answers as targets that speed up learning without labels (ReLA)."""

from ..contents import Budget

NAME = "45_representations"
BUDGET = Budget(
    folder=__name__,
    title="Representations: a network's answers as targets",
    finds="whom the answers of an untrained network help, and which controls say why (ReLA)",
    wall_seconds=75,
    cpu_seconds=120,
    megabytes=1200,
    minutes=35,
)
