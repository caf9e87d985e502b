"""`replicate`: a number that a paper prints, made here by the published settings, sets and students, and both side by side."""

import dataclasses
import json
import os
import resource
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch

from .. import methods, networks
from ..core import errors, storage
from ..core.boundary import checked, within
from ..core.interval import interval
from ..core.progress import progress_bar
from ..data import ImageData, whitened
from ..distilled import DistilledSet
from ..evaluation.kernel_regression import kernel_accuracy
from ..evaluation.students import evaluate
from ..evaluation.tables import Tabled, markdown
from ..methods import ld
from ..methods.distillation import distill
from ..networks import Network, NetworkSpec
from ..runs import Run
from ..runs import process as driver
from ..runs.process import Inputs, Step
from ..training import supervised
from .published import plain, published

_PRESETS = {
    "MNIST": "mnist", "FashionMNIST": "fashion-mnist", "SVHN": "svhn", "CIFAR-10": "cifar10", "CIFAR-100": "cifar100", "TREC-6": "trec6",
}  # fmt: skip
_SCALE = (("", "images are divided by the deviations of their own pixels, not by the authors' numbers"),)
_ALEXNET = "CIFAR", "a ConvNet stands in AlexNet's place"
_TEACHER = "", "the teacher is trained here"


@dataclass(frozen=True)
class Protocol:
    """How a paper tests its sets: how many sets, students of each, whose they are, and what is otherwise here on such datasets.

    Of LD and of methods with a teacher the sources at hand do not say how many: these counts are ours.

    Attributes:
        student: a recipe of `supervised.Config.paper`; "steps", which the set says; "ld", `ld.student`; or "kernel", a regression.
    """

    sets: int
    students: int
    student: str
    differs: tuple[tuple[str, str], ...] = ()


PROTOCOLS = {
    "dc": Protocol(5, 20, "dc", (*_SCALE, ("MNIST", "students see three of DSA's operations, theirs turns by 45 degrees"))),
    "dsa": Protocol(5, 20, "dsa", _SCALE),
    "dm": Protocol(5, 20, "dsa", _SCALE),
    "mtt": Protocol(1, 5, "dsa", (("", "whitened pixels are kept as bytes"),)),
    "dd": Protocol(1, 200, "steps", (_ALEXNET, ("CIFAR", "real images are not cropped and flipped"))),
    "sldd": Protocol(1, 1, "steps", (_ALEXNET,)),
    "tdd": Protocol(1, 1, "steps", (("", "sentences are embedded with a deviation of 1"),)),
    "ld": Protocol(1, 20, "ld", (_ALEXNET, ("", "no images are held out to choose among labels; the students' rate falls, by AdamW"))),
    "gtn": Protocol(1, 1, "steps", (("", "the last images of the generator, seen in their order"),)),
    "kip": Protocol(1, 1, "kernel", (("", "targets are not augmented"),)),
    "ls": Protocol(1, 1, "kernel"),
    "sre2l": Protocol(1, 3, "sre2l", (_TEACHER,)),
    "dwa": Protocol(1, 3, "sre2l", (_TEACHER,)),
    "rded": Protocol(1, 3, "rded", (_TEACHER, ("", "the last weights count, theirs are the best of several tests"))),
    "fadrm": Protocol(1, 3, "fadrm", (_TEACHER,)),
}  # fmt: skip


