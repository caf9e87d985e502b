"""Boost: its start against numpy, its gradients against finite differences, its bill, and KRR-ST as
the limit of whole bases.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from ddlab import networks
from ddlab.core import optimisers, randomness
from ddlab.data import ImageData, predefined_views
from ddlab.data.predefined_views import Kind
from ddlab.distilled import DistilledSet, shift_models
from ddlab.distilled.storage_budget import Shift
from ddlab.methods import boost, krr_st
from ddlab.methods.shared import kernel_ridge
from ddlab.networks import Network
from ddlab.runs import Inputs, cache, process
from ddlab.unlabelled import bases, sets
from tests.support import assert_same, doubled, made_data, refuses, run_to_end

SMALL: dict[str, Any] = {
    "network": networks.spec("convnet", width=3, growth=2, depth=2),
    "pool_size": 2,
    "pool_steps": 3,
    "iterations": 4,
    "batch_size": 40,
    "learning_rate": 1e-2,
    "ridge": 1e-3,
    "image_bases": 6,
    "representation_bases": 4,
    "pairs": 5,
}


def config(**changes: Any) -> boost.Config:
    return boost.Config(**SMALL | changes)


@pytest.fixture(scope="module")
def many() -> ImageData:
    """More images than pixels: 90 of 64."""
    return made_data(train=30)


@pytest.fixture
def inputs(many: ImageData, teacher: Network) -> Inputs:
    return Inputs(data=many, teachers=(teacher,))


def wide(data: ImageData, monkeypatch: pytest.MonkeyPatch, width: int = 512) -> Inputs:
    """Inputs whose teacher seems to have so many features."""
    monkeypatch.setattr(
        sets,
        "representations",
        lambda teacher, data, **_: torch.zeros(len(data.train_labels), width),
    )
    return Inputs(
        data=data,
        teachers=(networks.initialise(networks.spec("convnet", width=2).for_data(data), seed=0),),
    )


def upsampled(images: np.ndarray) -> np.ndarray:
    """Twice as large, bilinear with corners not aligned: three quarters of the nearest pixel and a
    quarter of the next.
    """
    for axis in (2, 3):
        length = images.shape[axis]
        before = images.take([0, *range(length - 1)], axis)
        after = images.take([*range(1, length), length - 1], axis)
        halves = [0.75 * images + 0.25 * neighbour for neighbour in (before, after)]
        shape = [2 * n if i == axis else n for i, n in enumerate(images.shape)]
        images = np.stack(halves, axis + 1).reshape(shape)
    return images


def principal(points: np.ndarray, count: int, *, centred: bool) -> np.ndarray:
    """The first rows of V^T, [count, d]."""
    return np.linalg.svd(points - points.mean(0) * centred, full_matrices=False)[2][:count]


def features(teacher: Network, images: np.ndarray) -> np.ndarray:
    return networks.predict(teacher, torch.from_numpy(images).float()).features.double().numpy()


@pytest.mark.parametrize("with_mean", [False, True])
def test_the_principal_start_is_numpys(
    with_mean: bool, inputs: Inputs, many: ImageData, teacher: Network
) -> None:
    settings = config(representation_mean=with_mean)
    state = boost.init(settings, inputs)
    images, targets = (part.double().numpy() for part in boost.pairs(settings, state.parameters))
    every = many.normalised(torch.arange(90)).double().numpy()
    chosen = krr_st.real_indices(90, 5, seed=0).numpy()
    small = every.reshape(90, 1, 4, 2, 4, 2).mean((3, 5)).reshape(90, 16)
    directions = principal(small, 6, centred=True)
    projected = upsampled((small[chosen] @ directions.T @ directions).reshape(5, 1, 4, 4))
    views = np.stack([np.rot90(projected, turns, (2, 3)) for turns in range(4)])
    np.testing.assert_allclose(images, views.reshape(20, 1, 8, 8), atol=1e-5)
    real_features = features(teacher, every)
    mean = real_features.mean(0) * with_mean
    directions = principal(real_features - mean, 4, centred=False)
    # The first row is of the real images, the views' are of what the set holds.
    differences = (
        np.concatenate(
            [real_features[chosen], *(features(teacher, view.copy()) for view in views[1:])]
        )
        - mean
    )
    np.testing.assert_allclose(targets, differences @ directions.T @ directions + mean, atol=1e-4)
    assert ("representation_mean" in state.parameters) is with_mean


def test_starts_are_crossed(inputs: Inputs, many: ImageData) -> None:
    """What bases begin as has no say in what random coefficients are, nor these in the bases;
    projections are least squares.
    """
    starts = {}
    for kind in boost.STARTS:
        for coefficients in ("projection", "random"):
            starts[(kind, coefficients)] = boost.init(
                config(bases_start=kind, coefficients_start=coefficients), inputs
            ).parameters
    small = F.avg_pool2d(many.normalised(torch.arange(90)), 2)
    chosen = small[krr_st.real_indices(90, 5, seed=0)].flatten(1).double().numpy()
    for kind in boost.STARTS:
        projected = starts[kind, "projection"]
        random_start = starts[kind, "random"]
        for name in ("image_bases", "representation_bases"):
            assert torch.equal(projected[name], random_start[name])
        for name in ("image_coefficients", "representation_coefficients"):
            assert torch.equal(random_start[name], starts["principal", "random"][name])
            assert projected[name].shape == random_start[name].shape
        columns = projected["image_bases"].flatten(1).T.double().numpy()
        solved = np.linalg.lstsq(columns, chosen.T, rcond=None)[0].T
        np.testing.assert_allclose(projected["image_coefficients"].numpy(), solved, atol=1e-4)
    real = starts["real", "projection"]["image_bases"]
    for base in real:
        assert any(torch.allclose(base, small_image) for small_image in small)
    assert len(real.unique(dim=0)) == 6
    teacher_features = krr_st.teacher_features(inputs)
    for base in starts["real", "random"]["representation_bases"]:
        assert any(torch.allclose(base, features_of_one) for features_of_one in teacher_features)


def test_random_starts_are_standard_normal(inputs: Inputs) -> None:
    settings = config(
        bases_start="random",
        coefficients_start="random",
        image_bases=16,
        representation_bases=8,
        pairs=80,
    )
    for name, value in boost.init(settings, inputs).parameters.items():
        # The mean of n numbers has a standard error of n^-1/2, their variance one of (2 / n)^1/2.
        assert abs(float(value.mean())) < 4 * value.numel() ** -0.5, name
        assert abs(float(value.var()) - 1) < 4 * (2 / value.numel()) ** 0.5, name
    seed_1 = boost.init(settings.replace(seed=1), inputs).parameters
    seed_0 = boost.init(settings.replace(seed=0), inputs).parameters
    assert not any(torch.equal(seed_1[name], seed_0[name]) for name in seed_0)


def test_how_many_pairs_the_published_budget_buys(monkeypatch: pytest.MonkeyPatch) -> None:
    """CIFAR-100, 100 images, a teacher with 512 features: 114, or 113 with the representations'
    mean.
    """
    wide_inputs = wide(made_data(channels=3, size=32), monkeypatch)
    assert boost.count_pairs(boost.Config.paper("cifar100"), wide_inputs) == 114
    assert (
        boost.count_pairs(boost.Config.paper("cifar100", representation_mean=True), wide_inputs)
        == 113
    )
    assert boost.count_pairs(boost.Config.paper("cifar100", pairs=7), wide_inputs) == 7
    spent = boost.factors(boost.Config.paper("cifar100"), wide_inputs)
    assert spent.bill(114).total <= 100 * 3072 < spent.bill(115).total


def test_a_budget_for_no_pair_says_which_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 bases of each kind: 153,600 + 102,400 floats and the networks' 5,412, then 400 a pair: 86
    images of 3,072.
    """
    wide_inputs = wide(made_data(channels=3, size=32), monkeypatch)
    settings = boost.Config.paper("cifar100").replace(budget=25)
    with refuses("budget", "86 images"):
        boost.init(settings, wide_inputs)
    assert boost.count_pairs(settings.replace(budget=86), wide_inputs) >= 1


