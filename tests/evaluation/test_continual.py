"""Classes that come in tasks: each stage is what plain training on the classes seen would give; what has not come is in no softmax."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
import torch

from ddlab import data, networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, HardLabels
from ddlab.evaluation import continual, evaluate
from ddlab.evaluation.continual import class_incremental as by_rule
from ddlab.evaluation.continual import class_order, memory_of, teacher_of
from ddlab.methods import selection
from ddlab.networks import Network
from ddlab.runs import process
from ddlab.runs.process import Inputs
from ddlab.training import losses, supervised
from tests.support import made_data, refuses

CONFIG = supervised.Config.teaching(
    network=networks.spec("convnet", width=4), epochs=4, crop_pixels=0, learning_rate=0.02
)
FOUR = made_data(classes=4, train=8, test=5, seed=3)


class_incremental: Any = functools.partial(by_rule, rule="from scratch")


@pytest.fixture(autouse=True)
def _empty(no_cache: None) -> None:
    """No student from another test."""


@pytest.fixture(scope="module")
def guide() -> Network:
    """A teacher of all four classes."""
    return process.run(supervised, CONFIG.replace(epochs=8), Inputs(data=FOUR))


@pytest.fixture(scope="module")
def four(guide: Network) -> DistilledSet:
    """Three real images of each of the four classes."""
    return process.run(selection, selection.Config(images_per_class=3), Inputs(data=FOUR, teachers=(guide,)))


def by_hand(made: DistilledSet, seen: list[int], seed: int) -> float:
    """Hard labels: a student on the images of these classes, tested on their test images, from tensors alone."""
    images = torch.cat([made.images[i : i + 1] for i in range(len(made)) if int(made.labels[i]) in seen])
    labels = torch.tensor([seen.index(int(label)) for label in made.labels if int(label) in seen])
    names = tuple(str(label) for label in seen)
    small = DistilledSet(
        tensors={"images": images}, targets=(HardLabels(labels),), class_names=names, mean=made.mean, std=made.std
    )
    student = process.run(supervised, CONFIG.replace(seed=seed), Inputs(distilled=small))
    right = total = 0
    for image, label in zip(FOUR.normalised(split="test"), FOUR.test_labels.tolist(), strict=True):
        if label in seen:
            logits = networks.predict(student, image[None]).logits[0]
            right, total = right + (seen[int(logits.argmax())] == label), total + 1
    return right / total


@pytest.mark.parametrize("order_seed", [None, 1])
def test_each_stage_is_training_on_the_classes_seen(order_seed: int | None, four: DistilledSet) -> None:
    found = class_incremental(four, FOUR, labels="hard", tasks=2, order_seed=order_seed, seeds=(0, 5), config=CONFIG)
    order = class_order(4, order_seed)
    assert order == ([0, 1, 2, 3] if order_seed is None else order) and sorted(order) == [0, 1, 2, 3]
    assert [stage.classes for stage in found.stages] == [tuple("abcd"[label] for label in order[:n]) for n in (2, 4)]
    for stage, count in zip(found.stages, (2, 4), strict=True):
        for seed in (0, 5):
            assert stage.evaluation.per_seed[seed] == by_hand(four, order[:count], seed)
    assert found.accuracies == [stage.evaluation.mean for stage in found.stages] and found.complete


@pytest.mark.parametrize("labels", ["hard", "stored", "online"])
def test_the_last_stage_is_plain_evaluation(labels: str, four: DistilledSet, guide: Network) -> None:
    options: dict[str, Any] = {"labels": labels, "teacher": guide, "seeds": (2,), "config": CONFIG, "device": "cpu"}
    found = class_incremental(four, FOUR, tasks=2, **options)
    assert found.accuracies[-1] == evaluate(four, FOUR, **options).mean
    assert len(found.stages) == 2 and {stage.evaluation.labels for stage in found.stages} == {labels}


def masked_softmax(logits: torch.Tensor, seen: list[int], temperature: float) -> np.ndarray:
    rows = np.exp(logits.double().numpy() / temperature)
    rows[:, [label for label in range(rows.shape[1]) if label not in seen]] = 0
    return (rows / rows.sum(1, keepdims=True))[:, seen]


def test_the_teacher_of_some_classes_is_the_teacher_masked(guide: Network, four: DistilledSet) -> None:
    seen = [3, 0]
    images = FOUR.normalised(split="test")
    small = teacher_of(guide, seen)
    found = losses.soft_targets(networks.predict(small, images).logits, 3.0)
    np.testing.assert_allclose(found, masked_softmax(networks.predict(guide, images).logits, seen, 3.0), atol=1e-6)
    made = memory_of(four, seen)
    stored = losses.soft_targets(made.target("stored").logits, 3.0)
    rows = [i for i in range(len(four)) if int(four.labels[i]) in seen]
    np.testing.assert_allclose(stored, masked_softmax(four.target("stored").logits[rows], seen, 3.0), atol=1e-6)


@pytest.mark.parametrize("family", sorted(networks.FAMILIES))
def test_every_architecture_can_lose_outputs(family: str) -> None:
    picture = made_data(classes=4, channels=3, size=32, train=1, test=1)
    whole = networks.initialise(networks.spec(family).for_data(picture), seed=0)
    images = picture.normalised(split="test")
    found = networks.predict(teacher_of(whole, [2, 1]), images).logits
    torch.testing.assert_close(found, networks.predict(whole, images).logits[:, [2, 1]])


def test_memory_and_data_of_some_classes(four: DistilledSet, guide: Network) -> None:
    seen, small = [2, 0], teacher_of(guide, [2, 0])
    made, images = memory_of(four, seen, small), FOUR.subset(classes=seen)
    assert made.class_names == images.class_names == ("c", "a") and len(made) == 6
    for label, old in enumerate(seen):
        assert torch.equal(made.images[made.labels == label], four.images[four.labels == old])
        for split in ("train", "test"):
            rows = images.labels(split) == label
            assert torch.equal(images.images(split)[rows], FOUR.images(split)[FOUR.labels(split) == old])
    assert torch.equal(images.mean, FOUR.mean) and torch.equal(images.std, FOUR.std)
    assert made.target("online").fingerprint == small.fingerprint
    assert [target.kind for target in memory_of(four, seen).targets] == ["hard", "stored"]


def test_online_labels_see_only_the_classes_seen(
    four: DistilledSet, guide: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int | None, int, int]] = []

    def spied(made: DistilledSet, images: ImageData, *, teacher: Network, **options: Any) -> Any:
        asked.append((teacher.spec.classes, made.classes, images.classes))
        return evaluate(made, images, teacher=teacher, **options)

    monkeypatch.setattr(continual, "evaluate", spied)
    class_incremental(four, FOUR, labels="online", teacher=guide, tasks=2, seeds=(0,), config=CONFIG)
    assert asked == [(2, 2, 2), (4, 4, 4)]


def test_an_interrupt_leaves_whole_stages(four: DistilledSet, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = evaluate, []

    def stopped(*given: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return whole(*given, **options)

    monkeypatch.setattr(continual, "evaluate", stopped)
    stop = 2
    found = class_incremental(four, FOUR, labels="hard", tasks=2, seeds=(0,), config=CONFIG)
    assert len(found.stages) == 1 and not found.complete
    calls.clear()
    stop = 1
    with pytest.raises(KeyboardInterrupt):
        class_incremental(four, FOUR, labels="hard", tasks=2, seeds=(0,), config=CONFIG)
    monkeypatch.setattr(continual, "evaluate", lambda *a, **o: dataclasses.replace(whole(*a, **o), complete=False))
    found = class_incremental(four, FOUR, labels="hard", tasks=2, seeds=(0,), config=CONFIG)
    assert len(found.stages) == 1 and not found.complete, "a stage whose students were cut short is the last"


def test_the_table(four: DistilledSet) -> None:
    found = class_incremental(four, FOUR, labels="hard", tasks=2, seeds=(0, 1), config=CONFIG)
    lines = [" ".join(line.split()) for line in found.table().splitlines()]
    assert len(lines) == 4 and lines[2].startswith(f"| 2 | 0.500 | {found.accuracies[0]:.3f} | ")
    low, high = found.stages[1].evaluation.interval or (0, 0)
    assert lines[3].endswith(f"| {low:.3f} to {high:.3f} |")
    single = class_incremental(four, FOUR, labels="hard", tasks=1, seeds=(0,), config=CONFIG)
    assert single.table().split("|")[-2].strip() == "-"


def test_bad_calls(four: DistilledSet, guide: Network, teacher: Network, distilled: DistilledSet) -> None:
    other = process.run(supervised, CONFIG.replace(epochs=1), Inputs(data=FOUR))
    good: dict[str, Any] = {"distilled": four, "data": FOUR, "labels": "hard", "seeds": (0,), "config": CONFIG}
    bare = dataclasses.replace(four, targets=(HardLabels(four.labels),))
    for words, changes in {
        "tasks must be a number that divides the 4 classes": {"tasks": 3},
        "into tasks of two or more": {"tasks": 4},
        "distilled must be a set of the data's 4 classes": {"distilled": distilled},
        "teacher must be a network of the data's 4 classes": {"labels": "online", "teacher": teacher},
        "teacher must be a network of the data's 4": {"labels": "online"},
        "teacher must be the one that made the set": {"labels": "online", "teacher": other},
        "labels must be of a kind": {"labels": "stored", "distilled": bare},
    }.items():
        with refuses(words):
            class_incremental(**{"tasks": 2, **good, **changes})
    for seen in ([], [4], [0, 0]):
        for call in (lambda s: memory_of(four, s), lambda s: teacher_of(guide, s)):
            with refuses("seen"):
                call(seen)


def test_a_set_without_a_teacher_of_its_own(four: DistilledSet, guide: Network) -> None:
    bare = dataclasses.replace(four, targets=(HardLabels(four.labels),))
    options: dict[str, Any] = {"labels": "online", "teacher": guide, "tasks": 2, "seeds": (0,), "config": CONFIG}
    assert class_incremental(bare, FOUR, **options).accuracies == class_incremental(four, FOUR, **options).accuracies


def test_ten_classes_in_five_tasks() -> None:
    digits = data.load("digits", size=8)
    made = process.run(selection, selection.Config(images_per_class=1), Inputs(data=digits))
    found = class_incremental(made, digits, labels="hard", seeds=(0,), config=CONFIG.replace(epochs=1))
    assert [len(stage.classes) for stage in found.stages] == [2, 4, 6, 8, 10]
