"""Links that open a lesson in Binder, a notebook server in the browser for everybody.

The address of the repository is written in one place, pyproject.toml:

    [project.urls]
    Repository = "https://github.com/OWNER/NAME"

Without it there are no links. A link is text: a picture would have to come from the network.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from ...core import errors

WORDS = "Open in Binder"


def repository(root: Path) -> str | None:
    """The public address of the repository in folder `root`, or None where pyproject.toml names none.

    Raises:
        DDLabError: it is not of the form https://HOST/OWNER/NAME.
    """
    file = root / "pyproject.toml"
    if not file.exists():
        return None
    address = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {}).get("urls", {}).get("Repository")
    if address is None:
        return None
    parts = urlsplit(address if isinstance(address, str) else "")
    if parts.scheme != "https" or not parts.netloc or len([word for word in parts.path.split("/") if word]) < 2:
        errors.fail("[project.urls] Repository", "of the form https://HOST/OWNER/NAME", address)
    return address.rstrip("/").removesuffix(".git")


def link(address: str, notebook: str) -> str:
    """The Markdown link that opens `notebook` (a name without ".ipynb") of the repository at `address` in Binder's JupyterLab."""
    parts = urlsplit(address)
    path = parts.path.strip("/")
    if parts.netloc == "github.com":
        place = f"gh/{path}"
    elif parts.netloc == "gitlab.com":
        place = f"gl/{quote(path, safe='')}"
    else:
        place = f"git/{quote(address, safe='')}"
    return f"[{WORDS}](https://mybinder.org/v2/{place}/HEAD?urlpath=lab/tree/notebooks/{notebook}.ipynb)"


def with_link(lesson: dict[str, Any], text: str) -> dict[str, Any]:
    """The lesson (as JSON; changed in place) with `text` under the heading of its first Markdown cell."""
    for cell in lesson["cells"]:
        if cell["cell_type"] == "markdown":
            heading, _, rest = "".join(cell["source"]).partition("\n")
            cell["source"] = f"{heading}\n\n{text}\n{rest}".splitlines(keepends=True)
            break
    return lesson
