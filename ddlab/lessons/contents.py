"""What each lesson promises, and the indexes of lessons and methods; the start page and the README show the same table of lessons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .. import methods
from ..core.errors import check_text
from ..core.registry import Registry, folders


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a lesson promises: seconds of wall time on two CPU cores, CPU-seconds, MB resident at most; minutes to read.

    Attributes:
        folder: the lesson's package; its `experiments` has the checks of the exercises.
        title, finds: for the index; `finds` says in one line what a reader finds out.
        threads: of PyTorch in the teaching preset on a CPU. For small networks one is fastest: waking a second one takes longer than
            what it does (100 recovery steps of ten 16-pixel images: .54 s with one, .74 to .93 s with two), and the browser has the
            other core.
        one_thread_seconds: of wall time where there is one core only, as on Binder; `tests/test_pages.py` measures it.
    """

    folder: str
    title: str
    finds: str
    wall_seconds: float
    cpu_seconds: float
    megabytes: float
    minutes: int
    threads: int = 1
    one_thread_seconds: float = 180

    def seconds(self, cores: int) -> float:
        """The wall time that is promised where so many cores are free."""
        return self.one_thread_seconds if cores == 1 else self.wall_seconds


def _lessons() -> dict[str, Budget]:
    """Of every folder that has a budget, in the order of the notebooks."""
    found = {folder.NAME: folder.BUDGET for folder in folders(__name__.rpartition(".")[0]) if hasattr(folder, "BUDGET")}
    return dict(sorted(found.items()))


LESSONS: Mapping[str, Budget] = Registry(_lessons)


def index(folder: str = "") -> str:
    """The lessons as a Markdown table with links: what a reader finds out, minutes to read, seconds and memory to run.

    Args:
        folder: where the notebooks are, seen from the page that shows the table: "" beside them, "notebooks/" from the README.
    """
    check_text("folder", folder)
    lines = ["| | lesson | you find out | read | run | memory |", "|---|---|---|---|---|---|"]
    for name, lesson in LESSONS.items():
        number = name.partition("_")[0]
        lines.append(
            f"| {number} | [{lesson.title}]({folder}{name}.ipynb) | {lesson.finds} | {lesson.minutes} min "
            f"| {lesson.wall_seconds:g} s | {lesson.megabytes:,g} MB |"
        )
    return "\n".join(lines)


def method_index() -> str:
    """The methods as a Markdown table: name and aliases, and the first line of each module's docstring."""
    lines = ["| name | method |", "|---|---|"]
    for name, aliases in methods.MODULES.items():
        words = (methods.get(name).__doc__ or "").strip().splitlines()[0].removesuffix(".")
        lines.append(f"| {', '.join(f'`{word}`' for word in (name, *aliases))} | {words} |")
    return "\n".join(lines)
