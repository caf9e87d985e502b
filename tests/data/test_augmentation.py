"""Random parts against torchvision's; `Views` as a function of its fields and the step."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from ddlab.core import randomness
from ddlab.data.augmentation import Views, random_rectangle
from tests.training.test_supervised import images, view


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
        cropped = view(given_images, crop_area=0.2, seed=5, step=7).images
        torch.testing.assert_close(cropped, torch.stack(expected))
        assert torch.equal(view(given_images, crop_area=1.0).images, given_images)

    def test_areas_are_uniform_and_aspects_log_uniform(self) -> None:
        """Up to .7 of the area, where every aspect fits."""
        draw = torch.Generator().manual_seed(0)
        boxes = np.array(
            [random_rectangle(300, 300, smallest_area=0.08, generator=draw) for _ in range(3000)],
            dtype=float,
        )
        area = boxes[:, 2] * boxes[:, 3] / 300**2
        aspect = np.log(boxes[:, 3] / boxes[:, 2])
        small = area < 0.7
        assert stats.kstest(area[small], stats.uniform(0.08, 0.62).cdf).pvalue > 0.01
        limit = np.log(4 / 3)
        assert stats.kstest(aspect[small], stats.uniform(-limit, 2 * limit).cdf).pvalue > 0.01
        assert (
            (boxes[:, 0] + boxes[:, 2] <= 300).all()
            and (boxes[:, 1] + boxes[:, 3] <= 300).all()
            and boxes.min() >= 0
        )

    def test_area_and_aspect_of_its_draws(self) -> None:
        """From the uniform numbers themselves, where the first pair of them fits."""
        count_compared = 0
        for seed in range(50):
            first, second = (
                torch.rand(2, generator=torch.Generator().manual_seed(seed)).double().numpy()
            )
            area = 300**2 * np.interp(first, [0, 1], [0.25, 1])
            aspect = (3 / 4) ** (1 - 2 * second)
            rows, columns = np.round(np.sqrt([area / aspect, area * aspect]))
            box = random_rectangle(
                300, 300, smallest_area=0.25, generator=torch.Generator().manual_seed(seed)
            )
            if max(rows, columns) <= 300:
                assert box[2:] == (rows, columns)
                count_compared += 1
        assert count_compared > 20


class TestViews:
    views = Views(batch_size=4, crop_pixels=1, mixup_alpha=0.0, seed=3)

    def test_a_view_is_what_augment_makes_of_the_fields(self) -> None:
        fields: dict[str, Any] = {"crop_pixels": 2, "flip": True, "mixup_alpha": 0.7, "seed": 3}
        given_images = images(6)
        mean = torch.tensor([0.6])
        std = torch.tensor([0.4])
        viewed = Views(**fields).view(given_images, mean=mean, std=std, step=4)
        expected = view(given_images, **fields, step=4)  # -.6 / .4 is BLACK
        torch.testing.assert_close(viewed.images, expected.images)
        assert viewed.share == expected.share and torch.equal(viewed.partner, expected.partner)
        for name in fields:
            off = {"crop_pixels": 0, "flip": False, "mixup_alpha": 0.0, "seed": 4}[name]
            assert not torch.allclose(
                viewed.images, view(given_images, **fields | {name: off}, step=4).images
            ), name

    @pytest.mark.parametrize(("count", "steps"), [(8, 2), (9, 3), (1, 1), (0, 0)])
    def test_steps_of_an_epoch(self, count: int, steps: int) -> None:
        assert self.views.steps_per_epoch(count) == steps
        epoch_rows = [self.views.indices(count, step).tolist() for step in range(steps)]
        assert sorted(row for rows in epoch_rows for row in rows) == list(range(count)) and all(
            len(rows) <= 4 for rows in epoch_rows
        )
