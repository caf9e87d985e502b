"""DD and SLDD against a training loop written out with a module and torch.optim in float64;
limiting cases; sets; what is refused.
"""

import dataclasses
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ddlab
from ddlab import networks
from ddlab.core import NonFiniteError
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, OrderedSteps
from ddlab.lessons.learning_through_training.attack import attack_rates
from ddlab.methods import dd, sldd
from ddlab.runs import Inputs, process
from ddlab.training import ordered
from ddlab.training.unrolled import train
from tests.support import assert_same, refuses, run_to_end

SMALL: dict[str, Any] = {
    "network": networks.spec("mlp", width=5),
    "steps": 2,
    "epochs": 2,
    "networks": 2,
    "iterations": 6,
    "batch_size": 9,
    "initial_rate": 0.1,
    "halvings": 2,
}


def config(**changes: Any) -> dd.Config:
    return dd.Config(**SMALL | changes)


def soft(**changes: Any) -> sldd.Config:
    return sldd.Config(**SMALL | changes)


def distilled_by(settings: dd.Config, inputs: Inputs) -> DistilledSet:
    return run_to_end(dd if type(settings) is dd.Config else sldd, settings, inputs)


def in_double(state: dd.State) -> dd.State:
    learned = {name: value.double() for name, value in state.learned.items()}
    return dataclasses.replace(state, learned=learned, optimiser=dd.optimisers.adam_init(learned))


