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


def made(**changes: Any) -> DistilledSet:
    return DistilledSet(**parts(**changes))


def test_properties() -> None:
    found = made()
    assert (len(found), found.classes, found.channels, found.image_size) == (N, CLASSES, 1, (8, 8))
    assert (
        found.complete
        and found.images is found.tensors["images"]
        and found.labels.tolist() == [0, 0, 1, 1, 2, 2]
    )
    dataset = found.as_dataset()
    assert (
        len(dataset) == N
        and torch.equal(dataset[3][0], found.images[3])
        and int(dataset[3][1]) == 1
    )
    pixels = ((found.images * 0.25 + 0.5) * 255).round().clamp(0, 255).to(torch.uint8)
    assert torch.equal(found.to_uint8(), pixels)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("kinds", [1, 2, 3])
def test_round_trip(complete: bool, kinds: int, tmp_path: Path) -> None:
    targets = (*parts()["targets"], OnlineTeacher("0123456789abcdef"))[:kinds]
    one = made(complete=complete, targets=targets)
    other = DistilledSet.load(one.save(tmp_path / "set"))
    assert_same(other, one)
    assert other.fingerprint == one.fingerprint


def test_round_trip_of_several_teachers(tmp_path: Path) -> None:
    one = made(targets=(HARD, OnlineTeacher("a", ("b", "c"))))
    other = DistilledSet.load(one.save(tmp_path / "set"))
    assert_same(other, one)
    assert (
        other.target("online").fingerprints == ("a", "b", "c")
        and other.fingerprint == one.fingerprint
    )


def test_the_order_in_which_labels_were_added_is_no_part_of_a_set(tmp_path: Path) -> None:
    one = made(targets=(HARD, OnlineTeacher("a"))).with_targets(STORED)
    assert [target.kind for target in one.targets] == ["hard", "online", "stored"]
    assert DistilledSet.load(one.save(tmp_path / "set")).fingerprint == one.fingerprint


def test_round_trip_of_a_real_set(distilled: DistilledSet, tmp_path: Path) -> None:
    assert_same(DistilledSet.load(distilled.save(tmp_path / "set")), distilled)


def test_storage_convention(teacher: Network) -> None:
    """Every stored tensor and every target counts; a class number is one float, an online teacher
    none.
    """
    images = N * math.prod(SHAPE)
    hard, stored = parts()["targets"]
    assert made(targets=(hard,)).storage_floats() == images + N
    assert made(targets=(hard, stored)).storage_floats() == images + N + N * CLASSES
    whole = made(targets=(hard, stored, OnlineTeacher("x")))
    assert whole.storage_floats() == images + N + N * CLASSES
    assert [whole.storage_floats(labels) - images for labels in ("hard", "stored", "online")] == [
        N,
        N * CLASSES,
        0,
    ]
    assert whole.storage_floats("hard", teacher) - images == N
    assert whole.storage_floats("online", teacher) - images == sum(
        each.numel() for each in teacher.weights.values()
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
        made(targets=parts()["targets"][:1]).target("stored")


def test_fingerprint_sees_every_part() -> None:
    base = made()
    others = [
        made(tensors={"images": base.images + 1}),
        made(targets=(HardLabels(torch.tensor([0, 0, 1, 1, 2, 1])), base.target("stored"))),
        made(targets=(base.target("hard"), StoredLabels(base.target("stored").logits + 1))),
        made(targets=(base.target("hard"),)),
        made(targets=(*base.targets, OnlineTeacher("x"))),
        made(targets=(*base.targets, OnlineTeacher("y"))),
        made(targets=(*base.targets, OnlineTeacher("x", ("y",)))),
        made(class_names=("a", "b", "c")),
        made(mean=torch.tensor([0.4])),
        made(std=torch.tensor([0.3])),
    ]
    assert len({found.fingerprint for found in (base, *others)}) == len(others) + 1
    assert made().fingerprint == base.fingerprint == made(provenance={}).fingerprint


def test_an_empty_set_is_allowed() -> None:
    """What an interrupt before the first step leaves."""
    empty = made(
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
        made(**changes)


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
    for other in ({}, [], None, 3, [3]):
        storage.save(file, tensors, {**header, "online": other}, "distilled set")
        with refuses("given"):
            DistilledSet.load(file)
    for lost in ("class_names", "set_kind", "complete", "provenance"):
        storage.save(file, tensors, {n: v for n, v in header.items() if n != lost}, "distilled set")
        with refuses("path", lost):
            DistilledSet.load(file)


def test_provenance_of_other_types_is_refused(tmp_path: Path) -> None:
    with refuses("provenance", "JSON"):
        made(provenance={"when": object()}).save(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_sets_are_frozen(grey: ImageData, distilled: DistilledSet) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        distilled.complete = False  # type: ignore[misc]
