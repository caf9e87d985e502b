"""`board`: sets of a folder, the best first; what would be no fair entry is refused in its row, and
costs no other.
"""

import csv
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch

import ddlab
from ddlab import evaluation, networks
from ddlab.core import storage
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, HardLabels
from ddlab.evaluation.board import near_copies
from ddlab.lessons import assignment
from ddlab.methods import selection
from ddlab.training import supervised
from tests.support import made_data

STUDENT = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=2)
DRAW = torch.Generator().manual_seed(0)


def rows(folder: Path, data: ImageData, **options: Any) -> dict[str, Any]:
    table = evaluation.board(folder, data, config=STUDENT, seeds=(0,), progress=False, **options)
    return {row.name: row for row in table.rows}


def selected(data: ImageData, kind: str, count: int = 1) -> ddlab.DistilledSet:
    return ddlab.distill(
        "selection",
        data,
        config=selection.Config(kind=kind, images_per_class=count),
        progress=False,
    )


def copied(data: ImageData, noise: float) -> ddlab.DistilledSet:
    """A test image of each class, with noise so much smaller than the way to the next image."""
    class_rows = [(data.test_labels == label).nonzero()[0, 0] for label in range(data.classes)]
    first = torch.stack(class_rows)
    images = data.normalised(first, split="test")
    step = torch.randn(images.shape, generator=DRAW)
    return ddlab.from_images(images + noise * step, torch.arange(data.classes), data)


@pytest.mark.parametrize("kind", ["random", "herding", "k_means", "centres", "average", "k_center"])
def test_copies_are_found_and_real_images_and_means_are_none(kind: str) -> None:
    for data in (
        ddlab.data.load("digits"),
        ddlab.data.load("shapes", size=16, train=500, test=200),
    ):
        assert not near_copies(selected(data, kind, 3).images, data).any()
        assert all(
            near_copies(copied(data, noise).images, data).all() for noise in (0.0, 0.05, 0.1)
        )


def test_three_cheats_are_refused_and_the_others_ranked(tmp_path: Path, grey: ImageData) -> None:
    selected(grey, "centres").save(tmp_path / "<b>means|.safetensors")
    selected(grey, "random").save(tmp_path / "real.safetensors")
    selected(grey, "random", 2).save(tmp_path / "larger.safetensors")
    copied(grey, 0.0).save(tmp_path / "copy.safetensors")
    edited = selected(grey, "herding").save(tmp_path / "edited.safetensors")
    content = bytearray(edited.read_bytes())
    content[-1] ^= 1
    edited.write_bytes(bytes(content))
    (tmp_path / "code.py").write_text("raise SystemExit")
    row_of = rows(tmp_path, grey)
    assert list(row_of)[-3:] == ["copy", "edited", "larger"] and len(row_of) == 6
    assert "near copies of test images; given 3 of 3" in row_of["copy"].failed
    assert (
        "at most 1 images of each class" in row_of["larger"].failed
        and str(tmp_path) not in row_of["edited"].failed
    )
    scores = [row.accuracies[0] for row in row_of.values() if not row.failed]
    assert len(scores) == 3 and scores == sorted(scores, reverse=True)
    printed = str(evaluation.board(tmp_path, grey, config=STUDENT, seeds=(0,), progress=False))
    assert "&lt;b&gt;means\\|" in printed and "<b>" not in printed


def test_sets_of_other_data_and_an_empty_board(tmp_path: Path, grey: ImageData) -> None:
    selected(made_data(channels=3), "random").save(tmp_path / "other.safetensors")
    (row,) = rows(tmp_path, grey).values()
    assert "like the data" in row.failed
    with pytest.raises(ddlab.DDLabError, match=r"folder must be a folder with at least one file"):
        rows(tmp_path / "none", grey)


