"""Lesson 05: its exercises, the right answers and the usual mistakes."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import randomness
from ..answers import Exercise, NotYet

# Two rounds of three networks and one more: the order shows.
_UPDATES = 7
_NETWORKS = 3
_CLASSES = 10
_SIZE = 16  # of an image of exercise 2, as on the page
# The cosine between the way of an image and the way to its class mean. Images that ignore the labels
# reach .7, images that are moved towards their own class .9 and more.
_TOWARDS_CLASS = 0.8


def _real_images() -> list[tuple[Tensor]]:
    return [(torch.randn((7, 2, 4, 3), generator=randomness.generator(5, 0, "exercise 1")),)]


BEST_IMAGE = Exercise(
    arguments=("real [n, c, h, w]",),
    cases=_real_images,
    expected=lambda real: real.mean(0, keepdim=True),
    mistakes={
        "Nearly: return a batch of one image, [1, c, h, w]; keepdim=True keeps the dimension.": (
            lambda real: real.mean(0)
        ),
        "That is one of the real images. Its features are not the mean feature of all of them.": (
            lambda real: real[:1]
        ),
        "That is the real image nearest to the best one, which need not be real.": (
            lambda real: real[(real - real.mean(0)).flatten(1).norm(dim=1).argmin()][None]
        ),
        "Equation 6 compares means. The median of each pixel is another image.": (
            lambda real: real.median(0, keepdim=True).values
        ),
        "You added the images up, and didn't divide by their number.": (
            lambda real: real.sum(0, keepdim=True)
        ),
        "You averaged over the pixels, too: every pixel of your image has the same value.": (
            lambda real: real.mean((0, 2, 3), keepdim=True).expand(1, *real.shape[1:])
        ),
    },
    look="With features that are pixels, the mean feature of the real images is an image, too.",
    success="It is the mean image. Where the network adds nothing, matching gives the class mean.",
)


class _Probe:
    """A body that notes when it is used; its features are weighted pixels."""

    def __init__(self, number: int, uses: list[int]) -> None:
        self.weights = 0.5 + torch.arange(float(_SIZE**2)).roll(number) / (4 * _SIZE**2)
        self.number = number
        self.uses = uses

    def __call__(self, images: Tensor) -> Tensor:
        self.uses.append(self.number)
        return images.flatten(1) * self.weights


def _matching_cases() -> list[tuple[Any, ...]]:
    draws = randomness.generator(6, 0, "exercise 2")
    uses = list[int]()
    bodies = [_Probe(number, uses) for number in range(_NETWORKS)]
    labels = torch.arange(40) % _CLASSES
    patterns = torch.randn((_CLASSES, 1, _SIZE, _SIZE), generator=draws)
    real = patterns[labels] + 0.1 * torch.randn((40, 1, _SIZE, _SIZE), generator=draws)
    start = torch.randn((_CLASSES, 1, _SIZE, _SIZE), generator=draws)
    return [(bodies, real, labels, start)]


def _check_turns(
    learned: Tensor, bodies: list[_Probe], real: Tensor, labels: Tensor, start: Tensor
) -> Tensor:
    """Refuse an answer that uses other networks, or moves the images elsewhere.

    Returns the cosine, for each class, between the way of its image and the way to its mean.
    """
    turns = list[int]()
    for number in bodies[0].uses:
        if not turns or turns[-1] != number:
            turns.append(number)
    every_network = list(range(_NETWORKS))
    expected = [update % _NETWORKS for update in range(_UPDATES)]
    if not turns:
        raise NotYet("Your updates used none of the networks in the list.")
    if turns == every_network * _UPDATES:
        raise NotYet("Each of your updates uses every network. Use one, and the next one then.")
    if turns != expected:
        turns_text = ", ".join(map(str, turns[:_UPDATES])) + ", ..." * (len(turns) > _UPDATES)
        raise NotYet(
            f"With three networks, your {_UPDATES} updates used {turns_text}; in turn means "
            f"{', '.join(map(str, expected))}."
        )
    way = (learned - start).flatten(1)
    if not bool(way.any()):
        raise NotYet("Your images have not moved. Return the learned ones.")
    means = torch.stack([real[labels == label].mean(0) for label in range(_CLASSES)])
    cosines = F.cosine_similarity(way, (means - start).flatten(1).to(way))
    if float(cosines.min()) < 0:
        raise NotYet("Your images move away from the means of their classes: follow -gradient.")
    if float(cosines.min()) < _TOWARDS_CLASS:
        raise NotYet(
            "Your images don't move towards the means of their own classes. Compare the image of "
            "each class with the real images of that class."
        )
    return cosines


NETWORKS_IN_TURN = Exercise(
    ask="Write a function of bodies, real, real_labels, images and updates.",
    arguments=("bodies", "real", "real_labels", "images"),
    cases=_matching_cases,
    named={"updates": _UPDATES},
    shape=lambda bodies, real, labels, start: start.shape,
    measure=_check_turns,
    success="Your updates use each network in turn, and each image moves towards its own class.",
)


def shift_images(images: Tensor, right: float, down: float) -> Tensor:
    """Return images moved by pixels, neighbours mixed linearly, the edges repeated."""
    for dim, move in ((3, right), (2, down)):
        places = torch.arange(images.shape[dim]) - move
        low = places.floor()
        share = (places - low).view(-1, *[1] * (3 - dim))
        last = images.shape[dim] - 1
        lower = images.index_select(dim, (low + 0).long().clamp(0, last))
        upper = images.index_select(dim, (low + 1).long().clamp(0, last))
        images = (1 - share) * lower + share * upper
    return images


def _images_to_shift() -> list[tuple[Tensor, float, float]]:
    images = torch.rand((2, 3, 6, 8), generator=randomness.generator(7, 0, "exercise 3"))
    moves = ((0, 0), (2, 0), (0, -1), (3, 2), (0.5, 0), (-1.25, 0.75))
    return [(images.clone().requires_grad_(), right, down) for right, down in moves]


def _check_gradient(shifted: Tensor, images: Tensor, right: float, down: float) -> Tensor:
    if shifted.requires_grad:
        (gradient,) = torch.autograd.grad(shifted.sum(), images, allow_unused=True)
        if gradient is not None and bool(gradient.any()):
            return shifted
    raise NotYet(
        "No gradient reaches the images: an operation between the distance and the pixels must "
        "pass it on."
    )


def _by_grid(images: Tensor, right: float, down: float, padding: str = "border") -> Tensor:
    """Move images by the authors' way, `right` and `down` in halves of the image."""
    move = torch.tensor([[1.0, 0, -right], [0, 1, -down]])
    grid = F.affine_grid(move.expand(len(images), 2, 3), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, padding_mode=padding, align_corners=False)


