"""The front door: every public function refuses what it cannot use, in one sentence that names the
argument.

The rows of `TABLE` are the functions and classes in `__all__` of ddlab, data, networks, evaluation
and runs: right arguments, and four wrong values. The rooms' own files hold what is wrong with a
whole (data of other classes, a network of another size).
"""

# pyright: reportArgumentType=false
# Wrong types are the point here.

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

import ddlab
from ddlab import data, evaluation, methods, networks, runs, unlabelled
from ddlab.core import parameters
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, HardLabels
from ddlab.methods import dm, mnemonics, selection
from ddlab.networks import Network
from ddlab.networks.family import REGISTERED
from ddlab.runs import Inputs
from tests.contract.cases import PROCESSES
from tests.contract.material import Material
from tests.support import refuses

NAN = float("nan")
CONFIG = selection.Config(images_per_class=1)
PHASES = mnemonics.Config.teaching(tasks=2, first_classes=2)
KEYED = {"features": torch.rand(6, 2), "labels": torch.arange(6) % 2, "queries": torch.rand(3, 2)}
READER = [
    ("features", KEYED["features"] * NAN),
    ("features", torch.rand(6)),
    ("labels", torch.rand(6)),
    ("queries", torch.rand(3, 5)),
]
SCORED = {"labels": "hard", "seeds": (0,)}
PIXELS = torch.zeros((3, 1, 8, 8))


def saved(material: Material) -> Path:
    """A folder of one set."""
    (folder := material.folder / "n").mkdir(exist_ok=True)
    material.distilled.save(folder / "set.safetensors", overwrite=True)
    return folder


