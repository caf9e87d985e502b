"""`compare`: several methods on the same data, each beside as many random real images."""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch

from .. import methods as library
from ..core import errors
from ..core.boundary import among, checked, within
from ..core.errors import DDLabError
from ..core.interval import in_words
from ..core.progress import progress_bar
from ..data import ImageData
from ..distilled import DistilledSet
from ..methods import selection
from ..methods.distillation import distill, train_teacher
from ..networks import Network
from ..runs.cache import whole
from ..runs.process import Inputs, check_call, check_process
from ..training import supervised
from .students import Jobs, Seeds, check_jobs, check_like, evaluate, prepared
from .tables import Tabled, markdown

RANDOM = "random real images"
Counts = tuple[int, ...]  # images of each class


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One row.

    Attributes:
        name: as given, or of the method; of a baseline with its size.
        accuracies: of a student for each seed, fractions in [0, 1]; none of a method that failed.
        gains: these minus those of as many random real images of each class, seed by seed; none of those images themselves.
        seconds: to make a set, on average, without its teacher. floats: that the set takes (`DistilledSet.storage_floats`).
        counts: images of each class. one_set: whether the set was given, so that the interval is of students alone.
        failed: why there are no numbers, in words; "" where there are.
    """

    name: str
    accuracies: tuple[float, ...] = ()
    gains: tuple[float, ...] = ()
    seconds: float = 0.0
    floats: int = 0
    counts: Counts = ()
    one_set: bool = False
    failed: str = ""


@dataclass(frozen=True, kw_only=True)
class Comparison(Tabled):
    """What `compare` found: `rows` in the order in which they were given, then random real images, a row for each size.

    `seeds` are those that every row has; `complete` is False if an interrupt came before the others.
    """

    rows: tuple[Compared, ...]
    labels: str
    seeds: tuple[int, ...]
    complete: bool = True

    def table(self) -> str:
        """Accuracy and gain with their 95% intervals, of two seeds both values, as a Markdown table."""
        heads = ("method", f"accuracy, {self.labels} labels", f"minus {RANDOM}", "seconds a set", "floats")
        rows = []
        for row in self.rows:
            if row.failed:
                rows.append((row.name, f"failed: {row.failed}", "-", "-", "-"))
                continue
            name = f"{row.name}, one set" if row.one_set else row.name
            gains = in_words(row.gains, signed=True) if row.gains else "-"
            rows.append((name, in_words(row.accuracies), gains, f"{row.seconds:.1f}", f"{row.floats:,}"))
        ends = (
            ""
            if self.complete
            else f"\n\nInterrupted: the seeds that every row has ({', '.join(map(str, self.seeds))})."
        )
        return markdown(heads, rows) + ends

    def records(self) -> list[dict[str, Any]]:
        """One line for each row and seed."""
        return [
            {"method": row.name, "labels": self.labels, "images": sum(row.counts), "one_set": row.one_set, "seed": seed,
             "accuracy": row.accuracies[place], "gain": row.gains[place] if row.gains else None,
             "seconds": row.seconds, "floats": row.floats}
            for row in self.rows if not row.failed
            for place, seed in enumerate(self.seeds)
        ]  # fmt: skip


@checked
def compare(
    methods: Any,
    data: ImageData,
    teacher: Network | None = None,
    *,
    images_per_class: Annotated[int, within(1)] = 1,
    labels: Annotated[str, among("hard", "stored", "online")] = "hard",
    seeds: Seeds = (0, 1, 2),
    config: supervised.Config | None = None,
    device: torch.device | str = "auto",
    jobs: Jobs = None,
    progress: bool = True,
) -> Comparison:
    """Distil by each method and train a student on each set, once for each seed, beside as many random real images of each class.

    A seed is every draw: the method's, the real images, the student's first weights and views. So rows are paired, seed by seed.

    Args:
        methods: a list, or name -> what it is: names of methods, in their teaching presets; Configs, or pairs (method, Config) where a
            Config does not say whose it is; sets that were made before, one for all seeds.
        teacher: for methods that ask one, and for labels "stored" and "online"; where it is needed and none is given, one is trained.
        images_per_class: of all that have this setting and no Config of their own. labels: what students learn from; of every row.
        seeds: one set and one student each. config: how students are trained; default `supervised.Config.for_data(data)`.
        jobs: how many seeds at once, each in a process of joblib's, as in `evaluate`.

    Returns:
        A `Comparison`. A method that fails on the way costs no other row: its own says why. After a keyboard interrupt it holds the seeds
        that every row has, with `complete=False`.

    Raises:
        DDLabError: before anything is computed: no methods, an unknown one, two of one name; labels that a method's sets do not have, more
            images of a class than there are real ones to compare with; a set or a teacher that does not fit.
        KeyboardInterrupt: before every row had a seed.
    """
    asked = _asked(methods, images_per_class)
    options: dict[str, Any] = {"labels": labels, "config": config, "device": device}
    inputs = Inputs(data=data, teachers=() if teacher is None else (teacher,), device=device)
    needed = labels != "hard" or any(entry.needs_teacher for entry in asked.values())
    for name, entry in asked.items():
        entry.check(name, inputs, labels)
        if entry.given is not None and (teacher is not None or not needed):
            prepared(entry.given, data, teacher=teacher, seeds=seeds, **options)
    check_jobs(
        jobs, inputs, *(getattr(each, "network", None) for each in (config, *(row.settings for row in asked.values())))
    )
    if teacher is None and needed:
        teacher = whole(train_teacher(data, device=device, progress=progress))
        for entry in asked.values():
            if entry.given is not None:
                prepared(entry.given, data, teacher=teacher, seeds=seeds, **options)
    options |= {"teacher": teacher}
    found, failed = _gathered(asked, data, seeds, options, jobs, progress)
    rows = [
        Compared(name=name, failed=failed[name]) if name in failed else _row(name, asked[name].given is not None, found)
        for name in asked
    ]
    sizes = sorted(
        {key for of_seed in found.values() for key in of_seed if isinstance(key, tuple)},
        key=lambda counts: (sum(counts), counts),
    )
    rows += [_row(counts, False, found) for counts in sizes]
    return Comparison(rows=tuple(rows), labels=labels, seeds=tuple(found), complete=len(found) == len(seeds))


@dataclass(frozen=True)
class _Made:
    """Of one set: its student's accuracy, how long it took to make, its size."""

    accuracy: float
    seconds: float
    floats: int
    counts: Counts


