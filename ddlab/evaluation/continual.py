"""Class-incremental learning with a distilled set as memory: phase by phase (`incremental`), or each stage from scratch.

From scratch is GDumb's rule (Prabhu, Torr & Dokania 2020, ECCV), as in DWA's Table 10 (Du et al. 2024): the memory holds the distilled
images of the classes seen so far; at each stage a student is trained on it alone and tested on the test images of these classes.

A class that has not come yet is masked: it is in no softmax, neither of students nor of labels, so the networks of a stage have one output
for each class seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
from torch import Tensor

from ..core import errors
from ..core.boundary import among, checked, within
from ..core.errors import DDLabError
from ..data import ImageData
from ..distilled import DistilledSet, HardLabels, OnlineTeacher, StoredLabels, Targets
from ..methods import mnemonics
from ..networks import Network, NetworkSpec
from ..networks.specification import hooked_layers
from ..training import supervised
from ..training.phases import class_order
from .incremental import Incremental, incremental
from .students import Evaluation, Jobs, distinct_seeds, evaluate
from .tables import Tabled, markdown


@dataclass(frozen=True)
class Stage:
    """After one task: the names of the classes seen so far, in the order in which they came, and the students' accuracy on them."""

    classes: tuple[str, ...]
    evaluation: Evaluation


@dataclass(frozen=True)
class Continual(Tabled):
    """What a distilled set is worth as the memory of a learner to whom classes come in tasks.

    Attributes:
        stages: one per task. The classes are not the same from stage to stage, nor is chance: 1 / classes seen.
        complete: False if an interrupt cut it short; the stages are then those that were reached.
    """

    stages: tuple[Stage, ...]
    complete: bool = True

    @property
    def accuracies(self) -> list[float]:
        """The mean accuracy of each stage, fractions in [0, 1]."""
        return [stage.evaluation.mean for stage in self.stages]

    def table(self) -> str:
        """Classes seen, chance, accuracy and its 95% interval, as a Markdown table."""
        found = [(len(stage.classes), stage.evaluation) for stage in self.stages]
        rows = [(seen, f"{1 / seen:.3f}", f"{each.mean:.3f}", each.interval_words) for seen, each in found]
        return markdown(("classes seen", "chance", "accuracy", "95% interval"), rows)


@checked
def class_incremental(
    distilled: DistilledSet | None,
    data: ImageData,
    *,
    rule: Annotated[str, among("incremental", "from scratch")] = "incremental",
    labels: Annotated[str, among("hard", "stored", "online")] = "hard",
    tasks: Annotated[int | None, within(1)] = None,
    teacher: Network | None = None,
    network: NetworkSpec | str | None = None,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    order_seed: int | None = None,
    config: supervised.Config | mnemonics.Config | None = None,
    device: torch.device | str = "auto",
    jobs: Jobs = None,
    progress: bool = True,
) -> Incremental | Continual:
    """Accuracy over the classes seen so far, with the distilled images of these classes as memory.

    "incremental": one network learns the images of each phase beside its memory, and goes on to the next; class numbers only. "from
    scratch": a new student learns from the memory alone at each stage. There stored and online labels leak: their teacher was trained on
    all classes, also those that have not come yet. Its outputs are masked to the classes seen, but its features know the later ones. With
    hard labels the leak is in the images alone, if their method had such a teacher; random real images have none and are the control.

    Args:
        distilled: the memory; None for what an incremental `config` keeps by itself (nothing, random images, herding, learned ones).
        tasks: parts in which the classes arrive; None is five, or what an incremental config says. From scratch they are equal, of at least
            two classes.
        order_seed: of a random order of the classes; None takes them by number, or as an incremental config says.
        config: `mnemonics.Config` (default: its teaching preset) or, from scratch, as in `evaluate`.
        labels, teacher, network, seeds, device, jobs, progress: as in `evaluate`; labels, teacher and jobs are for "from scratch".

    Raises:
        DDLabError: tasks that do not divide the classes, a config of the other rule, and all that `evaluate` refuses.
        KeyboardInterrupt: before the first stage had a student. Later stages leave what is there, with `complete=False`.
    """
    kind = mnemonics.Config if rule == "incremental" else supervised.Config
    if config is not None and not isinstance(config, kind):
        errors.fail("config", f"a {kind.__module__.rpartition('.')[2]}.Config for rule {rule!r}, or None", config)
    if rule == "incremental":
        return _phases(distilled, data, labels, tasks, teacher, network, seeds, order_seed, config, device, progress)
    if distilled is None:
        errors.fail("distilled", "a set for rule 'from scratch'", distilled)
    scratch = config if isinstance(config, supervised.Config) else None
    return _from_scratch(
        distilled, data, labels, tasks or 5, teacher, order_seed, network=network, seeds=seeds, config=scratch, device=device,
        jobs=jobs, progress=progress,
    )  # fmt: skip


