"""Landscapes: contours on a logarithmic scale, paths, and what the plane holds."""

from typing import Any

import pytest

from ddlab.core import DDLabError
from ddlab.figures import alt_text, landscape
from tests.support import assert_whole_figure, trace, values

PLANE: dict[str, Any] = {
    "x": [0.0, 1.0, 2.0],
    "y": [0.0, 1.0],
    "loss": [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]],
    "paths": {"Σ = 0.1": [[0.0, 0.0], [1.5, 0.5]], "Σ = 1": [[0.0, 0.0], [5.0, 0.5]]},
    "points": {"<goal>": (1.0, 0.5)},
    "share": 0.874,
}


def test_paths_end_with_a_large_mark_and_the_plane_says_what_it_holds() -> None:
    figure = landscape(**PLANE)
    assert_whole_figure(figure)
    path = trace(figure, "Σ = 0.1")
    assert values(path.x) == [0.0, 1.5] and path.marker.size[-1] > path.marker.size[0]
    assert trace(figure, "Σ = 1").marker.symbol != path.marker.symbol
    assert figure.layout.xaxis.range == (0, 2) and "87%" in figure.layout.title.text
    assert "87%" in alt_text(figure) and "from 0 at (0, 0) to 3" in alt_text(figure)
    assert trace(figure, "&lt;goal&gt;").marker.symbol == "star"


@pytest.mark.parametrize(
    ("loss", "written"),
    [
        ([[0.011, 900.0]], ["0.1", "1", "10", "100"]),
        ([[1.2, 4.0]], ["2", "3"]),
        ([[2.0, 2.0]], ["2"]),
    ],
)
def test_the_colours_have_the_losses_beside_them(loss, written) -> None:
    contours = landscape([0, 1], [0], loss).data[0]
    assert 10 ** values(contours.z[0])[1] == pytest.approx(loss[0][1], rel=1e-4)
    assert set(written) <= {*contours.colorbar.ticktext}


@pytest.mark.parametrize("loss", [[[1.0]], [[1.0, -1.0]], [[1.0, float("nan")]]])
def test_other_losses_are_refused(loss) -> None:
    with pytest.raises(DDLabError, match="loss must be of shape"):
        landscape([0, 1], [0], loss)


def test_a_plane_whose_loss_is_still_computed_claims_none() -> None:
    figure = landscape(**PLANE | {"loss": None})
    assert all(drawn.type == "scatter" for drawn in figure.data)
    assert "not computed yet" in alt_text(figure) and "from 0 at" not in alt_text(figure)