Found = dict[Any, _Made | str]  # name of a row, or counts of random real images -> what was found, or why nothing was


@dataclass(frozen=True)
class _Entry:
    """A row that is asked for: a set, or a method with its Config."""

    given: DistilledSet | None = None
    method: Any = None
    settings: Any = None

    @property
    def needs_teacher(self) -> bool:
        return bool(getattr(self.method, "NEEDS_TEACHER", False))

    @property
    def title(self) -> str:
        """The method's usual name."""
        name = self.method.NAME if self.given is None else str(self.given.provenance.get("method", "a set"))
        return (library.MODULES.get(name) or (name,))[0]

    @property
    def size(self) -> str:
        if self.given is not None:
            return _size_words(_counts(self.given))
        return f"{count} per class" if (count := getattr(self.settings, "images_per_class", None)) else ""

    def check(self, name: str, inputs: Inputs, labels: str) -> None:
        """Refuse what is known to fail, or could not be compared, before anything is computed."""
        data: Any = inputs.data
        if self.given is not None:
            check_like(self.given, data)
            self.given.target(labels)
            _check_counts(name, _counts(self.given), data)
            return
        check_call(self.method, self.settings, inputs)
        kinds = () if getattr(self.method, "WITHOUT_LABELS", False) else getattr(self.method, "LABELS", (labels,))
        if labels not in kinds:
            known = f"those that the sets of {name} have ({', '.join(map(repr, kinds)) or 'none: no class numbers'})"
            errors.fail("labels", known, labels)
        count = getattr(self.settings, "images_per_class", None)
        if isinstance(count, int):
            _check_counts(name, (count,) * data.classes, data)

    def made(self, seed: int, data: ImageData, **options: Any) -> DistilledSet:
        """The set, or a new one whose every draw is of `seed`."""
        if self.given is not None:
            return self.given
        has = any(field.name == "seed" for field in dataclasses.fields(self.settings))
        settings = dataclasses.replace(self.settings, seed=seed) if has else self.settings
        return whole(distill(self.method, data, config=settings, progress=False, **options))


