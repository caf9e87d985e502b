"""Training against a plain PyTorch loop, and the properties of its views and targets."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from ddlab import networks
from ddlab.data import ImageData, augmentation
from ddlab.distilled import DistilledSet, HardLabels
from ddlab.evaluation import accuracy
from ddlab.networks import Network
from ddlab.runs import Inputs, process
from ddlab.training import supervised
from tests.networks.test_networks import plain
from tests.support import assert_same, made_data, refuses, run_to_end

BLACK = torch.full((1, 1, 1, 1), -1.5)


def images(count: int = 4, channels: int = 1, size: int = 6, seed: int = 0) -> Tensor:
    return torch.rand((count, channels, size, size), generator=torch.Generator().manual_seed(seed))


def view(given_images: Tensor, **changes: Any) -> augmentation.View:
    off: dict[str, Any] = {
        "crop_pixels": 0,
        "flip": False,
        "mixup_alpha": 0.0,
        "black": BLACK,
        "seed": 0,
        "step": 0,
    }
    return augmentation.augment(given_images, **off | changes)


SEEDS = {"seed": st.integers(0, 2**40), "step": st.integers(0, 10**6)}


class TestAugment:
    def test_off(self) -> None:
        viewed = view(images())
        assert (
            torch.equal(viewed.images, images())
            and viewed.share == 1
            and viewed.partner.tolist() == [0, 1, 2, 3]
        )

    @given(
        **SEEDS, pixels=st.integers(1, 4), channels=st.sampled_from([1, 3]), size=st.integers(5, 9)
    )
    def test_crop_is_a_window_of_the_padded_image(
        self, seed: int, step: int, pixels: int, channels: int, size: int
    ) -> None:
        given_images = images(3, channels, size)
        black = torch.arange(-1.0, -1.0 - channels, -1).view(1, -1, 1, 1)
        crops = view(given_images, crop_pixels=pixels, black=black, seed=seed, step=step).images
        for image, original in zip(crops, given_images, strict=True):
            canvas = black[0].expand(-1, size + 2 * pixels, size + 2 * pixels).clone()
            canvas[:, pixels : pixels + size, pixels : pixels + size] = original
            windows = []
            for y in range(2 * pixels + 1):
                for x in range(2 * pixels + 1):
                    windows.append(canvas[:, y : y + size, x : x + size])
            assert any(torch.allclose(image, window, atol=1e-6) for window in windows)

    def test_every_offset_occurs_and_differs_between_images(self) -> None:
        marked = torch.full((2, 1, 7, 7), -1.5)
        marked[:, 0, 3, 3] = 1
        offsets = [
            torch.nonzero(view(marked, crop_pixels=1, step=step).images > 0)[:, 2:].tolist()
            for step in range(100)
        ]
        assert {tuple(o[0]) for o in offsets} == {(y, x) for y in (2, 3, 4) for x in (2, 3, 4)}
        assert any(o[0] != o[1] for o in offsets)

    @given(**SEEDS)
    def test_flip_mirrors_some_images(self, seed: int, step: int) -> None:
        given_images = images(8)
        for image, original in zip(
            view(given_images, flip=True, seed=seed, step=step).images, given_images, strict=True
        ):
            assert torch.equal(image, original) or torch.equal(image, original.flip(2))

    def test_half_of_the_images_are_flipped(self) -> None:
        given_images = images(400)
        views = view(given_images, flip=True).images
        share = sum(torch.equal(a, b) for a, b in zip(views, given_images, strict=True)) / 400
        assert 0.4 < share < 0.6

    @given(**SEEDS, alpha=st.floats(0.1, 4))
    def test_mixup_is_a_mean_of_two_images(self, seed: int, step: int, alpha: float) -> None:
        given_images = images(5)
        mixed = view(given_images, mixup_alpha=alpha, seed=seed, step=step)
        assert 0 <= mixed.share <= 1 and sorted(mixed.partner.tolist()) == [0, 1, 2, 3, 4]
        expected = mixed.share * given_images + (1 - mixed.share) * given_images[mixed.partner]
        torch.testing.assert_close(mixed.images, expected)

    @given(**SEEDS, height=st.integers(4, 9), width=st.integers(4, 9))
    def test_cutmix_fills_one_box_from_the_partner_and_says_its_share(
        self, seed: int, step: int, height: int, width: int
    ) -> None:
        given_images = torch.arange(5.0).view(5, 1, 1, 1).expand(5, 1, height, width)
        mixed = view(given_images, cutmix_alpha=1.0, seed=seed, step=step)
        from_image = mixed.images == given_images
        assert torch.equal(
            torch.where(from_image, given_images, given_images[mixed.partner]), mixed.images
        )
        for number in (mixed.partner != torch.arange(5)).nonzero().flatten().tolist():
            filled = ~from_image[number, 0]
            assert float(from_image[number].double().mean()) == pytest.approx(mixed.share)
            assert int(filled.sum()) == int(filled.any(0).sum()) * int(filled.any(1).sum())

    def test_cutmix_boxes_have_the_sides_of_their_share(self) -> None:
        """With alpha = 1 the share is uniform, so that a side, sqrt(1 - share), is below s in s^2
        of all draws; its half is whole.
        """
        draw = np.random.default_rng(0)
        sides = []
        for _ in range(4000):
            y0, x0, y1, x1 = augmentation.cutmix_box(1000, 1000, 1.0, draw)
            rows, columns = y1 - y0, x1 - x0
            assert abs(rows - columns) <= 1 or 0 in (y0, x0) or 1000 in (y1, x1)
            sides.append(max(rows, columns))
        small = np.mean(np.array(sides) < 300)  # a square of 300 is cut on both axes in few draws
        assert small == pytest.approx(0.09, abs=0.04)

    def test_mixup_shares_follow_beta(self) -> None:
        from scipy import stats

        shares = [view(images(2), mixup_alpha=0.8, step=step).share for step in range(400)]
        assert stats.kstest(shares, stats.beta(0.8, 0.8).cdf).pvalue > 0.01

    @given(**SEEDS)
    def test_a_function_of_seed_and_step(self, seed: int, step: int) -> None:
        options: dict[str, Any] = {"crop_pixels": 2, "flip": True, "mixup_alpha": 1.0}
        first = view(images(), seed=seed, step=step, **options)
        second = view(images(), seed=seed, step=step, **options)
        assert torch.equal(first.images, second.images) and first.share == second.share
        assert not torch.equal(
            first.images, view(images(), seed=seed, step=step + 1, **options).images
        )
        assert not torch.equal(
            first.images, view(images(), seed=seed + 1, step=step, **options).images
        )


class TestTargets:
    mixed = augmentation.View(images(3), 0.25, torch.tensor([1, 2, 0]))
    labels = torch.tensor([0, 2, 1])

    def test_hard(self) -> None:
        expected = torch.tensor([[0.25, 0, 0.75], [0, 0.75, 0.25], [0.75, 0.25, 0]])
        targets = supervised.mixed_targets(self.mixed, F.one_hot(self.labels, 3).float())
        torch.testing.assert_close(targets, expected)

    def test_stored(self) -> None:
        soft = (torch.randn(3, 3, generator=torch.Generator().manual_seed(0)) / 3).softmax(1)
        torch.testing.assert_close(
            supervised.mixed_targets(self.mixed, soft), 0.25 * soft + 0.75 * soft[[1, 2, 0]]
        )

    def test_online(self, teacher: Network) -> None:
        mixed = self.mixed._replace(images=images(3, size=8))
        targets = supervised.online_targets(mixed, teacher, temperature=3.0)
        module = plain(teacher).eval()
        torch.testing.assert_close(targets, (module(mixed.images) / 3).softmax(1).detach())
        assert not targets.requires_grad


def test_a_resumed_run_without_its_teacher_is_refused(
    distilled: DistilledSet, teacher: Network
) -> None:
    config = supervised.Config(
        network=networks.spec("convnet", width=4), labels="online", epochs=2, crop_pixels=0
    )
    state = supervised.init(config, Inputs(distilled=distilled, teachers=(teacher,)))
    with refuses("teacher"):
        list(process.steps(supervised, config, Inputs(distilled=distilled), state))


def plain_training(
    config: supervised.Config, source: Any, module: nn.Module, teacher: Network | None, steps: int
) -> list[Tensor]:
    """The loop of a script; order and views are the library's, which stand tested above."""
    if config.optimiser == "adamw":
        solver: Any = torch.optim.AdamW(
            module.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
    else:
        solver = torch.optim.SGD(
            module.parameters(),
            lr=config.learning_rate,
            momentum=config.momentum,
            weight_decay=config.weight_decay,
        )
    kind = "distilled" if isinstance(source, DistilledSet) else "data"
    given_to: dict[str, Any] = {"teachers": () if teacher is None else (teacher,), kind: source}
    inputs = Inputs(**given_to)
    everything = source.images if isinstance(source, DistilledSet) else source.normalised()
    labels = source.labels if isinstance(source, DistilledSet) else source.train_labels
    guide = None if teacher is None else plain(teacher).eval()
    total = supervised.total_steps(config, inputs)
    losses = []
    for step in range(steps):
        solver.param_groups[0]["lr"] = (
            config.learning_rate * (1 + math.cos(math.pi * step / total)) / 2
        )
        rows = supervised._batch(config, inputs, step)
        black = (0 - source.mean) / source.std
        viewed = augmentation.augment(
            everything[rows],
            crop_pixels=config.crop_pixels,
            flip=config.flip,
            mixup_alpha=config.mixup_alpha,
            black=black[None, :, None, None],
            seed=config.seed,
            step=step,
        )
        logits = module.train()(viewed.images)
        if config.labels == "hard":
            first = F.cross_entropy(logits, labels[rows])
            second = F.cross_entropy(logits, labels[rows][viewed.partner])
            loss = viewed.share * first + (1 - viewed.share) * second
        else:
            if config.labels == "online":
                assert guide is not None
                soft = (guide(viewed.images) / config.temperature).softmax(1).detach()
            else:
                soft = (source.target("stored").logits[rows] / config.temperature).softmax(1)
                soft = viewed.share * soft + (1 - viewed.share) * soft[viewed.partner]
            loss = F.kl_div(
                (logits / config.temperature).log_softmax(1), soft, reduction="sum"
            ) / len(rows)
        solver.zero_grad()
        loss.backward()
        solver.step()
        losses.append(loss.detach())
    return losses


@pytest.mark.parametrize("optimiser", ["adamw", "sgd"])
@pytest.mark.parametrize("labels", ["hard", "stored", "online"])
@pytest.mark.parametrize("on", ["data", "set"])
def test_updates_equal_a_plain_loop(
    optimiser: str,
    labels: str,
    on: str,
    colour: ImageData,
    grey: ImageData,
    teacher: Network,
    distilled: DistilledSet,
) -> None:
    if on == "data" and labels == "stored":
        return
    config = supervised.Config(
        network=networks.spec("convnet", width=4),
        labels=labels,
        optimiser=optimiser,
        epochs=4,
        batch_size=4,
        learning_rate=0.01,
        weight_decay=0.05,
        crop_pixels=1,
        mixup_alpha=0.0 if labels == "hard" else 0.8,
        temperature=3.0,
        seed=5,
    )
    source: Any = distilled if on == "set" else grey
    inputs = Inputs(teachers=(teacher,), **{"distilled" if on == "set" else "data": source})
    state = supervised.init(config, inputs)
    spec = config.network.for_data(source)
    module = plain(Network(spec=spec, weights=state.weights))
    losses = plain_training(config, source, module, teacher, 6)
    our_losses = []
    for step in process.steps(supervised, config, inputs):
        our_losses.append(step.trace.loss)
        state = step.state
        if step.index == 6:
            break
    torch.testing.assert_close(torch.stack(our_losses), torch.stack(losses), rtol=2e-4, atol=1e-5)
    expected = dict(module.state_dict())
    assert state.weights.keys() == expected.keys()
    for name, value in expected.items():
        if optimiser == "adamw" and name.endswith(("convolution.bias", "running_mean")):
            # Before batch norm a bias has no gradient but rounding errors, which Adam scales up to
            # whole steps.
            continue
        torch.testing.assert_close(
            state.weights[name],
            value,
            rtol=2e-3,
            atol=2e-4,
            msg=lambda text, name=name: f"{name}: {text}",
        )


@pytest.mark.parametrize("optimiser", ["adamw", "sgd"])
def test_what_decays(optimiser: str, grey: ImageData) -> None:
    """With a decay that takes everything away within a step, what decays is left with the step
    alone.
    """
    small: dict[str, Any] = {
        "network": networks.spec("convnet", width=4),
        "epochs": 1,
        "optimiser": optimiser,
    }
    config = supervised.Config(learning_rate=1e-3, weight_decay=1e3, **small)
    inputs = Inputs(data=grey)
    start = supervised.init(config, inputs)
    moved, _ = supervised.update(config, inputs, start)
    for name in networks.parameter_names(config.network.for_data(grey)):
        is_small = float((moved.weights[name] - start.weights[name]).abs().max()) < 0.1
        assert is_small == (float(start.weights[name].abs().max()) < 0.1), name


def test_mixed_hard_labels_are_mixed_cross_entropy(grey: ImageData) -> None:
    """KL to a mixture differs from mixed cross-entropies by the entropy of the mixture, which has
    no gradient.
    """
    plain_net = networks.spec("convnet", width=4, norm="none")
    config = supervised.Config(
        network=plain_net, mixup_alpha=1.0, epochs=1, batch_size=36, flip=False, crop_pixels=0
    )
    (step,) = process.steps(supervised, config, Inputs(data=grey))
    module = plain(networks.initialise(config.network.for_data(grey), seed=0))
    (loss,) = plain_training(config, grey, module, None, 1)
    assert float(step.trace.loss) <= float(loss) + 1e-6
    for name, value in module.state_dict().items():
        if value.is_floating_point() and "running" not in name:
            # The first step of AdamW is nearly the sign of the gradient: where that is nearly 0 it
            # may differ.
            assert float((step.state.weights[name] - value).abs().median()) < 1e-5, name


@pytest.mark.parametrize(
    ("count", "batch_size", "per_epoch"), [(6, 4, 2), (6, 6, 1), (6, 100, 1), (6, 1, 6), (6, 5, 2)]
)
def test_every_image_is_seen_once_per_epoch(
    count: int, batch_size: int, per_epoch: int, distilled: DistilledSet
) -> None:
    config = supervised.Config(epochs=3, batch_size=batch_size)
    inputs = Inputs(distilled=distilled)
    assert supervised.total_steps(config, inputs) == 3 * per_epoch
    epochs = []
    for e in range(3):
        epochs.append(
            torch.cat(
                [supervised._batch(config, inputs, e * per_epoch + b) for b in range(per_epoch)]
            )
        )
    assert all(sorted(epoch.tolist()) == list(range(count)) for epoch in epochs)
    assert len({tuple(epoch.tolist()) for epoch in epochs}) > 1


def test_a_rate_that_falls_at_half_as_dc_s_students_have_it(distilled: DistilledSet) -> None:
    """The authors' loop of E + 1 epochs: after epoch E / 2 + 1, counted from 0, SGD is made anew
    with a tenth of the rate.
    """
    spec = networks.spec("convnet", width=4, norm="instance")
    printed = 6
    small: dict[str, Any] = {"network": spec, "epochs": printed + 1, "strategy": ""}
    config = supervised.Config.paper("mnist", recipe="dc", **small)
    inputs = Inputs(distilled=distilled)
    labels = distilled.labels
    module = plain(
        Network(spec=spec.for_data(distilled), weights=supervised.init(config, inputs).weights)
    )
    rate = 0.01
    solver = torch.optim.SGD(module.parameters(), lr=rate, momentum=0.9, weight_decay=5e-4)
    for epoch, step in enumerate(process.steps(supervised, config, inputs)):
        assert step.trace.learning_rate == pytest.approx(rate)
        solver.zero_grad()
        F.cross_entropy(module(distilled.images), labels).backward()
        solver.step()
        if epoch == printed // 2 + 1:
            rate *= 0.1
            solver = torch.optim.SGD(module.parameters(), lr=rate, momentum=0.9, weight_decay=5e-4)
    assert rate < 0.01 and step.index == printed + 1
    for name, value in module.state_dict().items():
        torch.testing.assert_close(step.state.weights[name], value, rtol=2e-4, atol=1e-6)


def test_each_image_of_a_student_is_turned_by_an_angle_of_its_own(distilled: DistilledSet) -> None:
    """The one image six times over: seen alike by a plain student, as six by one whose strategy
    turns them.
    """
    equal_images = dataclasses.replace(
        distilled,
        tensors={"images": distilled.images[:1].expand_as(distilled.images).clone()},
        targets=(HardLabels(distilled.labels),),
    )
    plain_one = supervised.Config(
        network=networks.spec("convnet", width=4), crop_pixels=0, flip=False, mixup_alpha=0.0
    )
    batches: list[Tensor] = []
    with pytest.MonkeyPatch.context() as patch:
        call = networks.call
        patch.setattr(
            networks,
            "call",
            lambda spec, weights, images, **options: (
                batches.append(images),
                call(spec, weights, images, **options),
            )[1],
        )
        for config in (plain_one, plain_one.replace(strategy="rotate")):
            next(iter(process.steps(supervised, config, Inputs(distilled=equal_images))))
    apart = [
        float((images - images[:1]).abs().flatten(1).amax(1)[1:].min()) for images in batches[-2:]
    ]
    assert apart[0] == 0 and apart[1] > 0.01


def test_a_teacher_learns(digits: ImageData) -> None:
    config = supervised.Config.teaching(
        "teacher", epochs=3, network=networks.spec("convnet", width=16)
    )
    teacher = run_to_end(supervised, config, Inputs(data=digits))
    assert accuracy(teacher, digits) > 0.85
    assert teacher.provenance["complete"] and teacher.provenance["config"] == config.to_dict()


def test_trace(grey: ImageData) -> None:
    config = supervised.Config(
        network=networks.spec("convnet", width=4),
        epochs=2,
        batch_size=36,
        mixup_alpha=0.0,
        crop_pixels=0,
        flip=False,
    )
    first, second = (step.trace for step in process.steps(supervised, config, Inputs(data=grey)))
    assert first.learning_rate == config.learning_rate and second.learning_rate == pytest.approx(
        config.learning_rate / 2
    )
    assert 0 <= float(first.accuracy_fraction) <= 1
    network = networks.initialise(config.network.for_data(grey), seed=0)
    logits = networks.call(network.spec, network.weights, grey.normalised(), train=True)[0].logits
    assert float(first.accuracy_fraction) == pytest.approx(
        float((logits.argmax(1) == grey.train_labels).float().mean())
    )


def test_the_set_goes_before_the_data(grey: ImageData, distilled: DistilledSet) -> None:
    config = supervised.Config(network=networks.spec("convnet", width=4), epochs=1)
    with_data = run_to_end(supervised, config, Inputs(distilled=distilled, data=grey))
    alone = run_to_end(supervised, config, Inputs(distilled=distilled, data=None))
    assert_same(with_data.weights, alone.weights)


class TestBadInput:
    config = supervised.Config(network=networks.spec("convnet", width=4), epochs=1)

    def test_nothing_to_train_on(self) -> None:
        with refuses("data or distilled", "training"):
            run_to_end(supervised, self.config, Inputs())

    def test_labels_that_are_not_there(
        self, grey: ImageData, distilled: DistilledSet, teacher: Network
    ) -> None:
        with refuses("labels", "'stored'"):
            run_to_end(
                supervised,
                self.config.replace(labels="stored"),
                Inputs(data=grey, teachers=(teacher,)),
            )
        bare = dataclasses.replace(distilled, targets=(HardLabels(distilled.labels),))
        with refuses("labels", "['hard']", "'stored'"):
            run_to_end(supervised, self.config.replace(labels="stored"), Inputs(distilled=bare))
        for inputs in (Inputs(data=grey), Inputs(distilled=distilled)):
            with refuses("teacher", "online"):
                run_to_end(supervised, self.config.replace(labels="online"), inputs)

    def test_another_teacher(self, distilled: DistilledSet, other_teacher: Network) -> None:
        with refuses("teacher", "made the set", other_teacher.fingerprint):
            run_to_end(
                supervised,
                self.config.replace(labels="online"),
                Inputs(distilled=distilled, teachers=(other_teacher,)),
            )

    def test_an_empty_set(self, distilled: DistilledSet) -> None:
        empty = dataclasses.replace(
            distilled,
            tensors={"images": distilled.images[:0]},
            targets=(HardLabels(distilled.labels[:0]),),
        )
        with refuses("distilled", "at least one image"):
            run_to_end(supervised, self.config, Inputs(distilled=empty))

    def test_crop_larger_than_the_image(self, grey: ImageData) -> None:
        with refuses("crop_pixels", "below the image size of 8 px"):
            run_to_end(supervised, self.config.replace(crop_pixels=8), Inputs(data=grey))

    def test_images_that_are_too_small(self) -> None:
        with refuses("image_size", "at least 8"):
            run_to_end(
                supervised, self.config.replace(crop_pixels=0), Inputs(data=made_data(size=4))
            )

    def test_a_last_batch_of_one_image_in_batch_norm(self, distilled: DistilledSet) -> None:
        """ResNet-18 has one pixel left at 8 px: one image alone has no variance there."""
        config = self.config.replace(network=networks.spec("resnet18"), batch_size=5)
        with refuses("batch_size"):
            run_to_end(supervised, config, Inputs(distilled=distilled))

    def test_a_short_student_follows_the_labels_and_the_number_of_images(
        self, grey: ImageData, colour: ImageData
    ) -> None:
        for_data = supervised.Config.for_data
        one_image = for_data(grey)
        assert (one_image.network.options.norm, one_image.optimiser) == ("instance", "sgd")
        assert (one_image.network.options.width, one_image.epochs) == (128, 200)
        many = for_data(grey, images=1000)
        assert (many.network.options.width, many.epochs) == (64, 20)
        assert "flip" in for_data(colour).strategy and "flip" not in one_image.strategy
        assert for_data(made_data(size=28)).network.options.padding == 3
        assert for_data(grey, labels="stored") == supervised.Config.quick(grey, labels="stored")
        assert for_data(grey, "teacher") == supervised.Config.quick(grey, "teacher")

    def test_a_set_says_itself_how_many_images_it_holds(self, distilled: DistilledSet) -> None:
        for_data = supervised.Config.for_data
        assert for_data(distilled) == for_data(distilled, images=len(distilled))

    def test_digits_are_not_mirrored(self, grey: ImageData, colour: ImageData) -> None:
        fitting = supervised.Config.quick
        assert (
            fitting(colour).flip and not fitting(grey).flip and not fitting(colour, flip=False).flip
        )
        assert (
            fitting(made_data(size=17)).crop_pixels,
            fitting(made_data(size=16)).crop_pixels,
        ) == (4, 1)

    @pytest.mark.parametrize(
        "changes", [{"role": "Teacher"}, {"epoch": 3}, {"network": "convnett"}]
    )
    def test_presets(self, changes: dict[str, Any]) -> None:
        for preset in (supervised.Config.teaching, supervised.Config.paper):
            with refuses(next(iter(changes))):
                preset(**changes)


def test_batch_norm_sees_so_many_images_at_a_time(colour: ImageData) -> None:
    """Two halves of a batch, by plain PyTorch: gradients are summed, running statistics move twice."""
    spec = networks.spec("convnet", width=4, norm="batch").for_data(colour)
    config = supervised.Config(
        network=networks.spec("convnet", width=4, norm="batch"),
        optimiser="sgd",
        momentum=0.0,
        weight_decay=0.0,
        batch_size=8,
        batch_norm_images=4,
        crop_pixels=0,
        flip=False,
        mixup_alpha=0.0,
    )
    inputs = Inputs(data=colour, device="cpu")
    state = supervised.init(config, inputs)
    indices = config.indices(len(colour), 0)
    images, labels = colour.normalised(indices), colour.train_labels[indices]
    module = networks.Network(spec=spec, weights=state.weights).module().train()
    for half in range(2):
        rows = slice(4 * half, 4 * half + 4)
        (F.cross_entropy(module(images[rows]), labels[rows]) / 2).backward()
    learning_rate = config.learning_rate
    after, _ = supervised.update(config, inputs, state)
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None
        expected = parameter.detach() - learning_rate * parameter.grad
        torch.testing.assert_close(after.weights[name], expected, rtol=1e-4, atol=1e-6)
    for name, buffer in module.named_buffers():
        torch.testing.assert_close(after.weights[name], buffer, rtol=1e-5, atol=1e-6)


def test_a_second_pass_moves_the_running_statistics_alone(colour: ImageData) -> None:
    config = supervised.Config(
        network=networks.spec("convnet", width=4, norm="batch"), batch_size=8
    )
    inputs = Inputs(data=colour, device="cpu")
    state = supervised.init(config, inputs)
    once, _ = supervised.update(config, inputs, state)
    twice, _ = supervised.update(config.replace(forward_passes=2), inputs, state)
    for name, before in state.weights.items():
        if name.endswith("running_mean"):
            # r1 = r0 + m (b - r0) and r2 = r1 + m (b - r1), with torch's m = .1
            expected = once.weights[name] + 0.9 * (once.weights[name] - before)
            torch.testing.assert_close(twice.weights[name], expected)
        elif "running" not in name and "tracked" not in name:
            assert torch.equal(twice.weights[name], once.weights[name])
