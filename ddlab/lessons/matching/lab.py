"""The laboratory of learned images: what distribution matching makes of random real images, and
what students learn from them.

MatchingLab(data)
MatchingLab(data, dm.Config.teaching(images_per_class=1))
"""

import math
import statistics

import plotly.graph_objects as go

from ...explorers.lab import Compute, Lab, Results, Value
from ...explorers.lines import Quest
from ...explorers.ready import HEIGHT, learned_images, run_curve
from ...explorers.views import Chart, Row, Strip, step_on_show
from ...figures.theme import DASHED, finish_figure, series_style, start_figure
from ...runs import Run
from .world import LEARNED, REAL, Settings, World

_ROWS = 10  # of images: of each class so many are shown
RIVAL = "centres"  # the strongest that learns nothing
_AHEAD = 0.01  # of accuracy: what the quest asks for


# -- the images


def strip_data(world: World, settings: Settings, results: Results) -> tuple:
    """Return the frame on show."""
    return world.data, results.frame, min(settings.images_per_class, _ROWS)


# -- the distance


def distance_data(world: World, settings: Settings, results: Results) -> tuple | None:
    """Return the distance at the steps that were kept, so far."""
    frames = results.frames[1:]
    if not frames:
        return None
    return settings.iterations, tuple(
        (frame.step, float(frame.content.numbers["distance"].value)) for frame in frames
    )


def distance_curve(iterations: int, points: tuple[tuple[int, float], ...]) -> go.Figure:
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
    return figure.update_yaxes(dtick="D2", range=limits)


# -- students


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """List the first distances, and one student on each kind of real images.

    The others are seen against these.
    """
    first = []
    for kind in REAL:
        first.append(Value(world.real, kind, settings.images_per_class, world.seeds[0]))
    return [Value(world.first_updates, run), *first]


def jobs_by_kind(world: World, settings: Settings, results: Results) -> dict[str, list[Value]]:
    """List the students on the frame on show and on real images, one for each seed."""
    learned = []
    for seed in world.seeds:
        learned.append(Value(world.learned, results.run, results.frame, seed))
    real = {}
    for kind in REAL:
        real[kind] = [
            Value(world.real, kind, settings.images_per_class, seed) for seed in world.seeds
        ]
    return {LEARNED: learned} | real


def students(world: World, settings: Settings, results: Results) -> list[Run | Value]:
    """List all students, seed by seed."""
    jobs = []
    for seed in zip(*jobs_by_kind(world, settings, results).values(), strict=True):
        for value in seed:
            jobs.append(value)
    return jobs


def share_accuracies(
    world: World, settings: Settings, results: Results
) -> dict[str, tuple[float, ...]]:
    """Return the accuracies known of students of the frame on show and of as many real images."""
    every = {}
    for kind, values in jobs_by_kind(world, settings, results).items():
        every[kind] = map(results, values)
    accuracies = {}
    for kind, values in every.items():
        accuracies[kind] = tuple(value for value in values if value is not None)
    return accuracies


def in_other_networks(
    world: World, settings: Settings, results: Results
) -> dict[int | None, tuple[float, ...]]:
    """Return the accuracy of students of the finished images by the number of networks.

    Only visited settings that differ in that number alone count.
    """
    accuracies_by_count = dict[int | None, tuple[float, ...]]()
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
    return (
        "a new network each time"
        if networks is None
        else f"{networks} network{'s' * (networks > 1)}"
    )


def score_data(world: World, settings: Settings, results: Results) -> tuple | None:
    """Return what is on show and the accuracies known so far, of other numbers of networks too.

    What was shown stays until the first is known.
    """
    if not results.shared[RIVAL]:
        return None
    other_runs = in_other_networks(world, settings, results)
    return (
        settings.networks,
        results.frame.step,
        tuple(results.shared.items()),
        tuple(other_runs.items()),
    )


