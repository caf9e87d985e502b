"""Speed: a step of ours beside the same step in plain PyTorch, in turns in one run (make bench).

A new method adds a row to `ROWS`.

python -m tests.bench [ROW ...]      median CPU-seconds of both, their ratio, and the quartiles of the ratio
"""

import dataclasses
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ddlab import networks
from ddlab.data import ImageData
from ddlab.lessons.ideal_data import networks as toy_networks
from ddlab.lessons.ideal_data import toys
from ddlab.methods import dm, krr_st, sre2l
from ddlab.runs import Inputs

Step = Callable[[], Any]
REPEATS = 15


def noise(
    size: int, *, classes: int = 10, per_class: int = 1, teacher: str | None = None
) -> Inputs:
    """Images of noise, and an untrained teacher."""
    draw = torch.Generator().manual_seed(0)
    pixels = torch.randint(
        0, 256, (classes * per_class, 3, size, size), dtype=torch.uint8, generator=draw
    )
    labels = torch.arange(classes).repeat_interleave(per_class)
    names = tuple(map(str, range(classes)))
    images = {
        "train_images": pixels,
        "train_labels": labels,
        "test_images": pixels,
        "test_labels": labels,
    }
    data = ImageData(name=f"noise-{size}", class_names=names, **images)
    teachers = (
        ()
        if teacher is None
        else (networks.initialise(networks.spec(teacher).for_data(data), seed=0),)
    )
    return Inputs(data=data, teachers=teachers, device="cpu")


def update_of(module: Any, config: Any, inputs: Inputs, **changed: Any) -> tuple[Any, Step]:
    """The first State, and an update of it."""
    state = dataclasses.replace(module.init(config, inputs), **changed)
    return state, lambda: module.update(config, inputs, state)


def sre2l_row() -> tuple[Step, Step]:
    """An update of ten images of 32 px on ResNet-18; plainly: cross-entropy forward and backward,
    nothing matched.
    """
    inputs = noise(32, teacher="resnet18")
    state, ours = update_of(sre2l, sre2l.Config(images_per_class=1), inputs)
    network: Any = inputs.teachers[0].module().eval()

    def plain() -> None:
        leaf = state.images.detach().requires_grad_()
        torch.autograd.grad(F.cross_entropy(network(leaf), inputs.data.train_labels), leaf)  # type: ignore[union-attr]

    return ours, plain


def dm_row() -> tuple[Step, Step]:
    """An update of ten images of 16 px with real batches of 32; plainly: one pass over all classes,
    and the same distance.
    """
    inputs = noise(16, per_class=32)
    config = dm.Config.teaching(batch_size=32)
    state, ours = update_of(dm, config, inputs)
    data: Any = inputs.data
    real = data.normalised().view(10, 32, *state.images.shape[1:])

    def plain() -> None:
        network: Any = networks.initialise(config.network.for_data(data), seed=0).module().train()
        leaf = state.images.detach().requires_grad_()
        with torch.no_grad():
            real_means = network.blocks(real.flatten(0, 1)).flatten(1).view(10, 32, -1).mean(1)
        features = network.blocks(leaf).flatten(1)
        torch.autograd.grad((real_means - features).square().sum(), leaf)

    return ours, plain


def krr_st_row() -> tuple[Step, Step]:
    """An outer step of 100 pairs of 16 px and its inner step; plainly: features of both, ridge
    regression, and the gradient.
    """
    inputs = noise(16, per_class=20, teacher="convnet")
    network = networks.spec("convnet", width=32)
    config = krr_st.Config(
        budget=100, network=network, pool_size=1, pool_steps=10**6, batch_size=200
    )
    state, ours = update_of(krr_st, config, inputs, step=krr_st.filling_steps(config))
    data: Any = inputs.data
    real = data.normalised()
    module = networks.initialise(network.for_data(data), seed=0).module().train()
    targets = krr_st.teacher_features(inputs)

    def plain() -> None:
        x = state.parameters["images"].detach().requires_grad_()
        y = state.parameters["representations"].detach().requires_grad_()
        with torch.no_grad():
            real_features = module.blocks(real).flatten(1)  # type: ignore[operator,union-attr]
        support_features = module.blocks(x).flatten(1)  # type: ignore[operator,union-attr]
        kernel = support_features @ support_features.T + 1
        solved = torch.linalg.solve(kernel + 1e-6 * kernel.trace() / len(x) * torch.eye(len(x)), y)
        loss = ((real_features @ support_features.T + 1) @ solved - targets).square().mean()
        torch.autograd.grad(loss, (x, y))

    return ours, plain


def toys_row() -> tuple[Step, Step]:
    """200 updates of twenty toy networks; plainly: one batched module, autograd and
    torch.optim.SGD.
    """
    config = toys.Config(deviation=0.5, steps=200, seeds=20)
    samples = toys.distilled_samples([config])
    # [steps, seeds, ...].
    points = samples.points[0].movedim(1, 0)
    labels = samples.targets[0].movedim(1, 0)

    def plain() -> None:
        hidden, *other_weights = toy_networks.parts(toy_networks.first_weights(20))
        weights = [
            value.clone().requires_grad_()
            for value in (hidden[..., :2], hidden[..., 2], *other_weights)
        ]
        first, bias, second, last = weights
        optimiser = torch.optim.SGD(weights, lr=0.002, momentum=0.98)
        for point, label in zip(points, labels, strict=True):
            hidden = torch.relu((first * point[:, None]).sum(2) + bias)
            loss = (torch.sigmoid((hidden * second).sum(1) + last) - label).square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    return lambda: toys.train([config]), plain


ROWS = {"sre2l": sre2l_row, "dm": dm_row, "krr_st": krr_st_row, "toys": toys_row}


def seconds(step: Step) -> float:
    """CPU-seconds of one call."""
    start_time = time.process_time()
    step()
    return time.process_time() - start_time


def main(names: list[str]) -> None:
    """Print a line for each row."""
    torch.set_num_threads(1)
    print(f"{'row':10} {'ours':>9} {'plain':>9}  ratio (quartiles)")
    for name in names or ROWS:
        steps = ROWS[name]()
        # Both see the same load.
        turns = [[seconds(step) for step in steps] for _ in range(REPEATS + 1)]
        turns = turns[1:]  # the first warms up
        ours, plain = (statistics.median(column) for column in zip(*turns, strict=True))
        low, middle, high = statistics.quantiles([bare / theirs for bare, theirs in turns], n=4)
        print(
            f"{name:10} {ours:8.4f}s {plain:8.4f}s  {middle:.2f} ({low:.2f} to {high:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
