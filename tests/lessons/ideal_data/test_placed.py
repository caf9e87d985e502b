"""Ten samples placed by hand: a click moves one, and what they teach is what the library trains."""

import pytest
import torch

from ddlab.lessons.ideal_data import placed
from ddlab.lessons.ideal_data.mixture import Mixture
from ddlab.lessons.ideal_data.placed import COUNT, ENOUGH, LABELS, MEANS, TenLab
from ddlab.lessons.ideal_data.world import SQUARED, least_errors
from tests.support import refuses


def along_the_boundary() -> torch.Tensor:
    """Each class on its side of x + y = 3, spread along it."""
    shifts = torch.tensor([[0, 0], [1, -1], [-1, 1], [0.5, -0.5], [-0.5, 0.5]]) / 2
    nearer = torch.where(LABELS > 0, -0.2, 0.2)[:, None]
    return MEANS + shifts[torch.arange(COUNT) // 2] + nearer


def test_a_click_moves_the_chosen_sample_and_chooses_the_next() -> None:
    lab = TenLab()
    lab.widget(placed.decisions).clicked = {
        "count": 1,
        "curve": 0,
        "point": 0,
        "x": 1.5,
        "y": -3.0,
        "name": "",
        "customdata": None,
    }
    points = placed.points_of(lab.settings.placed)
    assert (
        points[0].tolist() == [1.5, -1.0]
        and torch.equal(points[1:], MEANS[1:])
        and lab.settings.point == 2
    )
    lab.panel.value = lab.settings.replace(point=COUNT, across=2.5, up=0.5)
    lab.panel.value = placed.put(lab.settings)
    assert (
        placed.points_of(lab.settings.placed)[-1].tolist() == [2.5, 0.5] and lab.settings.point == 1
    )
    lab.close()


def test_placed_samples_teach_more_than_a_thousand_of_the_best_deviation_and_random_ones_less() -> (
    None
):
    ours = placed.learned(placed._written(along_the_boundary())).final_errors[SQUARED]
    means = placed.learned(placed.Placed().placed).final_errors[SQUARED]
    random = []
    settings = placed.Placed()
    for _ in range(5):
        settings = placed.draw_again(settings)
        random.append(placed.learned(settings.placed).final_errors[SQUARED])
    assert (
        least_errors(Mixture())[SQUARED]
        <= ours
        < ENOUGH
        < placed.sampled(0.2).final_errors[SQUARED]
        < means
        < sum(random) / 5
    )


@pytest.mark.parametrize(
    "text", ["", "1 1", "1 1; 2 2; 3", "a b" + "; 1 1" * 9, "nan 1" + "; 1 1" * 9]
)
def test_what_are_not_ten_points_is_refused(text: str) -> None:
    with refuses("placed"):
        placed.Placed(placed=text)