def scores(networks: int | None, step: int, accuracies: tuple, other_runs: tuple) -> go.Figure:
    """Draw each student's accuracy minus that of the strongest rival's student of the same seed."""
    short = {}
    for kind, name in REAL.items():
        short[kind] = name.removesuffix(" real images")
    real = dict(accuracies)
    learned = dict(other_runs)
    learned[networks] = real.pop(LEARNED)
    rival = real.pop(RIVAL)
    named = {}
    for kind, values in real.items():
        if values:
            named[short[kind]] = values
    for number, values in sorted(
        learned.items(), key=lambda number_and_values: number_and_values[0] or math.inf
    ):
        words = f"{how_many(number)}, update {step}" if number == networks else how_many(number)
        named |= {words: values} if values else {}
    ahead = {}
    for name, values in named.items():
        ahead[name] = [
            mine - rival_accuracy for mine, rival_accuracy in zip(values, rival, strict=False)
        ]
    title = f"Students, minus {short[RIVAL]}"
    figure = start_figure(
        title=title, x_label="difference of accuracy", y_label="images", height=HEIGHT
    )
    for index, (name, values) in enumerate(ahead.items()):
        style = series_style(0 if "network" in name else 1)
        dot = {"size": 5, "opacity": 0.5}
        for x, marker in ((values, dot), ([statistics.fmean(values)], {"size": 12})):
            marker |= {"color": style.colour, "symbol": style.marker}
            figure.add_scatter(
                x=x, y=[index] * len(x), mode="markers", name=name, marker=marker, showlegend=False
            )
    figure.add_vline(x=0, line=DASHED)
    figure.update_yaxes(
        tickvals=list(range(len(ahead))),
        ticktext=list(ahead),
        title="",
        range=[-0.6, len(ahead) - 0.4],
    )
    clauses = []
    for name, values in ahead.items():
        clauses.append(f"{name} {statistics.fmean(values):+.1%}")
    description = ", ".join(clauses)
    return finish_figure(figure, alt=f"{title}, mean and each student: {description}.")


# -- in words


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how far apart the means are at the step on show, and what students learn."""
    run = results.run
    frame = results.frame
    count = settings.images_per_class
    classes = world.data.classes
    start_text = "random real images" if settings.initialisation == "real" else "noise"
    asked_of = f"matched in {how_many(settings.networks)}"
    many = f"{count} {'image' if count == 1 else 'images'} of each of {classes} classes"
    moment = "as they began" if frame.step == 0 else f"after update {frame.step} of {run.total}"
    means = {}
    for kind, values in results.shared.items():
        if values:
            means[kind] = statistics.fmean(values)
    clauses = []
    for kind, value in means.items():
        clauses.append(f"from {REAL.get(kind, 'these')} {value:.1%}")
    accuracies_text = ", ".join(clauses)
    taught = (
        f" Students reach {accuracies_text}."
        if accuracies_text
        else " Press Train students to see what they teach."
    )
    hint = "" if run.complete or results.doing(run) else " Press Learn."
    return f"{many}, begun as {start_text}, {asked_of}, {moment}.{taught}{hint}"


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the images on show beat any real images, with students of every seed."""
    if min(map(len, results.shared.values())) < len(world.seeds):
        return False
    means = {}
    for kind, values in results.shared.items():
        means[kind] = statistics.fmean(values)
    return means.pop(LEARNED) - max(means.values()) >= _AHEAD


MatchingLab = Lab(
    "What can a few learned images teach?",
    World,
    controls=("networks", "initialisation", "images_per_class"),
    folded=("learning_rate", "iterations", "batch_size", "momentum", "views"),
    labels={
        "networks": "number of networks",
        "images_per_class": "images per class",
        "initialisation": "begin as",
        "iterations": "updates",
        "batch_size": "real batch",
    },
    choice_words=lambda world: {
        "networks": lambda number: "new each time" if number is None else str(number)
    },
    run=World.run,
    jobs=list_jobs,
    opens_with=4,
    shared=share_accuracies,
    step_words="update",
    unused=lambda world, settings: () if settings.strategy else ("views",),
    job_words=lambda world, run: f"learning {run.config.images_per_class} per class",
    buttons=[
        Compute(
            "Learn",
            lambda world, settings, results: [results.run],
            hint="Let the images descend",
            stays=True,
        ),
        Compute(
            "Train students",
            students,
            "graduation-cap",
            "On the images on show, and on three kinds of real ones",
        ),
    ],
    views=[
        Strip(strip_data, learned_images),
        Row(Chart(distance_data, distance_curve, cursor=step_on_show), Chart(score_data, scores)),
    ],
    sentence=sentence,
    quest=Quest(
        f"Learn images that teach more than all three rivals: {100 * _AHEAD:.0f} point "
        "ahead, three students on each.",
        quest_met,
    ),
)
