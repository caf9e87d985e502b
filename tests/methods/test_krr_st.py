"""KRR-ST against Algorithm 1 written out with torch's own modules and optimisers in float64; its pool; what it must refuse."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ddlab
from ddlab import networks
from ddlab.core import randomness
from ddlab.core.errors import NonFiniteError
from ddlab.data import ImageData
from ddlab.methods import _network_pool as pools
from ddlab.methods import krr_st
from ddlab.networks import Network
from ddlab.runs import process
from ddlab.runs.process import Inputs
from ddlab.training import self_supervised, supervised
from tests.support import made_data, refuses

SMALL: dict[str, Any] = {
    "budget": 5, "network": networks.spec("convnet", width=3, growth=2, depth=2), "pool_size": 2, "pool_steps": 3, "iterations": 7,
    "batch_size": 20, "learning_rate": 1e-2, "ridge": 1e-3,
}  # fmt: skip


def config(**changes: Any) -> krr_st.Config:
    return krr_st.Config(**SMALL | changes)


@pytest.fixture
def inputs(grey: ImageData, teacher: Network) -> Inputs:
    return Inputs(data=grey, teachers=(teacher,))


def doubled(network: Network) -> Network:
    weights = {n: v.double() if v.is_floating_point() else v for n, v in network.weights.items()}
    return dataclasses.replace(network, weights=weights)


@pytest.fixture
def in_float64(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """Images, the teacher and drawn weights in float64, so that nothing but a mistake is seen."""
    initialise, normalised = networks.initialise, ImageData.normalised
    monkeypatch.setattr(networks, "initialise", lambda *given, **options: doubled(initialise(*given, **options)))
    monkeypatch.setattr(ImageData, "normalised", lambda *given, **options: normalised(*given, **options).double())
    return dataclasses.replace(inputs, teachers=tuple(map(doubled, inputs.teachers)))


class Inner(nn.Module):
    """Two blocks of convolution, batch norm, ReLU and average pooling, flattened, and a linear layer."""

    optimiser: torch.optim.SGD

    def __init__(self, channels: int, outputs: int, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(channels, 3, 3, padding=1), nn.Conv2d(3, 6, 3, padding=1)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(3), nn.BatchNorm2d(6)])
        self.last = nn.Linear(6 * 2 * 2, outputs)
        self.double()
        named: dict[str, nn.Module] = {"classifier": self.last}
        for block in range(2):
            named[f"blocks.{block}.convolution"] = self.convolutions[block]
            named[f"blocks.{block}.normalisation"] = self.norms[block]
        for name, part in named.items():
            own = {n.removeprefix(f"{name}."): v for n, v in weights.items() if n.startswith(f"{name}.")}
            part.load_state_dict({n: v.clone() for n, v in own.items()})

    def features(self, images: Tensor) -> Tensor:
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            images = F.avg_pool2d(norm(convolution(images)).relu(), 2)
        return images.flatten(1)

    def learn(self, optimiser: torch.optim.Optimizer, images: Tensor, targets: Tensor) -> None:
        """One step on all pairs, in training mode."""
        loss = (self.train().last(self.features(images)) - targets).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        self.eval()


def algorithm_1(settings: krr_st.Config, images: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor, list[tuple]]:
    """X_s, Y_s and (loss, network, its steps, learning rate) of each outer step, written out; counts what is reset."""
    spec = settings.network.for_data(made_data(), outputs=wanted.shape[1])
    length, most, seed = settings.pool_size, settings.pool_steps, settings.seed

    def fresh(index: int, birth: int) -> tuple[Inner, torch.optim.Optimizer]:
        name = f"network {index} of the pool"
        weights = networks.initialise(spec, seed=randomness.derived_seed(seed, birth, name)).weights
        found = Inner(images.shape[1], wanted.shape[1], weights).eval()
        return found, torch.optim.SGD(found.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)

    chosen = torch.randperm(len(images), generator=randomness.generator(seed, 0, "real images of the pairs"))
    pairs = [part[chosen[: settings.budget]].clone().requires_grad_() for part in (images, wanted)]
    solver = torch.optim.AdamW(pairs, lr=settings.learning_rate, weight_decay=0.0)
    falling = torch.optim.lr_scheduler.LambdaLR(solver, lambda step: 1 - step / settings.iterations)
    steps = torch.randint(1, most, (length,), generator=randomness.generator(seed, 0, "pool steps")).tolist()
    pool, births, traces = [fresh(index, 0) for index in range(length)], [0] * length, []
    for (network, optimiser), waiting in zip(pool, steps, strict=True):
        for _ in range(waiting):
            network.learn(optimiser, *(part.detach() for part in pairs))
    for iteration in range(settings.iterations):
        draw = randomness.generator(seed, iteration, "outer step")
        index = int(torch.randint(length, (), generator=draw))
        batch = torch.randperm(len(images), generator=draw)[: settings.batch_size]
        network, optimiser = pool[index]
        real, said = images[batch], wanted[batch]
        f_s, f_t = (F.pad(network.features(some), (0, 1), value=1.0) for some in (pairs[0], real))
        kernel = f_s @ f_s.T
        ridge = settings.ridge * float(kernel.detach().trace()) * torch.eye(len(kernel), dtype=torch.float64)
        loss = (said - f_t.detach() @ f_s.T @ torch.linalg.solve(kernel + ridge, pairs[1])).square().mean()
        traces.append((float(loss.detach()), index, steps[index], solver.param_groups[0]["lr"]))
        solver.zero_grad()
        loss.backward()
        solver.step()
        falling.step()
        if steps[index] < most:
            steps[index] += 1
            network.learn(optimiser, *(part.detach() for part in pairs))
        else:
            births[index] += 1
            pool[index], steps[index] = fresh(index, births[index]), 0
    return pairs[0].detach(), pairs[1].detach(), traces


@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_algorithm_1_written_out(seed: int, in_float64: Inputs) -> None:
    settings = config(seed=seed, iterations=10)
    steps = list(process.steps(krr_st, settings, in_float64))
    data = in_float64.data
    assert data is not None
    images = data.normalised(torch.arange(len(data.train_labels)))
    wanted_images, wanted_targets, traces = algorithm_1(settings, images, krr_st.teacher_features(in_float64))
    assert any(trained == settings.pool_steps for _, _, trained, _ in traces)  # one at least was drawn anew
    ours = [s.trace for s in steps if s.trace.phase == "outer"]
    for found, (loss, index, trained, rate) in zip(ours, traces, strict=True):
        assert float(found.loss) == pytest.approx(loss, rel=1e-7)
        assert (found.network, found.trained) == (index, trained)
        assert found.learning_rate == pytest.approx(rate, rel=1e-12)
    last = steps[-1].state.parameters
    torch.testing.assert_close(last["images"], wanted_images, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(last["representations"], wanted_targets, rtol=1e-6, atol=1e-8)


def test_the_pool_is_filled_first(inputs: Inputs) -> None:
    settings = config(pool_size=4, pool_steps=6)
    waiting = pools.waiting_steps(4, 6, seed=0)
    steps = list(process.steps(krr_st, settings, inputs))
    first, rest = steps[: sum(waiting)], steps[sum(waiting) :]
    assert [s.trace.phase for s in first] == ["pool"] * sum(waiting) and len(set(waiting)) > 1
    assert [s.trace.phase for s in rest] == ["outer"] * settings.iterations
    trained = [(index, step) for index, count in enumerate(waiting) for step in range(count)]
    assert [(s.trace.network, s.trace.trained) for s in first] == trained
    assert first[-1].state.pool.trained.tolist() == waiting
    assert {s.trace.learning_rate for s in first} == {0.0}
    start = krr_st.init(settings, inputs).parameters
    for name, value in first[-1].state.parameters.items():
        assert torch.equal(value, start[name]) and not torch.equal(value, rest[-1].state.parameters[name])


def test_it_begins_with_real_images_and_what_the_teacher_says(inputs: Inputs, teacher: Network) -> None:
    state, data = krr_st.init(config(budget=7), inputs), inputs.data
    assert data is not None
    chosen = krr_st.real_indices(36, 7, seed=0)
    assert len(set(chosen.tolist())) == 7
    assert torch.equal(state.parameters["images"], data.normalised(chosen))
    said = networks.predict(teacher, data.normalised(chosen)).features
    torch.testing.assert_close(state.parameters["representations"], said)


@pytest.mark.parametrize("reset", [True, False])
def test_how_often_an_outer_step_sees_an_untrained_network(
    reset: bool, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long run of the counters alone. With the authors' slip all but the first Z - z + 1 draws of a network see a new one."""
    settings = config(reset=reset, pool_size=4, pool_steps=20, iterations=2000)

    def outer(config: Any, inputs: Any, state: krr_st.State, made: Any) -> Any:
        draw = randomness.generator(config.seed, state.step - krr_st.filling_steps(config), "outer step")
        return state.parameters, state.optimiser, torch.zeros(()), int(torch.randint(4, (), generator=draw))

    def inner(config: Any, inputs: Any, pool: pools.Pool, parameters: Any, index: int, made: Any) -> Any:
        trained = pool.trained.clone()
        trained[index] += 1
        return dataclasses.replace(pool, trained=trained), torch.zeros(())

    monkeypatch.setattr(krr_st, "outer_step", outer)
    monkeypatch.setattr(krr_st, "inner_step", inner)
    monkeypatch.setattr(pools, "_with_new_weights", lambda pool, *given, **options: pool)
    state, untrained, draws = krr_st.init(settings, inputs), 0, [0] * 4
    age = [0] * 4  # inner steps since a network was born, told by the births alone
    for step in process.steps(krr_st, settings, inputs, state):
        if step.trace.phase == "outer":
            untrained += age[step.trace.network] == 0
            draws[step.trace.network] += 1
        born = step.state.pool.births[step.trace.network] > state.pool.births[step.trace.network]
        age[step.trace.network] = 0 if born else age[step.trace.network] + 1
        state = step.state
    waiting = pools.waiting_steps(4, 20, seed=0)
    if reset:
        cycles = [(z + n - 1) // 21 for z, n in zip(waiting, draws, strict=True)]  # 0 ... Z, then anew
        assert untrained == sum(cycles) and untrained / 2000 < 0.06
    else:
        assert untrained == sum(n - (20 - z + 1) for z, n in zip(waiting, draws, strict=True))
        assert untrained / 2000 > 0.95


def test_the_loss_falls(inputs: Inputs) -> None:
    """The mean error over fresh networks that have learnt the pairs, before and after: on all real images."""
    settings = config(iterations=60, pool_steps=10, pool_size=3)
    losses = [s.trace.loss for s in process.steps(krr_st, settings, inputs) if s.trace.phase == "outer"]
    assert float(torch.stack(losses[-15:]).mean()) < 0.8 * float(torch.stack(losses[:15]).mean())


def test_a_teacher_of_its_own_has_seen_no_labels(grey: ImageData, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, asked = self_supervised.Config.for_data(grey, epochs=2, warmup_epochs=0, projector_width=8), []

    def short(data: ImageData) -> Any:
        asked.append(data)
        return recipe

    monkeypatch.setattr(self_supervised.Config, "for_data", short)
    monkeypatch.setattr(supervised, "update", lambda *_: pytest.fail("a teacher read labels"))
    found = ddlab.distill("krr_st", grey, config=config(), device="cpu", progress=False)
    monkeypatch.undo()
    assert asked == [grey]
    teacher = process.run(self_supervised, recipe, Inputs(data=grey))
    again = ddlab.distill("krr_st", grey, teacher, config(), device="cpu", progress=False)
    assert torch.equal(found.images, again.images)


def test_what_is_finished(inputs: Inputs) -> None:
    steps = list(process.steps(krr_st, config(), inputs))
    last = steps[-1].state
    made = krr_st.finish(config(), inputs, last)
    images, targets = made.pairs()
    assert torch.equal(images, last.parameters["images"]) and torch.equal(targets, last.parameters["representations"])
    assert made.complete and len(made) == 5 and made.storage_floats() == 5 * (64 + targets.shape[1])
    assert not krr_st.finish(config(), inputs, steps[-2].state).complete


def test_wrong_numbers_are_named(inputs: Inputs, teacher: Network) -> None:
    with refuses("budget", "36", "37"):
        krr_st.init(config(budget=37), inputs)
    with refuses("depth"):
        krr_st.init(config(network=networks.spec("convnet", width=3, depth=5)), inputs)
    with refuses("wanted", "36"):
        krr_st.real_indices(36, 40, seed=0)
    broken = {n: torch.full_like(v, torch.nan) if v.ndim else v for n, v in teacher.weights.items()}
    with pytest.raises(NonFiniteError, match=r"in the teacher.* at step 0\."):
        krr_st.init(config(), dataclasses.replace(inputs, teachers=(dataclasses.replace(teacher, weights=broken),)))


def test_twice_the_same_image_needs_a_ridge(grey: ImageData, teacher: Network) -> None:
    images = grey.train_images.clone()
    images[:] = images[:18].repeat(2, 1, 1, 1)
    inputs = Inputs(data=dataclasses.replace(grey, train_images=images), teachers=(teacher,))
    with refuses("ridge", "invertible"):
        process.run(krr_st, config(budget=36, ridge=0.0), inputs)
    assert process.run(krr_st, config(budget=36, ridge=1e-6, iterations=2), inputs).complete


def test_presets() -> None:
    paper = krr_st.Config.paper()
    assert (paper.budget, paper.iterations, paper.pool_size, paper.pool_steps) == (100, 30_000, 10, 1000)
    assert (paper.batch_size, paper.learning_rate, paper.ridge, paper.reset) == (1024, 1e-3, 1e-6, True)
    assert paper.network == networks.spec("convnet", width=128, growth=2)
    assert paper == krr_st.Config() == krr_st.Config.paper("cifar10")
    small = krr_st.Config.teaching(iterations=5)
    assert (small.pool_size, small.pool_steps, small.iterations) == (3, 50, 5)
