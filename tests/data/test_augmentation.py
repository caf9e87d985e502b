"""CutMix against torchvision's and a count of pixels; `Views` as a function of its fields and the step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ddlab.core import randomness
from ddlab.data.augmentation import Views, cutmix_box, random_rectangle
from ddlab.training import supervised
from tests.stand_in_device import stand_in_device
from tests.support import refuses
from tests.training.test_supervised import SEEDS, images, view


class TestCutMixBox:
    @given(
        height=st.integers(1, 40), width=st.integers(1, 40), places=st.tuples(st.floats(0, 0.999), st.floats(0, 0.999)),
        share=st.floats(0, 1),
    )  # fmt: skip
    def test_equals_a_count_of_pixels(self, height: int, width: int, places: tuple[float, float], share: float) -> None:
        """A pixel is cut where it lies within half a side of the centre; half sides in whole pixels."""
        row, column = int(places[0] * height), int(places[1] * width)
        top, left, bottom, right = cutmix_box(height, width, row=row, column=column, share=share)
        side = np.sqrt(np.float64(1) - share)
        half = [np.floor(n * side / 2) for n in (height, width)]
        expected = {
            (y, x)
            for y in range(height)
            for x in range(width)
            if -half[0] <= y - row < half[0] and -half[1] <= x - column < half[1]
        }
        assert {(y, x) for y in range(top, bottom) for x in range(left, right)} == expected
        assert len(expected) <= (1 - share) * height * width + 1e-9

    def test_equals_torchvisions(self) -> None:
        """Its box for the same share and centre, which it draws itself."""
        from torchvision.transforms import v2

        transform = v2.CutMix(num_classes=3, alpha=1.0)
        for seed in range(50):
            torch.manual_seed(seed)
            drawn = transform.make_params([torch.zeros(2, 3, 9, 12)])
            torch.manual_seed(seed)
            share = float(transform._dist.sample(()))
            column, row = int(torch.randint(12, size=(1,))), int(torch.randint(9, size=(1,)))
            top, left, bottom, right = cutmix_box(9, 12, row=row, column=column, share=share)
            assert (left, top, right, bottom) == tuple(int(side) for side in drawn["box"])
            assert 1 - (bottom - top) * (right - left) / 108 == pytest.approx(float(drawn["lam_adjusted"]))

    def test_limits(self) -> None:
        assert cutmix_box(8, 8, row=4, column=4, share=0.0) == (0, 0, 8, 8)
        top, left, bottom, right = cutmix_box(8, 8, row=3, column=5, share=1.0)
        assert (bottom - top) * (right - left) == 0
        # Four fifths of the side around a corner: a quarter of it lies inside.
        assert cutmix_box(10, 10, row=0, column=0, share=0.36) == (0, 0, 4, 4)

    @pytest.mark.parametrize("change", [{"row": 8}, {"column": -1}])
    def test_bad_input(self, change: dict[str, Any]) -> None:
        given: dict[str, Any] = {"height": 8, "width": 8, "row": 1, "column": 1, "share": 0.5} | change
        with refuses(next(iter(change))):
            cutmix_box(**given)


class TestCutMix:
    @given(**SEEDS, alpha=st.floats(0.1, 4), channels=st.sampled_from([1, 3]))
    def test_each_pixel_comes_from_one_of_two_images(self, seed: int, step: int, alpha: float, channels: int) -> None:
        given_images = images(5, channels, size=7)
        black = torch.zeros(1, channels, 1, 1)
        found = view(given_images, cutmix_alpha=alpha, black=black, seed=seed, step=step)
        other = given_images[found.partner]
        own = (found.images == given_images).all(1)  # [n, h, w]
        assert torch.equal(found.images, torch.where(own[:, None], given_images, other))
        assert sorted(found.partner.tolist()) == [0, 1, 2, 3, 4]
        # The share that is said is the share that is there, for every image that was mixed with another.
        mixed = found.partner != torch.arange(5)
        assert torch.allclose(own[mixed].double().mean((1, 2)), torch.full((int(mixed.sum()),), found.share).double())
        # One box for the whole batch.
        assert (own[mixed] == own[mixed][:1]).all()

    def test_shares_follow_beta_but_for_what_lies_outside(self) -> None:
        """The drawn shares are Beta's; the kept ones are never below them, and equal where the box lies inside."""
        drawn, kept = [], []
        for step in range(400):
            draw = randomness.numpy_generator(0, step, "cutmix")
            drawn.append(draw.beta(0.8, 0.8))
            kept.append(view(images(2, size=16), cutmix_alpha=0.8, step=step).share)
        assert stats.kstest(drawn, stats.beta(0.8, 0.8).cdf).pvalue > 0.01
        assert all(share >= low - 1e-9 for share, low in zip(kept, drawn, strict=True))
        assert np.mean(np.subtract(kept, drawn) > 0.02) > 0.3

    def test_leaves_its_images_and_the_draws_before_it_as_they_were(self) -> None:
        given_images = images(6)
        before = given_images.clone()
        plain = view(given_images, crop_pixels=1, flip=True, step=4)
        mixed = view(given_images, crop_pixels=1, flip=True, cutmix_alpha=1.0, step=4)
        assert torch.equal(given_images, before)
        partner = plain.images[mixed.partner]
        assert ((mixed.images == plain.images) | (mixed.images == partner)).all() and 0 < mixed.share < 1
        # The partner is the same as mixup's: the draws stand at the same place.
        assert torch.equal(mixed.partner, view(given_images, crop_pixels=1, flip=True, mixup_alpha=1.0, step=4).partner)

    def test_mixed_targets_are_mixed_by_area(self) -> None:
        """Soft labels that count the pixels of each class in the view."""
        marked = torch.arange(4.0)[:, None, None, None].expand(4, 1, 8, 8)
        found = view(marked, cutmix_alpha=1.0, step=3)
        counted = torch.stack([(found.images == kind).double().mean((1, 2, 3)) for kind in range(4)], 1)
        targets = supervised.mixed_targets(found, torch.eye(4, dtype=torch.float64))
        assert 0 < found.share < 1
        torch.testing.assert_close(targets, counted)

    def test_not_beside_mixup(self) -> None:
        with refuses("cutmix_alpha", "mixup_alpha of 0.8", "1.0"):
            view(images(), mixup_alpha=0.8, cutmix_alpha=1.0)
        with refuses("cutmix_alpha", "mixup_alpha of 0.8"):
            Views(cutmix_alpha=1.0)


