"""The laboratory of learned points, driven in Python: what it shows is what KIP makes, and what the
regression says of it.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import ddlab
from ddlab.data import ImageData
from ddlab.evaluation import kernel_accuracy
from ddlab.explorers import Laboratory
from ddlab.explorers.ready import learned_images
from ddlab.figures import alt_text, encode_grid
from ddlab.lessons.kernels.lab import KernelLab, accuracy_curve, scores
from ddlab.methods import kip, selection
from ddlab.methods.shared.kernels import KernelSpec
from ddlab.runs import Inputs, process
from tests.support import made_data, refuses

SMALL = kip.Config.teaching(iterations=6, batch_size=20, ridge=1e-4)


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data()


@pytest.fixture
def lab(data: ImageData) -> Iterator[Laboratory]:
    laboratory = KernelLab(data, SMALL)
    laboratory.runner.join()
    yield laboratory
    laboratory.close()


def moved(lab: Any, **values: Any) -> None:
    lab.panel.value = lab.panel.value.replace(**values)
    lab.runner.join()


def by_itself(data: ImageData, config: kip.Config) -> list[kip.State]:
    inputs = Inputs(data=data, device="cpu")
    return [
        process.start(kip, config, inputs),
        *(step.state for step in process.steps(kip, config, inputs)),
    ]


def accuracy(data: ImageData, config: kip.Config, state: kip.State) -> float:
    distilled = kip.regression_set(
        kip.NAME, config, Inputs(data=data), state, total=config.iterations
    )
    spec = KernelSpec(kernel=config.kernel, bias_std=config.bias_std)
    return kernel_accuracy(distilled, data, labels="regression", kernel=spec, ridge=config.ridge)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"images_per_class": 2, "kernel": "fc3"},
        {"kernel": "rbf", "ridge": 0.1},
        {"corruption": 0.5, "learn_labels": True},
    ],
    ids=str,
)
def test_every_update_on_show_is_kips_own(data: ImageData, changes: dict[str, Any]) -> None:
    config = SMALL.replace(**changes)
    lab: Any = KernelLab(data, config)
    lab.runner.join()
    states = by_itself(data, config)
    assert lab.schedule.watched_run.complete and [
        frame.step for frame in lab.schedule.watched_run.frames
    ] == list(range(7))
    for index in (6, 3, 0):
        lab.slider.index = index
        pixels = data.to_uint8(states[index].images)
        assert bytes(lab.widget(learned_images).value) == encode_grid(
            pixels, 3, 20, column_labels=list("abc"), gap=4
        )
        right = accuracy(data, config, states[index])
        assert f"classifies {right:.1%} of the test images correctly" in lab.sentence
        assert lab.widget(accuracy_curve).cursor == index
        assert float(lab.widget(scores).figure.data[-1].y[0]) == pytest.approx(right)
    curve = next(
        candidate
        for candidate in lab.widget(accuracy_curve).figure.data
        if candidate.name == "learned images"
    )
    assert list(curve.y) == pytest.approx([accuracy(data, config, state) for state in states])
    lab.close()


@pytest.mark.parametrize(("count", "words"), [(1, "3 class means"), (2, "6 k-means centres")])
def test_rivals_took_no_learning_and_are_as_many_or_more(
    data: ImageData, count: int, words: str
) -> None:
    lab: Any = KernelLab(data, SMALL.replace(images_per_class=count))
    lab.runner.join()
    accuracies_of = {rival.words: values for rival, values in lab.results.shared.items()}
    assert list(accuracies_of) == [words, f"{3 * count} real", "30 real"], (
        "a hundred of each class are not there"
    )
    for name, values in accuracies_of.items():
        kind = "random" if name.endswith("real") else "centres"
        per_class = int(name.split()[0]) // 3
        for seed, value in enumerate(values):
            config = selection.Config(kind=kind, images_per_class=per_class, seed=seed)
            selected = ddlab.distill("selection", data, config=config, progress=False)
            assert value == pytest.approx(
                kernel_accuracy(selected, data, labels="hard", ridge=SMALL.ridge)
            )
        assert len(values) == (3 if kind == "random" else 1)
        assert name in alt_text(lab.widget(scores).figure)
    best = max(
        sum(accuracies_of[name]) / len(accuracies_of[name]) for name in (words, f"{3 * count} real")
    )
    assert lab.sentence.endswith(f", {best:.1%}.")
    lab.close()


def test_equal_images_need_a_ridge() -> None:
    """Two real images of a class that are the same: without a ridge the system is singular, and the
    laboratory says so.
    """
    data = made_data()
    images = data.train_images.clone()
    # Of each class one image.
    images[:] = images[data.train_labels.argsort(stable=True)[data.train_labels * 12]]
    equal_data = ImageData(
        name="same",
        class_names=data.class_names,
        train_images=images,
        train_labels=data.train_labels,
        test_images=data.test_images,
        test_labels=data.test_labels,
    )
    lab: Any = KernelLab(equal_data, SMALL.replace(images_per_class=2))
    before = lab.sentence
    with refuses("ridge", "invertible"):
        moved(lab, ridge=0.0)
    assert "invertible" in str(lab.error) and lab.sentence == before
    lab.close()


def test_frozen_pixels_stay(lab: Any) -> None:
    moved(lab, corruption=0.5)
    first, last = (
        lab.schedule.watched_run.frames[0].content.images,
        lab.schedule.watched_run.frames[-1].content.images,
    )
    assert int((first == last).sum()) == 3 * 32


def test_a_constant_image_is_learned_from(data: ImageData) -> None:
    flat: dict[str, Any] = {
        "train_images": torch.zeros_like(data.train_images),
        "mean": torch.zeros(1),
        "std": torch.ones(1),
    }
    with pytest.warns(UserWarning, match="all of one value"):
        constant = dataclasses.replace(data, **flat)
    lab: Any = KernelLab(constant, SMALL)
    lab.runner.join()
    assert lab.error is None and lab.schedule.watched_run.complete
    lab.close()


def test_another_kernel_judges_the_same_images(lab: Any, data: ImageData) -> None:
    run = lab.schedule.watched_run
    moved(lab, judged_by="rbf")
    assert lab.schedule.watched_run is run
    state = by_itself(data, SMALL)[-1]
    by_rbf = accuracy(data, SMALL.replace(kernel="rbf"), state)
    (curve,) = [trace for trace in lab.widget(accuracy_curve).figure.data if len(trace.y) > 2]
    assert curve.y[-1] == pytest.approx(by_rbf) and f"{by_rbf:.1%} of the test" in lab.sentence