def _gathered(
    asked: Mapping[str, _Entry],
    data: ImageData,
    seeds: Sequence[int],
    options: dict[str, Any],
    jobs: int | None,
    progress: bool,
) -> tuple[dict[int, Found], dict[str, str]]:
    """Seed -> what was found, of the seeds that are whole; and why methods failed."""
    import joblib

    found, failed = dict[int, Found](), dict[str, str]()
    bar = progress_bar("sets with a student", len(asked) * len(seeds), progress, unit="set")
    here = joblib.effective_n_jobs(jobs) == 1

    def tasks() -> Iterator[Any]:  # asked for one by one: what failed with one seed is not tried with the next
        for seed in seeds:
            entries = {name: entry for name, entry in asked.items() if name not in failed}
            yield joblib.delayed(_of_seed)(seed, entries, data, options, bar.update if here else None)

    try:
        results = joblib.Parallel(n_jobs=jobs, return_as="generator")(tasks())
        for seed, of_seed in zip(seeds, results, strict=True):
            failed |= {name: made for name, made in of_seed.items() if isinstance(made, str)}
            found[seed] = of_seed
            bar.update(0 if here else len(asked))
    except KeyboardInterrupt:
        # A half-made set says nothing, and a seed that some rows lack pairs nothing.
        if not found:
            raise
    finally:
        bar.close()
    return found, failed


def _of_seed(
    seed: int, asked: Mapping[str, _Entry], data: ImageData, options: dict[str, Any], done: Callable[[], Any] | None
) -> Found:
    """A set and a student of each row, and of as many random real images as each holds."""
    found: Found = {}
    making = {name: options[name] for name in ("teacher", "device")}

    def add(key: Any, entry: _Entry) -> None:
        begun = time.perf_counter()
        try:
            made = entry.made(seed, data, **making)
            seconds, counts = time.perf_counter() - begun, _counts(made)
            _check_counts(str(key), counts, data)
            student = evaluate(made, data, seeds=[seed], progress=False, **options)
            found[key] = _Made(student.mean, seconds, made.storage_floats(), counts)
        except Exception as problem:  # whatever a reader's method raises; the other rows stand
            found[key] = f"{'' if isinstance(problem, DDLabError) else f'{type(problem).__name__}: '}{problem}"

    for name, entry in asked.items():
        add(name, entry)
        if done is not None:
            done()
    for counts in dict.fromkeys(made.counts for made in found.values() if isinstance(made, _Made)):
        begun = time.perf_counter()
        random = _random(counts, seed, data, **making)
        seconds = time.perf_counter() - begun
        student = evaluate(random, data, seeds=[seed], progress=False, **options)
        found[counts] = _Made(student.mean, seconds, random.storage_floats(), counts)
    return found


def _random(counts: Counts, seed: int, data: ImageData, **options: Any) -> DistilledSet:
    """So many random real images of each class."""
    config = selection.Config(images_per_class=max(counts), seed=seed)
    made = whole(distill("selection", data, config=config, progress=False, **options))
    if min(counts) == max(counts):
        return made
    kept = torch.cat([torch.arange(count) + label * max(counts) for label, count in enumerate(counts)])
    targets = tuple(
        dataclasses.replace(t, **{f.name: getattr(t, f.name)[kept] for f in _rows_of(t)}) for t in made.targets
    )
    return dataclasses.replace(made, tensors={"images": made.tensors["images"][kept]}, targets=targets)


def _rows_of(target: Any) -> list[Any]:
    """The fields of a target that have an entry for each image."""
    return [field for field in dataclasses.fields(target) if isinstance(getattr(target, field.name), torch.Tensor)]


