"""FADRM against Algorithm 1 as a plain float64 loop, and against SRe2L where both are the same."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from torch import Tensor, nn

import ddlab
from ddlab import methods, networks
from ddlab.core import optimisers
from ddlab.data import ImageData
from ddlab.methods import fadrm, sre2l
from ddlab.methods.shared import recovery
from ddlab.networks import Network, zoo
from ddlab.runs import Inputs, Step, process
from tests.methods.test_recovery import hooked_gaps
from tests.support import assert_same, doubled, made_data, normal_doubles, refuses, run_to_end

DATA = made_data(classes=2, channels=3, size=12, train=8, test=4, seed=1)


def pooled(seed: int) -> Network:
    """A network that takes any size, with statistics of the data to remember."""
    network = networks.initialise(networks.spec("shufflenet_v2_x0_5").for_data(DATA), seed=seed)
    weights = network.weights
    images = DATA.normalised()
    for _ in range(10):
        weights = weights | networks.call(network.spec, weights, images, train=True)[1]
    return dataclasses.replace(network, weights=weights)


@pytest.fixture(scope="module")
def teachers() -> tuple[Network, Network]:
    return pooled(0), pooled(1)


@pytest.fixture
def inputs(colour: ImageData, colour_teacher: Network) -> Inputs:
    return Inputs(data=colour, teachers=(colour_teacher,))


def settings(**changes: Any) -> fadrm.Config:
    small: dict[str, Any] = {
        "images_per_class": 2,
        "iterations": 7,
        "merges": 2,
        "roll_pixels": 2,
        "seed": 3,
    }
    return fadrm.Config(**small | changes)


def written_out(iterations: int, merges: int) -> list[int]:
    """The stage of each step, by the two loops of Algorithm 1."""
    per_stage = iterations // (merges + 1)
    stages = []
    for stage in range(1, merges + 1):
        for _ in range(per_stage):
            stages.append(stage)
    for _ in range(iterations - merges * per_stage):
        stages.append(merges + 1)
    return stages


@given(iterations=st.integers(1, 60), merges=st.integers(0, 59))
def test_stages_are_those_of_algorithm_1(iterations: int, merges: int) -> None:
    merges = min(merges, iterations - 1)
    stages = [fadrm.stage_of(t, iterations=iterations, merges=merges) for t in range(iterations)]
    assert stages == written_out(iterations, merges)


@given(per_stage=st.integers(1, 60), merges=st.sampled_from((1, 3, 5)), small=st.integers(1, 15))
def test_the_schedule_costs_what_equation_8_says_where_merges_are_odd(
    per_stage: int, merges: int, small: int
) -> None:
    """Eq 7's units, step by step; with an even number the last stage is a small one too, which
    equation 8 does not count.
    """
    iterations = per_stage * (merges + 1)
    spent = 0
    for iteration in range(iterations):
        stage = fadrm.stage_of(iteration, iterations=iterations, merges=merges)
        height, width = fadrm.stage_size(stage, image_size=(16, 16), small_size=small)
        spent += height * width
    ratio = 1 - per_stage / iterations * ((merges + 1) // 2) * (1 - (small / 16) ** 2)
    assert spent / (iterations * 16 * 16) == pytest.approx(ratio, rel=1e-12)


def test_sizes_of_stages() -> None:
    sizes = [fadrm.stage_size(stage, image_size=(12, 18), small_size=8) for stage in (1, 2, 3, 4)]
    assert sizes == [(8, 12), (12, 18), (8, 12), (12, 18)]
    assert fadrm.stage_size(1, image_size=(12, 18), small_size=None) == (12, 18)


@pytest.mark.parametrize(
    ("old", "new"), [((8, 8), (6, 6)), ((6, 6), (8, 8)), ((5, 9), (13, 4)), ((1, 3), (4, 2))]
)
def test_resampling_is_bilinear_between_pixel_centres(
    old: tuple[int, int], new: tuple[int, int]
) -> None:
    """Against scipy's spline of order 1 at the centres of the new pixels."""
    images = normal_doubles(2, 3, *old)
    centres = [(np.arange(n) + 0.5) * o / n - 0.5 for o, n in zip(old, new, strict=True)]
    places = np.meshgrid(*centres, indexing="ij")
    expected = []
    for image in images:
        expected.append(
            [
                ndimage.map_coordinates(channel.numpy(), places, order=1, mode="nearest")
                for channel in image
            ]
        )
    resampled = fadrm.resample(images, new)
    torch.testing.assert_close(
        resampled, torch.from_numpy(np.array(expected)), rtol=1e-12, atol=1e-12
    )
    assert torch.autograd.gradcheck(lambda x: fadrm.resample(x, new), (images.requires_grad_(),))


