"""Hash everything that a result depends on in code.

So an edited method never returns the numbers of the one before.

`source(process)` is a part of every key of a remembered result and of every checkpoint. For a
reader's own function it covers its code, defaults, closures and attributes, and whatever its code
names: functions, classes, modules, arrays, tensors, sets, objects.
"""

import dis
import enum
import functools
import hashlib
import importlib
import random
import sys
import sysconfig
import types
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

_PACKAGE = Path(__file__).resolve().parents[1]
# That a process can reach.
_ROOMS = ("core", "data", "networks", "distilled", "runs", "training", "methods")
_INSTALLED = tuple(
    Path(sysconfig.get_path(name)).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
# Of a process; `loss`: of `from_loss`.
_PARTS = ("total_steps", "init", "update", "finish", "look", "prefix", "loss")

# Values that one hash reads; what reaches further (a widget, a server) is compared by identity.
_LARGEST = 100_000
_DEEPEST = 150  # levels, well below Python's recursion limit, of which each takes three
_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, range, slice,
    types.EllipsisType, types.NotImplementedType, torch.dtype, torch.device, torch.Size, torch.layout, np.dtype,
)  # fmt: skip
# What these and iterators give next depends on how often they were asked before, so a hash of now
# says little.
_GENERATORS = (
    torch.Generator, np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random,
)  # fmt: skip
# Values compared by identity, kept alive so that no other one gets their id.
_KEPT_ALIVE: dict[int, Any] = {}
# Joins every identity, so that a hash by identity never holds in another process.
_THIS_PROCESS = uuid.uuid4().hex


def source(process: Any) -> str:
    """Return a hash of the code of a process or a function.

    It covers ddlab, and all that a user's functions compute with.

    A cell that is run again after an edit changes it, and so does `importlib.reload`. 16
    hexadecimal digits.
    """
    if is_of_the_house(process):
        return _package()  # asked at every drawing of a laboratory
    return hashlib.sha256(f"{_package()}{code_of(*_parts(process))}".encode()).hexdigest()[:16]


def code_of(*values: Any) -> str:
    """Return a hash of what users' functions, classes and objects compute with.

    It reads them as they are in memory.

    Of ddlab and installed packages only the names of functions and classes count: their next
    version is no edit. A value that cannot be hashed counts by its identity: the hash then holds in
    this Python process alone, and `unhashable` names the value.

    Returns:
        16 hexadecimal digits, equal in every Python process and independent of the order of sets
        and imports.
    """
    return _Reader().read(values, "").hex()[:16]


def unhashable(*values: Any) -> tuple[str, ...]:
    """Return the names of those values that cannot be hashed.

    These are random generators, open files, locks and the like.
    """
    if len(values) == 1 and is_of_the_house(values[0]):
        return ()
    reader = _Reader()
    for value in values:
        reader.read(_parts(value), "")
    return tuple(reader.unhashable)


def is_of_the_house(process: Any) -> bool:
    """Return whether a process is one of ddlab's, and not a reader's own."""
    name = (
        process.__name__
        if isinstance(process, ModuleType)
        else getattr(process, "__module__", None)
    )
    return isinstance(name, str) and name.startswith("ddlab.") and not hasattr(process, "loss")


def _parts(process: Any) -> list[Any]:
    return [process, *(getattr(process, part, None) for part in _PARTS)]


