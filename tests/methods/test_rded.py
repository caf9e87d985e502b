"""RDED: each function against loops in float64, the whole against a run by hand, and its limit: the
images of least loss.
"""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.special
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import ddlab
from ddlab import networks
from ddlab.core import NonFiniteError, randomness
from ddlab.data import ImageData
from ddlab.methods import rded
from ddlab.methods.shared import mosaic
from ddlab.networks import Network
from ddlab.runs import Inputs, process
from tests.support import assert_same, assert_sentence, made_data, refuses, run_to_end

WHOLE: dict[str, Any] = {"smallest_area": 1.0}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=generator(seed), dtype=torch.float64)


class TestBoxes:
    @pytest.mark.parametrize(("side", "low"), [(32, 0.08), (9, 0.3), (2, 0.08)])
    def test_sides_and_places_follow_the_exact_distribution(self, side: int, low: float) -> None:
        count = 40_000
        boxes = mosaic.crop_boxes(
            count // 8, 8, image_size=(side, side), smallest_area=low, generator=generator()
        )
        top_edges, left_edges, rows, columns = boxes.flatten(0, 1).T.numpy()
        assert (rows == columns).all()
        edges = np.clip(((np.arange(side + 1) + 0.5) / side) ** 2, low, 1.0)
        expected = np.diff(edges, prepend=low) / (1 - low)  # rounded to 0, 1, ..., side
        assert expected[0] == 0 and expected.sum() == pytest.approx(1)
        shares = np.bincount(rows, minlength=side + 1) / count
        assert (
            np.abs(shares - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / count) + 1e-12
        ).all()
        # Each place is uniform among side - rows + 1; both, less its mean and over its spread, are
        # N(0, 1) in the mean.
        for place in (top_edges, left_edges):
            assert (place >= 0).all() and (place + rows <= side).all()
            spread = np.sqrt(((side - rows + 1) ** 2 - 1) / 12)
            scores = (place - (side - rows) / 2)[spread > 0] / spread[spread > 0]
            assert abs(scores.mean()) * np.sqrt(len(scores)) < 4.5
            assert abs((scores**2).mean() - 1) * np.sqrt(len(scores)) < 4.5
        free = side > rows
        assert (
            abs(np.corrcoef(top_edges[free], left_edges[free])[0, 1] - _common(side - rows[free]))
            * np.sqrt(count)
            < 5
        )

    def test_torchvision_draws_the_same(self) -> None:
        from torchvision.transforms import RandomResizedCrop

        picture = torch.zeros(1, 28, 28)
        count = 4000
        with torch.random.fork_rng():
            torch.manual_seed(0)
            theirs = [
                RandomResizedCrop.get_params(picture, [0.08, 1.0], [1.0, 1.0]) for _ in range(count)
            ]
        ours = mosaic.crop_boxes(
            count, 1, image_size=(28, 28), smallest_area=0.08, generator=generator()
        )
        torchvisions = np.array(theirs, dtype=float)
        our_boxes = ours[:, 0].double().numpy()
        gap = torchvisions.mean(0) - our_boxes.mean(0)
        assert (np.abs(gap) < 4.5 * np.sqrt((torchvisions.var(0) + our_boxes.var(0)) / count)).all()

    def test_other_images_keep_their_aspect(self) -> None:
        boxes = mosaic.crop_boxes(
            50, 5, image_size=(20, 80), smallest_area=0.1, generator=generator()
        ).double()
        assert ((boxes[..., 3] - 4 * boxes[..., 2]).abs() <= 2.5).all() and (
            boxes[..., 0] + boxes[..., 2] <= 20
        ).all()
        assert (boxes[..., 1] + boxes[..., 3] <= 80).all()

    def test_all_of_the_image(self) -> None:
        boxes = mosaic.crop_boxes(4, 3, image_size=(7, 10), generator=generator(), **WHOLE)
        assert torch.equal(boxes, torch.tensor([0, 0, 7, 10]).expand(4, 3, 4))


