"""Replicate a printed number: the published settings, sets and students, and both numbers side by
side.
"""

import dataclasses
import itertools
import json
import os
import resource
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import torch

from .. import methods, networks
from ..core import DDLabError, as_usual, checked, errors, progress_bar, storage, within
from ..core.interval import interval
from ..data import ImageData, whitened
from ..distilled import DistilledSet
from ..evaluation.kernel_regression import kernel_accuracy
from ..evaluation.parallel import LostWorkers, check_jobs, is_here, run_tasks
from ..evaluation.students import Jobs, evaluate
from ..evaluation.tables import Tabled, markdown
from ..methods import ld
from ..methods.distillation import distill
from ..networks import Network, NetworkSpec
from ..runs import NOTHING, Inputs, Run, Step
from ..runs.inputs import Teachers, as_teachers
from ..runs.process import needs_teacher
from ..training import supervised
from ..training.accuracy import accuracy
from .printed_rows import plain, published

_PRESETS = {
    "MNIST": "mnist",
    "FashionMNIST": "fashion-mnist",
    "SVHN": "svhn",
    "CIFAR-10": "cifar10",
    "CIFAR-100": "cifar100",
    "TREC-6": "trec6",
}
_HISTORY_EPOCHS = 5  # a run with one fixed start is tested this often ...
_HISTORY_LENGTH = 350  # ... by SLDD's count of epochs, whatever the run's length
_FADRM_STUDENTS: dict[int, dict[str, Any]] = {  # images per class -> Table 11, ResNet-18
    1: {"learning_rate": 5e-4, "stretch": 2.0},
    10: {"learning_rate": 1e-3, "stretch": 2.0},
    50: {"learning_rate": 1e-3, "stretch": 1.0},
}
_TEACHER_FIELDS = ("epochs", "optimiser", "learning_rate", "weight_decay", "batch_size")
_RDED_BATCHES = {1: 10, 10: 50, 50: 100}  # images per class -> batch for ten classes (argument.py)

Differences = tuple[tuple[str, str], ...]

_SCALE: Differences = (
    ("", "images are divided by the deviations of their own pixels, not by the authors' numbers"),
)
_ALEXNET = ("CIFAR", "a ConvNet stands in for AlexNet")
_NO_JPEG = ("", "images are kept as floats; theirs are saved as JPEG between recovery and training")
_LAST = "the last weights count; theirs are the best of {} tests"
_RATE_WITHIN_EPOCH = (
    "",
    "the learning rate of teacher and students falls within an epoch; theirs between epochs",
)
_PRINTED_BY_DWA = "the number is DWA's run of it; " + _LAST.format(41)


@dataclass(frozen=True)
class Protocol:
    """How a paper tests its sets, and what differs here.

    For LD and for methods with a teacher our sources do not say how many sets and students there
    were: these counts are ours.

    Attributes:
        sets, students: how many sets, and students of each set.
        student: a recipe of `supervised.Config.paper`; "steps", where the set says how; "ld",
            `ld.student`; or "kernel", a regression.
        differs: (part of "dataset, network", what differs in such rows), for everything that can
            move a number.
    """

    sets: int
    students: int
    student: str
    differs: Differences = ()


