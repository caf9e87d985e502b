"""The README: short, what it names exists, and its examples run when they are pasted in turn."""

import ast
import re
import time
from pathlib import Path
from typing import Any

import pytest

import ddlab
from ddlab.networks.family import REGISTERED
from tests.browser.pictures import NOTEBOOKS, PICTURES, SCENES

ROOT = Path(ddlab.__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
EXAMPLES = "\n".join(BLOCKS)


def test_it_is_for_a_newcomer() -> None:
    # `make lessons` writes the rest.
    by_hand = re.sub(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", "", TEXT, flags=re.DOTALL)
    assert len(by_hand.encode()) <= 6 * 1024, (
        "what is longer belongs in CONTRIBUTING.md or a docstring"
    )


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_what_it_links_to_is_there(page: str) -> None:
    for target in re.findall(
        r"\]\((?!https?:)([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8")
    ):
        assert (ROOT / target).exists(), target


def test_each_picture_is_used_and_its_page_still_has_what_it_shows() -> None:
    taken = {f"{scene.name}.webp": scene for scene in SCENES}
    assert {path.name for path in PICTURES.iterdir()} == taken.keys()
    for name, scene in taken.items():
        assert f"notebooks/pictures/{name}" in TEXT
        assert (PICTURES / name).stat().st_size < 1.5e6
        assert f"{scene.explorer}(" in (NOTEBOOKS / f"{scene.lesson}.ipynb").read_text("utf-8")


def test_every_make_target_is_there() -> None:
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", TEXT, re.MULTILINE))
    assert {"lab", "site", "test"} <= named <= targets


def test_every_name_in_the_examples_is_there() -> None:
    attributes = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(EXAMPLES))
        if isinstance(node, ast.Attribute)
    ]
    named = [name for name in attributes if name.startswith("ddlab.") and "(" not in name]
    assert len(named) > 10
    for name in named:
        value = ddlab
        for part in name.split(".")[1:]:
            value = getattr(value, part)


@pytest.mark.slow
def test_every_block_runs_when_it_is_pasted_after_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page: dict[str, Any] = {}
    registered = dict(REGISTERED)
    try:
        for block in BLOCKS:
            start_time = time.process_time()
            exec(block, page)
            seconds = time.process_time() - start_time
            print(f"{seconds:5.1f} CPU-s: {block.splitlines()[0]}")
            assert seconds <= 30, block
    finally:
        REGISTERED.clear()
        REGISTERED.update(registered)
    assert (tmp_path / "my_set").is_dir()
