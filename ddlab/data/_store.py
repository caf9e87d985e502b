"""A store: the decoded images of a folder in one file on disk, made once and then read row by row.

The file is safetensors, which other programs open too; its header says of which folder it is. The images are mapped into memory, not
read: what a step asks for comes from the disk, and the system takes it back where memory is short. It is made beside its place and
moved there when it is whole; the making goes on where it was interrupted. One process makes it, others wait.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import mmap
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

from ..core import errors, memory, storage
from ..core.errors import DDLabError
from ..core.progress import Progress
from .images import ImageData, byte_counts, content, statistics

_KIND = "image store"
_TYPES = {"I64": torch.int64, "F32": torch.float32, "U8": torch.uint8}
_LONGEST_HEADER = 10**8  # bytes; of the format
_CHUNK = 2**22  # bytes read at once
_BETWEEN_NOTES = 5.0  # seconds: so much of the work is done again after the power failed
# Without it Linux refuses a file larger than its memory: each page might be changed, and then needs a place there.
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)

Decoded = Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Plan:
    """What a store is to hold.

    Attributes:
        folder, settings: where the images come from, and what else decides what they are.
        key: a hash of files and settings: another one is another store.
        name, class_names: as in `ImageData`.
        labels: int64, of the training and of the test images.
        shape: (channels, height, width).
        decode: of row numbers [n], training images first: yields rows [k], images uint8 [k, *shape] and their kinds uint8 [k], not 0.
    """

    folder: str
    settings: dict[str, Any]
    key: str
    name: str
    class_names: tuple[str, ...]
    labels: tuple[Tensor, Tensor]
    shape: tuple[int, int, int]
    decode: Callable[[np.ndarray], Decoded]

    @property
    def size(self) -> int:
        """Bytes of all images."""
        return sum(map(len, self.labels)) * math.prod(self.shape)


def load(file: Path, plan: Plan, *, progress: bool) -> tuple[ImageData, np.ndarray]:
    """The images of a store, which is made where there is none, and their kinds.

    Warns:
        UserWarning: the store is of other files in the same folder, or cut short: it is made anew.

    Raises:
        DDLabError: a file that is something else, or of another folder or other settings; a full disk; a place that cannot be written to.
    """
    try:
        if not _is_there(file, plan, warn=True):
            file.parent.mkdir(parents=True, exist_ok=True)
            with _alone(file.with_name(f".{file.name}.part"), plan.name if progress else None) as stream:
                if not _is_there(file, plan):  # another process made it meanwhile
                    _make(stream, file, plan, progress)
                    os.replace(stream.name, file)
                else:
                    os.unlink(stream.name)
        return _opened(file)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise DDLabError(
            f"store must be a file that can be written and read; given {str(file)!r} ({reason})."
        ) from problem


def _is_there(file: Path, plan: Plan, *, warn: bool = False) -> bool:
    """Whether the store is the one of the plan; False where it has to be made, an error where that would destroy something else."""
    if not os.path.lexists(file):
        return False
    found = _header(file) if file.is_file() else None
    if found is None:
        errors.fail("store", "a new file, or a store that was made by ddlab", str(file))
    described, start, entries = found
    whole = start + max(entry["data_offsets"][1] for entry in entries.values()) == file.stat().st_size
    if whole and described["key"] == plan.key:
        return True
    old = {"folder": described["folder"], **described["settings"]}
    new = {"folder": plan.folder, **plan.settings}
    other = [f"{name} {old.get(name)!r}" for name in new if old.get(name) != new[name]]
    if str(file.parent) == plan.folder:  # the folder was moved, and its store with it
        other = [each for each in other if not each.startswith("folder ")]
    if other:
        errors.fail(
            "store", "a new file, or the store of this folder and these settings", f"{file}, of {', '.join(other)}"
        )
    if warn:
        reason = f"the files in {plan.folder!r} have changed since" if whole else "it is cut short"
        warnings.warn(f"The store {str(file)!r} is made anew: {reason}.", stacklevel=6)  # where data.load was called
    return False


def _header(file: Path) -> tuple[dict[str, Any], int, dict[str, Any]] | None:
    """What a store says of itself, where its tensors begin, and each one's type, shape and place; None of any other file."""
    with open(file, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        text = stream.read(length) if length < _LONGEST_HEADER else b""
    try:
        entries = json.loads(text)
        described = json.loads(entries.pop("__metadata__")["ddlab"])
        return (described, 8 + length, entries) if described["kind"] == _KIND else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _opened(file: Path) -> tuple[ImageData, np.ndarray]:
    described, start, entries = _header(file) or errors.fail("store", "a whole store", str(file))
    flags = mmap.MAP_PRIVATE | _NO_RESERVE  # what a reader changes in place is theirs alone
    with open(file, "rb") as stream:
        mapped = mmap.mmap(stream.fileno(), 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)

    def tensor(name: str) -> Tensor:
        kind, shape, places = (entries[name][word] for word in ("dtype", "shape", "data_offsets"))
        flat = torch.frombuffer(mapped, dtype=_TYPES[kind], count=math.prod(shape), offset=start + places[0])
        return flat.view(shape)

    small = {name: tensor(name).clone() for name in ("train_labels", "test_labels", "mean", "std")}
    large = {name: tensor(name) for name in ("train_images", "test_images")}
    data = ImageData(name=described["name"], class_names=tuple(described["class_names"]), **small, **large)
    storage.know_fingerprint(data, described["fingerprint"], *content(data))
    return data, tensor("kinds").numpy().copy()


def _layout(plan: Plan, fingerprint: str) -> tuple[bytes, dict[str, int]]:
    """The file up to its tensors, always of one length, and where each of these begins."""
    train, test = map(len, plan.labels)
    shapes: dict[str, tuple[str, list[int]]] = {  # numbers of eight bytes first: each lies at a multiple of its size
        "train_labels": ("I64", [train]),
        "test_labels": ("I64", [test]),
        "mean": ("F32", [plan.shape[0]]),
        "std": ("F32", [plan.shape[0]]),
        "kinds": ("U8", [train + test]),
        "train_images": ("U8", [train, *plan.shape]),
        "test_images": ("U8", [test, *plan.shape]),
    }
    described = {name: getattr(plan, name) for name in ("folder", "settings", "key", "name", "class_names")}
    described |= {"kind": _KIND, "format": 1, "fingerprint": fingerprint}
    entries: dict[str, Any] = {"__metadata__": {"ddlab": json.dumps(described)}}
    places, end = {}, 0
    for name, (kind, shape) in shapes.items():
        places[name], end = end, end + math.prod(shape) * _TYPES[kind].itemsize
        entries[name] = {"dtype": kind, "shape": shape, "data_offsets": [places[name], end]}
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    begin = 8 + len(text)
    return len(text).to_bytes(8, "little") + text, {name: begin + place for name, place in places.items()} | {
        "end": begin + end
    }


@contextlib.contextmanager
def _alone(part: Path, name: str | None) -> Iterator[BinaryIO]:
    """The unfinished file, open for this process alone; `name`: of what a line says that it is waited for."""
    while True:
        with open(part, "r+b", opener=lambda path, flags: os.open(path, flags | os.O_CREAT, 0o666)) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if name is not None:
                    print(f"store of {name}: another process is making it; waiting.", flush=True)
                fcntl.flock(stream, fcntl.LOCK_EX)
            if _is_still(part, stream):
                yield stream
                return


def _is_still(part: Path, stream: BinaryIO) -> bool:
    """Whether a path leads to the open file: who made it before may have moved it to its place."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(part))
    except FileNotFoundError:
        return False


def _make(stream: BinaryIO, file: Path, plan: Plan, progress: bool) -> None:
    """Everything into the unfinished file, from where it stands if it is of the same plan."""
    header, places = _layout(plan, "0" * 16)
    if stream.read(len(header)) != header or os.fstat(stream.fileno()).st_size != places["end"]:
        _begin(stream, file, plan)
    _fill(stream, places["kinds"], places["train_images"], plan, progress)

    def parts(split: int) -> Iterator[bytes]:
        """The images of a split as bytes, some at a time: mapped they would count as this process's memory."""
        image, left = math.prod(plan.shape), len(plan.labels[split])
        stream.seek(places[("train_images", "test_images")[split]])
        while left > 0:
            some = min(max(_CHUNK // image, 1), left)
            yield stream.read(some * image)
            left -= some

    counts = torch.zeros((plan.shape[0], 256), dtype=torch.int64)
    for part in parts(0):
        counts += byte_counts(torch.frombuffer(bytearray(part), dtype=torch.uint8).view(-1, *plan.shape))
    mean, std = statistics(counts)
    streamed = [storage.Streamed(torch.uint8, (len(plan.labels[n]), *plan.shape), parts(n)) for n in (0, 1)]
    alike = [value for pair in zip(streamed, plan.labels, strict=True) for value in pair]
    found = storage.fingerprint(plan.name, plan.class_names, *alike, mean, std)
    _write(stream, places["mean"], mean.numpy())
    _write(stream, places["std"], std.numpy())
    _write(stream, 0, _layout(plan, found)[0])
    _flush(stream)


def _begin(stream: BinaryIO, file: Path, plan: Plan) -> None:
    """The file in its full length, without images.

    Raises:
        DDLabError: the disk is too small.
    """
    header, places = _layout(plan, "0" * 16)
    stream.truncate(0)
    free = shutil.disk_usage(file.parent).free
    if free < places["end"]:
        os.unlink(stream.name)
        wanted = f"on a disk with {memory.text(places['end'])} free, which these images take"
        raise DDLabError(f"store must be {wanted}; given {str(file)!r}, where {memory.text(free)} are free.")
    stream.truncate(places["end"])
    _write(stream, 0, header)
    for name, labels in zip(("train_labels", "test_labels"), plan.labels, strict=True):
        _write(stream, places[name], labels.numpy())
    _flush(stream)


def _fill(stream: BinaryIO, kinds_at: int, images_at: int, plan: Plan, progress: bool) -> None:
    """The images that are not there yet, and their kinds, which say that they are."""
    stream.seek(kinds_at)
    kinds = np.frombuffer(stream.read(sum(map(len, plan.labels))), dtype=np.uint8).copy()
    missing = np.flatnonzero(kinds == 0)
    line, done, noted = Progress(f"store of {plan.name}", len(missing), progress, unit="image"), 0, time.monotonic()
    stopped = False

    def note() -> None:
        _flush(stream)  # the images first
        _write(stream, kinds_at, kinds)

    try:
        for rows, images, found in plan.decode(missing):
            for row, image in zip(rows.tolist(), images, strict=True):
                _write(stream, images_at + row * image.nbytes, image)
            kinds[rows], done = found, done + len(rows)
            line.show(done)
            if time.monotonic() - noted > _BETWEEN_NOTES:
                note()
                noted = time.monotonic()
    except KeyboardInterrupt:
        stopped = True
        raise
    finally:
        line.close(stopped, done, kept="the next load goes on from there")
        note()


def _write(stream: BinaryIO, place: int, content: Any) -> None:
    stream.seek(place)
    stream.write(content)


def _flush(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())
