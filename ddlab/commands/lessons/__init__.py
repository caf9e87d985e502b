"""The lessons: made from their sources, as pages, as slides; assignments graded.

examples:
  ddlab lessons build --check            do lessons and assignments follow from their sources?
  ddlab lessons html 00_start            a page with all results
  ddlab lessons grade --help
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from .. import arguments

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
HTML, SLIDES = Path("build") / "html", Path("build") / "slides"


def add(commands: Any) -> None:
    """Add the command and its parts to `ddlab`."""
    parser = arguments.group(commands, "lessons", __doc__)
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    whole = {name: arguments.add(parts, name, part.__doc__, part) for name, part in PARTS.items()}
    for name in ("html", "slides"):
        whole[name].add_argument("lessons", nargs="*", metavar="LESSON", help="names without .ipynb (default: all)")
    for name in ("build", "html", "slides"):
        whole[name].add_argument("--notebooks", type=Path, default=NOTEBOOKS, help="another folder of notebooks")
    for name, place in (("html", HTML), ("slides", SLIDES)):
        whole[name].add_argument("--out", type=Path, default=place, help=f"where it is written (default: {place})")
    whole["build"].add_argument("--check", action="store_true", help="write nothing; status 1 if a file is not in step")
    whole["grade"].add_argument("submissions", type=Path, help="a notebook, or a folder of notebooks at any depth")
    whole["grade"].add_argument("--source", type=Path, required=True, help="the instructor's notebook")
    whole["slides"].add_argument(
        "--run", action="store_true", dest="results", help="run the lesson first, for its results"
    )


def _build(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Make lessons and assignments from what teachers keep.

    notebooks/solutions/NN_topic.ipynb           -> notebooks/NN_topic.ipynb             the lesson
    notebooks/assignments/instructor/topic.ipynb -> notebooks/assignments/topic.ipynb    the assignment

    examples:
      ddlab lessons build            write what is not in step
      ddlab lessons build --check    exit 1 if one is not what its source gives
    """
    from ...core.storage import write_atomically
    from . import build

    stale = build.stale(options.notebooks)
    verb = "not in step with its source, run make lessons" if options.check else "written"
    for path, text in stale.items():
        if not options.check:
            write_atomically(path, text.encode())
        print(f"{path.name}: {verb}")
    return 1 if stale and options.check else 0, {"check": options.check, "files": [path.name for path in stale]}


def _html(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Run lessons and make pages of them, for reading without a kernel and without a network.

    examples:
      ddlab lessons html                              every lesson, into build/html; begin with index.html
      ddlab lessons html 20_inverting_a_network       one of them

    It takes as long as to run the lesson, and half a minute at most for each explorer, which is recorded along one control.
    """
    from .html import write

    names = _names(options)
    failed, still = write(names, options.out, notebooks=options.notebooks)
    for sentence in still:
        print(sentence, file=sys.stderr)
    return _told(len(names), failed, options.out / "index.html")


def _grade(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Grade the checked tasks of an assignment without nbgrader, one line of CSV for each submission.

    examples:
      ddlab lessons grade submissions --source notebooks/assignments/instructor/labels_or_images.ipynb > points.csv

    Each submission runs confined: in bubblewrap where that works, else behind Linux' Landlock, else within limits only, with your
    rights; standard error says which. Hidden tests run in another process. A submission that fails is one line there.
    """
    from .grading.submissions import grade

    return grade(options.submissions, options.source)


def _slides(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Make slides of lessons, from their own cells: arrow keys move, "c" shows the code. They need no network.

    Cells go where their `slideshow` metadata says; where there is none, each heading begins a slide and "Deeper" is left out.

    examples:
      ddlab lessons slides 20_inverting_a_network --run          with its results; takes as long as the lesson
      ddlab lessons slides                                       every lesson as it is handed out, into build/slides
    """
    from .slides import write

    names = _names(options)
    failed = write(names, options.out, notebooks=options.notebooks, results=options.results)
    return _told(len(names), failed, options.out)


# Their docstrings are the helps. With an underscore: the modules that they import are called so.
PARTS = {"build": _build, "html": _html, "grade": _grade, "slides": _slides}


def _names(options: argparse.Namespace) -> list[str]:
    """The lessons that were asked for, or all."""
    from ...core import errors

    known = sorted(path.stem for path in options.notebooks.glob("*.ipynb"))
    return [errors.check_choice("lesson", name, tuple(known)) for name in options.lessons] or known


def _told(total: int, failed: list[str], place: Path) -> tuple[int, dict[str, Any]]:
    """What came of `total` lessons."""
    for sentence in failed:
        print(sentence, file=sys.stderr)
    print(f"{total - len(failed)} of {total} written; begin with {place}")
    return 1 if failed else 0, {"written": total - len(failed), "of": total, "failed": failed, "begin": str(place)}
