"""Right arguments for what runs: processes, methods, checkpoints, the cache, distilling, evaluating, lessons."""

from __future__ import annotations

from typing import Any

import torch

from ddlab import networks
from ddlab.core import optimisers
from ddlab.distilled import DistilledSet, Representations
from ddlab.methods import selection, sre2l
from ddlab.runs import cache, checkpoint
from ddlab.runs.process import Inputs
from ddlab.training import pretraining, self_supervised, supervised
from tests.storm.good import Given, Good
from tests.storm.table_core import BUNDLE, EVERY_STEP


def _run(g: Given) -> dict[str, Any]:
    return {"process": selection, "config": g.chosen, "inputs": g.inputs}


def _checkpoint(g: Given) -> dict[str, Any]:
    config, inputs = g.teaching, g.inputs
    path = checkpoint.save(g.folder / "checkpoint", supervised, config, inputs, g.state(supervised, config))
    return {"path": path, "process": supervised, "config": config, "inputs": inputs}


def _two_views() -> self_supervised.Config:
    small: dict[str, Any] = {"network": networks.spec("convnet", width=4), "projector_width": 6, "batch_size": 12}
    return self_supervised.Config.teaching(**small, epochs=1, warmup_epochs=0)


def _represented(g: Given) -> DistilledSet:
    said = Representations({"representations": g.tensor(1, 4, 3)})
    return DistilledSet(
        tensors={"images": g.images()}, targets=(said,), class_names=(), mean=g.data.mean, std=g.data.std
    )


def _regression() -> pretraining.Config:
    return pretraining.Config.teaching(network=networks.spec("convnet", width=4), epochs=1, batch_size=4)


def _pretraining(g: Given) -> dict[str, Any]:
    return {"process": pretraining, "config": _regression(), "inputs": Inputs(distilled=_represented(g))}


def _read(g: Given) -> dict[str, Any]:
    return {"features": g.tensor(6, 3), "labels": torch.arange(6) % 2, "others": g.tensor(4, 3, seed=1)}


def _image_update(g: Given) -> dict[str, Any]:
    images = g.images()
    return {"images": images, "gradient": g.tensor(*images.shape, seed=1), "optimiser": optimisers.adam_init({"images": images}),
            "learning_rate": 0.1, "betas": (0.5, 0.9), "valid_range": g.data.valid_range()}  # fmt: skip


def _judged(g: Given) -> dict[str, Any]:
    return {"claim_id": "D1", "differences": [0.1, 0.2, 0.3], "setting": "in a test"}


