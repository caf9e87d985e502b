"""An objective of one's own: what is trained, what follows, what is only written; and what it must
consist of.
"""

import itertools
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.runs import Inputs, Step, checkpoint, process
from ddlab.unlabelled import self_supervised
from ddlab.unlabelled.self_supervised import (
    Batch,
    ObjectiveState,
    Teacher,
    barlow_twins,
    follow_by_momentum,
)
from tests.support import assert_same, draw_globally, global_randomness, refuses, run_to_end
from tests.unlabelled.self_supervised import toy_objective as toy

TOY = Teacher(toy)
SMALL: dict[str, Any] = {
    "network": networks.spec("convnet", width=4),
    "projector_width": 6,
    "epochs": 3,
    "warmup_epochs": 1,
    "batch_size": 8,
    "crop_area": 0.5,
}


def config(**changes: Any) -> toy.Config:
    return toy.Config.teaching(
        **SMALL | {"optimiser": "lars", "learning_rate": 3.0, "trust": 0.02} | changes
    )


def run(settings: toy.Config, data: ImageData) -> list[Step]:
    """The state before the first update as a step 0, then all updates."""
    inputs = Inputs(data=data)
    return [Step(0, 0, TOY.init(settings, inputs), None), *process.steps(TOY, settings, inputs)]


def objective(**parts: Any) -> Any:
    """Barlow Twins with other parts, as a module of one's own; None leaves a part out."""
    module = types.ModuleType("mine")
    vars(module).update(
        {name: getattr(barlow_twins, name) for name in ("NAME", "Config", "init", "loss")} | parts
    )
    for name in [name for name, value in parts.items() if value is None]:
        delattr(module, name)
    return module


@pytest.mark.parametrize("optimiser", ["lars", "adamw"])
def test_what_is_trained_what_follows_and_what_is_written(optimiser: str, grey: ImageData) -> None:
    settings = config(optimiser=optimiser, learning_rate=3.0 if optimiser == "lars" else 0.1)
    steps = run(settings, grey)
    total = TOY.total_steps(settings, Inputs(data=grey))
    for before, after in itertools.pairwise(steps[1:]):  # the first update has a learning rate of 0
        old = before.state.objective
        new = after.state.objective
        assert all(not torch.equal(old.trained[name], value) for name, value in new.trained.items())
        m = 1 - (1 - settings.target_momentum) * (1 - after.index / total)
        network = networks.parameter_names(settings.network.for_data(grey))
        learnt = {
            f"network.{name}": after.state.weights[name]
            for name in network
            if "classifier" not in name
        }
        for name, value in after.state.projector.items():
            learnt[f"projector.{name}"] = value
        for name, value in new.target.items():
            if name in learnt:
                assert torch.equal(value, m * old.target[name] + (1 - m) * learnt[name]), name
            else:  # running statistics come from the target's own passes; its last layer stays
                assert torch.equal(value, old.target[name]) is ("classifier" in name), name
        assert learnt.keys() < new.target.keys()
        assert torch.equal(new.buffers["queue"][8:], old.buffers["queue"][:-8])
        torch.testing.assert_close(
            new.buffers["queue"].norm(dim=1), torch.ones(settings.queue_length)
        )
    assert len(steps) == total + 1
    assert all(not value.requires_grad for part in vars(new).values() for value in part.values())


