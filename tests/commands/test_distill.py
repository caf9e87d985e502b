"""`ddlab distill` and `ddlab evaluate` on little data: files, presets, teachers, resuming, interrupts, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ddlab import evaluation, methods, networks
from ddlab.commands import main
from ddlab.data import load
from ddlab.distilled import DistilledSet
from ddlab.methods import selection, sre2l
from ddlab.runs import memory
from ddlab.training import supervised

DATA = ["--data", "shapes", "size=16", "train=60", "test=20"]
NETWORK = 'network={"family": "convnet", "options": {"width": 8}}'
TEACHER = ["--teacher-config", "epochs=1", NETWORK]
SELECT = ["distill", "selection", *DATA]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)


def test_a_set_and_its_teacher_are_written_and_tested(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [
        "distill",
        "sre2l",
        *DATA,
        "--config",
        "iterations=2",
        '{"seed": 3}',
        *TEACHER,
        "--save-teacher",
        "t.safetensors",
    ]
    assert main([*given, "-o", "a.safetensors"]) == 0
    said = capsys.readouterr()
    first, *written = said.out.splitlines()
    assert first.startswith("memory: ") and not said.err
    assert written == ["written: t.safetensors, the teacher", "written: a.safetensors, 10 images"]
    made, teacher = DistilledSet.load("a.safetensors"), networks.load("t.safetensors")
    assert made.complete and made.provenance["config"] == sre2l.Config.teaching(iterations=2, seed=3).to_dict()
    assert teacher.provenance["config"]["epochs"] == 1 and teacher.spec.title == "convnet(width=8)"
    again = [*given[:-4], "--teacher", "t.safetensors", "-o", "b.safetensors", "--json"]
    again = [word for word in again if word not in TEACHER]
    assert main(again) == 0
    found = told(capsys)
    assert (found["set"], found["method"], found["images"], found["complete"]) == (
        "b.safetensors",
        sre2l.NAME,
        10,
        True,
    )
    assert found["config"]["iterations"] == 2 and DistilledSet.load("b.safetensors").fingerprint == made.fingerprint

    student = ["evaluate", "a.safetensors", *DATA, "--seeds", "2", "--config", "epochs=1", NETWORK]
    assert main([*student, "--json"]) == 0
    found = told(capsys)
    assert [each["labels"] for each in found["results"]] == ["hard", "stored"] and found["complete"] is True
    assert main([*student, "--labels", "online", "--teacher", "t.safetensors"]) == 0
    line = capsys.readouterr().out
    assert line.startswith("accuracy ") and "over 2 seeds, 95% interval" in line and "online labels" in line
    assert main([*student, "--labels", "online"]) == 2
    assert capsys.readouterr().err.startswith("ddlab: ")
    assert (
        main([*student[:-3], "--config", "epochs=1", "--labels", "hard", "--architectures", "mlp", "lenet", "--json"])
        == 0
    )
    assert [each["network"] for each in told(capsys)["results"]] == ["mlp", "lenet"]


def test_the_numbers_are_those_of_evaluate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SELECT, "--config", "images_per_class=2", "-o", "a.safetensors", "--quiet"]) == 0
    capsys.readouterr()
    words = ["--seeds", "2", "--config", "epochs=2", "network=mlp", "--device", "cpu"]
    assert main(["evaluate", "a.safetensors", *DATA, *words, "--json"]) == 0
    (found,) = told(capsys)["results"]
    data = load("shapes", size=16, train=60, test=20)
    config = supervised.Config.for_data(data, epochs=2, network=networks.spec("mlp"))
    wanted = evaluation.evaluate(DistilledSet.load("a.safetensors"), data, labels="hard", seeds=(0, 1), config=config)
    assert found["per_seed"] == {str(seed): value for seed, value in wanted.per_seed.items()}
    assert (found["mean"], found["std"], found["interval"]) == (wanted.mean, wanted.std, list(wanted.interval or ()))


def test_a_folder_of_images_and_a_published_preset(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = np.random.default_rng(0)
    for number in range(12):
        file = folder / "photos" / f"class{number % 2}" / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.integers(0, 255, (16, 16, 3), dtype=np.uint8)).save(file)
    given = ["distill", "selection", "--data", "photos", "size=16", "--preset", "paper:cifar10", "-o", "a.safetensors"]
    assert main([*given, "--config", "images_per_class=2"]) == 0
    assert "4 images" in capsys.readouterr().out
    made = DistilledSet.load("a.safetensors")
    assert made.class_names == ("class0", "class1")
    given[4:5] = ["size=16", "store=decoded.safetensors"]
    assert main([*given, "--config", "images_per_class=2"]) == 0
    assert DistilledSet.load("a.safetensors").fingerprint == made.fingerprint and Path("decoded.safetensors").is_file()


def test_a_set_without_labels_is_tested_by_a_probe(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    teacher = ["--teacher-config", "epochs=1", "warmup_epochs=0", "projector_width=8", NETWORK]
    given = ["distill", "representation_selection", *DATA, "--config", "budget=4", *teacher]
    assert main([*given, "-o", "a.safetensors"]) == 0
    assert "4 images" in capsys.readouterr().out
    words = ["--seeds", "1", "--config", "epochs=1", NETWORK]
    assert main(["evaluate", "a.safetensors", *DATA, *words, "--json"]) == 0
    (found,) = told(capsys)["results"]
    assert (found["labels"], found["network"], found["interval"]) == ("representations", "convnet(width=8)", None)


def interrupted_after(updates: int, module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, once, in update number `updates + 1` of a process."""
    whole, done = module.update, []

    def update(config: Any, inputs: Any, state: Any) -> Any:
        done.append(state.step)
        if len(done) == updates + 1:
            raise KeyboardInterrupt
        return whole(config, inputs, state)

    monkeypatch.setattr(module, "update", update)


