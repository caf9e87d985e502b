"""Real images with what the teacher says: which are taken, how many the budget buys, and whose
words they carry.
"""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans

from ddlab import networks
from ddlab.core import randomness
from ddlab.data import ImageData, predefined_views
from ddlab.data.predefined_views import Kind
from ddlab.methods import krr_st
from ddlab.methods import representation_selection as selected
from ddlab.networks import Network
from ddlab.runs import Inputs, process
from tests.methods.test_boost import wide
from tests.support import made_data, refuses, run_to_end


@pytest.fixture
def inputs(grey: ImageData, teacher: Network) -> Inputs:
    return Inputs(data=grey, teachers=(teacher,))


def rows(inputs: Inputs) -> np.ndarray:
    return krr_st.teacher_features(inputs).double().numpy()


def test_k_means_takes_the_image_nearest_to_each_centre(inputs: Inputs) -> None:
    """scikit-learn on the teacher's features of all images at once, of whatever class."""
    distilled = run_to_end(selected, selected.Config(kind="k_means", budget=6), inputs)
    points = rows(inputs)
    seed = randomness.derived_seed(0, 0, "k-means of all")
    centres = KMeans(6, n_init=4, random_state=seed).fit(points).cluster_centers_
    chosen = distilled.provenance["indices"]
    assert len(set(chosen)) == 6
    # The two images of a pair are equally near, up to rounding.
    for index, centre in zip(chosen, centres, strict=True):
        distances = np.linalg.norm(points - centre, axis=1)
        assert distances[index] <= distances.min() * (1 + 1e-9)


def test_random_images_are_those_that_krr_st_begins_with(inputs: Inputs, grey: ImageData) -> None:
    distilled = run_to_end(selected, selected.Config(budget=9, seed=4), inputs)
    indices = krr_st.real_indices(36, 9, seed=4)
    assert distilled.provenance["indices"] == indices.tolist()
    assert torch.equal(distilled.images, grey.normalised(indices))


@pytest.mark.parametrize(
    ("counted", "views", "expected"),
    [(False, "none", 100), (True, "none", 85), (True, "rotation", 60)],
)
def test_both_conventions_of_a_budget(
    counted: bool, views: Kind, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 images of 3 x 32 x 32 and 512 floats a view: 307,200 / 3,584 = 85.7, 307,200 / 5,120 =
    60.
    """
    wide_inputs = wide(made_data(channels=3, size=32, train=40), monkeypatch)
    config = selected.Config(targets_count=counted, augmentation=views)
    assert selected.total_steps(config, wide_inputs) == expected
    representation_floats = 4 * 512 if views == "rotation" else 512
    count = selected.affordable(
        100, image_floats=3072, representation_floats=representation_floats if counted else 0
    )
    assert count == expected


@pytest.mark.parametrize("budget", [3, 7, 20])
def test_what_is_counted_fits_and_one_more_would_not(budget: int, inputs: Inputs) -> None:
    config = selected.Config(budget=budget, targets_count=True, augmentation="crop")
    distilled = run_to_end(selected, config, inputs)
    assert (
        distilled.storage_floats()
        <= budget * 64
        < distilled.storage_floats() * (len(distilled) + 1) / len(distilled)
    )


@pytest.mark.parametrize("views", predefined_views.KINDS)
def test_representations_are_the_teachers(views: Kind, inputs: Inputs, teacher: Network) -> None:
    distilled = run_to_end(selected, selected.Config(budget=5, augmentation=views), inputs)
    images, targets = distilled.pairs()
    count = len(predefined_views.NAMES[views])
    assert len(images) == 5 * count
    torch.testing.assert_close(
        targets, networks.predict(teacher, images).features, rtol=1e-5, atol=1e-5
    )
    torch.testing.assert_close(
        images, predefined_views.augmented(distilled.images, views).flatten(0, 1)
    )


def test_the_trace_says_how_near_the_nearest_is(inputs: Inputs) -> None:
    points = rows(inputs)
    indices: list[int] = []
    for step in process.steps(selected, selected.Config(budget=4, kind="k_means"), inputs):
        indices.append(step.trace.index)
        apart = np.linalg.norm(points[:, None] - points[indices][None], axis=2).min(1).mean()
        assert float(step.trace.distance) == pytest.approx(apart, rel=1e-5)
    assert indices == step.state.order.tolist()


def test_wrong_numbers_are_named(inputs: Inputs) -> None:
    with refuses("budget", "36", "37"):
        selected.init(selected.Config(budget=37), inputs)
    narrow: dict[str, Any] = {"image_floats": 64, "representation_floats": 80}
    with refuses("budget", "at least 3 images", "given 2"):
        selected.affordable(2, **narrow)
    assert selected.affordable(3, **narrow) == 1
    assert selected.Config.paper().budget == 100
