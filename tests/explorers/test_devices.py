"""Explorers and the worlds of laboratories use the device: all that they run stays on a stand-in
that refuses mixing.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import explorers, networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.explorers import live_students
from ddlab.lessons.data_residuals import lab as data_residuals
from ddlab.lessons.diversity import lab as diversity
from ddlab.lessons.start_page import labels_against_images
from ddlab.methods import dwa, fadrm, sre2l
from ddlab.networks import Network
from ddlab.training import supervised
from tests.stand_in_device import stand_in_device

STUDENT = supervised.Config(
    network=networks.spec("convnet", width=4), epochs=2, batch_size=4, crop_pixels=1
)


@pytest.fixture
def device(no_cache: None) -> Iterator[torch.device]:
    # Nothing here is large enough for a second one; `same_threads` brings it back.
    torch.set_num_threads(1)
    with stand_in_device() as device:
        yield device


def _unwatched(*_: Any) -> None:
    """Where a progress would be shown."""


def test_explorers_and_the_worlds_of_laboratories(
    device: torch.device,
    grey: ImageData,
    distilled: DistilledSet,
    teacher: Network,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        supervised.Config, "for_data", lambda data, labels: STUDENT.replace(labels=labels)
    )
    live = explorers.Live("sre2l", grey, teacher, sre2l.SMALL)
    assert live.world.inputs.device == device
    distilled_set = live.schedule.watched_run.advance().result()
    assert "random real images" in live_students.accuracies(
        distilled_set, live.world.inputs, _unwatched
    )
    live.close()

    labels = labels_against_images.World(
        grey, teacher, {"a": distilled, "b": distilled_set}, STUDENT
    )
    run = labels.run(labels.start).advance()
    assert run.inputs.device == device and 0 <= run.frames[-1].content <= 1

    varied = diversity.World(grey, teacher, dwa.SMALL, student=STUDENT, points=12)
    first_config = varied.config(varied.start)
    assert varied.inputs.device == device and len(varied.images(first_config).pixels) == 6
    assert 0 <= varied.accuracy(first_config, "online", 0, watch=_unwatched) <= 1

    config = fadrm.Config(images_per_class=1, iterations=4, roll_pixels=2, merges=1)
    merged = data_residuals.World(grey, teacher, config, student=STUDENT, seeds=1)
    run = merged.run(merged.start).advance()
    assert run.inputs.device == device and type(run.frames[-1].content.images) is Tensor
    for distilled_set in data_residuals.sets(merged, merged.start):
        merged.distilled_run(distilled_set).advance()
        assert 0 <= merged.student(distilled_set, 0, watch=_unwatched) <= 1
