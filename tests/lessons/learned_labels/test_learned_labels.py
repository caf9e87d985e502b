"""Lesson 65: what its laboratory measures, its two points, and its exercises."""

from typing import Any

import pytest
import torch

import ddlab
from ddlab.data import ImageData
from ddlab.explorers import Laboratory
from ddlab.lessons.learned_labels import points
from ddlab.lessons.learned_labels.lab import (
    SOURCES,
    STRANGER,
    STUDENT_KINDS,
    STUDENTS,
    LabelLab,
)
from ddlab.methods import ld
from ddlab.runs import Inputs
from tests.support import run_to_end


@pytest.fixture
def lab(grey: ImageData) -> Laboratory:
    return LabelLab(grey, ld.SMALL, pictures=10, device="cpu").run()


def test_scores_are_those_of_students_of_the_labels(lab: Laboratory, grey: ImageData) -> None:
    base = lab.world.base("shapes", 10, 0)
    distilled = run_to_end(ld, ld.SMALL, Inputs(data=grey, distilled=base, device="cpu"))
    scores_of_10 = [scores[10] for scores in lab.results.shared[0]]
    options = {"labels": "stored", "seeds": range(STUDENTS), "device": "cpu", "progress": False}
    for network, score in ((ld.SMALL.network, scores_of_10[0]), (STRANGER, scores_of_10[1])):
        config = ld.student(distilled, network=network)
        assert ddlab.evaluate(distilled, grey, config=config, **options).mean == pytest.approx(
            score
        )
    lab.close()


def test_shuffled_labels_are_the_same_labels(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = list[Any]()
    monkeypatch.setattr(
        type(lab.world),
        "taught",
        lambda self, distilled, students, watch: sets.append(distilled) or (0.5,),
    )
    for student_kind in STUDENT_KINDS:
        lab.world.score(lab.settings, student_kind, watch=lambda *_: None)
    own_labels, _, shuffled = (distilled.target("stored").logits for distilled in sets)
    assert not torch.equal(own_labels, shuffled)
    assert torch.equal(own_labels.sort(0).values, shuffled.sort(0).values) and torch.equal(
        sets[0].images, sets[2].images
    )
    lab.close()


def test_pictures_are_of_their_source_and_more_of_them_begin_alike(
    lab: Laboratory, grey: ImageData
) -> None:
    for source in SOURCES:
        few = lab.world.base(source, 10, 1).images
        many = lab.world.base(source, 20, 1).images
        assert torch.equal(many[:10], few) and not torch.equal(
            few, lab.world.base(source, 10, 2).images
        )
    real_pixels = {tuple(image.flatten().tolist()) for image in grey.normalised()}
    inside = {
        source: tuple(lab.world.base(source, 10, 0).images[0].flatten().tolist()) in real_pixels
        for source in SOURCES
    }
    assert inside == {"shapes": False, "noise": False, "the data": True}
    lab.close()


@pytest.mark.parametrize(
    "shares, nearness, won",
    [
        ((0, 0), 1, "AC"),
        ((0.3, 0.3), 1, "AC"),
        ((0.4, 0.4), 1, "ABC"),
        ((0.6, 0.6), 1, "B"),
        ((1, 0), 1, "BC"),
        ((0.4, 0.4), 4, "ABC"),
    ],
)
def test_two_points_teach_three_classes_where_both_say_more_than_a_third(
    shares: Any, nearness: int, won: str
) -> None:
    settings = points.Settings(left=shares[0], right=shares[1], nearness=nearness)
    assert "".join(points.classes(settings)) == won and points.mixed_labels(settings).sum(
        1
    ) == pytest.approx(1)
