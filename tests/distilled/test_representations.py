"""Distilled sets without labels: images from bases, and a teacher's representations of every view
as their targets.
"""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import evaluation
from ddlab.core import storage
from ddlab.data import ImageData, predefined_views
from ddlab.distilled import (
    DistilledSet,
    HardLabels,
    Representations,
    StoredLabels,
    shift_models,
    storage_budget,
)
from ddlab.evaluation import measures
from ddlab.networks import Network
from ddlab.runs import Inputs
from ddlab.training import supervised
from tests.support import assert_same, made_data, normal_floats, refuses, run_to_end

M = 5
U = 4
V = 3
D = 7
SCALE = 2
AUGMENTATIONS = predefined_views.KINDS


def views_of(augmentation: str) -> int:
    """A, written down: what the paper says."""
    return {"none": 0, "rotation": 3, "jigsaw": 3, "crop": 5}[augmentation]


def shift_tensors(shift: str, views: int) -> dict[str, Tensor]:
    shapes = {
        "same": {},
        "bias": {"biases": (views, V)},
        "networks": {
            "first_weights": (views, 2, V),
            "first_biases": (views, 2),
            "second_weights": (views, V, 2),
            "second_biases": (views, V),
        },
        "stored": {"view_coefficients": (views, M, V)},
    }[shift]
    return {
        name: normal_floats(*shape, seed=number)
        for number, (name, shape) in enumerate(shapes.items())
    }


def factors(
    augmentation: Any = "rotation", shift: Any = "networks", mean: bool = False
) -> Representations:
    tensors = {
        "bases": normal_floats(V, D, seed=10),
        "coefficients": normal_floats(M, V, seed=11),
    } | ({"mean": normal_floats(D, seed=12)} if mean else {})
    return Representations(
        tensors | shift_tensors(shift, views_of(augmentation)), augmentation, shift
    )


def plain(augmentation: Any = "rotation", shift: Any = "stored") -> Representations:
    stored = 1 if shift == "same" else views_of(augmentation) + 1
    return Representations(
        {"representations": normal_floats(stored, M, D, seed=13)}, augmentation, shift
    )


def parts(**changes: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "kind": "factorised",
        "settings": {"scale": SCALE},
        "targets": (factors(),),
        "class_names": (),
        "tensors": {
            "image_bases": normal_floats(U, 3, 4, 4),
            "image_coefficients": normal_floats(M, U, seed=1),
        },
        "mean": torch.full((3,), 0.5),
        "std": torch.full((3,), 0.25),
    }
    return whole | changes


def factorised_set(**changes: Any) -> DistilledSet:
    return DistilledSet(**parts(**changes))


def plain_images(**changes: Any) -> DistilledSet:
    return factorised_set(
        **{
            "kind": "images",
            "settings": {},
            "tensors": {"images": normal_floats(M, 3, 8, 8)},
            "targets": (plain(),),
        }
        | changes
    )


def upsampled_slowly(images: Tensor, scale: int) -> Tensor:
    """Bilinear, corners not aligned, pixel by pixel."""
    count, channels, height, width = images.shape
    upsampled = torch.zeros(count, channels, height * scale, width * scale, dtype=images.dtype)
    for row in range(height * scale):
        for column in range(width * scale):
            y = min(max((row + 0.5) / scale - 0.5, 0), height - 1)
            x = min(max((column + 0.5) / scale - 0.5, 0), width - 1)
            y0, x0 = int(y), int(x)
            y1 = min(y0 + 1, height - 1)
            x1 = min(x0 + 1, width - 1)
            upper = (1 - (x - x0)) * images[:, :, y0, x0] + (x - x0) * images[:, :, y0, x1]
            lower = (1 - (x - x0)) * images[:, :, y1, x0] + (x - x0) * images[:, :, y1, x1]
            upsampled[:, :, row, column] = (1 - (y - y0)) * upper + (y - y0) * lower
    return upsampled


