"""The laboratory of learned points: KIP moves ten images while one looks, and kernel regression
says what they are worth.

KernelLab(data)
KernelLab(data, kip.Config.teaching(corruption=0.5))
"""

import statistics

import plotly.graph_objects as go

from ...explorers.lab import Lab, Results, Value
from ...explorers.lines import Quest
from ...explorers.ready import HEIGHT, learned_images, run_curve
from ...explorers.views import Chart, Row, Strip, step_on_show
from ...figures import comparison
from ...runs import Run
from .world import Rival, Settings, World

_ROWS = 10  # of images: of each class so many are shown
# what the quest asks for: share of the pixels, and of the test images
_FROZEN = 0.5
# Of the accuracy: what the quest asks for.
_AHEAD = 0.03
_RIDGES = {0.0: "0", 1e-8: "1e-8", 1e-6: "1e-6", 1e-4: "1e-4", 1e-2: "0.01", 1e-1: "0.1", 1.0: "1"}


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """List as many points without learning, then learning, then the larger rivals, which take
    longer.
    """
    first, second, *larger = (
        Value(world.rival, rival, settings.spec, settings.ridge) for rival in world.rivals(settings)
    )
    return [first, second, run, *larger]


def share_rivals(
    world: World, settings: Settings, results: Results
) -> dict[Rival, tuple[float, ...]]:
    """Return the accuracies of the rivals that are there."""
    every = {}
    for job in results.jobs:
        if isinstance(job, Value):
            every[job.arguments[0]] = results(job)
    return {rival: values for rival, values in every.items() if values is not None}


# -- the images


def strip_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the frame on show."""
    return world.data, results.frame, min(settings.images_per_class, _ROWS)


# -- the accuracy


def curve_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the accuracy at the steps that were kept, so far, and that of the centres."""
    points = tuple((frame.step, frame.content.accuracy) for frame in results.frames)
    centres = []
    for rival, values in results.shared.items():
        if rival.kind == "centres":
            centres.append((rival.words, values[0]))
    return settings.iterations, points, centres[0] if centres else None


def accuracy_curve(
    iterations: int, points: tuple[tuple[int, float], ...], centres: tuple[str, float] | None
) -> go.Figure:
    """Return how many test images the regression on the learned points has right."""
    figure = run_curve(
        "learned points",
        points,
        total=iterations,
        references=dict([centres] if centres else []),
        title="Regression on the learned points",
        y_label="test accuracy (fraction)",
    )
    return figure.update_yaxes(range=[0, 1.05])


def score_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the accuracy at the step on show, and the rivals known so far."""
    count = settings.images_per_class * world.data.classes
    every = {f"{count:,} learned": (results.frame.content.accuracy,)}
    for rival, values in results.shared.items():
        every[rival.words] = values
    return world.data.classes, tuple(every.items())


def scores(classes: int, accuracies: tuple[tuple[str, tuple[float, ...]], ...]) -> go.Figure:
    """Draw the mean accuracy of the learned points and of each rival, a point per draw, beside
    chance.
    """
    chance = ("chance", 1 / classes)
    title = "Beside points that took no learning"
    figure = comparison(
        dict(accuracies), intervals=False, reference=chance, title=title, height=HEIGHT
    )
    short = []
    for name in figure.layout.xaxis.ticktext:
        short.append(name.replace(" ", "<br>"))
    return figure.update_xaxes(ticktext=short, tickangle=0, tickfont_size=11)


# -- in words


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what the regression knows at the step on show."""
    run = results.run
    frame = results.frame
    count = settings.images_per_class
    classes = world.data.classes
    many = f"{count} {'image' if count == 1 else 'images'} of each of {classes} classes"
    moment = "as they began" if frame.step == 0 else f"after update {frame.step} of {run.total}"
    frozen = f", {settings.corruption:.0%} of their pixels frozen" if settings.corruption else ""
    clauses = []
    for rival, values in results.shared.items():
        clauses.append(f"{rival.words} {statistics.fmean(values):.1%}")
    rivals_text = ", ".join(clauses)
    beside = f" Without learning: {rivals_text}." if rivals_text else ""
    return (
        f"{many}{frozen}, {moment}: the regression has {frame.content.accuracy:.1%} of the test "
        f"images right.{beside}"
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether enough pixels are frozen and the points still beat as many unlearned ones."""
    alike = []
    for rival in world.rivals(settings):
        if rival.images_per_class == settings.images_per_class:
            alike.append(rival)
    if settings.corruption < _FROZEN or not all(rival in results.shared for rival in alike):
        return False
    best = max(statistics.fmean(results.shared[rival]) for rival in alike)
    return results.frame.content.accuracy - best >= _AHEAD


KernelLab = Lab(
    "What can ten learned points know?",
    World,
    controls=("images_per_class", "kernel", "ridge", "corruption"),
    folded=(
        "corrupted_by",
        "learn_labels",
        "initialisation",
        "learning_rate",
        "bias_std",
        "batch_size",
        "iterations",
    ),
    labels={
        "images_per_class": "images per class",
        "ridge": "ridge (λ)",
        "corruption": "share of frozen pixels (p)",
        "corrupted_by": "frozen pixels are",
        "learn_labels": "learn labels, too",
        "initialisation": "begin as",
        "bias_std": "biases (σ_b)",
        "iterations": "updates",
        "batch_size": "real batch",
    },
    choice_words=lambda world: {
        "kernel": str.upper,
        "initialisation": lambda name: f"{name} images" if name == "real" else name,
    },
    stops=lambda world: {"ridge": _RIDGES},
    run=World.run,
    jobs=list_jobs,
    opens_with=2,
    shared=share_rivals,
    step_words="update",
    unused=lambda world, settings: (
        *(() if settings.corruption else ("corrupted_by",)),
        *(("bias_std",) if settings.kernel == "rbf" else ()),
    ),
    job_words=lambda world, run: f"learning {run.config.images_per_class} per class",
    views=[
        Strip(strip_data, learned_images),
        Row(Chart(curve_data, accuracy_curve, cursor=step_on_show), Chart(score_data, scores)),
    ],
    sentence=sentence,
    quest=Quest(
        f"Freeze half of all pixels, and stay {_AHEAD:.0%} of the test images ahead of as "
        "many points that took no learning.",
        quest_met,
    ),
)
