"""KRR-ST against Algorithm 1 written out with torch's own modules and optimisers in float64; its
pool; what it must refuse.
"""

import dataclasses
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.core import NonFiniteError, randomness
from ddlab.data import ImageData
from ddlab.methods import krr_st
from ddlab.methods.shared import network_pool as pools
from ddlab.networks import Network
from ddlab.runs import Inputs, process
from ddlab.training import supervised
from ddlab.unlabelled import self_supervised
from tests.support import refuses, run_to_end

SMALL: dict[str, Any] = {
    "budget": 5,
    "network": networks.spec("convnet", width=3, growth=2, depth=2),
    "pool_size": 2,
    "pool_steps": 3,
    "iterations": 7,
    "batch_size": 20,
    "learning_rate": 1e-2,
    "ridge": 1e-3,
}


@pytest.fixture
def inputs(grey: ImageData, teacher: Network) -> Inputs:
    return Inputs(data=grey, teachers=(teacher,))


def config(**changes: Any) -> krr_st.Config:
    return krr_st.Config(**SMALL | changes)


def test_the_pool_is_filled_first(inputs: Inputs) -> None:
    settings = config(pool_size=4, pool_steps=6)
    waiting = pools.waiting_steps(4, 6, seed=0)
    steps = list(process.steps(krr_st, settings, inputs))
    first = steps[: sum(waiting)]
    later_steps = steps[sum(waiting) :]
    assert [s.trace.phase for s in first] == ["pool"] * sum(waiting) and len(set(waiting)) > 1
    assert [s.trace.phase for s in later_steps] == ["outer"] * settings.iterations
    trained = []
    for index, count in enumerate(waiting):
        for step in range(count):
            trained.append((index, step))
    assert [(s.trace.network, s.trace.trained) for s in first] == trained
    assert first[-1].state.pool.trained.tolist() == waiting
    assert {s.trace.learning_rate for s in first} == {0.0}
    start = krr_st.init(settings, inputs).parameters
    for name, value in first[-1].state.parameters.items():
        assert torch.equal(value, start[name]) and not torch.equal(
            value, later_steps[-1].state.parameters[name]
        )


def test_it_begins_with_real_images_and_what_the_teacher_says(
    inputs: Inputs, teacher: Network
) -> None:
    state = krr_st.init(config(budget=7), inputs)
    data = inputs.data
    assert data is not None
    chosen = krr_st.real_indices(36, 7, seed=0)
    assert len(set(chosen.tolist())) == 7
    assert torch.equal(state.parameters["images"], data.normalised(chosen))
    features = networks.predict(teacher, data.normalised(chosen)).features
    torch.testing.assert_close(state.parameters["representations"], features)


@pytest.mark.parametrize("reset", [True, False])
def test_how_often_an_outer_step_sees_an_untrained_network(
    reset: bool, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long run of the counters alone.

    With the authors' slip all but the first Z - z + 1 draws of a network see a new one.
    """
    settings = config(reset=reset, pool_size=4, pool_steps=20, iterations=2000)

    def outer(config: Any, inputs: Any, state: krr_st.State, pairs_made: Any) -> Any:
        draw = randomness.generator(
            config.seed, state.step - krr_st.filling_steps(config), "outer step"
        )
        return (
            state.parameters,
            state.optimiser,
            torch.zeros(()),
            int(torch.randint(4, (), generator=draw)),
        )

    def inner(
        config: Any, inputs: Any, pool: pools.Pool, parameters: Any, index: int, pairs_made: Any
    ) -> Any:
        trained = pool.trained.clone()
        trained[index] += 1
        return dataclasses.replace(pool, trained=trained), torch.zeros(())

    monkeypatch.setattr(krr_st, "outer_step", outer)
    monkeypatch.setattr(krr_st, "inner_step", inner)
    monkeypatch.setattr(pools, "_with_new_weights", lambda pool, *arguments, **options: pool)
    state = krr_st.init(settings, inputs)
    untrained = 0
    draws = [0] * 4
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
        # 0 ... Z, then anew.
        cycles = [(z + n - 1) // 21 for z, n in zip(waiting, draws, strict=True)]
        assert untrained == sum(cycles) and untrained / 2000 < 0.06
    else:
        assert untrained == sum(n - (20 - z + 1) for z, n in zip(waiting, draws, strict=True))
        assert untrained / 2000 > 0.95


def test_the_loss_falls(inputs: Inputs) -> None:
    """The mean error over fresh networks that have learnt the pairs, before and after: on all real
    images.
    """
    settings = config(iterations=60, pool_steps=10, pool_size=3)
    losses = [
        s.trace.loss for s in process.steps(krr_st, settings, inputs) if s.trace.phase == "outer"
    ]
    assert float(torch.stack(losses[-15:]).mean()) < 0.8 * float(torch.stack(losses[:15]).mean())


def test_a_teacher_of_its_own_has_seen_no_labels(
    grey: ImageData, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = self_supervised.Config.for_data(grey, epochs=2, warmup_epochs=0, projector_width=8)
    trained_on = []

    def short(data: ImageData) -> Any:
        trained_on.append(data)
        return recipe

    monkeypatch.setattr(self_supervised.Config, "for_data", short)
    monkeypatch.setattr(supervised, "update", lambda *_: pytest.fail("a teacher read labels"))
    distilled = ddlab.distill("krr_st", grey, config=config(), device="cpu", progress=False)
    monkeypatch.undo()
    assert trained_on == [grey]
    teacher = run_to_end(self_supervised, recipe, Inputs(data=grey))
    again = ddlab.distill("krr_st", grey, teacher, config(), device="cpu", progress=False)
    assert torch.equal(distilled.images, again.images)


def test_what_is_finished(inputs: Inputs) -> None:
    steps = list(process.steps(krr_st, config(), inputs))
    last = steps[-1].state
    distilled = krr_st.finish(config(), inputs, last)
    images, targets = distilled.pairs()
    assert torch.equal(images, last.parameters["images"]) and torch.equal(
        targets, last.parameters["representations"]
    )
    assert (
        distilled.complete
        and len(distilled) == 5
        and distilled.storage_floats() == 5 * (64 + targets.shape[1])
    )
    assert not krr_st.finish(config(), inputs, steps[-2].state).complete


def test_wrong_numbers_are_named(inputs: Inputs, teacher: Network) -> None:
    with refuses("budget", "36", "37"):
        krr_st.init(config(budget=37), inputs)
    with refuses("depth"):
        krr_st.init(config(network=networks.spec("convnet", width=3, depth=5)), inputs)
    with refuses("chosen", "36"):
        krr_st.real_indices(36, 40, seed=0)
    broken = {n: torch.full_like(v, torch.nan) if v.ndim else v for n, v in teacher.weights.items()}
    with pytest.raises(NonFiniteError, match=r"in the teacher.* at step 0\."):
        krr_st.init(
            config(),
            dataclasses.replace(inputs, teachers=(dataclasses.replace(teacher, weights=broken),)),
        )


def test_twice_the_same_image_needs_a_ridge(grey: ImageData, teacher: Network) -> None:
    images = grey.train_images.clone()
    images[:] = images[:18].repeat(2, 1, 1, 1)
    inputs = Inputs(data=dataclasses.replace(grey, train_images=images), teachers=(teacher,))
    with refuses("ridge", "invertible"):
        run_to_end(krr_st, config(budget=36, ridge=0.0), inputs)
    assert run_to_end(krr_st, config(budget=36, ridge=1e-6, iterations=2), inputs).complete
