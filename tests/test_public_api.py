"""`public_names.txt` lists every public name as it is, and the reference pages show these names; a change must be seen there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ddlab.training import losses
from tests import public_api


def test_the_list_is_in_step() -> None:
    """A failure shows the lines that changed; if they are meant, run `make api` and name the change in CHANGELOG.md."""
    written = public_api.FILE.read_text(encoding="utf-8").splitlines()
    assert written == public_api.text().splitlines(), "tests/public_names.txt is not in step: make api"


def test_every_public_function_and_class_says_what_it_is_for() -> None:
    silent = [name for name, value in public_api.callables().items() if not (value.__doc__ or "").strip()]
    assert not silent


def test_a_change_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def soft_targets(logits: str, *, heat: float = 1.0, name: str = "longer than ten") -> None:
        """Another."""

    monkeypatch.setattr(soft_targets, "__module__", losses.__name__)
    monkeypatch.setattr(losses, "soft_targets", soft_targets)
    assert "\n  soft_targets(logits, *, heat=1.0, name=...)\n" in public_api.text()


def test_the_members_of_a_class_stand_below_it() -> None:
    listed = public_api.text()
    assert "\n  ImageData(*, name, " in listed
    for member in ("channels", "images(split='train')", "valid_range(device='cpu')"):
        assert f"\n    {member}\n" in listed


def test_the_reference_shows_public_names_and_fetches_nothing(tmp_path: Path) -> None:
    """Of three modules, and in a process of its own: pdoc is told what is public by changing the modules."""
    shown = ("methods", "methods.sre2l", "training.losses")
    script = f"from tests import public_api; public_api.write_reference({str(tmp_path)!r}, {shown!r})"
    subprocess.run([sys.executable, "-c", script], cwd=public_api.FILE.parents[1], check=True, timeout=200)
    pages = {
        page.relative_to(tmp_path).as_posix(): page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html")
    }
    assert pages.keys() == {"index.html", "ddlab.html", *(f"ddlab/{name.replace('.', '/')}.html" for name in shown)}
    assert not any(re.search(r"""(?:src|<link[^>]+href)\s*=\s*["']?(?:https?:)?//""", page) for page in pages.values())
    method = pages["ddlab/methods/sre2l.html"]
    assert 'id="recovery_loss"' in method and 'id="labelled_set"' not in method
    assert re.search(r"<code>Symbol {6}In code {10}", method), "tables keep their columns"
    assert 'id="distill"' in pages["ddlab.html"]
