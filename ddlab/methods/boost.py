r"""Boost: KRR-ST on bases and coefficients, with predefined views of every image.

Yu, Yao & Chiu 2025, ICLR.

KRR-ST stores whole images and whole representations, and has to leave augmentation out, because
random views would bias its outer gradient. Here images and representations are sums of few bases,
every image comes with the same fixed views, and small networks say how a view's representation
differs from its image's, so that this need not be stored.

Symbol       In code                                       Shape                 What
B^x, U       parameters["image_bases"], image_bases        [U, c, h/s, w/s]
C^x          parameters["image_coefficients"]              [m, U]
B^y, V       parameters["representation_bases"], ...       [V, d_y]
C^y, C^y_a   parameters["representation_coefficients"]     [A + 1, m, V]         that of the images first
s            scale                                                               image bases are so much smaller on each side
tau_a, A     augmentation, views                                                 predefined_views
Q_a, h       shift, hidden                                                       shift_models: V -> h -> V
N, m         budget, pairs                                                       storage_budget: m is what the budget buys

Equation or step                                             Function
X_s = D(C^x B^x, s), Y_s = C^y B^y, Y_a = C^y_a B^y          pairs; factorisation.decoded, reconstruct
X~_s = {X_s, tau_1(X_s), ..., tau_A(X_s)}                    predefined_views.augmented
B = first principal components                               image_start, representation_start; bases.principal_bases
C = projections of m random real images                      factorisation.fitted
C^y_a = projection of g_phi(tau_a(X_s))                      init
eq 3 and eq 2 on all (A + 1) m rows                          krr_st.outer_step
Q_a: least squares of Q_a(C^y) and C^y_a - C^y               finish; shift_models.fit

It stands on `krr_st`: another way to make the pairs, the same steps.

What the paper leaves open
- The mean. Image bases are centred, coefficients are projections of the images themselves, no mean
  is stored: the bases hold most of it (`factorisation` has the figures). Representations behind a
  ReLU are far from 0: their bases are not centred, or, with `representation_mean`, centred with the
  mean stored and counted.
- How Q_a is trained: `shift_models.fit`.
- "Same" and "Bias" of Table 11: here, as the networks, they are fitted after the distillation, in
  which every view has coefficients of its own. Only so are they ways to *store* one result.
- Whether its real images are cropped and flipped at random, as KRR-ST's code does: here they are
  not.
- m, which follows from the budget: 114 pairs for CIFAR and N = 100. `pairs` sets it by hand, for
  Table 11's "ideal" row.
"""

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from .. import networks
from ..core import errors, parameter, randomness
from ..data import ImageData
from ..data.predefined_views import KINDS, NAMES, Kind, augmented
from ..distilled import DistilledSet, Representations, shift_models
from ..distilled.factorisation import decode, downsampled, fit_factors, reconstruct
from ..distilled.storage_budget import SHIFTS, Factorised, Shift
from ..runs import Inputs, Look, cache
from ..unlabelled.bases import is_exact, principal_bases, rank
from ..unlabelled.sets import (
    real_indices,
    require_finite_teacher,
    teacher_features,
    unlabelled_set,
)
from . import krr_st
from .krr_st import Parameterised, State, Trace, total_steps

NAME = "parameterised_self_supervised"
ALIASES = ("boost",)
NEEDS = ("data", "teacher")
WITHOUT_LABELS = True
STARTS = ("principal", "real", "random")
_FEW = 10**7  # numbers: 40 MB
_BATCH = 5000  # real images at a time on their way to a smaller size


