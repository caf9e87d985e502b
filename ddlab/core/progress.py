"""How far something long is: tqdm's bar on standard output."""

import shutil
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm


class _Output:
    """A stream for a bar: where nothing can be written (any more), the bar stops and not the run.

    There may be none at all (a service), one that somebody put in its place and that only writes,
    one that is closed, or a pipe whose reader has gone.
    """

    def __init__(self, stream: Any) -> None:
        self._stream: Any = stream

    def is_terminal(self) -> bool:
        try:
            return bool(self._stream.isatty())
        except (AttributeError, ValueError):
            return False

    def write(self, text: str) -> None:
        self._try(lambda: self._stream.write(text))

    def flush(self) -> None:
        self._try(lambda: self._stream.flush())

    def _try(self, call: Any) -> None:
        if self._stream is None:
            return
        try:
            call()
        except (OSError, ValueError, AttributeError):
            self._stream = None


def say(text: str) -> None:
    """Print a line, where there is an output for it."""
    output = _Output(sys.stdout)
    output.write(f"{text}\n")
    output.flush()


def progress_bar(name: str, total: int, is_shown: bool, *, unit: str = "step") -> "tqdm":
    """Return a progress bar on standard output.

    On standard error it would look like a failure in a notebook. A terminal's bar vanishes when it
    is done; in a file the lines stay.
    """
    from tqdm import tqdm

    output: Any = _Output(sys.stdout)
    # A notebook's stream says False to `isatty`, though it redraws a line as a terminal does.
    is_terminal = output.is_terminal()
    live = is_terminal or type(sys.stdout).__module__.startswith("ipykernel")
    return tqdm(
        total=total,
        desc=name,
        unit=unit,
        file=output,
        ncols=shutil.get_terminal_size().columns if is_terminal else None,
        disable=not is_shown,
        leave=not live,
        mininterval=0.25 if live else 10.0,
    )