class _Reader:
    """Reads nested values into one digest each.

    Attributes:
        unhashable: the names of values that only their identity tells apart, in the order in which
            they were met.
    """

    def __init__(self) -> None:
        self.unhashable: dict[str, None] = {}
        # id -> the value, held so that no other one gets its id, and its digest.
        self._digests: dict[int, tuple[Any, bytes]] = {}
        # Id -> depth of the values being read: a cycle ends at one of them.
        self._open: dict[int, int] = {}

    def read(self, value: Any, name: str) -> bytes:
        """Return the digest of a value; `name` is what the code calls it."""
        # An enum's member counts with its class, which a reader may edit. All other plain values
        # are their `repr`.
        if isinstance(value, _PLAIN) and not isinstance(value, enum.Enum):
            return _digest(type(value).__qualname__, repr(value))
        key = id(value)
        if key in self._digests:
            return self._digests[key][1]
        # How many levels up the cycle ends is the same in every process; the id is not.
        if key in self._open:
            return _digest("cycle", str(len(self._open) - self._open[key]))
        if len(self._open) > _DEEPEST or len(self._digests) > _LARGEST:
            return self._by_identity(value, name)
        # `finally`, so that a value whose reading fails does not look like a cycle to the next one.
        self._open[key] = len(self._open)
        try:
            digest = self._content(value, name)
        finally:
            del self._open[key]
        self._digests[key] = value, digest
        return digest

    def _content(self, value: Any, name: str) -> bytes:
        if isinstance(
            value, (FunctionType, MethodType, type, ModuleType, types.BuiltinFunctionType)
        ):
            return self._code(value, name)
        # Reading an iterator would use it up.
        if isinstance(value, _GENERATORS) or hasattr(type(value), "__next__"):
            return self._by_identity(value, name)
        if isinstance(value, (Tensor, np.ndarray, np.generic)):
            return self._array(value, name)
        # Of ImageData, DistilledSet, Network, Inputs.
        fingerprint = getattr(value, "fingerprint", None)
        if isinstance(fingerprint, str) and type(value).__module__.startswith("ddlab."):
            return _digest(type(value).__qualname__, fingerprint)
        return self._object(value, name)

    def _many(self, values: Iterable[Any], name: str) -> list[bytes]:
        return [self.read(value, name) for value in values]

    def _by_name(self, pairs: Iterable[tuple[str, Any]]) -> list[bytes]:
        """Return the digests of named values, in the order of their names."""
        digests = []
        for name, value in sorted(pairs, key=lambda pair: pair[0]):
            digests += [name.encode(), self.read(value, name)]
        return digests

    def _by_identity(self, value: Any, name: str) -> bytes:
        # A dict as an ordered set: the warning names them in the order in which a reader meets
        # them.
        self.unhashable[name or type(value).__name__] = None
        _KEPT_ALIVE[id(value)] = value
        return _digest("identity", _THIS_PROCESS, str(id(value)))

    # -- code

    def _code(self, value: Any, name: str) -> bytes:
        if isinstance(value, ModuleType):
            return _digest("module", value.__name__)  # its values count where the code names them
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            bound = (
                b"" if owner is None or isinstance(owner, ModuleType) else self.read(owner, name)
            )
            return _digest("builtin", value.__qualname__, bound)
        if isinstance(value, MethodType):
            return _digest(
                "method", self.read(value.__func__, name), self.read(value.__self__, name)
            )
        if isinstance(value, FunctionType):
            return self._function(value)
        return self._class(value)

    def _function(self, function: FunctionType) -> bytes:
        # What `functools.wraps` made claims the module of the function inside; where it was
        # written, its own code says.
        is_written_by_user = _is_written_by_user(function)
        # ddlab's own files are hashed as a whole by `_package`, and an installed package's next
        # version is no edit.
        if not is_written_by_user and not _is_users(function.__module__):
            return _digest("function", f"{function.__module__}.{function.__qualname__}")
        code = function.__code__
        # What a nested function has caught from around it changes its result as a global does.
        closure = []
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                closure.append((variable, cell.cell_contents))
            except ValueError:  # not bound yet
                continue
        arguments = code.co_varnames[: code.co_argcount]
        # Defaults belong to the last arguments, so they are counted from the end.
        defaults = function.__defaults__ or ()
        named_defaults = [
            *zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True),
            *(function.__kwdefaults__ or {}).items(),
        ]
        parts = [
            function.__qualname__.encode(),
            self._instructions(code),
            *self._by_name(closure),
            b"defaults",
            *self._by_name(named_defaults),
            b"attributes",
            *self._by_name(vars(function).items()),
        ]
        # What a wrapper from a library names in its own globals belongs to the library.
        if is_written_by_user:
            parts += [b"globals", *self._by_name(_reach(code, function.__globals__))]
        return _digest("function", *parts)

    def _instructions(self, code: CodeType) -> bytes:
        # Arguments by name, because callers use them; local names do not matter, and neither do
        # line numbers.
        signature = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        # Nested functions and comprehensions are code objects among the constants; their `repr`
        # holds an address.
        constants = []
        for constant in code.co_consts:
            constants.append(
                self._instructions(constant)
                if isinstance(constant, CodeType)
                else self.read(constant, code.co_name)
            )
        return _digest(
            "code",
            code.co_code,
            repr(code.co_names),
            repr(signature),
            repr(counts),
            code.co_exceptiontable,
            *constants,
        )

    def _class(self, kind: type) -> bytes:
        if not _is_users(kind.__module__):
            return _digest("class", f"{kind.__module__}.{kind.__qualname__}")
        members = []
        # Slots and `__dict__` descriptors differ in address only; special names that are data
        # (`__module__`, `__doc__`) do not change a result.
        for name, member in vars(kind).items():
            is_special = name.startswith("__") and name.endswith("__")
            is_function = isinstance(member, (FunctionType, staticmethod, classmethod))
            is_slot = isinstance(member, (types.MemberDescriptorType, types.GetSetDescriptorType))
            if (is_function or not is_special) and not is_slot and name != "_abc_impl":
                members.append((name, member))
        bases = self._many(kind.__bases__, kind.__name__)
        return _digest("class", kind.__qualname__, *bases, *self._by_name(members))

    # -- values

    def _array(self, value: Any, name: str) -> bytes:
        if isinstance(value, Tensor):
            plain = value.detach()
            # A meta tensor has a shape and no numbers.
            if plain.is_meta:
                return _digest("tensor", str(plain.dtype), repr(tuple(plain.shape)))
            if plain.layout != torch.strided:
                plain = plain.to_dense()
            flat = plain.cpu().contiguous().view(-1)
            content: Any = flat.view(torch.uint8).numpy() if flat.numel() else b""
            return _digest("tensor", str(plain.dtype), repr(tuple(plain.shape)), content)
        # The bytes of an object array are addresses.
        if value.dtype.hasobject:
            return _digest("array", repr(value.shape), self.read(value.tolist(), name))
        content = np.ascontiguousarray(value).reshape(-1)
        return _digest(
            "array",
            str(value.dtype),
            repr(value.shape),
            content.view(np.uint8) if content.size else b"",
        )

    def _object(self, value: Any, name: str) -> bytes:
        parts = [self.read(type(value), name)]
        # A set's order changes from process to process, so its members' digests are sorted.
        if isinstance(value, (set, frozenset)):
            parts += sorted(self._many(value, name))
        elif isinstance(value, (list, tuple)):
            parts += self._many(value, name)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                parts += [
                    self.read(key, name),
                    self.read(item, key if isinstance(key, str) else name),
                ]
        elif isinstance(value, functools.partial):
            parts += self._many((value.func, value.args, value.keywords), name)
        elif isinstance(value, (staticmethod, classmethod)):
            parts.append(self.read(value.__func__, name))
        elif isinstance(value, property):
            parts += self._many((value.fget, value.fset, value.fdel), name)
        elif hasattr(value, "__wrapped__"):  # behind lru_cache, say
            parts.append(self.read(value.__wrapped__, name))
        attributes = dict(_attributes(value))
        # Private attributes of ddlab's objects are caches: filling one is no edit.
        if type(value).__module__.startswith("ddlab."):
            attributes = {
                attribute: item
                for attribute, item in attributes.items()
                if not attribute.startswith("_")
            }
        if not attributes and len(parts) == 1 and not _is_users(type(value).__module__):
            return self._opaque(value, name)
        return _digest("object", *parts, *self._by_name(attributes.items()))

    def _opaque(self, value: Any, name: str) -> bytes:
        """Return the digest of an installed package's object without attributes.

        Its pickled form is hashed, if it has one.
        """
        import joblib

        # A bare `object()` is a sentinel: only its identity tells it from another.
        if type(value) is object:
            return self._by_identity(value, name)
        try:
            return _digest("pickled", joblib.hash(value))
        except Exception:  # whatever its reduction raises
            return self._by_identity(value, name)


