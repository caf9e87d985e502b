"""Closed forms against simulations; lesson 90's trials hold the rest against recursions and grids."""

import pytest
import torch

from ddlab.lessons.theorems_on_trial import closed_forms


@pytest.mark.parametrize(
    ("spread", "rate", "steps"), [(0.1, 0.05, 40), (0.7, 0.2, 15), (1.5, 0.5, 30)]
)
def test_simulated_runs_end_where_the_closed_form_does(
    spread: float, rate: float, steps: int
) -> None:
    simulated = closed_forms.simulated_errors(
        steps, spread=spread, learning_rate=rate, runs=20_000, seed=1
    )
    exact = closed_forms.expected_squared_error(steps, spread=spread, learning_rate=rate)
    assert simulated.squared[0] == exact[0] == 1 and simulated.standard_error[0] == 0
    off = (simulated.squared - exact)[1:].abs() / simulated.standard_error[1:]
    assert float(off.max()) < 4.5
    printed = closed_forms.printed_squared_error(steps, spread=spread, learning_rate=rate)
    assert abs(float(printed[-1] - simulated.squared[-1])) > 4.5 * float(
        simulated.standard_error[-1]
    ), "the printed line is not it"


def test_the_error_ends_on_the_floor_whatever_it_began_with() -> None:
    settings = {"spread": 0.6, "learning_rate": 0.3}
    assert float(closed_forms.expected_squared_error(500, **settings)[-1]) == pytest.approx(
        closed_forms.noise_floor(**settings)
    )


def test_information_of_counted_samples() -> None:
    draw = torch.Generator().manual_seed(0)
    sides = torch.randint(0, 2, (400_000,), generator=draw).double() * 2 - 1
    for dimensions in (1, 2):
        noise = torch.randn(400_000, dimensions, generator=draw, dtype=torch.float64)
        odds = 2 * ((sides[:, None] / 2 + 0.5 * noise) / 0.5**2 / 2).sum(1) * sides
        counted = (
            1
            - float(torch.nn.functional.softplus(-odds).mean())
            / torch.log(torch.tensor(2.0)).item()
        )
        assert closed_forms.information_share(spread=0.5, dimensions=dimensions) == pytest.approx(
            counted, abs=5e-3
        )
