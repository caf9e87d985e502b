"""Claims as cards: chip, picture and sentence agree with the verdict; "here" is said of this run alone."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ElementTree

import pytest

from ddlab.lessons import claims
from ddlab.lessons.cards import card, interval_picture


def made(values: list[float], name: str = "X1 labels") -> claims.Verdict:
    return claims.judge(name, values, setting="a test")


def test_a_card_of_this_run_stands_beside_the_record() -> None:
    known = claims.recorded("X1 labels")
    shown = card(made([0.2, 0.21, 0.22]), "Labels help.", here=True, known=known)
    assert ">holds here</span>" in shown and "Labels help." in shown and "Declared:" in shown
    assert f"Recorded ({known.setting}): holds, effect" in shown
    assert shown.count("<circle") == 2, "this run and the record"
    assert ">weaker here</span>" in card(made([0.02, 0.021, 0.022]), "Less.", here=True)


def test_what_is_recorded_is_not_said_to_be_here() -> None:
    shown = card(claims.recorded("X1 labels"), "Labels help.", here=False)
    assert ">holds, recorded</span>" in shown and "Recorded on " in shown and " here<" not in shown
    exact = card(made([1.0, 1.0, 1.0], "D2 one side"), "It is so.", here=True)
    assert ">true</span>" in exact, "what is exact is true everywhere"


def test_a_count_has_no_interval() -> None:
    shown = card(claims.judge("D14", [1, 0, 1], setting="a test"), "Two of three.", here=True)
    assert "<svg" not in shown and "2 of 3 sentences" in shown and "interval" not in shown


@pytest.mark.parametrize("claimed", [0.05, 0.0, -0.1, 5.0])
@pytest.mark.parametrize("values", [[0.2, 0.21, 0.25], [-0.3, 0.1, 0.2], [0.1, 0.1, 0.1]])
def test_the_picture_keeps_its_order_and_stays_inside(claimed: float, values: list[float]) -> None:
    claim = dataclasses.replace(claims.CLAIMS["X1 labels"], claimed=claimed)
    found = made(values).numbers
    root = ElementTree.fromstring(interval_picture(claim, found, found))
    width = float((root.get("viewBox") or "").split()[2])
    marks = [float(line.get("x1") or -1) for line in root.iter("line")]
    zero, declared, low, _ = marks
    high = float([line.get("x2") for line in root.iter("line")][2] or -1)
    mean = float(next(root.iter("circle")).get("cx") or -1)
    assert all(0 <= place <= width for place in (*marks, high, mean))
    assert (zero <= declared) == (claimed >= 0) and low <= mean <= high
    assert (low >= zero) == (found.interval[0] >= 0) and (low >= declared) == (found.interval[0] >= claimed)


def test_signs_are_no_markup() -> None:
    shown = card(made([0.2, 0.21, 0.22]), "a < b & c", here=True)
    assert "a &lt; b &amp; c" in shown and not re.search(r"a < b", shown)
