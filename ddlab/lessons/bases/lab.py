"""What do the floats of twenty images buy? Bases of images and of a teacher's vectors, the bill,
and what the pairs teach that it buys.

BasesLab(data, teacher)     U bases of images at 1/s of the size, V of vectors: what they make of held-out images, what they cost and leave

The first use of a scale takes a second: then all bases are known, and U only cuts.
"""

from statistics import fmean

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from ...explorers import BUTTON, Chart, Compute, Lab, Named, Quest, Results, Strip, Tabs, Value
from ...figures import encode_grid, finish_figure, series_style, start_figure, tried_settings
from .curves import reconstruction_error_curve
from .unlabelled import BUDGET
from .world import PICTURED, SEEDS, Fitted, Settings, World, large

_SCREEN = 48  # pixels that an image takes, about
_HEIGHT = 285  # of the plots
AHEAD = 0.04  # of the quest
Split = tuple[int, int, int]  # scale, image bases, vector bases
Scores = tuple[float, ...]


def list_jobs(world: World, settings: Settings, run: None = None) -> list[Value]:
    """Return the bases of the images at this scale, and those of the vectors."""
    return [Value(world.fitted, settings.scale), Value(world.fitted, None)]


def shared_bases(
    world: World, settings: Settings, results: Results
) -> tuple[Fitted, Fitted] | None:
    """Return both bases, or None while they are being found."""
    images, vectors = (results(value) for value in list_jobs(world, settings))
    return None if images is None or vectors is None else (images, vectors)


def split(settings: Settings, bases: tuple[Fitted, Fitted]) -> Split:
    """Return how the floats are spent, with no more bases than there are."""
    images, vectors = bases
    return settings.scale, images.used(settings.bases), vectors.used(settings.vector_bases)


# -- the picture


def picture_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return the bases, how many of them are used, and which images are shown."""
    if results.shared is None:
        return None
    images, _ = results.shared
    return {
        "world": world,
        "images": images,
        "scale": settings.scale,
        "used": images.used(settings.bases),
        "page": settings.page,
    }


def picture(world: World, images: Fitted, scale: int, used: int, page: int) -> tuple[bytes, str]:
    """Draw held-out images, their reconstructions, and the last bases that are used (Boost,
    Figure 2a); return PNG bytes and alt text.
    """
    originals = world.images["test"][(page - 1) * PICTURED : page * PICTURED]
    rows = [
        world.data.to_uint8(images_of_row).numpy()
        for images_of_row in (originals, world.rebuilt(images.bases[:used], scale, originals))
    ]
    rows.append(basis_pictures(large(images.bases[:used][-len(originals) :], scale)))
    row_count = min(used, len(originals))
    rows.append(np.full_like(rows[0][row_count:], 128))
    alt = (
        f"{len(originals)} held-out images, below them what {used} bases at scale {scale} make "
        "of them, relative squared error of all "
        f"{len(world.images['test'])} {_small(images.error(used))}, and the last {row_count} of these bases, "
        "grey where a basis is zero."
    )
    names = ["images", "from bases", f"bases {used - row_count + 1}–{used}"]
    return encode_grid(np.concatenate(rows), len(originals), cell=_SCREEN, row_labels=names), alt


def basis_pictures(bases: Tensor) -> np.ndarray:
    """Return bases [n, c, h, w] as pictures, uint8: grey for zero, each as strong as can be shown."""
    strongest = bases.abs().amax((1, 2, 3), keepdim=True)
    return (128 + 127 * bases / strongest).round().to(torch.uint8).numpy()


# -- the bill, and what is left


def bill_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return the parts of the bill for the bases and for as many pairs as there are floats left.

    None while the bases are being found.
    """
    if results.shared is None:
        return None
    chosen = split(settings, results.shared)
    sizes = world.sizes(*chosen)
    count = world.pairs(*chosen)
    return {
        "count": count,
        "budget": BUDGET * sizes.image_floats,
        "parts": tuple(vars(sizes.bill(count)).items()),
    }