PROTOCOLS = {
    "dc": Protocol(
        sets=5,
        students=20,
        student="dc",
        differs=(
            *_SCALE,
            ("MNIST", "students see three of DSA's operations; theirs are turned by 45 degrees"),
        ),
    ),
    "dsa": Protocol(5, 20, "dsa", _SCALE),
    "dm": Protocol(5, 20, "dsa", _SCALE),
    "mtt": Protocol(
        sets=1,
        students=5,
        student="dsa",
        differs=(
            *_SCALE,
            ("", "DSA's views are sampled between pixel centres; theirs with align_corners=True"),
            ("", "the last images count; theirs are the best of 51 tests"),
        ),
    ),
    "dd": Protocol(
        1, 200, "steps", (_ALEXNET, ("CIFAR", "real images are not cropped and flipped"))
    ),
    "sldd": Protocol(1, 1, "steps", (_ALEXNET,)),
    "tdd": Protocol(1, 1, "steps", (("", "sentences are embedded with a deviation of 1"),)),
    "ld": Protocol(
        sets=1,
        students=20,
        student="ld",
        differs=(
            _ALEXNET,
            (
                "",
                "no images are held out to choose among labels; the students' rate falls, by AdamW",
            ),
        ),
    ),
    "gtn": Protocol(
        1, 1, "steps", (("", "students see the generator's last images, in their order"),)
    ),
    "kip": Protocol(1, 1, "kernel", (("", "targets are not augmented"),)),
    "ls": Protocol(1, 1, "kernel"),
    "sre2l": Protocol(
        sets=1,
        students=3,
        student="sre2l",
        differs=(_NO_JPEG, *_SCALE, _RATE_WITHIN_EPOCH, ("", _PRINTED_BY_DWA)),
    ),
    "dwa": Protocol(
        sets=1,
        students=3,
        student="sre2l",
        differs=(
            _NO_JPEG,
            *_SCALE,
            (
                "CIFAR-10,",
                "teacher and images have the same deviations; theirs differ (.247 and .2023)",
            ),
            (
                "",
                "the weights are pushed by the images as they are; theirs by the shifted view, and "
                "the gradients of the push stay in the first image gradient",
            ),
            _RATE_WITHIN_EPOCH,
            ("", _LAST.format(41)),
            ("ConvNet", "which ConvNet is meant is a guess: their code has none"),
        ),
    ),
    "rded": Protocol(
        sets=1,
        students=3,
        student="rded",
        differs=(
            _NO_JPEG,
            ("", "images are normalised by their own mean and deviation; theirs by ImageNet's"),
            ("", "biases and norms decay too; the learning rate falls within an epoch"),
            ("", _LAST.format(6)),
            ("CIFAR-10, ResNet-18", "their teacher is right on 93.86% of the test images"),
            ("CIFAR-10, ConvNet-3", "their teacher is right on 82.24% of the test images"),
        ),
    ),
    "fadrm": Protocol(
        sets=1,
        students=3,
        student="fadrm",
        differs=(
            ("", "images are kept as floats; theirs are saved as PNG, in 8 bits"),
            (
                "",
                "the residual is a whole random image; theirs are prepared crops of medium "
                "difficulty",
            ),
            ("", "labels of a view are float32; theirs are stored as float16"),
            ("", "biases and norms decay too; the learning rate falls within an epoch"),
            (
                "",
                "the last batch of an epoch counts whole; theirs counts half where it is half one",
            ),
            ("", "first weights are torchvision's (fan_out); theirs are PyTorch's defaults"),
            ("", _LAST.format(101)),
        ),
    ),
}
"""Method -> protocol.

Sources: DC `main.py`, `utils.get_daparam`; MTT `distill.py` 218 and `utils.rand_rotate`; SRe2L `relabel_cifar.py` 85, 138 and
`recover_cifar.py` 161; DWA `validation_cifar.py` 152, 206 and `utils.py` 100; RDED `argument.py` 240 to 335, `validation/main.py` 75 to
225; FADRM Tables 10 and 11, `train_fkd.py` 80 to 96, `validate_fadrm.sh`.
"""


