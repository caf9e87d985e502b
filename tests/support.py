"""Helpers of several test files: comparing states, one-sentence errors, small datasets."""

import ast
import contextlib
import dataclasses
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ddlab.core import DDLabError
from ddlab.data import ImageData
from ddlab.networks import Network
from ddlab.runs import NOTHING, Inputs, Run

SENTENCE = re.compile(r"^\S.* must .*; given .*\.$")


def run_to_end(process: Any, config: Any, inputs: Inputs, state: Any = None, **options: Any) -> Any:
    """Return the result of a run that nobody looks at; options are those of `Run.to_end`."""
    return Run(process, config, inputs, keep=NOTHING, state=state).to_end(**options)


def normal_floats(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in float32."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def normal_doubles(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in float64."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def doubled(value: Any) -> Any:
    """The same with float64 tensors, in dicts, dataclasses and networks."""
    if isinstance(value, Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {name: doubled(item) for name, item in value.items()}
    if isinstance(value, Network):
        return dataclasses.replace(value, weights=doubled(value.weights))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value, **{f.name: doubled(getattr(value, f.name)) for f in dataclasses.fields(value)}
        )
    return value


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Everything inside dataclasses, mappings and sequences, by path."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from leaves(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, Mapping):
        for key in value:
            yield from leaves(value[key], f"{name}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from leaves(item, f"{name}[{number}]")
    else:
        yield name, value


def assert_same(computed: Any, expected: Any) -> None:
    """Bit for bit the same: names, types, dtypes, shapes and values."""
    first = dict(leaves(computed))
    second = dict(leaves(expected))
    assert first.keys() == second.keys()
    for name, value in first.items():
        if isinstance(value, Tensor):
            assert isinstance(second[name], Tensor) and value.dtype == second[name].dtype, name
            assert torch.equal(value, second[name]), name
        else:
            assert type(value) is type(second[name]) and value == second[name], name


def snapshot(value: Any) -> dict[str, Any]:
    """A copy that shares no memory with `value`."""
    copies = {
        name: item.clone() if isinstance(item, Tensor) else item for name, item in leaves(value)
    }
    return copies


def assert_unchanged(before: dict[str, Any], value: Any) -> None:
    """`value` is still what `snapshot` saw."""
    assert_same(before, dict(leaves(value)))


def assert_sentence(problem: BaseException, *words: str) -> None:
    """The error is ddlab's own: one sentence, what is allowed, what was given, and these words."""
    assert isinstance(problem, DDLabError)
    text = str(problem)
    assert SENTENCE.match(text) and "\n" not in text and len(text) < 600, text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"


@contextlib.contextmanager
def refuses(*words: str) -> Iterator[None]:
    """The block must raise exactly `DDLabError`, in one sentence that has these words."""
    with pytest.raises(DDLabError) as caught:
        yield
    assert type(caught.value) is DDLabError, repr(caught.value)
    assert_sentence(caught.value, *words)


def global_randomness() -> list[Any]:
    """The state of every global random generator."""
    return [
        torch.get_rng_state().tolist(),
        [str(part) for part in np.random.get_state()],
        random.getstate(),
    ]


def draw_globally() -> None:
    """What a careless consumer does between two steps."""
    torch.rand(3)
    np.random.rand(3)
    random.random()


def made_data(
    classes: int = 3,
    channels: int = 1,
    size: int = 8,
    train: int = 12,
    test: int = 6,
    seed: int = 0,
) -> ImageData:
    """Images that a small network can tell apart: a pattern per class, and noise."""
    draw = torch.Generator().manual_seed(seed)
    patterns = torch.rand((classes, channels, size, size), generator=draw)
    parts = {}
    for split, count in (("train", train), ("test", test)):
        labels = torch.arange(classes).repeat_interleave(count)
        noise = torch.rand((len(labels), channels, size, size), generator=draw)
        parts[f"{split}_images"] = (
            ((0.6 * patterns[labels] + 0.4 * noise) * 255).round().to(torch.uint8)
        )
        parts[f"{split}_labels"] = labels
    return ImageData(
        name=f"made-{channels}-{size}-{seed}", class_names=tuple("abcdefghij"[:classes]), **parts
    )


def moved(lab: Any, **values: Any) -> None:
    """Move controls of a laboratory, and wait until what they ask for is there."""
    for name, value in values.items():
        lab.panel[name].value = value
    lab.runner.join()


def trace(figure: Any, name: str) -> Any:
    """The trace of a figure that has this name."""
    return next(candidate for candidate in figure.data if candidate.name == name)


def values(array: Any) -> list[float]:
    """Numbers that a figure holds in single precision."""
    return np.asarray(array, float).round(6).tolist()


def assert_whole_figure(figure: Any) -> None:
    """Title, labelled axes (of bars and groups the names say what x is), an alt text with numbers,
    and no colour of the dark page.
    """
    from ddlab.figures import alt_text
    from ddlab.figures.theme import palette

    named = (
        figure.layout.xaxis.title.text
        or figure.layout.xaxis.ticktext
        or figure.data[0].type == "bar"
    )
    assert figure.layout.title.text and named and figure.layout.yaxis.title.text
    assert any(character.isdigit() for character in alt_text(figure)) and alt_text(figure).endswith(
        "."
    )
    assert all(trace.name for trace in figure.data)
    assert not any(
        code in str(figure.to_json()) for code in set(palette("dark")) - set(palette("light"))
    )


def statement_count(code: str) -> int:
    """Return the size of a cell, which formatting does not change."""
    lines = code.splitlines()
    python = "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(python)))


def share_of_checks(press: Callable[[], Any]) -> float:
    """The share of checks among the calls of ddlab's functions while `press` runs."""
    checking = ("core/errors.py", "core/boundary.py", "core/parameters.py", "figures/_check.py")
    counts = {True: 0, False: 0}

    def count(frame: Any, event: str, _argument: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and "/ddlab/" in file and "/tests/" not in file:
            counts[file.endswith(checking)] += 1

    sys.setprofile(count)
    try:
        press()
    finally:
        sys.setprofile(None)
    return counts[True] / sum(counts.values())
