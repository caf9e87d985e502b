"""Ten samples dragged by hand, and what they teach is what the library trains."""

import pytest
import torch

from ddlab.lessons.ideal_data import placed
from ddlab.lessons.ideal_data.mixture import Mixture
from ddlab.lessons.ideal_data.placed import COUNT, ENOUGH, LABELS, MEANS, TenLab
from ddlab.lessons.ideal_data.world import EXTENT, SQUARED, least_errors
from ddlab.lessons.shared import dragging
from tests.support import refuses


def along_the_boundary() -> torch.Tensor:
    """Each class on its side of x + y = 3, spread along it."""
    shifts = torch.tensor([[0, 0], [1, -1], [-1, 1], [0.5, -0.5], [-0.5, 0.5]]) / 2
    nearer = torch.where(LABELS > 0, -0.2, 0.2)[:, None]
    return MEANS + shifts[torch.arange(COUNT) // 2] + nearer


def written(points: torch.Tensor) -> placed.Placed:
    return placed.Placed(points=dragging.text(points.double(), EXTENT))


def test_a_sample_goes_where_it_is_dragged_and_the_others_stay() -> None:
    lab = TenLab()
    lab.widget(placed.decisions).dragged = {
        "count": 1,
        "point": 0,
        "x": 1.8,
        "y": -3.0,
        "done": True,
    }
    points = placed.points_of(lab.settings.points)
    assert points[0].tolist() == [1.8, -1.0] and torch.equal(points[1:], MEANS[1:].double())
    drawn = lab.widget(placed.decisions).figure.data[-1]
    assert drawn.name == placed.SAMPLES and drawn.x[0] == 1.8
    lab.close()


def test_the_quest_counts_only_in_the_training_of_the_page() -> None:
    lab = TenLab()
    lab.panel.value = written(along_the_boundary())
    assert lab.quest.met
    lab.quest.met = False
    lab.panel.value = lab.settings.replace(momentum=0.9)
    assert not lab.quest.met
    lab.close()


def test_placed_samples_teach_more_than_a_thousand_of_the_best_deviation_and_random_ones_less() -> (
    None
):
    ours = placed.learned(written(along_the_boundary())).final_errors[SQUARED]
    means = placed.learned(placed.Placed()).final_errors[SQUARED]
    random = []
    settings = placed.Placed()
    for _ in range(5):
        settings = placed.draw_again(settings)
        random.append(placed.learned(settings).final_errors[SQUARED])
    assert (
        least_errors(Mixture())[SQUARED]
        <= ours
        < ENOUGH
        < placed.sampled(placed.Placed().training.replace(deviation=0.2)).final_errors[SQUARED]
        < means
        < sum(random) / 5
    )


@pytest.mark.parametrize(
    "text", ["", "1 1", "1 1; 2 2; 3", "a b" + "; 1 1" * 9, "nan 1" + "; 1 1" * 9]
)
def test_what_are_not_ten_points_is_refused(text: str) -> None:
    with refuses("points"):
        placed.Placed(points=text)
