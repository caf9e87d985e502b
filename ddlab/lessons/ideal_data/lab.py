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
from ...explorers import Change, Chart, Html, Lab, Named, Quest, Results, Tabs, Value
from ...explorers.tables import table
from ...figures.theme import literal, neutral
from .world import EXTENT, HEIGHT, RHOS, SIGMAS, SQUARED, WRONG, Answer, Settings, World, answer

# The paper's case for targets, with the other teacher.
_HARDEST = 'deviation=1,relabelling=0.5,teacher="posterior of the distilled"'
# Squared error on G; it opens at .078, 1/2 for every point gives .25, nothing is below .058.
# After half of the updates: samples of .2 end at .067, of .1 or .3 at .069, the page's own at .085.
NEAR_ENOUGH = 0.068
_HALF = 500  # updates
# The same from samples of 1: labels give .118, the trained teacher alone .067.
WELL_TAUGHT = 0.07
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


def ends_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the ends of these settings, and those with the noise switched the other way, if known.

    The noise is that of single samples.
    """
    (on_view,) = on_show(world, settings, results)
    switched = on_view.settings.replace(exact_gradient=not on_view.settings.exact_gradient)
    return {"on_view": on_view, "switched": results(Value(answer, switched, world.sweep))}


def final_chart(on_view: Answer, switched: Answer | None) -> go.Figure:
    """Draw the chosen measure at the end, against what is swept."""
    measure = on_view.settings.measure
    arms = {}
    for outcome in filter(None, (on_view, switched)):
        name = "exact gradient" if outcome.settings.exact_gradient else "one sample per update"
        ends = outcome.means[measure][-1].tolist()
        arms[name] = {value: [end] for value, end in zip(outcome.values, ends, strict=True)}
    chosen = on_view.values[on_view.chosen]
    ends = [end for arm in arms.values() for (end,) in arm.values()]
    return figures.tried_settings(
        dict(sorted(arms.items(), reverse=True)),
        rivals={"least possible": on_view.least[measure]},
        on_show=(chosen, float(on_view.means[measure][-1, on_view.chosen])),
        title="On G, after the last update",
        x_label="Σ of the samples" if on_view.sweep is SIGMAS else "share of the teacher ρ",
        y_label=_y_label(on_view),
        places=on_view.sweep.values,
        log=on_view.sweep is SIGMAS,
        limits=(on_view.least[measure], max(ends)),
        percent=measure != SQUARED,
        height=HEIGHT,
    )


def curves(on_view: Answer) -> go.Figure:
    """Draw how all settings learn, the chosen one thick on top of them."""
    measure = on_view.settings.measure
    sweep = on_view.sweep
    mean = on_view.means[measure]
    named = {sweep.name(value): mean[:, on_view.values.index(value)] for value in sweep.values}
    chosen = f"chosen, {sweep.name(on_view.values[on_view.chosen])}"
    figure = figures.loss_curves(
        named | {chosen: mean[:, on_view.chosen]},
        on_view.steps,
        title="Error on the original data while networks learn",
        x_label="update",
        y_label=_y_label(on_view),
        height=HEIGHT,
    )
    figure.update_traces(
        line={"color": neutral("text"), "width": 3.5}, selector={"name": literal(chosen)}
    )
    return figures.add_reference(figure, "least possible", on_view.least[measure])


def _y_label(on_view: Answer) -> str:
    return (
        "mean squared error on G"
        if on_view.settings.measure == SQUARED
        else "share of wrong decisions on G"
    )


def landscape(on_view: Answer) -> go.Figure:
    """Draw the contours, with the paths."""
    return figures.landscape(
        **on_view.landscape,
        title="Squared error on G",
        x_label="main direction of the paths",
        y_label="second direction of the paths",
        loss_label="mean squared error on G",
        height=HEIGHT,
    )


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
    return (
        f"{on_view.sweep.name(on_view.values[chosen])}: after {int(on_view.steps[-1])} updates the "
        f"squared error on G is {end[chosen]:.4f} (standard error "
        f"{on_view.errors[SQUARED][-1, chosen]:.4f}, {on_view.seeds} networks), and "
        f"{1 - on_view.means[WRONG][-1, chosen]:.1%} of the decisions are correct. The least "
        f"possible error is {on_view.least[SQUARED]:.4f}."
    )


# -- the quest


def learned(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the chosen networks come near enough in half of the updates, on G as printed.

    The exact gradient would get there with other samples: it takes the noise away that the question is
    about.
    """
    (on_view,) = on_show(world, settings, results)
    as_printed = (settings.gap, settings.original_deviation) == (
        world.start.gap,
        world.start.original_deviation,
    )
    return (
        as_printed
        and settings.steps <= _HALF
        and not settings.exact_gradient
        and on_view.settings == settings
        and float(on_view.means[SQUARED][-1, on_view.chosen]) < NEAR_ENOUGH
    )


