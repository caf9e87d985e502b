"""`compare`: its numbers are those of distill and evaluate, in pairs, each row beside as many
random real images, and no row is lost.
"""

import contextlib
import csv
import dataclasses
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.methods import dd, dm, krr_st, selection, sre2l
from ddlab.runs import Inputs
from ddlab.training import supervised
from tests.contract import cases
from tests.support import made_data, refuses, run_to_end

STUDENT = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=8)
SMALL = dm.SMALL.replace(images_per_class=2)


def compared(data: ImageData, methods: Any, **changes: Any) -> ddlab.evaluation.Comparison:
    options: dict[str, Any] = {
        "seeds": (0, 3),
        "images_per_class": 2,
        "config": STUDENT,
        "progress": False,
    }
    return ddlab.compare(methods, data, **options | changes)


def chosen(data: ImageData, seed: int, count: int = 2, **options: Any) -> ddlab.DistilledSet:
    return ddlab.distill(
        "selection", data, images_per_class=count, seed=seed, progress=False, **options
    )


def accuracy(distilled: Any, data: ImageData, seed: int) -> float:
    return ddlab.evaluate(
        distilled, data, labels="hard", seeds=[seed], config=STUDENT, progress=False
    ).mean


def descending(name: str, **options: Any) -> Any:
    return ddlab.from_loss(
        name, lambda c, i, images, y, step: images.square().mean(), iterations=3, **options
    )


def test_a_seed_is_every_draw_and_rows_are_pairs(grey: ImageData) -> None:
    ready = ddlab.distill("dm", grey, config=SMALL.replace(seed=7), progress=False)
    table = compared(
        grey, {"mine": SMALL, "ready": ready, "chosen": "selection", "pair": (dm, SMALL)}
    )
    names = ["mine", "ready", "chosen", "pair", "random real images, 2 per class"]
    assert [row.name for row in table.rows] == names and table.complete
    expected: dict[str, list[float]] = {row.name: [] for row in table.rows}
    for seed in (0, 3):
        real = chosen(grey, seed)
        mine = ddlab.distill("dm", grey, config=SMALL.replace(seed=seed), progress=False)
        for name, method in zip(expected, (mine, ready, real, mine, real), strict=True):
            expected[name].append(accuracy(method, grey, seed))
    for row in table.rows:
        assert list(row.accuracies) == expected[row.name] and row.seconds >= 0
        gains = [
            accuracy_of_row - baseline
            for accuracy_of_row, baseline in zip(row.accuracies, expected[names[-1]], strict=True)
        ]
        assert list(row.gains) == ([] if row.name == names[-1] else gains)
        assert row.floats == ready.storage_floats("hard") and row.one_set == (row.name == "ready")
    assert "ready, one set" in str(table) and "mine, one set" not in str(table)


@pytest.mark.parametrize("entry_kind", ["a Config", "a set", "an uneven set"])
def test_random_real_images_do_not_beat_themselves(entry_kind: str, grey: ImageData) -> None:
    """Whatever their number: the baseline has as many of each class."""
    row: Any = selection.Config(images_per_class=5)
    if entry_kind != "a Config":
        five_images = chosen(grey, 0, 5)
        kept_rows = (
            torch.arange(len(five_images))
            if entry_kind == "a set"
            else torch.tensor([0, 1, 2, 5, 10, 11])
        )
        row = ddlab.from_images(five_images.images[kept_rows], five_images.labels[kept_rows], grey)
    table = compared(grey, {"five": row, "two": selection.Config(images_per_class=2)}, seeds=[0])
    sizes = {"a Config": "5 per class", "a set": "5 per class", "an uneven set": "6 in all"}
    assert [row.name for row in table.rows][2:] == [
        f"random real images, {size}" for size in ("2 per class", sizes[entry_kind])
    ]
    assert table.rows[0].gains == (0.0,) and table.rows[0].counts == (
        (3, 1, 2) if "uneven" in entry_kind else (5, 5, 5)
    )
    assert table.rows[3].floats == table.rows[0].floats


