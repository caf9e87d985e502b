"""The laboratory of gradients: what it draws is what an independent network in float64 and the method itself find."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from ddlab.data import ImageData
from ddlab.explorers.lab import Value
from ddlab.lessons.matching.gradients import CENTRES, LEARNED, RANDOM, World
from ddlab.lessons.matching.what_is_matched import GradientLab, distance_curves, gradient_maps, rival_bars, strip
from ddlab.methods import dc, dm, dsa, matching
from tests.support import made_data, refuses

SMALL = dsa.SMALL.replace(outer_steps=2, images_per_class=2, strategy="crop", initialisation="noise")
STEP, LABEL = 3, 1


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data()


@pytest.fixture
def lab(data: ImageData) -> Iterator[Any]:
    made = GradientLab(data, SMALL)
    yield made
    made.close()


def learned(lab: Any) -> Any:
    next(iter(lab.buttons.values())).click()
    settled(lab)
    return lab


def settled(lab: Any) -> None:
    lab.runner.join()
    lab.beside.join()


def in_double(weights: dict[str, Tensor], images: Tensor, label: int) -> dict[str, np.ndarray]:
    """The gradient of the mean cross-entropy in float64 by torch's functions, for a ConvNet with instance norm."""
    own = {name: value.double().requires_grad_() for name, value in weights.items()}
    x = images.double()
    for block in range(sum(name.endswith("convolution.weight") for name in own)):
        (kernel, shift), (scale, offset) = (
            (own[f"blocks.{block}.{part}.weight"], own[f"blocks.{block}.{part}.bias"])
            for part in ("convolution", "normalisation")
        )
        x = F.conv2d(x, kernel, shift, padding=1)
        x = F.avg_pool2d(F.instance_norm(x, weight=scale, bias=offset).relu(), 2)
    logits = F.linear(x.flatten(1), own["classifier.weight"], own["classifier.bias"])
    slopes = torch.autograd.grad(F.cross_entropy(logits, torch.full((len(x),), label)), list(own.values()))
    return {name: slope.numpy() for name, slope in zip(own, slopes, strict=True)}


def length(gradients: dict[str, np.ndarray]) -> float:
    return float(np.sqrt(sum((each**2).sum() for each in gradients.values())))


def from_picture(source: str, shape: tuple[int, int]) -> np.ndarray:
    """The numbers of a map, of -1 to 1, read from its colours: blue is above zero, the density says how far."""
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))), dtype=float)
    assert pixels.shape == (shape[1], 12 * shape[0], 4)
    one = pixels[::-1, ::12].transpose(1, 0, 2)
    return np.where(one[..., 2] > one[..., 0], 1, -1) * one[..., 3] / 255


@pytest.mark.parametrize("kind", matching.DISTANCES)
@pytest.mark.parametrize("strategy", ["", "crop"])
def test_the_drawn_gradients_and_parts_are_those_of_an_independent_network(
    data: ImageData, kind: str, strategy: str
) -> None:
    lab: Any = learned(GradientLab(data, SMALL.replace(distance=kind, strategy=strategy)))
    lab.panel.value = lab.panel.value.replace(class_name=data.class_names[LABEL], step=STEP)
    run = lab.watched
    config, state = run.config, run.state(STEP)
    drawn: dict[str, Any] = {"step": STEP, "label": LABEL, "classes": data.classes}
    real = matching.seen(config, matching.real_batch(config, run.inputs, LABEL, step=STEP), learned=False, **drawn)
    made = matching.seen(config, state.images[LABEL :: data.classes], learned=True, **drawn)
    a, b = (in_double(state.network, images, LABEL) for images in (real, made))
    figure = lab.widget(gradient_maps).figure
    weights, densest = [name for name in a if a[name].ndim > 1], {}
    for column, name in enumerate(weights):
        one, other = a[name].reshape(len(a[name]), -1), b[name].reshape(len(b[name]), -1)
        if kind == "channels":
            one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other))
            parts = 1 - (one * other).sum(1)
        elif kind == "vector":
            one, other = one / length(a), other / length(b)
            parts = ((one - other) ** 2).sum(1) / 2
        else:
            parts = ((one - other) ** 2).sum(1)
        for picture, values in zip(figure.layout.images[2 * column : 2 * column + 2], (one, other), strict=True):
            densest[name, picture.y] = values, from_picture(picture.source, values.shape)
        np.testing.assert_allclose(np.asarray(figure.data[column].y), parts, rtol=1e-3, atol=2e-5)
    for name in weights:
        # One scale for both maps of a layer, or for all maps.
        largest = max(
            np.abs(values).max() for (of, _), (values, _) in densest.items() if kind != "channels" or of == name
        )
        for values, drawn_values in (pair for (of, _), pair in densest.items() if of == name):
            np.testing.assert_allclose(drawn_values, values / largest, rtol=0, atol=0.51 / 255 + 1e-4)
    total = {
        "squared": length({name: a[name] - b[name] for name in a}) ** 2,
        "vector": 1 - sum((a[name] * b[name]).sum() for name in a) / length(a) / length(b),
    }
    distances = lab.world.compared(run, run.at(STEP), LABEL).distances
    assert list(distances) == (weights if kind == "channels" else ["all"])
    assert kind == "channels" or distances["all"] == pytest.approx(total[kind], rel=1e-3)
    lab.close()


