"""Labels against images, driven in Python."""

import time

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.core import DDLabError
from ddlab.explorers import Laboratory
from ddlab.lessons.start_page.labels_against_images import (
    LabelsAgainstImages,
    World,
    curves,
    example,
    strip,
    target_bars,
)
from ddlab.methods import selection
from ddlab.networks import Network
from ddlab.runs import Inputs
from ddlab.runs import process as driver
from ddlab.training import supervised
from tests.support import made_data


@pytest.fixture(scope="module")
def material():
    data = made_data(size=8)
    spec = networks.spec("convnet", width=4)
    teacher = ddlab.train_teacher(
        data, supervised.Config.teaching("teacher", network=spec, epochs=3), progress=False
    )
    real = ddlab.distill("selection", data, teacher, progress=False)
    noise = ddlab.from_images(
        torch.randn(data.classes, 1, 8, 8), torch.arange(data.classes), data, teacher
    )
    sets = {"real": real, "noise": noise, "recovered": real}
    return data, teacher, sets, supervised.Config.teaching(network=spec, epochs=20)


def names(explorer: Laboratory) -> list[str]:
    return [trace.name for trace in explorer.widget(curves).figure.data]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda real, two: {"real": real},
            r"sets must be a mapping of at least two names .*; given \['real'\]",
        ),
        (lambda real, two: [real, real], "sets must be a mapping"),
        (lambda real, two: {"real": real, "": real}, "sets must be a mapping"),
        (
            lambda real, two: {"real": real, "noise": 3},
            r"sets\['noise'\] must be a DistilledSet; given 3",
        ),
        (
            lambda real, two: {"real": real, "more": two},
            "same size.*given 'real' of 3, 'more' of 6",
        ),
    ],
)
def test_sets_that_cannot_be_compared_are_refused(material, change, words: str) -> None:
    data, teacher, sets, config = material
    two = ddlab.distill(
        "selection", data, teacher, selection.Config(images_per_class=2), progress=False
    )
    with pytest.raises(DDLabError, match=words):
        LabelsAgainstImages(data, teacher, change(sets["real"], two), config)


def test_the_curve_is_seen_to_grow(material, monkeypatch) -> None:
    explorer = LabelsAgainstImages(*material)
    plot = explorer.widget(curves)
    for view_on_page in explorer.views_on_page:
        if view_on_page.widget is plot:
            view_on_page.bring_forward()
    explorer.panel["seed"].value = 5
    explorer.runner.join()
    assert names(explorer)[0] == "real, hard, seed 5"
    update = supervised.update
    monkeypatch.setattr(supervised, "update", lambda *state: time.sleep(0.02) or update(*state))
    lengths: list[int] = []
    plot.observe(lambda _: lengths.append(len(plot.figure.data[0].x)), "_figure")
    explorer.panel["labels"].value = "online"
    assert explorer.sentence.startswith(
        "A student trains on real images with online labels, seed 5 ..."
    )
    explorer.runner.join()
    assert lengths == sorted(lengths) and len(set(lengths)) > 2
    assert names(explorer)[0] == "real, online, seed 5" and lengths[-1] == 20
    explorer.close()


def test_the_accuracies_are_those_of_a_student_trained_alone(material) -> None:
    data, teacher, sets, config = material
    explorer = LabelsAgainstImages(*material)
    explorer.panel["images"].value = "noise"
    explorer.panel["labels"].value = "online"
    explorer.runner.join()
    inputs = Inputs(distilled=sets["noise"], teachers=(teacher,))
    accuracies = []
    spec = config.network.for_data(data)
    for step in driver.steps(supervised, config.replace(labels="online"), inputs):
        logits = networks.predict(
            Network(spec=spec, weights=step.state.weights), data.normalised(split="test")
        ).logits
        accuracies.append(float((logits.argmax(1) == data.test_labels).float().mean()))
    trace = explorer.widget(curves).figure.data[-1]
    assert [accuracies[int(step) - 1] for step in trace.x] == list(trace.y) and trace.x[-1] == len(
        accuracies
    ) == 20
    assert f"online labels classifies {accuracies[-1]:.0%} of the test images" in explorer.sentence
    explorer.close()


def test_the_view_on_show_and_its_target_are_those_of_a_student(material) -> None:
    data, teacher, sets, config = material
    world = World(*material)
    settings = world.start.replace(picture=1, view=3)
    view = config.view(sets["real"].images, mean=data.mean, std=data.std, step=2)
    shown = example(world, settings)
    assert torch.equal(shown.pictures[2], view.images[1]) and shown.share == float(view.share)
    assert torch.equal(shown.pictures[1], sets["real"].images[view.partner[1]])
    online = example(world, settings.replace(labels="online")).target
    expected = supervised.online_targets(view, teacher, temperature=config.temperature)
    torch.testing.assert_close(online, expected[1])
    drawings = set()
    for labels in ("hard", "stored", "online"):
        torch.testing.assert_close(
            example(world, settings.replace(labels=labels)).target.sum(), torch.tensor(1.0)
        )
        drawings.add(target_bars(world, settings.replace(labels=labels)).to_json())
    assert len(drawings) == 3 and strip(world, settings)[1].startswith("An image of ")


def test_another_view_trains_no_other_student(material) -> None:
    explorer = LabelsAgainstImages(*material).run()
    sentence = explorer.sentence
    explorer.panel["view"].value = 5
    explorer.panel["picture"].value = 1
    explorer.runner.join()
    assert len(explorer.world.learned(explorer.results)) == 1 and explorer.sentence == sentence
    explorer.close()
