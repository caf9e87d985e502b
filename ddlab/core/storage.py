"""One file with named tensors and a JSON description, in the safetensors format.

It is written whole or not at all.

Two files cannot be replaced together, so the description travels in the file's own metadata, with a
digest of all content: a bit that has flipped is noticed. Nothing is unpickled.
"""

import contextlib
import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from . import errors
from .errors import DDLabError

# Of the file's metadata, the only one: safetensors writes two keys in any order, and files would
# differ.
_KEY = "ddlab"
_LONGEST_PATH = 4096  # of Linux
# What other programs put among a reader's folders.
_SERVICE_FOLDERS = {"__MACOSX", "__pycache__", "@eaDir"}
# Seconds: a temporary file that is older was left by a process that died.
_HOUR = 3600.0


def save(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    description: Mapping[str, Any],
    kind: str,
    *,
    overwrite: bool = False,
) -> Path:
    """Write `tensors` and the JSON-able `description` to `path`.

    The old file stays until the new one is complete.

    Args:
        path: file to write, in a folder that is there.
        kind: what the file holds ("checkpoint", "distilled set", "network"), checked by `load`.
        overwrite: replace a file of another kind, too.

    Raises:
        DDLabError: the path cannot be written to, or holds something else already.
    """
    # All that can be wrong is checked before the first byte is written.
    path = checked_path(path)
    if not os.path.isdir(path.parent):
        raise DDLabError(
            f"path must be in a folder that is there; given {str(path)!r}, whose folder is not."
        )
    # Overwriting a checkpoint by a checkpoint is what happens every minute; overwriting a thesis is
    # not.
    if (
        os.path.isfile(path)
        and not errors.check_boolean("overwrite", overwrite)
        and _kind(path) != kind
    ):
        allowed = f"new, or a ddlab {kind} file, or overwrite=True be given"
        raise DDLabError(
            f"path must be {allowed}; given {str(path)!r}, which holds something else."
        )
    # safetensors refuses tensors that are expanded, shared or not contiguous.
    plain = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    try:
        # The digest covers the names of the tensors too: safetensors itself does not notice one
        # that is missing.
        header = {**description, "kind": kind, "format": 1, "tensors": sorted(plain)}
        text = json.dumps(header | {"digest": _digest(json.dumps(header), plain)})
    except (TypeError, ValueError, RecursionError) as problem:
        raise DDLabError(
            f"{', '.join(map(str, description))} must be made of JSON types; given something "
            f"else ({problem})."
        ) from problem
    # In memory first: the file is written in one piece, or a full disk would leave half of it.
    content = safetensors.torch.save(plain, metadata={_KEY: text})
    write_atomically(path, content)
    return path


