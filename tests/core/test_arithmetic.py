"""What a GPU would multiply in: said by the config of a run, whatever torch is set to, for its computing alone and in all threads."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.core import arithmetic as arithmetic_module
from ddlab.core.arithmetic import arithmetic
from ddlab.data import ImageData
from ddlab.methods import dm, krr_st, rded, sre2l
from ddlab.runs import cache
from ddlab.runs.process import Inputs, steps
from ddlab.training import supervised
from tests.stand_in_device import stand_in_device

CONV, PRODUCTS = arithmetic_module._settings()
IEEE, TF32 = ("ieee", "ieee"), ("tf32", "ieee")


def now() -> tuple[str, str]:
    return CONV.fp32_precision, PRODUCTS.fp32_precision


@pytest.fixture(params=[("tf32", "none"), ("ieee", "tf32")])
def torchs_own(request: pytest.FixtureRequest) -> Any:
    before = now()
    CONV.fp32_precision, PRODUCTS.fp32_precision = request.param
    yield request.param
    CONV.fp32_precision, PRODUCTS.fp32_precision = before


def test_blocks_say_it_and_leave_it_as_it_was(torchs_own: tuple[str, str]) -> None:
    for precision, wanted in (("float32", IEEE), ("bfloat16", IEEE), ("tf32", TF32), (None, IEEE)):
        with pytest.raises(KeyError), arithmetic(precision, "cuda"):
            assert now() == wanted
            with arithmetic(None, "cuda"):
                assert now() == wanted
            with arithmetic("float32", "cuda"):
                assert now() == IEEE
            with arithmetic("tf32", "cpu"):
                assert now() == wanted
            raise KeyError
        assert now() == torchs_own


def test_threads_that_want_another_wait_and_nested_ones_do_not_wait_for_each_other(torchs_own: tuple[str, str]) -> None:
    seen: list[bool] = []
    start = threading.Barrier(4)

    def work(own: str) -> None:
        other = "tf32" if own == "float32" else "float32"
        start.wait()
        for _ in range(200):
            for precision in (own, other):
                with arithmetic(own, "cuda"), arithmetic(precision, "cuda"):
                    seen.append(now() == (TF32 if precision == "tf32" else IEEE))

    threads = [threading.Thread(target=work, args=(own,), daemon=True) for own in ("float32", "tf32") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(seen) == 1600 and all(seen) and now() == torchs_own


def test_a_run_computes_in_what_its_config_says(grey: ImageData, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, set[Any]] = {}

    def watched(known: Any, place: str) -> Any:
        return lambda *given: seen.setdefault(place, set()).add(now()) or known(*given)

    for module in (supervised, rded):
        for name in ("init", "update", "finish"):
            monkeypatch.setattr(module, name, watched(getattr(module, name), f"{module.NAME} {name}"))
    before = now()
    with stand_in_device() as device:
        inputs, config = Inputs(data=grey, device=device), supervised.SMALL.replace(precision="tf32")
        run = ddlab.Run(supervised, config, inputs, states=0)
        network = run.advance().result()
        run.state(1)
        list(steps(supervised, config, inputs))
        assert seen == {f"{supervised.NAME} {name}": {TF32} for name in ("init", "update", "finish")}
        with arithmetic("tf32", device):  # what has no precision is float32, wherever it is asked from
            cache.run(rded, rded.SMALL, Inputs(data=grey, teachers=(network,), device=device))
        assert seen[f"{rded.NAME} update"] == {IEEE}
    assert now() == before


def test_predictions_stay_with_their_run(grey: ImageData, monkeypatch: pytest.MonkeyPatch) -> None:
    network = networks.initialise(networks.spec("convnet", width=2).for_data(grey), seed=0)
    found: list[Any] = []
    monkeypatch.setattr(networks.calling, "call", lambda *_: found.append(now()) or (_outputs(), {}))
    with stand_in_device() as device:
        away = network.to(device)
        networks.predict(away, grey.normalised([0]))
        with arithmetic("tf32", device):
            networks.predict(away, grey.normalised([0]))
    assert found == [IEEE, TF32]


def _outputs() -> Any:
    return SimpleNamespace(logits=torch.zeros(1), features=torch.zeros(1), last_conv=torch.zeros(1))


def test_it_is_a_part_of_what_a_config_says() -> None:
    for module in (sre2l, dm, krr_st, supervised):
        config = module.SMALL.replace(precision="tf32")
        assert config.to_dict()["precision"] == "tf32"
