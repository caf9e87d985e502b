"""What a laboratory computes, and the buttons that ask for it.

    Value(world.accuracy, config)                # computed once and remembered
    Part(run, 20)                                # a run as far as step 20
    Compute("Train students", students)          # a button that asks for jobs
    Change("Other seeds", other_seeds)           # a button that changes the settings

A job is a `Run`, left anywhere and resumed where it stood, a `Part` of one, or a `Value`, which is
finished and kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from ..runs import Run
from .views import View

if TYPE_CHECKING:
    from .schedule import Results

Job = Union[Run, "Part", "Value"]
Jobs = Sequence[Job]


@dataclass(frozen=True)
class Value:
    """Something to compute once: `compute(*arguments, watch=watch)`, with hashable arguments.

    `watch(words, share)` is called now and then with what goes on and how much of it is done, from
    0 to 1; it raises where the reader has moved on.

    >>> def square(number, *, watch):
    ...     watch("squaring", 0.5)
    ...     return number**2
    >>> job = Value(square, 3)
    >>> job == Value(square, 3), job.compute(*job.arguments, watch=print)
    squaring 0.5
    (True, 9)
    """

    compute: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __init__(self, compute: Callable[..., Any], *arguments: Any) -> None:
        object.__setattr__(self, "compute", compute)
        object.__setattr__(self, "arguments", arguments)


@dataclass(frozen=True)
class Part:
    """A run as far as step `until`, where it can be looked at later."""

    run: Run
    until: int


def run_and_end(job: Run | Part) -> tuple[Run, int | None]:
    """Return the run of a job and the step that it goes to, None for the end."""
    return (job.run, job.until) if isinstance(job, Part) else (job, None)


@dataclass(frozen=True, eq=False)
class Compute:
    """A button that asks for jobs. It is grey while they are done and when all are finished.

    Attributes:
        words: on the button, or (world, settings) -> words.
        jobs: (world, settings, results) -> jobs.
        icon, hint: of the button.
        stays: whether it goes on while the reader looks at other settings. Else these come first,
            and what is not done is dropped.
        goes_on: whether it is pressed again by itself for the settings that come next, while its
            jobs are done.
        shows_end: whether a press shows the end of the run. One that asks for the watched run does.
        view: what is brought to the front, out of its tab.

    >>> def students(world, settings, results):
    ...     return [Value(print, seed) for seed in range(settings["students"])]
    >>> len(Compute("Train students", students).jobs(None, {"students": 3}, None))
    3
    """

    words: str | Callable[[Any, Any], str]
    jobs: Callable[[Any, Any, "Results"], Jobs]
    icon: str = "play"
    hint: str = ""
    stays: bool = True
    goes_on: bool = False
    shows_end: bool = False
    view: View | None = None


@dataclass(frozen=True, eq=False)
class Change:
    """A button that changes the settings: settings -> settings.

    >>> Change("Next seed", lambda settings: {**settings, "seed": settings["seed"] + 1}).change({"seed": 0})
    {'seed': 1}
    """

    words: str
    change: Callable[[Any], Any]
    icon: str = "random"
    hint: str = ""
