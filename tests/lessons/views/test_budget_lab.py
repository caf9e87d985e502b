"""The explorer of the storage budget, driven in Python: its numbers are counted here from the paper's words, not from the library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ddlab.core.errors import DDLabError
from ddlab.data import predefined_views
from ddlab.figures import alt_text
from ddlab.lessons.views.budget import PRESETS, Settings, bought, counts_table, savings_table, sentence
from ddlab.lessons.views.budget_lab import BudgetLab


@pytest.fixture
def explorer() -> Iterator[BudgetLab]:
    made = BudgetLab()
    yield made
    made.close()


def cells(table: str) -> list[list[str]]:
    """The rows of a table's body."""
    body = table.split("<tbody>")[1]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("</tr>") if "<t" in row]
    return [row for row in rows if row]


def floats_of(view: Settings, count: int) -> int:
    """Of `count` pairs, from section 4 and appendix A.1."""
    views = {"none": 0, "rotation": 3, "jigsaw": 3, "crop": 5}[view.augmentation]
    side, v = view.scale, view.representation_bases
    basis = view.channels * (view.height // side) * (view.width // side)
    bias = count * v * views if view.shift == "stored" else views * v if view.shift == "bias" else 0
    if view.shift == "networks":
        bias = views * (v * view.hidden + view.hidden + view.hidden * v + v)
    mean = view.representation_size if view.representation_mean else 0
    return (
        view.image_bases * (basis + 0)
        + count * view.image_bases
        + v * view.representation_size
        + count * v
        + bias
        + mean
    )


SETTINGS = [
    "",
    "images=25,image_bases=50,representation_bases=50",
    'images=300,augmentation="crop",hidden=16,representation_mean=true',
    'images=1000,image_bases=20,scale=4,shift="stored",augmentation="jigsaw"',
    'images=40,image_bases=7,representation_bases=9,shift="bias",representation_size=64,channels=1,height=16,width=16',
    'images=500,scale=1,shift="same"',
    'images=70,augmentation="none",representation_bases=60,image_bases=10',
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS)
def test_m_is_the_most_pairs_that_fit(settings: str) -> None:
    view = Settings.from_string(settings)
    found = bought(view)
    assert floats_of(view, found.count) <= view.budget < floats_of(view, found.count + 1)
    assert found.bill.total == floats_of(view, found.count) and found.shown == found.count and not found.refused
    assert f"buy m = {found.count:,} pairs of {view.views + 1} view" in sentence(view, found)


def test_the_papers_numbers_for_100_images(explorer: BudgetLab) -> None:
    assert explorer.found.count == 114 and explorer.preset.value == "CIFAR100, N = 100"
    assert explorer.found.bill.images == 176_400 and explorer.found.bill.representations == 130_612
    said = explorer.sentence
    assert "The floats of 100 images, 307,200, buy m = 114 pairs of 4 views" in said and "take 307,012." in said
    assert "is 100 images, or 85 with the target of each." in said
    assert "U = 200 bases are more than 114 images can span" in said and "1/2 as high and wide." in said
    explorer.panel["representation_mean"].value = True
    assert explorer.found.count == 113 and explorer.preset.value == "as chosen below"


def test_counts_in_both_conventions() -> None:
    view = Settings()
    rows = {row[0]: row[1:] for row in cells(counts_table(view, bought(view)))}
    assert rows == {
        "bases and coefficients (m pairs)": ["261,412", "400", "114"],
        "images alone": ["0", "3,072", "100"],
        "images and their targets": ["0", "3,584", "85"],
        "images, targets of all views": ["0", "5,120", "60"],
        "images at 1/2 of the size": ["0", "768", "400"],
        "images at 1/2, and their targets": ["0", "1,280", "240"],
    }
    view = view.replace(scale=1, augmentation="none")
    assert [row[0] for row in cells(counts_table(view, bought(view)))][1:] == [
        "images alone",
        "images and their targets",
    ]


def test_whether_factors_save() -> None:
    view = Settings()
    rows = cells(savings_table(view, bought(view)))
    assert rows == [
        ["images", "176,400", "350,208", "yes", "397", "54"],
        ["images at 1/2 of the size", "176,400", "87,552", "no", "99", "271"],
        ["their targets", "125,200", "58,368", "no", "93", "329"],
        ["targets of all views, by shifts", "130,612", "233,472", "yes", "", ""],
    ]
    for what, _, _, _, most, least in rows[:3]:
        floats = 3072 if what == "images" else 768 if "images" in what else 512
        small = 768 if "images" in what else 512
        assert int(most) * (small + 114) < 114 * floats <= (int(most) + 1) * (small + 114)
        assert (
            200 * (small + int(least)) < int(least) * floats
            and 200 * (small + int(least) - 1) >= (int(least) - 1) * floats
        )
    full = Settings(images=3000, image_bases=768)
    assert [row[5] for row in cells(savings_table(full, bought(full)))][:2] == ["257", "none"], (
        "as many bases as dimensions"
    )


def test_all_presets_of_table_5_and_what_they_share(explorer: BudgetLab) -> None:
    counts = {}
    for name, view in PRESETS.items():
        explorer.preset.value = name
        assert explorer.panel.value == view and explorer.error is None and explorer.preset.value == name
        counts[name] = explorer.found.count
        size = 32 if name.startswith("CIFAR") else 64
        assert f"3 x {size} x {size} pixels" in explorer.sizes.value and f"N = {view.images}" in name
    # U = V = 2 N: of such sets m does not depend on N.
    assert [counts[f"CIFAR100, N = {images}"] for images in (25, 50, 100, 1000, 5000)] == [114, 114, 114, 2418, 12127]
    assert {counts[name] for name in PRESETS if "CIFAR" not in name} == {2382}


def test_the_bars_are_the_bill_beside_the_same_plainly(explorer: BudgetLab) -> None:
    figure = explorer.bill.figure
    drawn = {one.name: list(one.x) for one in figure.data if one.type == "bar"}
    assert list(figure.data[0].y) == [
        "bases and coefficients", "images and their targets", "images, targets of all views", "images at 1/2, and their targets",
    ]  # fmt: skip
    assert drawn["image bases"][0] == 153_600 and drawn["shifts"] == [5_412, 0, 0, 0]
    assert drawn["images"] == [0, 350_208, 350_208, 87_552] and drawn["targets"] == [0, 58_368, 233_472, 58_368]
    assert figure.layout.shapes[
        0
    ].x0 == 307_200 and "bases and coefficients takes 307,012, within the budget" in alt_text(figure)
    explorer.panel["images"].value = 1000
    assert (
        f"m = {explorer.found.count:,} pairs" in explorer.bill.figure.layout.title.text and explorer.found.count > 1000
    )


def test_a_budget_that_buys_nothing_says_the_librarys_sentence(explorer: BudgetLab) -> None:
    explorer.panel["images"].value = 5
    with pytest.raises(DDLabError) as refused:
        explorer.panel.value.factorised.largest_count(5 * 3072)
    assert explorer.sentence == f"This budget buys nothing: {refused.value} The bars are those of one pair."
    assert explorer.found.bill.total == floats_of(explorer.panel.value, 1)
    assert explorer.found.count == 0 and "m = 1 pair," in explorer.bill.figure.layout.title.text
    assert "above the budget" in alt_text(explorer.bill.figure) and explorer.error is None


def test_more_bases_than_dimensions_are_refused_until_there_are_fewer(explorer: BudgetLab) -> None:
    explorer.panel["scale"].value = 4
    assert "Factorised.image_bases must be an integer in [1, 192]; given 200." in explorer.panel._message.value
    assert explorer.panel.value.scale == 2 and explorer.found.count == 114
    explorer.panel["image_bases"].value = next(v for _, v in reversed(stops(explorer)) if v <= 192)
    assert explorer.panel._message.value == "" and explorer.panel.value.scale == 4 and explorer.found.count > 114


def stops(explorer: BudgetLab) -> Any:
    return explorer.panel["image_bases"].options


def test_views_are_those_of_the_library() -> None:
    for kind in predefined_views.KINDS:
        assert Settings(augmentation=kind).views == len(predefined_views.NAMES[kind]) - 1
    assert "of 1 view in" in sentence(Settings(augmentation="none"), bought(Settings(augmentation="none")))


def test_own_sizes_reset_and_share() -> None:
    lab = BudgetLab("images=20,representation_size=64,representation_bases=16,image_bases=16,channels=1", key="own")
    assert "1 x 32 x 32 pixels, representations of 64 numbers" in lab.sizes.value
    start, text = lab.sentence, lab.share_field.value
    lab.preset.value = "ImageNet, N = 250"
    assert "64 x 64" in lab.sizes.value and "1/4 as high" not in lab.sentence
    lab.reset_button.click()
    assert lab.sentence == start and lab.share_field.value == text and lab.preset.value == "as chosen below"
    lab.share_field.value = PRESETS["CIFAR100, N = 25"].to_string()
    assert lab.preset.value == "CIFAR100, N = 25" and lab.found.count == 114
    lab.close()


@pytest.mark.parametrize(
    "settings, message",
    [
        (3, "settings must be"),
        ("images=0", "images must be"),
        ("scale=3", "scale must be"),
        ("height=30,scale=4", "scale must be a divisor"),
        ("representation_bases=600", "representation_bases must be"),
        ('shift="some"', "shift must be"),
    ],
)
def test_wrong_settings_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(DDLabError, match=message):
        BudgetLab(settings)


def test_the_quest_asks_for_fewer_bases(explorer: BudgetLab) -> None:
    assert not explorer.quest.met
    move = explorer.panel.value.replace
    explorer.panel.value = move(image_bases=120, augmentation="none", shift="same")
    assert explorer.found.count >= 300 and not explorer.quest.met, "without views it does not count"
    explorer.panel.value = move(image_bases=180)
    assert not explorer.quest.met, "too few pairs"
    explorer.panel.value = move(image_bases=120)
    assert explorer.found.count == 335 and explorer.quest.met
