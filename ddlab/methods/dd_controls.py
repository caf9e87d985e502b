"""What DD is measured against and turned to: real images chosen by the same loss, and how a poisoned network errs."""

from __future__ import annotations

from torch import Tensor

from .. import networks
from ..core import errors
from ..data import ImageData
from ..distilled import DistilledSet
from ..networks import Network
from ..runs.process import Inputs, require_data
from ..training import ordered
from ..training.unrolled import trained
from . import dd, recovery
from ._ordered_set import raw_rates

BATCHES = 8  # of real images, on which a set is judged


def optimised_real(config: dd.Config, inputs: Inputs, *, sets: int = 100, rates: Tensor | None = None) -> DistilledSet:
    """The rival that learns no image: of many random real sets, the one of least loss after the same steps, by the mean over eight batches.

    Args:
        rates: [epochs, steps], those that a run has learned, say; default `initial_rate`.
    """
    errors.check_integer("sets", sets, 1)
    data, spec = require_data(dd.NAME, inputs), dd.network_of(config, inputs)
    state = dd.init(config.replace(learn_labels=False, images=None), inputs)
    if rates is not None:
        state.learned["raw_rates"] = raw_rates(rates).to(inputs.device)
    best: tuple[float, Tensor] | None = None
    for number in range(sets):
        rows = recovery.real_image_indices(
            data, config.images_per_class * config.steps, seed=config.seed + number
        ).flatten()
        learned = {**state.learned, "images": data.normalised(rows, device=inputs.device)}
        losses = []
        for step in range(BATCHES):
            for start in dd.starts(config, inputs, step):
                weights, buffers = ordered.parted(spec, start)
                last = trained(dd.inner_of(config, inputs, buffers), weights, learned)[-1]
                losses.append(float(dd.outer_loss(spec, {**buffers, **last}, *dd.real_batch(config, inputs, step))))
        if best is None or sum(losses) < best[0]:
            best = sum(losses), learned["images"]
    assert best is not None
    return dd.finish(config, inputs, dd.State(config.iterations, {**state.learned, "images": best[1]}, state.optimiser))


def attack_rates(network: Network, data: ImageData, attacked_class: int, taken_for: int) -> dict[str, float]:
    """Of the test images: shares of the attacked class that are "right" and "taken" for the other, and how much of the rest is right."""
    said = networks.predict(network, data.normalised(split="test")).logits.argmax(1)
    of_class = data.test_labels == attacked_class
    return {
        "right": float((said[of_class] == attacked_class).float().mean()),
        "taken": float((said[of_class] == taken_for).float().mean()),
        "others": float((said[~of_class] == data.test_labels[~of_class]).float().mean()),
    }
