"""A drawing of a method: data, networks, images and labels as boxes, what goes from one to the next as arrows.

    drawing = Pipeline("SRe2L", [Box("data", "all images", (0, 0), "data"), Box("teacher", "teacher", (1, 0), "network")],
                       [Arrow("data", "teacher", "train")], alt="...")
    pipeline(drawing)                    # SVG text
    pipeline(drawing, running="teacher")  # with that box lit

It takes its colours from the page, so that it is right in light and dark. Boxes of one kind have one shape; an arrow that carries a
gradient is dashed.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..core import errors

Kind = Literal["data", "network", "images", "labels", "loss", "result"]
KINDS = ("data", "network", "images", "labels", "loss", "result")
# Colour (Okabe and Ito) and corner radius: what is given is square, a network is round, a loss has cut sides.
_LOOKS = {"data": ("#0072B2", 2), "network": ("#CC79A7", 26), "images": ("#E69F00", 2), "labels": ("#009E73", 12),
          "loss": ("#8A8A8A", 12), "result": ("#56B4E9", 26)}  # fmt: skip
_COLUMN, _ROW, _WIDTH, _HEIGHT, _PAD, _BELOW = 186, 104, 122, 54, 14, 46  # px


@dataclass(frozen=True)
class Box:
    """One box.

    Attributes:
        name: by which arrows and `running` know it. words: in it; a line break begins a second line.
        place: column and row, from 0; fractions are allowed. kind: what it is.
    """

    name: str
    words: str
    place: tuple[float, float]
    kind: Kind

    def __post_init__(self) -> None:
        errors.check_text("name of a box", self.name, empty=False)
        errors.check_text("words of a box", self.words, empty=False)
        errors.check_choice("kind of a box", self.kind, KINDS)
        if not isinstance(self.place, tuple) or len(self.place) != 2:
            errors.fail("place of a box", "a pair (column, row)", self.place)
        for part in self.place:
            errors.check_number("place of a box", part, 0)


@dataclass(frozen=True)
class Arrow:
    """From box to box, with words beside it; `gradient`: it carries a gradient back."""

    start: str
    end: str
    words: str = ""
    gradient: bool = False

    def __post_init__(self) -> None:
        for name in ("start", "end", "words"):
            errors.check_text(f"{name} of an arrow", getattr(self, name), empty=name == "words")
        errors.check_boolean("gradient of an arrow", self.gradient)


@dataclass(frozen=True)
class Pipeline:
    """A drawing.

    Attributes:
        title: above it. boxes, arrows: its parts. alt: what it shows, in words.

    Raises:
        DDLabError: two boxes of one name, an arrow to no box, a box of no kind, no alt text.
    """

    title: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]
    alt: str

    def __post_init__(self) -> None:
        errors.check_text("title", self.title, empty=False)
        errors.check_text("alt", self.alt, empty=False)
        for argument, parts, kind in (("boxes", self.boxes, Box), ("arrows", self.arrows, Arrow)):
            if not isinstance(parts, list | tuple) or not all(isinstance(part, kind) for part in parts):
                errors.fail(argument, f"a list of {kind.__name__}", parts)
        if not self.boxes:
            errors.fail("boxes", "at least one Box", self.boxes)
        names = [box.name for box in self.boxes]
        if len(set(names)) < len(names):
            errors.fail("boxes", "boxes of different names", names)
        for arrow in self.arrows:
            errors.check_choice("start of an arrow", arrow.start, names)
            errors.check_choice("end of an arrow", arrow.end, names)


def pipeline(drawing: Pipeline, running: str = "") -> str:
    """The drawing as SVG text.

    Args:
        running: name of the box that is at work, which is lit; "" for none.
    """
    errors.check_instance("drawing", drawing, Pipeline, "a Pipeline")
    boxes = {box.name: box for box in drawing.boxes}
    errors.check_text("running", running)
    if running:
        errors.check_choice("running", running, tuple(boxes))
    width = max(box.place[0] for box in drawing.boxes) * _COLUMN + _WIDTH + 2 * _PAD
    last = max(box.place[1] for box in drawing.boxes)
    room = any(
        _below(boxes[one.start], boxes[one.end], one) and boxes[one.end].place[1] == last for one in drawing.arrows
    )
    height = last * _ROW + _HEIGHT + 2 * _PAD + room * (_BELOW - 14)
    said = f"{drawing.title}. {drawing.alt}" + (f" At work: {running}." if running else "")
    parts = [_arrow(boxes[one.start], boxes[one.end], one) for one in drawing.arrows]
    parts += [_box(box, box.name == running) for box in drawing.boxes]
    return (
        f'<svg class="ddlab-pipeline" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{html.escape(said)}" '
        f'style="width:100%;max-width:{width:g}px;height:auto;color:var(--jp-ui-font-color1,currentColor);font-family:system-ui,sans-serif">'
        f"<title>{html.escape(drawing.title)}</title><defs>"
        '<marker id="ddlab-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>{"".join(parts)}</svg>'
    )


def _corner(box: Box) -> tuple[float, float]:
    return _PAD + box.place[0] * _COLUMN, _PAD + box.place[1] * _ROW


def _box(box: Box, lit: bool) -> str:
    x, y = _corner(box)
    colour, radius = _LOOKS[box.kind]
    lines = box.words.split("\n")
    top = y + _HEIGHT / 2 + 5 - 8 * (len(lines) - 1)
    weight, opacity, width, edge = ("700", 0.55, 4, "currentColor") if lit else ("400", 0.14, 2, colour)
    text = "".join(
        f'<text x="{x + _WIDTH / 2:g}" y="{top + 16 * number:g}" text-anchor="middle" font-size="13" font-weight="{weight}" '
        f'fill="currentColor">{html.escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<g data-box="{html.escape(box.name)}" data-running="{str(lit).lower()}">'
        f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="{radius}" fill="{colour}" '
        f'fill-opacity="{opacity}" stroke="{edge}" stroke-width="{width}"/>{text}</g>'
    )


def _arrow(start: Box, end: Box, arrow: Arrow) -> str:
    """A straight line; a gradient within a row goes back below the boxes."""
    dashed = ' stroke-dasharray="5 4"' if arrow.gradient else ""
    if _below(start, end, arrow):
        (x1, y1), (x2, _) = _corner(start), _corner(end)
        x1, x2, y1 = x1 + _WIDTH / 2, x2 + _WIDTH / 2, y1 + _HEIGHT + 2
        path, place, anchor = (
            f"M{x1:g} {y1:g} v{_BELOW - 14} H{x2:g} V{y1:g}",
            ((x1 + x2) / 2, y1 + _BELOW - 18),
            "middle",
        )
    else:
        (x1, y1), (x2, y2) = _edge(start, end), _edge(end, start)
        path, flat = f"M{x1:g} {y1:g} L{x2:g} {y2:g}", abs(y2 - y1) < abs(x2 - x1)
        place = ((x1 + x2) / 2, (y1 + y2) / 2 - 6) if flat else ((x1 + x2) / 2 + 7, (y1 + y2) / 2 + 4)
        anchor = "middle" if flat else "start"
        if flat and abs(y2 - y1) > 0.25 * abs(x2 - x1):  # beside a slope, on the side where it is lower
            anchor = "end" if (y2 - y1) * (x2 - x1) < 0 else "start"
    lines = arrow.words.split("\n")
    label = "".join(
        f'<text x="{place[0]:g}" y="{place[1] - 13 * (len(lines) - 1 - number):g}" font-size="11" fill="currentColor" '
        f'text-anchor="{anchor}">{html.escape(line)}</text>'
        for number, line in enumerate(lines)
        if line
    )
    drawn = (
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.6"{dashed} marker-end="url(#ddlab-tip)"/>'
    )
    return drawn + label


def _below(start: Box, end: Box, arrow: Arrow) -> bool:
    return arrow.gradient and start.place[1] == end.place[1]


def _edge(box: Box, other: Box) -> tuple[float, float]:
    """Where the line between the middles of two boxes leaves the first one."""
    (x, y), (u, v) = _corner(box), _corner(other)
    x, y, u, v = x + _WIDTH / 2, y + _HEIGHT / 2, u + _WIDTH / 2, v + _HEIGHT / 2
    across, down = u - x, v - y
    share = min(
        (_WIDTH / 2 + 2) / abs(across) if across else float("inf"),
        (_HEIGHT / 2 + 2) / abs(down) if down else float("inf"),
    )
    return round(x + across * share, 1), round(y + down * share, 1)
