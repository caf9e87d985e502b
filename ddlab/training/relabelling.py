r"""Labels from teachers, for a distilled set of any method.

Three kinds: "stored", the logits of the images as they are; "online", the teachers asked for each view while a student trains; and
"epochs", the logits of every view that a student will see, given before (FKD: Shen & Xing 2022, arXiv 2112.01528).

| symbol | name in code | shape |
|---|---|---|
| x | images | [n, c, h, w] |
| f_j, j = 1..m | teachers | m networks |
| B | teacher_batch_size | parts of a batch that share batch statistics |

| equation | function |
|---|---|
| y = (1/m) sum_j f_j(x) | `teacher_logits` |
| f_j in train mode, on parts of B images: batch-specific soft labels (BSSL; FADRM, arXiv 2506.24125) | `teacher_logits`, `part_sizes` |

Deviations: FADRM's code cuts every batch into halves, here parts have a fixed size (8, half of its batch of 16), which differs for a
last smaller batch alone. A last part of one image joins the part before it: one image has no statistics of a batch. The code moves the
teachers' running statistics while it labels, which in train mode no output shows; here they stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from .. import networks
from ..core import errors
from ..core.boundary import Count, Images, Index, checked, within
from ..core.errors import DDLabError
from ..core.progress import progress_bar
from ..data.augmentation import TeacherMode, Views
from ..distilled import DistilledSet, EpochLabels, OnlineTeacher, StoredLabels, Targets
from ..networks import Network
from ..runs.process import Inputs

__all__ = ["part_sizes", "relabelled", "teacher_logits"]

Teachers = Network | Sequence[Network]


def as_teachers(teachers: Teachers | None, argument: str = "teachers") -> tuple[Network, ...]:
    """One network or a sequence of networks as a tuple; none for None."""
    if teachers is None:
        return ()
    if isinstance(teachers, Network):
        return (teachers,)
    if not isinstance(teachers, (tuple, list)) or not all(isinstance(each, Network) for each in teachers):
        errors.fail(argument, "a Network or a sequence of Networks", teachers)
    return tuple(teachers)


@checked
def part_sizes(count: Index, size: Annotated[int, within(2)]) -> list[int]:
    """`count` images in parts of `size`, in order; a last part of one joins the part before it."""
    whole, rest = divmod(count, size)
    parts = [size] * whole + [rest] * (rest > 0)
    return [*parts[:-2], size + 1] if rest == 1 and whole else parts


@checked
def teacher_logits(
    teachers: Teachers, images: Images, *, teacher_mode: TeacherMode = "eval", teacher_batch_size: int | None = None
) -> Tensor:
    """The mean over the teachers of their logits, [n, classes], without gradients; the teachers stay as they are.

    Args:
        images: float [n, c, h, w] on the teachers' device.
        teacher_mode: "eval", or "train": batch norm takes its statistics from the images that are passed together.
        teacher_batch_size: how many these are, at least 2; None: all.

    Raises:
        DDLabError: no teacher, teachers of different classes, images that a teacher cannot take.
    """
    given = as_teachers(teachers)
    if not given:
        raise DDLabError("teachers must be at least one network; given none.")
    classes = [teacher.spec.classes for teacher in given]
    if len(set(classes)) > 1:
        errors.fail("teachers", "networks for the same number of classes", classes)
    sizes = [len(images)]
    if teacher_batch_size is not None and len(images):
        sizes = part_sizes(len(images), teacher_batch_size)
    train = teacher_mode == "train"
    with torch.no_grad():
        found = [
            torch.cat([networks.call(each.spec, each.weights, part, train)[0].logits for part in images.split(sizes)])
            for each in given
        ]
    return _mean(found)


@checked
def relabelled(
    distilled: DistilledSet,
    teachers: Teachers,
    *,
    labels: Literal["stored", "online", "epochs"],
    views: Views | None = None,
    epochs: Count | None = None,
    device: torch.device | str = "auto",
    progress: bool = False,
) -> DistilledSet:
    """A copy of a set of any method, with labels of one kind from these teachers; its other labels stay.

    Args:
        teachers: a network or several, whose logits are averaged.
        labels: "stored", "online" or "epochs".
        views: for "epochs" what a student will see, for which the `supervised.Config` of that student serves. For "stored" its teacher
            mode: in train mode the images are passed in the batches of the first epoch. Default: teachers in eval mode ("stored");
            needed for "epochs".
        epochs: how many are labelled, for "epochs" alone, where it is needed. No student can train for more.
        progress: one line on standard output.

    Raises:
        DDLabError: no teachers, or some that do not fit the set; views or epochs missing, or given where they decide nothing.
    """
    inputs = Inputs(distilled=distilled, teachers=as_teachers(teachers), device=device)
    if not inputs.teachers:
        raise DDLabError("teachers must be at least one network; given none.")
    if not len(distilled):
        raise DDLabError("distilled must hold at least one image to label; given an empty set.")
    views = None if views is None else views.views()
    _check_asked(labels, views, epochs)
    names = [teacher.fingerprint for teacher in inputs.teachers]
    target: Targets = OnlineTeacher(names[0], tuple(names[1:]))
    if labels == "stored":
        target = StoredLabels(stored_logits(inputs.teachers, distilled.images, views))
    elif labels == "epochs" and views is not None and epochs is not None:
        target = EpochLabels(_epoch_logits(inputs, views, epochs, progress), views, tuple(names))
    about: dict[str, Any] = {"teachers": names, "views": None if views is None else views.to_dict(), "epochs": epochs}
    history = {**distilled.provenance.get("relabelled", {}), labels: about}
    return replace(distilled.with_targets(target), provenance=distilled.provenance | {"relabelled": history})


def stored_logits(teachers: Teachers, images: Tensor, views: Views | None = None) -> Tensor:
    """The teachers' mean logits for images as they are, float32 [n, classes] on the CPU; without views in eval mode."""
    given = as_teachers(teachers)
    if views is None or views.teacher_mode == "eval":
        return _mean([networks.predict(teacher, images).logits.float().cpu() for teacher in given])
    # One after another, images of one class might fill a batch; in a random order its statistics are those of all classes.
    count, parts, rows = len(images), [], []
    for step in range(views.steps_per_epoch(count)):
        rows.append(views.indices(count, step))
        parts.append(_labels_of(given, images[rows[-1]].to(given[0].device), views).float().cpu())
    return torch.cat(parts)[torch.cat(rows).argsort()]