def test_resampling_to_the_same_size_changes_nothing() -> None:
    images = normal_doubles(2, 3, 5, 7)
    assert torch.equal(fadrm.resample(images, (5, 7)), images)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.5, 1.0])
def test_merging_is_equation_9(ratio: float) -> None:
    images = normal_doubles(2, 3, 6, 6)
    patches = normal_doubles(2, 3, 8, 8, seed=1)
    resampled = F.interpolate(patches, size=(6, 6), mode="bilinear", align_corners=False)
    expected = ratio * images.numpy() + (1 - ratio) * resampled.numpy()
    merged = fadrm.merge_residual(images, patches, ratio)
    torch.testing.assert_close(merged, torch.from_numpy(expected), rtol=1e-14, atol=1e-14)
    if ratio in (0.0, 1.0):
        assert torch.equal(merged, images if ratio else resampled)
    arguments = (images.requires_grad_(), patches.requires_grad_())
    assert torch.autograd.gradcheck(lambda x, p: fadrm.merge_residual(x, p, ratio), arguments)


def test_networks_take_turns() -> None:
    assert [fadrm.network_of(t, networks=4) for t in range(9)] == [0, 1, 2, 3, 0, 1, 2, 3, 0]
    assert {fadrm.network_of(t, networks=1) for t in range(5)} == {0}


def test_distill_takes_several_networks(teachers: tuple[Network, Network]) -> None:
    config = settings(images_per_class=1)
    plus = ddlab.distill("fadrm", DATA, [*teachers], config, progress=False)
    first = ddlab.distill("fadrm", DATA, teachers[:1], config, progress=False)
    assert not torch.equal(plus.images, first.images)
    by_run = run_to_end(fadrm, config, Inputs(data=DATA, teachers=teachers))
    assert torch.equal(plus.images, by_run.images)
    with refuses("teacher must be a Network or a sequence of Networks"):
        ddlab.distill("fadrm", DATA, [3], config, progress=False)  # type: ignore[list-item]


def plain_shufflenet(network: Network) -> nn.Module:
    module = zoo.FAMILIES["shufflenet_v2_x0_5"].make(3, 2, DATA.image_size).double()
    module.load_state_dict(doubled(network).weights)
    return module.eval().requires_grad_(False)


def algorithm_1(
    config: fadrm.Config, teachers: tuple[Network, ...], patches: Tensor, batch: int
) -> list[Tensor]:
    """One batch as a script would have it: the images after each step, with what follows a stage
    done, and the result.
    """
    modules = [plain_shufflenet(teacher) for teacher in teachers]
    low_high = DATA.valid_range()
    small = config.small_size or 12
    full = 12
    steps = config.iterations
    per_stage = steps // (config.merges + 1)
    frames = []

    def resample(x: Tensor, side: int) -> Tensor:
        return F.interpolate(x, size=(side, side), mode="bilinear", align_corners=False)

    def grad_steps(x: Tensor, count: int) -> Tensor:
        x = x.clone().requires_grad_()
        optimiser = torch.optim.Adam([x], lr=config.learning_rate, betas=(0.5, 0.9), eps=1e-8)
        for _ in range(count):
            t = len(frames)
            optimiser.param_groups[0]["lr"] = (
                config.learning_rate * (1 + math.cos(math.pi * t / steps)) / 2
            )
            place = {"seed": config.seed, "step": batch * steps + t}
            view = recovery.random_resized_crop_and_flip(x, 0.08, **place)
            view = recovery.circular_shift(view, config.roll_pixels, **place)
            logits, means, variances = hooked_gaps(modules[t % len(modules)], view)
            gaps = config.lambda_mean * (means.sum() + 9 * means[0])
            gaps = gaps + config.lambda_var * (variances.sum() + 9 * variances[0])
            (x.grad,) = torch.autograd.grad(F.cross_entropy(logits, torch.arange(2)) + gaps, x)
            optimiser.step()
            with torch.no_grad():
                x.copy_(recovery.clamp_to_valid(x, *(value.double() for value in low_high)))
            frames.append(x.detach().clone())
        return x.detach()

    x = resample(patches, small)
    for _ in range(config.merges):
        x = grad_steps(x, per_stage)
        x = resample(x, full if x.shape[-1] == small else small)
        x = config.merge_ratio * x + (1 - config.merge_ratio) * resample(patches, x.shape[-1])
        frames[-1] = x.clone()
    x = grad_steps(x, steps - config.merges * per_stage)
    return [*frames[:-1], resample(x, full)]