@pytest.mark.parametrize("labels", ["stored", "online"])
def test_uneven_sets_keep_their_labels_beside_their_images(
    labels: str, grey: ImageData, teacher: Any
) -> None:
    three_images = chosen(grey, 1, 3, teacher=teacher)
    kept_rows = torch.tensor([0, 1, 3, 6])
    uneven = ddlab.from_images(
        three_images.images[kept_rows], three_images.labels[kept_rows], grey, teacher
    )
    table = compared(grey, {"uneven": uneven}, labels=labels, teacher=teacher, seeds=[1])
    assert abs(table.rows[0].gains[0]) < 1e-9


def test_no_row_is_lost(grey: ImageData) -> None:
    two_images = chosen(grey, 0)
    mine = descending("mine")
    bare = SimpleNamespace(**{name: getattr(dm, name) for name in vars(dm) if name[0] != "_"})
    entries = [
        two_images,
        chosen(grey, 1),
        chosen(grey, 0, 1),
        SMALL,
        dm.SMALL,
        mine.Config(),
        mine.Config(seed=9),
        "DM",
        (bare, SMALL),
    ]
    table = compared(grey, entries, seeds=[0])
    assert [row.name for row in table.rows] == [
        "selection, 2 per class (1)",
        "selection, 2 per class (2)",
        "selection, 1 per class",
        "dm, 2 per class (1)",
        "dm, 1 per class",
        "mine, 1 per class (1)",
        "mine, 1 per class (2)",
        "DM",
        "dm, 2 per class (2)",
        "random real images, 1 per class",
        "random real images, 2 per class",
    ]
    assert all(len(row.accuracies) == 1 for row in table.rows)


@pytest.mark.parametrize(
    ("methods", "changes", "named"),
    [
        ([], {}, ["methods"]),
        ("dm", {}, ["methods"]),
        (["mine"], {}, ["method"]),
        ([STUDENT], {}, ["method"]),
        ([(dm, dd.SMALL)], {}, ["config", "distribution_matching"]),
        (["dm", "dm"], {}, ["methods", "'dm'"]),
        ({"random real images": "dm"}, {}, ["methods", "baseline"]),
        ({1: "dm"}, {}, ["name in methods"]),
        (["dm"], {"labels": "regression"}, ["labels"]),
        (["dm"], {"seeds": []}, ["seeds"]),
        (["dm"], {"images_per_class": 0}, ["images_per_class"]),
        (["dm"], {"images_per_class": 13}, ["images per class of dm", "12", "13"]),
        ([krr_st.SMALL], {}, ["labels", "krr_st"]),
        ([dd.SMALL], {"labels": "online"}, ["labels", "dd"]),
        (
            ["dm"],
            {
                "teacher": networks.initialise(
                    networks.spec("mlp").for_data(made_data(classes=2)), seed=0
                )
            },
            ["teacher"],
        ),
    ],
)
def test_it_refuses_before_it_computes(
    methods: Any,
    changes: dict[str, Any],
    named: list[str],
    grey: ImageData,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ddlab.evaluation.comparison, "distill", None)
    monkeypatch.setattr(ddlab.evaluation.comparison, "train_teacher", None)
    with refuses(*named):
        compared(grey, methods, **changes)


def test_a_set_that_does_not_fit_is_refused_before_it_computes(
    grey: ImageData,
    colour: ImageData,
    teacher: Any,
    other_teacher: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ddlab.evaluation.comparison, "evaluate", None)
    with refuses("labels", "hard"):
        compared(grey, [chosen(grey, 0)], labels="online", teacher=teacher)
    with refuses("teacher", teacher.fingerprint):
        compared(grey, [chosen(grey, 0, teacher=teacher)], labels="online", teacher=other_teacher)
    with refuses("distilled", "channels"):
        compared(grey, [chosen(colour, 0)])


