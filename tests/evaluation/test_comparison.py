"""`compare`: its numbers are those of distill and evaluate, in pairs, and it says what it cannot compare."""

from __future__ import annotations

from typing import Any

import pytest

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.methods import dm, selection, sre2l
from ddlab.training import supervised
from tests.support import refuses

STUDENT = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=8)
SMALL = dm.SMALL.replace(images_per_class=2)


def compared(data: ImageData, given: Any, **changes: Any) -> ddlab.evaluation.Comparison:
    options: dict[str, Any] = {"seeds": (0, 3), "images_per_class": 2, "config": STUDENT, "progress": False}
    return ddlab.compare(given, data, **options | changes)


def accuracy(made: Any, data: ImageData, seed: int) -> float:
    return ddlab.evaluate(made, data, labels="hard", seeds=[seed], config=STUDENT, progress=False).mean


def test_a_seed_is_every_draw_and_rows_are_pairs(grey: ImageData) -> None:
    ready = ddlab.distill("dm", grey, config=SMALL.replace(seed=7), progress=False)
    found = compared(grey, {"mine": SMALL, "ready": ready, "chosen": "selection"})
    assert [row.name for row in found.rows] == ["mine", "ready", "chosen", "random real images"]
    wanted: dict[str, list[float]] = {row.name: [] for row in found.rows}
    for seed in (0, 3):
        real = selection.Config.teaching(images_per_class=2, seed=seed)
        chosen = ddlab.distill("selection", grey, config=real, progress=False)
        mine = ddlab.distill("dm", grey, config=SMALL.replace(seed=seed), progress=False)
        for name, made in zip(wanted, (mine, ready, chosen, chosen), strict=True):
            wanted[name].append(accuracy(made, grey, seed))
    for row in found.rows:
        assert list(row.accuracies) == wanted[row.name] and row.seconds >= 0
        gains = [one - other for one, other in zip(row.accuracies, wanted["random real images"], strict=True)]
        assert list(row.gains) == gains
        assert row.floats == ready.storage_floats()


def test_it_is_a_table_in_print_and_in_a_notebook(grey: ImageData, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared(grey, ["dm"], seeds=[1])
    lines = str(found).splitlines()
    assert lines[0].startswith("| method") and "hard labels" in lines[0] and len({len(line) for line in lines}) == 1
    assert f"{found.rows[0].accuracies[0]:.3f}" in lines[2]
    assert lines[2].split("|")[3].strip() == f"{found.rows[0].gains[0]:+.3f}"
    assert found._repr_markdown_() == str(found) and lines[3].split("|")[3].strip() == "-"
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with refuses("pandas", "pip install"):
        found.to_pandas()


def test_a_data_frame_has_a_line_for_each_method_and_seed(grey: ImageData) -> None:
    found = compared(grey, ["dm"])
    frame = found.to_pandas()
    assert frame["accuracy"].tolist() == [value for row in found.rows for value in row.accuracies]
    assert frame["seed"].tolist() == [0, 3, 0, 3]


def test_a_teacher_is_trained_once_where_one_is_asked(grey: ImageData, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[int] = []
    teach = supervised.Config.teaching("teacher", network=networks.spec("convnet", width=4), epochs=2)
    train = ddlab.train_teacher
    monkeypatch.setattr(
        ddlab.evaluation.comparison, "train_teacher", lambda *a, **o: trained.append(1) or train(a[0], teach, **o)
    )
    found = compared(grey, {"sre2l": sre2l.SMALL, "dm": SMALL}, labels="online", seeds=[0])
    assert trained == [1] and found.labels == "online"
    compared(grey, {"dm": SMALL}, seeds=[0])
    assert trained == [1]


@pytest.mark.parametrize(
    ("given", "changes", "named"),
    [([], {}, "methods"), ("dm", {}, "methods"), (["mine"], {}, "method"), (["dm"], {"labels": "regression"}, "labels"),
     (["dm"], {"seeds": []}, "seeds"), (["dm"], {"images_per_class": 0}, "images_per_class")],
)  # fmt: skip
def test_what_it_refuses(given: Any, changes: dict[str, Any], named: str, grey: ImageData) -> None:
    with refuses(named):
        compared(grey, given, **changes)
