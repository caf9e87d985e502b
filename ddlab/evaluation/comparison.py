"""`compare`: several methods on the same data, each beside as many random real images."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import torch

from ..core import DDLabError, Seeds, among, as_usual, checked, progress_bar, storage, within
from ..core.interval import interval_text
from ..data import ImageData
from ..data.class_names import untested_text
from ..distilled import DistilledSet
from ..methods import selection
from ..methods.distillation import distill, from_images, train_teacher
from ..networks import Network
from ..runs import Inputs
from ..runs.cache import whole
from ..runs.inputs import as_teachers
from ..training import supervised
from .parallel import LostWorkers, check_jobs, is_here, run_tasks, tell_lost
from .rows import RANDOM, Counts, Entry, check_counts, counts_of, entries_by_name, size_text
from .students import Jobs, evaluate, prepare_students
from .tables import Tabled, markdown


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One row.

    Attributes:
        name: as given, or the method's; a baseline's with its size.
        accuracies: of a student for each seed, fractions in [0, 1]; empty for a failed method.
        gains: these minus the accuracies of as many random real images of each class, seed by seed;
            empty for the random images themselves.
        seconds: mean time to make a set, without its teacher.
        floats: size of the set with these labels, their teacher included
            (`DistilledSet.storage_floats`).
        balanced: balanced accuracies of the same students, where the test classes are uneven
            (`Evaluation.balanced`).
        counts: images of each class.
        student: how the students were trained, in one line.
        one_set: whether the set was given, so that the interval covers the students alone.
        failed: why there are no numbers, in words; "" where there are.
        note: what else is to be said of a set that was given; "" where nothing is.
    """

    name: str
    accuracies: tuple[float, ...] = ()
    gains: tuple[float, ...] = ()
    seconds: float = 0.0
    floats: int = 0
    balanced: tuple[float, ...] = ()
    counts: Counts = ()
    student: str = ""
    one_set: bool = False
    failed: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Comparison(Tabled):
    """The result of `compare`: a row for each method, then one for each size of random real images.

    Attributes:
        rows: in the order in which they were given; the random images come last.
        labels: what the students learned from.
        seeds: those that every row has.
        complete: False if an interrupt, or the loss of a worker process, came before the others.
        untested: the classes without a test image, of which no accuracy says anything.
    """

    rows: tuple[Compared, ...]
    labels: str
    seeds: tuple[int, ...]
    complete: bool = True
    untested: tuple[str, ...] = ()

    @property
    def students(self) -> tuple[str, ...]:
        """The different ways in which students were trained, one line each."""
        return tuple(dict.fromkeys(row.student for row in self.rows if row.student))

    def table(self) -> str:
        """Return accuracies and gains with their 95% intervals as a Markdown table.

        Two seeds make no interval: both values are shown. Below the table stand the students.
        """
        headers = ["method", f"accuracy, {self.labels} labels"]
        if any(row.balanced for row in self.rows):
            headers.append("balanced accuracy")
        headers += [f"minus {RANDOM}", "seconds a set", "floats"]
        lines = []
        for row in self.rows:
            if row.failed:
                lines.append([row.name, f"failed: {row.failed}", *["-"] * (len(headers) - 2)])
                continue
            name = f"{row.name}, one set" if row.one_set else row.name
            name += f" ({row.note})" if row.note else ""
            scores = [interval_text(row.accuracies)]
            if row.balanced:
                scores.append(interval_text(row.balanced))
            gains = interval_text(row.gains, signed=True) if row.gains else "-"
            lines.append([name, *scores, gains, f"{row.seconds:.1f}", f"{row.floats:,}"])
        paragraphs = [markdown(headers, lines)]
        if self.students:
            paragraphs.append("Students: " + "; ".join(self.students) + ".")
        if self.untested:
            paragraphs.append(f"There is {untested_text(self.untested)}.")
        if not self.complete:
            seeds = ", ".join(map(str, self.seeds))
            paragraphs.append(f"Not complete: only the seeds that every row has ({seeds}).")
        return "\n\n".join(paragraphs)

    def records(self) -> list[dict[str, Any]]:
        """Return one flat mapping for each row and seed, and one for a row that failed."""
        records = []
        for row in self.rows:
            # One line without numbers says why there are none.
            for position, seed in enumerate([None] if row.failed else self.seeds):
                record = {
                    "method": row.name,
                    "labels": self.labels,
                    "images": sum(row.counts) if row.counts else None,
                    "one_set": row.one_set,
                    "seed": seed,
                    "accuracy": None if row.failed else row.accuracies[position],
                    "balanced": row.balanced[position] if row.balanced else None,
                    "gain": row.gains[position] if row.gains else None,
                    "seconds": None if row.failed else row.seconds,
                    "floats": None if row.failed else row.floats,
                    "note": row.failed or row.note,
                }
                records.append(record)
        return records


