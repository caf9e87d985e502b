"""Computed once, kept by content, and never kept when partial."""

import copy
import importlib
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from ddlab import networks
from ddlab.data import ImageData
from ddlab.methods import selection
from ddlab.runs import Inputs, Step, cache, source
from ddlab.training import supervised
from tests.support import assert_same, refuses, run_to_end

CONFIG = supervised.Config.teaching("teacher", network=networks.spec("convnet", width=4), epochs=2)


@pytest.fixture(autouse=True)
def _empty(no_cache: None) -> None:
    """Each test starts with an empty cache."""


def counter() -> Any:
    """Return a function that gives 1, 2, ... and counts its calls in `call_count`."""

    def count(*_: Any) -> int:
        count.call_count += 1
        return count.call_count

    count.call_count = 0
    count.__module__ = "ddlab.counted"  # of the house, so that what it holds is no part of a key
    return count


def test_same_parts_are_computed_once() -> None:
    count = counter()
    parts = (torch.ones(2), CONFIG, {"a": [1, None]})
    assert (
        cache.remember(count, *parts)
        == cache.remember(count, torch.ones(2), CONFIG.replace(), {"a": [1, None]})
        == 1
    )
    for changed in (
        (torch.zeros(2), *parts[1:]),
        (parts[0], CONFIG.replace(seed=1), parts[2]),
        parts[:2],
    ):
        assert cache.remember(count, *changed) == count.call_count
    assert count.call_count == 4
    cache.clear()
    assert cache.remember(count, *parts) == 5


def test_what_fails_is_not_kept() -> None:
    def fails() -> None:
        raise RuntimeError("once")

    with pytest.raises(RuntimeError):
        cache.remember(fails, "key")
    assert cache.remember(lambda: 3, "key") == 3


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MEMORY", 2)
    count = counter()
    for key in ("a", "b", "a", "c"):
        cache.remember(count, key)
    assert count.call_count == 3
    cache.remember(count, "a")
    assert count.call_count == 3
    cache.remember(count, "b")
    assert count.call_count == 4


