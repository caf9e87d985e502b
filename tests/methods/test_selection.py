"""Each rule of selection against brute force."""

import dataclasses
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits
from torch import Tensor

import ddlab
from ddlab import networks
from ddlab.core import randomness
from ddlab.data import ImageData
from ddlab.methods import selection
from ddlab.methods.shared import descent
from ddlab.networks import Network
from ddlab.runs import Inputs, process
from tests.support import refuses, run_to_end

KINDS = ("random", "average", "k_means", "herding", "k_center", "centres")
PLACES = [
    (kind, space)
    for kind in KINDS
    for space in ("pixels", "features")
    if (kind, space) != ("centres", "features")
]


def points(count: int, seed: int, duplicates: bool = False) -> Tensor:
    random_points = torch.randn(
        (count, 3), generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    return random_points[torch.arange(count) // 2] if duplicates else random_points


CLOUDS = {
    "count": st.integers(1, 9),
    "seed": st.integers(0, 999),
    "duplicates": st.booleans(),
    "share": st.floats(0, 1),
}


@given(**CLOUDS)
def test_herding_is_greedy_for_the_mean(
    count: int, seed: int, duplicates: bool, share: float
) -> None:
    features = points(count, seed, duplicates)
    take = 1 + int(share * (count - 1))
    chosen = selection.herding(features, take).tolist()
    assert len(set(chosen)) == take
    for k in range(1, take + 1):
        errors = {
            i: float((features[[*chosen[: k - 1], i]].mean(0) - features.mean(0)).norm())
            for i in range(count)
            if i not in chosen[: k - 1]
        }
        assert errors[chosen[k - 1]] == pytest.approx(min(errors.values()), abs=1e-9)


@given(**CLOUDS)
def test_k_center_is_farthest_first(count: int, seed: int, duplicates: bool, share: float) -> None:
    features = points(count, seed, duplicates)
    take = 1 + int(share * (count - 1))
    before = features.clone()
    chosen = selection.k_center(features, take).tolist()
    assert torch.equal(features, before) and len(set(chosen)) == take
    to_mean = (features - features.mean(0)).norm(dim=1)
    assert float(to_mean[chosen[0]]) == pytest.approx(float(to_mean.min()))
    for k in range(1, take):
        gap = torch.cdist(features, features[chosen[:k]]).min(1).values
        assert float(gap[chosen[k]]) == pytest.approx(float(gap.max()), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_k_means_takes_one_of_each_cluster(seed: int) -> None:
    centres = torch.tensor([[0.0, 0, 0], [50, 0, 0], [0, 50, 0], [0, 0, 50]], dtype=torch.float64)
    cloud = points(40, seed) + centres[torch.arange(40) % 4]
    chosen = selection.k_means(cloud, 4, seed=seed)
    assert sorted((chosen % 4).tolist()) == [0, 1, 2, 3]
    for index in chosen.tolist():
        members = cloud[torch.arange(40) % 4 == index % 4]
        to_centre = (members - members.mean(0)).norm(dim=1)
        assert float((cloud[index] - members.mean(0)).norm()) == pytest.approx(
            float(to_centre.min())
        )


@settings(max_examples=15)
@given(count=st.integers(1, 9), seed=st.integers(0, 999), duplicates=st.booleans())
def test_k_means_never_takes_an_image_twice(count: int, seed: int, duplicates: bool) -> None:
    chosen = selection.k_means(points(9, seed, duplicates), count, seed=seed).tolist()
    assert len(set(chosen)) == count


@pytest.mark.parametrize("seed", range(5))
def test_centres_are_the_means_of_their_clusters_and_k_means_the_members_nearest(seed: int) -> None:
    places = torch.tensor([[0.0, 0, 0], [50, 0, 0], [0, 50, 0], [0, 0, 50]], dtype=torch.float64)
    cloud = points(40, seed) + places[torch.arange(40) % 4]
    centres = selection.centres(cloud, 4, seed=seed)
    clusters = torch.cdist(centres, places).argmin(1)
    assert sorted(clusters.tolist()) == [0, 1, 2, 3]
    torch.testing.assert_close(
        centres, torch.stack([cloud[torch.arange(40) % 4 == c].mean(0) for c in clusters])
    )
    assert torch.equal(
        selection.k_means(cloud, 4, seed=seed), torch.cdist(centres, cloud).argmin(1)
    )
    torch.testing.assert_close(selection.centres(cloud, 1, seed=seed), cloud.mean(0)[None])
    assert selection.centres(cloud.float(), 2, seed=seed).dtype == torch.float32
    without_gaps = points(60, seed)
    centres = selection.centres(without_gaps, 5, seed=seed)
    parts = torch.cdist(without_gaps, centres).argmin(1)
    torch.testing.assert_close(
        centres, torch.stack([without_gaps[parts == part].mean(0) for part in range(5)])
    )


def test_centres_are_the_same_on_any_number_of_cores() -> None:
    """Bit for bit: four threads add up four parts of the images, and which comes first is chance."""
    cloud = points(4000, 0)
    by_cores = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            by_cores.append(selection.centres(cloud, 8, seed=0))
    assert torch.equal(*by_cores)


def test_a_run_of_centres_holds_them(grey: ImageData) -> None:
    settings: dict[str, Any] = {"images_per_class": 3, "seed": 2}
    distilled = run_to_end(
        selection, selection.Config(kind="centres", **settings), Inputs(data=grey)
    )
    nearest = run_to_end(selection, selection.Config(kind="k_means", **settings), Inputs(data=grey))
    for label in range(3):
        class_centres = distilled.images[distilled.labels == label]
        of_class = grey.normalised(grey.of_class(label))
        parts = torch.cdist(of_class.flatten(1), class_centres.flatten(1)).argmin(1)
        torch.testing.assert_close(
            class_centres, torch.stack([of_class[parts == part].mean(0) for part in range(3)])
        )
        expected = of_class[torch.cdist(class_centres.flatten(1), of_class.flatten(1)).argmin(1)]
        assert torch.equal(nearest.images[nearest.labels == label], expected)


@given(count=st.integers(1, 9), seed=st.integers(0, 99))
def test_average_is_the_mean_of_equal_parts(count: int, seed: int) -> None:
    images = torch.randn(
        (9, 1, 2, 2), generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    averages = selection.average(images, count, generator=torch.Generator().manual_seed(seed))
    order = torch.randperm(9, generator=torch.Generator().manual_seed(seed))
    sizes = [9 // count + (part < 9 % count) for part in range(count)]
    parts = torch.split(images[order], sizes)
    torch.testing.assert_close(averages, torch.stack([part.mean(0) for part in parts]))


@pytest.mark.parametrize(("kind", "space"), PLACES)
def test_a_run_takes_images_of_each_class(
    kind: str, space: str, grey: ImageData, teacher: Network
) -> None:
    config = selection.Config(kind=kind, space=space, images_per_class=3, seed=2)
    inputs = Inputs(data=grey, teachers=(teacher,))
    steps = list(process.steps(selection, config, inputs))
    distilled = selection.finish(config, inputs, steps[-1].state)
    assert distilled.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2] and [
        step.trace.label for step in steps
    ] == [0, 1, 2]
    indices = torch.tensor(distilled.provenance["indices"])
    if kind in ("average", "centres"):
        assert (indices == -1).all()
        return
    assert len(set(indices.flatten().tolist())) == 9
    assert torch.equal(grey.train_labels[indices], torch.arange(3)[:, None].expand(3, 3))
    assert torch.equal(distilled.images, grey.normalised(indices.flatten()))
    for label, step in enumerate(steps):
        everything = _space(space, teacher, grey.normalised(grey.of_class(label)))
        of_label = _space(space, teacher, grey.normalised(indices[label]))
        torch.testing.assert_close(
            step.trace.mean_distance,
            (of_label.mean(0) - everything.mean(0)).norm(),
            rtol=1e-4,
            atol=1e-5,
        )
        if kind in ("herding", "k_center"):
            rule: Any = getattr(selection, kind)
            assert torch.equal(grey.of_class(label)[rule(everything, 3)], indices[label])


def _space(space: str, teacher: Network, images: Tensor) -> Tensor:
    return networks.predict(teacher, images).features if space == "features" else images.flatten(1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_class_may_be_taken(kind: str, grey: ImageData) -> None:
    distilled = run_to_end(
        selection, selection.Config(kind=kind, images_per_class=12), Inputs(data=grey)
    )
    assert len(distilled) == 36
    real = {tuple(image.flatten().tolist()) for image in distilled.to_uint8()}
    assert real == {tuple(image.flatten().tolist()) for image in grey.train_images}


@pytest.mark.parametrize("kind", ["average", "centres"])
def test_one_average_is_the_class_mean(kind: str, colour: ImageData) -> None:
    distilled = run_to_end(
        selection, selection.Config(kind=kind, images_per_class=1), Inputs(data=colour)
    )
    for label in range(2):
        torch.testing.assert_close(
            distilled.images[label], colour.normalised(colour.of_class(label)).mean(0)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input(kind: str, grey: ImageData) -> None:
    with refuses("images_per_class", "at most 12", "'a'", "13"):
        run_to_end(selection, selection.Config(kind=kind, images_per_class=13), Inputs(data=grey))
    with refuses("teacher" if kind != "centres" else "'pixels'", "features"):
        run_to_end(selection, selection.Config(kind=kind, space="features"), Inputs(data=grey))


def test_ipc_is_held_against_the_smallest_class(grey: ImageData) -> None:
    keep = torch.arange(36) != 20
    uneven = dataclasses.replace(
        grey, train_images=grey.train_images[keep], train_labels=grey.train_labels[keep]
    )
    run_to_end(selection, selection.Config(images_per_class=11), Inputs(data=uneven))
    with refuses("images_per_class", "at most 11", "'b'", "12"):
        run_to_end(selection, selection.Config(images_per_class=12), Inputs(data=uneven))


def test_each_class_is_drawn_once(grey: ImageData, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand classes took a thousand times as long as a thousandth of them; what is drawn has
    stayed the same.
    """
    labels_drawn = []
    draw = randomness.permutation

    def watched(count: int, seed: int, step: int = 0, stream: str = "") -> Tensor:
        labels_drawn.append(step)
        return draw(count, seed, step, stream)

    monkeypatch.setattr(randomness, "permutation", watched)
    chosen = run_to_end(selection, selection.Config(images_per_class=4, seed=5), Inputs(data=grey))
    monkeypatch.undo()
    assert labels_drawn == [0, 1, 2]
    indices = descent.real_image_indices(grey, 4, seed=5).T
    assert chosen.provenance["indices"] == indices.tolist()
    assert torch.equal(chosen.images, grey.normalised(indices.flatten()))


def test_options_change_the_preset_or_the_config(grey: ImageData) -> None:
    distilled = ddlab.distill("selection", grey, images_per_class=3, seed=4, progress=False)
    assert (
        len(distilled) == 9
        and distilled.provenance["config"]
        == selection.Config.teaching(images_per_class=3, seed=4).to_dict()
    )
    config = selection.Config(kind="herding", images_per_class=2)
    again = ddlab.distill("selection", grey, config=config, images_per_class=1, progress=False)
    assert again.provenance["config"] == config.replace(images_per_class=1).to_dict()
    for option, our_name in (("ipc", "'images_per_class'"), ("seeds", "'seed'")):
        with refuses("an option of selection", f"nearest: {our_name}", option):
            ddlab.distill("selection", grey, **{option: 1}, progress=False)
    with refuses("images_per_class", "at least 1"):
        ddlab.distill("selection", grey, images_per_class=0, progress=False)
