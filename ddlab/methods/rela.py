r"""ReLA-D: real images, with what any frozen network says of them as targets (Sun, Jiang & Lin 2024, arXiv 2405.14669).

Section 4.1 and appendices H, K and N. Labels are not read and nothing is optimised: a network, drawn at random, trained with labels or
without, on these images or on others, is asked once about each image. Its features, reduced to as many numbers as the student's features
have, are the targets from which another network learns faster than from its own views (`ddlab.training.rela`).

| symbol | here | shape |
|---|---|---|
| $\psi(x)$ | the prior's features of images as they are, without augmentation | [n, d] |
| $\mu$, C | `Moments`: their mean and covariance, batch by batch in float64 | [d], [d, d] |
| $V_k$ | `principal_components`: eigenvectors of the k largest eigenvalues | [d, k] |
| $R'_Y$ | `targets` | [n, k] |

| equation | here |
|---|---|
| appendix N: C over batches; here mean and C are joined in one pass (Chan, Golub & LeVeque 1983) | `joined` |
| 41: centre, project, standardise | `targets` |
| 43: the part of the images; drawn once here, anew in each epoch by ReLA-F | `krr_st.real_indices` |

A first pass asks the prior about each batch, keeps its features (n d floats) and joins its moments, which are (d + 1) d numbers for any
n. A second pass turns features into targets. The images stay bytes (`DistilledSet` of kind "bytes"); those of all are not even copied.

| deviation | why |
|---|---|
| each component is divided by its standard deviation, after projecting; eq 41 divides each feature, before (`order`) | the authors' code |
| a millionth of the largest standard deviation is added to each | components without variance, of fewer images than features, say |
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import torch
from torch import Tensor

from .. import networks
from ..core import errors
from ..core.boundary import Count, check, checked, floats, typed
from ..core.errors import DDLabError
from ..core.parameters import Parameters, parameter
from ..distilled import DistilledSet, Representations
from ..networks import NetworkSpec
from ..runs.look import Look, Number
from ..runs.process import Inputs, require_data, require_teacher
from ..training.self_supervised.teacher import feature_size
from . import krr_st

NAME = "representations_as_targets"
ALIASES = ("rela", "rela_d")
NEEDS_TEACHER = True
WITHOUT_LABELS = True
Order = Literal["reference", "paper"]
EPSILON = 1e-6  # of the largest standard deviation
_BASIS = {  # of `principal_components`
    "deviations": Annotated[Tensor, typed("k", torch.float64)],
    "mean": Annotated[Tensor, typed("d", torch.float64)],
    "spread": Annotated[Tensor, typed("d", torch.float64)],
    "directions": Annotated[Tensor, typed("d k", torch.float64)],
}
Features = Annotated[Tensor, floats("m d", finite=False)]  # looked at where they are made


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    """How targets are made, and for how many images."""

    network: NetworkSpec = parameter(
        networks.spec("resnet18"), help="The student's architecture, for the size of whose features targets are made."
    )
    components: int | None = parameter(
        None, symbol="k", range=(1, None),
        help="Numbers in a target; none: as many as the student's features have, or the prior's if these are fewer.",
    )  # fmt: skip
    order: str = parameter(
        "reference", choices=("reference", "paper"), explorable=True,
        help="Standardise the components after projecting, or the features before.", source="the authors' code",
    )  # fmt: skip
    ratio: float = parameter(
        1.0, range=(0, 1), open_low=True, help="Share of the training images that are kept.", explorable=(0.05, 1)
    )
    batch_size: int = parameter(512, range=(1, None), unit="images", help="Images in one step.")
    seed: int = parameter(0, range=(0, None), help="Of the draw of the images.")

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """For students of width 32."""
        small: dict[str, Any] = {"network": networks.spec("convnet", width=32)}
        return cls(**small | changes)

    @classmethod
    def paper(cls, dataset: str = "cifar10", **changes: Any) -> Self:
        """The published settings for "cifar10", "cifar100" or "tiny-imagenet"."""
        errors.check_choice("dataset", dataset, ("cifar10", "cifar100", "tiny-imagenet"))
        return cls(**changes)


@dataclass(frozen=True)
class Moments:
    """Of the features seen so far: how many images, their mean [d], and the sum of squares about it [d, d]; float64."""

    count: int
    mean: Tensor
    squares: Tensor


@dataclass(frozen=True)
class State:
    """`step` batches done, in two passes; the images' training-set indices; moments; features and targets of each batch."""

    step: int
    indices: Tensor
    moments: Moments
    features: tuple[Tensor, ...]
    targets: tuple[Tensor, ...]
    basis: dict[str, Tensor]


