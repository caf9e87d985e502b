"""Right arguments for what runs: processes, methods, checkpoints, the cache, distilling, evaluating, lessons."""

from __future__ import annotations

from typing import Any

import torch

from ddlab import networks
from ddlab.distilled import DistilledSet, Representations
from ddlab.methods import selection
from ddlab.runs import cache, checkpoint
from ddlab.training import pretraining, supervised
from tests.storm.good import BUNDLE, EVERY_STEP, Given, Good


def _run(g: Given) -> dict[str, Any]:
    return {"process": selection, "config": g.chosen, "inputs": g.inputs}


def _checkpoint(g: Given) -> dict[str, Any]:
    config, inputs = g.teaching, g.inputs
    path = checkpoint.save(g.folder / "checkpoint", supervised, config, inputs, g.state(supervised, config))
    return {"path": path, "process": supervised, "config": config, "inputs": inputs}


def _represented(g: Given) -> DistilledSet:
    said = Representations({"representations": g.tensor(1, 4, 3)})
    return DistilledSet(
        tensors={"images": g.images()}, targets=(said,), class_names=(), mean=g.data.mean, std=g.data.std
    )


def _regression() -> pretraining.Config:
    return pretraining.Config.teaching(network=networks.spec("convnet", width=4), epochs=1, batch_size=4)


def _read(g: Given) -> dict[str, Any]:
    return {"features": g.tensor(6, 3), "labels": torch.arange(6) % 2, "others": g.tensor(4, 3, seed=1)}


def _judged(g: Given) -> dict[str, Any]:
    return {"claim_id": "D1", "differences": [0.1, 0.2, 0.3], "setting": "in a test"}


RUNS: dict[str, Good] = {
    "runs.cache.remember": Good(lambda g: {"compute": lambda: 1, "part": "text"}, call=lambda compute, part: cache.remember(compute, part)),
    "runs.cache.find": Good(lambda g: {"code": lambda: 1, "part": "text"}, call=lambda code, part: cache.find(code, part)),
    "runs.cache.run": Good(_run, whole=("config",)),
    "runs.cache.is_partial": Good(lambda g: {"result": g.distilled}),
    "runs.checkpoint.save": Good(lambda g: {**_checkpoint(g), "state": g.state(supervised, g.teaching)}),
    "runs.checkpoint.load": Good(_checkpoint),
    "runs.checkpoint.Checkpoint": Good(_checkpoint),
    "runs.checkpoint.remove": Good(lambda g: {"path": g.file()}),
    "runs.checkpoint.parts_of": Good(lambda g: {"path": g.file()}),
    "runs.process.Inputs": Good(lambda g: {"data": g.data, "teachers": (g.teacher,), "distilled": g.distilled, "device": "cpu"},
                           nan_passes=BUNDLE),
    "runs.process.check_call": Good(lambda g: {**_run(g), "state": g.state(selection, g.chosen)}),
    "training.losses.regression_loss": Good(
        lambda g: {"outputs": g.tensor(4, 3), "targets": g.tensor(4, 3, seed=1)}, nan_passes=EVERY_STEP
    ),
    "training.pretraining.rows": Good(lambda g: {"count": 9, "step": 2, "batch_size": 4, "seed": 0}, largest={"count": 1000}),
    "runs.process.start": Good(_run),
    "runs.process.steps:state": Good(
        lambda g: {**_run(g), "state": g.state(selection, g.chosen)}, only=("state",), whole=("state",)
    ),
    "runs.process.every": Good(lambda g: {"run": iter(()), "k": 2}),
    "runs.process.check_finite": Good(
        lambda g: {"name": "run", "step": 1, "part": {"loss": torch.ones(2)}},
        call=lambda name, step, part: __import__("ddlab").runs.process.check_finite(name, step, part),
    ),
    "runs.process.run": Good(lambda g: {**_run(g), "on_step": lambda step: None, "checkpoint": g.file()}, whole=("config",)),
    "runs.memory.needed_bytes": Good(lambda g: {**_run(g), "seconds": 1.0}, whole=("config",)),
    "runs.memory.checked_bytes": Good(lambda g: _run(g), whole=("config",)),
    "runs.process.require_data": Good(lambda g: {"name": "run", "inputs": g.inputs}),
    "runs.process.require_teacher": Good(lambda g: {"name": "run", "inputs": g.inputs}),
    "methods.get": Good(lambda g: {"name": "selection"}),
    "runs.process.check_process": Good(lambda g: {"argument": "process", "process": selection}),
    "methods.distillation.train_teacher": Good(
        lambda g: {"data": g.data, "config": g.teaching, "device": "cpu", "progress": False, "checkpoint": g.file()},
        not_none=("config",), whole=("config",),
    ),
    "methods.distillation.from_images": Good(
        lambda g: {"images": g.images(3), "labels": torch.arange(3), "data": g.data, "teacher": g.teacher}
    ),
    "methods.own.from_loss": Good(
        lambda g: {"name": "own", "loss": lambda config, inputs, images, labels, step: images.sum(), "needs_teacher": False}
    ),
    "methods.distillation.distill": Good(
        lambda g: {"method": "sre2l", "data": g.data, "teacher": g.teacher, "config": g.recovery, "device": "cpu",
                   "checkpoint": g.file(), "progress": False, "on_step": lambda step: None, "jobs": 1},
        not_none=("config", "teacher"), whole=("config",),
    ),
    "evaluation.probe": Good(
        lambda g: {"network": g.teacher, "data": g.data, "kind": "ridge", "candidates": (0.1, 1.0), "held_out": 0.3, "seeds": (0,),
                   "device": "cpu"},
    ),
    "evaluation.pretrained": Good(
        lambda g: {"distilled": _represented(g), "data": {"own": g.data}, "kind": "ridge", "seeds": (0,), "config": _regression(),
                   "candidates": (0.1, 1.0), "held_out": 0.3, "device": "cpu"},
        not_none=("config",), whole=("config",),
    ),
    "evaluation.adam_predictions": Good(lambda g: {**_read(g), "epochs": 2}, largest={"epochs": 100}),
    "evaluation.neighbour_predictions": Good(lambda g: {**_read(g), "neighbours": 2}),
    "evaluation.interval": Good(lambda g: {"values": [0.1, 0.2], "confidence": 0.95}),
    "evaluation.evaluate_all": Good(
        lambda g: {"several": {"a": {"labels": "hard"}}, "distilled": g.distilled, "data": g.data, "seeds": (0,), "device": "cpu",
                   "config": g.student, "jobs": 1, "on_student": lambda name, seed, accuracy: None},
    ),
    "evaluation.evaluate": Good(
        lambda g: {"distilled": g.distilled, "data": g.data, "labels": "online", "teacher": g.teacher, "seeds": (0,),
                   "device": "cpu", "network": networks.spec("convnet", width=4), "config": g.student,
                   "jobs": 1, "on_student": lambda seed, accuracy: None},
        not_none=("config", "network"), whole=("config",),
    ),
    "lessons.index": Good(lambda g: {"folder": "notebooks/"}),
    "lessons.judge": Good(_judged),
    "lessons.judge:condition": Good(lambda g: {**_judged(g), "claim_id": "R4 range", "under": [0.2, 0.3]}),
    "lessons.Lesson": Good(lambda g: {"name": "20_inverting_a_network", "seed": 0, "preset": "teaching", "device": "cpu"}),
    "lessons.start": Good(lambda g: {"name": "20_inverting_a_network", "seed": 0, "preset": "teaching", "device": "cpu"}),
}  # fmt: skip
