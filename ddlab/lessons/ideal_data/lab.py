"""The toy world of two Gaussian classes, trained anew at every move of a slider (ReLA, Figures 1
and 2).

SigmaLab()              distilled samples: seven Sigmas and the chosen one, 20 networks each
RhoLab()                distilled targets: five rhos and the chosen one

Both show what the chosen setting's networks decide, squared error and decisions of all settings at
the end, how they learn, the loss over a plane of weights with the paths of three networks in it,
and the numbers. Nothing is kept from one move to the next but the start and the noise, which all
settings share: what differs is the setting.
"""

from typing import Any

import plotly.graph_objects as go

from ... import figures
from ...explorers.lab import Change, Lab, Results, Value
from ...explorers.lines import Quest
from ...explorers.tables import table
from ...explorers.views import Chart, Html, Row, Tabs
from ...figures.theme import (
    DASHED,
    finish_figure,
    legend_below,
    line_style,
    neutral,
    series_style,
    stacked_figure,
)
from . import drawing
from .world import EXTENT, RHOS, SIGMAS, SQUARED, WRONG, Answer, Settings, World, answer

_HARDEST = "deviation=1,relabelling=0.5"  # the paper's case for targets
# Squared error on G; it opens at .078, 1/2 for every point gives .25, samples of .2 give .062,
# nothing is below .058.
NEAR_ENOUGH = 0.063
_OTHER_SEEDS = 1000  # of all that are counted through


def on_show(world: World, settings: Settings, results: Results) -> tuple[Answer]:
    """Return the answer to these settings.

    While an exact gradient is computed, it is the newest answer there is.
    """
    if not settings.exact_gradient:
        results.compute_now(answer, settings, world.sweep)
    newest = (results(Value(answer, past, world.sweep)) for past in results.past)
    return (
        next(filter(None, newest), None) or results.compute_now(answer, world.start, world.sweep),
    )


def other_seeds(settings: Settings) -> Settings:
    """Return the settings with as many other seeds."""
    return settings.replace(first_seed=(settings.first_seed + settings.seeds) % _OTHER_SEEDS)


# -- what is drawn


def decisions(on_view: Answer) -> go.Figure:
    """Draw the decisions of the chosen setting's networks."""
    return figures.decision_map(**on_view.decisions, extent=EXTENT)


def ends_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the ends of these settings, and those with the noise switched the other way, if known.

    The noise is that of single samples.
    """
    (on_view,) = on_show(world, settings, results)
    switched = on_view.settings.replace(exact_gradient=not on_view.settings.exact_gradient)
    return on_view, results(Value(answer, switched, world.sweep))


def final_chart(on_view: Answer, switched: Answer | None) -> go.Figure:
    """Draw the squared error and the share of wrong decisions at the end, against what is swept."""
    label = "Σ of the samples" if on_view.sweep is SIGMAS else "share of the teacher ρ"
    figure = stacked_figure("On G, after the last update", label, (SQUARED, WRONG), drawing.HEIGHT)
    descriptions = list[str]()
    for row, measure in enumerate((SQUARED, WRONG), start=1):
        panel: dict[str, Any] = {"showlegend": row == 1, "row": row, "col": 1}
        for index, outcome in enumerate(filter(None, (on_view, switched))):
            name = "exact gradient" if outcome.settings.exact_gradient else "one sample per update"
            style = series_style(int(outcome.settings.exact_gradient))
            look = {"opacity": 0.5 if index else 1, **line_style(style, markers=True)}
            y = outcome.means[measure][-1].tolist()
            figure.add_scatter(x=outcome.values, y=y, name=name, legendgroup=name, **look, **panel)
        y = float(on_view.means[measure][-1, on_view.chosen])
        ring = {"symbol": "circle-open", "size": 15, "line": {"width": 2}, "color": neutral("text")}
        look = {
            "name": "chosen",
            "legendgroup": "chosen",
            "mode": "markers",
            "marker": ring,
            "hoverinfo": "skip",
        }
        figure.add_scatter(x=[on_view.values[on_view.chosen]], y=[y], **look, **panel)
        look = {"name": "least possible", "legendgroup": "least", "mode": "lines", "line": DASHED}
        figure.add_scatter(
            x=on_view.values, y=[on_view.least[measure]] * len(on_view.values), **look, **panel
        )
        descriptions.append(f"{measure} {y:.3f}, least possible {on_view.least[measure]:.3f}")
    return finish_figure(
        legend_below(figure),
        alt=f"{on_view.sweep.name(on_view.values[on_view.chosen])}: {'; '.join(descriptions)}.",
    )


def curves(on_view: Answer) -> go.Figure:
    """Draw how all settings learn."""
    return drawing.setting_curves(_y_label(on_view), **_curves(on_view))


def move_curves(figure: go.Figure, on_view: Answer) -> go.Figure:
    """Return the same on a figure of others, if that is of the same measure."""
    has_same_axis = figure.layout.yaxis.title.text == _y_label(on_view)
    return drawing.move_curves(figure, **_curves(on_view)) if has_same_axis else curves(on_view)


def _y_label(on_view: Answer) -> str:
    return (
        "mean squared error on G"
        if on_view.settings.measure == SQUARED
        else "share of wrong decisions on G"
    )


def _curves(on_view: Answer) -> dict[str, Any]:
    measure = on_view.settings.measure
    sweep = on_view.sweep
    chosen = on_view.chosen
    mean = on_view.means[measure]
    return {
        "steps": on_view.steps,
        "curves": {
            sweep.name(value): mean[:, on_view.values.index(value)] for value in sweep.values
        },
        "chosen": (f"chosen, {sweep.name(on_view.values[chosen])}", mean[:, chosen]),
        "error": on_view.errors[measure][:, chosen],
        "least": on_view.least[measure],
    }


def landscape(on_view: Answer) -> go.Figure:
    """Draw the contours, with the paths."""
    return drawing.landscape(**on_view.landscape)


def numbers(on_view: Answer) -> str:
    """Return a table: every setting at the end, on G."""
    end = on_view.means[SQUARED][-1]
    wrong = on_view.means[WRONG][-1]
    rows = []
    for number, value in enumerate(on_view.values):
        marks = ["chosen"] * (number == on_view.chosen) + ["least"] * (number == end.argmin())
        error = f"{end[number]:.4f} ± {on_view.errors[SQUARED][-1, number]:.4f}"
        rows.append((on_view.sweep.name(value), error, f"{1 - wrong[number]:.1%}", " ".join(marks)))
    rows.append(
        ("least possible", f"{on_view.least[SQUARED]:.4f}", f"{1 - on_view.least[WRONG]:.1%}", "")
    )
    caption = (
        f"After {int(on_view.steps[-1])} updates: mean ± standard error of {on_view.seeds} networks"
    )
    return table(caption, ("setting", "squared error on G", "right on G", ""), rows)


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how the chosen setting ends."""
    (on_view,) = on_show(world, settings, results)
    end = on_view.means[SQUARED][-1]
    chosen = on_view.chosen
    names = [on_view.sweep.name(value) for value in on_view.values]
    plane = (
        f" The landscape's plane holds {on_view.landscape['captured']:.0%} of the paths' movement."
    )
    return (
        f"{names[chosen]}: after {int(on_view.steps[-1])} updates the squared error on G is "
        f"{end[chosen]:.4f} "
        f"(standard error {on_view.errors[SQUARED][-1, chosen]:.4f}, {on_view.seeds} networks), "
        f"{1 - on_view.means[WRONG][-1, chosen]:.1%} of its decisions are right. The least of "
        f"all settings is {end.min():.4f}, "
        f"at {names[int(end.argmin())]}; nothing can be below {on_view.least[SQUARED]:.4f}.{plane}"
    )


