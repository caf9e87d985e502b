"""A world that can be seen through: two Gaussian classes, and small networks on distilled samples and targets.

gaussian_mixture      ReLA Definition 4 and appendix G: two Gaussians, their exact posterior and risk
toy_network, toy_descent, toy_config, toy_experiment
                      ReLA section 3.2, Figures 1 and 2: small networks on distilled samples and targets, all settings and seeds at once
loss_landscape        Li et al. 2018: planes through the weights of these networks, trajectories in them, the loss over them
"""

from .gaussian_mixture import (
    DecisionBoundary,
    GaussianMixture,
    PredictiveRisk,
    bimodal_mixture,
    decision_boundary,
    mixture_sample,
    posterior,
    predictive_risk,
    spread_points,
)
from .loss_landscape import Projection, project, toy_directions, toy_surface, trajectory_directions
from .toy_config import ToyConfig
from .toy_experiment import (
    DistilledSamples,
    ToyRuns,
    ToyValidation,
    distilled_samples,
    toy_validation,
    train_toys,
    validate_toys,
)
from .toy_network import ToyNetworks, initial_toys, toy_outputs

__all__ = [
    "DecisionBoundary",
    "DistilledSamples",
    "GaussianMixture",
    "PredictiveRisk",
    "Projection",
    "ToyConfig",
    "ToyNetworks",
    "ToyRuns",
    "ToyValidation",
    "bimodal_mixture",
    "decision_boundary",
    "distilled_samples",
    "initial_toys",
    "mixture_sample",
    "posterior",
    "predictive_risk",
    "project",
    "spread_points",
    "toy_directions",
    "toy_outputs",
    "toy_surface",
    "toy_validation",
    "train_toys",
    "trajectory_directions",
    "validate_toys",
]
