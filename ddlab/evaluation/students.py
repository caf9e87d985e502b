"""`evaluate`: students from scratch, several seeds, mean and interval."""

import inspect
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import torch

from ..core import Seeds, among, as_usual, checked, errors, progress_bar, storage, within
from ..core.interval import interval, interval_text, within_accuracy
from ..data import ImageData
from ..data.class_names import untested_text
from ..distilled import DistilledSet
from ..networks import NetworkSpec
from ..networks.family import REGISTERED
from ..runs import NOTHING, Inputs, Run, cache
from ..runs import process as driver
from ..runs.inputs import Teachers, as_teachers
from ..runs.threads import limit_threads, thread_count
from ..training import ordered, supervised
from ..training.accuracy import accuracy, balanced_accuracy
from .parallel import LostWorkers, check_jobs, run_tasks, tell_lost


@dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation:
    """The test accuracy of students trained on a distilled set.

    Attributes:
        mean: fraction in [0, 1], over seeds.
        std: with n - 1; None for one seed.
        interval: (low, high), 95%, Student's t over seeds, within [0, 1]; None for one seed. It
            speaks of the draw of weights and views, for this one distilled set.
        per_seed: seed -> accuracy fraction.
        cpu_seconds: of its students, in whichever process; a student that this Python process has
            asked for before is found again and costs nothing.
        labels: the kind they learned from.
        network: their architecture.
        complete: False if an interrupt cut it short.
        balanced: the mean over classes of the accuracy on each, mean over seeds, where the largest
            class has more than twice as many test images as the smallest; else None.
        untested: the classes without a test image, of which no accuracy says anything.
    """

    mean: float
    std: float | None
    interval: tuple[float, float] | None
    per_seed: dict[int, float]
    cpu_seconds: float
    labels: str
    network: str
    student: str = ""
    complete: bool = True
    balanced: float | None = None
    untested: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Evaluation: {self}>"

    def __str__(self) -> str:
        words = [f"accuracy {self.mean:.3f} over {len(self.per_seed)} seeds"]
        if self.interval is not None:
            words.append(f"{'95% interval ' * (len(self.per_seed) > 2)}{self.interval_words}")
        words += [] if self.balanced is None else [f"balanced accuracy {self.balanced:.3f}"]
        words += [untested_text(self.untested)] if self.untested else []
        words += [f"{self.labels} labels", self.network] + (
            [] if self.complete else ["interrupted"]
        )
        return ", ".join(words)

    @property
    def interval_words(self) -> str:
        """The interval as "0.312 to 0.344"; of two seeds both values, "-" of one."""
        if len(self.per_seed) == 2:
            return interval_text(list(self.per_seed.values()))
        return "-" if self.interval is None else f"{self.interval[0]:.3f} to {self.interval[1]:.3f}"


Jobs = Annotated[int, within(1)] | None
Settings = supervised.Config | ordered.Config
Scores = tuple[float, float | None]  # accuracy, and balanced accuracy where classes are uneven