def _digest(tag: str, *parts: Any) -> bytes:
    digest = hashlib.sha256(tag.encode())
    for part in parts:
        content = part.encode(errors="surrogatepass") if isinstance(part, str) else memoryview(part)
        # With its length before it, or ("ab", "c") and ("a", "bc") would hash alike.
        digest.update(f"\0{len(content)}\0".encode())
        digest.update(content)
    return digest.digest()


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds by name, in its dictionary and in its slots."""
    if hasattr(value, "__dict__"):
        yield from vars(value).items()
    # Slots of base classes are listed in the bases alone.
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else tuple(slots):
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                yield slot, getattr(value, slot)


def _reach(code: CodeType, scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the globals that code reads, and of a user's modules what it reads of them."""
    global_names, attribute_names, imported = _names(code)
    # `helpers.loss` reads a global and an attribute; which module owns which attribute is not in
    # the bytecode, so every attribute name is looked up in every module that is reached.
    modules = [_imported(name) for name in imported]
    for name in global_names:
        if name in scope:
            yield name, scope[name]
            modules.append(scope[name])
    visited: set[int] = set()
    while modules:
        module = modules.pop()
        if (
            not isinstance(module, ModuleType)
            or id(module) in visited
            or not _is_users(module.__name__)
        ):
            continue
        visited.add(id(module))
        for name in attribute_names:
            if name in vars(module):
                yield f"{module.__name__}.{name}", vars(module)[name]
                modules.append(vars(module)[name])


