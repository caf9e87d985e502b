"""Networks: built by seed, called purely, equal to plain modules."""

import dataclasses
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import ddlab
from ddlab import networks
from ddlab.core import storage
from ddlab.data import ImageData
from ddlab.networks import Network, NetworkSpec, calling, convnet, zoo
from ddlab.networks.folding import fold_batch_norms
from ddlab.networks.specification import hooked_layers, skeleton
from ddlab.runs import Inputs
from ddlab.training import supervised
from tests.support import (
    assert_same,
    assert_unchanged,
    doubled,
    global_randomness,
    made_data,
    refuses,
    run_to_end,
    snapshot,
)

GREY = made_data()


def module_of(spec: NetworkSpec) -> Any:
    """What builds a family."""
    return networks.FAMILIES[spec.family]


OPTIONS: list[dict[str, Any]] = [
    {},
    *({"norm": norm} for norm in ("instance", "group", "layer", "none")),
    *({"activation": activation} for activation in ("leaky_relu", "sigmoid")),
    *({"pooling": pooling} for pooling in ("max", "none")),
    {"depth": 1},
    {"depth": 2, "width": 5, "norm": "group"},
    {"growth": 3},
]
FAMILIES = [
    *(
        (f"convnet {options}", networks.spec("convnet", **{"width": 4} | options))
        for options in OPTIONS
    )
]
TWINS = ("resnet50", "efficientnet_b0")  # made as resnet18 and mobilenet_v2 are
FAMILIES += [(family, networks.spec(family)) for family in zoo.FAMILIES if family not in TWINS]
FAMILIES += [
    ("vit", networks.spec("vit", width=8, depth=2)),
    ("vit of one head", networks.spec("vit", width=5, depth=1, heads=1, patch_size=2)),
]
every_spec = pytest.mark.parametrize(
    "spec",
    [spec.for_data(made_data(size=max(8, module_of(spec).SMALLEST_IMAGE))) for _, spec in FAMILIES],
    ids=[name for name, _ in FAMILIES],
)
# The last layer before (global) pooling, named again by hand.
LAST_CONV = {
    "resnet18": "layer4.1",
    "vgg11": "features.25",
    "mobilenet_v2": "features.18.2",
    "shufflenet_v2_x0_5": "conv5.2",
    "densenet121": "features.relu5",
    "lenet": "maps.4",
    "vit": "maps",
}


def plain(network: Network) -> nn.Module:
    """The same network as an ordinary module with its own weights."""
    spec = network.spec
    assert spec.channels is not None and spec.classes is not None and spec.image_size is not None
    module = module_of(spec).build(spec.channels, spec.classes, spec.image_size, spec.options)
    module.load_state_dict({name: value.clone() for name, value in network.weights.items()})
    return module


def images_for(spec: NetworkSpec) -> Tensor:
    assert spec.image_size is not None
    return batch(size=spec.image_size[0])


def batch(count: int = 5, seed: int = 0, size: int = 8, channels: int = 1) -> Tensor:
    return torch.randn((count, channels, size, size), generator=torch.Generator().manual_seed(seed))


@every_spec
def test_same_seed_same_weights(spec: NetworkSpec) -> None:
    before = global_randomness()
    seed_3 = networks.initialise(spec, seed=3)
    torch.rand(3)
    seed_3_again = networks.initialise(spec, seed=3)
    large_seed = networks.initialise(spec, seed=2**40 + 3)
    assert_same(seed_3.weights, seed_3_again.weights)
    assert seed_3.fingerprint == seed_3_again.fingerprint != large_seed.fingerprint
    weights = [
        name
        for name in networks.parameter_names(spec)
        if name.endswith("weight") and seed_3.weights[name].ndim > 1
    ]
    assert weights and not any(
        torch.equal(seed_3.weights[name], large_seed.weights[name]) for name in weights
    )
    torch.manual_seed(0)
    networks.initialise(spec, seed=1)
    global_draw = torch.rand(3)
    torch.manual_seed(0)
    assert torch.equal(torch.rand(3), global_draw) and before is not None


def test_nothing_global_is_drawn_where_no_skeleton_was_built_yet() -> None:
    spec = networks.spec("convnet", width=7, depth=2, norm="group").for_data(GREY)
    before = global_randomness()
    network = networks.initialise(spec, seed=0)
    networks.predict(network, batch())
    assert global_randomness() == before