@dataclass(frozen=True)
class Replication(Tabled):
    """Printed, and made here.

    Attributes:
        printed: the row of `published`. accuracies: set -> student -> percent of the test images. differs: a line for each thing that is
            not as in the paper. seconds: of the work on sets and students. sets: the distilled sets.
    """

    printed: dict[str, Any]
    accuracies: tuple[tuple[float, ...], ...]
    differs: tuple[str, ...]
    seconds: float
    sets: tuple[DistilledSet, ...]

    @property
    def accuracy(self) -> float:
        """Percent, over sets and students."""
        return statistics.fmean(statistics.fmean(students) for students in self.accuracies)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95%, over sets; of one set over its students; None of one student."""
        several = [statistics.fmean(students) for students in self.accuracies]
        found = interval(several if len(several) > 1 else self.accuracies[0])
        return found and (max(found[0], 0.0), min(found[1], 100.0))

    def records(self) -> list[dict[str, Any]]:
        """One row: the printed one's columns, then ours."""
        low, high = self.interval or (None, None)
        ours = {"ours": self.accuracy, "low": low, "high": high, "difference": self.accuracy - self.printed["accuracy"]}
        counts = {"sets": len(self.accuracies), "students": len(self.accuracies[0]), "seconds": round(self.seconds)}
        return [{**self.printed, **ours, **counts, "differs": "; ".join(self.differs)}]

    def table(self) -> str:
        """Markdown: the numbers, and below what differs."""
        row, deviation = self.records()[0], self.printed["deviation"]
        ours = f"{row['ours']:.1f}" + ("" if self.interval is None else f" ({row['low']:.1f} to {row['high']:.1f})")
        heads = "", "printed (%)", "ours (%)", "difference", "sets", "students", "time"
        cells = (f"{row['method']}, {row['dataset']}, {row['images_per_class']:g} per class", f"{row['accuracy']:g}")
        printed = cells[1] + ("" if deviation is None else f" ± {deviation:g}")
        more = f"{row['difference']:+.1f}", row["sets"], row["students"], _time(self.seconds)
        return "\n".join(
            [markdown(heads, [(cells[0], printed, ours, *more)]), "", *(f"- {line}" for line in self.differs)]
        )


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
    teacher: Network | None = None,
    folder: str | os.PathLike[str] | None = None,
    device: torch.device | str = "auto",
    progress: bool = True,
    **options: Any,
) -> Replication:
    """Make a printed number again: the published settings, sets and students, or fewer of them; whatever differs is listed.

    Args:
        data: the paper's, or what stands in for it. images_per_class: as `published` lists it.
        dataset: whose row is meant where `data.name` does not say. row: words of its network, labels or setting where it has several,
            such as "random starts".
        sets, students: how many; default the paper's. student: fields of the students' Config with other values.
        teacher: for a method that needs one; default the published one, trained here.
        folder: keeps what is finished, and the checkpoint of the set that is being made: the same call goes on from it.
        options: fields of the method's Config with other values than published, such as `iterations=200`.

    Raises:
        DDLabError: nothing printed for this, rows among which `row` does not choose, a method whose students are not here, or a folder
            that holds another replication.
        KeyboardInterrupt: before all was made; with a folder nothing of it is lost.
    """
    name, module = _name(method), methods.get(method)
    protocol, printed = PROTOCOLS[name], _row(name, dataset or data.name, images_per_class, row)
    given, data = data, whitened(data) if "ZCA" in printed["setting"] else data
    as_printed, config = (_config(name, printed, data, each) for each in ({}, options))
    changes = student or {}
    _check_student(name, protocol, changes)
    place = None if folder is None else storage.checked_path(folder, "folder", "a folder's path")
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    if teacher is None and getattr(module, "NEEDS_TEACHER", False):
        teacher = _teacher(printed, Inputs(data=data, device=device), place, progress)
    tested = _Tested(protocol.student, printed, data, teacher, changes, device)
    fixed = protocol.student == "steps" and getattr(config, "starts", "") == "fixed"  # its one start is its one student
    counts = sets or protocol.sets, 1 if fixed else students or protocol.students
    key = storage.fingerprint(config, data.fingerprint, changes, "" if teacher is None else teacher.fingerprint)
    places = [None if place is None else place / f"set-{number}.safetensors" for number in range(counts[0])]
    before = [_read(file, key) if file is not None and file.exists() else None for file in places]
    if progress and None in before:
        inputs = Inputs(data=data, teachers=() if teacher is None else (teacher,), device=device)
        print(_hours(module, config, inputs, tested, counts))
    made, scores, seconds = [], [], 0.0
    for number, (file, known) in enumerate(zip(places, before, strict=True)):
        seed, begun = config.seed + number, time.monotonic()
        each, found, spent = known or (None, [], 0.0)
        if each is None:
            told = {"progress": progress, "checkpoint": file and file.with_suffix(".running")}
            each, spent = _made(name, data, teacher, config.replace(seed=seed), device, told)
            if not each.complete:
                raise KeyboardInterrupt(f"set {number + 1} of {counts[0]} was still being made")
        with progress_bar(f"students of set {number + 1}", counts[1], progress, unit="student") as bar:
            while True:
                if file is not None:
                    _keep(file, key, each, found, spent + time.monotonic() - begun)
                bar.update(len(found) - bar.n)
                if len(found) >= counts[1]:
                    break
                found = [*found, 100 * tested.accuracy(each, seed if fixed else len(found))]
        made.append(each)
        scores.append(tuple(found[: counts[1]]))
        seconds += spent + time.monotonic() - begun
    differs = _differences(protocol, printed, given, (as_printed, config), counts, changes, fixed)
    return Replication(printed, tuple(scores), differs, seconds, tuple(made))