@dataclass(frozen=True)
class Replication(Tabled):
    """A printed number and the one that was made here.

    Attributes:
        printed: the row of `published`.
        accuracies: set -> student -> percent of the test images that the student classifies
            correctly.
        differs: a line for each thing that is not as in the paper.
        seconds: of the work on sets and students.
        sets: the distilled sets.
        histories: set -> (update, percent) pairs along its run; only where one fixed start has one
            student, else empty.
    """

    printed: dict[str, Any]
    accuracies: tuple[tuple[float, ...], ...]
    differs: tuple[str, ...]
    seconds: float
    sets: tuple[DistilledSet, ...]
    histories: tuple[tuple[tuple[int, float], ...], ...] = ()

    @property
    def accuracy(self) -> float:
        """The mean over sets and students, in percent: the last weights count."""
        return statistics.fmean(statistics.fmean(students) for students in self.accuracies)

    @property
    def best(self) -> float | None:
        """The best percent along the runs, chosen on the test images.

        None where no history was kept.

        It is an optimistic number, and stands beside `accuracy` because a printed number may be one
        of this kind.
        """
        percents = [percent for _, percent in itertools.chain.from_iterable(self.histories)]
        return max([*percents, self.accuracy]) if percents else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval over sets; of one set over its students; None of one student."""
        set_means = [statistics.fmean(students) for students in self.accuracies]
        # Students of one set repeat the set; only sets repeat the method.
        bounds = interval(set_means if len(set_means) > 1 else self.accuracies[0])
        return bounds and (max(bounds[0], 0.0), min(bounds[1], 100.0))

    def records(self) -> list[dict[str, Any]]:
        """Return one row: the printed one's columns, then ours."""
        low, high = self.interval or (None, None)
        ours = {
            "ours": self.accuracy,
            "best": self.best,
            "low": low,
            "high": high,
            "difference": self.accuracy - self.printed["accuracy"],
        }
        counts = {
            "sets": len(self.accuracies),
            "students": len(self.accuracies[0]),
            "seconds": round(self.seconds),
        }
        return [{**self.printed, **ours, **counts, "differs": "; ".join(self.differs)}]

    def table(self) -> str:
        """Return Markdown: the two numbers, and below them what differs."""
        row = self.records()[0]
        printed = f"{row['accuracy']:g}"
        if row["deviation"] is not None:
            printed += f" ± {row['deviation']:g}"
        ours = f"{row['ours']:.1f}"
        if self.interval is not None:
            ours += f" ({row['low']:.1f} to {row['high']:.1f})"
        if self.best is not None:
            ours += f", best {self.best:.1f}"
        cells = (
            f"{row['method']}, {row['dataset']}, {row['images_per_class']:g} per class",
            printed,
            ours,
            f"{row['difference']:+.1f}",
            row["sets"],
            row["students"],
            _time(self.seconds),
        )
        heads = "", "printed (%)", "ours (%)", "difference", "sets", "students", "time"
        return "\n".join([markdown(heads, [cells]), "", *(f"- {line}" for line in self.differs)])


