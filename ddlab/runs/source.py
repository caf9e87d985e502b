"""The source that something is computed by, as a part of every key: an edited method is another method."""

from __future__ import annotations

import functools
import hashlib
import inspect
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]


def source(process: Any) -> str:
    """A hash of the code of a process or a function: of all of ddlab for one of ours, of its own file and functions for a user's.

    16 hexadecimal digits. An edit that a notebook's `importlib.reload` or a new cell brings changes it.
    """
    file = getattr(inspect.getmodule(process), "__file__", None)
    if file is not None and Path(file).is_relative_to(_PACKAGE):
        return _package()
    functions = ("total_steps", "init", "update", "finish", "look", "prefix")
    parts = [_code(process), *(_code(getattr(process, name, None)) for name in functions)]
    if file is not None and Path(file).exists():
        parts.append(Path(file).read_bytes())
    return hashlib.sha256(b"\0".join([_package().encode(), *parts])).hexdigest()[:16]


@functools.cache
def _package() -> str:
    digest = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _code(function: Any) -> bytes:
    """The text of a function, or what its byte code does where there is no text."""
    function = inspect.unwrap(function) if callable(function) else None
    try:
        return inspect.getsource(function).encode() if function is not None else b""
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return b"" if code is None else code.co_code + repr(code.co_consts).encode()