@pytest.fixture
def in_double(
    inputs: Inputs, teacher: Network, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Inputs]:
    """All that a run computes is float64."""
    normalised = ImageData.normalised
    initialise = networks.initialise
    cache.clear()
    monkeypatch.setattr(
        ImageData,
        "normalised",
        lambda *arguments, **options: normalised(*arguments, **options).double(),
    )
    monkeypatch.setattr(
        networks,
        "initialise",
        lambda *arguments, **options: doubled(initialise(*arguments, **options)),
    )
    yield dataclasses.replace(inputs, teachers=(doubled(teacher),))
    cache.clear()  # what float64 images give is not what the next test must find


def test_whole_bases_are_krr_st(in_double: Inputs) -> None:
    """Scale 1, as many bases as there are dimensions, no views: the same pairs, and the same losses
    until the first outer step.
    """
    full = bases.rank(krr_st.teacher_features(in_double), centred=False)
    settings = config(
        scale=1, image_bases=64, representation_bases=full, augmentation="none", pairs=7
    )
    fields: dict[str, Any] = {
        name: getattr(settings, name) for name in krr_st.Config.__dataclass_fields__
    }
    plain = krr_st.Config(**fields).replace(budget=7)
    whole = krr_st.init(plain, in_double)
    parts = boost.init(settings, in_double)
    images, targets = boost.pairs(settings, parts.parameters)
    torch.testing.assert_close(images, whole.parameters["images"], rtol=0, atol=1e-9)
    torch.testing.assert_close(targets, whole.parameters["representations"], rtol=0, atol=1e-9)
    count = krr_st.filling_steps(plain) + 1
    for plain_step, boost_step in zip(
        list(process.steps(krr_st, plain, in_double))[:count],
        list(process.steps(boost, settings, in_double))[:count],
        strict=True,
    ):
        assert (plain_step.trace.phase, plain_step.trace.network) == (
            boost_step.trace.phase,
            boost_step.trace.network,
        )
        assert float(plain_step.trace.loss) == pytest.approx(float(boost_step.trace.loss), rel=1e-7)
    assert plain_step.trace.phase == "outer"