@as_usual
@checked
def replicate(
    method: str,
    data: ImageData,
    *,
    images_per_class: float,
    dataset: str | None = None,
    row: str = "",
    sets: Annotated[int, within(1)] | None = None,
    students: Annotated[int, within(1)] | None = None,
    student: dict[str, Any] | None = None,
    teacher: Teachers | None = None,
    folder: str | os.PathLike[str] | None = None,
    device: torch.device | str = "auto",
    jobs: Jobs = None,
    progress: bool = True,
    **options: Any,
) -> Replication:
    """Make a printed number again, with the published settings, sets and students, or fewer.

    Whatever differs from the paper is listed.

    Args:
        data: the paper's, or what stands in for it.
        images_per_class: as `published` lists it.
        dataset: whose row is meant where `data.name` does not say.
        row: words of its network, labels or setting where it has several, such as "random starts".
        sets, students: how many; default the paper's.
        student: fields of the students' Config with other values.
        teacher: for a method that needs one; default the published one, trained here. FADRM+ takes
            several.
        folder: keeps what is finished, and the checkpoint of the set that is being made: the same
            call goes on from it.
        jobs: how many sets, and then students, are made at once, as in `evaluate`;
            `joblib.parallel_config` sends them to a cluster.
        options: fields of the method's Config with other values than published, such as
            `iterations=200`.

    Raises:
        DDLabError: nothing printed for this, rows among which `row` does not choose, a method whose
            students are not here, a row of several networks with fewer teachers, or a folder that
            holds another replication. A worker process that died: what is finished stays in the
            folder.
        KeyboardInterrupt: before all was made; with a folder nothing of it is lost.
    """
    name = _name(method)
    module = methods.get(method)
    protocol = PROTOCOLS[name]
    printed = _row(name, dataset or data.name, images_per_class, row)
    original_data = data
    if "ZCA" in printed["setting"]:
        data = whitened(data)
    # Both are made, for what `options` changed is listed among the differences.
    published_config = _config(name, printed, data, {})
    config = _config(name, printed, data, options)
    student_changes = student or {}
    _check_student(name, protocol, student_changes)
    place = None if folder is None else storage.checked_path(folder, "folder", "a folder's path")
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    teachers = as_teachers(teacher, "teacher")
    is_teacher_given = bool(teachers)
    _check_teachers(printed, teachers)
    if not teachers and needs_teacher(module):
        teachers = (_teacher(printed, protocol, Inputs(data=data, device=device), place, progress),)
    # With one fixed start there is one student, and it starts there.
    is_fixed = protocol.student == "steps" and getattr(config, "starts", "") == "fixed"
    set_count = sets or protocol.sets
    student_count = 1 if is_fixed else students or protocol.students
    work = _Work(
        name=name,
        printed=printed,
        kind=protocol.student,
        data=data,
        teachers=teachers,
        config=config,
        student_changes=student_changes,
        device=device,
        is_fixed=is_fixed,
        is_teacher_given=is_teacher_given,
        folder=place,
        key=storage.fingerprint(
            config, data.fingerprint, student_changes, *(t.fingerprint for t in teachers)
        ),
    )
    check_jobs(jobs, work.inputs, getattr(config, "network", None), student_changes.get("network"))
    # All files are read before anything is made: a folder of another call is refused at once.
    earlier = [work.read(number) for number in range(set_count)]
    if progress and None in earlier:
        print(_hours(work, set_count, student_count))
    results = _all_sets(work, earlier, jobs, progress)
    results = _all_students(work, results, student_count, jobs, progress)
    histories = tuple(result.history for result in results)
    return Replication(
        printed=printed,
        accuracies=tuple(result.first_accuracies(student_count) for result in results),
        differs=_differences(
            work, protocol, original_data, published_config, set_count, student_count
        ),
        seconds=sum(result.seconds for result in results),
        sets=tuple(result.distilled for result in results),
        histories=histories if any(histories) else (),
    )


def _all_sets(
    work: "_Work", earlier: list["_Result | None"], jobs: int | None, progress: bool
) -> list["_Result"]:
    """Make the sets that are missing, several at once where `jobs` says so."""
    results = dict(enumerate(earlier))
    missing = [number for number, result in results.items() if result is None]
    # Bars of several processes would write over each other.
    shows_progress = progress and is_here(jobs)
    tasks = [(number, shows_progress) for number in missing]
    try:
        for place, result in run_tasks(work.make_set, tasks, jobs=jobs):
            number = missing[place]
            # An interrupted set has a checkpoint in the folder, and is not kept as a finished one.
            if not result.distilled.complete:
                raise KeyboardInterrupt(f"set {number + 1} of {len(earlier)} was still being made")
            work.keep(number, result)
            results[number] = result
    except LostWorkers as problem:
        raise _lost_error(problem, work) from problem
    return [result for result in results.values() if result is not None]


def _all_students(
    work: "_Work", results: list["_Result"], count: int, jobs: int | None, progress: bool
) -> list["_Result"]:
    """Train the students that are missing, several at once where `jobs` says so."""
    results = list(results)
    missing = [
        (number, student)
        for number, result in enumerate(results)
        for student in range(count)
        if student not in result.accuracies
    ]
    tasks = [
        (results[number].distilled, work.student_seed(number, student))
        for number, student in missing
    ]
    bar = progress_bar("students", len(results) * count, progress, unit="student")
    bar.update(len(results) * count - len(missing))
    try:
        for place, (percent, seconds) in run_tasks(work.train_student, tasks, jobs=jobs):
            number, student = missing[place]
            results[number] = results[number].with_student(student, percent, seconds)
            work.keep(number, results[number])
            bar.update()
    except LostWorkers as problem:
        raise _lost_error(problem, work) from problem
    finally:
        bar.close()
    return results


