"""The register: what each source claims, and which effect of which size would show it, declared before any run.

The declarations stand in the lessons' folders, those of lessons 00 and 20 in `inverting_a_network`.
"""

from __future__ import annotations

from .bases_and_views import declared as declared_bases
from .claims_on_trial import declared as declared_theory
from .data_residuals import declared as declared_residuals
from .declaration import Claim, Kind
from .diversity import declared as declared_diversity
from .ideal_data import declared as declared_ideal_data
from .inverting_a_network import declared as declared_recovery

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
