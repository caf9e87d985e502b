r"""RDED: the parts of real images that a teacher is surest of, several to an image.

Sun et al. 2024, CVPR, arXiv 2312.03526.

Of each class some images are drawn and some random squares cut from each. The teacher's
cross-entropy at the true label says how real a square is; the best of each image compete, and the
best of these become the distilled images, f x f to a mosaic. Nothing is optimised: one forward pass
of each square is all that it costs.

Symbol      In code                     Shape                       Unit
n           candidates_per_class        images of a class looked at
m           crops_per_image             squares cut from each
f           factor                      patches along each side of a mosaic
ipc         images_per_class
x           patches                     [n, m, c, h / f, w / f]     normalised pixels
phi_theta   teacher
l           losses                      [n, m]                      nats

Step of the algorithm                                                               Function
n images of the class, at random                                                    candidate_indices
squares of an area uniform between two shares of the image's                        mosaic.crop_boxes
x = the squares, scaled to the size of a patch                                      mosaic.cut_patches
what the teacher sees: a patch in the middle of an image of zeros                   mosaic.centred
l = -log softmax(phi_theta(x))_label, the realism of x is -l                        realism_losses
one square of each image, then the ipc f^2 of least loss                            best_crops
f x f patches to an image                                                           mosaic.stitch
all of it, for the images of one class                                              class_mosaics
soft labels y = phi_theta(mosaic)                                                   labelling.labelled_set

One step is one class: its squares compete with each other and with no other class's, so that a
replay shows a whole contest and the state holds finished mosaics only. The draws of a class depend
on (seed, class), not on the other classes.

Deviations
- Two things are the reference code's: for f = 2 the teacher sees a patch of half the size amid
  zeros (the mean colour), not enlarged; and mosaic j has the patches of rank j, j + ipc, j + 2 ipc,
  ... in its cells, row by row, so that each has one of the ipc best.
- The cross-entropy is taken from logits; the reference's log of a softmax is infinite where the
  softmax underflows.
- Of images that are not square the parts have the image's own aspect, so that nothing is distorted.
- The result is kept as floats; the reference stores lossy JPEG.
- The students' training (cutmix, 300 epochs, learning rates that end at half) is no part of the
  method here: see `evaluation`.
"""

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from .. import networks
from ..core import Published, errors, parameter, randomness
from ..data import ImageData
from ..distilled import DistilledSet
from ..networks import Network
from ..runs import Inputs, Look, Number
from ..runs.process import check_finite
from .shared import descent, mosaic

NAME = "realism_selection"
ALIASES = ("rded",)
NEEDS = ("data", "teacher")


