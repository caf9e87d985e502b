"""`compare`: several methods on the same data, beside random real images."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch

from .. import methods as library
from ..core import errors
from ..core.boundary import among, checked, within
from ..core.interval import interval
from ..core.progress import progress_bar
from ..data import ImageData
from ..distilled import DistilledSet
from ..methods.distillation import distill, train_teacher
from ..networks import Network
from ..training import supervised
from .students import Seeds, evaluate
from .tables import Tabled, markdown

RANDOM = "random real images"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One row: a method.

    Attributes:
        accuracies: of a student for each seed, fractions in [0, 1]. gains: these minus those of random real images, seed by seed.
        seconds: to make a set, on average, without its teacher. floats: that the set takes (`DistilledSet.storage_floats`).
    """

    name: str
    accuracies: tuple[float, ...]
    gains: tuple[float, ...]
    seconds: float
    floats: int


@dataclass(frozen=True, kw_only=True)
class Comparison(Tabled):
    """What `compare` found; `rows` stand in the order in which they were given, random real images last."""

    rows: tuple[Compared, ...]
    labels: str
    seeds: tuple[int, ...]

    def table(self) -> str:
        """Accuracy and gain with their 95% intervals, as a Markdown table."""
        heads = ("method", f"accuracy, {self.labels} labels", f"minus {RANDOM}", "seconds a set", "floats")
        gains = ["-" if row.name == RANDOM else _words(row.gains, "+") for row in self.rows]
        rows = [
            (row.name, _words(row.accuracies), gain, f"{row.seconds:.1f}", f"{row.floats:,}")
            for row, gain in zip(self.rows, gains, strict=True)
        ]
        return markdown(heads, rows)

    def __str__(self) -> str:
        return self.table()

    def to_pandas(self) -> Any:
        """A DataFrame: one line for each method and seed.

        Raises:
            DDLabError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as missing:
            raise errors.DDLabError(
                "pandas must be installed for to_pandas; given none (pip install pandas)."
            ) from missing
        return pandas.DataFrame([
            {"method": row.name, "labels": self.labels, "seed": seed, "accuracy": accuracy, "gain": gain,
             "seconds": row.seconds, "floats": row.floats}
            for row in self.rows
            for seed, accuracy, gain in zip(self.seeds, row.accuracies, row.gains, strict=True)
        ])  # fmt: skip


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
    progress: bool = True,
) -> Comparison:
    """Distil by each method and train a student on each set, once for each seed, beside as many random real images.

    A seed is every draw: the method's, the real images, the student's first weights and views. So rows are paired, seed by seed.

    Args:
        methods: names of methods, in their teaching presets; or name -> a method, its Config, or a set that was made before.
        teacher: for methods that ask one, and for labels "stored" and "online"; where it is needed and none is given, one is trained.
        images_per_class: of all that have this setting and no Config of their own. labels: what students learn from; of every row.
        seeds: one set and one student each. config: how students are trained; default `supervised.Config.for_data(data)`.

    Raises:
        DDLabError: no methods, an unknown one, or what `distill` and `evaluate` refuse: a method without labels, say.
    """
    asked = _asked(methods, images_per_class)
    if teacher is None and (labels != "hard" or any(_needs_teacher(each) for each in asked.values())):
        teacher = train_teacher(data, device=device, progress=progress)
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in asked}
    bar = progress_bar("sets with a student", len(asked) * len(seeds), progress, unit="set")
    options: dict[str, Any] = {"teacher": teacher, "device": device}
    try:
        for seed in seeds:
            for name, each in asked.items():
                begun = time.perf_counter()
                made = each if isinstance(each, DistilledSet) else _made(each, seed, data, **options)
                seconds = time.perf_counter() - begun
                student = evaluate(made, data, labels=labels, seeds=[seed], config=config, progress=False, **options)
                found[name].append((student.mean, seconds, made.storage_floats()))
                bar.update()
    finally:
        bar.close()
    random = [accuracy for accuracy, _, _ in found[RANDOM]]
    rows = [
        Compared(
            name=name, accuracies=tuple(accuracy for accuracy, _, _ in each), floats=each[0][2],
            gains=tuple(accuracy - other for (accuracy, _, _), other in zip(each, random, strict=True)),
            seconds=statistics.fmean(seconds for _, seconds, _ in each),
        )
        for name, each in found.items()
    ]  # fmt: skip
    return Comparison(rows=tuple(rows), labels=labels, seeds=tuple(seeds))


def _asked(given: Any, images_per_class: int) -> dict[str, DistilledSet | tuple[Any, Any]]:
    """Name -> a set, or a method's module and Config; random real images last."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        given = {each if isinstance(each, str) else getattr(each, "NAME", ""): each for each in given}
    if not isinstance(given, Mapping) or not given:
        errors.fail(
            "methods", "a list of names of methods, or a mapping of name to method, Config or DistilledSet", given
        )
    modules = {library.get(name).Config: library.get(name) for name in library.names()}
    asked: dict[str, Any] = {}
    for name, each in {**given, RANDOM: "selection"}.items():
        if isinstance(each, DistilledSet):
            asked[name] = each
        elif type(each) in modules:
            asked[name] = (modules[type(each)], each)
        else:
            module = library.get(each)
            settings = getattr(module.Config, "teaching", module.Config)()
            has = hasattr(settings, "images_per_class")
            asked[name] = (module, settings.replace(images_per_class=images_per_class) if has else settings)
    return asked


def _made(each: tuple[Any, Any], seed: int, data: ImageData, **options: Any) -> DistilledSet:
    module, settings = each
    return distill(module, data, config=settings.replace(seed=seed), progress=False, **options)


def _needs_teacher(each: DistilledSet | tuple[Any, Any]) -> bool:
    return not isinstance(each, DistilledSet) and getattr(each[0], "NEEDS_TEACHER", False)


def _words(values: Sequence[float], sign: str = "") -> str:
    """ ".821 (.790 to .852)"."""
    around = interval(values)
    mean = f"{statistics.fmean(values):{sign}.3f}"
    return mean if around is None else f"{mean} ({around[0]:{sign}.3f} to {around[1]:{sign}.3f})"
