"""The plane of support points, driven in Python: what is drawn and said is what kernel regression
gives.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from torch import Tensor

from ddlab.explorers import Laboratory
from ddlab.lessons.kernels.plane import (
    ENOUGH,
    SUPPORT,
    KernelPlane,
    Plane,
    first_points,
    is_by_hand,
    moved,
    plane,
    real_dots,
    regression,
    right_fraction,
    support_of,
)
from tests.support import refuses


@pytest.fixture
def explorer() -> Iterator[Laboratory]:
    laboratory = KernelPlane()
    yield laboratory
    laboratory.close()


def drag(explorer: Laboratory, point: int, x: float, y: float) -> None:
    plot = explorer.widget(plane)
    plot.dragged = {
        "count": plot.dragged.get("count", 0) + 1,
        "point": point,
        "x": x,
        "y": y,
        "done": True,
    }


def trace(explorer: Laboratory, name: str) -> Any:
    return next(
        candidate for candidate in explorer.widget(plane).figure.data if candidate.name == name
    )


def by_hand(view: Plane, support: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """With RBF, gamma 2 and two numbers in an image, in numpy."""
    gram = lambda a, b: np.exp(-((a[:, None] - b[None]) ** 2).sum(-1))  # noqa: E731
    labels = np.eye(2)[np.arange(len(support)) % 2] - 0.5
    return gram(queries, support) @ np.linalg.solve(
        gram(support, support) + view.ridge * np.eye(len(support)), labels
    )


def test_the_regression_is_that_of_the_formula() -> None:
    view = Plane(ridge=0.1)
    draw = np.random.default_rng(0)
    support = draw.normal(size=(4, 2))
    queries = draw.normal(size=(9, 2))
    answers = regression(view, torch.from_numpy(support), torch.from_numpy(queries))
    np.testing.assert_allclose(answers.numpy(), by_hand(view, support, queries), atol=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "fc1", "fc3"])
def test_updates_go_down_the_error(kernel: str) -> None:
    dots, labels = real_dots()
    targets = torch.nn.functional.one_hot(labels, 2).double() - 0.5
    views = [Plane(kernel=kernel, updates=updates) for updates in (0, 1, 60)]
    answers = [regression(view, moved(view, first_points(6)), dots) for view in views]
    error = [float((end - targets).square().mean()) for end in answers]
    assert error[2] < 0.5 * error[0] and error[1] < error[0]


def test_a_dragged_point_moves_the_map_and_the_sentence(explorer: Laboratory) -> None:
    before = np.array(trace(explorer, "network's output").z)
    drag(explorer, 1, 1.25, -0.5)
    view = explorer.panel.value
    assert support_of(explorer.settings)[1].tolist() == [1.25, -0.5] and is_by_hand(
        explorer.settings
    )
    assert [trace(explorer, SUPPORT).x[1], trace(explorer, SUPPORT).y[1]] == [1.25, -0.5]
    output_map = trace(explorer, "network's output")
    grid = np.stack(np.meshgrid(output_map.x, output_map.y), -1).reshape(-1, 2)
    expected = (
        by_hand(view, support_of(explorer.settings).numpy(), grid)[:, 1].reshape(
            len(output_map.y), -1
        )
        + 0.5
    )
    np.testing.assert_allclose(output_map.z, expected.clip(0, 1), atol=1e-4)
    assert np.abs(before - output_map.z).max() > 0.1
    assert (
        f"classifies {right_fraction(view, support_of(explorer.settings)):.1%} of 200 dots"
        in explorer.sentence
    )


def test_updates_begin_where_the_points_are_and_a_drag_begins_anew(explorer: Laboratory) -> None:
    drag(explorer, 0, 0.5, 0.5)
    explorer.panel["updates"].value = 30
    began = first_points(4).clone()
    began[0] = torch.tensor([0.5, 0.5])
    after = moved(Plane(updates=30), began)
    assert (
        torch.allclose(support_of(explorer.settings), after, atol=1e-3)
        and "after 30 updates of KIP" in explorer.sentence
    )
    drag(explorer, 0, 0.0, 0.0)
    assert explorer.panel.value.updates == 0
    # A shared text has four decimals.
    torch.testing.assert_close(support_of(explorer.settings)[1:], after[1:], rtol=0, atol=1e-3)


def test_reset_and_another_number_forget_the_hand(explorer: Laboratory) -> None:
    for change in (
        explorer.reset_button.click,
        lambda: setattr(explorer.panel["per_class"], "value", 3),
    ):
        drag(explorer, 0, 0.5, 0.5)
        change()
        assert not is_by_hand(explorer.settings) and "among the real dots" in explorer.sentence
        assert torch.equal(
            support_of(explorer.settings), first_points(2 * explorer.panel.value.per_class)
        )


def test_the_quest_is_met_by_hand_alone_and_above_what_takes_no_learning(
    explorer: Laboratory,
) -> None:
    dots, labels = real_dots()
    centres = [
        KMeans(2, n_init=10, random_state=0).fit(dots[labels == label]).cluster_centers_
        for label in (0, 1)
    ]
    rival = torch.from_numpy(np.stack(centres, 1).reshape(-1, 2))
    for kernel in ("rbf", "fc1", "fc2", "fc3"):
        assert right_fraction(Plane(kernel=kernel), rival) < ENOUGH - 0.03
    explorer.panel["per_class"].value = 5
    explorer.panel["updates"].value = 60
    assert not explorer.quest.met, "KIP did it, and with more points"
    explorer.panel["per_class"].value = 2
    starts = (real_dots()[0][4 * number : 4 * number + 4] for number in range(5))
    best = max(
        (moved(Plane(updates=60), start) for start in starts),
        key=lambda label: right_fraction(Plane(), label),
    )
    for point, (x, y) in enumerate(best.tolist()):
        drag(explorer, point, x, y)
    assert explorer.quest.met


def test_equal_points_without_a_ridge_are_refused_and_nothing_moves(explorer: Laboratory) -> None:
    before: Tensor = support_of(explorer.settings).clone()
    explorer.panel.value = explorer.panel.value.replace(ridge=0.0)
    x, y = before[0].tolist()
    drag(explorer, 0, x, y)
    before = support_of(explorer.settings).clone()
    x, y = before[0].tolist()
    with refuses("ridge"):
        drag(explorer, 2, x, y)
    assert torch.equal(support_of(explorer.settings), before) and explorer.error is not None


def test_points_are_numbers_and_sliders_move_them_too(explorer: Laboratory) -> None:
    with refuses("points", "'1.0 2.0; 3.0 4.0'"):
        Plane(points="1.0; 2.0")
    (sliders,) = (shown.sliders for shown in explorer.views_on_page if shown.sliders)
    sliders.selected_index = 0
    sliders.point.value = 1
    sliders.across.value = 0.5
    assert support_of(explorer.settings)[1, 0] == 0 and is_by_hand(explorer.settings)
