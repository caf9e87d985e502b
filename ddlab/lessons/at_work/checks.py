"""Lesson 85: its exercises, the right answers and the usual mistakes."""

import functools
from statistics import fmean
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ... import data as datasets
from ...distilled import DistilledSet
from ...evaluation import evaluate_all
from ...evaluation.network_search import rank_correlation
from ...methods import selection
from ...methods.distillation import distill, from_images
from ...networks import convnet_grid
from ...training import supervised
from ..answers import Exercise, NotYet, call_answer, kind_of
from .lab import search

# Ties of two and of three, and an order that is nearly reversed.
_PAIRS = (
    ([0.9, 0.7, 0.9, 0.4, 0.8], [0.97, 0.95, 0.99, 0.91, 0.95]),
    ([0.3, 0.3, 0.3, 0.6, 0.8, 0.5], [0.6, 0.9, 0.7, 0.9, 0.95, 0.8]),
    ([0.1, 0.2, 0.4, 0.3, 0.4], [0.9, 0.8, 0.3, 0.3, 0.1]),
)
_NETWORKS = slice(None, None, 2)  # of the 48
_LEAD = 0.06  # of a rank correlation: class means are .05 ahead
_UPDATES = 50
_SEEDS = range(3)
_IMAGES = 10  # of herding, one of each digit


def _lower_ranks(values: Tensor) -> Tensor:
    return (values[:, None] > values).sum(1).double()


def _upper_ranks(values: Tensor) -> Tensor:
    return (values[:, None] >= values).sum(1).double()


def _ranks(values: Tensor) -> Tensor:
    return (_lower_ranks(values) + _upper_ranks(values)) / 2


def _in_order(values: Tensor) -> Tensor:
    return values.argsort(stable=True).argsort().double()


def _pearson(first: Tensor, second: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([first, second]).double())[0, 1])


def _by_differences(first: Tensor, second: Tensor) -> float:
    count = len(first)
    return 1 - 6 * float((_ranks(first) - _ranks(second)).square().sum()) / (count**3 - count)


RANKS = Exercise(
    arguments=("first [n]", "second [n]"),
    cases=lambda: [(torch.tensor(first), torch.tensor(second)) for first, second in _PAIRS],
    expected=lambda first, second: float(rank_correlation(first.numpy(), second.numpy())),
    mistakes={
        "Equal values have different ranks in yours. Let them share the mean of their ranks.": (
            lambda first, second: _pearson(_in_order(first), _in_order(second))
        ),
        "Equal values share their lowest rank in yours. Let them share the mean of their ranks.": (
            lambda first, second: _pearson(_lower_ranks(first), _lower_ranks(second))
        ),
        "Equal values share their highest rank in yours. Let them share the mean of their ranks.": (
            lambda first, second: _pearson(_upper_ranks(first), _upper_ranks(second))
        ),
        "That is the correlation of the values. Correlate their ranks.": _pearson,
        "The formula with squared differences of ranks holds only without ties. Correlate the ranks.": (
            _by_differences
        ),
        "One of your two orders runs backwards: the largest value has the largest rank in both.": (
            lambda first, second: -_pearson(_ranks(first), _ranks(second))
        ),
    },
    look="Write down the ranks of these values by hand. Which values share one?",
    success=(
        "Equal accuracies are frequent: with 599 test images, two networks often classify the same "
        "number correctly."
    ),
)


def check_proxy(answer: Any) -> str:
    """Check exercise 2: a set of one's own ranks networks better than herding's.

    It takes no more floats; three seeds decide.
    """
    ask = "Write a function of images and labels that returns the images and labels of a set."
    if not callable(answer) or isinstance(answer, type):
        raise NotYet(ask if answer is None else f"{ask} Yours is {kind_of(answer)}.")
    digits = datasets.load("digits")
    floats = _IMAGES * digits.test_images[0].numel()
    own_sets = []
    for seed in _SEEDS:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            returned = call_answer(
                answer, digits.normalised(), digits.train_labels, names=("images", "labels")
            )
        own_sets.append(_checked_set(returned, floats))
    own, rival = _correlations(own_sets), _herding_correlations()
    measured = (
        f"Rank correlation of your set with all digits: {fmean(own):+.2f}; of herding's: "
        f"{fmean(rival):+.2f} (three seeds, 24 networks)."
    )
    if fmean(own) - fmean(rival) < _LEAD:
        raise NotYet(
            f"{measured} Yours should be at least {_LEAD} ahead. A set needs varied images rather than "
            "beautiful ones: what could you leave out of an image to afford more of them?"
        )
    return f"{measured} A set that ranks networks well need not train the most accurate student."


def _checked_set(returned: Any, floats: int) -> DistilledSet:
    """Return what a reader's function returned as a set of whole images.

    Raises:
        NotYet: another kind, other shapes, a class without images, or too many floats.
    """
    digits = datasets.load("digits")
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise NotYet(f"Return two things, images and labels. Yours returns {kind_of(returned)}.")
    try:
        images, labels = (torch.as_tensor(part) for part in returned)
    except (TypeError, ValueError, RuntimeError):
        raise NotYet("Return images and labels as tensors.") from None
    if images.ndim != 4 or images.shape[1] != 1 or labels.shape != images.shape[:1]:
        raise NotYet(
            "Return images [n, 1, height, width] and labels [n]. Yours are "
            f"{kind_of(images)} and {kind_of(labels)}."
        )
    if {*labels.tolist()} != {*range(digits.classes)}:
        raise NotYet("Each of the ten digits needs an image, and the labels are 0 to 9.")
    if images.numel() > floats:
        raise NotYet(
            f"Your images take {images.numel():,} floats; herding's ten take {floats:,}. Images may "
            "be smaller: the check enlarges them to 16 x 16."
        )
    if not bool(images.isfinite().all()):
        raise NotYet("Your images hold values that are not finite.")
    large = F.interpolate(images.detach().float(), size=digits.image_size, mode="bilinear")
    return from_images(large, labels.long(), digits)


def _correlations(sets: list[DistilledSet]) -> list[float]:
    """Return the rank correlation with the record, of students of one set for each seed."""
    digits = datasets.load("digits")
    specs = convnet_grid()[_NETWORKS]
    students = {}
    for seed, distilled in enumerate(sets):
        config = supervised.Config.for_data(distilled, labels="hard")
        epochs = max(1, _UPDATES // config.steps_per_epoch(len(distilled)))
        for number, spec in enumerate(specs):
            students[seed, number] = {
                "distilled": distilled,
                "network": spec,
                "seeds": (seed,),
                "config": config.replace(epochs=epochs),
            }
    options: dict[str, Any] = {"labels": "hard", "device": "cpu", "progress": False}
    trained = evaluate_all(students, data=digits, **options)
    reference = search("digits", "1", "150").reference[_NETWORKS]
    correlations = []
    for seed in range(len(sets)):
        accuracies = np.array([trained[seed, number].mean for number in range(len(specs))])
        correlations.append(float(rank_correlation(accuracies, reference)))
    return correlations


@functools.cache
def _herding_correlations() -> list[float]:
    """Return the same of one image of each digit, chosen by herding."""
    config = selection.Config(kind="herding", images_per_class=1)
    herding = distill(selection, datasets.load("digits"), config=config, progress=False)
    return _correlations([herding] * len(_SEEDS))


CHECKS = {"ranks": RANKS, "proxy": check_proxy}
