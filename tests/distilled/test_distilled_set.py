"""DistilledSet: validated, saved, counted."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from ddlab.core import storage
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, HardLabels, OnlineTeacher, StoredLabels
from ddlab.networks import Network
from tests.support import assert_same, refuses

N = 6
CLASSES = 3
SHAPE = (1, 8, 8)


def parts(**changes: Any) -> dict[str, Any]:
    """A whole set's arguments, some of them changed."""
    draw = torch.Generator().manual_seed(0)
    whole = {
        "tensors": {"images": torch.randn((N, *SHAPE), generator=draw)},
        "targets": (
            HardLabels(torch.tensor([0, 0, 1, 1, 2, 2])),
            StoredLabels(torch.randn((N, CLASSES), generator=draw)),
        ),
        "class_names": ("a", "b", "ü"),
        "mean": torch.tensor([0.5]),
        "std": torch.tensor([0.25]),
        "provenance": {"method": "x", "nested": {"list": [1, None, 0.1]}},
    }
    return whole | changes


def small_set(**changes: Any) -> DistilledSet:
    return DistilledSet(**parts(**changes))


def test_properties() -> None:
    distilled = small_set()
    assert (len(distilled), distilled.classes, distilled.channels, distilled.image_size) == (
        N,
        CLASSES,
        1,
        (8, 8),
    )
    assert (
        distilled.complete
        and distilled.images is distilled.tensors["images"]
        and distilled.labels.tolist() == [0, 0, 1, 1, 2, 2]
    )
    dataset = distilled.as_dataset()
    assert (
        len(dataset) == N
        and torch.equal(dataset[3][0], distilled.images[3])
        and int(dataset[3][1]) == 1
    )
    pixels = ((distilled.images * 0.25 + 0.5) * 255).round().clamp(0, 255).to(torch.uint8)
    assert torch.equal(distilled.to_uint8(), pixels)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("kinds", [1, 2, 3])
def test_round_trip(complete: bool, kinds: int, tmp_path: Path) -> None:
    targets = (*parts()["targets"], OnlineTeacher("0123456789abcdef"))[:kinds]
    saved = small_set(complete=complete, targets=targets)
    loaded = DistilledSet.load(saved.save(tmp_path / "set"))
    assert_same(loaded, saved)
    assert loaded.fingerprint == saved.fingerprint


def test_round_trip_of_several_teachers(tmp_path: Path) -> None:
    saved = small_set(targets=(HARD, OnlineTeacher("a", ("b", "c"))))
    loaded = DistilledSet.load(saved.save(tmp_path / "set"))
    assert_same(loaded, saved)
    assert (
        loaded.target("online").fingerprints == ("a", "b", "c")
        and loaded.fingerprint == saved.fingerprint
    )


def test_the_order_in_which_labels_were_added_is_no_part_of_a_set(tmp_path: Path) -> None:
    distilled = small_set(targets=(HARD, OnlineTeacher("a"))).with_targets(STORED)
    assert [target.kind for target in distilled.targets] == ["hard", "online", "stored"]
    assert DistilledSet.load(distilled.save(tmp_path / "set")).fingerprint == distilled.fingerprint


def test_round_trip_of_a_real_set(distilled: DistilledSet, tmp_path: Path) -> None:
    assert_same(DistilledSet.load(distilled.save(tmp_path / "set")), distilled)


def test_storage_convention(teacher: Network) -> None:
    """Every stored tensor and every target counts; a class label is one float, an online teacher
    none.
    """
    images = N * math.prod(SHAPE)
    hard, stored = parts()["targets"]
    assert small_set(targets=(hard,)).storage_floats() == images + N
    assert small_set(targets=(hard, stored)).storage_floats() == images + N + N * CLASSES
    whole = small_set(targets=(hard, stored, OnlineTeacher("x")))
    assert whole.storage_floats() == images + N + N * CLASSES
    assert [whole.storage_floats(labels) - images for labels in ("hard", "stored", "online")] == [
        N,
        N * CLASSES,
        0,
    ]
    assert whole.storage_floats("hard", teacher) - images == N
    assert whole.storage_floats("online", teacher) - images == sum(
        weight.numel() for weight in teacher.weights.values()
    )


def test_targets(distilled: DistilledSet, teacher: Network) -> None:
    assert torch.equal(distilled.target("hard").classes, distilled.labels)
    assert distilled.target("online").fingerprint == teacher.fingerprint
    replaced = distilled.with_targets(StoredLabels(torch.zeros(6, 3)))
    assert [target.kind for target in replaced.targets] == ["hard", "online", "stored"]
    assert torch.equal(replaced.target("stored").logits, torch.zeros(6, 3))
    assert not torch.equal(distilled.target("stored").logits, torch.zeros(6, 3))
    with refuses("labels", "one of 'hard', 'stored', 'online'", "'soft'"):
        distilled.target("soft")
    with refuses("labels", "['hard']", "'stored'"):
        small_set(targets=parts()["targets"][:1]).target("stored")


def test_probabilities_in_the_place_of_logits_are_named(distilled: DistilledSet) -> None:
    probabilities = torch.rand(6, 3).softmax(1)
    with pytest.warns(UserWarning, match="look like probabilities"):
        distilled.with_targets(StoredLabels(probabilities))
    distilled.with_targets(StoredLabels(probabilities.log()))
    distilled.with_targets(StoredLabels(probabilities * 1.1))