RUNS: dict[str, Good] = {
    "runs.cache.remember": Good(lambda g: {"compute": lambda: 1, "part": "text"}, call=lambda compute, part: cache.remember(compute, part)),
    "runs.cache.run": Good(_run, whole=("config",)),
    "runs.cache.is_partial": Good(lambda g: {"result": g.distilled}),
    "runs.checkpoint.save": Good(lambda g: {**_checkpoint(g), "state": g.state(supervised, g.teaching)}),
    "runs.checkpoint.load": Good(_checkpoint),
    "runs.process.Inputs": Good(lambda g: {"data": g.data, "teachers": (g.teacher,), "distilled": g.distilled, "device": "cpu"},
                           nan_passes=BUNDLE),
    "runs.process.check_call": Good(lambda g: {**_run(g), "state": g.state(selection, g.chosen)}),
    "runs.process.start": Good(_run),
    "runs.process.start:training": Good(lambda g: {"process": supervised, "config": g.student, "inputs": g.inputs}),
    "runs.process.start:sre2l": Good(lambda g: {"process": sre2l, "config": g.recovery, "inputs": g.inputs}),
    "runs.process.steps": Good(_run, nan_passes=EVERY_STEP),
    "runs.process.steps:training": Good(
        lambda g: {"process": supervised, "config": g.teaching, "inputs": g.inputs}, nan_passes=EVERY_STEP
    ),
    "runs.process.start:self_supervised": Good(lambda g: {"process": self_supervised, "config": _two_views(), "inputs": g.inputs}),
    "runs.process.steps:self_supervised": Good(
        lambda g: {"process": self_supervised, "config": _two_views(), "inputs": g.inputs}, nan_passes=EVERY_STEP
    ),
    "runs.process.start:pretraining": Good(_pretraining),
    "runs.process.steps:pretraining": Good(_pretraining, nan_passes=EVERY_STEP),
    "training.pretraining.Config": Good(lambda g: {}),
    "training.losses.regression_loss": Good(
        lambda g: {"outputs": g.tensor(4, 3), "targets": g.tensor(4, 3, seed=1)}, nan_passes=EVERY_STEP
    ),
    "training.pretraining.rows": Good(lambda g: {"count": 9, "step": 2, "batch_size": 4, "seed": 0}, largest={"count": 1000}),
    "runs.process.steps:sre2l": Good(
        lambda g: {"process": sre2l, "config": g.recovery, "inputs": g.inputs}, nan_passes=EVERY_STEP
    ),
    "runs.process.steps:state": Good(
        lambda g: {**_run(g), "state": g.state(selection, g.chosen)}, only=("state",), whole=("state",)
    ),
    "runs.process.every": Good(lambda g: {"run": iter(()), "k": 2}),
    "runs.process.check_finite": Good(
        lambda g: {"name": "run", "step": 1, "part": {"loss": torch.ones(2)}},
        call=lambda name, step, part: __import__("ddlab").runs.process.check_finite(name, step, part),
    ),
    "runs.process.run": Good(lambda g: {**_run(g), "on_step": lambda step: None, "checkpoint": g.file()}, whole=("config",)),
    "runs.process.Progress": Good(lambda g: {"name": "run", "total": 3, "shown": False}),
    "runs.process.require_data": Good(lambda g: {"name": "run", "inputs": g.inputs}),
    "runs.process.require_teacher": Good(lambda g: {"name": "run", "inputs": g.inputs}),
    "training.supervised.Config": Good(lambda g: {}),
    "methods.get": Good(lambda g: {"name": "selection"}),
    "runs.process.check_process": Good(lambda g: {"argument": "process", "process": selection}),
    "methods.selection.Config": Good(lambda g: {}),
    "methods.selection.herding": Good(lambda g: {"features": g.tensor(6, 3), "count": 2}),
    "methods.selection.k_center": Good(lambda g: {"features": g.tensor(6, 3), "count": 2}),
    "methods.selection.k_means": Good(lambda g: {"features": g.tensor(6, 3), "count": 2, "seed": 0}),
    "methods.selection.average": Good(lambda g: {"images": g.images(), "count": 2, "generator": torch.Generator()}),
    "methods.sre2l.Config": Good(lambda g: {}),
    "methods.sre2l.recovery_loss": Good(
        lambda g: {"class_loss": torch.tensor(1.0), "mean_gap": torch.tensor(2.0), "variance_gap": torch.tensor(3.0),
                   "lambda_mean": 0.1, "lambda_var": 0.1},
        nan_passes=EVERY_STEP,
    ),
    "methods.sre2l.image_update": Good(_image_update, nan_passes=EVERY_STEP),
    "methods.dwa.Config": Good(lambda g: {}),
    "methods.dwa.directed_adjustment": Good(
        lambda g: {"teacher": g.teacher, "images": g.images(3), "labels": torch.arange(3), "steps": 2, "radius": 0.1,
                   "gradient": "raw"},
        largest={"steps": 20},
    ),
    "methods.dwa.random_adjustment": Good(
        lambda g: {"teacher": g.teacher, "length": 0.1, "seed": 0, "batch": 1}
    ),
    "methods.fadrm.Config": Good(lambda g: {}),
    "methods.fadrm.stage_of": Good(lambda g: {"iteration": 3, "iterations": 8, "merges": 2}),
    "methods.fadrm.stage_size": Good(lambda g: {"stage": 1, "image_size": (8, 10), "small_size": 6}),
    "methods.fadrm.resampled": Good(
        lambda g: {"images": g.images(), "size": (6, 7)}, largest={"size": 100}, nan_passes=EVERY_STEP
    ),
    "methods.fadrm.merged_with_residual": Good(
        lambda g: {"images": g.tensor(2, 1, 6, 6), "patches": g.images(2), "merge_ratio": 0.5}, nan_passes=EVERY_STEP
    ),
    "methods.fadrm.network_of": Good(lambda g: {"iteration": 3, "networks": 2}),
    "methods.rded.Config": Good(lambda g: {}),
    "methods.rded.candidate_indices": Good(lambda g: {"data": g.data, "label": 0, "count": 3, "seed": 0}),
    "methods.rded.realism_losses": Good(lambda g: {"logits": g.tensor(4, 3), "label": 2}),
    "methods.rded.best_crops": Good(lambda g: {"losses": g.tensor(4, 3), "count": 2}),
    "methods.rded.class_mosaics": Good(
        lambda g: {"images": g.images(), "label": 1, "teacher": g.teacher, "images_per_class": 1, "factor": 2,
                   "generator": torch.Generator(), "crops_per_image": 2},
        largest={"crops_per_image": 50},
    ),
    "methods.krr_st.Config": Good(lambda g: {}),
    "methods.krr_st.real_indices": Good(
        lambda g: {"count": 9, "wanted": 3, "seed": 0}, largest={"count": 10**5}
    ),
    "methods.krr_st.require_finite_teacher": Good(lambda g: {"name": "run", "inputs": g.inputs}),
    "methods.krr_st.teacher_features": Good(lambda g: {"inputs": g.inputs}),
    "methods.boost.Config": Good(lambda g: {}),
    "methods.representation_selection.Config": Good(lambda g: {}),
    "methods.representation_selection.affordable": Good(
        lambda g: {"budget": 3, "image_floats": 64, "representation_floats": 80}
    ),
    "methods.distillation.train_teacher": Good(
        lambda g: {"data": g.data, "config": g.teaching, "device": "cpu", "progress": False, "checkpoint": g.file()},
        not_none=("config",), whole=("config",),
    ),
    "methods.distillation.from_images": Good(
        lambda g: {"images": g.images(3), "labels": torch.arange(3), "data": g.data, "teacher": g.teacher}
    ),
    "methods.distillation.distill": Good(
        lambda g: {"method": "sre2l", "data": g.data, "teacher": g.teacher, "config": g.recovery, "device": "cpu",
                   "checkpoint": g.file(), "progress": False, "on_step": lambda step: None},
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
    "evaluation.neighbour_predictions": Good(lambda g: {**_read(g), "neighbours": 2}),
    "evaluation.interval": Good(lambda g: {"values": [0.1, 0.2], "confidence": 0.95}),
    "evaluation.evaluate": Good(
        lambda g: {"distilled": g.distilled, "data": g.data, "labels": "online", "teacher": g.teacher, "seeds": (0,),
                   "device": "cpu", "network": networks.spec("convnet", width=4), "config": g.student,
                   "on_student": lambda seed, accuracy: None},
        not_none=("config", "network"), whole=("config",),
    ),
    "lessons.index": Good(lambda g: {"folder": "notebooks/"}),
    "lessons.judge": Good(_judged),
    "lessons.judge:condition": Good(lambda g: {**_judged(g), "claim_id": "R4 range", "under": [0.2, 0.3]}),
    "lessons.Lesson": Good(lambda g: {"name": "20_inverting_a_network", "seed": 0, "preset": "teaching", "device": "cpu"}),
    "lessons.start": Good(lambda g: {"name": "20_inverting_a_network", "seed": 0, "preset": "teaching", "device": "cpu"}),
}  # fmt: skip