@dataclass(frozen=True, kw_only=True)
class Config(Published):
    """What is cut, and how much of it is kept; the defaults are the reference code's for CIFAR."""

    images_per_class: int = parameter(
        10,
        symbol=r"\mathrm{ipc}",
        range=(1, None),
        help="Mosaics made for each class.",
        explorable=(1, 10),
    )
    factor: int = parameter(
        1,
        symbol="f",
        choices=(1, 2),
        help="Patches along each side of a mosaic.",
        explorable=True,
        source="2 for ImageNet",
    )
    crops_per_image: int = parameter(
        5,
        symbol="m",
        range=(1, 1000),
        help="Squares cut from each image; the best is kept.",
        explorable=(1, 20),
    )
    candidates_per_class: int = parameter(
        300,
        symbol="n",
        range=(1, None),
        help="Images of each class that squares are cut from, at most; drawn at random.",
    )
    smallest_area: float = parameter(
        0.08,
        range=(0, 1),
        open_low=True,
        help="Share of its image that a square has at least.",
        explorable=(0.01, 1),
    )
    seed: int = parameter(0, range=(0, None), help="Of every draw.")

    def rules(self) -> None:
        """Raise unless one square of each candidate is enough for all mosaics."""
        _check_enough(
            self.images_per_class, self.factor, self.candidates_per_class, "candidates_per_class"
        )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return one image per class, from at most 60 of each."""
        return cls.preset(changes, images_per_class=1, candidates_per_class=60)


@dataclass(frozen=True)
class State:
    """`step` classes done; their mosaics [classes done, ipc, c, h, w], and the source of each
    patch. Of each patch the training-set index [classes done, ipc, f^2], the box (top, left, rows,
    columns) in pixels [classes done, ipc, f^2, 4], and the loss.
    """

    step: int
    images: Tensor
    indices: Tensor
    boxes: Tensor
    losses: Tensor


@dataclass(frozen=True)
class Mosaics:
    """The mosaics of one class, and the contest behind them.

    Attributes:
        images: [ipc, c, h, w].
        rows, crops: int64 [ipc, f^2], which image and which of its squares fills each cell, row by
            row.
        boxes: int64 [n, m, 4], every square: top, left, rows, columns in pixels.
        losses: [n, m], the teacher's cross-entropy on each, in nats.
    """

    images: Tensor
    rows: Tensor
    crops: Tensor
    boxes: Tensor
    losses: Tensor


@dataclass(frozen=True)
class Trace:
    """One class: its number, the training-set indices of its candidates [n], and their squares,
    losses and mosaics.
    """

    label: int
    candidates: Tensor
    mosaics: Mosaics


def candidate_indices(data: ImageData, label: int, count: int, *, seed: int) -> Tensor:
    """Draw training-set indices of one class without repetition, int64 [at most count].

    A larger count only adds some.
    """
    members = data.of_class(label)
    return members[randomness.permutation(len(members), seed, label, "real images")[:count]]


def realism_losses(logits: Tensor, label: int) -> Tensor:
    r"""Return -log softmax(phi_theta(x))_label in nats, at least 0: logits [n, classes] -> [n].

    The lower, the more real is x.
    """
    return -logits.log_softmax(1)[:, label]


def best_crops(losses: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the square of least loss of each image, and of these the `count` of least loss.

    In order; the first one where losses are equal.

    Args:
        losses: [n, m], of m squares of each of n images.
        count: at most n.

    Returns:
        int64 [count] each: the images, all different, and their squares.
    """
    # At most one square of each image, or the mosaics would show one picture several times.
    crops = losses.argmin(1)
    rows = losses.gather(1, crops[:, None])[:, 0].argsort(stable=True)[:count]
    return rows, crops[rows]


def class_mosaics(
    images: Tensor,
    label: int,
    teacher: Network,
    *,
    images_per_class: int,
    generator: torch.Generator,
    factor: int = 1,
    crops_per_image: int = 5,
    smallest_area: float = 0.08,
) -> Mosaics:
    """Return RDED's mosaics from images of one class.

    Other methods take them as the patches that they start from.

    Args:
        images: [n, c, h, w], normalised, of the teacher's size and dtype; sides that `factor`
            divides, and n at least ipc f^2.
        label: their class.
        generator: of the squares. The rest as in `Config`.

    Raises:
        DDLabError: images that are too few, of another shape, or that cannot be divided; a number
            out of range.
        NonFiniteError: the teacher's outputs on some square are not finite.
    """
    image_size = (images.shape[2], images.shape[3])
    patch_size = mosaic.patch_size_of(image_size, factor)
    _check_enough(images_per_class, factor, len(images), "images")
    boxes = mosaic.crop_boxes(
        len(images),
        crops_per_image,
        image_size=image_size,
        smallest_area=smallest_area,
        generator=generator,
    )
    # A constant of the method: no gradient goes to the images, so none is recorded.
    patches = mosaic.cut_patches(images.detach(), boxes, patch_size=patch_size)
    # One square of each image at a time: at 224 px all of them, amid zeros, would take a gigabyte.
    logits = [
        _logits(teacher, mosaic.centre(part, image_size=image_size), label)
        for part in patches.unbind(1)
    ]
    losses = torch.stack([realism_losses(part, label) for part in logits], dim=1)
    check_finite(NAME, label + 1, {"losses": losses})
    rows, crops = best_crops(losses, images_per_class * factor**2)
    mosaics = mosaic.stitch(patches[rows, crops], factor=factor)
    # Rank j, j + ipc, j + 2 ipc, ... belong to mosaic j: each has one of the best.
    by_mosaic = (factor**2, images_per_class)
    return Mosaics(
        mosaics, rows.view(by_mosaic).T.cpu(), crops.view(by_mosaic).T.cpu(), boxes, losses
    )


