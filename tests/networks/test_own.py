"""Networks of one's own: a factory as a family, a module as a teacher; all methods, students and
measures with them.
"""

import functools
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ddlab
from ddlab import evaluation, methods, networks, unlabelled
from ddlab.core import storage
from ddlab.core.source import code_of
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.lessons.data_residuals import entropy
from ddlab.networks import Network
from ddlab.networks.family import REGISTERED
from ddlab.networks.specification import hooked_layers, skeleton
from ddlab.runs import Inputs, Runs, checkpoint, process
from ddlab.training import supervised
from ddlab.unlabelled import self_supervised
from tests.support import assert_same, global_randomness, made_data, refuses, run_to_end

GREY = made_data()
BATCH_NORM = ("squeeze_recover_relabel", "directed_weight_adjustment", "data_residual_matching")
PLAIN = (
    "dataset_distillation",
    "soft_label_dataset_distillation",
    "trajectory_matching",
    "label_distillation",
    "generative_teaching",
    "mnemonics",
    "text_dataset_distillation",
)  # in whose networks it is refused


class Net(nn.Module):
    """Three convolutions of width 4; a buffer that is computed and not saved, and tensors of whole
    numbers.
    """

    def __init__(
        self, channels: int = 1, classes: int = 3, *, norm: bool = True, width: int = 4
    ) -> None:
        super().__init__()
        self.body = nn.Sequential()
        for number in range(3):
            self.body.append(
                nn.Conv2d(channels if number == 0 else width, width, 3, padding=1, bias=not norm)
            )
            self.body.extend([nn.BatchNorm2d(width)] if norm else [])
            self.body.extend(
                [nn.ReLU(inplace=True), nn.MaxPool2d(2) if number < 2 else nn.Identity()]
            )
        self.register_buffer("order", torch.tensor(list(reversed(range(width)))), persistent=False)
        self.register_buffer("scale", torch.tensor(float(torch.ones(3).sum().item())))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(width, classes)

    def forward(self, images: Tensor) -> Tensor:
        maps: Any = self.pool(self.body(images)).flatten(1)
        return self.head(maps[:, self.order] * self.scale)


class Strict(Net):
    """Of one size, as its own error says."""

    def forward(self, images: Tensor) -> Tensor:
        if images.shape[2:] != (8, 8):
            raise ValueError("images must be of 8 px")
        return super().forward(images)


def factory(channels: int, classes: int, image_size: tuple[int, int]) -> nn.Module:
    return Net(channels, classes)


def plain(channels: int, classes: int, image_size: tuple[int, int]) -> nn.Module:
    return Net(channels, classes, norm=False)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = dict(REGISTERED)
    networks.register("mine", factory, smallest_image=4)
    networks.register("plain", plain)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


