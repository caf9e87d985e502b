"""Makes a site of the lessons that needs no kernel: `python -m ddlab.lessons.site build/site` (make
site), with numbers of lessons behind it to make only these.

Each lesson is run, as students get it; its explorers are recorded where they stand, and what they show
is replayed on the page (`ddlab.explorers.recording`). Scripts, fonts and mathematics lie beside the
pages, so that no reader's browser asks any other server.
"""

import argparse
import base64
import os
import re
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat

from ..core import DDLabError, errors
from ..core.storage import write_atomically
from ..explorers.exporting import SCRIPTS, head, put_scripts, without_plotly, without_tags
from ..explorers.recording import as_webp
from .build import NOTEBOOKS
from .contents import LESSONS, TWO_HOURS

# Run in the kernel after the last cell of a lesson. What it displays is taken off again.
_RECORD = """
from IPython.display import display
from ddlab.explorers.recording import record_page
display({"application/json": record_page()}, raw=True)
"""
_SECONDS = 900  # that one cell may take; recording is the longest
_KERNELS = 2  # that run lessons at the same time
_NOTEBOOKS = "notebooks"  # the folder of the site that holds them, run and recorded
_NEEDS_KERNEL = (
    "*Exercises need a kernel: open [this notebook]({notebook}) in JupyterLab (`make lab`) or on "
    "[Binder]({binder}).*"
)
_ANY_BINDER = "https://mybinder.org"  # where a reader types the address of a public copy
_TEMPLATES = Path(__file__).parent / "site_template"
_PICTURES = "pictures"  # the folder of the site with those of its front page


def build_site(folder: Path, numbers: Sequence[str] = (), binder: str = "") -> list[Path]:
    """Write the pages of lessons, an index and their scripts; return the pages.

    Args:
        folder: of the site, made where it is missing.
        numbers: of the lessons, such as "50"; default: all.
        binder: address of a public copy on Binder, such as
            "https://mybinder.org/v2/gh/NAME/COURSE/main", where exercises open.

    Raises:
        DDLabError: a number that no lesson has, an address that is none of Binder's, a missing
            script; once all others are written, a lesson whose cell fails.
    """
    names = _lessons(numbers)
    # A repository's own address would make links that lead nowhere.
    if binder and not re.fullmatch(r"https?://[^\s?#/]+/v2/[^\s?#]+", binder):
        errors.fail(
            "binder", "an address such as https://mybinder.org/v2/gh/NAME/COURSE/main", binder
        )
    put_scripts(folder / SCRIPTS)
    (folder / _NOTEBOOKS).mkdir(exist_ok=True)
    # First, so that every page's way back leads somewhere.
    write_atomically(folder / "index.html", _front_page(folder).encode())
    print(
        f"{len(names)} lessons, up to three minutes each; a line for each that is done", flush=True
    )
    start_time = time.monotonic()
    pages: list[Path] = []
    failures: list[str] = []

    def write(name: str) -> None:
        try:
            pages.append(_write_page(folder, name, binder))
        except DDLabError as problem:
            failures.append(str(problem))
            print(problem, flush=True)
        write_atomically(folder / "index.html", _front_page(folder).encode())
        done = len(pages) + len(failures)
        minutes = (time.monotonic() - start_time) / 60
        to_go = minutes / done * (len(names) - done)
        print(
            f"{done} of {len(names)} in {minutes:.0f} min, about {to_go:.0f} min to go", flush=True
        )

    # A kernel that records keeps one core busy, so two of them share a small machine.
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, _KERNELS)) as pool:
        list(pool.map(write, names))
    if failures:
        raise DDLabError(" ".join(sorted(failures)))
    return sorted(pages)


def _write_page(folder: Path, name: str, binder: str) -> Path:
    """Run a lesson and write its page and its recorded notebook; return the page."""
    start_time = time.monotonic()
    notebook = _run(name)
    nbformat.write(notebook, folder / _NOTEBOOKS / f"{name}.ipynb")
    (folder / _PICTURES).mkdir(exist_ok=True)
    if picture := _first_picture(notebook):
        write_atomically(folder / _PICTURES / f"{name}.webp", picture)
    page = folder / f"{name}.html"
    write_atomically(page, page_of(notebook, name, binder).encode())
    seconds = time.monotonic() - start_time
    print(f"{page}: {page.stat().st_size / 1e6:.1f} MB, {seconds:.0f} s", flush=True)
    return page


