r"""Readers: four simple ways to tell classes from features, each as one function of (features, labels, others, setting).

| reader of features $f$ with labels $y$, n of them | setting |
|---|---|
| `logistic_predictions`: $\min \frac1n \sum_i -\log \mathrm{softmax}(W f_i + b)_{y_i} + \frac{s}{2} \lVert W \rVert^2$ | strength $s$ |
| `ridge_predictions`: $\min \frac1n \sum_i \lVert W f_i + b - e_{y_i} \rVert^2 + s \lVert W \rVert^2$, closed form | strength $s$ |
| `adam_predictions`: the first without $s$, by Adam on batches of 128 of the features as they are (ReLA, table 10) | epochs |
| `neighbour_predictions`: the commonest label among the $k$ rows with the largest cosine (Wu et al. 2018, arXiv 1805.01978) | $k$ |

Logistic regression and ridge standardise the features: each with mean 0 and variance 1 over the rows the reader learns from. All is
computed in float64.

KRR-ST (Lee et al. 2024, arXiv 2310.06511) and its followers train the linear reader by SGD with momentum, without decay: a full batch has
no learning rate to choose, and its least is reached. Wu et al. weigh the votes of neighbours by their cosine; here each counts one.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import errors, optimisers, randomness
from ..core.boundary import checked, filled, floats, integers, within

LEAST_STRENGTH, MOST_STRENGTH = 1e-12, 1e12  # between which float64 solves well
_ITERATIONS = 5000


def class_numbers(argument: str, value: Tensor) -> Tensor:
    """Of labels that are at least 0."""
    if int(value.min()) < 0:
        errors.fail(argument, "class numbers of at least 0", int(value.min()))
    return value


Features = Annotated[Tensor, floats("n d"), filled]
Labels = Annotated[Tensor, integers("n"), class_numbers]
Others = Annotated[Tensor, floats("m d", alike=False)]
Strength = Annotated[float, within(LEAST_STRENGTH, MOST_STRENGTH)]


@checked
def standardised_features(features: Features, others: Others) -> tuple[Tensor, Tensor]:
    """Features [n, d] with mean 0 and variance 1 in each column, and others [m, d] by the same shift and scale; float64.

    A column that is the same in all of `features` is 0 in both: nothing can be learned from it.
    """
    learning, reading = features.detach().double(), others.detach().double()
    largest = learning.abs().amax(0)
    unit = torch.where(largest > 0, largest, torch.ones_like(largest))  # before squares can overflow or vanish
    learning, reading = learning / unit, reading / unit
    mean = learning.mean(0)
    spread = (learning - mean).square().mean(0).sqrt()
    # A column that varies by less than its own numbers are rounded is constant.
    used = spread > torch.finfo(features.dtype).eps
    scale = torch.where(used, 1 / torch.where(used, spread, torch.ones_like(spread)), torch.zeros_like(spread))
    return (learning - mean) * scale, (reading - mean) * scale


@checked
def logistic_predictions(features: Features, labels: Labels, others: Others, strength: Strength) -> Tensor:
    """The labels, int64 [m], that logistic regression on features [n, d] and labels [n] gives to others [m, d].

    Full batch, by scikit-learn's L-BFGS, on standardised features; the intercept is not regularised.

    Args:
        strength: s in the module's table; it does not grow with n.

    Raises:
        DDLabError: one class alone, features that are not finite, or a strength out of range or too small to converge.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    if len(labels.unique()) < 2:
        errors.fail("labels", "of at least two classes", labels.unique().tolist())
    learning, reading = standardised_features(features, others)
    if not len(reading):
        return torch.zeros(0, dtype=torch.int64)
    model = LogisticRegression(C=1 / (strength * len(labels)), tol=1e-6, max_iter=_ITERATIONS)
    try:
        # One thread: for products this small a second one waits in a loop, on a busy machine for thirty times the work.
        with warnings.catch_warnings(), threadpool_limits(1, "blas"):
            warnings.simplefilter("error", ConvergenceWarning)
            model.fit(learning.numpy(), labels.numpy())
    except ConvergenceWarning:
        errors.fail("strength", f"large enough for the regression to end in {_ITERATIONS} steps", strength)
    return torch.from_numpy(model.predict(reading.numpy()))


