"""Runs a notebook from top to bottom in a fresh kernel, as a reader would.

notebook = run(Path("notebooks/20_inverting_a_network.ipynb"))     # with its outputs and the state of its widgets
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SECONDS_PER_CELL = 600


class LessonFailed(RuntimeError):
    """A notebook that did not run to its end; the message names the notebook and what went wrong."""


def run(path: Path, *, environment: Mapping[str, str] | None = None, last: str = "") -> Any:
    """The notebook with outputs; the state of its widgets is in its metadata.

    The file stays as it is.

    Args:
        path: of the notebook.
        environment: variables for its kernel, beside those of this process.
        last: code of one more cell at the end.

    Raises:
        LessonFailed: a cell raises, or takes longer than ten minutes, or the kernel dies.
    """
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    if last:
        notebook.cells.append(nbformat.v4.new_code_cell(last))
    # A folder of its own: what lies beside the notebook must not matter, and nothing is left there.
    with tempfile.TemporaryDirectory(prefix="ddlab-lesson-") as folder:
        execute(notebook, path.name, folder, environment=environment)
    return notebook


def execute(
    notebook: Any,
    name: str,
    folder: str | os.PathLike[str],
    *,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run every cell of `notebook` (of nbformat; changed in place) in `folder`.

    `name` is for messages; the rest as for `run`.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    client = NotebookClient(
        notebook,
        timeout=SECONDS_PER_CELL,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        client.execute(env={**os.environ, **(environment or {})})
    except CellExecutionError as error:
        raise LessonFailed(f"{name}: {error.ename}: {error.evalue}") from error
    except CellTimeoutError as error:
        raise LessonFailed(f"{name}: a cell took longer than {SECONDS_PER_CELL} s") from error
    except DeadKernelError as error:
        raise LessonFailed(f"{name}: the kernel died (often: out of memory)") from error
