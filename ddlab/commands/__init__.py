"""Dataset distillation at the command line.

examples:
  ddlab distill sre2l --data digits -o digits.safetensors
  ddlab evaluate digits.safetensors --data digits
  ddlab records                          the shipped tables and where they come from
  ddlab claims show D14                  what was declared, and what was found
  ddlab lessons html 00_start            a lesson with its results, as a page

exit status: 0 done; 1 it failed; 2 wrong arguments; 130 interrupted. With --json standard output holds one JSON object and nothing
else.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from collections.abc import Sequence

from . import bench, claims, distill, evaluate, lessons, records
from .arguments import help_from

COMMANDS = (distill, evaluate, bench, records, claims, lessons)
"""What `ddlab` offers. They import torch and the library when they run: `ddlab --help` answers at once."""


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; `options.run(options)` then does what was asked."""
    whole = argparse.ArgumentParser(prog="ddlab", **help_from(__doc__))
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command (default: the one in `sys.argv`); returns the exit status and never raises for a user's mistake."""
    try:
        options = parser().parse_args(arguments)
    except SystemExit as stop:  # argparse has shown the help, or said what is wrong
        return int(stop.code or 0)
    from ..core.errors import DDLabError, NonFiniteError

    try:
        # What the library itself prints (an interrupt, progress) must not stand beside the object.
        with contextlib.redirect_stdout(io.StringIO()) if options.json else contextlib.nullcontext():
            status, found = options.run(options)
        if options.json:
            print(json.dumps(found))
        return status
    except KeyboardInterrupt as stop:
        return _stopped(f"interrupted: {stop}" if stop.args else "interrupted", 130)
    except (NonFiniteError, OSError) as problem:
        return _stopped(problem, 1)
    except DDLabError as problem:
        return _stopped(problem, 2)


def _stopped(why: object, status: int) -> int:
    print("ddlab:", *str(why).split(), file=sys.stderr)
    return status