@as_usual
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
    """Distil by each method and train a student on each set, beside as many random real images.

    Every draw of a seed is the same for all rows: the method's, the real images, the student's
    first weights and views. So rows are paired, seed by seed.

    Args:
        methods: a list, or a mapping from a name of your own, of any of these: names of methods,
            which take the preset that fits the data; Configs, or pairs (method, Config) where a
            Config does not say whose it is; sets that were made before, one for all seeds.
        teacher: for methods that need one, and for labels "stored" and "online"; where it is needed
            and none is given, one is trained.
        images_per_class: of all methods that have this setting and no Config of their own.
        labels: what students learn from; of every row.
        seeds: one set and one student each.
        config: how students are trained; default `supervised.Config.for_data` of each set.
        jobs: how many seeds at once, each in a process of joblib's, as in `evaluate`; on a cluster
            by `client = dask.distributed.Client(address)` and a call
            `with joblib.parallel_config(backend="dask"):`.

    Returns:
        A `Comparison`. A method that fails on the way costs no other row: its own says why. After a
        keyboard interrupt it holds the seeds that every row has, with `complete=False`.

    Raises:
        DDLabError: before anything is computed: no methods, an unknown one, two of one name; labels
            that a method's sets do not have, more images of a class than there are real ones to
            compare with; a set or a teacher that does not fit.
        KeyboardInterrupt: before every row had a seed.
    """
    entries = entries_by_name(methods, data, images_per_class)
    given_sets = [entry.distilled for entry in entries.values() if entry.distilled is not None]
    storage.notice_edits(data, *given_sets, *as_teachers(teacher, "teacher"))
    options: dict[str, Any] = {"labels": labels, "config": config, "device": device}
    inputs = Inputs(data=data, teachers=() if teacher is None else (teacher,), device=device)
    needs_teacher = labels != "hard" or any(entry.needs_teacher for entry in entries.values())
    for name, entry in entries.items():
        entry.check(name, inputs, labels)
        if entry.distilled is not None and (teacher is not None or not needs_teacher):
            prepare_students(entry.distilled, data, teacher=teacher, seeds=seeds, **options)
    networks = [getattr(config, "network", None)]
    for entry in entries.values():
        networks.append(getattr(entry.settings, "network", None))
    check_jobs(jobs, inputs, *networks)
    if teacher is None and needs_teacher:
        teacher = whole(train_teacher(data, device=device, progress=progress))
        # Given sets could not be checked against a teacher that was not there yet.
        for distilled in given_sets:
            prepare_students(distilled, data, teacher=teacher, seeds=seeds, **options)
    options["teacher"] = teacher
    results, failures = _run_seeds(entries, data, seeds, options, jobs, progress)
    rows = []
    for name, entry in entries.items():
        if name in failures:
            rows.append(Compared(name=name, failed=failures[name]))
        else:
            rows.append(_row(name, entry.distilled is not None, results))
    for counts in _common_sizes(results):
        rows.append(_row(counts, False, results))
    return Comparison(
        rows=tuple(rows),
        labels=labels,
        seeds=tuple(results),
        complete=len(results) == len(seeds),
        untested=data.untested_classes(),
    )


@dataclass(frozen=True)
class _Trial:
    """One set and its student: accuracy, seconds to make the set, its size, and the student."""

    accuracy: float
    balanced: float | None
    seconds: float
    floats: int
    counts: Counts
    student: str


# Of one seed: name of a row, or counts of random real images -> its trial, or why it failed.
SeedResults = dict[Any, _Trial | str]


