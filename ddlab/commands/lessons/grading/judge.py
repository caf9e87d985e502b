"""The judge: runs the instructor's cells, hidden tests included, in a process that the student's kernel cannot reach.

A student's function is here one that sends its arguments to the student's kernel and gets back data; a student's variable is fetched
as data before each cell that reads it. So the right values, and what is done with them, never leave this process.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Callable, Iterable
from typing import Any

from . import data, kernel
from .data import NotData
from .sandbox import Limits

# Raised by a student's function, these would end a loop of the tests early, without an error.
_SILENT = (StopIteration, StopAsyncIteration)


class Gone(BaseException):
    """The submission cannot go on; the message says why. No `except Exception` of a test catches it."""


class Judge:
    """Goes through an assignment, cell by cell.

    Args:
        space: where the instructor's cells run. run: runs one in it; returns what it raised, or None.
        ask: sends a request to the student's kernel (see `kernel.Kernel.answer`); returns its answer, and whether it wrote
            to standard error meanwhile.

    Attributes:
        points: test cell -> points. remarks: sentences on what could not be judged.
    """

    def __init__(
        self,
        space: dict[str, Any],
        run: Callable[[str], BaseException | None],
        ask: Callable[[bytes], tuple[bytes, bool]],
    ) -> None:
        self.space, self._run, self._ask = space, run, ask
        self.points: dict[str, float] = {}
        self.remarks: list[str] = []
        self._heard = False
        self._students: set[str] = set()
        self._ours: set[str] = set()  # what the instructor's cells have bound on both sides

    def go(self, step: dict[str, Any]) -> None:
        """One cell: `student` is run in the student's kernel, `judge` here.

        `key` and `points` are those of a test, `names` what the instructor's version of an answer defines.
        """
        if step["student"] is not None:
            self._request({"run": step["student"]})
        self._students |= set(step["names"])
        if step["judge"] is None:
            return
        # What a cell without points cannot fetch, a figure's run say, costs nobody anything.
        self._fetch(read_names(step["judge"]) & self._students, step["key"] if step["points"] is not None else "")
        self._heard = False
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            problem = self._run(step["judge"])
        if isinstance(problem, NotData):
            self._remark(step["key"], str(problem))
        bound = bound_names(step["judge"])
        self._students -= bound
        if step["points"] is not None:
            failed = problem is not None or self._heard or errors.getvalue()
            self.points[step["key"]] = 0.0 if failed else step["points"]
        else:
            self._ours |= bound

    def _fetch(self, names: Iterable[str], key: str) -> None:
        for name in sorted(names):
            found = self._request({"get": name})
            self.space.pop(name, None)
            if found.get("function"):
                self.space[name] = self._function(name)
            elif "value" in found:
                self.space[name] = found["value"]
            elif "not data" in found and key:
                self._remark(key, f"{name} is {found['not data']}")

    def _function(self, name: str) -> Callable[..., Any]:
        def function(*arguments: Any, **keywords: Any) -> Any:
            given = [list(arguments), keywords]
            found = self._request({"call": name, "arguments": given})
            if "raised" in found:
                raise _error(*found["raised"])
            if "value" not in found:
                raise NotData(f"{name} gives {found.get('not data', 'no answer')}")
            if "arguments" in found:
                data.update(given, found["arguments"])
            return found["value"]

        function.__name__ = function.__qualname__ = name
        return function

    def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        names = {id(self.space[name]): name for name in self._ours if name in self.space}
        try:
            content = data.packed(message, names)
        except NotData as problem:
            raise NotData(f"{message.get('call')} is given {problem} without a name of its own") from None
        answer, heard = self._ask(content)
        self._heard = self._heard or heard
        found = data.unpacked(answer)
        if not isinstance(found, dict):
            raise NotData("an answer of no known form")
        return found

    def _remark(self, key: str, words: str) -> None:
        sentence = f"{key}: {words}, which cannot be carried out of the student's kernel as data"
        self.remarks.append("".join(each if each.isprintable() else "?" for each in sentence)[:300])


def _error(name: Any, message: Any) -> Exception:
    if name == "DDLabError":
        from ....core.errors import DDLabError as kind
    else:
        kind = getattr(builtins, str(name), None)
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _SILENT):
        with contextlib.suppress(Exception):  # UnicodeDecodeError takes five arguments
            return kind(str(message))
    return RuntimeError(f"{name}: {message}"[:2000])


def read_names(code: str) -> set[str]:
    """Every name that a cell reads, in its functions too."""
    return {each.id for each in ast.walk(_parsed(code)) if isinstance(each, ast.Name)}


def bound_names(code: str) -> set[str]:
    """The names that a cell defines for the next, imports left out."""
    found: set[str] = set()
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    inner += (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    waiting: list[ast.AST] = [_parsed(code)]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(each.name)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        if not isinstance(each, inner):
            waiting += ast.iter_child_nodes(each)
    return found


def imports(code: str) -> str:
    """A cell's own imports: what they bind is the library's, and needs not be fetched."""
    return "\n".join(ast.unparse(each) for each in _parsed(code).body if isinstance(each, (ast.Import, ast.ImportFrom)))


def _parsed(code: str) -> ast.Module:
    from IPython.core.inputtransformer2 import TransformerManager

    return ast.parse(TransformerManager().transform_cell(code))


class Pipes:
    """The student's kernel from here: requests go in; answers, and how much is written, come out. Both are bounded."""

    def __init__(self, pipes: Iterable[int], limits: Limits) -> None:
        self._requests, self._answers, self._output, self._errors = pipes
        self._open, self._written, self._limits = {self._output, self._errors}, 0, limits
        for pipe in (self._requests, self._answers, self._output, self._errors):
            os.set_blocking(pipe, False)
        self.gone = ""
        self._heard = False

    def ask(self, content: bytes) -> tuple[bytes, bool]:
        """The answer to one request, and whether anything was written to standard error since the last.

        Raises:
            Gone: there will be none.
        """
        if self.gone:
            raise Gone(self.gone)
        going, found = memoryview(len(content).to_bytes(8, "big") + content), bytearray()
        while True:
            ready, free, _ = select.select([self._answers, *self._open], [self._requests] if going else [], [])
            self._listen()
            try:
                if free:
                    going = going[os.write(self._requests, going[: 2**16]) :]
                if self._answers in ready:
                    part = os.read(self._answers, 2**16)
                    if not part:
                        self.stop("the kernel died (often: out of memory)")
                    found += part
            except BrokenPipeError:
                self.stop("the kernel died (often: out of memory)")
            except BlockingIOError:
                continue
            size = int.from_bytes(found[:8], "big") if len(found) >= 8 else 0
            if size > self._limits.answer_megabytes * 2**20:
                self.stop(f"an answer of more than {self._limits.answer_megabytes} MB")
            if size and len(found) >= 8 + size and not going:
                self._listen()  # what was written before the answer is there by now
                heard, self._heard = self._heard, False
                return bytes(found[8 : 8 + size]), heard

    def stop(self, why: str) -> None:
        """End it."""
        self.gone = self.gone or why
        raise Gone(self.gone)

    def _listen(self) -> None:
        """Count what was written, and forget it."""
        for pipe in list(self._open):
            with contextlib.suppress(BlockingIOError):
                part = os.read(pipe, 2**16)
                self._written += len(part)
                self._heard = self._heard or (bool(part) and pipe == self._errors)
                if not part:
                    self._open.discard(pipe)
        if self._written > self._limits.output_megabytes * 2**20:
            self.stop(f"it wrote more than {self._limits.output_megabytes} MB of output")


