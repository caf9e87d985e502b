"""Right arguments for what stands at the bottom: errors, files, randomness, data, networks, equations, optimisers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ddlab import networks
from ddlab.core import optimisers
from ddlab.data import siamese_views
from ddlab.data.augmentation import View
from ddlab.distilled import HardLabels, OnlineTeacher, Representations, StoredLabels, shift_models
from ddlab.distilled.storage_budget import Factorised
from ddlab.methods.kernels import KernelSpec
from ddlab.networks.family import REGISTERED
from ddlab.training import self_supervised
from ddlab.training.self_supervised import barlow_twins
from tests.storm.derived import derived
from tests.storm.good import BUNDLE, EVERY_STEP, Given, Good
from tests.support import made_data


def _written(g: Given) -> dict[str, object]:
    g.teacher.save(g.folder / "network")
    return {"path": g.folder / "network", "kind": "network"}


def _module() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))


def _forgotten(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, after which no family is known that was not known before."""

    @functools.wraps(function)
    def call(**given: Any) -> Any:
        before = dict(REGISTERED)
        try:
            return function(**given)
        finally:
            REGISTERED.clear()
            REGISTERED.update(before)

    return call


def _weights(g: Given) -> object:
    import torchvision

    file = g.folder / "weights.pth"
    if not file.exists():
        torch.save(torchvision.models.shufflenet_v2_x0_5(weights=None, num_classes=3).state_dict(), file)
    return file


def _sgd(g: Given) -> dict[str, object]:
    parameters = {"weight": g.tensor(3, 2), "bias": g.tensor(2)}
    gradients = {"weight": g.tensor(3, 2, seed=1), "bias": g.tensor(2, seed=1)}
    return {"parameters": parameters, "gradients": gradients, "state": optimisers.sgd_init(parameters), "learning_rate": 0.1,
            "momentum": 0.9, "weight_decay": 0.1}  # fmt: skip


def _adam(g: Given) -> dict[str, object]:
    given = {name: value for name, value in _sgd(g).items() if name not in ("momentum", "weight_decay")}
    return {**given, "state": optimisers.adam_init(given["parameters"])}  # type: ignore[arg-type]


def _pixels(g: Given) -> dict[str, object]:
    return {"pixels": g.tensor(2, 3, 4, 4).sigmoid(), "factor": g.tensor(2).abs()}


def _shift(g: Given, shift: str) -> dict[str, object]:
    tensors = {"bias": {"biases": g.tensor(2, 3)}, "networks": shift_models.first_networks(2, 3, hidden=2, seed=0)}[
        shift
    ]
    return {"coefficients": g.tensor(4, 3), "tensors": tensors, "shift": shift, "views": 2}


def _seen(g: Given) -> dict[str, object]:
    return {"coefficients": g.tensor(4, 3), "view_coefficients": g.tensor(2, 4, 3, seed=1)}


def _kernel(g: Given) -> torch.Tensor:
    rows = g.tensor(4, 6)
    return rows @ rows.T


def _factors(g: Given) -> dict[str, object]:
    targets = {"bases": g.tensor(2, 3), "coefficients": g.tensor(3, 2), "biases": g.tensor(3, 2)}
    return {"tensors": {"image_bases": g.tensor(2, 1, 4, 4), "image_coefficients": g.tensor(3, 2)}, "settings": {"scale": 2},
            "targets": (Representations(targets, "rotation", "bias"),), "kind": "factorised", "class_names": (),
            "mean": g.data.mean, "std": g.data.std}  # fmt: skip


def _view(g: Given) -> View:
    return View(g.images(), 0.7, torch.tensor([1, 0, 3, 2]))


def _full(g: Given) -> torch.Tensor:
    return g.tensor(len(g.data.test_labels), g.data.classes).double()


