"""No path drops the device of its inputs: processes, resumed ones too, and what stands on them run
on a stand-in that refuses mixing.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ddlab
from ddlab import evaluation, networks, unlabelled
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.methods import representation_selection, selection
from ddlab.networks import Network
from ddlab.runs import Inputs, Keep, Run, checkpoint
from ddlab.training import supervised
from tests.contract.cases import MAIN, Case, bundle
from tests.stand_in_device import DeviceTensor, MixedDevices, stand_in_device
from tests.support import leaves, run_to_end

STUDENT = supervised.Config(
    network=networks.spec("convnet", width=4), epochs=2, batch_size=4, crop_pixels=1
)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Nothing here is large enough for a second one; `same_threads` brings it back."""
    torch.set_num_threads(1)


@pytest.fixture
def device(no_cache: None) -> Iterator[torch.device]:
    with stand_in_device() as device:
        yield device


def assert_close(computed: Any, expected: Any) -> None:
    """The same, on the CPU, but for rounding: there some sums are taken in another order."""
    first = dict(leaves(computed))
    second = dict(leaves(expected))
    assert first.keys() == second.keys()
    for name, value in first.items():
        if isinstance(value, Tensor):
            assert type(value) is Tensor, f"{name} stays on the device"
            torch.testing.assert_close(
                value, second[name], rtol=1e-4, atol=1e-4, msg=f"{name} differs"
            )
        else:
            assert value == second[name], name


def test_the_stand_in_refuses_what_a_gpu_refuses(device: torch.device) -> None:
    on_cpu = torch.arange(6.0)
    on_device = torch.arange(6.0, device=device)
    assert (
        type(on_cpu) is Tensor
        and isinstance(on_device, DeviceTensor)
        and on_device.device.type == device.type
    )
    assert (
        isinstance(torch.tensor([1, 2], device=device), DeviceTensor)
        and type(on_device.cpu()) is Tensor
    )
    refused: list[Callable[[], Any]] = [
        lambda: on_cpu + on_device,
        lambda: torch.cat([on_cpu, on_device]),
        lambda: torch.stack([on_cpu[0], on_device[0]]),
        lambda: on_cpu[on_device.long()],
        lambda: on_device.index_select(0, torch.tensor([1])),
        lambda: on_device.add_(on_cpu),
        lambda: on_cpu.add_(on_device),
        lambda: torch.where(on_cpu > 2, on_device, on_device),
        lambda: torch.nn.functional.cross_entropy(on_device[None], torch.tensor([1])),
        lambda: torch.randn(3, device=device, generator=torch.Generator()),
        lambda: on_device.normal_(generator=torch.Generator()),
        lambda: torch.func.vmap(lambda row: row * on_cpu[:2])(on_device.view(3, 2)),
        lambda: torch.func.grad(lambda values: (values * on_cpu).sum())(on_device),
    ]
    for number, mixed in enumerate(refused):
        with pytest.raises(MixedDevices):
            mixed()
            pytest.fail(f"number {number} was not refused")
    for to_numpy in (on_device.numpy, on_device[0].numpy):
        with pytest.raises(RuntimeError, match="numpy"):
            to_numpy()


def test_the_stand_in_computes_what_a_gpu_computes(device: torch.device) -> None:
    on_cpu = torch.arange(6.0)
    draw = torch.Generator().manual_seed(0)
    on_device = on_cpu.to(device)
    weights = torch.randn(4, 1, 3, 3, generator=draw)
    assert (
        on_device.tolist() == on_cpu.tolist()
        and float(on_device.sum()) == 15
        and bool((on_device == on_cpu.to(device)).all())
    )
    assert_close((on_device * torch.tensor(2.0)).cpu(), on_cpu * 2)
    assert_close(on_device[torch.tensor([1, 3])].cpu(), on_cpu[[1, 3]])
    changed = on_device.clone()
    changed[torch.tensor([0, 1])] = torch.tensor(7.0)
    changed[2:4].copy_(on_cpu[:2])
    here_again = torch.zeros(6)
    assert here_again.copy_(changed) is here_again and here_again.tolist() == [7, 7, 0, 1, 4, 5]

    def loss(kernel: Tensor, values: Tensor) -> Tensor:
        return (
            torch.nn.functional.conv2d(values.view(1, 1, 2, 3), kernel, padding=1).square().mean()
        )

    def per_row(kernel: Tensor, values: Tensor) -> Tensor:
        return torch.func.vmap(torch.func.grad(loss), (None, 0))(kernel, values)

    rows = torch.stack([on_cpu, on_cpu + 1])
    products = per_row(weights.to(device), rows.to(device))
    assert isinstance(products, DeviceTensor)
    assert_close(products.cpu(), per_row(weights, rows))
    leaf = weights.to(device).requires_grad_()
    (slope,) = torch.autograd.grad(loss(leaf, on_device), leaf)
    assert_close(slope.cpu(), torch.func.grad(loss)(weights, on_cpu))


