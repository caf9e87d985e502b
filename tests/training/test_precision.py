"""Training in bfloat16: near the usual one, and configs without it as they were described before."""

from __future__ import annotations

from typing import Any

import pytest

from ddlab.data import ImageData
from ddlab.runs import process
from ddlab.runs.process import Inputs
from ddlab.training import self_supervised, supervised


@pytest.mark.parametrize("module", [supervised, self_supervised])
def test_bfloat16_is_near_float32(module: Any, grey: ImageData) -> None:
    inputs, small = Inputs(data=grey, device="cpu"), module.SMALL
    first = process.start(module, small, inputs)
    _, trace = module.update(small, inputs, first)
    half, rough = module.update(small.replace(precision="bfloat16"), inputs, first)
    assert all(value.dtype == first.weights[name].dtype for name, value in half.weights.items())
    assert 0 < abs(float(rough.loss - trace.loss)) < 0.1 * abs(float(trace.loss))