@pytest.mark.parametrize(
    "changes",
    [
        {"small_size": 9},
        {"small_size": 9, "merges": 3, "merge_ratio": 0.2},
        {"small_size": 8, "merges": 0},
        {"merges": 1, "merge_ratio": 0.8, "lambda_mean": 0.5, "lambda_var": 0.2},
    ],
    ids=str,
)
def test_updates_are_algorithm_1(
    changes: dict[str, Any], teachers: tuple[Network, Network]
) -> None:
    """Both batches, with one network and with two in turn: every image on the way and the result at
    full size.
    """
    for some in (teachers[:1], teachers):
        config = settings(**{"lambda_mean": 0.05, "lambda_var": 0.02} | changes)
        inputs = Inputs(data=DATA, teachers=tuple(doubled(teacher) for teacher in some))
        for batch in (0, 1):
            patches = fadrm.patches(config, inputs, batch).double()
            start = fadrm.resample(
                patches, fadrm.stage_size(1, image_size=(12, 12), small_size=config.small_size)
            )
            state = fadrm.State(
                batch * config.iterations, start, optimisers.adam_init({"images": start}), ()
            )
            expected = algorithm_1(config, some, patches, batch)
            for frame in expected[:-1]:
                state, _ = fadrm.update(config, inputs, state)
                torch.testing.assert_close(state.images, frame, rtol=1e-8, atol=1e-8)
            state, _ = fadrm.update(config, inputs, state)
            torch.testing.assert_close(state.done[-1], expected[-1], rtol=1e-8, atol=1e-8)


def test_without_merges_it_is_sre2l_from_real_images(inputs: Inputs) -> None:
    config = settings(merges=0, lambda_var=0.03)
    alike = sre2l.Config(
        images_per_class=2,
        iterations=7,
        roll_pixels=2,
        seed=3,
        initialisation="real",
        crop="always",
        lambda_var=0.03,
    )
    ours = list(process.steps(fadrm, config, inputs))
    theirs = list(process.steps(sre2l, alike, inputs))
    for our_step, their_step in zip(ours, theirs, strict=True):
        _assert_shared_parts_same(our_step, their_step)
    assert_same(run_to_end(fadrm, config, inputs).tensors, run_to_end(sre2l, alike, inputs).tensors)


def test_merging_nothing_is_sre2l_with_a_fresh_adam_in_each_stage(inputs: Inputs) -> None:
    config = settings(merges=2, merge_ratio=1.0)
    alike = sre2l.Config(
        images_per_class=2,
        iterations=7,
        roll_pixels=2,
        seed=3,
        initialisation="real",
        crop="always",
    )
    state = sre2l.init(alike, inputs)
    for step in process.steps(fadrm, config, inputs):
        state, trace = sre2l.update(alike, inputs, state)
        if step.index % 7 in (2, 4):  # floor(7 / 3) = 2 steps, 2 steps, 3 steps
            state = dataclasses.replace(
                state, optimiser=optimisers.adam_init({"images": state.images})
            )
        _assert_shared_parts_same(step, Step(step.index, step.total, state, trace))


