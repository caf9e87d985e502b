"""ReLA's training: its equations by hand, a plain PyTorch loop, and the processes that it is in its
limits.
"""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ddlab import methods, networks
from ddlab.core import Parameters
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, HardLabels, Representations
from ddlab.networks import Network
from ddlab.runs import Inputs, process
from ddlab.unlabelled import self_supervised, with_targets
from ddlab.unlabelled.self_supervised import OBJECTIVES, Teacher, barlow_twins, byol
from ddlab.unlabelled.self_supervised import teacher as parts
from tests.networks.test_networks import plain
from tests.support import assert_same, made_data, refuses, run_to_end
from tests.unlabelled.self_supervised.test_teacher import module_of

BARLOW = barlow_twins.SMALL.replace(
    batch_size=8, optimiser="adamw", learning_rate=0.3, second_solarise_probability=0.7
)


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data(channels=3, train=8)


@pytest.fixture(scope="module")
def inputs(data: ImageData) -> Inputs:
    """24 colour images, and targets of an untrained prior."""
    prior = networks.initialise(networks.spec("convnet", width=8).for_data(data), seed=1)
    method = methods.get("rela")
    return Inputs(
        distilled=run_to_end(
            method, method.SMALL.replace(ratio=1.0), Inputs(data=data, teachers=(prior,))
        )
    )


def small(**changes: Any) -> with_targets.Config:
    settings: dict[str, Any] = {"objective": BARLOW}
    return with_targets.Config(**settings | changes)


def states(config: with_targets.Config, inputs: Inputs) -> list[Any]:
    return [step.state for step in process.steps(with_targets, config, inputs)]


def test_the_loss_is_one_minus_the_cosine() -> None:
    first = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    second = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    a, b = first.numpy(), second.numpy()
    expected = np.mean(
        [1 - a[i] @ b[i] / np.linalg.norm(a[i]) / np.linalg.norm(b[i]) for i in range(5)]
    )
    assert float(with_targets.cosine_loss(first, second)) == pytest.approx(expected, abs=1e-14)
    leaf = first.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: with_targets.cosine_loss(x, second), (leaf,))
    lengths = np.linalg.norm(a.copy(), axis=1)[:, None], np.linalg.norm(b, axis=1)[:, None]
    cosines = (a * b).sum(1, keepdims=True) / lengths[0] / lengths[1]
    by_hand = -(b / lengths[1] - cosines * a / lengths[0]) / lengths[0] / 5
    np.testing.assert_allclose(
        torch.autograd.grad(with_targets.cosine_loss(leaf, second), leaf)[0].numpy(),
        by_hand,
        atol=1e-14,
    )
    assert float(with_targets.cosine_loss(torch.zeros(2, 3), torch.ones(2, 3))) == 1


def test_lambda_is_algorithm_1s() -> None:
    """Written down once more with floats, on losses that fall, rise and stay."""
    losses = [*np.linspace(1.1, 0.3, 60), *np.linspace(0.3, 0.9, 20), *[0.9] * 20]
    averages = torch.tensor(with_targets.FIRST_AVERAGES, dtype=torch.float64)
    mean = 2.0
    rho_mean = 0.0
    for loss in losses:
        rho = np.exp(-max(mean - loss, 0) * 40)
        rho_mean = 0.6 * rho_mean + 0.4 * rho
        mean = 0.9 * mean + 0.1 * loss
        averages, share = with_targets.adapt(
            averages, torch.tensor(loss, dtype=torch.float64), 0.9, 0.6
        )
        assert float(share) == pytest.approx(0.8 - rho_mean * 0.8, abs=1e-13)
        assert averages.tolist() == pytest.approx([mean, rho_mean], abs=1e-13)
    first = with_targets.adapt(torch.tensor([2.0, 0.0]), torch.tensor(1.0))
    assert float(first[1]) == pytest.approx(0.8) and first[0].tolist() == pytest.approx(
        [1.999, 0.05 * np.exp(-40)]
    )


def test_the_plateau_is_that_of_the_authors_code() -> None:
    """Written down once more with floats: a loss that stays switches in step 2,304, one that falls
    to nought by 1e-4 later.
    """
    for loss_at, expected in (
        (lambda step: 1.0, True),
        (lambda step: max(1 - 1e-4 * step, 0), False),
    ):
        averages = torch.tensor(with_targets.FIRST_SMOOTHED, dtype=torch.float64)
        fast = 1.0
        slow = 2.0
        decisions = list[bool]()
        for step in range(3000):
            fast = 0.999 * fast + 0.001 * loss_at(step)
            slow = 0.99 * slow + 0.01 * fast
            averages = with_targets.smooth(
                averages, torch.tensor(loss_at(step), dtype=torch.float64)
            )
            assert averages.tolist() == pytest.approx([fast, slow], abs=1e-12)
            assert with_targets.at_plateau(averages) == (np.exp(-max(slow - fast, 0)) >= 0.995)
            decisions.append(with_targets.at_plateau(averages))
        assert decisions[-1] == expected and not decisions[100]
    assert not with_targets.at_plateau(torch.tensor(with_targets.FIRST_SMOOTHED))