@dataclass(frozen=True)
class Trace:
    """One batch: the pass, its images' indices, the variance of all features so far [] and the part that the components keep [].

    The part is 0 in the first pass, "features", and the same throughout the second, "targets".
    """

    phase: Literal["features", "targets"]
    indices: Tensor
    variance: Tensor
    kept: Tensor


@checked
def joined(moments: Moments, features: Features) -> Moments:
    """The moments with those of a batch [m, d], m at least 1. Any cut into batches gives the same, up to rounding."""
    values = errors.check_tensor("features", features).detach().double()
    if not len(values):
        errors.fail("features", "of at least one image", features)
    _check_moments(moments, d=values.shape[1])
    centred, shift = values - values.mean(0), values.mean(0) - moments.mean
    total = moments.count + len(values)
    between = torch.outer(shift, shift) * (moments.count * len(values) / total)
    return Moments(total, moments.mean + shift * (len(values) / total), moments.squares + centred.T @ centred + between)


@checked
def principal_components(moments: Moments, components: Count) -> dict[str, Tensor]:
    """What `targets` needs: "mean" [d], "spread" [d] of each feature, "directions" [d, k] and "deviations" [k] along them; float64.

    Directions have length 1 and their largest entry is positive; deviations are unbiased and fall.

    Raises:
        DDLabError: more components than features, fewer than two images, or features that are the same for all.
    """
    _check_moments(moments)
    errors.check_integer("components", components, 1, len(moments.mean))
    if moments.count < 2:
        errors.fail("moments", "those of at least two images", moments.count)
    covariance = moments.squares / (moments.count - 1)
    spread = covariance.diagonal().clamp_min(0).sqrt()
    if not bool((spread > 1e-12 * moments.mean.abs()).any()):
        raise DDLabError(
            f"teacher must have features that differ between images; given a network that says the same of all {moments.count}."
        )
    variances, directions = torch.linalg.eigh(covariance)
    variances, directions = variances.flip(0)[:components].clamp_min(0), directions.flip(1)[:, :components]
    largest = directions.gather(0, directions.abs().argmax(0, keepdim=True))
    return {
        "mean": moments.mean,
        "spread": spread,
        "directions": directions * largest.sign(),
        "deviations": variances.sqrt(),
    }


@checked
def targets(features: Features, basis: dict[str, Tensor], *, order: Order = "reference") -> Tensor:
    """R'_Y, float32 [m, k], of features [m, d]; equation 41, or its standardisation after the projection.

    Args:
        basis: of `principal_components`.
    """
    known = {"d": features.shape[1]}
    for name, shape in _BASIS.items():
        if not isinstance(basis, dict) or name not in basis:
            errors.fail("basis", "a dict, as principal_components returns it", basis)
        check(f"basis[{name!r}]", basis[name], shape, **known)
        known.setdefault("k", len(basis["deviations"]))
    centred = features.detach().double() - basis["mean"]
    if order == "paper":
        return ((centred / _safe(basis["spread"])) @ basis["directions"]).float()
    return ((centred @ basis["directions"]) / _safe(basis["deviations"])).float()


