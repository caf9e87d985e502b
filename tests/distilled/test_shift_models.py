"""Models of the views' representations, against torch's own modules and optimisers and against
closed forms.
"""

from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab.distilled import shift_models, storage_budget
from tests.support import global_randomness, normal_doubles, refuses

ROWS = 7
BASES = 5
VIEWS = 3
HIDDEN = 4


C = normal_doubles(ROWS, BASES)
VIEW_COEFFICIENTS = normal_doubles(VIEWS, ROWS, BASES, seed=1)
NETWORKS = {
    "first_weights": normal_doubles(VIEWS, HIDDEN, BASES, seed=2),
    "first_biases": normal_doubles(VIEWS, HIDDEN, seed=3),
    "second_weights": normal_doubles(VIEWS, BASES, HIDDEN, seed=4),
    "second_biases": normal_doubles(VIEWS, BASES, seed=5),
}
STORED: dict[str, dict[str, Tensor]] = {
    "same": {},
    "bias": {"biases": normal_doubles(VIEWS, BASES, seed=6)},
    "networks": NETWORKS,
    "stored": {"view_coefficients": VIEW_COEFFICIENTS},
}


def module(view: int, tensors: dict[str, Tensor]) -> torch.nn.Sequential:
    """Torch's own network with the weights of one view."""
    first = torch.nn.Linear(BASES, HIDDEN)
    second = torch.nn.Linear(HIDDEN, BASES)
    network = torch.nn.Sequential(first, torch.nn.ReLU(), second).double()
    with torch.no_grad():
        for name, value in zip(
            ("first_weights", "first_biases", "second_weights", "second_biases"),
            network.parameters(),
            strict=True,
        ):
            value.copy_(tensors[name][view])
    return network


