"""Makes pages of the lessons, with all results, for reading without a kernel and without a network.

Each lesson is run as it is handed out, its exercises unanswered. The folder is complete in itself: plotly.js lies beside the pages,
formulas are MathML. When the lesson has run, every explorer is recorded along one control, which the page keeps alive.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...core.storage import write_atomically
from ...lessons.contents import LESSONS
from . import NOTEBOOKS
from .html_formulas import mathml
from .html_stills import with_stills
from .running import LessonFailed, run

_TEMPLATE, _SCRIPT = (Path(__file__).with_name(f"html_page.{kind}") for kind in ("j2", "js"))
_RECORDING = "application/vnd.ddlab.recording+json"
# The last cell: what explorers show along their controls, half a minute for each.
_RECORD = f"""
from IPython.display import display
from ddlab.explorers.recording import recordings
for _recorded in recordings(seconds=30):
    display({{"{_RECORDING}": _recorded}}, raw=True)
"""
_INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>ddlab lessons</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 44em; margin: 2em auto; padding: 0 1em; }}
</style>
</head>
<body>
<h1>ddlab: understand dataset distillation</h1>
<p>The lessons as they look after a run, exercises unanswered. In most explorers one control
can be moved here; run the lessons for the others.</p>
<ul>
{lessons}
</ul>
{reference}</body>
</html>
"""


def page(notebook: Any, *, title: str, folder: Path = NOTEBOOKS, recordings: Sequence[Mapping[str, Any]] = ()) -> str:
    """One executed notebook as HTML text that asks nothing of the network; `plotly.min.js` must lie beside it.

    Args:
        notebook: with outputs and widget state, as `running.run` returns it; it is changed.
        title: of the page. folder: where the pictures that its text names are found.
        recordings: of its explorers, as `explorers.recording.recordings` returns them.
    """
    notebook = with_stills(notebook, recordings)
    notebook.metadata["title"] = title
    exporter = _exporter()
    resources = {"metadata": {"path": str(folder), "name": title}, "ddlab": _front_end()}
    text, _ = exporter.from_notebook_node(notebook, resources)
    return text


def _front_end() -> dict[str, str]:
    """Script, style and colours: those of the plot widget, and the page's own."""
    from ...explorers.live import front_end, style
    from ...figures.theme import THEMES, palette

    script = front_end("figure.js") + _SCRIPT.read_text(encoding="utf-8")
    return {"script": script, "style": style(), "palettes": json.dumps({name: palette(name) for name in THEMES})}


def write(names: Sequence[str], pages: Path, *, notebooks: Path = NOTEBOOKS) -> tuple[list[str], list[str]]:
    """Run these lessons and write their pages, the index of all pages in the folder, and plotly.js.

    Returns:
        One sentence for each lesson that failed, which has no page then; and one for each explorer that stands still on its page
        because it could not be recorded.
    """
    pages.mkdir(parents=True, exist_ok=True)
    failed, still = [], []
    for name in names:
        source, target = notebooks / f"{name}.ipynb", pages / f"{name}.html"
        try:
            # On a busy machine a lesson takes longer than it promises: its last cell says so, and the page is as good.
            ran = run(source, last=_RECORD)
            recordings = _recordings(ran.cells.pop())
            text = page(ran, title=title_of(source), folder=notebooks, recordings=recordings)
        except LessonFailed as error:
            # An older page would be taken for this lesson.
            target.unlink(missing_ok=True)
            failed.append(str(error))
        else:
            write_atomically(target, text.encode())
            still += [
                f"{source.name}: '{one['title']}' stands still: {one['failed']}"
                for one in recordings
                if "failed" in one
            ]
    script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    write_atomically(pages / "plotly.min.js", script)
    write_atomically(pages / "index.html", index(notebooks, pages).encode())
    return failed, still


def _recordings(cell: Any) -> list[Mapping[str, Any]]:
    """What the last cell has displayed."""
    shown = (output.get("data", {}) for output in cell.outputs)
    return [data[_RECORDING] for data in shown if _RECORDING in data]


def index(notebooks: Path, pages: Path) -> str:
    """The page that lists every lesson of `notebooks` that has a page in `pages`, by number, and the reference where it is made."""
    lines = []
    for source in sorted(notebooks.glob("*.ipynb")):
        if (pages / f"{source.stem}.html").exists():
            budget = LESSONS.get(source.stem)
            minutes = f" (about {budget.minutes} minutes to read)" if budget else ""
            lines.append(f'<li><a href="{source.stem}.html">{html.escape(title_of(source))}</a>{minutes}</li>')
    link = '<p><a href="reference/index.html">Reference</a>: every public name of the library.</p>\n'
    reference = link if (pages / "reference" / "index.html").exists() else ""
    return _INDEX.format(lessons="\n".join(lines), reference=reference)


def title_of(source: Path) -> str:
    """The first heading of a notebook, or its name."""
    import nbformat

    for cell in nbformat.read(source, as_version=4).cells:
        found = cell.cell_type == "markdown" and re.search(r"^# +(.+)$", cell.source, re.MULTILINE)
        if found:
            return found[1].strip()
    return source.stem


def _exporter() -> Any:
    """nbconvert's HTML with our template, formulas as MathML, and links between lessons as links between pages."""
    from jinja2 import pass_context
    from nbconvert import HTMLExporter
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
    from nbconvert.preprocessors import CoalesceStreamsPreprocessor

    class Renderer(IPythonRenderer):
        def block_math(self, body: str) -> str:
            return mathml(body, block=True)

        def inline_math(self, body: str) -> str:
            return mathml(body)

        def latex_environment(self, name: str, body: str) -> str:
            return mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", block=True)

        def link(self, text: str, url: str, title: str | None = None) -> str:
            return super().link(text, re.sub(r"^(\d\d_\w+)\.ipynb", r"\1.html", url), title)

    class Exporter(HTMLExporter):
        @pass_context
        def markdown2html(self, context: Any, source: str) -> str:
            path = context.get("resources", {}).get("metadata", {}).get("path", "")
            renderer = Renderer(escape=False, embed_images=True, path=path, exclude_anchor_links=True)
            return MarkdownWithMath(renderer=renderer).render(source)

    return Exporter(
        raw_template=_TEMPLATE.read_text(encoding="utf-8"),
        template_name="lab",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        # Progress is printed in small pieces over one line; a page shows the last.
        preprocessors=[CoalesceStreamsPreprocessor(enabled=True)],
    )
