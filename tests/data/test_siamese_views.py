"""Operations of DSA against numpy and scipy, one image at a time; and what is drawn for whom."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage, stats
from torch import Tensor

from ddlab.data import siamese_views as views
from ddlab.data.siamese_views import ALL, STRATEGIES, siamese_view
from tests.stand_in_device import stand_in_device
from tests.support import normal_doubles, refuses


def numpy_crop(image: Any, top_edge: int, left_edge: int) -> Any:
    padded = np.pad(image, ((0, 0), (99, 99), (99, 99)))
    (_, height, width) = image.shape
    return padded[
        :, 99 + top_edge : 99 + top_edge + height, 99 + left_edge : 99 + left_edge + width
    ]


def numpy_cutout(image: Any, row: int, column: int) -> Any:
    """A box of half the sides, rounded half up; of an even one half lies before the pixel."""
    inside = [
        np.isin(np.arange(side), centre - (side + 1) // 4 + np.arange((side + 1) // 2))
        for side, centre in zip(image.shape[1:], (row, column), strict=True)
    ]
    return np.where(inside[0][:, None] & inside[1], 0, image)


def scipy_sampled(image: Any, matrix: Any) -> Any:
    """Linear interpolation at matrix (row, column) from the centre, in pixels."""
    centre = (np.array(image.shape[1:]) - 1) / 2
    options = {"offset": centre - matrix @ centre, "order": 1, "mode": "grid-constant"}
    return np.stack([ndimage.affine_transform(channel, matrix, **options) for channel in image])


def scipy_rotate(image: Any, degrees: float) -> Any:
    sine = np.sin(np.deg2rad(degrees))
    cosine = np.cos(np.deg2rad(degrees))
    return scipy_sampled(image, np.array([[cosine, sine], [-sine, cosine]]))


def REAL(count: int, seed: int) -> Tensor:
    return normal_doubles(count, seed=seed)


def WHOLE(count: int, seed: int) -> Tensor:
    return (4 * normal_doubles(count, seed=seed)).round().long()


OPERATIONS: dict[str, tuple[Callable[..., Tensor], list[Any], Callable[..., Any]]] = {
    "brightness": (views.brightness, [REAL], lambda image, amount: image + amount),
    "saturation": (views.saturation, [REAL], lambda image, s: s * image + (1 - s) * image.mean(0)),
    "contrast": (views.contrast, [REAL], lambda image, s: s * image + (1 - s) * image.mean()),
    "crop": (views.crop, [WHOLE, WHOLE], numpy_crop),
    "cutout": (views.cutout, [WHOLE, WHOLE], numpy_cutout),
    "flip": (
        views.flip,
        [lambda n, seed: REAL(n, seed) > 0],
        lambda image, on: image[:, :, ::-1] if on else image,
    ),
    "scale": (
        views.scale,
        [REAL, REAL],
        lambda image, down, right: scipy_sampled(image, np.diag([down, right])),
    ),
    "rotate": (views.rotate, [lambda n, seed: 90 * REAL(n, seed)], scipy_rotate),
}


@pytest.mark.parametrize("name", OPERATIONS)
@given(
    shape=st.tuples(*(st.integers(1, highest) for highest in (3, 3, 7, 7))),
    per_image=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_equals_numpy_image_by_image(
    name: str, shape: tuple[int, int, int, int], per_image: bool, seed: int
) -> None:
    function, makers, reference = OPERATIONS[name]
    images = normal_doubles(*shape, seed=seed)
    count = shape[0]
    values = [make(count if per_image else 1, seed + place) for place, make in enumerate(makers, 1)]
    of_each = zip(images.numpy(), *(value.expand(count).tolist() for value in values), strict=True)
    expected = torch.from_numpy(np.stack([reference(*arguments) for arguments in of_each]))
    torch.testing.assert_close(function(images, *values), expected)
    in_float32 = function(
        images.float(), *(value.float() if value.is_floating_point() else value for value in values)
    )
    torch.testing.assert_close(in_float32, expected.float(), atol=2e-4, rtol=1e-4)


def test_a_quarter_turn_is_counter_clockwise_and_less_than_one_enlarges() -> None:
    images = normal_doubles(2, 3, 5, 5)
    turned = views.rotate(images, torch.tensor([90.0, -90.0]).double())
    for turns, image, turned_image in zip((1, -1), images, turned, strict=True):
        torch.testing.assert_close(turned_image, torch.rot90(image, turns, (1, 2)))
    white = torch.ones(1, 1, 8, 8)
    half = torch.tensor([0.5])
    assert (
        views.scale(white, half, half).sum() == 64
        and views.scale(white, 2 / half, 2 / half).sum() == 4
    )


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_of_operations(name: str) -> None:
    function, makers, _ = OPERATIONS[name]
    values = [make(2, place) for place, make in enumerate(makers)]
    images = normal_doubles(2, 2, 4, 5).requires_grad_()
    assert torch.autograd.gradcheck(lambda images: function(images, *values), (images,))
    if len(makers) == 1 and values[0].is_floating_point():
        assert torch.autograd.gradcheck(function, (images, values[0].requires_grad_()))


@pytest.mark.parametrize("strategy", [*STRATEGIES, ALL])
def test_gradients_of_views(strategy: str) -> None:
    images = normal_doubles(2, 2, 4, 5).requires_grad_()
    for options in ({}, {"per_image": True}):
        view = partial(siamese_view, strategy=strategy, seed=0, step=3, **options)
        assert torch.autograd.gradcheck(view, (images,))


@given(seed=st.integers(0, 2**40), step=st.integers(0, 10**6), size=st.integers(4, 9))
def test_batches_of_any_size_and_dtype_share_a_draw(seed: int, step: int, size: int) -> None:
    images = normal_doubles(9, 3, size, 6, seed=1)
    given_all: Any = {"seed": seed, "step": step}
    whole = siamese_view(images, ALL, **given_all)
    for part in (slice(0, 1), slice(2, 5), slice(0, 0)):
        torch.testing.assert_close(
            siamese_view(images[part], ALL, **given_all), whole[part], rtol=1e-12, atol=1e-12
        )
    torch.testing.assert_close(
        siamese_view(images.float(), ALL, **given_all), whole.float(), atol=1e-4, rtol=1e-4
    )
    with stand_in_device() as device:
        torch.testing.assert_close(siamese_view(images.to(device), ALL, **given_all).cpu(), whole)


def test_each_image_has_values_of_its_own() -> None:
    equal_images = normal_doubles(1, 3, 16, 16).expand(12, -1, -1, -1)
    for name in STRATEGIES:
        shared = siamese_view(equal_images, name, seed=0, step=0, per_image=False).unique(dim=0)
        per_image = siamese_view(equal_images, name, seed=0, step=0, per_image=True).unique(dim=0)
        assert len(shared) == 1 and (
            len(per_image) == 2 if name == "flip" else len(per_image) > 8
        ), name


def test_one_operation_is_drawn_and_any_may_be() -> None:
    images = normal_doubles(2, 3, 8, 8)
    operations = []
    for step in range(600):
        random_view = siamese_view(images, "rotate_crop_color", seed=0, step=step)
        assert torch.equal(
            random_view, siamese_view(images, "color_crop_rotate", seed=0, step=step)
        ), "the order is none"
        alone = {
            name: siamese_view(images, name, seed=0, step=step)
            for name in ("color", "crop", "rotate")
        }
        for name, view in alone.items():
            if torch.equal(view, random_view):
                operations.append(name)
    counted = [operations.count(name) for name in ("color", "crop", "rotate")]
    assert sum(counted) == 600 and stats.chisquare(counted).pvalue > 0.01


def random_views_of(image: Tensor, name: str, count: int = 3000) -> Any:
    """What an operation made of so many copies of an image [c, h, w], each with values of its own."""
    return siamese_view(
        image.double().expand(count, -1, -1, -1), name, seed=2, step=5, per_image=True
    ).numpy()


def assert_uniform(values: Any, low: float, high: float) -> None:
    assert values.min() >= low - 1e-9 and values.max() <= high + 1e-9
    assert stats.kstest(values, stats.uniform(low, high - low).cdf).pvalue > 0.01


def assert_each_as_often(name: str, image: Tensor, expected_views: list[Any]) -> None:
    random_views = [tuple(view.ravel()) for view in random_views_of(image, name)]
    counted = [random_views.count(tuple(view.ravel())) for view in expected_views]
    assert sum(counted) == len(random_views) and stats.chisquare(counted).pvalue > 0.01


def test_ranges_of_colours() -> None:
    """Rows tell contrast, for both channels have them; channels tell saturation and contrast; the
    mean tells brightness.
    """
    rows = torch.tensor([3.0, -3.0])
    channels = torch.tensor([1.0, -1.0])
    coloured = random_views_of(channels[:, None, None] + rows[:, None], "color")
    contrast = (coloured.mean(1)[:, 0, 0] - coloured.mean(1)[:, 1, 0]) / 6
    difference = (coloured[:, 0, 0, 0] - coloured[:, 1, 0, 0]) / 2
    assert_uniform(coloured.mean((1, 2, 3)), -0.5, 0.5)
    assert_uniform(contrast, 0.5, 1.5)
    assert_uniform(difference / contrast, 0, 2)


def test_ranges_of_crop_cutout_and_flip() -> None:
    """An eighth of 4 and of 20 pixels is rounded half up, to 1 and to 3; a box has an odd and an
    even side in 6 by 4 pixels.
    """
    image = normal_doubles(1, 4, 20)
    assert_each_as_often(
        "crop", image, [numpy_crop(image.numpy(), i, j) for i in (-1, 0, 1) for j in range(-3, 4)]
    )
    image = normal_doubles(1, 6, 4)
    assert_each_as_often(
        "cutout", image, [numpy_cutout(image.numpy(), i, j) for i in range(6) for j in range(5)]
    )
    assert_each_as_often("flip", image, [image.numpy(), image.numpy()[:, :, ::-1]])


def test_ranges_of_scale_and_rotate() -> None:
    """Pictures of row and column numbers around the centre, where neighbours differ by the entries
    of the matrix.
    """
    rows, columns = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
    transformed = random_views_of(torch.stack([rows, columns]), "scale")
    down, right = (
        transformed[:, 0, 4, 4] - transformed[:, 0, 3, 4],
        transformed[:, 1, 4, 4] - transformed[:, 1, 4, 3],
    )
    assert_uniform(down, 1 / 1.2, 1.2)
    assert_uniform(right, 1 / 1.2, 1.2)
    assert abs(stats.pearsonr(down, right).statistic) < 0.1
    transformed = random_views_of(torch.stack([rows, columns]), "rotate")
    assert_uniform(
        np.degrees(np.arcsin(transformed[:, 0, 4, 4] - transformed[:, 0, 4, 3])), -15, 15
    )


def test_no_strategy_and_bad_input() -> None:
    images: Any = normal_doubles(2, 3, 4, 4)
    assert siamese_view(images, "", seed=0, step=0) is images
    with refuses("operation of strategy", "nearest: 'crop'", "'crops'"):
        siamese_view(images, "flip_crops", seed=0, step=0)
    with refuses("strategy", "none is repeated", "'flip_crop_flip'"):
        siamese_view(images, "flip_crop_flip", seed=0, step=0)
