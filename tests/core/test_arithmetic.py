"""On a GPU float32 is float32, whatever torch was set to; on a CPU nothing is set."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.core import exact_float32
from ddlab.training import supervised

SETTINGS = torch.backends.cudnn.conv, torch.backends.cuda.matmul  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def torch_settings() -> Iterator[None]:
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


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def products_of(precision: str) -> Iterator[None]:
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


CONTEXTS: dict[str, Callable[[], Any]] = {
    "float64": lambda: default_dtype(torch.float64),
    "half": lambda: default_dtype(torch.bfloat16),
    "products in half": lambda: products_of("medium"),
    "no gradients": torch.no_grad,
    "inference mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "a default device": lambda: torch.device("meta"),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_what_a_notebook_has_set_changes_no_number(name: str, no_cache: None) -> None:
    """Data, a teacher, sets of four methods, students, a comparison: all within, all without."""
    student = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=2)

    def numbers() -> list[Any]:
        ddlab.runs.cache.clear()
        data = ddlab.data.load("shapes", size=16, train=60, test=20)
        from_arrays = ddlab.data.from_arrays(
            data.train_images.numpy(), data.train_labels.numpy(), layout="nchw"
        )
        config = student.replace(learning_rate=0.01)
        teacher = ddlab.train_teacher(data, config, progress=False)
        sets = [
            ddlab.distill("sre2l", data, teacher, iterations=2, progress=False),
            ddlab.distill("dm", data, iterations=2, progress=False),
            ddlab.distill("kip", data, iterations=2, progress=False),
            ddlab.distill("selection", data, progress=False),
        ]
        evaluation = ddlab.evaluate(
            sets[1], data, labels="hard", config=student, seeds=(0,), progress=False
        )
        comparison = ddlab.compare({"a": sets[3]}, data, config=student, seeds=(0,), progress=False)
        fingerprints = [
            data.fingerprint,
            from_arrays.fingerprint,
            teacher.fingerprint,
            *(distilled.fingerprint for distilled in sets),
        ]
        return [
            *fingerprints,
            ddlab.accuracy(teacher, data),
            evaluation.per_seed,
            comparison.rows[0].accuracies,
        ]

    expected = numbers()
    with CONTEXTS[name]():
        computed = numbers()
    assert computed == expected
    assert torch.get_default_dtype() == torch.float32
