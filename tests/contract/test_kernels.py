"""What a GPU would be asked for in one step, by the stand-in device: calls that make or change
numbers, and waiting for it.
"""

import dataclasses
import math
import traceback
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import ddlab
from ddlab import networks, runs
from ddlab.core import devices
from ddlab.data import ImageData
from ddlab.methods import dm, dwa, fadrm, krr_st, sre2l
from ddlab.runs import Inputs
from ddlab.runs.process import needs_teacher
from ddlab.training import supervised
from ddlab.unlabelled import self_supervised
from tests.stand_in_device import DeviceTensor, stand_in_device
from tests.support import made_data


class Calls(TorchDispatchMode):
    """Counts what a device is asked for: calls on its tensors that make or change numbers.

    To look at them in another shape asks for none.

    A library's call may be several kernels; a convolution is one here.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device = device
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs, result))
        on_device = any(
            isinstance(leaf, Tensor) and leaf.device.type == self.device.type for leaf in leaves
        )
        allocates = ("empty", "empty_like", "new_empty", "new_empty_strided")
        self.count += (
            on_device and not func.is_view and func.overloadpacket.__name__ not in allocates
        )
        return result


def calls(work: Callable[[], Any], device: torch.device) -> int:
    """Calls of the second time: what is kept for later steps is made in the first."""
    work()
    with Calls(device) as counted:
        work()
    return counted.count


class Waits(TorchDispatchMode):
    """What a step would stop for: copies from one device to the other that are not told not to, and
    numbers that are looked at.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        kwargs = kwargs or {}
        on_device = [
            isinstance(leaf, DeviceTensor)
            for leaf in tree_leaves((args, result))
            if isinstance(leaf, Tensor)
        ]
        crosses = (
            name in ("_to_copy", "copy_", "index")
            and len(set(on_device)) == 2
            and not kwargs.get("non_blocking")
        )
        if crosses or (name in ("_local_scalar_dense", "nonzero", "equal") and any(on_device)):
            ours = [
                frame
                for frame in traceback.extract_stack()
                if frame.filename.startswith(ddlab.__path__[0])
            ]
            self.found.append(f"{name} in {ours[-1]}")
        return result


def waits(module: Any, config: Any, inputs: Inputs, **changed: Any) -> list[str]:
    """In the driver's second step."""
    state = dataclasses.replace(module.init(config, inputs), **changed)
    run = ddlab.Run(module, config, inputs, state=state, keep=runs.NOTHING)
    first = state.step
    run.advance(until=first + 1)
    with Waits() as watch, mock.patch.object(run, "_looked", math.inf):
        run.advance(until=first + 2)
    return watch.found


@pytest.mark.parametrize("module", [sre2l, dwa, fadrm, dm, self_supervised])
def test_a_step_waits_for_nothing(module: Any) -> None:
    data = made_data(size=8)
    with stand_in_device() as device:
        teachers = (teacher(data),) if needs_teacher(module) else ()
        config = module.SMALL.replace(**{"crop": "always"} if module is sre2l else {})
        assert waits(module, config, Inputs(data=data, teachers=teachers, device=device)) == []


@pytest.mark.parametrize("labels", ["hard", "stored", "online"])
def test_a_student_waits_for_nothing(labels: str) -> None:
    data = made_data(size=8)
    wise = teacher(data)
    selected = ddlab.distill("selection", data, wise, progress=False)
    config = supervised.SMALL.replace(labels=labels, batch_size=2, epochs=9)
    with stand_in_device() as device:
        assert (
            waits(supervised, config, Inputs(distilled=selected, teachers=(wise,), device=device))
            == []
        )
        if labels != "stored":
            assert (
                waits(supervised, config, Inputs(data=data, teachers=(wise,), device=device)) == []
            )


def test_a_ridge_regression_waits_for_its_own_solution_alone_and_takes_all_images_at_once(
    monkeypatch: Any,
) -> None:
    data = made_data(size=8)
    config = krr_st.SMALL.replace(batch_size=6, pool_size=1, pool_steps=9)
    with stand_in_device() as device:
        inputs = Inputs(data=data, teachers=(teacher(data),), device=device)
        state = krr_st.init(config, inputs)
        filled = krr_st.filling_steps(config)
        waiting_places = waits(krr_st, config, inputs, step=filled)
        assert len(waiting_places) <= 2 and all("kernel_ridge" in place for place in waiting_places)
        at_once = dataclasses.replace(state, step=filled)
        call_count = calls(lambda: krr_st.update(config, inputs, at_once), device)
        monkeypatch.setattr(krr_st, "_AT_ONCE", 8 * 8)  # one image at a time on a CPU
        assert calls(lambda: krr_st.update(config, inputs, at_once), device) == call_count


@pytest.mark.parametrize("room", [True, False])
def test_a_dataset_goes_there_once_for_a_run_where_there_is_room(
    room: bool, monkeypatch: Any
) -> None:
    data = made_data(size=8)
    if not room:
        monkeypatch.setattr(devices, "_whole", lambda *_: None)
    expected = data.normalised([3, 0, 3])
    black = data.valid_range()[0]
    with stand_in_device() as device:
        inputs = Inputs(data=data, device=device)
        assert inputs.data is not None and inputs.data.fingerprint == data.fingerprint

        def batch() -> None:
            assert torch.equal(inputs.data.normalised([3, 0, 3], device=device).inner, expected)  # type: ignore
            assert torch.equal(inputs.data.valid_range(device)[0].inner, black)  # type: ignore

        batch()
        with Moved() as later:
            batch()
        assert later.bytes == (3 * 8 if room else expected.numel())  # the indices, or the images
        data.train_images.numpy()[3] = 7  # which no version counter tells
        after = Inputs(data=data, device=device).data
        assert after is not None and torch.equal(
            after.normalised([3], device=device).inner, data.normalised([3])
        )  # type: ignore


class Moved(TorchDispatchMode):
    """Bytes that go to the device."""

    bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if (
            func.overloadpacket.__name__ == "_to_copy"
            and isinstance(result, DeviceTensor)
            and not isinstance(args[0], DeviceTensor)
        ):
            self.bytes += args[0].nbytes
        return result


def teacher(data: ImageData) -> networks.Network:
    return networks.initialise(networks.spec("resnet18").for_data(data), seed=0)


def test_a_students_step_asks_for_little_more_than_the_bare_network() -> None:
    data = made_data(size=8)
    selected = ddlab.distill("selection", data, progress=False)
    with stand_in_device() as device:
        inputs = Inputs(distilled=selected, device=device)
        config = supervised.Config(network=networks.spec("resnet18"), batch_size=3)
        state = supervised.init(config, inputs)
        call_count = calls(lambda: supervised.update(config, inputs, state), device)
        network = teacher(data).to(device)
        images, labels = selected.images.to(device), selected.labels.to(device)
        names = networks.parameter_names(network.spec)

        def bare() -> None:
            leaves = {name: network.weights[name].detach().requires_grad_() for name in names}
            logits = networks.call(network.spec, {**network.weights, **leaves}, images, train=True)[
                0
            ].logits
            torch.autograd.grad(F.cross_entropy(logits, labels), list(leaves.values()))

        alone = calls(bare, device)
    assert call_count <= 1.4 * alone
