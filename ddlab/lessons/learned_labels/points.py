"""Two points and their labels, which a reader moves: how many classes can they teach?

TwoPoints()

Each place on the line averages both labels, the nearer point counting more, and belongs to the
class with the largest share (Sucholutsky & Schonlau 2021, *Less than one-shot learning*, arXiv
2009.08449).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...core import Parameters, parameter
from ...explorers import Chart, Lab, Quest, Results
from ...explorers.lab import ALL_PAIRS
from ...explorers.ready import HEIGHT, world_of
from ...figures import finish_figure, line_style, series_style, start_figure
from ...figures.theme import legend_below

CLASSES = ("A", "B", "C")
PLACES = np.linspace(0, 1, 201)


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """The share of class B in each label; the rest of the left label is A, of the right label C."""

    left: float = parameter(
        0.0, range=(0, 1), explorable=(0, 1), step=0.05, help="B's share at the left point."
    )
    right: float = parameter(
        0.0, range=(0, 1), explorable=(0, 1), step=0.05, help="B's share at the right point."
    )
    nearness: int = parameter(
        1,
        range=(1, 5),
        explorable=(1, 5),
        help="A point's weight is 1 / distance to this power.",
    )


def mixed_labels(settings: Settings) -> np.ndarray:
    """Return the shares of A, B and C at each place: [places, 3]."""
    left_label = np.array([1 - settings.left, settings.left, 0])
    right_label = np.array([0, settings.right, 1 - settings.right])
    # 1 / distance to either point, multiplied by both distances so that no weight is infinite.
    left_weight = ((1 - PLACES) ** settings.nearness)[:, None]
    right_weight = (PLACES**settings.nearness)[:, None]
    mixed = left_weight * left_label + right_weight * right_label
    return mixed / (left_weight + right_weight)


def classes(settings: Settings) -> list[str]:
    """Return the classes that win somewhere, from left to right."""
    winners = mixed_labels(settings).argmax(1)
    return [
        CLASSES[winner]
        for index, winner in enumerate(winners)
        if index == 0 or winner != winners[index - 1]
    ]


def lines(settings: Settings) -> go.Figure:
    """Draw the share of each class along the line, and underneath the class that wins."""
    figure = start_figure(
        title="Two points",
        x_label="place between the two points",
        y_label="share of the class",
        height=HEIGHT,
    )
    shares = mixed_labels(settings)
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
    figure.update_layout(
        title={"text": f"From left to right, the classes {winners} win"}
    ).update_yaxes(range=[-0.15, 1.05])
    return finish_figure(legend_below(figure), alt=f"From left to right the classes {winners} win.")


def sentence(world: Any, settings: Settings, results: Results) -> str:
    """Say how many classes win somewhere."""
    count = len(set(classes(settings)))
    return f"Two points teach {count} class{'es' * (count > 1)}: {', '.join(classes(settings))}."


TwoPoints = Lab(
    "Two points: how many classes?",
    world_of(Settings()),
    controls=("left", "right", "nearness"),
    pairs=ALL_PAIRS,
    labels={"left": "B at the left", "right": "B at the right"},
    views=[Chart(lambda world, settings, results: (settings,), lines)],
    sentence=sentence,
    quest=Quest(
        "Teach three classes with two points.",
        lambda world, settings, results: len(set(classes(settings))) == 3,
        solution=[("left", 0.4), ("right", 0.4)],
    ),
)
