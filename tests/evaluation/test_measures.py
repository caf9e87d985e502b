"""Feature distance (DWA eq 21) against a double loop."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, HardLabels
from ddlab.evaluation import measures
from ddlab.networks import Network
from tests.methods.test_recovery import plain_module
from tests.support import refuses

CLOUDS = {"rows": st.integers(1, 7), "width": st.integers(1, 5), "seed": st.integers(0, 999)}


def cloud(rows: int, width: int, seed: int) -> Tensor:
    return torch.randn(
        (rows, width), generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def double_loop(features: Tensor) -> float:
    rows = features.tolist()
    return sum(
        (a - b) ** 2
        for row in rows
        for other_row in rows
        for a, b in zip(row, other_row, strict=True)
    )


@given(**CLOUDS)
def test_equals_the_double_loop(rows: int, width: int, seed: int) -> None:
    features = cloud(rows, width, seed)
    assert float(measures.summed_squared_distances(features)) == pytest.approx(
        double_loop(features), rel=1e-10, abs=1e-10
    )


@given(**CLOUDS, shift=st.floats(-50, 50), scale=st.floats(-5, 5))
def test_invariances(rows: int, width: int, seed: int, shift: float, scale: float) -> None:
    features = cloud(rows, width, seed)
    distance = measures.summed_squared_distances(features)
    torch.testing.assert_close(
        measures.summed_squared_distances(features + shift), distance, rtol=1e-6, atol=1e-8
    )
    torch.testing.assert_close(
        measures.summed_squared_distances(scale * features), scale**2 * distance
    )
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(measures.summed_squared_distances(features[order].flip(1)), distance)
    twice = torch.cat([features, features])
    torch.testing.assert_close(measures.summed_squared_distances(twice), 4 * distance)


def test_gradient() -> None:
    assert torch.autograd.gradcheck(
        measures.summed_squared_distances, (cloud(4, 3, 0).requires_grad_(),)
    )


def test_few_rows() -> None:
    assert float(measures.summed_squared_distances(cloud(1, 3, 0))) == 0
    assert float(measures.summed_squared_distances(torch.zeros(0, 3))) == 0


def chosen_images(data: ImageData, indices: list[int], labels: list[int]) -> DistilledSet:
    return DistilledSet(
        tensors={"images": data.normalised(indices)},
        targets=(HardLabels(torch.tensor(labels)),),
        class_names=data.class_names,
        mean=data.mean,
        std=data.std,
    )


def test_feature_distance_per_class(grey: ImageData, teacher: Network) -> None:
    distilled = chosen_images(grey, [0, 12, 1, 2, 13], [0, 1, 0, 0, 1])
    module = plain_module(teacher)
    hooked = {}
    module.get_submodule("blocks.2.activation").register_forward_hook(
        lambda _, __, out: hooked.__setitem__("x", out.flatten(1))
    )
    module(distilled.images.double())
    features = hooked["x"]
    plain = [double_loop(features[[0, 2, 3]]), double_loop(features[[1, 4]]), 0.0]
    distances = measures.feature_distance(distilled, teacher, normalised=False)
    torch.testing.assert_close(distances, torch.tensor(plain), rtol=1e-4, atol=1e-5)
    length = float(features.square().sum(1).mean())
    expected = torch.tensor([plain[0] / 6 / length, plain[1] / 2 / length, 0.0])
    torch.testing.assert_close(
        measures.feature_distance(distilled, teacher), expected, rtol=1e-4, atol=1e-5
    )


def test_normalised_does_not_depend_on_copies_much(grey: ImageData, teacher: Network) -> None:
    """Twice the same images: the mean over pairs changes only by the pairs of an image with its
    copy.
    """
    once = chosen_images(grey, [*range(12)], [0] * 12)
    twice = chosen_images(grey, [*range(12), *range(12)], [0] * 24)
    distances = [float(measures.feature_distance(d, teacher)[0]) for d in (once, twice)]
    assert distances[1] == pytest.approx(distances[0] * 22 / 23, rel=1e-3)


def test_same_images_have_no_distance(grey: ImageData, teacher: Network) -> None:
    distances = measures.feature_distance(chosen_images(grey, [3, 3, 3], [0, 0, 0]), teacher)
    torch.testing.assert_close(distances, torch.zeros(3), rtol=0, atol=1e-6)


def test_bad_input(
    grey: ImageData, distilled: DistilledSet, teacher: Network, colour_teacher: Network
) -> None:
    with refuses("images", "[n, 3, 8, 8]"):
        measures.feature_distance(distilled, colour_teacher)
    bare = networks.initialise(
        networks.spec("convnet", width=4, norm="none").for_data(grey), seed=0
    )
    assert measures.feature_distance(distilled, bare).isfinite().all()
    empty = dataclasses.replace(
        distilled,
        tensors={"images": distilled.images[:0]},
        targets=(HardLabels(distilled.labels[:0]),),
    )
    assert measures.feature_distance(empty, teacher).tolist() == [0, 0, 0]


def looped_coverage(real: list[list[float]], points: list[list[float]], neighbours: int) -> float:
    def distance(a: list[float], b: list[float]) -> float:
        return sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5

    covered = 0
    for index, image in enumerate(real):
        radius = sorted(
            distance(image, other_image) for at, other_image in enumerate(real) if at != index
        )[neighbours - 1]
        covered += any(distance(image, point) <= radius for point in points)
    return covered / len(real)


@given(
    rows=st.integers(7, 20),
    count=st.integers(1, 6),
    width=st.integers(1, 4),
    seed=st.integers(0, 999),
    k=st.integers(1, 6),
)
def test_coverage_equals_the_loops(rows: int, count: int, width: int, seed: int, k: int) -> None:
    real = cloud(rows, width, seed)
    points = cloud(count, width, seed + 1)
    expected = looped_coverage(real.tolist(), points.tolist(), k)
    assert measures.nearest_neighbour_coverage(real, points, neighbours=k) == pytest.approx(
        expected
    )


@given(
    rows=st.integers(8, 20),
    seed=st.integers(0, 999),
    shift=st.floats(-20, 20),
    scale=st.floats(0.1, 10),
)
def test_coverage_invariances(rows: int, seed: int, shift: float, scale: float) -> None:
    real = cloud(rows, 3, seed)
    points = cloud(4, 3, seed + 1)
    coverage = measures.nearest_neighbour_coverage(real, points)
    turn = torch.linalg.qr(cloud(3, 3, seed + 2)).Q
    assert (
        measures.nearest_neighbour_coverage(
            scale * real @ turn + shift, scale * points @ turn + shift
        )
        == coverage
    )
    more_points = torch.cat([points, cloud(3, 3, seed + 3)])
    assert measures.nearest_neighbour_coverage(real, more_points) >= coverage, (
        "more points never cover less"
    )
    assert measures.nearest_neighbour_coverage(real, real) == 1


def test_a_real_point_covers_those_whose_neighbour_it_is() -> None:
    """Ties count: rounding must not lose the neighbour that defines a neighbourhood."""
    real = cloud(300, 64, 0).float()
    for index in (0, 17, 250):
        distances = torch.cdist(real.double(), real.double())
        ranks = distances.argsort(1).argsort(1)[:, index]
        assert measures.nearest_neighbour_coverage(real, real[index : index + 1]) == pytest.approx(
            float((ranks <= 5).double().mean())
        )


def test_bad_coverage_input() -> None:
    real = cloud(8, 3, 0)
    assert measures.nearest_neighbour_coverage(real, real[:0]) == 0
    with refuses("neighbours", "less than", "8"):
        measures.nearest_neighbour_coverage(real, real, neighbours=8)
    with refuses("radii"):
        measures.coverage(real, real[:3, 0], real)


def test_the_ratio_and_the_fewest_images() -> None:
    assert measures.distillation_ratio(0.45, 0.9) == pytest.approx(50)
    accuracies = {10: 0.9, 1: 0.2, 5: 0.7, 2: 0.7}
    assert [measures.fewest_images(accuracies, level) for level in (0.2, 0.7, 0.71, 0.95)] == [
        1,
        2,
        10,
        None,
    ]


@pytest.mark.parametrize(
    ("missing", "improvement", "score"),
    [
        (52.66, 12.40, 19.1),
        (42.21, 27.62, 23.9),
        (67.82, -5.77, 13.8),
        (0.0, 0.0, 26.9),
        (-100.0, 100.0, 100.0),
    ],
)
def test_label_robust_score_as_printed(missing: float, improvement: float, score: float) -> None:
    assert round(100 * measures.label_robust_score(improvement / 100, missing / 100), 1) == score


def test_augmentation_robust_score() -> None:
    scores = [
        measures.augmentation_robust_score(0.2, -0.1, weight=weight) for weight in (0.0, 0.25, 1.0)
    ]
    assert scores == pytest.approx(
        [(math.exp(b) - math.exp(-1)) / (math.e - 1 / math.e) for b in (-0.1, -0.025, 0.2)]
    )
