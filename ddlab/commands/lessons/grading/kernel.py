"""The student's kernel: runs a submission's cells and answers the judge with data. From its first cell on it is not to be trusted.

It is IPython without Jupyter's sockets: cells, magics and `display` as in a notebook, requests and answers through two pipes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import sandbox
from .data import NotData, packed, unpacked


class Kernel:
    """Answers requests about a namespace.

    Args:
        space: where cells run. run: runs a cell in it, whatever that raises.
    """

    def __init__(self, space: dict[str, Any], run: Callable[[str], Any]) -> None:
        self.space, self.run = space, run

    def answer(self, content: bytes) -> bytes:
        """The answer to {"run": code}, {"get": name} or {"call": name, "arguments": [list, dict]}, all as `packed` writes them."""
        try:
            return packed(self._answer(unpacked(content, self.space)))
        except NotData as problem:
            return packed({"not data": str(problem)})
        except BaseException as problem:  # SystemExit, too, is what a student's function may raise
            return packed({"raised": [type(problem).__name__, str(problem)[:2000]]})

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        if "run" in message:
            self.run(message["run"])
            return {}
        if "get" in message:
            if message["get"] not in self.space:
                return {"missing": True}
            value = self.space[message["get"]]
            return {"function": True} if callable(value) else {"value": value}
        arguments, keywords = given = message["arguments"]
        before = self._known(given)
        value = self.space[message["call"]](*arguments, **keywords)
        changed = before is not None and self._known(given) != before
        return {"value": value, "arguments": given} if changed else {"value": value}

    def _known(self, given: Any) -> bytes | None:
        try:
            return packed(given, {id(value): name for name, value in self.space.items()})
        except NotData:
            return None


def shell() -> Any:
    """IPython as a notebook has it, without a history."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    return InteractiveShell.instance(config=config)


def main() -> None:
    """Serve until the requests end. sys.argv: where answers go (a file descriptor), the limits (JSON)."""
    folder, limits = Path.cwd(), sandbox.Limits(**json.loads(sys.argv[2]))
    sandbox.confine(folder, limits)
    answers = int(sys.argv[1])
    os.set_inheritable(answers, False)
    with open(os.dup(0), "rb", buffering=0) as requests, open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
        ipython = shell()
        student = Kernel(ipython.user_ns, ipython.run_cell)
        while size := _read(requests, 8):
            answer = student.answer(_read(requests, int.from_bytes(size, "big")))
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            whole = memoryview(len(answer).to_bytes(8, "big") + answer)
            while whole:
                whole = whole[os.write(answers, whole) :]


def _read(file: Any, size: int) -> bytes:
    found = bytearray()
    while len(found) < size and (part := file.read(size - len(found))):
        found += part
    return bytes(found)
