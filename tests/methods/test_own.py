"""Methods from a loss: what the loss is given, where the images go, what is refused; that they are
processes, the contract says.
"""

from pathlib import Path
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.core import describe, parameter
from ddlab.data import ImageData
from ddlab.methods.shared.own import from_loss
from ddlab.runs import Inputs, Keep, Run, source
from tests.support import refuses


def to_grey(
    config: Any, inputs: Inputs, images: torch.Tensor, labels: torch.Tensor, step: int
) -> torch.Tensor:
    return (images - labels.view(-1, 1, 1, 1)).square().sum()


def test_images_go_where_adam_takes_them(grey: ImageData) -> None:
    to_grey_method = from_loss(
        "to_grey", to_grey, iterations=7, valid_pixels=False, images_per_class=2
    )
    run = Run(to_grey_method, to_grey_method.Config(), Inputs(data=grey, device="cpu"))
    images = run.begin().state().images.double().clone().requires_grad_()
    labels = torch.arange(grey.classes).repeat(2)
    adam = torch.optim.Adam([images], lr=0.1)
    losses = []
    for _ in range(7):
        adam.zero_grad()
        loss = to_grey(None, None, images, labels, 0)  # type: ignore[arg-type]
        loss.backward()
        adam.step()
        losses.append(float(loss.detach()))
    run.advance()
    torch.testing.assert_close(run.state().images.double(), images.detach(), rtol=0, atol=1e-5)
    assert run.frames[-1].content.numbers["loss"].value == pytest.approx(losses[-1], rel=1e-5)


def test_the_loss_is_given_real_images_their_labels_and_the_step(grey: ImageData) -> None:
    calls = []

    def loss(
        config: Any, inputs: Inputs, images: torch.Tensor, labels: torch.Tensor, step: int
    ) -> dict[str, torch.Tensor]:
        calls.append((config.rate, images.detach().clone(), labels, step))
        return {"first": images.sum(), "second": config.rate * images.square().sum()}

    method = from_loss("seen", loss, rate=2.0, images_per_class=3, iterations=2)
    run = Run(
        method, method.Config(rate=3.0), Inputs(data=grey, device="cpu"), keep=Keep((0, 1, 2))
    ).advance()
    (rate, images, labels, first), (_, moved, _, second) = calls
    assert (rate, first, second) == (3.0, 0, 1) and labels.tolist() == [0, 1, 2] * 3
    for image, label in zip(images, labels, strict=True):
        assert any(torch.equal(image, real) for real in grey.normalised(grey.of_class(int(label))))
    assert not torch.equal(images, moved)
    numbers = run.frames[1].content.numbers
    assert list(numbers) == ["loss", "first", "second"]
    assert numbers["loss"].value == pytest.approx(numbers["first"].value + numbers["second"].value)
    low, high = grey.valid_range()
    assert bool(((moved >= low) & (moved <= high)).all()), "valid_pixels"


def test_its_config_is_one_like_all_others(grey: ImageData) -> None:
    small = networks.spec("convnet", width=4)
    light = parameter(0.2, help="Aim.", range=(0, 1), explorable=(0, 1))
    method = from_loss("own", to_grey, network=small, count=3, flag=True, light=light, iterations=9)
    config = method.Config(count=4)
    assert (config.network, config.count, config.flag, config.light, config.iterations) == (
        small,
        4,
        True,
        0.2,
        9,
    )
    assert method.Config.from_string(config.to_string()) == config
    assert (
        describe(method.Config)["light"].explorable == (0, 1)
        and describe(method.Config)["iterations"].explorable
    )
    distilled = ddlab.distill(method, grey, config=method.Config(iterations=2), progress=False)
    assert (
        distilled.complete
        and distilled.provenance["method"] == "own"
        and distilled.provenance["config"]["count"] == 3
    )
    assert repr(method) == "<method 'own' from a loss>" and len(distilled) == grey.classes


def test_an_edited_loss_is_another_method(tmp_path: Path) -> None:
    sources = set()
    for factor in (1, 2):
        space: dict[str, Any] = {"__name__": "__main__"}
        text = (
            f"def scaled(x): return {factor} * x.sum()\ndef loss(config, inputs, images, labels, "
            "step): return scaled(images)"
        )
        exec(compile(text, "a cell", "exec"), space)
        sources.add(source(from_loss("own", space["loss"])))
    assert len(sources) == 2


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (
            lambda config, inputs, images, labels, step: 3.0,
            ["what the loss of own returns", "one number", "3.0"],
        ),
        (
            lambda config, inputs, images, labels, step: images,
            ["what the loss of own returns", "one number"],
        ),
        (lambda config, inputs, images, labels, step: {}, ["what the loss of own returns", "dict"]),
        (
            lambda config, inputs, images, labels, step: torch.ones(()),
            ["the loss of own", "computed from images"],
        ),
        (
            lambda config, inputs, images, labels, step: images.detach().sum(),
            ["the loss of own", "computed from images"],
        ),
    ],
)
def test_what_is_no_loss_is_refused(grey: ImageData, loss: Any, words: list[str]) -> None:
    with refuses(*words):
        ddlab.distill(from_loss("own", loss), grey, progress=False)


def test_wrong_parameters_are_refused(grey: ImageData) -> None:
    for wrong in (None, [1], torch.ones(2), object()):
        with refuses("light", "bool, int, float, str, NetworkSpec or Parameters"):
            from_loss("own", to_grey, light=wrong)
    with refuses("iterations", "at least 1"):
        from_loss("own", to_grey, iterations=0)
    with refuses("images_per_class", "at most"):
        ddlab.distill(from_loss("own", to_grey, images_per_class=999), grey, progress=False)
