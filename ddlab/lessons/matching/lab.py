"""The laboratory of learned images: what matching features (DM) or gradients (DC, DSA) makes of
random real images, and what students learn from them.

MatchingLab(data)
MatchingLab(data, dm.Config.teaching(images_per_class=1))
"""

import math

import plotly.graph_objects as go

from ...explorers import (
    BUTTON,
    Chart,
    Compute,
    Lab,
    Named,
    Quest,
    Results,
    Tabs,
    Value,
    step_on_show,
)
from ...explorers.ready import HEIGHT, learned_images_strip, run_curve
from ...explorers.students import (
    Students,
    difference_chart,
    differences,
    finished,
    mean_accuracies,
)
from ...figures import alt_text, finish_figure
from ...runs import Run
from .world import LEARNED, METHODS, REAL, Settings, World

_ROWS = 2  # of images: of each class at most so many are shown
_HEIGHT = HEIGHT - 26  # of a plot, in pixels, with both rows above it
RIVAL = "centres"  # the strongest that learns nothing
_AHEAD = 0.01  # of accuracy: what the quest asks for


# -- the distance


def distance_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return the distance at the steps that were kept, so far."""
    frames = results.frames[1:]
    if not frames:
        return None
    points = tuple((frame.step, float(frame.content.numbers["distance"].value)) for frame in frames)
    return {
        "updates": results.run.total,
        "networks": how_many(settings.networks),
        "match": settings.match,
        "points": points,
    }


def distance_curve(
    updates: int, networks: str, match: str, points: tuple[tuple[int, float], ...]
) -> go.Figure:
    """Draw the distance that the images descend, in the network of each update."""
    of_features = match == "features"
    figure = run_curve(
        f"distance of the {match}",
        points,
        total=updates,
        log_y=True,
        title="Distance in the network of each update",
        y_label="squared distance, sum over classes" if of_features else "1 - cosine, sum of all",
    )
    values = [value for _, value in points]
    # Of one point plotly would write too many numbers.
    limits = math.log10(min(values) / 2), math.log10(2 * max(values))
    figure.update_yaxes(dtick="D2", range=limits).update_layout(height=_HEIGHT)
    # A distance in networks that are fitted one after the other is another one than in a single one.
    return finish_figure(figure, alt=alt_text(figure), coordinates=f"{match}, {networks}")


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


def other_runs(world: World, settings: Settings, results: Results) -> dict[str, tuple[float, ...]]:
    """Return the accuracy of students of finished images, by what was matched in how many networks.

    Only visited settings that differ in these two alone count.
    """
    accuracies_by_run = dict[str, tuple[float, ...]]()
    settings_without_step = settings.replace(step=None)
    for past in results.past:
        same = past.replace(networks=settings.networks, match=settings.match)
        if same == settings_without_step and past != settings_without_step:
            run = world.run(past)
            frame = run.at() if run.complete else None
            values = ()
            if frame is not None:
                values = tuple(
                    results(Value(world.learned, run, frame, seed)) for seed in world.seeds
                )
            if values and None not in values:
                accuracies_by_run[words_of(past)] = values
    return accuracies_by_run


def words_of(settings: Settings) -> str:
    """Return the method and in how many networks it matches, short enough for a row."""
    return f"{short_name(settings.match)}, {how_many(settings.networks)}"


def short_name(match: str) -> str:
    """Return the method that matches this, as "DM"."""
    return METHODS[match].ALIASES[0].upper()


def how_many(networks: int | None) -> str:
    """Return a number of networks in words."""
    if networks is None:
        return "a new network each time"
    return f"{networks} network{'s' * (networks > 1)}"


def score_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return what is on show and the accuracies known so far, of other numbers of networks too.

    What was shown stays until the first is known.
    """
    if not finished(results.shared[RIVAL]):
        return None
    return {
        "words": f"{words_of(settings)}, update {results.frame.step}",
        "accuracies": tuple(results.shared.items()),
        "others": tuple(other_runs(world, settings, results).items()),
    }


def scores(words: str, accuracies: tuple, others: tuple) -> go.Figure:
    """Draw each student's accuracy minus that of the strongest rival's student of the same seed."""
    short = {kind: name.removesuffix(" real images") for kind, name in REAL.items()}
    real = dict(accuracies)
    learned = {**dict(reversed(others)), words: real.pop(LEARNED)}
    rival = real.pop(RIVAL)
    ahead = {short[kind]: differences(values, rival) for kind, values in real.items()}
    ahead |= {name: differences(values, rival) for name, values in learned.items()}
    return difference_chart(ahead, short[RIVAL], learned=learned, height=_HEIGHT)


# -- in words


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how far apart the means are at the step on show, and what students learn."""
    run = results.run
    frame = results.frame
    count = settings.images_per_class
    classes = world.data.classes
    start_text = "random real images" if settings.initialisation == "real" else "noise"
    network_text = how_many(settings.networks)
    if settings.trains_between:
        network_text += f", which train{'s' * (settings.networks == 1)} between matchings"
    many = f"{count * classes} images from {start_text}: {settings.match} match in {network_text}"
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


def unused(world: World, settings: Settings) -> list[str]:
    """Return the controls that do nothing."""
    fields = []
    if settings.match == "features" or settings.matchings == 1:
        fields.append("inner_epochs")
    if settings.match == "gradients" or (settings.match == "features" and not settings.strategy):
        fields.append("views")
    return fields


MatchingLab = Lab(
    "What can a few learned images teach?",
    World,
    controls=("match", "networks", "initialisation", "images_per_class"),
    recorded={"images_per_class": 5},
    folded=("inner_epochs", "learning_rate", "iterations", "batch_size", "momentum", "views"),
    labels={
        "networks": "number of networks",
        "inner_epochs": "training between",
        "learning_rate": "rate (gradients: a tenth)",
        "images_per_class": "images per class",
        "initialisation": "start",
        "iterations": "updates",
        "batch_size": "real batch",
    },
    choice_words=lambda world: {
        "match": lambda match: f"{match} ({short_name(match)})",
        "networks": lambda number: "new each time" if number is None else str(number),
    },
    run=World.run,
    jobs=list_jobs,
    opens_with=4,
    shared=STUDENTS.accuracies,
    step_words="update",
    unused=unused,
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
        solution=[("networks", 50), (BUTTON, "Learn"), (BUTTON, "Train students")],
    ),
)