@every_spec
@pytest.mark.parametrize("train", [False, True])
def test_equals_the_plain_module(spec: NetworkSpec, train: bool) -> None:
    network = networks.initialise(spec, seed=0)
    images = images_for(spec)
    module = plain(network).train(train)
    outputs, buffers = networks.call(spec, network.weights, images, train)
    assert torch.equal(outputs.logits, module(images))
    expected = dict(module.named_buffers())
    assert_same(buffers, {name: expected[name] for name in buffers})
    assert buffers.keys() == expected.keys()
    changed = any(not torch.equal(value, network.weights[name]) for name, value in buffers.items())
    assert changed is (train and bool(expected))


@every_spec
@pytest.mark.parametrize("train", [False, True])
def test_call_is_pure(spec: NetworkSpec, train: bool) -> None:
    network = networks.initialise(spec, seed=0)
    images = images_for(spec)
    before = snapshot((network.weights, images))
    first, _ = networks.call(spec, network.weights, images, train)
    assert_unchanged(before, (network.weights, images))
    second, _ = networks.call(spec, network.weights, images, train)
    assert_same(first, second)


@every_spec
def test_gradients_equal_the_plain_modules(spec: NetworkSpec) -> None:
    network = networks.initialise(spec, seed=0)
    images = images_for(spec)
    module = plain(network).train()
    module(images).square().sum().backward()
    names = networks.parameter_names(spec)
    assert names == [name for name, _ in module.named_parameters()]
    leaves = {name: network.weights[name].clone().requires_grad_() for name in names}
    outputs, _ = networks.call(spec, {**network.weights, **leaves}, images, train=True)
    gradients = torch.autograd.grad(outputs.logits.square().sum(), list(leaves.values()))
    for gradient, (_, parameter) in zip(gradients, module.named_parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)


@every_spec
@pytest.mark.parametrize("train", [False, True])
def test_inner_outputs_equal_independent_hooks(spec: NetworkSpec, train: bool) -> None:
    network = networks.initialise(spec, seed=0)
    images = images_for(spec)
    module = plain(network).train(train)
    hooked_inputs = {}
    for name, layer in module.named_modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.register_forward_hook(
                lambda _, arguments, __, name=name: hooked_inputs.__setitem__(
                    name, arguments[0].clone()
                )
            )
    named = f"blocks.{len(getattr(module, 'blocks', '')) - 1}.activation"
    last = module.get_submodule(LAST_CONV.get(spec.family, named))
    hooked: dict[str, Tensor] = {}
    last.register_forward_hook(
        lambda _, __, output: hooked.__setitem__("last_conv", output.clone())
    )
    linear = [layer for layer in module.modules() if isinstance(layer, nn.Linear)][-1]
    linear.register_forward_hook(
        lambda _, arguments, __: hooked.__setitem__("features", arguments[0].clone())
    )
    module(images)
    inputs: dict[str, Tensor] = {}

    def copied(name: str, value: Tensor) -> Tensor:
        inputs[name] = value.clone()  # an in-place layer may follow
        return value

    outputs, _ = networks.call(spec, network.weights, images, train, at_batch_norm=copied)
    assert list(inputs) == networks.batch_norm_layers(spec) == list(hooked_inputs)
    assert_same(inputs, hooked_inputs)
    assert torch.equal(outputs.last_conv, hooked["last_conv"]) and torch.equal(
        outputs.features, hooked["features"]
    )
    assert outputs.last_conv.ndim == 4 and outputs.features.ndim == 2


def test_a_function_in_front_of_every_batch_norm(teacher: Network) -> None:
    names = []

    def doubled(name: str, value: Tensor) -> Tensor:
        names.append(name)
        return 2 * value

    outputs, _ = networks.call(teacher.spec, teacher.weights, batch(), at_batch_norm=doubled)
    module = plain(teacher).eval()
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.register_forward_pre_hook(lambda _, arguments: (2 * arguments[0],))
    assert torch.equal(outputs.logits, module(batch())) and names == networks.batch_norm_layers(
        teacher.spec
    )
    assert_same(
        networks.call(teacher.spec, teacher.weights, batch())[0].logits,
        plain(teacher).eval()(batch()),
    )


@every_spec
def test_as_a_plain_module(spec: NetworkSpec) -> None:
    """The same logits and, at every batch norm, the same inputs as `call`; copies, so that nothing
    flows back.
    """
    network = networks.initialise(spec, seed=1)
    network = doubled(network)
    before = snapshot(network.weights)
    module = network.module()
    hooked_inputs = []
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.register_forward_pre_hook(lambda _, arguments: hooked_inputs.append(arguments[0]))
    images = torch.randn(3, spec.channels or 0, *(spec.image_size or ()), dtype=torch.float64)
    inputs: dict[str, Tensor] = {}
    outputs, _ = networks.call(spec, network.weights, images, at_batch_norm=inputs.setdefault)
    assert not module.training and all(parameter.requires_grad for parameter in module.parameters())
    torch.testing.assert_close(module(images), outputs.logits, rtol=1e-12, atol=1e-12)
    for hooked, expected in zip(hooked_inputs, inputs.values(), strict=True):
        torch.testing.assert_close(hooked, expected, rtol=1e-12, atol=1e-12)
    module.train()(images)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    assert_unchanged(before, network.weights)
    assert torch.equal(networks.call(spec, network.weights, images)[0].logits, outputs.logits)


