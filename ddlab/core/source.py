"""The source that something is computed by, as a part of every key: an edited method is another method."""

import functools
import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]
_ROOMS = ("core", "data", "networks", "distilled", "runs", "training", "methods")  # that a process can reach
_INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PARTS = ("total_steps", "init", "update", "finish", "look", "prefix", "loss")  # of a process; `loss`: of `from_loss`


def source(process: Any) -> str:
    """A hash of the code of a process or a function: of ddlab, and of what a user's functions compute by (`code_of`).

    So a cell that is run again or `importlib.reload` changes it. 16 hexadecimal digits.
    """
    name = process.__name__ if isinstance(process, ModuleType) else getattr(process, "__module__", None)
    if isinstance(name, str) and name.startswith("ddlab.") and not hasattr(process, "loss"):
        return _package()  # asked at every drawing of a laboratory
    parts = [process, *(getattr(process, each, None) for each in _PARTS)]
    return hashlib.sha256(f"{_package()}{code_of(*parts)}".encode()).hexdigest()[:16]


def code_of(*values: Any) -> str:
    """A hash of what a user's functions, classes and objects compute by, as they are in memory: 16 hexadecimal digits.

    Their code, that of the user's functions and classes which they name, and the plain values which they name or hold (constants, closures,
    the arguments of a `partial`, attributes). Of ddlab and installed packages the names alone: their next version is no edit.
    """
    return hashlib.sha256(b"\0".join(_made_of(values, {}))).hexdigest()[:16]


def _made_of(value: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        yield repr(value).encode(errors="surrogatepass")
    if id(value) in seen or isinstance(value, ModuleType):
        return
    seen[id(value)] = value  # held, so that no other one gets its id
    for part in _inside(value):
        yield from _made_of(part, seen)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if not isinstance(value, (type, FunctionType)):
        # What ddlab's and installed objects hold may change by itself, as what a dataset remembers.
        held = vars(value) if _is_users(type(value).__module__) and hasattr(value, "__dict__") else {}
        return type(value), getattr(value, "__qualname__", None), held
    if not _is_users(value.__module__):
        return (f"{value.__module__}.{value.__qualname__}",)
    if isinstance(value, FunctionType):
        names = list(_names(value.__code__))
        named = [value.__globals__.get(name) for name in names]
        helpers = [vars(each) for each in named if isinstance(each, ModuleType) and _is_users(each.__name__)]
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
        helped = [each.get(name) for each in helpers for name in names]
        return value.__qualname__, _text(value.__code__), cells, named, helped
    members = {name: getattr(each, "__func__", getattr(each, "fget", each)) for name, each in vars(value).items()}
    own = [
        (name, each) for name, each in members.items() if not name.startswith("__") or isinstance(each, FunctionType)
    ]
    return value.__qualname__, value.__bases__, own


@functools.cache
def _is_users(name: str | None) -> bool:
    """Whether a module is one that a user may edit: a notebook, or a file that is neither installed nor ours."""
    file = getattr(sys.modules.get(name or ""), "__file__", None)
    if file is None:
        return name not in sys.builtin_module_names
    return not any(Path(file).resolve().is_relative_to(place) for place in (_PACKAGE, *_INSTALLED))


@functools.cache
def _package() -> str:
    digest = hashlib.sha256()
    for room in _ROOMS:
        for file in sorted((_PACKAGE / room).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _text(code: CodeType) -> bytes:
    inner = [_text(each) if isinstance(each, CodeType) else repr(each).encode() for each in code.co_consts]
    return b"".join([code.co_code, repr(code.co_names).encode(), *inner])  # no repr of code: it has an address


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
