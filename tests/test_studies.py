"""The scripts of the studies: each makes what its table holds, and FINDINGS.md says what the tables do."""

import dataclasses
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ddlab import networks, records
from ddlab.lessons.build import NOTEBOOKS

FOLDER = NOTEBOOKS / "studies"
ROWS = ("dc", "dd", "dm", "kip", "ld", "sldd")
# Whose rows an earlier commit made, for they have left the library.
GONE = {
    "matching": {"forgetting"},
    "self_supervised_architectures": {"AlexNet", "untrained"},
}
TIMES = ("cpu_seconds", "seconds")  # of a machine that others use too


def imported(name: str) -> Any:
    """Return a script of the studies as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        return importlib.import_module(name)


def studies() -> Iterator[Any]:
    """All studies of tables whose cells are made one by one."""
    kind = imported("study").Study
    for file in sorted(FOLDER.glob("*.py")):
        module = imported(file.stem)
        values = [*vars(module).values(), *getattr(module, "STUDIES", ())]
        yield from (value for value in values if isinstance(value, kind))


STUDIES = {study.name: study for study in studies()}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_the_settings_of_its_table(name: str) -> None:
    study = STUDIES[name]
    table = records.load(name)
    assert set(table.columns) >= {*study.setting, *study.measured}
    settings = [tuple(setting) for setting in study.settings(study.seeds)]
    recorded = [tuple(row[column] for column in study.setting) for row in table.rows]
    assert settings == [row for row in recorded if not {*row} & GONE.get(name, set())]
    assert {*CELLS.get(name, ())} <= {*settings}


def test_each_study_has_a_cell_that_is_made_again() -> None:
    assert {*CELLS} == {*STUDIES} - {"self_supervised_architectures"}  # minutes for a cell


def test_findings_are_those_of_the_tables() -> None:
    text = (FOLDER / "FINDINGS.md").read_text(encoding="utf-8")
    assert imported("findings").lines() in text
    assert imported("published").table(list(records.load("replications").rows)) in text


def test_a_reading_is_that_of_its_interval() -> None:
    findings = imported("findings")
    entry: dict[str, Any] = {
        "said": "A larger weight widens coverage.",
        "table": "diversity",
        "value": "coverage",
        "where": {"push": "none", "start": "noise"},
        "plus": {"lambda_var": 0.11},
        "minus": {"lambda_var": 0.01},
    }
    by_weight = {
        weight: records.load("diversity").values(
            "coverage", push="none", start="noise", lambda_var=weight
        )
        for weight in (0.01, 0.11)
    }
    pairs = zip(by_weight[0.11], by_weight[0.01], strict=True)
    assert findings.differences(entry) == pytest.approx([more - less for more, less in pairs])
    assert findings.reading(entry) == "reversed"
    assert findings.reading(entry | {"loss": 0.1}) == "holds"
    assert findings.reading(entry | {"plus": {"lambda_var": 0.01}}) == "no difference seen"
    turned = {"plus": entry["minus"], "minus": entry["plus"], "effect": 0.5}
    assert findings.reading(entry | turned) == "holds, smaller than printed"
    with pytest.raises(ValueError, match="no row"):
        findings.differences(entry | {"plus": {"lambda_var": 0.5}})


# One seed and the smallest arms of each study, a cell for each way in which its cells are made.
CELLS: dict[str, list[tuple[Any, ...]]] = {
    "adjustment_grid": [("DWA", 5, "real", 0.01, 0.11, "none", None, None, 0)],
    "architectures": [("convnet", "random real images", 10, None, None, None, None, None, None, 0)],
    "biased": [("all", "half", 0), ("random", "half", 0), ("DM", "half", 0)],
    "diversity": [("real images", None, "none", 0), ("noise", 0.01, "none", 0)],
    "fadrm_plus": [("one network", "one network", 0)],
    "few_updates": [
        ("none", "ConvNet", "switch", "dynamic", 0.05, 0),
        ("strong", "LeNet", "switch", "dynamic", 0.5, 0),
    ],
    "flexibility": [("LD", "as made", 0), ("LD", "Adam, mixed batches", 0)],
    "generative_teaching": [("no generator", 0, "nothing"), ("GTN", 0, "everything")],
    "kernel_learned_by": [("fc1", 0)],
    "kernel_points": [("digits", "random", 1, 0), ("digits", "LS, noise", 10, 0)],
    "kernel_solved_by": [("digits", "true", 0), ("digits", "rbf", 0)],
    "kernel_students": [("digits", "random", 1, 0)],
    "label_networks": [("perceptron", "perceptron", 0)],
    "labelled_sets": [("random real", 0), ("DM", 0)],
    "learned_labels": [
        ("noise", 100, "the learner's network", 1, 0),
        ("one real digit", 10, "the learner's network", 1, 0),
        ("true labels", 100, "the learner's network", 1, 0),
    ],
    "matching": [("digits", "random", 0), ("digits", "DM", 0), ("digits", "DC", 0)],
    "matching_counts": [(2, "DM", 0), (5, "centres", 0)],
    "matching_labels": [("random", 0)],
    "matching_networks": [("batch", "average", "relu", 0)],
    "matching_transfer": [("random real images", 0)],
    "matching_views": [("none", 1, 0), ("crop", 1, 0)],
    "memories": [("none", 0, 0), ("random", 1, 0), ("nearest to centres", 1, 0), ("DM", 1, 0)],
    "memory_phases": [("random", 2, 0), ("learned", 2, 0)],
    "moving": [("untrained", "digits", 0), ("real", "shapes", 0), ("all shapes", "shapes", 0)],
    "number_of_images": [
        ("random real", 10, 0),
        ("DM", 10, 0),
        ("SLDD, its own steps", 10, 0),
    ],
    "perturbation_kinds": [("random real images", 1, None, None, None, None, None, None, 0)],
    "recovered": [("real", "hard", 0), ("recovered from noise", "online", 0)],
    "remembering": [("random", 0), ("DM", 0)],
    "representations": [
        ("untrained", "none", "all", 0, 0),
        ("none", "simclr", "all", 600, 0),
        ("classifier", "none", "RDED", 600, 0),
    ],
    "residual_counts": [("random real", 1, 0), ("FADRM", 1, 0)],
    "residual_labels": [
        ("class labels", "random real images", 5, None, None, None, None, None, None, 0)
    ],
    "residual_pairs": [("patches", 0)],
    "residuals": [("random real images", 5, None, None, None, None, None, None, 0)],
    "self_supervised": [
        ("real images", 10, "random", False, "none", None, None, None, None, None, 0)
    ],
    "shift_models": [("networks", 4, "what the budget buys", 0), ("same", None, "one result", 0)],
    "siamese": [("shapes", "random", None, 0)],
    "swapped_labels": [("class means", 0), ("a hundred digits, learned labels", 0)],
    "teaching_stability": [
        ("one network", "ConvNet", True, 0.02, 0),
        ("one network", "MLP", True, None, 0),
    ],
    "text_networks": [("TextConvNet", "one start", 0)],
    "trajectories": [("MTT", 1, 0), ("class means, best rate", 1, 0)],
    "unlabelled_sets": [("teacher", 0), ("real", 0), ("principal, few", 0), ("untrained", 0)],
    "unrolled_starts": [
        ("perceptron", 1, "one start", 0),
        ("perceptron", 3, "one start", 0),
        ("perceptron", 3, "class means", 0),
        ("ConvNet", 1, "one start", 0),
    ],
    "variance_sweep": [("coupled", "SRe2L", 5, "noise", 0.01, 0.01, None, None, None, 0)],
}


def is_of_this_machine(name: str) -> bool:
    """Whether a table, or cells of it, were made on a processor of this kind."""
    provenance = records.load(name).provenance
    here = imported("study").machine()
    kinds = [provenance, provenance.get("made_again", {})]
    return any(
        all(kind.get(part) == here[part] for part in ("processor", "instructions"))
        for kind in kinds
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "setting"), [(name, setting) for name, cells in CELLS.items() for setting in cells]
)
def test_a_cell_made_again_is_the_recorded_one(name: str, setting: tuple[Any, ...]) -> None:
    """On a processor of the same kind it is; on another one float32 rounds otherwise."""
    study = STUDIES[name]
    made = study.row(setting)[len(setting) :]
    pairs = zip(study.measured, made, study.recorded(setting), strict=True)
    for column, here, recorded in pairs:
        if column in TIMES:
            continue
        assert (here is None) == (recorded is None)
        if is_of_this_machine(name) and here is not None:
            assert here == pytest.approx(recorded, abs=1e-4), column


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_set_of_the_arena_and_its_place_are_made_again(tmp_path: Path) -> None:
    arena = imported("arena")
    arena.run(tmp_path, "random", "digits", "1", 0)
    found = json.loads((tmp_path / "digits-1-random-0.json").read_text())["found"]
    where: dict[str, Any] = {"data": "digits", "budget": "1", "method": "random"}
    if is_of_this_machine("arena"):
        for training, score in found.items():
            (recorded,) = records.load("arena").values("accuracies", training=training, **where)
            assert score["accuracy"] == pytest.approx(recorded[0], abs=1e-4), training
    arena_map = imported("arena_map")
    data, teacher, _ = arena.scene("digits")
    distilled = arena_map.distilled_set(tmp_path, "random", "digits", "1", 0)
    real, points = (
        networks.predict(teacher, images).features
        for images in (data.normalised(arena_map.real_pool(data)), distilled.images.float())
    )
    (coverages,) = records.load("arena_map").values("coverages", **where)
    if is_of_this_machine("arena_map"):
        assert arena_map.covered(real, points) == pytest.approx(coverages[0], abs=1e-4)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_draw_of_the_architecture_search_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = imported("architecture_search")
    monkeypatch.setattr(search, "DRAWS", {1: 1})
    (row,) = search.rows_of_small(tmp_path, "digits", 1, 15, 1)
    made = dict(zip(search.COLUMNS, row, strict=True))
    settings = {name: made[name] for name in search.COLUMNS[:5]}
    (recorded,) = records.load("architecture_search").values("accuracies", **settings)
    if is_of_this_machine("architecture_search"):
        assert made["accuracies"] == recorded


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_study_writes_its_table_with_how_it_came_about(tmp_path: Path) -> None:
    study = dataclasses.replace(STUDIES["text_networks"], seeds=(0,))
    study.main(["--folder", str(tmp_path)])
    table = json.loads((tmp_path / "text_networks.json").read_text(encoding="utf-8"))
    assert table["columns"] == [*study.setting, *study.measured]
    assert len(table["rows"]) == len(list(study.settings((0,))))
    assert {"processor", "instructions", "threads", "python", "torch", "numpy", "commit"} <= {
        *table["provenance"]
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_printed_numbers_are_made_on_a_cluster_and_stay(tmp_path: Path) -> None:
    command = [sys.executable, FOLDER / "cluster.py", tmp_path]

    def made() -> list[str]:
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return sorted(line for line in run.stdout.splitlines() if "(printed:" in line)

    first = made()
    assert [line.split(":")[0] for line in first] == list(ROWS)
    times = {file: file.stat().st_mtime for file in tmp_path.rglob("*.safetensors")}
    assert made() == first
    assert times == {file: file.stat().st_mtime for file in tmp_path.rglob("*.safetensors")}
