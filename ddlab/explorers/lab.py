"""A laboratory is a declaration: settings, the jobs for them, and pure functions that draw results.

    ResidualLab = Lab(
        "Does a residual bring the image back?", World,
        controls=("merge_ratio", "merges"), folded=("learning_rate", "iterations"),
        run=World.run,                       # the slider of steps moves along this run
        jobs=lambda world, settings, run: [run, world.with_ratio(run.config, 1.0)],
        buttons=[Compute("Train students", students)],
        views=[Strip(strip_data, strip), Chart(curve_data, curves, cursor=step_on_show)],
        sentence=sentence,
    )
    ResidualLab(data, teacher)               # World(data, teacher); its `start` are first settings
    ResidualLab(data, teacher).run()         # does all jobs in the foreground, to be displayed

Every function takes the world and the settings, which are without a step; it computes nothing that
takes long and changes nothing. All else is written once: `Schedule` has the jobs, their thread and
what is known, newest settings first; `Laboratory` has the page, where only what changed is drawn.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from ..core import describe
from ..runs import Run
from .controls import label_of, plain_value
from .jobs import Change, Compute, Jobs
from .lines import Quest
from .page import Laboratory
from .schedule import Results
from .views import View

ALL_PAIRS: Literal["all"] = "all"
"""`Lab.pairs` of a laboratory whose states are cheap: every two controls in front."""


def _no_jobs(world: Any, settings: Any, run: Any) -> list:
    """Compute nothing in a second thread."""
    return []


@dataclass(frozen=True, eq=False)
class Lab:
    """A declared laboratory; called with the arguments of its world it makes a `Laboratory`.

    Functions take (world, settings) unless another signature is given.

    Attributes:
        title: the question that the laboratory answers, or world -> this.
        make_world: makes the world from the arguments of a call; its `start` are first settings.
        controls, folded: fields of the settings, or world -> these: those that are seen at once, and
            those that are folded away.
        views: of `explorers.views`, from top to bottom, or world -> these.
        sentence: (world, settings, results) -> what the views show, in words.
        run: the `Run` that the slider of steps moves along; begun before anything is on show.
        jobs: (world, settings, that run or None) -> the jobs for these settings, the most
            interesting first.
        opens_with: how many of them are done before anything is on show, for the first settings.
        shared: (world, settings, results) -> what views, sentence and quest share; computed once
            for all of them, as `results.shared`.
        step_label: (world, settings, step) -> how the slider calls a step.
        to_end: fields whose change shows the end of the run.
        check: raises `DDLabError` for settings that cannot be, as `run` and `jobs` may; the
            settings before them then stay on show.
        unused: names of fields that play no part.
        job_words: (world, job) -> what is said beside the bar.
        buttons: of `Compute` and `Change`, or world -> these.
        shows_newest: whether a run that goes on is shown as it stands, also between the steps that
            it keeps.
        labels: field -> words.
        choice_words: world -> field -> (choice -> its words).
        opens: control -> the view whose tab opens when it moves.
        stops: world -> field -> (low, high) of a slider with round numbers, or stop -> its words.
        quest: what the reader is asked to reach, or world -> this; checked at every drawing.
        question: (words, answers): what the reader commits to before a control moves. Until then
            `results.answer` is None, and the views show nothing that gives it away.
        pairs: two controls each, whose combinations are recorded for a page without a kernel, because
            the idea of the page lies in them; one of the two may be folded away, if clicks move it.
            `ALL_PAIRS`, where a state is cheap, are those of all in front.
        recorded: control -> how many of its stops are recorded for the page of a lesson at most,
            where each of them takes seconds, or much of a page's bytes; or world -> this.
    """

    title: str | Callable[[Any], str]
    make_world: Callable[..., Any]
    _: KW_ONLY
    controls: Sequence[str] | Callable[[Any], Sequence[str]]
    views: Sequence[Any] | Callable[[Any], Sequence[Any]]
    sentence: Callable[[Any, Any, Results], str]
    folded: Sequence[str] | Callable[[Any], Sequence[str]] = ()
    run: Callable[[Any, Any], Run] | None = None
    jobs: Callable[[Any, Any, Any], Jobs] = _no_jobs
    opens_with: int = 0
    shared: Callable[[Any, Any, Results], Any] = lambda world, settings, results: None
    step_label: Callable[[Any, Any, int], str] = lambda world, settings, step: str(step)
    step_words: str = "step"
    to_end: Sequence[str] = ()
    check: Callable[[Any, Any], Any] = lambda world, settings: None
    unused: Callable[[Any, Any], Sequence[str]] = lambda world, settings: ()
    job_words: Callable[[Any, Run], str] = lambda world, run: run.process.NAME
    buttons: Sequence[Compute | Change] | Callable[[Any], Sequence[Compute | Change]] = ()
    shows_newest: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    choice_words: Callable[[Any], dict[str, Callable[[Any], str]]] = lambda world: {}
    opens: Mapping[str, View] = field(default_factory=dict)
    stops: Callable[[Any], Mapping[str, tuple[int, int] | Mapping[Any, str]]] = lambda world: {}
    quest: Quest | Callable[[Any], Quest] | None = None
    question: tuple[str, Sequence[str]] | None = None
    pairs: Sequence[tuple[str, str]] | Literal["all"] = ()
    recorded: Mapping[str, int] | Callable[[Any], Mapping[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # What help shows.
        object.__setattr__(self, "__doc__", self.make_world.__doc__)
        object.__setattr__(self, "__signature__", inspect.signature(self.make_world))

    def __call__(self, *arguments: Any, key: str | None = None, **options: Any) -> Laboratory:
        """Return the laboratory of `make_world(*arguments, **options)`.

        An earlier one of this `key` (default: the title) is closed.
        """
        world = self.make_world(*arguments, **options)
        title = self.title if isinstance(self.title, str) else self.title(world)
        return Laboratory(self, world, title, title if key is None else key)

    @property
    def computes(self) -> bool:
        """Whether anything is computed in a second thread."""
        return self.run is not None or self.jobs is not _no_jobs

    def fields_on_page(self, world: Any) -> tuple[list[str], list[str]]:
        """Return the fields that have a control, and those of them that are folded away.

        A choice of one thing is none.
        """
        described = describe(world.start)
        in_front = self.controls(world) if callable(self.controls) else self.controls
        folded = self.folded(world) if callable(self.folded) else self.folded
        names = [name for name in (*in_front, *folded) if len(described[name].choices or "ab") > 1]
        return names, [name for name in folded if name in names]

    def words_of(self, world: Any, earlier: Any, settings: Any) -> str:
        """Return what earlier settings had where others differ, in the controls' words."""
        described = describe(world.start)
        choice_words = self.choice_words(world)
        names, _ = self.fields_on_page(world)
        clauses = []
        for name in names:
            value = getattr(earlier, name)
            if value == getattr(settings, name):
                continue
            label = self.labels.get(name) or label_of(described[name])
            if isinstance(value, bool):
                clauses.append(f"{'with' if value else 'without'} {label}")
            else:
                clauses.append(f"{label} {choice_words.get(name, plain_value)(value)}")
        # More than two changes at once come from a shared text or a click, and fit into no legend.
        return f"before: {', '.join(clauses)}" if 0 < len(clauses) <= 2 else "before"
