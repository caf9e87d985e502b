"""Every printed number that `replicate` was run for: how far ours lies from it, and what differed.

Replications()
"""

import html
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from ... import records
from ...core import Parameters, narrow, parameter
from ...explorers import Chart, Html, Lab, Named, Results
from ...figures import finish_figure, series_style, start_figure
from ...figures.theme import literal, neutral

_HEIGHT = 440
_TEXTS = ("dataset", "machine", "source", "differs")


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Which replication is on show; `row` gets its choices from the record."""

    row: str = parameter("", help="Whose differences are listed.")


class World:
    """The recorded replications that have a printed number, the lowest difference first."""

    def __init__(self) -> None:
        rows = [entry for entry in records.load("replications").rows if entry["printed"]]
        rows.sort(key=lambda entry: entry["difference"])
        self.entries = {entry["row"]: entry for entry in rows}
        names = tuple(self.entries)
        middle = min(names, key=lambda name: abs(self.entries[name]["difference"]))
        self.start = narrow(Settings, row=names)(row=middle)


def rows_data(world: World, settings: Settings, results: Results) -> Named:
    """Return all rows, and the one on show."""
    return {"entries": tuple(world.entries.items()), "on_show": settings.row}


def rows_chart(entries: tuple[tuple[str, dict[str, Any]], ...], on_show: str) -> go.Figure:
    """Draw ours minus printed for each row; the interval over sets, where there are several."""
    figure = start_figure(
        title="Ours minus printed", x_label="difference (points)", y_label="row", height=_HEIGHT
    )
    place = {name: -position for position, (name, _) in enumerate(entries)}
    groups = {"several sets, 95% interval": True, "one set": False}
    for index, (name, several) in enumerate(groups.items()):
        style = series_style(index)
        chosen = {row: entry for row, entry in entries if (entry["sets"] > 1) == several}
        spread = [(entry["high"] - entry["low"]) / 2 if several else 0 for entry in chosen.values()]
        figure.add_scatter(
            x=[entry["difference"] for entry in chosen.values()],
            y=[place[row] for row in chosen],
            error_x={"array": spread, "visible": several},
            mode="markers",
            name=name,
            customdata=list(chosen),
            marker={
                "size": 11,
                "color": style.colour,
                "symbol": style.marker if several else f"{style.marker}-open",
            },
        )
    difference = dict(entries)[on_show]["difference"]
    ring = {"symbol": "circle-open", "size": 19, "color": neutral("text"), "line": {"width": 2}}
    figure.add_scatter(
        x=[difference], y=[place[on_show]], mode="markers", marker=ring, showlegend=False
    )
    figure.add_vline(0, line={"color": neutral("quiet"), "dash": "dash", "width": 1.5})
    figure.update_yaxes(
        title="",
        tickvals=list(place.values()),
        ticktext=[literal(row) for row in place],
        tickfont_size=11,
    )
    listed = ", ".join(f"{row} {entry['difference']:+.1f}" for row, entry in entries)
    return finish_figure(figure, alt=f"Ours minus printed in points: {listed}.")


def list_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the row on show."""
    return {"name": settings.row, "entry": world.entries[settings.row]}


def differences(name: str, entry: dict[str, Any]) -> str:
    """Return what a row took and what differs from the paper, in one paragraph."""
    minutes = entry["seconds"] / 60
    took = "less than a minute" if minutes < 1 else f"{minutes:.0f} minute{'s' * (minutes >= 1.5)}"
    budget = (
        f"{entry['sets']} set{'s' * (entry['sets'] > 1)}, {entry['students']} "
        f"student{'s' * (entry['students'] > 1)} of each, {took}"
    )
    name, dataset, machine, source, differs = (
        html.escape(text) for text in (name, *(entry[key] for key in _TEXTS))
    )
    return (
        f'<p style="line-height:1.4"><b>{name}</b> ({dataset}): {budget} on {machine}. Printed by '
        f"{source}. <b>What differs:</b> {differs or 'nothing that is known'}.</p>"
    )


def choose(world: World, settings: Settings, clicked: dict[str, Any]) -> Settings:
    """Return the row whose point was clicked."""
    name = clicked.get("customdata")
    return settings.replace(row=name) if name in world.entries else settings


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say both numbers of the row on show."""
    entry = world.entries[settings.row]
    deviation = f" ± {entry['deviation']:g}" if entry["deviation"] else ""
    return (
        f"{settings.row}: printed {entry['printed']:g}{deviation}, ours {entry['ours']:.1f}, "
        f"{entry['difference']:+.1f} points."
    )


Replications = Lab(
    "Which printed numbers did we reach?",
    World,
    controls=("row",),
    views=[
        Chart(rows_data, rows_chart, click=choose, ghosts=False),
        Html(list_data, differences),
    ],
    sentence=sentence,
)