@pytest.mark.parametrize("mean", [False, True])
def test_images_of_factors(mean: bool) -> None:
    """By sums over bases and pixels, in float64."""
    extra = {"image_mean": normal_floats(3, 4, 4, seed=2)} if mean else {}
    distilled = factorised_set(tensors=parts()["tensors"] | extra)
    small: Any = sum(
        distilled.tensors["image_coefficients"][:, u, None, None, None].double()
        * distilled.tensors["image_bases"][u].double()
        for u in range(U)
    )
    small = small + extra["image_mean"].double() if mean else small
    torch.testing.assert_close(
        distilled.images.double(), upsampled_slowly(small, SCALE), rtol=0, atol=2e-6
    )
    assert (len(distilled), distilled.channels, distilled.image_size, distilled.classes) == (
        M,
        3,
        (8, 8),
        0,
    )
    pixels = ((distilled.images * 0.25 + 0.5) * 255).round().clamp(0, 255).to(torch.uint8)
    assert torch.equal(distilled.to_uint8(), pixels)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("shift", storage_budget.SHIFTS)
@pytest.mark.parametrize("augmentation", AUGMENTATIONS)
def test_values_of_factors(augmentation: str, shift: str, mean: bool) -> None:
    """Row by row, in float64."""
    target = factors(augmentation, shift, mean)
    views = views_of(augmentation)
    tensors = {name: value.double() for name, value in target.tensors.items()}
    assert (target.views, target.size, target.plain) == (views, D, False)
    assert target.values.shape == (views + 1, M, D) and target.values.dtype == torch.float32
    for view in range(views + 1):
        for row in range(M):
            coefficients = tensors["coefficients"][row]
            if view and shift == "bias":
                coefficients = coefficients + tensors["biases"][view - 1]
            elif view and shift == "stored":
                coefficients = tensors["view_coefficients"][view - 1, row]
            elif view and shift == "networks":
                hidden = (
                    tensors["first_weights"][view - 1] @ coefficients
                    + tensors["first_biases"][view - 1]
                ).clamp_min(0)
                coefficients = (
                    coefficients
                    + tensors["second_weights"][view - 1] @ hidden
                    + tensors["second_biases"][view - 1]
                )
            expected = sum(coefficients[v] * tensors["bases"][v] for v in range(V)) + (
                tensors["mean"] if mean else 0
            )
            torch.testing.assert_close(
                target.values[view, row].double(), expected, rtol=0, atol=1e-5
            )


@pytest.mark.parametrize("augmentation", AUGMENTATIONS)
def test_plain_values(augmentation: str) -> None:
    target = plain(augmentation)
    assert torch.equal(target.values, target.tensors["representations"]) and target.plain
    same_set = plain(augmentation, "same")
    assert same_set.values.shape == (views_of(augmentation) + 1, M, D)
    assert all(
        torch.equal(value, same_set.tensors["representations"][0]) for value in same_set.values
    )