def module(norm: bool = True) -> Net:
    """A network that has seen images: batch norms know something."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        net = Net(norm=norm)
        net(GREY.normalised())
    return net


def own_teacher(norm: bool = True, **options: Any) -> Network:
    return networks.from_module(module(norm), (8, 8), 3, channels=1, **options)


class TestFamily:
    def test_is_a_spec_like_any(self) -> None:
        spec = networks.spec("mine").for_data(GREY)
        assert (
            networks.NetworkSpec.from_dict(spec.to_dict()) == spec
            and spec.title == "mine"
            and spec.complete
        )
        assert networks.spec("mine") == supervised.Config(network="mine").network  # type: ignore[arg-type]
        assert hooked_layers(spec) == ("body", "head")
        assert networks.batch_norm_layers(spec) == ["body.1", "body.5", "body.9"]
        assert networks.batch_norm_layers(networks.spec("plain").for_data(GREY)) == []
        assert networks.takes_size(spec, (12, 9)) and not networks.takes_size(spec, (2, 2))
        networks.register("strict", lambda channels, classes, image_size: Strict(channels, classes))
        assert not networks.takes_size(networks.spec("strict").for_data(GREY), (12, 9))
        with refuses("image_size", "at least 4", "mine"):
            spec.for_data(made_data(size=3))

    def test_starts_anew_by_the_seed_and_draws_nothing_global(self) -> None:
        spec = networks.spec("mine").for_data(GREY)
        before = global_randomness()
        seed_3 = networks.initialise(spec, seed=3)
        seed_3_again = networks.initialise(spec, seed=3)
        seed_4 = networks.initialise(spec, seed=4)
        skeleton(networks.spec("plain").for_data(GREY))
        assert global_randomness() == before
        assert_same(seed_3.weights, seed_3_again.weights)
        assert seed_3.fingerprint == seed_3_again.fingerprint != seed_4.fingerprint
        assert seed_3.weights["scale"] == 3 and seed_3.weights["order"].tolist() == [3, 2, 1, 0]

    @pytest.mark.parametrize("train", [False, True])
    def test_does_what_its_module_does(self, train: bool) -> None:
        network = networks.initialise(networks.spec("mine").for_data(GREY), seed=0)
        images = GREY.normalised()[:5]
        net = Net()
        net.load_state_dict(
            {name: value for name, value in network.weights.items() if name != "order"}
        )
        inputs: dict[str, torch.Tensor] = {}
        outputs, buffers = networks.call(
            network.spec, network.weights, images, train, at_batch_norm=inputs.setdefault
        )
        assert torch.equal(outputs.logits, net.train(train)(images)) and outputs.features.shape == (
            5,
            4,
        )
        assert_same(buffers, dict(net.named_buffers()))
        assert torch.equal(outputs.last_conv, net.body(images))
        assert list(inputs) == networks.batch_norm_layers(network.spec)

    def test_is_saved_by_name_and_built_by_the_factory(self, tmp_path: Path) -> None:
        network = networks.initialise(networks.spec("mine").for_data(GREY), seed=0)
        with pytest.warns(UserWarning, match="networks.register"):
            network.save(tmp_path / "n")
        loaded = networks.load(tmp_path / "n")
        assert loaded.fingerprint == network.fingerprint
        assert_same(loaded.weights, network.weights)
        del REGISTERED["mine"]
        with refuses("networks.register('mine', factory)", "'mine'"):
            networks.load(tmp_path / "n")

    @pytest.mark.parametrize(
        ("name", "candidate", "words"),
        [
            ("vit", factory, ["name", "none of ddlab's own", "'vit'"]),
            ("mine", plain, ["name 'mine'", "test_own.factory", "test_own.plain"]),
            ("", factory, ["name"]),
            ("x" * 200, factory, ["name"]),
            ("new", 3, ["factory", "a function"]),
        ],
    )
    def test_what_cannot_be_registered(self, name: str, candidate: Any, words: list[str]) -> None:
        networks.register("mine", factory)  # the same one again
        with refuses(*words):
            networks.register(name, candidate)

    @pytest.mark.parametrize(
        ("candidate", "words"),
        [
            (lambda *_: 3, ["return an nn.Module", "given 3"]),
            (lambda *_: 1 / 0, ["build a module", "ZeroDivisionError"]),
            (lambda *_: FIXED, ["draw its weights", "the same weights for every seed"]),
            (
                lambda c, k, s: seeded(Net(c, k)),
                ["draw its weights", "other weights for the same seed"],
            ),
            (lambda c, k, s: Net(c, k + 1), ["logits of shape [2, 3]", "[2, 4]"]),
            (
                lambda c, k, s: nn.Sequential(Net(c, k), nn.Softmax(1)),
                ["logits", "leave the softmax out"],
            ),
            (
                lambda c, k, s: nn.Sequential(Net(c, k), nn.LogSoftmax(1)),
                ["classifier", "none whose output is the logits", "0.head"],
            ),
        ],
    )
    def test_factories_that_are_none(self, candidate: Any, words: list[str]) -> None:
        networks.register("odd", candidate)
        spec = networks.spec("odd").for_data(GREY)
        with refuses("'odd'", *words):
            networks.predict(networks.initialise(spec, seed=0), GREY.normalised()[:2])

    def test_dropout_is_for_teachers_alone(self, grey: ImageData) -> None:
        with_dropout = nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(64, 3))
        network = networks.from_module(with_dropout, (8, 8), 3, channels=1)
        assert networks.predict(network, grey.normalised()[:2]).last_conv.shape == (2, 64, 1, 1)
        with refuses("draw nothing in training mode", "dropout"):
            networks.call(network.spec, network.weights, grey.normalised()[:2], train=True)

    def test_named_layers(self) -> None:
        networks.register("named", factory, classifier="head", last_conv="body.4")
        assert hooked_layers(networks.spec("named").for_data(GREY)) == ("body.4", "head")
        networks.register("named", factory, classifier="body.0")
        with refuses("classifier", "'named'", "'body.0'"):
            hooked_layers(networks.spec("named").for_data(GREY))
        networks.register("named", factory, last_conv="head")
        with refuses("last_conv", "'named'", "'head'"):
            hooked_layers(networks.spec("named").for_data(GREY))


FIXED = Net()


def seeded(net: nn.Module) -> nn.Module:
    nn.init.constant_(net.head.bias, float(next(DRAWS)))  # type: ignore[union-attr,arg-type]
    return net


DRAWS = itertools.count()


class TestSource:
    """What is computed by code that was edited is another network's."""

    def cell(self, line: str) -> Any:
        """What a notebook's cell defines, and the class that it names in another."""
        space: dict[str, Any] = {"__name__": "a_notebook", "Net": Net, "WIDTH": 4}
        body = f"class Mine(Net):\n    def forward(self, x):\n        return {line}\n\n"
        exec(f"{body}def make(c, k, s):\n    return Mine(c, k, width=WIDTH)\n", space)
        return space["make"]

    def test_an_edited_factory_is_another_network(
        self, grey: ImageData, distilled: DistilledSet, tmp_path: Path
    ) -> None:
        def everything() -> tuple[Any, ...]:
            config = supervised.SMALL.replace(network="edited", epochs=1)
            inputs = Inputs(distilled=distilled, device="cpu")
            run = runs.get(supervised, config, inputs)
            student = run_to_end(supervised, config, inputs)
            return config, inputs, run, student, storage.fingerprint(config)

        runs = Runs()
        networks.register("edited", self.cell("super().forward(x)"))
        config, inputs, run, student, key = everything()
        assert (
            everything()[2] is run
            and everything()[4] == key
            and everything()[3].fingerprint == student.fingerprint
        )
        state = process.start(supervised, config, inputs)
        checkpoint.save(tmp_path / "c", supervised, config, inputs, state)
        with pytest.warns(UserWarning, match="networks.register"):
            student.save(tmp_path / "n")
        networks.register("edited", self.cell("super().forward(-x)"))
        other_config, _, again, moved, changed = everything()
        assert again is not run and changed != key and moved.fingerprint != student.fingerprint
        with refuses("checkpoint", "network"):
            checkpoint.load(tmp_path / "c", supervised, other_config, inputs)
        loaded = networks.load(tmp_path / "n")  # built by the factory as it is now, and so another
        assert loaded.fingerprint != student.fingerprint and loaded.spec == moved.spec
        failed: list[BaseException] = []

        def elsewhere() -> None:
            try:
                skeleton(student.spec)
            except ddlab.DDLabError as problem:
                failed.append(problem)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert "before the factory was edited" in str(failed[0])

    def test_constants_closures_and_arguments_count(self) -> None:
        def of(width: int) -> Any:
            return lambda channels, classes, image_size: Net(channels, classes, width=width)

        elsewhere = self.cell("x")
        # A file that is run: __main__.
        elsewhere.__module__ = elsewhere.__globals__["Mine"].__module__ = "a_script"
        assert code_of(elsewhere) == code_of(self.cell("x"))
        factories = [
            of(4),
            of(5),
            functools.partial(Net, 1),
            functools.partial(Net, 1, width=5),
            self.cell("x"),
        ]
        factories[4].__globals__["WIDTH"] = 6
        factories.append(self.cell("x"))
        sources = []
        for one_factory in factories:
            REGISTERED.pop("edited", None)
            networks.register("edited", one_factory)
            sources.append(networks.spec("edited").options.source)  # type: ignore[attr-defined]
        assert len(set(sources)) == len(sources)