def _phases(
    distilled: DistilledSet | None, data: ImageData, labels: str, tasks: int | None, teacher: Network | None, network: Any,
    seeds: Sequence[int], order_seed: int | None, config: Any, device: Any, progress: bool,
) -> Incremental:  # fmt: skip
    if labels != "hard" or teacher is not None:
        errors.fail("labels", "'hard', and no teacher, for rule 'incremental'", labels if teacher is None else teacher)
    if distilled is not None and distilled.classes != data.classes:
        errors.fail("distilled", f"a set of the data's {data.classes} classes", f"one of {distilled.classes}")
    changes = {"tasks": tasks, "order_seed": order_seed, "network": network}
    told = {name: value for name, value in changes.items() if value is not None}
    own = (config or mnemonics.Config.teaching()).replace(**told)
    return incremental(
        distilled, data, config=own, seeds=distinct_seeds("seeds", seeds), device=device, progress=progress
    )


def _from_scratch(
    distilled: DistilledSet, data: ImageData, labels: str, tasks: int, teacher: Network | None, order_seed: int | None, **options: Any
) -> Continual:  # fmt: skip
    if data.classes % tasks or tasks == data.classes:
        errors.fail("tasks", f"a number that divides the {data.classes} classes into tasks of two or more", tasks)
    _check_fits(distilled, data, labels, teacher)
    order = class_order(data.classes, order_seed)
    stages: list[Stage] = []
    for seen in range(data.classes // tasks, data.classes + 1, data.classes // tasks):
        chosen = order[:seen]
        guide = None if teacher is None or labels != "online" else teacher_of(teacher, chosen)
        try:
            found = evaluate(
                memory_of(distilled, chosen, guide),
                data.subset(classes=chosen),
                labels=labels,
                teacher=guide,
                **options,
            )
        except KeyboardInterrupt:
            if not stages:
                raise
            return Continual(tuple(stages), complete=False)
        stages.append(Stage(tuple(data.class_names[label] for label in chosen), found))
        if not found.complete:
            return Continual(tuple(stages), complete=False)
    return Continual(tuple(stages))


@checked
def memory_of(distilled: DistilledSet, seen: Sequence[int], teacher: Network | None = None) -> DistilledSet:
    """The images of the classes `seen`, which become classes 0, 1, ... in this order; stored logits keep the columns of these.

    Args:
        teacher: of these classes alone (`teacher_of`), named for online labels; without one there are none.
    """
    rows, renumbered = _members(distilled.labels, _checked("seen", seen, distilled.classes))
    targets: list[Targets] = [HardLabels(renumbered)]
    if any(target.kind == "stored" for target in distilled.targets):
        targets.append(StoredLabels(distilled.target("stored").logits[rows][:, list(seen)]))
    if teacher is not None:
        targets.append(OnlineTeacher(teacher.fingerprint))
    return DistilledSet(
        tensors={"images": distilled.images[rows]},
        targets=tuple(targets),
        class_names=tuple(distilled.class_names[label] for label in seen),
        mean=distilled.mean,
        std=distilled.std,
        complete=distilled.complete,
        provenance={"method": "memory_of", "source": distilled.fingerprint, "classes": list(seen)},
    )


@checked
def teacher_of(teacher: Network, seen: Sequence[int]) -> Network:
    """The same network with the outputs of the classes `seen` alone: its softmax is the old one, masked to them and renormalised."""
    spec = teacher.spec
    rows = _checked("seen", seen, spec.classes or 0)
    _, classifier = hooked_layers(spec)
    heads = {f"{classifier}.{part}" for part in ("weight", "bias")}
    weights = {name: value[list(rows)] if name in heads else value for name, value in teacher.weights.items()}
    source: dict[str, Any] = {"source": teacher.fingerprint, "classes": list(rows)}
    return Network(spec=replace(spec, classes=len(rows)), weights=weights, provenance=source)


def _members(labels: Tensor, seen: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Which rows are of these classes, int64 [n], and their new class numbers, int64 [n]."""
    matches = labels[:, None] == torch.tensor(list(seen), device=labels.device)  # [n, classes seen]
    rows = torch.nonzero(matches.any(1)).flatten()
    return rows, matches[rows].int().argmax(1)


def _checked(name: str, seen: Any, classes: int) -> Sequence[int]:
    if not isinstance(seen, Sequence) or isinstance(seen, str) or not seen:
        errors.fail(name, "a sequence of at least one class number", seen)
    numbers = [errors.check_integer(name, label, 0, classes - 1) for label in seen]
    if len(set(numbers)) != len(numbers):
        errors.fail(name, "class numbers that all differ", seen)
    return numbers


def _check_fits(distilled: DistilledSet, data: ImageData, labels: str, teacher: Network | None) -> None:
    """What `evaluate` checks of the whole set, before it is cut to the classes seen."""
    if distilled.classes != data.classes:
        errors.fail("distilled", f"a set of the data's {data.classes} classes", f"one of {distilled.classes}")
    kinds = {target.kind: target for target in distilled.targets}
    if labels == "stored":
        distilled.target("stored")
    if labels == "online":
        if teacher is None or teacher.spec.classes != data.classes:
            errors.fail("teacher", f"a network of the data's {data.classes} classes for online labels", teacher)
        named = kinds.get("online")
        if isinstance(named, OnlineTeacher) and named.fingerprints != (teacher.fingerprint,):
            raise DDLabError(
                f"teacher must be the one that made the set ({', '.join(named.fingerprints)}); given {teacher.fingerprint}."
            )
