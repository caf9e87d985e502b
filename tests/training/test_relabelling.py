"""Labels from several teachers, in both modes, against loops over plain modules; labels of each epoch against a student asked online."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.data.augmentation import Views
from ddlab.distilled import DistilledSet, EpochLabels
from ddlab.networks import Network
from ddlab.runs import process
from ddlab.runs.process import Inputs
from ddlab.training import relabelling, supervised
from ddlab.training.relabelling import part_sizes, relabelled, teacher_logits
from tests.networks.test_networks import plain
from tests.support import assert_same, assert_unchanged, made_data, refuses, snapshot

CONFIG = supervised.Config(
    network=networks.spec("convnet", width=4), epochs=3, batch_size=4, crop_pixels=1, learning_rate=0.01, temperature=4.0,
    mixup_alpha=0.0, cutmix_alpha=1.0, teacher_mode="train", teacher_batch_size=2, seed=5,
)  # fmt: skip


@pytest.fixture
def teachers(grey: ImageData, teacher: Network, other_teacher: Network) -> tuple[Network, ...]:
    """Three of two families."""
    third = networks.initialise(networks.spec("convnet", width=3).for_data(grey), seed=2)
    return teacher, other_teacher, third


def in_double(teachers: tuple[Network, ...]) -> tuple[Network, ...]:
    """Batch statistics of two images are too ill-conditioned for float32: a near tie may fall to the other side."""
    double = [{n: v.double() if v.is_floating_point() else v for n, v in each.weights.items()} for each in teachers]
    return tuple(Network(spec=each.spec, weights=weights) for each, weights in zip(teachers, double, strict=True))


def by_hand(teachers: tuple[Network, ...], parts: list[Tensor], *, train: bool) -> np.ndarray:
    """The mean over modules of their logits on one part after another, in float64."""
    found = []
    for teacher in teachers:
        module = plain(teacher).double().train(train)
        found.append(np.concatenate([module(part.double()).detach().numpy() for part in parts]))
    return np.mean(found, axis=0)


class TestPartSizes:
    @pytest.mark.parametrize(
        ("count", "size", "parts"),
        [(16, 8, [8, 8]), (10, 8, [8, 2]), (9, 8, [9]), (17, 8, [8, 9]), (5, 2, [2, 3]), (3, 8, [3]), (1, 8, [1]), (0, 8, [])],
    )  # fmt: skip
    def test_cases(self, count: int, size: int, parts: list[int]) -> None:
        assert part_sizes(count, size) == parts

    def test_every_part_has_a_batchs_statistics(self) -> None:
        for count in range(2, 60):
            for size in range(2, 20):
                parts = part_sizes(count, size)
                assert sum(parts) == count and min(parts) >= 2 and max(parts) <= size + 1
                assert parts.count(size) >= len(parts) - 1

    def test_bad_input(self) -> None:
        with refuses("size", "at least 2", "1"):
            part_sizes(10, 1)


class TestTeacherLogits:
    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_eval_mode_equals_a_loop(self, count: int, teachers: tuple[Network, ...], grey: ImageData) -> None:
        images = grey.normalised(slice(0, 10)).double()
        found = teacher_logits(in_double(teachers[:count]), images)
        torch.testing.assert_close(found, torch.from_numpy(by_hand(teachers[:count], [images], train=False)))

    @pytest.mark.parametrize("size", [None, 8, 3])
    def test_train_mode_equals_a_loop_over_parts(
        self, size: int | None, teachers: tuple[Network, ...], grey: ImageData
    ) -> None:
        images = grey.normalised(slice(0, 16)).double()
        parts = {None: [images], 8: [images[:8], images[8:]], 3: [*images[:12].split(3), images[12:]]}[size]
        found = teacher_logits(in_double(teachers), images, teacher_mode="train", teacher_batch_size=size)
        torch.testing.assert_close(found, torch.from_numpy(by_hand(teachers, parts, train=True)))

    def test_parts_matter(self, teacher: Network, grey: ImageData) -> None:
        images = grey.normalised(slice(0, 16))
        whole, halves = (
            teacher_logits(teacher, images, teacher_mode="train", teacher_batch_size=size) for size in (None, 8)
        )
        assert float((whole - halves).abs().max()) > 0.05

    def test_teachers_and_images_stay_as_they_are(self, teachers: tuple[Network, ...], grey: ImageData) -> None:
        images = grey.normalised(slice(0, 16))
        before = snapshot((teachers, images))
        found = teacher_logits(teachers, images, teacher_mode="train", teacher_batch_size=8)
        assert_unchanged(before, (teachers, images))
        assert not found.requires_grad

    def test_one_teacher_gives_its_own_bits(self, teacher: Network, grey: ImageData) -> None:
        images = grey.normalised(slice(0, 9))
        direct, _ = networks.call(teacher.spec, teacher.weights, images, True)
        assert torch.equal(teacher_logits([teacher], images, teacher_mode="train"), direct.logits)

    def test_bad_input(self, teacher: Network, grey: ImageData) -> None:
        images = grey.normalised(slice(0, 4))
        more = networks.initialise(dataclasses.replace(teacher.spec, classes=4), seed=0)
        wrong: list[tuple[Any, dict[str, Any], list[str]]] = [
            ((), {}, ["teachers", "none"]),
            ((teacher, more), {}, ["teachers", "same number of classes", "[3, 4]"]),
            (teacher, {"teacher_batch_size": 1}, ["size", "at least 2"]),
        ]
        for given, changes, words in wrong:
            with refuses(*words):
                teacher_logits(given, images, **changes)
        with refuses("images"):
            teacher_logits(teacher, images[:, :, :5])


class TestStored:
    def test_mean_of_several(self, distilled: DistilledSet, teachers: tuple[Network, ...]) -> None:
        made = relabelled(distilled, teachers, labels="stored")
        expected = torch.from_numpy(by_hand(teachers, [distilled.images], train=False)).float()
        torch.testing.assert_close(made.target("stored").logits, expected, rtol=1e-4, atol=1e-4)
        assert made.target("hard") is distilled.target("hard") and made.target("online") == distilled.target("online")

    def test_a_methods_own_labels(self, distilled: DistilledSet, teacher: Network) -> None:
        again = relabelled(distilled, teacher, labels="stored")
        assert_same(again.target("stored"), distilled.target("stored"))
        assert again.fingerprint == distilled.fingerprint

    def test_train_mode_passes_the_batches_of_the_first_epoch(
        self, distilled: DistilledSet, teachers: tuple[Network, ...]
    ) -> None:
        made = relabelled(distilled, teachers, labels="stored", views=CONFIG)
        rows = [CONFIG.indices(6, step) for step in (0, 1)]  # 4 images in two parts of 2, then 2
        assert torch.cat(rows).tolist() != list(range(6))
        expected = torch.zeros(6, 3, dtype=torch.float64)
        for row, parts in ((rows[0], [rows[0][:2], rows[0][2:]]), (rows[1], [rows[1]])):
            images = [distilled.images[part] for part in parts]
            expected[row] = torch.from_numpy(by_hand(teachers, images, train=True))
        torch.testing.assert_close(made.target("stored").logits.double(), expected, rtol=1e-3, atol=1e-3)


class TestOnline:
    def test_names_all_teachers(self, distilled: DistilledSet, teachers: tuple[Network, ...]) -> None:
        made = relabelled(distilled, teachers, labels="online")
        assert made.target("online").fingerprints == tuple(teacher.fingerprint for teacher in teachers)
        assert made.provenance["relabelled"]["online"]["teachers"] == [teacher.fingerprint for teacher in teachers]

    def test_a_student_needs_them_all_in_any_order(
        self, distilled: DistilledSet, teachers: tuple[Network, ...]
    ) -> None:
        made, config = relabelled(distilled, teachers, labels="online"), CONFIG.replace(labels="online", epochs=1)
        for given in (teachers, teachers[::-1]):
            process.run(supervised, config, Inputs(distilled=made, teachers=given))
        for given in (teachers[:2], (*teachers, teachers[0]), teachers[:1]):
            with refuses("teacher", "ones that made the set", teachers[2].fingerprint):
                process.run(supervised, config, Inputs(distilled=made, teachers=given))
        with refuses("teacher", "the one that made the set"):
            process.run(supervised, config, Inputs(distilled=distilled, teachers=teachers))

    def test_targets_are_of_the_mean_logits(self, teachers: tuple[Network, ...], grey: ImageData) -> None:
        view = CONFIG.view(grey.normalised(slice(0, 6)), mean=grey.mean, std=grey.std, step=2)
        view = view._replace(images=view.images.double())
        found = supervised.online_targets(
            view, in_double(teachers), temperature=4.0, teacher_mode="train", teacher_batch_size=2
        )
        logits = by_hand(teachers, list(view.images.split(2)), train=True) / 4.0
        expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        torch.testing.assert_close(found, torch.from_numpy(expected))


def students(labels: str, made: DistilledSet, teachers: tuple[Network, ...], **changes: Any) -> Network:
    given = teachers if labels == "online" else ()
    config = CONFIG.replace(labels=labels, **changes)
    return process.run(supervised, config, Inputs(distilled=made, teachers=given))


class TestEpochs:
    @pytest.fixture
    def made(self, distilled: DistilledSet, teachers: tuple[Network, ...]) -> DistilledSet:
        return relabelled(
            relabelled(distilled, teachers, labels="online"), teachers, labels="epochs", views=CONFIG, epochs=3
        )

    def test_each_row_is_of_the_view_that_shows_its_image(
        self, made: DistilledSet, teachers: tuple[Network, ...]
    ) -> None:
        target = made.target("epochs")
        assert target.logits.dtype == torch.float16 and target.logits.shape == (3, 6, 3) and target.epochs == 3
        assert target.views == CONFIG.views() and type(target.views) is Views
        for step in range(6):
            rows = CONFIG.indices(6, step)
            view = CONFIG.view(made.images[rows], mean=made.mean, std=made.std, step=step)
            # In the same precision: batch statistics of two images magnify rounding. float16 keeps eleven bits.
            expected = teacher_logits(teachers, view.images, teacher_mode="train", teacher_batch_size=2)
            torch.testing.assert_close(target.logits[step // 2, rows].float(), expected, rtol=1e-3, atol=1e-4)

    @pytest.mark.parametrize("mixing", [{"crop_area": 0.3}, {"cutmix_alpha": 0.0, "mixup_alpha": 0.8}])
    def test_a_student_equals_one_that_asks_online(
        self, mixing: dict[str, Any], distilled: DistilledSet, teachers: tuple[Network, ...], monkeypatch: Any
    ) -> None:
        """Bit for bit where the online logits are rounded to float16 too; else within that rounding."""
        made = relabelled(distilled, teachers, labels="online")
        made = relabelled(made, teachers, labels="epochs", views=CONFIG.replace(**mixing), epochs=3)
        stored, asked = (students(labels, made, teachers, **mixing) for labels in ("epochs", "online"))
        for name, value in stored.weights.items():
            torch.testing.assert_close(value, asked.weights[name], rtol=0.05, atol=0.02, msg=name)
        exact = supervised.teacher_logits
        monkeypatch.setattr(supervised, "teacher_logits", lambda *a, **k: exact(*a, **k).half().float())
        assert_same(students("online", made, teachers, **mixing).weights, stored.weights)

    def test_the_views_are_the_labels_and_the_seed_draws_the_weights(
        self, made: DistilledSet, teachers: tuple[Network, ...]
    ) -> None:
        """Whatever the config says of views, the student sees what the labels were given to."""
        base = students("epochs", made, teachers)
        other = students("epochs", made, teachers, batch_size=5, crop_pixels=0, flip=False, cutmix_alpha=0.0)
        assert_same(other.weights, base.weights)
        config, inputs = CONFIG.replace(labels="epochs", seed=9), Inputs(distilled=made)
        assert torch.equal(supervised._batch(config, inputs, 4), CONFIG.indices(6, 4))
        assert not torch.equal(CONFIG.replace(seed=9).indices(6, 4), CONFIG.indices(6, 4))
        first = supervised.init(config, inputs).weights
        fresh = networks.initialise(CONFIG.network.for_data(made), seed=9).weights
        assert_same(first, fresh)

    def test_fewer_epochs_are_the_first_and_more_are_refused(
        self, made: DistilledSet, teachers: tuple[Network, ...]
    ) -> None:
        students("epochs", made, teachers, epochs=2)
        with refuses("epochs", "at most 3", "4"):
            students("epochs", made, teachers, epochs=4)

    def test_needs_no_teacher_and_counts_half_floats(self, made: DistilledSet) -> None:
        assert made.target("epochs").storage_floats() == 3 * 6 * 3 // 2
        assert EpochLabels(torch.zeros(1, 3, 3).half(), Views(), ("x",)).storage_floats() == 5  # 9 halves, rounded up
        rest = made.storage_floats() - made.target("epochs").storage_floats()
        assert rest == 6 * 64 + 6 + 6 * 3

    def test_evaluate(self, made: DistilledSet, teachers: tuple[Network, ...], grey: ImageData, no_cache: None) -> None:
        found = ddlab.evaluate(made, grey, labels="epochs", seeds=(0, 1), config=CONFIG)
        assert found.labels == "epochs" and len(found.per_seed) == 2
        online = ddlab.evaluate(made, grey, labels="online", teacher=list(teachers), seeds=(0,), config=CONFIG)
        assert online.labels == "online"
        with refuses("epochs", "at most 3"):
            ddlab.evaluate(made, grey, labels="epochs", seeds=(0,))
        with refuses("teacher", "a Network or a sequence of Networks"):
            ddlab.evaluate(made, grey, labels="online", teacher="teacher", config=CONFIG)  # type: ignore[arg-type]


class TestRelabelledBadInput:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"labels": "hard"}, ["labels", "one of 'stored', 'online', 'epochs'"]),
            ({"labels": "epochs", "epochs": 3}, ["views", "None"]),
            ({"labels": "epochs", "views": CONFIG}, ["epochs", "None"]),
            ({"labels": "stored", "epochs": 3}, ["epochs", "None"]),
            ({"labels": "online", "views": CONFIG}, ["views", "online"]),
            ({"teachers": ()}, ["teachers", "none"]),
        ],
    )
    def test_refused(
        self, changes: dict[str, Any], words: list[str], distilled: DistilledSet, teacher: Network
    ) -> None:
        given: dict[str, Any] = {"distilled": distilled, "teachers": teacher, "labels": "stored"} | changes
        with refuses(*words):
            relabelled(**given)

    def test_a_teacher_of_other_classes(self, distilled: DistilledSet, teacher: Network) -> None:
        four = networks.initialise(networks.spec("convnet", width=4).for_data(made_data(classes=4)), seed=0)
        with refuses("teacher", "3 classes", "4 classes"):
            relabelled(distilled, (teacher, four), labels="stored")

    def test_an_empty_set(self, distilled: DistilledSet, teacher: Network) -> None:
        from ddlab.distilled import HardLabels

        empty = dataclasses.replace(
            distilled, tensors={"images": distilled.images[:0]}, targets=(HardLabels(distilled.labels[:0]),)
        )
        with refuses("distilled", "at least one image"):
            relabelled(empty, teacher, labels="stored")

    def test_logits_too_large_for_half_a_float(self, distilled: DistilledSet, teacher: Network) -> None:
        _, classifier = networks.specification.hooked_layers(teacher.spec)
        weights = {
            name: value * 1e6 if name.startswith(classifier) else value for name, value in teacher.weights.items()
        }
        loud = Network(spec=teacher.spec, weights=weights)
        with refuses("labels of each epoch", "finite"):
            relabelled(distilled, loud, labels="epochs", views=CONFIG, epochs=1)


def test_progress_is_said(distilled: DistilledSet, teacher: Network, capsys: pytest.CaptureFixture[str]) -> None:
    relabelled(distilled, teacher, labels="epochs", views=CONFIG, epochs=1, progress=True)
    assert "2/2" in capsys.readouterr().out
    assert relabelling.__all__ == ["part_sizes", "relabelled", "teacher_logits"]
