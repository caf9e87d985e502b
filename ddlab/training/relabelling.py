"""Labels from teachers: y = (1/m) sum_j f_j(x), the mean of the logits of m networks.

The teachers are in evaluation mode, or in training mode: then batch norm takes its statistics from
the batch (SRe2L's CIFAR code, which never calls `eval`) or from each half of it (FADRM's
batch-specific soft labels, BSSL).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from .. import networks
from ..core import DDLabError, errors
from ..networks import Network
from ..runs.inputs import Teachers, as_teachers


def teacher_logits(teachers: Teachers, images: Tensor, *, batch_parts: int | None = None) -> Tensor:
    """Return the mean over the teachers of their logits, [n, classes], without gradients, on the
    images' device.

    Args:
        images: float [n, c, h, w].
        batch_parts: None uses the statistics that batch norm remembers; a number splits the batch
            into so many parts, each of which is normalised by its own statistics. A batch of three
            or fewer images stays whole.

    Raises:
        DDLabError: no teacher, teachers of different classes, images that a teacher cannot take.
    """
    networks_asked = as_teachers(teachers)
    if not networks_asked:
        raise DDLabError("teachers must be at least one network; given none.")
    classes = [teacher.spec.classes for teacher in networks_asked]
    if len(set(classes)) > 1:
        errors.fail("teachers", "networks for the same number of classes", classes)
    if batch_parts is None:
        logits = [networks.predict(teacher, images).logits for teacher in networks_asked]
    else:
        # Halves of three images would have a batch of one, which has no variance.
        parts = images.chunk(batch_parts if len(images) > 3 else 1)
        logits = [_training_mode_logits(teacher, parts) for teacher in networks_asked]
    return torch.stack(logits).mean(0)


def _training_mode_logits(teacher: Network, parts: Sequence[Tensor]) -> Tensor:
    """Return the logits of all parts, [n, classes], each part normalised by its own statistics."""
    logits = []
    with torch.no_grad():
        for part in parts:
            outputs, _ = networks.call(teacher.spec, teacher.weights, part, train=True)
            logits.append(outputs.logits)
    return torch.cat(logits)
