"""The pool of inner networks: torch's own SGD, the draw of waiting steps, and what becomes of a
network that is drawn anew.
"""

from typing import Any

import pytest
import torch

from ddlab import networks
from ddlab.methods.shared import network_pool as pools
from tests.support import assert_same, assert_unchanged, snapshot

SPEC = networks.NetworkSpec.from_dict(
    {
        "family": "convnet",
        "options": {"width": 3},
        "channels": 2,
        "classes": 5,
        "image_size": [8, 8],
    }
)
DESCENT: dict[str, Any] = {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 1e-2}


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(1)
    return torch.randn((6, 2, 8, 8), generator=draw), torch.randn((6, 5), generator=draw)


def pool(count: int = 3) -> pools.Pool:
    return pools.new_pool(SPEC, count, seed=0, device="cpu")


def test_waiting_steps_are_uniform_below_z() -> None:
    waiting = []
    for seed in range(300):
        for step in pools.waiting_steps(4, 5, seed=seed):
            waiting.append(step)
    counts = torch.bincount(torch.tensor(waiting), minlength=6)
    assert counts[0] == counts[5] == 0
    # 1,200 draws of four values: 300 each, with a standard deviation of 15.
    assert bool(((counts[1:5] - 300).abs() < 75).all())


def test_the_networks_of_a_pool_differ_and_are_repeatable() -> None:
    first = pool().network(0)
    second = pool().network(1)
    assert not torch.equal(first["classifier.weight"], second["classifier.weight"])
    assert_same(pool(), pool())


def test_steps_are_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five steps of one network against a module of torch's and its SGD."""
    images, targets = batch()
    start = pool()
    module = networks.specification._build(SPEC)
    module.load_state_dict(start.network(1))
    sgd = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-2)
    trained_pool = start
    before = snapshot(start)
    for step in range(5):
        loss = (module(images) - targets).square().mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        trained_pool, ours = pools.train_once(trained_pool, SPEC, 1, images, targets, **DESCENT)
        assert float(ours) == pytest.approx(float(loss.detach()), rel=1e-5)
        assert trained_pool.trained.tolist() == [0, step + 1, 0]
    for name, value in module.state_dict().items():
        torch.testing.assert_close(trained_pool.network(1)[name], value, rtol=1e-4, atol=1e-6)
    assert_same(trained_pool.network(0), start.network(0))
    assert_unchanged(before, start)


def test_a_network_that_is_drawn_anew_is_new_each_time() -> None:
    trained, _ = pools.train_once(pool(), SPEC, 2, *batch(), **DESCENT)
    once = pools.redraw(trained, SPEC, 2, seed=0, device="cpu")
    twice = pools.redraw(once, SPEC, 2, seed=0, device="cpu")
    weights = [
        state_of_pool.network(2)["classifier.weight"]
        for state_of_pool in (pool(), trained, once, twice)
    ]
    assert all(not torch.equal(a, b) for i, a in enumerate(weights) for b in weights[i + 1 :])
    assert once.trained.tolist() == [0, 0, 0] and twice.births.tolist() == [0, 0, 2]
    assert (
        float(
            sum(value.abs().sum() for name, value in once.velocity.items() if name.startswith("2/"))
        )
        == 0
    )
    assert pools.redraw(trained, SPEC, 2, seed=0, device="cpu", reset=False).trained.tolist() == [
        0,
        0,
        1,
    ]
