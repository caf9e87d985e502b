"""`evaluate`: students from scratch, several seeds, mean and interval."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch

from ..core import errors
from ..core.boundary import among, checked
from ..core.interval import interval
from ..data import ImageData
from ..distilled import DistilledSet
from ..networks import NetworkSpec
from ..runs import cache
from ..runs import process as driver
from ..runs.process import Inputs
from ..training import supervised
from ..training.relabelling import Teachers, as_teachers
from .accuracy import accuracy


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The test accuracy of students trained on a distilled set.

    Attributes:
        mean: fraction in [0, 1], over seeds. std: with n - 1; None for one seed.
        interval: (low, high), 95%, Student's t over seeds; None for one seed. It speaks of the draw of weights and views, for this
            one distilled set.
        per_seed: seed -> accuracy fraction. cpu_seconds: spent here; a student that this Python process
            has trained before is found again and costs nothing.
        labels: the kind they learned from. network: their architecture. complete: False if an interrupt cut it short.
    """

    mean: float
    std: float | None
    interval: tuple[float, float] | None
    per_seed: dict[int, float]
    cpu_seconds: float
    labels: str
    network: str
    complete: bool = True

    def __str__(self) -> str:
        words = [f"accuracy {self.mean:.3f} over {len(self.per_seed)} seeds"]
        if self.interval is not None:
            words.append(f"95% interval {self.interval[0]:.3f} to {self.interval[1]:.3f}")
        words += [f"{self.labels} labels", self.network] + ([] if self.complete else ["interrupted"])
        return ", ".join(words)

    @property
    def interval_words(self) -> str:
        """The interval as "0.312 to 0.344"; "-" for one seed."""
        return "-" if self.interval is None else f"{self.interval[0]:.3f} to {self.interval[1]:.3f}"


def distinct_seeds(argument: str, given: Any) -> list[int]:
    """Of a sequence of seeds, as integers before they are compared: not everything can be."""
    whole = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    seeds = [errors.check_integer(argument, seed, 0) for seed in given] if whole else []
    if not whole or len(set(seeds)) != len(seeds):
        errors.fail(argument, "a sequence of at least one integer, all different", given)
    return seeds


Seeds = Annotated[Sequence[int], distinct_seeds]


@checked
def evaluate(
    distilled: DistilledSet,
    data: ImageData,
    *,
    labels: Annotated[str, among("hard", "stored", "online", "epochs", "regression")],
    teacher: Teachers | None = None,
    network: NetworkSpec | str | None = None,
    seeds: Seeds = (0, 1, 2, 3, 4),
    config: supervised.Config | None = None,
    device: torch.device | str = "auto",
    on_student: Callable[[int, float], None] | None = None,
    progress: bool = False,
) -> Evaluation:
    """Train students on `distilled` from scratch and test their final weights on the test images of `data`.

    Nothing is selected on the test set: the last weights count, for every seed.

    Args:
        labels: "hard", "stored", "online", "epochs" or "regression". It has no default, because what the labels give is the subject.
        teacher: one network or several, needed for "online"; must be those that the set names, in any order.
        network: the students' architecture, or the name of its family; default the config's.
        seeds: one student each; the same seeds pair two evaluations.
        config: how students are trained; default `supervised.Config.for_data(data)`, a small ConvNet. Its labels and seed are replaced.
            With labels "epochs" its views are those of the labels, so that seeds differ in the weights alone, and it may have no more
            epochs than these.
            The published ResNet-18 students are `supervised.Config.paper()`.
        progress: one line per student on standard output.
        on_student: called with (seed, accuracy) after each student.

    Raises:
        DDLabError: unknown labels, labels that the set does not have, a missing or another teacher, data of another shape or
            normalisation.
        KeyboardInterrupt: before the first student was whole. Later ones leave what is there, with `complete=False`.
    """
    check_like(distilled, data)
    config = supervised.Config.for_data(data) if config is None else config
    config = config.replace(labels=labels, **({} if network is None else {"network": network}))
    inputs = Inputs(distilled=distilled, teachers=as_teachers(teacher, "teacher"), device=device)
    per_seed: dict[int, float] = {}
    complete, start = True, time.process_time()
    for seed in seeds:
        try:
            per_seed[seed] = student_accuracy(config.replace(seed=seed), inputs, data, progress=progress)
        except KeyboardInterrupt:
            # A half-trained student says nothing; the whole ones stand.
            if not per_seed:
                raise
            complete = False
            break
        if on_student is not None:
            on_student(seed, per_seed[seed])
    found = list(per_seed.values())
    return Evaluation(
        mean=statistics.fmean(found),
        std=statistics.stdev(found) if len(found) > 1 else None,
        interval=interval(found),
        per_seed=per_seed,
        cpu_seconds=time.process_time() - start,
        labels=labels,
        network=config.network.title,
        complete=complete,
    )


def check_like(distilled: DistilledSet, data: ImageData) -> None:
    """Raise if a set is not of the shape, the classes and the normalisation of these data."""
    if (distilled.channels, distilled.image_size, distilled.classes) != (data.channels, data.image_size, data.classes):
        wanted = (
            f"a set of {data.classes} classes with {data.channels} channels and {data.image_size} pixels, like the data"
        )
        errors.fail("distilled", wanted, (distilled.classes, distilled.channels, distilled.image_size))
    if not (torch.allclose(distilled.mean, data.mean) and torch.allclose(distilled.std, data.std)):
        errors.fail(
            "distilled",
            f"normalised like the data (mean {data.mean.tolist()})",
            f"a set with mean {distilled.mean.tolist()}",
        )


def student_accuracy(
    config: supervised.Config,
    inputs: Inputs,
    data: ImageData,
    *,
    progress: bool = False,
    on_step: Callable[[driver.Step], None] | None = None,
) -> float:
    """The test accuracy of one student; known ones are found again (the number is kept, not the weights)."""

    def compute() -> float:
        student = driver.run(supervised, config, inputs, progress=progress, on_step=on_step)
        if cache.is_partial(student):
            raise KeyboardInterrupt("the student was still being trained")
        return accuracy(student.to(inputs.device), data)

    parts = ("student accuracy", config, inputs.fingerprint, data.fingerprint)
    return cache.remember(compute, *parts, device=inputs.device)
