"""The boundary: what annotations let through, and the sentence for what they do not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor

from ddlab.core import DDLabError, among, check_fields, checked, errors, tensor, within


def even(argument: str, value: Any) -> Any:
    """A rule of a caller's own."""
    return value if value % 2 == 0 else errors.fail(argument, "even", value)


@checked
def everything(
    images: Annotated[Tensor, tensor("n c h w")],
    labels: Annotated[Tensor, tensor("n", torch.int64)],
    targets: Annotated[Tensor, tensor("n k")] | None = None,
    *,
    ratio: Annotated[float, within(0, 1, open_low=True)] = 1,
    steps: Annotated[int, within(1), even] = 2,
    kind: Literal["mean", "sum"] = "mean",
    order: Annotated[int, among(1, 2)] = 2,
    progress: Callable[[int], None] | None = None,
    title: str = "",
    squared: bool = False,
    later: "Later | None" = None,
    sizes: list[int] | tuple[int, ...] = (),
) -> dict[str, Any]:
    return dict(locals())


call_everything: Any = everything  # wrong calls are what is tested


class Later:
    """Named by an annotation that stands above it."""


def arguments() -> dict[str, Any]:
    return {"images": torch.rand(4, 1, 2, 2), "labels": torch.arange(4)}


def test_what_is_allowed_arrives_with_numbers_as_int_and_float() -> None:
    got = call_everything(
        **arguments(),
        ratio=np.float32(0.5),
        steps=np.int64(4),
        later=Later(),
        targets=torch.rand(4, 5),
    )
    assert (type(got["ratio"]), type(got["steps"])) == (float, int)
    assert everything(torch.rand(0, 1, 2, 2), torch.arange(0), None)["targets"] is None
    assert call_everything.__name__ == "everything"


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        (
            {"images": torch.rand(4, 2, 2)},
            r"images must be a float tensor of shape \[n, c, h, w\]; given .* \[4, 2, 2\]",
        ),
        ({"images": torch.full((4, 1, 2, 2), torch.nan)}, "images must be finite everywhere"),
        ({"images": [1.0]}, "images must be a float tensor"),
        (
            {"labels": torch.arange(5)},
            r"labels must be a int64 tensor of shape \[4\]; given .* \[5\]",
        ),
        ({"labels": torch.rand(4)}, "labels must be a int64 tensor"),
        ({"targets": torch.rand(3, 5)}, r"targets must be a float tensor of shape \[4, k\]"),
        ({"ratio": 0}, r"ratio must be a finite number in \(0, 1\]; given 0"),
        ({"ratio": True}, "ratio must be a finite number"),
        ({"steps": 1.0}, "steps must be an integer of at least 1"),
        ({"steps": 3}, "steps must be even; given 3"),
        ({"kind": "men"}, r"kind must be one of 'mean', 'sum' \(nearest: 'mean'\)"),
        ({"order": 3}, "order must be one of 1, 2"),
        ({"progress": 3}, "progress must be a function"),
        ({"title": 3}, "title must be a text"),
        ({"squared": 1}, "squared must be True or False"),
        ({"later": 3}, "later must be a Later; given 3"),
    ],
)
def test_what_is_not_allowed_gets_a_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DDLabError, match=sentence):
        call_everything(**arguments() | wrong)


def test_a_name_that_is_wrong_or_given_twice_is_pythons_own_error() -> None:
    with pytest.raises(TypeError, match="multiple values for argument 'images'"):
        call_everything(arguments()["images"], **arguments())
    with pytest.raises(TypeError, match="unexpected keyword argument 'step'"):
        call_everything(**arguments() | {"step": 3})


def test_fields_of_a_dataclass() -> None:
    @dataclass(frozen=True)
    class Problem:
        images: Annotated[Tensor, tensor("n d", torch.float64)]
        targets: Annotated[Tensor, tensor("n")]
        strength: Annotated[float, within(0)] = 1

        def __post_init__(self) -> None:
            check_fields(self)

    fields: dict[str, Any] = {
        "images": torch.rand(2, 3, dtype=torch.float64),
        "targets": torch.rand(2),
    }
    assert isinstance(Problem(**fields, strength=3).strength, float)
    wrongs: list[dict[str, Any]] = [
        {"strength": -1},
        {"targets": torch.rand(3)},
        {"images": torch.rand(2, 3)},
    ]
    for wrong in wrongs:
        with pytest.raises(DDLabError, match=next(iter(wrong))):
            Problem(**dict(fields | wrong))