@as_usual
@checked
def evaluate(
    distilled: DistilledSet,
    data: ImageData,
    *,
    labels: Annotated[str, among("hard", "stored", "online", "regression", "steps")],
    teacher: Teachers | None = None,
    network: NetworkSpec | str | None = None,
    seeds: Seeds = (0, 1, 2, 3, 4),
    config: supervised.Config | None = None,
    device: torch.device | str = "auto",
    jobs: Jobs = None,
    progress: bool = True,
) -> Evaluation:
    """Train students on `distilled` from scratch and test them on the test images of `data`.

    The weights after the last step count.

    Nothing is selected on the test set: the last weights count, for every seed.

    Args:
        labels: "hard", "stored", "online", "regression", or "steps": the set says its order, rates
            and labels. It has no default, because what the labels give is the subject.
        teacher: one network or several, needed for "online"; must be those that the set names, in
            any order.
        network: the students' architecture, or the name of its family; default the config's.
        seeds: one student each; the same seeds pair two evaluations.
        config: how students are trained; default `supervised.Config.for_data(distilled,
            labels=labels)`, a small ConvNet. Its labels and seed are replaced. The published ResNet-18 students are
            `supervised.Config.paper()`. With labels "steps" there is nothing to set: students have
            the network that the set was made with, or `network`; they start from its draw of first
            weights for their seed, of which that of a set with a fixed start is the set's own, or
            from `teacher`.
        jobs: how many students are trained at once, each in a process of joblib's with as many
            threads as this one, so that the numbers are the same, bit for bit; None: one after
            another here, or what `joblib.parallel_config(...)` around the call says, which may
            spread them over the machines of a dask cluster.
        progress: one line of all students on standard output, with the time left.

    Raises:
        DDLabError: unknown labels, labels that the set does not have, a missing or another teacher,
            data of another shape or normalisation; several jobs on a GPU, or for networks of your
            own, which other processes do not know.
        KeyboardInterrupt: before the first student was finished. Later ones leave what is there,
            with `complete=False`.

    Warns:
        UserWarning: a worker process died. The students that are finished stand, with
            `complete=False`, and the same call trains only those that are missing.
    """
    options: dict[str, Any] = {
        "labels": labels,
        "teacher": teacher,
        "network": network,
        "config": config,
    }
    prepared_evaluation = prepare_students(distilled, data, seeds=seeds, device=device, **options)
    return evaluations({"": prepared_evaluation}, jobs, progress)[""]


@dataclass(frozen=True, kw_only=True)
class _PreparedEvaluation:
    """One evaluation before its students are trained."""

    config: Settings
    inputs: Inputs
    data: ImageData
    seeds: list[int]

    def student(self, seed: int) -> "_Student":
        """Return the one of a seed."""
        return _Student(config=self.config.replace(seed=seed), inputs=self.inputs, data=self.data)


@dataclass(frozen=True, kw_only=True)
class _Student:
    """One student: its training, and where its scores are remembered."""

    config: Settings
    inputs: Inputs
    data: ImageData

    @cached_property
    def count(self) -> int:
        """Of its threads."""
        return thread_count(self.config, self.inputs)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        # Fingerprints are of contents: an edited set or network is another student.
        return "student accuracy", self.config, self.inputs.fingerprint, self.data.fingerprint

    @cached_property
    def _is_rememberable(self) -> bool:
        """True if the key tells every edit of the networks that it is trained with."""
        specs = [self.config.network, *(teacher.spec for teacher in self.inputs.teachers)]
        # A network of a reader's own may change between two calls under the same name.
        own_families = [REGISTERED[spec.family] for spec in specs if spec.family in REGISTERED]
        return all(family.is_hashable for family in own_families)

    def known(self) -> Scores | None:
        """Return its scores where it was trained before. The numbers are kept, not the weights."""
        if not self._is_rememberable:
            return None
        return cache.find(_trained, *self._key, device=self.inputs.device, count=self.count)

    def remember(self, scores: Scores) -> None:
        """Keep its scores."""
        if not self._is_rememberable:
            return
        cache.remember(lambda: scores, *self._key, device=self.inputs.device, count=self.count)


@as_usual
def evaluate_all(
    several: Mapping[Any, Mapping[str, Any]],
    *,
    jobs: int | None = None,
    progress: bool = True,
    **shared: Any,
) -> dict[Any, Evaluation]:
    """Evaluate several sets at once and return the numbers that `evaluate` gives for each.

    Args:
        several: name -> arguments of `evaluate` that are its own.
        shared: those of all.
        jobs, progress: as in `evaluate`.

    Raises:
        DDLabError: none, or what `evaluate` refuses; before any student is trained.
        KeyboardInterrupt: before each had a whole student; those that are whole are found again.
            Later: as in `evaluate`.
    """
    whole = (
        isinstance(several, Mapping)
        and several
        and all(isinstance(own_arguments, Mapping) for own_arguments in several.values())
    )
    if not whole:
        errors.fail(
            "several",
            "a mapping of at least one name to a mapping of arguments of evaluate",
            several,
        )
    # All arguments are checked before the first student is trained, and not when it is their turn.
    for argument in {
        **shared,
        **{argument: None for own_arguments in several.values() for argument in own_arguments},
    }:
        errors.check_choice(
            "an argument of evaluate",
            argument,
            tuple(inspect.signature(prepare_students).parameters),
        )
    jobs_by_name = {
        name: prepare_students(**{**shared, **own_arguments})
        for name, own_arguments in several.items()
    }
    finished = evaluations(jobs_by_name, jobs, errors.check_boolean("progress", progress))
    if len(finished) < len(jobs_by_name):
        raise KeyboardInterrupt("students were still being trained")
    return finished


