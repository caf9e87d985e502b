"""What the recovery methods share, against plain autograd, plain modules and float64."""

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from ddlab import networks
from ddlab.data import ImageData
from ddlab.methods.shared import descent, recovery
from ddlab.networks import Network, convnet
from tests.support import assert_unchanged, doubled, normal_doubles, refuses, snapshot


def remembered(channels: int) -> tuple[Tensor, Tensor]:
    return normal_doubles(channels, seed=1), normal_doubles(channels, seed=2).square() + 0.1


def plain_gaps(inputs: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Eq 4 of DWA for one layer, written out over the flattened channels."""
    flat = inputs.permute(1, 0, 2, 3).flatten(1)
    centre = flat.sum(1) / flat.shape[1]
    spread = ((flat - centre[:, None]) ** 2).sum(1) / flat.shape[1]
    return ((centre - mean) ** 2).sum().sqrt(), ((spread - variance) ** 2).sum().sqrt()


@given(
    shape=st.tuples(*(st.integers(1, 4) for _ in range(4))),
    seed=st.integers(0, 99),
    channels_last=st.booleans(),
)
def test_gaps_equal_the_plain_formulas(
    shape: tuple[int, int, int, int], seed: int, channels_last: bool
) -> None:
    inputs = normal_doubles(*shape, seed=seed)
    if channels_last:
        inputs = inputs.contiguous(memory_format=torch.channels_last)
    mean, variance = remembered(shape[1])
    passed, mean_gap, variance_gap = recovery.batch_norm_gaps(inputs, mean, variance)
    expected_mean, expected_variance = plain_gaps(inputs, mean, variance)
    assert torch.equal(passed, inputs)
    torch.testing.assert_close(mean_gap, expected_mean)
    torch.testing.assert_close(variance_gap, expected_variance)
    torch.testing.assert_close(recovery.batch_norm_mean_gap(inputs, mean), expected_mean)
    torch.testing.assert_close(
        recovery.batch_norm_variance_gap(inputs, variance), expected_variance
    )


@pytest.mark.parametrize(
    "weights", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.7, 0.2, 3.0)]
)
def test_gap_gradient_equals_plain_autograd(weights: tuple[float, float, float]) -> None:
    """The gradient from above, and that of each gap, alone and together."""
    inputs = normal_doubles(3, 4, 5, 2).requires_grad_()
    above = normal_doubles(3, 4, 5, 2, seed=7)
    mean, variance = remembered(4)
    through, mean_gap, variance_gap = recovery.batch_norm_gaps(inputs, mean, variance)
    loss = (
        weights[0] * (through.tanh() * above).sum()
        + weights[1] * mean_gap
        + weights[2] * variance_gap
    )
    (slope,) = torch.autograd.grad(loss, inputs)
    plain_mean, plain_variance = plain_gaps(inputs, mean, variance)
    loss = (
        weights[0] * (inputs.tanh() * above).sum()
        + weights[1] * plain_mean
        + weights[2] * plain_variance
    )
    (expected,) = torch.autograd.grad(loss, inputs)
    torch.testing.assert_close(slope, expected, rtol=1e-12, atol=1e-12)


def test_gaps_pass_gradcheck() -> None:
    mean, variance = remembered(3)
    inputs = normal_doubles(2, 3, 3, 2).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x: recovery.batch_norm_gaps(x, mean, variance), (inputs,)
    )
    assert torch.autograd.gradcheck(lambda x: recovery.batch_norm_mean_gap(x, mean), (inputs,))
    assert torch.autograd.gradcheck(
        lambda x: recovery.batch_norm_variance_gap(x, variance), (inputs,)
    )


def test_only_the_gap_used_has_a_gradient() -> None:
    """The passed inputs may be left unused, as for the last layer of a network."""
    inputs = normal_doubles(2, 3, 3, 2).requires_grad_()
    mean, variance = remembered(3)
    (slope,) = torch.autograd.grad(recovery.batch_norm_gaps(inputs, mean, variance)[1], inputs)
    (expected,) = torch.autograd.grad(plain_gaps(inputs, mean, variance)[0], inputs)
    torch.testing.assert_close(slope, expected)


def test_closed_gap_has_zero_gradient() -> None:
    inputs = normal_doubles(4, 3, 2, 2)
    variance, mean = torch.var_mean(inputs, (0, 2, 3), correction=0)
    inputs.requires_grad_()
    through, mean_gap, variance_gap = recovery.batch_norm_gaps(inputs, mean, variance)
    assert mean_gap == 0 and variance_gap == 0
    (slope,) = torch.autograd.grad(through.sum() + mean_gap + variance_gap, inputs)
    assert torch.equal(slope, torch.ones_like(slope))


@given(shift=st.floats(-5, 5), scale=st.floats(0.1, 5), seed=st.integers(0, 99))
def test_gap_invariances(shift: float, scale: float, seed: int) -> None:
    """The order of images and pixels does not matter; the variance gap does not see a shift, and
    scales with the square.
    """
    inputs = normal_doubles(4, 3, 2, 5, seed=seed)
    mean, variance = remembered(3)
    _, mean_gap, variance_gap = recovery.batch_norm_gaps(inputs, mean, variance)
    shuffled = inputs.flip(0).transpose(2, 3).roll(1, 2)
    torch.testing.assert_close(
        recovery.batch_norm_gaps(shuffled, mean, variance)[1:], (mean_gap, variance_gap)
    )
    torch.testing.assert_close(
        recovery.batch_norm_variance_gap(inputs + shift, variance), variance_gap
    )
    torch.testing.assert_close(recovery.batch_norm_mean_gap(inputs + shift, mean + shift), mean_gap)
    torch.testing.assert_close(
        recovery.batch_norm_mean_gap(scale * inputs, scale * mean), scale * mean_gap
    )
    torch.testing.assert_close(
        recovery.batch_norm_variance_gap(scale * inputs, scale**2 * variance),
        scale**2 * variance_gap,
    )


def plain_module(teacher: Network) -> nn.Module:
    spec = teacher.spec
    assert spec.channels is not None and spec.classes is not None and spec.image_size is not None
    options = spec.options
    assert isinstance(options, convnet.Options)
    module = convnet.ConvNet(spec.channels, spec.classes, spec.image_size, options).double()
    module.load_state_dict(doubled(teacher.weights))
    return module.eval().requires_grad_(False)


def hooked_gaps(module: nn.Module, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Logits and both gaps per layer, by forward hooks on a plain module."""
    means = []
    variances = []

    def hook(layer: nn.Module, arguments: tuple[Tensor, ...], _: Tensor) -> None:
        assert (
            isinstance(layer, nn.BatchNorm2d)
            and layer.running_mean is not None
            and layer.running_var is not None
        )
        mean_gap, variance_gap = plain_gaps(arguments[0], layer.running_mean, layer.running_var)
        means.append(mean_gap)
        variances.append(variance_gap)

    handles = [
        layer.register_forward_hook(hook)
        for layer in module.modules()
        if isinstance(layer, nn.BatchNorm2d)
    ]
    logits = module(images)
    for handle in handles:
        handle.remove()
    return logits, torch.stack(means), torch.stack(variances)


def test_matched_call_equals_a_plain_module_with_hooks(teacher: Network) -> None:
    module = plain_module(teacher)
    double = doubled(teacher)
    before = snapshot(double)
    images = normal_doubles(5, 1, 8, 8).requires_grad_()
    logits, means, variances = hooked_gaps(module, images)
    matched = recovery.matched_call(double, images)
    torch.testing.assert_close(matched.outputs.logits, logits, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(matched.mean_gaps, means, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(matched.variance_gaps, variances, rtol=1e-12, atol=1e-12)
    weights = torch.arange(1.0, len(means) + 1, dtype=torch.float64)
    target = torch.arange(5) % 3
    our_slope = torch.autograd.grad(
        nn.functional.cross_entropy(matched.outputs.logits, target)
        + (weights * matched.mean_gaps).sum()
        - (matched.variance_gaps / weights).sum(),
        images,
    )[0]
    expected = torch.autograd.grad(
        nn.functional.cross_entropy(logits, target)
        + (weights * means).sum()
        - (variances / weights).sum(),
        images,
    )[0]
    torch.testing.assert_close(our_slope, expected, rtol=1e-10, atol=1e-12)
    assert_unchanged(before, double)


def test_matched_call_with_other_weights_keeps_the_teachers_targets(
    teacher: Network, other_teacher: Network
) -> None:
    """Perturbed weights run, but the statistics are compared with what the teacher remembers."""
    images = normal_doubles(4, 1, 8, 8)
    double = doubled(teacher)
    stranger = doubled(other_teacher)
    moved = dict(double.weights)
    for name in networks.parameter_names(teacher.spec):
        moved[name] = stranger.weights[name]
    module = plain_module(dataclasses.replace(teacher, weights=moved))
    logits, means, variances = hooked_gaps(module, images)
    matched = recovery.matched_call(double, images, weights=moved)
    torch.testing.assert_close(matched.outputs.logits, logits)
    torch.testing.assert_close((matched.mean_gaps, matched.variance_gaps), (means, variances))


def test_gaps_are_small_on_the_data_the_teacher_saw(teacher: Network, grey: ImageData) -> None:
    real = recovery.matched_call(teacher, grey.normalised())
    noise = recovery.matched_call(
        teacher, descent.noise_images(grey, 36, seed=0, batch=0, device="cpu")
    )
    assert (
        real.mean_gaps.sum() < noise.mean_gaps.sum()
        and real.variance_gaps.sum() < noise.variance_gaps.sum()
    )


@given(gaps=st.lists(st.floats(0, 1e3), min_size=1, max_size=9))
def test_weighted_gap_counts_the_first_layer_ten_times(gaps: list[float]) -> None:
    weighted = recovery.weighted_gap(torch.tensor(gaps, dtype=torch.float64))
    assert float(weighted) == pytest.approx(10 * gaps[0] + sum(gaps[1:]), abs=1e-9)


@given(pixels=st.integers(0, 7), seed=st.integers(0, 2**40), step=st.integers(0, 500))
def test_circular_shift_is_one_roll_of_the_batch(pixels: int, seed: int, step: int) -> None:
    images = normal_doubles(2, 1, 8, 8)
    shifted = recovery.circular_shift(images, pixels, seed=seed, step=step)
    rolls = []
    for y in range(pixels + 1):
        for x in range(pixels + 1):
            rolls.append(torch.roll(images, (y, x), (2, 3)))
    assert any(torch.equal(shifted, roll) for roll in rolls)
    assert torch.equal(shifted, recovery.circular_shift(images, pixels, seed=seed, step=step))


def test_circular_shift_reaches_every_offset() -> None:
    marked = torch.zeros(1, 1, 8, 8)
    marked[0, 0, 0, 0] = 1
    places = {
        tuple(
            torch.nonzero(recovery.circular_shift(marked, 2, seed=0, step=step)[0, 0])[0].tolist()
        )
        for step in range(200)
    }
    assert places == {(y, x) for y in range(3) for x in range(3)}


def test_clamping_to_valid_pixels(colour: ImageData) -> None:
    low, high = colour.valid_range()
    images = 10 * normal_doubles(3, 3, 8, 8).float()
    clamped = recovery.clamp_to_valid(images, low, high)
    for channel in range(3):
        black = (0 - colour.mean[channel]) / colour.std[channel]
        white = (1 - colour.mean[channel]) / colour.std[channel]
        torch.testing.assert_close(
            clamped[:, channel], images[:, channel].clamp(float(black), float(white))
        )
    assert torch.equal(recovery.clamp_to_valid(clamped, low, high), clamped)
    real = colour.normalised()
    torch.testing.assert_close(recovery.clamp_to_valid(real, low, high), real)


def test_noise_images(colour: ImageData) -> None:
    many = descent.noise_images(colour, 500, seed=0, batch=0, device="cpu")
    assert many.shape == (500, 3, 8, 8) and many.dtype == torch.float32
    assert abs(float(many.mean())) < 0.02 and abs(float(many.std()) - 1) < 0.02
    first = descent.noise_images(colour, 2, seed=0, batch=0, device="cpu")
    second = descent.noise_images(colour, 2, seed=0, batch=1, device="cpu")
    assert not torch.equal(first, second)


def test_real_image_indices(grey: ImageData) -> None:
    ten = descent.real_image_indices(grey, 10, seed=3)
    assert ten.shape == (10, 3) and torch.equal(
        grey.train_labels[ten], torch.arange(3).expand(10, 3)
    )
    assert all(len(set(column.tolist())) == 10 for column in ten.T)
    assert torch.equal(descent.real_image_indices(grey, 5, seed=3), ten[:5])
    assert not torch.equal(descent.real_image_indices(grey, 10, seed=4), ten)
    assert descent.real_image_indices(grey, 12, seed=3).sort(
        0
    ).values.flatten().unique().tolist() == list(range(36))
    with refuses("images_per_class", "at most 12", "13"):
        descent.real_image_indices(grey, 13, seed=3)


@pytest.mark.parametrize("norm", ["instance", "group", "none"])
def test_a_teacher_without_batch_norm_is_refused(norm: str, grey: ImageData) -> None:
    bare = networks.initialise(networks.spec("convnet", width=4, norm=norm).for_data(grey), seed=0)
    with refuses("teacher", "BatchNorm2d", f'norm="{norm}"'):
        recovery.require_batch_norm_teacher("sre2l", bare)


class TestCropAndFlip:
    images = torch.randn(
        3, 2, 12, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )

    def crop(self, step: int, smallest: float = 0.08, images: Tensor | None = None) -> Tensor:
        given_images = self.images if images is None else images
        return recovery.random_resized_crop_and_flip(given_images, smallest, seed=1, step=step)

    def test_a_function_of_seed_and_step_with_the_shape_kept(self) -> None:
        assert torch.equal(self.crop(3), self.crop(3)) and self.crop(3).shape == self.images.shape
        assert not torch.equal(self.crop(3), self.crop(4))

    def test_one_draw_for_the_whole_batch(self) -> None:
        equal_images = self.images[:1].expand(3, -1, -1, -1)
        views = self.crop(5, images=equal_images)
        assert torch.equal(views[0], views[1]) and torch.equal(views[0], views[2])

    def test_values_come_from_inside_the_picture(self) -> None:
        for step in range(50):
            views = self.crop(step)
            assert (
                views.min() >= self.images.min() - 1e-9 and views.max() <= self.images.max() + 1e-9
            )

    def test_corners_are_not_aligned(self) -> None:
        """`wide` columns over 32 pixels: on a ramp each pixel is wide / 32 more than the one before
        it, not (wide - 1) / 31.
        """
        ramp = torch.arange(32.0, dtype=torch.float64).expand(1, 1, 32, 32)
        for step in range(20):
            row = self.crop(step, images=ramp)[0, 0, 0]
            wide = round(float((row[0] - row[-1]).abs())) + 1
            assert float((row[16] - row[15]).abs()) == pytest.approx(wide / 32)

    def test_areas_and_flips_are_spread_as_they_should(self) -> None:
        ramp = torch.arange(32.0, dtype=torch.float64).expand(1, 1, 32, 32)
        spans = []
        flips = 0
        for step in range(400):
            row = self.crop(step, images=ramp)[0, 0, 0]
            flips += bool(row[0] > row[-1])
            rows = self.crop(step, images=ramp.transpose(2, 3))[0, 0, :, 0]
            spans.append(
                float((row[0] - row[-1]).abs() + 1) * float((rows[0] - rows[-1]).abs() + 1) / 32**2
            )
        assert 150 < flips < 250
        assert 0.48 < sum(spans) / len(spans) < 0.62 and min(spans) < 0.15 and max(spans) > 0.9

    def test_the_gradient_flows_back_and_only_to_what_is_seen(self) -> None:
        leaf = self.images.clone().requires_grad_()
        self.crop(2).sum()
        (slope,) = torch.autograd.grad(self.crop(2, images=leaf).sum(), leaf)
        assert float(slope.sum()) == pytest.approx(leaf.numel())
        assert bool((slope >= 0).all())


class TestChannelStatistics:
    def reference(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        return inputs.double().var((0, 2, 3), correction=0), inputs.double().mean((0, 2, 3))

    @pytest.mark.parametrize("shift", [0.0, 1.0, 3.0, 100.0])
    @pytest.mark.parametrize("shape", [(1, 3, 1, 2), (10, 4, 16, 16), (3, 2, 64, 64)])
    def test_against_float64(self, shift: float, shape: tuple[int, ...]) -> None:
        inputs = torch.randn(shape, generator=torch.Generator().manual_seed(0)) + shift
        for statistic, expected in zip(
            recovery.channel_statistics(inputs), self.reference(inputs), strict=True
        ):
            assert statistic.dtype == torch.float32
            torch.testing.assert_close(statistic.double(), expected, rtol=2e-5, atol=1e-9)

    def test_constant_and_empty_channels(self) -> None:
        inputs = torch.stack(
            [torch.zeros(2, 4, 4), torch.full((2, 4, 4), 7.0), torch.randn(2, 4, 4)], dim=1
        )
        variance, mean = recovery.channel_statistics(inputs)
        assert variance[:2].tolist() == [0, 0] and mean[:2].tolist() == [0, 7]

    def test_what_is_not_finite_stays_so(self) -> None:
        variance, mean = recovery.channel_statistics(torch.full((2, 1, 2, 2), torch.nan))
        assert bool(variance.isnan()) and bool(mean.isnan())


@pytest.mark.parametrize("slope", [1e-8, 1e-3, 100.0])  # below float16's step, in it, above 65,504
def test_a_scaled_loss_keeps_slopes_that_half_precision_would_lose(slope: float) -> None:
    images = normal_doubles(2, 1, 3, 3).float().requires_grad_()
    expected = torch.full((2, 1, 3, 3), slope, dtype=torch.float64)

    def gradient(scale: float) -> Tensor:
        loss = (images.half().float() * slope).sum()
        return recovery.scaled_gradient(loss, images, scale=scale).double()

    torch.testing.assert_close(gradient(recovery.LOSS_SCALE), expected, rtol=1e-3, atol=0)
    assert (float(gradient(1.0).abs().max()) == 0) == (slope == 1e-8)


def test_small_gaps_pass_a_teacher_in_half_precision(
    colour: ImageData, colour_teacher: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    autocast = torch.autocast
    monkeypatch.setattr(  # a CPU has bfloat16 of its own, whose range is that of float32
        torch,
        "autocast",
        lambda device, dtype, enabled: autocast(device, dtype=torch.float16, enabled=enabled),
    )

    def gradient(*, half: bool, scale: float) -> Tensor:
        images = colour.normalised(torch.arange(4)).requires_grad_()
        matched = recovery.matched_call(colour_teacher, images, half=half)
        loss = 1e-6 * (matched.mean_gaps + matched.variance_gaps).sum()
        return recovery.scaled_gradient(loss, images, scale=scale)

    exact = gradient(half=False, scale=1.0)
    errors = {
        scale: float((gradient(half=True, scale=scale) - exact).norm() / exact.norm())
        for scale in (1.0, recovery.LOSS_SCALE)
    }
    assert errors[recovery.LOSS_SCALE] < 0.05 < errors[1.0]