def _lost_error(problem: LostWorkers, work: "_Work") -> DDLabError:
    consequence = (
        "nothing is kept without a folder"
        if work.folder is None
        else "the same call goes on from its folder"
    )
    return DDLabError(f"jobs: {problem}; {consequence}.")


@dataclass(frozen=True)
class _Result:
    """A set, what its students reached so far (student -> percent), and the seconds that both took."""

    distilled: DistilledSet
    accuracies: Mapping[int, float] = field(default_factory=dict)
    seconds: float = 0.0
    history: tuple[tuple[int, float], ...] = ()

    def with_student(self, student: int, percent: float, seconds: float) -> "_Result":
        """Return the result with one more student."""
        return replace(
            self, accuracies={**self.accuracies, student: percent}, seconds=self.seconds + seconds
        )

    def first_accuracies(self, count: int) -> tuple[float, ...]:
        """Return the percents of the first students, in their order."""
        return tuple(self.accuracies[student] for student in range(count))


@dataclass(frozen=True, kw_only=True)
class _Work:
    """All that a set or a student of a replication is made from, and where results are kept."""

    name: str
    printed: dict[str, Any]
    kind: str
    data: ImageData
    teachers: tuple[Network, ...]
    config: Any
    student_changes: dict[str, Any]
    device: torch.device | str
    is_fixed: bool
    is_teacher_given: bool
    folder: Path | None
    key: str

    @property
    def module(self) -> Any:
        """The method."""
        return methods.get(self.name)

    @property
    def inputs(self) -> Inputs:
        """The inputs that the method is given."""
        return Inputs(data=self.data, teachers=self.teachers, device=self.device)

    # -- files

    def file(self, number: int) -> Path | None:
        """Return the file of a set; its students' accuracies stand beside it."""
        return None if self.folder is None else self.folder / f"set-{number}.safetensors"

    def read(self, number: int) -> _Result | None:
        """Return what an earlier call finished of a set, None if it finished nothing.

        Raises:
            DDLabError: the folder is that of another replication.
        """
        file = self.file(number)
        # The set is written last: without it the rest of what lies there is half a result.
        if file is None or not file.exists():
            return None
        about = file.with_suffix(".json")
        with storage.made_from(about, "replication"):
            record: dict[str, Any] = {"key": None}
            if about.exists():
                record = json.loads(about.read_text(encoding="utf-8"))
            # The key holds settings, data, students and teachers: whatever differs makes other
            # numbers.
            if record["key"] != self.key:
                errors.fail("folder", "empty, or that of the same call", str(file.parent))
            return _Result(
                distilled=DistilledSet.load(file),
                accuracies={
                    int(student): percent for student, percent in record["accuracies"].items()
                },
                seconds=float(record["seconds"]),
                history=_pairs(record.get("history", [])),
            )

    def keep(self, number: int, result: _Result) -> None:
        """Write a set and its students' accuracies, so that an interrupt loses nothing."""
        file = self.file(number)
        if file is None:
            return
        about = {
            "key": self.key,
            "accuracies": result.accuracies,
            "seconds": result.seconds,
            "history": result.history,
        }
        storage.write_atomically(file.with_suffix(".json"), json.dumps(about).encode())
        if not file.exists():
            result.distilled.save(file)

    # -- work

    def make_set(self, number: int, progress: bool) -> _Result:
        """Distil one set. Earlier sittings count at the pace of this one."""
        start = time.monotonic()
        file = self.file(number)
        config = self.config.replace(seed=self.config.seed + number)
        history_file = file and file.with_suffix(".history")
        history: list[tuple[int, float]] = []
        if history_file is not None and history_file.exists():
            history = list(_pairs(json.loads(history_file.read_text(encoding="utf-8"))))
        shares_before: list[float] = []

        def watch(step: Step) -> None:
            if not shares_before:
                shares_before.append((step.index - 1) / step.total)
            interval_steps = max(step.total * _HISTORY_EPOCHS // _HISTORY_LENGTH, 1)
            is_new = not history or step.index > history[-1][0]
            if self.is_fixed and is_new and step.index % interval_steps == 0:
                snapshot = self.module.finish(config, self.inputs, step.state)
                snapshot = replace(snapshot, complete=True)  # it is tested as if the run ended here
                history.append((step.index, self.accuracy(snapshot, config.seed)))
                if history_file is not None:
                    storage.write_atomically(history_file, json.dumps(history).encode())

        distilled = distill(
            self.name,
            self.data,
            self.teachers or None,
            config,
            self.device,
            on_step=watch,
            progress=progress,
            checkpoint=file and file.with_suffix(".running"),
        )
        share = shares_before[0] if shares_before else 0.0
        seconds = (time.monotonic() - start) / (1 - share)
        return _Result(distilled, seconds=seconds, history=tuple(history))

    def student_seed(self, number: int, student: int) -> int:
        """Return the seed of a student: its number, or that of its set, where both have one start."""
        return self.config.seed + number if self.is_fixed else student

    def train_student(self, distilled: DistilledSet, seed: int) -> tuple[float, float]:
        """Return a student's percent of the test images, and the seconds that it took."""
        start = time.monotonic()
        return self.accuracy(distilled, seed), time.monotonic() - start

    def student_config(self, distilled: DistilledSet) -> supervised.Config | None:
        """Return how a student is trained; None where the set or a kernel says all of it."""
        if self.kind in ("steps", "kernel"):
            return None
        if self.kind == "ld":
            network = NetworkSpec.from_dict(distilled.provenance["config"]["network"])
            return ld.student(distilled, **{"network": network} | self.student_changes)
        changes = dict(self.student_changes)
        if self.name == "mtt":
            changes.setdefault("learning_rate", float(distilled.target("steps").rates))
        return self.published_student().replace(**changes)

    def published_student(self) -> supervised.Config:
        """Return how the paper trains a student, as far as this does not depend on the set."""
        fields: dict[str, Any] = {"labels": "hard"}
        if self.teachers:
            fields = {"labels": "online", **_network(self.printed)}
        if self.name == "fadrm":
            fields |= _FADRM_STUDENTS[self.printed["images_per_class"]]
        if self.name == "rded":
            fields |= _rded_student(self.printed, self.data.classes)
        dataset = _PRESETS[self.printed["dataset"]]
        return supervised.Config.paper(dataset, recipe=self.kind, **fields)

    def accuracy(self, distilled: DistilledSet, seed: int) -> float:
        """Train a student, or solve a regression, and return its percent of the test images."""
        if self.kind == "kernel":
            labels = "regression" if self.printed["labels"] == "learned" else "hard"
            return 100 * kernel_accuracy(distilled, self.data, labels=labels)
        config = self.student_config(distilled)
        labels: Any = "steps" if config is None else config.labels
        evaluation = evaluate(
            distilled,
            self.data,
            labels=labels,
            teacher=self.teachers if labels == "online" else None,
            seeds=(seed,),
            config=config,
            device=self.device,
            progress=False,
        )
        return 100 * evaluation.mean


def _pairs(history: Any) -> tuple[tuple[int, float], ...]:
    return tuple((int(update), float(percent)) for update, percent in history)


def _rded_student(printed: dict[str, Any], classes: int) -> dict[str, Any]:
    """Return RDED's batch and rate.

    A ConvNet on CIFAR-100 has its own (argument.py, "special experiment").
    """
    if classes == 100 and printed["network"] == "ConvNet-3":
        return {"batch_size": 25, "learning_rate": 2e-3}
    batch = _RDED_BATCHES[printed["images_per_class"]]
    return {"batch_size": 2 * batch if classes == 100 else batch}


def _teacher(
    printed: dict[str, Any], protocol: Protocol, inputs: Inputs, folder: Path | None, progress: bool
) -> Network:
    """Train the published teacher here, whole or not at all."""
    config = supervised.Config.paper(
        _PRESETS[printed["dataset"]], "teacher", recipe=protocol.student, **_network(printed)
    )
    trained = Run(supervised, config, inputs, keep=NOTHING).to_end(
        progress=progress,
        checkpoint=folder and folder / "teacher.running",
        keep_checkpoint=True,
    )
    if not trained.provenance["complete"]:
        raise KeyboardInterrupt("the teacher was still being trained")
    return trained


def _network(printed: dict[str, Any]) -> dict[str, Any]:
    """Return the network of the teacher and its students, where it is not the published Config's."""
    return (
        {"network": networks.spec("convnet", norm="batch")}
        if printed["network"] == "ConvNet-3"
        else {}
    )


def _name(method: str) -> str:
    names_by_module = {methods.get(name): name for name in PROTOCOLS}
    if methods.get(method) not in names_by_module:
        errors.fail("method", f"one of {', '.join(PROTOCOLS)}, whose students are here", method)
    return names_by_module[methods.get(method)]


def _check_student(name: str, protocol: Protocol, student: dict[str, Any]) -> None:
    if student and protocol.student in ("steps", "kernel"):
        errors.fail("student", f"None for {name}, whose set or kernel says all of them", student)
    for field_name in student:
        field_names = [setting.name for setting in dataclasses.fields(supervised.Config)]
        errors.check_choice("a field of student", field_name, field_names)


def _check_teachers(printed: dict[str, Any], teachers: tuple[Network, ...]) -> None:
    """Raise where the number of teachers is not the number of networks of the row."""
    is_row_of_several = "four networks" in printed["setting"]
    if is_row_of_several and len(teachers) != 4:
        allowed = (
            "four networks for a row of FADRM+ (ResNet-18, DenseNet-121, ShuffleNetV2, "
            "MobileNetV2 in the paper)"
        )
        errors.fail("teacher", allowed, f"{len(teachers)} networks")
    if not is_row_of_several and len(teachers) > 1:
        errors.fail("teacher", "one network for this row", f"{len(teachers)} networks")


def _row(name: str, dataset: str, images_per_class: float, words: str) -> dict[str, Any]:
    rows = published(name, dataset.split(",")[0], images_per_class=images_per_class).records()
    descriptions = []
    for row in rows:
        parts = row["network"], f"{row['labels']} labels", row["setting"]
        descriptions.append(", ".join(filter(None, parts)))
    fitting = [
        row
        for row, description in zip(rows, descriptions, strict=True)
        if words.lower() in description.lower()
    ]
    if rows[0]["dataset"] not in _PRESETS:
        errors.fail(
            "dataset",
            f"one whose published settings are here: {', '.join(_PRESETS)}",
            rows[0]["dataset"],
        )
    if len(fitting) != 1:
        choices = " | ".join(descriptions)
        errors.fail("row", f"words of one row alone of those that are printed ({choices})", words)
    return fitting[0]


def _config(name: str, printed: dict[str, Any], data: ImageData, options: dict[str, Any]) -> Any:
    """Return the method's published Config for a row, with the reader's options."""
    module = methods.get(name)
    images_per_class = printed["images_per_class"]
    field_names = [setting.name for setting in dataclasses.fields(module.Config)]
    for option in options:
        errors.check_choice(f"an option of {module.NAME}", option, field_names)
    row_fields: dict[str, Any] = {}
    if name == "dd" and "fixed start" in printed["setting"]:
        row_fields["starts"] = "fixed"
    config = module.Config.paper(_PRESETS[printed["dataset"]], **row_fields)
    if name == "gtn":  # the paper counts 4,096 images, its code's default is twice as many steps
        row_fields["steps"] = round(images_per_class * data.classes / config.inner_batch)
    # Of an ordered set, each with images of its own.
    steps = config.steps if "images" in field_names else 1
    if images_per_class < 1:
        row_fields["images"] = round(images_per_class * data.classes)
    elif "images_per_class" in field_names:
        row_fields["images_per_class"] = images_per_class // steps
    return module.Config.paper(_PRESETS[printed["dataset"]], **row_fields | options)


def _hours(work: _Work, set_count: int, student_count: int) -> str:
    """Say how long the rest will take and how much memory it needs.

    Both are judged by the first updates and by a student's.
    """
    run = Run(work.module, work.config, work.inputs)
    updates = work.module.total_steps(work.config, work.inputs)
    run.advance(until=1)
    set_seconds = set_count * _seconds_per_update(run, min(updates, 3)) * updates
    distilled = work.module.finish(work.config, work.inputs, run.state())
    student_config = work.student_config(distilled)
    student_seconds = 0.0
    if student_config is not None:
        student_inputs = Inputs(distilled=distilled, teachers=work.teachers, device=work.device)
        student_run = Run(supervised, student_config, student_inputs)
        student_run.advance(until=1)
        seconds_each = _seconds_per_update(student_run, 3) * student_run.total
        student_seconds = set_count * student_count * seconds_each
    device = work.inputs.device
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if torch.device(device).type == "cuda":
        memory = torch.cuda.max_memory_allocated() / 2**30
    sets = f"{set_count} x {updates:,} updates {_time(set_seconds)}"
    students = f"{set_count} x {student_count} students {_time(student_seconds)}"
    total = _time(set_seconds + student_seconds)
    return f"About {total} by the first updates ({sets}, {students}), {memory:.1f} GB on {device}."


def _seconds_per_update(run: Run, until: int) -> float:
    """Measure a run's next updates, from its first one on: the first is slower than the others."""
    start = time.monotonic()
    run.advance(until=until)
    return (time.monotonic() - start) / max(until - 1, 1)


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def _differences(
    work: _Work,
    protocol: Protocol,
    data: ImageData,
    published_config: Any,
    set_count: int,
    student_count: int,
) -> tuple[str, ...]:
    """List everything that is not as in the paper: data, counts, options and protocol."""
    lines = []
    dataset = work.printed["dataset"]
    # A folder's name ends with the size.
    name = plain(data.name).removesuffix(str(data.image_size[0]))
    if name != plain(dataset):
        description = f"{data!r}".replace("<ImageData ", "").rstrip(">")
        lines.append(f"data: {description}, in place of {dataset}")
    if set_count != protocol.sets:
        lines.append(f"{set_count} sets in place of {protocol.sets}")
    published_students = 1 if work.is_fixed else protocol.students
    if student_count != published_students:
        lines.append(f"{student_count} students of each in place of {published_students}")
    for option in dataclasses.fields(work.config):
        value = getattr(work.config, option.name)
        published_value = getattr(published_config, option.name)
        if value != published_value:
            lines.append(f"{option.name} {_words(value)} in place of {_words(published_value)}")
    for field_name, value in work.student_changes.items():
        line = f"students' {field_name} {_words(value)}"
        if work.kind != "ld":  # whose students follow the set
            line += f" in place of {_words(getattr(work.published_student(), field_name))}"
        lines.append(line)
    is_whitened = "ZCA" in work.printed["setting"]
    if is_whitened:
        lines.append("whitened pixels are kept as bytes")
    # Whitened pixels are scaled by neither's deviations.
    scale = _SCALE if is_whitened else ()
    row = f"{dataset}, {work.printed['network']}"
    lines += [
        words for part, words in protocol.differs if part in row and (part, words) not in scale
    ]
    return (*lines, *(_teacher_line(work, protocol, teacher) for teacher in work.teachers))


def _teacher_line(work: _Work, protocol: Protocol, teacher: Network) -> str:
    """Say which teacher it is, how good, and how its training differs from the published one."""
    dataset = _PRESETS[work.printed["dataset"]]
    config = supervised.Config.paper(dataset, "teacher", recipe=protocol.student)
    trained_by = teacher.provenance.get("config", {})
    changes = [
        f"{name} {trained_by[name]} in place of {value}"
        for name, value in config.to_dict().items()
        if name in _TEACHER_FIELDS and trained_by.get(name, value) != value
    ]
    percent = 100 * accuracy(teacher.to(work.inputs.device), work.data)
    origin = "given" if work.is_teacher_given else "trained here"
    line = (
        f"the teacher is {origin}: {teacher.spec.title}, right on {percent:.1f}% of the test images"
    )
    return ", ".join([line, *changes])


def _words(value: Any) -> str:
    return value.title if isinstance(value, NetworkSpec) else f"{value}"
