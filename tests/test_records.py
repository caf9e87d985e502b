"""The tables and teachers that come with ddlab: what they hold, and what is refused."""

import math
from collections import Counter

import pytest

import ddlab
from ddlab import methods, records
from ddlab.core import DDLabError


@pytest.mark.parametrize("name", records.names())
def test_a_table_names_its_commit_and_holds_finite_numbers(name: str) -> None:
    table = records.load(name)
    assert table.name == name and table.description and table.provenance["commit"]
    assert table.rows and all(tuple(row) == table.columns for row in table.rows)
    numbers = []
    for row in table.rows:
        for value in row.values():
            if isinstance(value, float):
                numbers.append(value)
    assert all(map(math.isfinite, numbers))


def test_values_are_those_of_the_rows_that_fit_in_the_order_of_their_seeds() -> None:
    table = records.load("siamese")
    by_seed = {
        row["seed"]: row["plain"]
        for row in table.rows
        if (row["data"], row["rule"]) == ("shapes", "DC")
    }
    assert table.values("plain", data="shapes", rule="DC") == [
        by_seed[seed] for seed in sorted(by_seed)
    ]


def test_teachers_answer_images_of_their_size() -> None:
    assert records.teacher("shapes64").spec.classes == 10
    assert records.teacher("shapes16_self_supervised").spec.image_size == (16, 16)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: records.load("none"), "name"),
        (lambda: records.teacher("none"), "name"),
        (lambda: records.load("siamese").values("none"), "column"),
        (lambda: records.load("siamese").values("plain", none=1), "column"),
        (lambda: records.load("siamese").values("plain", rule="none"), "rule"),
    ],
)
def test_what_is_not_there_is_refused_by_name(call, named: str) -> None:
    with pytest.raises(DDLabError, match=named):
        call()


def test_what_papers_print_is_of_every_method_and_found_by_any_spelling() -> None:
    rows = ddlab.published().records()
    learners = set(methods.names()) - {"selection", "representation_selection"}
    assert {methods.get(row["method"]).NAME for row in rows} == learners
    settings = []
    for row in rows:
        settings.append(
            (*(value for column, value in row.items() if column not in ("accuracy", "deviation")),)
        )
    assert len(set(settings)) == len(rows) >= 60  # one number for each setting
    assert all(
        0 < row["accuracy"] < 100 and row["images_per_class"] > 0 and row["source"] for row in rows
    )
    assert [row["accuracy"] for row in ddlab.published("DM", "cifar10").rows] == [26.0, 48.9, 63.0]
    assert (
        "| 48.9 ± 0.6 "
        in ddlab.published("distribution_matching", "CIFAR-10", images_per_class=10).table()
    )


def test_printed_numbers_of_other_tasks_stand_apart() -> None:
    searches = ddlab.published(task="architecture search")
    assert [row["rank_correlation"] for row in searches.rows] == [0.41, 0.36, -0.04]
    assert "-0.04" in searches.table() and "accuracy" not in searches.table()
    in_turn = ddlab.published("dwa", "CIFAR-100", task="continual learning").records()
    assert [row["accuracy"] for row in in_turn] == [34.6, 25.7, 22.5, 20.2, 18.1]


@pytest.mark.parametrize(
    "name", [name for name in records.names() if "seed" in records.load(name).columns]
)
def test_a_condition_has_each_seed_once(name: str) -> None:
    """Whatever stands before the seed, or is no number, is the condition; what was measured does
    not tell rows apart.
    """
    table = records.load(name)
    before = table.columns[: table.columns.index("seed") + 1]
    condition = [
        *before,
        *(
            name
            for name in table.columns
            if name not in before and isinstance(table.rows[0][name], (bool, str))
        ),
    ]
    places = [tuple(row[column] for column in condition) for row in table.rows]
    twice = [place for place, count in Counter(places).items() if count > 1]
    assert twice == []