@pytest.mark.parametrize("momentum", [0.0, 1.0])
def test_limits_of_the_momentum(
    momentum: float, grey: ImageData, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1: the target stays as it began. 0: it is the network."""
    monkeypatch.setattr(toy, "momentum", lambda *_: momentum)
    steps = run(config(), grey)
    first, last = steps[0].state, steps[-1].state
    assert all(
        torch.equal(
            last.objective.target[f"projector.{name}"],
            (first if momentum else last).projector[name],
        )
        and not torch.equal(value, first.projector[name])
        for name, value in last.projector.items()
    )


def test_the_last_layer_of_the_projector_is_the_objectives(grey: ImageData) -> None:
    state = TOY.init(config(), Inputs(data=grey))
    assert [state.projector[f"linear.{n}"].shape[0] for n in (0, 1)] == [6, 5]
    # A stream of its own.
    assert not torch.equal(state.objective.trained["linear.1"], state.projector["linear.1"])


def test_what_is_trained_is_trained_by_the_optimiser(grey: ImageData) -> None:
    """A loss of a vector alone: AdamW as torch has it, and a network without gradient."""
    start = torch.tensor([1.0, -2.0, 3.0])
    mine = objective(
        init=lambda config, encoder: ObjectiveState(trained={"vector": start}),
        loss=lambda config, state, batch: (state.trained["vector"].square().sum(), state),
    )
    settings = barlow_twins.Config.teaching(**SMALL, weight_decay=0.0)
    steps = list(process.steps(Teacher(mine), settings, Inputs(data=grey)))
    vector = start.clone().requires_grad_()
    solver = torch.optim.AdamW([vector], weight_decay=0.0)
    for step in steps:
        solver.param_groups[0]["lr"] = step.trace.learning_rate
        vector.grad = 2 * vector.detach()
        solver.step()
        torch.testing.assert_close(step.state.objective.trained["vector"], vector.detach())
    assert_same(
        steps[-1].state.projector, Teacher(mine).init(settings, Inputs(data=grey)).projector
    )


def test_resumes_bit_for_bit_from_a_file(grey: ImageData, tmp_path: Path) -> None:
    settings = config()
    inputs = Inputs(data=grey)
    randomness = global_randomness()
    steps = run(settings, grey)
    file = tmp_path / "state"
    assert global_randomness() == randomness
    draw_globally()
    assert_same(run(settings, grey), steps)
    for step in steps[1:-1:3]:
        checkpoint.save(file, TOY, settings, inputs, step.state)
        loaded = checkpoint.load(file, TOY, settings, inputs)
        assert_same(loaded, step.state)
        assert_same(list(process.steps(TOY, settings, inputs, loaded))[-1].state, steps[-1].state)
    with refuses("config", "temperature"):
        checkpoint.load(file, TOY, settings.replace(temperature=1.0), inputs)


def test_the_result_is_a_network_that_names_the_objective(grey: ImageData) -> None:
    network = run_to_end(TOY, config(), Inputs(data=grey))
    assert network.provenance["config"]["loss"] == "toy" and network.provenance["complete"]
    assert toy.Config.from_string(config().to_string()) == config()


def test_the_package_is_the_process_by_barlow_twins(grey: ImageData) -> None:
    settings = self_supervised.Config.teaching(**SMALL)
    by_package = run_to_end(self_supervised, settings, Inputs(data=grey))
    by_objective = run_to_end(self_supervised.teacher_of(settings), settings, Inputs(data=grey))
    assert_same(by_package.weights, by_objective.weights)
    assert_same(ddlab.train_teacher(grey, settings, progress=False).weights, by_package.weights)
    assert all(name == module.NAME for name, module in self_supervised.OBJECTIVES.items())


def test_followed_is_the_moving_average() -> None:
    target = {"a": torch.tensor([1.0, 2.0]), "count": torch.tensor(3)}
    averages = follow_by_momentum(
        target, {"a": torch.tensor([3.0, 0.0]), "b": torch.ones(1)}, momentum=0.75
    )
    assert (
        averages["a"].tolist() == [1.5, 1.5]
        and averages["count"] is target["count"]
        and len(averages) == 2
    )


def test_configs_of_others(grey: ImageData) -> None:
    with refuses("config", "Config"):
        run_to_end(TOY, self_supervised.Config.teaching(**SMALL), Inputs(data=grey))
    with refuses("config.loss", "'barlow_twins'", "'toy'"):
        ddlab.train_teacher(grey, config(), progress=False)


def test_gradients_of_the_target_are_cut(grey: ImageData) -> None:
    """An objective that forgets `no_grad`: what it keeps carries no graph all the same."""

    def loss(config: Any, state: ObjectiveState, batch: Batch) -> tuple[Tensor, ObjectiveState]:
        return batch.projections[0].mean(), ObjectiveState(buffers={"kept": batch.projections[1]})

    settings = barlow_twins.Config.teaching(**SMALL)
    step = next(process.steps(Teacher(objective(loss=loss)), settings, Inputs(data=grey)))
    assert not step.state.objective.buffers["kept"].requires_grad
