"""Methods from a loss: what the loss is given, where the images go, what is refused; that they are
processes, the contract says.
"""

import dataclasses
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.core import describe, parameter
from ddlab.data import ImageData
from ddlab.methods.shared.own import from_loss
from ddlab.runs import Inputs, Keep, Run, checkpoint, source
from tests.support import global_randomness, refuses


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
    # The first two ask whether the loss repeats itself.
    (rate, images, labels, first), (_, moved, _, second) = calls[2:]
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


@pytest.mark.parametrize(
    "noise",
    [
        torch.rand_like,
        lambda images: torch.as_tensor(np.random.rand(*images.shape), dtype=torch.float32),
        lambda images: random.random(),
        lambda images: torch.nn.functional.dropout(torch.ones_like(images)),
    ],
    ids=["torch", "numpy", "random", "dropout"],
)
def test_a_loss_may_draw_as_torch_and_numpy_do(grey: ImageData, noise: Any, tmp_path: Path) -> None:
    def loss(config: Any, inputs: Any, images: torch.Tensor, labels: Any, step: int) -> Any:
        return (images - noise(images)).square().mean()

    method = from_loss("noisy", loss, iterations=6)
    inputs = Inputs(data=grey, device="cpu")
    made = []
    for state in (1, 2):
        torch.manual_seed(state)
        random.seed(state)
        np.random.seed(state)
        before = global_randomness()
        run = Run(method, method.Config(), inputs)
        made.append(run.to_end(progress=False))
        assert global_randomness() == before
    other_seed = Run(method, method.Config(seed=1), inputs).to_end(progress=False)
    half = Run(method, method.Config(), inputs).advance(until=3)
    checkpoint.save(tmp_path / "run", method, method.Config(), inputs, half.state())
    torch.rand(5)
    resumed = ddlab.distill(method, grey, checkpoint=tmp_path / "run", progress=False)
    assert made[0].fingerprint == made[1].fingerprint == resumed.fingerprint
    assert made[0].fingerprint != other_seed.fingerprint
    steps = [run.state(step).images for step in range(4)]
    assert not torch.equal(steps[1] - steps[0], steps[2] - steps[1]), "each step has its own draws"


def test_a_loss_that_never_repeats_itself_is_refused(grey: ImageData) -> None:
    outside = np.random.default_rng(0)
    for draw in (outside.random, lambda: np.random.default_rng().random()):

        def loss(
            config: Any, inputs: Any, images: torch.Tensor, labels: Any, step: int, draw: Any = draw
        ) -> Any:
            return (images.square() * draw()).sum()

        with refuses("the loss of drawn", "ddlab.methods.generator(config.seed, step, stream)"):
            ddlab.distill(from_loss("drawn", loss), grey, progress=False)


def test_a_process_of_ones_own_may_draw_too(grey: ImageData) -> None:
    method = from_loss("drawn", to_grey, iterations=2)
    parts = {name: getattr(method, name) for name in ("Config", "State", "Trace", "total_steps")}
    parts |= {name: getattr(method, name) for name in ("update", "finish")}

    def init(config: Any, inputs: Inputs) -> Any:
        state = method.init(config, inputs)
        return dataclasses.replace(state, images=torch.randn_like(state.images))

    own = SimpleNamespace(NAME="own", NEEDS=("data",), init=init, **parts)
    states = []
    for _ in range(2):
        torch.rand(3)
        states.append(Run(own, method.Config(), Inputs(data=grey, device="cpu")).begin().state())
    assert torch.equal(states[0].images, states[1].images)


@pytest.mark.parametrize("loss", [lambda images: images.sum(), lambda a, b, c, d, e, f: 0, "text"])
def test_a_loss_takes_five_arguments(loss: Any) -> None:
    with refuses("loss", "(config, inputs, images, labels, step)" if callable(loss) else "text"):
        from_loss("own", loss)


def test_wrong_parameters_are_refused(grey: ImageData) -> None:
    for wrong in (None, [1], torch.ones(2), object()):
        with refuses("light", "bool, int, float, str, NetworkSpec or Parameters"):
            from_loss("own", to_grey, light=wrong)
    with refuses("iterations", "at least 1"):
        from_loss("own", to_grey, iterations=0)
    with refuses("images_per_class", "at most"):
        ddlab.distill(from_loss("own", to_grey, images_per_class=999), grey, progress=False)