def test_networks_are_torchs() -> None:
    shifts = shift_models.predicted_shifts(C, NETWORKS)
    assert shifts.shape == (VIEWS, ROWS, BASES)
    for view in range(VIEWS):
        torch.testing.assert_close(shifts[view], module(view, NETWORKS)(C), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shift", storage_budget.SHIFTS)
def test_shifted(shift: Any) -> None:
    coefficients = shift_models.shifted(C, STORED[shift], shift, views=VIEWS)
    assert coefficients.shape == (VIEWS + 1, ROWS, BASES) and torch.equal(coefficients[0], C)
    for view in range(VIEWS):
        for row in range(ROWS):
            expected = {
                "same": C[row],
                "bias": C[row] + STORED["bias"]["biases"][view],
                "networks": C[row] + module(view, NETWORKS)(C[row]).detach(),
                "stored": VIEW_COEFFICIENTS[view, row],
            }[shift]
            torch.testing.assert_close(
                coefficients[view + 1, row], expected, rtol=1e-12, atol=1e-12
            )
    if shift != "same":
        assert torch.equal(shift_models.shifted(C, STORED[shift], shift), coefficients)
        with refuses(shift_models.TENSORS[shift][0], f"[{VIEWS + 1}, "):
            shift_models.shifted(C, STORED[shift], shift, views=VIEWS + 1)


@pytest.mark.parametrize("shift", storage_budget.SHIFTS)
def test_gradients(shift: Any) -> None:
    names = shift_models.TENSORS[shift]

    def through(coefficients: Tensor, *values: Tensor) -> Tensor:
        return shift_models.shifted(
            coefficients, dict(zip(names, values, strict=True)), shift, views=VIEWS
        )

    leaves = [
        value.clone().requires_grad_() for value in (C, *(STORED[shift][name] for name in names))
    ]
    assert torch.autograd.gradcheck(through, leaves)


def test_no_views_are_the_images_alone() -> None:
    none = {name: value[:0] for name, value in NETWORKS.items()}
    assert torch.equal(shift_models.shifted(C, {}, "same", views=0), C[None])
    assert torch.equal(shift_models.shifted(C, none, "networks"), C[None])
    fitted = shift_models.fit(C, VIEW_COEFFICIENTS[:0], "networks", steps=2)
    assert {name: len(value) for name, value in fitted.items()} == dict.fromkeys(NETWORKS, 0)


def test_the_bias_is_the_least_squares_one() -> None:
    """By least squares on a column of ones, and no nearby vector is better."""
    fitted = shift_models.fit(C, VIEW_COEFFICIENTS, "bias")
    design = torch.ones(ROWS, 1, dtype=torch.float64)
    for view in range(VIEWS):
        expected = torch.linalg.lstsq(design, VIEW_COEFFICIENTS[view] - C).solution[0]
        torch.testing.assert_close(fitted["biases"][view], expected, rtol=1e-10, atol=1e-12)
    best = shift_models.mean_squared_error(C, VIEW_COEFFICIENTS, fitted, "bias")
    for seed in range(5):
        moved = {"biases": fitted["biases"] + 1e-3 * normal_doubles(VIEWS, BASES, seed=seed)}
        assert shift_models.mean_squared_error(C, VIEW_COEFFICIENTS, moved, "bias") > best


def test_networks_are_fitted_as_torch_would() -> None:
    """Each view alone, by torch.optim.Adam under torch's cosine, from the same first weights, in
    float64.
    """
    steps = 60
    rate = 0.03
    fitted = shift_models.fit(
        C, VIEW_COEFFICIENTS, "networks", hidden=HIDDEN, seed=3, steps=steps, learning_rate=rate
    )
    first = {
        name: value.double()
        for name, value in shift_models.first_networks(VIEWS, BASES, hidden=HIDDEN, seed=3).items()
    }
    for view in range(VIEWS):
        network = module(view, first)
        optimiser = torch.optim.Adam(network.parameters(), lr=rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for _ in range(steps):
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(network(C), VIEW_COEFFICIENTS[view] - C).backward()
            optimiser.step()
            schedule.step()
        for name, value in zip(NETWORKS, network.parameters(), strict=True):
            torch.testing.assert_close(fitted[name][view], value.detach(), rtol=1e-9, atol=1e-10)


def test_first_networks() -> None:
    before = global_randomness()
    many = shift_models.first_networks(VIEWS, 50, hidden=40, seed=0)
    assert global_randomness() == before
    for name, value in many.items():
        bound = (50 if name.startswith("first") else 40) ** -0.5
        assert value.dtype == torch.float32 and float(value.abs().max()) <= bound
        # Of n uniform draws the largest is above .9 of the bound but for a chance of .9^n.
        assert float(value.abs().max()) > 0.9 * bound
    # Four standard errors.
    assert abs(float(many["first_weights"].mean())) < 4 * 50**-0.5 / (3 * 6000) ** 0.5
    assert not torch.equal(many["first_weights"][0], many["first_weights"][1])
    reseeded = shift_models.first_networks(VIEWS, 50, hidden=40, seed=1)
    assert not torch.equal(many["first_weights"], reseeded["first_weights"])


def test_what_is_stored_is_what_the_bill_says() -> None:
    """Coefficients and bases apart; the bill knows the number of images only through "stored"."""
    for shift in storage_budget.SHIFTS:
        sizes = storage_budget.Factorised(
            image_bases=1,
            representation_size=9,
            representation_bases=BASES,
            views=VIEWS,
            shift=shift,
            hidden=HIDDEN,
        )
        fitted = shift_models.fit(C, VIEW_COEFFICIENTS, shift, hidden=HIDDEN, steps=1)
        assert sum(value.numel() for value in fitted.values()) == sizes.bill(ROWS).shifts
        assert set(fitted) == set(shift_models.TENSORS[shift])


def test_mean_squared_error() -> None:
    assert (
        float(shift_models.mean_squared_error(C, VIEW_COEFFICIENTS, STORED["stored"], "stored"))
        == 0
    )
    total = sum(
        float((VIEW_COEFFICIENTS[a, i, v] - C[i, v]) ** 2)
        for a in range(VIEWS)
        for i in range(ROWS)
        for v in range(BASES)
    )
    error = shift_models.mean_squared_error(C, VIEW_COEFFICIENTS, {}, "same")
    assert float(error) == pytest.approx(total / (VIEWS * ROWS * BASES), rel=1e-12)


def test_a_shift_that_networks_can_hold_is_found() -> None:
    """Q with as many hidden units as made the shifts: nearly nothing is left."""
    c = normal_doubles(200, 3)
    true_networks = {
        name: value[:1]
        for name, value in shift_models.first_networks(1, 3, hidden=2, seed=9).items()
    }
    view_coefficients = c + shift_models.predicted_shifts(
        c, {name: value.double() for name, value in true_networks.items()}
    )
    errors_left = [
        shift_models.mean_squared_error(
            c, view_coefficients, shift_models.fit(c, view_coefficients, shift, hidden=8), shift
        )
        for shift in ("bias", "networks")
    ]
    assert errors_left[1] < 1e-3 * errors_left[0]


def test_fitting_leaves_what_it_is_given_and_carries_no_graph() -> None:
    leaf = C.clone().requires_grad_()
    before = VIEW_COEFFICIENTS.clone()
    for shift in storage_budget.SHIFTS:
        fitted = shift_models.fit(leaf, VIEW_COEFFICIENTS, shift, steps=2)
        assert not any(value.requires_grad for value in fitted.values())
    assert (
        torch.equal(VIEW_COEFFICIENTS, before)
        and torch.equal(leaf.detach(), C)
        and leaf.grad is None
    )
    stored = shift_models.fit(C, VIEW_COEFFICIENTS, "stored")["view_coefficients"]
    assert (
        torch.equal(stored, VIEW_COEFFICIENTS) and stored.data_ptr() != VIEW_COEFFICIENTS.data_ptr()
    )


WRONG: dict[str, tuple[Any, list[str]]] = {
    "unknown shift": (lambda: shift_models.shifted(C, {}, "sane"), ["shift", "nearest: 'same'"]),  # type: ignore[arg-type]
    "no number of views": (lambda: shift_models.shifted(C, {}, "same"), ["views", "None"]),
    "another number of views": (
        lambda: shift_models.shifted(C, STORED["bias"], "bias", views=2),
        ["biases", "[2, 5]"],
    ),
    "names": (
        lambda: shift_models.shifted(C, STORED["bias"], "networks"),
        ["tensors", "first_weights", "biases"],
    ),
    "flat coefficients": (
        lambda: shift_models.shifted(C[0], {}, "same", views=1),
        ["coefficients", "[any, any]"],
    ),
    "another width": (
        lambda: shift_models.shifted(C[:, :4], STORED["bias"], "bias"),
        ["biases", "[A, 4]"],
    ),
    "another dtype": (
        lambda: shift_models.shifted(C.float(), STORED["bias"], "bias"),
        ["biases", "float32"],
    ),
    "hidden of two sizes": (
        lambda: shift_models.predicted_shifts(
            C, NETWORKS | {"first_biases": normal_doubles(VIEWS, 3)}
        ),
        ["first_biases", "[3, 4]"],
    ),
    "diverged": (
        lambda: shift_models.fit(
            C.float(), VIEW_COEFFICIENTS.float(), "networks", steps=5, learning_rate=1e30
        ),
        ["must be finite"],
    ),
    "error of no view": (
        lambda: shift_models.mean_squared_error(C, VIEW_COEFFICIENTS[:0], {}, "same"),
        ["view_coefficients", "one view"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    call, words = WRONG[name]
    with refuses(*words):
        call()
