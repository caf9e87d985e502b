"""The source that something is computed by, as a part of every key: an edited method is another method."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

_PACKAGE = Path(__file__).parents[1]
_INSTALLED = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PARTS = ("total_steps", "init", "update", "finish", "look", "prefix")


def source(process: Any) -> str:
    """A hash of the code of a process or a function.

    For one of ours of all of ddlab; for a user's of ddlab, of its file and the user's files that this one imports, and of its functions
    and those of the same module that they call, so that a cell that is run again or `importlib.reload` changes it. 16 hexadecimal digits.
    """
    file = _file(inspect.getmodule(process))
    if file is not None and file.is_relative_to(_PACKAGE):
        return _package()
    files = {} if file is None else _files(sys.modules[inspect.getmodule(process).__name__])  # type: ignore[union-attr]
    parts = [content for _, content in sorted(files.items())]
    seen: set[int] = set()
    for function in (process, *(getattr(process, name, None) for name in _PARTS)):
        parts += _code(function, seen)
    return hashlib.sha256(b"\0".join([_package().encode(), *parts])).hexdigest()[:16]


@functools.cache
def _package() -> str:
    digest = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _file(module: ModuleType | None) -> Path | None:
    """The file of a module that a user may edit, or of ours."""
    name = getattr(module, "__file__", None)
    if name is None or not Path(name).exists():
        return None
    file = Path(name).resolve()
    ours = file.is_relative_to(_PACKAGE)
    return file if ours or not any(file.is_relative_to(place) for place in _INSTALLED) else None


def _files(module: ModuleType) -> dict[str, bytes]:
    """The user's files behind a module and what it imports, by module name: names that are modules, or come from one."""
    found: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        module = waiting.pop()
        file = _file(module)
        if file is None or file.is_relative_to(_PACKAGE) or module.__name__ in found:
            continue
        found[module.__name__] = file.read_bytes()
        for value in list(vars(module).values()):
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(name, str) and name in sys.modules:
                waiting.append(sys.modules[name])
    return found


def _code(function: Any, seen: set[int]) -> Iterator[bytes]:
    """The text of a function and of those of its module that it names; what its byte code does where there is no text."""
    function = inspect.unwrap(function) if callable(function) else None
    if function is None or id(function) in seen:
        return
    seen.add(id(function))
    code = getattr(function, "__code__", None)
    yield _text(function if code is None else code)
    for name in _names(code) if isinstance(code, CodeType) else ():
        named = function.__globals__.get(name)
        if getattr(named, "__module__", None) == function.__module__:
            yield from _code(named, seen)


@functools.lru_cache(maxsize=1024)  # of a code object: what runs, whatever has become of the file since
def _text(code: Any) -> bytes:
    try:
        return inspect.getsource(code).encode()
    except (OSError, TypeError):
        return code.co_code + repr(code.co_consts).encode() if isinstance(code, CodeType) else b""


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