def _first_picture(notebook: Any) -> bytes | None:
    """Return the first picture of a lesson, as WebP, or None where it has none."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                return as_webp(base64.b64decode(output.data["image/png"]))
    return None


def _lessons(numbers: Sequence[str]) -> list[str]:
    """Return the names of lessons by their numbers."""
    by_number = {name.partition("_")[0]: name for name in LESSONS}
    for number in numbers:
        if number not in by_number:
            raise DDLabError(
                f"A lesson's number must be one of {', '.join(by_number)}; given {number!r}."
            )
    return [by_number[number] for number in numbers or by_number]


def _run(name: str) -> Any:
    """Return a lesson with its outputs and the states of its widgets, its explorers recorded."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook: Any = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(_RECORD))
    client = NotebookClient(
        notebook, timeout=_SECONDS, resources={"metadata": {"path": str(NOTEBOOKS)}}
    )
    client.extra_arguments = ["--IPKernelApp.log_level=ERROR"]
    try:
        # What somebody has locked in this folder is no part of a page.
        client.execute(env=os.environ | {"DDLAB_PREDICTIONS": ""})
    except CellExecutionError as problem:
        raise DDLabError(
            f"{name} cannot become a page: {problem.ename}: {problem.evalue}"
        ) from None
    _put_stand_ins(notebook, notebook.cells.pop().outputs)
    _drop_progress_bars(notebook)
    return notebook


def _drop_progress_bars(notebook: Any) -> None:
    """Remove what a line showed only until it was written over: a page would list each stage."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        outputs = []
        for output in cell.outputs:
            if output.output_type == "stream":
                output.text = re.sub(r"\r[^\n]*", "", output.text)
            if output.output_type != "stream" or output.text.strip():
                outputs.append(output)
        cell.outputs = outputs


def _put_stand_ins(notebook: Any, displayed: list[Any]) -> None:
    """Put beside each explorer's output what stands for it where no script runs."""
    (stand_ins,) = (output.data["application/json"] for output in displayed if "data" in output)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            view = data.get("application/vnd.jupyter.widget-view+json", {})
            data.update(stand_ins.get(view.get("model_id"), {}))


def page_of(notebook: Any, name: str, binder: str = "") -> str:
    """Return the page of a lesson that was run; `binder` as in `build_site`."""
    from nbconvert import HTMLExporter

    on_binder = f"{binder.rstrip('/')}?labpath=notebooks/{name}.ipynb" if binder else _ANY_BINDER
    words = _NEEDS_KERNEL.format(notebook=f"{_NOTEBOOKS}/{name}.ipynb", binder=on_binder)
    _explain_exercises(notebook, words)
    # Imports: what is taught comes first.
    first_code = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first_code.metadata["jupyter"] = {"source_hidden": True}
    notebook.metadata |= {"title": LESSONS[name].title, "ddlab_head": head()}
    for state in notebook.metadata.get("widgets", {}).values():
        without_plotly(state)
    exporter = HTMLExporter(
        extra_template_basedirs=[str(Path(__file__).parent)],
        template_name="site_template",
        widget_renderer_url=f"{SCRIPTS}/embed-amd.js",
        filters={"escape_html_script": without_tags},
    )
    page, _ = exporter.from_notebook_node(notebook)
    # Links between lessons; those to other notebooks stay, for readers who have the files.
    return re.sub(r'href="(\d\d_\w+)\.ipynb"', r'href="\1.html"', page)


def _explain_exercises(notebook: Any, words: str) -> None:
    """Put `words` under each exercise, in place of the check's reply."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and "lesson.check(" in cell.source:
            cell.outputs = [nbformat.v4.new_output("display_data", data={"text/markdown": words})]


def _front_page(folder: Path) -> str:
    """Return the front page: the course in its order, with links to the pages that are there."""
    import jinja2

    cards = []
    for name, lesson in LESSONS.items():
        page, picture = f"{name}.html", f"{_PICTURES}/{name}.webp"
        cards.append(
            {
                "number": name[:2],
                "title": lesson.title,
                "question": _question(name),
                "minutes": lesson.minutes,
                "is_short": name in TWO_HOURS,
                "page": page if (folder / page).exists() else "",
                "picture": picture if (folder / picture).exists() else "",
            }
        )
    template = (_TEMPLATES / "front.html.j2").read_text(encoding="utf-8")
    return jinja2.Template(template, autoescape=True).render(cards=cards)


def _question(name: str) -> str:
    """Return the question with which a lesson opens."""
    opening = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells[0].source
    (question, *_) = re.findall(r"\*\*([^*]+\?)\*\*", opening)
    return question[0].upper() + question[1:]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default="build/site", type=Path)
    parser.add_argument("numbers", nargs="*")
    parser.add_argument("--binder", default="")
    arguments = parser.parse_args()
    try:
        build_site(arguments.folder, arguments.numbers, arguments.binder)
    except DDLabError as problem:
        sys.exit(str(problem))