def bill(count: int, budget: int, parts: tuple[tuple[str, int], ...]) -> go.Figure:
    """Return a bar for each part of what is spent."""
    title = f"{budget:,} floats buy {count} pairs"
    figure = start_figure(title=title, x_label="floats", y_label="part", height=_HEIGHT)
    paid = {
        name.replace("_", " ").replace("representation", "vector"): floats
        for name, floats in parts
        if floats
    }
    colours = [series_style(1 if name.endswith("coefficients") else 0).colour for name in paid]
    text = [f"{floats:,}" for floats in paid.values()]
    figure.add_bar(
        y=[*paid],
        x=[*paid.values()],
        text=text,
        orientation="h",
        marker_color=colours,
        cliponaxis=False,
    )
    figure.update_xaxes(range=[0, 1.25 * max(paid.values(), default=1)], tickformat="~s")
    figure.update_yaxes(autorange="reversed", title="").update_layout(showlegend=False)
    description = ", ".join(f"{name} {floats:,}" for name, floats in paid.items())
    return finish_figure(figure, alt=f"{title}: {description}.")


def image_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return the errors of images at the scale on show, then at others that are known.

    None while the first is being found.
    """
    other_scales = [scale for scale in world.scales if scale != settings.scale]
    every = [
        (scale, results(Value(world.fitted, scale))) for scale in (settings.scale, *other_scales)
    ]
    curves = tuple((f"s = {scale}", fitted) for scale, fitted in every if fitted is not None)
    return (
        None
        if every[0][1] is None
        else {
            "every": curves,
            "title": "Squared error that the first U image bases leave",
            "x_label": "image bases U",
        }
    )


def vector_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return the errors of the vectors."""
    vectors = results(Value(world.fitted, None))
    title = "Squared error that the first V vector bases leave"
    return (
        None
        if vectors is None
        else {"every": (("vectors", vectors),), "title": title, "x_label": "vector bases V"}
    )


def errors_left(every: tuple[tuple[str, Fitted], ...], title: str, x_label: str) -> go.Figure:
    """Draw the relative squared errors of held-out points, and that of scaling alone."""
    curves = {name: fitted.errors for name, fitted in every}
    return reconstruction_error_curve(
        curves, every[0][1].scaling, title=title, x_label=x_label, height=_HEIGHT
    )


# -- what the pairs teach


def networks(world: World, settings: Settings, results: Results) -> list[Value]:
    """List two probes for the dotted lines, then the networks of the pairs on show and of real
    images.
    """
    if results.shared is None or not world.pairs(*(chosen := split(settings, results.shared))):
        return []
    jobs = [Value(world.limits)]
    for seed in SEEDS:
        jobs += [Value(world.probe_score, *chosen, seed), Value(world.real, seed)]
    return jobs


def scores(world: World, results: Results) -> tuple[dict[Split, Scores], Scores]:
    """Return the scores that are known: of each split that was tried, and of twenty real images."""
    tried: dict[Split, list[float]] = {}
    for (scale, bases, vector_bases, _), score in sorted(results.every(world.probe_score)):
        tried.setdefault((scale, bases, vector_bases), []).append(score)
    real = tuple(score for _, score in sorted(results.every(world.real)))
    return {chosen: tuple(scores_of_split) for chosen, scores_of_split in tried.items()}, real


