"""Two points and their labels, which a reader moves: how many classes can they teach?

TwoPoints()

Each place on the line listens to both points, to the nearer one more, and takes the class of which
it hears most (Sucholutsky & Schonlau 2021, *Less than one-shot learning*, arXiv 2009.08449).
"""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from ...core.parameters import Parameters, parameter
from ...explorers.lab import Lab, Results
from ...explorers.lines import Quest
from ...explorers.ready import HEIGHT
from ...explorers.views import Chart
from ...figures.theme import finish_figure, legend_below, line_style, series_style, start_figure

CLASSES = ("A", "B", "C")
PLACES = np.linspace(0, 1, 201)


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Of each point's label the share of class B; the rest of the left one is A, of the right one
    C.
    """

    left: float = parameter(
        0.0, range=(0, 1), explorable=(0, 1), step=0.05, help="B's share at the left point."
    )
    right: float = parameter(
        0.0, range=(0, 1), explorable=(0, 1), step=0.05, help="B's share at the right point."
    )
    nearness: int = parameter(
        1, range=(1, 5), explorable=(1, 5), help="A point counts by 1 / distance to this power."
    )


def heard(settings: Settings) -> np.ndarray:
    """Return how much of A, B and C each place hears: [places, 3]."""
    left_label, right = (
        np.array([1 - settings.left, settings.left, 0]),
        np.array([0, settings.right, 1 - settings.right]),
    )
    nearness = (1 - PLACES) ** settings.nearness
    far = PLACES**settings.nearness
    return (nearness[:, None] * left_label + far[:, None] * right) / (nearness + far)[:, None]


def classes(settings: Settings) -> list[str]:
    """Return the classes that win somewhere, from left to right."""
    winners = heard(settings).argmax(1)
    winning_classes = []
    for index, winner in enumerate(winners):
        if index == 0 or winner != winners[index - 1]:
            winning_classes.append(CLASSES[winner])
    return winning_classes


def lines(settings: Settings) -> go.Figure:
    """Draw what is heard along the line, and underneath who wins."""
    figure = start_figure(
        title="Two points", x_label="place", y_label="what it hears", height=HEIGHT
    )
    shares = heard(settings)
    for index, name in enumerate(CLASSES):
        style = series_style(index)
        won = shares.argmax(1) == index
        figure.add_scatter(x=PLACES, y=shares[:, index], name=f"class {name}", **line_style(style))
        figure.add_scatter(
            x=PLACES[won],
            y=np.full(won.sum(), -0.08),
            mode="markers",
            showlegend=False,
            hoverinfo="skip",
            marker={"color": style.colour, "symbol": "square", "size": 9},
        )
    winners = ", ".join(classes(settings))
    figure.update_layout(title={"text": f"Two points, classes won: {winners}"}).update_yaxes(
        range=[-0.15, 1.05]
    )
    return finish_figure(legend_below(figure), alt=f"From left to right the classes {winners} win.")


def sentence(world: "World", settings: Settings, results: Results) -> str:
    """Say who wins where."""
    many = len(set(classes(settings)))
    return f"Two points teach {many} class{'es' * (many > 1)}: {', '.join(classes(settings))}."


class World:
    """Nothing but where the sliders start."""

    start = Settings()


TwoPoints = Lab(
    "Two points: how many classes?",
    World,
    controls=("left", "right", "nearness"),
    labels={"left": "B at the left", "right": "B at the right"},
    views=[Chart(lambda world, settings, results: (settings,), lines)],
    sentence=sentence,
    quest=Quest(
        "Teach three classes with two points.",
        lambda world, settings, results: len(set(classes(settings))) == 3,
    ),
)