class TestFromModule:
    def test_is_the_module_and_leaves_it(self) -> None:
        net = module().train()
        images = GREY.normalised()[:5]
        before = {name: value.clone() for name, value in net.state_dict().items()}
        network = networks.from_module(net, (8, 8), 3, channels=1)
        assert (
            net.training
            and network.spec.title == "Net"
            and network.provenance == {"process": "from_module"}
        )
        assert_same(dict(net.state_dict()), before)
        assert torch.equal(networks.predict(network, images).logits, net.eval()(images).detach())
        with torch.no_grad():
            net.head.bias.add_(1)
        assert not torch.equal(networks.predict(network, images).logits, net(images))

    def test_other_modules_of_a_class_are_other_networks(self) -> None:
        normed = own_teacher()
        plain_net = own_teacher(norm=False)
        third = own_teacher()
        assert (
            normed.spec == third.spec != plain_net.spec and normed.fingerprint == third.fingerprint
        )
        assert [
            len(networks.batch_norm_layers(network.spec)) for network in (normed, plain_net)
        ] == [3, 0]

    def test_needs_a_factory_to_start_anew_and_to_be_loaded(
        self, tmp_path: Path, distilled: DistilledSet
    ) -> None:
        network = own_teacher()
        with pytest.warns(UserWarning, match="networks.register"):
            network.save(tmp_path / "n")
        with refuses("networks.register('Net', factory)"):
            networks.spec("Net")
        with refuses("networks.register('Net', factory)", "a module that was handed in"):
            run_to_end(
                supervised,
                supervised.SMALL.replace(network=network.spec),
                Inputs(distilled=distilled),
            )
        # As long as the module is known.
        assert networks.load(tmp_path / "n").fingerprint == network.fingerprint
        del REGISTERED["Net"]
        with refuses("networks.register('Net', factory)"):
            networks.load(tmp_path / "n")
        networks.register("Net", factory)
        assert_same(networks.load(tmp_path / "n").weights, network.weights)
        assert networks.initialise(networks.spec("Net").for_data(GREY), seed=0).spec.title == "Net"

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda net, x: net(x)[:, :2], ["logits of shape [2, 3]", "[2, 2]"]),
            (lambda net, x: {"logits": net(x)}, ["run on images"]),
            (lambda net, x: net(x) / 0 * 0, ["finite"]),
            (lambda net, x: net(x[:, :, :0]), ["run", "RuntimeError"]),
        ],
    )
    def test_modules_that_fail_the_trial(self, change: Any, words: list[str]) -> None:
        class Changed(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.net = module()

            def forward(self, images: Tensor) -> Any:
                return change(self.net, images)

        with refuses("module", *words):
            networks.from_module(Changed(), (8, 8), 3, channels=1)
        assert "Changed" not in REGISTERED

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda net: net.to("meta"), ["run on images"]),
            (lambda net: setattr(net, "lock", threading.Lock()), ["copy"]),
        ],
    )
    def test_modules_that_cannot_be_held(self, change: Any, words: list[str]) -> None:
        candidate = module()
        change(candidate)
        with refuses("module", *words):
            networks.from_module(candidate, (8, 8), 3, channels=1)

    def test_arguments(self) -> None:
        for changes, word in (
            ({"module": 3}, "module"),
            ({"image_size": 8}, "image_size"),
            ({"classes": 0}, "classes"),
            ({"name": "vit"}, "name"),
            ({"classifier": "body"}, "classifier"),
            ({"last_conv": "tail"}, "last_conv"),
            ({"channels": 2}, "module"),
        ):
            arguments: dict[str, Any] = {
                "module": module(),
                "image_size": (8, 8),
                "classes": 3,
                "channels": 1,
            } | changes
            with refuses(word):
                networks.from_module(**arguments)

    def test_tied_weights_stand_once(self) -> None:
        networks.register("tied", lambda channels, classes, image_size: Tied())
        by_factory = networks.initialise(networks.spec("tied").for_data(GREY), seed=0)
        for network in (networks.from_module(Tied(), (8, 8), 3, channels=1), by_factory):
            assert "two.weight" not in network.weights and "two.bias" in network.weights
            networks.predict(network, GREY.normalised()[:2])


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(64, 64)
        self.two = nn.Linear(64, 64)
        self.head = nn.Linear(64, 3)
        self.two.weight = self.one.weight

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.two(self.one(images.flatten(1)).relu()))


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("name", methods.names())
def test_every_method_takes_it(name: str, norm: bool, grey: ImageData) -> None:
    """As the teacher, and as the network of methods that train some."""
    method = methods.get(name)
    network_name = "mine" if norm else "plain"
    config = method.SMALL.replace(
        **({"network": network_name} if hasattr(method.SMALL, "network") else {})
    )
    for teacher in (own_teacher(norm), own_teacher(norm, name=network_name)):
        if name in PLAIN and norm:
            with refuses("network", "without batch norm"):
                ddlab.distill(name, grey, teacher, config, "cpu", progress=False)
        elif name in BATCH_NORM and not norm:
            with refuses("BatchNorm2d", name):
                ddlab.distill(name, grey, teacher, config, "cpu", progress=False)
        else:
            distilled_set = ddlab.distill(name, grey, teacher, config, "cpu", progress=False)
            assert distilled_set.complete and all(
                bool(value.isfinite().all()) for value in distilled_set.tensors.values()
            )