def taught_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return each split that was tried with its pairs and scores, and what they are seen against.

    The last are the split on show, real images, and both ends.
    """
    if results.shared is None:
        return None
    tried, real = scores(world, results)
    splits = [
        (chosen, world.pairs(*chosen), scores_of_split) for chosen, scores_of_split in tried.items()
    ]
    points = tuple(splits)
    return {
        "points": points,
        "on_show": split(settings, results.shared),
        "real": real,
        "limits": results(Value(world.limits)),
    }


def taught(
    points: tuple, on_show: Split, real: Scores, limits: tuple[float, float] | None
) -> go.Figure:
    """Draw the accuracy over the pairs of each split that was tried."""
    arms: dict[str, dict[int, Scores]] = {}
    ring = None
    for (scale, bases, vector_bases), count, scores_of_split in points:
        arms.setdefault(f"V = {vector_bases}", {})[count] = scores_of_split
        if (scale, bases, vector_bases) == on_show:
            ring = count, fmean(scores_of_split)
    rivals = {"20 real images": fmean(real)} if real else {}
    rivals |= {} if limits is None else dict(zip(("untrained", "teacher"), limits, strict=True))
    return tried_settings(
        arms or {"press Train networks": {}},
        rivals=rivals,
        on_show=ring,
        title="Linear probes of networks that learned the pairs",
        x_label="pairs that the floats buy",
        places=(10, 20, 50, 100, 200, 500, 1000),
        log=True,
        limits=(0.4, 0.8),
        lines=False,
        height=_HEIGHT,
    )


# -- in words


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what is bought, left and taught, with its numbers."""
    if results.shared is None:
        return f"Computing the bases at scale {settings.scale} ..."
    images, vectors = results.shared
    scale, used, used_vectors = split(settings, results.shared)
    sizes = world.sizes(scale, used, used_vectors)
    budget = BUDGET * sizes.image_floats
    count = world.pairs(scale, used, used_vectors)
    if not count:
        price = sizes.bill(1).total
        return (
            f"These bases and one pair cost {price:,} floats, more than the {budget:,} that there "
            "are. Choose fewer bases, or a larger scale."
        )
    scaling = f" (scaling alone {_small(images.scaling)})" if scale > 1 else ""
    text = (
        f"{budget:,} floats buy {count} pairs. {used} image bases at scale {scale} leave an error "
        f"of {_small(images.error(used))}{scaling} on held-out images, and {used_vectors} vector "
        f"bases leave {_small(vectors.error(used_vectors))} of their vectors."
    )
    mine, real = _pairs_of_scores(world, settings, results)
    if not mine:
        return text
    return (
        f"{text} {len(mine)} of {len(SEEDS)} networks are trained: on these pairs they reach "
        f"{fmean(mine):.1%}, on twenty real images {fmean(real):.1%}."
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the pairs on show are far ahead of twenty real images, in the mean of all networks."""
    if results.shared is None:
        return False
    mine, real = _pairs_of_scores(world, settings, results)
    return len(mine) == len(SEEDS) and fmean(mine) - fmean(real) >= AHEAD


def _pairs_of_scores(world: World, settings: Settings, results: Results) -> tuple[Scores, Scores]:
    """Return the scores of the split on show and of real images, seed by seed."""
    tried, real = scores(world, results)
    pairs = [*zip(tried.get(split(settings, results.shared), ()), real, strict=False)]
    return tuple(mine for mine, _ in pairs), tuple(real_score for _, real_score in pairs)


def _small(error: float) -> str:
    return f"{error:.3g}" if error > 1e-6 else "less than 1e-6"


_TAUGHT = Chart(taught_data, taught, ghosts=False, tried=("bases", "vector_bases", "scale", "page"))

BasesLab = Lab(
    "What do the floats of twenty images buy?",
    World,
    controls=("bases", "vector_bases", "scale", "page"),
    recorded={"bases": 9, "page": 8},
    pairs=[("bases", "vector_bases")],
    labels={"bases": "image bases (U)", "vector_bases": "vector bases (V)", "scale": "scale (s)"},
    stops=World.slider_limits,
    jobs=list_jobs,
    opens_with=2,
    shared=shared_bases,
    buttons=[
        Compute(
            "Train networks",
            networks,
            "graduation-cap",
            "On these pairs, and on real images",
            view=_TAUGHT,
        )
    ],
    views=[
        Strip(picture_data, picture),
        Tabs(
            ("The bill", Chart(bill_data, bill)),
            (
                "Images",
                Chart(
                    image_data,
                    errors_left,
                    cursor=lambda world, settings, results: settings.bases,
                ),
            ),
            (
                "Vectors",
                Chart(
                    vector_data,
                    errors_left,
                    cursor=lambda world, settings, results: settings.vector_bases,
                ),
            ),
            ("What they teach", _TAUGHT),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"Split the floats so that the pairs teach {100 * AHEAD:.0f} points more than twenty real "
        "images, without learning any of them.",
        quest_met,
        solution=[("vector_bases", 10), (BUTTON, "Train networks")],
    ),
)
