"""The laboratory of trajectories: ten images learn to lead a student, in N steps, to where an
expert went.

TrajectoryLab(data)
TrajectoryLab(data, mtt.Config.teaching(inner_steps=10))

The plane on show goes through the expert's start, its goal and the student's end; the loss over it
is of real test images, of the learned ones or of class means.
"""

from typing import Any

import plotly.graph_objects as go
import torch

from ...evaluation.landscapes import CELLS
from ...explorers import Chart, Lab, Named, Quest, Results, Tabs, Value
from ...explorers.ready import HEIGHT, earlier_update, learned_images_strip, values_by_setting
from ...figures import landscape, tried_settings
from ...methods import mtt
from ...runs import Run
from ..shared.image_landscape import COARSE
from .world import MOST_STEPS, STUDENTS, Path, Settings, Surface, World, left

AHEAD = 0.15  # of the squared way: what the quest asks for
_HEIGHT = HEIGHT + 20  # of a plot, in pixels: the legend takes two lines
# Accuracies are shown from here, unless one is lower.
_LOW = 0.5
_TICKS = (1, 5, 10, 15, MOST_STEPS)


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """List the experts, the images, what these lead to and teach, and the same of class means."""
    config = run.config
    beside = Value(world.rival, config.replace(iterations=1))
    return [
        Value(world.experts, config),
        run,
        *surfaces(world, settings, config),
        Value(world.learned, config),
        beside,
    ]


def share_scores(
    world: World, settings: Settings, results: Results
) -> tuple[dict[int, Any], dict[int, Any]]:
    """Return (left, rate, accuracy) of learned images by N, and (left, accuracy) of class means.

    Only visited settings that differ in N alone count.
    """
    *_, learned, rival = results.jobs
    return (
        values_by_setting(results, learned.compute, *learned.arguments, "inner_steps"),
        values_by_setting(results, rival.compute, *rival.arguments, "inner_steps"),
    )


def surfaces(world: World, settings: Settings, config: mtt.Config) -> list[Value]:
    """Return the loss over the plane of a finished run, coarse and then fine."""
    place = (settings.expert, settings.begun)
    return [
        Value(world.surface, settings.loss_on, config, place, cells) for cells in (COARSE, CELLS)
    ]


def plane_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the plane, and the weights of the expert's epochs, of a student on class means at their
    best rate, and of a student on the images on show.
    """
    config = results.run.config
    place = (settings.expert, settings.begun)
    step = results.frame.step
    coarse, fine = map(results, surfaces(world, settings, config))
    newest = results.frames[-1].step
    return {
        "surface": fine or coarse or results.compute_now(world.plane, config, *place, newest),
        "expert": results.compute_now(world.expert_path, config, *place),
        # One update more or less changes neither experts nor means.
        "means": results.compute_now(world.path_of_means, config, *place),
        "current": results.compute_now(world.path_on_show, config, step, *place),
        "loss_on": settings.loss_on,
    }


def plane(surface: Surface, expert: Path, means: Path, current: Path, loss_on: str) -> go.Figure:
    """Draw the paths over the loss; MTT's own loss is the squared distance to the goal."""
    way = expert.weights
    paths = {
        f"expert, {len(way) - 1} epochs": expert,
        "images on show": current,
        "class means": means,
    }
    weights_on_show = torch.cat([path.weights for path in (expert, current, means)])
    figure = landscape(
        surface.x,
        surface.y,
        surface.loss,
        paths={name: surface.plane.places(path.weights) for name, path in paths.items()},
        points={"goal": (1.0, 0.0)},
        share=surface.plane.share(weights_on_show),
        title=f"Squared distance left: {left(current, way):.0%}",
        x_label="along the line from start to goal (weights)",
        y_label="away from it",
        loss_label=f"loss on {loss_on}",
        height=_HEIGHT,
    )
    return figure.update_layout(uirevision=str(expert))


def left_data(world: World, settings: Settings, results: Results) -> Named:
    """Return what is left of the way by N, for learned images and class means, and on show."""
    learned, rivals = results.shared
    paths = plane_data(world, settings, results)
    on_show = settings.inner_steps, left(paths["current"], paths["expert"].weights)
    return {
        "learned": tuple((steps, values[0]) for steps, values in learned.items()),
        "rivals": tuple((steps, values[0]) for steps, values in rivals.items()),
        "on_show": on_show,
    }