def _teacher(printed: dict[str, Any], inputs: Inputs, place: Path | None, progress: bool) -> Network:
    """The published one, trained here, whole or not at all."""
    config = supervised.Config.paper(_PRESETS[printed["dataset"]], "teacher", **_network(printed))
    files: dict[str, Any] = {"checkpoint": place and place / "teacher.running", "keep_checkpoint": True}
    trained = driver.run(supervised, config, inputs, progress=progress, **files)
    if not trained.provenance["complete"]:
        raise KeyboardInterrupt("the teacher was still being trained")
    return trained


def _made(
    name: str, data: ImageData, teacher: Network | None, config: Any, device: Any, told: dict[str, Any]
) -> tuple[DistilledSet, float]:
    """A set, and the seconds that earlier sittings took for their share of it, at the pace of this one."""
    begun, before = time.monotonic(), dict[str, float]()

    def first(step: Step) -> None:
        before.setdefault("share", (step.index - 1) / step.total)

    made = distill(name, data, teacher, config, device, on_step=first, **told)
    return made, (time.monotonic() - begun) * (1 / (1 - before.get("share", 0.0)) - 1)


@dataclass(frozen=True)
class _Tested:
    """How one student is trained and tested."""

    kind: str
    printed: dict[str, Any]
    data: ImageData
    teacher: Network | None
    changes: dict[str, Any]
    device: torch.device | str

    def config(self, made: DistilledSet) -> supervised.Config | None:
        """Of a student that is trained by views and rates of its own; None where the set says all."""
        if self.kind in ("steps", "kernel"):
            return None
        if self.kind == "ld":
            network = NetworkSpec.from_dict(made.provenance["config"]["network"])
            return ld.student(made, **{"network": network} | self.changes)
        own: dict[str, Any] = {"labels": "hard"}
        if self.teacher is not None:
            own = {"labels": "online", **_network(self.printed)}
        if self.printed["method"] == "mtt":
            own |= {"learning_rate": float(made.target("steps").rates)}
        if self.printed["method"] == "rded":
            few = {1: 10, 10: 50, 50: 100}[self.printed["images_per_class"]]
            own |= {"batch_size": 2 * few if made.classes == 100 else few}
        return supervised.Config.paper(_PRESETS[self.printed["dataset"]], recipe=self.kind, **own | self.changes)

    def accuracy(self, made: DistilledSet, seed: int) -> float:
        """The fraction of the test images."""
        if self.kind == "kernel":
            regression = self.printed["labels"] == "learned"
            return kernel_accuracy(made, self.data, labels="regression" if regression else "hard")
        config = self.config(made)
        labels: Any = "steps" if config is None else config.labels
        own: Any = {"teacher": self.teacher if labels == "online" else None, "device": self.device, "config": config}
        return evaluate(made, self.data, labels=labels, seeds=(seed,), progress=False, **own).mean


def _network(printed: dict[str, Any]) -> dict[str, Any]:
    """The teacher's, and its students', where it is not the published Config's."""
    return {"network": networks.spec("convnet", norm="batch")} if printed["network"] == "ConvNet-3" else {}


def _name(method: str) -> str:
    modules = {methods.get(name): name for name in PROTOCOLS}
    if methods.get(method) not in modules:
        errors.fail("method", f"one of {', '.join(PROTOCOLS)}, whose students are here", method)
    return modules[methods.get(method)]


def _check_student(name: str, protocol: Protocol, student: dict[str, Any]) -> None:
    if student and protocol.student in ("steps", "kernel"):
        errors.fail("student", f"None for {name}, whose set or kernel says all of them", student)
    for field in student:
        errors.check_choice("a field of student", field, [one.name for one in dataclasses.fields(supervised.Config)])


def _row(name: str, dataset: str, images_per_class: float, words: str) -> dict[str, Any]:
    rows = published(name, dataset.split(",")[0], images_per_class=images_per_class).records()
    told = [", ".join(filter(None, (row["network"], f"{row['labels']} labels", row["setting"]))) for row in rows]
    fitting = [row for row, line in zip(rows, told, strict=True) if words.lower() in line.lower()]
    if rows[0]["dataset"] not in _PRESETS:
        errors.fail("dataset", f"one whose published settings are here: {', '.join(_PRESETS)}", rows[0]["dataset"])
    if len(fitting) != 1:
        errors.fail("row", f"words of one row alone of those that are printed ({' | '.join(told)})", words)
    return fitting[0]


