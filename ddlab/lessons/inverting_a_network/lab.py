"""The laboratory of recovery: ten images, a frozen teacher, and its batch-norm statistics matched
or not.

RecoveryLab(data, teacher)

The strip shows what recovery begins with and what it has reached; students tell what it is worth.
"""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import networks
from ...core import parameter, with_default
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation.landscapes import CELLS
from ...explorers import Chart, Lab, Named, Quest, Results, Strip, Tabs, Value
from ...explorers.ready import HEIGHT, MethodWorld, SteppedSettings, Watch, earlier_update
from ...figures import (
    encode_grid,
    finish_figure,
    line_style,
    series_style,
    start_figure,
    tried_settings,
)
from ...figures.theme import legend_below, neutral
from ...methods import sre2l
from ...networks import Network
from ...runs import Frame, Run
from ...training import supervised
from ..shared.image_landscape import COARSE, Surface, draw, surface

# Weights of both gaps, from off to a hundred times SRe2L's.
WEIGHTS = (0.0, 0.003, 0.01, 0.03, 0.1, 1.0)
# SRe2L's own. Its run from noise spans the landscape for all weights and starts.
_USUAL = 0.01
# Students of each set, whose mean is shown.
STUDENTS = 2
# Accuracy of the quest: students of images recovered without the gaps reach less than .6.
ENOUGH = 0.75
REAL = "random real"
TYPICAL = "typical"
_STARTS = ("noise", "real")
_CELL = 48  # pixels of an image in the strip
# Bins of the histogram, in stored standard deviations.
_BINS = np.linspace(-3, 3, 25)


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, sre2l.Config):
    """SRe2L's hyper-parameters as a reader moves them; one weight is that of both gaps."""

    images_per_class: int = with_default(sre2l.Config, "images_per_class", 1, source="teaching")
    weight: float = parameter(
        0.0, choices=WEIGHTS, explorable=True, help="Of the mean gap and the variance gap (λ)."
    )
    iterations: int = parameter(
        200, range=(1, None), explorable=(50, 400), step=50, help="Updates of the images."
    )
    roll_pixels: int = with_default(sre2l.Config, "roll_pixels", 2, source="teaching")
    seed: int = parameter(0, range=(0, None), help="Of every draw.", explorable=(0, 9))


def channel_offsets(teacher: Network, images: Tensor) -> Tensor:
    """Return how far the mean of each batch-norm channel lies from the stored mean.

    Args:
        images: normalised, [n, c, h, w].

    Returns:
        Offsets in stored standard deviations, [channels of all layers].
    """
    offsets = []

    # A hook that changes nothing: it reads what each layer gets on its way.
    def compare(layer: str, inputs: Tensor) -> Tensor:
        stored_mean = teacher.weights[f"{layer}.running_mean"]
        stored_variance = teacher.weights[f"{layer}.running_var"]
        offsets.append((inputs.mean((0, 2, 3)) - stored_mean) / stored_variance.sqrt())
        return inputs

    with torch.no_grad():
        networks.call(teacher.spec, teacher.weights, images, at_batch_norm=compare)
    return torch.cat(offsets)


class World(MethodWorld):
    """Data, a teacher, and where the controls start.

    Args:
        data, teacher: what is recovered, and from which network.
        student: how students are trained; default `supervised.Config.quick(data)`.
        iterations: updates of the images, where the controls start.
        device: of the runs.

    Raises:
        DDLabError: a teacher without batch norm, or settings that the method refuses.
    """

    method = sre2l
    settings = Settings
    first = sre2l.Config.teaching()
    frames = 39

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        *,
        student: supervised.Config | None = None,
        iterations: int = 200,
        device: torch.device | str = "auto",
    ) -> None:
        config = sre2l.Config.teaching(iterations=iterations)
        super().__init__(data, config, teacher=teacher, student=student, device=device)

    def config(self, settings: Settings) -> sre2l.Config:
        """Return SRe2L's config, with one weight for both gaps."""
        return (
            super()
            .config(settings)
            .replace(lambda_mean=settings.weight, lambda_var=settings.weight)
        )

    def surface(self, config: sre2l.Config, cells: int, *, watch: Watch) -> Surface:
        """Return the loss over the plane of a run's start, its end and random real images.

        The run is finished first.
        """
        run = self.of(config).advance(watch=lambda run: watch("a recovery", run.step / run.total))
        start, recovered = (run.frames[at].content.images for at in (0, -1))
        real = self.chosen("random", seed=config.seed)
        return surface(
            self.inputs.teachers[0],
            real.labels.to(start.device),
            (recovered, start, real.images.to(start)),
            cells,
            watch=watch,
        )

    def recovered_accuracy(self, config: sre2l.Config, *, watch: Watch) -> float:
        """Return the mean accuracy of students of recovered images. The run is finished first."""
        return self._mean(self.of(config).advance().result(), watch)

    def real_accuracy(self, kind: str, seed: int, *, watch: Watch) -> float:
        """Return the same for real images, which involve no learning."""
        return self._mean(self.chosen(kind, seed=seed), watch)

    def _mean(self, distilled: DistilledSet, watch: Watch) -> float:
        students = [self.learning.replace(labels="online", seed=seed) for seed in range(STUDENTS)]
        return self.mean_taught(distilled, students, watch)


