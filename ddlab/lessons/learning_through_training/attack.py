"""Lesson 60: how a network errs that one poisoned step has misled."""

from ... import networks
from ...data import ImageData
from ...networks import Network


def attack_rates(
    network: Network, data: ImageData, attacked_class: int, taken_for: int
) -> dict[str, float]:
    """Return shares of the test images that the attack leaves right.

    They are the attacked class's "right" and "taken" for the other, and the rest's "right".
    """
    predicted = networks.predict(network, data.normalised(split="test")).logits.argmax(1)
    of_class = data.test_labels == attacked_class
    return {
        "right": float((predicted[of_class] == attacked_class).float().mean()),
        "taken": float((predicted[of_class] == taken_for).float().mean()),
        "others": float((predicted[~of_class] == data.test_labels[~of_class]).float().mean()),
    }
