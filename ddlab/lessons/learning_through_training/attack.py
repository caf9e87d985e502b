"""Lesson 60: how a network errs that one poisoned step has misled."""

from ... import networks
from ...data import ImageData
from ...networks import Network


def attack_rates(
    network: Network, data: ImageData, attacked_class: int, taken_for: int
) -> dict[str, float]:
    """Of the test images: shares of the attacked class that are "right" and "taken" for the other,
    and how much of the rest is right.
    """
    predicted = networks.predict(network, data.normalised(split="test")).logits.argmax(1)
    of_class = data.test_labels == attacked_class
    return {
        "right": float((predicted[of_class] == attacked_class).float().mean()),
        "taken": float((predicted[of_class] == taken_for).float().mean()),
        "others": float((predicted[~of_class] == data.test_labels[~of_class]).float().mean()),
    }