@pytest.mark.parametrize("shift", storage_budget.SHIFTS)
@pytest.mark.parametrize("augmentation", AUGMENTATIONS)
def test_pairs(augmentation: str, shift: str) -> None:
    """Row a m + i is view a of image i."""
    distilled = factorised_set(targets=(factors(augmentation, shift),))
    images, representations = distilled.pairs()
    views = predefined_views.augmented(distilled.images, augmentation)  # type: ignore[arg-type]
    assert images.shape == ((views_of(augmentation) + 1) * M, 3, 8, 8) and len(
        representations
    ) == len(images)
    for view in range(views_of(augmentation) + 1):
        for row in range(M):
            assert torch.equal(images[view * M + row], views[view, row])
            assert torch.equal(
                representations[view * M + row],
                distilled.target("representations").values[view, row],
            )
    assert distilled.pairs()[0] is images and distilled.pairs()[1] is representations
    dataset = distilled.as_dataset()
    assert len(dataset) == len(images)
    assert torch.equal(dataset[-1][0], images[-1]) and torch.equal(
        dataset[-1][1], representations[-1]
    )


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("augmentation", AUGMENTATIONS)
@pytest.mark.parametrize("shift", storage_budget.SHIFTS)
def test_storage_is_what_the_bill_says(shift: Any, augmentation: str, mean: bool) -> None:
    sizes = storage_budget.Factorised(
        channels=3,
        height=8,
        width=8,
        scale=SCALE,
        image_bases=U,
        representation_size=D,
        representation_bases=V,
        representation_mean=mean,
        views=views_of(augmentation),
        shift=shift,
        hidden=2,
    )
    distilled = factorised_set(targets=(factors(augmentation, shift, mean),))
    assert distilled.storage_floats() == sizes.bill(M).total
    # A mean of the images is stored too, and counted; the bill has none.
    with_mean = factorised_set(
        tensors=parts()["tensors"] | {"image_mean": normal_floats(3, 4, 4)},
        targets=distilled.targets,
    )
    assert with_mean.storage_floats() == sizes.bill(M).total + 48


def test_storage_of_plain_pairs() -> None:
    for augmentation in AUGMENTATIONS:
        all_views = storage_budget.plain_floats(
            M, image_floats=192, representation_floats=(views_of(augmentation) + 1) * D
        )
        assert plain_images(targets=(plain(augmentation),)).storage_floats() == all_views
        floats = storage_budget.plain_floats(M, image_floats=192, representation_floats=D)
        assert plain_images(targets=(plain(augmentation, "same"),)).storage_floats() == floats


@pytest.mark.parametrize("shift", storage_budget.SHIFTS)
@pytest.mark.parametrize("augmentation", AUGMENTATIONS)
def test_round_trip(augmentation: str, shift: str, tmp_path: Path) -> None:
    for saved in (
        factorised_set(
            targets=(factors(augmentation, shift, mean=True),),
            complete=False,
            provenance={"method": "boost"},
        ),
        plain_images(targets=(plain(augmentation, "same" if shift == "same" else "stored"),)),
    ):
        loaded = DistilledSet.load(saved.save(tmp_path / "set"))
        assert_same(loaded, saved)
        assert loaded.fingerprint == saved.fingerprint and torch.equal(
            loaded.pairs()[1], saved.pairs()[1]
        )


def test_round_trip_beside_labels(tmp_path: Path) -> None:
    """Class labels and representations together: the images have class labels for a training
    loop.
    """
    hard = HardLabels(torch.tensor([0, 1, 0, 1, 1]))
    saved = factorised_set(
        targets=(factors(), StoredLabels(normal_floats(M, 2)), hard), class_names=("a", "b")
    )
    loaded = DistilledSet.load(saved.save(tmp_path / "set"))
    assert loaded.fingerprint == saved.fingerprint and torch.equal(loaded.labels, hard.classes)
    assert {target.kind for target in loaded.targets} == {"hard", "stored", "representations"}
    assert (
        torch.equal(saved.as_dataset()[2][0], saved.images[2])
        and int(saved.as_dataset()[1][1]) == 1
    )


def test_reading_makes_nothing_part_of_a_fingerprint() -> None:
    """What is made from the factors is kept beside them, and is no part of them: its last bits may
    differ on another machine.
    """
    read = factorised_set()
    read.pairs()
    target = {"tensors": factors().tensors, "augmentation": "rotation", "shift": "networks"}
    stored = [read.kind, read.tensors, [target], (), read.mean, read.std, {"scale": SCALE}]
    assert read.fingerprint == storage.fingerprint(*stored) == factorised_set().fingerprint