# -- the quest


def learned(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the chosen networks come near enough to the best there is, on G as the paper has it."""
    (on_view,) = on_show(world, settings, results)
    as_printed = (settings.gap, settings.original_deviation) == (
        world.start.gap,
        world.start.original_deviation,
    )
    return (
        as_printed
        and on_view.settings == settings
        and float(on_view.means[SQUARED][-1, on_view.chosen]) < NEAR_ENOUGH
    )


# -- the labs


def _sigma(settings: str = "") -> World:
    """Return the world of distilled samples: how does their spread decide what networks learn on G?

    See the module.

    Args:
        settings: what is shown first, as a shared text says it, such as "deviation=0.2,steps=200".
    """
    return World(SIGMAS, settings)


def _rho(settings: str = _HARDEST) -> World:
    """Return the world of distilled targets: how much of the label should a teacher's output
    replace? `settings` is as for `SigmaLab`.
    """
    return World(RHOS, settings)


_DECISIONS = Chart(
    on_show,
    decisions,
    move=lambda figure, on_view: figures.move_decisions(figure, **on_view.decisions),
)
_LEARNING = Tabs(
    ("At the end", Chart(ends_data, final_chart)),
    ("Curves", Chart(on_show, curves, move=move_curves)),
    ("Landscape", Chart(on_show, landscape)),
    ("Numbers", Html(on_show, numbers)),
)
_SHARED: dict[str, Any] = {
    "labels": {
        "deviation": "deviation of the samples (Σ)",
        "relabelling": "share of the teacher (ρ)",
        "teacher_deviation": "teacher's deviation (Σ*)",
        "gap": "gap between the means (μ2 - μ1)",
        "original_deviation": "deviation of G",
        "steps": "updates (T)",
        "exact_gradient": "exact gradient",
    },
    "jobs": lambda world, settings, run: (
        [Value(answer, settings, world.sweep)] if settings.exact_gradient else []
    ),
    "buttons": [Change("Other seeds", other_seeds, hint="Other starts and other samples, as many")],
    "sentence": sentence,
}

SigmaLab = Lab(
    "Narrow or wide: which samples teach best?",
    _sigma,
    controls=("deviation", "steps", "momentum", "exact_gradient"),
    folded=("plane", "learning_rate", "gap", "original_deviation", "measure"),
    views=[Row(_DECISIONS, _LEARNING)],
    quest=Quest(
        f"Bring the squared error on G below {NEAR_ENOUGH:g}; nothing can be below .058.", learned
    ),
    **_SHARED,
)
RhoLab = Lab(
    "Whose labels: the data's or a teacher's?",
    _rho,
    controls=("relabelling", "teacher", "teacher_deviation", "deviation"),
    folded=("plane", "gap", "learning_rate", "momentum", "steps", "exact_gradient", "measure"),
    views=[Row(_DECISIONS, _LEARNING)],
    unused=lambda world, settings: () if settings.teacher == "trained" else ("teacher_deviation",),
    **_SHARED,
)