_KERNELS: dict[str, Callable[[Given], dict[str, Any]]] = {
    "kernel_matrix": lambda g: {"spec": KernelSpec(), "first": g.images(3), "second": g.images(2)},
    "support_and_cross": lambda g: {"spec": KernelSpec(), "support": g.images(3), "others": g.images(2)},
    "rbf": lambda g: {"first": g.tensor(3, 4), "second": g.tensor(2, 4)},
    "inner_products": lambda g: {"first": g.tensor(3, 4), "second": g.tensor(2, 4)},
    "pixel_products": lambda g: {"first": g.images(3), "second": g.images(2)},
    "dense": lambda g: {"kernel": g.tensor(3, 2), "tangent": g.tensor(3, 2), "weight_std": 1.0, "bias_std": 0.1},
    "relu": lambda g: {"kernel": g.tensor(3, 2), "first": g.tensor(3, 1).abs(), "second": g.tensor(2).abs()},
    "filtered": lambda g: {"kernel": g.tensor(2, 4, 4, 4, 4)},
    "pooled": lambda g: {"kernel": g.tensor(2, 4, 4, 4, 4)},
    "layers": lambda g: {"spec": KernelSpec()},
}


CORE: dict[str, Good] = {
    "core.errors.describe": Good(lambda g: {"value": 3}),
    "core.errors.check_choice": Good(lambda g: {"argument": "a", "value": "x", "choices": ("x", "y")}, only=("value",)),
    "core.errors.check_integer": Good(lambda g: {"argument": "a", "value": 3, "low": 1, "high": 9}, only=("value",)),
    "core.errors.check_number": Good(lambda g: {"argument": "a", "value": 3.0, "low": 1, "high": 9}, only=("value",)),
    "core.errors.check_boolean": Good(lambda g: {"argument": "a", "value": True}, only=("value",)),
    "core.errors.check_instance": Good(lambda g: {"argument": "a", "value": 3, "kind": int, "allowed": "an int"}, only=("value",)),
    "core.errors.check_text": Good(lambda g: {"argument": "a", "value": "text"}, only=("value",)),
    "core.errors.check_function": Good(lambda g: {"argument": "a", "value": print}, only=("value",)),
    "core.errors.check_tensor": Good(lambda g: {"argument": "a", "value": g.tensor(2, 3), "shape": [2, None]}, only=("value",)),
    "core.errors.checked_device": Good(lambda g: {"device": "cpu"}),
    "core.storage.save": Good(
        lambda g: {"path": g.folder / "file", "tensors": {"a": g.tensor(2)}, "description": {"note": 1}, "kind": "test"}
    ),
    "core.storage.load": Good(_written, left_out={"kind": "written in ddlab's own source"}),
    "core.storage.checked_path": Good(lambda g: {"path": g.folder / "file"}),
    "core.storage.write_atomically": Good(lambda g: {"path": g.folder / "file", "content": b"bytes"}),
    "core.storage.fingerprint": Good(lambda g: {"part": {"a": [1, g.tensor(2)]}}, call=lambda part: _fingerprint(part)),
    "core.randomness.generator": Good(lambda g: {"seed": 1, "step": 2, "stream": "noise"}),
    "core.randomness.numpy_generator": Good(lambda g: {"seed": 1, "step": 2, "stream": "noise"}),
    "core.randomness.derived_seed": Good(lambda g: {"seed": 1, "step": 2, "stream": "noise"}),
    "core.parameters.describe": Good(lambda g: {"config": g.student}),
    "training.losses.soft_targets": Good(lambda g: {"logits": g.tensor(4, 3), "temperature": 2.0}, nan_passes=EVERY_STEP),
    "training.losses.distillation_loss": Good(
        lambda g: {"student_logits": g.tensor(4, 3), "targets": g.probabilities(4, 3), "temperature": 2.0}, nan_passes=EVERY_STEP
    ),
    "evaluation.entropy.plug_in_shortfall": Good(lambda g: {"probabilities": g.probabilities(5), "draws": 7}, largest={"draws": 10_000}),
    "evaluation.entropy.feature_entropy": Good(lambda g: {"features": g.tensor(3, 2, 4), "edges": torch.linspace(-1, 1, 6).double()}),
    "evaluation.entropy.distance_to": Good(lambda g: {"images": g.images(), "patches": g.images()}),
    "data.augmentation.augment": Good(
        lambda g: {"images": g.images(), "crop_pixels": 1, "flip": True, "mixup_alpha": 0.8, "black": torch.zeros(1, 1, 1, 1),
                   "seed": 0, "step": 0},
        largest={"crop_pixels": 1000}, nan_passes=EVERY_STEP,
    ),
    "data.augmentation.cutmix_box": Good(lambda g: {"height": 8, "width": 9, "row": 3, "column": 4, "share": 0.3}),
    "data.augmentation.random_rectangle": Good(
        lambda g: {"height": 8, "width": 9, "smallest_area": 0.3, "generator": torch.Generator()}
    ),
    "data.augmentation.Views": Good(lambda g: {"teacher_mode": "train", "teacher_batch_size": 8}),
    "data.siamese_views.siamese_view": Good(
        lambda g: {"images": g.images(), "strategy": "color_rotate", "seed": 0, "step": 1}, nan_passes=EVERY_STEP
    ),
    "data.siamese_views.siamese_view:all": Good(
        lambda g: {"images": g.images(), "strategy": siamese_views.ALL, "seed": 0, "step": 1, "each": True, "all_at_once": True},
        nan_passes=EVERY_STEP,
    ),
    "data.siamese_views.operations": Good(lambda g: {"strategy": "flip_crop"}),
    "data.siamese_views.brightness": Good(lambda g: {"images": g.images(), "amount": g.tensor(4)}, nan_passes=EVERY_STEP),
    "data.siamese_views.saturation": Good(lambda g: {"images": g.images(), "factor": g.tensor(4)}, nan_passes=EVERY_STEP),
    "data.siamese_views.contrast": Good(lambda g: {"images": g.images(), "factor": g.tensor(1)}, nan_passes=EVERY_STEP),
    "data.siamese_views.crop": Good(
        lambda g: {"images": g.images(), "top": torch.arange(-1, 3), "left": torch.arange(4)}, nan_passes=EVERY_STEP
    ),
    "data.siamese_views.cutout": Good(
        lambda g: {"images": g.images(), "row": torch.arange(4), "column": torch.arange(4)}, nan_passes=EVERY_STEP
    ),
    "data.siamese_views.flip": Good(lambda g: {"images": g.images(), "flipped": g.tensor(4) > 0}, nan_passes=EVERY_STEP),
    "data.siamese_views.scale": Good(
        lambda g: {"images": g.images(), "rows": g.tensor(4).exp(), "columns": g.tensor(4).exp()}, nan_passes=EVERY_STEP
    ),
    "data.siamese_views.rotate": Good(lambda g: {"images": g.images(), "degrees": 15 * g.tensor(4)}, nan_passes=EVERY_STEP),
    "distilled.bases.principal_bases": Good(lambda g: {"points": g.tensor(6, 2, 3), "count": 2, "solver": "randomised"}),
    "distilled.bases.incremental_bases": Good(lambda g: {"batches": [g.tensor(4, 3), g.tensor(2, 3, seed=1)], "count": 2}),
    "distilled.bases.spectrum": Good(lambda g: {"points": g.tensor(5, 3)}),
    "distilled.bases.rank": Good(lambda g: {"points": g.tensor(5, 3)}),
    "distilled.bases.effective_rank": Good(lambda g: {"values": torch.tensor([2.0, 1.0, 0.0])}),
    "distilled.factorisation.project": Good(
        lambda g: {"points": g.tensor(4, 3), "bases": g.tensor(2, 3, seed=1), "mean": g.tensor(3)}, nan_passes=EVERY_STEP
    ),
    "distilled.factorisation.fitted": Good(lambda g: {"points": g.tensor(4, 3), "bases": g.tensor(2, 3, seed=1)}),
    "distilled.factorisation.reconstruct": Good(
        lambda g: {"coefficients": g.tensor(4, 2), "bases": g.tensor(2, 3, seed=1), "mean": g.tensor(3)}, nan_passes=EVERY_STEP
    ),
    "distilled.factorisation.decoded": Good(
        lambda g: {"coefficients": g.tensor(4, 2), "bases": g.tensor(2, 1, 3, 3, seed=1), "scale": 2, "mean": g.tensor(1, 3, 3)},
        largest={"scale": 50}, nan_passes=EVERY_STEP,
    ),
    **{f"methods.kernels.{name}": Good(make, nan_passes=EVERY_STEP) for name, make in _KERNELS.items()},
    "methods.kernels.bytes_per_pair": Good(
        lambda g: {"spec": KernelSpec(), "height": 8, "width": 8}, largest={"height": 1e4, "width": 1e4}
    ),
    "evaluation.approximation": Good(
        lambda g: {"distilled": g.distilled, "data": g.data, "labels": "hard", "full": _full(g)}, not_none=("full",)
    ),
    "methods.kernel_ridge.gram": Good(lambda g: {"first": g.tensor(4, 3), "second": g.tensor(2, 3, seed=1)}, nan_passes=EVERY_STEP),
    "methods.kernel_ridge.trace_scaled": Good(lambda g: {"kernel": _kernel(g), "strength": 0.1}, nan_passes=EVERY_STEP),
    "methods.kernel_ridge.solve": Good(
        lambda g: {"kernel": _kernel(g), "targets": g.tensor(4, 2), "ridge": torch.tensor(0.1)}, nan_passes=EVERY_STEP
    ),
    "methods.kernel_ridge.predictions": Good(
        lambda g: {"real": g.tensor(5, 3), "distilled": g.tensor(4, 3, seed=1), "targets": g.tensor(4, 2), "strength": 0.1},
        nan_passes=EVERY_STEP,
    ),
    "methods.kernel_ridge.outer_loss": Good(
        lambda g: {"real": g.tensor(5, 3), "wanted": g.tensor(5, 2), "distilled": g.tensor(4, 3, seed=1),
                   "targets": g.tensor(4, 2), "strength": 0.1},
        nan_passes=EVERY_STEP,
    ),
    "distilled.factorisation.relative_squared_error": Good(lambda g: {"points": g.tensor(4, 3), "made": g.tensor(4, 3, seed=1)}),
    "distilled.factorisation.downsampled": Good(lambda g: {"images": g.images(), "scale": 2}, nan_passes=EVERY_STEP),
    "distilled.factorisation.upsampled": Good(
        lambda g: {"images": g.images(), "scale": 2}, largest={"scale": 50}, nan_passes=EVERY_STEP
    ),
    "data.predefined_views.augmented": Good(
        lambda g: {"images": g.images(), "kind": "crop", "crop_share": 0.5}, nan_passes=EVERY_STEP
    ),
    "data.predefined_views.augmented:rotation": Good(
        lambda g: {"images": g.images(), "kind": "rotation"}, nan_passes=EVERY_STEP
    ),
    "data.predefined_views.permutations": Good(
        lambda g: {"kind": "jigsaw", "height": 4, "width": 6}, largest={"height": 100, "width": 100}
    ),
    "data.predefined_views.inverses": Good(
        lambda g: {"kind": "jigsaw", "height": 4, "width": 6}, largest={"height": 100, "width": 100}
    ),
    "data.predefined_views.restored": Good(
        lambda g: {"views": g.tensor(4, 2, 1, 4, 4), "kind": "rotation"}, nan_passes=EVERY_STEP
    ),
    "data.predefined_views.crop_boxes": Good(lambda g: {"height": 8, "width": 9, "share": 0.5}),
    "distilled.shift_models.shifted": Good(lambda g: _shift(g, "networks"), nan_passes=EVERY_STEP),
    "distilled.shift_models.shifted:bias": Good(lambda g: _shift(g, "bias"), nan_passes=EVERY_STEP),
    "distilled.shift_models.predicted_shifts": Good(
        lambda g: {name: value for name, value in _shift(g, "networks").items() if name in ("coefficients", "tensors")},
        nan_passes=EVERY_STEP,
    ),
    "distilled.shift_models.mean_shifts": Good(_seen),
    "distilled.shift_models.fit": Good(
        lambda g: {**_seen(g), "shift": "networks", "hidden": 2, "seed": 0, "steps": 2, "learning_rate": 0.1},
        largest={"hidden": 50, "steps": 50},
    ),
    "distilled.shift_models.fitted_networks": Good(
        lambda g: {**_seen(g), "hidden": 2, "seed": 0, "steps": 2, "learning_rate": 0.1}, largest={"hidden": 50, "steps": 50}
    ),
    "distilled.shift_models.first_networks": Good(
        lambda g: {"views": 2, "bases": 3, "hidden": 2, "seed": 0}, largest={"views": 50, "bases": 50, "hidden": 50}
    ),
    "distilled.shift_models.mean_squared_error": Good(
        lambda g: {**_seen(g), "tensors": _shift(g, "networks")["tensors"], "shift": "networks"}
    ),
    "distilled.storage_budget.Factorised": Good(lambda g: {"image_bases": 20, "representation_bases": 20, "shift": "bias"}),
    "distilled.storage_budget.Factorised:largest": Good(
        lambda g: {"budget": 500_000, "count": 3},
        call=lambda budget, count: (Factorised().largest_count(budget), Factorised().bill(count)),
    ),
    "distilled.storage_budget.plain_floats": Good(lambda g: {"count": 3, "image_floats": 5, "representation_floats": 2}),
    "distilled.storage_budget.saves": Good(lambda g: {"count": 3, "bases": 2, "basis_floats": 5, "floats": 7}),
    "distilled.storage_budget.most_bases_that_save": Good(lambda g: {"count": 3, "basis_floats": 5, "floats": 7}),
    "distilled.storage_budget.least_count_that_saves": Good(lambda g: {"bases": 2, "basis_floats": 5, "floats": 7}),
    "training.relabelling.part_sizes": Good(lambda g: {"count": 17, "size": 8}, largest={"count": 1000}),
    "training.relabelling.teacher_logits": Good(
        lambda g: {"teachers": (g.teacher, g.teacher), "images": g.images(), "teacher_mode": "train", "teacher_batch_size": 2},
        nan_passes=EVERY_STEP,
    ),
    "training.relabelling.relabelled": Good(
        lambda g: {"distilled": g.distilled, "teachers": (g.teacher,), "labels": "epochs", "views": g.student, "epochs": 1,
                   "device": "cpu", "progress": False},
        largest={"epochs": 20}, whole=("views",),
    ),
    "core.optimisers.sgd_init": Good(lambda g: {"parameters": _sgd(g)["parameters"]}),
    "core.optimisers.adam_init": Good(lambda g: {"parameters": _sgd(g)["parameters"]}),
    "core.optimisers.aligned": Good(
        lambda g: {name: _sgd(g)[name] for name in ("parameters", "gradients")}, nan_passes=EVERY_STEP
    ),
    "core.optimisers.sgd_update": Good(_sgd, nan_passes=EVERY_STEP),
    "core.optimisers.begin": Good(lambda g: {"kind": "sgd", "parameters": _sgd(g)["parameters"]}, nan_passes=EVERY_STEP),
    "core.optimisers.descend": Good(_sgd, nan_passes=EVERY_STEP),
    "core.optimisers.adam_update": Good(_adam, nan_passes=EVERY_STEP),
    "core.optimisers.adamw_update": Good(_adam, nan_passes=EVERY_STEP),
    "core.optimisers.bias_corrections": Good(lambda g: {"step": 3, "betas": (0.9, 0.999)}),
    "core.optimisers.halfway": Good(lambda g: {"step": 3, "total": 10, "base": 0.1}),
    "core.optimisers.linear": Good(lambda g: {"step": 3, "total": 10, "base": 0.1, "final_fraction": 0.2}),
    "core.optimisers.cosine": Good(lambda g: {"step": 3, "total": 10, "base": 0.1, "stretch": 2.0}),
    "training.self_supervised.standardised": Good(lambda g: {"projections": g.tensor(4, 3), "epsilon": 1e-5}, nan_passes=EVERY_STEP),
    "training.self_supervised.cross_correlation": Good(
        lambda g: {"first": g.tensor(4, 3), "second": g.tensor(4, 3, seed=1), "epsilon": 1e-5}, nan_passes=EVERY_STEP
    ),
    "training.self_supervised.barlow_twins_loss": Good(
        lambda g: {"first": g.tensor(4, 3), "second": g.tensor(4, 3, seed=1), "off_diagonal_weight": 0.1, "epsilon": 1e-5},
        nan_passes=EVERY_STEP,
    ),
    "training.self_supervised.projector_weights": Good(
        lambda g: {"features": 5, "widths": (4, 4), "seed": 0, "stream": "mine"}, largest={"features": 1000}
    ),
    "training.self_supervised.projected": Good(
        lambda g: {"weights": self_supervised.projector_weights(5, widths=(4, 4), seed=0), "features": g.tensor(4, 5)},
        nan_passes=EVERY_STEP,
    ),
    "training.self_supervised.lars_direction": Good(
        lambda g: {"parameters": _sgd(g)["parameters"], "gradients": _sgd(g)["gradients"], "weight_decay": 0.1, "trust": 0.01,
                   "bias_factor": 0.5},
        nan_passes=EVERY_STEP,
    ),
    "training.self_supervised.warmed_cosine": Good(
        lambda g: {"step": 3, "total": 10, "warmup": 2, "base": 0.1, "final_fraction": 0.01}
    ),
    "training.self_supervised.with_brightness": Good(_pixels, nan_passes=EVERY_STEP),
    "training.self_supervised.with_contrast": Good(_pixels, nan_passes=EVERY_STEP),
    "training.self_supervised.with_saturation": Good(_pixels, nan_passes=EVERY_STEP),
    "training.self_supervised.with_hue": Good(
        lambda g: {"pixels": _pixels(g)["pixels"], "turns": torch.zeros(2)}, nan_passes=EVERY_STEP
    ),
    "training.self_supervised.solarised": Good(lambda g: {"pixels": _pixels(g)["pixels"]}, nan_passes=EVERY_STEP),
    "training.self_supervised.TwoViews": Good(lambda g: {}),
    "training.self_supervised.TwoViews:pair": Good(
        lambda g: {"images": g.images(), "mean": g.data.mean, "std": g.data.std, "step": 1},
        call=lambda images, mean, std, step: self_supervised.TwoViews().pair(images, mean=mean, std=std, step=step),
        nan_passes=EVERY_STEP,
    ),
    "training.self_supervised.TwoViews:indices": Good(
        lambda g: {"count": 9, "step": 1}, call=lambda count, step: self_supervised.TwoViews(batch_size=4).indices(count, step),
        largest={"count": 1000},
    ),
    **{
        f"training.self_supervised.{name}": Good(lambda g: {"loss": "mine"})
        for name in ("Training", "NarrowTraining", "MomentumTraining")
    },
    "training.self_supervised.Teacher": Good(lambda g: {"objective": barlow_twins}),
    "training.self_supervised.teacher_of": Good(lambda g: {"config": self_supervised.Config()}),
    "training.self_supervised.followed": Good(
        lambda g: {"target": {"a": g.tensor(3)}, "learnt": {"a": g.tensor(3, seed=1)}, "momentum": 0.9}, nan_passes=EVERY_STEP
    ),
    "training.self_supervised.representations": Good(
        lambda g: {"network": g.teacher, "data": g.data, "split": "test", "batch_size": 4, "device": "cpu"}
    ),
    "data.ImageData": Good(
        lambda g: {"name": "mine", "train_images": g.data.train_images, "train_labels": g.data.train_labels,
                   "test_images": g.data.test_images, "test_labels": g.data.test_labels, "class_names": ("a", "b", "c"),
                   "mean": g.data.mean, "std": g.data.std},
    ),
    "data.aligned": Good(lambda g: {"data": g.data, "like": made_data(classes=2, channels=3, size=9)}),
    "data.load": Good(lambda g: {"name": "digits"}),
    "data.digits.load": Good(lambda g: {"size": 8, "seed": 0}),
    "data.shapes.load": Good(
        lambda g: {"size": 16, "train": 10, "test": 1}, largest={"size": 32, "train": 100, "test": 100}
    ),
    "data.folder.load": Good(lambda g: {"path": _folder(g), "size": 8}, largest={"size": 64}),
    "data.torchvision_sets.load": Good(
        lambda g: {"name": "mnist", "root": _mnist(g)}
    ),
    "networks.spec": Good(lambda g: {"family": "convnet"}),
    "networks.spec:options": Good(
        lambda g: {"width": 4, "depth": 3, "norm": "batch"},
        call=lambda width, depth, norm: networks.spec("convnet", width=width, depth=depth, norm=norm),
    ),
    "networks.convnet.Options": Good(lambda g: {}),
    "networks.lenet.Options": Good(lambda g: {}),
    "networks.mlp.Options": Good(lambda g: {}),
    "networks.alexnet.Options": Good(lambda g: {}),
    "networks.vit.Options": Good(lambda g: {}),
    "networks.NetworkSpec": Good(
        lambda g: {"family": "convnet", "options": g.spec.options, "channels": 1, "classes": 3, "image_size": (8, 8)}
    ),
    "networks.Network": Good(lambda g: {"spec": g.teacher.spec, "weights": g.teacher.weights, "provenance": {"a": 1}}, nan_passes=BUNDLE),
    "networks.initialise": Good(lambda g: {"described": g.spec.for_data(g.data), "seed": 0}),
    "networks.load": Good(lambda g: {"path": _written(g)["path"]}),
    "networks.register": Good(
        lambda g: {"name": "storm", "factory": lambda *_: _module(), "smallest_image": 4, "classifier": "3", "last_conv": "0"},
        call=_forgotten(networks.register),
    ),
    "networks.from_module": Good(
        lambda g: {"module": _module(), "image_size": (8, 8), "classes": 3, "channels": 1, "name": "storm", "classifier": "3",
                   "last_conv": "0"},
        call=_forgotten(networks.from_module), whole=("module",), largest={"image_size": 64, "channels": 64},
    ),
    "networks.pretrained": Good(lambda g: {"family": "shufflenet_v2_x0_5", "path": _weights(g), "image_size": (65, 65)}),
    "networks.parameter_names": Good(lambda g: {"described": g.teacher.spec}),
    "networks.batch_norm_layers": Good(lambda g: {"described": g.teacher.spec}),
    "networks.call": Good(
        lambda g: {"spec": g.teacher.spec, "weights": g.teacher.weights, "images": g.images(), "at_batch_norm": lambda name, x: x},
        nan_passes=EVERY_STEP,
    ),
    "networks.folded": Good(lambda g: {"spec": g.teacher.spec, "weights": g.teacher.weights}, nan_passes=EVERY_STEP),
    "networks.takes_size": Good(lambda g: {"spec": g.teacher.spec, "image_size": (9, 9)}),
    "networks.predict": Good(lambda g: {"network": g.teacher, "images": g.images()}, nan_passes=EVERY_STEP),
    "distilled.DistilledSet": Good(
        lambda g: {"tensors": {"images": g.images(3)}, "mean": g.data.mean, "std": g.data.std, "class_names": ("a", "b", "c"),
                   "targets": (HardLabels(torch.arange(3)), StoredLabels(g.tensor(3, 3)), OnlineTeacher("f")), "kind": "images"},
    ),
    "distilled.DistilledSet:factorised": Good(_factors),
    "training.supervised.online_targets": Good(
        lambda g: {"view": _view(g), "teacher": g.teacher, "temperature": 4.0, "teacher_mode": "train",
                   "teacher_batch_size": 2}, nan_passes=EVERY_STEP
    ),
    "training.supervised.mixed_targets": Good(
        lambda g: {"view": _view(g), "targets": g.probabilities(4, 3)}, whole=("view",), nan_passes=EVERY_STEP
    ),
}  # fmt: skip


