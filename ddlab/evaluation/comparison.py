"""`compare`: several methods on the same data, each beside as many random real images."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch

from ..core import storage
from ..core.arithmetic import as_usual
from ..core.boundary import among, checked, within
from ..core.errors import DDLabError
from ..core.interval import in_words
from ..core.progress import progress_bar
from ..data import ImageData
from ..distilled import DistilledSet
from ..methods import selection
from ..methods.distillation import distill, from_images, train_teacher
from ..networks import Network
from ..runs.cache import whole
from ..runs.process import Inputs
from ..training import supervised
from ..training.relabelling import as_teachers
from .parallel import LostWorkers, check_jobs, is_here, run_tasks, tell_lost
from .rows import RANDOM, Counts, Entry, asked_rows, check_counts, counts_of, size_words
from .students import Jobs, Seeds, evaluate, prepared
from .tables import Tabled, markdown


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One row.

    Attributes:
        name: as given, or of the method; of a baseline with its size.
        accuracies: of a student for each seed, fractions in [0, 1]; none of a method that failed.
        gains: these minus those of as many random real images of each class, seed by seed; none of
            those images themselves.
        seconds: to make a set, on average, without its teacher.
        floats: that the set takes with these labels, their teacher included
            (`DistilledSet.storage_floats`).
        balanced: balanced accuracies of the same students, where the test classes are uneven
            (`Evaluation.balanced`).
        counts: images of each class.
        one_set: whether the set was given, so that the interval is of students alone.
        failed: why there are no numbers, in words; "" where there are.
    """

    name: str
    accuracies: tuple[float, ...] = ()
    gains: tuple[float, ...] = ()
    seconds: float = 0.0
    floats: int = 0
    balanced: tuple[float, ...] = ()
    counts: Counts = ()
    one_set: bool = False
    failed: str = ""


@dataclass(frozen=True, kw_only=True)
class Comparison(Tabled):
    """What `compare` found: `rows` in the order in which they were given, then random real images,
    a row for each size.

    `seeds` are those that every row has; `complete` is False if an interrupt, or the loss of a
    worker process, came before the others.
    """

    rows: tuple[Compared, ...]
    labels: str
    seeds: tuple[int, ...]
    complete: bool = True

    def table(self) -> str:
        """Accuracy and gain with their 95% intervals, of two seeds both values, as a Markdown
        table.
        """
        uneven = any(row.balanced for row in self.rows)
        more = ["balanced accuracy"] if uneven else []
        heads = [
            "method",
            f"accuracy, {self.labels} labels",
            *more,
            f"minus {RANDOM}",
            "seconds a set",
            "floats",
        ]
        rows = []
        for row in self.rows:
            if row.failed:
                rows.append([row.name, f"failed: {row.failed}", *["-"] * (len(heads) - 2)])
                continue
            name = f"{row.name}, one set" if row.one_set else row.name
            scores = [in_words(values) for values in (row.accuracies, row.balanced) if values]
            gains = in_words(row.gains, signed=True) if row.gains else "-"
            rows.append([name, *scores, gains, f"{row.seconds:.1f}", f"{row.floats:,}"])
        whole = ", ".join(map(str, self.seeds))
        ends = (
            ""
            if self.complete
            else f"\n\nNot complete: only the seeds that every row has ({whole})."
        )
        return markdown(heads, rows) + ends

    def records(self) -> list[dict[str, Any]]:
        """One line for each row and seed."""
        return [
            {
                "method": row.name,
                "labels": self.labels,
                "images": sum(row.counts),
                "one_set": row.one_set,
                "seed": seed,
                "accuracy": row.accuracies[place],
                "balanced": row.balanced[place] if row.balanced else None,
                "gain": row.gains[place] if row.gains else None,
                "seconds": row.seconds,
                "floats": row.floats,
            }
            for row in self.rows
            if not row.failed
            for place, seed in enumerate(self.seeds)
        ]


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
    """Distil by each method and train a student on each set, once for each seed, beside as many
    random real images of each class.

    A seed is every draw: the method's, the real images, the student's first weights and views. So
    rows are paired, seed by seed.

    Args:
        methods: a list, or name -> what it is: names of methods, in their teaching presets;
            Configs, or pairs (method, Config) where a Config does not say whose it is; sets that
            were made before, one for all seeds.
        teacher: for methods that ask one, and for labels "stored" and "online"; where it is needed
            and none is given, one is trained.
        images_per_class: of all that have this setting and no Config of their own.
        labels: what students learn from; of every row.
        seeds: one set and one student each.
        config: how students are trained; default `supervised.Config.for_data(data)`.
        jobs: how many seeds at once, each in a process of joblib's, as in `evaluate`; on a cluster
            by `joblib.parallel_config`.

    Returns:
        A `Comparison`. A method that fails on the way costs no other row: its own says why. After a
        keyboard interrupt it holds the seeds that every row has, with `complete=False`.

    Raises:
        DDLabError: before anything is computed: no methods, an unknown one, two of one name; labels
            that a method's sets do not have, more images of a class than there are real ones to
            compare with; a set or a teacher that does not fit.
        KeyboardInterrupt: before every row had a seed.
    """
    asked = asked_rows(methods, images_per_class)
    given_sets = [entry.given for entry in asked.values() if entry.given is not None]
    storage.notice_edits(data, *given_sets, *as_teachers(teacher, "teacher"))
    options: dict[str, Any] = {"labels": labels, "config": config, "device": device}
    inputs = Inputs(data=data, teachers=() if teacher is None else (teacher,), device=device)
    needed = labels != "hard" or any(entry.needs_teacher for entry in asked.values())
    for name, entry in asked.items():
        entry.check(name, inputs, labels)
        if entry.given is not None and (teacher is not None or not needed):
            prepared(entry.given, data, teacher=teacher, seeds=seeds, **options)
    check_jobs(
        jobs,
        inputs,
        *(
            getattr(each, "network", None)
            for each in (config, *(row.settings for row in asked.values()))
        ),
    )
    if teacher is None and needed:
        teacher = whole(train_teacher(data, device=device, progress=progress))
        for entry in asked.values():
            if entry.given is not None:
                prepared(entry.given, data, teacher=teacher, seeds=seeds, **options)
    options |= {"teacher": teacher}
    found, failed = _gathered(asked, data, seeds, options, jobs, progress)
    rows = [
        Compared(name=name, failed=failed[name])
        if name in failed
        else _row(name, asked[name].given is not None, found)
        for name in asked
    ]
    sizes = set.intersection(
        *({key for key in of_seed if isinstance(key, tuple)} for of_seed in found.values())
    )
    rows += [
        _row(counts, False, found)
        for counts in sorted(sizes, key=lambda counts: (sum(counts), counts))
    ]
    return Comparison(
        rows=tuple(rows), labels=labels, seeds=tuple(found), complete=len(found) == len(seeds)
    )


