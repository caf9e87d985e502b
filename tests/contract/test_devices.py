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
from ddlab import evaluation, networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.methods import representation_selection, selection
from ddlab.networks import Network
from ddlab.runs import Keep, Run, checkpoint, process
from ddlab.runs.process import Inputs
from ddlab.training import supervised
from tests.contract.cases import MAIN, Case, bundle
from tests.stand_in_device import Away, MixedDevices, stand_in_device
from tests.support import leaves

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


def assert_close(found: Any, wanted: Any) -> None:
    """The same, on the CPU, but for rounding: there some sums are taken in another order."""
    first = dict(leaves(found))
    second = dict(leaves(wanted))
    assert first.keys() == second.keys()
    for name, one in first.items():
        if isinstance(one, Tensor):
            assert type(one) is Tensor, f"{name} stays on the device"
            torch.testing.assert_close(
                one, second[name], rtol=1e-4, atol=1e-4, msg=f"{name} differs"
            )
        else:
            assert one == second[name], name


def test_the_stand_in_refuses_what_a_gpu_refuses(device: torch.device) -> None:
    here = torch.arange(6.0)
    away = torch.arange(6.0, device=device)
    assert type(here) is Tensor and isinstance(away, Away) and away.device.type == device.type
    assert isinstance(torch.tensor([1, 2], device=device), Away) and type(away.cpu()) is Tensor
    refused: list[Callable[[], Any]] = [
        lambda: here + away,
        lambda: torch.cat([here, away]),
        lambda: torch.stack([here[0], away[0]]),
        lambda: here[away.long()],
        lambda: away.index_select(0, torch.tensor([1])),
        lambda: away.add_(here),
        lambda: here.add_(away),
        lambda: torch.where(here > 2, away, away),
        lambda: torch.nn.functional.cross_entropy(away[None], torch.tensor([1])),
        lambda: torch.randn(3, device=device, generator=torch.Generator()),
        lambda: away.normal_(generator=torch.Generator()),
        lambda: torch.func.vmap(lambda row: row * here[:2])(away.view(3, 2)),
        lambda: torch.func.grad(lambda values: (values * here).sum())(away),
    ]
    for number, mixed in enumerate(refused):
        with pytest.raises(MixedDevices):
            mixed()
            pytest.fail(f"number {number} was not refused")
    for to_numpy in (away.numpy, away[0].numpy):
        with pytest.raises(RuntimeError, match="numpy"):
            to_numpy()


def test_the_stand_in_computes_what_a_gpu_computes(device: torch.device) -> None:
    here = torch.arange(6.0)
    draw = torch.Generator().manual_seed(0)
    away = here.to(device)
    weights = torch.randn(4, 1, 3, 3, generator=draw)
    assert (
        away.tolist() == here.tolist()
        and float(away.sum()) == 15
        and bool((away == here.to(device)).all())
    )
    assert_close((away * torch.tensor(2.0)).cpu(), here * 2)
    assert_close(away[torch.tensor([1, 3])].cpu(), here[[1, 3]])
    changed = away.clone()
    changed[torch.tensor([0, 1])] = torch.tensor(7.0)
    changed[2:4].copy_(here[:2])
    here_again = torch.zeros(6)
    assert here_again.copy_(changed) is here_again and here_again.tolist() == [7, 7, 0, 1, 4, 5]

    def loss(kernel: Tensor, values: Tensor) -> Tensor:
        return (
            torch.nn.functional.conv2d(values.view(1, 1, 2, 3), kernel, padding=1).square().mean()
        )

    def each(kernel: Tensor, values: Tensor) -> Tensor:
        return torch.func.vmap(torch.func.grad(loss), (None, 0))(kernel, values)

    rows = torch.stack([here, here + 1])
    found = each(weights.to(device), rows.to(device))
    assert isinstance(found, Away)
    assert_close(found.cpu(), each(weights, rows))
    leaf = weights.to(device).requires_grad_()
    (slope,) = torch.autograd.grad(loss(leaf, away), leaf)
    assert_close(slope.cpu(), torch.func.grad(loss)(weights, here))


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
    wanted = process.run(case.module, case.config, on_cpu)
    with stand_in_device() as device:
        inputs = dataclasses.replace(on_cpu, device="auto")
        assert inputs.device == device and all(
            isinstance(value, Away) for each in inputs.teachers for value in each.weights.values()
        )
        run = Run(case.module, case.config, inputs, keep=Keep((0, 1))).advance(until=1)
        assert all(
            type(tensor) is Tensor
            for frame in run.frames
            for _, tensor in leaves(frame)
            if torch.is_tensor(tensor)
        )
        checkpoint.save(file, case.module, case.config, inputs, run.state())
        resumed = process.run(case.module, case.config, inputs, checkpoint=file)
    assert_close(resumed, wanted)


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
        wanted = process.run(case.module, case.config, on_cpu)
        with stand_in_device():
            inputs = dataclasses.replace(on_cpu, device="auto")
            state = Run(case.module, case.config, on_cpu).advance(until=1).state()
            checkpoint.save(file, case.module, case.config, on_cpu, state)
            there = process.run(case.module, case.config, inputs, checkpoint=file)
            state = Run(case.module, case.config, inputs).advance(until=1).state()
            checkpoint.save(file, case.module, case.config, inputs, state)
        back = process.run(case.module, case.config, on_cpu, checkpoint=file)
        assert_close((there, back), (wanted, wanted))


def test_teachers_students_and_probes(
    grey: ImageData, distilled: DistilledSet, teacher: Network, no_cache: None
) -> None:
    def found() -> list[Any]:
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
        represented = process.run(
            representation_selection,
            representation_selection.Config(budget=9),
            Inputs(data=grey, teachers=(learned,)),
        )
        probed = evaluation.probe(teacher, grey, kind="linear", seeds=(0,), candidates=(1e-2,))
        scores += [probed.mean]
        own = ddlab.from_images(chosen.images, chosen.labels, grey, learned)
        return [learned.weights, chosen, represented, own.targets, scores]

    wanted = found()
    with stand_in_device():
        assert_close(found(), wanted)
