r"""Readers: three simple ways to tell classes from features, all scikit-learn's.

| reader of n features $f$ with labels $y$ | setting |
|---|---|
| "linear": $\min \frac1n \sum_i -\log \mathrm{softmax}(W f_i + b)_{y_i} + \frac{s}{2} \lVert W \rVert^2$ | strength $s$ |
| "ridge": $\min \frac1n \sum_i \lVert W f_i + b - t_{y_i} \rVert^2 + s \lVert W \rVert^2$ | strength $s$ |
| "neighbours": the commonest label among the $k$ rows with the largest cosine (Wu et al. 2018) | $k$ |

The first is logistic regression, of which scikit-learn's C is 1 / (n s); the second least squares,
with alpha n s and t of 1 at the class and -1 elsewhere. Both read features with mean 0 and variance
1 over the rows they learn from. All is computed in float64. KRR-ST (Lee et al. 2024, arXiv
2310.06511) and its followers train the linear reader by SGD with momentum, ReLA (Sun et al. 2024,
arXiv 2405.14669, table 10) by Adam for 100 epochs: a full batch has no learning rate to choose, and
its least is reached. Wu et al. (arXiv 1805.01978) weigh the votes of neighbours by their cosine;
here each counts one.
"""

import warnings
from typing import Annotated, Any

import torch
from torch import Tensor

from ..core import among, checked, errors, tensor

KINDS = ("linear", "ridge", "neighbours")
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
    setting: float,
) -> Tensor:
    """Return the labels, int64 [m], that a trained reader gives to test features [m, d].

    It learns from features [n, d] and labels [n].

    Args:
        setting: the strength, above 0, which does not grow with n; or the number of neighbours, at
            most n.

    Raises:
        DDLabError: one class alone, features that are not finite, a setting out of range, or a
            strength too small to converge.
    """
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    setting = checked_setting("setting", setting, kind, len(labels))
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
            model = _reader(kind, setting, len(labels)).fit(learning, labels.numpy())
    except ConvergenceWarning:
        errors.fail(
            "setting", f"large enough for the regression to end in {_ITERATIONS} steps", setting
        )
    return torch.from_numpy(model.predict(reading))


def checked_setting(argument: str, setting: Any, kind: str, count: int) -> float:
    """Return a strength, or a number of neighbours between 1 and `count`."""
    if kind != "neighbours":
        return errors.check_number(argument, setting, LEAST_STRENGTH, MOST_STRENGTH)
    return errors.check_integer(
        argument, int(setting) if setting in range(count + 1) else setting, 1, count
    )


def _reader(kind: str, setting: Any, count: int) -> Any:
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if kind == "neighbours":
        return KNeighborsClassifier(setting, algorithm="brute", metric="cosine")
    strength = setting * count
    solve = LogisticRegression(C=1 / strength, tol=1e-6, max_iter=_ITERATIONS)
    return make_pipeline(
        StandardScaler(), solve if kind == "linear" else RidgeClassifier(strength, solver="svd")
    )
