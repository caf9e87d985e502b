r"""ReLA-D: real images with the features of any frozen network as targets.

Sun, Jiang & Lin 2024, arXiv 2405.14669.

Section 4.1 and appendices H, K and N. Labels are not read and nothing is optimised: a network,
drawn at random, trained with labels or without, on these images or on others, is asked once about
each image. Its features, reduced to as many numbers as the student's features have, are the targets
from which another network learns faster than from its own views (`ddlab.unlabelled.with_targets`).

| symbol | here | shape |
|---|---|---|
| $\psi(x)$ | the prior's features of images as they are, without augmentation | [n, d] |
| $V_k$ | `principal_components`: eigenvectors of the k largest eigenvalues | [d, k] |
| $R'_Y$ | `targets` | [n, k] |

| equation | here |
|---|---|
| 41: centre, project, standardise | `targets` |
| 43: the part of the images; drawn once here, anew in each epoch by ReLA-F | `real_indices` |

A step asks the prior about one batch and keeps its features; the end turns them into targets. The
images stay bytes (`DistilledSet` of kind "bytes"); those of all are not even copied.

| deviation | why |
|---|---|
| each component is divided by its standard deviation, after projecting; eq 41 divides each feature, before | the authors' code |
| the covariance is of all features at once; appendix N adds it up over batches | the features are kept anyway |
| a millionth of the largest standard deviation is added to each | components without variance, of fewer images than features, say |
"""

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from .. import networks
from ..core import DDLabError, Published, errors, parameter
from ..distilled import DistilledSet, Representations
from ..networks import NetworkSpec
from ..runs import Inputs, Look, Number
from ..unlabelled.self_supervised.teacher import feature_size
from ..unlabelled.sets import real_indices, require_finite_teacher, unlabelled_set

NAME = "representations_as_targets"
ALIASES = ("rela", "rela_d")
NEEDS = ("data", "teacher")
WITHOUT_LABELS = True
EPSILON = 1e-6  # of the largest standard deviation


@dataclass(frozen=True, kw_only=True)
class Config(Published):
    """How targets are made, and for how many images."""

    network: NetworkSpec = parameter(
        networks.spec("resnet18"),
        help="The student's architecture, for the size of whose features targets are made.",
    )
    components: int | None = parameter(
        None,
        symbol="k",
        range=(1, None),
        help="Numbers in a target; none: as many as the student's features have, or the prior's "
        "if these are fewer.",
    )
    ratio: float = parameter(
        1.0,
        range=(0, 1),
        open_low=True,
        help="Share of the training images that are kept.",
        explorable=(0.05, 1),
    )
    batch_size: int = parameter(512, range=(1, None), unit="images", help="Images in one step.")
    seed: int = parameter(0, range=(0, None), help="Of the draw of the images.")

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for students of width 32."""
        return cls.preset(changes, network=networks.spec("convnet", width=32))


@dataclass(frozen=True)
class State:
    """`step` batches done; the images' training-set indices; features [m, d] of each batch."""

    step: int
    indices: Tensor
    features: tuple[Tensor, ...]


@dataclass(frozen=True)
class Trace:
    """One batch: its images' indices, and the variance of its features, all together []."""

    indices: Tensor
    variance: Tensor


def principal_components(features: Tensor, components: int) -> dict[str, Tensor]:
    """Return "mean" [d], "directions" [d, k] and "deviations" [k] of features [n, d], for
    `targets`; float64.

    Directions have length 1 and their largest entry is positive; deviations are unbiased and fall.

    Raises:
        DDLabError: more components than features, fewer than two images, or features that are the
            same for all.
    """
    errors.check_integer("components", components, 1, features.shape[1])
    if len(features) < 2:
        errors.fail("features", "those of at least two images", features)
    values = features.detach().double()
    mean = values.mean(0)
    centred = values - mean
    covariance = centred.T @ centred / (len(values) - 1)
    # Relative to the mean: rounding alone gives equal features a variance above 0.
    if not bool((covariance.diagonal().clamp_min(0).sqrt() > 1e-12 * mean.abs()).any()):
        raise DDLabError(
            "teacher must have features that differ between images; given a network that "
            f"says the same of all {len(values)}."
        )
    # eigh gives the smallest first.
    variances, directions = torch.linalg.eigh(covariance)
    variances = variances.flip(0)[:components].clamp_min(0)
    directions = directions.flip(1)[:, :components]
    # An eigenvector's sign is arbitrary; fixed here, two machines give the same targets.
    largest = directions.gather(0, directions.abs().argmax(0, keepdim=True))
    return {"mean": mean, "directions": directions * largest.sign(), "deviations": variances.sqrt()}


def targets(features: Tensor, basis: dict[str, Tensor]) -> Tensor:
    """Return R'_Y, float32 [m, k], of features [m, d]: equation 41, standardised after the
    projection. The basis comes from `principal_components`.
    """
    components = (features.detach().double() - basis["mean"]) @ basis["directions"]
    deviations = basis["deviations"]
    return (components / (deviations + EPSILON * deviations.max())).float()