def _assert_shared_parts_same(step: Step, sre2l_step: Step) -> None:
    for part in dataclasses.fields(sre2l.State):
        assert_same(getattr(step.state, part.name), getattr(sre2l_step.state, part.name))
    for part in dataclasses.fields(sre2l.Trace):
        assert_same(getattr(step.trace, part.name), getattr(sre2l_step.trace, part.name))


def test_merging_all_returns_to_the_patches(teachers: tuple[Network, Network]) -> None:
    """alpha = 0: a stage begins at the resampled patches, whatever the last one found, with a fresh
    Adam.
    """
    config = settings(merge_ratio=0.0, small_size=9)
    inputs = Inputs(data=DATA, teachers=teachers)
    whole = list(process.steps(fadrm, config, inputs))
    for batch in (0, 1):
        patches = fadrm.patches(config, inputs, batch)
        for merge, size in ((2, 12), (4, 9)):
            state = whole[7 * batch + merge - 1].state
            assert torch.equal(state.images, fadrm.resample(patches, (size, size)))
            assert state.optimiser.step == 0 and not state.optimiser.first["images"].any()


def test_sizes_stages_and_networks_of_a_run(teachers: tuple[Network, Network]) -> None:
    config = settings(small_size=9, images_per_class=1)
    inputs = Inputs(data=DATA, teachers=teachers)
    assert fadrm.init(config, inputs).images.shape[2:] == (9, 9)
    whole = list(process.steps(fadrm, config, inputs))
    assert [step.trace.stage for step in whole] == [1, 1, 2, 2, 3, 3, 3]
    assert [step.trace.network for step in whole] == [0, 1, 0, 1, 0, 1, 0]
    assert [step.state.images.shape[-1] for step in whole] == [9, 12, 12, 9, 9, 9, 9]
    for step in whole:
        distilled = fadrm.finish(config, inputs, step.state)
        assert distilled.images.shape == (2, 3, 12, 12) and distilled.complete is (
            step.index == step.total
        )
        low, high = DATA.valid_range()
        assert (distilled.images >= low - 1e-5).all() and (distilled.images <= high + 1e-5).all()


def test_patches_are_images_of_the_class_and_new_in_each_batch(
    inputs: Inputs, colour: ImageData
) -> None:
    indices = []
    everything = colour.normalised()
    for batch in (0, 1):
        for label, patch in enumerate(fadrm.patches(settings(), inputs, batch)):
            (index,) = torch.nonzero((everything == patch).flatten(1).all(1)).flatten().tolist()
            assert int(colour.train_labels[index]) == label
            indices.append(index)
    assert len(set(indices)) == 4


@pytest.mark.parametrize(("patches", "factor"), [("crop", 1), ("mosaic", 2)])
def test_crops_and_mosaics_are_those_of_rded(
    patches: str, factor: int, teachers: tuple[Network, Network]
) -> None:
    """Chosen by the first network whatever comes after it; the best of each class go to the first
    batch.
    """
    inputs = Inputs(data=DATA, teachers=teachers)
    config = settings(patches=patches, seed=5)
    rded = methods.get("rded")
    by_rded = run_to_end(
        rded,
        rded.Config(images_per_class=2, factor=factor, seed=5),
        Inputs(data=DATA, teachers=teachers[:1]),
    )
    start = fadrm.init(config, inputs)
    assert_same(start.images, torch.stack([by_rded.images[0], by_rded.images[2]]))
    # With alpha = 0 every merge gives the patches back, in the second batch its own.
    returned = [
        step.state.images for step in process.steps(fadrm, config.replace(merge_ratio=0.0), inputs)
    ]
    assert_same(returned[1], start.images)
    assert_same(
        returned[config.iterations + 1], torch.stack([by_rded.images[1], by_rded.images[3]])
    )


def test_noise_is_only_where_it_begins(inputs: Inputs) -> None:
    """The first images differ; what is merged does not: with alpha = 0 all is the same from the
    first merge on.
    """
    real = list(process.steps(fadrm, settings(merge_ratio=0.0, initialisation="real"), inputs))
    noise = list(process.steps(fadrm, settings(merge_ratio=0.0, initialisation="noise"), inputs))
    assert not torch.equal(real[0].state.images, noise[0].state.images)
    assert_same(real[3].state.images, noise[3].state.images)


