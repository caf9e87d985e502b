"""The start page: its runs at a small scale, its table, the index."""

import json
import re
import types
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.lessons import LESSONS, index
from ddlab.lessons.build import NOTEBOOKS
from ddlab.lessons.start_page import checks as start_page
from ddlab.methods import sre2l
from ddlab.training import supervised
from tests.support import made_data


@pytest.fixture(scope="module")
def small() -> tuple[Any, Any, supervised.Config]:
    """Data, teacher and student settings that take no time."""
    data = made_data(train=12)
    spec = networks.spec("convnet", width=4)
    teacher = ddlab.train_teacher(
        data, supervised.Config.teaching("teacher", network=spec, epochs=3), progress=False
    )
    return data, teacher, supervised.Config.teaching(network=spec, epochs=2)


@pytest.fixture(autouse=True)
def quick_recovery(monkeypatch) -> None:
    usual = sre2l.Config.teaching
    quick = classmethod(lambda _cls, **changes: usual(**{"iterations": 2} | changes))
    monkeypatch.setattr(sre2l.Config, "teaching", quick)


def test_the_sets_are_of_one_size_and_drawn_anew_for_each_seed(small) -> None:
    data, teacher, _ = small
    sets_1 = start_page.three_sets(data, teacher, seed=1)
    sets_1_again = start_page.three_sets(data, teacher, seed=1)
    sets_2 = start_page.three_sets(data, teacher, seed=2)
    assert tuple(sets_1) == start_page.IMAGES
    assert {len(images) for images in sets_1.values()} == {
        start_page.IMAGES_PER_CLASS * data.classes
    }
    for name, images in sets_1.items():
        assert {target.kind for target in images.targets} == {"hard", "stored", "online"}
        assert torch.equal(images.images, sets_1_again[name].images)
    assert not torch.equal(sets_1["random"].images, sets_2["random"].images)
    assert not torch.equal(sets_1["SRe2L"].images, sets_2["SRe2L"].images)


def test_a_pair_shares_its_seed(small, monkeypatch) -> None:
    data, teacher, student = small
    evaluated = []

    def note(several: dict[Any, dict[str, Any]], **_: Any) -> Any:
        evaluated.extend(
            (options["distilled"].fingerprint, options["labels"], options["seeds"])
            for options in several.values()
        )
        return {name: types.SimpleNamespace(mean=0.5) for name in several}

    monkeypatch.setattr(start_page, "evaluate_all", note)
    start_page.accuracies(data, teacher, pairs=2, student=student)
    sets = [start_page.three_sets(data, teacher, seed=seed) for seed in range(2)]
    assert evaluated == [
        (sets[seed][images].fingerprint, labels, (seed,))
        for seed in range(2)
        for images in start_page.IMAGES
        for labels in start_page.LABELS
    ]


def test_the_table_shows_mean_and_interval() -> None:
    accuracies = {
        ("a", "hard"): [0.1, 0.2, 0.3],
        ("a", "online"): [0.5],
        ("b", "hard"): [0.0, 0.1],
        ("b", "online"): [1.0, 1.0],
    }
    assert start_page.table(accuracies).splitlines() == [
        "| images | hard labels | online labels |",
        "|---|---|---|",
        "| a | **20%** (0% to 45%) | **50%** |",
        "| b | **5%** (0% to 69%) | **100%** (100% to 100%) |",
    ]


def test_the_index_names_every_lesson_and_its_links_lead_to_notebooks() -> None:
    rows = index().splitlines()[2:]
    assert len(rows) == len(LESSONS)
    for row, (name, lesson) in zip(rows, LESSONS.items(), strict=True):
        assert lesson.title in row and lesson.finds in row and f"{lesson.minutes} min" in row
        (link,) = re.findall(r"\]\((.*?)\)", row)
        assert link == f"{name}.ipynb" and (NOTEBOOKS / link).exists()
    assert "](notebooks/00_start.ipynb)" in index("notebooks/")


def test_a_lesson_is_headed_by_its_title_in_the_catalogue() -> None:
    for name, lesson in LESSONS.items():
        cells = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        assert "".join(cells[0]["source"]).startswith(f"# {lesson.title}\n")