def _roll(images: Tensor, right: float, down: float) -> Tensor | None:
    return images.roll((int(down), int(right)), (2, 3)) if right % 1 == down % 1 == 0 else None


SHIFTED = Exercise(
    arguments=("images [n, c, h, w]", "right", "down"),
    cases=_images_to_shift,
    shape=lambda images, right, down: images.shape,
    measure=_check_gradient,
    expected=shift_images,
    mistakes={
        "Your images stay where they were.": lambda images, right, down: images,
        "Your images move the other way.": (
            lambda images, right, down: shift_images(images, -right, -down)
        ),
        "You have exchanged right and down.": (
            lambda images, right, down: shift_images(images, down, right)
        ),
        "Your rows move the wrong way: down is towards higher row numbers.": (
            lambda images, right, down: shift_images(images, right, -down)
        ),
        "Zeros come in at the edge. Repeat the pixels of the edge instead.": (
            lambda images, right, down: shift_images(F.pad(images, [8] * 4), right, down)[
                :, :, 8:-8, 8:-8
            ]
        ),
        "What leaves at one edge comes in at the other (roll). Repeat the pixels of the edge.": (
            _roll
        ),
        "`affine_grid` counts in halves of the image, not in pixels: one pixel is 2 / width.": (
            _by_grid
        ),
        "Half of the way: `affine_grid` runs from -1 to 1, so one pixel is 2 / width.": (
            lambda images, right, down: shift_images(images, right / 2, down / 2)
        ),
    },
    look="Try one pixel to the right first: column 1 must then show what column 0 showed.",
    success="Whole pixels and fractions move correctly, and the gradient passes through.",
)

CHECKS = {"best image": BEST_IMAGE, "networks in turn": NETWORKS_IN_TURN, "shifted": SHIFTED}
