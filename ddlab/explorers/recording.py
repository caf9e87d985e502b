"""A bounded record of one run's frames in memory, which the scrubber shows.

recording = Recording(capacity=200)
for step in steps(process, config, inputs):
    if recording.wants(step.index):
        recording.add(step.index, encode_grid(...))
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..errors import check_integer

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Frame(Generic[Kept]):
    """One kept moment: the step it belongs to and what was kept of it (PNG bytes, arrays, numbers)."""

    index: int
    content: Kept


class Recording(Generic[Kept]):
    """At most `capacity` frames, spread evenly over the run however long it gets.

    When it is full every second frame is dropped and from then on only every second one is wanted. So which steps are kept depends
    on their numbers only, not on the speed of the machine. The newest frame is always kept.
    """

    def __init__(self, capacity: int = 200) -> None:
        self.capacity = check_integer("capacity", capacity, 2)
        self.every = 1
        self._frames: list[Frame[Kept]] = []
        self._last: Frame[Kept] | None = None
        self._lock = threading.Lock()

    def wants(self, index: int) -> bool:
        """Whether step number `index` should be encoded and added at all; the first step (1) always is."""
        return (index - 1) % self.every == 0

    def add(self, index: int, content: Kept) -> None:
        """Keep a frame; indices must rise."""
        with self._lock:
            newest = self.newest_index()
            check_integer("index", index, 0 if newest is None else newest + 1)
            frame = Frame(index, content)
            self._last = frame
            if not self.wants(index):
                return
            self._frames.append(frame)
            while len(self._frames) > self.capacity - 1:
                self.every *= 2
                self._frames = [kept for kept in self._frames if self.wants(kept.index)]

    def newest_index(self) -> int | None:
        """The index of the newest frame."""
        return None if self._last is None else self._last.index

    @property
    def frames(self) -> list[Frame[Kept]]:
        """The kept frames, in order, the newest one last."""
        with self._lock:
            extra = self._last is not None and (not self._frames or self._frames[-1] is not self._last)
            return [*self._frames, self._last] if extra and self._last is not None else list(self._frames)

    def clear(self) -> None:
        """Forget all frames."""
        with self._lock:
            self._frames, self._last, self.every = [], None, 1

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame[Kept]]:
        return iter(self.frames)
