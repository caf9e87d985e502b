"""The sweeps of lesson 30: their points, their controls, and what they measure."""

from __future__ import annotations

import dataclasses
import functools

import pytest
import torch
from torch import Tensor

import ddlab
from ddlab import evaluation, records
from ddlab.evaluation import entropy
from ddlab.lessons.data_residuals import sweep
from ddlab.lessons.data_residuals.sweep import PULLED_BACK, STOPPED
from ddlab.methods import fadrm
from ddlab.records import SWEEPS, Place, setting
from ddlab.records.setting import FADRM, RANDOM, RDED, SRE2L
from ddlab.runs import process
from ddlab.runs.process import Inputs

pytestmark = pytest.mark.slow  # the register: it goes

SMOKE = Place(smoke=True)


@functools.cache
def world() -> setting.Setting:
    return setting.shapes64(SMOKE)


def test_each_point_is_there_once_and_the_grids_are_whole() -> None:
    points = SWEEPS["residuals"].settings
    fields = list(points[0])
    assert fields == ["method", "images_per_class", *sweep.FIELDS, "seed"]
    keys = {tuple(point.values()) for point in points}
    assert len(keys) == len(points) == 155
    for grid in (sweep.ratio_grid(), sweep.controls(), sweep.merge_counts(), sweep.small_sizes()):
        assert {tuple(point.values()) for point in grid} <= keys
    ratios = {(p["merge_ratio"], p["small_size"]) for p in sweep.ratio_grid()}
    assert ratios == {(ratio, size) for ratio in (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4) for size in (None, 48)}
    assert {p["merges"] for p in sweep.merge_counts()} == set(range(7))
    assert all(p["merge_ratio"] == 0.5 and p["small_size"] is None for p in sweep.merge_counts())
    assert {p["method"] for p in sweep.controls()} == {RANDOM, RDED, SRE2L, FADRM, STOPPED, PULLED_BACK}


@pytest.mark.parametrize(
    "point",
    [
        sweep.point(FADRM, seed=1, images_per_class=2, small_size=48, merge_ratio=0.4, merges=2),
        sweep.point(FADRM, seed=1, images_per_class=2, patches="mosaic"),
        sweep.point(RDED, seed=1, images_per_class=2, factor=2),
    ],
)
def test_a_point_is_what_the_method_makes_of_its_columns(point: dict) -> None:
    made = sweep.distilled(point, SMOKE)
    inputs = world().inputs(SMOKE)
    if point["method"] == FADRM:
        known = {name: point[name] for name in ("merge_ratio", "merges", "small_size", "patches", "precision")}
        wanted = ddlab.distill(
            "fadrm", world().data, inputs.teachers[0],
            fadrm.Config(images_per_class=2, iterations=8, seed=1, **known), progress=False,
        )  # fmt: skip
    else:
        config = ddlab.methods.get("rded").Config(images_per_class=2, factor=2, seed=1)
        wanted = ddlab.distill("rded", world().data, inputs.teachers[0], config, progress=False)
    assert torch.equal(made.images, wanted.images)


def distances(images: Tensor, patches: Tensor) -> Tensor:
    """Mean over classes of the root mean square distance, for each batch: [images per class]."""
    return torch.stack(
        [((a - b).double().square().mean((1, 2, 3)).sqrt()).mean() for a, b in zip(images, patches, strict=True)]
    )


@pytest.mark.parametrize("control", [STOPPED, PULLED_BACK])
def test_controls_are_as_far_from_the_patches_as_fadrm(control: str) -> None:
    """Against the run without merges, written out."""
    count = 2
    point = sweep.point(control, seed=3, images_per_class=count)
    made, reference = (sweep.distilled({**point, "method": method}, SMOKE) for method in (control, FADRM))
    patches = sweep.distilled({**point, "method": RANDOM}, SMOKE)
    real, ours, theirs = (sweep.batches(some, count) for some in (patches, made, reference))
    config = fadrm.Config(images_per_class=count, merges=0, iterations=8, seed=3)
    steps = list(process.steps(fadrm, config, world().inputs(SMOKE)))
    assert torch.equal(fadrm.init(config, world().inputs(SMOKE)).images, real[0])
    wanted = distances(theirs, real)
    for batch in range(count):
        path = [step.state.images for step in steps[8 * batch : 8 * batch + 7]] + [steps[-1].state.done[batch]]
        far = [float(distances(images[None], real[batch][None])) for images in path]
        assert max(far) > wanted[batch]  # else the control shows nothing
        if control == STOPPED:
            first = next(number for number, value in enumerate(far) if value >= wanted[batch])
            assert torch.equal(ours[batch], path[first])
        else:
            share = wanted[batch] / far[-1]
            torch.testing.assert_close(ours[batch], real[batch] + share.float() * (path[-1] - real[batch]))
            torch.testing.assert_close(distances(ours, real)[batch], wanted[batch], rtol=1e-4, atol=0)
    assert made.labels.tolist() == list(range(10)) * count


