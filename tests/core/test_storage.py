"""Files are written whole or not at all, and broken ones are named."""

import builtins
import json
import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
import safetensors.torch
import torch

from ddlab.core import storage
from tests.support import assert_same, refuses

TENSORS = {
    "a": torch.arange(6.0).reshape(2, 3),
    "b/c.d": torch.tensor([True, False]),
    "nothing": torch.zeros(0, 4),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return storage.save(
        tmp_path / "x.safetensors", TENSORS, {"note": "ü", "list": [1, None, 0.1]}, "test"
    )


def test_round_trip(file: Path) -> None:
    tensors, header = storage.load(file, "test")
    assert_same(tensors, TENSORS)
    assert (header["note"], header["list"]) == ("ü", [1, None, 0.1])


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
)
def test_every_dtype_survives(dtype: torch.dtype, tmp_path: Path) -> None:
    value = torch.tensor([[0, 1], [1, 3]]).to(dtype)
    file = storage.save(tmp_path / "x", {"v": value, "scalar": value[1, 1]}, {}, "test")
    assert_same(storage.load(file, "test")[0], {"v": value, "scalar": value[1, 1]})


def test_tensors_in_any_layout(tmp_path: Path) -> None:
    whole = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    tensors = {
        "transposed": whole.transpose(1, 3),
        "sliced": whole[:, ::2, 1:],
        "expanded": torch.ones(1, 3).expand(4, 3),
        "channels last": whole.to(memory_format=torch.channels_last),
        "shared": whole,
        "shared again": whole,
        "part": whole[0],
        "with gradient": whole.clone().requires_grad_(),
    }
    loaded, _ = storage.load(storage.save(tmp_path / "x", tensors, {}, "test"), "test")
    for name, value in tensors.items():
        assert torch.equal(loaded[name], value), name
        assert not loaded[name].requires_grad
    loaded["shared"].zero_()
    assert torch.equal(loaded["shared again"], whole)


def test_somebodys_file_stays_and_no_folder_is_made(tmp_path: Path) -> None:
    with refuses("path", "folder that is there"):
        storage.save(tmp_path / "typo" / "x", TENSORS, {}, "test")
    notes = tmp_path / "notes.txt"
    ours = storage.save(tmp_path / "x", TENSORS, {}, "network")
    notes.write_text("mine")
    for path in (notes, ours):
        before = path.read_bytes()
        with refuses("path", "overwrite=True", str(path)):
            storage.save(path, TENSORS, {}, "test")
        assert path.read_bytes() == before
        storage.save(path, TENSORS, {}, "test", overwrite=True)
        storage.save(path, TENSORS, {}, "test")  # one of the same kind is replaced
        assert storage.load(path, "test")[0].keys() == TENSORS.keys()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "x"]


