"""torchvision's datasets from tiny files of the same format: nothing is fetched unasked, nothing
unchecked is unpickled.
"""

import hashlib
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torchvision import datasets

from ddlab import data
from ddlab.data import torchvision_sets
from tests.support import assert_same, refuses

CLASSES = {"cifar10": 10, "cifar100": 100}
BASES = {"cifar10": "cifar-10-batches-py", "cifar100": "cifar-100-python"}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Any attempt to download is noted and fails."""
    requested: list[str] = []

    def refuse(url: str, *_: Any, **__: Any) -> None:
        requested.append(url)
        raise OSError("no network\nin a test")

    for place in ("mnist", "cifar"):
        monkeypatch.setattr(f"torchvision.datasets.{place}.download_and_extract_archive", refuse)
    return requested


def write_mnist(
    root: Path, name: str = "MNIST", train: int = 20, test: int = 10
) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    arrays = {}
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    for split, count in (("train", train), ("t10k", test)):
        images = draw.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = (np.arange(count) % 10).astype(np.uint8)
        header = struct.pack(">IIII", 0x803, count, 28, 28)
        (folder / f"{split}-images-idx3-ubyte").write_bytes(header + images.tobytes())
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 0x801, count) + labels.tobytes()
        )
        arrays |= {f"{split} images": images, f"{split} labels": labels}
    return arrays


def write_cifar(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """Two batches for CIFAR-10, one for CIFAR-100, and the md5 lists that belong to them."""
    draw = np.random.default_rng(1)
    arrays = {}
    classes = CLASSES[name]
    folder = root / BASES[name]
    dataset = getattr(datasets, torchvision_sets.CLASSES[name])
    folder.mkdir(parents=True)

    def store(file: str, content: dict[str, Any]) -> list[str]:
        (folder / file).write_bytes(pickle.dumps(content))
        return [file, hashlib.md5((folder / file).read_bytes()).hexdigest()]

    def batch(file: str) -> list[str]:
        pixels = draw.integers(0, 256, (classes, 3 * 32 * 32), dtype=np.uint8)
        labels = draw.permutation(classes).tolist()
        arrays.update(
            {f"{file} images": pixels.reshape(-1, 3, 32, 32), f"{file} labels": np.array(labels)}
        )
        key = "labels" if name == "cifar10" else "fine_labels"
        return store(file, {"data": pixels, key: labels, "coarse_labels": [0] * classes})

    ten = name == "cifar10"
    monkeypatch.setattr(
        dataset,
        "train_list",
        [batch(f) for f in (("data_batch_1", "data_batch_2") if ten else ("train",))],
    )
    monkeypatch.setattr(dataset, "test_list", [batch("test_batch" if ten else "test")])
    names = [f"kind {number}" for number in range(classes)]
    file, md5 = store(dataset.meta["filename"], {dataset.meta["key"]: names})
    monkeypatch.setattr(dataset, "meta", dataset.meta | {"filename": file, "md5": md5})
    return arrays


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_mnist(name: str, tmp_path: Path, no_network: list[str]) -> None:
    arrays = write_mnist(tmp_path, torchvision_sets.CLASSES[name])
    loaded = data.load(name, tmp_path)
    for split, theirs in (("train", "train"), ("test", "t10k")):
        assert np.array_equal(loaded.images(split)[:, 0].numpy(), arrays[f"{theirs} images"])  # type: ignore[arg-type]
        assert loaded.labels(split).tolist() == arrays[f"{theirs} labels"].tolist()  # type: ignore[arg-type]
    assert (loaded.name, loaded.channels, loaded.image_size, loaded.classes) == (
        name,
        1,
        (28, 28),
        10,
    )
    assert loaded.class_names[:2] == (("0", "1") if name == "mnist" else ("T-shirt/top", "Trouser"))
    # Complete: nothing to fetch.
    assert_same(data.load(name, root=str(tmp_path), download=True), loaded)
    assert no_network == []


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_cifar(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_network: list[str]
) -> None:
    arrays = write_cifar(tmp_path, name, monkeypatch)
    loaded = data.load(name, tmp_path)
    for split, files in (
        ("train", ("data_batch_1", "data_batch_2") if name == "cifar10" else ("train",)),
        ("test", ("test_batch" if name == "cifar10" else "test",)),
    ):
        images = np.concatenate([arrays[f"{file} {'images'}"] for file in files])
        labels = np.concatenate([arrays[f"{file} {'labels'}"] for file in files])
        assert np.array_equal(loaded.images(split).numpy(), images)  # type: ignore[arg-type]
        assert loaded.labels(split).tolist() == labels.tolist()  # type: ignore[arg-type]
    assert (loaded.name, loaded.channels, loaded.image_size) == (name, 3, (32, 32))
    assert loaded.classes == CLASSES[name] and loaded.class_names[1] == "kind 1"
    assert loaded.train_images.is_contiguous() and no_network == []


@pytest.mark.parametrize("name", torchvision_sets.NAMES)
def test_nothing_is_fetched_unless_asked(name: str, tmp_path: Path, no_network: list[str]) -> None:
    with refuses("root", name, "download=True", "without"):
        data.load(name, tmp_path / "none")
    assert no_network == [] and not (tmp_path / "none").exists()
    with refuses("root", name, "without", "no network"):
        data.load(name, tmp_path, download=True)
    assert no_network


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
@pytest.mark.parametrize("download", [False, True])
def test_no_pickle_is_read_before_its_md5(
    name: str, download: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file in turn is exchanged for a pickle that would leave a trace when read."""
    write_cifar(tmp_path, name, monkeypatch)
    trace = tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(trace),)

    files = sorted((tmp_path / BASES[name]).iterdir())
    assert len(files) == (4 if name == "cifar10" else 3)
    for file in files:
        original = file.read_bytes()
        file.write_bytes(pickle.dumps(Trap()))
        with refuses(
            "root", "published files", f"another {BASES[name]}/{file.name}", "was not read"
        ):
            data.load(name, tmp_path, download=download)
        assert not trace.exists()
        file.write_bytes(original)
    assert data.load(name, tmp_path).classes == CLASSES[name]
    files[0].write_bytes(pickle.dumps(Trap()))
    with files[0].open("rb") as handle:
        pickle.load(handle)
    assert trace.exists()  # the trap works