def total_steps(config: Config, inputs: Inputs) -> int:
    """Take one step per class."""
    return inputs.data.classes


def init(config: Config, inputs: Inputs) -> State:
    """Return a state without any class.

    Raises:
        DDLabError: no data or teacher, a side of the images that the factor does not divide, or a
            class with fewer images than patches.
    """
    data = inputs.data
    mosaic.patch_size_of(data.image_size, config.factor)
    # The smallest class decides, for every class makes equally many mosaics.
    counts = torch.bincount(data.train_labels, minlength=data.classes)
    words = f"images of class {data.class_names[int(counts.argmin())]!r}"
    _check_enough(config.images_per_class, config.factor, int(counts.min()), words)
    ipc = config.images_per_class
    cells = config.factor**2
    device = inputs.device
    images = torch.zeros((0, ipc, data.channels, *data.image_size), device=device)
    indices = torch.zeros((0, ipc, cells), dtype=torch.int64)
    return State(
        0,
        images,
        indices,
        torch.zeros((0, ipc, cells, 4), dtype=torch.int64),
        torch.zeros((0, ipc, cells)),
    )


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Make the mosaics of one class."""
    data = inputs.data
    teacher = inputs.teacher
    # Classes are done in order, so the number of a step is that of its class.
    label = state.step
    candidates = candidate_indices(data, label, config.candidates_per_class, seed=config.seed)
    mosaics = class_mosaics(
        data.normalised(candidates, device=inputs.device),
        label,
        teacher,
        images_per_class=config.images_per_class,
        generator=randomness.generator(config.seed, label, "realism crops"),
        factor=config.factor,
        crops_per_image=config.crops_per_image,
        smallest_area=config.smallest_area,
    )
    additions = {
        "images": mosaics.images,
        "indices": candidates[mosaics.rows],
        "boxes": mosaics.boxes[mosaics.rows, mosaics.crops],
        "losses": mosaics.losses.cpu()[mosaics.rows, mosaics.crops],
    }
    # A checkpoint is read onto the inputs' device as a whole; indices and boxes are kept on the
    # CPU.
    grown = {
        name: torch.cat([getattr(state, name).to(value.device), value[None]])
        for name, value in additions.items()
    }
    return State(label + 1, **grown), Trace(label, candidates, mosaics)


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the mosaics with hard, stored and online labels.

    The provenance has the index and the box of each patch.
    """
    labels = torch.arange(state.step).repeat_interleave(config.images_per_class)
    parts = {"indices": state.indices.tolist(), "boxes": state.boxes.tolist()}
    images = state.images.flatten(0, 1)
    total = total_steps(config, inputs)
    return descent.distilled(NAME, config, inputs, state, images, labels, total, **parts)


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the mosaics of the classes done, and how real the teacher finds the squares of the
    last one, those chosen and all.
    """
    classes = torch.arange(state.step).repeat_interleave(config.images_per_class)
    if trace is None:
        return Look(state.images.flatten(0, 1), classes)
    losses = {
        "loss of the squares chosen": state.losses[-1].mean(),
        "of all squares": trace.mosaics.losses.mean(),
    }
    shared: dict[str, Any] = {"unit": "nats", "curve": "teacher's loss", "x_label": "class"}
    return Look(
        state.images.flatten(0, 1),
        classes,
        {name: Number(loss, **shared) for name, loss in losses.items()},
    )


def _logits(teacher: Network, images: Tensor, label: int) -> Tensor:
    logits = networks.predict(teacher, images).logits
    check_finite(NAME, label + 1, {"logits": logits})  # the step that a class is
    return logits


def _check_enough(images_per_class: int, factor: int, count: int, words: str) -> None:
    """Raise if `count` images, which `words` names, are fewer than the patches of all mosaics."""
    if images_per_class * factor**2 > count:
        allowed = (
            f"at most {count // factor**2} for mosaics of {factor} x {factor} from {count} {words}"
        )
        errors.fail("images_per_class", allowed, images_per_class)


SMALL = Config(images_per_class=2, crops_per_image=2)  # for the contract tests
