"""Lesson 80: what the arena shows of its record and of a reader's own method, its quest, and the
exercises.
"""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from ddlab import records
from ddlab.evaluation import Compared, Comparison
from ddlab.lessons.answers import NotYet
from ddlab.lessons.arena import checks, lab, method_map
from tests.support import refuses

NOTHING: Any = None  # no job of the laboratory computes anything


def compared(labels: str = "hard", seeds: int = 5, **gains: float) -> Comparison:
    """Rows that lie so much above random images, seed by seed."""
    random_accuracies = tuple(0.6 + 0.01 * seed for seed in range(seeds))
    rows = []
    for name, gain in gains.items():
        rows.append(
            Compared(
                name=name,
                accuracies=tuple(accuracy + gain for accuracy in random_accuracies),
                gains=(gain,) * seeds,
                seconds=1.0,
                floats=2570,
            )
        )
    random = Compared(name="random real images, 1 per class", accuracies=random_accuracies)
    return Comparison(rows=(*rows, random), labels=labels, seeds=tuple(range(seeds)))


@pytest.fixture(scope="module")
def world() -> lab.World:
    return lab.World()


def test_every_method_of_the_record_has_a_family_and_a_number_or_a_reason(world: lab.World) -> None:
    assert set(world.methods) == set(sum(lab.FAMILIES.values(), ()))
    for row in records.load("arena").rows:
        assert bool(row["accuracies"]) != bool(row["missing"]) and len(row["accuracies"]) in (0, 5)
        assert all(math.isfinite(value) and 0 <= value <= 1 for value in row["accuracies"])


def test_the_quest_is_met_where_a_method_and_class_means_change_places(world: lab.World) -> None:
    for changes, met in (
        ({"method": "dd"}, False),
        ({"method": "dd", "labels": "own"}, True),
        ({"method": "mtt", "up": "lenet"}, True),
        ({"method": "dsa", "labels": "teacher"}, False),
        ({"method": "dd", "labels": "own", "up": "floats"}, False),
        ({"labels": "own"}, False),
        ({"method": "boost", "labels": "own"}, False),
    ):
        assert lab.flipped(world, world.start.replace(**changes), NOTHING) == met, changes
    assert lab.best(world, world.start.replace(labels="own"), "accuracy")[0] == "dd"
    assert lab.best(world, world.start, "seconds")[0] in ("random", "herding", "class means")


def test_each_purpose_shows_the_chosen_method_beside_the_strongest_plain_one(
    world: lab.World,
) -> None:
    for state in lab.PURPOSES.values():
        settings = world.start.replace(**state)
        rival = lab.strongest(world, settings)
        accuracies = {
            name: sum(world.values(settings, settings.up, name)) for name in lab.FAMILIES[lab.PLAIN]
        }
        assert rival == max(accuracies, key=accuracies.__getitem__)
        sentence = lab.sentence(world, settings, NOTHING)
        if settings.method != rival:
            pairs = lab.paired(world, settings, settings.method, rival)
            assert f"{settings.method} minus {rival}: {20 * sum(pairs):+.1f} points" in sentence
        button = lab.purpose_buttons(world)[list(lab.PURPOSES.values()).index(state)]
        assert button.change(world.start.replace(data="shapes", up="mlp")) == settings


def test_labels_are_grey_where_other_networks_stand(world: lab.World) -> None:
    assert lab.unused(world, world.start.replace(up="lenet")) == ["labels"]
    assert lab.unused(world, world.start.replace(up="gain")) == []


def test_equal_floats_bill_labels_rates_and_teachers(world: lab.World) -> None:
    largest_bill = {"digits": 100 * 257, "shapes": 100 * 769}
    for row in records.load("arena").rows:
        assert (
            row["budget"] != "floats"
            or row["missing"]
            or row["floats"] <= largest_bill[row["data"]]
        ), row


def test_what_is_missing_says_why_once(world: lab.World) -> None:
    sentence = lab.sentence(world, world.start.replace(labels="own"), NOTHING)
    assert (
        sentence.count("representations") == 1
        and "krr_st" in sentence
        and "2 of 19 methods have a higher mean; for 1, the interval excludes zero." in sentence
    )


def test_a_click_shows_the_method_and_a_readers_own_has_no_images() -> None:
    own_world = lab.World(compared(mine=0.3))
    shown_points = lab.points_data(own_world, own_world.start, NOTHING)["measured"]
    (mine,) = (point for point in shown_points if point[0] == "mine")
    assert mine[1:4] == (1.0, pytest.approx(92), lab.YOURS)  # percent
    assert lab.choose(own_world, own_world.start, {"customdata": "kip"}).method == "kip"
    assert lab.choose(own_world, own_world.start, {"customdata": "mine"}) == own_world.start
    assert (
        "no set" in lab.images("digits", "1", "boost")[1]
        and "class means" in lab.images("digits", "1", "class means")[1]
    )
    with refuses("labels of compared", "'stored'"):
        lab.World(replace(compared(mine=0.3), labels="stored"))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (None, "ddlab.compare"),
        (compared(coarse=0.1), "Compare two methods"),
        (compared(mine=0.3), "Compare two methods"),
        (compared(coarse=0.1, mine=0.3, seeds=3), "at least 5 seeds"),
        (compared(coarse=0.1, mine=0.1), "Not ahead"),
    ],
)
def test_entered_refuses(answer: Any, hint: str) -> None:
    with pytest.raises(NotYet, match=hint):
        checks.check_entered(answer)


def test_entered_asks_for_methods_of_equal_floats() -> None:
    good = compared(coarse=0.1, mine=0.2)
    assert checks.check_entered(good)
    for changes, hint in (({"floats": 9999}, "floats"), ({"one_set": True}, "not sets")):
        rows = tuple(replace(row, **changes) if row.name == "mine" else row for row in good.rows)
        with pytest.raises(NotYet, match=hint):
            checks.check_entered(replace(good, rows=rows))


@pytest.mark.parametrize("data", lab.DATA)
def test_random_images_lie_among_the_real_ones_of_their_class_on_the_map(data: str) -> None:
    rows = method_map.recorded(data, "1")
    real, drawn = (
        torch.tensor([rows[name]["x"], rows[name]["y"]]).T for name in ("everything", "random")
    )
    labels = rows["everything"]["labels"]
    for label, place in zip(rows["random"]["labels"], drawn, strict=True):
        members = real[[other == label for other in labels]]
        distances = torch.cdist(members, members).sort(1).values[:, 1]
        nearest = float((members - place).norm(dim=1).min())
        assert nearest <= 2 * float(distances.max()), (label, nearest)


def test_the_map_rings_the_chosen_method_and_shows_the_coverage_of_all() -> None:
    figure = lab.drawn_map("digits", "10", "kip")
    rows = method_map.recorded("digits", "10")
    rings = next(trace for trace in figure.data if trace.name == "kip")
    assert [*rings.x] == rows["kip"]["x"] and len(rings.x) == 100
    shown = [trace for trace in figure.data if trace.xaxis == "x2" and trace.mode == "markers"]
    assert sum(len(trace.x) for trace in shown) == len(rows) - 1 == 21
    assert f"kip {method_map.coverage(rows['kip']):.1%}" in figure.layout.meta["alt"]
    without = lab.drawn_map("digits", "1", "boost")
    assert "no set of this size" in without.layout.title.text
    assert len(without.data) == len(figure.data) - 1