def test_labels_of_every_method_are_those_it_says(grey: ImageData, teacher: Any) -> None:
    for case in cases.method_cases():
        if case.name in ddlab.methods.names():
            distilled = ddlab.distill(case.module, grey, teacher, case.config, progress=False)
            kinds = {target.kind for target in distilled.targets} & {"hard", "stored", "online"}
            without = getattr(case.module, "WITHOUT_LABELS", False)
            promised = (
                () if without else getattr(case.module, "LABELS", ("hard", "stored", "online"))
            )
            assert kinds == set(promised), case.name


def test_a_method_that_fails_costs_no_other_row(grey: ImageData) -> None:
    tried: list[int] = []

    def fails(config: Any, inputs: Any, images: Any, labels: Any, step: int) -> Any:
        tried.append(config.seed)
        if config.seed == 3:
            raise TypeError("no | <b>number</b>")
        return images.square().mean()

    broken = ddlab.from_loss("broken", fails, iterations=2)
    table = compared(grey, {"broken": broken, "dm": SMALL}, seeds=[0, 3, 4])
    row = table.rows[0]
    assert (
        row.failed.startswith("TypeError: no")
        and row.accuracies == row.gains == ()
        and tried == [0, 0, 0, 0, 3]
    )
    assert [len(row.accuracies) for row in table.rows[1:]] == [3] * (
        len(table.rows) - 1
    ) and table.complete
    assert "failed: TypeError: no \\| &lt;b&gt;number" in str(table)
    records = {record["method"]: record for record in table.records()}
    assert set(records) == {row.name for row in table.rows}
    assert records["broken"]["note"] == row.failed and records["broken"]["seed"] is None


