"""Theory: what the papers' proofs say, as functions that can be checked and played with. Nothing here knows a method.

batch_norm_conflict   DWA appendix A.1 and eq 4, 17-20: do the mean gap and the variance gap pull latents apart?
variance_sources      DWA eq 5, 7 and 11: where the variance of distilled images comes from
rest_loss             DWA eq 13-15: what raising the loss of a batch does to the rest of the training set
convergence           ReLA appendices A and B: how fast one parameter learns two Gaussian classes by SGD
relabelling_noise     ReLA appendix B: the noise of its gradient when targets are relabelled
information           ReLA appendix C: what samples tell about targets in two Gaussian classes, exactly
sample_information    the same of tables and samples; ReLA Theorems 3 and 5
transport             ReLA Proposition 2: are two networks' representations linear transports of each other?
augmentation_overlap  ReLA appendix O: how much two classes overlap when augmentation spreads them
generalisation        ReLA Theorem 4 and appendix E: every term of its bound on the toy, as printed and as proved
total_variation       the distance in that bound, between two mixtures
batch_pca             ReLA appendix N: principal components of what arrives batch by batch
augmentation_bias     Boost section 3.1: what random views in the inner loop do to the outer gradient, every draw counted out
counted_ridge         the ridge regression in it, with rows that count several times
self_supervised_gradients
                      ReLA appendix I: gradients of objectives without labels, as printed and right, and what their unified view lets go
residual_bounds       FADRM appendix A: the bounds behind its residual connection, and where its condition can hold
multi_resolution_cost FADRM eq 7 and 8: what Algorithm 1 costs
gaussian_mixture      ReLA Definition 4 and appendix G: two Gaussians, their exact posterior and risk
toy_network, toy_descent, toy_config, toy_experiment
                      ReLA section 3.2, Figures 1 and 2: small networks on distilled samples and targets, all settings and seeds at once
loss_landscape, loss_surface
                      Li et al. 2018: planes through the weights of a network, trajectories in them, the loss over them
"""

