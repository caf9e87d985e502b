"""A submission's process from outside: its folder, what all its processes use together, and their end."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from . import sandbox
from .sandbox import Limits

_SUBREAPER = 36  # of prctl(2)


@contextlib.contextmanager
def fresh_folder() -> Iterator[Path]:
    """An empty folder that is gone afterwards, however deep a submission nested others in it."""
    folder = Path(tempfile.mkdtemp(prefix="ddlab-grade-"))
    try:
        yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        except RecursionError:
            subprocess.run(["rm", "-rf", str(folder)], check=False)


class Confined:
    """A student's process and all that it starts: watched, and ended with the `with` block.

    Attributes:
        pipes: of this side, in the order requests, answers, output, errors.
    """

    def __init__(self, module: str, arguments: list[str], folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._module, self._arguments = module, arguments

    def __enter__(self) -> Confined:
        self._ours = psutil.Process()
        # Who leaves its parent becomes a child of ours instead of the system's, and is found.
        if sys.platform == "linux":
            sandbox.LIBC.prctl(_SUBREAPER, 1, 0, 0, 0)
        self._others = set(self._ours.children(recursive=True))
        if os.geteuid() == 0:
            os.chown(self.folder, *[_nobody()] * 2)
        answers, to_us = os.pipe()
        words = [*(sandbox.bubblewrap(self.folder) if sandbox.bubblewrap_works() else [])]
        words += sandbox.command(self._module, str(to_us), *self._arguments)
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[to_us],
            cwd=self.folder,
            env=sandbox.environment(self.folder),
            start_new_session=True,
        )
        os.close(to_us)
        requests, output, heard = self._process.stdin, self._process.stdout, self._process.stderr
        self._streams: list[Any] = [requests, os.fdopen(answers, "rb"), output, heard]
        self.pipes = tuple(stream.fileno() for stream in self._streams)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._close()
        if sys.platform == "linux":
            sandbox.LIBC.prctl(_SUBREAPER, 0, 0, 0, 0)

    def leave_to(self, judge: int) -> None:
        """Another process has the pipes now, and is none of the student's."""
        self._others.add(psutil.Process(judge))
        self._close()

    def watched(self, judge: subprocess.Popen[bytes], given: bytes) -> tuple[bytes, str]:
        """What the judge says of `given`, and which limit was exceeded before ("": none)."""
        end, why, waiting = time.monotonic() + self.limits.seconds, "", given
        while True:
            try:
                return judge.communicate(waiting, timeout=0.2)[0], why
            except subprocess.TimeoutExpired:
                waiting = None
            why = why or self._too_much()
            if time.monotonic() > end:
                why = f"it took longer than {self.limits.seconds:g} s"
                judge.kill()
            if why:
                self.end()

    def _close(self) -> None:
        """The ends of the pipes on this side."""
        for stream in self._streams:
            with contextlib.suppress(OSError):
                stream.close()
        self._streams = []

    def _too_much(self) -> str:
        """Which limit is exceeded, in words; "" while none is. What leaves the process behind is ended."""
        running = self._running()
        if self._process.poll() is not None and running:
            self.end()
            return ""
        held = 0
        for each in running:
            with contextlib.suppress(psutil.Error):
                held += each.memory_info().rss
        if len(running) > self.limits.processes:
            return f"it started more than {self.limits.processes} processes"
        if held > self.limits.megabytes * 2**20:
            return f"it took more than {self.limits.megabytes} MB of memory"
        size = number = 0
        try:
            for place, _, names in itertools.islice(os.walk(self.folder), self.limits.files):
                number += 1 + len(names)
                for name in names[: self.limits.files]:
                    with contextlib.suppress(OSError):
                        size += os.lstat(os.path.join(place, name)).st_blocks * 512
        except RecursionError:  # folders in folders
            number = sys.maxsize
        if number > self.limits.files or size > self.limits.file_megabytes * 2**20:
            return f"it wrote more than {self.limits.files} files or {self.limits.file_megabytes} MB"
        return ""

    def end(self) -> None:
        """End all of them, also those that start others meanwhile."""
        for _ in range(100):
            running = self._running()
            for act in (psutil.Process.suspend, psutil.Process.kill) if len(running) > 1 else (psutil.Process.kill,):
                for each in running:
                    with contextlib.suppress(psutil.Error):
                        act(each)
            for each in running:
                if each.pid != self._process.pid:
                    with contextlib.suppress(OSError, psutil.Error):
                        os.waitpid(each.pid, os.WNOHANG)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)
            if not running:
                return

    def _running(self) -> set[psutil.Process]:
        others = set(self._others)
        for each in self._others:
            with contextlib.suppress(psutil.Error):
                others |= set(each.children(recursive=True))
        return set(self._ours.children(recursive=True)) - others


def _nobody() -> int:
    """The number of a user that no account has."""
    known = {account.pw_uid for account in pwd.getpwall()}
    return next(user for user in range(60000, 65000) if user not in known)