def test_the_stored_labels_are_the_networks_mean(teachers: tuple[Network, Network]) -> None:
    inputs = Inputs(data=DATA, teachers=teachers)
    distilled = run_to_end(fadrm, settings(small_size=9, merges=1), inputs)
    mean = sum(networks.predict(network, distilled.images).logits for network in teachers) / 2
    torch.testing.assert_close(distilled.target("stored").logits, mean)
    assert distilled.target("online").fingerprints == tuple(
        network.fingerprint for network in teachers
    )
    assert (
        distilled.labels.tolist() == [0, 1, 0, 1] and distilled.provenance["method"] == fadrm.NAME
    )


def test_bad_input(
    inputs: Inputs, colour: ImageData, colour_teacher: Network, teachers: tuple[Network, ...]
) -> None:
    for changes, words in (
        ({"merges": 7}, ("merges", "below the number of iterations (7)", "7")),
        (
            {"patches": "mosaic", "images_per_class": 2, "candidates_per_class": 7},
            ("images_per_class", "at most 1", "2"),
        ),
    ):
        with refuses(*words):
            settings(**changes)
    settings(merges=6)
    for size in (8, 9):
        with refuses("small_size", "below the image size of 8 px", str(size)):
            fadrm.init(settings(small_size=size), inputs)
    with refuses("teacher", "6 x 6 pixels", "convnet"):
        fadrm.init(settings(small_size=6), inputs)
    with refuses("roll_pixels", "smallest image size of 2 px"):
        fadrm.init(settings(small_size=2), Inputs(data=DATA, teachers=teachers))
    state = fadrm.init(settings(), inputs)
    with refuses("teacher", fadrm.NAME):
        process.steps(fadrm, settings(), Inputs(data=colour), state)
    with refuses("images_per_class", "at most 8", "9"):
        fadrm.init(settings(images_per_class=9, initialisation="noise"), inputs)
    three_classes = networks.initialise(
        networks.spec("convnet", width=4).for_data(made_data(classes=3, channels=3)), seed=0
    )
    with refuses("teacher", "2 classes", "3 classes"):
        Inputs(data=colour, teachers=(colour_teacher, three_classes))
    bare = networks.initialise(
        networks.spec("convnet", width=4, norm="none").for_data(colour), seed=0
    )
    with refuses("teacher", "BatchNorm2d", fadrm.NAME):
        fadrm.init(settings(), Inputs(data=colour, teachers=(colour_teacher, bare)))


def test_in_mixed_precision_images_and_statistics_stay_in_float32(inputs: Inputs) -> None:
    """Half the bits move the statistics a little, and the way of an image hardly."""
    config = settings(precision="mixed", images_per_class=1)
    mixed = list(process.steps(fadrm, config, inputs))
    single = list(process.steps(fadrm, config.replace(precision="single"), inputs))
    assert mixed[-1].state.images.dtype == mixed[0].trace.total_loss.dtype == torch.float32
    mixed_gaps = mixed[0].trace.layer_variance_gaps
    exact = single[0].trace.layer_variance_gaps
    assert not torch.equal(mixed_gaps, exact)
    torch.testing.assert_close(mixed_gaps, exact, rtol=0.1, atol=0.05)
    start = fadrm.init(config, inputs).images
    movements = [(steps[0].state.images - start).flatten() for steps in (mixed, single)]
    assert float(torch.nn.functional.cosine_similarity(*movements, dim=0)) > 0.8


@pytest.mark.parametrize(("precision", "scale"), [("single", 1.0), ("mixed", 65536.0)])
def test_half_precision_scales_the_loss(
    precision: str, scale: float, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    scales: list[float] = []
    gradient = recovery.scaled_gradient

    def recorded(loss: Tensor, images: Tensor, *, scale: float) -> Tensor:
        scales.append(scale)
        return gradient(loss, images, scale=scale)

    monkeypatch.setattr(recovery, "scaled_gradient", recorded)
    config = settings(precision=precision)
    fadrm.update(config, inputs, fadrm.init(config, inputs))
    assert scales == [scale]
