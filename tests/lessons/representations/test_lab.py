"""The laboratory of targets, driven in Python: what it shows is what ReLA trains, with and without
the targets.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from ddlab import networks
from ddlab.data import ImageData
from ddlab.explorers import Laboratory
from ddlab.lessons.representations.lab import (
    TargetLab,
    curve,
    images_along,
    target_curve,
)
from ddlab.lessons.representations.world import World
from ddlab.networks import Network
from ddlab.runs import Inputs, process
from ddlab.unlabelled import with_targets
from ddlab.unlabelled.self_supervised import OBJECTIVES
from tests.support import made_data, refuses

SPEC = networks.spec("convnet", width=4)


def untrained(data: ImageData, seed: int = 0) -> Network:
    return networks.initialise(SPEC.for_data(data), seed=seed)


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data(train=40)


@pytest.fixture
def lab(data: ImageData) -> Iterator[Laboratory]:
    laboratory = TargetLab(
        data, {"untrained": untrained(data), "strong": untrained(data, 1)}, SPEC, device="cpu"
    )
    laboratory.runner.join()
    yield laboratory
    laboratory.close()


def moved(lab: Any, **values: Any) -> None:
    lab.panel.value = lab.panel.value.replace(**values)
    lab.runner.join()


def by_itself(lab: Any, alone: bool) -> list[tuple[float, float | None]]:
    """Accuracy and lambda at every step, by the driver."""
    world = lab.world
    settings = lab.settings
    config = world.config(settings, alone=alone)
    inputs = Inputs(distilled=world.sets[settings.prior], device="cpu")
    curve: list[tuple[float, float | None]] = [
        (
            world.accuracy(
                with_targets.finish(config, inputs, process.start(with_targets, config, inputs))
            ),
            None,
        )
    ]
    for step in process.steps(with_targets, config, inputs):
        curve.append(
            (
                world.accuracy(with_targets.finish(config, inputs, step.state)),
                float(step.trace.share),
            )
        )
    return curve


@pytest.mark.parametrize(
    "changes", [{}, {"prior": "strong", "schedule": "constant", "share": 1.0}, {"subset": "static"}]
)
def test_every_point_of_the_curves_is_of_the_training(lab: Any, changes: dict[str, Any]) -> None:
    moved(lab, ratio=0.25, **changes)
    for alone in (False, True):
        run = lab.world.run(lab.settings, alone=alone)
        expected = by_itself(lab, alone)
        assert run.complete and run.frames[-1].step == len(expected) - 1
        assert [(f.content.accuracy, f.content.share) for f in run.frames] == [
            expected[f.step] for f in run.frames
        ]
        line = lab.widget(curve).figure.data[int(alone)]
        assert list(line.y) == pytest.approx([frame.content.accuracy for frame in run.frames])
    last = lab.world.run(lab.settings).frames[-1]
    prior = lab.settings.prior
    assert f"reach {last.content.accuracy:.1%} with the {prior} prior's targets" in lab.sentence
    assert f"{lab.world.own[prior]:.1%} for the prior itself" in lab.sentence
    losses, shares = (list(line.y) for line in lab.widget(target_curve).figure.data[:2])
    contents = [f.content for f in lab.world.run(lab.settings).frames[1:]]
    assert losses == [content.target_loss for content in contents if content.share] and all(
        0 < loss < 2 for loss in losses
    )
    assert shares == ([1.0] * len(shares) if changes.get("share") else sorted(shares, reverse=True))


def test_alone_no_target_is_read(data: ImageData) -> None:
    world = World(data, {"untrained": untrained(data)}, SPEC, device="cpu")
    last_frame = world.run(world.start, alone=True).advance().frames[-1]
    other_world = World(data, {"strong": untrained(data, 7)}, SPEC, device="cpu")
    assert (
        last_frame.content
        == other_world.run(other_world.start, alone=True).advance().frames[-1].content
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_can_be_chosen(lab: Any, objective: str) -> None:
    moved(lab, objective=objective, epochs=2)
    assert lab.error is None and lab.world.run(lab.settings).complete


def test_the_pictures_go_along_each_number_of_the_targets(lab: Any) -> None:
    for name in ("untrained", "strong"):
        moved(lab, prior=name)
        ordered = lab.world.along(name)
        values = lab.world.sets[name].target("representations").values[0]
        assert ordered.shape == (4, 12) and name in lab.widget(images_along).alt
        for number, row in enumerate(ordered):
            along = values[row, number]
            assert bool((along.diff() >= 0).all())
            assert (along[0], along[-1]) == (values[:, number].min(), values[:, number].max())


def test_priors_that_are_none_are_refused(data: ImageData) -> None:
    with refuses("priors"):
        TargetLab(data, {})
    with refuses("priors", "Network"):
        TargetLab(data, {"untrained": torch.zeros(3)})
    lab = TargetLab(data, {"untrained": untrained(data)}, SPEC, device="cpu")
    with refuses("prior", "weak"):
        moved(lab, prior="weak")
    lab.close()
