"""What the points of records share: settings, configs of points, shipped teachers."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch

from ddlab import evaluation, methods, networks
from ddlab.records import SWEEPS, Place, self_supervised, setting
from ddlab.records.setting import DWA, RANDOM, RDED, SRE2L
from ddlab.runs import process
from ddlab.runs.process import Inputs
from ddlab.training import supervised


@pytest.mark.parametrize("name", SWEEPS)
def test_every_setting_makes_its_images(name: str) -> None:
    """Each different setting of a sweep, but for its seed, gives the method the config that it says; no images are made here."""
    seen = {json.dumps(point | {"seed": 0}): point for point in SWEEPS[name].settings}
    for point in seen.values():
        name_of = {RANDOM: "selection", SRE2L: "sre2l", DWA: "dwa", RDED: "rded"} | self_supervised.METHODS
        # The others are kinds of FADRM; a record of Boost alone has no column of methods.
        module = methods.get(name_of.get(point["method"], "fadrm") if "method" in point else "boost")
        fields = {column: point[column] for column in point if column in module.Config.__dataclass_fields__}
        module.Config(**{column: value for column, value in fields.items() if value is not None})


def test_the_shipped_teacher_is_the_records() -> None:
    """Its provenance names these images and this recipe, and it knows the test images."""
    real = setting.shapes64(Place())
    assert real.shipped is not None
    teacher = networks.load(real.shipped)
    # What came to the config later has its default in the recipe.
    recipe, plain = real.teaching.to_dict(), supervised.Config().to_dict()
    assert recipe == {**plain, **teacher.provenance["config"]}
    assert teacher.provenance["complete"] is True
    assert teacher.provenance["inputs"] == Inputs(data=real.data).fingerprint
    assert evaluation.accuracy(teacher, real.data) > 0.85
    assert real.shipped.stat().st_size < 10**5


def test_shipped_teachers_are_trained_with_one_thread(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    small = dataclasses.replace(
        setting.shapes64(Place(smoke=True)),
        teaching=supervised.Config.for_data(
            setting.shapes64(Place(smoke=True)).data, "teacher", network=networks.spec("convnet", width=4), epochs=1
        ),
    )
    threads = []
    run = process.run

    def spied(*given, **options):
        threads.append(torch.get_num_threads())
        return run(*given, **options, progress=False)

    monkeypatch.setattr(setting, "TEACHERS", tmp_path)
    monkeypatch.setitem(setting.SCALES, "shapes64", lambda place: small)
    monkeypatch.setattr(setting.process, "run", spied)
    before = torch.get_num_threads()
    (file,) = setting.train_shipped()
    assert threads == [1] and torch.get_num_threads() == before
    assert networks.load(file).provenance["config"] == small.teaching.to_dict()