def _fingerprint(part: object) -> str:
    from ddlab.core import storage

    return storage.fingerprint(part)


def _folder(g: Given) -> object:
    from PIL import Image

    for name in ("cat", "dog"):
        for number in range(2):
            file = g.folder / "pictures" / name / f"{number}.png"
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                Image.new("L", (9, 8), 40 * number).save(file)
    return g.folder / "pictures"


def _mnist(g: Given) -> object:
    from tests.data.test_torchvision_sets import write_mnist

    if not (g.folder / "MNIST").exists():
        write_mnist(g.folder)
    return g.folder


_SEEN_IN_EVERY_STEP = (
    self_supervised.byol.byol_loss, self_supervised.dino.centred_probabilities, self_supervised.dino.dino_loss,
    self_supervised.dino.moved_centre, self_supervised.moco.enqueued, self_supervised.moco.info_nce_loss,
    self_supervised.simclr.nt_xent_loss, self_supervised.simclr.similarities, self_supervised.simsiam.negative_cosine,
    self_supervised.swav.sinkhorn_assignments, self_supervised.swav.swav_loss, self_supervised.vicreg.covariance,
    self_supervised.vicreg.covariance_loss, self_supervised.vicreg.deviations, self_supervised.vicreg.invariance_loss,
    self_supervised.vicreg.variance_loss, self_supervised.vicreg.vicreg_loss,
)  # fmt: skip
for _function in _SEEN_IN_EVERY_STEP:
    _entry = derived(_function)
    assert _entry is not None
    CORE[f"{_function.__module__.removeprefix('ddlab.')}.{_function.__name__}"] = dataclasses.replace(
        _entry, nan_passes=EVERY_STEP
    )
