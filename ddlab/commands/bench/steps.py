"""What one step of a method costs: `ddlab bench iteration`, `resolutions`, `outer-step`, `matching` and `kernels`."""

from __future__ import annotations

import dataclasses
import functools
import statistics
import time
from typing import Any

from . import peak_megabytes, timed


def noise_inputs(images: int, size: int, device: str, teacher: Any = None) -> Any:
    """One image of noise of each of so many classes, and an untrained network as their teacher, by default a ResNet-18."""
    import torch

    from ... import networks
    from ...data import ImageData
    from ...runs.process import Inputs

    draw = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (images, 3, size, size), dtype=torch.uint8, generator=draw)
    labels, names = torch.arange(images), tuple(str(label) for label in range(images))
    data = ImageData(
        name=f"noise-{size}",
        train_images=pixels,
        train_labels=labels,
        test_images=pixels,
        test_labels=labels,
        class_names=names,
    )
    spec = networks.spec("resnet18") if teacher is None else teacher
    return Inputs(data=data, teachers=(networks.initialise(spec.for_data(data), seed=0),), device=device)


def iteration(
    images: int, precision: str, device: str, repeats: int = 5, method: str = "sre2l", size: int = 32
) -> dict[str, Any]:
    """One update of ResNet-18, beside the bare network (forward and backward to the images, nothing matched).

    For DWA also the adjustment of the teacher for one batch, and what it adds to SRe2L's 1000 iterations.
    """
    import torch
    import torch.nn.functional as F

    from ... import methods, networks
    from ...methods import dwa

    inputs = noise_inputs(images, size, device)
    data, labels = inputs.data, inputs.data.train_labels
    module = methods.get(method)
    config = module.Config(precision=precision, images_per_class=1)
    state = module.init(config, inputs)
    frozen = inputs.teachers[0]

    def bare() -> None:
        leaf = state.images.detach().requires_grad_()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
            logits = networks.call(frozen.spec, frozen.weights, leaf)[0].logits
        torch.autograd.grad(F.cross_entropy(logits.float(), labels.to(device)), leaf)

    found: dict[str, Any] = {method: timed(lambda: module.update(config, inputs, state), repeats, device)}
    if isinstance(config, dwa.Config):
        pixels, steps, radius = data.normalised(device=device), config.adjustment_steps, config.adjustment_radius
        found["adjustment"] = timed(
            lambda: dwa.directed_adjustment(frozen, pixels, labels, steps=steps, radius=radius), 3, device
        )
        share = found["adjustment"]["cpu_seconds"] / (config.iterations * found[method]["cpu_seconds"])
        found["overhead_fraction"] = round(share, 4)
    memory = peak_megabytes(device)
    if isinstance(config, dwa.Config):
        names = networks.parameter_names(frozen.spec)

        def by_weights() -> None:
            leaves = {name: frozen.weights[name].detach().requires_grad_() for name in names}
            logits = networks.call(frozen.spec, frozen.weights | leaves, pixels)[0].logits
            torch.autograd.grad(F.cross_entropy(logits, labels.to(device)), list(leaves.values()))

        bare_steps = steps * timed(by_weights, repeats, device)["cpu_seconds"]
        found["adjustment"]["ratio_to_bare_gradients"] = round(found["adjustment"]["cpu_seconds"] / bare_steps, 3)
    found["bare network"] = timed(bare, repeats, device)
    ratio = found[method]["cpu_seconds"] / found["bare network"]["cpu_seconds"]
    return {
        "name": f"{method} iteration, ResNet-18, {size} px", "images": images, "precision": precision, "device": device,
        **found, "milliseconds_per_image": round(1e3 * found[method]["wall_seconds"] / images, 3),
        "ratio_to_bare": round(ratio, 3), "peak_megabytes": memory,
    }  # fmt: skip


def resolutions(images: int, repeats: int = 9) -> dict[str, Any]:
    """FADRM's two sizes: CPU-seconds of an update at 48 and at 64 px, and what they make of a run of three merges beside eq 8."""
    from ... import theory
    from ...methods import fadrm

    inputs = noise_inputs(images, 64, "cpu")
    config = fadrm.Config(images_per_class=1, iterations=4, small_size=48)
    small = fadrm.init(config, inputs)
    large = fadrm.update(config, inputs, small)[0]  # four stages of one step

    def seconds(state: fadrm.State) -> float:
        start = time.process_time()
        fadrm.update(config, inputs, state)
        return time.process_time() - start

    rounds = [[seconds(small), seconds(large)] for _ in range(repeats + 1)][1:]  # both see the same load
    at_small, at_large = (round(statistics.median(column), 4) for column in zip(*rounds, strict=True))
    exact = theory.resolution_cost_ratio(budget=4, merges=3, small_side=48, side=64)
    measured = statistics.median((a + b) / (2 * b) for a, b in rounds)
    return {
        "name": "FADRM at 48 and 64 px in turn, three merges, ResNet-18", "images": images,
        "cpu_seconds": {"48 px": at_small, "64 px": at_large}, "measured_ratio": round(measured, 4),
        "exact_ratio": exact, "relative_difference": round(measured / exact - 1, 4),
    }  # fmt: skip