def surfaces(world: World, config: sre2l.Config) -> list[Value]:
    """Return the landscape, coarse and then fine; one for all starts and weights of the gaps."""
    usual = config.replace(lambda_mean=_USUAL, lambda_var=_USUAL, initialisation="noise")
    return [Value(world.surface, usual, cells) for cells in (COARSE, CELLS)]


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """Return the recovery, its students, and those of real images."""
    return [
        run,
        Value(world.recovered_accuracy, run.config),
        *surfaces(world, run.config),
        Value(world.real_accuracy, "random", settings.seed),
        Value(world.real_accuracy, "k_means", settings.seed),
    ]


def share_accuracies(
    world: World, settings: Settings, results: Results
) -> tuple[float | None, float | None, float | None]:
    """Return the accuracies of recovered, random and typical images, None where they are to come."""
    return results(results.jobs[1]), results(results.jobs[-2]), results(results.jobs[-1])


def strip_data(world: World, settings: Settings, results: Results) -> Named:
    """Return what recovery began with, and the frame on show."""
    return {"data": world.data, "first": results.frames[0], "on_show": results.frame}


def strip(data: ImageData, first: Frame, on_show: Frame) -> tuple[bytes, str]:
    """Draw the first images above those on show, a column for each class."""
    pixels = data.to_uint8(torch.cat([first.content.images, on_show.content.images]))
    rows = ["start", f"update {on_show.step}"]
    alt = (
        f"The images of {', '.join(data.class_names)} at the start and after update {on_show.step}."
    )
    grid = encode_grid(
        pixels, data.classes, cell=_CELL, column_labels=data.class_names, row_labels=rows, gap=4
    )
    return grid, alt


def students_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the accuracy by weight of the gaps, for each start, and of real images.

    Only visited settings that differ in start and weight alone count.
    """
    config = results.run.config
    points: dict[str, dict[float, float]] = {start: {} for start in _STARTS}
    for (tried_config,), accuracy in results.every(world.recovered_accuracy):
        at_these_settings = tried_config.replace(
            initialisation=config.initialisation,
            lambda_mean=config.lambda_mean,
            lambda_var=config.lambda_var,
        )
        if at_these_settings == config:
            points[tried_config.initialisation][tried_config.lambda_var] = accuracy
    arms = tuple((start, tuple(sorted(tried.items()))) for start, tried in points.items())
    return {"arms": arms, "weight": settings.weight, "accuracies": results.shared}


def students_chart(arms: tuple, weight: float, accuracies: tuple) -> go.Figure:
    """Draw what students learn, against the weight of the gaps, beside real images."""
    recovered, random, typical = accuracies
    levels = {f"{REAL} images": random, f"{TYPICAL} images": typical}
    return tried_settings(
        {
            f"recovered from {start}": {where: [accuracy] for where, accuracy in points}
            for start, points in arms
        },
        rivals={name: level for name, level in levels.items() if level is not None},
        on_show=None if recovered is None else (weight, recovered),
        title=f"Students with the teacher's labels (mean of {STUDENTS})",
        x_label="weight of the gaps (λ)",
        stops={weight: f"{weight:g}" if weight else "off" for weight in WEIGHTS},
        limits=(0.3, 1.0),
        height=HEIGHT,
    )


def landscape_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the finest landscape that is there, the weight, and the images up to those on show."""
    coarse, fine = (results(job) for job in surfaces(world, results.run.config))
    frames_so_far = [frame for frame in results.frames if frame.step <= results.frame.step]
    return {"surface": fine or coarse, "weight": settings.weight, "frames": tuple(frames_so_far)}


