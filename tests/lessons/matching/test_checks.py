"""Lesson 05: its exercises."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ddlab
from ddlab.core.randomness import generator
from ddlab.lessons.matching import checks
from ddlab.methods import dc, dm


def told(capsys: Any, name: str, answer: Any) -> tuple[bool, str]:
    lesson = ddlab.start("05_matching")
    capsys.readouterr()
    return lesson.check(name, answer), capsys.readouterr().out


def test_an_exercise_takes_the_right_answer_and_gives_hints_for_wrong_ones(capsys: Any) -> None:
    answers: dict[str, tuple[list[Any], list[Any]]] = {
        "best image": (
            [lambda real: real.mean(0, keepdim=True), lambda real: real.sum(0)[None] / len(real)],
            [
                None, 3, lambda real: real[:1], lambda real: real.mean(0), lambda real: real.mean((0, 1), keepdim=True), lambda: 1,
                lambda real: real.median(0, keepdim=True).values, lambda real: torch.full_like(real[:1], torch.nan),
                lambda real: "mean", lambda real: real.mean(0, keepdim=True).mean((2, 3), keepdim=True),
            ],
        ),
        "layer": (["activation", "normalisation"], [None, "convolution", "pooling", "linear", 4, ["activation"]]),
    }  # fmt: skip
    for name, (right, wrong) in answers.items():
        for answer in right:
            assert told(capsys, name, answer)[0], name
        hints = set()
        for answer in wrong:
            taken, said = told(capsys, name, answer)
            assert not taken and said.startswith("Not yet"), (name, answer)
            hints.add(said)
        assert len(hints) >= 4, "wrong answers get different hints"


def test_the_two_layers_are_those_of_which_the_average_is_not_kept() -> None:
    """Measured: the features of an average image against the average of the features, each layer by itself."""
    images = torch.randn(6, 1, 8, 8, generator=generator(0))
    spread = lambda x: (x - x.mean((2, 3), keepdim=True)) / x.std((2, 3), keepdim=True)  # noqa: E731
    layers = {
        "convolution": torch.nn.Conv2d(1, 3, 3), "pooling": torch.nn.AvgPool2d(2), "activation": torch.nn.ReLU(), "normalisation": spread,
    }  # fmt: skip
    for name, layer in layers.items():
        gap = (layer(images.mean(0, keepdim=True)) - layer(images).mean(0)).abs().max()
        assert (float(gap.detach()) > 0.1) == checks.check_layer(name)[0], name


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "right"), [(300.0, True), (1e-4, False), (1e30, False)])
def test_what_breaks_the_images_is_measured(capsys: Any, rate: float, right: bool) -> None:
    """A rate at which they stand still breaks nothing, however the students' luck falls; one that overflows is said to."""
    taken, said = told(capsys, "break it", dm.Config.teaching(learning_rate=rate))
    assert taken == right and "learning_rate" in said, said


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (None, "Give a Config"),
        (dc.Config.teaching(), "Give a Config"),
        ({"learning_rate": 300.0}, "Give a Config"),
        (dm.Config.teaching(), "you changed none"),
        (dm.Config.teaching(learning_rate=300.0, momentum=0.0), "one field"),
        (dm.Config.teaching(seed=3), "seed"),
        (dm.Config.teaching(images_per_class=2), "images_per_class"),
        (dm.Config.teaching(network=dm.SMALL.network), "network"),
        (dm.Config.teaching(iterations=201), "too long"),
        (dm.Config.teaching(batch_size=1000), "too long"),
    ],
)
def test_answers_that_are_none_are_refused_before_anything_runs(
    capsys: Any, answer: Any, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "distill", pytest.fail)
    taken, said = told(capsys, "break it", answer)
    assert not taken and hint in said
