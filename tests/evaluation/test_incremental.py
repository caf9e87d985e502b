"""The protocol of phases: its matrix, its averages, and both forgetting rates by hand."""

from dataclasses import replace

import pytest
import torch

from ddlab import networks
from ddlab.evaluation import Incremental, class_incremental
from ddlab.evaluation.incremental import class_accuracies
from ddlab.methods import mnemonics, selection
from ddlab.runs import Inputs, process
from tests.support import made_data, refuses, run_to_end

FOUR = made_data(classes=4, train=8, test=5, seed=3)
SETTINGS = mnemonics.SMALL.replace(tasks=2)


def matrix_of(config: mnemonics.Config, inputs: Inputs, models: tuple) -> tuple:
    rows = [
        class_accuracies(config, inputs, weights, classes_so_far)
        for weights, classes_so_far in zip(models, (2, 4), strict=True)
    ]
    return tuple(rows)


def test_averages_and_forgetting_are_those_of_the_matrix() -> None:
    first = ((1.0, 0.8), (0.5, 0.7, 0.9, 0.7), (0.2, 0.4, 0.3, 0.5, 1.0, 0.6))
    second = tuple((0.5,) * len(row) for row in first)
    incremental = Incremental({0: first, 1: second}, (("a", "b"), ("c", "d"), ("e", "f")))
    assert incremental.task_paths(0) == [
        pytest.approx([0.9, 0.6, 0.3]),
        pytest.approx([0.8, 0.4]),
        pytest.approx([0.8]),
    ]
    assert incremental.accuracies == pytest.approx([0.7, 0.6, 0.5])
    assert incremental.average_accuracy == pytest.approx(0.6)
    assert incremental.forgetting_of_first == pytest.approx((0.6 + 0) / 2)
    assert incremental.mean_forgetting == pytest.approx(((0.6 + 0.4) / 2 + 0) / 2)
    assert "6 classes" in incremental.table() and "0.500" in incremental.table()


def test_the_matrix_is_read_from_the_networks_of_the_phases() -> None:
    inputs = Inputs(data=FOUR, device="cpu")
    state = [*process.steps(mnemonics, SETTINGS, inputs)][-1].state
    matrix = matrix_of(SETTINGS, inputs, state.models)
    assert [len(row) for row in matrix] == [2, 4]
    spec = SETTINGS.network.for_data(FOUR)
    logits = networks.call(spec, state.models[0], FOUR.normalised(split="test"))[0].logits[:, :2]
    right = logits.argmax(1) == FOUR.test_labels
    assert matrix[0] == pytest.approx(
        [float(right[FOUR.test_labels == label].float().mean()) for label in (0, 1)]
    )
    incremental = class_incremental(
        None, FOUR, config=SETTINGS, seeds=(0,), device="cpu", progress=False
    )
    assert isinstance(incremental, Incremental) and incremental.per_seed[0] == matrix


def test_an_accuracy_of_no_image_or_of_nan_is_no_number() -> None:
    lacking = replace(
        FOUR,
        test_images=FOUR.test_images[FOUR.test_labels != 2],
        test_labels=FOUR.test_labels[FOUR.test_labels != 2],
    )
    with refuses("data", "test images of every class"):
        class_incremental(None, lacking, config=SETTINGS, seeds=(0,), progress=False)
    inputs = Inputs(data=FOUR, device="cpu")
    weights = [*process.steps(mnemonics, SETTINGS, inputs)][-1].state.models[0]
    broken = {name: torch.full_like(value, torch.nan) for name, value in weights.items()}
    with refuses("the network's logits", "finite"):
        class_accuracies(SETTINGS, inputs, broken, 2)


def test_a_sets_images_are_the_memory() -> None:
    inputs = Inputs(data=FOUR, device="cpu")
    memory = run_to_end(selection, selection.Config(images_per_class=2), inputs)
    options = {"config": SETTINGS, "seeds": (0, 4), "device": "cpu", "progress": False}
    incremental = class_incremental(memory, FOUR, **options)
    seed_config = SETTINGS.replace(start="given", exemplar_step="none", seed=4)
    state = [
        *process.steps(mnemonics, seed_config, Inputs(data=FOUR, distilled=memory, device="cpu"))
    ][-1].state
    assert isinstance(incremental, Incremental) and set(incremental.per_seed) == {0, 4}
    assert incremental.per_seed[4] == matrix_of(seed_config, inputs, state.models)


def test_what_is_refused() -> None:
    memory = run_to_end(
        selection, selection.Config(images_per_class=1), Inputs(data=FOUR, device="cpu")
    )
    with refuses("tasks", "shared evenly"):
        class_incremental(memory, FOUR, config=SETTINGS.replace(tasks=3))
    with refuses("distilled", "3 classes"):
        class_incremental(memory, made_data(classes=3), config=SETTINGS)
