"""Probes: what a simple reader can tell from a network's features, while the network stays as it
is.

"linear" is logistic regression, "ridge" least squares in closed form, "neighbours" a vote of the
nearest training images (`readers.py`). A part of the training images is held out, the setting that
does best there is taken, and the reader learns again from all of them. The test images are looked
at last, for the accuracy alone.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from ..core import Seeds, among, checked, errors, randomness, within
from ..core.interval import interval, within_accuracy
from ..data import ImageData
from ..distilled import DistilledSet
from ..networks import Network
from ..runs import NOTHING, Inputs, Run, Step
from . import pretraining
from .readers import KINDS, checked_setting, predictions
from .self_supervised import representations

Kind = Annotated[str, among(*KINDS)]
HeldOut = Annotated[float, within(0, 0.9, open_low=True)]
# The simplest reader first: among equals the first is taken.
STRENGTHS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
# From many to one: of equals the first is taken.
NEIGHBOURS = (50, 20, 10, 5, 1)
_STRENGTH = 1e-3  # of `probe_once`


@dataclass(frozen=True, kw_only=True)
class Probe:
    """The test accuracy of a reader of a network's features.

    Attributes:
        mean: fraction in [0, 1], over seeds.
        std: with n - 1; None for one seed.
        interval: (low, high), 95%, Student's t over seeds; None for one seed. It speaks of the draw
            of the held-out part alone, for this one network: another training of it may lie
            outside.
        per_seed: seed -> accuracy fraction.
        chosen: seed -> the strength, or the number of neighbours, that did best on the held-out
            part.
        kind: "linear", "ridge" or "neighbours".
        network: its architecture.
        cpu_seconds: spent here.
    """

    mean: float
    std: float | None
    interval: tuple[float, float] | None
    per_seed: dict[int, float]
    chosen: dict[int, float]
    kind: str
    network: str
    cpu_seconds: float

    def __str__(self) -> str:
        words = [f"accuracy {self.mean:.3f} of a {self.kind} probe over {len(self.per_seed)} seeds"]
        if self.interval is not None:
            words.append(f"95% interval {self.interval[0]:.3f} to {self.interval[1]:.3f}")
        name = "neighbours" if self.kind == "neighbours" else "strength"
        settings = sorted(set(self.chosen.values()))
        words += [f"{name} {' or '.join(f'{setting:g}' for setting in settings)}", self.network]
        return ", ".join(words)


@checked
def probe(
    network: Network,
    data: ImageData,
    *,
    kind: Kind,
    candidates: Sequence[float] | None = None,
    held_out: HeldOut = 0.1,
    seeds: Seeds = (0,),
    device: torch.device | str = "auto",
    keep: bool = True,
) -> Probe:
    """Train a simple reader of a network's features and test it on the test images of `data`.

    Args:
        network: stays as it is; it may have been trained on other data, of the same shape.
        kind: "linear", "ridge" or "neighbours"; no default, because readers differ in what they
            find.
        candidates: strengths above 0, or numbers of neighbours, of which the best on the held-out
            part is taken (the first of equals); default `STRENGTHS`, or those of `NEIGHBOURS` for
            which there are images. With one, nothing is chosen.
        held_out: the part of the training images of each class to choose on, at most 0.9; each
            class keeps at least one to learn from.
        seeds: one draw of the held-out part each. More than one show how much hangs on this draw,
            and nothing else.
        device: where the network runs; the readers learn on the CPU.
        keep: whether the network's features are kept for the next probe, as
            `self_supervised.representations` has it.

    Raises:
        DDLabError: an unknown kind, candidates out of their range, too few images to hold any out,
            fewer than two classes, data of another shape than the network's, or features that are
            not finite.
    """
    seeds, parts, settings = checked_reading(
        data, kind=kind, candidates=candidates, held_out=held_out, seeds=seeds
    )
    labels = data.train_labels
    start = time.process_time()
    learning = representations(network, data, "train", device=device, keep=keep)
    testing = representations(network, data, "test", device=device, keep=keep)
    chosen = dict.fromkeys(seeds, settings[0])
    for seed, (learning_rows, held_rows) in parts.items():
        shares = [
            _share(
                predictions(
                    kind,
                    learning[learning_rows],
                    labels[learning_rows],
                    learning[held_rows],
                    setting,
                ),
                labels[held_rows],
            )
            for setting in settings
        ]
        chosen[seed] = settings[shares.index(max(shares))]
    # Seeds that chose alike share their reader: it learns from all training images.
    reached = {
        setting: _share(predictions(kind, learning, labels, testing, setting), data.test_labels)
        for setting in set(chosen.values())
    }
    accuracies = {seed: reached[setting] for seed, setting in chosen.items()}
    values = list(accuracies.values())
    return Probe(
        mean=statistics.fmean(values),
        std=statistics.stdev(values) if len(values) > 1 else None,
        interval=within_accuracy(interval(values)),
        per_seed=accuracies,
        chosen=chosen,
        kind=kind,
        network=network.spec.title,
        cpu_seconds=time.process_time() - start,
    )


@checked
def checked_reading(
    data: ImageData, *, kind: Kind, candidates: Any, held_out: HeldOut, seeds: Seeds
) -> tuple[Sequence[int], dict[int, tuple[Tensor, Tensor]], list[float]]:
    """Return the seeds, the parts to learn from and to choose on by seed, and the candidates.

    Where nothing is chosen, nothing is held out.

    Raises:
        DDLabError: all that `probe` refuses, but for the network.
    """
    labels = data.train_labels
    if len(labels.unique()) < 2:
        errors.fail("data", "of at least two classes", f"one of {data.classes}")
    is_fixed = isinstance(candidates, Sequence) and len(candidates) == 1
    parts = (
        {}
        if is_fixed
        else {seed: held_out_part(labels, held_out=held_out, seed=seed) for seed in seeds}
    )
    fewest = min((len(learning_rows) for learning_rows, _ in parts.values()), default=len(labels))
    return seeds, parts, _checked_candidates(candidates, kind, fewest)


def held_out_part(labels: Tensor, *, held_out: float, seed: int) -> tuple[Tensor, Tensor]:
    """Split images into those to learn from and those to choose on; return both as int64 indices.

    Of each class a share is held out, rounded, but never all of it.

    Args:
        labels: int64 [n].
        held_out: the share of each class to choose on, in (0, 0.9].

    Raises:
        DDLabError: a share so small, or classes so small, that nothing is held out.
    """
    order = randomness.permutation(len(labels), seed, 0, "held-out part")
    held_by_class = []
    for label in labels.unique():
        members = order[labels[order] == label]
        held_by_class.append(members[: min(round(held_out * len(members)), len(members) - 1)])
    chosen = torch.cat(held_by_class) if held_by_class else order
    if not len(chosen):
        fitting = (
            f"large enough to hold out one of {len(labels)} images (candidates may be one alone, "
            "with none held out)"
        )
        errors.fail("held_out", fitting, held_out)
    is_learning = torch.ones(len(labels), dtype=torch.bool)
    is_learning[chosen] = False
    return is_learning.nonzero().flatten(), chosen.sort().values


def _share(predicted: Tensor, labels: Tensor) -> float:
    return float((predicted == labels).double().mean())


def _checked_candidates(candidates: Any, kind: str, fewest: int) -> list[float]:
    if candidates is None:
        return list(STRENGTHS) if kind != "neighbours" else [k for k in NEIGHBOURS if k <= fewest]
    if not isinstance(candidates, Sequence) or isinstance(candidates, str) or not candidates:
        errors.fail("candidates", "a sequence of at least one number", candidates)
    return [checked_setting("candidates", candidate, kind, fewest) for candidate in candidates]


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
    return probe_once(network, data, seed, device=device)


def probe_once(network: Network, data: ImageData, seed: int, *, device: Any = "cpu") -> float:
    """Return the test accuracy of logistic regression on a network's features.

    The regularisation is the same for all.
    """
    options: dict[str, Any] = {"candidates": (_STRENGTH,), "seeds": (seed,), "keep": False}
    return probe(network, data, kind="linear", device=device, **options).mean
