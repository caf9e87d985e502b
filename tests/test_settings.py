"""`settings.txt` lists what every setting is unless it is set; a change must be seen there."""

from __future__ import annotations

import dataclasses

from ddlab import methods
from ddlab.methods import krr_st
from ddlab.training import forgetting, pretraining, rela, self_supervised, supervised
from tests import public_api, settings


def test_the_list_is_in_step() -> None:
    """A failure shows the lines that changed; if they are meant, run `make api`, and say where the new value comes from."""
    written = settings.FILE.read_text(encoding="utf-8").splitlines()
    assert written == settings.text().splitlines(), "tests/settings.txt is not in step: make api"


def test_a_default_and_its_range_are_seen() -> None:
    described = {line.split(":")[0]: line for line in settings._fields(krr_st.Config)}
    assert described["ridge"] == "ridge: default=1e-06, range=(0, 1000.0), scale='log'"


def test_what_is_handed_out_is_not_changed_in_place() -> None:
    """Nor the states of a run, which are kept to go back to."""
    processes = (*map(methods.get, methods.names()), supervised, forgetting, self_supervised, pretraining, rela)
    kept = [(f"{each.__name__}.{kind.__name__}", kind) for each in processes for kind in (each.State, each.Trace)]
    for name, value in [*public_api.callables().items(), *kept]:
        if dataclasses.is_dataclass(value) and name.split(".")[0] != "explorers":
            assert value.__dataclass_params__.frozen, name  # type: ignore[attr-defined]