def _epoch_logits(inputs: Inputs, views: Views, epochs: int, progress: bool) -> Tensor:
    """float16 [epochs, n, classes]: row i of an epoch belongs to the view that shows image i in it."""
    source = inputs.distilled
    assert source is not None
    count, per_epoch = len(source), views.steps_per_epoch(len(source))
    logits = torch.zeros((epochs, count, source.classes), dtype=torch.float16)
    bar = progress_bar("relabelling", epochs * per_epoch, progress)
    for step in range(epochs * per_epoch):
        rows = views.indices(count, step)
        images = source.images[rows].to(inputs.device)
        view = views.view(images, mean=source.mean, std=source.std, step=step)
        logits[step // per_epoch, rows] = _labels_of(inputs.teachers, view.images, views).half().cpu()
        bar.update()
    bar.close()
    return logits


def _labels_of(teachers: tuple[Network, ...], images: Tensor, views: Views) -> Tensor:
    return teacher_logits(
        teachers, images, teacher_mode=views.teacher_mode, teacher_batch_size=views.teacher_batch_size
    )


def _mean(logits: list[Tensor]) -> Tensor:
    """[n, classes], of one network or several; of one, its own bits."""
    return torch.stack(logits).mean(0)


def _check_asked(labels: str, views: Views | None, epochs: int | None) -> None:
    if labels == "epochs":
        if views is None:
            raise DDLabError(
                "views must be given for labels of each epoch: they say what a student will see; given None."
            )
        if epochs is None:
            errors.fail("epochs", "an integer of at least 1, how many are labelled", epochs)
    elif epochs is not None:
        errors.fail("epochs", f"None for {labels} labels, which know no epochs", epochs)
    if labels == "online" and views is not None:
        raise DDLabError("views must be None for online labels, which a student's own config decides; given views.")
