"""GTN against its loops written out in float64; orders; controls; the set as its own training; what
is refused.
"""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, OrderedSteps, generators
from ddlab.methods import gtn
from ddlab.methods.shared import curriculum
from ddlab.runs import Inputs, process
from ddlab.training import ordered
from tests.support import refuses, run_to_end

STEPS = 3
BATCH = 4
CHANGES: list[dict[str, Any]] = [
    {},
    {"generator": "perceptron", "weight_norm": False},
    {"real_loss": "end", "curriculum": "batches_shuffled"},
    {"curriculum": "all_shuffled"},
    {"curriculum": "none"},
    {"generator": "none"},
    {"generator": "real"},
]


@pytest.fixture
def in_double(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights and real images of an update in float64."""
    first = ordered.first_weights
    draw_batches = curriculum.real_batches
    monkeypatch.setattr(
        gtn, "real_batches", lambda *args: [(x.double(), y) for x, y in draw_batches(*args)]
    )
    monkeypatch.setattr(
        ordered,
        "first_weights",
        lambda *args, **kwargs: {n: w.double() for n, w in first(*args, **kwargs).items()},
    )


def config(**changes: Any) -> gtn.Config:
    network = networks.spec("convnet", width=3, depth=1, norm="instance")
    plain: dict[str, Any] = {
        "steps": STEPS,
        "inner_batch": BATCH,
        "network": network,
        "initial_rate": 0.1,
    }
    return gtn.SMALL.replace(**plain | changes)


def written_out(
    settings: gtn.Config,
    data: ImageData,
    learned: dict[str, Tensor],
    row_order: list[Tensor],
    start: dict[str, Tensor],
    real: list[Any],
) -> Tensor:
    """The loops of the method: images of one step after another, heavy-ball SGD, and the loss after
    each step or the last.
    """
    module: Any = networks.initialise(settings.network.for_data(data), seed=0).module().double()
    weights = {name: value.clone().requires_grad_() for name, value in start.items()}
    speed = {name: torch.zeros_like(value) for name, value in weights.items()}
    losses = []
    for step, rows in enumerate(row_order):
        labels = rows % data.classes
        if settings.generator == "none":
            images = 2 * torch.tanh(learned["latents"][rows])
        else:
            shape = (data.channels, *data.image_size)
            images = generators.generate(learned, learned["latents"][rows], labels, shape)
        loss = F.cross_entropy(functional_call(module, weights, (images,)), labels)
        slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        rate = learned["log_rates"][step].exp()
        momentum = learned["log_momenta"][step].exp()
        speed = {
            name: momentum * speed[name] + slope
            for name, slope in zip(weights, slopes, strict=True)
        }
        weights = {name: value - rate * speed[name] for name, value in weights.items()}
        images, answers = real[min(step, len(real) - 1)]
        losses.append(F.cross_entropy(functional_call(module, weights, (images,)), answers))
    return torch.stack(losses).mean() if settings.real_loss == "every_step" else losses[-1]


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize(
    "change", [change_of for change_of in CHANGES if change_of.get("generator") != "real"], ids=str
)
def test_is_its_objective(
    change: dict[str, Any], recompute: bool, inputs: Inputs, in_double: None
) -> None:
    settings = config(recompute=recompute, **change)
    data = inputs.data
    assert data is not None
    learned = {name: value.double() for name, value in gtn.init(settings, inputs).learned.items()}
    loss, slopes = gtn.gradients(settings, inputs, 1, learned)
    leaves = {name: value.clone().requires_grad_() for name, value in learned.items()}
    tensors = dict(leaves)
    if settings.curriculum == "none":
        tensors["latents"] = curriculum.latents_of(settings, learned, 1)
    seed = gtn.randomness.derived_seed(settings.seed, 1, "start")
    start = ordered.first_weights(settings.network.for_data(data), "pytorch", seed=seed)
    row_order = list(curriculum.order_of(settings, 1))
    by_hand = written_out(
        settings, data, tensors, row_order, start, gtn.real_batches(settings, inputs, 1)
    )
    assert float(loss) == pytest.approx(by_hand.item(), rel=1e-10)
    expected = torch.autograd.grad(by_hand, list(leaves.values()), materialize_grads=True)
    for (name, slope), value in zip(slopes.items(), expected, strict=True):
        assert value.any() and torch.allclose(slope, value, rtol=1e-6, atol=1e-9), name


def test_orders_keep_what_their_name_says() -> None:
    settings = config(steps=5)
    orders = {
        name: curriculum.order_of(settings.replace(curriculum=name), 0)
        for name in curriculum.CURRICULA
    }
    rows = torch.arange(20).view(5, 4)
    assert torch.equal(orders["full"], rows)
    for batch in orders["batches_shuffled"]:
        assert any(torch.equal(batch, batch_rows) for batch_rows in rows)
    assert not torch.equal(orders["batches_shuffled"], rows)
    assert orders["all_shuffled"].flatten().tolist() != sorted(
        orders["all_shuffled"].flatten().tolist()
    )
    again = curriculum.order_of(settings.replace(curriculum="all_shuffled"), 1)
    assert not torch.equal(orders["all_shuffled"], again)


def test_latent_vectors_of_a_frozen_generator_go_downhill(inputs: Inputs, in_double: None) -> None:
    """Their gradient alone, against finite differences of the whole method with everything else as
    it is.
    """
    settings = config()
    learned = {name: value.double() for name, value in gtn.init(settings, inputs).learned.items()}
    _, slopes = gtn.gradients(settings, inputs, 0, learned)

    def loss_at(latents: Tensor) -> float:
        return float(gtn.gradients(settings, inputs, 0, {**learned, "latents": latents})[0])

    direction = 1e-5 * slopes["latents"] / slopes["latents"].norm()
    change = loss_at(learned["latents"] + direction) - loss_at(learned["latents"] - direction)
    assert change / 2e-5 == pytest.approx(float(slopes["latents"].norm()), rel=1e-6)


def test_a_long_gradient_is_cut_to_its_length_and_a_short_one_is_not() -> None:
    gradient = {"a": torch.tensor([3.0]), "b": torch.tensor([[4.0]])}
    cut = gtn.shorten(gradient, 1.0)
    assert float(cut["a"]) == pytest.approx(0.6) and float(cut["b"]) == pytest.approx(0.8)
    assert torch.equal(gtn.shorten(gradient, 6.0)["a"], gradient["a"])


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_set_is_its_own_training(
    change: dict[str, Any], inputs: Inputs, grey: ImageData, tmp_path: Any
) -> None:
    settings = config(**change)
    state = [*process.steps(gtn, settings, inputs)][-1].state
    distilled = gtn.finish(settings, inputs, state)
    assert (
        distilled.kind == ("images" if settings.generator in ("none", "real") else "generator")
        and distilled.complete
    )
    target = distilled.target("steps")
    assert (
        target.rates.shape == target.momenta.shape == (1, STEPS) and len(distilled) == STEPS * BATCH
    )
    again = DistilledSet.load(distilled.save(tmp_path / "set.safetensors"))
    assert again.fingerprint == distilled.fingerprint and torch.equal(
        again.target("steps").momenta, target.momenta
    )
    student = run_to_end(
        ordered, ordered.Config.for_set(again, seed=3), Inputs(distilled=again, device="cpu")
    )
    module: Any = networks.initialise(student.spec, seed=3).module()
    optimiser = torch.optim.SGD(module.parameters(), lr=1.0, momentum=0.0)
    steps = zip(
        distilled.images.chunk(STEPS),
        distilled.labels.chunk(STEPS),
        *target.rates,
        *target.momenta,
        strict=True,
    )
    for images, labels, rate, momentum in steps:
        optimiser.param_groups[0].update(lr=float(rate), momentum=float(momentum))
        optimiser.zero_grad()
        F.cross_entropy(module(images), labels).backward()
        optimiser.step()
    assert all(
        torch.allclose(student.weights[name], value, rtol=1e-4, atol=1e-6)
        for name, value in module.named_parameters()
    )
    scored = ddlab.evaluate(again, grey, labels="steps", seeds=[3], progress=False)
    assert scored.per_seed[3] == ddlab.accuracy(student, grey)


def test_random_architectures_differ_and_are_no_deeper(inputs: Inputs) -> None:
    settings = config(
        architectures="random", network=networks.spec("convnet", width=8, depth=2, norm="instance")
    )
    learners = [curriculum.learner(settings, inputs, step).options for step in range(30)]
    assert {options.depth for options in learners} == {1, 2} and len(
        {options.width for options in learners}
    ) > 5
    assert all(4 <= options.width <= 16 and options.norm == "instance" for options in learners)


def test_real_steps_are_of_their_classes_and_only_rates_learn(
    inputs: Inputs, grey: ImageData
) -> None:
    settings = config(generator="real")
    state = gtn.init(settings, inputs)
    assert state.learned.keys() == {"log_rates", "log_momenta"}
    labels = curriculum.class_numbers(settings, grey.classes)
    rows = curriculum.real_rows(settings, inputs, 0, labels)
    assert torch.equal(grey.train_labels[rows], labels)
    assert not torch.equal(rows, curriculum.real_rows(settings, inputs, 1, labels))


def test_what_is_refused(inputs: Inputs, grey: ImageData) -> None:
    with refuses("architectures", "convnet"):
        config(architectures="random", network=networks.spec("mlp"))
    with refuses("network", "batch norm"):
        gtn.init(config(network=networks.spec("convnet", width=4)), inputs)
    with refuses("data", "two classes"):
        gtn.init(config(), Inputs(data=grey.subset(classes=[0]), device="cpu"))
    distilled = gtn.finish(config(), inputs, gtn.init(config(), inputs))
    assert not distilled.complete
    with refuses("momenta of the steps"):
        distilled.with_targets(OrderedSteps(torch.ones(1, STEPS), momenta=torch.ones(1, 2)))
    diverging = config(initial_rate=1e20, initial_momentum=0.0)
    with pytest.raises(ddlab.core.errors.NonFiniteError, match="step 1"):
        gtn.update(diverging, inputs, gtn.init(diverging, inputs))
