"""The landscape of a recovery: each term against one pass of the teacher, in float64."""

import pytest
import torch
import torch.nn.functional as F

from ddlab.data import ImageData
from ddlab.lessons.shared.image_landscape import draw, surface
from ddlab.methods.shared import recovery
from ddlab.networks import Network
from tests.support import doubled

LABELS = {"x_label": "x", "y_label": "y"}


@pytest.fixture
def drawn(grey: ImageData, teacher: Network):
    images = [grey.normalised(slice(3 * n, 3 * n + 3)).double() for n in range(3)]
    wide = doubled(teacher)
    told: list[float] = []
    labels = torch.arange(3)
    land = surface(wide, labels, images, 5, watch=lambda words, share: told.append(share))
    assert told[-1] == 1
    return wide, images, land


def test_places_have_the_terms_of_their_images(drawn) -> None:
    teacher, (recovered, start, real), land = drawn
    assert torch.allclose(land.plane.origin.view_as(recovered), recovered)
    assert torch.allclose(land.plane.points(land.corners[2:]).view_as(real), real)
    for row, column in ((0, 0), (1, 4), (2, 2), (3, 1), (4, 3)):
        place = torch.stack([land.x[column], land.y[row]])
        images = land.plane.points(place[None]).view_as(start)
        matched = recovery.matched_call(teacher, images)
        mean_gap, variance_gap = map(
            recovery.weighted_gap, (matched.mean_gaps, matched.variance_gaps)
        )
        class_loss = F.cross_entropy(matched.outputs.logits, torch.arange(3))
        terms = torch.stack([class_loss, mean_gap, variance_gap])
        torch.testing.assert_close(land.terms[:, row, column], terms)
        # Each term is weighed once: SRe2L's loss is their sum.
        torch.testing.assert_close(
            land.loss(0.5, 3.0)[row, column], class_loss + 0.5 * mean_gap + 3 * variance_gap
        )


def test_it_is_drawn_once_it_is_there(drawn) -> None:
    _, (recovered, start, _), land = drawn
    paths = {"run": torch.stack([start, recovered])}
    waiting = draw(None, (0, 0), paths, title="Loss", corner="real", height=300, **LABELS)
    assert not waiting.data
    figure = draw(land, (0.0, 0.0), paths, title="Loss", corner="real", height=300, **LABELS)
    assert "holds 100%" in figure.layout.title.text and figure.data[1].name == "run"
    other = draw(land, (1.0, 1.0), paths, title="Loss", corner="real", height=300, **LABELS)
    assert list(other.data[1].x) == list(figure.data[1].x)
    assert figure.data[0].z.tolist() != other.data[0].z.tolist()
