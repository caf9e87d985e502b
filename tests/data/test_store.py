"""Images on disk instead of in memory: the same bits, made once and whole, and never more than is asked for."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from PIL import Image

from ddlab import data, methods, networks
from ddlab.core import memory, storage
from ddlab.data import ImageData, _store, folder
from ddlab.data.images import content
from ddlab.methods import rded, sre2l
from ddlab.methods.distillation import distill, train_teacher
from ddlab.training import supervised
from tests.support import assert_same, refuses

CLASSES, COUNT = ("bird", "cat", "dog"), 12


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    draws = np.random.default_rng(0)
    for name in CLASSES:
        for number in range(COUNT):
            file = tmp_path / "photos" / name / f"{number}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(draws.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(file)
    return tmp_path / "photos"


def load(tree: Path, store: Path | str | None = None, **options: Any) -> ImageData:
    return data.load("folder", tree, store=store, **{"size": 8, "channels": 3, **options})


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose pixels were read."""
    read, files = folder._opened, []
    monkeypatch.setattr(folder, "_opened", lambda file, use: files.append(file) or read(file, use))
    monkeypatch.setattr(folder, "_TOGETHER", 5)
    return files


def test_a_store_is_what_memory_would_hold_and_made_once(tree: Path, opened: list[str]) -> None:
    file, plain = tree.parent / "new" / "photos.safetensors", load(tree)
    stored, again = load(tree, file), load(tree, file)
    assert len(opened) == 2 * len(CLASSES) * COUNT
    for found in (stored, again):
        assert_same(plain, found)
        assert found.fingerprint == plain.fingerprint == storage.fingerprint(*content(found))
        assert torch.equal(found.normalised([5, 3], "test"), plain.normalised([5, 3], "test"))
    assert os.listdir(file.parent) == [file.name]
    written = safetensors.torch.load_file(file)  # by the format's own reader
    assert all(torch.equal(written[name], getattr(plain, name)) for name in ("train_images", "test_labels", "mean"))


