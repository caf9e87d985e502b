"""The boundary: what annotations let through, and the sentence for what they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor

from ddlab.core import errors
from ddlab.core.boundary import among, check, check_fields, checked, filled, floats, integers, typed, within
from ddlab.core.errors import DDLabError


def even(argument: str, value: Any) -> Any:
    """A rule of a caller's own."""
    return value if value % 2 == 0 else errors.fail(argument, "even", value)


@checked
def everything(
    images: Annotated[Tensor, floats("n c h w")],
    labels: Annotated[Tensor, integers("n")],
    wanted: Annotated[Tensor, floats("... 3 k")] | None = None,
    *,
    ratio: Annotated[float, within(0, 1, open_low=True)] = 1,
    steps: Annotated[int, within(1), even] = 2,
    kind: Literal["mean", "sum"] = "mean",
    order: Annotated[int, among(1, 2)] = 2,
    progress: Callable[[int], None] | None = None,
    title: str = "",
    squared: bool = False,
    later: Later | None = None,
    rate: Annotated[float | Tensor, within(0)] = 0.1,
    rest: list[int] | tuple[int, ...] = (),
) -> dict[str, Any]:
    return dict(locals())


anything: Any = everything  # wrong calls are what is tested


class Later:
    """Named by an annotation that stands above it."""


def given() -> dict[str, Any]:
    return {"images": torch.rand(4, 1, 2, 2), "labels": torch.arange(4)}


def test_what_is_allowed_arrives_with_numbers_as_int_and_float() -> None:
    got = anything(**given(), ratio=np.float32(0.5), steps=np.int64(4), later=Later(), wanted=torch.rand(2, 3, 5))
    assert (type(got["ratio"]), type(got["steps"])) == (float, int)
    assert everything(torch.rand(0, 1, 2, 2), torch.arange(0), None)["wanted"] is None
    assert everything(**given(), rate=torch.tensor(0.5))["rate"] == 0.5
    assert anything.__name__ == "everything"


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        (
            {"images": torch.rand(4, 2, 2)},
            r"images must be a float tensor of shape \[n, c, h, w\]; given .* \[4, 2, 2\]",
        ),
        ({"images": torch.full((4, 1, 2, 2), torch.nan)}, "images must be finite everywhere"),
        ({"images": [1.0]}, "images must be a float tensor"),
        ({"labels": torch.arange(5)}, r"labels must be a int64 tensor of shape \[4\]; given .* \[5\]"),
        ({"labels": torch.rand(4)}, "labels must be a int64 tensor"),
        ({"wanted": torch.rand(2, 5)}, r"wanted must be a float32 tensor of shape \[3, k\]"),
        ({"wanted": torch.rand(3, 5).double()}, "wanted must be a float32 tensor"),
        ({"ratio": 0}, r"ratio must be a finite number in \(0, 1\]; given 0"),
        ({"ratio": True}, "ratio must be a finite number"),
        ({"steps": 1.0}, "steps must be an integer of at least 1"),
        ({"steps": 3}, "steps must be even; given 3"),
        ({"kind": "men"}, r"kind must be one of 'mean', 'sum' \(nearest: 'mean'\)"),
        ({"order": 3}, "order must be one of 1, 2"),
        ({"progress": 3}, "progress must be a function"),
        ({"title": 3}, "title must be a text"),
        ({"squared": 1}, "squared must be True or False"),
        ({"rate": -1}, "rate must be a finite number of at least 0; given -1"),
        ({"rate": torch.rand(2)}, r"rate must be a float tensor of shape \[\]"),
        ({"later": 3}, "later must be a Later; given 3"),
    ],
)
def test_what_is_not_allowed_gets_a_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DDLabError, match=sentence):
        anything(**given() | wrong)


def test_a_name_that_is_wrong_or_given_twice_is_pythons_own_error() -> None:
    with pytest.raises(TypeError, match="multiple values for argument 'images'"):
        anything(given()["images"], **given())
    with pytest.raises(TypeError, match="unexpected keyword argument 'step'"):
        anything(**given() | {"step": 3})


def test_one_name_is_one_length_within_a_shape_too() -> None:
    @checked
    def square(kernel: Annotated[Tensor, floats("n n")]) -> Tensor:
        return kernel

    square(torch.eye(3))
    with pytest.raises(DDLabError, match=r"kernel must be a tensor of shape \[n, n\]"):
        square(torch.rand(3, 2))


def test_a_starred_name_is_the_same_lengths_everywhere() -> None:
    @checked
    def centred(
        points: Annotated[Tensor, floats("n *shape")],
        mean: Annotated[Tensor, floats("*shape")],
        scale: Annotated[Tensor, floats("n", alike=False)] | None = None,
    ) -> Tensor:
        return points - mean if scale is None else scale

    assert centred(torch.rand(4, 2, 3), torch.rand(2, 3)).shape == (4, 2, 3)
    assert centred(torch.rand(4, 2), torch.rand(2), torch.rand(4).double()).dtype == torch.float64
    with pytest.raises(DDLabError, match=r"mean must be a float32 tensor of shape \[2, 3\]; given .* \[3\]"):
        centred(torch.rand(4, 2, 3), torch.rand(3))
    with pytest.raises(DDLabError, match=r"points must be a float tensor of shape \[n, \*shape\]; given .* \[4\]"):
        centred(torch.rand(4), torch.rand(3))


def test_one_value_with_what_is_known_already() -> None:
    points = Annotated[Tensor, floats("n d")]
    assert len(check("groups['a']", torch.rand(2, 3), points, d=3, dtype=torch.float32)) == 2
    assert check("anything", 3, Any) == 3
    for wrong in ({"d": 2}, {"dtype": torch.float64}):
        with pytest.raises(DDLabError, match=r"groups\['a'\] must be a float"):
            check("groups['a']", torch.rand(2, 3), points, **wrong)


def test_a_tensor_of_its_own_dtype_and_one_that_is_not_empty() -> None:
    @checked
    def mean(
        points: Annotated[Tensor, floats("n d"), filled], axis: Annotated[Tensor, floats("d", alike=False)]
    ) -> Tensor:
        return points.mean(0) + axis

    mean(torch.rand(2, 3), torch.rand(3).double())
    with pytest.raises(DDLabError, match="points must be a tensor without an axis of length 0"):
        mean(torch.rand(0, 3), torch.rand(3))


def test_fields_of_a_dataclass() -> None:
    @dataclass(frozen=True)
    class Problem:
        images: Annotated[Tensor, typed("n d", torch.float64)]
        targets: Annotated[Tensor, floats("n")]
        strength: Annotated[float, within(0)] = 1

        def __post_init__(self) -> None:
            check_fields(self)

    fields: dict[str, Any] = {"images": torch.rand(2, 3, dtype=torch.float64), "targets": torch.rand(2)}
    assert isinstance(Problem(**fields, strength=3).strength, float)
    wrongs: list[dict[str, Any]] = [{"strength": -1}, {"targets": torch.rand(3)}, {"images": torch.rand(2, 3)}]
    for wrong in wrongs:
        with pytest.raises(DDLabError, match=next(iter(wrong))):
            Problem(**dict(fields | wrong))
