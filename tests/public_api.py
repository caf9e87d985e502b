"""What is public in ddlab, and `API.md`, which lists it: name, signature, first line of the docstring.

python -m tests.public_api            write API.md (make api)

Public is
- of a module or package with `__all__`: what stands there (a package speaks for the modules inside it);
- of any other module: the functions and classes that are written in it;
- of a class: its constructor, and the methods and properties that are written in ddlab;
and nothing that begins with an underscore. The modules are those at the top of the package, and those that are looked up by name:
methods, datasets and, for their Options alone, network families. Commands (`python -m ...`) are no API.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ForwardRef

import ddlab
from ddlab import methods, networks

FILE = Path(__file__).parents[1] / "API.md"
COMMANDS = {"benchmark", "method_benchmarks", "replication"}
HEAD = """# Public names of ddlab

Written by `make api` from signatures and docstrings; a test holds it in step, so that a change of the API is seen as a difference
here. Names that are not listed may change at any time. `import ddlab` also offers at the top: {top}.
"""
WIDTH = 120
_SHOWN = (bool, int, float, str, bytes, type(None))


def modules() -> list[ModuleType]:
    """Every public module, those of the top of the package first in the order of their names."""
    top = [found.name for found in pkgutil.iter_modules(ddlab.__path__) if not found.name.startswith("_")]
    looked_up = [f"methods.{name}" for name in methods.MODULES]
    looked_up += [f"data.{name}" for name in ("digits", "shapes", "torchvision_sets", "folder")]
    looked_up += [f"networks.{name}" for name in networks.FAMILIES.values()]
    names = sorted([name for name in top if name not in COMMANDS] + looked_up)
    return [importlib.import_module(f"ddlab.{name}") for name in names]


def public(module: ModuleType) -> dict[str, Any]:
    """The public names of a module, in the order in which it lists or defines them."""
    if module.__name__.removeprefix("ddlab.networks.") in networks.FAMILIES.values():
        return {"Options": vars(module)["Options"]}
    if hasattr(module, "__all__"):
        return {name: getattr(module, name) for name in sorted(module.__all__)}
    own = [(name, value) for name, value in vars(module).items() if not name.startswith("_")]
    return {
        name: value
        for name, value in own
        if (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__ == module.__name__
    }


@functools.cache
def callables() -> dict[str, Any]:
    """Every public function and class by its dotted name without "ddlab."; the same object under one name only."""
    found: dict[str, Any] = {}
    for module in modules():
        for name, value in public(module).items():
            if callable(value) and not any(value is other for other in found.values()):
                found[f"{module.__name__}.{name}".removeprefix("ddlab.")] = value
    return found


def parameters(value: Any) -> list[inspect.Parameter]:
    """The parameters of a function, or of what makes an instance of a class; without self."""
    if not inspect.isclass(value):
        return list(inspect.signature(value).parameters.values())
    if hasattr(value, "_fields"):
        return list(inspect.signature(value.__new__).parameters.values())[1:]
    if dataclasses.is_dataclass(value) or "ddlab" in getattr(value.__init__, "__module__", ""):
        return list(inspect.signature(value.__init__).parameters.values())[1:]
    return []


def inherited(owner: type) -> list[type]:
    """The nearest base classes that are public themselves."""
    listed = [value for value in callables().values() if inspect.isclass(value)]
    return [base for base in owner.__bases__ if base in listed]


def members(owner: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that are written in ddlab, in order; without those of `inherited`."""
    seen: dict[str, Any] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("ddlab") and not any(issubclass(known, base) for known in inherited(owner)):
            seen |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    for name, value in seen.items():
        plain = getattr(value, "__func__", getattr(value, "fget", None) or getattr(value, "func", value))
        if inspect.isfunction(plain):
            yield name, value


def text() -> str:
    """What stands in API.md."""
    parts = [HEAD.format(top=", ".join(f"`{name}`" for name in sorted(ddlab._NAMES)))]
    for module in modules():
        lines: list[str] = []
        for name, value in public(module).items():
            lines += _class(name, value) if inspect.isclass(value) else _other(name, value)
        about = inspect.cleandoc(module.__doc__ or "").splitlines()[0]
        parts.append(f"## {module.__name__}\n\n{about}\n\n```python\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


def _class(name: str, value: type) -> list[str]:
    lines = [*_signature(f"class {name}", parameters(value), ""), *_said(value)]
    lines += [f"    # And all that {base.__name__} has." for base in inherited(value)]
    for member, found in members(value):
        if isinstance(found, (classmethod, staticmethod)):
            lines += _function(f"{name}.{member}", found.__func__, skip=isinstance(found, classmethod))
        elif inspect.isfunction(found):
            lines += _function(f"{name}.{member}", found, skip=True)
        else:
            getter = getattr(found, "fget", None) or found.func  # property, cached_property
            lines += [f"{name}.{member}: {_annotation(getter.__annotations__.get('return', 'Any'))}", *_said(getter)]
    return lines


def _other(name: str, value: Any) -> list[str]:
    return _function(name, value, skip=False) if inspect.isroutine(value) else [f"{name}: {type(value).__name__}"]


def _function(name: str, value: Any, *, skip: bool) -> list[str]:
    signature = inspect.signature(value)
    given = list(signature.parameters.values())[1 if skip else 0 :]
    back = signature.return_annotation
    arrow = "" if back is inspect.Signature.empty else f" -> {_annotation(back)}"
    return [*_signature(f"def {name}", given, arrow), *_said(value)]


def _said(value: Any) -> list[str]:
    # A dataclass without docstring of its own gets its signature as one, with the reprs of one version.
    words = (value.__doc__ or "").strip()
    return [] if not words or words.startswith(f"{value.__name__}(") else [f"    # {words.splitlines()[0].strip()}"]


def _signature(head: str, given: list[inspect.Parameter], arrow: str) -> list[str]:
    """On one line, or one parameter to a line where that would be too long."""
    words, starred = [], False
    for parameter in given:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        words.append(_parameter(parameter))
    line = f"{head}({', '.join(words)}){arrow}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{head}(", *(f"    {word}," for word in words), f"){arrow}"]


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {_annotation(parameter.annotation)}"
    default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
    return f"{stars}{parameter.name}{kind}{default}"


def _annotation(given: Any) -> str:
    """As it stands in the source: every module has `from __future__ import annotations`."""
    if isinstance(given, ForwardRef):
        return given.__forward_arg__
    return given if isinstance(given, str) else getattr(given, "__name__", str(given))


def _default(value: Any) -> str:
    """The value where it is short and reads the same in every version; "..." otherwise."""
    whole = all(isinstance(item, _SHOWN) for item in value) if isinstance(value, tuple) else isinstance(value, _SHOWN)
    return repr(value) if whole else "..."


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
