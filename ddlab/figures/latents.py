"""Latents of one batch in a plane, with the two pulls at each of them, and the inner products of the pulls (DWA, appendix A.1)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import plotly.graph_objects as go

from ..core.boundary import checked, within
from ..core.errors import DDLabError, fail
from . import alt as words
from . import theme as look
from ._check import as_array, as_extent
from .comparison import bars, raise_bars
from .theme import ThemeName

LATENTS = "latents"
_SUM = "sum"
_TARGET_SPREAD, _BATCH_SPREAD = "target spread", "batch spread"  # one standard deviation about the mean
_TARGET_MEAN, _BATCH_MEAN = "target mean", "batch mean"
_MEAN_PULL, _VARIANCE_PULL = "mean gap", "variance gap"
_TOGETHER, _APART = ("circle", 1.2), ("diamond", 3.0)  # symbol and width of its line
_CIRCLE = np.linspace(0, 2 * np.pi, 49)
_HEAD = 12  # pixels

Top = Annotated[float, within(0, open_low=True)]


def latent_arrows(
    points: Any,
    mean_arrows: Any,
    variance_arrows: Any,
    *,
    target_mean: Any,
    target_variance: Any,
    opposed: Any,
    extent: tuple[tuple[float, float], tuple[float, float]] | None = None,
    title: str = "Where the two gaps pull the latents",
    x_label: str = "latent, first dimension",
    y_label: str = "latent, second dimension",
    theme: ThemeName = "light",
    height: int = 500,
) -> go.Figure:
    """Numbered points with two arrows each, and the mean and the spread (one standard deviation) of the batch and of the target.

    Args:
        points: [n, 2]. mean_arrows, variance_arrows: [n, 2], from each point, in units of the axes; a zero arrow is not drawn.
        target_mean: [2]. target_variance: [2], not negative. Those of the batch are taken from the points (biased).
        opposed: [n], True where the pulls point against each other: drawn as diamond.
        extent: (low, high) of both axes; default: what the points need.

    Example:
        latent_arrows([[0, 0], [1, 1]], [[0.1, 0], [0.1, 0]], [[-0.2, 0], [0.2, 0]], target_mean=[0, 0], target_variance=[1, 1],
                      opposed=[True, False])
    """
    figure = look.start_figure(title=title, x_label=x_label, y_label=y_label, theme=theme, height=height)
    quiet, text, background = (look.neutral(name, theme) for name in ("quiet", "text", "background"))
    blue, vermillion, pink = (look.series_style(index, theme).colour for index in range(3))
    for spread, centre, colour, dash, symbol in (
        (_TARGET_SPREAD, _TARGET_MEAN, quiet, "solid", "cross"),
        (_BATCH_SPREAD, _BATCH_MEAN, text, "dash", "x"),
    ):
        line = {"color": colour, "dash": dash, "width": 1.5}
        figure.add_scatter(mode="lines", name=spread, line=line, hoverinfo="skip")
        marker = {"symbol": symbol, "size": 12, "color": colour, "line": {"color": background, "width": 1}}
        figure.add_scatter(mode="markers", name=centre, marker=marker, hoverinfo="x+y+name")
    for name, colour, dash, symbol in (
        (_MEAN_PULL, blue, "solid", "arrow"),
        (_VARIANCE_PULL, vermillion, "dot", "arrow-wide"),
    ):
        line = {"color": colour, "dash": dash, "width": 2.5}
        marker = {"symbol": symbol, "angleref": "previous", "color": colour, "opacity": 1, "line": {"width": 0}}
        figure.add_scatter(mode="lines+markers", name=name, line=line, marker=marker, hoverinfo="x+y+name")
    figure.add_scatter(
        mode="markers+text", name=LATENTS, marker={"size": 17, "color": background}, texttemplate="%{customdata}",
        textfont={"size": 11, "color": text}, showlegend=False,
        hovertemplate="latent %{customdata}: %{x:.2f}, %{y:.2f}<extra></extra>",
    )  # fmt: skip
    # The legend shows one symbol per trace: one trace more for each of the two.
    for name, symbol, width, colour in (("latent", *_TOGETHER, text), ("pulled apart", *_APART, pink)):
        marker = {"symbol": symbol, "size": 14, "color": background, "line": {"color": colour, "width": width}}
        figure.add_scatter(x=[None], y=[None], mode="markers", name=name, marker=marker, hoverinfo="skip")
    look.legend_below(figure)
    # Few rows of short names: the plot is square, and what the legend takes it loses.
    figure.update_layout(legend={"entrywidth": 92, "font": {"size": 12}}, margin={"b": 112})
    ranges = as_extent(extent)
    figure.update_xaxes(zeroline=False, range=ranges[0], constrain="domain")
    # Equal units, so that what is orthogonal looks so.
    figure.update_yaxes(zeroline=False, range=ranges[1], constrain="domain", scaleanchor="x")
    return move_latents(
        figure, points, mean_arrows, variance_arrows,
        target_mean=target_mean, target_variance=target_variance, opposed=opposed,
    )  # fmt: skip


@checked
def move_latents(
    figure: go.Figure,
    points: Any,
    mean_arrows: Any,
    variance_arrows: Any,
    *,
    target_mean: Any,
    target_variance: Any,
    opposed: Any,
) -> go.Figure:
    """Other points and arrows, any number, on a figure that `latent_arrows` made. Changes `figure` in place, and returns it.

    For points that move under a reader's hand. Arguments as of `latent_arrows`.
    """
    theme = (figure.layout.meta or {}).get("theme", "light")
    moving, alt = _parts(points, mean_arrows, variance_arrows, target_mean, target_variance, opposed, theme)
    traces = {trace.name: trace for trace in figure.data}
    if not moving.keys() <= traces.keys():
        fail("figure", "a figure that latent_arrows made", figure)
    for name, changes in moving.items():
        for attribute, values in changes.items():
            traces[name][attribute] = values
    return look.finish_figure(figure, alt=alt)


@checked
def product_bars(
    products: Any,
    *,
    top: Top | None = None,
    title: str = "Inner product of the two pulls",
    y_label: str = "inner product",
    theme: ThemeName = "light",
    height: int = 260,
) -> go.Figure:
    """One bar per point, and their sum over the batch beside them: below zero the point is pulled apart.

    Args:
        products: [n], such as `ddlab.theory.single_products` gives them.
        top: half the height of the axis, so that bars are seen to shrink; default: what the products need.
    """
    heights = _heights(products)
    names = [*map(str, range(1, len(heights))), _SUM]
    figure = bars(
        names, heights, title=title, x_label="latent", y_label=y_label, theme=theme, height=height, text_format=".3f"
    )
    # "1" is a name here, and a number to plotly.
    figure.update_xaxes(type="category")
    return _scaled(figure, heights, top)


@checked
def raise_products(figure: go.Figure, products: Any, *, top: Top | None = None) -> go.Figure:
    """Other products, as many as before, on a figure that `product_bars` made. Changes `figure` in place, and returns it."""
    heights = _heights(products)
    if len(figure.data) != 1 or figure.data[0].x is None or len(figure.data[0].x) != len(heights):
        fail("figure", f"a figure that product_bars made of {len(heights) - 1} products", figure)
    return _scaled(raise_bars(figure, heights, text_format=".3f"), heights, top)


def _heights(products: Any) -> np.ndarray:
    """The products and their sum, without the rounding that nobody sees (a bar of -1e-17 would be written as -0.000)."""
    single = as_array("products", products)
    with np.errstate(over="ignore"):
        heights = np.append(single, single.sum())
    if not np.isfinite(heights).all():
        fail("products", "finite, and their sum too", products)
    return np.where(np.abs(heights) < 5e-7, 0.0, heights)


def _scaled(figure: go.Figure, heights: np.ndarray, top: float | None) -> go.Figure:
    # By itself plotly would blow rounding up to the full height.
    needed = 1.3 * max(float(np.abs(heights).max()), 1e-3)
    top = max(needed, top or 0.0)
    figure.layout.yaxis.range = [-top, top] if np.isfinite(top) else None
    # A minus sign in front of 0.000 says nothing.
    figure.data[0].text = [f"{height:.3f}" for height in np.round(heights, 3) + 0.0]
    return figure


def _parts(
    points: Any,
    mean_arrows: Any,
    variance_arrows: Any,
    target_mean: Any,
    target_variance: Any,
    opposed: Any,
    theme: ThemeName,
) -> tuple[dict[str, dict[str, Any]], str]:
    """What changes when points move, by trace, and what the figure shows, in words."""
    at = _plane("points", points)
    pulls = {
        _MEAN_PULL: _plane("mean_arrows", mean_arrows, len(at)),
        _VARIANCE_PULL: _plane("variance_arrows", variance_arrows, len(at)),
    }
    goal, goal_variance = _pair("target_mean", target_mean), _pair("target_variance", target_variance)
    if (goal_variance < 0).any():
        fail("target_variance", "at least 0 in both dimensions", goal_variance.tolist())
    apart = as_array("opposed", opposed).astype(bool)
    if len(apart) != len(at):
        raise DDLabError(f"opposed must be an array of {len(at)} values, one per point; given {len(apart)}.")
    mean, variance = at.mean(0), at.var(0)
    pink, text = look.series_style(2, theme).colour, look.neutral("text", theme)
    shapes = [_APART if one else _TOGETHER for one in apart]
    moving = {
        _TARGET_SPREAD: _ellipse(goal, goal_variance),
        _BATCH_SPREAD: _ellipse(mean, variance),
        _TARGET_MEAN: {"x": [goal[0]], "y": [goal[1]]},
        _BATCH_MEAN: {"x": [mean[0]], "y": [mean[1]]},
        **{name: _arrows(at, at + arrows) for name, arrows in pulls.items()},
        # Plain lists: the plot widget moves single points of this trace.
        LATENTS: {
            "x": at[:, 0].round(4).tolist(), "y": at[:, 1].round(4).tolist(), "customdata": list(range(1, len(at) + 1)),
            "marker.symbol": [symbol for symbol, _ in shapes], "marker.line.width": [width for _, width in shapes],
            "marker.line.color": [pink if one else text for one in apart],
        },
    }  # fmt: skip
    said = [f"({words.number(one)}, {words.number(other)})" for one, other in (mean, goal, variance, goal_variance)]
    alt = (
        f"{len(at)} latents in a plane with two arrows each; {int(apart.sum())} are pulled apart. The batch's mean is {said[0]}, the "
        f"target's {said[1]}; its variance is {said[2]}, the target's {said[3]}."
    )
    return moving, alt


def _arrows(start: np.ndarray, end: np.ndarray) -> dict[str, Any]:
    """Lines with gaps between them; heads only where there is a length to see."""
    gap = np.full(len(start), None)
    heads = np.where(np.abs(end - start).max(1) > 1e-3, _HEAD, 0)
    return {
        axis: np.stack([start[:, at].round(4), end[:, at].round(4), gap], 1).ravel().tolist()
        for at, axis in enumerate("xy")
    } | {"marker.size": np.stack([0 * heads, heads, 0 * heads], 1).ravel().tolist()}


def _ellipse(centre: np.ndarray, variance: np.ndarray) -> dict[str, Any]:
    circle = np.stack([np.cos(_CIRCLE), np.sin(_CIRCLE)], 1) * np.sqrt(variance) + centre
    return {"x": circle[:, 0].astype(np.float32), "y": circle[:, 1].astype(np.float32)}


def _plane(argument: str, value: Any, count: int | None = None) -> np.ndarray:
    array = as_array(argument, value, dimensions=(2,))
    wanted = "any" if count is None else str(count)
    if array.shape != (len(array) if count is None else count, 2) or not (np.abs(array) < 1e30).all():
        fail(argument, f"an array of shape [{wanted}, 2] with finite values below 1e30", array)
    return array


def _pair(argument: str, value: Any) -> np.ndarray:
    array = as_array(argument, value)
    if array.shape != (2,) or not (np.abs(array) < 1e30).all():
        fail(argument, "an array of 2 finite values below 1e30", array)
    return array
