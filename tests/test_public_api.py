"""`API.md` lists every public name as it is; a change of the API must be seen there."""

from __future__ import annotations

import pytest

from ddlab import data, losses
from tests import public_api


def test_the_list_is_in_step() -> None:
    """A failure shows the lines that changed; if they are meant, run `make api` and name the change in CHANGELOG.md."""
    written = public_api.FILE.read_text(encoding="utf-8").splitlines()
    assert written == public_api.text().splitlines(), "API.md is not in step: make api"


def test_every_public_function_and_class_says_what_it_is_for() -> None:
    silent = [name for name, value in public_api.callables().items() if not (value.__doc__ or "").strip()]
    assert not silent


def test_every_dataset_is_among_the_modules() -> None:
    listed = {module.__name__.rpartition(".")[2] for module in public_api.modules()}
    own = {name for name in data.NAMES if name not in data.torchvision_sets.NAMES}
    assert own <= listed and "torchvision_sets" in listed


def test_a_change_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def soft_targets(logits: str, heat: float = 1.0) -> None:
        """Another."""

    monkeypatch.setattr(soft_targets, "__module__", losses.__name__)
    monkeypatch.setattr(losses, "soft_targets", soft_targets)
    assert "def soft_targets(logits: str, heat: float = 1.0) -> None\n    # Another." in public_api.text()
