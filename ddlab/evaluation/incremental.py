"""Class-incremental training with exemplars, phase by phase: one network, and what it has forgotten
(Mnemonics: Liu et al. 2020).

The network of a phase goes on from the one before, on the new images and on the exemplars of
earlier classes. Exemplars are those of a distilled set, or what `methods.mnemonics` keeps by its
config. With n_p classes seen, A_p the accuracy on their test images after phase p, and a_p(t) that
on the classes of task t alone:

    average accuracy          mean_p A_p
    forgetting of the first   a_1(1) - a_P(1)                          Mnemonics' forgetting rate
    mean forgetting           mean_{t < P} (max_p a_p(t) - a_P(t))     Chaudhry et al. 2018, arXiv 1801.10112
"""

import functools
import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..core import checked, distinct_seeds, errors, progress_bar
from ..data import ImageData
from ..distilled import DistilledSet
from ..methods import mnemonics
from ..runs import Inputs, Run
from ..training.phases import Phases, class_ends, class_order, logits_of
from ..training.unrolled import Tensors
from .tables import Tabled, markdown

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Incremental(Tabled):
    """What one network knew after each phase.

    Attributes:
        per_seed: seed -> phase -> test accuracy of each class seen, in order of arrival; every
            class has as many test images as it has.
        tasks: the names of the classes of each phase.
    """

    per_seed: dict[int, Matrix]
    tasks: tuple[tuple[str, ...], ...]

    @property
    def accuracies(self) -> list[float]:
        """A_p of each phase, mean over classes and seeds."""
        phases = zip(*self.per_seed.values(), strict=True)
        return [statistics.fmean(map(statistics.fmean, rows)) for rows in phases]

    @property
    def average_accuracy(self) -> float:
        """The mean of `accuracies`."""
        return statistics.fmean(self.accuracies)

    @property
    def forgetting_of_first(self) -> float:
        """The accuracy of the first task that is gone at the end."""
        return self._mean(lambda paths: paths[0][0] - paths[0][-1])

    @property
    def mean_forgetting(self) -> float:
        """The mean over earlier tasks of their highest accuracy minus their last one."""
        return self._mean(
            lambda paths: statistics.fmean(max(path) - path[-1] for path in paths[:-1])
        )

    def task_paths(self, seed: int) -> list[list[float]]:
        """Return the accuracies of each task after each phase from its own on."""
        paths = []
        start = 0
        for phase, names in enumerate(self.tasks):
            end = start + len(names)
            paths.append([statistics.fmean(row[start:end]) for row in self.per_seed[seed][phase:]])
            start = end
        return paths

    def _mean(self, of: Callable[[list[list[float]]], float]) -> float:
        return statistics.fmean(of(self.task_paths(seed)) for seed in self.per_seed)

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each seed, phase and class seen."""
        names = [*itertools.chain.from_iterable(self.tasks)]
        records = []
        for seed, rows in self.per_seed.items():
            for phase, row in enumerate(rows):
                for name, value in zip(names, row, strict=False):
                    records.append(
                        {"seed": seed, "phase": phase + 1, "class": name, "accuracy": value}
                    )
        return records

    def table(self) -> str:
        """Return a Markdown table of the accuracy phase by phase, and of what is forgotten."""
        classes_met = 0
        rows = []
        for names, score in zip(self.tasks, self.accuracies, strict=True):
            classes_met += len(names)
            rows.append((f"{classes_met} classes", f"{score:.3f}"))
        rows += [
            ("average", f"{self.average_accuracy:.3f}"),
            ("forgetting of the first", f"{self.forgetting_of_first:.3f}"),
        ]
        return markdown(
            ("after", "accuracy"), [*rows, ("mean forgetting", f"{self.mean_forgetting:.3f}")]
        )


def class_accuracies(
    config: Phases, inputs: Inputs, weights: Tensors, classes_met: int
) -> tuple[float, ...]:
    """Test accuracy of each class seen, in order of arrival, of a network."""
    data = inputs.data
    with torch.no_grad():
        images = data.normalised(split="test", device=inputs.device)
        logits = logits_of(config, inputs, weights, images, classes_met)
    # NaN would count as the first class.
    places = errors.check_tensor("the network's logits", logits).argmax(1).cpu()
    of_class = [
        data.test_labels == label
        for label in class_order(data.classes, config.order_seed)[:classes_met]
    ]
    accuracies = [
        float((places[rows] == place).float().mean()) for place, rows in enumerate(of_class)
    ]
    return tuple(accuracies)


def _move_bar(bar: Any, steps_before: int, run: Run) -> None:
    bar.update(steps_before + run.step - bar.n)


@checked
def class_incremental(
    distilled: DistilledSet | None,
    data: ImageData,
    *,
    config: mnemonics.Config | None = None,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    device: torch.device | str = "auto",
    progress: bool = True,
) -> Incremental:
    """Return a network for each seed through all phases, and its accuracy on the classes seen so far.

    Args:
        distilled: the memory, by class labels; None for what `config` keeps by itself (nothing,
            random images, herding, learned ones).
        config: tasks, order of the classes, network and training; default: the teaching preset of
            Mnemonics.

    Raises:
        DDLabError: a class without a test image; a set of other classes than the data's or without
            one of them, or tasks that the classes cannot be divided into.
    """
    untested = data.untested_classes()
    if untested:
        errors.fail("data", "with test images of every class", f"none of {', '.join(untested)}")
    config = config or mnemonics.Config.teaching()
    # Without a set the memory begins empty.
    inputs = Inputs(data=data, distilled=distilled, device=device)  # type: ignore[arg-type]
    if distilled is not None:
        errors.check_same_classes("distilled", distilled.class_names, data.class_names)
        fewest = int(distilled.labels.bincount(minlength=data.classes).min())
        if fewest < 1:
            errors.fail(
                "distilled",
                "a set with at least one image of each class",
                distilled.labels.tolist(),
            )
        config = config.replace(start="given", exemplar_step="none", images_per_class=fewest)
    seeds = distinct_seeds("seeds", seeds)
    matrices = {}
    total = mnemonics.total_steps(config, inputs)
    with progress_bar("phases", total * len(seeds), progress) as bar:
        for number, seed in enumerate(seeds):
            seed_config = config.replace(seed=seed)
            run = Run(mnemonics, seed_config, inputs)
            run.advance(watch=functools.partial(_move_bar, bar, number * total))
            models = zip(class_ends(config, data.classes), run.state().models, strict=True)
            matrices[seed] = tuple(
                class_accuracies(seed_config, inputs, weights, classes_met)
                for classes_met, weights in models
            )
    order = class_order(data.classes, config.order_seed)
    task_ends = class_ends(config, data.classes)
    tasks = []
    for start, end in zip([0, *task_ends], task_ends, strict=False):
        tasks.append(tuple(data.class_names[label] for label in order[start:end]))
    return Incremental(matrices, tuple(tasks))