def load(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save` wrote.

    Raises:
        DDLabError: the file is missing, truncated, not ddlab's, or holds something else than
            `kind`.
    """
    path = checked_path(path)
    if not os.path.isfile(path):
        raise DDLabError(
            f"path must be an existing ddlab {kind} file; given {str(path)!r}, which is no file."
        )
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {}).get(_KEY, "null"))
            is_ours = isinstance(header, dict) and header.get("kind") == kind
            # Copied: in the file they begin anywhere, and products of tensors at odd addresses have
            # other last bits. What somebody else's gigabytes hold is not read.
            tensors = {
                name: file.get_tensor(name).clone()
                for name in file.keys()  # noqa: SIM118 (not a dict)
                if is_ours
            }
    except (
        safetensors.SafetensorError,
        OSError,
        json.JSONDecodeError,
        UnicodeDecodeError,
        RecursionError,
    ) as problem:
        raise DDLabError(
            f"path must be a complete ddlab {kind} file; given {str(path)!r}, which is "
            "truncated or of another format."
        ) from problem
    # Before the digest, because "this is a network, not a checkpoint" helps more than "damaged".
    if not is_ours:
        content = (
            header.get("kind", "nothing of ddlab's")
            if isinstance(header, dict)
            else "nothing of ddlab's"
        )
        raise DDLabError(
            f"path must be a ddlab {kind} file; given {str(path)!r}, which holds {content}."
        )
    if header.pop("digest", None) != _digest(json.dumps(header), tensors):
        raise DDLabError(
            f"path must be a ddlab {kind} file as it was saved; given {str(path)!r}, which "
            "is damaged."
        )
    return tensors, header


def _kind(path: Path) -> str | None:
    """Return what a file of ddlab's says that it holds."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return json.loads((file.metadata() or {}).get(_KEY, "{}")).get("kind")
    except (safetensors.SafetensorError, OSError, ValueError, AttributeError):
        return None


@contextlib.contextmanager
def made_from(path: str | os.PathLike[str], content: str) -> Iterator[None]:
    """Name the file in every error that its content causes. Whatever is wrong becomes one sentence.

    A digest says that nothing was damaged, not that it was ddlab that wrote the file.
    """
    try:
        yield
    except KeyError as missing:
        raise DDLabError(
            f"path must hold a whole {content}; given {str(path)!r} without {missing}."
        ) from missing
    except (
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        OverflowError,
        RecursionError,
        RuntimeError,
    ) as problem:
        # torch's messages run over many lines, of which the first says what is wrong.
        reason = (str(problem).splitlines() or [type(problem).__name__])[0].rstrip(".")
        raise DDLabError(
            f"path must hold a whole {content}; given {str(path)!r}, in which {reason[:300]}."
        ) from problem


def _digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(text.encode(errors="surrogatepass"))
    _feed(digest, tensors)
    return digest.hexdigest()


def checked_path(path: object, argument: str = "path", allowed: str = "a file's path") -> Path:
    """Return `path` as a Path, which need not exist. "~" is the home folder."""
    # A number would be taken for an open file's descriptor by `open`.
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str) or "\0" in text or len(text) > _LONGEST_PATH or not _is_utf8(text):
        errors.fail(argument, allowed, path)
    return Path(os.path.expanduser(text))


def _is_utf8(text: str) -> bool:
    try:
        return bool(os.fsencode(text)) or not text
    except UnicodeEncodeError:
        return False


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step.

    A reader sees the old file or the new one, never a part.

    A link stays one, and the file it leads to is replaced; what is no file, such as a device, is
    refused.
    """
    # `os.replace` would put a file in the place of the link, and the file it led to would stay old.
    link = checked_path(path)
    if os.path.islink(link) and not os.path.exists(link):
        raise DDLabError(f"path must be no link that leads nowhere; given {str(link)!r}.")
    path = Path(os.path.realpath(link))
    # /dev/null, say: replacing it by a file breaks the machine for everybody.
    if os.path.lexists(path) and not path.is_file():
        raise DDLabError(
            f"path must be a file that can be written; given {str(path)!r}, which is "
            "something else."
        )
    try:
        _remove_left_behind(path)
        # Not mkstemp: what it makes is its owner's alone, and a teacher's file in a shared folder
        # is for the class.
        temporary = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as problem:
        raise DDLabError(
            f"path must be a place that can be written to; given {str(path)!r} "
            f"({problem.strerror})."
        ) from problem
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            # Else a power cut could leave the new name with the old length.
            os.fsync(file.fileno())
        os.replace(temporary, path)
    # KeyboardInterrupt as well: whoever stops a run must not find a half-written file beside the
    # old one.
    except BaseException as problem:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(problem, OSError):
            raise DDLabError(
                f"path must be a file that can be written; given {str(path)!r} "
                f"({problem.strerror})."
            ) from problem
        raise


def _remove_left_behind(path: Path) -> None:
    """Remove what killed writers of this file have left behind.

    Files younger than an hour stay, because somebody may still write them.
    """
    # The exact form of the names that are made here, so that nobody else's hidden file is touched.
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}")
    for entry in list(os.scandir(path.parent)):
        with contextlib.suppress(OSError):
            if (
                pattern.fullmatch(entry.name)
                and time.time() - entry.stat(follow_symlinks=False).st_mtime > _HOUR
            ):
                os.unlink(entry.path)


def is_left_behind(name: str) -> bool:
    """Return whether systems and editors left a file or folder: .git, __MACOSX, or ._NAME."""
    return name.startswith(".") or name in _SERVICE_FOLDERS


def fingerprint(*parts: Any) -> str:
    """Return a hash of content, 16 hexadecimal digits.

    Tensors count by dtype, shape and bytes; everything else by its JSON form.
    """
    digest = hashlib.sha256()
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()[:16]


def kept_fingerprint(owner: Any, *parts: Any) -> str:
    """Return `fingerprint(*parts)`, kept in `owner` until a tensor is changed in place.

    A tensor's version counter says so.

    What is written through a tensor's `data` or its numpy view is not noticed here, because hashing
    all images at every drawing of an explorer would take too long; `notice_edits` does, at the
    doors.
    """
    return kept_while_unchanged(owner, "fingerprint", lambda: fingerprint(*parts), *parts)


def notice_edits(*owners: Any) -> None:
    """Hash owners of kept fingerprints anew.

    All that is kept in an owner whose content has changed is forgotten.
    """
    for owner in owners:
        # Popped, so that the comparison hashes the content once more instead of asking the version
        # counter.
        remembered = owner.__dict__.pop("_fingerprint", None)
        if remembered is not None and owner.fingerprint != remembered[1]:
            for name in owner.__dict__["_kept_names"]:
                owner.__dict__.pop(name, None)


def kept_while_unchanged(owner: Any, name: str, compute: Callable[[], Any], *tensors: Any) -> Any:
    """Return `compute()`, kept in `owner` under `name` until a tensor is changed in place.

    A tensor's version counter says so, also in dicts and lists.
    """
    # Identity as well as version: another tensor in the same place starts at version 0 again.
    versions = _versions(tensors)
    remembered = owner.__dict__.get(f"_{name}")
    if remembered is None or remembered[0] != versions:
        owner.__dict__.setdefault("_kept_names", set()).add(f"_{name}")
        # Held, so that no other one gets their ids.
        remembered = owner.__dict__[f"_{name}"] = (versions, compute(), tensors)
    return remembered[1]


def _versions(parts: Any) -> list[int]:
    """Return the identity and the version of every tensor in nested dicts, lists and tuples."""
    versions: list[int] = []
    for part in parts.values() if type(parts) is dict else parts:
        if isinstance(part, Tensor):
            # Tensors of inference mode have no version counter, and cannot be written to in normal
            # mode.
            versions += id(part), -1 if part.is_inference() else part._version
        elif type(part) in (dict, list, tuple):
            versions += _versions(part)
    return versions


def _feed(digest: Any, part: Any) -> None:
    if isinstance(part, Tensor):
        errors.check_tensor("a tensor of a fingerprint", part, finite=False)
        digest.update(f"{part.dtype}{list(part.shape)}".encode())
        flat = part.detach().cpu().contiguous().view(-1)
        digest.update(flat.view(torch.uint8).numpy().data if flat.numel() else b"")
    elif isinstance(part, Mapping):
        digest.update(f"{{{len(part)}}}".encode())
        # Sorted by name: two dicts that are equal hash alike, whatever the order of insertion.
        for key in sorted(errors.check_text("a name in a fingerprint", name) for name in part):
            digest.update(f"<{key}>".encode(errors="surrogatepass"))
            _feed(digest, part[key])
    elif isinstance(part, (list, tuple)):
        # Lengths in front keep nested lists apart: [[1], [2]] is not [[1, 2]].
        digest.update(f"[{len(part)}]".encode())
        for item in part:
            _feed(digest, item)
    elif hasattr(part, "to_dict"):
        _feed(digest, part.to_dict())
    elif part is None or isinstance(part, (str, int, float, bool)):
        digest.update(json.dumps(part).encode() + b";")
    else:
        errors.fail("a part of a fingerprint", "a tensor, a config, or made of JSON types", part)
