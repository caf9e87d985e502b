"""`shapes`: generated colour pictures of ten shapes, from 16 to 224 pixels.

One shape, turned by up to 0.5 radian, in a random colour, texture, position, size and light, in
front of clutter and behind a bar, on the whole lighter than its ground. All shapes have one area;
nothing but the shape tells the class. Image i of a split depends on (seed, split, i) alone, not on
how many are asked for; its class is i modulo 10; the same scene is drawn at every size.

The dataset is frozen: a test holds the bytes of VERSION. How hard it is was set before any method
was tuned on it, and only by random real images and training on everything. Accuracy on the 1,000
test images at 32 px, ConvNet-3 of width 64, two CPU threads; for random images the mean over three
students of one selection (95% interval):

images of a class       hard labels                 online labels
500 (all), 12 epochs    0.958 (one network)
50                      0.596 (0.551 to 0.640)      0.834 (0.818 to 0.850)
10                      0.212 (0.163 to 0.260)      0.361 (0.348 to 0.374)
1                       0.105 (0.076 to 0.133)      0.127 (0.120 to 0.135)

The network of the first line is the teacher of the online labels. One image of a class with hard
labels is not told from chance. The default 6,000 images take about one CPU-second. Measured with

    ours = {"network": networks.spec("convnet", width=64), "crop_pixels": 4, "flip": True}
    teacher = train_teacher(data, supervised.Config.teaching("teacher", epochs=12, **ours))
    chosen = distill("selection", data, teacher, config=selection.Config(images_per_class=ipc))
    student = supervised.Config.teaching(epochs=60, **ours)
    evaluate(chosen, data, labels=labels, teacher=teacher, seeds=range(3), config=student)
"""

from collections.abc import Callable
from typing import Annotated

import numpy as np
import torch

from ..core import Count, Index, checked, errors, randomness, within
from .images import ImageData

NAME = "shapes"
# Part of every draw: another number is another dataset.
VERSION = 1
CHUNK_PIXELS = 2**17  # images are drawn so many pixels at a time, which fits the cache
# Boxes in the background of every image.
CLUTTER = 4
DRAWS = 80  # random numbers set aside for each image

Array = np.ndarray
Size = Annotated[int, within(16, 224)]


@checked
def load(*, size: Size = 32, train: int = 5000, test: Count = 1000, seed: Index = 0) -> ImageData:
    """Return the shapes as 5,000 training and 1,000 test images of three channels.

    Args:
        size: height and width in pixels, 16 to 224.
        train: number of training images, at least 10.
        test: number of test images.
        seed: of every draw; another seed gives other images of the same kind.

    Raises:
        DDLabError: an argument out of range.
    """
    counts = {"train": errors.check_integer("train", train, len(CLASSES)), "test": test}
    parts = {}
    for split, count in counts.items():
        parts[f"{split}_images"] = torch.from_numpy(_draw(split, count, size, seed))
        parts[f"{split}_labels"] = torch.arange(count) % len(CLASSES)
    return ImageData(name=f"{NAME}-{size}", class_names=tuple(CLASSES), **parts)


# --------------------------------------------------------------------------------------- the shapes
# Each function gives, for local coordinates u (right) and v (up), roughly the distance to the
# outline, negative inside.
# The sizes give every shape about the area of the disc of radius 0.8, so that the area tells
# nothing.


def _disc(u: Array, v: Array) -> Array:
    # The measure for all others: pi .8^2 = 2.01.
    return np.sqrt(u * u + v * v) - 0.8


def _ring(u: Array, v: Array) -> Array:
    return np.abs(np.sqrt(u * u + v * v) - 0.73) - 0.22


def _half(u: Array, v: Array) -> Array:
    # Moved so that the centre of gravity lies near the origin: position must not tell the class.
    v = v + 0.48
    return np.maximum(np.sqrt(u * u + v * v) - 1.13, -v)


def _crescent(u: Array, v: Array) -> Array:
    u = u - 0.2
    return np.maximum(np.sqrt(u * u + v * v) - 1.05, 0.72 - np.sqrt((u - 0.5) ** 2 + v * v))


def _triangle(u: Array, v: Array) -> Array:
    slope = np.sqrt(3) / 2
    return np.maximum(-v, slope * np.abs(u) + v / 2) - 0.62