def test_at_the_plateau_the_objective_takes_over_for_good(
    inputs: Inputs, data: ImageData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(with_targets, "PLATEAU", 0.39)
    config = with_targets.Config(
        objective=byol.SMALL.replace(epochs=6, batch_size=8), first_views="objective"
    )
    steps = [*process.steps(with_targets, config, inputs)]
    shares = [float(step.trace.share) for step in steps]
    at = shares.index(0.0)
    assert 2 < at < 12 and shares == [1.0] * at + [0.0] * (len(steps) - at)
    by_switch = run_to_end(
        with_targets, config.replace(schedule="switch", switch=at / len(steps)), inputs
    )
    assert_same(run_to_end(with_targets, config, inputs).weights, by_switch.weights)


def test_averages_are_as_long_a_part_of_any_run() -> None:
    """What is left of a first value after a tenth of the run is the same."""
    for decay in (0.95, 0.999):
        assert with_targets.scaled_decay(decay, total=with_targets.PUBLISHED_STEPS) == decay
        tenth_part = [
            with_targets.scaled_decay(decay, total=total) ** (total / 10)
            for total in (100, 39_000, 10**6)
        ]
        assert tenth_part == pytest.approx([decay**3900] * 3, rel=1e-9)


def test_an_epoch_sees_a_part_of_the_images_once() -> None:
    options: dict[str, Any] = {"count": 20, "size": 7, "seed": 3}
    anew = [with_targets.subset(epoch=epoch, static=False, **options) for epoch in range(40)]
    once = [with_targets.subset(epoch=epoch, static=True, **options) for epoch in range(40)]
    assert all(len(set(rows.tolist())) == 7 for rows in anew + once)
    assert len({*torch.cat(anew).tolist()}) == 20 and len({*torch.cat(once).tolist()}) == 7
    assert (
        len({tuple(rows.tolist()) for rows in anew})
        == len({tuple(rows.tolist()) for rows in once})
        == 40
    )
    views = self_supervised.TwoViews(batch_size=20, seed=3)
    assert torch.equal(
        with_targets.subset(20, 20, epoch=2, static=False, seed=3), views.indices(20, 2)
    )
    with refuses("size", "20", "21"):
        with_targets.subset(20, 21, epoch=0, static=False, seed=0)


def plain_loop(
    settings: with_targets.Config, inputs: Inputs, data: ImageData, shares: Any, milder: bool
) -> list[list[float]]:
    """A script's loop by Barlow Twins and ReLA; the weights' first values, order, views and rates
    are the library's.
    """
    objective_config = settings.objective_config
    source = inputs.distilled
    assert source is not None
    start = with_targets.init(settings, inputs)
    targets = source.target("representations").values[0]
    spec = objective_config.network.for_data(data)
    module: Any = plain(Network(spec=spec, weights=start.weights))
    projector = module_of(start.projector, objective_config.projector_depth)
    matrix = start.projection["weight"].clone().requires_grad_()
    bias = start.projection["bias"].clone().requires_grad_()
    hooked: dict[str, Tensor] = {}
    module.classifier.register_forward_pre_hook(lambda _, inputs: hooked.update(features=inputs[0]))
    learnt = [p for name, p in module.named_parameters() if not name.startswith("classifier")]
    learnt += [*projector.parameters()] if not milder else []
    solver = torch.optim.AdamW(
        [*learnt, *([matrix, bias] if settings.train_projection else [])],
        weight_decay=objective_config.weight_decay,
    )
    total = with_targets.total_steps(settings, inputs)
    rows_told = []
    colours = dict.fromkeys(("brightness", "contrast", "saturation", "jitter_probability"), 0.8)
    milder_views = {
        "crop_area": 0.5,
        "hue": 0.2,
        "grey_probability": 0.2,
        "second_solarise_probability": 0.0,
    }
    views_of = objective_config.replace(**colours, **milder_views) if milder else objective_config
    for step in range(total):
        solver.param_groups[0]["lr"] = parts._learning_rate(objective_config, 24, step, total)
        rows = objective_config.indices(24, step)
        features = []
        for view in views_of.pair(data.normalised(rows), mean=data.mean, std=data.std, step=step):
            module.train()(view)
            features.append(hooked["features"])
        loss = (
            sum(
                (1 - torch.cosine_similarity(view_features @ matrix.T + bias, targets[rows])).mean()
                for view_features in features
            )
            / 2
        )
        share = shares(float(torch.as_tensor(loss).detach()))
        first, second = (projector(view_features) for view_features in features)
        weight = {"off_diagonal_weight": BARLOW.off_diagonal_weight}
        objective = 0 if milder else self_supervised.barlow_twins_loss(first, second, **weight)
        solver.zero_grad()
        (share * loss + (1 - share) * objective).backward()
        solver.step()
        norms = []
        for of in (learnt, [matrix, bias]):
            norms.append(float(torch.cat([p.detach().flatten() for p in of]).norm()))
        rows_told.append([float(torch.as_tensor(loss).detach()), share, *norms])
    return rows_told


@pytest.mark.parametrize("kind", ["adaptive", "constant", "targets alone"])
def test_updates_equal_a_plain_loop(
    kind: str, inputs: Inputs, data: ImageData, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Algorithm 1 begins where the losses are, so that lambda moves in six steps."""
    monkeypatch.setattr(with_targets, "FIRST_AVERAGES", (1.0, 0.0))
    monkeypatch.setattr(with_targets, "scaled_decay", lambda decay, total: decay)
    mean = 1.0
    rho_mean = 0.0

    def adaptive(loss: float) -> float:
        nonlocal mean, rho_mean
        rho_mean = 0.95 * rho_mean + 0.05 * float(np.exp(-40 * max(mean - loss, 0)))
        mean = 0.999 * mean + 0.001 * loss
        return 0.8 * (1 - rho_mean)

    share = 1.0 if kind == "targets alone" else 0.9
    config = small(
        schedule="adaptive" if kind == "adaptive" else "constant",
        share=share,
        train_projection=share < 1,
    )
    expected = plain_loop(
        config, inputs, data, adaptive if kind == "adaptive" else lambda _: share, share == 1
    )
    ours = []
    for step in process.steps(with_targets, config, inputs):
        spec = config.objective_config.network.for_data(data)
        encoder = {f"network.{name}": value for name, value in step.state.weights.items()}
        names = [name for name in parts._learn(spec, {}) if name in encoder]
        values = [encoder[name] for name in names] + (
            [*step.state.projector.values()] if share < 1 else []
        )
        norms = [
            float(torch.cat([value.flatten() for value in values]).norm()),
            float(torch.cat([*map(torch.flatten, step.state.projection.values())]).norm()),
        ]
        ours.append([float(step.trace.target_loss), float(step.trace.share), *norms])
    # Adam makes steps of the rounding in gradients that are 0, those of biases before batch norm:
    # hence the wide second one.
    np.testing.assert_allclose(np.delete(ours, 2, 1), np.delete(expected, 2, 1), rtol=2e-4)
    np.testing.assert_allclose(np.take(ours, 2, 1), np.take(expected, 2, 1), rtol=2e-3)
    assert (len({share for _, share, *_ in ours}) > 2) == (kind == "adaptive")


@pytest.mark.parametrize("name", OBJECTIVES)
def test_without_targets_it_is_the_objectives_own_process(
    name: str, inputs: Inputs, data: ImageData
) -> None:
    """Lambda 0 and all images: the same tensors bit for bit, in every step."""
    objective = OBJECTIVES[name].SMALL.replace(seed=4, batch_size=10)
    config = with_targets.Config(
        objective=objective.replace(seed=9), schedule="constant", share=0.0, seed=4
    )
    expected = [
        step.state
        for step in process.steps(Teacher(OBJECTIVES[name]), objective, Inputs(data=data))
    ]
    ours = []
    for state in states(config, inputs):
        ours.append(
            parts.State(**{f.name: getattr(state, f.name) for f in dataclasses.fields(parts.State)})
        )
    assert_same(ours, expected)
    assert_same(
        run_to_end(with_targets, config, inputs).weights,
        run_to_end(Teacher(OBJECTIVES[name]), objective, Inputs(data=data)).weights,
    )


def test_targets_alone_do_not_ask_the_objective(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byol, "loss", lambda *_: pytest.fail("asked"))
    config = with_targets.Config(
        objective=byol.SMALL.replace(weight_decay=0.5), schedule="constant", share=1.0
    )
    start = with_targets.init(config, inputs)
    last = states(config, inputs)[-1]
    assert_same(
        (last.projector, last.objective.trained), (start.projector, start.objective.trained)
    )
    target = start.objective.target["network.classifier.weight"]
    momentum = byol.SMALL.target_momentum
    assert torch.equal(last.objective.target["network.classifier.weight"], target)
    name = next(name for name in start.weights if name.endswith("weight"))
    first_state = states(config, inputs)[0]
    followed = (
        momentum * start.objective.target[f"network.{name}"]
        + (1 - momentum) * first_state.weights[name]
    )
    torch.testing.assert_close(first_state.objective.target[f"network.{name}"], followed)


def test_after_the_switch_it_is_the_objectives_own_process(inputs: Inputs, data: ImageData) -> None:
    """With an optimiser that begins there; W, if it is trained, waits."""
    objective = byol.SMALL.replace(epochs=6, batch_size=8)
    config = with_targets.Config(
        objective=objective, schedule="switch", switch=0.5, train_projection=True
    )
    steps = [*process.steps(with_targets, config, inputs)]
    assert [float(step.trace.share) for step in steps] == [1.0] * 9 + [0.0] * 9
    first = steps[0].state.projection
    switched = steps[8].state.projection
    last = steps[-1].state.projection
    assert not any(torch.equal(first[name], switched[name]) for name in first)
    assert_same(switched, last)
    spec = config.objective_config.network.for_data(data)
    state = parts.restart(config.objective_config, spec, steps[8].state, {})
    state = parts.State(**{f.name: getattr(state, f.name) for f in dataclasses.fields(parts.State)})
    *_, last_step = process.steps(Teacher(byol), config.objective_config, Inputs(data=data), state)
    assert_same(steps[-1].state.weights, last_step.state.weights)


@pytest.mark.slow
def test_w_is_trained_only_on_request_and_targets_are_learnt(inputs: Inputs) -> None:
    still = BARLOW.replace(
        epochs=40, learning_rate=0.3, jitter_probability=0.0, grey_probability=0.0
    )
    for trained in (False, True):
        changes: dict[str, Any] = {"schedule": "constant", "share": 1.0, "first_views": "objective"}
        config = small(objective=still, train_projection=trained, **changes)
        steps = [*process.steps(with_targets, config, inputs)]
        weights = [
            state.projection["weight"]
            for state in (steps[-1].state, with_targets.init(config, inputs))
        ]
        assert torch.equal(*weights) != trained
        losses = [float(step.trace.target_loss) for step in steps]
        assert np.mean(losses[-6:]) < np.mean(losses[:6]) - 0.1


@pytest.mark.parametrize("subset", ["dynamic", "static"])
def test_few_images_make_one_batch(subset: str, inputs: Inputs) -> None:
    config = small(ratio=0.2, subset=subset)
    assert with_targets.total_steps(config, inputs) == BARLOW.epochs  # 5 of 24 images, batches of 8
    assert run_to_end(with_targets, config, inputs).provenance["complete"]


def test_a_config_is_text_and_back() -> None:
    config = with_targets.Config(
        objective=OBJECTIVES["simclr"].SMALL, ratio=0.3, schedule="adaptive"
    )
    assert with_targets.Config.from_string(config.to_string()) == config
    assert (
        self_supervised.Training.from_dict(json.loads(json.dumps(config.to_dict()))["objective"])
        == config.objective
    )
    assert with_targets.Config.from_string('objective="byol"') == with_targets.Config()
    for wrong in ({}, {"loss": "none"}, 3):
        with refuses("objective"):
            self_supervised.Training.from_dict(wrong)  # type: ignore[arg-type]


def test_the_published_objective_is_byol_of_its_own_preset() -> None:
    assert with_targets.Config.paper("cifar10").objective == byol.Config.paper("cifar10")


def test_what_it_cannot_train_on(inputs: Inputs, data: ImageData) -> None:
    with refuses("distilled", "rela_f", "none"):
        run_to_end(with_targets, small(), Inputs(data=data))
    with refuses("ratio", "at least two of 24 images", "0.05"):
        run_to_end(with_targets, small(ratio=0.05), inputs)
    with refuses("ratio", "(0, 1]", "0.0"):
        small(ratio=0.0)
    with refuses("objective", "Training"):
        small(objective=Parameters())
    assert inputs.distilled is not None
    labelled = DistilledSet(
        tensors={"images": inputs.distilled.images},
        targets=(HardLabels(torch.zeros(24, dtype=torch.int64)),),
        class_names=("a",),
        mean=data.mean,
        std=data.std,
    )
    with refuses("labels", "'representations'"):
        run_to_end(with_targets, small(), Inputs(distilled=labelled))
    labelled_pairs = labelled.with_targets(
        Representations({"representations": torch.ones(1, 24, 3)})
    )
    assert run_to_end(with_targets, small(), Inputs(distilled=labelled_pairs)).provenance[
        "complete"
    ]
