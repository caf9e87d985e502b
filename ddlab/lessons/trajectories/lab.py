"""The laboratory of trajectories: ten images learn to lead a student, in N steps, to where an
expert went.

TrajectoryLab(data)
TrajectoryLab(data, mtt.Config.teaching(inner_steps=10))

The plane on show bends nothing: how far along the expert's way, and how far off it. The squared
distance from the goal is the loss.
"""

from typing import Any

import plotly.graph_objects as go

from ...explorers.lab import Lab, Results, Value
from ...explorers.lines import Quest
from ...explorers.ready import HEIGHT, learned_images, values_by_setting
from ...explorers.views import Chart, Row, Strip
from ...figures.theme import (
    finish_figure,
    legend_below,
    line_style,
    neutral,
    series_style,
    stacked_figure,
    start_figure,
)
from ...methods import mtt
from ...runs import Run
from .world import MOST_STEPS, Points, Settings, World, positions

AHEAD = 0.15  # of the squared way: what the quest asks for
_HEIGHT = HEIGHT + 40  # with a legend of five lines


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """List the experts, the images, what these lead to and teach, and the same of class means."""
    config = run.config
    beside = Value(world.rival, config.replace(iterations=1))
    return [Value(world.experts, config), run, Value(world.learned, config), beside]


def share_scores(
    world: World, settings: Settings, results: Results
) -> tuple[dict[int, Any], dict[int, Any]]:
    """Return (left, rate, accuracy) of learned images by N, and (left, accuracy) of class means.

    Only visited settings that differ in N alone count.
    """
    _, _, learned, rival = results.jobs
    scores = []
    for job in (learned, rival):
        scores.append(values_by_setting(results, job.compute, *job.arguments, "inner_steps"))
    return tuple(scores)


def strip_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the frame on show."""
    return world.data, results.frame, 1


def plane_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return (along, aside) of the expert's epochs and of students on the first and the shown
    images. The first images are real; the rate is the same.
    """
    config = results.run.config
    frame = results.frame
    place = (settings.expert, settings.begun)
    path = world.expert_path(config, *place)
    first = results.compute_now(
        world.path_on_show, config, mtt.expert_updates(config), *place, frame.step
    )
    return (
        positions(path, path[0], path[-1]),
        first,
        results.compute_now(world.path_on_show, config, frame.step, *place, frame.step),
    )


def plane(expert: Points, first: Points, current: Points) -> go.Figure:
    """Draw their paths; the loss is the squared distance from the star."""
    distance_left = squared(current)
    figure = start_figure(
        title=f"Squared distance left: {distance_left:.2f}",
        x_label="along the expert's way",
        y_label="off it",
        height=_HEIGHT,
    )
    paths = {
        f"expert, {len(expert) - 1} epochs": expert,
        "on real images, same rate": first,
        "on the images on show": current,
    }
    for index, (name, points) in enumerate(paths.items()):
        x, y = zip(*points, strict=True)
        style = line_style(series_style(index), markers=True)
        figure.add_scatter(x=x, y=y, name=name, **style)
    figure.add_scatter(
        x=[1],
        y=[0],
        mode="markers",
        showlegend=False,
        hoverinfo="skip",
        marker={"symbol": "star", "size": 15, "color": series_style(0).colour},
    )
    widest = max(1.1, *(x for x, _ in current), *(y for _, y in current))
    figure.update_xaxes(range=[-0.1, widest]).update_yaxes(range=[-0.05, widest])
    return finish_figure(
        legend_below(figure),
        alt=f"The student ends {current[-1][0]:.2f} along the expert's way and {current[-1][1]:.2f} off "
        "it; on real images "
        f"{first[-1][0]:.2f} along and {first[-1][1]:.2f} off.",
    )


def squared(points: Points) -> float:
    """Return the squared distance of the last point from (1, 0)."""
    along, aside = points[-1]
    return (1 - along) ** 2 + aside**2