def test_fingerprint_sees_every_part() -> None:
    target = factors()
    edited_sets = [
        factorised_set(settings={"scale": 4}),
        factorised_set(tensors=parts()["tensors"] | {"image_mean": torch.zeros(3, 4, 4)}),
        factorised_set(
            tensors=parts()["tensors"] | {"image_coefficients": normal_floats(M, U, seed=9)}
        ),
        factorised_set(targets=(factors(mean=True),)),
        factorised_set(targets=(factors(shift="bias"),)),
        factorised_set(targets=(factors("jigsaw"),)),
        factorised_set(targets=(plain(),)),
        factorised_set(
            targets=(
                dataclasses.replace(
                    target, tensors=target.tensors | {"bases": target.tensors["bases"] + 1}
                ),
            )
        ),
        factorised_set(
            targets=(target, HardLabels(torch.zeros(M, dtype=torch.int64))), class_names=("a",)
        ),
    ]
    assert len({distilled.fingerprint for distilled in (factorised_set(), *edited_sets)}) == 10


def test_a_set_without_labels_says_so() -> None:
    """Functions that need class labels, in one sentence."""
    data = made_data(classes=2, channels=3)
    unlabelled = factorised_set(class_names=data.class_names, mean=data.mean, std=data.std)
    needs = "labels must be of a kind this set has (['representations'])"
    with refuses(needs, "'hard'"):
        _ = unlabelled.labels
    with refuses(needs, "'hard'"):
        evaluation.evaluate(
            unlabelled,
            data,
            labels="hard",
            seeds=(0,),
            config=supervised.Config.for_data(data, epochs=1),
        )
    with refuses(needs, "'online'"):
        unlabelled.target("online")
    with refuses("distilled", "2 classes"):
        evaluation.evaluate(factorised_set(mean=data.mean, std=data.std), data, labels="hard")
    labelled = plain_images(
        targets=(HardLabels(torch.zeros(M, dtype=torch.int64)),), class_names=("a",)
    )
    with refuses("['hard']", "'representations'"):
        labelled.pairs()


def test_a_set_without_labels_can_be_given_some(colour: ImageData, colour_teacher: Network) -> None:
    unlabelled = factorised_set(class_names=colour.class_names, mean=colour.mean, std=colour.std)
    with refuses("['representations']", "'hard'"):
        measures.feature_distance(unlabelled, colour_teacher)
    whole = unlabelled.with_targets(
        HardLabels(colour_teacher.weights["classifier.bias"].argmax().expand(M).clone())
    )
    assert measures.feature_distance(whole, colour_teacher).isfinite().all()
    student = supervised.Config.for_data(colour, epochs=1)
    assert run_to_end(supervised, student, Inputs(distilled=whole)).provenance["complete"]


def test_an_empty_set_is_allowed() -> None:
    """What an interrupt before the first step leaves."""
    for augmentation in AUGMENTATIONS:
        none: Any = torch.zeros(views_of(augmentation) + 1, 0, D)
        target = Representations({"representations": none}, augmentation)  # type: ignore[arg-type]
        empty = plain_images(tensors={"images": torch.zeros(0, 3, 8, 8)}, targets=(target,))
        assert len(empty) == 0 and [value.shape for value in empty.pairs()] == [
            (0, 3, 8, 8),
            (0, D),
        ]


def changed(target: Representations, **tensors: Any) -> tuple[Representations]:
    return (dataclasses.replace(target, tensors=target.tensors | tensors),)


def without(target: Representations, name: str) -> tuple[Representations]:
    return (
        dataclasses.replace(target, tensors={n: v for n, v in target.tensors.items() if n != name}),
    )


