"""Theory: what the papers' proofs say, as functions that can be checked and played with. Nothing here knows a method.

batch_norm_conflict   DWA appendix A.1 and eq 4, 17-20: do the mean gap and the variance gap pull latents apart?
variance_sources      DWA eq 5, 7 and 11: where the variance of distilled images comes from
rest_loss             DWA eq 13-15: what raising the loss of a batch does to the rest of the training set
gaussian_mixture      ReLA Definition 4 and appendix G: two Gaussians, their exact posterior and risk
toy_network, toy_descent, toy_config, toy_experiment
                      ReLA section 3.2, Figures 1 and 2: small networks on distilled samples and targets, all settings and seeds at once
loss_landscape, loss_surface
                      Li et al. 2018: planes through the weights of a network, trajectories in them, the loss over them
"""

from .batch_norm_conflict import (
    batch_product,
    closed_gaps,
    mean_gap,
    mean_gap_gradient,
    moving,
    opposed,
    printed_variance_gap_gradient,
    single_products,
    variance_gap,
    variance_gap_gradient,
)
from .gaussian_mixture import (
    DecisionBoundary,
    GaussianMixture,
    PredictiveRisk,
    bayes_error_fraction,
    bimodal_mixture,
    decision_boundary,
    mixture_sample,
    posterior,
    predictive_risk,
    spread_points,
)
from .loss_landscape import (
    Projection,
    filter_directions,
    network_at,
    parameter_row,
    plane_rows,
    project,
    toy_directions,
    trajectory_directions,
)
from .loss_surface import Surface, network_surface, toy_surface
from .rest_loss import RestLossChange, at_optimum, rest_loss_change
from .toy_config import ToyConfig
from .toy_descent import expected_descent, recorded_steps, stochastic_descent
from .toy_experiment import (
    DistilledSamples,
    ToyRuns,
    ToyValidation,
    distilled_samples,
    distilled_targets,
    toy_validation,
    train_toys,
    validate_toys,
)
from .toy_network import ToyNetworks, initial_toys, toy_outputs
from .variance_sources import VarianceParts, added_variance, variance_between_and_within

__all__ = [
    "DecisionBoundary",
    "DistilledSamples",
    "GaussianMixture",
    "PredictiveRisk",
    "Projection",
    "RestLossChange",
    "Surface",
    "ToyConfig",
    "ToyNetworks",
    "ToyRuns",
    "ToyValidation",
    "VarianceParts",
    "added_variance",
    "at_optimum",
    "batch_product",
    "bayes_error_fraction",
    "bimodal_mixture",
    "closed_gaps",
    "decision_boundary",
    "distilled_samples",
    "distilled_targets",
    "expected_descent",
    "filter_directions",
    "initial_toys",
    "mean_gap",
    "mean_gap_gradient",
    "mixture_sample",
    "moving",
    "network_at",
    "network_surface",
    "opposed",
    "parameter_row",
    "plane_rows",
    "posterior",
    "predictive_risk",
    "printed_variance_gap_gradient",
    "project",
    "recorded_steps",
    "rest_loss_change",
    "single_products",
    "spread_points",
    "stochastic_descent",
    "toy_directions",
    "toy_outputs",
    "toy_surface",
    "toy_validation",
    "train_toys",
    "trajectory_directions",
    "validate_toys",
    "variance_between_and_within",
    "variance_gap",
    "variance_gap_gradient",
]