def _common(free: np.ndarray) -> float:
    """The correlation that two places have because they share the side of the square."""
    means = free / 2
    return float(means.var() / (means.var() + ((free + 1.0) ** 2 - 1).mean() / 12))


def triangle(length: int, out: int) -> np.ndarray:
    """Bilinear weights [out, length], wider where the image becomes smaller, as PIL's."""
    scale = length / out
    centres = (np.arange(out) + 0.5) * scale
    weights = 1 - np.abs(np.arange(length)[None] + 0.5 - centres[:, None]) / max(scale, 1)
    weights = weights.clip(0)
    return weights / weights.sum(1, keepdims=True)


def cut_by_hand(image: Tensor, box: Any, patch_size: tuple[int, int]) -> np.ndarray:
    top_edge, left_edge, rows, columns = (int(part) for part in box)
    part = image.numpy()[:, top_edge : top_edge + rows, left_edge : left_edge + columns]
    return np.einsum(
        "ij,cjk,lk->cil", triangle(rows, patch_size[0]), part, triangle(columns, patch_size[1])
    )


@settings(max_examples=25)
@given(
    height=st.integers(2, 9),
    width=st.integers(2, 9),
    high=st.floats(0.01, 1),
    wide=st.floats(0.01, 1),
    seed=st.integers(0, 99),
)
def test_patches_are_scaled_by_a_triangle(
    height: int, width: int, high: float, wide: float, seed: int
) -> None:
    patch_size = max(2, round(high * height)), max(2, round(wide * width))
    images = normal(3, 2, height, width, seed=seed)
    boxes = mosaic.crop_boxes(
        3, 2, image_size=(height, width), smallest_area=0.05, generator=generator(seed)
    )
    patches = mosaic.cut_patches(images, boxes, patch_size=patch_size)
    assert patches.shape == (3, 2, 2, *patch_size)
    for image, crop in itertools.product(range(3), range(2)):
        expected = cut_by_hand(images[image], boxes[image, crop], patch_size)
        np.testing.assert_allclose(patches[image, crop].numpy(), expected, atol=1e-12)


def test_what_is_not_scaled_stays_as_it_is() -> None:
    images = normal(2, 3, 6, 5).float()
    boxes = torch.tensor([[[0, 0, 6, 5]], [[0, 0, 6, 5]]])
    assert torch.equal(mosaic.cut_patches(images, boxes, patch_size=(6, 5))[:, 0], images)
    inner = torch.tensor([[[1, 2, 3, 3]], [[3, 0, 3, 3]]])
    patches = mosaic.cut_patches(images, inner, patch_size=(3, 3))
    assert torch.equal(patches[0, 0], images[0, :, 1:4, 2:5]) and torch.equal(
        patches[1, 0], images[1, :, 3:6, 0:3]
    )


def test_patches_have_derivatives() -> None:
    images = normal(2, 1, 4, 5).requires_grad_()
    boxes = torch.tensor([[[0, 1, 3, 3]], [[2, 0, 2, 4]]])
    assert torch.autograd.gradcheck(
        lambda argument: mosaic.cut_patches(argument, boxes, patch_size=(2, 3)), images
    )
    logits = normal(3, 4, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda argument: rded.realism_losses(argument, 2), logits)


