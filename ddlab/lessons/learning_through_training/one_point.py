"""One training point, seen N times by a student with one weight: where should the point lie?

OnePoint()
"""

from dataclasses import dataclass

import plotly.graph_objects as go

from ...core.parameters import Parameters, parameter
from ...explorers import Lab, Quest, Results
from ...explorers.ready import HEIGHT
from ...figures.theme import finish_figure, legend_below
from ..shared import dragging, one_weight

# Real loss that the quest asks for; the other start must end ten times above it.
_LEARNED = 0.01
# Another start, which the point has not met.
OTHER_START = 2.0


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Steps on the point, their rate, the start, and where the point lies."""

    steps: int = parameter(
        2, symbol="N", range=(1, 6), explorable=(1, 6), help="Steps of training, all on the point."
    )
    rate: float = parameter(
        0.3, range=(0, 2), explorable=(0.1, 1), step=0.1, help="Of every step (η)."
    )
    first_weight: float = parameter(
        -0.6, range=(-2, 2), explorable=(-2, 2), step=0.1, help="Of the student before (θ₀)."
    )
    points: str = parameter("0.8 0.3", help="Where the point lies, such as '1 1'.")

    def rules(self) -> None:
        """Raise unless there is one point."""
        one_weight.check(self.points, 1)


class World:
    """Nothing but where the point lies at first."""

    start = Settings()


def losses(settings: Settings) -> tuple[float, float]:
    """Return the real loss after N steps from the start on show, and from another one."""
    points = dragging.numbers(settings.points)
    order = [0] * settings.steps
    values = []
    for first in (settings.first_weight, OTHER_START):
        last = one_weight.weights_along(points, order, settings.rate, first)[-1]
        values.append(float(one_weight.real_loss(last)))
    loss, other_loss = values
    return loss, other_loss


def plane(settings: Settings) -> go.Figure:
    """Draw the student after each of N steps on the point."""
    points = dragging.numbers(settings.points)
    title = f"The student's line after each of {settings.steps} steps"
    order = [0] * settings.steps
    figure = one_weight.draw(
        points, order, settings.rate, settings.first_weight, title=title, height=HEIGHT
    )
    loss, other_loss = losses(settings)
    alt = f"{title}; real loss {loss:.3f}, from another start {other_loss:.3f}."
    return finish_figure(legend_below(figure), alt=alt)


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how large the real loss is from this start and from another one."""
    loss, other_loss = losses(settings)
    return (
        f"Real loss of the trained student: {loss:.3f} from this start, {other_loss:.3f} from a start at "
        f"{OTHER_START:g}. The arrow shows where the real loss, through all steps, pulls the point."
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the point teaches its own start, and off the real line fails the other."""
    loss, other_loss = losses(settings)
    return loss < _LEARNED and other_loss > 10 * _LEARNED


OnePoint = Lab(
    "One point, N steps",
    World,
    controls=("steps", "rate", "first_weight"),
    labels={"rate": "rate (η)", "first_weight": "start (θ₀)", "steps": "steps (N)"},
    views=[one_weight.chart(plane)],
    sentence=sentence,
    quest=Quest(
        f"Drag the point until this start has a loss below {_LEARNED}, and the start at "
        f"{OTHER_START:g} more than {10 * _LEARNED:g}.",
        quest_met,
    ),
)
