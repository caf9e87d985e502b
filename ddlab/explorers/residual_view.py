"""Where the reader of the merge ratio's explorer stands: settings, class, measure and step, and what may be chosen. No widgets."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any

from .. import errors, networks, theory
from ..data import ImageData
from ..methods import data_residual_matching as fadrm
from ..networks import Network
from ..parameters import parameter, with_default

ALPHAS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)  # Figure 4
FEATURES, PIXELS, DISTANCE, LOSS = "feature entropy", "pixel entropy", "distance to the patch", "teacher's loss"
UNITS = {FEATURES: "bits", PIXELS: "bits", DISTANCE: "pixel values", LOSS: "nats"}
_EVEN = 16  # frames of a run, those around the merges not counted


@dataclass(frozen=True, kw_only=True)
class ResidualView(fadrm.Config):
    """FADRM's hyper-parameters as a reader moves them, and what is looked at; one explorer gives choices to its classes and sizes."""

    images_per_class: int = with_default(fadrm.Config, "images_per_class", 5, source="for the students alone")
    iterations: int = parameter(
        100, symbol="B", range=(1, None), help="Steps of a run.", explorable=(20, 400), step=20, source="teaching; the paper has 2000"
    )  # fmt: skip
    class_name: str = parameter("", help="The class whose image is watched.")
    measure: str = parameter(FEATURES, choices=tuple(UNITS), explorable=True, help="What the curve shows of the image.")
    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")
    candidates_per_class: int = with_default(
        fadrm.Config, "candidates_per_class", 40, source="teaching: crops and mosaics are chosen in seconds"
    )

    def method(self, data: ImageData) -> fadrm.Config:
        """What the method is given; the full size as a small one, which buttons need, is none."""
        fields: dict[str, Any] = {field.name: getattr(self, field.name) for field in dataclasses.fields(fadrm.Config)}
        if self.small_size == min(data.image_size):
            fields["small_size"] = None
        return fadrm.Config(**fields)


def first_view(data: ImageData, small_sizes: tuple[int, ...], config: fadrm.Config | None) -> ResidualView:
    """The settings that a config gives, or those of a reader who has none."""
    if config is None:
        made = view_class(data, small_sizes)
        return made(
            small_size=(*small_sizes, min(data.image_size))[0],
            roll_pixels=min(4, min(small_sizes or data.image_size) - 1),
        )
    fadrm.stage_size(1, image_size=data.image_size, small_size=config.small_size)  # refuses what is not small
    fields: dict[str, Any] = {field.name: getattr(config, field.name) for field in dataclasses.fields(fadrm.Config)}
    if config.small_size is None:
        fields["small_size"] = min(data.image_size)
        return view_class(data, small_sizes)(**fields)
    return view_class(data, tuple(sorted({*small_sizes, config.small_size}, reverse=True)))(**fields)


def choices(view: ResidualView, name: str) -> tuple[Any, ...]:
    """What a field of the view may be."""
    return type(view).__dataclass_fields__[name].metadata["parameter"].choices


def merge_steps(iterations: int, merges: int) -> tuple[int, ...]:
    """The steps after which patches are mixed in.

    >>> merge_steps(100, 3)
    (25, 50, 75)
    """
    lengths = [stage.steps for stage in theory.resolution_stages(budget=iterations, merges=merges)]
    return tuple(itertools.accumulate(lengths[:-1]))


def kept_steps(iterations: int, merges: int) -> tuple[int, ...]:
    """The steps whose images are kept: the first, the last, some between them, and each merge with the step before it."""
    even = {round(iterations * part / _EVEN) for part in range(_EVEN + 1)}
    around = {near for step in merge_steps(iterations, merges) for near in (step - 1, step)}
    return tuple(sorted(even | around))


def by_nearness(chosen: float) -> list[float]:
    """The ratios that are shown, in the order in which they are computed: the chosen one, 1 to compare with, then the nearest."""
    others = sorted({*ALPHAS} - {chosen, 1.0}, key=lambda alpha: abs(alpha - chosen))
    return list(dict.fromkeys([chosen, 1.0, *others]))


def view_class(data: ImageData, small_sizes: tuple[int, ...]) -> type[ResidualView]:
    """The view of one explorer: the classes of its data and the sizes of its small stages, or the full one, are the choices."""
    full = min(data.image_size)

    @dataclass(frozen=True, kw_only=True)
    class ChosenView(ResidualView):
        """What is shown, among the classes and sizes of one explorer."""

        small_size: int | None = parameter(
            full, symbol=r"D_\mathrm{ds}", choices=(full, *small_sizes), unit="px", explorable=True, source="FADRM, Table 6",
            help="Shorter side of the images in the odd stages, 1 the first.",
        )  # fmt: skip
        class_name: str = parameter(
            data.class_names[0], choices=data.class_names, explorable=True, help="The class whose image is watched."
        )

    return ChosenView


def allowed_sizes(data: ImageData, teacher: Network, given: Any) -> tuple[int, ...]:
    """The sizes a reader may choose for the small stages, by default three quarters and half of the shorter side where they can be.

    Raises:
        DDLabError: a size that is not below the images', or that the teacher cannot take; it is named.
    """
    shorter = min(data.image_size)
    fits = {size: networks.takes_size(teacher.spec, fadrm.stage_size(1, image_size=data.image_size, small_size=size))
            for size in ({shorter * 3 // 4, shorter // 2} - {0, shorter} if given is None else _checked(given, shorter))}  # fmt: skip
    if given is not None:
        for size, takes in fits.items():
            if not takes:
                errors.fail(
                    "small_sizes", f"sizes that the teacher takes; {teacher.spec.title} does not take {size} px", given
                )
    return tuple(sorted((size for size, takes in fits.items() if takes), reverse=True))


def _checked(given: Any, shorter: int) -> list[int]:
    if not isinstance(given, (tuple, list)):
        errors.fail("small_sizes", f"a tuple of sizes below {shorter} px", given)
    return [errors.check_integer("small_sizes", size, 1, shorter - 1) for size in given]