def _run_seeds(
    entries: Mapping[str, Entry],
    data: ImageData,
    seeds: Sequence[int],
    options: dict[str, Any],
    jobs: int | None,
    progress: bool,
) -> tuple[dict[int, SeedResults], dict[str, str]]:
    """Return the results of each finished seed, and name -> reason of the methods that failed."""
    results: dict[int, SeedResults] = {}
    failures: dict[str, str] = {}
    bar = progress_bar("sets with a student", len(entries) * len(seeds), progress, unit="set")
    runs_here = is_here(jobs)

    def tasks() -> Iterator[Any]:
        # Asked for one by one: a method that failed with an earlier seed is not tried again.
        for seed in seeds:
            remaining = {name: entry for name, entry in entries.items() if name not in failures}
            yield seed, remaining, data, options, bar.update if runs_here else None

    try:
        for number, seed_results in run_tasks(_run_seed, tasks(), jobs=jobs):
            for name, trial in seed_results.items():
                if isinstance(trial, str):
                    failures[name] = trial
            results[seeds[number]] = seed_results
            bar.update(0 if runs_here else len(entries))
    except LostWorkers as problem:
        tell_lost(problem, len(results), len(seeds), "seeds")
    except KeyboardInterrupt:
        # A half-made set says nothing, and a seed that some rows lack pairs nothing.
        if not results:
            raise
    finally:
        bar.close()
    return {seed: results[seed] for seed in seeds if seed in results}, failures


def _run_seed(
    seed: int,
    entries: Mapping[str, Entry],
    data: ImageData,
    options: dict[str, Any],
    on_row: Callable[[], Any] | None,
) -> SeedResults:
    """Return a trial of each row, and one of as many random real images as each row holds."""
    results: SeedResults = {}
    making = {"teacher": options["teacher"], "device": options["device"]}
    for name, entry in entries.items():
        make_set = partial(entry.make, seed, data, **making)
        try:
            results[name] = _trial(name, make_set, seed, data, options)
        except Exception as problem:
            # Whatever a reader's method raises; the other rows stand.
            kind = "" if isinstance(problem, DDLabError) else f"{type(problem).__name__}: "
            results[name] = f"{kind}{problem}"
        if on_row is not None:
            on_row()
    sizes = dict.fromkeys(trial.counts for trial in results.values() if isinstance(trial, _Trial))
    for counts in sizes:
        make_set = partial(_random_images, counts, seed, data, **making)
        results[counts] = _trial(RANDOM, make_set, seed, data, options)
    return results


def _trial(
    name: str,
    make_set: Callable[[], DistilledSet],
    seed: int,
    data: ImageData,
    options: dict[str, Any],
) -> _Trial:
    """Make the set of a row and train one student on it."""
    start = time.perf_counter()
    distilled = make_set()
    seconds = time.perf_counter() - start
    counts = counts_of(distilled)
    check_counts(name, counts, data)
    evaluation = evaluate(distilled, data, seeds=[seed], progress=False, **options)
    return _Trial(
        accuracy=evaluation.mean,
        balanced=evaluation.balanced,
        seconds=seconds,
        floats=distilled.storage_floats(options["labels"], options["teacher"]),
        counts=counts,
        student=evaluation.student,
    )


def _random_images(
    counts: Counts, seed: int, data: ImageData, *, teacher: Network | None, device: Any
) -> DistilledSet:
    """Return so many random real images of each class, as a distilled set."""
    config = selection.Config(images_per_class=max(counts), seed=seed)
    distilled = whole(distill("selection", data, teacher, config, device, progress=False))
    if min(counts) == max(counts):
        return distilled
    # Images of a class stand together, so the first ones of each class are a smaller draw.
    class_rows = [torch.arange(count) + label * max(counts) for label, count in enumerate(counts)]
    rows = torch.cat(class_rows)
    return from_images(distilled.images[rows], distilled.labels[rows], data, teacher)


def _common_sizes(results: Mapping[int, SeedResults]) -> list[Counts]:
    """Return the sizes of random real images that every seed has, the smallest first."""
    sizes_by_seed = []
    for seed_results in results.values():
        sizes_by_seed.append({key for key in seed_results if isinstance(key, tuple)})
    return sorted(set.intersection(*sizes_by_seed), key=lambda counts: (sum(counts), counts))


def _row(key: Any, one_set: bool, results: Mapping[int, SeedResults]) -> Compared:
    """Return a row: of a method by its name, or of random real images by their counts."""
    trials: list[Any] = [seed_results[key] for seed_results in results.values()]
    is_random = isinstance(key, tuple)
    gains = []
    if not is_random:
        for trial, seed_results in zip(trials, results.values(), strict=True):
            rival: Any = seed_results[trial.counts]
            gains.append(trial.accuracy - rival.accuracy)
    return Compared(
        name=f"{RANDOM}, {size_text(key)}" if is_random else key,
        accuracies=tuple(trial.accuracy for trial in trials),
        gains=tuple(gains),
        seconds=0.0 if one_set else statistics.fmean(trial.seconds for trial in trials),
        floats=trials[0].floats,
        counts=trials[0].counts,
        student=trials[0].student,
        one_set=one_set,
        balanced=tuple(trial.balanced for trial in trials if trial.balanced is not None),
    )