def _square(u: Array, v: Array) -> Array:
    return _box(u, v, 0.71, 0.71)


def _cross(u: Array, v: Array) -> Array:
    # Two bars from end to end; with half a width of .295 they cover 2.01, the area of the disc.
    return np.minimum(_box(u, v, 1.0, 0.295), _box(u, v, 0.295, 1.0))


def _star(u: Array, v: Array) -> Array:
    # Mirrors fold the plane onto half an arm, which one line from the tip to the notch bounds.
    tip = 1.25
    notch = 0.55
    u = np.abs(u)
    for angle in (0.4 * np.pi, 0.2 * np.pi):
        beyond = np.maximum(np.cos(angle) * u - np.sin(angle) * v, 0)
        u, v = u - 2 * np.cos(angle) * beyond, v + 2 * np.sin(angle) * beyond
    right = tip - notch * np.cos(0.2 * np.pi)
    up = notch * np.sin(0.2 * np.pi)
    return (right * np.abs(u) + up * (v - tip)) / np.hypot(right, up)


def _heart(u: Array, v: Array) -> Array:
    v = v + 0.08
    half = 0.53
    tilted = _box((u + v) * np.sqrt(0.5), (v - u) * np.sqrt(0.5), half, half)
    lobe = half * np.sqrt(0.5)
    return np.minimum(tilted, np.sqrt((np.abs(u) - lobe) ** 2 + (v - lobe) ** 2) - half)


def _corner(u: Array, v: Array) -> Array:
    u, v = u - 0.15, v - 0.15
    return np.maximum(_box(u, v, 0.9, 0.9), np.minimum(u, v) + 0.2)


def _box(u: Array, v: Array, width: float | Array, height: float | Array) -> Array:
    return np.maximum(np.abs(u) - width, np.abs(v) - height)


CLASSES: dict[str, Callable[[Array, Array], Array]] = {
    "disc": _disc,
    "ring": _ring,
    "half disc": _half,
    "crescent": _crescent,
    "triangle": _triangle,
    "square": _square,
    "cross": _cross,
    "star": _star,
    "heart": _heart,
    "corner": _corner,
}


# ---------------------------------------------------------------------------------------- the scene


class _Numbers:
    """The random numbers of some images; every call takes the next column.

    The order of the calls is part of VERSION.
    """

    def __init__(self, numbers: Array) -> None:
        self.numbers = numbers
        self.column = 0

    def between(self, low: float, high: float) -> Array:
        """Draw one number for each image, [n, 1, 1]."""
        self.column += 1
        return (low + (high - low) * self.numbers[:, self.column - 1])[:, None, None]

    def direction(self, largest_angle: float = np.pi) -> tuple[Array, Array]:
        """Draw a unit vector for each image, at an angle from -largest_angle to largest_angle."""
        angle = self.between(-largest_angle, largest_angle)
        return np.cos(angle), np.sin(angle)

    def colour(self, light: Array, strongest: float = 0.2) -> Array:
        """Draw a colour of this lightness in a random hue, [n, 3, 1]."""
        hue = self.between(0, 2 * np.pi)
        strength = self.between(0, strongest)
        return (light + strength * np.cos(hue - np.array([0, 2, 4])[:, None] * np.pi / 3)).clip(
            0.02, 0.98
        )


