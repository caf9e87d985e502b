"""A distilled set for other programs: folders and PyTorch datasets."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms.functional import pil_to_tensor

from ddlab import data
from ddlab.data.images import normalise
from ddlab.distilled import DistilledSet, HardLabels, Representations, StoredLabels, export
from tests.support import refuses

NAMES = ("cat", "dog", "fox")


def labelled_set(
    names: tuple[str, ...] = NAMES, channels: int = 3, per_class: int = 2, stored: bool = True
) -> DistilledSet:
    draw = torch.Generator().manual_seed(0)
    count = per_class * len(names)
    labels = torch.arange(count) % len(names)
    targets: list[Any] = [HardLabels(labels)]
    targets += [StoredLabels(torch.randn((count, len(names)), generator=draw))] * stored
    return DistilledSet(
        tensors={"images": torch.randn((count, channels, 8, 8), generator=draw)},
        targets=tuple(targets),
        class_names=names,
        mean=torch.full((channels,), 0.5),
        std=torch.full((channels,), 0.25),
    )


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("stored", [True, False])
def test_a_folder_comes_back(channels: int, stored: bool, tmp_path: Path) -> None:
    exported = labelled_set(channels=channels, stored=stored)
    path = exported.export_folder(str(tmp_path / "new" / "set"))
    assert sorted(os.listdir(path)) == ["cat", "dog", "fox", "labels.json"]
    assert os.listdir(path.parent) == ["set"]  # nothing temporary stays
    table = json.loads((path / "labels.json").read_text())
    assert [row["label"] for row in table["images"]] == exported.labels.tolist() and table[
        "mean"
    ] == exported.mean.tolist()
    for row, pixels in zip(table["images"], exported.to_uint8(), strict=True):
        assert (path / row["file"]).is_file() and NAMES[row["label"]] == Path(
            row["file"]
        ).parent.name
        assert torch.equal(pil_to_tensor(Image.open(path / row["file"])), pixels)
        assert ("logits" in row) == stored
    if stored:
        logits = torch.tensor([row["logits"] for row in table["images"]])
        assert torch.equal(logits, exported.target("stored").logits)
    loaded = data.load("folder", path)
    assert (
        loaded.class_names == NAMES
        and loaded.channels == channels
        and len(loaded.train_labels) == 3
    )
    theirs = ImageFolder(str(path))
    assert theirs.classes == list(NAMES) and sorted(theirs.targets) == sorted(
        exported.labels.tolist()
    )
    with refuses("path", "nothing is yet", "exists"):
        exported.export_folder(path)


@pytest.mark.filterwarnings("ignore:.*look alike:UserWarning")
@pytest.mark.parametrize(
    "names",
    [
        ("dog", "cat"),
        ("a", "A"),
        ("../x", "/etc"),
        ("..", "."),
        ("", " "),
        ("a/b", "a_b"),
        ("train", "test"),
        ("<!--<script>", "a\nb\0"),
        ("x" * 300, "x" * 301),
        ("\udcff", "__a"),
        tuple(map(str, range(12))),
    ],
)
def test_class_names_become_folders(names: tuple[str, ...], tmp_path: Path) -> None:
    exported = labelled_set(names)
    path = exported.export_folder(tmp_path / "set")
    assert os.listdir(tmp_path) == ["set"]
    loaded = data.load("folder", path, test_fraction=0.5)
    assert (
        torch.equal(loaded.train_labels, torch.arange(len(names))) and loaded.class_names == names
    )
    assert [
        row["name"] for row in json.loads((path / "labels.json").read_text())["classes"]
    ] == list(names)
    assert ImageFolder(str(path)).classes == export.folder_names(names)
    assert DistilledSet.from_folder(path).class_names == names


@pytest.mark.parametrize("size", [(8, 8), (12, 20), (7, 3), (1, 1)])
@pytest.mark.parametrize(("channels", "stored"), [(1, True), (3, False)])
def test_a_set_of_any_size_comes_back(
    size: tuple[int, int], channels: int, stored: bool, tmp_path: Path
) -> None:
    exported = labelled_set(("fox", "cat", "2", "10"), channels, stored=stored)
    draw = torch.Generator().manual_seed(1)
    pixels = torch.randint(
        0, 256, (len(exported), channels, *size), generator=draw, dtype=torch.uint8
    )
    images = normalise(pixels, exported.mean, exported.std)
    exported = dataclasses.replace(
        exported, tensors={"images": images}, complete=False, provenance={"method": "mine"}
    )
    back = DistilledSet.from_folder(exported.export_folder(tmp_path / "set"))
    assert (
        back.fingerprint == exported.fingerprint
        and back.provenance == exported.provenance
        and not back.complete
    )
    loaded = data.load("folder", tmp_path / "set", split=False)
    assert loaded.class_names == exported.class_names and loaded.image_size == size
    assert torch.equal(loaded.train_images, pixels[folder_order(exported)])


def folder_order(exported: DistilledSet) -> torch.Tensor:
    """The reader goes through the classes, each by the names of its files."""
    return exported.labels.argsort(stable=True)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda table: None, ["export_folder", "cannot be read"]),
        (lambda table: "[1", ["export_folder", "delimiter"]),
        (lambda table: {**table, "mean": None}, ["whole distilled set"]),
        (lambda table: {"classes": table["classes"]}, ["'mean'"]),
        (
            lambda table: {**table, "images": [{"file": "../elsewhere.png", "label": 0}]},
            ["lie in its folder", "elsewhere"],
        ),
        (lambda table: {**table, "images": [{"file": "cat/none.png", "label": 0}]}, ["none.png"]),
        (
            lambda table: {**table, "images": [{**row, "label": 9} for row in table["images"]]},
            ["whole distilled set"],
        ),
        (lambda table: {**table, "images": []}, ["whole distilled set"]),
        (lambda table: {**table, "classes": "cat"}, ["whole distilled set"]),
    ],
)
def test_a_spoilt_table_is_said(spoil: Any, words: list[str], tmp_path: Path) -> None:
    path = labelled_set().export_folder(tmp_path / "set")
    Image.new("RGB", (8, 8)).save(tmp_path / "elsewhere.png")
    table = spoil(json.loads((path / "labels.json").read_text()))
    (path / "labels.json").unlink()
    if table is not None:
        (path / "labels.json").write_text(table if isinstance(table, str) else json.dumps(table))
    with refuses("path" if "elsewhere" not in words else "labels.json", *words):
        DistilledSet.from_folder(path)


def test_nothing_is_replaced_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = labelled_set()
    linked_folder = tmp_path / "kept"
    linked_folder.mkdir()
    (tmp_path / "link").symlink_to(linked_folder)
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    (tmp_path / "file").touch()
    for place in ("link", "nowhere", "file", "kept"):
        with refuses("path", "nothing is yet", place):
            exported.export_folder(tmp_path / place)
    with refuses("path", "written to", "file"):
        exported.export_folder(tmp_path / "file" / "inside")
    rename = os.rename

    def late(source: Any, target: Any) -> None:
        os.symlink(linked_folder, target)  # somebody else came first
        rename(source, target)

    monkeypatch.setattr(os, "rename", late)
    with refuses("path", "written to"):
        exported.export_folder(tmp_path / "late")
    assert sorted(os.listdir(tmp_path)) == [
        "file",
        "kept",
        "late",
        "link",
        "nowhere",
    ] and not os.listdir(linked_folder)


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    with refuses("1 or 3 channels", "2"):
        labelled_set(channels=2).export_folder(tmp_path / "set")
    blind = DistilledSet(
        tensors={"images": torch.zeros(2, 1, 8, 8)},
        targets=(Representations({"representations": torch.zeros(1, 2, 4)}, "none", "same"),),
        class_names=(),
        mean=torch.zeros(1),
        std=torch.ones(1),
    )
    with refuses("labels", "hard"):
        blind.export_folder(tmp_path / "set")
    with refuses("path"):
        labelled_set().export_folder("a\0b")
    assert not os.listdir(tmp_path)


def test_pairs_for_a_training_loop() -> None:
    distilled = labelled_set()
    stored = distilled.target("stored").logits
    for dataset, expected in (
        (distilled.as_dataset("hard"), distilled.labels),
        (distilled.as_dataset("stored"), stored),
    ):
        images, targets = dataset.tensors
        assert torch.equal(images, distilled.images) and torch.equal(targets, expected)
    with refuses("labels", "['hard']", "'stored'"):
        labelled_set(stored=False).as_dataset("stored")
    with refuses("labels", "one of 'hard', 'stored'"):
        distilled.as_dataset("soft")  # type: ignore[arg-type]