def test_a_resumed_state_beside_new_tensors_of_the_cpu_is_seen(
    device: torch.device, grey: ImageData, teacher: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no test saw: indices that came back from a checkpoint on the device were joined with new
    ones of the CPU.
    """
    case = next(case for case in MAIN if case.name == "realism_selection")
    inputs = Inputs(data=grey, teachers=(teacher,))
    state, _ = case.module.update(case.config, inputs, case.module.init(case.config, inputs))
    moved = dataclasses.replace(state, indices=state.indices.to(device))
    case.module.update(case.config, inputs, moved)  # as it is now
    with pytest.raises(MixedDevices, match="cat"):
        torch.cat([moved.indices, state.indices])  # as it was


@pytest.mark.parametrize("case", MAIN, ids=lambda case: case.name)
def test_a_process_runs_and_resumes_on_its_device(
    case: Case,
    grey: ImageData,
    teacher: Network,
    distilled: DistilledSet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Of a bias in front of batch norm, whose slope is rounding alone, Adam would make a whole step.
    file = tmp_path / "run"
    on_cpu = dataclasses.replace(bundle(case, grey, teacher, distilled), device="cpu")
    expected = run_to_end(case.module, case.config, on_cpu)
    with stand_in_device() as device:
        inputs = dataclasses.replace(on_cpu, device="auto")
        assert inputs.device == device and all(
            isinstance(value, DeviceTensor)
            for network in inputs.teachers
            for value in network.weights.values()
        )
        run = Run(case.module, case.config, inputs, keep=Keep((0, 1))).advance(until=1)
        assert all(
            type(tensor) is Tensor
            for frame in run.frames
            for _, tensor in leaves(frame)
            if torch.is_tensor(tensor)
        )
        checkpoint.save(file, case.module, case.config, inputs, run.state())
        resumed = run_to_end(case.module, case.config, inputs, checkpoint=file)
    assert_close(resumed, expected)


def test_a_run_changes_its_device(grey: ImageData, teacher: Network, tmp_path: Path) -> None:
    """What one device began, the other ends."""
    for case in MAIN:
        if case.name not in (
            "squeeze_recover_relabel",
            "realism_selection",
            "kernel_ridge_self_supervised",
            "representation_selection",
        ):
            continue
        on_cpu = Inputs(data=grey, teachers=(teacher,), device="cpu")
        file = tmp_path / case.name
        expected = run_to_end(case.module, case.config, on_cpu)
        with stand_in_device():
            inputs = dataclasses.replace(on_cpu, device="auto")
            state = Run(case.module, case.config, on_cpu).advance(until=1).state()
            checkpoint.save(file, case.module, case.config, on_cpu, state)
            on_device = run_to_end(case.module, case.config, inputs, checkpoint=file)
            state = Run(case.module, case.config, inputs).advance(until=1).state()
            checkpoint.save(file, case.module, case.config, inputs, state)
        back = run_to_end(case.module, case.config, on_cpu, checkpoint=file)
        assert_close((on_device, back), (expected, expected))


def test_teachers_students_and_probes(
    grey: ImageData, distilled: DistilledSet, teacher: Network, no_cache: None
) -> None:
    def everything() -> list[Any]:
        quiet: dict[str, Any] = {"progress": False}
        learned = ddlab.train_teacher(grey, STUDENT, **quiet)
        chosen = ddlab.distill(
            "selection", grey, learned, selection.Config(images_per_class=2), **quiet
        )
        options: dict[str, Any] = {
            "labels": "online",
            "teacher": learned,
            "seeds": (0,),
            "config": STUDENT,
        }
        scores = [
            ddlab.evaluate(chosen, grey, **options).mean,
            evaluation.accuracy(learned.to("auto"), grey),
        ]
        represented = run_to_end(
            representation_selection,
            representation_selection.Config(budget=9),
            Inputs(data=grey, teachers=(learned,)),
        )
        probed = unlabelled.probe(teacher, grey, strength=1e-2)
        scores += [probed]
        own_set = ddlab.from_images(chosen.images, chosen.labels, grey, learned)
        return [learned.weights, chosen, represented, own_set.targets, scores]

    expected = everything()
    with stand_in_device():
        assert_close(everything(), expected)