def well_taught(world: World, settings: Settings, results: Results) -> bool:
    """Return whether a teacher makes up for the widest samples."""
    (on_view,) = on_show(world, settings, results)
    unchanged = ("deviation", "gap", "original_deviation", "steps", "momentum", "learning_rate")
    as_opened = all(getattr(settings, name) == getattr(world.start, name) for name in unchanged)
    return (
        as_opened
        and on_view.settings == settings
        and float(on_view.means[SQUARED][-1, on_view.chosen]) < WELL_TAUGHT
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
_LANDSCAPE = Chart(on_show, landscape, ghosts=False)
_VIEWS = Tabs(
    (
        "At the end",
        Chart(
            ends_data,
            final_chart,
            ghosts=False,
            tried=("deviation", "relabelling", "exact_gradient"),
        ),
    ),
    ("Landscape", _LANDSCAPE),
    ("Decisions", _DECISIONS),
    ("Curves", Chart(on_show, curves, ghosts=False)),
    ("Numbers", Html(on_show, numbers)),
)
_TEACHER_WORDS = {
    "posterior of the distilled": "posterior of G′",
    "posterior of the original": "posterior of G",
}
_SHARED: dict[str, Any] = {
    "choice_words": lambda world: {"teacher": lambda name: _TEACHER_WORDS.get(name, name)},
    "labels": {
        "deviation": "deviation of the samples (Σ)",
        "relabelling": "share of the teacher (ρ)",
        "teacher_deviation": "its deviation (Σ*)",
        "gap": "gap between the means",
        "original_deviation": "deviation of G",
        "steps": "updates (T)",
        "exact_gradient": "exact gradient",
    },
    "jobs": lambda world, settings, run: (
        [Value(answer, settings, world.sweep)] if settings.exact_gradient else []
    ),
    "opens": {"plane": _LANDSCAPE},
    "buttons": [Change("Other seeds", other_seeds, hint="Other starts and other samples, as many")],
    "sentence": sentence,
}

SigmaLab = Lab(
    "Narrow or wide: which samples teach best?",
    _sigma,
    controls=("deviation", "measure", "steps", "exact_gradient"),
    # A page with more states would be larger than four megabytes.
    recorded={"deviation": 13, "steps": 13},
    folded=("plane", "momentum", "learning_rate", "gap", "original_deviation"),
    views=[_VIEWS],
    quest=Quest(
        f"In {_HALF} updates or fewer of one sample each, bring the squared error on G below "
        f"{NEAR_ENOUGH:g}; the least possible is .058.",
        learned,
        solution=[("deviation", 0.2), ("steps", 500)],
    ),
    **_SHARED,
)
RhoLab = Lab(
    "Whose labels: the data's or a teacher's?",
    _rho,
    controls=("relabelling", "teacher", "teacher_deviation", "measure"),
    pairs=[("teacher", "teacher_deviation")],
    folded=("plane", "deviation", "gap", "learning_rate", "momentum", "steps", "exact_gradient"),
    views=[_VIEWS],
    unused=lambda world, settings: () if settings.teacher == "trained" else ("teacher_deviation",),
    quest=Quest(
        f"With these samples, bring the squared error on G below {WELL_TAUGHT:g}.",
        well_taught,
        solution=[("teacher", "trained"), ("relabelling", 1.0)],
    ),
    **_SHARED,
)
