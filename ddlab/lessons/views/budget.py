"""What the storage bill computes: how many pairs fit, their bill, and what else the budget buys. No widgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ...core.errors import DDLabError
from ...core.parameters import Parameters, parameter
from ...data import predefined_views
from ...distilled import storage_budget
from ...distilled.storage_budget import Bill, Factorised, Shift
from ...explorers.tables import table
from ...figures import storage_bill

_MOST = 10**6
_QUEST = 300  # pairs; the paper's setting buys 114, and its image bases save nothing
QUEST = f"With N = 100 and all views: buy {_QUEST} pairs whose image bases take fewer floats than the small images they make."


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """A budget and what it is spent on; the defaults are Boost's for CIFAR100 and N = 100."""

    images: int = parameter(
        100, symbol="N", range=(1, _MOST), scale="log", explorable=(5, 5000), source="Boost, Table 5",
        help="The budget is the floats of so many plain images.",
    )  # fmt: skip
    image_bases: int = parameter(
        200, symbol="U", range=(1, _MOST), scale="log", explorable=(1, 1000), source="Boost, Table 5", help="Bases of images."
    )  # fmt: skip
    representation_bases: int = parameter(
        200, symbol="V", range=(1, _MOST), scale="log", explorable=(1, 500), source="Boost, Table 5", help="Bases of representations."
    )  # fmt: skip
    hidden: int = parameter(
        4, symbol="h", range=(1, _MOST), scale="log", explorable=(1, 64), source="Boost, A.1",
        help="Hidden units of each approximation network; of shift model networks alone.",
    )  # fmt: skip
    scale: int = parameter(
        2, symbol="s", range=(1, _MOST), choices=(1, 2, 4, 8), explorable=True, source="Boost, A.1",
        help="By how much the image bases are smaller on each side.",
    )  # fmt: skip
    augmentation: str = parameter(
        "rotation", choices=predefined_views.KINDS, explorable=True, source="Boost, A.8",
        help="The views of an image beside itself: three turns, three swaps of its quarters, five crops.",
    )  # fmt: skip
    shift: Shift = parameter(
        "networks", choices=storage_budget.SHIFTS, explorable=True, source="Boost, Table 11",
        help="Targets of the views: those of the image, a vector more, a small network's, or all stored.",
    )  # fmt: skip
    representation_mean: bool = parameter(
        False, explorable=True, help="Whether the mean of the representations is stored too."
    )
    channels: int = parameter(3, symbol="c", range=(1, 1000), help="Of an image.")
    height: int = parameter(32, symbol="h", range=(1, _MOST), unit="px", help="Of an image.")
    width: int = parameter(32, symbol="w", range=(1, _MOST), unit="px", help="Of an image.")
    representation_size: int = parameter(512, symbol="d_y", range=(1, _MOST), help="Numbers in a representation.")

    def rules(self) -> None:
        """What `storage_budget.Factorised` allows: bases of whole pixels, and no more of them than dimensions."""
        assert self.factorised

    @property
    def views(self) -> int:
        """A, beside the image itself."""
        return len(predefined_views.NAMES[self.augmentation]) - 1

    @property
    def factorised(self) -> Factorised:
        """The sizes of the set."""
        shared = ("image_bases", "representation_bases", "hidden", "scale", "shift", "representation_mean")
        sizes = ("channels", "height", "width", "representation_size")
        return Factorised(views=self.views, **{name: getattr(self, name) for name in shared + sizes})

    @property
    def budget(self) -> int:
        """Of N images, in floats."""
        return self.images * self.channels * self.height * self.width


def _paper(images: int, bases: tuple[int, int], *, size: int = 32, scale: int = 2, hidden: int = 4) -> Settings:
    return Settings(
        images=images, image_bases=bases[0], representation_bases=bases[1], height=size, width=size, scale=scale, hidden=hidden
    )  # fmt: skip


_LARGE = {"size": 64, "scale": 4, "hidden": 16}
PRESETS: dict[str, Settings] = {
    "CIFAR100, N = 25": _paper(25, (50, 50)),
    "CIFAR100, N = 50": _paper(50, (100, 100)),
    "CIFAR100, N = 100": _paper(100, (200, 200)),
    "CIFAR100, N = 1000": _paper(1000, (500, 500)),
    "CIFAR100, N = 5000": _paper(5000, (700, 500)),
    "TinyImageNet, N = 50": _paper(50, (100, 100), **_LARGE),
    "TinyImageNet, N = 100": _paper(100, (200, 200), **_LARGE),
    "TinyImageNet, N = 200": _paper(200, (400, 400), **_LARGE),
    "ImageNet, N = 250": _paper(250, (500, 500), **_LARGE),
}
"""Boost, Table 5 and appendix A.1; ImageNet at 64 pixels."""


@dataclass(frozen=True, kw_only=True)
class Bought:
    """What the budget buys.

    Attributes:
        count: m; 0 where it does not buy one pair. bill: of m pairs, or of one. refused: the library's sentence where m is 0, or "".
    """

    count: int
    bill: Bill
    refused: str

    @property
    def shown(self) -> int:
        """How many pairs the bill is for."""
        return max(self.count, 1)


