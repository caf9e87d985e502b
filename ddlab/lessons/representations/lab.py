"""The laboratory of targets: an objective with another network's answers, and the objective
alone.

TargetLab(data, {"untrained": network, "strong": other})
"""

import plotly.graph_objects as go

from ...explorers import Chart, Lab, Named, Quest, Results, Strip, Tabs, step_on_show
from ...figures import add_reference, encode_grid, loss_curves
from ...runs import Run
from .world import COLUMNS, COMPONENTS, Settings, World

_HEIGHT = 320
# Of accuracy, for the quest: the untrained prior gives the slowest objective 13 points.
_AHEAD = 0.15
_NAMES = {
    "byol": "BYOL",
    "barlow_twins": "Barlow Twins",
    "simclr": "SimCLR",
    "moco": "MoCo",
    "simsiam": "SimSiam",
    "swav": "SwAV",
    "dino": "DINO",
    "vicreg": "VICReg",
}
Curve = tuple[tuple[int, float], ...]


def named(objective: str) -> str:
    """Return an objective as papers write it."""
    return _NAMES.get(objective, objective)


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run]:
    """List the run with the targets, then the one without."""
    return [run, world.run(settings, alone=True)]


def curve_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the accuracies kept so far, with and without targets, and that of the prior's
    features.
    """
    aided, alone = (
        tuple((frame.step, frame.content.accuracy) for frame in frames)
        for frames in (results.frames, results.jobs[1].frames)
    )
    return {
        "total": results.run.total,
        "objective": named(settings.objective),
        "aided": aided,
        "alone": alone,
        "prior": world.own[settings.prior],
    }


def curve(total: int, objective: str, aided: Curve, alone: Curve, prior: float) -> go.Figure:
    """Draw the probe accuracy over the run."""
    points = {f"{objective} with targets": aided, f"{objective} alone": alone}
    longest = max(points.values(), key=len)
    accuracies = {
        name: [accuracy for _, accuracy in looks] for name, looks in points.items() if looks
    }
    figure = loss_curves(
        accuracies,
        [step for step, _ in longest],
        title="Linear probe of the network while it trains",
        x_label="update",
        y_label="test accuracy",
        height=_HEIGHT,
    )
    add_reference(figure, "prior itself", prior)
    values = [prior, *(value for looks in points.values() for _, value in looks)]
    return figure.update_xaxes(range=[0, total]).update_yaxes(
        range=[0.8 * min(values), 1.1 * max(values)], tickformat=".0%"
    )


def target_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the loss of the targets and lambda at the steps that were kept so far."""
    frames = [frame for frame in results.frames if frame.content.share is not None]
    losses = tuple(frame.content.target_loss for frame in frames if frame.content.share)
    return {
        "total": results.run.total,
        "losses": losses,
        "shares_by_step": tuple((frame.step, frame.content.share) for frame in frames),
    }


def target_curve(total: int, losses: tuple[float, ...], shares_by_step: Curve) -> go.Figure:
    """Draw the network's distance from the targets while they are learned, and their weight."""
    steps, shares = zip(*shares_by_step, strict=True) if shares_by_step else ((0,), (1.0,))
    figure = loss_curves(
        {"loss of the targets, 1 − cos": list(losses) or [1.0], "weight λ": list(shares)},
        list(steps),
        title="Are the targets learned?",
        x_label="update",
        y_label="loss, weight",
        height=_HEIGHT,
    )
    return figure.update_xaxes(range=[0, total]).update_yaxes(range=[-0.05, 1.1])


def along_data(world: World, settings: Settings, results: Results) -> Named:
    """Name the prior whose targets are shown."""
    return {"world": world, "prior": settings.prior}


def images_along(world: World, prior: str) -> tuple[bytes, str]:
    """Draw images in the order of each of the first numbers of a prior's targets."""
    images = world.data.train_images[world.along(prior).flatten()]
    rows = [f"number {number}" for number in range(1, COMPONENTS + 1)]
    column_names = ["low", *[""] * (COLUMNS - 2), "high"]
    words = (
        f"Images in the order of the first {COMPONENTS} numbers of the {prior} prior's targets, "
        "from lowest to highest."
    )
    return encode_grid(images, COLUMNS, 2, row_labels=rows, column_labels=column_names), words


def _at(run: Run, step: int | None) -> float | None:
    frame = run.at(step)
    return None if frame is None else frame.content.accuracy


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what the probe finds at the step on show, with targets and without."""
    (run, alone) = results.jobs
    frame = results.frame
    without = _at(alone, results.step) if alone.begun else None
    beside = "" if without is None else f", {without:.1%} with {named(settings.objective)} alone"
    return (
        f"After update {frame.step} of {run.total}, linear probes reach "
        f"{frame.content.accuracy:.1%} with the {settings.prior} prior's targets{beside}, and "
        f"{world.own[settings.prior]:.1%} for the prior itself."
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether both runs are over and the one with targets is ahead."""
    aided, alone = (
        run.frames[-1].content.accuracy if run.complete else None for run in results.jobs
    )
    return aided is not None and alone is not None and aided - alone >= _AHEAD


TargetLab = Lab(
    "Whose answers are worth learning?",
    World,
    controls=("prior", "objective", "schedule"),
    recorded={"objective": 4},
    folded=("share", "ratio", "subset", "train_projection", "epochs", "seed"),
    labels={
        "ratio": "share of the images in an epoch",
        "schedule": "λ",
        "share": "λ where constant",
        "subset": "images",
        "train_projection": "train W",
    },
    choice_words=lambda world: {"objective": named},
    run=World.run,
    jobs=list_jobs,
    step_words="update",
    unused=lambda world, settings: () if settings.schedule == "constant" else ("share",),
    job_words=lambda world, run: (
        "training alone" if run.config.share == 0 else "training with targets"
    ),
    views=[
        Tabs(
            ("Probe accuracy", Chart(curve_data, curve, cursor=step_on_show)),
            ("Loss of the targets", Chart(target_data, target_curve, cursor=step_on_show)),
        ),
        Strip(along_data, images_along),
    ],
    sentence=sentence,
    quest=Quest(
        f"Make a network that learns targets first end {100 * _AHEAD:.0f} points ahead of its "
        "objective alone.",
        quest_met,
        solution=[("prior", "strong"), ("objective", "dino")],
    ),
)
