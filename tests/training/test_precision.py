"""Training in bfloat16 and with channels last: near the usual one, and configs without them as they were described before."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, Representations
from ddlab.runs import process
from ddlab.runs.process import Inputs
from ddlab.training import pretraining, self_supervised, supervised
from tests.support import refuses


@pytest.mark.parametrize("module", [supervised, self_supervised])
def test_bfloat16_is_near_float32(module: Any, grey: ImageData) -> None:
    inputs, small = Inputs(data=grey, device="cpu"), module.SMALL
    first = process.start(module, small, inputs)
    _, trace = module.update(small, inputs, first)
    half, rough = module.update(small.replace(precision="bfloat16"), inputs, first)
    assert all(value.dtype == first.weights[name].dtype for name, value in half.weights.items())
    assert 0 < abs(float(rough.loss - trace.loss)) < 0.1 * abs(float(trace.loss))


@pytest.mark.parametrize("module", [supervised, self_supervised, pretraining])
def test_channels_last_is_the_same_update_but_for_rounding(
    module: Any, colour: ImageData, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, call = [], networks.call

    def watched(spec: Any, weights: Any, images: torch.Tensor, **options: Any) -> Any:
        kernels = [value for value in weights.values() if value.ndim == 4 and value.shape[1] > 1 and value.shape[2] > 1]
        seen.append({value.is_contiguous(memory_format=torch.channels_last) for value in (images, *kernels)})
        return call(spec, weights, images, **options)

    monkeypatch.setattr(networks, "call", watched)
    images = colour.normalised(slice(0, 8))
    said = Representations({"representations": images.flatten(1)[None, :, :5].clone()})
    made = DistilledSet(tensors={"images": images}, targets=(said,), class_names=(), mean=colour.mean, std=colour.std)
    learned: dict[str, Any] = {"distilled": made} if module is pretraining else {"data": colour}
    inputs, small = Inputs(device="cpu", **learned), module.SMALL
    first = process.start(module, small, inputs)
    usual, trace = module.update(small, inputs, first)
    seen.clear()
    laid, found = module.update(small.replace(memory_format="channels_last"), inputs, first)
    assert seen and all(each == {True} for each in seen)
    torch.testing.assert_close(found.loss, trace.loss)
    for name, value in usual.weights.items():
        torch.testing.assert_close(laid.weights[name], value, rtol=1e-3, atol=1e-4)


def test_prediction_with_channels_last(colour: ImageData, colour_teacher: networks.Network) -> None:
    images = colour.normalised(split="test")
    usual, laid = (
        networks.predict(colour_teacher, images, memory_format=each) for each in ("preserve", "channels_last")
    )
    torch.testing.assert_close(laid.logits, usual.logits)
    assert laid.last_conv.is_contiguous(memory_format=torch.channels_last)
    with refuses("memory_format", "'preserve', 'channels_last'"):
        networks.predict(colour_teacher, images, memory_format="last")  # type: ignore[arg-type]


def test_configs_without_it_are_described_as_before() -> None:
    for config in (supervised.SMALL, self_supervised.SMALL):
        assert "precision" not in config.to_dict()
        assert config.replace(precision="bfloat16").to_dict()["precision"] == "bfloat16"
        assert "memory_format" not in config.to_dict()
        assert config.replace(memory_format="channels_last").to_dict()["memory_format"] == "channels_last"
    with refuses("memory_format", "'preserve', 'channels_last'"):
        supervised.SMALL.replace(memory_format="last")
    with refuses("precision", "'bfloat16'", "'half'"):
        supervised.SMALL.replace(precision="half")
