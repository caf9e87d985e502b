"""Every process and laboratory in the storm, as the registries name them: what is theirs alone stands as `STORM` in their own tests.

`STORM` of tests/methods/test_fadrm.py or tests/lessons/data_residuals/test_lab.py: the name of a public function, class or
laboratory of that module -> right arguments, or the reason why it is left alone.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

from ddlab import lessons
from ddlab.explorers import Explorer, Lab
from tests import public_api
from tests.contract.test_processes import CASES, PROCESSES, bundle
from tests.storm.good import DRIVEN, EVERY_STEP, RECORD, Given, Good

PARTS = dict.fromkeys(("total_steps", "init", "update", "finish", "look", "prefix", "batches", "begin_batch"), DRIVEN)
PARTS |= dict.fromkeys(("State", "Trace"), RECORD)


@functools.cache
def called() -> dict[str, Any]:
    """What the storm is thrown at: the public functions and classes, and the laboratories in the folders of lessons."""
    return public_api.callables() | laboratories()


@functools.cache
def laboratories() -> dict[str, Any]:
    """The laboratories and free-form explorers that the folders of lessons declare."""
    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(lessons.__path__, "ddlab.lessons."):
        if module.name.count(".") > 2:
            own = vars(importlib.import_module(module.name))
            room = module.name.removeprefix("ddlab.")
            found |= {f"{room}.{name}": value for name, value in own.items() if _is_laboratory(value, module.name)}
    return found


def _is_laboratory(value: Any, module: str) -> bool:
    if isinstance(value, Lab):
        return value.world.__module__.rpartition(".")[0] == module.rpartition(".")[0]
    return inspect.isclass(value) and issubclass(value, Explorer) and value.__module__ == module


def _said(module: str) -> Iterator[tuple[str, Any]]:
    """What the test of a module, "methods.fadrm", says in its `STORM`, by dotted names."""
    room, _, file = module.rpartition(".")
    test = f"tests.{room}.test_{file}"
    if importlib.util.find_spec(test) is not None:
        for name, entry in getattr(importlib.import_module(test), "STORM", {}).items():
            yield f"{module}.{name}", entry


def _run(process: Any) -> Good:
    """The first of the contract cases of a process; wrong ones in its place are thrown at `runs.process.run`."""
    case = next(case for case in CASES if case.module is process)

    def make(g: Given) -> dict[str, Any]:
        inputs = bundle(case, g.data, g.teacher, g.distilled)
        return {"process": process, "config": case.config, "inputs": inputs}

    return Good(make, only=("config", "inputs"), nan_passes=EVERY_STEP)


def _entries() -> Iterator[tuple[str, Any]]:
    for process in PROCESSES:
        room = process.__name__.removeprefix("ddlab.")
        yield f"{room}.Config", Good(lambda g: {})
        yield from ((f"{room}.{name}", reason) for name, reason in PARTS.items() if f"{room}.{name}" in called())
        yield f"runs.process.steps:{process.NAME}", _run(process)
        yield from _said(room)
    for module in sorted({name.rpartition(".")[0] for name in laboratories()}):
        yield from _said(module)


OWN = dict(_entries())