def left_chart(learned: tuple, rivals: tuple, on_show: tuple[int, float]) -> go.Figure:
    """Draw what is left of the squared distance against N."""
    return _by_steps(
        learned,
        rivals,
        on_show,
        title="Squared distance left, mean of all experts (ring: this expert, on show)",
        y_label="squared distance left",
    )


def accuracy_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the students' accuracy by N, for learned images and class means, and on show."""
    learned, rivals = results.shared
    accuracies = {steps: values[-1] for steps, values in learned.items()}
    accuracy = accuracies.get(settings.inner_steps)
    return {
        "learned": tuple(accuracies.items()),
        "rivals": tuple((steps, values[-1]) for steps, values in rivals.items()),
        "on_show": None if accuracy is None else (settings.inner_steps, accuracy),
    }


def accuracy_chart(learned: tuple, rivals: tuple, on_show: tuple[int, float] | None) -> go.Figure:
    """Draw the accuracy of new students against N."""
    title = f"New students (mean of {STUDENTS})"
    return _by_steps(learned, rivals, on_show, title=title, limits=(_LOW, 1.0))


def _by_steps(
    learned: tuple, rivals: tuple, on_show: tuple[int, float] | None, **options: Any
) -> go.Figure:
    return tried_settings(
        {"learned images": {steps: [value] for steps, value in learned}},
        rivals={"class means": {steps: [value] for steps, value in rivals}},
        on_show=on_show,
        x_label="steps (N)",
        places=_TICKS,
        height=_HEIGHT,
        **options,
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how far the images on show lead."""
    config = results.run.config
    run = results.run
    setting = f"N = {config.inner_steps}, M = {config.matched_epochs}"
    scores, rival = (values.get(config.inner_steps) for values in results.shared)
    if scores is None:
        return (
            f"{setting}: the images are at update {max(run.step - mtt.expert_updates(config), 0)} of "
            f"{config.iterations}."
        )
    distance_left, rate, right = scores
    than = "" if rival is None else f", and class means {rival[0]:.0%}"
    return (
        f"{setting}: the images leave {distance_left:.0%} of the squared distance (mean of {config.experts} "
        f"experts){than}. The rate is {rate:.3f}, times N {rate * config.inner_steps:.2f}. Students "
        f"reach {right:.1%}.{earlier_update(results, mtt.expert_updates(config))}"
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the images lead clearly further than class means at two numbers of steps."""
    scores, rivals = results.shared
    ahead = [
        steps
        for steps in scores.keys() & rivals.keys()
        if rivals[steps][0] - scores[steps][0] >= AHEAD
    ]
    return len(ahead) >= 2


TrajectoryLab = Lab(
    "How far do ten images lead?",
    World,
    controls=("inner_steps", "loss_on", "expert", "begun"),
    pairs=[("inner_steps", "expert")],
    recorded={"inner_steps": 4, "expert": 3},
    folded=("matched_epochs", "iterations", "learning_rate", "rate_learning_rate", "seed"),
    labels={
        "inner_steps": "steps (N)",
        "matched_epochs": "epochs (M)",
        "begun": "from epoch",
        "loss_on": "landscape: loss on",
        "iterations": "updates",
        "learning_rate": "learning rate of the images",
        "rate_learning_rate": "learning rate of the rate",
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
        learned_images_strip(),
        Tabs(
            ("Path", Chart(plane_data, plane, ghosts=False)),
            (
                "Distance left",
                Chart(
                    left_data, left_chart, ghosts=False, tried=("inner_steps", "expert", "loss_on")
                ),
            ),
            (
                "Students",
                Chart(
                    accuracy_data,
                    accuracy_chart,
                    ghosts=False,
                    tried=("inner_steps", "expert", "loss_on"),
                ),
            ),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"For two numbers of steps N, learn images that leave {100 * AHEAD:.0f} points less of the squared "
        "distance than class means.",
        quest_met,
        solution=[("inner_steps", 3), ("inner_steps", 5)],
    ),
)
