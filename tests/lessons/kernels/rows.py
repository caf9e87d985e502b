"""What the tests of all lessons ask of lesson 50; `tests.lessons.rows` says which."""

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from ddlab.core.randomness import generator
from ddlab.lessons.kernels import plane as kernel_plane
from ddlab.methods import (
    kip,
)
from ddlab.methods.shared.kernels import KernelSpec, kernel_matrix
from ddlab.runs import Inputs
from tests.lessons.gains import Gain, between
from tests.lessons.whole_method import (
    FOUR,
    SEED,
    TAPE,
    UPDATES,
    Row,
    Tensors,
    data_of,
    doubled,
    run,
    updated,
)


def kernel_lead(data: str, rule: str, rival: str, count: int, rival_count: int = 0) -> Gain:
    """Return how far a rule's support points are ahead of a rival's in lesson 50's record."""
    return between(
        "kernel_points",
        "accuracy",
        {"rule": rule, "images_per_class": count},
        {"rule": rival, "images_per_class": rival_count or count},
        data=data,
    )


def dots_of_kip(kernel: str) -> float:
    """Return the accuracy of four support points in lesson 50's plane after all updates."""
    view = kernel_plane.Plane(kernel=kernel, updates=60)
    return kernel_plane.right_fraction(view, kernel_plane.support_of(view))


def distances_to_dots(kernel: str) -> list[float]:
    """Return the distance of each of these points to the nearest real dot."""
    support = kernel_plane.support_of(kernel_plane.Plane(kernel=kernel, updates=60))
    dots, _ = kernel_plane.real_dots()
    return torch.cdist(support, dots).amin(1).tolist()


def with_kernel(images: Tensor, kernel: Callable[[Tensor, Tensor], Tensor]) -> Tensors:
    draw = generator(SEED)
    x = torch.randn((4, 1, 3, 3), generator=draw, dtype=torch.float64)
    z = torch.randn((5, 1, 3, 3), generator=draw, dtype=torch.float64)
    z[0] = x[1]  # equal images, where the angle has no slope
    weights = torch.randn((4, 5), generator=draw, dtype=torch.float64)
    leaf = x.clone().requires_grad_()
    value = kernel(leaf, z)
    return [images, value.detach(), *torch.autograd.grad((weights * value).sum(), leaf)]


KIP = kip.Config.teaching(iterations=UPDATES, batch_size=25, ridge=1e-3, seed=SEED)


def learn(source: str) -> Tensors:
    data = data_of(**FOUR)
    page = run(source)
    start = doubled(kip.init(KIP, Inputs(data=data, device="cpu")).images)
    images = page["learn"](
        data.normalised(), data.train_labels, start, updates=UPDATES, batch=25, ridge=1e-3
    )
    return with_kernel(images, lambda x, z: page["kernel"](x.flatten(1), z.flatten(1)))


def learned() -> Tensors:
    images = updated(kip, KIP, Inputs(data=data_of(**FOUR), device="cpu")).images
    draws = list(TAPE.drawn)
    images_learned = with_kernel(images, functools.partial(kernel_matrix, KernelSpec()))
    TAPE.drawn = draws
    return images_learned


METHODS = {
    "KIP": Row(learn, learned, ("ridge * K", "0 * K"), taped=True),
}


LABS = {
    "KernelLab": lambda g: {
        "data": g.data,
        "config": kip.Config.teaching(iterations=4, batch_size=20, ridge=1e-4),
    },
    "KernelLine": lambda g: {},
    "KernelPlane": lambda g: {},
}


SENTENCES = [
    (
        "Ten learned digits beat a hundred random ones and the class means",
        lambda: (
            kernel_lead("digits", "KIP", "random", 1, 10).ahead
            and kernel_lead("digits", "KIP", "centres", 1).ahead
        ),
    ),
    (
        "a thousand random digits stay ahead",
        lambda: kernel_lead("digits", "KIP", "random", 1, 100).behind,
    ),
    (
        "With the RBF kernel, KIP takes four points to 99.5% of the dots",
        lambda: round(dots_of_kip("rbf"), 3) == 0.995,
    ),
    ("With *FC1* the same updates stop at 90.0%", lambda: round(dots_of_kip("fc1"), 3) == 0.9),
    (
        "three of the four leave their moons",
        lambda: (
            sum(distance > 0.3 for distance in distances_to_dots("fc1")) == 3
            and max(distances_to_dots("rbf")) < 0.2
        ),
    ),
    (
        "On digits the centres are ahead of all solved labels.",
        lambda: all(
            kernel_lead("digits", rule, "centres", 10).behind
            for rule in ("LS", "LS, foreign", "LS, noise")
        ),
    ),
    (
        "On shapes, real images with solved",
        lambda: (
            kernel_lead("shapes", "LS", "centres", 10).ahead
            and kernel_lead("shapes", "LS, foreign", "centres", 10).ahead
        ),
    ),
    (
        "A hundred noise images with solved labels beat a hundred real digits with true labels",
        lambda: kernel_lead("digits", "LS, noise", "random", 10).ahead,
    ),
    (
        "On digits, frozen images are level with real ones",
        lambda: all(kernel_lead("digits", "KIP, noise", "random", n).unseen for n in (1, 10)),
    ),
    (
        "On shapes they stay ahead of real images, and behind KIP on all pixels.",
        lambda: all(
            kernel_lead("shapes", "KIP, noise", "random", n).ahead
            and kernel_lead("shapes", "KIP, noise", "KIP", n).behind
            for n in (1, 10)
        ),
    ),
]