def total_steps(config: Config, inputs: Inputs) -> int:
    """Two passes over the batches."""
    return 2 * -(-_size(config, inputs) // config.batch_size)


def init(config: Config, inputs: Inputs) -> State:
    """Which images are kept; the prior has not been asked.

    Raises:
        DDLabError: no data or teacher, a teacher whose weights are not finite, fewer than two images, or more components than features.
    """
    krr_st.require_finite_teacher(NAME, inputs)
    _components(config, inputs)
    count, size = len(require_data(NAME, inputs).train_labels), _size(config, inputs)
    width = feature_size(require_teacher(NAME, inputs).spec)
    indices = torch.arange(count)
    if size < count:
        indices = krr_st.real_indices(count, size, seed=config.seed).sort().values
    device = inputs.device
    empty = Moments(
        0,
        torch.zeros(width, dtype=torch.float64, device=device),
        torch.zeros(width, width, dtype=torch.float64, device=device),
    )
    return State(0, indices, empty, (), (), {})


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """The features of one batch, or its targets."""
    batches = state.indices.cpu().split(min(config.batch_size, len(state.indices)))
    place = state.step % len(batches)
    rows = batches[place]
    if state.step < len(batches):
        features = _features(inputs, require_data(NAME, inputs).normalised(rows, device=inputs.device))
        moments = joined(state.moments, features)
        state = dataclasses.replace(state, moments=moments, features=(*state.features, features.cpu()))
        variance = moments.squares.trace() / max(moments.count - 1, 1)
        trace = Trace("features", rows, variance.float(), torch.zeros_like(variance).float())
    else:
        basis = state.basis or principal_components(state.moments, _components(config, inputs))
        made = targets(state.features[place].to(inputs.device), basis, order=_order(config))
        state = dataclasses.replace(state, basis=basis, targets=(*state.targets, made.cpu()))
        variance, kept = basis["spread"].square().sum(), basis["deviations"].square().sum()
        trace = Trace("targets", rows, variance.float(), (kept / variance).float())
    return dataclasses.replace(state, step=state.step + 1), trace


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """The images that have targets, as bytes, and these."""
    data, done = require_data(NAME, inputs), sum(map(len, state.targets))
    indices = state.indices[:done].cpu()
    pixels = data.train_images if done == len(data.train_labels) else data.train_images[indices]
    components = _components(config, inputs)
    found = torch.cat([torch.zeros(0, components), *(each.cpu() for each in state.targets)])
    return krr_st.unlabelled_set(
        config,
        inputs,
        complete=state.step >= total_steps(config, inputs),
        kind="bytes",
        tensors={"pixels": pixels},
        targets=Representations(tensors={"representations": found[None]}),
        provenance={"method": NAME, "step": state.step, "prior": require_teacher(NAME, inputs).fingerprint},
    )


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """The images of the last batch; how much the features vary, and how much of it the components keep."""
    rows = state.indices[: config.batch_size] if trace is None else trace.indices
    images = require_data(NAME, inputs).normalised(rows.cpu(), device=inputs.device)
    if trace is None:
        return Look(images)
    if trace.phase == "features":
        return Look(images, None, {"variance of the features": Number(trace.variance)})
    return Look(images, None, {"variance kept": Number(trace.kept)})


@checked
def with_targets(distilled: DistilledSet, config: Config, inputs: Inputs) -> DistilledSet:
    """A distilled set, labelled or not, with the prior's targets for its own images (appendix K).

    Mean, components and standard deviations are those of the training images: a set of ten has no covariance of its own.

    Args:
        config, inputs: as of a run: the data that were distilled, and the prior.

    Raises:
        DDLabError: as a run, or a set of another shape than the data.
    """
    state, total = init(config, inputs), total_steps(config, inputs)
    while state.step < total // 2:
        state, _ = update(config, inputs, state)
    basis = principal_components(state.moments, _components(config, inputs))
    if (distilled.channels, distilled.image_size) != ((data := require_data(NAME, inputs)).channels, data.image_size):
        wanted = f"of {data.channels} channels and {data.image_size} pixels, like the data"
        errors.fail("distilled", wanted, (distilled.channels, distilled.image_size))
    parts = [
        targets(_features(inputs, distilled.rows(rows, inputs.device)), basis, order=_order(config)).cpu()
        for rows in torch.arange(len(distilled)).split(max(min(config.batch_size, len(distilled)), 1))
    ]
    return distilled.with_targets(Representations(tensors={"representations": torch.cat(parts)[None]}))


def _features(inputs: Inputs, images: Tensor) -> Tensor:
    features = networks.predict(require_teacher(NAME, inputs), images).features
    return errors.check_tensor("the teacher's features", features)


def _check_moments(moments: Moments, **known: int) -> None:
    errors.check_integer("moments.count", moments.count, 0)
    for name, lengths in (("mean", "d"), ("squares", "d d")):
        width = known.setdefault(
            "d", len(moments.mean) if isinstance(moments.mean, Tensor) and moments.mean.ndim else 0
        )
        check(f"moments.{name}", getattr(moments, name), Annotated[Tensor, typed(lengths, torch.float64)], d=width)


def _safe(deviations: Tensor) -> Tensor:
    return deviations + EPSILON * deviations.max()


def _order(config: Config) -> Order:
    return "paper" if config.order == "paper" else "reference"


def _size(config: Config, inputs: Inputs) -> int:
    count = len(require_data(NAME, inputs).train_labels)
    size = round(config.ratio * count)
    if size < 2:
        errors.fail("ratio", f"so large that at least two of {count} images are kept", config.ratio)
    return size


def _components(config: Config, inputs: Inputs) -> int:
    """k."""
    student = feature_size(config.network.for_data(require_data(NAME, inputs)))
    most = min(student, feature_size(require_teacher(NAME, inputs).spec))
    if config.components is not None and config.components > most:
        allowed = f"at most {most}, the smaller number of features of student and teacher"
        errors.fail("components", allowed, config.components)
    return config.components or most


SMALL = Config(network=networks.spec("convnet", width=4), ratio=0.6, batch_size=9)  # for the contract tests
