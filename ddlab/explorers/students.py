"""Students of several sets in a laboratory: a button that trains them, and who is ahead of whom.

    STUDENTS = Students(sets)                # (world, settings, results) -> set -> (compute, *arguments)
    Lab(..., shared=STUDENTS.accuracies, buttons=[STUDENTS.button("On the images on show")])

The first students of all sets are trained first, then the second: after each round every pair is
whole. Those of one seed share first weights and views, so that their difference is the sets'.
"""

import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core import interval
from ..figures import finish_figure, series_style, start_figure
from ..figures.theme import DASHED
from .jobs import Compute, Job, Value
from .schedule import Results
from .views import View

Accuracies = Sequence[float | None]
"""Of the students of one set, seed by seed; None for one who is not there yet."""


class Students:
    """The students of a laboratory's sets.

    Args:
        sets: (world, settings, results) -> set -> (compute, *arguments): `compute(*arguments, seed)`
            is the test accuracy of the student of a seed of `world.seeds`. A set is named by
            anything hashable.
        first: (world, settings, results) -> the jobs that come before, such as making the images.
    """

    def __init__(
        self,
        sets: Callable[[Any, Any, Results], Mapping[Any, Sequence[Any]]],
        first: Callable[[Any, Any, Results], Iterable[Job]] = lambda world, settings, results: (),
    ) -> None:
        self._sets = sets
        self._first = first

    def _values(self, world: Any, settings: Any, results: Results) -> dict[Any, list[Value]]:
        values = {}
        for name, arguments in self._sets(world, settings, results).items():
            values[name] = [Value(*arguments, seed) for seed in world.seeds]
        return values

    def jobs(self, world: Any, settings: Any, results: Results) -> list[Job]:
        """List what is trained, seed by seed."""
        jobs = list(self._first(world, settings, results))
        # Seed by seed and not set by set: each round ends with whole pairs, so an early stop is
        # still a fair comparison.
        for students_of_seed in zip(*self._values(world, settings, results).values(), strict=True):
            jobs.extend(students_of_seed)
        return jobs

    def accuracies(
        self, world: Any, settings: Any, results: Results
    ) -> dict[Any, tuple[float | None, ...]]:
        """Return what is known: set -> `Accuracies`."""
        return {
            name: tuple(map(results, values))
            for name, values in self._values(world, settings, results).items()
        }

    def button(self, hint: str, view: View | None = None) -> Compute:
        """Return the button; a press brings `view` to the front, and lasts while controls move."""
        return Compute("Train students", self.jobs, "graduation-cap", hint, view=view)


def finished(accuracies: Accuracies) -> list[float]:
    """Return the accuracies of those who are there."""
    return [accuracy for accuracy in accuracies if accuracy is not None]


def mean_accuracies(accuracies: Mapping[Hashable, Accuracies]) -> dict[Any, float]:
    """Return the mean of each set that has a student."""
    return {
        name: statistics.fmean(finished(values))
        for name, values in accuracies.items()
        if finished(values)
    }


def differences(accuracies: Accuracies, rivals: Accuracies) -> list[float]:
    """Return accuracy minus rival's, of the seeds whose two students are there."""
    return [
        accuracy - rival
        for accuracy, rival in zip(accuracies, rivals, strict=True)
        if accuracy is not None and rival is not None
    ]


def difference_chart(
    ahead: Mapping[str, Sequence[float]],
    rival: str,
    *,
    learned: Iterable[str] = (),
    height: int,
) -> go.Figure:
    """Draw how far the students of each set are ahead of the rival's: each pair, and the mean.

    Args:
        ahead: set -> `differences`; one without any is left out.
        rival: its name, for the title.
        learned: the sets in the first colour; the others have the second.
    """
    title = f"Students, minus {rival}"
    figure = start_figure(
        title=title, x_label="difference of accuracy (points)", y_label="images", height=height
    )
    values_by_name = {name: 100 * np.array(values) for name, values in ahead.items() if values}
    for row, (name, values) in enumerate(values_by_name.items()):
        style = series_style(0 if name in learned else 1)
        dot = {"size": 5, "opacity": 0.5}
        for x, marker in ((values, dot), ([statistics.fmean(values)], {"size": 12})):
            marker |= {"color": style.colour, "symbol": style.marker}
            figure.add_scatter(
                x=x, y=[row] * len(x), mode="markers", name=name, marker=marker, showlegend=False
            )
    figure.add_vline(x=0, line=DASHED)
    figure.update_yaxes(
        tickvals=list(range(len(values_by_name))),
        ticktext=list(values_by_name),
        title="",
        range=[-0.6, len(values_by_name) - 0.4],
    )
    clauses = [f"{name} {statistics.fmean(values):+.1f}" for name, values in values_by_name.items()]
    description = ", ".join(clauses)
    return finish_figure(figure, alt=f"{title}, mean and each student, in points: {description}.")


def accuracy_text(accuracies: Accuracies, *, signed: bool = False) -> str:
    """Write the mean and its 95% interval over students, as in "41.2% (39.0% to 43.4%)".

    Without any student it is "not yet".
    """
    finished_accuracies = finished(accuracies)
    return (
        interval.interval_text(finished_accuracies, ".1%", signed=signed)
        if finished_accuracies
        else "not yet"
    )
