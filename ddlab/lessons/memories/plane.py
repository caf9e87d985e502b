"""The laboratory in the plane: six classes of points come two by two, and what was decided before
is overwritten. The outputs at the points of the first class show which steps do it.

PlaneLab()

A point is a picture of two pixels, so that the method is the one that learns digits. What it keeps
is ringed; a click on another point keeps that one.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import networks
from ...core import parameter, randomness
from ...data import ImageData
from ...explorers import Chart, Lab, Named, Quest, Results, Row, Tabs, step_on_show
from ...explorers.ready import HEIGHT
from ...figures import finish_figure, loss_curves, series_style, start_figure
from ...figures.theme import faint, neutral
from ...methods import mnemonics
from ...methods.distillation import from_images
from ...runs import Run
from ...training.phases import class_ends, logits_of
from .lab import DECLARED, bars, bars_data
from .world import BY_HAND, MEMORIES, Moment, Settings, World

CLASSES = "ABCDEF"
ENOUGH = 0.88  # of all points: so many as an unlimited memory ends with
# Of each class.
_POINTS = 40
# How far a class turns with its radius, and how far its dots lie off the curve.
_TWIST = 0.7
_SPREAD = 0.025
# From a class's outermost point to its letter, as a share of the point's distance from the hub.
_LETTER_GAP = 0.12
# Places of the map, on each side.
_GRID = torch.linspace(0, 1, 61)


def wheel(seed: int = 0) -> ImageData:
    """Return six bent spokes of a wheel, A to F. The classes of a task lie opposite each other.

    Pictures of two pixels, x and y.
    """
    draws = randomness.generator(seed, 0, "wheel")
    base = torch.tensor([0, 3, 1, 4, 2, 5]) * math.pi / 3

    def split() -> tuple[Tensor, Tensor]:
        labels = torch.arange(len(CLASSES)).repeat_interleave(_POINTS)
        radius = 0.12 + 0.33 * torch.rand(len(labels), generator=draws)
        angle = base[labels] + _TWIST * (radius / 0.165 - 1.7)
        points = 0.5 + radius[:, None] * torch.stack([angle.cos(), angle.sin()], 1)
        points += _SPREAD * torch.randn(len(labels), 2, generator=draws)
        return (255 * points.clamp(0, 1)).round().to(torch.uint8)[:, None, None], labels

    (images, labels) = split()
    (test_images, test_labels) = split()
    # Not `from_arrays`: two pictures of two pixels may be equal by chance, of which it would warn.
    return ImageData(
        name="wheel",
        train_images=images,
        train_labels=labels,
        test_images=test_images,
        test_labels=test_labels,
        class_names=tuple(CLASSES),
    )


@dataclass(frozen=True, kw_only=True)
class PlaneSettings(Settings):
    """With the points that were clicked."""

    clicked: str = parameter("", help="Training points to keep, the last one first: '17 203'.")


class PlaneWorld(World):
    """The wheel, in three tasks."""

    settings = PlaneSettings
    choices = (*MEMORIES, BY_HAND)

    def __init__(self) -> None:
        small = {
            "tasks": 3,
            "images_per_class": 1,
            "network": networks.spec("mlp", width=64),
            "learning_rate": 0.5,
        }
        config = mnemonics.Config.teaching(**small, epochs=10, batch_size=16, replay_batch_size=16)
        # A network of two pixels is as fast here, and the map of the plane asks it where the points
        # are.
        super().__init__(wheel(), config=config, device="cpu")

    def run(self, settings: PlaneSettings) -> Run:
        """Return the run.

        Points that were clicked are kept: of each class the last ones first, then its first points.
        """
        if settings.memory != BY_HAND:
            return super().run(settings)
        order = [*map(int, settings.clicked.split())]
        labels = self.data.train_labels
        order += [row_number for row_number in range(len(labels)) if row_number not in order]
        kept_rows = []
        for label in range(self.data.classes):
            members = [row for row in order if labels[row] == label]
            kept_rows += members[: settings.images_per_class]
        rows = torch.tensor(kept_rows)
        put = from_images(self.data.normalised(rows), labels[rows], self.data)
        return self.of(self.config(settings), replace(self.inputs, distilled=put))


def keep_clicked(
    world: PlaneWorld, settings: PlaneSettings, clicked: dict[str, Any]
) -> PlaneSettings:
    """Return settings that keep the point which was clicked, at the end of the run."""
    if clicked["customdata"] is None:
        return settings
    before = [
        row_text for row_text in settings.clicked.split() if row_text != str(clicked["customdata"])
    ]
    return settings.replace(
        memory=BY_HAND, clicked=" ".join([str(clicked["customdata"]), *before]), step=None
    )


def plane_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the points, the moment on show, and its settings."""
    return {"world": world, "config": results.run.config, "moment": results.frame.content}


def points_of(images: Tensor, data: ImageData) -> np.ndarray:
    """Return normalised pictures of two pixels as points [n, 2]."""
    return (images.flatten(1) * data.std.flatten() + data.mean.flatten()).numpy()