def written_out(
    settings: dd.Config,
    data: Any,
    learned: dict[str, Tensor],
    starts: list[Any],
    real: Tensor,
    labels: Tensor,
) -> Tensor:
    """The mean loss after ordered steps, by functional modules and a graph of torch's own."""
    answers = learned.get("labels", torch.arange(3).repeat(len(learned["images"]) // 3))
    if settings.softmax:
        answers = torch.exp(answers) / torch.exp(answers).sum(1, keepdim=True)
    rates = torch.log1p(torch.exp(learned["raw_rates"]))
    losses = []
    for weights in starts:
        module = (
            networks.Network(spec=settings.network.for_data(data), weights=weights)
            .module()
            .double()
        )
        current = {
            name: value.double().requires_grad_() for name, value in module.named_parameters()
        }
        for epoch in range(settings.epochs):
            for step in range(settings.steps):
                m = len(learned["images"]) // settings.steps
                rows = slice(step * m, (step + 1) * m)
                logits = torch.func.functional_call(module, current, (learned["images"][rows],))
                log_probabilities = torch.log_softmax(logits, 1)
                if answers.ndim == 1:
                    loss = -log_probabilities[torch.arange(m), answers[rows]].mean()
                else:
                    loss = -(answers[rows] * log_probabilities).sum(1).mean()
                slopes = torch.autograd.grad(loss, list(current.values()), create_graph=True)
                current = {
                    name: v - rates[epoch, step] * g
                    for (name, v), g in zip(current.items(), slopes, strict=True)
                }
        losses.append(F.cross_entropy(torch.func.functional_call(module, current, (real,)), labels))
    return torch.stack(losses).mean()


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"starts": "fixed"},
        {"learn_labels": True, "images": 2},
        {"learn_labels": True, "softmax": True, "initial_labels": "random"},
    ],
    ids=str,
)
def test_is_its_objective(
    change: dict[str, Any], recompute: bool, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(recompute=recompute, **change)
    draw_starts = dd.starts
    batch = dd.real_batch
    monkeypatch.setattr(
        dd,
        "starts",
        lambda *arguments: [
            {n: w.double() for n, w in weights.items()} for weights in draw_starts(*arguments)
        ],
    )
    monkeypatch.setattr(
        dd, "real_batch", lambda *arguments: (batch(*arguments)[0].double(), batch(*arguments)[1])
    )
    state = in_double(dd.init(settings, inputs))
    leaves = {name: value.clone().requires_grad_() for name, value in state.learned.items()}
    adam = torch.optim.Adam(leaves.values(), lr=settings.learning_rate, betas=(0.5, 0.999))
    for step in process.steps(dd, settings, inputs, state):
        number = step.index - 1
        starts = list(draw_starts(settings, inputs, number))
        assert len(starts) == (1 if settings.starts == "fixed" else 2)
        loss = written_out(
            settings, inputs.data, leaves, starts, *dd.real_batch(settings, inputs, number)
        )
        adam.param_groups[0]["lr"] = settings.learning_rate * (1.0 if number < 3 else 0.5)
        adam.zero_grad()
        loss.backward()
        adam.step()
        assert float(step.trace.loss) == pytest.approx(loss.item(), rel=1e-9)
        for name, value in step.state.learned.items():
            assert torch.allclose(value, leaves[name], rtol=1e-6, atol=1e-8), name


def test_without_learned_labels_sldd_is_dd_bit_for_bit(inputs: Inputs) -> None:
    dd_steps = list(process.steps(dd, config(), inputs))
    sldd_steps = list(process.steps(sldd, soft(learn_labels=False), inputs))
    assert_same(
        [(step.state, step.trace) for step in dd_steps],
        [(step.state, step.trace) for step in sldd_steps],
    )


def test_a_rate_of_zero_gives_images_no_gradient(inputs: Inputs) -> None:
    state = dd.init(config(), inputs)
    still = {**state.learned, "raw_rates": torch.full((2, 2), -200.0)}
    assert not dd.learned_rates(still["raw_rates"]).any()
    assert not dd.gradients(config(), inputs, 0, still)[1]["images"].any()
    assert dd.gradients(config(), inputs, 0, state.learned)[1]["images"].any()


def test_fewer_points_than_dimensions_cannot_serve_every_start() -> None:
    """One step of linear least squares: theta_1 - theta* = (I - r X'X / n)(theta_0 - theta*); 0 for
    all only where X has full rank.
    """
    dimensions = 4
    answer = torch.randn(
        dimensions, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    for points in (2, 3, 4):
        images = torch.eye(dimensions, dtype=torch.float64)[:points]

        def loss(step: int, weights: Any, learned: Any) -> Tensor:
            return (
                learned["images"] @ weights["theta"] - learned["images"] @ answer
            ).square().sum() / 2

        inner = ordered.Inner(steps=1, loss=loss, rate=lambda step, learned: 1.0)
        misses = []
        for seed in range(5):
            start = {
                "theta": torch.randn(
                    dimensions, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
                )
            }
            misses.append(
                float((train(inner, start, {"images": images})[-1]["theta"] - answer).norm())
            )
        assert (max(misses) < 1e-12) is (points == dimensions)


def test_a_set_is_its_own_training(inputs: Inputs, grey: ImageData, tmp_path: Any) -> None:
    """The student of its seed ends where the last inner step of the run would; saved and loaded it
    is the same set, and bills its rates.
    """
    settings = config(starts="fixed", seed=3)
    steps = list(process.steps(dd, settings, inputs))
    distilled = dd.finish(settings, inputs, steps[-1].state)
    target = distilled.target("steps")
    assert distilled.complete and target.rates.shape == (2, 2) and len(distilled) == 6
    assert distilled.storage_floats() == 6 * 64 + 6 + 4
    again = DistilledSet.load(distilled.save(tmp_path / "set.safetensors"))
    assert again.fingerprint == distilled.fingerprint and torch.equal(
        again.target("steps").rates, target.rates
    )
    student = run_to_end(
        ordered, ordered.Config.for_set(again, seed=3), Inputs(distilled=again, device="cpu")
    )
    (start,) = dd.starts(settings, inputs, 0)
    expected = train(dd.inner_of(settings, inputs, {}), start, steps[-1].state.learned)[-1]
    assert all(
        torch.allclose(student.weights[name], value, rtol=1e-5, atol=1e-7)
        for name, value in expected.items()
    )
    scored = ddlab.evaluate(again, grey, labels="steps", seeds=[3, 4], progress=False)
    assert scored.per_seed[3] == ddlab.accuracy(student, grey) and scored.network == "mlp(width=5)"


def test_learned_labels_are_stored_and_taught(
    inputs: Inputs, grey: ImageData, tmp_path: Any
) -> None:
    distilled = distilled_by(soft(images=2, softmax=True), inputs)
    target = distilled.target("steps")
    assert (
        len(distilled) == 4
        and target.labels.shape == (4, 3)
        and torch.allclose(target.labels.sum(1), torch.ones(4))
    )
    assert (
        torch.equal(distilled.labels, target.labels.argmax(1))
        and distilled.storage_floats() == 4 * 64 + 4 + 4 + 12
    )
    again = DistilledSet.load(distilled.save(tmp_path / "set.safetensors"))
    assert (
        torch.equal(again.target("steps").labels, target.labels)
        and again.fingerprint == distilled.fingerprint
    )
    assert 0 <= ddlab.evaluate(again, grey, labels="steps", seeds=[0], progress=False).mean <= 1
    first_labels = {
        kind: dd.first_labels(soft(initial_labels=kind), 3)
        for kind in ("class", "smoothed", "even", "random")
    }
    assert torch.equal(first_labels["class"], torch.eye(3).repeat(2, 1)) and torch.allclose(
        first_labels["even"], torch.full((6, 3), 1 / 3)
    )
    assert (
        torch.allclose(first_labels["smoothed"].max(1).values, torch.tensor(0.9 + 0.1 / 3))
        and len(first_labels["random"].unique()) == 18
    )


def test_pretrained_starts_learn_what_one_step_undoes(grey: ImageData) -> None:
    """The poisoning attack: on data where a class is called another, ordered steps from trained
    networks fool these.
    """
    spec = networks.spec("mlp", width=16).for_data(grey)
    teachers = tuple(networks.initialise(spec, seed=seed) for seed in (0, 1))
    attack: dict[str, Any] = {"attacked_class": 0, "taken_for": 2, "starts": "pretrained"}
    settings = config(steps=1, epochs=1, iterations=60, learning_rate=0.05, halvings=0, **attack)
    distilled = distilled_by(settings, Inputs(data=grey, teachers=teachers))
    config_of = ordered.Config.for_set(distilled, network=networks.spec("mlp", width=16))
    fooled = run_to_end(ordered, config_of, Inputs(distilled=distilled, teachers=teachers))
    rates = attack_rates(fooled, grey, 0, 2)
    assert rates["taken"] > rates["right"] and distilled.target("steps").rates.shape == (1, 1)
    stranger = networks.initialise(networks.spec("mlp", width=5).for_data(grey), seed=0)
    with refuses("teacher", "mlp(width=16)"):
        run_to_end(ordered, config_of, Inputs(distilled=distilled, teachers=(stranger,)))


def test_training_that_diverges_says_where(inputs: Inputs) -> None:
    with pytest.raises(
        NonFiniteError,
        match=r"^dataset_distillation must stay finite; .* at step 1; .* after inner step 2 of 4, "
        r"of rate 1e\+30",
    ):
        distilled_by(config(initial_rate=1e30), inputs)


def test_what_is_refused(inputs: Inputs, grey: ImageData) -> None:
    with refuses("network", "without batch norm"):
        distilled_by(config(network=networks.spec("convnet", width=4)), inputs)
    with refuses("teacher", "dataset_distillation"):
        distilled_by(config(starts="pretrained"), inputs)
    with refuses("images", "learn_labels"):
        config(images=2)
    distilled = distilled_by(config(iterations=1), inputs)
    with refuses("rates of the steps", "share 6 images evenly"):
        distilled.with_targets(OrderedSteps(torch.ones(1, 4)))
    with refuses("labels of the steps"):
        distilled.with_targets(OrderedSteps(torch.ones(1, 2), torch.ones(6, 4)))
    with refuses("config", "says how it is trained on"):
        ddlab.evaluate(
            distilled, grey, labels="steps", config=ddlab.training.supervised.Config.teaching()
        )
    with refuses("labels", "steps"):
        ddlab.evaluate(ddlab.distill("selection", grey, progress=False), grey, labels="steps")
    with refuses("distilled"):
        run_to_end(ordered, ordered.Config(), Inputs(device="cpu"))
    for wrong in ({"attacked_class": 1}, {"attacked_class": 1, "taken_for": 1}):
        with refuses("taken_for"):
            config(**wrong)
    with refuses("attacked_class", "below 3"):
        distilled_by(config(attacked_class=3, taken_for=0), inputs)
