"""Drawings of pipelines: what is declared is drawn and said, and one box can be lit."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from ddlab import methods
from ddlab.figures import Arrow, Box, Pipeline, pipeline, pipelines
from tests.support import refuses

DRAWINGS = {name: drawing for name, drawing in vars(pipelines).items() if isinstance(drawing, Pipeline)}
SVG = "{http://www.w3.org/2000/svg}"


def drawn(drawing: Pipeline, running: str = "") -> ElementTree.Element:
    return ElementTree.fromstring(pipeline(drawing, running))


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_box_and_arrow_is_drawn_inside_the_picture(name: str) -> None:
    drawing = DRAWINGS[name]
    root = drawn(drawing)
    assert {group.get("data-box") for group in root.iter("g")} == {box.name for box in drawing.boxes}
    assert sum(1 for path in root.iter("path") if path.get("marker-end")) == len(drawing.arrows)
    assert drawing.alt in (root.get("aria-label") or "")
    _, _, width, height = map(float, (root.get("viewBox") or "").split())
    for box in root.iter("rect"):
        assert float(box.get("x") or -1) >= 0 and float(box.get("x") or 0) + float(box.get("width") or 0) <= width
        assert float(box.get("y") or -1) >= 0 and float(box.get("y") or 0) + float(box.get("height") or 0) <= height
    for text in root.iter("text"):
        assert float(text.get("y") or -1) <= height


@pytest.mark.parametrize("name", DRAWINGS)
def test_words_fit_into_their_boxes(name: str) -> None:
    """About 6.4 px a letter at 13 px in 122 px; of a label beside an arrow within a row, 5.6 px in the 64 px between boxes."""
    boxes = {box.name: box for box in DRAWINGS[name].boxes}
    assert max(len(line) for box in boxes.values() for line in box.words.split("\n")) <= 18
    for arrow in DRAWINGS[name].arrows:
        if boxes[arrow.start].place[1] == boxes[arrow.end].place[1] and not arrow.gradient:
            assert max(len(line) for line in arrow.words.split("\n")) <= 11


def test_one_box_is_lit_and_said() -> None:
    root = drawn(pipelines.SRE2L, "recover")
    lit = [group.get("data-box") for group in root.iter("g") if group.get("data-running") == "true"]
    assert lit == ["recover"] and (root.get("aria-label") or "").endswith("At work: recover.")
    assert not [group for group in drawn(pipelines.SRE2L).iter("g") if group.get("data-running") == "true"]


def test_a_gradient_is_dashed_and_words_are_no_markup() -> None:
    boxes = [Box("a", "<b>", (0, 0), "images"), Box("b", "loss", (1, 0), "loss")]
    text = pipeline(
        Pipeline("T & U", boxes, [Arrow("a", "b"), Arrow("b", "a", "back", gradient=True)], alt="Two boxes.")
    )
    ElementTree.fromstring(text)
    assert "&lt;b&gt;" in text and "T &amp; U" in text and len(re.findall("stroke-dasharray", text)) == 1


def test_every_method_with_a_drawing_exists() -> None:
    assert set(pipelines.METHODS) <= set(methods.MODULES)


def test_what_cannot_be_drawn_is_refused() -> None:
    box = Box("a", "a", (0, 0), "data")
    with refuses("running", "'a'", "'c'"):
        pipeline(Pipeline("t", [box], [], alt="one"), "c")
    with refuses("end of an arrow", "'a'", "'c'"):
        Pipeline("t", [box], [Arrow("a", "c")], alt="one")
    with refuses("boxes", "different names", "'a', 'a'"):
        Pipeline("t", [box, box], [], alt="one")
    with refuses("kind of a box", "'network'", "'net'"):
        Box("a", "a", (0, 0), "net")  # type: ignore[arg-type]
    with refuses("alt", "text", "''"):
        Pipeline("t", [box], [], alt="")