def test_fingerprint_sees_every_part() -> None:
    base = small_set()
    edited_sets = [
        small_set(tensors={"images": base.images + 1}),
        small_set(targets=(HardLabels(torch.tensor([0, 0, 1, 1, 2, 1])), base.target("stored"))),
        small_set(targets=(base.target("hard"), StoredLabels(base.target("stored").logits + 1))),
        small_set(targets=(base.target("hard"),)),
        small_set(targets=(*base.targets, OnlineTeacher("x"))),
        small_set(targets=(*base.targets, OnlineTeacher("y"))),
        small_set(targets=(*base.targets, OnlineTeacher("x", ("y",)))),
        small_set(class_names=("a", "b", "c")),
        small_set(mean=torch.tensor([0.4])),
        small_set(std=torch.tensor([0.3])),
    ]
    assert (
        len({distilled.fingerprint for distilled in (base, *edited_sets)}) == len(edited_sets) + 1
    )
    assert small_set().fingerprint == base.fingerprint == small_set(provenance={}).fingerprint


def test_an_empty_set_is_allowed() -> None:
    """What an interrupt before the first step leaves."""
    empty = small_set(
        tensors={"images": torch.zeros(0, *SHAPE)},
        targets=(HardLabels(torch.zeros(0, dtype=torch.int64)),),
    )
    assert len(empty) == 0 and empty.storage_floats() == 0 and empty.to_uint8().shape == (0, *SHAPE)


HARD, STORED = parts()["targets"]
IMAGES = parts()["tensors"]["images"]
BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "kind": ({"kind": "image"}, ["kind", "nearest: 'images'"]),
    "no tensors": ({"tensors": {}}, ["images"]),
    "tensors not a dict": ({"tensors": IMAGES}, ["tensors"]),
    "images of another dtype": ({"tensors": {"images": IMAGES.double()}}, ["images", "float32"]),
    "images flat": ({"tensors": {"images": IMAGES.flatten(1)}}, ["images", "[any, 1, any, any]"]),
    "images of other channels": (
        {"tensors": {"images": IMAGES.expand(-1, 3, -1, -1)}},
        ["images", "[any, 1, any, any]"],
    ),
    "images not finite": ({"tensors": {"images": IMAGES / 0}}, ["images", "finite"]),
    "no targets": ({"targets": ()}, ["targets", "hard"]),
    "targets not targets": ({"targets": ("hard",)}, ["targets"]),
    "one target, no tuple": ({"targets": HARD}, ["targets"]),
    "stored alone": ({"targets": (STORED,)}, ["targets", "hard"]),
    "twice": ({"targets": (HARD, HARD)}, ["targets", "at most one"]),
    "too few labels": ({"targets": (HardLabels(HARD.classes[:5]),)}, ["hard labels", "[6]"]),
    "labels of floats": (
        {"targets": (HardLabels(HARD.classes.float()),)},
        ["hard labels", "int64"],
    ),
    "label too high": ({"targets": (HardLabels(HARD.classes + 1),)}, ["hard labels", "0 to 2"]),
    "label below 0": ({"targets": (HardLabels(HARD.classes - 1),)}, ["hard labels", "0 to 2"]),
    "stored of another shape": (
        {"targets": (HARD, StoredLabels(STORED.logits[:, :2]))},
        ["stored labels", "[6, 3]"],
    ),
    "stored not finite": (
        {"targets": (HARD, StoredLabels(STORED.logits / 0))},
        ["stored labels", "finite"],
    ),
    "stored of integers": (
        {"targets": (HARD, StoredLabels(STORED.logits.long()))},
        ["stored labels", "float32"],
    ),
    "teachers not a tuple": (
        {"targets": (HARD, OnlineTeacher("a", "b"))},
        ["online teachers", "fingerprints"],
    ),  # type: ignore[arg-type]
    "teachers not texts": (
        {"targets": (HARD, OnlineTeacher("a", (3,)))},
        ["online teachers", "fingerprints"],
    ),  # type: ignore[arg-type]
    "std of another shape": ({"std": torch.ones(2)}, ["std", "[1]"]),
    "std zero": ({"std": torch.zeros(1)}, ["std", "above 0"]),
    "class names one string": ({"class_names": "abc"}, ["class_names"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    changes, words = BAD[name]
    with refuses(*words):
        small_set(**changes)


def test_foreign_files(tmp_path: Path, teacher: Network, distilled: DistilledSet) -> None:
    with refuses("path", "ddlab distilled set file", "holds network"):
        DistilledSet.load(teacher.save(tmp_path / "network"))
    with refuses("path", "existing"):
        DistilledSet.load(tmp_path / "none")
    file = distilled.save(tmp_path / "set")
    tensors, header = storage.load(file, "distilled set")
    for lost in ("targets/hard", "mean", "tensors/images"):
        storage.save(file, {n: v for n, v in tensors.items() if n != lost}, header, "distilled set")
        with refuses(lost.rpartition("/")[2]):
            DistilledSet.load(file)
    for online in ({}, [], None, 3, [3]):
        storage.save(file, tensors, {**header, "online": online}, "distilled set")
        with refuses("given"):
            DistilledSet.load(file)
    for lost in ("class_names", "set_kind", "complete", "provenance"):
        storage.save(file, tensors, {n: v for n, v in header.items() if n != lost}, "distilled set")
        with refuses("path", lost):
            DistilledSet.load(file)


def test_provenance_of_other_types_is_refused(tmp_path: Path) -> None:
    with refuses("provenance", "JSON"):
        small_set(provenance={"when": object()}).save(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_sets_are_frozen(grey: ImageData, distilled: DistilledSet) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        distilled.complete = False  # type: ignore[misc]