def _row(key: Any, one_set: bool, found: Mapping[int, Found]) -> Compared:
    """A row of its numbers, all seeds."""
    own: list[Any] = [of_seed[key] for of_seed in found.values()]
    rivals: list[Any] = [of_seed[made.counts] for made, of_seed in zip(own, found.values(), strict=True)]
    is_random = isinstance(key, tuple)
    return Compared(
        name=f"{RANDOM}, {_size_words(key)}" if is_random else key, accuracies=tuple(made.accuracy for made in own),
        gains=() if is_random else tuple(made.accuracy - rival.accuracy for made, rival in zip(own, rivals, strict=True)),
        seconds=0.0 if one_set else statistics.fmean(made.seconds for made in own),
        floats=own[0].floats, counts=own[0].counts, one_set=one_set,
    )  # fmt: skip


def _counts(made: DistilledSet) -> Counts:
    """Images of each class; of a set without class numbers as evenly as they go."""
    if any(target.kind == "hard" for target in made.targets):
        return tuple(made.labels.bincount(minlength=made.classes).tolist())
    each, rest = divmod(len(made), made.classes)
    return tuple(each + (label < rest) for label in range(made.classes))


def _size_words(counts: Counts) -> str:
    return f"{counts[0]} per class" if min(counts) == max(counts) else f"{sum(counts)} in all"


def _check_counts(name: str, counts: Counts, data: ImageData) -> None:
    """As many random real images as a set holds must be there, or nothing is fair."""
    for label, (count, there) in enumerate(zip(counts, data.class_counts().tolist(), strict=True)):
        if count > there:
            most = f"images per class of {name} must be at most the real ones, to compare with as many"
            raise DDLabError(f"{most} ({there} of class {data.class_names[label]!r}); given {count}.")


def _asked(given: Any, images_per_class: int) -> dict[str, _Entry]:
    """Name -> a row."""
    named: list[tuple[Any, Any]] = list(given.items()) if isinstance(given, Mapping) else []
    if isinstance(given, Sequence) and not isinstance(given, str):
        named = [(each if isinstance(each, str) else None, each) for each in given]
    if not named:
        allowed = "a list of names of methods, Configs or DistilledSets, or a mapping of name to one of these"
        errors.fail("methods", allowed, given)
    names = [None if name is None else errors.check_text("a name in methods", name, empty=False) for name, _ in named]
    entries = [_entry(each, images_per_class) for _, each in named]
    names = _distinct(names, entries)
    for name in names:
        if names.count(name) > 1 or name.startswith(RANDOM):
            errors.fail("methods", f"named differently, and not as the baseline ({RANDOM})", name)
    return dict(zip(names, entries, strict=True))


def _distinct(names: Sequence[str | None], entries: Sequence[_Entry]) -> list[str]:
    """The names that were given; else the method's, with its size where that is not enough, and a number where that is not."""
    titles = [name or entry.title for name, entry in zip(names, entries, strict=True)]
    sized = [
        name or ", ".join(filter(None, (entry.title, entry.size))) for name, entry in zip(names, entries, strict=True)
    ]
    numbers, found = Counter[str](), []
    for name, title, long in zip(names, titles, sized, strict=True):
        numbers[long] += 1
        short = title if titles.count(title) == 1 else long
        found.append(name or (short if sized.count(short) <= 1 else f"{long} ({numbers[long]})"))
    return found


def _entry(each: Any, images_per_class: int) -> _Entry:
    if isinstance(each, DistilledSet):
        return _Entry(given=each)
    if isinstance(each, tuple) and len(each) == 2:
        method = library.get(each[0])
        return _Entry(
            method=method, settings=errors.check_instance("config", each[1], method.Config, f"a {method.NAME} Config")
        )
    if (method := _method_of(type(each))) is not None:
        return _Entry(method=method, settings=each)
    method = library.get(each)
    settings = getattr(method.Config, "teaching", method.Config)()
    if hasattr(settings, "images_per_class"):
        settings = dataclasses.replace(settings, images_per_class=images_per_class)
    return _Entry(method=method, settings=settings)


def _method_of(kind: type) -> Any:
    """Whose Config this is: a method of ours, one of `from_loss`, or a reader's module; None if nobody's."""
    found: list[Any] = [getattr(kind, "of_method", None), sys.modules.get(kind.__module__)]
    for method in found:
        if getattr(method, "Config", None) is kind:
            ours = kind.__module__.startswith("ddlab.") and method.NAME not in library.MODULES  # training, say
            return None if ours else check_process("method", method)
    return None