@dataclass(frozen=True)
class _Made:
    """Of one set: its student's accuracy, how long it took to make, its size."""

    accuracy: float
    balanced: float | None
    seconds: float
    floats: int
    counts: Counts


# Name of a row, or counts of random real images -> what was found, or why nothing was.
Found = dict[Any, _Made | str]


def _gathered(
    entries: Mapping[str, Entry],
    data: ImageData,
    seeds: Sequence[int],
    options: dict[str, Any],
    jobs: int | None,
    progress: bool,
) -> tuple[dict[int, Found], dict[str, str]]:
    """Return seed -> what was found, of the seeds that are finished; and why methods failed."""
    results: dict[int, Found] = {}
    failures: dict[str, str] = {}
    bar = progress_bar("sets with a student", len(entries) * len(seeds), progress, unit="set")
    runs_here = is_here(jobs)

    def tasks() -> Iterator[Any]:
        # Asked for one by one: a method that failed with an earlier seed is not tried again.
        for seed in seeds:
            remaining = {name: entry for name, entry in entries.items() if name not in failures}
            yield seed, remaining, data, options, bar.update if runs_here else None

    try:
        for number, of_seed in run_tasks(_of_seed, tasks(), jobs=jobs):
            failures |= {name: made for name, made in of_seed.items() if isinstance(made, str)}
            results[seeds[number]] = of_seed
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


def _of_seed(
    seed: int,
    asked: Mapping[str, Entry],
    data: ImageData,
    options: dict[str, Any],
    done: Callable[[], Any] | None,
) -> Found:
    """Return a set and a student of each row, and of as many random real images as each holds."""
    found: Found = {}
    making = {name: options[name] for name in ("teacher", "device")}

    def add(key: Any, entry: Entry) -> None:
        begun = time.perf_counter()
        try:
            made = entry.made(seed, data, **making)
            seconds = time.perf_counter() - begun
            counts = counts_of(made)
            check_counts(str(key), counts, data)
            student = evaluate(made, data, seeds=[seed], progress=False, **options)
            found[key] = _Made(
                student.mean, student.balanced, seconds, _floats(made, options), counts
            )
        except Exception as problem:  # whatever a reader's method raises; the other rows stand
            found[key] = (
                f"{'' if isinstance(problem, DDLabError) else f'{type(problem).__name__}: '}{problem}"
            )

    for name, entry in asked.items():
        add(name, entry)
        if done is not None:
            done()
    for counts in dict.fromkeys(made.counts for made in found.values() if isinstance(made, _Made)):
        begun = time.perf_counter()
        random = _random(counts, seed, data, **making)
        seconds = time.perf_counter() - begun
        student = evaluate(random, data, seeds=[seed], progress=False, **options)
        found[counts] = _Made(
            student.mean, student.balanced, seconds, _floats(random, options), counts
        )
    return found


def _floats(made: DistilledSet, options: dict[str, Any]) -> int:
    return made.storage_floats(options["labels"], options["teacher"])


def _random(
    counts: Counts, seed: int, data: ImageData, *, teacher: Network | None, device: Any
) -> DistilledSet:
    """So many random real images of each class."""
    config = selection.Config(images_per_class=max(counts), seed=seed)
    made = whole(distill("selection", data, teacher, config, device, progress=False))
    if min(counts) == max(counts):
        return made
    kept = torch.cat(
        [torch.arange(count) + label * max(counts) for label, count in enumerate(counts)]
    )
    return from_images(made.images[kept], made.labels[kept], data, teacher)


def _row(key: Any, one_set: bool, found: Mapping[int, Found]) -> Compared:
    """Return a row of its numbers, all seeds."""
    own: list[Any] = [of_seed[key] for of_seed in found.values()]
    rivals: list[Any] = [
        of_seed[made.counts] for made, of_seed in zip(own, found.values(), strict=True)
    ]
    is_random = isinstance(key, tuple)
    return Compared(
        name=f"{RANDOM}, {size_words(key)}" if is_random else key,
        accuracies=tuple(made.accuracy for made in own),
        gains=()
        if is_random
        else tuple(made.accuracy - rival.accuracy for made, rival in zip(own, rivals, strict=True)),
        seconds=0.0 if one_set else statistics.fmean(made.seconds for made in own),
        floats=own[0].floats,
        counts=own[0].counts,
        one_set=one_set,
        balanced=tuple(made.balanced for made in own if made.balanced is not None),
    )