T = factors()
P = plain()
IMAGES = parts()["tensors"]
BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "unknown augmentation": (
        {"targets": (Representations(T.tensors, "rotate", "networks"),)},
        ["augmentation", "'rotation'"],
    ),  # type: ignore[arg-type]
    "unknown shift": (
        {"targets": (Representations(T.tensors, "rotation", "none"),)},
        ["shift", "'same'"],
    ),  # type: ignore[arg-type]
    "tensors not a dict": ({"targets": (Representations([T]),)}, ["representations", "dict"]),  # type: ignore[arg-type]
    "nothing": (
        {"targets": (Representations({}),)},
        ["representations", "bases", "view_coefficients"],
    ),
    "a name too many": (
        {"targets": changed(T, biases=normal_floats(3, V))},
        ["representations", "biases", "'networks'"],
    ),
    "a name missing": (
        {"targets": without(T, "first_biases")},
        ["representations", "first_biases"],
    ),
    "of another shift": (
        {"targets": (dataclasses.replace(T, shift="bias"),)},
        ["representations", "biases", "'bias'"],
    ),
    "plain with a bias": (
        {"targets": (dataclasses.replace(P, shift="bias"),)},
        ["representations", "bases", "'bias'"],
    ),
    "plain and factors": (
        {"targets": changed(P, bases=normal_floats(V, D))},
        ["representations", "alone"],
    ),
    "views of another augmentation": (
        {"targets": (dataclasses.replace(P, augmentation="crop"),)},
        ["representations", "[6, 5, any]", "[4, 5, 7]"],
    ),
    "shift of other views": (
        {"targets": (dataclasses.replace(T, augmentation="crop"),)},
        ["first_weights", "[5, H, 3]"],
    ),
    "plain of one view": (
        {"targets": (dataclasses.replace(P, shift="same"),)},
        ["representations", "[1, 5, any]"],
    ),
    "other images": (
        {"targets": changed(P, representations=normal_floats(4, 6, D))},
        ["representations", "[4, 5, any]"],
    ),
    "coefficients of other images": (
        {"targets": changed(T, coefficients=normal_floats(6, V))},
        ["'coefficients'", "[5, 3]"],
    ),
    "coefficients of other bases": (
        {"targets": changed(T, coefficients=normal_floats(M, 4))},
        ["'coefficients'", "[5, 3]", "[5, 4]"],
    ),
    "mean of another width": (
        {"targets": changed(T, mean=normal_floats(6))},
        ["mean", "[7]", "[6]"],
    ),
    "of no number": (
        {"targets": changed(P, representations=normal_floats(4, M, 0))},
        ["representations", "at least one number"],
    ),
    "float64": (
        {"targets": changed(P, representations=P.values.double())},
        ["representations", "float32"],
    ),
    "not a tensor": ({"targets": changed(T, bases=[1.0])}, ["'bases'", "float32"]),
    "not finite": (
        {"targets": changed(T, coefficients=T.tensors["coefficients"] / 0)},
        ["'coefficients'", "finite"],
    ),
    "overflow": (
        {
            "targets": changed(
                T, coefficients=1e25 * normal_floats(M, V), bases=1e25 * normal_floats(V, D)
            )
        },
        ["representations that are made", "finite"],
    ),
    "twice": ({"targets": (T, P)}, ["targets", "at most one"]),
    "stored labels alone": (
        {"targets": (StoredLabels(normal_floats(M, 1)),), "class_names": ("a",)},
        ["targets", "hard labels or representations"],
    ),
    "no bases": (
        {"tensors": {"image_coefficients": normal_floats(M, U)}},
        ["tensors", "image_bases"],
    ),
    "another tensor": (
        {"tensors": IMAGES | {"mean": normal_floats(3, 4, 4)}},
        ["tensors", "image_mean", "mean"],
    ),
    "bases of another count": (
        {"tensors": IMAGES | {"image_bases": normal_floats(U + 1, 3, 4, 4)}},
        ["image_coefficients", "[any, 5]"],
    ),
    "bases flat": (
        {"tensors": IMAGES | {"image_bases": normal_floats(U, 48)}},
        ["image_bases", "[any, any, any, any]"],
    ),
    "bases of float64": (
        {"tensors": IMAGES | {"image_bases": normal_floats(U, 3, 4, 4).double()}},
        ["image_bases", "float32"],
    ),
    "bases of one channel": (
        {"tensors": IMAGES | {"image_bases": normal_floats(U, 1, 4, 4)}},
        ["images", "[any, 3, any, any]"],
    ),
    "mean of another size": (
        {"tensors": IMAGES | {"image_mean": normal_floats(3, 8, 8)}},
        ["image_mean", "[3, 4, 4]"],
    ),
    "bases without pixels": (
        {"tensors": IMAGES | {"image_bases": normal_floats(U, 3, 0, 4)}},
        ["image_bases", "pixel"],
    ),
    "images overflow": (
        {"tensors": {name: 1e25 * value for name, value in IMAGES.items()}},
        ["images", "finite"],
    ),
    "no scale": ({"settings": {}}, ["settings", "scale"]),
    "another setting": ({"settings": {"scale": 2, "filter": "bilinear"}}, ["settings", "scale"]),
    "scale of 0": ({"settings": {"scale": 0}}, ["scale", "[1, 64]", "0"]),
    "a huge scale": ({"settings": {"scale": 2**40}}, ["scale", "[1, 64]"]),
    "scale 1.5": ({"settings": {"scale": 1.5}}, ["scale", "integer"]),
    "settings not a dict": ({"settings": 2}, ["settings", "dict"]),
    "settings of plain images": (
        {"kind": "images", "tensors": {"images": normal_floats(M, 3, 8, 8)}},
        ["settings", "empty"],
    ),
    "an unknown kind": ({"kind": "factorized"}, ["kind", "nearest: 'factorised'"]),
    "names that are no text": ({"tensors": IMAGES | {3: normal_floats(2)}}, ["tensors", "by name"]),
    "not square": (
        {"tensors": IMAGES | {"image_bases": normal_floats(U, 3, 4, 5)}},
        ["images", "square"],
    ),
    "odd sides": (
        {
            "tensors": IMAGES | {"image_bases": normal_floats(U, 3, 3, 3)},
            "settings": {"scale": 1},
            "targets": (factors("jigsaw"),),
        },
        ["images", "even"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    changes, words = BAD[name]
    with refuses(*words):
        factorised_set(**changes)


def test_a_set_of_turned_images_may_be_odd_and_others_oblong() -> None:
    oblong = factorised_set(
        tensors=IMAGES | {"image_bases": normal_floats(U, 3, 2, 4)}, targets=(factors("jigsaw"),)
    )
    assert oblong.image_size == (4, 8) and len(oblong.pairs()[0]) == 4 * M


def test_foreign_descriptions_in_a_file(tmp_path: Path) -> None:
    file = factorised_set().save(tmp_path / "set")
    tensors, header = storage.load(file, "distilled set")
    wrong: list[Any] = [
        {},
        [],
        None,
        3,
        "ab",
        {"augmentation": "rotation"},
        {"augmentation": 3, "shift": "networks"},
    ]
    wrong += [
        {"augmentation": "rotation", "shift": "bias"},
        {"augmentation": "crop", "shift": "networks"},
    ]
    cases = [("representations", value) for value in wrong]
    for value in ({}, [], None, 3, {"scale": "2"}, {"scale": 0}, {"size": 2}):
        cases.append(("settings", value))
    for name, value in cases:
        storage.save(file, tensors, {**header, name: value}, "distilled set")
        with refuses("given"):
            DistilledSet.load(file)
    for lost in ("representations", "settings"):
        storage.save(file, tensors, {n: v for n, v in header.items() if n != lost}, "distilled set")
        with refuses("given"):
            DistilledSet.load(file)


def test_shift_models_and_sets_speak_of_the_same_names() -> None:
    views = shift_models.shifted(normal_floats(M, V), {}, "same", views=3)
    view_coefficients = normal_floats(3, M, V, seed=4)
    for shift in storage_budget.SHIFTS:
        fitted = shift_models.fit(views[0], view_coefficients, shift, hidden=2, steps=2)
        tensors = {"bases": normal_floats(V, D), "coefficients": views[0], **fitted}
        assert factorised_set(targets=(Representations(tensors, "rotation", shift),)).pairs()[
            1
        ].shape == (
            4 * M,
            D,
        )
