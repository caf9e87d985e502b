"""Where the reader of the explorer of bases stands, and what is drawn and said of it. No widgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..data import ImageData
from ..figures import basis_pixels, encode_grid, reconstruction_error_curve, spectrum_curve
from ..parameters import Parameters, parameter
from .reconstructed import (
    HELD_OUT,
    PROJECTED,
    STORED,
    TRAINING,
    WAYS,
    Fitted,
    Reconstructions,
    scales,
)

NOTHING, DIFFERENCE, BASES = "nothing", "difference", "last bases"
PICTURED = 10  # images on a page
_SCREEN = 64  # pixels that an image takes, about


@dataclass(frozen=True, kw_only=True)
class BasesView(Parameters):
    """What is shown; one explorer gives scales, pages and numbers of bases the bounds of its data."""

    bases: int = parameter(
        50, symbol="U", range=(1, 10**6), scale="log", explorable=(1, 1000),
        help="How many of the first image bases are used.",
    )  # fmt: skip
    scale: int = parameter(
        2, symbol="s", range=(1, 10**6), source="Boost, A.1", help="By how much the bases are smaller on each side."
    )
    image_mean: str = parameter(
        PROJECTED, choices=tuple(WAYS), explorable=True,
        help="; ".join(f"{name}: {meaning}" for name, meaning in WAYS.items()) + ".",
    )  # fmt: skip
    split: str = parameter(
        HELD_OUT, choices=(HELD_OUT, TRAINING), explorable=True, help="Images the bases have not seen, or have."
    )
    page: int = parameter(1, range=(1, 10**6), explorable=(1, 30), help="Which images are shown.")
    below: str = parameter(
        DIFFERENCE, choices=(NOTHING, DIFFERENCE, BASES), explorable=True,
        help="The third row: what is made less the image (grey is none), or the last of the bases that are used.",
    )  # fmt: skip
    representation_bases: int = parameter(
        20, symbol="V", range=(1, 10**6), scale="log", explorable=(1, 1000),
        help="How many of the first bases of the teacher's representations are used.",
    )  # fmt: skip
    representation_mean: str = parameter(
        STORED, choices=tuple(WAYS), explorable=True, help="What becomes of the mean of the representations."
    )


def view_class(data: ImageData, known: Reconstructions) -> type[BasesView]:
    """The view of one explorer: what its data allow."""
    choices, last = scales(data), pages(known)

    @dataclass(frozen=True, kw_only=True)
    class DataBasesView(BasesView):
        """What is shown, of the images of one explorer."""

        scale: int = parameter(
            2 if 2 in choices else choices[0], symbol="s", choices=choices, explorable=True, source="Boost, A.1",
            help="By how much the bases are smaller on each side.",
        )  # fmt: skip
        page: int = parameter(1, range=(1, last), explorable=(1, last), help="Which images are shown.")

    return DataBasesView


def pages(known: Reconstructions) -> int:
    """How many whole pages both splits have, at most 30."""
    return min(max(min(map(len, known.images.values())) // PICTURED, 1), 30)


def picture(known: Reconstructions, found: Fitted, view: BasesView) -> tuple[bytes, str]:
    """Images, what the bases make of them, and the third row, as PNG bytes with alt text."""
    first = (view.page - 1) * PICTURED
    images, made = known.made(found, view.scale, view.bases, view.split, slice(first, first + PICTURED))
    used = found.used(view.bases)
    rows, names, third = [images.numpy(), made.numpy()], ["images", "from bases"], ""
    if view.below == DIFFERENCE:
        rows.append((128 + (rows[1].astype(np.int16) - rows[0]) // 2).astype(np.uint8))
        third = ", and the difference, grey where there is none"
    elif view.below == BASES:
        last = basis_pixels(found.bases[max(used - len(images), 0) : used])
        rows.append(last.repeat(view.scale, 2).repeat(view.scale, 3))
        third = f", and the bases up to number {used}, each by its own range"
    names += [] if view.below == NOTHING else [view.below]
    size = max(1, round(_SCREEN / images.shape[-1]))
    encoded = encode_grid(np.concatenate(rows), len(images), size, row_labels=names)
    alt = (
        f"{len(images)} {view.split} images, below them what {used} bases at scale {view.scale} make of them, "
        f"relative squared error of all {len(known.images[view.split])} {_small(found.error(view.split, used))}{third}."
    )
    return encoded, alt


def image_curves(known: Reconstructions, view: BasesView) -> tuple[go.Figure, go.Figure]:
    """What U bases leave, and the spectrum of the images: at this scale and at those that are known as well."""
    way, here = view.image_mean, known.of_images(view.scale, view.image_mean)
    other = TRAINING if view.split == HELD_OUT else HELD_OUT
    others = {
        scale: found for scale in scales(known.data) if scale != view.scale and (found := known.known(scale, way))
    }
    curves = {f"s = {view.scale}, {split}": here.errors[split] for split in (view.split, other)}
    curves |= {f"s = {scale}, {view.split}": found.errors[view.split] for scale, found in others.items()}
    alone = known.by_scaling(view.scale, view.split)
    errors = reconstruction_error_curve(
        curves,
        references={"scaling alone": alone} if alone > 1e-6 else None,
        title="What the first U image bases leave",
    )
    spectra = {f"s = {scale}": found.shares for scale, found in {view.scale: here, **others}.items()}
    return errors, _spectrum(spectra, "Spectrum of the images")


def representation_curves(known: Reconstructions, view: BasesView) -> tuple[go.Figure, go.Figure]:
    """What V bases leave of the representations, and their spectrum beside that of an untrained network."""
    networks = {name: known.of_representations(name, view.representation_mean) for name in known.representations}
    curves = {f"{name}, {HELD_OUT}": found.errors[HELD_OUT] for name, found in networks.items()}
    title = "What the first V bases of representations leave"
    errors = reconstruction_error_curve(curves, title=title, x_label="bases V (number)")
    return errors, _spectrum(
        {name: found.shares for name, found in networks.items()}, "Spectrum of the representations"
    )


def sentence(known: Reconstructions, view: BasesView) -> str:
    """What is shown, with its numbers."""
    found = known.of_images(view.scale, view.image_mean)
    used, (height, width) = found.used(view.bases), found.bases.shape[2:]
    held_out, training = (found.error(split, used) for split in (HELD_OUT, TRAINING))
    alone = known.by_scaling(view.scale, HELD_OUT)
    said = (
        f"{used} of {len(found.bases)} bases of {height} x {width} pixels hold {found.shares[:used].sum():.1%} of the variance and leave "
        f"a relative squared error of {_small(held_out)} on held-out images, {_small(training)} on the training images they come from"
    )
    said += f"; scaling down and up alone leaves {alone:.3g}." if view.scale > 1 else "."
    said += f" Their effective rank is {found.effective_rank:.3g}; {WAYS[view.image_mean]}."
    if view.bases > used:
        said += f" There are no more than {used} bases at this scale, so that U = {view.bases} gives no other images."
    return f"{said} {representations_in_words(known, view)}".strip()


def representations_in_words(known: Reconstructions, view: BasesView) -> str:
    """How far the representations fill their space, beside those of an untrained network; "" without a teacher."""
    if not known.representations:
        return ""
    teacher, untrained = (known.of_representations(name, view.representation_mean) for name in known.representations)
    used, size = teacher.used(view.representation_bases), teacher.bases.shape[1]
    return (
        f"Of {size} dimensions the teacher's representations fill {len(teacher.bases)}, with an effective rank of "
        f"{teacher.effective_rank:.3g} (untrained: {len(untrained.bases)} and {untrained.effective_rank:.3g}); V = {used} bases leave "
        f"{_small(teacher.error(HELD_OUT, used))} of the held-out ones (untrained: {_small(untrained.error(HELD_OUT, used))}); "
        f"{WAYS[view.representation_mean]}."
    )


def _spectrum(spectra: dict[str, Any], title: str) -> go.Figure:
    return spectrum_curve(spectra, title=title, y_label="share of the variance")


def _small(error: float) -> str:
    return f"{error:.3g}" if error > 1e-6 else "less than 1e-6"
