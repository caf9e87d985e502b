"""A class label is a place among names: wherever a set, data and a network meet, other names or
another order are refused.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.methods import mnemonics, rela, selection
from ddlab.runs import Inputs, Run, process
from ddlab.training import supervised
from tests.support import made_data, refuses

LEARN = supervised.Config.teaching("teacher", network=networks.spec("convnet", width=4), epochs=1)
NAMES = ("0", "1", "10", "2")
QUIET: dict[str, Any] = {"progress": False}


def named(names: tuple[str, ...], classes: int = 4) -> ImageData:
    return replace(made_data(classes=classes), class_names=names)


ORDERED = named(("0", "1", "2", "10"))
TEXTS = named(NAMES)


def made_of(data: ImageData) -> ddlab.DistilledSet:
    return ddlab.distill("selection", data, images_per_class=2, **QUIET)


def taught_on(data: ImageData) -> ddlab.networks.Network:
    return ddlab.train_teacher(data, LEARN, **QUIET)


MEETINGS: dict[str, Callable[[ImageData, ImageData], Any]] = {
    "evaluate": lambda first, second: ddlab.evaluate(
        made_of(first), second, labels="hard", seeds=[0], **QUIET
    ),
    "compare": lambda first, second: ddlab.compare([made_of(first)], second, **QUIET),
    "accuracy": lambda first, second: ddlab.accuracy(taught_on(first), second),
    "distill": lambda first, second: ddlab.distill("selection", second, taught_on(first), **QUIET),
    "a run": lambda first, second: Run(
        selection, selection.Config(), Inputs(data=second, teachers=(taught_on(first),))
    ),
    "online labels": lambda first, second: ddlab.evaluate(
        made_of(second), second, labels="online", teacher=taught_on(first), **QUIET
    ),
    "class_incremental": lambda first, second: ddlab.evaluation.class_incremental(
        made_of(first), second, config=mnemonics.SMALL.replace(tasks=2), seeds=[0], **QUIET
    ),
    "exemplars": lambda first, second: process.start(
        mnemonics,
        mnemonics.SMALL.replace(start="given", tasks=2, images_per_class=1),
        Inputs(data=second, distilled=made_of(first)),
    ),
}


@pytest.mark.parametrize("meeting", MEETINGS)
def test_the_same_classes_in_another_order_are_refused(meeting: str) -> None:
    with refuses("order", "class 2 is '10'", "'2' there"):
        MEETINGS[meeting](ORDERED, TEXTS)
    with refuses("class 3 is '2'", "'dog' there"):
        MEETINGS[meeting](named(("0", "1", "10", "dog")), TEXTS)


@pytest.mark.parametrize("meeting", [name for name in MEETINGS if name != "compare"])
def test_other_classes_are_refused(meeting: str) -> None:
    with refuses("class 0 is '0'", "'a' there"):
        MEETINGS[meeting](named(("a", "b", "c", "d")), TEXTS)


def test_the_order_of_the_data_can_be_put_right() -> None:
    expected = ddlab.evaluate(
        made_of(ORDERED), ORDERED, labels="hard", seeds=[0], config=LEARN, **QUIET
    )
    assert TEXTS.subset(classes=ORDERED.class_names).class_names == ORDERED.class_names
    again = replace(TEXTS, class_names=ORDERED.class_names)
    assert (
        ddlab.evaluate(
            made_of(ORDERED), again, labels="hard", seeds=[0], config=LEARN, **QUIET
        ).mean
        == expected.mean
    )


def test_pictures_and_features_of_something_else_may_be_used_where_no_class_number_is_read() -> (
    None
):
    animals = named(("a", "b", "c", "d"))
    # LD and LS learn labels of any pictures.
    assert Inputs(data=TEXTS, distilled=made_of(animals)).distilled is not None
    # A prior gives features.
    Run(rela, rela.SMALL, Inputs(data=TEXTS, teachers=(taught_on(animals),))).begin()
    with refuses("class 2 is '10'"):
        Inputs(data=TEXTS, distilled=made_of(ORDERED))
    with refuses("class 2 is '10'"):
        Inputs(data=TEXTS, teachers=(taught_on(ORDERED),))


def test_a_network_keeps_its_names(tmp_path: Path) -> None:
    teacher = taught_on(TEXTS)
    assert teacher.class_names == NAMES and teacher.to("cpu").class_names == NAMES
    back = networks.load(teacher.save(tmp_path / "teacher.safetensors"))
    assert (
        back.class_names == NAMES
        and back.fingerprint
        == teacher.fingerprint
        == replace(teacher, class_names=None).fingerprint
    )
    nameless = networks.load(replace(teacher, class_names=None).save(tmp_path / "old.safetensors"))
    assert nameless.class_names is None and ddlab.accuracy(nameless, ORDERED) == ddlab.accuracy(
        teacher, TEXTS
    )
    with refuses("class_names", "4 outputs"):
        replace(teacher, class_names=("one",))
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 4))
    own_network = networks.from_module(
        module, (8, 8), 4, channels=1, name="own_names", class_names=["0", "1", "2", "10"]
    )
    with refuses("class 2 is '10'"):
        ddlab.accuracy(own_network, TEXTS)
    assert 0 <= ddlab.accuracy(own_network, ORDERED) <= 1


def test_another_number_of_classes_is_refused() -> None:
    two = networks.from_module(
        nn.Sequential(nn.Flatten(), nn.Linear(64, 2)), (8, 8), 2, channels=1, name="two_classes"
    )
    with refuses("network", "4 classes", "of 2"):
        ddlab.accuracy(two, TEXTS)
    with refuses("distilled", "4 classes"):
        ddlab.evaluation.class_incremental(made_of(named(("0", "1"), 2)), TEXTS, seeds=[0], **QUIET)


def test_two_classes_of_one_name_are_refused() -> None:
    for twice in (("a", "b", "a", "c"), (1, "2", "1", 3)):
        with refuses("class_names", "different", "2 classes"):
            named(twice)  # type: ignore[arg-type]
    with refuses("class_names", "different"):
        replace(made_of(TEXTS), class_names=("0", "1", "0", "2"))


class Listed(torch.utils.data.Dataset):
    """Pictures of one grey for each class, under names in any order."""

    def __init__(self, names: tuple[str, ...], per_class: int = 2) -> None:
        self.classes = list(names)
        self.items = []
        for name in names:
            for _ in range(per_class):
                self.items.append(
                    (torch.full((8, 8), 50 * int(name), dtype=torch.uint8), names.index(name))
                )

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, number: int) -> Any:
        return self.items[number]


# Images of one grey a class.
@pytest.mark.filterwarnings("ignore:.*are training images too:UserWarning")
@pytest.mark.filterwarnings("ignore:.*has no test image of:UserWarning")
@pytest.mark.parametrize("order", [*itertools.permutations("123"), ("3", "1")])
def test_the_classes_of_a_test_dataset_are_matched_by_name(order: tuple[str, ...]) -> None:
    loaded = ddlab.data.from_dataset(Listed(("1", "2", "3")), test=Listed(order))
    for split in ("train", "test"):
        names = [loaded.class_names[label] for label in loaded.labels(split).tolist()]
        assert [50 * int(name) for name in names] == loaded.images(split)[:, 0, 0, 0].tolist()
    with refuses("test", "classes", "'4'"):
        ddlab.data.from_dataset(Listed(("1", "2", "3")), test=Listed(("1", "4")))
