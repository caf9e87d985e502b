"""Lesson 50: the checks of its exercises."""

import torch
from torch import Tensor

from ...core import randomness
from ...methods import kip
from ...methods.shared.kernels import KernelSpec, kernel_matrix
from ..answers import Exercise


def _images(count: int, stream: str) -> Tensor:
    return torch.randn((count, 1, 3, 3), generator=randomness.generator(50, 0, stream))


def _kernels(points: int, real: int) -> tuple[Tensor, Tensor]:
    """Return K_ss [points, points] and K_ts [real, points] of small images."""
    support = _images(points, "support")
    spec = KernelSpec()
    return kernel_matrix(spec, support, support), kernel_matrix(
        spec, _images(real, "targets"), support
    )


def _labels(count: int) -> Tensor:
    return kip.centred_labels(torch.arange(count) % 3, 3)


def _regression_cases() -> list[tuple[Tensor, Tensor, Tensor, float]]:
    within, cross = _kernels(5, 7)
    return [(within, cross, _labels(5).to(within), ridge) for ridge in (0.05, 0.3)]


def _solve(within: Tensor, cross: Tensor, labels: Tensor, added: Tensor | float) -> Tensor:
    return cross @ torch.linalg.solve(within + added, labels)


REGRESSION = Exercise(
    arguments=("K_ss [n, n]", "K_ts [m, n]", "y_s [n, classes]", "ridge"),
    cases=_regression_cases,
    expected=lambda within, cross, labels, ridge: _solve(
        within, cross, labels, ridge * torch.eye(len(within))
    ),
    mistakes={
        "`K_ss + ridge` adds the ridge to every number. Only the diagonal gets it.": _solve,
        "That is the answer without a ridge.": (
            lambda within, cross, labels, ridge: _solve(within, cross, labels, 0.0)
        ),
        "Here the ridge is a number, and not yet a share of the mean diagonal of K_ss.": (
            lambda within, cross, labels, ridge: _solve(
                within, cross, labels, ridge * within.trace() / 5 * torch.eye(5)
            )
        ),
        "Nothing is solved: K_ts y_s weighs the labels by the kernel alone.": (
            lambda within, cross, labels, ridge: cross @ labels
        ),
        "These are the weights of the support images. The regression of the real images is K_ts "
        "times them.": (
            lambda within, cross, labels, ridge: torch.linalg.solve(
                within + ridge * torch.eye(len(within)), labels
            )
        ),
        "You multiply by K_ss + ridge, where its inverse is needed.": (
            lambda within, cross, labels, ridge: (
                cross @ (within + ridge * torch.eye(len(within))) @ labels
            )
        ),
    },
    look="Which matrix is inverted in equation 7, and what stands on each side of it?",
    success="One linear system, no loop: this is all the training there is.",
)


def _label_cases() -> list[tuple[Tensor, Tensor, Tensor]]:
    within, cross = _kernels(5, 40)
    return [(within, cross, _labels(40).to(within))]


def _regression_of_labels(
    learned: Tensor, within: Tensor, cross: Tensor, outputs: Tensor
) -> Tensor:
    """Return the regression of the real images with these labels, without a ridge."""
    return cross.double() @ torch.linalg.solve(within.double(), learned)


LABELS = Exercise(
    arguments=("K_ss [n, n]", "K_ts [m, n]", "y_t [m, classes]"),
    cases=_label_cases,
    shape=lambda within, cross, outputs: (len(within), outputs.shape[1]),
    measure=_regression_of_labels,
    expected=lambda within, cross, outputs: within @ torch.linalg.lstsq(cross, outputs).solution,
    mistakes={
        "These are the weights: the labels are what K_ss makes of them.": (
            lambda within, cross, outputs: torch.linalg.lstsq(cross, outputs).solution
        ),
        "You multiply the weights by the inverse of K_ss, where K_ss itself is needed.": (
            lambda within, cross, outputs: torch.linalg.solve(
                within, torch.linalg.lstsq(cross, outputs).solution
            )
        ),
        "Nothing is solved: these are sums of the real labels, weighed by the kernel.": (
            lambda within, cross, outputs: cross.T @ outputs
        ),
        "These are labels of real images. Those of the support images are to be solved for.": (
            lambda within, cross, outputs: outputs[: len(within)]
        ),
        "Zero labels predict zero everywhere.": (
            lambda within, cross, outputs: torch.zeros(len(within), outputs.shape[1])
        ),
    },
    look="The regression is K_ts W for weights W. Which W are best, and how do labels become weights?",
    tolerance=1e-3,
    success="No labels leave a smaller squared error on the real images. Nothing was iterated.",
)


CHECKS = {"regression": REGRESSION, "labels": LABELS}