def landscape_chart(surface: Surface | None, weight: float, frames: tuple[Frame, ...]) -> go.Figure:
    """Draw the loss with this weight of both gaps, and the path of the run."""
    path = torch.stack([frame.content.images for frame in frames])
    return draw(
        surface,
        (weight, weight),
        {"this run": path},
        title=f"Loss with gaps weighted {weight:g}" if weight else "Loss without gaps",
        corner="real",
        height=HEIGHT,
        x_label="towards the start",
        y_label="towards the real images",
    )


def statistics_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the teacher, and the images at the start and on show."""
    teacher = world.inputs.teachers[0]
    return {"teacher": teacher, "first": results.frames[0], "on_show": results.frame}


def statistics_chart(teacher: Network, first: Frame, on_show: Frame) -> go.Figure:
    """Draw the offsets of all channels, at the start and for the images on show."""
    frames = {"start": first, f"update {on_show.step}": on_show}
    offsets = {
        name: channel_offsets(teacher, frame.content.images).cpu() for name, frame in frames.items()
    }
    return offset_histogram(offsets, height=HEIGHT)


def offset_histogram(offsets: dict[str, Tensor], *, height: int) -> go.Figure:
    """Draw the share of channels against their offset, a stepped line for each set of images.

    Offsets beyond the axis count in its first and last bin.
    """
    figure = start_figure(
        title="How far each channel's mean lies from the stored one",
        x_label="offset (stored standard deviations)",
        y_label="share of channels",
        height=height,
    )
    clauses = []
    for index, (name, values) in enumerate(offsets.items()):
        # Without the clamp, shares would not sum to one, and far offsets be hidden.
        inside = values.clamp(_BINS[0], _BINS[-1]).numpy()
        counts, _ = np.histogram(inside, _BINS)
        style = line_style(series_style(index))
        # Steps as wide as the bins; bars of two sets would hide each other.
        style["line"] = style["line"] | {"shape": "hvh"}
        middles = (_BINS[1:] + _BINS[:-1]) / 2
        figure.add_scatter(x=middles, y=counts / len(inside), name=name, **style)
        clauses.append(f"{name} {float(values.abs().mean()):.2f}")
    figure.add_vline(0, line={"color": neutral("quiet"), "dash": "dot", "width": 1.5})
    figure.update_xaxes(range=[_BINS[0], _BINS[-1]]).update_yaxes(
        tickformat=".0%", rangemode="tozero"
    )
    return finish_figure(
        legend_below(figure), alt=f"Mean distance from the stored means: {', '.join(clauses)}."
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what the images on show teach, or how far recovery has come."""
    recovered, random, typical = results.shared
    start = "noise" if settings.initialisation == "noise" else "real images"
    gaps = f"gaps weighted {settings.weight:g}" if settings.weight else "gaps off"
    if recovered is None:
        run = results.run
        return f"From {start}, {gaps}: update {run.step} of {run.total}."
    beside = "" if random is None else f" Random real images: {random:.1%}."
    beside += "" if typical is None else f" Typical ones: {typical:.1%}."
    return (
        f"From {start}, {gaps}: students with the teacher's labels classify {recovered:.1%} of the "
        f"test images correctly.{beside}{earlier_update(results)}"
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether images from noise teach enough."""
    recovered, *_ = results.shared
    return settings.initialisation == "noise" and recovered is not None and recovered >= ENOUGH


RecoveryLab = Lab(
    "What does the network give back?",
    World,
    controls=("weight", "initialisation", "learning_rate"),
    recorded={"learning_rate": 7},
    folded=("iterations", "seed"),
    labels={
        "weight": "gaps (λ)",
        "initialisation": "start",
        "learning_rate": "learning rate (η)",
        "iterations": "updates",
    },
    choice_words=lambda world: {
        "weight": lambda weight: f"{weight:g}" if weight else "off",
        "initialisation": lambda start: "real images" if start == "real" else start,
    },
    run=World.run,
    jobs=list_jobs,
    shared=share_accuracies,
    step_words="update",
    job_words=lambda world, run: "images are recovered",
    views=[
        Strip(strip_data, strip),
        Tabs(
            (
                "Students",
                Chart(
                    students_data, students_chart, ghosts=False, tried=("weight", "initialisation")
                ),
            ),
            ("Landscape", Chart(landscape_data, landscape_chart, ghosts=False)),
            ("Statistics", Chart(statistics_data, statistics_chart)),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"From noise, recover images whose students reach {ENOUGH:.0%} or more.",
        quest_met,
        solution=[("weight", 0.01), ("learning_rate", 1.0)],
    ),
)