def _config(name: str, printed: dict[str, Any], data: ImageData, options: dict[str, Any]) -> Any:
    module, size = methods.get(name), printed["images_per_class"]
    fields = [field.name for field in dataclasses.fields(module.Config)]
    for option in options:
        errors.check_choice(f"an option of {module.NAME}", option, fields)
    own: dict[str, Any] = {"starts": "fixed"} if name == "dd" and "fixed start" in printed["setting"] else {}
    config = module.Config.paper(_PRESETS[printed["dataset"]], **own)
    steps = config.steps if "images" in fields else 1  # of an ordered set, each with images of its own
    if size * data.classes < data.classes:
        own["images"] = round(size * data.classes)
    elif "images_per_class" in fields:
        own["images_per_class"] = size // steps
    return module.Config.paper(_PRESETS[printed["dataset"]], **own | options)


def _hours(module: Any, config: Any, inputs: Inputs, tested: _Tested, counts: tuple[int, int]) -> str:
    """How long it will take, by its first updates and a student's, and the memory that these needed."""
    run, total, seconds = Run(module, config, inputs), module.total_steps(config, inputs), [0.0, 0.0]
    steps = min(total, 3)
    run.advance(until=1)
    begun = time.monotonic()
    run.advance(until=steps)
    seconds[0] = (time.monotonic() - begun) / max(steps - 1, 1) * total
    made = module.finish(config, inputs, run.state())
    learner = tested.config(made)
    if learner is not None:
        own = Run(supervised, learner, Inputs(distilled=made, teachers=inputs.teachers, device=inputs.device))
        own.advance(until=1)
        begun = time.monotonic()
        own.advance(until=min(own.total, 3))
        seconds[1] = (time.monotonic() - begun) / 2 * own.total
    seconds = [counts[0] * seconds[0], counts[0] * counts[1] * seconds[1]]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if torch.device(inputs.device).type == "cuda":
        memory = torch.cuda.max_memory_allocated() / 2**30
    sets, students = counts
    parts = f"{sets} x {total:,} updates {_time(seconds[0])}, {sets} x {students} students {_time(seconds[1])}"
    return f"About {_time(sum(seconds))} by the first updates ({parts}), {memory:.1f} GB on {inputs.device}."


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def _differences(
    protocol: Protocol, printed: dict[str, Any], data: ImageData, configs: Any, counts: Any, student: Any, fixed: bool
) -> tuple[str, ...]:
    told, name = [], plain(data.name).removesuffix(str(data.image_size[0]))  # a folder's name ends with the size
    if name != plain(printed["dataset"]):
        told.append(f"data: {data!r}".replace("<ImageData ", "").rstrip(">") + f", in place of {printed['dataset']}")
    names = "sets", "students of each"
    wanted = protocol.sets, 1 if fixed else protocol.students
    told += [f"{n} {what} in place of {w}" for what, n, w in zip(names, counts, wanted, strict=True) if n != w]
    before, after = configs
    for field in (field.name for field in dataclasses.fields(after)):
        if getattr(after, field) != getattr(before, field):
            told.append(f"{field} {_said(getattr(after, field))} in place of {_said(getattr(before, field))}")
    told += [f"students' {name}: {_said(value)}" for name, value in student.items()]
    return (*told, *(words for where, words in protocol.differs if where in printed["dataset"]))


def _said(value: Any) -> str:
    return value.title if isinstance(value, NetworkSpec) else f"{value}"


def _keep(file: Path, key: str, made: DistilledSet, found: list[float], seconds: float) -> None:
    text = json.dumps({"key": key, "accuracies": found, "seconds": seconds})
    storage.write_atomically(file.with_suffix(".json"), text.encode())
    if not file.exists():
        made.save(file)


def _read(file: Path, key: str) -> tuple[DistilledSet, list[float], float]:
    about = file.with_suffix(".json")
    with storage.made_from(about, "replication"):
        told: dict[str, Any] = json.loads(about.read_text(encoding="utf-8")) if about.exists() else {"key": None}
        if told["key"] != key:
            errors.fail("folder", "empty, or that of the same call", str(file.parent))
        return DistilledSet.load(file), list(told["accuracies"]), float(told["seconds"])
