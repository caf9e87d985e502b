"""What the instructor's pages call right passes the checks with ten seeds; what they call wrong
fails with ten.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from ddlab.lessons.answers import NotYet
from ddlab.lessons.data_residuals.checks import check_schedule, check_survival
from ddlab.lessons.generators.checks import check_fair_shuffle
from ddlab.lessons.inverting_a_network.checks import check_close
from ddlab.lessons.learned_labels import checks as learned_labels
from ddlab.lessons.learning_through_training.checks import check_shortcut
from ddlab.lessons.matching.checks import check_shifted
from ddlab.lessons.memories.checks import check_pair
from ddlab.lessons.representations.checks import check_same_statistics
from ddlab.lessons.trajectories.checks import check_rate_only

SEEDS = range(10)
Check = Callable[[Any], str]


# -- 60: images learned through the last step alone


def distilled_with_cut(is_cut: Callable[[int, int], bool]) -> Any:
    """Return the page's `distil` with a detach before some steps."""

    def distil(
        real: Tensor, answers: Tensor, model: Any, images: Tensor, steps: int, updates: int = 100
    ) -> tuple[Tensor, Tensor]:
        images = images.requires_grad_()
        raw = torch.full((steps,), 0.1).expm1().log().requires_grad_()
        adam = torch.optim.Adam([images, raw], lr=0.05, betas=(0.5, 0.999))
        for _ in range(updates):
            theta = dict(model.named_parameters())
            for step, rate in enumerate(F.softplus(raw)):
                if is_cut(step, steps):
                    theta = {name: value.detach().requires_grad_() for name, value in theta.items()}
                loss = F.cross_entropy(
                    functional_call(model, theta, (images,)), torch.arange(len(images))
                )
                slopes = torch.autograd.grad(loss, tuple(theta.values()), create_graph=True)
                theta = {
                    name: theta[name] - rate * slope
                    for name, slope in zip(theta, slopes, strict=True)
                }
            rows = torch.randperm(len(real))[:256]
            adam.zero_grad()
            F.cross_entropy(functional_call(model, theta, (real[rows],)), answers[rows]).backward()
            adam.step()
        return images.detach(), F.softplus(raw).detach()

    return distil


# -- 70: rows in another order


def shuffled_within_classes(labels: Tensor, _steps: int) -> Tensor:
    rows = torch.arange(len(labels))
    for label in labels.unique():
        places = (labels == label).nonzero().flatten()
        rows[places] = places[torch.randperm(len(places))]
    return rows


# -- 45: targets of the same moments that belong to no image


def normal_draw(targets: Tensor) -> Tensor:
    factor = torch.linalg.cholesky(targets.double().T.cov() + 1e-9 * torch.eye(targets.shape[1]))
    draw = torch.randn(targets.shape, dtype=torch.float64)
    return (targets.double().mean(0) + draw @ factor.T).to(targets)


def differences(targets: Tensor) -> Tensor:
    shuffled = targets[torch.randperm(len(targets))]
    reshuffled = targets[torch.randperm(len(targets))]
    return targets.mean(0) + (shuffled - reshuffled) / 2**0.5


def rotated(targets: Tensor) -> Tensor:
    """The covariance is kept by a rotation in the whitened space, and so is what pixels predict."""
    mean = targets.double().mean(0)
    cov = targets.double().T.cov()
    values, vectors = torch.linalg.eigh(cov)
    root = vectors @ values.clamp_min(1e-12).sqrt().diag() @ vectors.T
    turn, _ = torch.linalg.qr(torch.randn(len(cov), len(cov), dtype=torch.float64))
    return (mean + (targets.double() - mean) @ torch.linalg.pinv(root) @ turn @ root).to(targets)


# -- 20: gaps closed