def test_the_fingerprint_is_not_computed_again_and_sees_an_edit(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tree.parent / "photos.safetensors"
    load(tree, file)
    stored, before = load(tree, file), file.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(storage, "_feed", lambda *given: pytest.fail("all images were read"))
        known = stored.fingerprint
    stored.train_images[0, 0, 0, 0] ^= 255
    assert stored.fingerprint != known and file.read_bytes() == before


def test_training_and_methods_find_the_same_bits(tree: Path) -> None:
    network = networks.spec("convnet", width=4)
    made = []
    for store in (None, tree.parent / "photos.safetensors"):
        images = load(tree, store)
        teacher = train_teacher(
            images, supervised.SMALL.replace(epochs=1, network=network), device="cpu", progress=False
        )
        sets = [
            distill(module, images, teacher, module.SMALL.replace(**changes), "cpu", progress=False)
            for module, changes in ((sre2l, {"iterations": 3}), (rded, {}), (methods.get("selection"), {}))
        ]
        made.append([teacher.weights, *(each.images for each in sets), *(each.fingerprint for each in sets)])
    assert_same(*made)


def test_what_is_said_of_the_files_is_said_again(tree: Path) -> None:
    Image.fromarray(np.zeros((8, 8), dtype=np.uint8)).save(tree / "cat" / "grey.png")
    frames = [Image.new("RGB", (8, 8), (value, 0, 0)) for value in (0, 99)]
    frames[0].save(tree / "dog" / "moves.gif", save_all=True, append_images=frames[1:])
    said = []
    for store in (None, *[tree.parent / "photos.safetensors"] * 2):
        with pytest.warns(UserWarning, match="1 animations .*moves.gif") as told:
            load(tree, store)
        said.append(str(told[0].message))
    assert len(set(said)) == 1


@pytest.mark.parametrize("how", [KeyboardInterrupt, OSError(errno.EIO, "Input/output error")])
def test_what_was_interrupted_goes_on(
    tree: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch, how: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file, write, writes = tree.parent / "photos.safetensors", _store._write, []

    def failing(stream: Any, place: int, content: Any) -> None:
        writes.append(place)
        if len(writes) == 3 + 8:  # header and labels, eight images
            raise how
        write(stream, place, content)

    with monkeypatch.context() as patch:
        patch.setattr(_store, "_write", failing)
        with pytest.raises(KeyboardInterrupt) if how is KeyboardInterrupt else refuses("store", "Input/output"):
            load(tree, file)
    said = "interrupted after image 5 of 36; the next load goes on from there"
    assert (said in capsys.readouterr().out) == (how is KeyboardInterrupt)
    assert not file.exists() and len(os.listdir(tree.parent)) == 2
    opened.clear()
    found = load(tree, file, progress=False)
    assert len(opened) == 36 - 5 and os.listdir(tree.parent).count(file.name) == 1 and len(os.listdir(tree.parent)) == 2
    assert_same(found, load(tree))


def test_a_broken_image_leaves_no_store(tree: Path) -> None:
    (tree / "cat" / "3.png").write_bytes(b"no image")
    with refuses("path must hold readable images", "3.png"):
        load(tree, tree.parent / "photos.safetensors")
    assert not (tree.parent / "photos.safetensors").exists()


def _add(tree: Path, file: Path) -> None:
    Image.new("RGB", (8, 8)).save(tree / "cat" / "new.png")


def _edit(tree: Path, file: Path) -> None:
    Image.new("RGB", (8, 8), (1, 2, 3)).save(tree / "cat" / "0.png")


def _new_class(tree: Path, file: Path) -> None:
    (tree / "fox").mkdir()
    for number in range(2):
        Image.new("RGB", (8, 8)).save(tree / "fox" / f"{number}.png")


def _cut(tree: Path, file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


@pytest.mark.parametrize(
    ("change", "why"), [(_add, "changed"), (_edit, "changed"), (_new_class, "changed"), (_cut, "short")]
)
def test_a_store_that_is_no_longer_right_is_made_anew(tree: Path, change: Callable[..., None], why: str) -> None:
    file = tree.parent / "photos.safetensors"
    before = load(tree, file)
    pixels = before.train_images.clone()
    change(tree, file)
    with pytest.warns(UserWarning, match=f"made anew.*{why}") as told:
        found = load(tree, file)
    assert told[0].filename == __file__
    assert_same(found, load(tree))
    assert_same(load(tree, file), found)  # without a word
    if change is not _cut:
        assert torch.equal(before.train_images, pixels), "the file that is mapped was written to"


def test_what_is_not_ours_stays(tree: Path, tmp_path: Path) -> None:
    file = tmp_path / "photos.safetensors"
    load(tree, file)
    before = file.read_bytes()
    with refuses("store must be a new file, or the store of this folder", "size 8"):
        load(tree, file, size=9)
    with refuses("store", "seed 0"):
        load(tree, file, seed=1)
    other = tmp_path / "other"
    os.rename(tree, other)
    load(other, tmp_path / "another.safetensors")
    with refuses("store", "folder", "photos"):
        load(other, file)
    assert file.read_bytes() == before
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for text in (b"", b"notes of mine", b"\xff" * 64, storage_file(tmp_path).read_bytes()):
        mine = tmp_path / "mine"
        mine.write_bytes(text)
        with refuses("store must be a new file, or a store"):
            load(other, mine)
        assert mine.read_bytes() == text
    for place in (fifo, "/dev/null"):
        with refuses("store"):
            load(other, place)


def storage_file(folder: Path) -> Path:
    return storage.save(folder / "set.safetensors", {"a": torch.ones(2)}, {}, "network")


def test_places_where_nothing_can_be_written(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (tree / "cat" / "0.png" / "store", "/proc/store", "/dev/full/store"):
        with refuses("store must be a file that can be written"):
            load(tree, place)
    monkeypatch.setattr(_store.shutil, "disk_usage", lambda path: type("", (), {"free": 1000}))
    with refuses("store must be on a disk with 1 MB free", "photos.safetensors"):
        load(tree, tree.parent / "photos.safetensors")
    assert os.listdir(tree.parent) == ["photos"]


def test_one_process_makes_it_and_others_wait(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, found = tree.parent / "photos.safetensors", []
    with open(tree.parent / f".{file.name}.part", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = threading.Thread(target=lambda: found.append(load(tree, file)), daemon=True)
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive() and "another process is making it" in capsys.readouterr().out
        load(tree, tree.parent / "made by the other")
        os.rename(tree.parent / "made by the other", file)
        os.unlink(other.name)
    waiting.join(20)
    assert_same(found[0], load(tree))
    assert sorted(os.listdir(tree.parent)) == ["photos", "photos.safetensors"]


def test_where_a_store_goes(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load(tree)
    assert_same(load(tree, "auto"), plain)
    assert sorted(os.listdir(tree)) == list(CLASSES)  # it fits into memory
    monkeypatch.setattr(memory, "free_bytes", lambda: plain.train_images.nbytes)
    with refuses("store must be a file, a folder or 'auto'", "1 MB", "None"):
        load(tree)
    for store, place in (("auto", tree), (tree.parent, tree.parent)):
        assert_same(load(tree, store), plain)
        made = [name for name in os.listdir(place) if name.endswith(".safetensors")]
        assert len(made) == 1 and made[0].startswith(".ddlab-" if store == "auto" else "photos-")
        assert_same(load(tree, store), plain)
    os.rename(tree, tree.parent / "moved")  # with its hidden store, which is of another name now
    with pytest.warns(UserWarning, match="made anew"):
        assert load(tree.parent / "moved", "auto").name == "moved-8"


def test_a_store_larger_than_the_machines_memory_is_mapped(tmp_path: Path) -> None:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    shape = (3, 512, 512)
    labels = torch.arange(2 * machine // (3 * 512**2)) % 2
    plan = _store.Plan(
        folder="", settings={}, key="", name="sparse", class_names=("a", "b"), labels=(labels, labels[:2]), shape=shape,
        decode=lambda rows: [],
    )  # fmt: skip
    header, places = _store._layout(plan, "0" * 16)
    file = tmp_path / "sparse"
    with open(file, "wb") as stream:
        _store._write(stream, 0, header)
        for name, value in (("train_labels", labels), ("test_labels", labels[:2]), ("std", torch.ones(3))):
            _store._write(stream, places[name], value.numpy())
        stream.truncate(places["end"])
    found, _ = _store._opened(file)
    assert found.train_images.nbytes > machine and found.fingerprint == "0" * 16
    assert found.normalised([0, len(labels) - 1]).abs().max() == 0


def test_memory_does_not_grow_with_the_images(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_store, "_CHUNK", 2**14)
    monkeypatch.setattr(folder, "_TOGETHER", 1)
    monkeypatch.setattr(folder, "_THREADS", 1)
    load(tree, tree.parent / "first", size=128)  # what is imported and kept
    peaks = []
    for store in (tree.parent / "second", None):
        tracemalloc.start()
        found = load(tree, store, size=128)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    whole = found.train_images.nbytes + found.test_images.nbytes
    assert peaks[0] < 0.5 * whole < whole < peaks[1]