def test_an_interrupt_leaves_what_there_is_and_a_checkpoint_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["distill", "sre2l", *DATA, "--config", "iterations=4", *TEACHER, "--json"]
    assert main([*given, "-o", "whole.safetensors"]) == 0
    interrupted_after(2, sre2l, monkeypatch)
    given += ["--checkpoint", "run.safetensors", "-o", "a.safetensors"]
    capsys.readouterr()
    assert main(given) == 130
    assert told(capsys)["complete"] is False and not DistilledSet.load("a.safetensors").complete
    assert main(given) == 0
    assert told(capsys)["complete"] is True
    whole, resumed = DistilledSet.load("whole.safetensors"), DistilledSet.load("a.safetensors")
    assert resumed.complete and resumed.images.equal(whole.images)
    assert Path("run.safetensors.teacher").exists()


def test_several_processes_make_the_same_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["distill", "sre2l", *DATA, "--config", "iterations=2", "classes_per_batch=4", "--json", "--quiet"]
    assert main([*given, *TEACHER, "--save-teacher", "t.safetensors", "-o", "one.safetensors"]) == 0
    spread = [*given, "--teacher", "t.safetensors", "--checkpoint", "run", "--jobs", "2", "-o", "two.safetensors"]
    capsys.readouterr()
    assert main(spread) == 0
    assert told(capsys)["complete"] is True
    one, two = (DistilledSet.load(f"{name}.safetensors") for name in ("one", "two"))
    assert one.fingerprint == two.fingerprint and one.labels.tolist() == list(range(10))
    assert main(["distill", "selection", *DATA, "--jobs", "2", "-o", "a.safetensors"]) == 2
    assert "jobs must be 1, and dask None, for selection" in capsys.readouterr().err


def test_a_set_that_cannot_be_written_where_it_was_asked_for_is_kept_elsewhere(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "taken").mkdir()
    assert main([*SELECT, *TEACHER, "-o", "taken"]) == 1
    said = capsys.readouterr()
    assert "taken" in said.err and "kept elsewhere" in said.err
    (file,) = re.findall(r"written: (\S*taken), \d+ images", said.out)
    assert DistilledSet.load(file).complete


def test_an_interrupt_while_the_teacher_is_trained_leaves_no_set(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(memory, "needed_bytes", lambda *given: 0)  # by the updates that are interrupted
    interrupted_after(0, supervised, monkeypatch)
    assert main(["distill", "sre2l", *DATA, *TEACHER, "--save-teacher", "t.safetensors", "-o", "a.safetensors"]) == 130
    assert capsys.readouterr().err == "ddlab: interrupted: the teacher was still being trained\n"
    assert not list(folder.iterdir())


def test_an_interrupt_keeps_whole_students(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SELECT, *TEACHER, "-o", "a.safetensors", "--json"]) == 0
    capsys.readouterr()
    given = ["evaluate", "a.safetensors", *DATA, "--config", "epochs=2", "network=mlp", "seed=7", "--json"]
    # Two epochs of one batch each: the third student is not whole.
    interrupted_after(5, supervised, monkeypatch)
    assert main([*given, "--seeds", "3"]) == 130
    found = told(capsys)
    assert found["complete"] is False and [len(each["per_seed"]) for each in found["results"]] == [2]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([*SELECT[:1], "selectoin", *SELECT[2:]], "method must be one of"),
        (["distill", "selection", "--data", "shape"], "'shapes'"),
        (["distill", "selection", "--data", "shapes", "sise=16"], "must be one of"),
        ([*SELECT, "--config", "kind=best"], "Config.kind must be one of"),
        ([*SELECT, "--config", "seed=1.5"], "Config.seed must be an integer"),
        ([*SELECT, "--preset", "teaching:cifar10"], "--preset must be one of 'paper'"),
        (["distill", "sre2l", *DATA, "--preset", "paper:nowhere"], "dataset must be one of"),
        ([*SELECT, "--teacher", "none.safetensors"], "none.safetensors"),
        ([*SELECT, "--device", "tpu"], "device must be"),
        (["distill", "sre2l", *DATA, "--teacher-config", "network=resnet"], "network must be one of"),
    ],
)
def test_mistakes_are_one_line(given: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*given, "-o", "a.safetensors"]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("ddlab: ") and words in said.err and said.err.count("\n") == 1 and not said.out
    assert not Path("a.safetensors").exists()


def test_evaluate_refuses_what_does_not_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SELECT, "-o", "a.safetensors"]) == 0
    capsys.readouterr()
    for words in (
        ["b.safetensors", *DATA],
        ["a.safetensors", "--data", "digits"],
        ["a.safetensors", *DATA, "--seeds", "0"],
    ):
        assert main(["evaluate", *words]) == 2
        assert capsys.readouterr().err.startswith("ddlab: ")


def test_every_method_has_what_the_command_asks_for() -> None:
    for name in methods.names():
        module = methods.get(name)
        assert (
            callable(module.Config.teaching)
            and callable(module.Config.paper)
            and isinstance(module.NEEDS_TEACHER, bool)
        )
    assert selection.NEEDS_TEACHER is False
