"""A storm of wrong values at every public function and class: it does what it should, or raises ddlab's own error in one sentence.

One argument at a time is replaced, of a call that is right. A value may be accepted: then the call succeeds and gives no NaN; what the
argument's annotation excludes is refused in a sentence that names it. Right arguments are read off the annotations (`derived.py`); a new
public function whose annotations do not say enough fails `test_nothing_is_missing` until it stands in a table (tests/storm/table_*.py)
or, with a reason, in `exceptions.py`. What is wrong with the call itself (a missing or an unknown argument) is Python's business.

DDLAB_STORM=10 throws ten times as much.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import ipywidgets
import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from ddlab.core.errors import DDLabError
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.explorers import Runner, close_all
from ddlab.networks import Network
from tests import public_api
from tests.storm import exceptions
from tests.storm.derived import derived
from tests.storm.good import Given, Good
from tests.storm.table_core import CORE
from tests.storm.table_lab import LAB
from tests.storm.table_maps import MAPS
from tests.storm.table_processes import OWN, called
from tests.storm.table_records import RECORDS
from tests.storm.table_runs import RUNS
from tests.storm.table_theory import THEORY
from tests.storm.table_toys import TOYS
from tests.storm.table_views import VIEWS
from tests.storm.wrong import checked_annotations, excluded, wrong
from tests.support import assert_sentence

OWN_GOOD = {name: entry for name, entry in OWN.items() if isinstance(entry, Good)}
WRITTEN: dict[str, Good] = CORE | RUNS | VIEWS | MAPS | LAB | RECORDS | THEORY | TOYS | OWN_GOOD
EXCEPTIONS = exceptions.EXCEPTIONS | {name: entry for name, entry in OWN.items() if isinstance(entry, str)}
ENTERED = {name.split(":")[0] for name in WRITTEN} | EXCEPTIONS.keys()
UNENTERED = {name: derived(call) for name, call in public_api.callables().items() if name not in ENTERED}
TABLE = WRITTEN | {name: good for name, good in UNENTERED.items() if good is not None}
PER_ARGUMENT = 10 * int(os.environ.get("DDLAB_STORM", "1"))
AT_LEAST = 4000
THROWN: dict[str, int] = {}


@pytest.fixture(scope="module")
def given(
    grey: ImageData, teacher: Network, distilled: DistilledSet, tmp_path_factory: pytest.TempPathFactory
) -> Given:
    return Given(grey, teacher, distilled, tmp_path_factory.mktemp("storm"))


@pytest.fixture(autouse=True)
def fenced(given: Given, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """What is written lands in a folder of its own, and nothing is fetched."""

    def refuse(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError("no network in a test")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda _: None)  # thousands of small files: it would take most of the time
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    given.folder = tmp_path
    yield
    close_all()
    for widget in given.open:
        widget.close()
    given.open.clear()


def test_nothing_is_missing() -> None:
    known = called().keys()
    entered = {name.split(":")[0] for name in TABLE}
    assert not entered & EXCEPTIONS.keys()
    assert known - entered - EXCEPTIONS.keys() == set(), "enter these in a table of tests/storm"
    assert (entered | EXCEPTIONS.keys()) - known == set(), "these are no longer public"
    assert all(len(reason) > 20 for reason in EXCEPTIONS.values())


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", TABLE)
def test_every_wrong_value_is_refused_in_one_sentence_or_used(name: str, given: Given) -> None:
    good, public = TABLE[name], called()[name.split(":")[0]]
    call = good.call or public
    sane(name, call(**good.make(given)))
    THROWN[name] = 0
    for parameter in public_api.parameters(call):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name in good.left_out:
            continue
        if not good.only or parameter.name in good.only:
            throw(name, call, good, parameter, given)


def throw(name: str, call: Any, good: Good, parameter: inspect.Parameter, given: Given) -> None:
    """Replace one argument many times."""
    argument = parameter.name
    right = good.make(given).get(argument, None if parameter.default is parameter.empty else parameter.default)
    for value in excluded(checked_annotations(call).get(argument), right):
        with pytest.raises(DDLabError) as caught:
            call(**{**good.make(given), argument: value})
        assert_sentence(caught.value, argument)

    @hypothesis.seed(zlib.crc32(f"{name} {argument}".encode()))
    @hypothesis.settings(
        max_examples=PER_ARGUMENT,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),  # type: ignore[arg-type]
    )
    @hypothesis.given(
        value=wrong(right, given.strangers, good.largest.get(argument), whole=argument in good.whole).filter(
            lambda value: value is not None or argument not in good.not_none
        )
    )
    def one(value: Any) -> None:
        THROWN[name] += 1
        words = f"{name}({argument}={value!r:.300})"
        try:
            result = call(**{**good.make(given), argument: value})
            sane(words, result, nan_may_come_out=bool(good.nan_passes) and not tame(value))
        except DDLabError as refused:
            assert_sentence(refused)
        except AssertionError:
            raise
        except Exception as problem:
            raise AssertionError(f"{words} raised {type(problem).__name__}: {problem}") from problem

    one()


def tame(value: Any) -> bool:
    """Whether the numbers inside are finite and of a size that float32 can square."""
    return all((np.abs(found) < 1e18).all() for _, found in numbers(value))  # NaN is not below


def sane(words: str, result: Any, *, nan_may_come_out: bool = False) -> None:
    """No NaN anywhere in the result; figures can be sent, widgets and threads end."""
    if isinstance(result, (ipywidgets.Widget, Runner)):
        result.close()
    elif isinstance(result, go.Figure):
        result.to_json()
    elif not nan_may_come_out:
        for path, value in numbers(result):
            assert not np.isnan(value).any(), f"{words} gave NaN{f' in {path}' if path else ''} in silence"


def numbers(value: Any, path: str = "", depth: int = 5) -> Iterator[tuple[str, Any]]:
    """The floating-point numbers inside a result; of an iterator, the first items."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if not value.is_meta and (value.is_floating_point() or value.is_complex()):
            yield path, value.to(torch.complex128 if value.is_complex() else torch.float64).numpy()
    elif isinstance(value, np.ndarray):
        if value.dtype.kind in "fc":
            yield path, value
    elif isinstance(value, (float, complex)):
        yield path, value
    elif depth == 0 or isinstance(value, (ipywidgets.Widget, str, bytes)):
        return
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from numbers(item, f"{path}[{key!r}]", depth - 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from numbers(vars(value), path, depth)
    elif isinstance(value, (list, tuple, Iterator)):
        for number, item in enumerate(itertools.islice(value, 3)):
            yield from numbers(item, f"{path}[{number}]", depth - 1)


def test_the_storm_was_one() -> None:
    """Counted where all of it ran: in one process, without -k."""
    if THROWN.keys() != TABLE.keys():
        pytest.skip("only a part of the storm ran here")
    total = sum(THROWN.values())
    print(f"{total} wrong values at {len(TABLE)} functions and classes")
    assert total >= AT_LEAST
