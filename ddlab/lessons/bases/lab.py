"""What do the floats of twenty images buy? Principal bases at several scales, those of a teacher's representations, and the bill.

BasesLab(data)              U bases at 1/s of the size: images above what is made of them, the error of every U, what they cost
BasesLab(data, teacher)     also V bases of the teacher's representations, beside an untrained network's: where they have collapsed

The first use of a scale, or of another way with the mean, takes a second or two: then all bases are known, and U only cuts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...distilled.storage_budget import Factorised
from ...explorers.lab import Lab, Results, Value
from ...explorers.lines import Quest
from ...explorers.views import Chart, Row, Strip, Tabs
from ...figures import encode_grid
from ...figures.theme import finish_figure, series_style, start_figure
from .curves import reconstruction_error_curve, spectrum_curve
from .world import DIFFERENCE, HELD_OUT, NOTHING, STORED, TRAINING, Fitted, Settings, World

_SCREEN = 48  # pixels that an image takes, about
_HEIGHT = 225  # of the plots
BUDGET, PAIRS, LEFT = (
    20,
    100,
    (0.2, 0.05),
)  # images whose floats may be spent; of the quest: pairs, relative squared errors
Named = tuple[tuple[Any, Fitted], ...]


def wanted(world: World, settings: Settings, run: None = None) -> list[Value]:
    """The bases of the images, then those of each network's representations."""
    names = [(name, STORED) for name in world.representations]
    return [Value(world.fitted, *each) for each in [(settings.scale, settings.image_mean), *names]]


def image_data(world: World, settings: Settings, known: Results) -> tuple | None:
    """The bases at the scale on show, then those at other scales that are known, and the split; None while they are being found."""
    others = [scale for scale in world.scales if scale != settings.scale]
    every = [(scale, known(Value(world.fitted, scale, settings.image_mean))) for scale in (settings.scale, *others)]
    found = tuple((scale, fitted) for scale, fitted in every if fitted is not None)
    return None if every[0][1] is None else (found, settings.split)


def representation_data(world: World, settings: Settings, known: Results) -> tuple | None:
    """The bases of each network's representations; None while they are being found."""
    found = [known(value) for value in wanted(world, settings)[1:]]
    return None if None in found else (tuple(zip(world.representations, found, strict=True)),)


# -- the picture


def picture_data(world: World, settings: Settings, known: Results) -> tuple | None:
    """The bases, how many of them are used, and which images are shown."""
    found = known(wanted(world, settings)[0])
    if found is None:
        return None
    return world, found, settings.scale, found.used(settings.bases), settings.split, settings.page, settings.below


