"""The laboratory of RDED: squares are cut from real images, a teacher scores them, and the surest ones
are stitched into distilled images. One step is one class.

    CropLab(data, teacher=teacher)
"""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import parameter
from ...explorers import Chart, Lab, Named, Results, Strip
from ...explorers.ready import HEIGHT, MethodWorld, SteppedSettings
from ...figures import encode_grid, finish_figure, series_style, start_figure
from ...figures.theme import legend_below
from ...methods import rded
from ...runs import Inputs

_BEST = 5  # candidates in the picture; the worst one stands beside them
_EDGE = 230  # brightness of the frame around a square
_CHART = HEIGHT - 40  # pixels, below two rows of images


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, rded.Config):
    """RDED's hyper-parameters as a reader moves them."""

    images_per_class: int = parameter(1, range=(1, None), help="Distilled images of each class.")
    candidates_per_class: int = parameter(
        60, range=(1, None), explorable=(10, 100), help="Real images that squares are cut from."
    )


@dataclass(frozen=True, eq=False)
class Contest:
    """The squares of one class.

    Attributes:
        label: the class.
        framed: uint8 [best and worst, c, h, w], the candidates with their best square in a frame.
        squares: uint8 of the same shape, these squares enlarged.
        mosaic: uint8 [c, h, w], the distilled image.
        losses, areas: float [n, m], of every square: nats, and its share of the image.
        winners: bool [n, m], whether the square is in a distilled image.
    """

    label: int
    framed: Tensor
    squares: Tensor
    mosaic: Tensor
    losses: Tensor
    areas: Tensor
    winners: Tensor


def contest(
    config: rded.Config, inputs: Inputs, state: rded.State, trace: rded.Trace | None
) -> Contest | None:
    """Return what is kept of a class; None before the first one."""
    if trace is None:
        return None
    data, mosaics = inputs.data, trace.mosaics
    losses = mosaics.losses.cpu()
    order = losses.min(1).values.argsort(stable=True)
    places = torch.cat([order[:_BEST], order[-1:]])
    images = data.train_images[trace.candidates[places]]
    framed, squares = images.clone(), []
    for picture, image, row in zip(framed, images, places.tolist(), strict=True):
        top, left, height, width = mosaics.boxes[row, losses[row].argmin()].tolist()
        edges = torch.zeros(image.shape[1:], dtype=torch.bool)
        edges[top : top + height, left : left + width] = True
        edges[top + 1 : top + height - 1, left + 1 : left + width - 1] = False
        picture[:, edges] = _EDGE
        square = image[None, :, top : top + height, left : left + width].float()
        squares.append(F.interpolate(square, size=data.image_size, mode="bilinear")[0])
    winners = torch.zeros_like(losses, dtype=torch.bool)
    winners[mosaics.rows.flatten(), mosaics.crops.flatten()] = True
    height, width = data.image_size
    return Contest(
        label=trace.label,
        framed=framed,
        squares=torch.stack(squares).round().to(torch.uint8),
        mosaic=data.to_uint8(mosaics.images.cpu())[0],
        losses=losses,
        areas=mosaics.boxes[..., 2:].prod(-1) / (height * width),
        winners=winners,
    )


class World(MethodWorld):
    """Data, and a teacher that scores squares.

    Args:
        config: where the controls start; default RDED's teaching preset, with 30 candidates.
        device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    method = rded
    settings = Settings
    first = rded.Config.teaching(candidates_per_class=30)
    frame = staticmethod(contest)
    frames = 1000  # every class


def contest_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return the contest of the class on show."""
    current = results.frame.content
    return (
        None
        if current is None
        else {"class_name": world.data.class_names[current.label], "current": current}
    )


def squares_strip(class_name: str, current: Contest) -> tuple[bytes, str]:
    """Draw the candidates and their best squares, the surest first, and the distilled image."""
    pictures = torch.stack([current.framed, current.squares], dim=1)
    blank = torch.full_like(current.mosaic, 128)
    columns = torch.cat([pictures, torch.stack([current.mosaic, blank])[None]])
    names = [*(str(place + 1) for place in range(len(pictures) - 1)), "last", "result"]
    grid = encode_grid(
        columns.transpose(0, 1).flatten(0, 1), len(names), cell=64, column_labels=names, gap=6
    )
    alt = (
        f"{class_name}: five real images with their best square, the surest first, and the one of "
        "which the teacher is least sure; below, these squares enlarged; at the right the result."
    )
    return grid, alt


def squares_chart(class_name: str, current: Contest) -> go.Figure:
    """Draw every square: its share of the image, and the teacher's loss."""
    figure = start_figure(
        title=f"{current.losses.numel()} squares of '{class_name}'",
        x_label="share of the image",
        y_label="teacher's loss (nats)",
        height=_CHART,
    )
    kinds = {"cut": ~current.winners, "in the distilled image": current.winners}
    for number, (name, chosen) in enumerate(kinds.items()):
        style = series_style(number)
        figure.add_scatter(
            x=current.areas[chosen].tolist(),
            y=np.maximum(current.losses[chosen].numpy(), 1e-6).tolist(),
            mode="markers",
            name=name,
            marker={"color": style.colour, "symbol": style.marker, "size": 6 + 6 * number},
        )
    figure.update_yaxes(type="log", dtick=1).update_xaxes(tickformat=".0%")
    words = f"Loss against share of the image for {current.losses.numel()} squares of {class_name}."
    return finish_figure(legend_below(figure), alt=words)


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how sure the teacher is of the best square, and how large this is."""
    contest = contest_data(world, settings, results)
    if contest is None:
        return "No class has been scored yet."
    class_name, current = contest.values()
    best = int(current.losses.argmin())
    return (
        f"'{class_name}': {len(current.losses)} real images, {current.losses.shape[1]} squares of each. "
        f"The surest square covers {current.areas.flatten()[best]:.0%} of its image, with a loss of "
        f"{current.losses.flatten()[best]:.2g} nats; the median square has {current.losses.median():.2g}."
    )


CropLab = Lab(
    "Which part of an image is a teacher surest of?",
    World,
    controls=("crops_per_image", "candidates_per_class", "factor"),
    recorded={"crops_per_image": 3, "candidates_per_class": 3, "step": 3},
    folded=("smallest_area",),
    labels={
        "crops_per_image": "squares of each image (m)",
        "candidates_per_class": "real images (n)",
        "factor": "squares per side (f)",
        "smallest_area": "smallest square",
    },
    run=World.run,
    jobs=lambda world, settings, run: [run],
    opens_with=1,
    step_label=lambda world, settings, step: (
        world.data.class_names[step - 1] if step else "none yet"
    ),
    step_words="class",
    views=[Strip(contest_data, squares_strip), Chart(contest_data, squares_chart, ghosts=False)],
    sentence=sentence,
)