@given(
    height=st.integers(1, 5),
    width=st.integers(1, 5),
    taller=st.integers(0, 5),
    wider=st.integers(0, 5),
)
def test_centred(height: int, width: int, taller: int, wider: int) -> None:
    patches = normal(2, 3, height, width)
    framed = mosaic.centre(patches, image_size=(height + taller, width + wider))
    expected = np.zeros((2, 3, height + taller, width + wider))
    for row, column in itertools.product(range(height), range(width)):
        expected[:, :, taller // 2 + row, wider // 2 + column] = patches[:, :, row, column]
    assert np.array_equal(framed.numpy(), expected)


@given(
    seed=st.integers(0, 99), label=st.integers(0, 3), scale=st.sampled_from([1e-3, 1.0, 30.0, 1e4])
)
def test_losses_are_cross_entropies(seed: int, label: int, scale: float) -> None:
    logits = scale * normal(6, 4, seed=seed)
    expected = -scipy.special.log_softmax(logits.numpy(), axis=1)[:, label]
    realism = rded.realism_losses(logits, label)
    np.testing.assert_allclose(realism.numpy(), expected, rtol=1e-12, atol=1e-12)
    assert (realism >= 0).all()


@given(
    rows=st.integers(1, 6),
    crops=st.integers(1, 4),
    share=st.floats(0, 1),
    seed=st.integers(0, 999),
    ties=st.booleans(),
)
def test_the_best_square_of_each_image_then_the_best_of_these(
    rows: int, crops: int, share: float, seed: int, ties: bool
) -> None:
    count = 1 + int(share * (rows - 1))
    losses = normal(rows, crops, seed=seed).round() if ties else normal(rows, crops, seed=seed)
    table = losses.tolist()
    best = [min((loss, crop) for crop, loss in enumerate(row)) for row in table]
    order = sorted((loss, row, crop) for row, (loss, crop) in enumerate(best))[:count]
    found_rows, found_crops = rded.best_crops(losses, count)
    assert found_rows.tolist() == [part[1] for part in order]
    assert found_crops.tolist() == [part[2] for part in order]


@pytest.mark.parametrize(("factor", "ipc"), [(1, 1), (1, 3), (2, 1), (2, 3)])
def test_stitch(factor: int, ipc: int) -> None:
    patches = normal(ipc * factor**2, 2, 3, 4)
    stitched = mosaic.stitch(patches, factor=factor)
    assert stitched.shape == (ipc, 2, 3 * factor, 4 * factor)
    for number, i, j in itertools.product(range(ipc), range(factor), range(factor)):
        cell = stitched[number, :, 3 * i : 3 * (i + 1), 4 * j : 4 * (j + 1)]
        assert torch.equal(cell, patches[(i * factor + j) * ipc + number])


def _mosaics(grey: ImageData, teacher: Network, label: int = 1, **changes: Any) -> rded.Mosaics:
    images = grey.normalised(grey.of_class(label))
    return rded.class_mosaics(
        images, label, teacher, **{"images_per_class": 2, "generator": generator(3)} | changes
    )


@pytest.mark.parametrize("factor", [1, 2])
def test_mosaics_by_hand(factor: int, grey: ImageData, teacher: Network) -> None:
    """Every square cut and shown alone; a sort; pixels put down one cell after another."""
    images = grey.normalised(grey.of_class(1))
    side = 8 // factor
    ipc = 2
    mosaics = _mosaics(grey, teacher, factor=factor, crops_per_image=4)
    assert (
        mosaics.boxes.shape == (12, 4, 4)
        and mosaics.losses.shape == (12, 4)
        and mosaics.images.shape == (2, 1, 8, 8)
    )
    patches = {}
    table = []
    for row, crop in itertools.product(range(12), range(4)):
        patch = cut_by_hand(images[row].double(), mosaics.boxes[row, crop], (side, side))
        whole = np.zeros((1, 1, 8, 8))
        start = (8 - side) // 2
        whole[:, :, start : start + side, start : start + side] = patch
        logits = (
            networks.predict(teacher, torch.from_numpy(whole).float()).logits[0].double().numpy()
        )
        loss = scipy.special.logsumexp(logits) - logits[1]
        assert float(mosaics.losses[row, crop]) == pytest.approx(loss, rel=1e-4, abs=1e-5)
        patches[row, crop] = patch
        table.append((float(mosaics.losses[row, crop]), row, crop))
    chosen: list[tuple[int, int]] = []
    for _, row, crop in sorted(table):
        if row not in [chosen_row for chosen_row, _ in chosen] and len(chosen) < ipc * factor**2:
            chosen.append((row, crop))
    for number, cell in itertools.product(range(ipc), range(factor**2)):
        place = chosen[cell * ipc + number]
        assert place == (int(mosaics.rows[number, cell]), int(mosaics.crops[number, cell]))
        i, j = divmod(cell, factor)
        pixels = mosaics.images[number, :, side * i : side * (i + 1), side * j : side * (j + 1)]
        np.testing.assert_allclose(pixels.numpy(), patches[place], atol=1e-5)


@pytest.mark.parametrize("crops", [1, 3])
def test_whole_images_and_one_to_a_mosaic_are_those_of_least_loss(
    crops: int, grey: ImageData, teacher: Network
) -> None:
    config = rded.Config(images_per_class=3, crops_per_image=crops, **WHOLE)
    distilled = run_to_end(rded, config, Inputs(data=grey, teachers=(teacher,)))
    for label in range(3):
        members = grey.of_class(label)
        targets = torch.full((12,), label)
        losses = torch.nn.functional.cross_entropy(
            networks.predict(teacher, grey.normalised(members)).logits, targets, reduction="none"
        )
        least = grey.normalised(members[losses.argsort()[:3]])
        of_label = distilled.images[3 * label : 3 * (label + 1)]
        # The order of the candidates is drawn, so that it decides among equal losses only.
        assert losses.unique().numel() == 12 and torch.equal(of_label, least)


@pytest.mark.parametrize("factor", [1, 2])
def test_a_run_makes_what_the_function_makes(
    factor: int, grey: ImageData, teacher: Network
) -> None:
    config = rded.Config(images_per_class=2, factor=factor, candidates_per_class=9, seed=4)
    inputs = Inputs(data=grey, teachers=(teacher,))
    run = list(process.steps(rded, config, inputs))
    distilled = rded.finish(config, inputs, run[-1].state)
    assert distilled.labels.tolist() == [0, 0, 1, 1, 2, 2] and [
        t.kind for t in distilled.targets
    ] == [
        "hard",
        "stored",
        "online",
    ]
    indices = torch.tensor(distilled.provenance["indices"])
    boxes = torch.tensor(distilled.provenance["boxes"])
    assert indices.shape == (3, 2, factor**2) and boxes.shape == (3, 2, factor**2, 4)
    for label, step in enumerate(run):
        trace = step.trace
        assert trace.label == label and len(set(trace.candidates.tolist())) == 9
        assert (grey.train_labels[trace.candidates] == label).all()
        images = grey.normalised(trace.candidates)
        draw = randomness.generator(4, label, "realism crops")
        again = rded.class_mosaics(
            images, label, teacher, images_per_class=2, factor=factor, generator=draw
        )
        assert_same(again, trace.mosaics)
        assert torch.equal(distilled.images[2 * label : 2 * label + 2], trace.mosaics.images)
        for mosaic_number, cell in itertools.product(range(2), range(factor**2)):
            source = grey.normalised(indices[label, mosaic_number, cell][None])
            box = boxes[label, mosaic_number, cell][None, None]
            side = 8 // factor
            patch = mosaic.cut_patches(source, box, patch_size=(side, side))[0, 0]
            i, j = divmod(cell, factor)
            in_mosaic = distilled.images[
                2 * label + mosaic_number, :, side * i : side * (i + 1), side * j : side * (j + 1)
            ]
            assert torch.equal(in_mosaic, patch)
            row = trace.mosaics.rows[mosaic_number, cell]
            crop = trace.mosaics.crops[mosaic_number, cell]
            assert (
                run[-1].state.losses[label, mosaic_number, cell] == trace.mosaics.losses[row, crop]
            )


def test_more_candidates_only_add_some(grey: ImageData) -> None:
    few = rded.candidate_indices(grey, 2, 4, seed=1)
    many = rded.candidate_indices(grey, 2, 300, seed=1)
    assert torch.equal(many[:4], few) and sorted(many.tolist()) == grey.of_class(2).tolist()
    assert not torch.equal(rded.candidate_indices(grey, 2, 300, seed=2), many)


def test_images_that_are_not_square(grey: ImageData) -> None:
    cut = {f"{split}_images": grey.images(split)[:, :, :, :4] for split in ("train", "test")}
    narrow = dataclasses.replace(grey, **cut)
    network = networks.initialise(
        networks.spec("vit", width=5, depth=1, heads=1).for_data(narrow), seed=0
    )
    distilled = run_to_end(
        rded, rded.Config(images_per_class=2, factor=2), Inputs(data=narrow, teachers=(network,))
    )
    assert distilled.images.shape == (6, 1, 8, 4)


def test_presets_and_alias(grey: ImageData, teacher: Network) -> None:
    assert rded.Config.paper("tiny-imagenet", images_per_class=50) == rded.Config(
        images_per_class=50
    )
    distilled = ddlab.distill(
        "rded", grey, teacher, config=rded.Config.teaching(factor=2), progress=False
    )
    assert len(distilled) == 3 and distilled.provenance["method"] == "realism_selection"


class TestBadInput:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"smallest_area": 0.0}, ["smallest_area", "(0, 1]"]),
            (
                {"candidates_per_class": 9},
                ["images_per_class", "at most 9", "9 candidates_per_class", "given 10"],
            ),
            (
                {"images_per_class": 100, "factor": 2},
                ["images_per_class", "at most 75", "2 x 2", "300", "given 100"],
            ),
        ],
    )
    def test_config(self, changes: dict[str, Any], words: list[str]) -> None:
        with refuses(*words):
            rded.Config(**changes)

    def test_inputs(self, grey: ImageData, teacher: Network) -> None:
        inputs = Inputs(data=grey, teachers=(teacher,))
        with refuses("images_per_class", "at most 3", "2 x 2", "'a'", "12 images", "given 4"):
            process.start(rded, rded.Config(images_per_class=4, factor=2), inputs)
        process.start(rded, rded.Config(images_per_class=3, factor=2), inputs)
        odd = made_data(size=9)
        network = networks.initialise(networks.spec("convnet", width=4).for_data(odd), seed=0)
        with refuses("factor", "(9, 9)", "given 2"):
            process.start(
                rded,
                rded.Config(images_per_class=1, factor=2),
                Inputs(data=odd, teachers=(network,)),
            )

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            (
                {"images_per_class": 4, "factor": 2},
                ["images_per_class", "at most 3", "12 images", "given 4"],
            ),
            ({"images": torch.zeros(12, 1, 6, 8)}, ["images", "[n, 1, 8, 8]", "6"]),
            ({"images": torch.zeros(12, 1, 7, 7), "factor": 2}, ["factor", "(7, 7)"]),
        ],
    )
    def test_mosaics(
        self, changes: dict[str, Any], words: list[str], grey: ImageData, teacher: Network
    ) -> None:
        right: dict[str, Any] = {
            "images": grey.normalised(grey.of_class(0)),
            "label": 0,
            "teacher": teacher,
        }
        with refuses(*words):
            rded.class_mosaics(
                **right | {"images_per_class": 2, "generator": generator()} | changes
            )

    def test_a_teacher_of_infinite_loss(self, grey: ImageData, teacher: Network) -> None:
        bias = torch.tensor([3e38, -3e38, 0.0])
        broken = dataclasses.replace(teacher, weights=teacher.weights | {"classifier.bias": bias})
        with pytest.raises(NonFiniteError) as caught:
            _mosaics(grey, broken)
        assert_sentence(caught.value, "realism_selection", "losses at step 2")

    def test_patches_of_one_pixel(self) -> None:
        with refuses("factor", "at least 2 px", "(8, 2)"):
            mosaic.patch_size_of((8, 2), 2)
