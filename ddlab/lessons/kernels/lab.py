"""The laboratory of learned points: KIP moves ten images while one looks, and kernel regression
says what they are worth.

KernelLab(data)
KernelLab(data, kip.Config.teaching(corruption=0.5))
"""

import math
import statistics

import plotly.graph_objects as go

from ...explorers import Chart, Lab, Named, Quest, Results, Tabs, Value, step_on_show
from ...explorers.ready import HEIGHT, learned_images_strip, run_curve
from ...figures import comparison
from ...runs import Run
from .world import SAME, Rival, Settings, World

# Of each class at most so many images are shown: more would push the plots off the screen.
_ROWS = 2
# The quest: the share of frozen pixels, and the lead in accuracy.
_FROZEN = 0.5
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
    every = {job.arguments[0]: results(job) for job in results.jobs if isinstance(job, Value)}
    return {rival: values for rival, values in every.items() if values is not None}


# -- the accuracy


def curve_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the accuracy at the steps that were kept, so far, and that of the centres."""
    points = tuple(
        (frame.step, frame.content.accuracies[settings.judge]) for frame in results.frames
    )
    centres = [
        (rival.words, values[0])
        for rival, values in results.shared.items()
        if rival.kind == "centres"
    ]
    return {
        "iterations": settings.iterations,
        "points": points,
        "centres": centres[0] if centres else None,
    }


def accuracy_curve(
    iterations: int, points: tuple[tuple[int, float], ...], centres: tuple[str, float] | None
) -> go.Figure:
    """Return how many test images the regression on the learned points has right."""
    figure = run_curve(
        "learned images",
        points,
        total=iterations,
        references=dict([centres] if centres else []),
        title="The regression on the learned images, update by update",
        y_label="test accuracy",
    )
    accuracies = [accuracy for _, accuracy in points]
    if centres:
        accuracies.append(centres[1])
    # One tenth of room below the lowest curve or line.
    low = max(0.0, math.floor(10 * min(accuracies)) / 10)
    return figure.update_yaxes(range=[low, 1.01], tickformat=".0%")


def score_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the accuracy at the step on show, and the rivals known so far."""
    count = settings.images_per_class * world.data.classes
    every = {f"{count:,} learned": (results.frame.content.accuracies[settings.judge],)}
    for rival, values in results.shared.items():
        every[rival.words] = values
    return {"classes": world.data.classes, "accuracies": tuple(every.items())}


def scores(classes: int, accuracies: tuple[tuple[str, tuple[float, ...]], ...]) -> go.Figure:
    """Draw the mean accuracy of the learned points and of each rival, a point per draw, beside
    chance.
    """
    chance = ("chance", 1 / classes)
    figure = comparison(
        dict(accuracies),
        intervals=False,
        reference=chance,
        title="Learned images beside support points that involve no learning",
        y_label="test accuracy",
        height=HEIGHT,
    )
    figure.update_yaxes(tickformat=".0%")
    short = ["<br>".join(name.rsplit(" ", 1)) for name in figure.layout.xaxis.ticktext]
    return figure.update_xaxes(ticktext=short, tickangle=0, tickfont_size=11)


# -- in words


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how accurate the regression is at the step on show, and how its rivals are."""
    run = results.run
    frame = results.frame
    count = settings.images_per_class * world.data.classes
    moment = "before any update" if frame.step == 0 else f"after update {frame.step} of {run.total}"
    frozen = f" ({settings.corruption:.0%} of the pixels frozen)" if settings.corruption else ""
    rivals = [
        (statistics.fmean(values), rival.words)
        for rival, values in results.shared.items()
        if rival.images_per_class == settings.images_per_class
    ]
    rival_words = ""
    if rivals:
        best, words = max(rivals)
        rival_words = f"; with {words}, {best:.1%}"
    return (
        f"With {count} learned images{frozen}, {moment}, the regression classifies "
        f"{frame.content.accuracies[settings.judge]:.1%} of the test images correctly{rival_words}."
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether enough pixels are frozen and the points still beat as many unlearned ones."""
    alike = [
        rival
        for rival in world.rivals(settings)
        if rival.images_per_class == settings.images_per_class
    ]
    if settings.corruption < _FROZEN or not all(rival in results.shared for rival in alike):
        return False
    best = max(statistics.fmean(results.shared[rival]) for rival in alike)
    return results.frame.content.accuracies[settings.judge] - best >= _AHEAD


KernelLab = Lab(
    "What can ten learned images answer?",
    World,
    controls=("images_per_class", "kernel", "corruption", "corrupted_by"),
    pairs=[("images_per_class", "corruption")],
    recorded={"corruption": 10, "step": 10},
    folded=(
        "judged_by",
        "ridge",
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
        "judged_by": "judged by",
        "corruption": "share of frozen pixels (p)",
        "corrupted_by": "frozen pixels are",
        "learn_labels": "learned labels",
        "initialisation": "start",
        "bias_std": "biases (σ_b)",
        "iterations": "updates",
        "batch_size": "real batch",
    },
    choice_words=lambda world: {
        "kernel": str.upper,
        "judged_by": lambda name: name if name == SAME else name.upper(),
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
        learned_images_strip(_ROWS),
        Tabs(
            ("Updates", Chart(curve_data, accuracy_curve, cursor=step_on_show)),
            ("Rivals", Chart(score_data, scores)),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"Freeze half of the pixels, and be {100 * _AHEAD:.0f} points ahead of the best rival that "
        "has as many images and involves no learning.",
        quest_met,
        solution=[("corruption", 0.5), ("corrupted_by", "zeros")],
    ),
)
