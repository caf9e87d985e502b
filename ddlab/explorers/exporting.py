"""One explorer as a page that needs no kernel and asks no other server for anything.

export(SigmaLab(), "sigma.html")     # writes sigma.html, and the scripts that it needs beside it
"""

import html
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from ipywidgets import embed
from plotly.offline import get_plotlyjs_version

from ..core import DDLabError
from ..core.storage import write_atomically
from .page import Laboratory
from .plot import shared_library
from .recording import picture_of, record

SCRIPTS = "scripts"
_START = "start.js"  # sets up what the others find
# Packages of the npm registry, and what of them a page needs: pattern in the package -> folder beside
# the page's other scripts. The widgets' script looks for its icons under its own package's name.
_PACKAGES = {
    "requirejs@2.3.8": {"require.js": "."},
    "@jupyter-widgets/html-manager@1.0.15": {
        "dist/embed-amd.js": ".",
        "dist/*.woff2": "../@jupyter-widgets",
    },
    "katex@0.19.1": {
        "dist/katex.min.js": ".",
        "dist/katex.min.css": ".",
        "dist/contrib/auto-render.min.js": ".",
        "dist/fonts/*.woff2": "fonts",
    },
}
# The colours of JupyterLab's dark theme, which nbconvert brings.
_DARK = Path(sys.prefix, "share/jupyter/nbconvert/templates/lab/static/theme-dark.css")
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{head}
<meta name="color-scheme" content="light dark">
<style media="(prefers-color-scheme: dark)">{dark}
.jupyter-widgets .jupyter-button, .jupyter-button {{ background-color: #333; }}
.jupyter-widgets .jupyter-button.mod-active, .jupyter-button.mod-active {{ background-color: #777; }}
</style>
<style>
body {{ font-family: system-ui, sans-serif; margin: 12px auto; max-width: 980px; padding: 0 8px; }}
.jupyter-widgets, .jupyter-widgets button, .jupyter-widgets select {{ font-family: inherit; }}
</style>
</head>
<body>
<script>
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => (document.body.dataset.jpThemeLight = String(!dark.matches));
dark.addEventListener("change", follow);
follow();
</script>
<div id="stand-in">{stand_in}
<p><i>This page moves where scripts run. If it stays as it is, they are off, or the policy of its server forbids them: \
it needs script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:, and the folder {scripts} beside it.</i></p></div>
<script>
new MutationObserver((_changes, observer) => {{
  if (!document.querySelector(".ddlab-replay")) return;
  document.getElementById("stand-in").remove();
  observer.disconnect();
}}).observe(document.body, {{ childList: true, subtree: true }});
</script>
<script type="application/vnd.jupyter.widget-state+json">{state}</script>
<script type="application/vnd.jupyter.widget-view+json">{view}</script>
<script src="{scripts}/embed-amd.js" defer></script>
</body>
</html>
"""


def export(explorer: Laboratory, path: str | Path, *, progress: bool = True) -> Path:
    """Write an explorer as a page, with its recorded states, and return the page's path.

    The page opens from disk or from any web server. The scripts that it needs are put into a folder
    `scripts` beside it, where other pages find them, too.

    Args:
        explorer: a laboratory at rest; recording it takes as long as its states take to compute.
        path: of the page, such as "page.html".
        progress: one line on standard output that counts the states.

    Raises:
        DDLabError: no laboratory, one that is still computing, a path that is none of a page, or
            scripts that cannot be had.
    """
    target = Path(path)
    if target.suffix != ".html":
        raise DDLabError(f"path must end in .html; given {str(path)!r}.")
    replay = record(explorer, progress=progress)
    try:
        # With its defaults dropped a widget of anywidget's would lose the name of its view.
        state = embed.dependency_state([explorer, shared_library()], drop_defaults=False)
        data = embed.embed_data(views=[explorer], state=state)
        page = _PAGE.format(
            title=html.escape(explorer.title),
            dark=_DARK.read_text(encoding="utf-8"),
            stand_in=explorer.still(picture_of(explorer)),
            scripts=SCRIPTS,
            head=head(),
            state=_in_script(without_plotly(data["manager_state"])),
            view=_in_script(data["view_specs"][0]),
        )
    finally:
        box = explorer.controls_box
        box.children = [child for child in box.children if child is not replay]
        replay.close()
    put_scripts(target.parent / SCRIPTS)
    target.write_text(page, encoding="utf-8")
    return target


def head() -> str:
    """Return the script elements that a page with explorers begins with.

    They run in turn once the page is read, so that its words and pictures are on the screen first.
    What is no module of require.js is loaded before it, or it would be taken for one.
    """
    names = ("plotly.js", "require.js", _START)
    return "\n".join(f'<script src="{SCRIPTS}/{name}" defer></script>' for name in names)


def without_plotly(manager_state: dict[str, Any]) -> dict[str, Any]:
    """Take plotly's script out of the state of a page's widgets: it lies among the scripts."""
    for model in manager_state["state"].values():
        buffers = model.get("buffers", [])
        model["buffers"] = [buffer for buffer in buffers if buffer["path"] != ["gzipped"]]
        model["state"].pop("gzipped", None)
    return manager_state


def _in_script(data: Any) -> str:
    """Return JSON that cannot end the script element in which it stands."""
    return without_tags(json.dumps(data))


def without_tags(text: str) -> str:
    """Return JSON without "<": "</script>" ends an element, and "<!--<script>" keeps it open."""
    return text.replace("<", "\\u003c")


def put_scripts(folder: Path) -> None:
    """Put the scripts of all pages into a folder, unless they are there.

    They come from the npm registry and from the installed anywidget and plotly.

    Raises:
        DDLabError: npm is missing or cannot reach its registry.
    """
    folder.mkdir(parents=True, exist_ok=True)
    widget_script = Path(sys.prefix, "share/jupyter/nbextensions/anywidget/index.js")
    if not widget_script.exists():
        raise DDLabError(f"A page needs anywidget's script, and {widget_script} is missing.")
    shutil.copy(widget_script, folder / "anywidget.js")
    plotly_script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    write_atomically(folder / "plotly.js", plotly_script)
    start = f"""
globalThis.__ddlab = {{
  isPage: true, queue: Promise.resolve(), loaded: {{ "{get_plotlyjs_version()}": Promise.resolve(Plotly) }},
}};
requirejs.config({{ paths: {{ anywidget: "{SCRIPTS}/anywidget" }} }});
"""
    write_atomically(folder / _START, start.encode())
    for package, parts in _PACKAGES.items():
        if not all(
            list(folder.joinpath(place).glob(Path(part).name)) for part, place in parts.items()
        ):
            _put_package(package, parts, folder)


def _put_package(package: str, parts: dict[str, str], folder: Path) -> None:
    """Download a package of the npm registry and copy parts of it into a folder."""
    with tempfile.TemporaryDirectory() as temporary:
        command = ["npm", "pack", "--silent", "--pack-destination", temporary, package]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise DDLabError("A page needs scripts that npm downloads; npm is missing.") from None
        except subprocess.CalledProcessError as problem:
            raise DDLabError(
                f"A page needs the script {package}, and npm could not download it: "
                f"{problem.stderr.strip() or problem.stdout.strip()}"
            ) from None
        (archive,) = Path(temporary).glob("*.tgz")
        with tarfile.open(archive) as packed:
            packed.extractall(temporary, filter="data")
        for part, place in parts.items():
            for source in Path(temporary, "package").glob(part):
                (folder / place).mkdir(exist_ok=True)
                shutil.copy(source, folder / place)