@pytest.mark.parametrize("network_name", ["mine", "plain"])
def test_students_labels_and_measures(
    network_name: str, grey: ImageData, distilled: DistilledSet
) -> None:
    teacher = ddlab.train_teacher(
        grey, supervised.SMALL.replace(network=network_name, epochs=2), device="cpu", progress=False
    )
    handed = own_teacher(norm=network_name == "mine")
    for guide in (teacher, handed):
        ours = ddlab.from_images(distilled.images, distilled.labels, grey, guide)
        options: dict[str, Any] = {
            "teacher": guide,
            "seeds": (0,),
            "config": supervised.SMALL,
            "device": "cpu",
        }
        for labels in ("hard", "stored", "online"):
            assert (
                ddlab.evaluate(ours, grey, labels=labels, network=network_name, **options).network
                == network_name
            )
        assert bool((evaluation.measures.feature_distance(ours, guide) > 0).all())
        maps = networks.predict(guide, ours.images).last_conv
        assert len(entropy.feature_entropy(maps, entropy.feature_edges(maps))) == len(ours)
        probed = unlabelled.probe(guide, grey, strength=1e-2, device="cpu")
        assert 0 <= probed <= 1
    across = evaluation.across(
        distilled,
        grey,
        networks=[network_name, "vit"],
        labels="hard",
        seeds=(0,),
        config=supervised.SMALL,
    )
    assert list(across.evaluations) == [network_name, "vit"]
    learnt = run_to_end(
        self_supervised,
        self_supervised.SMALL.replace(network=network_name),
        Inputs(data=grey, device="cpu"),
    )
    assert learnt.spec.title == network_name


