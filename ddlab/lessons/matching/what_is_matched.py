"""The laboratory of gradients: what gradient matching compares, layer by layer and channel by channel, while images are learned.

GradientLab(data)
GradientLab(data, dsa.Config.teaching(images_per_class=1, outer_steps=5, inner_epochs=5))

The network is the one that the next update matches in, so the last frame before a new network shows the old one.
"""

from __future__ import annotations

import base64
import math

import numpy as np
import plotly.graph_objects as go

from ...explorers.lab import Compute, Known, Lab, Value
from ...explorers.quest import Quest
from ...explorers.views import Chart, Row, Strip, Tabs
from ...figures import alt_text, bars, encode_grid, encode_png, finish_figure, loss_curves, series_style, start_figure
from ...figures.theme import literal, neutral
from ...runs import Frame, Run
from .gradients import LEARNED, RANDOM, STRATEGIES, Compared, Settings, World, channels, layer_words

_HEIGHT = 390  # of the plots
_TOPS, _TALL = (1.0, 0.65), 0.33  # of the maps, as shares of the plot
_WIDE = 12  # pixels of a map for one channel, for a browser smooths what it stretches
_LEARNED_SHOWN, _REAL_SHOWN = 5, 8
_CELL = 48  # pixels that an image is wide at least, where whole multiples allow it
_NEARER = 0.8  # of the distance of random real images: what the quest asks for
_UNITS = {"channels": "1 − cos, mean of channels", "squared": "squared error", "vector": "1 − cos"}
_SAID = {
    "channels": "1 − cos, mean over output channels",
    "squared": "squared error of all gradients",
    "vector": "1 − cos of all gradients as one vector",
}
_DRAWN = {
    "channels": "each output channel at length 1",
    "squared": "as they are, one colour scale",
    "vector": "all together at length 1",
}
_PARTS = {"channels": "1 − cos", "squared": "error", "vector": "part"}


def frame_on_show(world: World, settings: Settings, known: Known) -> Frame:
    """The last frame that is not after the step on show."""
    frame = world.run(settings).at(known.step)
    assert frame is not None  # the check has begun the run
    return frame


def compared(world: World, settings: Settings, known: Known) -> Compared:
    """What the next update compares for the class on show."""
    label = world.data.class_names.index(settings.class_name)
    return known.now(world.compared, world.run(settings), frame_on_show(world, settings, known), label)


# -- the images, as they are seen


def strip_data(world: World, settings: Settings, known: Known) -> tuple:
    """The class and what is compared."""
    return world, settings.class_name, compared(world, settings, known)


def strip(world: World, name: str, found: Compared) -> tuple[bytes, str]:
    """Some learned and some real images of the class, through their views."""
    real, learned = found.seen
    parts = [world.data.to_uint8(learned[:_LEARNED_SHOWN]), world.data.to_uint8(real[:_REAL_SHOWN])]
    heads = ["learned"] * len(parts[0]) + ["real"] * len(parts[1])
    scale = max(1, round(_CELL / world.data.image_size[1]))
    alt = f"{len(parts[0])} learned and {len(parts[1])} real images of class {name}, as the network sees them."
    return encode_grid(np.concatenate(parts), len(heads), scale, column_labels=heads, gap=4), alt


# -- the gradients


def map_data(world: World, settings: Settings, known: Known) -> tuple:
    """The class, the distance and what is compared."""
    return settings.class_name, settings.distance, compared(world, settings, known)


def gradient_maps(name: str, kind: str, found: Compared) -> go.Figure:
    """A column for each layer: the real gradient, the learned one, and what each output channel adds to the distance.

    The maps are pictures: as plots of their own they took twice as long to draw.
    """
    figure = start_figure(title="Gradients", x_label="layer", y_label="gradient", height=_HEIGHT)
    for column, layer in enumerate(found.rows):
        left, right = (column + (0.12 if column else 0)) / len(found.rows), (column + 1) / len(found.rows)
        for top in _TOPS:
            figure.add_layout_image(
                xref="paper", yref="paper", x=left, y=top, sizex=right - left, sizey=_TALL, sizing="stretch"
            )
        number = column + 1
        hover = "output channel %{x}: %{y:.3f}<extra></extra>"
        colour = series_style(0).colour
        figure.add_bar(
            marker={"color": colour}, showlegend=False, hovertemplate=hover, xaxis=f"x{number}", yaxis=f"y{number}"
        )
        below = {"ticks": "", "zeroline": False}
        figure.layout[f"xaxis{number}"] = below | {
            "domain": [left, right], "anchor": f"y{number}", "title": {"text": layer_words(layer)}, "showticklabels": False,
            "showgrid": False,
        }  # fmt: skip
        figure.layout[f"yaxis{number}"] = below | {
            "domain": [0, 0.28], "anchor": f"x{number}", "title": {"text": ""}, "showticklabels": not column, "nticks": 4,
            "showgrid": True,
        }  # fmt: skip
    for top, words in zip(_TOPS, ("real batch", "learned"), strict=True):
        place = {
            "x": 0,
            "y": top - _TALL / 2,
            "xref": "paper",
            "yref": "paper",
            "xanchor": "right",
            "yanchor": "middle",
        }
        figure.add_annotation(text=words, textangle=-90, showarrow=False, xshift=-6, **place)
    return move_maps(figure, name, kind, found)


