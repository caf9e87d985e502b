"""Links to Binder: written where pyproject.toml names an address, absent where it does not, and held in step."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from ddlab.commands import main
from ddlab.commands.claims import with_part
from ddlab.commands.lessons import NOTEBOOKS, binder, build
from ddlab.core.errors import DDLabError
from tests.support import refuses

ADDRESS = "https://github.com/OWNER/NAME"
README = "before\n<!-- binder: begin -->\nold\n<!-- binder: end -->\nafter\n"
ROOT = NOTEBOOKS.parent


def house(root: Path, address: str | None) -> Path:
    """A repository of one lesson; returns its folder of notebooks."""
    solutions = root / "notebooks" / "solutions"
    solutions.mkdir(parents=True)
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "First words."]},
        {"cell_type": "code", "source": ["a = 1"]},
        {"cell_type": "markdown", "source": ["# Second"]},
    ]
    (solutions / "00_start.ipynb").write_text(build.as_text({"cells": cells}))
    (root / "README.md").write_text(README)
    name_address(root, address)
    return root / "notebooks"


def name_address(root: Path, address: str | None) -> None:
    urls = f'[project.urls]\nRepository = "{address}"\n' if address else ""
    (root / "pyproject.toml").write_text(f'[project]\nname = "x"\n{urls}')


def first_cell(notebooks: Path) -> str:
    return "".join(json.loads((notebooks / "00_start.ipynb").read_text())["cells"][0]["source"])


LINK = "[Open in Binder](https://mybinder.org/v2/gh/OWNER/NAME/HEAD?urlpath=lab/tree/notebooks/00_start.ipynb)"


def test_with_an_address_lessons_and_readme_lead_to_binder(tmp_path: Path) -> None:
    notebooks = house(tmp_path, ADDRESS)
    assert main(["lessons", "build", "--notebooks", str(notebooks)]) == 0
    assert first_cell(notebooks) == f"# Title\n\n{LINK}\n\nFirst words."
    assert (notebooks / "00_start.ipynb").read_text().count("mybinder") == 1
    assert "mybinder" not in (notebooks / "solutions" / "00_start.ipynb").read_text()
    expected = f"before\n<!-- binder: begin -->\n{LINK}\n<!-- binder: end -->\nafter\n"
    assert (tmp_path / "README.md").read_text() == expected


def test_without_an_address_there_is_no_link(tmp_path: Path) -> None:
    notebooks = house(tmp_path, None)
    assert main(["lessons", "build", "--notebooks", str(notebooks)]) == 0
    assert first_cell(notebooks) == "# Title\n\nFirst words."
    assert (tmp_path / "README.md").read_text() == "before\n<!-- binder: begin -->\n<!-- binder: end -->\nafter\n"


def test_check_notices_that_the_address_came_or_went(tmp_path: Path, capsys) -> None:
    notebooks = house(tmp_path, None)
    write = ["lessons", "build", "--notebooks", str(notebooks)]
    main(write)
    for address in (ADDRESS, None):
        assert main([*write, "--check"]) == 0
        name_address(tmp_path, address)
        capsys.readouterr()
        assert main([*write, "--check"]) == 1
        said = capsys.readouterr().out
        assert "00_start.ipynb: not in step" in said and "README.md: not in step" in said
        main(write)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("https://github.com/OWNER/NAME.git", "gh/OWNER/NAME"),
        ("https://github.com/OWNER/NAME/", "gh/OWNER/NAME"),
        ("https://gitlab.com/GROUP/SUB/NAME", "gl/GROUP%2FSUB%2FNAME"),
        ("https://git.example.org/OWNER/NAME", "git/https%3A%2F%2Fgit.example.org%2FOWNER%2FNAME"),
    ],
)
def test_every_host_has_its_form(tmp_path: Path, address: str, place: str) -> None:
    name_address(tmp_path, address)
    found = binder.repository(tmp_path)
    assert found is not None
    assert f"(https://mybinder.org/v2/{place}/HEAD?urlpath=lab/tree/notebooks/x.ipynb)" in binder.link(found, "x")


@pytest.mark.parametrize(
    "address", ["github.com/OWNER/NAME", "http://github.com/OWNER/NAME", "https://github.com/OWNER"]
)
def test_an_address_of_another_form_is_refused(tmp_path: Path, address: str) -> None:
    name_address(tmp_path, address)
    with refuses("[project.urls] Repository", "https://HOST/OWNER/NAME", address):
        binder.repository(tmp_path)


def test_a_heading_alone_keeps_its_link_below() -> None:
    lesson = binder.with_link({"cells": [{"cell_type": "markdown", "source": ["# Title"]}]}, "link")
    assert "".join(lesson["cells"][0]["source"]) == "# Title\n\nlink\n"


def test_a_readme_without_the_marks_is_refused() -> None:
    for text in ("", "<!-- binder: begin -->", "<!-- binder: end --> <!-- binder: begin -->"):
        with pytest.raises(DDLabError, match="page must have the marks"):
            with_part(text, "binder", "x")


def test_this_repository_is_in_step_and_says_how_to_open_a_copy() -> None:
    assert main(["lessons", "build", "--check"]) == 0
    assert "mybinder.org" in (ROOT / "README.md").read_text(encoding="utf-8")
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
    assert binder.repository(ROOT) == urls.get("Repository")