def curve_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return what is known so far, and how much of the way the images on show leave."""
    learned, rivals = (tuple(values.items()) for values in results.shared)
    return (
        learned,
        rivals,
        (settings.inner_steps, squared(plane_data(world, settings, results)[-1])),
    )


def curve(scores_by_steps: tuple, rivals: tuple, on_show: tuple[int, float]) -> go.Figure:
    """Draw what is left of the way and the students' accuracy against N.

    Both are of learned images and of class means.
    """
    figure = stacked_figure("After learning", "steps N", ("left (0 is best)", "accuracy"), _HEIGHT)
    quiet = {"color": neutral("quiet")}
    for beside, points in (("", scores_by_steps), (", class means", rivals)):
        for index, (measure, place) in enumerate((("left", 0), ("accuracy", -1))):
            style = line_style(series_style(index), markers=True)
            if beside:
                style["line"] |= quiet
                style["marker"] |= quiet | {"symbol": ("circle-x-open", "square-x-open")[index]}
            x, y = [number for number, _ in points], [values[place] for _, values in points]
            figure.add_scatter(x=x, y=y, name=f"{measure}{beside}", row=index + 1, col=1, **style)
    figure.add_scatter(
        x=on_show[:1],
        y=on_show[1:],
        name="left, on show",
        mode="markers",
        marker={"symbol": "circle-open", "size": 12, "color": series_style(0).colour},
        row=1,
        col=1,
    )
    figure.update_xaxes(range=[0.5, MOST_STEPS + 0.5]).update_yaxes(range=[0, 1])
    clauses = []
    for n, (distance_left, _, right) in scores_by_steps:
        clauses.append(f"N = {n}: {distance_left:.2f} left, accuracy {right:.2f}")
    description = "; ".join(clauses)
    return finish_figure(
        legend_below(figure),
        alt=f"What is left of the way, and what students learn. {description}.",
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how far the images on show lead."""
    config = results.run.config
    run = results.run
    setting = f"N = {config.inner_steps}, M = {config.matched_epochs}"
    scores, rival = (values.get(config.inner_steps) for values in results.shared)
    if scores is None:
        return (
            f"{setting}: learning, update {max(run.step - mtt.expert_updates(config), 0)} of "
            f"{config.iterations}."
        )
    distance_left, rate, right = scores
    than = "" if rival is None else f", class means at their best rate {rival[0]:.2f}"
    return (
        f"{setting}: the images leave {distance_left:.2f} of the squared way (mean of {config.experts} "
        f"experts){than}. "
        f"The rate is {rate:.3f}, times N {rate * config.inner_steps:.2f}; students get "
        f"{right:.1%} right."
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the images lead clearly further than class means."""
    scores, rival = (values.get(settings.inner_steps) for values in results.shared)
    return scores is not None and rival is not None and rival[0] - scores[0] >= AHEAD


TrajectoryLab = Lab(
    "How far do ten images lead?",
    World,
    controls=("inner_steps", "expert", "begun"),
    folded=("matched_epochs", "iterations", "learning_rate", "rate_learning_rate", "seed"),
    labels={
        "inner_steps": "steps N",
        "matched_epochs": "epochs M",
        "begun": "from epoch",
        "iterations": "updates",
        "learning_rate": "step length of the images",
        "rate_learning_rate": "step length of the rate",
    },
    run=World.run,
    jobs=list_jobs,
    opens_with=1,
    shared=share_scores,
    step_words="update",
    step_label=lambda world, settings, step: str(max(step - mtt.expert_updates(settings), 0)),
    job_words=lambda world, run: f"learning for N = {run.config.inner_steps}",
    stops=lambda world: {
        "expert": (0, world.start.experts - 1),
        "begun": (0, world.start.latest_start - 1),
    },
    views=[
        Strip(strip_data, learned_images),
        Row(Chart(plane_data, plane), Chart(curve_data, curve)),
    ],
    sentence=sentence,
    quest=Quest(f"Find images that leave {AHEAD} less of the way than class means do.", quest_met),
)