def with_norm(norm: nn.Module) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        norm,
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 3),
    )


def spoilt(value: float, name: str = "running_var") -> nn.Sequential:
    module = with_norm(nn.BatchNorm2d(4))
    getattr(module[1], name).data.fill_(value)
    return module


MODULES: dict[str, tuple[Any, list[str]]] = {  # module, words of the sentence
    "no running statistics": (
        lambda: with_norm(nn.BatchNorm2d(4, track_running_stats=False)),
        ["running statistics", "'1'"],
    ),
    "infinite statistics": (lambda: spoilt(float("inf")), ["finite", "'1.running_var'"]),
    "NaN as mean": (lambda: spoilt(float("nan"), "running_mean"), ["finite", "'1.running_mean'"]),
    "NaN as weight": (lambda: spoilt(float("nan"), "weight"), ["finite", "'1.weight'"]),
    "a lazy linear layer": (
        lambda: nn.Sequential(nn.Flatten(), nn.LazyLinear(3)),
        ["built whole", "lazy layer", "'1.weight'"],
    ),
    "a lazy convolution": (
        lambda: nn.Sequential(nn.LazyConv2d(3, 8), nn.Flatten()),
        ["built whole", "'0.weight'"],
    ),
    "another number of classes": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 4)),
        ["logits of shape [2, 3]"],
    ),
}


@pytest.mark.parametrize("case", MODULES)
def test_what_others_build_is_refused_at_the_door(
    case: str, grey: ImageData, distilled: DistilledSet
) -> None:
    make, words = MODULES[case]
    with refuses("module", *words):
        networks.from_module(make(), (8, 8), 3, channels=1, name="of_others")
    networks.register(f"factory of {case}", lambda channels, classes, size: make())
    with refuses("'factory of" if "classes" not in case else "network", *words):
        ddlab.evaluate(
            distilled, grey, labels="hard", network=f"factory of {case}", seeds=[0], progress=False
        )


def test_probabilities_are_no_logits() -> None:
    class Softmax(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(64, 3)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.last(images.flatten(1)).softmax(1)

    with refuses("module", "leave the softmax out"):
        networks.from_module(Softmax(), (8, 8), channels=1, classes=3, classifier="last")


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_numbers_of_other_kinds_become_float32_and_it_is_said(
    kind: torch.dtype, grey: ImageData
) -> None:
    with pytest.warns(UserWarning, match="become float32"):
        teacher = networks.from_module(
            with_norm(nn.BatchNorm2d(4)).to(kind), (8, 8), 3, channels=1, name="kinds"
        )
    assert {value.dtype for value in teacher.weights.values() if value.is_floating_point()} == {
        torch.float32
    }
    distilled = ddlab.distill("sre2l", grey, teacher, methods.get("sre2l").SMALL, progress=False)
    assert distilled.complete