def move_maps(figure: go.Figure, name: str, kind: str, found: Compared) -> go.Figure:
    """Other gradients in the plots of `gradient_maps`; a new figure takes six times as long."""
    largest = {layer: max(float(one.abs().max()) for one in pair) for layer, pair in found.rows.items()}
    tallest = max(float(part.max()) for part in found.parts.values())
    if kind == "channels":
        tallest = max(1.0, tallest)
    else:
        largest = dict.fromkeys(largest, max(largest.values()))
    for column, (layer, pair) in enumerate(found.rows.items()):
        for row, gradient in enumerate(pair):
            figure.layout.images[2 * column + row].source = picture_of(gradient.cpu().numpy(), largest[layer])
        figure.data[column].y = found.parts[layer].cpu().numpy()
        figure.layout[f"yaxis{column + 1}"].range = [0, 1.05 * tallest]
    figure.layout.yaxis.title.text = _PARTS[kind]
    figure.layout.title.text = f"Gradients of class {literal(name)}<br><sub>{_DRAWN[kind]}</sub>"
    said = "; ".join(f"{layer_words(layer)} {float(part.sum()):.3g}" for layer, part in found.parts.items())
    alt = (
        f"Gradients of the real batch above those of the learned images of class {name}, a column for each layer, "
        f"{_DRAWN[kind]}; under each what its output channels add to the distance, in all {said}."
    )
    return finish_figure(figure, alt=alt)


def picture_of(gradient: np.ndarray, largest: float) -> str:
    """[output channels, weights of one] as a picture, a column for each channel: blue above zero, orange below it, the denser the larger.

    Zero is see-through, so the picture fits a light and a dark page.
    """
    upright = np.repeat(gradient.T[::-1], _WIDE, axis=1)
    positive, negative = (tuple(bytes.fromhex(series_style(number).colour[1:])) for number in (0, 1))
    pixels = np.empty((*upright.shape, 4), np.uint8)
    pixels[..., :3] = np.where(upright[..., None] > 0, positive, negative)
    pixels[..., 3] = (255 * np.abs(upright) / (largest or 1)).round()
    return "data:image/png;base64," + base64.b64encode(encode_png(pixels)).decode()


# -- the distance along the run, and beside rivals


def rivals(world: World, settings: Settings, known: Known) -> dict[str, dict[str, float]] | None:
    """`World.rivals` of the frame on show, computed beside; while images are learned the time is theirs."""
    run, step = world.run(settings), frame_on_show(world, settings, known).step
    return known(Value(world.rivals, run, step)) if known.doing(run) else known.later(world.rivals, run, step)


def wanted(world: World, settings: Settings) -> list[Run | Value]:
    """The rivals before the first update; then the whole run, and the rivals at the step that was asked for."""
    run = world.run(settings)
    last = run.total if settings.step is None else min(run.kept, key=lambda step: abs(step - (settings.step or 0)))
    return [Value(world.rivals, run, 0), run, Value(world.rivals, run, last)]


def curve_data(world: World, settings: Settings, known: Known) -> tuple:
    """The distance by layer before every update so far, or before the first one."""
    run = world.run(settings)
    first = run.frames[0]
    found = known(Value(world.rivals, run, 0))
    points = [{name: value / channels(run, first, name) for name, value in note.items()} for note in run.notes]
    if not points:
        points = [{"not computed yet": math.nan} if found is None else found[LEARNED]]
    return settings.distance, run.total, run.config.loops[0], tuple(tuple(point.items()) for point in points)


def distance_curves(
    kind: str, total: int, outer_steps: int, points: tuple[tuple[tuple[str, float], ...], ...]
) -> go.Figure:
    """What the images descend; a dotted line wherever a fresh network comes."""
    rows = [dict(point) for point in points]
    series = {layer_words(name): [row[name] for row in rows] for name in rows[0]}
    figure = loss_curves(
        series, list(range(len(rows))), title="Distance, all classes", x_label="update", y_label=_UNITS[kind],
        height=_HEIGHT,
    )  # fmt: skip
    if outer_steps > 1:
        line = {"color": neutral("grid"), "width": 1, "dash": "dot"}
        figure.update_layout(
            shapes=[
                {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "layer": "below", "line": line}
                for x in range(outer_steps, total, outer_steps)
            ]
        )
        finish_figure(figure, alt=f"{alt_text(figure)} Dotted lines: a fresh network, every {outer_steps} updates.")
    return figure.update_xaxes(range=[0, total])


