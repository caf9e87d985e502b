"""What the commands share: how they are added, and how data and settings are read from words."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..data import ImageData

Run = Callable[[argparse.Namespace], tuple[int, dict[str, Any]]]
"""What a command does with its options: prints for a reader, and returns the exit status and what `--json` prints instead."""


def help_from(doc: str | None) -> dict[str, Any]:
    """The help of a parser from a docstring: its first line, and the rest, laid out as it stands, below the options."""
    first, _, rest = inspect.cleandoc(doc or "").partition("\n")
    return {"description": first, "epilog": rest.strip("\n"), "formatter_class": argparse.RawDescriptionHelpFormatter}


def group(commands: Any, name: str, doc: str | None) -> argparse.ArgumentParser:
    """Add a command to `add_subparsers()`; its first line is what the list of commands says of it."""
    found = help_from(doc)
    return commands.add_parser(name, help=found["description"].rstrip(".").replace("%", "%%"), **found)


def add(commands: Any, name: str, doc: str | None, run: Run) -> argparse.ArgumentParser:
    """`group` for a command that runs, with what every one takes."""
    parser = group(commands, name, doc)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument(
        "--quiet", action="store_true", help="no progress: neither a bar on a terminal nor lines in a log"
    )
    parser.set_defaults(run=run)
    return parser


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add `--data`, which `dataset` reads, and `--device`."""
    words = "a dataset or a folder of images, and its options: shapes size=16; photos/ size=64 store=photos.safetensors"
    parser.add_argument("--data", nargs="+", required=True, metavar=("NAME|FOLDER", "OPTION=VALUE"), help=words)
    parser.add_argument("--device", default="auto", help="auto (default), cpu or cuda")


def add_workers(parser: argparse.ArgumentParser, threads: str, default: int | str = 1) -> None:
    """Add `--jobs` and `--dask`."""
    words = f"processes on this machine, {threads}, on CUDA each with a GPU; -1: one per core or GPU"
    words += "; auto (default): as many as there are cores, with 4 GB free" if default == "auto" else ""
    parser.add_argument("--jobs", type=jobs, default=default, metavar="N", help=words)
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="a dask scheduler whose workers, of one thread each, compute instead"
    )


def progress(options: argparse.Namespace) -> bool:
    """Whether to say how far a run is."""
    return not options.quiet


def jobs(word: str) -> int | str:
    """How many processes, of a word of the command line: a number, or what the library refuses or takes ("auto")."""
    try:
        return int(word)
    except ValueError:
        return word


def dataset(options: argparse.Namespace) -> ImageData:
    """The images that `--data` names."""
    from .. import data

    name, *words = options.data
    if name not in data.NAMES and Path(name).is_dir():
        name = f"folder:{name}"
    found = pairs("--data", words)
    if name.partition(":")[0] == "folder":
        found = {"progress": progress(options), **found}
    return data.load(name, **found)


def pairs(argument: str, words: Sequence[str]) -> dict[str, Any]:
    """Settings from words: each name=value, the value JSON or else a text, or one JSON object of several.

    Raises:
        DDLabError: a word of another form.

    >>> pairs("--config", ["iterations=50", "kind=k_means", '{"seed": 3}'])
    {'iterations': 50, 'kind': 'k_means', 'seed': 3}
    """
    from ..core import errors

    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        several = _read(word) if word.startswith("{") else {name: _read(value)} if name and equals else None
        found |= several if isinstance(several, dict) else errors.fail(argument, "name=value or a JSON object", word)
    return found


def changes(config: Any, argument: str, words: Sequence[str]) -> dict[str, Any]:
    """`pairs` for a class of configs: only its own fields, nested configs restored."""
    from ..core import errors
    from ..core.parameters import describe

    known, found = describe(config), pairs(argument, words)
    for name, value in found.items():
        errors.check_choice(f"a setting in {argument}", name, tuple(known))
        restore = getattr(known[name].type, "from_dict", None)
        found[name] = restore(value) if restore else value
    return found


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