@pytest.mark.parametrize("augmentation", ["none", "rotation", "jigsaw", "crop"])
def test_all_views_enter_both_losses(
    augmentation: Kind, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = []
    learnt = []
    outer = kernel_ridge.outer_loss
    trained = krr_st.pools.train_once

    def watched_loss(
        real: Tensor, real_targets: Tensor, distilled: Tensor, targets: Tensor, **options: Any
    ) -> Tensor:
        rows.append((len(real), len(distilled), len(targets)))
        return outer(real, real_targets, distilled, targets, **options)

    def taught(
        pool: Any, spec: Any, index: int, images: Tensor, targets: Tensor, **options: Any
    ) -> Any:
        learnt.append((len(images), len(targets)))
        return trained(pool, spec, index, images, targets, **options)

    monkeypatch.setattr(kernel_ridge, "outer_loss", watched_loss)
    monkeypatch.setattr(krr_st.pools, "train_once", taught)
    run_to_end(boost, config(augmentation=augmentation), inputs)
    views = {"none": 0, "rotation": 3, "jigsaw": 3, "crop": 5}[augmentation]
    assert set(rows) == {(40, 5 * (views + 1), 5 * (views + 1))} and len(rows) == 4
    assert set(learnt) == {(5 * (views + 1), 5 * (views + 1))}


@pytest.mark.parametrize("with_mean", [False, True])
def test_the_outer_step_follows_finite_differences(
    with_mean: bool, in_double: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gradient that AdamW is given, with respect to every parameter, in float64; the ridge is a
    constant.
    """
    settings = config(
        image_bases=2, representation_bases=2, pairs=2, representation_mean=with_mean, pool_size=1
    )
    state = boost.init(settings, in_double)
    for _ in range(krr_st.filling_steps(settings)):
        state, _ = boost.update(settings, in_double, state)
    slopes = {}
    update = optimisers.adamw_update

    def spied(parameters: Any, gradients: Any, *arguments: Any, **options: Any) -> Any:
        slopes.update(gradients)
        return update(parameters, gradients, *arguments, **options)

    monkeypatch.setattr(optimisers, "adamw_update", spied)
    boost.update(settings, in_double, state)
    assert slopes.keys() == state.parameters.keys()
    draw = randomness.generator(0, 0, "outer step")
    torch.randint(1, (), generator=draw)
    batch = torch.randperm(90, generator=draw)[:40]
    spec = krr_st.inner_spec(settings, in_double)
    weights = state.pool.network(0)
    assert in_double.data is not None
    real = in_double.data.normalised(batch)
    real_targets = krr_st.teacher_features(in_double)[batch]

    def padded(images: Tensor) -> Tensor:
        return F.pad(networks.call(spec, weights, images)[0].features, (0, 1), value=1.0)

    def gathered(values: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        small = torch.einsum("mu,uchw->mchw", values["image_coefficients"], values["image_bases"])
        images = torch.from_numpy(upsampled(small.numpy()))
        views = torch.cat([images.rot90(turns, (2, 3)) for turns in range(4)])
        view_targets = torch.einsum(
            "amv,vd->amd", values["representation_coefficients"], values["representation_bases"]
        )
        return padded(views), (
            view_targets + values.get("representation_mean", torch.zeros(()))
        ).flatten(0, 1)

    start = gathered(state.parameters)[0]
    ridge = settings.ridge * (start @ start.T).trace() * torch.eye(8, dtype=torch.float64)
    of_real = padded(real)

    def loss(values: dict[str, Tensor]) -> float:
        views, view_targets = gathered(values)
        return float(
            (
                real_targets
                - of_real @ views.T @ torch.linalg.solve(views @ views.T + ridge, view_targets)
            )
            .square()
            .mean()
        )

    for name, value in state.parameters.items():
        difference_slopes = torch.zeros_like(value).flatten()
        step = 1e-6
        for place in range(value.numel()):
            moved = torch.zeros_like(value).flatten()
            moved[place] = step
            losses = [
                loss(state.parameters | {name: value + sign * moved.reshape(value.shape)})
                for sign in (1.0, -1.0)
            ]
            difference_slopes[place] = (losses[0] - losses[1]) / (2 * step)
        torch.testing.assert_close(slopes[name].flatten(), difference_slopes, rtol=1e-4, atol=1e-7)
        assert float(difference_slopes.abs().max()) > 1e-4, name


@pytest.mark.parametrize("shift", ["same", "bias", "networks", "stored"])
@pytest.mark.parametrize("augmentation", ["none", "crop"])
@pytest.mark.parametrize("with_mean", [False, True])
def test_what_is_finished_takes_what_the_bill_says(
    shift: Shift, augmentation: Kind, with_mean: bool, inputs: Inputs
) -> None:
    settings = config(
        shift=shift,
        augmentation=augmentation,
        representation_mean=with_mean,
        hidden=2,
        iterations=1,
    )
    steps = list(process.steps(boost, settings, inputs))
    distilled = boost.finish(settings, inputs, steps[-1].state)
    parameters = steps[-1].state.parameters
    assert distilled.storage_floats() == boost.factors(settings, inputs).bill(5).total
    images, targets = distilled.pairs()
    exact = boost.pairs(settings, parameters)
    torch.testing.assert_close(images, exact[0])
    views = len(predefined_views.NAMES[augmentation])
    # The images' own are kept whatever the shift.
    torch.testing.assert_close(targets[:5], exact[1][:5])
    coefficients = parameters["representation_coefficients"]
    if views > 1:
        fitted = shift_models.fit(coefficients[0], coefficients[1:], shift, hidden=2, seed=0)
        made_of = shift_models.shifted(coefficients[0], fitted, shift, views=views - 1)
        expected = boost.pairs(settings, parameters | {"representation_coefficients": made_of})[1]
        torch.testing.assert_close(targets, expected)
    if shift == "stored" or views == 1:
        torch.testing.assert_close(targets, exact[1])
    assert (
        distilled.complete and distilled.kind == "factorised" and distilled.settings == {"scale": 2}
    )


def test_a_finished_set_is_read_from_its_file(inputs: Inputs, tmp_path: Any) -> None:
    distilled = run_to_end(boost, config(), inputs)
    read = DistilledSet.load(distilled.save(tmp_path / "set.safetensors"))
    assert_same(list(distilled.pairs()), list(read.pairs()))
    assert read.fingerprint == distilled.fingerprint and read.provenance["method"] == boost.NAME


def test_wrong_numbers_are_named(inputs: Inputs) -> None:
    for name, wrong, words in (
        ("image_bases", 17, ["image_bases", "[1, 16]", "17"]),  # more than a basis has numbers
        ("representation_bases", 9, ["representation_bases", "[1, 8]", "9"]),
        ("pairs", 91, ["pairs", "90", "91"]),
        ("scale", 3, ["scale", "divisor", "3"]),
    ):
        with refuses(*words):
            boost.init(config(**{name: wrong}), inputs)
    with refuses("budget", "90 pairs"):
        boost.init(config(pairs=None, budget=1000), inputs)


def test_more_bases_than_the_rank_are_named_by_the_config(teacher: Network) -> None:
    inputs = Inputs(data=made_data(train=2), teachers=(teacher,))
    with refuses("image_bases", "[1, 5]", "rank", "given 6"):
        boost.init(config(), inputs)
    with refuses("representation_bases", "rank", "given 8"):
        boost.init(config(image_bases=3, representation_bases=8), inputs)
    with refuses("image_bases", "[1, 6]", "given 7"):
        boost.init(config(image_bases=7, bases_start="real"), inputs)


def test_views_that_images_cannot_have(grey: ImageData) -> None:
    wider = {
        f"{split}_images": grey.images(split).repeat(1, 1, 1, 2) for split in ("train", "test")
    }
    oblong = dataclasses.replace(grey, **wider)
    teacher = networks.initialise(
        networks.spec("convnet", width=8, depth=2).for_data(oblong), seed=0
    )
    inputs = Inputs(data=oblong, teachers=(teacher,))
    with refuses("images", "square"):
        boost.init(config(), inputs)
    assert run_to_end(boost, config(augmentation="jigsaw"), inputs).image_size == (8, 16)


def test_presets() -> None:
    large = boost.Config.paper("cifar100", budget=5000)
    assert (large.budget, large.image_bases, large.representation_bases) == (5000, 700, 500)
    with refuses("budget", "25"):
        boost.Config.paper("cifar10", budget=30)
