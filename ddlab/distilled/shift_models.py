r"""Four models of how the representations of an image's views follow from the image's own.

They reach from nothing stored to everything.

Yu, Yao & Chiu 2025 (Boost), section 3.3 and appendix A.7: with bases B, an image has the
representation C B and its view a has C_a B.

| shift | C_a, a = 1 ... A | stored (`TENSORS`) | here |
|---|---|---|---|
| "same" | C | nothing | |
| "bias" | C + b_a | "biases" [A, V] | `mean_shifts` |
| "networks" | C + Q_a(C) | weights and biases of Q_a: V -> H -> V, with ReLU | `predicted_shifts`, `fitted_networks` |
| "stored" | C_a | "view_coefficients" [A, m, V] | |

The paper says that Q_a is trained by the mean squared error of Q_a(C) to C_a - C, and neither how
nor for how long. Here: Adam on all rows at once, a fixed number of steps, a cosine down to 0; first
weights as torch draws those of a linear layer. Four times the steps lower the error of 100 turned
digits (V = 60, H = 4) by 2 of 100. Where the first coefficient is large for every image, as with
bases that are not centred, a hidden unit may be 0 for all images or for none: the errors of two
seeds then differ (.061 and .085; centred .055 and .056).
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from ..core import errors, optimisers, randomness
from .storage_budget import SHIFTS, Shift

TENSORS: dict[str, tuple[str, ...]] = {
    "same": (),
    "bias": ("biases",),
    "networks": ("first_weights", "first_biases", "second_weights", "second_biases"),
    "stored": ("view_coefficients",),
}
"""What each shift stores, by name."""
_SHAPES = {
    "biases": "A V",
    "first_weights": "A H V",
    "first_biases": "A H",
    "second_weights": "A V H",
    "second_biases": "A V",
    "view_coefficients": "A m V",
}
STEPS = 2000
_LARGEST_COUNT = 10**5  # of views, bases and hidden units


def shifted(
    coefficients: Tensor, tensors: Mapping[str, Tensor], shift: Shift, *, views: int | None = None
) -> Tensor:
    """Return the coefficients of all views, the images' own first: [m, V] -> [A + 1, m, V].

    Differentiable.

    Args:
        coefficients: C, float.
        tensors: what the shift stores, of C's dtype: {} for "same"; {"biases": [A, V]};
            {"first_weights": [A, H, V], "first_biases": [A, H], "second_weights": [A, V, H],
            "second_biases": [A, V]}; {"view_coefficients": [A, m, V]}.
        views: A, beside the images themselves; needed for "same", for the others it follows from
            the tensors.

    Raises:
        DDLabError: an unknown shift, tensors of other names, shapes or dtype, or a number of views
            that is not theirs.
    """
    views = _checked_views(coefficients, tensors, shift, views)
    if shift == "same":
        view_coefficients = coefficients.expand(views, *coefficients.shape)
    elif shift == "bias":
        view_coefficients = coefficients + tensors["biases"][:, None]
    elif shift == "networks":
        view_coefficients = coefficients + predicted_shifts(coefficients, tensors)
    else:
        view_coefficients = tensors["view_coefficients"]
    return torch.cat([coefficients[None], view_coefficients])


def predicted_shifts(coefficients: Tensor, tensors: Mapping[str, Tensor]) -> Tensor:
    r"""Return Q_a(C) = ReLU(C W_1^T + b_1) W_2^T + b_2 for each view a.

    coefficients [m, V] -> [A, m, V].

    Args:
        tensors: of the shift "networks", as in `shifted`.
    """
    _checked_views(coefficients, tensors, "networks", None)
    hidden = torch.relu(
        coefficients @ tensors["first_weights"].mT + tensors["first_biases"][:, None]
    )
    return hidden @ tensors["second_weights"].mT + tensors["second_biases"][:, None]


def mean_shifts(coefficients: Tensor, view_coefficients: Tensor) -> Tensor:
    """Return b_a, the mean over the images of C_a - C, which has the least squared error. [m, V],
    [A, m, V] -> [A, V].
    """
    return (view_coefficients - coefficients).mean(1)


def fit(
    coefficients: Tensor,
    view_coefficients: Tensor,
    shift: Shift,
    *,
    hidden: int = 4,
    seed: int = 0,
    steps: int = STEPS,
    learning_rate: float = 1e-2,
) -> dict[str, Tensor]:
    """Return what a shift stores of the views' coefficients, for `shifted`, without gradients.

    Args:
        coefficients: C [m, V], float32 or float64, at least one row.
        view_coefficients: C_a [A, m, V] of the same dtype.
        hidden, seed, steps, learning_rate: of "networks": H, the draw of the first weights, the
            updates, Adam's rate at their start.
    """
    coefficients = coefficients.detach()
    view_coefficients = view_coefficients.detach()
    if shift == "same":
        return {}
    if shift == "bias":
        return {"biases": _finite("biases", mean_shifts(coefficients, view_coefficients))}
    if shift == "stored":
        return {"view_coefficients": view_coefficients.clone()}
    return fitted_networks(
        coefficients,
        view_coefficients,
        hidden=hidden,
        seed=seed,
        steps=steps,
        learning_rate=learning_rate,
    )


def fitted_networks(
    coefficients: Tensor,
    view_coefficients: Tensor,
    *,
    hidden: int,
    seed: int,
    steps: int,
    learning_rate: float,
) -> dict[str, Tensor]:
    """Train networks Q_a to predict C_a - C; arguments and errors as `fit`.

    All views at once: the loss is a sum of one mean for each view, and Adam looks at each number
    alone, so that each network becomes what it would have become by itself.
    """
    shifts = (view_coefficients - coefficients).detach()
    tensors = first_networks(len(shifts), coefficients.shape[1], hidden=hidden, seed=seed)
    tensors = {name: value.to(coefficients) for name, value in tensors.items()}
    state = optimisers.adam_init(tensors)
    # On all rows at once: there are a hundred of them, and a batch would only add noise.
    for step in range(steps):
        leaves = {name: value.requires_grad_() for name, value in tensors.items()}
        with torch.enable_grad():
            loss = (
                (predicted_shifts(coefficients.detach(), leaves) - shifts)
                .square()
                # A mean for each view and a sum over views: one view's error does not slow
                # another's network down.
                .mean((1, 2))
                .sum()
            )
            slopes = torch.autograd.grad(loss, list(leaves.values()))
        rate = optimisers.cosine(step, steps, learning_rate)
        current = {name: value.detach() for name, value in leaves.items()}
        tensors, state = optimisers.adam_update(
            current, dict(zip(current, slopes, strict=True)), state, learning_rate=rate
        )
    return {name: _finite(name, value) for name, value in tensors.items()}


def first_networks(views: int, bases: int, *, hidden: int, seed: int) -> dict[str, Tensor]:
    """Draw the weights and biases before training, float32, uniform in +- 1 / sqrt(inputs) as in
    torch. Shapes as in `shifted`.
    """
    draw = randomness.generator(seed, 0, "shift networks")
    shapes = {
        "first_weights": (views, hidden, bases),
        "first_biases": (views, hidden),
        "second_weights": (views, bases, hidden),
        "second_biases": (views, bases),
    }
    bounds = {name: 1 / math.sqrt(bases if name.startswith("first") else hidden) for name in shapes}
    return {
        name: bounds[name] * (2 * torch.rand(shape, generator=draw) - 1)
        for name, shape in shapes.items()
    }


def mean_squared_error(
    coefficients: Tensor, view_coefficients: Tensor, tensors: Mapping[str, Tensor], shift: Shift
) -> Tensor:
    """Return the error of the coefficients that a shift gives the views.

    A scalar, mean over views, images and bases (Table 11).

    Args:
        coefficients: C [m, V].
        view_coefficients: C_a [A, m, V], at least one view and one image.
        tensors, shift: as in `shifted`.
    """
    if not view_coefficients.numel():
        errors.fail("view_coefficients", "of at least one view", view_coefficients)
    modelled = shifted(coefficients, tensors, shift, views=len(view_coefficients))
    return _finite("the squared error", (modelled[1:] - view_coefficients).square().mean())


def _checked_views(
    coefficients: Tensor, tensors: Mapping[str, Tensor], shift: Shift, views: int | None
) -> int:
    """Return A after looking at names, shapes and dtypes.

    Values are never looked at, because every step calls this.
    """
    errors.check_choice("shift", shift, SHIFTS)
    errors.check_tensor(
        "coefficients", coefficients, shape=[None, None], floating=True, finite=False
    )
    if not isinstance(tensors, Mapping) or set(tensors) != set(TENSORS[shift]):
        names_given = [str(name) for name in tensors] if isinstance(tensors, Mapping) else tensors
        errors.fail(
            "tensors", f"a mapping of {list(TENSORS[shift])} for the shift {shift!r}", names_given
        )
    lengths = dict(zip("mV", coefficients.shape, strict=True))
    if shift == "same" or views is not None:
        lengths["A"] = errors.check_integer("views", views, 0, _LARGEST_COUNT)
    for name in TENSORS[shift]:
        names = _SHAPES[name].split()
        shape = [lengths.get(dimension_name, dimension_name) for dimension_name in names]
        actual_shape = errors.check_tensor(
            name, tensors[name], shape=shape, dtype=coefficients.dtype, finite=False
        ).shape
        lengths |= zip(names, actual_shape, strict=True)
    return lengths["A"]


def _finite(name: str, value: Tensor) -> Tensor:
    return errors.check_tensor(name, value)
