"""Parts of the methods that read no labels: a teacher's features, random images, and a set of
images with representations.
"""

from typing import Any

from torch import Tensor

from ..core import Parameters, errors, randomness
from ..distilled import DistilledSet, Representations
from ..runs import Inputs
from ..runs.process import check_finite
from .self_supervised import representations


def require_finite_teacher(name: str, inputs: Inputs) -> None:
    """Raise if data or teacher are missing or its weights are not finite. All targets come from it."""
    check_finite(name, 0, {"the teacher": inputs.teacher.weights})


def teacher_features(inputs: Inputs) -> Tensor:
    """Return g_phi(X_t) of all training images, float32 [n, d_y] on the CPU, computed once."""
    teacher = inputs.teacher
    return representations(teacher, inputs.data, device=inputs.device)


def real_indices(count: int, chosen: int, *, seed: int) -> Tensor:
    """Draw which of `count` training images the pairs begin as, int64 [chosen].

    Their labels play no part.
    """
    errors.check_integer("chosen", chosen, 1, count)
    return randomness.permutation(count, seed, 0, "real images of the pairs")[:chosen]


def unlabelled_set(
    name: str,
    config: Parameters,
    inputs: Inputs,
    state: Any,
    total: int,
    *,
    tensors: dict[str, Tensor],
    targets: Representations,
    kind: str = "images",
    settings: dict[str, Any] | None = None,
    **provenance: Any,
) -> DistilledSet:
    """Return a set with representations and without labels, complete after `total` steps.

    Further arguments join the provenance.
    """
    data = inputs.data
    record = {"method": name, "step": state.step} | provenance
    record |= {"config": config.to_dict(), "data": data.name, "inputs": inputs.fingerprint}
    return DistilledSet(
        kind=kind,
        tensors=tensors,
        settings=settings or {},
        targets=(targets,),
        class_names=data.class_names,
        mean=data.mean,
        std=data.std,
        complete=state.step >= total,
        provenance=record,
    )