@checked
def prepare_students(
    distilled: DistilledSet,
    data: ImageData,
    *,
    labels: Annotated[str, among("hard", "stored", "online", "regression", "steps")],
    teacher: Teachers | None = None,
    network: NetworkSpec | str | None = None,
    seeds: Seeds = (0, 1, 2, 3, 4),
    config: supervised.Config | None = None,
    device: torch.device | str = "auto",
) -> _PreparedEvaluation:
    """Return an evaluation of these arguments of `evaluate`, before its students are trained."""
    check_like(distilled, data)
    if not distilled.complete:
        warnings.warn(
            "distilled is not complete: its run was interrupted, and students learn from "
            "what there is.",
            stacklevel=6,
        )
    storage.notice_edits(distilled, data, *as_teachers(teacher, "teacher"))
    network_change = {} if network is None else {"network": network}
    if labels == "steps":
        if config is not None:
            errors.fail(
                "config", "None for labels 'steps', for the set says how it is trained on", config
            )
        settings: Any = ordered.Config.for_set(distilled, **network_change)
    else:
        if config is None:
            config = supervised.Config.for_data(distilled, labels=labels)
        settings = config.replace(labels=labels, **network_change)
        _warn_of_small_steps(settings)
    inputs = Inputs(distilled=distilled, teachers=as_teachers(teacher, "teacher"), device=device)
    process = ordered if labels == "steps" else supervised
    driver.check_call(process, settings, inputs)
    process.total_steps(settings, inputs)  # says what is wrong with labels and teachers
    return _PreparedEvaluation(config=settings, inputs=inputs, data=data, seeds=list(seeds))


def _warn_of_small_steps(config: supervised.Config) -> None:
    """Say that a recipe of hard labels, which knows no temperature, is used with soft ones.

    The gradient of the cross-entropy at temperature T is about T squared times smaller. AdamW's
    steps do not depend on its size, SGD's do: on digits .100 in the place of .913.
    """
    is_soft = config.labels in ("stored", "online")
    if is_soft and config.optimiser == "sgd" and config.temperature > 1:
        warnings.warn(
            f"config hardly moves students of {config.labels} labels: it takes steps of SGD, and "
            f"at its temperature of {config.temperature:g} gradients are about "
            f"{config.temperature**2:,.0f} times smaller. supervised.Config.for_data(distilled, "
            f"labels={config.labels!r}) is made for these labels.",
            stacklevel=7,
        )


def evaluations(
    prepared_by_name: Mapping[Any, _PreparedEvaluation], jobs: int | None, progress: bool
) -> dict[Any, Evaluation]:
    """Look up students that were trained before and train the others.

    Return the evaluations with at least one student.

    Warns:
        UserWarning: worker processes were lost; the students that are finished stand, with
            `complete=False`.

    Raises:
        DDLabError: worker processes were lost before any student was finished.
    """
    jobs = None if jobs is None else errors.check_integer("jobs", jobs, 1)
    for evaluation in prepared_by_name.values():
        check_jobs(jobs, evaluation.inputs, evaluation.config.network)
    students = {}
    for name, evaluation in prepared_by_name.items():
        for seed in evaluation.seeds:
            students[name, seed] = evaluation.student(seed)
    results: dict[Any, tuple[Scores, float]] = {}
    for place, student in students.items():
        # Students of an earlier call cost nothing, also where that call was interrupted.
        scores = student.known()
        if scores is not None:
            results[place] = scores, 0.0
    waiting = {place: student for place, student in students.items() if place not in results}
    places = list(waiting)
    tasks = [
        (student.config, student.inputs, student.data, student.count)
        for student in waiting.values()
    ]
    bar = progress_bar("students", len(tasks), progress, unit="student")
    try:
        for number, (scores, seconds) in run_tasks(_trained, tasks, jobs=jobs):
            bar.update()
            # At once, so that an interrupt loses only the students under way.
            waiting[places[number]].remember(scores)
            results[places[number]] = scores, seconds
    except LostWorkers as problem:
        tell_lost(problem, len(results), len(students), "students")
    except KeyboardInterrupt:
        # A half-trained student says nothing; the finished ones stand.
        if not results:
            raise
    finally:
        bar.close()
    evaluations_by_name = {}
    for name, evaluation in prepared_by_name.items():
        own_results = {
            seed: results[name, seed] for seed in evaluation.seeds if (name, seed) in results
        }
        if own_results:
            evaluations_by_name[name] = _evaluation(evaluation, own_results)
    return evaluations_by_name