def outer_step(
    method: str, *, real_batch: int, precision: str = "float32", device: str = "cpu", repeats: int = 5
) -> dict[str, Any]:
    """One outer iteration of KRR-ST or Boost, the inner step of its network included, at the published sizes for 100 images of 32 px.

    Networks of 128, 256 and 512 channels; 100 pairs, or 114 with three turned views each; the teacher's representations (512 numbers) are
    there beforehand. Noise stands for images and teacher.
    """
    from ... import methods, networks

    inputs = noise_inputs(max(real_batch, 600), 32, device, networks.spec("convnet", width=32))
    module = methods.get(method)
    # The pool counts as filled, and no network is drawn anew while it is timed.
    config = module.Config(pool_size=1, pool_steps=10**6, batch_size=real_batch, precision=precision)
    state = module.init(config, inputs)
    filling = module.total_steps(config, inputs) - config.iterations
    state = dataclasses.replace(state, step=filling)
    images, targets = module.pairs(state.parameters) if method == "krr_st" else module.pairs(config, state.parameters)
    found = timed(lambda: module.update(config, inputs, state), repeats, device)
    return {
        "name": f"{method} outer iteration, ConvNet 128-256-512, 32 px", "rows": len(images), "outputs": targets.shape[1],
        "real_batch": real_batch, "precision": precision, "device": device, **found, "peak_megabytes": peak_megabytes(device),
    }  # fmt: skip


def matching(
    method: str,
    *,
    images_per_class: int,
    real_batch: int = 256,
    precision: str = "float32",
    device: str = "cpu",
    repeats: int = 3,
) -> dict[str, Any]:
    """One update of DC, DSA or DM at the published size, beside the passes alone that it cannot do without.

    ConvNet-3 of width 128, 32 px, ten classes of noise; the network's training between two matchings is not counted.
    """
    import torch

    from ... import methods, networks
    from ...data import ImageData
    from ...methods import dm
    from ...methods import matching as shared
    from ...runs.process import Inputs

    draw, count = torch.Generator().manual_seed(0), 10 * max(real_batch, images_per_class)
    pixels = torch.randint(0, 256, (count, 3, 32, 32), dtype=torch.uint8, generator=draw)
    labels = torch.arange(count) % 10
    data = ImageData(
        name="noise-32", train_images=pixels, train_labels=labels, test_images=pixels[:10], test_labels=labels[:10],
        class_names=tuple("abcdefghij"),
    )  # fmt: skip
    inputs, module = Inputs(data=data, device=device), methods.get(method)
    own: dict[str, Any] = {} if method == "dm" else {"outer_steps": 1, "inner_epochs": 0}
    config = module.Config(images_per_class=images_per_class, batch_size=real_batch, precision=precision, **own)
    state = module.init(config, inputs)
    spec = config.network.for_data(data)
    weights = networks.initialise(spec, seed=0).to(inputs.device).weights
    real = [data.normalised(data.of_class(label)[:real_batch], device=inputs.device) for label in range(10)]
    at_once = shared.passes(config, inputs.device)
    options: dict[str, Any] = {"at_once": at_once, "precision": precision}

    def features_alone() -> None:
        with torch.no_grad():
            for batch in real:
                dm.features(spec, weights, batch, **options)
        for label in range(10):
            made = shared.of_class(state.images, label, 10).detach().requires_grad_()
            torch.autograd.grad(dm.features(spec, weights, made, precision=precision).sum(), made)

    def gradients_alone() -> None:
        for label, batch in enumerate(real):
            shared.class_gradient(spec, weights, batch, label, **options)
            made = shared.of_class(state.images, label, 10).detach().requires_grad_()
            slopes = shared.class_gradient(spec, weights, made, label, differentiable=True, precision=precision)
            torch.autograd.grad(torch.stack([slope.sum() for slope in slopes.values()]).sum(), made)

    bare = features_alone if method == "dm" else gradients_alone
    found = timed(lambda: module.update(config, inputs, state), repeats, device)
    alone = timed(bare, repeats, device)
    return {
        "name": f"{method} update, ConvNet-3 of width 128, 32 px", "images_per_class": images_per_class, "real_batch": real_batch,
        "precision": precision, "device": device, **found, "passes alone": alone,
        "ratio_to_passes": round(found["cpu_seconds"] / alone["cpu_seconds"], 3), "peak_megabytes": peak_megabytes(device),
    }  # fmt: skip


