"""The last stage of every method: images become a `DistilledSet` with labels."""

import warnings
from typing import Any

from torch import Tensor

from ...core import DDLabError
from ...distilled import DistilledSet, HardLabels, OnlineTeacher, StoredLabels
from ...runs import Inputs
from ...training.relabelling import teacher_logits

_FAR = 100.0  # standard deviations


def labelled_set(
    images: Tensor, labels: Tensor, inputs: Inputs, *, complete: bool, provenance: dict[str, Any]
) -> DistilledSet:
    """Return a `DistilledSet` with three kinds of labels.

    These are hard labels, the teachers' mean logits, and the teachers themselves for online labels.

    Without a teacher the set has hard labels only.

    Warns:
        UserWarning: pixels that are finite and yet lie nowhere near an image's.
    """
    data = inputs.data
    if data is None:
        raise DDLabError("data must be given to make a distilled set; given None.")
    largest = float(images.detach().abs().max()) if images.numel() else 0.0
    if largest > _FAR:
        black, white = (float(value.abs().max()) for value in data.valid_range())
        problem = (
            f"values up to {largest:,.0f}, where black and white lie at {max(black, white):.1f} "
            "at most"
        )
        warnings.warn(
            f"the images have {problem}: not normalised like the data, or a run that has diverged.",
            stacklevel=3,
        )
    targets: list[Any] = [HardLabels(labels.cpu())]
    if inputs.teachers:
        first_fingerprint, *other_fingerprints = (
            teacher.fingerprint for teacher in inputs.teachers
        )
        targets += [
            StoredLabels(teacher_logits(inputs.teachers, images).float().cpu()),
            OnlineTeacher(first_fingerprint, tuple(other_fingerprints)),
        ]
    return DistilledSet(
        tensors={"images": images.detach().float().cpu().contiguous()},
        targets=tuple(targets),
        class_names=data.class_names,
        mean=data.mean,
        std=data.std,
        complete=complete,
        provenance=provenance | {"data": data.name, "inputs": inputs.fingerprint},
    )
