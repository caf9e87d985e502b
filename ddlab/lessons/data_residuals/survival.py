"""One pixel through FADRM's merges: what is left of each stage's change?

    Survival()

Every stage changes the pixel by one unit, and each merge (equation 9) keeps the share alpha of all
changes so far.
"""

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from ...core import Parameters, parameter
from ...explorers import Chart, Lab, Results
from ...explorers.ready import world_of
from ...figures import finish_figure, series_style, start_figure
from ...figures.theme import faint, legend_below

_HEIGHT = 400


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """The share that the optimised pixel keeps in a merge, and the number of merges."""

    alpha: float = parameter(
        1.0, range=(0, 1), explorable=(0, 1), step=0.1, help="Share of the optimised pixel."
    )
    merges: int = parameter(3, range=(1, 6), explorable=(1, 6), help="Between the stages.")


def moments(settings: Settings) -> dict[str, list[float]]:
    """Return what is left of the change of each stage so far, after every stage and every merge."""
    changes: list[float] = []
    by_moment = {}
    for stage in range(1, settings.merges + 2):
        if stage > 1:
            changes = [settings.alpha * change for change in changes]
            by_moment[f"merge {stage - 1}"] = changes
        changes = [*changes, 1.0]
        by_moment[f"stage {stage}"] = changes
    return by_moment


def bars(settings: Settings) -> go.Figure:
    """Draw a stacked bar for each moment, with a part for each stage."""
    title = "How far one pixel is from the real image"
    figure = start_figure(
        title=title, x_label="moment", y_label="change (units of one stage)", height=_HEIGHT
    )
    by_moment = moments(settings)
    for stage in range(settings.merges + 1):
        style = series_style(stage)
        figure.add_bar(
            x=[name.replace(" ", "<br>") for name in by_moment],
            y=[changes[stage] if stage < len(changes) else 0 for changes in by_moment.values()],
            name=f"change of stage {stage + 1}",
            marker={
                "color": faint(style.colour, 0.75),
                "line": {"color": style.colour, "width": 1},
                "pattern": {"shape": style.pattern, "solidity": 0.25},
            },
        )
    figure.update_layout(barmode="stack")
    figure.update_xaxes(type="category", title="").update_yaxes(range=[0, settings.merges + 1.1])
    return finish_figure(legend_below(figure), alt=_words(settings))


def _words(settings: Settings) -> str:
    left = list(moments(settings).values())[-1]
    shares = ", ".join(f"{change:.0%}" for change in left)
    return f"In the end {shares} are left of what stages 1 to {len(left)} changed."


def sentence(world: Any, settings: Settings, results: Results) -> str:
    """Say what is left of each stage, and how far the pixel has come in all."""
    total = sum(list(moments(settings).values())[-1])
    return (
        f"α = {settings.alpha:g}: {_words(settings)[0].lower()}{_words(settings)[1:-1]}, together "
        f"{total:.2g} of {settings.merges + 1} units."
    )


Survival = Lab(
    "One pixel through the merges",
    world_of(Settings()),
    controls=("alpha", "merges"),
    labels={"alpha": "kept in a merge (α)", "merges": "merges (k)"},
    views=[Chart(lambda world, settings, results: (settings,), bars, ghosts=False)],
    sentence=sentence,
    pairs=[("alpha", "merges")],
)