def test_batches_have_one_image_of_each_class_in_their_order() -> None:
    by_class = sweep.distilled(sweep.point(RANDOM, seed=0, images_per_class=3), SMOKE)
    by_batch = sweep.distilled(sweep.point(FADRM, seed=0, images_per_class=3, merges=0), SMOKE)
    assert by_class.labels.tolist() != by_batch.labels.tolist()
    for made in (by_class, by_batch):
        found = sweep.batches(dataclasses.replace(made, tensors={"images": _numbered(made.labels)}), 3)
        assert found[:, :, 0, 0, 0].tolist() == [list(range(10))] * 3
    # Within a class the first image is in the first batch.
    ordered = torch.arange(len(by_class.labels))[:, None, None, None].expand(-1, 3, 1, 1).float()
    found = sweep.batches(dataclasses.replace(by_class, tensors={"images": ordered.contiguous()}), 3)
    assert (found[1:, :, 0, 0, 0] > found[:-1, :, 0, 0, 0]).all()


def _numbered(labels: Tensor) -> Tensor:
    return labels[:, None, None, None].expand(-1, 3, 1, 1).float().contiguous()


def test_one_network_or_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """The images are FADRM's or FADRM+'s; labels are asked of the networks that made them, then of all."""
    monkeypatch.setattr(sweep, "OTHERS", ("shufflenet_v2_x0_5",))
    small, found = setting.setting("shapes", SMOKE), {}
    both = sweep.teachers(small, SMOKE)
    assert [network.spec.family for network in both] == ["convnet", "shufflenet_v2_x0_5"]
    for point in ({"networks": count} | sweep.point(FADRM, seed=1, images_per_class=1) for count in (1, 2)):
        found[point["networks"]] = sweep.by_networks(point, SMOKE)
        module, config = small.config({**point, "merges": 1}, SMOKE)
        asked = both[: point["networks"]]
        made = process.run(module, config, Inputs(data=small.data, teachers=asked, device="cpu"))
        tested = evaluation.evaluate(
            made, small.data, labels="online", teacher=asked, seeds=(1,), config=small.student, device="cpu"
        )
        assert found[point["networks"]]["own"] == tested.mean
    assert found[2]["own"] == found[2]["four"] and set(found[1]) == {"own", "four"}


def test_what_a_point_measures() -> None:
    point = sweep.point(SRE2L, seed=2, images_per_class=1)
    found, made = sweep.measured(point, SMOKE), sweep.distilled(point, SMOKE)
    for labels in ("hard", "online"):
        tested = evaluation.evaluate(
            made, world().data, labels=labels, teacher=world().teacher(SMOKE), seeds=(2,), config=world().student
        )
        assert found[labels] == tested.mean
    assert found["pixel_entropy"] == pytest.approx(float(entropy.pixel_entropy(made.to_uint8()).mean()))
    assert found["contrast"] == pytest.approx(made.images.flatten(1).std(1).mean().item(), rel=1e-5)
    tasks = sweep.in_tasks(point, SMOKE)
    assert list(tasks) == [f"{labels}_{seen}" for labels in ("hard", "online") for seen in (2, 4, 6, 8, 10)]


@pytest.mark.parametrize("name", list(sweep.LABELS))
def test_labels_are_what_their_words_say(name: str) -> None:
    point = {"labels": name} | sweep.point(FADRM, seed=1, images_per_class=2)
    assert {**point, "images_per_class": 5} in SWEEPS["residual_labels"].settings
    kind, _ = sweep.LABELS[name]
    changes: dict = {} if "once" in name or name in ("class numbers", "for every view") else {"batch_size": 16}
    if "the same" in name:
        changes |= {"teacher_mode": "train", "teacher_batch_size": 8}
    if "the same" in name and "train mode" not in name:
        changes |= {"mixup_alpha": 0.0, "cutmix_alpha": 1.0}
    if "half" in name:
        changes |= {"stretch": 2.0}
    made, teacher = sweep.distilled(point, SMOKE), world().teacher(SMOKE)
    student = world().student.replace(**changes)
    if kind == "epochs":
        made = ddlab.relabelled(made, teacher, labels=kind, views=student.replace(seed=1), epochs=2, device="cpu")
    tested = evaluation.evaluate(
        made, world().data, labels=kind, teacher=teacher, seeds=(1,), config=student, device="cpu"
    )
    assert sweep.by_labels(point, SMOKE) == {"accuracy": tested.mean}


def test_points_are_repeated_by_name() -> None:
    point = sweep.point(RANDOM, seed=4)
    assert records.run_point("residuals", point, SMOKE) == sweep.measured(point, SMOKE)