def closed(sign: float) -> Any:
    def close(inputs: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        own_mean = inputs.mean((0, 2, 3), keepdim=True)
        own_variance = inputs.var((0, 2, 3), correction=0, keepdim=True)
        stretch = sign * variance.view(1, -1, 1, 1).sqrt() / own_variance.sqrt()
        return stretch * (inputs - own_mean) + mean.view(1, -1, 1, 1)

    return close


# -- 05: moved images


def moved(padding_mode: str, sign: float = -2) -> Any:
    def shifted(images: Tensor, right: float, down: float) -> Tensor:
        height, width = images.shape[2:]
        matrix = torch.tensor(
            [[1, 0, sign * right / width], [0, 1, sign * down / height]], dtype=images.dtype
        )
        grid = F.affine_grid(
            matrix.expand(len(images), 2, 3), list(images.shape), align_corners=False
        )
        return F.grid_sample(images, grid, padding_mode=padding_mode, align_corners=False)

    return shifted


# -- 75: two exemplars of a class


def halves_along_the_first_component(images: Tensor) -> Tensor:
    flat = images.flatten(1)
    centred = flat - flat.mean(0)
    side = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[0] > 0
    return torch.stack([images[side].mean(0), images[~side].mean(0)])


def random_halves(images: Tensor) -> Tensor:
    order = torch.randperm(len(images))
    return torch.stack([half.mean(0) for half in images[order].chunk(2)])


# -- 65: pictures


def blurred_noise(width: int) -> Tensor:
    noise = torch.randn(100, 1, 16, 16)
    reach = width // 2
    kernel = torch.ones(1, 1, width, width) / width**2
    pictures = F.conv2d(F.pad(noise, [reach] * 4, mode="reflect"), kernel)
    return pictures / pictures.std()


RIGHT: list[tuple[str, Check, Any]] = [
    (
        "60: cut before the last step",
        check_shortcut,
        distilled_with_cut(lambda step, steps: step == steps - 1),
    ),
    ("60: cut before every step", check_shortcut, distilled_with_cut(lambda step, steps: True)),
    ("70: a shuffle within classes", check_fair_shuffle, shuffled_within_classes),
    ("45: a difference of shuffled copies", check_same_statistics, differences),
    ("45: a normal draw", check_same_statistics, normal_draw),
    ("20: standard deviations and means", check_close, closed(1.0)),
    ("05: an affine grid", check_shifted, moved("border")),
    ("30: a power", check_survival, lambda alpha, k, stage: alpha ** (k + 1 - stage)),
    (
        "30: a 0-d tensor",
        check_survival,
        lambda alpha, k, stage: torch.tensor(alpha) ** (k + 1 - stage),
    ),
    ("30: a list", check_schedule, lambda k: [j / (j + 1) for j in range(1, k + 1)]),
    (
        "30: a tensor",
        check_schedule,
        lambda k: torch.arange(1, k + 1).double() / torch.arange(2, k + 2),
    ),
]
WRONG: list[tuple[str, Check, Any, str]] = [
    (
        "60: nothing is cut",
        check_shortcut,
        distilled_with_cut(lambda step, steps: False),
        "nothing is cut",
    ),
    (
        "70: a roll by ten",
        check_fair_shuffle,
        lambda labels, steps: torch.arange(len(labels)).roll(10),
        "Move more",
    ),
    ("45: a shuffle", check_same_statistics, lambda t: t[torch.randperm(len(t))], "shuffling"),
    ("45: a rotation", check_same_statistics, rotated, "still belong"),
    ("20: negation", check_close, closed(-1.0), "positive"),
    ("05: the identity", check_shifted, lambda images, right, down: images, "where they were"),
    ("05: the other way", check_shifted, moved("border", sign=2), "other way"),
    ("05: zeros at the edge", check_shifted, moved("zeros"), "zeros come in"),
    ("30: a text", check_survival, lambda alpha, k, stage: "0.5", "a number"),
    ("30: a schedule of texts", check_schedule, lambda k: ["a"] * k, "list of k numbers"),
    ("30: a text as schedule", check_schedule, lambda k: "5" * k, "list of k numbers"),
    (
        "62: one tensor",
        check_rate_only,
        lambda *_, **__: torch.zeros(10, 1, 4, 4),
        "the images and the rate",
    ),
]


@pytest.mark.parametrize(
    ("check", "answer"), [row[1:] for row in RIGHT], ids=[row[0] for row in RIGHT]
)
def test_a_right_answer_passes_with_every_seed(check: Check, answer: Any) -> None:
    for seed in SEEDS:
        torch.manual_seed(seed)
        assert check(answer)


@pytest.mark.parametrize(
    ("check", "answer", "hint"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_a_wrong_answer_fails_with_every_seed(check: Check, answer: Any, hint: str) -> None:
    for seed in SEEDS:
        torch.manual_seed(seed)
        with pytest.raises(NotYet, match=hint):
            check(answer)


def test_white_noise_and_constant_pictures_are_no_answer() -> None:
    """Before anything is trained, so ten seeds cost nothing."""
    for seed in SEEDS:
        torch.manual_seed(seed)
        with pytest.raises(NotYet, match="correlation"):
            learned_labels.check_pictures(torch.randn(100, 1, 16, 16))
        assert learned_labels.neighbours_together(blurred_noise(3)) > 0.5
    with pytest.raises(NotYet, match="correlation"):
        learned_labels.check_pictures(torch.zeros(100, 1, 16, 16))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_answers_that_are_trained_on(seed: int) -> None:
    torch.manual_seed(seed)
    assert learned_labels.check_pictures(blurred_noise(3 + 2 * (seed % 2)))
    assert check_pair(halves_along_the_first_component)
    with pytest.raises(NotYet):
        check_pair(random_halves)
