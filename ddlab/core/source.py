"""The source that something is computed by, as a part of every key: an edited method is another method."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PARTS = (  # of a process; `loss`: of `from_loss`
    "total_steps", "init", "update", "finish", "look", "prefix", "loss",
)  # fmt: skip


def source(process: Any) -> str:
    """A hash of the code of a process or a function.

    For one of ours of all of ddlab; for a user's of ddlab, of its file and the user's files that this one imports, and of its functions
    and those of the same module that they call, so that a cell that is run again or `importlib.reload` changes it. 16 hexadecimal digits.
    """
    if isinstance(process, ModuleType) and process.__name__.startswith(
        "ddlab."
    ):  # asked at every drawing of a laboratory
        return _package()
    file = _file(inspect.getmodule(process))
    if file is not None and file.is_relative_to(_PACKAGE):
        return _package()
    files = {} if file is None else _files(sys.modules[inspect.getmodule(process).__name__])  # type: ignore[union-attr]
    parts = [content for _, content in sorted(files.items())]
    seen: set[int] = set()
    for function in (process, *(getattr(process, name, None) for name in _PARTS)):
        parts += _code(function, seen)
    return hashlib.sha256(b"\0".join([_package().encode(), *parts])).hexdigest()[:16]


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
    inside: Iterable[Any] = ()
    if isinstance(value, (list, tuple, dict)):
        inside = value.items() if isinstance(value, dict) else value
    elif isinstance(value, functools.partial):
        inside = (value.func, value.args, value.keywords)
    elif isinstance(value, MethodType):
        inside = (value.__func__, value.__self__)
    elif isinstance(value, (type, FunctionType)):
        users = _is_users(value.__module__)
        name = value.__qualname__ if users else f"{value.__module__}.{value.__qualname__}"  # a script is __main__
        yield name.encode()
        if users:
            inside = _class_parts(value) if isinstance(value, type) else _function_parts(value)
    else:  # what ddlab's and installed objects hold may change by itself, as what a dataset remembers
        held = vars(value) if _is_users(type(value).__module__) and hasattr(value, "__dict__") else {}
        inside = (type(value), getattr(value, "__qualname__", None), held)
    for part in inside:
        yield from _made_of(part, seen)


def _class_parts(kind: type) -> Iterator[Any]:
    yield from kind.__bases__
    for name, member in vars(kind).items():
        member = getattr(member, "__func__", getattr(member, "fget", member))
        if not name.startswith("__") or isinstance(member, FunctionType):
            yield name, member


def _function_parts(function: FunctionType) -> Iterator[Any]:
    yield _text(function.__code__)
    yield from (cell.cell_contents for cell in function.__closure__ or () if cell != CellType())
    names = list(_names(function.__code__))
    for named in (function.__globals__.get(name) for name in names):
        if isinstance(named, ModuleType) and _is_users(named.__name__):
            yield from (vars(named).get(name) for name in names)  # helpers.Block
        else:
            yield named


@functools.cache
def _is_users(name: str | None) -> bool:
    """Whether a module is one that a user may edit: a notebook, or a file that is neither installed nor ours."""
    module = sys.modules.get(name or "")
    if getattr(module, "__file__", None) is None:
        return name not in sys.builtin_module_names
    file = _file(module)
    return file is not None and not file.is_relative_to(_PACKAGE)


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
        if not isinstance(code, CodeType):
            return b""
        inner = [_text(each) if isinstance(each, CodeType) else repr(each).encode() for each in code.co_consts]
        return b"".join([code.co_code, repr(code.co_names).encode(), *inner])  # no repr of code: it has an address


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