def main() -> None:
    """Read steps, limits and pipes (JSON) from standard input; write points, remarks and the problem, if any, to standard output."""
    given = json.load(sys.stdin)
    memory = given["limits"]["megabytes"] * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))  # an answer may be large
    with open(os.dup(1), "w", encoding="utf-8") as result, open(os.devnull, "w") as nothing:
        for stream in (1, 2):
            os.dup2(nothing.fileno(), stream)
        json.dump(_judged(given["steps"], Limits(**given["limits"]), given["pipes"]), result)


def _judged(steps: list[dict[str, Any]], limits: Limits, ends: list[int]) -> dict[str, Any]:
    pipes, shell = Pipes(ends, limits), kernel.shell()
    overtime = f"a cell took longer than {limits.seconds_per_cell:g} s"
    signal.signal(signal.SIGALRM, lambda *_: pipes.stop(overtime))

    def run(code: str) -> BaseException | None:
        found = shell.run_cell(code)
        return found.error_before_exec or found.error_in_exec

    bench = Judge(shell.user_ns, run, pipes.ask)
    problem = None
    try:
        pipes.ask(data.packed({"get": ""}))  # how long a kernel takes to start is not the student's time
        for step in steps:
            signal.setitimer(signal.ITIMER_REAL, limits.seconds_per_cell)
            bench.go(step)
            signal.setitimer(signal.ITIMER_REAL, 0)
            if pipes.gone:  # IPython takes it for the cell's own
                raise Gone(pipes.gone)
    except Gone as end:
        problem = str(end)
    except NotData as end:
        problem = f"the kernel gave {end}"
    return {"points": bench.points, "remarks": bench.remarks, "problem": problem}
