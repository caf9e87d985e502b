"""What is public in ddlab; `public_names.txt`, which lists it, and the reference pages, which explain it.

python -m tests.public_api                        write tests/public_names.txt (make api)
python -m tests.public_api --reference FOLDER     write the reference pages, by pdoc (part of make html)

Public is
- of a module or package with `__all__`: what stands there (a package speaks for the modules inside it);
- of any other module: the functions and classes that are written in it;
- of a class: its constructor, and the methods and properties that are written in ddlab;
and nothing that begins with an underscore. The modules are the rooms, those that a room names in its `__all__`, the
explorers of lessons, and those that are looked up by name: methods, datasets and, for their Options alone, network
families. The command line (`ddlab ...`) is no API.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import ddlab
from ddlab import data, methods, networks

FILE = Path(__file__).with_name("public_names.txt")
_LONGEST = 10  # characters of a default that is shown


EXPLORERS = {
    "lessons.bases.lab": ("SelfSupervisedLab",),
    "lessons.claims_on_trial.trial_card": (
        "ANSWERS",
        "Shown",
        "Trial",
        "TrialCard",
    ),
    "lessons.data_residuals.lab": ("ResidualLab",),
    "lessons.diversity.lab": ("DiversityLab",),
    "lessons.diversity.latents": ("LatentConflict",),
    "lessons.ideal_data.lab": (
        "LandscapeLab",
        "RhoLab",
        "SigmaLab",
    ),
    "lessons.inverting_a_network.diversity_view": ("DiversityView",),
    "lessons.matching.lab": ("MatchingLab",),
    "lessons.matching.what_is_matched": ("GradientLab",),
    "lessons.representations.lab": ("TargetLab",),
    "lessons.kernels.finite": ("WidthLab",),
    "lessons.kernels.lab": ("KernelLab",),
    "lessons.kernels.plane": ("KernelPlane",),
}
"""What the folders of lessons offer: their explorers."""


def modules() -> list[ModuleType]:
    """Every public module, in the order of their names: rooms, the modules that a room offers, and those looked up."""
    rooms = [found.name for found in pkgutil.iter_modules(ddlab.__path__) if not found.name.startswith("_")]
    looked_up = [methods.get(name).__name__ for name in methods.names()]
    looked_up += [
        "ddlab.methods.distillation",
        "ddlab.methods.kernel_ridge",
        "ddlab.methods.kernels",
        "ddlab.methods.own",
    ]
    looked_up += [
        f"ddlab.data.{name}" for name in ("torchvision_sets", *data.NAMES) if name not in data.torchvision_sets.NAMES
    ]
    looked_up += [f"ddlab.networks.{name}" for name in networks.FAMILIES.values()]
    looked_up += [f"ddlab.{name}" for name in EXPLORERS]
    found = [importlib.import_module(name) for name in looked_up]
    for room in rooms:
        if room != "commands":
            found += _with_inner(importlib.import_module(f"ddlab.{room}"))
    return sorted(found, key=lambda module: module.__name__)


def _with_inner(module: ModuleType) -> list[ModuleType]:
    """A module, and those that it names in `__all__`."""
    inner = [getattr(module, name) for name in getattr(module, "__all__", ())]
    return [module, *(one for part in inner if isinstance(part, ModuleType) for one in _with_inner(part))]


def public(module: ModuleType) -> dict[str, Any]:
    """The public names of a module, in the order in which it lists or defines them."""
    if module.__name__.removeprefix("ddlab.networks.") in networks.FAMILIES.values():
        return {"Options": vars(module)["Options"]}
    offered = EXPLORERS.get(module.__name__.removeprefix("ddlab."), getattr(module, "__all__", None))
    if offered is not None:
        found = {name: getattr(module, name) for name in sorted(offered)}
        return {name: value for name, value in found.items() if not isinstance(value, ModuleType)}
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
    shown = [(module.__name__, name, value) for module in modules() for name, value in public(module).items()]
    for module, name, value in sorted(
        shown, key=lambda one: getattr(one[2], "__module__", "") != one[0]
    ):  # its own first
        if callable(value) and not any(value is other for other in found.values()):
            found[f"{module}.{name}".removeprefix("ddlab.")] = value
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


def text() -> str:
    """What stands in public_names.txt: the names of each module, those of a class below it, with their parameters."""
    lines = ["ddlab", *(f"  {name}" for name in sorted(ddlab._NAMES))]
    for module in modules():
        lines.append(module.__name__)
        for name, value in public(module).items():
            if inspect.isroutine(value) or inspect.isclass(value):
                lines.append(f"  {name}({_signature(parameters(value))})")
                lines += [f"    {line}" for line in _members(value)] if inspect.isclass(value) else []
            else:
                lines.append(f"  {name}: {type(value).__name__}")
    return "\n".join(lines) + "\n"


def _members(owner: type) -> Iterator[str]:
    """The public methods and properties of a class that are written in ddlab, in order; without those of a public base."""
    known = [base for base in owner.__bases__ if any(base is value for value in callables().values())]
    seen: dict[str, Any] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("ddlab") and not any(issubclass(listed, base) for listed in known):
            seen |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    for name, value in seen.items():
        if isinstance(value, (property, functools.cached_property)):
            yield name
        elif inspect.isfunction(plain := getattr(value, "__func__", value)):
            given = list(inspect.signature(plain).parameters.values())
            yield f"{name}({_signature(given if isinstance(value, staticmethod) else given[1:])})"


def _signature(given: Sequence[inspect.Parameter]) -> str:
    words, starred = [], False
    for parameter in given:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            words.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        words.append(f"{stars}{parameter.name}{_default(parameter.default)}")
    return ", ".join(words)


def _default(value: Any) -> str:
    """The value where it is short and reads the same in every version; "..." otherwise."""
    if value is inspect.Parameter.empty:
        return ""
    shown = repr(value) if isinstance(value, (bool, int, float, str, type(None))) else "..."
    return f"={shown if len(shown) <= _LONGEST else '...'}"


def write_reference(folder: str | Path, names: Sequence[str] | None = None) -> None:
    """Pages of these modules of ddlab (default: all that are public) by pdoc, to read without a network; begin with index.html.

    pdoc shows what stands in `__all__` and keeps the columns of no table outside a fence: modules are changed, in this process alone.
    """
    import pdoc
    import pdoc.render

    for name in ddlab._NAMES:  # loaded when first used; pdoc looks without using
        setattr(ddlab, name, getattr(ddlab, name))
    shown = [module for module in modules() if names is None or module.__name__.removeprefix("ddlab.") in names]
    for module in (ddlab, *shown):
        below = [each.__name__.rpartition(".") for each in shown]
        own = ddlab._NAMES if module is ddlab else public(module)
        listed = [*(name for parent, _, name in below if parent == module.__name__), *own]
        setattr(module, "__all__", list(dict.fromkeys(listed)))  # noqa: B010 (pyright knows no __all__ of a module)
        module.__doc__ = _fenced(module.__doc__ or "")
    pdoc.render.configure(docformat="google", footer_text=f"ddlab {ddlab.__version__}")
    pages = [module.__name__ for module in (ddlab, *shown)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are imported for type checkers alone stay words
        # Each is named, as not every package lists what is inside it; what pdoc finds beside them is left out.
        pdoc.pdoc(*pages, f"!(?!(?:{'|'.join(map(re.escape, pages))})$)", output_directory=Path(folder))


def _fenced(words: str) -> str:
    """A docstring whose tables (symbols, equations) keep their columns in Markdown."""
    parts = inspect.cleandoc(words).split("\n\n")
    return "\n\n".join(f"```text\n{part}\n```" if re.search(r"^\S.* {3,}\S", part, re.M) else part for part in parts)


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--reference", type=Path, metavar="FOLDER", help="write the reference pages there instead")
    folder = options.parse_args().reference
    if folder is None:
        FILE.write_text(text(), encoding="utf-8")
    else:
        write_reference(folder)
        print(f"reference written; begin with {folder / 'index.html'}")


if __name__ == "__main__":
    main()