class TestRandomParts:
    def test_equals_torchvisions_resized_crop(self) -> None:
        """Each image has a rectangle of its own, drawn in its turn; torchvision cuts and scales it."""
        from torchvision.transforms.v2 import functional

        given_images = images(6, size=11)
        draw = randomness.generator(5, 7, "random part")
        expected = []
        for image in given_images:
            box = random_rectangle(11, 11, smallest_area=0.2, generator=draw)
            expected.append(functional.resized_crop(image, *box, size=[11, 11], antialias=True))
        found = view(given_images, crop_area=0.2, seed=5, step=7).images
        torch.testing.assert_close(found, torch.stack(expected))
        assert torch.equal(view(given_images, crop_area=1.0).images, given_images)

    @pytest.mark.parametrize("smallest", [0.05, 0.9])
    def test_a_gpu_cuts_all_at_once(self, smallest: float) -> None:
        """Other calls, the same numbers: of images that are not square, one pixel high, too."""
        for size in ((11, 7), (1, 5)):
            given_images = torch.randn(6, 2, *size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
            black = torch.zeros((1, 2, 1, 1), dtype=torch.float64)
            expected = view(given_images, black=black, crop_area=smallest, seed=5, step=7).images
            with stand_in_device() as device:
                on_device = view(given_images.to(device), black=black.to(device), crop_area=smallest, seed=5, step=7)
                found = on_device.images.cpu()
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)

    def test_areas_are_uniform_and_aspects_log_uniform(self) -> None:
        """Up to .7 of the area, where every aspect fits."""
        draw = torch.Generator().manual_seed(0)
        boxes = np.array(
            [random_rectangle(300, 300, smallest_area=0.08, generator=draw) for _ in range(3000)], dtype=float
        )
        area, aspect = boxes[:, 2] * boxes[:, 3] / 300**2, np.log(boxes[:, 3] / boxes[:, 2])
        small = area < 0.7
        assert stats.kstest(area[small], stats.uniform(0.08, 0.62).cdf).pvalue > 0.01
        limit = np.log(4 / 3)
        assert stats.kstest(aspect[small], stats.uniform(-limit, 2 * limit).cdf).pvalue > 0.01
        assert (
            (boxes[:, 0] + boxes[:, 2] <= 300).all() and (boxes[:, 1] + boxes[:, 3] <= 300).all() and boxes.min() >= 0
        )

    def test_area_and_aspect_of_its_draws(self) -> None:
        """From the uniform numbers themselves, where the first pair of them fits."""
        seen = 0
        for seed in range(50):
            first, second = torch.rand(2, generator=torch.Generator().manual_seed(seed)).double().numpy()
            area, aspect = 300**2 * np.interp(first, [0, 1], [0.25, 1]), (3 / 4) ** (1 - 2 * second)
            rows, columns = np.round(np.sqrt([area / aspect, area * aspect]))
            box = random_rectangle(300, 300, smallest_area=0.25, generator=torch.Generator().manual_seed(seed))
            if max(rows, columns) <= 300:
                assert box[2:] == (rows, columns)
                seen += 1
        assert seen > 20

    def test_bad_input(self) -> None:
        with refuses("crop_area", "(0, 1]", "0"):
            view(images(), crop_area=0.0)