from .augmentation_bias import (
    RandomViewGradients,
    ViewObjective,
    ViewProblem,
    frozen_features,
    objective_gradient,
    random_view_gradients,
)
from .augmentation_overlap import class_overlap, crop_views, gaussian_overlap, printed_gaussian_overlap
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
from .batch_pca import PrincipalComponents, batch_pca
from .convergence import (
    SimulatedErrors,
    excess_error,
    expected_squared_error,
    noise_floor,
    printed_squared_error,
    relabelling_bound,
    simulated_errors,
)
from .counted_ridge import drawn_view_counts, fitted_losses, view_counts
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
from .generalisation import (
    GeneralisationBound,
    confidence_term,
    generalisation_bound,
    half_plane_outputs,
    threshold_complexity,
)
from .information import (
    MixtureInformation,
    RelabelledInformation,
    mixture_information,
    printed_normalised_information,
    relabelled_information,
    soft_relabelled_information,
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
from .multi_resolution_cost import (
    ResolutionStage,
    full_resolution_cost,
    printed_resolution_cost_ratio,
    resolution_cost_ratio,
    resolution_stages,
)
from .relabelling_noise import gradient_noise, least_noise_relabelling, mean_absolute_noise
from .residual_bounds import (
    LipschitzConstants,
    combination_bound,
    complexity_bound,
    condition_threshold,
    largest_merge_ratio,
    lipschitz_constants,
    printed_combination_bound,
    printed_complexity_bound,
    printed_condition_threshold,
    printed_information_bound,
    printed_kl_bound,
    printed_largest_merge_ratio,
    rademacher_complexity,
    risk_gap_bound,
    temperature_scaled_kl,
    temperature_scaled_kl_gradient,
    tight_kl_bound,
)
from .rest_loss import RestLossChange, at_optimum, rest_loss_change
from .sample_information import (
    TableInformation,
    histogram_information,
    nearest_neighbour_information,
    table_information,
)
from .self_supervised_gradients import (
    barlow_twins_gradient,
    contrastive_gradient,
    decorrelation_gradient,
    direct_gradient,
    direct_predictor,
    printed_direct_gradient,
    relative_size,
    simclr_gradient_terms,
    through_length,
    through_standardisation,
    vicreg_gradient_terms,
)
from .total_variation import total_variation
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
from .transport import LinearTransport, layer_representations, linear_transport, transport_by_layer
from .variance_sources import VarianceParts, added_variance, variance_between_and_within

__all__ = [
    "DecisionBoundary",
    "DistilledSamples",
    "GaussianMixture",
    "GeneralisationBound",
    "LinearTransport",
    "LipschitzConstants",
    "MixtureInformation",
    "PredictiveRisk",
    "PrincipalComponents",
    "Projection",
    "RandomViewGradients",
    "RelabelledInformation",
    "ResolutionStage",
    "RestLossChange",
    "SimulatedErrors",
    "Surface",
    "TableInformation",
    "ToyConfig",
    "ToyNetworks",
    "ToyRuns",
    "ToyValidation",
    "VarianceParts",
    "ViewObjective",
    "ViewProblem",
    "added_variance",
    "at_optimum",
    "barlow_twins_gradient",
    "batch_pca",
    "batch_product",
    "bayes_error_fraction",
    "bimodal_mixture",
    "class_overlap",
    "closed_gaps",
    "combination_bound",
    "complexity_bound",
    "condition_threshold",
    "confidence_term",
    "contrastive_gradient",
    "crop_views",
    "decision_boundary",
    "decorrelation_gradient",
    "direct_gradient",
    "direct_predictor",
    "distilled_samples",
    "distilled_targets",
    "drawn_view_counts",
    "excess_error",
    "expected_descent",
    "expected_squared_error",
    "filter_directions",
    "fitted_losses",
    "frozen_features",
    "full_resolution_cost",
    "gaussian_overlap",
    "generalisation_bound",
    "gradient_noise",
    "half_plane_outputs",
    "histogram_information",
    "initial_toys",
    "largest_merge_ratio",
    "layer_representations",
    "least_noise_relabelling",
    "linear_transport",
    "lipschitz_constants",
    "mean_absolute_noise",
    "mean_gap",
    "mean_gap_gradient",
    "mixture_information",
    "mixture_sample",
    "moving",
    "nearest_neighbour_information",
    "network_at",
    "network_surface",
    "noise_floor",
    "objective_gradient",
    "opposed",
    "parameter_row",
    "plane_rows",
    "posterior",
    "predictive_risk",
    "printed_combination_bound",
    "printed_complexity_bound",
    "printed_condition_threshold",
    "printed_direct_gradient",
    "printed_gaussian_overlap",
    "printed_information_bound",
    "printed_kl_bound",
    "printed_largest_merge_ratio",
    "printed_normalised_information",
    "printed_resolution_cost_ratio",
    "printed_squared_error",
    "printed_variance_gap_gradient",
    "project",
    "rademacher_complexity",
    "random_view_gradients",
    "recorded_steps",
    "relabelled_information",
    "relabelling_bound",
    "relative_size",
    "resolution_cost_ratio",
    "resolution_stages",
    "rest_loss_change",
    "risk_gap_bound",
    "simclr_gradient_terms",
    "simulated_errors",
    "single_products",
    "soft_relabelled_information",
    "spread_points",
    "stochastic_descent",
    "table_information",
    "temperature_scaled_kl",
    "temperature_scaled_kl_gradient",
    "threshold_complexity",
    "through_length",
    "through_standardisation",
    "tight_kl_bound",
    "total_variation",
    "toy_directions",
    "toy_outputs",
    "toy_surface",
    "toy_validation",
    "train_toys",
    "trajectory_directions",
    "transport_by_layer",
    "validate_toys",
    "variance_between_and_within",
    "variance_gap",
    "variance_gap_gradient",
    "vicreg_gradient_terms",
    "view_counts",
]