def test_curve_and_bars_are_what_the_method_descends(lab: Any, data: ImageData) -> None:
    learned(lab).slider.index = STEP
    settled(lab)
    run, config = lab.watched, lab.watched.config
    _, trace = dc.update(config, run.inputs, run.state(STEP))
    wanted = {name: float(value.mean()) / len(run.state(STEP).network[name]) for name, value in trace.distances.items()}
    curves, bars = lab.widget(distance_curves).figure, lab.widget(rival_bars).figure
    assert [curve.y[STEP] for curve in curves.data] == pytest.approx(list(wanted.values()), rel=1e-4)
    assert [bar.name for bar in bars.data] == [LEARNED, RANDOM, CENTRES]
    assert list(bars.data[0].y) == pytest.approx(list(wanted.values()), rel=1e-4)
    assert lab.widget(distance_curves).cursor == STEP and len(curves.data[0].x) == run.total == 4


def test_images_that_begin_as_real_ones_begin_as_their_rivals(data: ImageData) -> None:
    world = World(data, SMALL.replace(initialisation="real", strategy="crop"))
    rivals = world.rivals(world.run(world.start).begin(), 0)
    assert rivals[LEARNED] == pytest.approx(rivals[RANDOM])
    assert rivals[CENTRES] != pytest.approx(rivals[RANDOM])


def test_the_loops_are_numbers_and_the_budget_is_shared_out(data: ImageData) -> None:
    start = World(data).start
    assert start.config.loops == (5, 5) and start.config.networks * 5 == start.updates == 40
    assert start.replace(images_per_class=1, outer_steps=3).config.networks == 14
    published = World(data, dsa.Config(networks=7, images_per_class=1)).start
    assert (published.updates, published.config.loops, published.config.networks) == (7, (1, 1), 7)


def test_words_views_and_controls_follow(lab: Any, data: ImageData) -> None:
    assert lab.sentence.startswith(
        "Class a, 2 learned images as they begin, in network 1 of 2, untrained and new to them, view: crop"
    )
    assert lab.sentence.endswith("Press Learn.") and "2 learned and 4 real images of class a" in lab.widget(strip).alt
    learned(lab).slider.index = STEP
    assert "after update 3 of 4, in network 2 of 2, trained 1 pass over all learned images" in lab.sentence
    lab.panel["outer_steps"].value = 1
    assert lab.panel["inner_epochs"].disabled and not lab.panel["views"].disabled
    lab.panel["strategy"].value = ""
    assert lab.panel["views"].disabled and "view" not in lab.sentence


def test_the_quest_asks_for_a_network_that_the_images_have_not_met(lab: Any) -> None:
    learned(lab)
    for step, share, met in [(4, 0.1, False), (3, 0.1, False), (0, 0.1, False), (2, 0.81, False), (2, 0.8, True)]:
        run = lab.watched
        values = {LEARNED: {"x": share}, RANDOM: {"x": 1.0}, CENTRES: {"x": 0.5}}
        lab.keep(Value(lab.world.rivals, run, step), values)
        lab.slider.index = step
        lab._draw()
        assert lab.quest.met is met, (step, share)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("data", {"data": "digits"}),
        ("config", {"config": dm.Config()}),
        ("images_per_class", {"config": SMALL.replace(images_per_class=13)}),
    ],
)
def test_bad_input(data: ImageData, lab: Any, name: str, changes: dict[str, Any]) -> None:
    with refuses(name):
        GradientLab(**{"data": data, "config": SMALL} | changes)
    before = lab.sentence
    with refuses("images_per_class", "13"):
        lab.panel.value = lab.panel.value.replace(images_per_class=13)
    assert lab.sentence == before and "images_per_class" in lab.refusal
