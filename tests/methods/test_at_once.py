"""A step at once is the eager step but for rounding: from each State of a run, whatever is drawn, recorded, replayed or compiled."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import networks
from ddlab.core import optimisers, whole_step
from ddlab.data import ImageData
from ddlab.methods import dwa, fadrm, sre2l
from ddlab.runs.process import Inputs, start
from tests.stand_in_device import stand_in_device
from tests.support import made_data

TOLERANCE = 2e-5  # of the largest gradient, and of each term of the loss; float32 has 24 bits, and a step sums thousands of numbers


def repeated(function: whole_step.Step, static: dict[str, Any]) -> Any:
    """Stands for a CUDA graph: reads and writes the same tensors each time."""
    found = function(static)

    def replay() -> None:
        for name, value in function(static).items():
            found[name].copy_(value)

    return replay, found


@pytest.fixture
def fresh() -> Iterator[None]:
    whole_step._made.__dict__.clear()
    yield
    whole_step._made.__dict__.clear()


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    monkeypatch.setattr(whole_step, "graphed", lambda *given: whole_step.Replayed(repeated, *given))


def inputs_of(data: ImageData, device: Any = "cpu") -> Inputs:
    spec = networks.spec("convnet", width=4, norm="batch").for_data(data)
    return Inputs(data=data, teachers=(networks.initialise(spec, seed=0),), device=device)


def check(module: Any, config: Any, inputs: Inputs, execution: str) -> None:
    state = start(module, config, inputs)
    for _ in range(module.total_steps(config, inputs)):
        wanted, seen = module.update(config, inputs, state)
        found, trace = module.update(config.replace(execution=execution), inputs, state)
        for name, value in vars(seen).items():
            torch.testing.assert_close(getattr(trace, name), value, rtol=TOLERANCE, atol=1e-6)
        one, other = (each.optimiser.first["images"] for each in (found, wanted))
        assert (
            one - other
        ).abs().max() <= TOLERANCE * other.abs().max()  # the gradient, which Adam may make anything of
        assert found.step == wanted.step and found.optimiser.step == wanted.optimiser.step
        assert found.images.shape == wanted.images.shape
        assert (found.images - wanted.images).abs().mean() < 0.01 * config.learning_rate
        state = wanted


@pytest.mark.parametrize("changed", [{}, {"crop": "always"}, {"roll_pixels": 0, "beta1": 0.8, "seed": 3}])
@pytest.mark.parametrize("module", [sre2l, dwa, fadrm])
def test_replayed(module: Any, changed: dict[str, Any], replayed: None) -> None:
    other = {"batch_norm_weights": "original"} if module is dwa and not changed else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(module, module.SMALL.replace(**changed, **other), inputs_of(made_data(size=8)), "graphed")


@pytest.mark.parametrize("module", [sre2l, fadrm])
def test_several_batches_replayed(module: Any, replayed: None) -> None:
    """Three batches, two at once: the last step sees one alone."""
    config = module.SMALL.replace(images_per_class=3, batches_at_once=2, crop="always")
    check(module, config, inputs_of(made_data(size=8)), "graphed")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_compiled(fresh: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(sre2l, sre2l.SMALL.replace(crop="always"), inputs_of(made_data(size=8)), "compiled")


def test_where_it_cannot_it_says_so_once_and_is_eager(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = inputs_of(made_data(size=8))
    state = start(sre2l, sre2l.SMALL, inputs)
    wanted = sre2l.update(sre2l.SMALL, inputs, state)[0].images

    def no_compiler(*_: Any, **__: Any) -> Any:
        raise OSError("no compiler.\nA long trace")

    monkeypatch.setattr(torch, "compile", no_compiler)
    for execution, reason in (("graphed", "a graph needs a CUDA device"), ("compiled", "no compiler")):
        config = sre2l.SMALL.replace(execution=execution)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                assert torch.equal(sre2l.update(config, inputs, state)[0].images, wanted)
        assert [str(each.message) for each in said] == [
            f"a {execution} step cannot be made here, so steps are eager: {reason}."
        ]


def test_results_are_ones_own_and_only_what_is_new_is_copied() -> None:
    def step(given: dict[str, Any]) -> dict[str, Tensor]:
        return {"sum": given["a"] + given["held"]["b"]}

    a, b = torch.ones(2), torch.ones(2)
    made = whole_step.Replayed(repeated, step, {"a": a, "held": {"b": b}})
    first = made({"a": a, "held": {"b": b}})["sum"]
    made._static[1].fill_(7)  # a copy would undo it
    assert made({"a": 2 * a, "held": {"b": b}})["sum"].tolist() == [9, 9] and first.tolist() == [2, 2]
    b.add_(1)
    assert made({"a": 2 * a, "held": {"b": b}})["sum"].tolist() == [4, 4]


def test_steps_of_other_settings_shapes_and_threads_are_others(fresh: None) -> None:
    made: list[Any] = []

    def step(given: dict[str, Any]) -> dict[str, Tensor]:
        return {"a": given["a"]}

    def counted(function: Any, given: Any) -> Any:
        made.append(given)
        return function

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_step, "graphed", counted)
        for key, shape in (((1, 2), 3), ((1, 2), 3), ((1, 2), 4), ((1, 3), 4)):
            whole_step.run("graphed", key, step, {"a": torch.zeros(shape)})
        assert len(made) == 3
        for size in range(5, 9):
            whole_step.run("graphed", 0, step, {"a": torch.zeros(size)})
        assert len(whole_step._made.steps) == 4


def test_a_replayed_step_asks_for_little_and_waits_for_nothing(replayed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.contract.test_kernels import Waits, calls

    with stand_in_device() as device:
        inputs = inputs_of(made_data(size=8), device)
        config = sre2l.SMALL.replace(execution="graphed", crop="always", iterations=9)
        state = start(sre2l, config, inputs)
        state = sre2l.update(config.replace(execution="eager"), inputs, state)[0]  # sends what stays there
        with Waits() as first:
            state = sre2l.update(config, inputs, state)[0]
        assert first.found == []  # a step that is captured must not wait either
        (step,) = whole_step._made.steps.values()
        monkeypatch.setattr(step, "_replay", lambda: None)
        assert calls(lambda: sre2l.update(config, inputs, state), device) <= 30


def test_it_is_a_part_of_what_a_config_says() -> None:
    for module in (sre2l, dwa, fadrm):
        assert "execution" not in module.SMALL.to_dict()
        config = module.SMALL.replace(execution="graphed")
        assert module.Config(**config.to_dict()) == config != module.Config(**module.SMALL.to_dict())


def test_corrections_as_tensors_are_adams_own() -> None:
    draw = torch.Generator().manual_seed(0)
    value, slope, first, second = torch.rand(4, 5, generator=draw, dtype=torch.float64)
    for step in (0, 7):
        given = {"a": value}, {"a": slope}, optimisers.AdamState(step, {"a": first}, {"a": second})
        numbers = optimisers.bias_corrections(step + 1, (0.5, 0.9))
        corrections = (torch.tensor(numbers[0]).double(), torch.tensor(numbers[1]).double())
        wanted = optimisers.adam_update(*given, learning_rate=0.1, betas=(0.5, 0.9))[0]["a"]
        found = optimisers.adam_update(*given, learning_rate=0.1, betas=(0.5, 0.9), corrections=corrections)[0]["a"]
        torch.testing.assert_close(found, wanted, rtol=1e-7, atol=0)
        assert numbers == (pytest.approx(1 / (1 - 0.5 ** (step + 1))), pytest.approx((1 - 0.9 ** (step + 1)) ** -0.5))