def bought(settings: Settings) -> Bought:
    """m, from the library, and its bill."""
    try:
        count, refused = settings.factorised.largest_count(settings.budget), ""
    except DDLabError as error:
        count, refused = 0, str(error)
    return Bought(count=count, bill=settings.factorised.bill(max(count, 1)), refused=refused)


def plain(settings: Settings) -> dict[str, tuple[int, int]]:
    """The same stored as it is: words -> (floats of an image, of its targets)."""
    sizes, one = settings.factorised, settings.representation_size
    alone = {"images alone": (sizes.image_floats, 0), "images and their targets": (sizes.image_floats, one)}
    if settings.views:
        alone["images, targets of all views"] = (sizes.image_floats, one * (settings.views + 1))
    if settings.scale > 1:
        alone[f"images at 1/{settings.scale} of the size"] = (sizes.basis_floats, 0)
        alone[f"images at 1/{settings.scale}, and their targets"] = (sizes.basis_floats, one)
    return alone


def bill_figure(settings: Settings, found: Bought) -> go.Figure:
    """Bars of as many pairs, in bases and as they are, beside the budget."""
    rows: dict[str, object] = {"bases and coefficients": found.bill}
    for words, (image, targets) in plain(settings).items():
        if targets:
            rows[words] = {"images": found.shown * image, "targets": found.shown * targets}
    title = f"Floats of m = {found.shown:,} pair{'s' * (found.shown > 1)}, part by part"
    return storage_bill(rows, budget=(f"budget, {settings.images:,} images", settings.budget), title=title)


def counts_table(settings: Settings, found: Bought) -> str:
    """How many the budget buys, in bases and plainly, in both conventions."""
    first = settings.factorised.bill(0).total
    another = settings.factorised.bill(1).total - first
    rows = [("bases and coefficients (m pairs)", f"{first:,}", f"{another:,}", f"{found.count:,}")]
    for words, (image, targets) in plain(settings).items():
        rows.append((words, "0", f"{image + targets:,}", f"{settings.budget // (image + targets):,}"))
    caption = f"What {settings.budget:,} floats buy ({settings.images:,} images)"
    return table(caption, ("stored", "at first", "for each", "how many"), rows)


def savings_table(settings: Settings, found: Bought) -> str:
    """Whether each factorisation takes less than what it stands for, and where that ends."""
    sizes, count = settings.factorised, found.shown
    rows = [_saving("images", count, settings.image_bases, sizes.basis_floats, sizes.image_floats)]
    if settings.scale > 1:
        words = f"images at 1/{settings.scale} of the size"
        rows.append(_saving(words, count, settings.image_bases, sizes.basis_floats, sizes.basis_floats))
    size = settings.representation_size
    rows.append(_saving("their targets", count, settings.representation_bases, size, size))
    if settings.views:
        takes, plainly = found.bill.representations, count * size * (settings.views + 1)
        rows.append(_row("targets of all views, by shifts", takes, plainly, takes < plainly, "", ""))
    heads = ("instead of", "by factors", "plainly", "saves", "most bases", "least m")
    return table(f"Do factors take less? With m = {count:,}", heads, rows)


def sentence(settings: Settings, found: Bought) -> str:
    """What is shown, with its numbers."""
    if found.refused:
        return f"This budget buys nothing: {found.refused} The bars are those of one pair."
    sizes, floats = settings.factorised, settings.representation_size
    with_targets = settings.budget // (sizes.image_floats + floats)
    said = (
        f"The floats of {settings.images:,} images, {settings.budget:,}, buy m = {found.count:,} pairs of {settings.views + 1} "
        f"view{'s' * bool(settings.views)} in bases and coefficients, which take {found.bill.total:,}. Stored as they are, the budget is "
        f"{settings.images:,} images, or {with_targets:,} with the target of each."
    )
    if settings.image_bases > found.count:
        said += f" U = {settings.image_bases} bases are more than {found.count:,} images can span: bases of this size save nothing"
        said += (
            f", and what is saved comes from their being 1/{settings.scale} as high and wide."
            if settings.scale > 1
            else "."
        )
    return said


def _saving(what: str, count: int, bases: int, basis_floats: int, floats: int) -> tuple[str, ...]:
    least = storage_budget.least_count_that_saves(bases=bases, basis_floats=basis_floats, floats=floats)
    most = storage_budget.most_bases_that_save(count, basis_floats=basis_floats, floats=floats)
    saves = storage_budget.saves(count, bases=bases, basis_floats=basis_floats, floats=floats)
    takes = bases * (basis_floats + count)
    return _row(what, takes, count * floats, saves, f"{most:,}", "none" if least is None else f"{least:,}")


def _row(what: str, takes: int, plainly: int, saves: bool, *ends: str) -> tuple[str, ...]:
    return (what, f"{takes:,}", f"{plainly:,}", "yes" if saves else "no", *ends)


def quest_met(settings: Settings, found: Bought) -> bool:
    """Whether the budget of 100 images with three views or more buys so many pairs, and the image bases save."""
    floats = settings.factorised.basis_floats
    saves = storage_budget.saves(found.shown, bases=settings.image_bases, basis_floats=floats, floats=floats)
    return settings.images == 100 and settings.views >= 3 and found.count >= _QUEST and saves


def preset_of(settings: Settings, names: Sequence[str] = tuple(PRESETS)) -> str | None:
    """The name of the preset that `settings` is, if it is one."""
    return next((name for name in names if PRESETS[name] == settings), None)