@dataclass(frozen=True, kw_only=True)
class Config(krr_st.Config):
    """What a set is made of; the defaults are those for CIFAR-100 and N = 100 (A.1, Table 5)."""

    scale: int = parameter(
        2,
        symbol="s",
        range=(1, 224),
        help="How much smaller image bases are on each side.",
        source="Boost, A.1",
    )
    image_bases: int = parameter(
        200,
        symbol="U",
        range=(1, None),
        help="How many image bases.",
        source="Boost, Table 5",
        explorable=(2, 200),
    )
    representation_bases: int = parameter(
        200,
        symbol="V",
        range=(1, None),
        help="How many representation bases.",
        source="Boost, Table 5",
        explorable=(2, 200),
    )
    augmentation: Kind = parameter(
        "rotation",
        choices=KINDS,
        help="The views of every image.",
        source="Boost, Table 12",
        explorable=True,
    )
    shift: Shift = parameter(
        "networks",
        choices=SHIFTS,
        help="How representations of the views are stored.",
        source="Boost, Table 11",
        explorable=True,
    )
    hidden: int = parameter(
        4,
        symbol="h",
        range=(1, 10**4),
        help="Width of the approximation networks.",
        source="Boost, A.1",
    )
    representation_mean: bool = parameter(
        False, help="Centre the representation bases and store the mean too."
    )
    bases_start: str = parameter(
        "principal",
        choices=STARTS,
        help="What the bases begin as: principal components, real images, noise.",
        source="Boost, Table 4",
        explorable=True,
    )
    coefficients_start: str = parameter(
        "projection",
        choices=("projection", "random"),
        source="Boost, Table 4",
        explorable=True,
        help="What the coefficients begin as: those of real images, or noise.",
    )
    pairs: int | None = parameter(
        None,
        symbol="m",
        range=(1, None),
        help="How many images; None is as many as the budget buys.",
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return KRR-ST's teaching preset with twice as many bases as images.

        It is for images of 16 px and a teacher of about a hundred features.
        """
        small: dict[str, Any] = {"image_bases": 40, "representation_bases": 40}
        return super().teaching(**small | changes)


def factors(config: Config, inputs: Inputs) -> Factorised:
    """Return the sizes of the set, from which follow its bill and m."""
    data = inputs.data
    height, width = data.image_size
    return Factorised(
        channels=data.channels,
        height=height,
        width=width,
        scale=config.scale,
        image_bases=config.image_bases,
        representation_size=teacher_features(inputs).shape[1],
        representation_bases=config.representation_bases,
        representation_mean=config.representation_mean,
        views=len(NAMES[config.augmentation]) - 1,
        shift=config.shift,
        hidden=config.hidden,
    )


def count_pairs(config: Config, inputs: Inputs) -> int:
    """Return m: the number in the config, or as many pairs as the budget buys.

    Raises:
        DDLabError: a budget that buys no pair; the message names one that does.
    """
    # The budget is in floats of whole images, so a larger image buys more bases.
    sizes = factors(config, inputs)
    budget = config.budget * sizes.channels * sizes.height * sizes.width
    return sizes.largest_count(budget) if config.pairs is None else config.pairs


def pairs(config: Config, parameters: Parameterised) -> tuple[Tensor, Tensor]:
    """Return X~_s [(A + 1) m, c, h, w] and Y~_s [(A + 1) m, d_y].

    All views of all images, view after view, and their representations.
    """
    images = decode(parameters["image_coefficients"], parameters["image_bases"], scale=config.scale)
    coefficients = parameters["representation_coefficients"].flatten(0, 1)
    targets = reconstruct(
        coefficients, parameters["representation_bases"], mean=parameters.get("representation_mean")
    )
    return augmented(images, config.augmentation).flatten(0, 1), targets


def image_start(config: Config, inputs: Inputs, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Return B^x [U, c, h/s, w/s] and C^x [m, U] before the first step.

    `chosen` are the m real images that coefficients are taken from.

    Raises:
        DDLabError: a scale that does not divide the images' sides, or more bases than the rank of
            the images.
    """
    small = _scaled_down(inputs.data, config.scale)
    bases = _first_bases(config, small, config.image_bases, "image bases", centred=True)
    return bases, _coefficients(config, small[chosen], bases, "image coefficients")


def representation_start(config: Config, inputs: Inputs) -> tuple[Tensor, Tensor | None]:
    """Return B^y [V, d_y] before the first step, and the mean [d_y] where it is stored."""
    features = teacher_features(inputs)
    mean = features.mean(0) if config.representation_mean else None
    points = features if mean is None else features - mean
    count = config.representation_bases
    return _first_bases(config, points, count, "representation bases", centred=False), mean


def init(config: Config, inputs: Inputs) -> State:
    """Bases and coefficients, and an untrained pool.

    Raises:
        DDLabError: a budget that buys no pair, more bases than the rank, images that the scale or
            the views cannot take, or more pairs than there are images.
    """
    require_finite_teacher(NAME, inputs)
    teacher = inputs.teacher
    features = teacher_features(inputs)
    count = count_pairs(config, inputs)
    if count > len(features):
        argument, value = (
            ("budget", config.budget) if config.pairs is None else ("pairs", config.pairs)
        )
        errors.fail(
            argument, f"small enough for {len(features)} pairs, one for each training image", value
        )
    chosen = real_indices(len(features), count, seed=config.seed)
    image_bases, image_coefficients = image_start(config, inputs, chosen)
    representation_bases, mean = representation_start(config, inputs)
    images = decode(image_coefficients, image_bases, scale=config.scale)
    # Of the images that the set holds, not of the real ones; the first row is that of the real
    # images, as the paper says.
    views = augmented(images, config.augmentation)[1:]
    view_features = [
        networks.predict(teacher, view.to(inputs.device)).features.cpu() for view in views
    ]
    shifted = torch.cat([features[chosen], *view_features])
    shifted = shifted if mean is None else shifted - mean
    coefficients = _coefficients(
        config, shifted, representation_bases, "representation coefficients"
    )
    # Each is a leaf of AdamW's step: bases and coefficients move together.
    parameters = {
        "image_bases": image_bases,
        "image_coefficients": image_coefficients,
        "representation_bases": representation_bases,
        "representation_coefficients": coefficients.unflatten(0, (len(views) + 1, count)),
    }
    if mean is not None:
        parameters["representation_mean"] = mean
    return krr_st.initial_state(
        config, inputs, {name: value.to(inputs.device) for name, value in parameters.items()}
    )


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Take one step of a network of the pool while it is filled, then one outer iteration."""
    return krr_st.update_with_pairs(
        config, inputs, state, lambda parameters: pairs(config, parameters)
    )


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return {B^x, C^x, B^y, C^y, Q_a}. The shift model is fitted here."""
    parameters = {
        name: value.detach().cpu().contiguous() for name, value in state.parameters.items()
    }
    # The first row belongs to the images themselves, the others to their views.
    coefficients, *views = parameters["representation_coefficients"]
    shift: Shift = config.shift if views else "same"  # without views nothing shifts
    view_coefficients = (
        torch.stack(views) if views else coefficients.new_zeros((0, *coefficients.shape))
    )
    shifts = shift_models.fit(
        coefficients, view_coefficients, shift, hidden=config.hidden, seed=config.seed
    )
    tensors = {
        "bases": parameters["representation_bases"],
        "coefficients": coefficients.contiguous(),
    } | shifts
    if "representation_mean" in parameters:
        tensors["mean"] = parameters["representation_mean"]
    targets = Representations(tensors=tensors, augmentation=config.augmentation, shift=shift)
    return unlabelled_set(
        NAME,
        config,
        inputs,
        state,
        total_steps(config, inputs),
        kind="factorised",
        settings={"scale": config.scale},
        tensors={name: parameters[name] for name in ("image_bases", "image_coefficients")},
        targets=targets,
    )


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images that bases and coefficients make, without their views, and the loss of the
    phase over its own steps.
    """
    parameters = state.parameters
    images = decode(parameters["image_coefficients"], parameters["image_bases"], scale=config.scale)
    return Look(images, None, krr_st.phase_numbers(config, state, trace))


def _scaled_down(data: ImageData, scale: int) -> Tensor:
    """Return all training images, float32 [n, c, h/s, w/s].

    They are kept where they are few, because sliders ask again and again.
    """

    def compute() -> Tensor:
        every = torch.arange(len(data.train_labels))
        batches = [downsampled(data.normalised(rows), scale=scale) for rows in every.split(_BATCH)]
        return torch.cat(batches)

    # Kept only where small: CIFAR-10 at half the size is 150 MB.
    numbers = data.train_images.numel() // scale**2
    return (
        cache.remember(compute, "scaled-down images", data.fingerprint, scale)
        if numbers <= _FEW
        else compute()
    )


def _first_bases(
    config: Config, points: Tensor, count: int, stream: str, *, centred: bool
) -> Tensor:
    """Return the first `count` bases [count, *shape] for points [n, *shape].

    `centred` says how principal components are taken.
    """
    field = stream.replace(" ", "_")
    if config.bases_start == "principal":
        return _principal(points, count, field, centred=centred, seed=config.seed)
    # Each of the four starts has a stream of its own, so that one choice leaves the others as they
    # were.
    draw = randomness.generator(config.seed, 0, stream)
    if config.bases_start == "random":
        return torch.randn((count, *points.shape[1:]), generator=draw)
    errors.check_integer(field, count, 1, len(points))
    return points[torch.randperm(len(points), generator=draw)[:count]]


def _principal(points: Tensor, count: int, name: str, *, centred: bool, seed: int) -> Tensor:
    """Return `principal_bases`, kept: another U or V only cuts them.

    Sliders move U and V, and exact components are found together anyway.
    """
    largest_count = min(len(points), points[0].numel())

    def compute() -> Tensor:
        try:
            return principal_bases(points, count=largest_count, centred=centred).bases
        except errors.DDLabError:  # fewer: the points have no such rank
            return principal_bases(
                points, count=rank(points, centred=centred), centred=centred
            ).bases

    if is_exact(points):
        all_bases = cache.remember(compute, "all principal bases", points, centred)
        if count > len(all_bases):
            errors.fail(
                name,
                f"an integer in [1, {len(all_bases)}], the rank of these {len(points)} points",
                count,
            )
        return all_bases[:count].clone()
    return principal_bases(points, count=count, centred=centred, seed=seed).bases


def _coefficients(config: Config, points: Tensor, bases: Tensor, stream: str) -> Tensor:
    """Return the first coefficients [m, k]: those of points [m, *shape], or standard normal numbers."""
    if config.coefficients_start == "projection":
        return fit_factors(points, bases)
    return torch.randn(
        (len(points), len(bases)), generator=randomness.generator(config.seed, 0, stream)
    )


SMALL = Config(  # for the contract tests
    network=networks.spec("convnet", width=3),
    budget=4,
    image_bases=3,
    representation_bases=2,
    pairs=4,
    shift="stored",
    pool_size=2,
    pool_steps=2,
    iterations=4,
    batch_size=8,
)