def _cursor(world: World, settings: Settings, known: Known) -> float:
    return frame_on_show(world, settings, known).step


def rival_data(world: World, settings: Settings, known: Known) -> tuple | None:
    """Learned images and their rivals in the network on show; what was shown stays until it is computed."""
    found = rivals(world, settings, known)
    if found is None:
        return None
    rows = tuple((name, tuple(layers.items())) for name, layers in found.items())
    return settings.distance, settings.images_per_class, rows


def rival_bars(kind: str, count: int, rows: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]) -> go.Figure:
    """As many learned, random and averaged images of each class: how far each pulls from the real batch."""
    layers = [layer_words(name) for name, _ in rows[0][1]]
    return bars(
        layers,
        {name: [value for _, value in values] for name, values in rows},
        title=f"In this network, {count} per class",
        y_label=_UNITS[kind],
        height=_HEIGHT,
        text_format=".3g" if kind == "squared" else ".2f",
    )


# -- in words


def fresh(world: World, settings: Settings, frame: Frame) -> bool:
    """Whether the images have not met the network on show."""
    run = world.run(settings)
    return frame.step % run.config.loops[0] == 0 and frame.step < run.total


def sentence(world: World, settings: Settings, known: Known) -> str:
    """What is compared at a step."""
    run, frame = world.run(settings), frame_on_show(world, settings, known)
    found = compared(world, settings, known)
    outer, epochs = run.config.loops
    number, matched = divmod(min(frame.step, run.total - 1), outer)
    many = "1 learned image" if settings.images_per_class == 1 else f"{settings.images_per_class} learned images"
    passes = matched * epochs
    met = (
        "untrained"
        if passes == 0
        else f"trained {passes} {'pass' if passes == 1 else 'passes'} over all learned images"
    )
    met += " and new to them" if fresh(world, settings, frame) else ""
    where = f"network {number + 1} of {run.config.networks}, {met}"
    through = "" if not settings.strategy or settings.views == "none" else f", view: {STRATEGIES[settings.strategy]}"
    said = ", ".join(
        f"{layer_words(name)} {value / channels(run, frame, name):.2g}" for name, value in found.distances.items()
    )
    left = "" if run.complete or known.doing(run) else " Press Learn."
    now = "as they begin" if frame.step == 0 else f"after update {frame.step} of {run.total}"
    return f"Class {settings.class_name}, {many} {now}, in {where}{through}: {_SAID[settings.distance]}, {said}.{left}"


def quest_met(world: World, settings: Settings, known: Known) -> bool:
    """Whether learned images, in a network that they have not met, are nearer than random real ones by the share asked for."""
    frame = frame_on_show(world, settings, known)
    if frame.step == 0 or not fresh(world, settings, frame):
        return False
    found = rivals(world, settings, known)
    return found is not None and sum(found[LEARNED].values()) <= _NEARER * sum(found[RANDOM].values())


GradientLab = Lab(
    "What is matched?",
    World,
    controls=("images_per_class", "distance", "outer_steps", "strategy"),
    more=("class_name", "initialisation", "learning_rate", "inner_epochs", "batch_size", "updates", "views"),
    labels={
        "images_per_class": "images per class",
        "outer_steps": "matchings in each network T",
        "inner_epochs": "passes between two matchings",
        "batch_size": "real batch",
        "class_name": "class on show",
        "initialisation": "begin as",
    },
    choice_words=lambda world: {"strategy": lambda choice: STRATEGIES.get(choice, choice)},
    check=World.check,
    wanted=wanted,
    opens_with=1,
    at_once=lambda world, new, old, known: False,
    watched=World.run,
    step_words="update",
    unused=lambda world, settings: (
        *(() if settings.strategy else ("views",)),
        *(() if settings.outer_steps > 1 else ("inner_epochs",)),
    ),
    job_words=lambda world, run: f"learning {run.config.images_per_class} per class",
    buttons=[
        Compute(
            "Learn", lambda world, settings, known: [world.run(settings)], hint="Let the images descend", stays=True
        )
    ],
    views=[
        Strip(strip_data, strip),
        Tabs(
            ("Gradients", Chart(map_data, gradient_maps, move=move_maps)),
            ("Distance", Row(Chart(curve_data, distance_curves, cursor=_cursor), Chart(rival_data, rival_bars))),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        "In a network that the learned images have not met, bring their distance a fifth below that of as many random real images.",
        quest_met,
    ),
)
