"""Planes against numpy, scikit-learn and the loss computed directly, in float64."""

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import StoredLabels
from ddlab.evaluation import landscape
from ddlab.evaluation.landscapes import (
    ON_SET,
    REAL,
    Plane,
    main_plane,
    plane_through,
    random_plane,
    weight_terms,
)
from ddlab.methods.distillation import from_images
from ddlab.training import supervised
from ddlab.training.trajectories import by_name, vector
from tests.support import normal_doubles, refuses

F64 = torch.float64
RECIPE = supervised.Config.teaching(
    network=networks.spec("convnet", width=4, norm="instance"), epochs=6, mixup_alpha=0.0
)


def test_a_plane_goes_through_its_three_points() -> None:
    points = normal_doubles(3, 50)
    plane = plane_through(*points)
    places = plane.places(points)
    torch.testing.assert_close(plane.points(places), points)
    assert places[:2].flatten().tolist() == pytest.approx([0, 0, 1, 0], abs=1e-12)
    lengths = plane.directions @ plane.directions.T
    torch.testing.assert_close(lengths, torch.eye(2, dtype=F64) * lengths[0, 0])
    assert plane.share(points) == pytest.approx(1)
    assert plane.share(plane.points(normal_doubles(9, 2, seed=1))) == pytest.approx(1)
    assert plane.share(points + normal_doubles(3, 50, seed=2)) < 1
    with refuses("points", "on one line"):
        plane_through(points[0], points[1], (points[0] + points[1]) / 2)


def test_the_main_plane_is_that_of_the_principal_components() -> None:
    points = normal_doubles(9, 30) * torch.linspace(3, 0.1, 30, dtype=F64)
    components = torch.from_numpy(PCA(2).fit(points.numpy()).components_)
    directions = main_plane(points, points.mean(0)).directions
    torch.testing.assert_close((directions * components).sum(1).abs(), torch.ones(2, dtype=F64))
    plane = main_plane(points, torch.zeros(30, dtype=F64))
    sizes = np.linalg.svd(points.numpy())[1] ** 2
    assert plane.share(points) == pytest.approx(sizes[:2].sum() / sizes.sum())
    places = plane.places(points)
    assert (places.gather(0, places.abs().argmax(0)[None]) > 0).all(), "towards the farthest"


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(4, 9))
def test_places_are_those_of_least_squares(seed: int, length: int) -> None:
    origin, points = normal_doubles(length, seed=seed + 1), normal_doubles(5, length, seed=seed)
    scales = torch.tensor([[0.01], [100.0]], dtype=F64)
    plane = Plane(origin, normal_doubles(2, length, seed=seed + 2) * scales)
    moves = (points - origin).numpy()
    expected = np.linalg.lstsq(plane.directions.numpy().T, moves.T, rcond=None)[0].T
    assert plane.places(points).numpy() == pytest.approx(expected, rel=1e-6, abs=1e-9)
    left = ((moves - expected @ plane.directions.numpy()) ** 2).sum() / (moves**2).sum()
    assert plane.share(points) == pytest.approx(1 - left, abs=1e-9)
    assert main_plane(points, origin).share(points) >= 1 - left - 1e-9, "no plane holds more"


def test_random_directions_are_as_long_as_the_network_filter_by_filter() -> None:
    weights = {
        "weight": normal_doubles(3, 2, 2),
        "bias": normal_doubles(3),
        "output": normal_doubles(4, 3),
    }
    plane = random_plane(weights, seed=1)
    torch.testing.assert_close(plane.origin, vector(weights))
    for direction in plane.directions:
        weight, bias, output = direction.split([12, 3, 12])
        own = weights["weight"].flatten(1).norm(dim=1)
        torch.testing.assert_close(weight.view(3, 4).norm(dim=1), own)
        torch.testing.assert_close(output.view(4, 3).norm(dim=1), weights["output"].norm(dim=1))
        assert not bias.any()
    assert not torch.allclose(*plane.directions)
    again = random_plane({name: 3 * value for name, value in weights.items()}, seed=1)
    torch.testing.assert_close(again.directions, 3 * plane.directions)