Wrong = list[tuple[str, Any]]
Row = tuple[Callable[..., Any], Callable[[Material], dict[str, Any]], Wrong]
TABLE: dict[str, Row] = {
    "ddlab.DistilledSet": (
        DistilledSet,
        lambda g: {
            "tensors": {"images": g.images(3)},
            "mean": g.data.mean,
            "std": g.data.std,
            "class_names": ("a", "b", "c"),
            "targets": (HardLabels(torch.arange(3)),),
        },
        [("std", torch.zeros(1)), ("mean", 0.5), ("targets", "hard"), ("kind", "video")],
    ),
    "ddlab.ImageData": (
        ImageData,
        lambda g: {
            "name": "mine",
            "train_images": g.data.train_images,
            "train_labels": g.data.train_labels,
            "test_images": g.data.test_images,
            "test_labels": g.data.test_labels,
            "class_names": ("a", "b", "c"),
        },
        [
            ("train_images", PIXELS),
            ("train_labels", torch.zeros(3)),
            ("class_names", 3),
            ("name", None),
        ],
    ),
    "ddlab.Inputs": (
        Inputs,
        lambda g: {"data": g.data, "teachers": (g.teacher,), "device": "cpu"},
        [("data", 3), ("teachers", (3,)), ("distilled", "set"), ("device", "cpux")],
    ),
    "runs.Keep": (
        runs.Keep,
        lambda g: {},
        [("steps", 1.5), ("steps", 0), ("make", 3), ("make", "look")],
    ),
    "networks.Network": (
        Network,
        lambda g: {"spec": g.teacher.spec, "weights": g.teacher.weights},
        [("spec", "convnet"), ("weights", {}), ("weights", 3), ("spec", None)],
    ),
    "ddlab.Run": (
        ddlab.Run,
        lambda g: {"process": selection, "config": CONFIG, "inputs": g.inputs},
        [("process", 3), ("config", None), ("inputs", "digits"), ("keep", 5)],
    ),
    "ddlab.accuracy": (
        ddlab.accuracy,
        lambda g: {"network": g.teacher, "data": g.data},
        [("network", "resnet18"), ("data", None), ("split", "validation"), ("batch_size", 0)],
    ),
    "ddlab.distill": (
        ddlab.distill,
        lambda g: {"method": "selection", "data": g.data, "config": CONFIG, "progress": False},
        [
            ("method", "sre2"),
            ("data", "digits"),
            ("config", {"images_per_class": 1}),
            ("teacher", 3),
        ],
    ),
    "ddlab.compare": (
        ddlab.compare,
        lambda g: {
            "methods": [dm.SMALL],
            "data": g.data,
            "config": g.student,
            "seeds": (0, 1),
            "device": "cpu",
            "progress": False,
        },
        [("methods", "dm"), ("data", None), ("labels", "soft"), ("seeds", (0, 0))],
    ),
    "ddlab.evaluate": (
        ddlab.evaluate,
        lambda g: {"distilled": g.distilled, "data": g.data, "config": g.student, **SCORED},
        [("labels", "soft"), ("seeds", (0, 0)), ("network", "resnet"), ("distilled", None)],
    ),
    "runs.every": (
        runs.every,
        lambda g: {"run": iter([]), "k": 2},
        [("k", 0), ("k", 1.5), ("k", "2"), ("run", 3)],
    ),
    "ddlab.from_images": (
        ddlab.from_images,
        lambda g: {"images": g.images(3), "labels": torch.arange(3), "data": g.data},
        [
            ("images", PIXELS.byte()),
            ("labels", torch.arange(2)),
            ("data", 3),
            ("images", PIXELS * NAN),
        ],
    ),
    "ddlab.from_loss": (
        ddlab.from_loss,
        lambda g: {"name": "mine", "loss": lambda *_: 0.0},
        [("name", ""), ("name", 3), ("loss", 3), ("needs_teacher", "yes")],
    ),
    "ddlab.published": (
        ddlab.published,
        lambda g: {"method": "dm", "dataset": "cifar10", "images_per_class": 10},
        [
            ("method", "sre2"),
            ("dataset", "cifar"),
            ("images_per_class", 7),
            ("task", "nas"),
        ],
    ),
    "ddlab.replicate": (
        ddlab.replicate,
        lambda g: {
            "method": "kip",
            "data": g.data,
            "dataset": "CIFAR-10",
            "images_per_class": 10,
            "row": "FC1",
            "iterations": 1,
        },
        [("method", "mnemonics"), ("row", "none"), ("sets", 0), ("student", {"none": 1})],
    ),
    "ddlab.start": (
        ddlab.start,
        lambda g: {"name": "00_start"},
        [("name", "01_start"), ("seed", -1), ("seed", 1.5), ("device", "abacus")],
    ),
    "runs.steps": (
        runs.steps,
        lambda g: {"process": selection, "config": CONFIG, "inputs": g.inputs},
        [("process", "selection"), ("config", 3), ("inputs", 3), ("state", 3)],
    ),
    "ddlab.train_teacher": (
        ddlab.train_teacher,
        lambda g: {"data": g.data, "config": g.student.replace(labels="hard"), "progress": False},
        [("data", "digits"), ("config", CONFIG), ("device", "abacus"), ("checkpoint", 3)],
    ),
    "data.aligned": (
        data.aligned,
        lambda g: {"data": g.data, "like": g.data},
        [("data", None), ("data", "digits"), ("like", None), ("like", PIXELS)],
    ),
    "data.whitened": (
        data.whitened,
        lambda g: {"data": g.data},
        [("data", "digits"), ("data", PIXELS), ("epsilon", 0), ("epsilon", "small")],
    ),
    "data.from_arrays": (
        data.from_arrays,
        lambda g: {"images": torch.rand(4, 8, 8, 3), "labels": ["cat", "dog"] * 2},
        [("images", "photos"), ("labels", ["cat"]), ("test_fraction", 0), ("layout", "chwn")],
    ),
    "data.from_dataset": (
        data.from_dataset,
        lambda g: {"dataset": [(torch.rand(3, 8, 8), label) for label in (0, 1, 0, 1)]},
        [("dataset", 3), ("limit", 0), ("size", 0), ("channels", 2)],
    ),
    "data.load": (
        data.load,
        lambda g: {"name": "digits", "size": 8},
        [("name", "digit"), ("name", 3), ("size", 7), ("size", "large")],
    ),
    "networks.NetworkSpec": (
        networks.NetworkSpec,
        lambda g: {"family": "convnet", "options": g.spec.options},
        [("family", "resnet"), ("options", {}), ("classes", 0), ("image_size", 8)],
    ),
    "networks.batch_norm_layers": (
        networks.batch_norm_layers,
        lambda g: {"described": g.teacher.spec},
        [
            ("described", "convnet"),
            ("described", None),
            ("described", networks.spec("convnet")),
            ("described", 3),
        ],
    ),
    "networks.call": (
        networks.call,
        lambda g: {"spec": g.teacher.spec, "weights": g.teacher.weights, "images": g.images()},
        [("spec", "convnet"), ("weights", 3), ("images", PIXELS[0]), ("images", PIXELS[..., :5])],
    ),
    "networks.from_module": (
        networks.from_module,
        lambda g: {
            "module": g.module(),
            "image_size": (8, 8),
            "classes": 3,
            "channels": 1,
            "name": "mine",
        },
        [("module", 3), ("image_size", 0), ("classes", 0), ("name", "")],
    ),
    "networks.initialise": (
        networks.initialise,
        lambda g: {"described": g.teacher.spec, "seed": 0},
        [
            ("described", "convnet"),
            ("described", networks.spec("convnet")),
            ("seed", -1),
            ("seed", 0.5),
        ],
    ),
    "networks.load": (
        networks.load,
        lambda g: {"path": g.teacher.save(g.folder / "n")},
        [("path", p) for p in (None, 3, "none/x", "")],
    ),
    "networks.parameter_names": (
        networks.parameter_names,
        lambda g: {"described": g.teacher.spec},
        [
            ("described", "convnet"),
            ("described", None),
            ("described", networks.spec("convnet")),
            ("described", 3),
        ],
    ),
    "networks.predict": (
        networks.predict,
        lambda g: {"network": g.teacher, "images": g.images()},
        [
            ("network", "convnet"),
            ("images", PIXELS[0]),
            ("images", PIXELS.int()),
            ("batch_size", 0),
        ],
    ),
    "networks.register": (
        networks.register,
        lambda g: {"name": "front_door", "factory": lambda *_: g.module()},
        [("name", ""), ("factory", 3), ("smallest_image", 0), ("name", "convnet")],
    ),
    "networks.spec": (
        networks.spec,
        lambda g: {"family": "convnet", "width": 4},
        [("family", "resnet"), ("family", 3), ("width", 0), ("widths", 4)],
    ),
    "networks.takes_size": (
        networks.takes_size,
        lambda g: {"spec": g.teacher.spec, "image_size": (9, 9)},
        [("spec", "convnet"), ("spec", None), ("image_size", 9.5), ("image_size", (9, 0))],
    ),
    "networks.convnet_grid": (
        networks.convnet_grid,
        lambda g: {"space": "small"},
        [("space", "large"), ("space", 3), ("space", None), ("space", "")],
    ),
    "evaluation.architecture_search": (
        evaluation.architecture_search,
        lambda g: {
            "proxies": [g.distilled],
            "data": g.data,
            "networks": ["convnet", "mlp", "vit"],
            "config": g.student,
            "progress": False,
        },
        [("proxies", []), ("networks", ["mlp"]), ("trainings", 0), ("folder", 3)],
    ),
    "evaluation.across": (
        evaluation.across,
        lambda g: {
            "distilled": g.distilled,
            "data": g.data,
            "networks": [g.spec],
            "config": g.student,
            **SCORED,
        },
        [("networks", []), ("networks", ["resnet"]), ("labels", "soft"), ("data", None)],
    ),
    "evaluation.board": (
        evaluation.board,
        lambda g: {
            "folder": saved(g),
            "data": g.data,
            "images_per_class": 3,
            "config": g.student,
            "seeds": (0,),
        },
        [("folder", 3), ("folder", "none such"), ("labels", "steps"), ("images_per_class", 0)],
    ),
    "evaluation.class_incremental": (
        evaluation.class_incremental,
        lambda g: {"distilled": g.distilled, "data": g.data, "config": PHASES, "seeds": (0,)},
        [("distilled", 3), ("data", None), ("config", 3), ("seeds", ())],
    ),
    "evaluation.evaluate_all": (
        evaluation.evaluate_all,
        lambda g: {
            "several": {"a": {"distilled": g.distilled}},
            "data": g.data,
            "config": g.student,
            **SCORED,
        },
        [("several", 3), ("several", {}), ("labels", "soft"), ("seeds", ())],
    ),
    "evaluation.interval": (
        evaluation.interval,
        lambda g: {"values": [0.1, 0.2]},
        [("values", [NAN, 1.0]), ("values", "text"), ("confidence", 1.5), ("confidence", 0)],
    ),
    "evaluation.landscape": (
        evaluation.landscape,
        lambda g: {
            "distilled": g.distilled,
            "data": g.data,
            "config": g.student,
            "cells": 3,
            "images": 4,
            "progress": False,
        },
        [("distilled", 3), ("labels", "steps"), ("cells", 2), ("images", 0)],
    ),
    "evaluation.kernel_accuracy": (
        evaluation.kernel_accuracy,
        lambda g: {"distilled": g.distilled, "data": g.data, "labels": "hard"},
        [("labels", "soft"), ("distilled", None), ("ridge", -1.0), ("split", "validation")],
    ),
    "evaluation.kernel_predictions": (
        evaluation.kernel_predictions,
        lambda g: {"images": g.images(3), "labels": torch.eye(3), "queries": g.images(2)},
        [
            ("images", PIXELS * NAN),
            ("labels", torch.eye(2)),
            ("queries", PIXELS[0]),
            ("megabytes", 0),
        ],
    ),
    "unlabelled.predictions": (
        unlabelled.predictions,
        lambda g: {**KEYED, "kind": "ridge", "strength": 1.0},
        [*READER[:3], ("strength", NAN)],
    ),
    "unlabelled.probe": (
        unlabelled.probe,
        lambda g: {"network": g.teacher, "data": g.data},
        [("network", None), ("data", None), ("strength", 0.0), ("device", "tpu")],
    ),
}
"""What rooms fill and do not look at, errors, and what needs minutes or another package (tests/evaluation, tests/data)."""
SENTENCE_NAMES = {
    "described": "spec",
    "order_seed": "seed",
}  # what an argument is called in the sentence
ELSEWHERE = {
    "DDLabError",
    "NonFiniteError",
    "Look",
    "ArchitectureSearch",
    "Number",
    "Step",
    "Outputs",
    "Architectures",
    "Compared",
    "Comparison",
    "Frame",
    "Runs",
    "default_look",
    "look",
    "source",
    "Evaluation",
    "Incremental",
    "Landscape",
    "Parameters",
    "Process",
    "parameter",
}