def test_an_error_inside_leaves_no_hook_behind(teacher: Network) -> None:
    def fails(name: str, value: Tensor) -> Tensor:
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        networks.call(teacher.spec, teacher.weights, batch(), at_batch_norm=fails)
    assert torch.equal(
        networks.call(teacher.spec, teacher.weights, batch())[0].logits,
        plain(teacher).eval()(batch()),
    )


def test_two_threads_with_one_spec(teacher: Network, other_teacher: Network) -> None:
    work = []
    for seed in range(10):
        for network in (teacher, other_teacher):
            for train in (True, False):
                work.append((network, batch(seed=seed), train))
    expected = [networks.call(n.spec, n.weights, x, train) for n, x, train in work]
    results: list[dict[int, Any]] = [{}, {}]
    gate = threading.Barrier(2)

    def worker(number: int) -> None:
        gate.wait()
        for _ in range(3):
            for place, (network, images, train) in list(enumerate(work))[number::2]:
                results[number][place] = networks.call(network.spec, network.weights, images, train)

    threads = [threading.Thread(target=worker, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, result in enumerate(expected):
        assert_same(results[place % 2][place], result)


@pytest.mark.parametrize("family", ["convnet", "lenet", "vgg11", "shufflenet_v2_x0_5", "vit"])
def test_running_and_following_shapes_agree_on_sizes(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = networks.spec(family).for_data(
        made_data(classes=2, channels=3, size=32, train=2, test=2)
    )
    sizes = [(side, side) for side in (1, 2, 7, 8, 16, 31, 32, 33, 64)] + [(32, 40), (64, 16)]
    run = [calling._runs_on.__wrapped__(spec, *size) for size in sizes]
    monkeypatch.setattr(calling, "_PIXELS_RUN", 0)
    assert run == [calling._runs_on.__wrapped__(spec, *size) for size in sizes]
    assert run[sizes.index((32, 32))] is True


def test_asking_for_sizes_imports_no_compiler() -> None:
    """In a fresh interpreter: torch._dynamo takes 150 MB."""
    code = """
import sys
from ddlab import networks
from ddlab.data import load
data = load("shapes", size=32, train=10, test=1)
for family in ("convnet", "lenet"):  # torchvision's networks import it themselves
    networks.takes_size(networks.spec(family).for_data(data), (24, 24))
networks.takes_size(networks.spec("convnet", norm="group", head="mean").for_data(data), (24, 24))
sys.exit("torch._dynamo" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_large_images_are_predicted_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more pixels at once than 512 images of 32 px have: memory goes with them."""
    spec = networks.spec("convnet", width=1, depth=1, head="mean")
    batch_sizes: list[int] = []
    call = calling.call

    def spied(spec: Any, weights: Any, images: Tensor, *arguments: Any, **options: Any) -> Any:
        batch_sizes.append(len(images))
        return call(spec, weights, images, *arguments, **options)

    monkeypatch.setattr(calling, "call", spied)
    for size, expected in (
        (16, [512, 188]),
        (32, [512, 188]),
        (64, [128] * 5 + [60]),
        (724, [1, 1]),
    ):
        count = 2 if size > 64 else 700
        data = made_data(classes=2, channels=1, size=size, train=2, test=2)
        network = networks.initialise(spec.for_data(data), seed=0)
        networks.predict(network, torch.zeros(count, 1, size, size))
        assert batch_sizes == expected, size
        batch_sizes.clear()


def test_predict_is_batched_and_without_gradients(teacher: Network) -> None:
    images = batch(7).requires_grad_()
    whole = networks.predict(teacher, images)
    parts = networks.predict(teacher, images, batch_size=3)
    assert not whole.logits.requires_grad and torch.is_grad_enabled()
    for name in ("logits", "features", "last_conv"):
        torch.testing.assert_close(getattr(parts, name), getattr(whole, name))
    assert networks.predict(teacher, batch(0)).logits.shape == (0, 3)


@pytest.mark.parametrize(
    ("size", "depth"),
    [(8, 3), (16, 3), (28, 3), (32, 3), (64, 4), (96, 5), (128, 5), (224, 6), (256, 6), (512, 6)],
)
def test_depth_rule(size: int, depth: int) -> None:
    assert convnet.depth_for((size, size)) == convnet.depth_for((size, 2 * size)) == depth
    spec = NetworkSpec(
        family="convnet",
        options=convnet.Options(width=2),
        channels=3,
        classes=2,
        image_size=(size, size),
    )
    assert len(networks.batch_norm_layers(spec)) == depth
    deep = dataclasses.replace(spec, options=convnet.Options(width=2, depth=2))
    assert len(networks.batch_norm_layers(deep)) == 2


@settings(max_examples=20)
@given(
    height=st.integers(8, 20),
    width=st.integers(8, 20),
    channels=st.sampled_from([1, 3]),
    pooling=st.sampled_from(["average", "none"]),
)
def test_images_of_any_shape(height: int, width: int, channels: int, pooling: str) -> None:
    options = convnet.Options(width=3, pooling=pooling)
    spec = NetworkSpec(
        family="convnet", options=options, channels=channels, classes=4, image_size=(height, width)
    )
    network = networks.initialise(spec, seed=0)
    assert networks.predict(network, torch.zeros(2, channels, height, width)).logits.shape == (2, 4)


def test_too_deep() -> None:
    with refuses("depth", "at most 3", "given 4"):
        networks.initialise(networks.spec("convnet", depth=4).for_data(GREY), seed=0)
    assert networks.initialise(
        networks.spec("convnet", width=2, depth=8, pooling="none").for_data(GREY), seed=0
    )


@pytest.mark.parametrize(
    ("size", "width", "depth", "widths"),
    [(32, 128, None, [128, 256, 512]), (64, 64, None, [64, 128, 256, 512]), (8, 3, 1, [3])],
)
def test_growing_channels(size: int, width: int, depth: int | None, widths: list[int]) -> None:
    """KRR-ST's networks; the linear layer sees the last block's channels."""
    options = convnet.Options(width=width, growth=2, depth=depth)
    spec = NetworkSpec(
        family="convnet", options=options, channels=3, classes=5, image_size=(size, size)
    )
    module: Any = skeleton(spec)
    assert [block.convolution.out_channels for block in module.blocks] == widths
    assert [block.normalisation.num_features for block in module.blocks] == widths
    assert module.classifier.in_features == widths[-1] * (size // 2 ** len(widths)) ** 2
    mean: Any = skeleton(dataclasses.replace(spec, options=options.replace(head="mean")))
    assert mean.classifier.in_features == widths[-1]
    assert spec.title == f"convnet({options.to_string()})" and "growth=2" in spec.title


def stem(size: int, channels: int) -> tuple[nn.Conv2d, nn.Module]:
    with torch.device("meta"):
        module: Any = zoo.FAMILIES["resnet18"].make(channels, 10, (size, size))
    return module.conv1, module.maxpool


# Image size -> side of the map before (global) pooling.
EIGHTH = {16: 2, 28: 4, 32: 4, 64: 8, 224: 7}
FROM_TORCHVISION = (
    "resnet18",
    "resnet50",
    "mobilenet_v2",
    "shufflenet_v2_x0_5",
    "efficientnet_b0",
    "densenet121",
)
SIDES = dict.fromkeys(FROM_TORCHVISION, EIGHTH) | {
    "densenet121": EIGHTH | {28: 3},  # pools without padding: 28, 14, 7, 3
    "convnet": {16: 4, 28: 7, 32: 8, 64: 8, 224: 7},
    "vgg11": {16: 2, 28: 3, 32: 2, 64: 4, 224: 14},
    "lenet": {16: 4, 28: 10, 32: 10, 64: 26, 224: 106},
    "vit": {16: 4, 28: 7, 32: 8, 64: 16, 224: 56},
}


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [16, 28, 32, 64, pytest.param(224, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", networks.FAMILIES)
def test_sizes_of_maps(family: str, size: int, channels: int) -> None:
    spec = dataclasses.replace(
        networks.spec(family), channels=channels, classes=7, image_size=(size, size)
    )
    module = skeleton(spec)
    shapes = {}
    last, classifier = hooked_layers(spec)
    if family == "mlp" or family.startswith("text"):  # has no maps, and its features stand for them
        outputs = networks.predict(
            networks.initialise(spec, seed=0), torch.zeros(2, channels, size, size)
        )
        assert (
            last == ""
            and torch.equal(outputs.last_conv.flatten(1), outputs.features)
            and outputs.logits.shape == (2, 7)
        )
        return
    handles = [
        module.get_submodule(last).register_forward_hook(
            lambda _, __, out: shapes.__setitem__("last", [*out.shape])
        ),
        module.get_submodule(classifier).register_forward_pre_hook(
            lambda _, arguments: shapes.__setitem__("features", [*arguments[0].shape])
        ),
    ]
    try:
        assert module.eval()(torch.zeros(2, channels, size, size, device="meta")).shape == (2, 7)
    finally:
        for handle in handles:
            handle.remove()
    assert shapes["last"][2:] == [SIDES[family][size]] * 2
    if family not in ("convnet", "lenet"):
        assert shapes["features"] == shapes["last"][:2]  # the mean of each map


@pytest.mark.parametrize("family", networks.FAMILIES)
def test_other_sizes_where_the_network_takes_them(family: str) -> None:
    """Global pooling takes any size; a linear layer over all positions takes its own.

    Weights and stem stay as they were built.
    """
    data = made_data(size=16)
    free = family not in ("convnet", "lenet", "vit", "mlp", "text_conv", "text_rnn", "text_lstm")
    network = networks.initialise(networks.spec(family).for_data(data), seed=0)
    assert (
        networks.takes_size(network.spec, (16, 16))
        and networks.takes_size(network.spec, (20, 24)) is free
    )
    images = torch.rand(2, 1, 20, 24)
    with refuses("images", "[n, 1, 16, 16]", "[2, 1, 20, 24]"):
        networks.call(network.spec, network.weights, images)
    if not free:
        with refuses("images", "another size that it can take", "[2, 1, 20, 24]"):
            networks.call(network.spec, network.weights, images, any_size=True)
        return
    module = module_of(network.spec).build(1, 3, (16, 16), network.spec.options)
    module.load_state_dict(network.weights)
    outputs, _ = networks.call(network.spec, network.weights, images, any_size=True)
    assert torch.equal(outputs.logits, module.eval()(images))


def test_another_size_is_no_excuse_for_other_channels(teacher: Network) -> None:
    for shape in ((2, 3, 9, 9), (2, 1, 0, 9), (2, 1, 9)):
        with refuses("images", "[n, 1, 8, 8]"):
            networks.call(teacher.spec, teacher.weights, torch.zeros(shape), any_size=True)
    # Nine pixels end as one, like eight: this network's last layer sees no difference.
    networks.call(teacher.spec, teacher.weights, torch.zeros(2, 1, 9, 9), any_size=True)


@pytest.mark.parametrize("family", networks.FAMILIES)
def test_smallest_image(family: str) -> None:
    spec = networks.spec(family)
    smallest = module_of(spec).SMALLEST_IMAGE
    for size in {smallest, max(smallest, 8), 12 if family == "vit" else 13}:  # whole patches
        network = networks.initialise(spec.for_data(made_data(size=size)), seed=0)
        outputs = networks.predict(network, batch(1, size=size))
        assert outputs.logits.shape == (1, 3) and torch.isfinite(outputs.logits).all()
    if smallest > 1:
        with refuses("image_size", f"at least {smallest}", family):
            spec.for_data(made_data(size=smallest - 1))


@every_spec
def test_training_mode_draws_nothing(spec: NetworkSpec) -> None:
    network = networks.initialise(spec, seed=0)
    before = global_randomness()
    networks.call(spec, network.weights, images_for(spec), train=True)
    assert global_randomness() == before
    for layer in skeleton(spec).modules():
        assert float(getattr(layer, "p", 0.0)) == 0.0  # dropout and stochastic depth


@pytest.mark.parametrize("family", FROM_TORCHVISION)
def test_large_colour_images_get_torchvisions_own_network(family: str) -> None:
    import torchvision

    spec = dataclasses.replace(networks.spec(family), channels=3, classes=1000, image_size=(65, 65))
    network = networks.initialise(spec, seed=0)
    module = getattr(torchvision.models, family)(weights=None).eval()
    module.load_state_dict(network.weights)
    images = batch(2, size=65, channels=3)
    assert torch.equal(networks.predict(network, images).logits, module(images).detach())


def test_vgg_has_torchvisions_convolutions() -> None:
    import torchvision

    with torch.device("meta"):
        theirs = torchvision.models.vgg11_bn(weights=None).features
        ours: Any = zoo.FAMILIES["vgg11"].make(3, 10, (32, 32))
    assert str(ours.features) == str(theirs[:-1])


class TestViT:
    SPEC = dataclasses.replace(
        networks.spec("vit", width=12, depth=2, heads=3, patch_size=2),
        channels=3,
        classes=4,
        image_size=(8, 6),
    )

    def test_equals_torchs_own_layers_in_float64(self) -> None:
        """Outputs, and gradients with respect to the images."""
        network = networks.initialise(self.SPEC, seed=0)
        draw = torch.Generator().manual_seed(1)
        weights = {name: value.double() for name, value in network.weights.items()}
        weights = {
            name: value + 0.1 * torch.randn(value.shape, generator=draw)
            for name, value in weights.items()
        }
        images = torch.randn((5, 3, 8, 6), generator=draw, dtype=torch.float64, requires_grad=True)
        tokens = nn.functional.conv2d(
            images, weights["patches.weight"], weights["patches.bias"], stride=2
        )
        tokens = (tokens + weights["positions"]).reshape(5, 12, 12).transpose(1, 2)  # 4 x 3 patches
        theirs = {
            "self_attn.in_proj_": "attention.inputs.",
            "self_attn.out_proj.": "attention.outputs.",
            "norm1.": "attention_norm.",
            "norm2.": "hidden_norm.",
            "linear1.": "hidden.0.",
            "linear2.": "hidden.2.",
        }
        for number in range(2):
            layer = nn.TransformerEncoderLayer(
                12, 3, 48, 0.0, "gelu", batch_first=True, norm_first=True
            ).double()
            named = {}
            for t, o in theirs.items():
                for p in ("weight", "bias"):
                    named[t + p] = weights[f"blocks.{number}.{o}{p}"]
            layer.load_state_dict(named)
            tokens = layer(tokens)
        tokens = nn.functional.layer_norm(
            tokens, (12,), weights["norm.weight"], weights["norm.bias"]
        )
        expected = tokens.mean(1) @ weights["classifier.weight"].T + weights["classifier.bias"]
        outputs, _ = networks.call(self.SPEC, weights, images)
        torch.testing.assert_close(outputs.logits, expected, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(
            outputs.last_conv, tokens.transpose(1, 2).reshape(5, 12, 4, 3), rtol=1e-10, atol=1e-10
        )
        slopes = [
            torch.autograd.grad(logits.square().sum(), images)[0]
            for logits in (outputs.logits, expected)
        ]
        torch.testing.assert_close(*slopes, rtol=1e-9, atol=1e-9)

    def test_has_a_second_derivative_and_no_batch_norm(self) -> None:
        weights = {
            name: value.double()
            for name, value in networks.initialise(self.SPEC, seed=0).weights.items()
        }
        images = torch.randn(
            (1, 3, 8, 6), generator=torch.Generator().manual_seed(0), dtype=torch.float64
        )

        def squared(images: Tensor) -> Tensor:
            return networks.call(self.SPEC, weights, images)[0].logits.square().sum()

        assert torch.autograd.gradgradcheck(squared, images.requires_grad_(), fast_mode=True)
        assert networks.batch_norm_layers(self.SPEC) == []

    def test_patches_must_fill_the_image(self) -> None:
        for size, patch in ((13, 4), (8, 3), (8, 16)):
            with refuses(
                "patch_size",
                f"a divisor of the image's sides, {size} and {size} px",
                f"given {patch}",
            ):
                networks.initialise(
                    networks.spec("vit", patch_size=patch).for_data(made_data(size=size)), seed=0
                )


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [8, 32, 64])
def test_small_images_get_a_small_stem(size: int, channels: int) -> None:
    convolution, pool = stem(size, channels)
    assert (convolution.kernel_size, convolution.stride, convolution.padding) == (
        (3, 3),
        (1, 1),
        (1, 1),
    )
    assert (convolution.in_channels, convolution.bias) == (channels, None) and isinstance(
        pool, nn.Identity
    )


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [65, 96, 224])
def test_large_images_keep_the_large_stem(size: int, channels: int) -> None:
    convolution, pool = stem(size, channels)
    assert (convolution.kernel_size, convolution.stride, convolution.padding) == (
        (7, 7),
        (2, 2),
        (3, 3),
    )
    assert convolution.in_channels == channels and isinstance(pool, nn.MaxPool2d)


class TestSpec:
    @every_spec
    def test_round_trip(self, spec: NetworkSpec) -> None:
        assert NetworkSpec.from_dict(spec.to_dict()) == spec and hash(
            NetworkSpec.from_dict(spec.to_dict())
        ) == hash(spec)
        bare = dataclasses.replace(spec, channels=None, classes=None, image_size=None)
        assert NetworkSpec.from_dict(bare.to_dict()) == bare and not bare.complete and spec.complete

    @pytest.mark.parametrize(
        ("family", "options", "words"),
        [
            ("convnett", {}, ["family", "nearest: 'convnet'"]),
            ("convnet", {"with": 3}, ["a parameter of", "nearest: 'width'"]),
            ("convnet", {"width": 0}, ["width"]),
            ("convnet", {"norm": "batchnorm"}, ["norm", "'batch'"]),
            ("convnet", {"depth": 9}, ["depth"]),
            ("resnet18", {"width": 3}, ["a parameter of"]),
            ("mobilenet_v2", {"dropout": 0.2}, ["a parameter of"]),
            ("lenet", {"pooling": "none"}, ["a parameter of"]),
            ("convnet", {"growth": 5}, ["growth", "[1, 4]"]),
            ("vit", {"heads": 3}, ["heads", "a divisor of width, 128", "given 3"]),
            ("vit", {"dropout": 0.1}, ["a parameter of"]),
            ("resnet", {}, ["family", "nearest: 'resnet50', 'resnet18'"]),
        ],
    )
    def test_bad_input(self, family: Any, options: dict[str, Any], words: list[str]) -> None:
        with refuses(*words):
            networks.spec(family, **options)

    @pytest.mark.parametrize(
        "changes",
        [
            {"family": "x"},
            {"options": zoo.NoOptions()},
            {"options": None},
            {"channels": 0},
            {"classes": "3"},
            {"image_size": 8},
            {"image_size": (8,)},
            {"image_size": (4, 4)},
        ],
    )
    def test_bad_fields(self, changes: dict[str, Any]) -> None:
        with refuses(next(iter(changes))):
            NetworkSpec(**{"family": "convnet", "options": convnet.Options()} | changes)

    def test_data_that_does_not_fit(self) -> None:
        for family in ("convnet", "resnet18"):
            with refuses("image_size", "at least 8", "(4, 4)"):
                networks.spec(family).for_data(made_data(size=4))
        with refuses("data"):
            networks.spec("convnet").for_data(3)


class TestBadCalls:
    @pytest.mark.parametrize(
        "images",
        [
            torch.zeros(2, 3, 8, 8),
            torch.zeros(2, 1, 9, 8),
            torch.zeros(1, 8, 8),
            torch.zeros(2, 1, 8, 8, dtype=torch.uint8),
        ],
    )
    def test_images(self, images: Any, teacher: Network) -> None:
        with refuses("images", "[n, 1, 8, 8]"):
            networks.call(teacher.spec, teacher.weights, images)
        with refuses("images"):
            networks.predict(teacher, images)

    def test_a_spec_that_is_not_filled_in(self) -> None:
        with refuses("spec", "for_data"):
            networks.initialise(networks.spec("convnet"), seed=0)

    def test_weights_that_do_not_fit(self, teacher: Network) -> None:
        for weights in (
            {},
            {**teacher.weights, "more": torch.ones(1)},
            {**teacher.weights, "classifier.bias": torch.ones(9)},
        ):
            with refuses("weights", "convnet(width=8)"):
                Network(spec=teacher.spec, weights=weights)


class TestFiles:
    def test_round_trip(self, teacher: Network, tmp_path: Path) -> None:
        loaded = networks.load(teacher.save(tmp_path / "t"))
        assert_same(loaded, teacher)
        assert loaded.fingerprint == teacher.fingerprint

    def test_bad_files(self, teacher: Network, tmp_path: Path, grey: ImageData) -> None:
        file = teacher.save(tmp_path / "t")
        content = file.read_bytes()
        for place in range(0, 100, 7):
            file.write_bytes(content[: len(content) * place // 100])
            with refuses("path", "complete ddlab network file"):
                networks.load(file)
        with refuses("path", "existing"):
            networks.load(tmp_path / "none")
        file.write_bytes(content)
        tensors, header = storage.load(file, "network")
        storage.save(
            file,
            {name: value for name, value in tensors.items() if name != "classifier.bias"},
            header,
            "network",
        )
        with refuses("path", "parameters and buffers of convnet(width=8)"):
            networks.load(file)
        storage.save(file, tensors, header | {"spec": {"family": "transformer"}}, "network")
        with refuses("family"):
            networks.load(file)
        storage.save(file, tensors, {"provenance": {}}, "network")
        with refuses("path", "whole network"):
            networks.load(file)


def trained_buffers(network: Network) -> Network:
    """The network with batch norms whose scales, shifts and statistics are not those that they
    begin with.
    """
    draw = torch.Generator().manual_seed(1)
    moved = doubled(network.weights)
    for name in [name for name in moved if ".normalisation." in name and moved[name].ndim]:
        noise = torch.randn(moved[name].shape, generator=draw, dtype=torch.float64)
        moved[name] = noise.exp() if name.endswith("running_var") else moved[name] + noise
    return dataclasses.replace(network, weights=moved)


@pytest.mark.parametrize(
    "options", [{}, {"growth": 2, "activation": "leaky_relu"}, {"head": "mean", "pooling": "max"}]
)
def test_folded_batch_norms_say_the_same(options: dict[str, Any]) -> None:
    """In float64, with trained batch norms of scales of either sign; the gradients to the images
    too.
    """
    network = trained_buffers(
        networks.initialise(networks.spec("convnet", width=4, **options).for_data(GREY), seed=0)
    )
    before = snapshot(network.weights)
    spec, weights = fold_batch_norms(network.spec, network.weights)
    assert_unchanged(before, network.weights)
    assert spec == networks.spec("convnet", width=4, norm="none", **options).for_data(GREY)
    images = batch().double()
    towards = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    answers = []
    for some, values in ((network.spec, network.weights), (spec, weights)):
        leaf = images.clone().requires_grad_()
        outputs = networks.call(some, values, leaf)[0]
        slope = torch.autograd.grad((outputs.logits * towards).sum(), leaf)[0]
        answers.append((outputs.features.detach(), outputs.logits.detach(), slope))
    for folded_part, plain_part in zip(*answers, strict=True):
        torch.testing.assert_close(folded_part, plain_part, rtol=1e-12, atol=1e-12)
    assert float(answers[0][2].abs().max()) > 1e-3


@every_spec
def test_what_cannot_be_folded_stays_as_it_is(spec: NetworkSpec) -> None:
    network = networks.initialise(spec, seed=0)
    folded_spec, weights = fold_batch_norms(spec, network.weights)
    if spec.family == "convnet" and spec.options.norm == "batch":  # type: ignore[attr-defined]
        assert not networks.batch_norm_layers(folded_spec)
    else:
        assert folded_spec == spec and weights is not network.weights
        assert_same(weights, network.weights)


def test_a_call_leaves_the_skeleton_without_weights_also_where_it_fails() -> None:
    network = networks.initialise(
        networks.spec("convnet", width=2, norm="batch").for_data(GREY), seed=0
    )
    spec = network.spec
    images = GREY.normalised([0, 1])
    logits = networks.call(spec, network.weights, images)[0].logits

    def fails(layer: str, inputs: Tensor) -> Tensor:
        raise KeyError(layer)

    with pytest.raises(KeyError):
        networks.call(
            spec,
            {name: value + 1 for name, value in network.weights.items()},
            images,
            at_batch_norm=fails,
        )
    tensors = [*skeleton(spec).parameters(), *skeleton(spec).buffers()]
    assert tensors and all(value.is_meta for value in tensors)
    assert torch.equal(networks.call(spec, network.weights, images)[0].logits, logits)


def test_a_network_is_called_on_normalised_images(grey: ImageData, teacher: Network) -> None:
    images = grey.normalised(split="test")
    torch.testing.assert_close(teacher(images), teacher.module()(images).detach())


def test_a_network_remembers_the_normalisation_of_its_images(
    tmp_path: Path, grey: ImageData
) -> None:
    """A teacher of whitened images is no teacher of plain ones: said by `accuracy` and by methods
    that take its labels.
    """
    config = supervised.Config.teaching(
        "teacher", network=networks.spec("convnet", width=4), epochs=1
    )
    inputs = Inputs(data=grey, device="cpu")
    teacher = run_to_end(supervised, config, inputs)
    assert teacher.normalisation == (tuple(grey.mean.tolist()), tuple(grey.std.tolist()))
    teacher.save(tmp_path / "teacher")
    assert networks.load(tmp_path / "teacher").normalisation == teacher.normalisation
    assert dataclasses.replace(teacher, normalisation=None).fingerprint == teacher.fingerprint
    shifted = dataclasses.replace(grey, mean=grey.mean + grey.std / 2)
    with pytest.warns(UserWarning, match="sees other values than it knows"):
        ddlab.accuracy(teacher, shifted)
    with pytest.warns(UserWarning, match="teacher was trained on images with mean"):
        ddlab.distill("rded", shifted, teacher, candidates_per_class=2, progress=False)
    nearly_equal = dataclasses.replace(grey, mean=grey.mean + grey.std / 100)
    assert 0 <= ddlab.accuracy(teacher, nearly_equal) <= 1
    # Reads no labels: whatever a network says will do.
    ddlab.distill("rela", shifted, teacher, progress=False)
    with refuses("normalisation"):
        dataclasses.replace(teacher, normalisation=((0.0, 0.0), (1.0, 1.0)))