def kernel_steps(
    points: int,
    *,
    real_batch: int,
    kernel: str = "fc1",
    precision: str = "float64",
    device: str = "cpu",
    repeats: int = 5,
) -> dict[str, Any]:
    """One update of KIP on images of 3 x 32 x 32, beside the matrix products alone that it cannot do without, by numpy in that precision.

    These are K^0 of points and real images with the points, and the product that brings the gradient back to the points.
    """
    import numpy as np
    import torch

    from ... import methods
    from ...data import ImageData
    from ...runs.process import Inputs

    draw, module = torch.Generator().manual_seed(0), methods.get("kip")
    count, labels = max(real_batch, points), torch.arange(max(real_batch, points)) % 10
    pixels = torch.randint(0, 256, (count, 3, 32, 32), dtype=torch.uint8, generator=draw)
    data = ImageData(
        name="noise-32", train_images=pixels, train_labels=labels, test_images=pixels[:10], test_labels=labels[:10],
        class_names=tuple("abcdefghij"),
    )  # fmt: skip
    inputs = Inputs(data=data, device=device)
    config = module.Config(kernel=kernel, precision=precision, images_per_class=points // 10, batch_size=real_batch)
    state = module.init(config, inputs)
    few, real = (
        rng.astype(precision) for rng in (state.images.cpu().numpy(), data.normalised(slice(real_batch)).numpy())
    )
    few, rows = few.reshape(points, -1), np.concatenate([few, real]).reshape(points + real_batch, -1)

    def products_alone() -> Any:
        return (rows @ few.T).T @ rows

    found = timed(lambda: module.update(config, inputs, state), repeats, device)
    memory, alone = peak_megabytes(device), timed(products_alone, repeats)
    return {
        "name": f"kip update, {kernel}, 3 x 32 x 32", "points": points, "real_batch": real_batch, "precision": precision, "device": device,
        **found, "steps_per_cpu_second": round(1 / found["cpu_seconds"], 2), "products alone": alone,
        "ratio_to_products": round(found["cpu_seconds"] / max(alone["cpu_seconds"], 1e-9), 2), "peak_megabytes": memory,
    }  # fmt: skip


def objective_steps(images: int, precision: str, device: str, repeats: int = 5, size: int = 32) -> list[dict[str, Any]]:
    """One update by each objective without labels as ReLA has it, ResNet-18, beside the bare network's forward and backward on two views.

    Barlow Twins' projector is that of its own preset. Rounds go through all objectives, so that all see the same load.
    """
    import torch

    from ... import networks
    from ...training.self_supervised import OBJECTIVES, Teacher

    inputs = noise_inputs(images, size, device)
    data = inputs.data
    changes: dict[str, Any] = {"batch_size": images, "precision": precision}
    configs = {name: each.Config.paper("cifar10", **changes) for name, each in OBJECTIVES.items()}
    states = {name: Teacher(OBJECTIVES[name]).init(config, inputs) for name, config in configs.items()}
    first = next(iter(states.values()))
    spec = networks.spec("resnet18").for_data(data)
    pixels = data.normalised(device=inputs.device)

    def bare() -> None:
        names = networks.parameter_names(spec)
        leaves = {name: first.weights[name].detach().requires_grad_() for name in names}
        with networks.passes_in(precision, inputs.device):
            said = [networks.call(spec, first.weights | leaves, pixels, train=True)[0].features for _ in range(2)]
        torch.autograd.grad(said[0].float().sum() + said[1].float().sum(), list(leaves.values()), allow_unused=True)

    calls: dict[str, Any] = {"bare network": bare}
    for name, objective in OBJECTIVES.items():
        calls[name] = functools.partial(Teacher(objective).update, configs[name], inputs, states[name])
    rounds = [{name: timed(call, 1, device) for name, call in calls.items()} for _ in range(repeats)]
    seconds = {name: statistics.median(each[name]["cpu_seconds"] for each in rounds) for name in calls}
    walls = {name: statistics.median(each[name]["wall_seconds"] for each in rounds) for name in calls}
    return [
        {
            "name": f"{name} step, ResNet-18, {size} px", "images": images, "precision": precision, "device": device,
            "cpu_seconds": seconds[name], "wall_seconds": walls[name],
            "ratio_to_bare": round(walls[name] / walls["bare network"], 3) if device == "cuda"
            else round(seconds[name] / seconds["bare network"], 3),
        }
        for name in calls
    ]  # fmt: skip