@pytest.fixture
def material(
    grey: ImageData, teacher: Network, distilled: DistilledSet, tmp_path: Path
) -> Iterator[Material]:
    with mock.patch.dict(REGISTERED):  # what is registered here is known to no other test
        yield Material(grey, teacher, distilled, tmp_path)


def test_the_table_is_the_front_door() -> None:
    public = {
        id(value): name
        for room in (ddlab, data, networks, evaluation, runs, unlabelled)
        for name in room.__all__
        if callable(value := getattr(room, name))
    }
    assert {name.split(".")[1] for name in TABLE} == set(public.values()) - ELSEWHERE
    assert all(len(wrong) == 4 for _, _, wrong in TABLE.values())


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name in TABLE for number in range(4)]
)
def test_a_wrong_value_is_refused_in_one_sentence(
    name: str, number: int, material: Material
) -> None:
    function, right, wrongs = TABLE[name]
    argument, wrong = wrongs[number]
    with refuses(SENTENCE_NAMES.get(argument, argument)):
        function(**{**right(material), argument: wrong})
    assert not [file for file in material.folder.iterdir() if file.name != "n"], (
        "nothing is written by a refused call"
    )


@pytest.mark.parametrize("name", TABLE)
def test_right_values_are_not_refused(name: str, material: Material) -> None:
    function, right, _ = TABLE[name]
    function(**right(material))


@pytest.mark.parametrize("module", PROCESSES, ids=lambda module: module.NAME)
def test_every_setting_is_held_to_what_it_may_be(module: Any) -> None:
    for name, described in parameters.describe(module.Config).items():
        wrong: list[Any] = [
            "none such",
            *({float: (torch.nan, torch.inf), int: (1.5,)}.get(described.type, ())),
        ]
        for end, outward in zip(described.range or (None, None), (-1, 1), strict=True):
            wrong += [] if end is None else [described.type(end + outward)]
        for value in wrong:
            with refuses(name):
                module.SMALL.replace(**{name: value})


@pytest.mark.parametrize("name", ["SRe2L", "DWA", "Kip", "gradient_matching"])
def test_a_method_is_found_by_its_name_however_it_is_written(name: str) -> None:
    assert methods.get(name) is methods.get(name.lower())
    with refuses("method", "sre2l, dwa", "ls", "'nope'"):
        methods.get("nope")
