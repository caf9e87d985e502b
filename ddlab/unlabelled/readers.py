r"""Readers: two simple ways to tell classes from features, both scikit-learn's.

| reader of n features $f$ with labels $y$, of strength $s$ |
|---|
| "linear": $\min \frac1n \sum_i -\log \mathrm{softmax}(W f_i + b)_{y_i} + \frac{s}{2} \lVert W \rVert^2$ |
| "ridge": $\min \frac1n \sum_i \lVert W f_i + b - t_{y_i} \rVert^2 + s \lVert W \rVert^2$ |

The first is logistic regression, of which scikit-learn's C is 1 / (n s); the second least squares,
with alpha n s and t of 1 at the class and -1 elsewhere. Both read features with mean 0 and variance
1 over the rows they learn from. All is computed in float64. KRR-ST (Lee et al. 2024, arXiv
2310.06511) and its followers train the linear reader by SGD with momentum, ReLA (Sun et al. 2024,
arXiv 2405.14669, table 10) by Adam for 100 epochs: a full batch has no learning rate to choose, and
its least is reached.
"""

import warnings
from typing import Annotated, Any

import torch
from torch import Tensor

from ..core import among, checked, errors, tensor, within

KINDS = ("linear", "ridge")
# between which float64 solves well
LEAST_STRENGTH = 1e-12
MOST_STRENGTH = 1e12
# Of L-BFGS; a regression that needs more is refused, as its weights have not settled.
_ITERATIONS = 5000


def filled(argument: str, value: Tensor) -> Tensor:
    """Require a tensor with at least one entry."""
    if value.numel() == 0:
        errors.fail(argument, "a tensor without an axis of length 0", value)
    return value


def class_numbers(argument: str, value: Tensor) -> Tensor:
    """Require labels of at least 0."""
    if int(value.min()) < 0:
        errors.fail(argument, "class labels of at least 0", int(value.min()))
    return value


@checked
def predictions(
    kind: Annotated[str, among(*KINDS)],
    features: Annotated[Tensor, tensor("n d"), filled],
    labels: Annotated[Tensor, tensor("n", torch.int64), class_numbers],
    queries: Annotated[Tensor, tensor("m d")],
    strength: Annotated[float, within(LEAST_STRENGTH, MOST_STRENGTH)],
) -> Tensor:
    """Return the labels, int64 [m], that a trained reader gives to test features [m, d].

    It learns from features [n, d] and labels [n].

    Args:
        strength: of the penalty, which does not grow with n.

    Raises:
        DDLabError: one class alone, features that are not finite, or a strength too small to
            converge.
    """
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    if len(labels.unique()) < 2:
        errors.fail("labels", "of at least two classes", labels.unique().tolist())
    if not len(queries):
        return torch.zeros(0, dtype=torch.int64)
    learning = features.detach().double().numpy()
    reading = queries.detach().double().numpy()
    try:
        # One thread: for products this small a second one waits in a loop, on a busy machine for
        # thirty times the work.
        with warnings.catch_warnings(), threadpool_limits(1, "blas"):
            warnings.simplefilter("error", ConvergenceWarning)
            model = _reader(kind, strength * len(labels)).fit(learning, labels.numpy())
    except ConvergenceWarning:
        errors.fail(
            "strength", f"large enough for the regression to end in {_ITERATIONS} steps", strength
        )
    return torch.from_numpy(model.predict(reading))


def _reader(kind: str, penalty: float) -> Any:
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    solve = LogisticRegression(C=1 / penalty, tol=1e-6, max_iter=_ITERATIONS)
    return make_pipeline(
        StandardScaler(), solve if kind == "linear" else RidgeClassifier(penalty, solver="svd")
    )