@checked
def ridge_weights(
    features: Features, targets: Annotated[Tensor, floats("n c", alike=False)], strength: Strength
) -> Tensor:
    r"""$W$ [d, c] that minimises $\lVert F W - Y \rVert^2 / n + s \lVert W \rVert^2$ for features [n, d] and targets [n, c]; float64.

    By the singular values of F, $W = V \, \mathrm{diag}(\sigma / (\sigma^2 + n s)) \, U^\top Y$: no inverse is formed, and no $F^\top F$,
    whose condition is the square of F's.

    Raises:
        DDLabError: shapes that do not fit, values that are not finite, or a strength out of range.
    """
    left, sizes, right = torch.linalg.svd(features.detach().double(), full_matrices=False)
    shrunk = sizes / (sizes.square() + len(features) * strength)
    return right.T @ (shrunk[:, None] * (left.T @ targets.detach().double()))


@checked
def ridge_predictions(features: Features, labels: Labels, others: Others, strength: Strength) -> Tensor:
    """The labels, int64 [m], that ridge regression on one-hot labels gives to others [m, d]: the largest output.

    On standardised features; the intercept is the mean of the targets and not regularised. Args and errors as `logistic_predictions`.
    """
    learning, reading = standardised_features(features, others)
    names, numbers = labels.unique(return_inverse=True)
    targets = F.one_hot(numbers, len(names)).double()
    mean = targets.mean(0)
    return names[(reading @ ridge_weights(learning, targets - mean, strength) + mean).argmax(1)]


@checked
def adam_predictions(features: Features, labels: Labels, others: Others, epochs: Any) -> Tensor:
    """The labels, int64 [m], that a linear layer gives to others [m, d] after `epochs` of Adam on features [n, d] and labels [n].

    As ReLA trains it (Sun et al. 2024, arXiv 2405.14669, table 10): cross-entropy, learning rate 3e-4, batches of 128 in a new order each
    epoch, torch's first weights. Features are not standardised. Weights and orders are drawn once for all.
    """
    errors.check_integer("epochs", epochs, 1)
    names, numbers = labels.unique(return_inverse=True)
    learning, wanted = features.detach().double(), F.one_hot(numbers, len(names)).double()
    bound = learning.shape[1] ** -0.5
    drawn = torch.rand((len(names), learning.shape[1] + 1), generator=randomness.generator(0, 0, "linear layer"))
    first = (2 * drawn.double() - 1) * bound
    layer = {"weight": first[:, :-1], "bias": first[:, -1]}
    state = optimisers.adam_init(layer)
    for epoch in range(epochs):
        for rows in torch.randperm(len(labels), generator=randomness.generator(0, epoch, "linear layer")).split(128):
            inputs = learning[rows]
            away = (F.linear(inputs, **layer).softmax(1) - wanted[rows]) / len(rows)  # the slope of cross-entropy
            layer, state = optimisers.adam_update(
                layer, {"weight": away.T @ inputs, "bias": away.sum(0)}, state, learning_rate=3e-4
            )
    return names[F.linear(others.detach().double(), **layer).argmax(1)]


@checked
def neighbour_predictions(features: Features, labels: Labels, others: Others, neighbours: Any) -> Tensor:
    """The commonest label, int64 [m], among the `neighbours` rows of features [n, d] with the largest cosine to each of others [m, d].

    By scikit-learn; among labels that are equally common the smallest is taken. A row of zeros has the cosine 0 with every other.

    Raises:
        DDLabError: more neighbours than rows, or features that are not finite.
    """
    from sklearn.neighbors import KNeighborsClassifier

    count = checked_neighbours("neighbours", neighbours, len(labels))
    if not len(others):
        return torch.zeros(0, dtype=torch.int64)
    # Between rows of length 1 the nearest are those with the largest cosine: |a - b|^2 = 2 - 2 a.b.
    learning, reading = (_unit(rows.detach().double()).numpy() for rows in (features, others))
    model = KNeighborsClassifier(n_neighbors=count, algorithm="brute").fit(learning, labels.numpy())
    return torch.from_numpy(model.predict(reading))


def _unit(rows: Tensor) -> Tensor:
    largest = rows.abs().amax(1, keepdim=True)
    rows = rows / torch.where(largest > 0, largest, torch.ones_like(largest))  # before squares can overflow or vanish
    length = rows.norm(dim=1, keepdim=True)
    return rows / torch.where(length > 0, length, torch.ones_like(length))


def checked_neighbours(name: str, given: Any, most: int) -> int:
    """A number of neighbours between 1 and `most`, as int."""
    whole = int(given) if isinstance(given, float) and given.is_integer() else given
    return errors.check_integer(name, whole, 1, most)
