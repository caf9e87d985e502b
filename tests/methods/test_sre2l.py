"""SRe2L against a plain PyTorch loop: module, hooks, torch.optim.Adam, in float64."""

import dataclasses
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from ddlab import networks
from ddlab.core import optimisers, randomness
from ddlab.data import ImageData
from ddlab.methods import sre2l
from ddlab.methods.shared import recovery
from ddlab.networks import Network
from ddlab.runs import Inputs, process
from tests.methods.test_recovery import hooked_gaps, plain_module
from tests.support import assert_same, doubled, made_data, refuses, run_to_end


@pytest.fixture
def inputs(colour: ImageData, colour_teacher: Network) -> Inputs:
    return Inputs(data=colour, teachers=(colour_teacher,))


def settings(**changes: Any) -> sre2l.Config:
    return sre2l.Config(
        **{
            "images_per_class": 2,
            "iterations": 4,
            "roll_pixels": 2,
            "learning_rate": 0.3,
            "seed": 3,
        }
        | changes
    )


def plain_recovery(
    config: sre2l.Config, data: ImageData, teacher: Network, images: Tensor, batch: int
) -> list[dict[str, Tensor]]:
    """The paper's loop for one batch, as a script would have it."""
    module = plain_module(teacher)
    images = images.clone().requires_grad_()
    optimiser = torch.optim.Adam([images], lr=config.learning_rate, betas=(0.5, 0.9), eps=1e-8)
    low, high = -data.mean / data.std, (1 - data.mean) / data.std
    frames = []
    for iteration in range(config.iterations):
        for group in optimiser.param_groups:
            group["lr"] = (
                config.learning_rate * (1 + math.cos(math.pi * iteration / config.iterations)) / 2
            )
        step = batch * config.iterations + iteration
        offsets = torch.randint(
            0,
            config.roll_pixels + 1,
            (2,),
            generator=randomness.generator(config.seed, step, "roll"),
        )
        logits, means, variances = hooked_gaps(
            module, torch.roll(images, tuple(offsets.tolist()), (2, 3))
        )
        multipliers = torch.ones_like(means)
        multipliers[0] = 10
        class_loss = F.cross_entropy(logits, torch.arange(data.classes))
        mean_gap = (multipliers * means).sum()
        variance_gap = (multipliers * variances).sum()
        loss = class_loss + config.lambda_mean * mean_gap + config.lambda_var * variance_gap
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            for channel in range(data.channels):
                images[:, channel].clamp_(float(low[channel]), float(high[channel]))
        frames.append(
            {
                "images": images.detach().clone(),
                "total_loss": loss.detach(),
                "class_loss": class_loss.detach(),
                "mean_gap": mean_gap.detach(),
                "variance_gap": variance_gap.detach(),
                "layer_mean_gaps": means.detach(),
                "layer_variance_gaps": variances.detach(),
                "class_probability": logits.detach().softmax(1).diagonal(),
            }
        )
    return frames


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"initialisation": "real", "roll_pixels": 0},
        {"lambda_mean": 1.5, "lambda_var": 0.0},
        {"lambda_mean": 0.0, "lambda_var": 0.7},
        {"lambda_mean": 0.0, "lambda_var": 0.0},
    ],
)
@pytest.mark.parametrize("batch", [0, 1])
def test_updates_equal_a_plain_loop(
    changes: dict[str, Any], batch: int, colour: ImageData, colour_teacher: Network
) -> None:
    config = settings(**changes)
    inputs = Inputs(data=colour, teachers=(doubled(colour_teacher),))
    start = recovery.first_images(config, inputs, batch).double()
    state = sre2l.State(
        batch * config.iterations, start, optimisers.adam_init({"images": start}), ()
    )
    expected = plain_recovery(config, colour, colour_teacher, start, batch)
    for iteration, frame in enumerate(expected):
        state, trace = sre2l.update(config, inputs, state)
        images = state.images if iteration + 1 < config.iterations or batch == 1 else state.done[-1]
        torch.testing.assert_close(images, frame.pop("images"), rtol=1e-9, atol=1e-9)
        for term, value in frame.items():
            torch.testing.assert_close(getattr(trace, term), value, rtol=1e-9, atol=1e-9)
        assert trace.learning_rate == pytest.approx(
            optimisers.cosine(iteration, config.iterations, config.learning_rate)
        )


def test_recovery_loss_is_equation_3() -> None:
    terms = [torch.tensor(value, dtype=torch.float64) for value in (2.0, 3.0, 5.0)]
    assert recovery.recovery_loss(*terms, lambda_mean=0.1, lambda_var=0.01) == pytest.approx(2.35)
    terms = [term.requires_grad_() for term in terms]
    assert torch.autograd.gradcheck(
        lambda *t: recovery.recovery_loss(*t, lambda_mean=0.1, lambda_var=0.01), terms
    )


def test_one_step_per_image_update(inputs: Inputs) -> None:
    assert sre2l.total_steps(settings(images_per_class=3, iterations=7), inputs) == 21


def test_batches_do_not_depend_on_each_other(inputs: Inputs) -> None:
    """The second batch is what a run that starts there gives, whatever the first was."""
    config = settings()
    whole = list(process.steps(sre2l, config, inputs))
    first = recovery.first_images(config, inputs, 1)
    assert_same(whole[config.iterations - 1].state.images, first)
    elsewhere = sre2l.State(config.iterations, first, optimisers.adam_init({"images": first}), ())
    later = list(process.steps(sre2l, config, inputs, elsewhere))
    assert_same([step.trace for step in later], [step.trace for step in whole[config.iterations :]])
    assert_same(later[-1].state.done[0], whole[-1].state.done[1])