def _evaluation(
    prepared_evaluation: _PreparedEvaluation, scores: dict[int, tuple[Scores, float]]
) -> Evaluation:
    """Summarise the students that are there."""
    values = [accuracy_fraction for (accuracy_fraction, _), _ in scores.values()]
    balanced = [value for (_, value), _ in scores.values() if value is not None]
    return Evaluation(
        mean=statistics.fmean(values),
        std=statistics.stdev(values) if len(values) > 1 else None,
        interval=within_accuracy(interval(values)),
        per_seed=dict(zip(scores, values, strict=True)),
        cpu_seconds=sum(seconds for _, seconds in scores.values()),
        labels=prepared_evaluation.config.labels,
        network=prepared_evaluation.config.network.title,
        student=getattr(prepared_evaluation.config, "summary", ""),
        complete=len(scores) == len(prepared_evaluation.seeds),
        balanced=statistics.fmean(balanced) if balanced else None,
        untested=prepared_evaluation.data.untested_classes(),
    )


def check_like(distilled: DistilledSet, data: ImageData) -> None:
    """Raise if a set is not of the shape, the classes and the normalisation of these data."""
    if data.classes < 2:
        errors.fail("data", "of at least two classes: of one, every answer is right", data)
    if (distilled.channels, distilled.image_size, distilled.classes) != (
        data.channels,
        data.image_size,
        data.classes,
    ):
        allowed = (
            f"a set of {data.classes} classes with {data.channels} channels and "
            f"{data.image_size} pixels, like the data"
        )
        errors.fail(
            "distilled", allowed, (distilled.classes, distilled.channels, distilled.image_size)
        )
    errors.check_same_classes("distilled", distilled.class_names, data.class_names)
    if not (torch.allclose(distilled.mean, data.mean) and torch.allclose(distilled.std, data.std)):
        errors.fail(
            "distilled",
            f"normalised like the data (mean {data.mean.tolist()})",
            f"a set with mean {distilled.mean.tolist()}",
        )


def student_accuracy(
    config: Settings,
    inputs: Inputs,
    data: ImageData,
    *,
    on_step: Callable[[driver.Step], None] | None = None,
) -> float:
    """Return the test accuracy of one student; a known one is found again."""
    student = _Student(config=config, inputs=inputs, data=data)
    scores = student.known()
    if scores is None:
        with limit_threads(student.count):
            scores = _test_student(config, inputs, data, on_step)
        student.remember(scores)
    return scores[0]


def _test_student(
    config: Settings, inputs: Inputs, data: ImageData, on_step: Callable[[driver.Step], None] | None
) -> Scores:
    if isinstance(config, ordered.Config):
        run = Run(ordered, config, inputs, keep=NOTHING)
    else:
        run = Run(supervised, config, inputs, keep=NOTHING)
    student = run.to_end(on_step=on_step)
    if cache.is_partial(student):
        raise KeyboardInterrupt("the student was still being trained")
    student = student.to(inputs.device)
    counts = data.class_counts("test")
    uneven = int(counts.max()) > 2 * int(counts.min())
    return accuracy(student, data), balanced_accuracy(student, data) if uneven else None


def _trained(config: Settings, inputs: Inputs, data: ImageData, count: int) -> tuple[Scores, float]:
    """Return a student's test accuracies and its CPU-seconds, in whichever process, with so many threads."""
    start = time.process_time()
    if count > 1:
        torch.set_num_threads(count)  # of a process of joblib's
    with limit_threads(count):
        return _test_student(config, inputs, data, None), time.process_time() - start