def total_steps(config: Config, inputs: Inputs) -> int:
    """Return one step for each batch."""
    return -(-_size(config, inputs) // config.batch_size)


def init(config: Config, inputs: Inputs) -> State:
    """Return which images are kept; the prior has not been asked.

    Raises:
        DDLabError: no data or teacher, a teacher whose weights are not finite, fewer than two
            images, or more components than features.
    """
    require_finite_teacher(NAME, inputs)
    _components(config, inputs)
    count = len(inputs.data.train_labels)
    size = _size(config, inputs)
    indices = torch.arange(count)
    # Sorted, so that the batches read the images in the order in which they lie in memory.
    if size < count:
        indices = real_indices(count, size, seed=config.seed).sort().values
    return State(0, indices, ())


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Return the features of one batch."""
    rows = _batches(config, state)[state.step]
    features = _features(inputs, inputs.data.normalised(rows, device=inputs.device))
    after = State(state.step + 1, state.indices, (*state.features, features.cpu()))
    return after, Trace(rows, features.var(0, correction=0).sum())


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images that the prior has seen, as bytes, and their targets.

    A single image has none.
    """
    data = inputs.data
    k = _components(config, inputs)
    features = (
        torch.cat([part.cpu() for part in state.features]) if state.features else torch.zeros(0, k)
    )
    finished_rows = len(features) if len(features) > 1 else 0
    values = torch.zeros(0, k)
    if finished_rows:
        values = targets(features, principal_components(features, k))
    indices = state.indices[:finished_rows].cpu()
    pixels = (
        data.train_images if finished_rows == len(data.train_labels) else data.train_images[indices]
    )
    representations = Representations(tensors={"representations": values[None]})
    total = total_steps(config, inputs)
    tensors = {"pixels": pixels}
    prior = inputs.teacher.fingerprint
    return unlabelled_set(
        NAME,
        config,
        inputs,
        state,
        total,
        tensors=tensors,
        targets=representations,
        kind="bytes",
        prior=prior,
    )


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images of the last batch, and how much its features vary."""
    rows = _batches(config, state)[0] if trace is None else trace.indices
    images = inputs.data.normalised(rows.cpu(), device=inputs.device)
    return (
        Look(images)
        if trace is None
        else Look(images, None, {"variance of the features": Number(trace.variance)})
    )


def with_targets(distilled: DistilledSet, config: Config, inputs: Inputs) -> DistilledSet:
    """Return a distilled set, labelled or not, with the prior's targets for its own images (appendix K).

    Mean, components and standard deviations are those of the training images: a set of ten has no
    covariance of its own.

    Args:
        config, inputs: as of a run: the data that were distilled, and the prior.

    Raises:
        DDLabError: as a run, or a set of another shape than the data.
    """
    state = init(config, inputs)
    total = total_steps(config, inputs)
    # Through the method's own steps: the basis is that of a whole run.
    while state.step < total:
        state, _ = update(config, inputs, state)
    basis = principal_components(torch.cat(state.features), _components(config, inputs))
    data = inputs.data
    if (distilled.channels, distilled.image_size) != (data.channels, data.image_size):
        requirement = f"of {data.channels} channels and {data.image_size} pixels, like the data"
        errors.fail("distilled", requirement, (distilled.channels, distilled.image_size))
    parts = [
        targets(_features(inputs, distilled.rows(rows, inputs.device)), basis).cpu()
        for rows in torch.arange(len(distilled)).split(
            max(min(config.batch_size, len(distilled)), 1)
        )
    ]
    return distilled.with_targets(
        Representations(tensors={"representations": torch.cat(parts)[None]})
    )


def _features(inputs: Inputs, images: Tensor) -> Tensor:
    features = networks.predict(inputs.teacher, images).features
    return errors.check_tensor("the teacher's features", features)


def _batches(config: Config, state: State) -> tuple[Tensor, ...]:
    return state.indices.cpu().split(min(config.batch_size, len(state.indices)))


def _size(config: Config, inputs: Inputs) -> int:
    count = len(inputs.data.train_labels)
    size = round(config.ratio * count)
    if size < 2:
        errors.fail("ratio", f"so large that at least two of {count} images are kept", config.ratio)
    return size


def _components(config: Config, inputs: Inputs) -> int:
    """Return k."""
    student = feature_size(config.network.for_data(inputs.data))
    largest = min(student, feature_size(inputs.teacher.spec))
    if config.components is not None and config.components > largest:
        allowed = f"at most {largest}, the smaller number of features of student and teacher"
        errors.fail("components", allowed, config.components)
    return config.components or largest


# For the contract tests.
SMALL = Config(network=networks.spec("convnet", width=4), ratio=0.6, batch_size=9)
