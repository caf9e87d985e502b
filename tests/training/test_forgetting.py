"""Forgetting: counted by hand from what was recorded, the training of `supervised` beside it, and what it refuses."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.runs import process
from ddlab.runs.process import Inputs
from ddlab.training import forgetting, supervised
from tests.support import assert_same, refuses

SETTINGS: dict[str, Any] = {
    "network": networks.spec("convnet", width=4), "epochs": 12, "batch_size": 8, "crop_pixels": 1, "learning_rate": 0.03,
    "mixup_alpha": 0.0,
}  # fmt: skip


def by_hand(history: list[bool]) -> tuple[int, bool]:
    """How often right became wrong from one presentation of an image to its next, and whether it never was right."""
    forgotten = 0
    for before, now in itertools.pairwise(history):
        if before and not now:
            forgotten += 1
    return forgotten, True not in history


@pytest.fixture
def unlearnable(grey: ImageData) -> ImageData:
    """Class numbers that have nothing to do with the images: learned and forgotten all the time."""
    order = torch.randperm(len(grey.train_labels), generator=torch.Generator().manual_seed(0))
    return dataclasses.replace(grey, train_labels=grey.train_labels[order])


def test_counts_are_those_of_the_recorded_sequence(unlearnable: ImageData) -> None:
    config, inputs = forgetting.Config(**SETTINGS), Inputs(data=unlearnable)
    seen: list[list[bool]] = [[] for _ in range(36)]
    for step in process.steps(forgetting, config, inputs):
        for image, right in zip(config.indices(36, step.index - 1).tolist(), step.trace.right.tolist(), strict=True):
            seen[image].append(right)
        expected = [by_hand(history) for history in seen]
        assert step.state.counts.tolist() == [count for count, _ in expected]
        assert (~step.state.learned).tolist() == [never for _, never in expected]
    assert {len(history) for history in seen} == {12}, "each image once in every epoch"
    found = process.run(forgetting, config, inputs)
    assert found.counts.dtype == torch.int64 and found.counts.tolist() == [count for count, _ in expected]
    assert found.never.dtype == torch.bool and found.never.tolist() == [never for _, never in expected]
    assert len(found.counts.unique()) > 2 and found.provenance["complete"]


HISTORIES = ([1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 1])


def test_each_kind_of_history(grey: ImageData, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right from the start, never, forgotten twice, once for good, once and learned again, learned at last."""
    judged = torch.tensor(HISTORIES, dtype=torch.bool).repeat(6, 1)  # [36 images, 4 epochs]
    config, real = forgetting.Config(**SETTINGS).replace(epochs=4), supervised.update

    def told(settings: Any, inputs: Inputs, state: supervised.State) -> Any:
        moved, trace = real(settings, inputs, state)
        batch, epoch = config.indices(36, state.step), state.step // config.steps_per_epoch(36)
        return moved, dataclasses.replace(trace, right=judged[batch, epoch])

    monkeypatch.setattr(supervised, "update", told)
    found = process.run(forgetting, config, Inputs(data=grey))
    assert found.counts.tolist() == [0, 0, 2, 1, 1, 0] * 6
    assert found.never.tolist() == [False, True, False, False, False, False] * 6
    assert found.scores.tolist() == [0, 3, 2, 1, 1, 0] * 6, "never learned is worse than any count"
    assert found.fingerprint != dataclasses.replace(found, counts=found.counts + 1).fingerprint


def test_an_image_is_judged_in_its_batch_before_the_update(grey: ImageData) -> None:
    """By the network in training mode on the view, anew by hand."""
    config, inputs = forgetting.Config(**SETTINGS), Inputs(data=grey)
    spec, state = config.network.for_data(grey), forgetting.init(config, inputs)
    for _ in range(7):
        batch = config.indices(36, state.step)
        view = config.view(grey.normalised(batch), mean=grey.mean, std=grey.std, step=state.step)
        logits = networks.call(spec, state.weights, view.images, train=True)[0].logits
        state, trace = forgetting.update(config, inputs, state)
        assert torch.equal(trace.right, logits.argmax(1) == grey.train_labels[batch])
        assert torch.equal(state.right[batch], trace.right)
        assert float(trace.accuracy_fraction) == pytest.approx(float(trace.right.double().mean()))


def test_counting_leaves_the_training_as_it_is(grey: ImageData) -> None:
    counted = list(process.steps(forgetting, forgetting.Config(**SETTINGS), Inputs(data=grey)))
    plain = list(process.steps(supervised, supervised.Config(**SETTINGS), Inputs(data=grey)))
    for one, other in zip(counted, plain, strict=True):
        assert_same(one.trace, other.trace)
        assert_same((one.state.weights, one.state.optimiser), (other.state.weights, other.state.optimiser))


def test_a_distilled_set_is_counted_where_there_is_one(grey: ImageData, distilled: DistilledSet) -> None:
    found = process.run(forgetting, forgetting.Config(**SETTINGS), Inputs(data=grey, distilled=distilled))
    assert len(found.counts) == len(distilled) == 6


def test_what_has_no_right_and_wrong_is_refused(grey: ImageData) -> None:
    for name in ("mixup_alpha", "cutmix_alpha"):
        with refuses(name, "0", "mixed images", "0.4"):
            forgetting.Config().replace(**{name: 0.4})
    for labels in ("stored", "online", "epochs"):
        with refuses("labels", "'hard'", repr(labels)):
            forgetting.Config(labels=labels)
    with refuses("data", "training"):
        forgetting.init(forgetting.Config(), Inputs())


def test_presets(grey: ImageData) -> None:
    wanted = supervised.Config.for_data(grey, "teacher", mixup_alpha=0.0, epochs=3)
    assert forgetting.Config.for_data(grey, "teacher", epochs=3).to_dict() == wanted.to_dict()
    paper = forgetting.Config.paper()
    assert (paper.network.family, paper.epochs, paper.batch_size, paper.optimiser) == ("resnet18", 200, 128, "sgd")
    assert (paper.learning_rate, paper.momentum, paper.weight_decay) == (0.1, 0.9, 5e-4)


def test_the_look_tells_the_sum(unlearnable: ImageData) -> None:
    config, inputs = forgetting.Config(**SETTINGS), Inputs(data=unlearnable)
    *_, last = process.steps(forgetting, config, inputs)
    shown = forgetting.look(config, inputs, last.state, last.trace).numbers["forgotten so far"].value
    assert isinstance(shown, Tensor) and int(shown) == sum(process.run(forgetting, config, inputs).counts.tolist()) > 0
