"""Probes: what a linear classifier can tell from a network's features, while the network stays as
it is.

Its strength is the same for all networks, so nothing is chosen, on test images or on others.
"""

from collections.abc import Callable
from typing import Annotated, Any

import torch

from ..core import checked, errors, within
from ..data import ImageData
from ..distilled import DistilledSet
from ..networks import Network
from ..runs import NOTHING, Inputs, Run, Step
from . import pretraining
from .readers import LEAST_STRENGTH, MOST_STRENGTH, predictions
from .self_supervised import representations

STRENGTH = 1e-3


@checked
def probe(
    network: Network,
    data: ImageData,
    *,
    strength: Annotated[float, within(LEAST_STRENGTH, MOST_STRENGTH)] = STRENGTH,
    device: torch.device | str = "auto",
) -> float:
    """Return the test accuracy of logistic regression on a network's features.

    Args:
        network: stays as it is; it may have been trained on other data, of the same shape.
        strength: of the penalty on the weights (`readers`).
        device: where the network runs; the regression learns on the CPU.

    Raises:
        DDLabError: fewer than two classes, data of another shape than the network's, or features
            that are not finite.
    """
    if data.classes < 2:
        errors.fail("data", "of at least two classes", f"one of {data.classes}")
    learning, testing = (
        representations(network, data, split, device=device, keep=False)
        for split in ("train", "test")
    )
    predicted = predictions("linear", learning, data.train_labels, testing, strength)
    return float((predicted == data.test_labels).double().mean())


def probe_score(
    distilled: DistilledSet,
    data: ImageData,
    *,
    seed: int = 0,
    device: Any = "cpu",
    watch: Callable[[Step], None] | None = None,
) -> float:
    """Measure a set without labels by a linear probe of a network that was pre-trained on it."""
    config = pretraining.Config.teaching(seed=seed)
    inputs = Inputs(distilled=distilled, device=device)
    network = Run(pretraining, config, inputs, keep=NOTHING).to_end(on_step=watch)
    return probe(network, data, device=device)