@contextlib.contextmanager
def interrupted_in(module: Any, call: int) -> Iterator[None]:
    """Ctrl-C in the update of a process that is the call-th since."""
    update = module.update
    calls = [0]

    def counted(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            os.kill(os.getpid(), signal.SIGINT)
        return update(*arguments)

    module.update = counted
    # A shell's background job ignores it.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        module.update = update
        signal.signal(signal.SIGINT, handler)


def test_an_interrupt_ends_it_with_what_is_whole(grey: ImageData, no_cache: None) -> None:
    """Two rows of three updates: with the first seed all is whole; with the second one row was."""
    methods = {"one": (first_method := descending("one")), "two": descending("two")}
    with interrupted_in(first_method, 5):
        table = compared(grey, methods, seeds=[0, 1, 2])
    assert (
        table.seeds == (0,)
        and not table.complete
        and [len(row.accuracies) for row in table.rows] == [1, 1, 1]
    )
    assert "Not complete" in str(table) and [record["seed"] for record in table.records()] == [
        0,
        0,
        0,
    ]
    with interrupted_in(first_method, 2), pytest.raises(KeyboardInterrupt):
        compared(grey, methods)
    with interrupted_in(supervised, 2), pytest.raises(KeyboardInterrupt):
        compared(grey, {"sre2l": sre2l.SMALL}, labels="online")


def test_several_seeds_at_once_are_the_same(grey: ImageData, no_cache: None) -> None:
    methods = {"dm": SMALL, "own": descending("own")}
    in_turn = compared(grey, methods)
    in_parallel = compared(grey, methods, jobs=2)
    assert [(row.accuracies, row.gains) for row in in_turn.rows] == [
        (row.accuracies, row.gains) for row in in_parallel.rows
    ]


def test_it_is_a_table_in_print_in_a_notebook_and_in_a_file(
    grey: ImageData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = compared(grey, ["dm"], seeds=[1])
    lines = str(table).splitlines()
    assert (
        lines[0].startswith("| method")
        and "hard labels" in lines[0]
        and len({len(line) for line in lines if line.startswith("|")}) == 1
    )
    assert lines[-1] == f"Students: {STUDENT.summary}."
    assert f"{table.rows[0].accuracies[0]:.3f}" in lines[2]
    assert lines[2].split("|")[3].strip() == f"{table.rows[0].gains[0]:+.3f}"
    assert table._repr_markdown_() == str(table) and lines[3].split("|")[3].strip() == "-"
    two = compared(grey, ["dm"])
    assert "{:.3f} and {:.3f}".format(*two.rows[0].accuracies) in str(two)
    frame = two.to_pandas()
    assert frame["accuracy"].tolist() == [value for row in two.rows for value in row.accuracies]
    assert frame["seed"].tolist() == [0, 3, 0, 3]
    with open(two.to_csv(tmp_path / "found.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["accuracy"]) for row in rows] == frame["accuracy"].tolist() and rows[-1][
        "gain"
    ] == ""
    with refuses("path", "overwrite"):
        two.to_csv(tmp_path / "found.csv")
    assert two.to_csv(tmp_path / "found.csv", overwrite=True).exists()
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with refuses("pandas", "pip install"):
        table.to_pandas()


def test_a_teacher_is_trained_once_where_one_is_asked(
    grey: ImageData, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[int] = []
    teach = supervised.Config.teaching(
        "teacher", network=networks.spec("convnet", width=4), epochs=2
    )
    train = ddlab.train_teacher
    monkeypatch.setattr(
        ddlab.evaluation.comparison,
        "train_teacher",
        lambda *a, **o: trained.append(1) or train(a[0], teach, **o),
    )
    table = compared(grey, {"sre2l": sre2l.SMALL, "dm": SMALL}, labels="online", seeds=[0])
    assert trained == [1] and table.labels == "online"
    compared(grey, {"dm": SMALL}, seeds=[0])
    assert trained == [1]


def test_a_config_without_a_seed_is_run_as_it_is(grey: ImageData) -> None:
    @dataclasses.dataclass(frozen=True)
    class Config:
        count: int = 1

    def finish(config: Any, inputs: Inputs, state: Any) -> Any:
        return chosen(grey, 0, config.count)

    bare = SimpleNamespace(
        NAME="bare",
        Config=Config,
        State=SimpleNamespace,
        total_steps=lambda c, i: 0,
        init=lambda c, i: SimpleNamespace(step=0),
        update=None,
        finish=finish,
    )
    table = compared(grey, [bare, (bare, Config(2))], seeds=[0])
    assert [(row.name, row.counts) for row in table.rows[:2]] == [
        ("bare (1)", (1, 1, 1)),
        ("bare (2)", (2, 2, 2)),
    ]


def test_uneven_test_classes_show_balanced_accuracy_too(grey: ImageData) -> None:
    """98 to 2 looks like nearly all or nearly nothing."""
    test_rows = torch.cat(
        [grey.of_class(0, "test"), grey.of_class(1, "test")[:1], grey.of_class(2, "test")[:2]]
    )
    uneven = dataclasses.replace(
        grey, test_images=grey.test_images[test_rows], test_labels=grey.test_labels[test_rows]
    )
    table = compared(uneven, ["dm"], seeds=[0, 1])
    distilled = chosen(grey, 0)
    assert "balanced accuracy" in str(table) and all(len(row.balanced) == 2 for row in table.rows)
    assert table.records()[0]["balanced"] == table.rows[0].balanced[0]
    evaluation = ddlab.evaluate(
        distilled, uneven, labels="hard", seeds=[0], config=STUDENT, progress=False
    )
    assert (
        evaluation.balanced is not None
        and f"balanced accuracy {evaluation.balanced:.3f}" in str(evaluation)
    )
    student = run_to_end(supervised, STUDENT.replace(seed=0), Inputs(distilled=distilled))
    right = (
        networks.predict(student, uneven.normalised(split="test")).logits.argmax(1)
        == uneven.test_labels
    ).double()
    expected = sum(float(right[uneven.test_labels == label].mean()) for label in range(3)) / 3
    assert evaluation.balanced == pytest.approx(expected) and evaluation.mean == pytest.approx(
        float(right.mean())
    )
    even = ddlab.evaluate(distilled, grey, labels="hard", seeds=[0], config=STUDENT, progress=False)
    assert even.balanced is None and "balanced" not in str(even)