def _imported(name: str) -> ModuleType | None:
    """Return a module that a function imports when it is called.

    Importing it now keeps the first call from changing the hash.
    """
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except Exception:  # the function itself will say what is wrong
        return None


@functools.lru_cache(4096)
def _names(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the names of globals, attributes and modules in code.

    Functions and classes within it are read too.
    """
    # Dicts as ordered sets: the digest depends on the order.
    global_names: dict[str, None] = {}
    attribute_names: dict[str, None] = {}
    imported: dict[str, None] = {}
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            global_names[instruction.argval] = None
        elif instruction.opname == "IMPORT_NAME":
            imported[instruction.argval] = None
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
            attribute_names[instruction.argval] = None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for names, inner in zip(
                (global_names, attribute_names, imported), _names(constant), strict=True
            ):
                names.update(dict.fromkeys(inner))
    return tuple(global_names), tuple(attribute_names), tuple(imported)


def _is_written_by_user(function: FunctionType) -> bool:
    """Return whether a user may edit a function.

    Its code names its file, whatever module runs it (`python -m cProfile`, pytest) and whatever
    other module has the same name. What was made from a text ("<string>") is of its module.
    """
    file = Path(function.__code__.co_filename)
    if file.is_absolute():
        return _is_users_file(file)
    return _is_users(function.__globals__.get("__name__"))


@functools.cache
def _is_users_file(file: Path) -> bool:
    """Return whether a file is neither installed nor ours."""
    return not any(file.resolve().is_relative_to(place) for place in (_PACKAGE, *_INSTALLED))


@functools.cache
def _is_users(name: str | None) -> bool:
    """Return whether a user may edit a module.

    It is a notebook, or a file that is neither installed nor ours.
    """
    # Also where an installed program runs the reader's cells, as pytest and kernels do.
    if name == "__main__":
        return True
    module = sys.modules.get(name or "")
    file = getattr(module, "__file__", None)
    # A module that a cell makes has no file, and neither have Python's built-in modules: only the
    # latter are not the user's.
    if file is None:
        is_of_python = getattr(getattr(module, "__spec__", None), "origin", None) in (
            "built-in",
            "frozen",
        )
        return name not in sys.builtin_module_names and not is_of_python
    return _is_users_file(Path(file))


@functools.cache
def _package() -> str:
    """Return the hash of all files of ddlab that a process can reach."""
    # The bytes and not the code objects: reading the files takes milliseconds, and a module that is
    # not imported yet counts too.
    digest = hashlib.sha256()
    for room in _ROOMS:
        for file in sorted((_PACKAGE / room).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
