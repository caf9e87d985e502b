"""Labels from teachers: y = (1/m) sum_j f_j(x), the mean of the logits of m networks.

They are in evaluation mode; or in training mode, each half of the batch for itself: FADRM's batch-specific soft labels (BSSL).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from .. import networks
from ..core import errors
from ..core.errors import DDLabError
from ..networks import Network

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


def teacher_logits(teachers: Teachers, images: Tensor, *, halves: bool = False) -> Tensor:
    """The mean over the teachers of their logits, [n, classes], without gradients, where the images are; of one, its own bits.

    Args:
        images: float [n, c, h, w].
        halves: batch norm takes its statistics from the half of the batch that an image is in, of a batch of three or less from all.

    Raises:
        DDLabError: no teacher, teachers of different classes, images that a teacher cannot take.
    """
    given = as_teachers(teachers)
    if not given:
        raise DDLabError("teachers must be at least one network; given none.")
    classes = [teacher.spec.classes for teacher in given]
    if len(set(classes)) > 1:
        errors.fail("teachers", "networks for the same number of classes", classes)
    if not halves:
        return torch.stack([networks.predict(teacher, images).logits for teacher in given]).mean(0)
    parts = images.chunk(2 if len(images) > 3 else 1)
    with torch.no_grad():
        found = [
            torch.cat([networks.call(each.spec, each.weights, part, train=True)[0].logits for part in parts])
            for each in given
        ]
    return torch.stack(found).mean(0)