@pytest.mark.parametrize("problem", [KeyboardInterrupt, RuntimeError, MemoryError, OSError])
@pytest.mark.parametrize("place", ["write", "fsync", "replace"])
def test_a_write_that_breaks_off_leaves_the_old_file(
    problem: type[BaseException], place: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()

    def breaks(*_: Any, **__: Any) -> None:
        raise problem("in the middle")

    class Half:
        """A file that takes half of what is written to it."""

        def __init__(self, handle: Any) -> None:
            self.handle = handle

        def __enter__(self) -> "Half":
            return self

        def __exit__(self, *_: object) -> None:
            self.handle.close()

        def write(self, content: bytes) -> None:
            self.handle.write(content[: len(content) // 2])
            self.handle.flush()
            breaks()

    fdopen = os.fdopen
    with monkeypatch.context() as patch:
        if place == "write":
            patch.setattr(os, "fdopen", lambda *arguments: Half(fdopen(*arguments)))
        else:
            patch.setattr(os, place, breaks)
        if problem is OSError:
            with refuses("path", str(file)):
                storage.save(file, {"other": torch.ones(100)}, {}, "test")
        else:
            with pytest.raises(problem):
                storage.save(file, {"other": torch.ones(100)}, {}, "test")
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_truncated_at_any_place(file: Path) -> None:
    content = file.read_bytes()
    for place in range(100):
        file.write_bytes(content[: len(content) * place // 100])
        with refuses("path", "complete ddlab test file", str(file)):
            storage.load(file, "test")


def test_foreign_content(tmp_path: Path) -> None:
    file = tmp_path / "x"
    for content in (b"", b"hello", b"\x80\x04K\x01.", os.urandom(200), b"\xff" * 64, b"{}" * 50):
        file.write_bytes(content)
        with refuses("path", "truncated or of another format"):
            storage.load(file, "test")
    np.savez(tmp_path / "y.npz", a=np.ones(2))
    with refuses("path", "truncated or of another format"):
        storage.load(tmp_path / "y.npz", "test")


@pytest.mark.parametrize(
    "metadata",
    [None, {"a": "b"}, {"ddlab": "3"}, {"ddlab": "null"}, {"ddlab": "{"}, {"ddlab": "[]"}],
)
def test_safetensors_of_others(metadata: dict[str, str] | None, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(safetensors.torch.save({"a": torch.ones(2)}, metadata=metadata))
    with refuses("path", "ddlab test file"):
        storage.load(file, "test")


def test_another_kind_is_named(file: Path) -> None:
    with refuses("path", "ddlab network file", "holds test"):
        storage.load(file, "network")


def test_missing_and_directory(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with refuses("path", "existing ddlab test file", str(path)):
            storage.load(path, "test")
    with refuses("path", str(tmp_path)):
        storage.save(tmp_path, TENSORS, {}, "test")
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with refuses("path", "folder that is there"):
        storage.save(tmp_path / "file" / "x", TENSORS, {}, "test")
    with refuses("path"):
        storage.save("/proc/none/x", TENSORS, {}, "test")
    with refuses("path"):
        storage.save(tmp_path / ("n" * 300), TENSORS, {}, "test")
    if os.geteuid() != 0:
        tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
        with refuses("path", "written to"):
            storage.save(tmp_path / "x", TENSORS, {}, "test")
        tmp_path.chmod(stat.S_IRWXU)


@pytest.mark.parametrize("path", [None, 3, ["a"], b"\x00"])
def test_paths_of_a_wrong_type(path: Any) -> None:
    with refuses("path", "file's path"):
        storage.load(path, "test")
    with refuses("path", "file's path"):
        storage.save(path, TENSORS, {}, "test")


def test_descriptions_that_are_not_json(tmp_path: Path) -> None:
    with refuses("provenance", "JSON"):
        storage.save(tmp_path / "x", TENSORS, {"provenance": {"v": torch.ones(1)}}, "test")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_unpickled(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("unpickled")

    import pickle

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, forbidden)
    monkeypatch.setattr(torch, "load", forbidden)
    storage.load(file, "test")
    monkeypatch.setattr(builtins, "eval", forbidden)
    storage.load(file, "test")


def test_files_say_their_format(file: Path) -> None:
    with safetensors.safe_open(file, framework="pt") as opened:
        assert json.loads(opened.metadata()["ddlab"])["format"] == 1


def test_the_same_content_is_the_same_file(file: Path) -> None:
    written = file.read_bytes()
    tensors, header = storage.load(file, "test")
    for _ in range(20):
        assert storage.save(file, tensors, header, "test").read_bytes() == written


class TestFingerprint:
    def test_same_content_same_hash(self) -> None:
        value = torch.arange(12.0).reshape(3, 4)
        assert storage.fingerprint(value) == storage.fingerprint(value.clone().t().contiguous().t())
        assert storage.fingerprint({"a": 1, "b": 2}) == storage.fingerprint({"b": 2, "a": 1})

    def test_different_content_different_hash(self) -> None:
        parts: list[Any] = [
            torch.zeros(4),
            torch.zeros(2, 2),
            torch.zeros(4, dtype=torch.float64),
            torch.zeros(4, dtype=torch.int32),
            torch.zeros(0),
            torch.zeros(0, 3),
            torch.tensor(0.0),
            torch.tensor([0.0, 0, 0, -0.0]),
            None,
            0,
            0.0,
            False,
            "",
            "0",
            "None",
            [],
            {},
            [[]],
            [[], []],
            [0, 0],
            [[0], 0],
            [[0, 0]],
            {"a": 0},
            {"a": {}, "b": 1},
            {"a": {"b": 1}},
            {"a": None},
            ["a", 0],
            {"ab": 1},
            [1, 2],
            [12],
            "12",
        ]
        hashes = [storage.fingerprint(part) for part in parts]
        assert len(set(hashes)) == len(parts)
        assert (
            storage.fingerprint("a", "b")
            != storage.fingerprint("ab")
            != storage.fingerprint("b", "a")
        )

    def test_a_hash_is_the_same_on_every_day(self) -> None:
        assert (
            storage.fingerprint(torch.arange(3), {"a": [1, None, "x", 0.5, True]})
            == "97914cf5d412a280"
        )

    def test_unknown_parts(self) -> None:
        with refuses("fingerprint", "JSON"):
            storage.fingerprint(object())


def test_a_file_that_lost_a_tensor_is_refused(tmp_path) -> None:
    path = storage.save(tmp_path / "a", {"x": torch.ones(2), "y": torch.ones(2)}, {}, "network")
    with safetensors.safe_open(path, framework="pt") as file:
        header = file.metadata()
    safetensors.torch.save_file({"x": torch.ones(2)}, path, metadata=header)
    with refuses("path", "damaged"):
        storage.load(path, "network")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_written_file_may_be_read_by_whom_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        storage.write_atomically(tmp_path / "a", b"x")
        assert os.umask(0o027) == 0o027, "the umask itself stays"
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "target"
    link = tmp_path / "link"
    storage.write_atomically(target, b"old")
    link.symlink_to(target)
    storage.write_atomically(link, b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/null"), tmp_path):
        with refuses("path", "something else"):
            storage.write_atomically(place, b"x")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_what_killed_writers_left_is_taken_away(tmp_path: Path) -> None:
    old = tmp_path / ".x.0123abcd"
    young = tmp_path / ".x.89abcdef"
    foreign = tmp_path / ".y.0123abcd"
    for file in (old, young, foreign):
        file.write_bytes(b"half")
    for file in (old, foreign):
        os.utime(file, (0, 0))
    storage.write_atomically(tmp_path / "x", b"whole")
    assert not old.exists() and young.exists() and foreign.exists()


def test_a_flipped_bit_is_seen(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with refuses("path", "damaged"):
        storage.load(file, "test")


def test_a_kept_fingerprint_follows_the_content() -> None:
    owner = SimpleNamespace()
    tensors = {"a": torch.ones(3)}
    first = storage.kept_fingerprint(owner, tensors)
    assert storage.kept_fingerprint(owner, tensors) == first == storage.fingerprint(tensors)
    tensors["a"].mul_(2)
    assert storage.kept_fingerprint(owner, tensors) == storage.fingerprint(tensors) != first
    tensors["a"].fill_(1.0)
    assert storage.kept_fingerprint(owner, tensors) == first


def test_what_a_file_of_another_kind_holds_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file of gigabytes: whoever reads a tensor of it fails here.
    opened = MagicMock()
    file = opened.return_value.__enter__.return_value
    file.metadata.return_value = {"ddlab": json.dumps({"kind": "network"})}
    file.keys.return_value = ["weights"]
    file.get_tensor.side_effect = AssertionError
    (tmp_path / "theirs").write_bytes(b"")
    monkeypatch.setattr("safetensors.safe_open", opened)
    with refuses("path must be a ddlab distilled set file", "which holds network"):
        storage.load(tmp_path / "theirs", "distilled set")
