"""Registries: members by name, loaded when first asked for, so that what declares a member may stand on what reads the registry."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import TypeVar

Member = TypeVar("Member")


class Registry(Mapping[str, Member]):
    """Name -> member; `load` is called once, at the first look-up."""

    def __init__(self, load: Callable[[], Mapping[str, Member]]) -> None:
        self._members = functools.cache(load)

    def __getitem__(self, name: str) -> Member:
        return self._members()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members())

    def __len__(self) -> int:
        return len(self._members())


def folders(package: str) -> Iterator[ModuleType]:
    """The packages inside a package, by name: a new folder need be named nowhere."""
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if found.ispkg:
            yield importlib.import_module(found.name)


def in_folders(package: str, file: str) -> Iterator[ModuleType]:
    """The module `file` of every one of these folders that has it."""
    for folder in folders(package):
        if file in (found.name for found in pkgutil.iter_modules(folder.__path__)):
            yield importlib.import_module(f"{folder.__name__}.{file}")