def test_torchvision_itself_checks_before_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second line of defence, which a later version of torchvision must keep."""
    write_cifar(tmp_path, "cifar10", monkeypatch)
    order: list[str] = []
    from torchvision.datasets import cifar

    real_check = cifar.check_integrity
    real_load = pickle.load
    monkeypatch.setattr(
        cifar, "check_integrity", lambda p, m: order.append(Path(p).name) or real_check(p, m)
    )
    monkeypatch.setattr(
        cifar.pickle,
        "load",
        lambda f, **k: order.append(f"read {Path(f.name).name}") or real_load(f, **k),
    )
    data.load("cifar10", tmp_path)
    batches = ["data_batch_1", "data_batch_2", "test_batch"]
    read = [place for place, event in enumerate(order) if event.startswith("read")]
    assert len(read) == 5 and order[:3] == batches
    assert all(order.index(order[place].removeprefix("read ")) < place for place in read)


def test_the_old_storage_of_mnist_is_left_alone(tmp_path: Path) -> None:
    arrays = write_mnist(tmp_path)
    folder = tmp_path / "MNIST" / "processed"
    folder.mkdir()
    for file in ("training.pt", "test.pt"):
        torch.save((torch.zeros(1, 28, 28), torch.zeros(1)), folder / file)
    assert len(data.load("mnist", tmp_path).train_labels) == len(arrays["train labels"])


@pytest.mark.parametrize(
    "file", ["train-images-idx3-ubyte", "t10k-images-idx3-ubyte", "train-labels-idx1-ubyte"]
)
def test_damaged_mnist(file: str, tmp_path: Path) -> None:
    write_mnist(tmp_path)
    place = tmp_path / "MNIST" / "raw" / file
    content = place.read_bytes()
    for damaged in (
        b"",
        content[:3],
        content[:7],
        content[: len(content) // 2],
        b"\xff" * len(content),
        content[:-1],
    ):
        place.write_bytes(damaged)
        with refuses("root", "readable files of mnist"):
            data.load("mnist", tmp_path)
    place.unlink()
    with refuses("root", f"without MNIST/raw/{file}"):
        data.load("mnist", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("mnist",), {}, ["mnist", "root"]),
        (("mnist", None), {}, ["root", "a folder's path"]),
        (("cifar10", "."), {"train": True}, ["option"]),
        (("cifar", "."), {}, ["name", "nearest: 'cifar10', 'cifar100'"]),
        (("fashion_mnist", "."), {}, ["name", "nearest: 'fashion-mnist'"]),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], options: dict[str, Any], words: list[str]) -> None:
    with refuses(*words):
        data.load(*arguments, **options)


def test_own_entry() -> None:
    with refuses("name", "'mnist'"):
        torchvision_sets.load("digits", ".")
