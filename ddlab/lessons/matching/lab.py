"""The laboratory of learned images: what distribution matching makes of random real images, and
what students learn from them.

MatchingLab(data)
MatchingLab(data, dm.Config.teaching(images_per_class=1))
"""

import math

import plotly.graph_objects as go

from ...explorers import Chart, Compute, Lab, Quest, Results, Tabs, Value, step_on_show
from ...explorers.ready import HEIGHT, learned_images_strip, run_curve
from ...explorers.students import (
    Students,
    difference_chart,
    differences,
    finished,
    mean_accuracies,
)
from ...figures.theme import alt_text, finish_figure
from ...runs import Run
from .world import LEARNED, REAL, Settings, World

_ROWS = 2  # of images: of each class at most so many are shown
_HEIGHT = HEIGHT - 26  # of a plot, in pixels, with both rows above it
RIVAL = "centres"  # the strongest that learns nothing
_AHEAD = 0.01  # of accuracy: what the quest asks for


# -- the distance


def distance_data(world: World, settings: Settings, results: Results) -> tuple | None:
    """Return the distance at the steps that were kept, so far."""
    frames = results.frames[1:]
    if not frames:
        return None
    points = tuple((frame.step, float(frame.content.numbers["distance"].value)) for frame in frames)
    return settings.iterations, how_many(settings.networks), points


def distance_curve(
    iterations: int, networks: str, points: tuple[tuple[int, float], ...]
) -> go.Figure:
    """Draw the distance that the images descend, each time in another network."""
    figure = run_curve(
        "distance of the mean features",
        points,
        total=iterations,
        log_y=True,
        title="Distance in the network of each update",
        y_label="squared distance, sum over classes",
    )
    values = [value for _, value in points]
    # Of one point plotly would write too many numbers.
    limits = math.log10(min(values) / 2), math.log10(2 * max(values))
    figure.update_yaxes(dtick="D2", range=limits).update_layout(height=_HEIGHT)
    # A distance in networks that are fitted one after the other is another one than in a single one.
    return finish_figure(figure, alt=alt_text(figure), coordinates=networks)


# -- students


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """List the first distances, and one student on each kind of real images.

    The others are seen against these.
    """
    first = [Value(world.real, kind, settings.images_per_class, world.seeds[0]) for kind in REAL]
    return [Value(world.first_updates, run), *first]


def student_sets(world: World, settings: Settings, results: Results) -> dict[str, tuple]:
    """Return what students train on: the frame on show, and three kinds of real images."""
    real = {kind: (world.real, kind, settings.images_per_class) for kind in REAL}
    return {LEARNED: (world.learned, results.run, results.frame)} | real


STUDENTS = Students(student_sets)


def in_other_networks(
    world: World, settings: Settings, results: Results
) -> dict[int, tuple[float, ...]]:
    """Return the accuracy of students of the finished images by the number of networks.

    Only visited settings that differ in that number alone count.
    """
    accuracies_by_count = dict[int, tuple[float, ...]]()
    for past in results.past:
        if past.networks != settings.networks and past.replace(
            networks=settings.networks
        ) == settings.replace(step=None):
            run = world.run(past)
            frame = run.at() if run.complete else None
            values = (
                ()
                if frame is None
                else tuple(results(Value(world.learned, run, frame, seed)) for seed in world.seeds)
            )
            if values and None not in values:
                accuracies_by_count[past.networks] = values
    return accuracies_by_count


def how_many(networks: int | None) -> str:
    """Return a number of networks in words."""
    if networks is None:
        return "a new network each time"
    return f"{networks} network{'s' * (networks > 1)}"


def score_data(world: World, settings: Settings, results: Results) -> tuple | None:
    """Return what is on show and the accuracies known so far, of other numbers of networks too.

    What was shown stays until the first is known.
    """
    if not finished(results.shared[RIVAL]):
        return None
    other_runs = in_other_networks(world, settings, results)
    return (
        settings.networks,
        results.frame.step,
        tuple(results.shared.items()),
        tuple(other_runs.items()),
    )


def scores(networks: int, step: int, accuracies: tuple, other_runs: tuple) -> go.Figure:
    """Draw each student's accuracy minus that of the strongest rival's student of the same seed."""
    short = {kind: name.removesuffix(" real images") for kind, name in REAL.items()}
    real = dict(accuracies)
    learned = dict(other_runs)
    learned[networks] = real.pop(LEARNED)
    rival = real.pop(RIVAL)
    ahead = {short[kind]: differences(values, rival) for kind, values in real.items()}
    learned_names = []
    for number, values in sorted(learned.items(), key=lambda item: item[0] or math.inf):
        words = f"{how_many(number)}, update {step}" if number == networks else how_many(number)
        learned_names.append(words)
        ahead[words] = differences(values, rival)
    return difference_chart(ahead, short[RIVAL], learned=learned_names, height=_HEIGHT)


# -- in words


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how far apart the means are at the step on show, and what students learn."""
    run = results.run
    frame = results.frame
    count = settings.images_per_class
    classes = world.data.classes
    start_text = "random real images" if settings.initialisation == "real" else "noise"
    many = f"{count * classes} images from {start_text}, matched in {how_many(settings.networks)}"
    moment = (
        f"after update {frame.step} of {run.total}" if frame.step else "before the first update"
    )
    clauses = [
        f"{REAL.get(kind, 'these images')} {value:.1%}"
        for kind, value in mean_accuracies(results.shared).items()
    ]
    taught = (
        f" Accuracy of students: {', '.join(clauses)}."
        if clauses
        else " Press Train students to see what they teach."
    )
    hint = "" if run.complete or results.doing(run) else " Press Learn."
    return f"{many}, {moment}.{hint}{taught}"


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the images on show beat any real images, with students of every seed."""
    if any(None in accuracies for accuracies in results.shared.values()):
        return False
    means = mean_accuracies(results.shared)
    return means.pop(LEARNED) - max(means.values()) >= _AHEAD


MatchingLab = Lab(
    "What can a few learned images teach?",
    World,
    controls=("networks", "initialisation", "images_per_class"),
    recorded={"images_per_class": 5},
    folded=("learning_rate", "iterations", "batch_size", "momentum", "views"),
    labels={
        "networks": "number of networks",
        "images_per_class": "images per class",
        "initialisation": "start",
        "iterations": "updates",
        "batch_size": "real batch",
    },
    choice_words=lambda world: {
        "networks": lambda number: "new each time" if number is None else str(number)
    },
    run=World.run,
    jobs=list_jobs,
    opens_with=4,
    shared=STUDENTS.accuracies,
    step_words="update",
    unused=lambda world, settings: () if settings.strategy else ("views",),
    job_words=lambda world, run: f"learning {run.config.images_per_class} per class",
    buttons=[
        Compute(
            "Learn",
            lambda world, settings, results: [results.run],
            hint="Let the images descend",
        ),
        STUDENTS.button("On the images on show, and on three kinds of real ones"),
    ],
    views=[
        learned_images_strip(_ROWS),
        Tabs(
            ("Students", Chart(score_data, scores)),
            ("Distance", Chart(distance_data, distance_curve, cursor=step_on_show)),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"Learn images that teach more than all three rivals: {100 * _AHEAD:.0f} point "
        "ahead, three students on each.",
        quest_met,
    ),
)