def picture(world: World, found: Fitted, scale: int, used: int, split: str, page: int, below: str) -> tuple[bytes, str]:
    """Images, what the bases make of them, and the third row, as PNG bytes with alt text."""
    images, made = world.made(found, scale, used, split, page)
    rows, third = [images.numpy(), made.numpy()], ""
    if below == DIFFERENCE:
        rows.append((128 + (rows[1].astype(np.int16) - rows[0]) // 2).astype(np.uint8))
        third = ", and the difference, grey where there is none"
    names = ["images", "from bases", *([below] if below != NOTHING else [])]
    size = max(1, round(_SCREEN / images.shape[-1]))
    alt = (
        f"{len(images)} {split} images, below them what {used} bases at scale {scale} make of them, "
        f"relative squared error of all {len(world.images[split])} {_small(found.error(split, used))}{third}."
    )
    return encode_grid(np.concatenate(rows), len(images), size, row_labels=names), alt


# -- the curves


def error_curves(found: Named, split: str) -> go.Figure:
    """What U bases leave: at the scale on show of both splits, at others of one."""
    (scale, here), *others = found
    both = (split, TRAINING if split == HELD_OUT else HELD_OUT)
    curves = {f"s = {scale}, {each}": here.errors[each] for each in both}
    curves |= {f"s = {other}, {split}": fitted.errors[split] for other, fitted in others}
    alone = {"scaling alone": here.scaling[split]} if here.scaling[split] > 1e-6 else None
    title = "What the first U image bases leave"
    return _short(reconstruction_error_curve(curves, references=alone, title=title))


def bill_data(world: World, settings: Settings, known: Results) -> tuple | None:
    """What the bases and as many pairs as are left floats for take, in parts; None while the bases are being found."""
    fitted = [known(value) for value in wanted(world, settings)]
    if None in fitted:
        return None
    found, size = fitted[0], fitted[1].bases.shape[1] if world.representations else 1
    _, channels, height, width = world.images[TRAINING].shape
    chosen = {
        "image_bases": found.used(settings.bases),
        "representation_bases": min(settings.representation_bases, size),
    }
    sizes = Factorised(
        channels=channels, height=height, width=width, scale=settings.scale, representation_size=size, **chosen
    )
    budget, one = BUDGET * sizes.image_floats, sizes.bill(1).total
    count = 0 if one > budget else sizes.largest_count(budget)
    return count, budget, tuple(vars(sizes.bill(count)).items())


def bill(count: int, budget: int, parts: tuple[tuple[str, int], ...]) -> go.Figure:
    """A bar for each part of what is spent."""
    title = f"{budget:,} floats buy {count} pairs"
    figure = start_figure(title=title, x_label="floats", y_label="part", height=_HEIGHT)
    paid = {name.replace("_", " ").replace("representation", "vector"): floats for name, floats in parts if floats}
    colours = [series_style(0 if name.endswith("bases") else 1).colour for name in paid]
    text = [f"{floats:,}" for floats in paid.values()]
    figure.add_bar(y=[*paid], x=[*paid.values()], text=text, orientation="h", marker_color=colours, cliponaxis=False)
    figure.update_xaxes(range=[0, 1.25 * max(paid.values(), default=1)], tickformat="~s")
    figure.update_yaxes(autorange="reversed", title="").update_layout(showlegend=False)
    said = ", ".join(f"{name} {floats:,}" for name, floats in paid.items())
    return finish_figure(figure, alt=f"{title}: {said}.")


def representation_errors(found: Named) -> go.Figure:
    """What V bases leave of the held-out representations."""
    curves = {f"{name}, {HELD_OUT}": fitted.errors[HELD_OUT] for name, fitted in found}
    title = "What the first V bases of representations leave"
    return _short(reconstruction_error_curve(curves, title=title, x_label="bases V (number)"))


def _short(figure: go.Figure) -> go.Figure:
    """As high as the other plots, with few numbers at its axis."""
    return figure.update_layout(height=_HEIGHT).update_yaxes(dtick="D2", title="error left")


def representation_spectrum(found: Named) -> go.Figure:
    """The teacher's beside an untrained network's."""
    spectra = {name: fitted.shares for name, fitted in found}
    shown = spectrum_curve(spectra, title="Spectrum of the representations", y_label="share of the variance")
    return shown.update_layout(height=_HEIGHT)


# -- in words


def sentence(world: World, settings: Settings, known: Results) -> str:
    """What is shown, with its numbers."""
    fitted = [known(value) for value in wanted(world, settings)]
    if any(found is None for found in fitted):
        return f"Bases at scale {settings.scale} are being found ..."
    found, *networks = fitted
    used, (height, width) = found.used(settings.bases), found.bases.shape[2:]
    held_out, training = (_small(found.error(split, used)) for split in (HELD_OUT, TRAINING))
    said = (
        f"{used} of {len(found.bases)} bases of {height} x {width} pixels leave a relative squared error of {held_out} on "
        f"held-out images, {training} on the training images they come from"
    )
    scaling = f"; scaling down and up alone leaves {found.scaling[HELD_OUT]:.3g}" if settings.scale > 1 else ""
    said += f"{scaling}."
    if settings.bases > used:
        said += (
            f" There are no more than {used} bases at this scale, so that U = {settings.bases} gives no other images."
        )
    if not networks:
        return said
    count, budget, parts = bill_data(world, settings, known) or (0, 0, ())
    paid = sum(floats for name, floats in parts if name.endswith("bases"))
    bought = f"Of {budget:,} floats bases take {paid:,}; the rest buys {count} pairs."
    return f"{bought} {said} {_of_networks(settings, *networks)}"


def quest_met(world: World, settings: Settings, known: Results) -> bool:
    """Whether many pairs are bought, by bases that leave little of held-out images and representations."""
    fitted = [known(value) for value in wanted(world, settings)]
    if None in fitted or len(fitted) < 2:
        return False
    images, representations, *_ = fitted
    left = images.error(HELD_OUT, settings.bases), representations.error(HELD_OUT, settings.representation_bases)
    bought = bill_data(world, settings, known)
    return bought is not None and bought[0] >= PAIRS and left[0] <= LEFT[0] and left[1] <= LEFT[1]


def _of_networks(settings: Settings, teacher: Fitted, untrained: Fitted) -> str:
    """How far the representations fill their space, beside those of an untrained network."""
    used, size = teacher.used(settings.representation_bases), teacher.bases.shape[1]
    left, left_untrained = (_small(found.error(HELD_OUT, used)) for found in (teacher, untrained))
    return (
        f"V = {used} of {size} vector bases leave {left} of the held-out vectors (untrained: {left_untrained}); the teacher's fill "
        f"their space as {teacher.effective_rank:.3g} equal directions would (untrained: {untrained.effective_rank:.3g})."
    )


def _small(error: float) -> str:
    return f"{error:.3g}" if error > 1e-6 else "less than 1e-6"


def views(world: World) -> list[Any]:
    """The picture above the curves; those of representations where there is a teacher."""

    def row(field: str, data: Any, *draws: Any) -> Row:
        return Row(
            *(Chart(data, draw, cursor=lambda world, settings, known: getattr(settings, field)) for draw in draws)
        )

    above = [Strip(picture_data, picture)]
    errors = Chart(image_data, error_curves, cursor=lambda world, settings, known: settings.bases)
    images = Row(Chart(bill_data, bill), errors)
    if not world.representations:
        return [*above, images]
    taught = row("representation_bases", representation_data, representation_errors, representation_spectrum)
    return [*above, Tabs(("Images", images), ("Representations", taught))]


BasesLab = Lab(
    "What do the floats of twenty images buy?",
    World,
    controls=("bases", "representation_bases", "scale", "page"),
    more=("split", "image_mean", "below"),
    labels={
        "bases": "image bases U",
        "scale": "scale s",
        "image_mean": "mean of the images",
        "split": "images shown",
        "below": "third row",
        "representation_bases": "representation bases V",
    },
    stops=World.most,
    wanted=wanted,
    opens_with=3,
    views=views,
    sentence=sentence,
    quest=Quest(
        f"Buy {PAIRS} pairs or more, by bases that leave at most {LEFT[0]:g} of held-out images and {LEFT[1]:g} of their "
        "representations.",
        quest_met,
    ),
)