def plane(world: World, config: mnemonics.Config, moment: Moment) -> go.Figure:
    """Draw the network's decisions and the points of this task, of those before, and those kept."""
    data = world.data
    (start, classes_met) = [0, *class_ends(config, len(CLASSES))][moment.phase : moment.phase + 2]
    y, x = torch.meshgrid(_GRID, _GRID, indexing="ij")
    places = (torch.stack([x, y], -1).view(-1, 1, 1, 2) - data.mean.view(-1, 1, 1)) / data.std.view(
        -1, 1, 1
    )
    with torch.no_grad():
        decided = (
            logits_of(config, world.inputs, moment.weights, places, classes_met)
            .argmax(1)
            .view(x.shape)
        )
    title = f"Learning {' and '.join(CLASSES[start:classes_met])}"
    figure = start_figure(title=title, x_label="first pixel", y_label="second pixel", height=HEIGHT)
    parts = len(CLASSES)
    shades = []
    for k in range(parts):
        for end in (0, 1):
            shades.append([(k + end) / parts, faint(series_style(k).colour, 0.25)])
    flat = {
        "zmin": -0.5,
        "zmax": parts - 0.5,
        "colorscale": shades,
        "showscale": False,
        "hoverinfo": "skip",
    }
    figure.add_heatmap(z=decided.numpy(), x=_GRID.numpy(), y=_GRID.numpy(), **flat)
    points = points_of(data.normalised(), data)
    exemplars = points_of(moment.exemplars, data)
    labels = data.train_labels.numpy()
    is_kept = moment.exemplars.flatten(1).any(1).numpy()
    owners = np.arange(len(exemplars)) // max(len(exemplars) // parts, 1)
    for k, name in enumerate(CLASSES[:classes_met]):
        style = series_style(k)
        points_of_class = points[labels == k]
        look = {"color": style.colour, "symbol": style.marker}
        trace_options = {
            "name": name,
            "customdata": np.flatnonzero(labels == k).tolist(),
            "opacity": 0.5 if k < start else 1,
        }
        # A dot's edge: on a region of its own colour it would be hard to see.
        edge = {"color": neutral("text"), "width": 0.7}
        dots = {
            "mode": "markers",
            "hoverinfo": "name",
            "marker": {**look, "size": 6, "line": edge},
        }
        figure.add_scatter(
            x=points_of_class[:, 0], y=points_of_class[:, 1], **trace_options, **dots
        )
        mine = exemplars[(owners == k) & is_kept]
        dots |= {"marker": {**look, "size": 12, "line": {"color": neutral("text"), "width": 2}}}
        figure.add_scatter(x=mine[:, 0], y=mine[:, 1], name=f"kept of {name}", **dots)
        # At the outer end of the spoke, where no exemplar hides the letter.
        from_hub = points_of_class - 0.5
        outermost = int(np.linalg.norm(from_hub, axis=1).argmax())
        x0, y0 = (points_of_class[outermost] + _LETTER_GAP * from_hub[outermost]).clip(0.03, 0.97)
        figure.add_annotation(x=x0, y=y0, text=f"<b>{name}</b>", showarrow=False)
    figure.update_layout(showlegend=False).update_xaxes(
        range=[0, 1], showgrid=False, constrain="domain"
    )
    figure.update_yaxes(range=[0, 1], showgrid=False, scaleanchor="x", constrain="domain")
    shares = [
        f"{name} {float((decided == k).float().mean()):.0%}"
        for k, name in enumerate(CLASSES[:classes_met])
    ]
    return finish_figure(
        figure, alt=f"{title}: the share of the plane of each class is {', '.join(shares)}."
    )


def outputs_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the moments that were kept, and their settings."""
    frames = tuple((frame.step, frame.content) for frame in results.frames)
    return {"world": world, "config": results.run.config, "frames": frames}


def outputs_chart(
    world: World, config: mnemonics.Config, frames: tuple[tuple[int, Moment], ...]
) -> go.Figure:
    """Draw the mean output of each class at the test points of A, while the network learns."""
    places = world.data.normalised(world.data.of_class(0, "test"), "test")
    curves = np.full((len(CLASSES), len(frames)), np.nan)
    ends = class_ends(config, len(CLASSES))
    for column, (_, kept) in enumerate(frames):
        classes_met = ends[kept.phase]
        with torch.no_grad():
            outputs = logits_of(config, world.inputs, kept.weights, places, classes_met)
        curves[:classes_met, column] = outputs.mean(0)
    figure = loss_curves(
        dict(zip(CLASSES, curves, strict=True)),
        [step for step, _ in frames],
        title="Mean output of each class where A lies",
        x_label="training step",
        y_label="output (logit)",
        height=HEIGHT,
    )
    figure.update_yaxes(rangemode="normal")
    last = {name: curve[-1] for name, curve in zip(CLASSES, curves, strict=True)}
    words = ", ".join(f"{name} {value:.1f}" for name, value in last.items() if value == value)
    return finish_figure(figure, alt=f"Mean outputs at the points of A, in the end {words}.")


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether all classes are kept."""
    moment = results.frame.content
    return (
        len(moment.accuracies) == len(CLASSES) and sum(moment.accuracies) / len(CLASSES) >= ENOUGH
    )


PlaneLab = Lab(
    "What becomes of what was learned?",
    PlaneWorld,
    views=[
        Row(
            Chart(plane_data, plane, click=keep_clicked),
            Tabs(
                ("Accuracy by task", Chart(bars_data, bars)),
                ("Outputs at A", Chart(outputs_data, outputs_chart, cursor=step_on_show)),
            ),
        )
    ],
    recorded={"click": 12},
    quest=Quest(
        f"End with {ENOUGH:.0%} of all points classified correctly.",
        quest_met,
        solution=[
            ("memory", "nearest to centres"),
            ("images_per_class", 3),
            ("distillation_weight", 0.0),
        ],
    ),
    **DECLARED
    | {
        # The plane's own, which knows clicked points.
        "run": lambda world, settings: world.run(settings),
        "jobs": lambda world, settings, run: [run],
    },
)