def _draw(split: str, count: int, size: int, seed: int) -> Array:
    """Return the images of a split, uint8 [count, 3, size, size]."""
    images = np.empty((count, 3, size, size), dtype=np.uint8)
    # The raw 64-bit words, because numpy may change how it makes floats of them, but not a
    # counter-based generator's words.
    raw = randomness.numpy_generator(seed, VERSION, f"shapes {split}").bit_generator.random_raw(
        count * DRAWS
    )
    # The upper 53 bits are a float64 in [0, 1), exactly.
    numbers = (raw >> np.uint64(11)).reshape(count, DRAWS) * 2.0**-53
    chunk = max(CHUNK_PIXELS // size**2, 1)
    for label, outline in enumerate(CLASSES.values()):
        # One class at a time, because all images of a chunk share their outline's function.
        members = np.arange(label, count, len(CLASSES))
        # 2^17 pixels of float64 in three channels are 3 MB; larger chunks leave the cache and take
        # twice as long.
        for start in range(0, len(members), chunk):
            rows = members[start : start + chunk]
            scene = _scene(_Numbers(numbers[rows]), outline, size)
            images[rows] = np.rint(255 * scene).astype(np.uint8).reshape(-1, 3, size, size)
    return images


def _scene(draw: _Numbers, outline: Callable[[Array, Array], Array], size: int) -> Array:
    """Return pixel values in [0, 1], [n, 3, size * size].

    Ground, clutter, shape, bar and light are painted from back to front.
    """
    side = (2 * np.arange(size) + 1) / size - 1
    x, y = side[None, None, :], -side[None, :, None]  # y points up; pixel centres lie in (-1, 1)

    light = draw.between(0.1, 0.4)
    picture = _add_texture(draw, x, y, light, 0.1)
    for _ in range(CLUTTER):
        u, v = _turn(draw, x - draw.between(-1, 1), y - draw.between(-1, 1))
        piece = _box(u, v, draw.between(0.03, 0.15), draw.between(0.03, 0.15))
        _paint(picture, piece, size, draw.colour(draw.between(0.1, 0.8)))

    # Lighter than the ground, but only on the whole: textures and light overlap, so brightness
    # alone does not find the shape.
    surface = _add_texture(draw, x, y, light + draw.between(0.25, 0.5), 0.22)
    centre_x = draw.between(-0.25, 0.25)
    centre_y = draw.between(-0.25, 0.25)
    radius = draw.between(0.45, 0.8)
    # Half a radian: turned further, a square and a corner would be told by nothing.
    u, v = _turn(draw, x - centre_x, y - centre_y, largest_angle=0.5)
    # Wider by what it is flatter by, so the area stays.
    stretch = draw.between(0.85, 1.18)
    _paint(picture, outline(u * stretch / radius, v / stretch / radius) * radius, size, surface)

    across, along = draw.direction()
    distance = across * (x - centre_x) + along * (y - centre_y) - draw.between(0, 0.8) * radius
    _paint(
        picture,
        np.abs(distance) - draw.between(-0.1, 0.18) * radius,
        size,
        draw.colour(draw.between(0.1, 0.9)),
    )

    right, up = draw.direction()
    light = draw.between(0.75, 1.15) + draw.between(0, 0.35) * (right * x + up * y)
    picture *= light.reshape(len(light), 1, -1)
    return picture.clip(0, 1, out=picture)


def _turn(draw: _Numbers, x: Array, y: Array, largest_angle: float = np.pi) -> tuple[Array, Array]:
    cosine, sine = draw.direction(largest_angle)
    return cosine * x + sine * y, cosine * y - sine * x


def _add_texture(draw: _Numbers, x: Array, y: Array, light: Array, strongest: float) -> Array:
    """Return stripes or checks between two colours, [n, 3, pixels].

    Both have about one lightness, on a slope between them.
    """
    u, v = _turn(draw, x, y)
    frequency = draw.between(3, 14)
    # Both patterns are computed and one is chosen: the number of draws must not depend on a draw.
    checks = draw.between(0, 1) < 0.5
    pattern = np.sin(frequency * u + draw.between(0, 2 * np.pi))
    pattern *= np.where(checks, np.sin(frequency * v + draw.between(0, 2 * np.pi)), 1)
    share = 0.5 + draw.between(-0.4, 0.4) * v + draw.between(0, 0.3) * pattern
    share = share.clip(0, 1, out=share).reshape(len(share), 1, -1)
    first = draw.colour(light + draw.between(-0.06, 0.06), strongest)
    second = draw.colour(light + draw.between(-0.06, 0.06), strongest)
    return first + (second - first) * share


def _paint(picture: Array, distance: Array, size: int, colour: Array) -> None:
    """Cover what lies inside an outline, in place.

    At the edge a pixel is covered by the share of it that lies inside.
    """
    # Pixels are 2 / size wide; half a pixel on either side of the outline is blended, which makes
    # the same scene look alike at every size.
    cover = (0.5 - distance * (size / 2)).clip(0, 1).reshape(len(picture), 1, -1)
    picture += (colour - picture) * cover
