"""Randomness is a function of position, not of history."""

import random
import threading

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from ddlab.core import randomness
from tests.support import global_randomness

POSITION = {"seed": st.integers(0, 2**80), "step": st.integers(0, 2**40), "stream": st.text()}


def draws(seed: int, step: int = 0, stream: str = "", count: int = 8) -> list[float]:
    return torch.rand(
        count, generator=randomness.generator(seed, step, stream), dtype=torch.float64
    ).tolist()


@given(**POSITION)
def test_independent_of_history(seed: int, step: int, stream: str) -> None:
    first = draws(seed, step, stream)
    numbers = randomness.numpy_generator(seed, step, stream).random(4).tolist()
    torch.rand(5)
    np.random.rand(5)
    random.random()
    draws(seed + 1, step, stream)
    assert draws(seed, step, stream) == first
    assert randomness.numpy_generator(seed, step, stream).random(4).tolist() == numbers
    assert randomness.derived_seed(seed, step, stream) == randomness.derived_seed(
        seed, step, stream
    )
    assert 0 <= randomness.derived_seed(seed, step, stream) < 2**32


def test_global_generators_are_left_alone() -> None:
    before = global_randomness()
    draws(0)
    randomness.numpy_generator(0).random(3)
    randomness.derived_seed(0)
    assert global_randomness() == before


def test_each_position_has_its_own_draws() -> None:
    positions = []
    for seed in range(8):
        for step in range(8):
            for stream in ("", "a", "b", "roll"):
                positions.append((seed, step, stream))
    assert len({tuple(draws(*position)) for position in positions}) == len(positions)
    assert draws(1, 0) != draws(0, 1)


def test_all_bits_of_a_seed_count() -> None:
    """torch's own CPU generator ignores all but the lowest 32."""
    seeds = [5 + (1 << bit) for bit in range(3, 70)]
    assert len({tuple(draws(seed)) for seed in seeds}) == len(seeds)


def place(name: str, number: int) -> tuple[int, int]:
    return (number, 0) if name == "seed" else (0, number)


def test_neighbouring_positions_are_not_correlated() -> None:
    for name in ("seed", "step"):
        rows = torch.tensor([draws(*place(name, n), count=500) for n in range(40)])
        correlations = torch.corrcoef(rows) - torch.eye(40, dtype=torch.float64)
        assert float(correlations.abs().max()) < 0.25
        firsts = torch.tensor([draws(*place(name, n), count=1)[0] for n in range(2000)])
        assert abs(float(firsts.mean()) - 0.5) < 0.03 and abs(float(firsts.var()) - 1 / 12) < 0.01


def all_draws() -> list[torch.Tensor]:
    """Operations of each kind: with a generator of their own, in a form of another name, in place,
    as a share of a tensor's shape.
    """
    draws = [
        torch.rand(3),
        torch.randn(3),
        torch.randint(2, 9, (3,)),
        torch.randint(9, (3,)),
        torch.randperm(9),
    ]
    draws += [
        torch.nn.init.kaiming_uniform_(torch.empty(4, 4)),
        torch.bernoulli(torch.full((9,), 0.5)),
    ]
    return [*draws, torch.multinomial(torch.ones(9), 3), torch.nn.functional.dropout(torch.ones(9))]


def test_global_draws_come_from_a_generator_of_our_own_as_if_it_were_the_global_one() -> None:
    before = global_randomness()
    with randomness.Draws(torch.Generator().manual_seed(5)) as draws:
        mine = all_draws()
        torch.rand(2, generator=torch.Generator())
        from_thread: list[torch.Tensor] = []
        # Another thread draws what it would draw.
        thread = threading.Thread(target=lambda: from_thread.append(torch.rand(3)))
        with torch.random.fork_rng(devices=[]):
            thread.start()
            thread.join()
    assert global_randomness() == before and draws.count == len(mine) == 9
    with torch.random.fork_rng(devices=[]):
        assert torch.equal(torch.rand(3), from_thread[0])
        torch.manual_seed(5)
        assert all(map(torch.equal, mine, all_draws()))