def test_fewer_images_per_class_are_the_first_of_more(inputs: Inputs) -> None:
    fewer = run_to_end(sre2l, settings(images_per_class=1), inputs)
    more_images = run_to_end(sre2l, settings(images_per_class=2), inputs)
    assert_same(fewer.images, more_images.images[: len(fewer)])


def test_result_is_one_image_per_class_and_batch(
    inputs: Inputs, colour: ImageData, colour_teacher: Network
) -> None:
    distilled = run_to_end(sre2l, settings(), inputs)
    assert (
        distilled.labels.tolist() == [0, 1, 0, 1]
        and distilled.complete
        and distilled.provenance["method"] == sre2l.NAME
    )
    assert torch.equal(
        distilled.target("stored").logits, networks.predict(colour_teacher, distilled.images).logits
    )
    low, high = colour.valid_range()
    assert (distilled.images >= low).all() and (distilled.images <= high).all()


def test_large_steps_stay_in_the_valid_range(inputs: Inputs, colour: ImageData) -> None:
    low, high = colour.valid_range()
    for step in process.steps(sre2l, settings(learning_rate=50.0, images_per_class=1), inputs):
        images = step.state.images
        assert (images >= low).all() and (images <= high).all()
    assert (images == low).any() and (images == high).any()


def test_real_start_takes_images_of_the_class(inputs: Inputs, colour: ImageData) -> None:
    config = settings(initialisation="real")
    starts = [sre2l.init(config, inputs).images, recovery.first_images(config, inputs, 1)]
    everything = colour.normalised()
    indices = []
    for images in starts:
        for label, image in enumerate(images):
            (index,) = torch.nonzero((everything == image).flatten(1).all(1)).flatten().tolist()
            assert int(colour.train_labels[index]) == label
            indices.append(index)
    assert len(set(indices)) == len(indices)


def test_noise_start_is_new_for_each_batch_and_seed(inputs: Inputs) -> None:
    starts = []
    for seed in (0, 1):
        for batch in (0, 1):
            starts.append(recovery.first_images(settings(seed=seed), inputs, batch))
    assert all(not torch.equal(a, b) for i, a in enumerate(starts) for b in starts[:i])


def test_the_class_loss_falls_and_the_gaps_close(grey: ImageData, teacher: Network) -> None:
    inputs = Inputs(data=grey, teachers=(teacher,))
    steps = list(
        process.steps(
            sre2l, sre2l.Config.teaching(iterations=60, lambda_mean=0.1, lambda_var=0.1), inputs
        )
    )
    first, last = steps[0].trace, steps[-1].trace
    assert last.total_loss < 0.7 * first.total_loss and last.class_loss < first.class_loss
    assert last.mean_gap < first.mean_gap and last.variance_gap < first.variance_gap


def test_teacher_stays_in_evaluation_mode(inputs: Inputs, colour_teacher: Network) -> None:
    """An image's logits do not depend on the other images of the batch."""
    state = sre2l.init(settings(roll_pixels=0), inputs)
    _, trace = sre2l.update(settings(roll_pixels=0), inputs, state)
    alone = [
        networks.predict(colour_teacher, image[None]).logits.softmax(1)[0] for image in state.images
    ]
    expected = torch.stack([row[label] for label, row in enumerate(alone)])
    torch.testing.assert_close(trace.class_probability, expected)


def test_interrupted_run_holds_the_batch_under_work(inputs: Inputs) -> None:
    config = settings()
    for step in process.steps(sre2l, config, inputs):
        distilled = sre2l.finish(config, inputs, step.state)
        assert len(distilled) == (4 if step.index >= config.iterations else 2)
        assert distilled.complete is (step.index == step.total)


def test_bad_input(inputs: Inputs, colour: ImageData) -> None:
    with refuses("images_per_class", "at most 8", "9"):
        sre2l.init(settings(initialisation="real", images_per_class=9), inputs)
    sre2l.init(settings(initialisation="noise", images_per_class=9), inputs)
    with refuses("roll_pixels", "below the image size of 8 px", "8"):
        sre2l.init(settings(roll_pixels=8), inputs)
    bare = networks.initialise(
        networks.spec("convnet", width=4, norm="none").for_data(colour), seed=0
    )
    with refuses("teacher", "BatchNorm2d"):
        sre2l.init(settings(), dataclasses.replace(inputs, teachers=(bare,)))


@pytest.mark.parametrize(
    ("size", "crop", "cropped"),
    [(8, "by_size", False), (64, "by_size", True), (8, "always", True), (64, "never", False)],
)
def test_crops_come_with_size(
    size: int, crop: str, cropped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    real = recovery.random_resized_crop_and_flip
    monkeypatch.setattr(
        recovery,
        "random_resized_crop_and_flip",
        lambda images, *a, **k: calls.append(1) or real(images, *a, **k),
    )
    data = made_data(classes=2, size=size)
    network = networks.initialise(networks.spec("convnet", width=2).for_data(data), seed=0)
    config = sre2l.Config(iterations=2, images_per_class=1, roll_pixels=0, crop=crop)
    run_to_end(sre2l, config, Inputs(data=data, teachers=(network,)))
    assert len(calls) == (2 if cropped else 0)