def test_a_whole_class_plays(tmp_path: Path) -> None:
    """Five students by the assignment's own lines, in a folder each; then a copy, test images, an
    edited file, and nothing.
    """
    data = ddlab.data.load("digits")
    entries = {}
    for number in range(5):
        student = assignment.start(f"s{number}")
        order = torch.randperm(
            len(student.data), generator=torch.Generator().manual_seed(student.seed)
        )
        train_rows = order[: len(order) // 2]
        validation_rows = order[len(order) // 2 :]
        practice = replace(
            student.data,
            train_images=student.data.train_images[train_rows],
            train_labels=student.data.train_labels[train_rows],
            test_images=student.data.train_images[validation_rows],
            test_labels=student.data.train_labels[validation_rows],
        )
        entries[f"Student {number}_assignsubmission_file"] = selected(practice, "average")
    entries["copyist"] = entries["Student 3_assignsubmission_file"]
    entries["cheat"] = copied(data, 0.0)
    entries["larger"] = selected(data, "random", 2)
    for name, distilled in entries.items():
        (tmp_path / name).mkdir()
        distilled.save(tmp_path / name / "entry.SafeTensors")
        (tmp_path / name / "._entry.safetensors").write_bytes(b"of macOS")
    edited = tmp_path / "edited" / "entry.safetensors"
    edited.parent.mkdir()
    content = bytearray(selected(data, "herding").save(edited).read_bytes())
    content[-1] ^= 1
    edited.write_bytes(bytes(content))
    (tmp_path / "empty").mkdir()
    (tmp_path / "__MACOSX").mkdir()
    row_of = rows(tmp_path, data)
    ranked = [name for name, row in row_of.items() if not row.failed]
    assert len(ranked) == 7
    for number in range(5):
        assert any(name.startswith(f"Student {number}") for name in ranked), number
    original = "Student 3_assignsubmission_file"
    assert row_of["copyist"].note == f"the same set as {original}"
    assert row_of["copyist"].accuracies == row_of[original].accuracies
    refused = {name: row.failed for name, row in row_of.items() if row.failed}
    assert sorted(refused) == ["cheat", "edited", "empty", "larger"]
    assert "near copies of test images; given 10 of 10" in refused["cheat"]
    assert "given 2 of 0, 2 of 1" in refused["larger"] and "entry.SafeTensors" in refused["larger"]
    assert "empty must hold a file" in refused["empty"] and "as it was saved" in refused["edited"]


def test_several_files_of_one_student_are_rows_of_their_own(
    tmp_path: Path, grey: ImageData
) -> None:
    (tmp_path / "ann").mkdir()
    for kind in ("random", "average"):
        selected(grey, kind).save(tmp_path / "ann" / f"{kind}.safetensors")
    assert {"ann/random", "ann/average"} <= set(rows(tmp_path, grey))


def test_a_file_and_a_folder_of_one_name_are_two_rows(tmp_path: Path, grey: ImageData) -> None:
    (tmp_path / "ann").mkdir()
    places = ["ann.safetensors", "ann/mine.safetensors", "Ann.SAFETENSORS"]
    for place, kind in zip(places, ("random", "average", "herding"), strict=True):
        selected(grey, kind).save(tmp_path / place)
    assert {"ann.safetensors", "ann/mine.safetensors", "Ann"} <= set(rows(tmp_path, grey))


def test_folders_of_nbgrader_and_names_of_any_kind_are_read(
    tmp_path: Path, grey: ImageData
) -> None:
    names = ["ann", "random real images", "__bob", "random"]
    for name in names:
        folder = tmp_path / name / "enter_the_arena"
        (folder / ".ipynb_checkpoints").mkdir(parents=True)
        for place in (folder, folder / ".ipynb_checkpoints"):
            selected(grey, "average").save(place / "entry.safetensors")
    no_text = Path(os.fsdecode(os.fsencode(tmp_path) + b"/M\x81ller"))
    no_text.mkdir()
    selected(grey, "random").save(no_text / "entry.safetensors")
    assert {*names, "M\ufffdller"} <= set(rows(tmp_path, grey))


def test_only_equal_images_with_equal_labels_are_the_same(tmp_path: Path, grey: ImageData) -> None:
    first = selected(grey, "average")
    turned = first.with_targets(HardLabels(first.labels.flip(0)))
    for name, distilled in {"a": first, "b": turned, "c": replace(first, complete=False)}.items():
        distilled.save(tmp_path / f"{name}.safetensors")
    notes = {name: row.note for name, row in rows(tmp_path, grey).items()}
    assert notes["a"] == notes["b"] == "" and notes["c"] == "the same set as a, not complete"


def test_a_file_is_not_read_that_is_too_large_or_not_ours(tmp_path: Path, grey: ImageData) -> None:
    selected(grey, "average").save(tmp_path / "ours.safetensors")
    for name, kind in {"large": "distilled set", "theirs": "network"}.items():
        storage.save(tmp_path / f"{name}.safetensors", {"x": torch.zeros(1)}, {}, kind)
        with (tmp_path / f"{name}.safetensors").open("ab") as file:
            file.truncate(2**25)
    with patch.object(DistilledSet, "load", side_effect=DistilledSet.load) as load:
        row_of = rows(tmp_path, grey)
    assert load.call_count == 1
    for name in ("large", "theirs"):
        assert "bytes; given 33,554,432" in row_of[name].failed


def test_the_file_for_a_gradebook_has_everybody_and_no_formula(
    tmp_path: Path, grey: ImageData
) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    for name in ("=1+2", "+49 5", "@sum(a1)", "\t=1", "ann"):
        selected(grey, "average").save(folder / f"{name}.safetensors")
    (folder / "bo.safetensors").write_bytes(b"not a set")
    (folder / "emil").mkdir()
    table = evaluation.board(folder, grey, config=STUDENT, seeds=(0, 1), progress=False)
    with table.to_csv(tmp_path / "grades.csv").open(newline="") as file:
        records = list(csv.DictReader(file))
    students = {record["method"].lstrip("'") for record in records}
    assert students == {row.name for row in table.rows}
    assert not any(record["method"].strip()[0] in "=+-@" for record in records)
    reasons = {record["method"]: record["note"] for record in records if not record["seed"]}
    assert "another format" in reasons["bo"] and "must hold a file" in reasons["emil"]