def test_many_threads() -> None:
    results: list[int] = []
    threads = [
        threading.Thread(
            target=lambda n=n: results.append(cache.remember(lambda: n % 7, "thread", n % 7))
        )
        for n in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(n % 7 for n in range(50))


def test_a_run_is_done_once(grey: ImageData, colour: ImageData) -> None:
    count = counter()
    first = cache.run(supervised, CONFIG, Inputs(data=grey), on_step=count)
    steps = count.call_count
    assert_same(cache.run(supervised, CONFIG, Inputs(data=grey), on_step=count), first)
    assert steps > 0 and count.call_count == steps
    cache.run(supervised, CONFIG, Inputs(data=colour), on_step=count)
    assert count.call_count > steps
    before = count.call_count
    cache.run(supervised, CONFIG.replace(seed=1), Inputs(data=grey), on_step=count)
    assert count.call_count > before
    assert_same(first, run_to_end(supervised, CONFIG, Inputs(data=grey)))


def test_an_edit_in_place_spoils_nothing_for_others(grey: ImageData) -> None:
    config = selection.Config(images_per_class=1)
    first = cache.run(selection, config, Inputs(data=grey))
    images_before = first.images.clone()
    for edit in (
        lambda images: images.zero_(),
        lambda images: images.data.zero_(),
        lambda images: images.numpy().fill(0),
    ):
        again = cache.run(selection, config, Inputs(data=grey))
        assert torch.equal(again.images, images_before)
        edit(again.images)


def test_edited_data_are_other_data(grey: ImageData) -> None:
    data = copy.deepcopy(grey)
    config = selection.Config(images_per_class=1)
    before = cache.run(selection, config, Inputs(data=data)).images
    data.train_images.copy_(255 - data.train_images)
    after = cache.run(selection, config, Inputs(data=data)).images
    assert not torch.equal(before, after)
    assert torch.equal(after, run_to_end(selection, config, Inputs(data=data)).images)


@pytest.mark.parametrize("kind", ["set", "network"])
def test_an_interrupted_run_is_no_result(
    kind: str, grey: ImageData, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(step: Step) -> None:
        raise KeyboardInterrupt

    module, config = (
        (selection, selection.Config(images_per_class=1)) if kind == "set" else (supervised, CONFIG)
    )
    with pytest.raises(KeyboardInterrupt):
        cache.run(module, config, Inputs(data=grey), on_step=interrupt)
    whole = cache.run(module, config, Inputs(data=grey))
    assert not cache.is_partial(whole)
    assert_same(whole, run_to_end(module, config, Inputs(data=grey)))
    assert "interrupted" in capsys.readouterr().out


def test_where_and_by_what_it_is_computed_belong_to_the_key(
    grey: ImageData, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = counter()
    config = selection.Config(images_per_class=1)
    inputs = Inputs(data=grey)
    updates = counter()

    def value(device: str = "cpu") -> int:
        return cache.remember(count, "value", device=device)

    def computed() -> bool:
        before = updates.call_count
        cache.run(selection, config, inputs, on_step=updates)
        return updates.call_count > before

    assert value() == value() == 1 and computed() and not computed()
    assert value("cuda") == 2
    torch.set_num_threads(2)
    assert value() == 3 and not computed(), "a small run takes one thread anyway"
    torch.set_num_threads(1)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "__version__", "2.0.0")
        assert value() == 4 and computed()
    with monkeypatch.context() as patch:
        patch.setattr(cache, "source", lambda code: "another")
        assert value() == 5 and computed()
    assert cache._key(selection, "cuda", 1, config) != cache._key(selection, "cpu", 1, config)
    assert value() == 1 and not computed()  # the old ones are there for their own key


def test_an_edited_file_is_another_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "edited_by_a_reader.py"
    file.write_text("FACTOR = 2\n\n\ndef compute():\n    return FACTOR * 21\n")
    import edited_by_a_reader  # type: ignore[import-not-found]

    assert cache.remember(edited_by_a_reader.compute, "answer") == 42
    file.write_text("FACTOR = 20\n\n\ndef compute():\n    return FACTOR * 21\n")
    assert cache.remember(importlib.reload(edited_by_a_reader).compute, "answer") == 420


def test_an_edited_file_that_a_users_module_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    helper = tmp_path / "helper_of_a_reader.py"
    helper.write_text("def step(x):\n    return x + 1\n")
    (tmp_path / "process_of_a_reader.py").write_text(
        "from helper_of_a_reader import step\n\n\ndef update():\n    return step(1)\n"
    )
    import process_of_a_reader  # type: ignore[import-not-found]

    before = source(process_of_a_reader)
    assert source(process_of_a_reader) == before
    helper.write_text("def step(x):\n    return x - 1  # edited\n")
    importlib.reload(sys.modules["helper_of_a_reader"])
    assert source(importlib.reload(process_of_a_reader)) != before


def test_only_the_rooms_that_a_process_can_reach_belong_to_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comment in a lesson's check refuses no checkpoint."""
    from ddlab.core import source as module

    monkeypatch.setattr(module, "_PACKAGE", tmp_path)
    sources = []
    for room in (
        "lessons",
        "figures",
        "explorers",
        "evaluation",
        "records",
        "methods",
        "core",
        "runs/inner",
    ):
        (tmp_path / room).mkdir(parents=True)
        (tmp_path / room / "new.py").write_text("# a line")
        sources.append(module._package.__wrapped__())
    assert len(set(sources[:5])) == 1 and len(set(sources)) == 4


def test_an_edited_function_that_a_cell_calls() -> None:
    """What a notebook's cells define: functions without a file, one of which calls the other."""

    def update_of(line: str) -> Any:
        space: dict[str, Any] = {"__name__": "a_notebook"}
        exec(
            f"def helper(x):\n    return {line}\n\n\ndef update(x):\n    return helper(x)\n", space
        )
        return space["update"]

    assert source(update_of("x + 1")) == source(update_of("x + 1")) != source(update_of("x - 1"))


def test_unknown_parts() -> None:
    with refuses("fingerprint"):
        cache.remember(lambda: 1, object())