def test_a_grid_holds_the_points_and_has_equal_units() -> None:
    plane = Plane(torch.zeros(2, dtype=F64), torch.eye(2, dtype=F64))
    x, y = plane.axes(torch.tensor([[0.0, 0.0], [1.0, 5.0]], dtype=F64), cells=9)
    assert x[0] < 0 < 1 < x[-1] and y[0] < 0 < 5 < y[-1] and len(x) == len(y) == 9
    assert float((x[-1] - x[0]) / (y[-1] - y[0])) == pytest.approx(1.8)


@pytest.mark.parametrize("norm", ["instance", "batch"])
def test_places_of_a_grid_have_the_losses_of_their_networks(grey: ImageData, norm: str) -> None:
    spec = networks.spec("convnet", width=3, norm=norm).for_data(grey)
    names = networks.parameter_names(spec)
    rows = [networks.initialise(spec, seed=seed).weights for seed in range(3)]
    points = torch.stack([vector({name: row[name] for name in names}) for row in rows]).double()
    plane = plane_through(*points)
    images, labels = grey.normalised(slice(8)).double(), grey.train_labels[:8]
    terms = weight_terms(
        spec,
        (images, lambda logits: F.cross_entropy(logits, labels)),
        (images[:4], lambda logits: logits.square().mean()),
    )
    x, y = plane.axes(points, 5)
    measured = plane.measure(terms, x, y, at_once=7)
    assert measured.shape == (2, 5, 5)
    for row, column in ((0, 0), (1, 4), (2, 2), (3, 1), (4, 3)):
        weights = by_name(
            spec, plane.origin + x[column] * plane.directions[0] + y[row] * plane.directions[1]
        )
        for name in rows[0].keys() - set(names):
            weights[name] = rows[0][name].to(
                weights[names[0]] if rows[0][name].is_floating_point() else rows[0][name]
            )
        module = networks.Network(spec=spec, weights=weights).module().train()
        expected = [F.cross_entropy(module(images), labels), module(images[:4]).square().mean()]
        torch.testing.assert_close(measured[:, row, column], torch.stack(expected))


@pytest.mark.parametrize("labels", ["hard", "stored"])
def test_the_landscape_of_a_set_has_both_students_in_it(grey: ImageData, labels: str) -> None:
    chosen = from_images(grey.normalised(slice(6)), grey.train_labels[:6], grey)
    chosen = chosen.with_targets(StoredLabels(normal_doubles(6, 3).float()))
    drawn = landscape(chosen, grey, labels=labels, config=RECIPE, cells=5, images=9, progress=False)
    assert {name: loss.shape for name, loss in drawn.losses.items()} == {
        ON_SET: (5, 5),
        REAL: (5, 5),
    }
    set_path, real_path = drawn.paths.values()
    assert torch.allclose(set_path[0], real_path[0]) and real_path[-1].tolist() == pytest.approx(
        [1, 0], abs=1e-5
    )
    assert 0 < drawn.share <= 1 and len(set_path) == len(real_path)
    for on in drawn.losses:
        pytest.importorskip("plotly")
        assert f"holds {drawn.share:.0%}" in drawn.figure(on).layout.title.text
    with refuses("on", "the set", "elsewhere"):
        drawn.figure("elsewhere")


def test_other_labels_and_data_are_refused(grey: ImageData) -> None:
    chosen = from_images(grey.normalised(slice(6)), grey.train_labels[:6], grey)
    with refuses("labels", "'hard', 'stored', 'online'"):
        landscape(chosen, grey, labels="steps", progress=False)
    other = dataclasses.replace(grey, mean=torch.tensor([0.1]))
    with refuses("mean"):
        landscape(chosen, other, config=RECIPE, progress=False)
