"""A method that somebody writes outside the package, the one of the page "a method of your own":
all that those of the house can do.
"""

import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.explorers import Live
from ddlab.networks import Network
from ddlab.runs import Step, checkpoint
from ddlab.training import supervised
from tests.support import assert_same, made_data, refuses

PAGE = (
    Path(ddlab.__file__).parents[1]
    / "notebooks"
    / "assignments"
    / "instructor"
    / "your_own_method.ipynb"
)


def lines_of(*grade_ids: str) -> str:
    """The code of these cells, without the marks of what students do not see."""
    cells = {
        cell["metadata"].get("nbgrader", {}).get("grade_id"): cell
        for cell in json.loads(PAGE.read_text())["cells"]
    }
    text = "\n\n\n".join("".join(cells[grade_id]["source"]) for grade_id in grade_ids)
    return "\n".join(line for line in text.splitlines() if not line.strip().startswith("### "))


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    text = lines_of("mine_types", "mine_start", "mine_update")
    assert len(text.splitlines()) < 60
    file = tmp_path_factory.mktemp("own") / "mine.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("mine", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mine"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mine"]


@pytest.fixture(scope="module")
def data_and_teacher() -> tuple[ImageData, Network]:
    data = made_data(size=8)
    return data, networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)


def test_it_is_driven_and_evaluated(mine: Any, data_and_teacher: Any) -> None:
    data, teacher = data_and_teacher
    losses: list[float] = []
    distilled = ddlab.distill(
        mine,
        data,
        teacher,
        progress=False,
        on_step=lambda step: losses.append(float(step.trace.loss)),
    )
    assert (
        isinstance(distilled, DistilledSet)
        and distilled.complete
        and len(distilled) == data.classes
    )
    assert len(losses) == 20 and losses[-1] < losses[0]
    student = supervised.Config.teaching(
        network=networks.spec("convnet", width=4), epochs=2, crop_pixels=0
    )
    evaluation = ddlab.evaluate(distilled, data, labels="stored", seeds=(0, 1), config=student)
    assert 0 <= evaluation.mean <= 1 and len(evaluation.per_seed) == 2


def test_it_trains_a_teacher_where_it_needs_one(
    mine: Any, data_and_teacher: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_on: list[Any] = []
    trained = replace(data_and_teacher[1], provenance={"complete": True})
    monkeypatch.setattr(
        "ddlab.methods.distillation._train",
        lambda data, *_, **__: trained_on.append(data) or trained,
    )
    assert ddlab.distill(mine, data_and_teacher[0], progress=False).complete and trained_on == [
        data_and_teacher[0]
    ]


def test_the_file_of_its_teacher_stays_until_the_set_is_complete(
    mine: Any, data_and_teacher: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = data_and_teacher[0]
    file = tmp_path / "mine.safetensors"

    def interrupt(step: Step) -> None:
        raise KeyboardInterrupt

    ddlab.distill(mine, data, checkpoint=file, on_step=interrupt)
    assert "The network is right on" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} >= {
        "mine.safetensors",
        "mine.safetensors.teacher",
    }
    assert ddlab.distill(mine, data, checkpoint=file).complete
    assert "going on from step 1 of" in capsys.readouterr().out
    assert not {path.name for path in tmp_path.iterdir()} & {
        "mine.safetensors",
        "mine.safetensors.teacher",
    }


def test_stopped_it_goes_on_from_its_file_bit_for_bit(
    mine: Any, data_and_teacher: Any, tmp_path: Path
) -> None:
    data, teacher = data_and_teacher
    whole = ddlab.distill(mine, data, teacher, progress=False)
    file = tmp_path / "mine.safetensors"

    def interrupt(step: Step) -> None:
        if step.index == 7:
            raise KeyboardInterrupt

    partial = ddlab.distill(mine, data, teacher, progress=False, checkpoint=file, on_step=interrupt)
    assert not partial.complete
    inputs = ddlab.Inputs(data=data, teachers=(teacher,))
    assert checkpoint.load(file, mine, mine.Config(), inputs).step == 7
    assert_same(ddlab.distill(mine, data, teacher, progress=False, checkpoint=file), whole)


def test_it_is_looked_at_and_played(mine: Any, data_and_teacher: Any) -> None:
    data, teacher = data_and_teacher
    run = ddlab.Run(mine, mine.Config(steps=6), ddlab.Inputs(data=data, teachers=(teacher,)))
    assert run.to_end().complete
    look = run.frames[3].content
    assert torch.equal(look.images, run.state(3).images) and list(look.numbers) == ["loss"]
    film = Live(run)
    assert film.sentence.startswith("Step 6 of 6, finished: loss ")
    film.close()
    live = Live(mine, data, teacher, mine.Config(steps=6))
    assert list(live.panel) == ["steps", "rate"]
    played, _, trained = live.buttons.values()
    played.click()
    live.runner.join()
    assert "finished" in live.sentence
    assert torch.equal(live.schedule.watched_run.state().images, run.state().images)
    trained.click()
    live.runner.join()
    assert "random real images" in live.sentence
    live.close()


def test_an_object_with_the_same_parts_will_do(mine: Any, data_and_teacher: Any) -> None:
    parts = ("NAME", "Config", "State", "total_steps", "init", "update", "finish")
    bare = SimpleNamespace(**{name: getattr(mine, name) for name in parts})
    assert_same(
        ddlab.distill(bare, *data_and_teacher, progress=False),
        ddlab.distill(mine, *data_and_teacher, progress=False),
    )


def test_what_is_missing_is_said_in_a_sentence(mine: Any, data_and_teacher: Any) -> None:
    data, teacher = data_and_teacher
    with refuses("method", "update, finish"):
        half = {
            name: getattr(mine, name) for name in ("NAME", "Config", "State", "total_steps", "init")
        }
        ddlab.distill(SimpleNamespace(**half), data, teacher)
    with refuses("config", "moved_means"):
        ddlab.distill(mine, data, teacher, supervised.Config())
    with refuses("what training finishes with", "a DistilledSet"):
        config = supervised.Config.teaching(
            network=networks.spec("convnet", width=4), epochs=1, crop_pixels=0
        )
        ddlab.distill(supervised, data, teacher, config, progress=False)


def test_moment_matching_is_written_in_forty_lines() -> None:
    text = lines_of("imports", "moments", "distance", "loss", "learned")
    assert 20 < sum(bool(line.strip()) for line in text.splitlines()) <= 40
