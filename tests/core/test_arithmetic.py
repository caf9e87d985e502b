"""On a GPU float32 is float32, whatever torch was set to; on a CPU nothing is set."""

from collections.abc import Iterator

import pytest
import torch

from ddlab.core.arithmetic import exact_float32

SETTINGS = torch.backends.cudnn.conv, torch.backends.cuda.matmul  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    before = [setting.fp32_precision for setting in SETTINGS]
    yield
    for setting, value in zip(SETTINGS, before, strict=True):
        setting.fp32_precision = value


def test_float32_is_float32() -> None:
    for setting in SETTINGS:
        setting.fp32_precision = "tf32"
    exact_float32("cpu")
    assert [setting.fp32_precision for setting in SETTINGS] == ["tf32", "tf32"]
    exact_float32(torch.device("cuda"))
    assert [setting.fp32_precision for setting in SETTINGS] == ["ieee", "ieee"]
