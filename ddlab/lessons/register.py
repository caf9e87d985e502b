"""The register: what each source claims, and which effect of which size would show it, declared before any run.

The declarations stand by lesson: `declared_recovery` (00 and 20), `declared_ideal_data` (10), `declared_diversity` (21),
`declared_residuals` (30), `declared_bases` (40) and `declared_theory` (90).
"""

from __future__ import annotations

from . import (
    declared_bases,
    declared_diversity,
    declared_ideal_data,
    declared_recovery,
    declared_residuals,
    declared_theory,
)
from .declaration import Claim, Kind

__all__ = ["CLAIMS", "Claim", "Kind"]

CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for module in (
        declared_recovery,
        declared_ideal_data,
        declared_diversity,
        declared_residuals,
        declared_bases,
        declared_theory,
    )
    for claim in module.DECLARED
}