class TestViews:
    views = Views(batch_size=4, crop_pixels=1, mixup_alpha=0.0, cutmix_alpha=1.0, seed=3)

    def test_those_of_a_config_are_its_own_fields(self) -> None:
        config = supervised.Config(batch_size=4, crop_pixels=1, mixup_alpha=0.0, cutmix_alpha=1.0, seed=3, epochs=9)
        assert type(config.views()) is Views and config.views() == self.views

    @pytest.mark.parametrize("mixing", ["mixup_alpha", "cutmix_alpha"])
    def test_a_view_is_what_augment_makes_of_the_fields(self, mixing: str) -> None:
        fields: dict[str, Any] = {"crop_area": 0.4, "crop_pixels": 2, "flip": True, mixing: 0.7, "seed": 3}
        given_images, mean, std = images(6), torch.tensor([0.6]), torch.tensor([0.4])
        found = Views(**{"mixup_alpha": 0.0} | fields).view(given_images, mean=mean, std=std, step=4)  # type: ignore[arg-type]
        expected = view(given_images, **{"mixup_alpha": 0.0} | fields, step=4)  # -.6 / .4 is BLACK
        torch.testing.assert_close(found.images, expected.images)
        assert found.share == expected.share and torch.equal(found.partner, expected.partner)
        for name in fields:
            off = {"crop_area": 1.0, "crop_pixels": 0, "flip": False, mixing: 0.0, "seed": 4}[name]
            other = view(given_images, **{"mixup_alpha": 0.0} | fields | {name: off}, step=4)
            assert not torch.allclose(found.images, other.images), name

    @pytest.mark.parametrize(("count", "steps"), [(8, 2), (9, 3), (1, 1), (0, 0)])
    def test_steps_of_an_epoch(self, count: int, steps: int) -> None:
        assert self.views.steps_per_epoch(count) == steps
        seen = [self.views.indices(count, step).tolist() for step in range(steps)]
        assert sorted(row for rows in seen for row in rows) == list(range(count)) and all(
            len(rows) <= 4 for rows in seen
        )

    def test_teachers_parts_need_the_train_mode(self) -> None:
        with refuses("teacher_batch_size", "None where teacher_mode is 'eval'", "8"):
            Views(teacher_batch_size=8)
        with refuses("teacher_batch_size", "at least 2", "1"):
            Views(teacher_batch_size=1, teacher_mode="train")
