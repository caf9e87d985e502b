"""The colours of views against torchvision and colorsys; two views as a function of the fields and
the step.
"""

import colorsys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ddlab.unlabelled import self_supervised
from ddlab.unlabelled.self_supervised import (
    TwoViews,
    solarise,
    with_brightness,
    with_contrast,
    with_hue,
    with_saturation,
)
from tests.support import global_randomness

OFF: dict[str, Any] = {
    "batch_size": 4,
    "crop_area": 1.0,
    "flip": False,
    "jitter_probability": 0.0,
    "grey_probability": 0.0,
    "second_solarise_probability": 0.0,
}
FACTORS = (0.0, 0.3, 1.0, 1.4, 2.5)


def pixels(count: int = 5, channels: int = 3, size: int = 6, seed: int = 0) -> Tensor:
    """In [0, 1], of the levels that bytes have."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (count, channels, size, size), generator=draw) / 255


def only(**changes: Any) -> TwoViews:
    """Nothing but what is asked for."""
    return TwoViews(**OFF | changes)


def pair(views: TwoViews, images: Tensor, step: int = 0) -> tuple[Tensor, Tensor]:
    return views.pair(
        images, mean=torch.zeros(images.shape[1]), std=torch.ones(images.shape[1]), step=step
    )


@pytest.mark.parametrize("name", ["brightness", "contrast", "saturation"])
@pytest.mark.parametrize("channels", [1, 3])
def test_colours_are_torchvisions(name: str, channels: int) -> None:
    from torchvision.transforms.v2 import functional

    ours: Callable[[Tensor, Tensor], Tensor] = getattr(self_supervised, f"with_{name}")
    if channels == 1 and name == "saturation":
        return
    images = pixels(len(FACTORS), channels)
    changed_images = ours(images, torch.tensor(FACTORS))
    for image, factor, changed in zip(images, FACTORS, changed_images, strict=True):
        expected = getattr(functional, f"adjust_{name}")(image, factor)
        # Its grey is .2989 red, ours .299.
        torch.testing.assert_close(changed, expected, atol=2e-4, rtol=0)


def test_hue_is_colorsyss() -> None:
    images = pixels(6, size=4).double()
    images[0] = images[0, :1]  # grey: no hue
    images[1, 1], images[2, 2] = images[1, 0], images[2, 0]  # ties for the largest
    turns = (0.3, -0.2, 0.1, 0.5, -0.5, 0.05)
    turned = with_hue(images, torch.tensor(turns, dtype=torch.float64))
    for number, turn in enumerate(turns):
        for row, column in np.ndindex(4, 4):
            hue, saturation, value = colorsys.rgb_to_hsv(*images[number, :, row, column].tolist())
            expected = colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value)
            assert turned[number, :, row, column].tolist() == pytest.approx(expected, abs=1e-12)


def test_solarised_is_torchvisions() -> None:
    from torchvision.transforms.v2 import functional

    levels = torch.arange(256).reshape(1, 1, 16, 16)
    expected = functional.solarize(levels.to(torch.uint8), threshold=128)
    assert torch.equal((solarise(levels / 255) * 255).round().to(torch.uint8), expected)
    between = torch.tensor([0.4999, 0.5, 0.5001]).reshape(1, 1, 1, 3)
    torch.testing.assert_close(solarise(between).flatten(), torch.tensor([0.4999, 0.5, 0.4999]))


@pytest.mark.parametrize("channels", [1, 3])
def test_limits(channels: int) -> None:
    images = pixels(channels=channels)
    factor_1 = torch.ones(5)
    torch.testing.assert_close(with_brightness(images, factor_1), images)
    torch.testing.assert_close(with_contrast(images, factor_1), images)
    assert with_contrast(images, 0 * factor_1).flatten(1).std(1).max() < 1e-6
    if channels == 3:
        torch.testing.assert_close(with_saturation(images, factor_1), images)
        torch.testing.assert_close(with_hue(images, 0 * factor_1), images)
        torch.testing.assert_close(
            with_hue(with_hue(images, 0.3 * factor_1), 0.7 * factor_1), images
        )
        grey = with_saturation(images, 0 * factor_1)
        assert torch.equal(grey[:, 0], grey[:, 1]) and torch.equal(grey[:, 0], grey[:, 2])


def test_all_off_leaves_the_images() -> None:
    images = pixels()
    mean, std = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.3, 0.1])
    normalised = (images - mean[:, None, None]) / std[:, None, None]
    for view in only().pair(normalised, mean=mean, std=std, step=3):
        torch.testing.assert_close(view, normalised)


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_a_function_of_fields_and_step(channels: int) -> None:
    images = pixels(channels=channels, size=9)
    views = TwoViews(batch_size=4)
    images_before = images.clone()
    before = global_randomness()
    first, second = pair(views, images, 5)
    again = pair(views, images, 5)
    assert global_randomness() == before and torch.equal(images, images_before)
    assert torch.equal(first, again[0]) and torch.equal(second, again[1])
    assert first.shape == second.shape == images.shape and not torch.equal(first, second)
    # No two positions share their draws: neither views of a step, nor steps, nor seeds.
    other_views = [
        *pair(views, images, 6),
        *pair(views, images, 4),
        *pair(views.replace(seed=1), images, 5),
    ]
    assert not any(
        torch.equal(first, other_view) or torch.equal(second, other_view)
        for other_view in other_views
    )
    for view in (first, second):
        assert view.min() >= 0 and view.max() <= 1


def test_parts_and_flips_are_those_of_augment() -> None:
    from ddlab.data.augmentation import augment

    images = pixels(size=9)
    views = only(crop_area=0.3, flip=True, seed=2)
    for position, view in zip((14, 15), pair(views, images, 7), strict=True):
        black = torch.zeros(1, 3, 1, 1)
        expected = augment(
            images,
            crop_pixels=0,
            flip=True,
            mixup_alpha=0.0,
            crop_area=0.3,
            black=black,
            seed=2,
            step=position,
        )
        torch.testing.assert_close(view, expected.images.clamp(0, 1))


def test_a_switch_moves_no_other() -> None:
    """What is drawn for one change does not depend on whether another is on."""
    images = pixels(40)
    jittered = pair(only(jitter_probability=1.0), images)[1]
    maybe_solarised = pair(only(jitter_probability=1.0, second_solarise_probability=0.5), images)[1]
    unchanged = (maybe_solarised == jittered).flatten(1).all(1)
    flipped = (maybe_solarised == solarise(jittered)).flatten(1).all(1)
    assert (unchanged | flipped).all() and 8 < int(unchanged.sum()) < 32


@pytest.mark.parametrize(
    ("changes", "view_number", "share"),
    [
        ({"jitter_probability": 0.8}, 0, 0.8),
        ({"grey_probability": 0.2}, 0, 0.2),
        ({"second_solarise_probability": 0.3}, 1, 0.3),
        ({"second_solarise_probability": 0.3}, 0, 0.0),
        ({"flip": True}, 0, 0.5),
    ],
)
def test_how_often(changes: dict[str, Any], view_number: int, share: float) -> None:
    """Within 4 standard errors of 1,000 images."""
    images = pixels(1000, size=3)
    changed = (pair(only(**changes), images)[view_number] - images).abs().flatten(1).amax(1) > 1e-4
    assert abs(float(changed.float().mean()) - share) <= 4 * np.sqrt(share * (1 - share) / 1000)


@pytest.mark.parametrize(
    ("name", "strength"),
    [("brightness", 0.4), ("contrast", 0.4), ("saturation", 0.2), ("hue", 0.1)],
)
def test_jitter_reaches_its_ranges_and_no_further(name: str, strength: float) -> None:
    """One change alone, read off two pixels on which it acts linearly: uniform between minus and
    plus its most.
    """
    alone = dict.fromkeys(("brightness", "contrast", "saturation", "hue"), 0.0) | {name: strength}
    images = torch.tensor([0.5, 0.4, 0.4]).reshape(1, 3, 1, 1).repeat(1000, 1, 1, 2)
    images[:, :, :, 1] = torch.tensor([0.3, 0.4, 0.4]).reshape(3, 1)
    view = pair(only(**alone, jitter_probability=1.0), images)[0][:, :, 0]
    # A sixth of a turn from red to yellow, then to magenta: the second channel rises, or the third.
    if name == "hue":
        changes = (view[:, 1, 0] - view[:, 2, 0]) / 0.1 / 6
    elif name == "saturation":
        changes = (view[:, 0, 0] - view[:, 1, 0]) / 0.1 - 1
    else:
        changes = (view[:, 0, 0] - view[:, 0, 1]) / 0.2 - 1
    assert (
        -strength - 1e-5 <= changes.min() < -0.98 * strength
        and 0.98 * strength < changes.max() <= strength + 1e-5
    )
    assert abs(float(changes.mean())) < 4 * 2 * strength / np.sqrt(12 * 1000)


def test_changes_are_drawn_apart() -> None:
    """Two changes of one half each leave a quarter of 1,000 images as they were, within 4 standard
    errors.
    """
    images = pixels(1000, size=3)
    half = {"jitter_probability": 0.5, "grey_probability": 0.5}
    for switched_off in ("jitter_probability", "grey_probability"):
        chances = half | {switched_off: 0.0, "second_solarise_probability": 0.5}
        for options, view_number in ((half, 0), (chances, 1)):
            unchanged = (
                (
                    (pair(only(**options), images)[view_number] - images).abs().flatten(1).amax(1)
                    < 1e-4
                )
                .float()
                .mean()
            )
            assert abs(float(unchanged) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 1000)


def test_every_image_once_an_epoch_but_for_the_rest() -> None:
    views = TwoViews(batch_size=4)
    assert views.steps_per_epoch(11) == 2 and views.steps_per_epoch(3) == 1
    orders = []
    for epoch in range(3):
        rows = torch.cat([views.indices(11, 2 * epoch + number) for number in (0, 1)])
        assert len(rows) == 8 and len(rows.unique()) == 8 and rows.max() < 11
        orders.append(rows.tolist())
    assert orders[0] != orders[1] != orders[2]
    assert sorted(views.indices(3, 5).tolist()) == [0, 1, 2]
