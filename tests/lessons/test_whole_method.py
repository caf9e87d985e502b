"""The cells of a lesson that hold a method whole are the library's: the same draws, float64, twenty
updates; without one of its terms
they are not.

A row of `ROWS` says which cells (by their tag), how they are called, and what the library makes of
the same.
"""

import contextlib
import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils._python_dispatch import TorchDispatchMode

import ddlab
from ddlab import networks
from ddlab.core import optimisers
from ddlab.core.interval import interval
from ddlab.core.randomness import derived_seed, generator
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.evaluation.network_search import rank_correlation
from ddlab.lessons.ideal_data import networks as toy_networks
from ddlab.lessons.ideal_data import toys as toy_world
from ddlab.methods import (
    boost,
    dc,
    dd,
    dm,
    dwa,
    fadrm,
    gtn,
    kip,
    krr_st,
    ld,
    mnemonics,
    mtt,
    selection,
    sldd,
    sre2l,
)
from ddlab.methods import rela as rela_d
from ddlab.methods.shared import recovery
from ddlab.methods.shared.kernels import KernelSpec, kernel_matrix
from ddlab.networks import Network
from ddlab.runs import Inputs, cache
from ddlab.training import losses, ordered, supervised, trajectories
from ddlab.training.phases import arrived
from ddlab.unlabelled import with_targets
from ddlab.unlabelled.self_supervised import simclr
from tests.support import made_data, run_to_end

SOLUTIONS = Path(__file__).parents[2] / "notebooks" / "solutions"
SEED = 3
UPDATES = 20
Tensors = list[Tensor]


@dataclasses.dataclass(frozen=True)
class Row:
    """The cells of `lesson` with `tag`: `page` runs them, `library` makes the same; `dropped`: a
    term, and what stands without it.
    """

    lesson: str
    page: Callable[[str], Tensors]
    library: Callable[[], Tensors]
    dropped: tuple[str, str]
    taped: bool = False  # the page draws from torch's global generator
    tag: str = "whole-method"
    tolerance: float = 1e-9


class Tape(TorchDispatchMode):
    """Takes down what every operation draws; while it plays it hands the same out, in order, to who
    draws from the global generator.

    So a page may seed and draw as its reader would, and makes the images of the library, whose
    draws are seeded step by step.
    """

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Tensor] = []
        self.left: list[Tensor] | None = None  # to be handed out; None while it records

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in function.tags:
            if self.left is None:
                self.drawn.append(result.clone())
            elif kwargs.get("generator") is None:
                assert self.left and self.left[0].shape == result.shape, (
                    f"the library draws something else than {function}"
                )
                result.copy_(self.left.pop(0))
        return result

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Inside, the library runs."""
        self.drawn = []
        self.left = None
        with self:
            yield

    @contextlib.contextmanager
    def played(self) -> Iterator[None]:
        """Inside, the page runs; at its end nothing is left."""
        self.left = list(self.drawn)
        with self:
            yield
        assert not self.left, f"the page leaves out {len(self.left)} draws"


TAPE = Tape()


def source_of(row: Row) -> str:
    """Return the code cells of the solution that carry the tag, in order."""
    notebook = nbformat.read(SOLUTIONS / f"{row.lesson}.ipynb", 4)
    cells = [cell.source for cell in notebook.cells if row.tag in cell.metadata.get("tags", [])]
    return "\n\n\n".join(cells)


def run(source: str, **names: Any) -> dict[str, Any]:
    """What the cells have made."""
    space: dict[str, Any] = {
        "torch": torch,
        "F": F,
        "nn": nn,
        "math": math,
        "copy": copy,
        "ddlab": ddlab,
        "networks": networks,
        **names,
    }
    exec(source, space)
    return space


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


def updated(module: Any, config: Any, inputs: Inputs, updates: int = UPDATES) -> Any:
    """The State after so many updates in float64; what begins in float32 does so from the same
    numbers. The tape begins after `init`.
    """
    state = doubled(module.init(config, inputs))
    TAPE.drawn.clear()
    for _ in range(updates):
        state = doubled(module.update(config, inputs, state)[0])
    return state


@functools.cache
def data_of(**shape: int) -> ImageData:
    return made_data(**shape)


@functools.cache
def teacher_of(trained: bool = False, **shape: int) -> Network:
    """Fresh, or one whose batch norms remember something; in float64."""
    data = data_of(**shape)
    spec = networks.spec("convnet", width=4)
    if trained:
        config = supervised.Config.teaching("teacher", network=spec, epochs=3)
        return doubled(ddlab.train_teacher(data, config, progress=False))
    return doubled(
        networks.initialise(networks.spec("convnet", width=4, head="mean").for_data(data), seed=0)
    )


@pytest.fixture(autouse=True)
def in_double(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pixels, rows of distilled sets and fresh networks are in float64, on the page and in the
    library.
    """
    teacher_of(trained=True), made_rela()
    cache.clear()
    normalised = ImageData.normalised
    rows = DistilledSet.rows
    initialise = networks.initialise
    monkeypatch.setattr(
        ImageData, "normalised", lambda *args, **kwargs: normalised(*args, **kwargs).double()
    )
    monkeypatch.setattr(
        DistilledSet, "rows", lambda *args, **kwargs: rows(*args, **kwargs).double()
    )
    monkeypatch.setattr(
        networks, "initialise", lambda *args, **kwargs: doubled(initialise(*args, **kwargs))
    )


# -- 05: DM and DC

NARROW = networks.spec("convnet", width=4, depth=1, norm="instance")
DM = dm.Config.teaching(
    network=NARROW, images_per_class=2, iterations=UPDATES, batch_size=7, seed=SEED
)
MATCHINGS = 4  # in each network, which is trained in between
DC = dc.Config.teaching(
    network=NARROW,
    images_per_class=2,
    networks=UPDATES // MATCHINGS,
    outer_steps=MATCHINGS,
    inner_epochs=2,
    batch_size=7,
    initialisation="real",
    seed=SEED,
)


def fresh_ones() -> Callable[[], Any]:
    """The networks of the library's updates, one after the other."""
    spec = NARROW.for_data(data_of())
    steps = iter(range(UPDATES))
    return lambda: networks.initialise(
        spec, seed=derived_seed(SEED, next(steps), "network")
    ).module()


def match(source: str) -> Tensors:
    data = data_of()
    network = fresh_ones()
    images = doubled(dm.init(DM, Inputs(data=data, device="cpu")).images)
    page = run(
        source,
        data=data,
        new_body=lambda: nn.Sequential(*network().blocks, nn.Flatten()),
    )
    return [page["match"](data.normalised(), data.train_labels, images, UPDATES, 7)]


def matched() -> Tensors:
    return without_weights(updated(dm, DM, Inputs(data=data_of(), device="cpu")).images)


def without_weights(images: Tensor) -> Tensors:
    """What was learned; the page's networks have weights of their own."""
    TAPE.drawn = [draw for draw in TAPE.drawn if not draw.is_floating_point()]
    return [images]


def match_gradients(source: str) -> Tensors:
    data = data_of()
    images = doubled(dc.init(DC, Inputs(data=data, device="cpu")).images)
    page = run(source, data=data, new_classifier=fresh_ones())
    loops = UPDATES // MATCHINGS, MATCHINGS, 2, 7
    return [
        page["condense"](
            data.normalised(), data.train_labels, images, lambda: lambda seen: seen, *loops
        )
    ]


def matched_gradients() -> Tensors:
    return without_weights(updated(dc, DC, Inputs(data=data_of(), device="cpu")).images)


# -- 10: the toy networks


def toys(source: str) -> Tensors:
    train = run(source)["train"]
    learned_rows = []
    samples = toy_samples()
    start = toy_networks.first_weights(1)[0].double()
    for setting in range(2):
        network = nn.Sequential(
            nn.Linear(2, 50), nn.ReLU(), nn.Linear(50, 1), nn.Sigmoid()
        ).double()
        nn.utils.vector_to_parameters(start.clone(), network.parameters())
        train(network, samples.points[setting, 0].double(), samples.targets[setting, 0].double())
        learned_rows.append(nn.utils.parameters_to_vector(network.parameters()).detach())
    return learned_rows


def toy_samples() -> Any:
    configs = [
        toy_world.Config(deviation=deviation, seeds=1, steps=UPDATES) for deviation in (0.1, 1.0)
    ]
    return toy_world.distilled_samples(configs)


def library_toys() -> Tensors:
    samples = toy_samples()
    start = toy_networks.first_weights(1).double().expand(2, -1)
    points = samples.points[:, 0].double().movedim(1, 0)
    targets = samples.targets[:, 0].double().movedim(1, 0)
    rates = {
        "learning_rate": torch.tensor([0.002, 0.002], dtype=torch.float64),
        "momentum": torch.tensor([0.98, 0.98], dtype=torch.float64),
    }
    return [
        *toy_networks.stochastic_descent(start, points, targets, **rates, record_every=UPDATES)[-1]
    ]


# -- 20: SRe2L, and the loss of online labels


def recover(source: str) -> Tensors:
    data = data_of()
    teacher = teacher_of(trained=True)
    noise = recovery.noise_images(data, data.classes, seed=0, batch=0, device="cpu").double()
    learn = run(source)["recover"]
    arguments = teacher.module(), torch.arange(data.classes), noise, *data.valid_range()
    return [learn(*arguments, iterations=UPDATES, weight=0.02)]


def recovered() -> Tensors:
    config = sre2l.Config.teaching(iterations=UPDATES, lambda_mean=0.02, lambda_var=0.02)
    return [
        updated(sre2l, config, Inputs(data=data_of(), teachers=(teacher_of(trained=True),))).images
    ]


def online(loss: Callable[..., Tensor]) -> Tensors:
    """The loss of a student on six images, for each temperature."""
    data = data_of()
    teacher = teacher_of(trained=True)
    images = torch.randn(6, data.channels, *data.image_size, generator=generator(1)).double()
    student = (
        networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=1)
        .module()
        .train()
    )
    return [loss(student, teacher, images, temperature).detach() for temperature in (4.0, 8.0)]


def online_recipe() -> tuple[supervised.Config, dict[str, Tensor]]:
    return supervised.Config.teaching(), {
        "mean": data_of().mean.double(),
        "std": data_of().std.double(),
    }


def page_online(source: str) -> Tensors:
    recipe, statistics = online_recipe()
    space = run(source, recipe=recipe, data=SimpleNamespace(**statistics))
    return online(
        lambda student, teacher, images, t: space["online_loss"](
            student, teacher.module(), images, 3, temperature=t
        )
    )


def library_online() -> Tensors:
    recipe, statistics = online_recipe()

    def loss(student: nn.Module, teacher: Network, images: Tensor, temperature: float) -> Tensor:
        view = recipe.view(images, **statistics, step=3)
        targets = supervised.online_targets(view, teacher, temperature=temperature)
        return losses.distillation_loss(student(view.images), targets, temperature=temperature)

    return online(loss)


# -- 21: DWA, two batches; 30: FADRM, every state


def adjust(source: str) -> Tensors:
    data = data_of()
    rows = recovery.real_image_indices(data, 2, seed=0)
    recover = run(source_of(dataclasses.replace(ROWS["21 DWA"], tag="recovery")))["recover"]
    page = run(source, recover=recover)
    arguments = [data.normalised(batch) for batch in rows], torch.arange(data.classes)
    push = functools.partial(page["push"], radius=0.3)
    network = teacher_of(trained=True).module()
    return [page["distil"](network, *arguments, push, *data.valid_range(), iterations=UPDATES)]


def adjusted() -> Tensors:
    config = dwa.Config.teaching(images_per_class=2, iterations=UPDATES, adjustment_radius=0.3)
    inputs = Inputs(data=data_of(), teachers=(teacher_of(trained=True),))
    recovered_batches = updated(dwa, config, inputs, 2 * UPDATES).done
    # The shifts; the page is given its real images.
    TAPE.drawn = [draw for draw in TAPE.drawn if len(draw) == 2]
    return [torch.cat(recovered_batches)]


COLOUR = {"size": 16, "channels": 3}


def patches() -> Tensor:
    return data_of(**COLOUR).normalised(
        recovery.real_image_indices(data_of(**COLOUR), 1, seed=3)[0]
    )


def any_size_teacher() -> Network:
    """Its classifier sees the mean over all places, so a stage may have fewer pixels."""
    spec = networks.spec("convnet", width=4, head="mean").for_data(data_of(**COLOUR))
    return doubled(networks.initialise(spec, seed=SEED))


def residuals(source: str, small: int | None = None) -> Tensors:
    space = run(source, data=data_of(**COLOUR), teacher=any_size_teacher())
    return space["fadrm_film"](patches(), [0.3] * 3, budget=UPDATES, small=small)[::5]


def library_residuals(small: int | None = None) -> Tensors:
    config = fadrm.Config(
        images_per_class=1,
        iterations=UPDATES,
        merges=3,
        merge_ratio=0.3,
        small_size=small,
        seed=3,
    )
    inputs = Inputs(data=data_of(**COLOUR), teachers=(any_size_teacher(),), device="cpu")
    same_patches = patches()
    with pytest.MonkeyPatch.context() as patch:
        # They are drawn anew at each merge, the same.
        patch.setattr(fadrm, "patches", lambda *_: same_patches)
        states = [
            updated(fadrm, config, inputs, count) for count in (*range(0, UPDATES, 5), UPDATES)
        ]
    full = data_of(**COLOUR).image_size
    images = [fadrm.resampled(state.images, full) for state in states[:-1]]
    return [*images, states[-1].done[0]]


# -- 40: KRR-ST, and Boost's pairs in the same loop

INNER = networks.spec("convnet", width=3, growth=2, depth=2)
MANY = {"size": 8, "train": 60}
POOL: dict[str, Any] = {
    "network": INNER,
    "pool_size": 2,
    "pool_steps": 4,
    "iterations": UPDATES,
    "batch_size": 256,
    "learning_rate": 1e-2,
    "seed": SEED,
    "reset": True,
}
BORN: list[Network] = []  # the networks of the pool, in the order of their births


def learned_pairs(module: Any, config: Any) -> tuple[dict[str, Tensor], Tensors]:
    """What is distilled at first, and the outer losses beside what is distilled at the end, in
    float64.
    """
    data = data_of(**MANY)
    taught = networks.initialise(
        networks.spec("convnet", width=4, depth=2).for_data(data_of(**MANY)), seed=0
    )
    inputs = Inputs(data=data, teachers=(taught,), device="cpu")
    losses = []
    teacher_features = networks.predict(taught, data.normalised()).features
    with pytest.MonkeyPatch.context() as patch:
        # Those of the library are float32.
        patch.setattr(krr_st, "teacher_features", lambda inputs: teacher_features)
        state = doubled(module.init(config, inputs))
        first = state.parameters
        spec = krr_st.inner_spec(config, inputs)
        births = state.pool.births
        seeds = [
            derived_seed(SEED, 0, f"network {index} of the pool")
            for index in range(config.pool_size)
        ]
        TAPE.drawn.clear()
        for _ in range(module.total_steps(config, inputs)):
            state, trace = module.update(config, inputs, state)
            state = doubled(state)
            losses += [trace.loss] if trace.phase == "outer" else []
            for index in (state.pool.births - births).nonzero().flatten().tolist():
                seeds.append(
                    derived_seed(
                        SEED, int(state.pool.births[index]), f"network {index} of the pool"
                    )
                )
            births = state.pool.births
    BORN[:] = [networks.initialise(spec, seed=seed) for seed in seeds]
    draws = list[Tensor]()
    for (
        draw
        # Not the weights; and how old the pool is at first, which the library asks at each step,
        # once.
    ) in TAPE.drawn:
        if not draw.is_floating_point() and not (draws and draw.shape == (2,)):
            draws.append(draw)
    TAPE.drawn = draws
    return first, [torch.stack(losses), *(0.01 * value for value in state.parameters.values())]


def page_pairs(source: str, pairs: Callable[..., tuple[Tensor, Tensor]], first: Tensors) -> Tensors:
    born = iter(BORN)
    data = data_of(**MANY)
    taught = networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=0)

    def new_network() -> Any:
        module = next(born).module()
        network = nn.Sequential(*module.blocks, nn.Flatten(), module.classifier)
        return network, torch.optim.SGD(
            network.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3
        )

    page = run(source, new_network=new_network)
    learned = [value.clone().requires_grad_() for value in first]
    teacher_features = networks.predict(taught, data.normalised()).features
    options = {"updates": UPDATES, "networks": 2, "oldest": 4}
    losses = list(
        page["learn"](
            lambda: pairs(*learned), learned, data.normalised(), teacher_features, **options
        )
    )
    return [
        torch.tensor(losses, dtype=torch.float64),
        *(0.01 * value.detach() for value in learned),
    ]


FIRST: dict[str, Tensor] = {}


def distilled() -> Tensors:
    first, learned = learned_pairs(krr_st, krr_st.Config(budget=20, **POOL))
    FIRST.clear(), FIRST.update(first)
    return learned


def distil(source: str) -> Tensors:
    return page_pairs(source, lambda X, Y: (X, Y), list(FIRST.values()))


def paired() -> Tensors:
    config = boost.Config(image_bases=5, representation_bases=4, pairs=6, **POOL)
    first, learned = learned_pairs(boost, config)
    FIRST.clear(), FIRST.update(first)
    return learned


def pair(source: str) -> Tensors:
    loop = source_of(ROWS["40 KRR-ST"])
    pairs_of = run(source.replace("size=16", "size=8"))["pairs_of"]
    return page_pairs(
        loop, lambda Bx, Cx, By, Cy: pairs_of(Bx.flatten(1), Cx, By, Cy), list(FIRST.values())
    )


# -- 45: ReLA's training and its targets

RELA = networks.spec("convnet", width=4)
FOUR = {"classes": 4}


@functools.cache
def prior() -> Network:
    return networks.initialise(networks.spec("convnet", width=8).for_data(data_of(**FOUR)), seed=1)


@functools.cache
def made_rela() -> DistilledSet:
    inputs = Inputs(data=data_of(**FOUR), teachers=(prior(),), device="cpu")
    return run_to_end(rela_d, rela_d.Config(network=RELA), inputs)


def rela_config() -> with_targets.Config:
    short: dict[str, Any] = {"epochs": 5, "batch_size": 9, "learning_rate": 0.01}
    objective = simclr.Config.for_data(
        data_of(**FOUR), network=RELA, projector_width=128, output_width=64, **short
    )
    return with_targets.Config(
        objective=objective, ratio=0.75, schedule="switch", first_views="objective", seed=SEED
    )


class Material(nn.Module):
    """A linear layer with these weights, which draws none."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.bias = None if bias is None else nn.Parameter(bias.clone())

    def forward(self, inputs: Tensor) -> Tensor:
        return F.linear(inputs, self.weight, self.bias)


def represent(source: str) -> Tensors:
    data = data_of(**FOUR)
    set_targets = made_rela().target("representations").values[0]
    recipe = rela_config().objective_config
    space = run(source.replace("0.01 * 50 / 256", "0.01 * 9 / 256"), data=data)
    space["two_views"] = lambda images, step: recipe.pair(
        images, mean=data.mean, std=data.std, step=step
    )
    state = doubled(with_targets.init(rela_config(), Inputs(distilled=made_rela(), device="cpu")))
    module: Any = doubled(
        networks.initialise(RELA.for_data(data, outputs=1), seed=SEED).module()
    ).train()
    network = nn.Sequential(module.blocks, nn.Flatten())
    wide = state.projector["linear.0"]
    narrow = state.projector["linear.1"]
    projector = nn.Sequential(
        Material(wide), nn.BatchNorm1d(len(wide)).double(), nn.ReLU(), Material(narrow)
    )
    W = Material(**state.projection)
    space["train"](network, projector, W, set_targets.double(), epochs=5, batch=9, ratio=0.75)
    prior_module: Any = prior().module().eval()
    targets = space["targets_of"](
        nn.Sequential(prior_module.blocks, nn.Flatten()),
        data.normalised().float(),
        set_targets.shape[1],
    )
    # The library's targets are float32.
    return [*(weight.detach().flatten() for weight in network.parameters()), 1e-5 * targets]


def represented() -> Tensors:
    state = updated(with_targets, rela_config(), Inputs(distilled=made_rela(), device="cpu"))
    learnt = networks.parameter_names(RELA.for_data(data_of(**FOUR)))
    weights = [state.weights[name].flatten() for name in learnt if name.startswith("blocks.")]
    orders = [draw for draw in TAPE.drawn if draw.ndim == 1 and len(draw) == len(made_rela())]
    # The library draws an epoch's order in each of its steps.
    TAPE.drawn = orders[:: rela_config().objective.steps_per_epoch(36)]
    return [*weights, 1e-5 * made_rela().target("representations").values[0]]


# -- 50: KIP, and its kernel with the gradient


def with_kernel(images: Tensor, kernel: Callable[[Tensor, Tensor], Tensor]) -> Tensors:
    draw = generator(SEED)
    x = torch.randn((4, 1, 3, 3), generator=draw, dtype=torch.float64)
    z = torch.randn((5, 1, 3, 3), generator=draw, dtype=torch.float64)
    z[0] = x[1]  # equal images, where the angle has no slope
    weights = torch.randn((4, 5), generator=draw, dtype=torch.float64)
    leaf = x.clone().requires_grad_()
    value = kernel(leaf, z)
    return [images, value.detach(), *torch.autograd.grad((weights * value).sum(), leaf)]


KIP = kip.Config.teaching(iterations=UPDATES, batch_size=25, ridge=1e-3, seed=SEED)


def learn(source: str) -> Tensors:
    data = data_of(**FOUR)
    page = run(source)
    start = doubled(kip.init(KIP, Inputs(data=data, device="cpu")).images)
    images = page["learn"](
        data.normalised(), data.train_labels, start, updates=UPDATES, batch=25, ridge=1e-3
    )
    return with_kernel(images, lambda x, z: page["kernel"](x.flatten(1), z.flatten(1)))


def learned() -> Tensors:
    images = updated(kip, KIP, Inputs(data=data_of(**FOUR), device="cpu")).images
    draws = list(TAPE.drawn)
    images_learned = with_kernel(images, functools.partial(kernel_matrix, KernelSpec()))
    TAPE.drawn = draws
    return images_learned


def perceptron() -> Network:
    return networks.initialise(networks.spec("mlp", width=6).for_data(data_of()), seed=1)


def unrolled(source: str) -> Tensors:
    page = run(source, functional_call=torch.func.functional_call)
    data = data_of()
    inputs = Inputs(data=data, device="cpu")
    images = doubled(dd.init(dd.Config.teaching(seed=SEED), inputs).learned["images"])
    return list(
        page["distil"](
            data.normalised(), data.train_labels, perceptron().module(), images, 3, updates=UPDATES
        )
    )


SLDD: dict[str, Any] = {
    "starts": "pretrained",
    "iterations": UPDATES,
    "images": 2,
    "seed": SEED,
}


def unrolled_labels(source: str) -> Tensors:
    page = run(source, functional_call=torch.func.functional_call)
    data = data_of()
    inputs = Inputs(data=data, device="cpu")
    first = sldd.init(sldd.Config.teaching(**SLDD | {"starts": "fixed"}), inputs).learned
    images, labels = (doubled(first[name]) for name in ("images", "labels"))
    model = perceptron().module()
    real = data.normalised(), data.train_labels
    images, rates = page["distil"](*real, model, images, 3, updates=UPDATES, labels=labels)
    return [images, labels.detach(), rates]


def labels_by_the_library() -> Tensors:
    inputs = Inputs(data=data_of(), teachers=(perceptron(),), device="cpu")
    learned = updated(sldd, sldd.Config.teaching(**SLDD), inputs).learned
    rates = torch.log1p(torch.exp(learned["raw_rates"])).flatten()
    return [learned["images"], learned["labels"], rates]


def distilled_by_the_library() -> Tensors:
    config = dd.Config.teaching(starts="pretrained", iterations=UPDATES, seed=SEED)
    state = updated(dd, config, Inputs(data=data_of(), teachers=(perceptron(),), device="cpu"))
    return [state.learned["images"], torch.log1p(torch.exp(state.learned["raw_rates"])).flatten()]


# -- 62: MTT, an expert's epochs and the updates that match them

MTT = mtt.Config.teaching(
    network=networks.spec("mlp", width=6),
    experts=2,
    expert_epochs=2,
    latest_start=1,
    matched_epochs=2,
    inner_steps=3,
    batch_size=9,
    learning_rate=30.0,
    iterations=UPDATES,
    seed=SEED,
)


def matched_paths(source: str) -> Tensors:
    functions = {
        "parameters_to_vector": nn.utils.parameters_to_vector,
        "functional_call": torch.func.functional_call,
    }
    page = run(source.replace(".split(64)", ".split(9)"), **functions)
    data = data_of()
    images = mtt.init(MTT, Inputs(data=data, device="cpu")).images
    paths = [
        page["expert_path"](data.normalised(), data.train_labels, perceptron().module(), 2)
        for _ in range(2)
    ]
    learnt = page["match"](paths, perceptron().module(), images, 3, starts=1, updates=UPDATES)
    return [paths[0][-1], paths[1][-1], *learnt]


def paths_of_the_library() -> Tensors:
    inputs = Inputs(data=data_of(), device="cpu")
    spec = MTT.network.for_data(data_of())
    state = mtt.init(MTT, inputs)
    start = trajectories.vector(ordered.split_buffers(spec, perceptron().weights)[0])
    TAPE.drawn.clear()
    paths = list[Tensor]()
    options = {"rate": 0.05, "batch_size": 9, "strategy": "", "seed": SEED}
    for expert in range(2):
        first = trajectories.sgd_epoch(spec, start, inputs, step=2 * expert, **options)[0]
        paths += [
            start,
            first,
            trajectories.sgd_epoch(spec, first, inputs, step=2 * expert + 1, **options)[0],
        ]
    state = doubled(dataclasses.replace(state, step=mtt.expert_updates(MTT), paths=tuple(paths)))
    for _ in range(UPDATES):
        state = doubled(mtt.update(MTT, inputs, state)[0])
    return [paths[2], paths[5], state.images, state.rate]


# -- 65: LD by ridge regression

LD = ld.Config.teaching(
    network=networks.spec("mlp", width=6),
    images_per_class=2,
    batch_size=9,
    iterations=UPDATES,
    seed=SEED,
)


def labelled(source: str) -> Tensors:
    inputs = Inputs(data=data_of(), device="cpu")
    state = doubled(ld.init(LD, inputs))
    body = perceptron().module()
    body.load_state_dict(state.weights)
    source = (
        source.replace("[:50]", "[:5]")
        .replace("[:256]", "[:9]")
        .replace("(len(pictures), 10), 0.1", "(len(pictures), 3), 1 / 3")
    )
    page = run(source, with_ones=lambda values: F.pad(values, (0, 1), value=1.0))
    real = data_of().normalised()
    answers = data_of().train_labels
    return [page["learn_labels"](real, answers, state.images, lambda: body.hidden, updates=UPDATES)]


def labelled_by_the_library() -> Tensors:
    return [updated(ld, LD.replace(inner_batch=5), Inputs(data=data_of(), device="cpu")).labels]


# -- 70: GTN

GTN = gtn.Config.teaching(
    network=networks.spec("convnet", width=3, depth=1, norm="instance"),
    steps=4,
    inner_batch=5,
    width=6,
    latent=3,
    batch_size=9,
    iterations=UPDATES,
    seed=SEED,
    longest=0.5,
)


def taught_to_teach(source: str) -> Tensors:
    inputs = Inputs(data=data_of(channels=1), device="cpu")
    state = doubled(gtn.init(GTN, inputs))
    data = data_of(channels=1)
    names = []
    for layer in (0, 1):
        for part in ("direction", "length", "bias"):
            names.append(f"{layer}.{part}")
    names += ["latents", "log_rates", "log_momenta"]
    learned = [state.learned[name].requires_grad_() for name in names]
    labels = torch.arange(20) % data.classes
    source = (
        source.replace("[:256]", "[:9]")
        .replace("clip_grad_norm_(plan, 5.0)", "clip_grad_norm_(plan, 0.5)")
        .replace("adam, updates", f"adam, {UPDATES}")
    )
    spec = GTN.network.for_data(data)
    seeds = iter(range(UPDATES))

    def new_student() -> Any:
        return (
            networks.initialise(spec, seed=derived_seed(SEED, next(seeds), "start"))
            .module()
            .double()
        )

    real = data.normalised()
    answers = data.train_labels
    page = run(source, functional_call=functional_call, data=data)
    learned_tensors = page["learn_to_teach"](
        real, answers, learned, labels, new_student, updates=UPDATES, steps=4
    )
    return [value.detach() for value in learned_tensors]


def taught_by_the_library() -> Tensors:
    tensors = updated(gtn, GTN, Inputs(data=data_of(channels=1), device="cpu")).learned
    without_weights(tensors["latents"])
    names = []
    for layer in (0, 1):
        for part in ("direction", "length", "bias"):
            names.append(f"{layer}.{part}")
    return [tensors[name] for name in (*names, "latents", "log_rates", "log_momenta")]


# -- 75: Mnemonics

MNEMONICS = mnemonics.Config.teaching(
    network=networks.spec("mlp", width=6),
    tasks=2,
    images_per_class=2,
    adjust_old=False,
    batch_size=9,
    replay_batch_size=9,
    exemplar_updates=UPDATES,
    seed=SEED,
)


def remembered(source: str) -> Tensors:
    data = data_of(**FOUR)
    inputs = Inputs(data=data, device="cpu")
    body = networks.initialise(MNEMONICS.network.for_data(data), seed=0).module()
    body.load_state_dict(mnemonics.init(MNEMONICS, inputs).weights)
    network = nn.Sequential(*body.hidden, body.classifier).double()
    source = source.replace("(32)", "(9)").replace("(32,)", "(9,)").replace("[:32]", "[:9]")
    chosen = lambda features, count: selection.herding(features, count).tolist()  # noqa: E731
    page = run(source, functional_call=functional_call, herding=chosen)
    tasks = [
        (data.normalised(rows), places)
        for rows, places in (arrived(MNEMONICS, data, phase) for phase in (0, 1))
    ]
    memory, after = page["remember"](network, tasks, 2, UPDATES)
    return [
        memory,
        *(torch.cat([value.detach().flatten() for value in model.parameters()]) for model in after),
    ]


def herd(source: str) -> Tensors:
    return [torch.tensor(run(source)["herding"](data_of().normalised().flatten(1), 5))]


def herded() -> Tensors:
    return [selection.herding(data_of().normalised().flatten(1), 5)]


def remembered_by_the_library() -> Tensors:
    inputs = Inputs(data=data_of(**FOUR), device="cpu")
    draws = list[Tensor]()
    state = doubled(mnemonics.init(MNEMONICS, inputs))
    for _ in range(mnemonics.total_steps(MNEMONICS, inputs)):
        state = doubled(mnemonics.update(MNEMONICS, inputs, state)[0])
    # The library draws an epoch's order at each of its steps, the page once.
    for item in TAPE.drawn:
        if not item.is_floating_point() and not any(
            torch.equal(item, earlier) for earlier in draws
        ):
            draws.append(item)
    TAPE.drawn = draws
    return [
        state.exemplars,
        *(torch.cat([value.flatten() for value in item.values()]) for item in state.models),
    ]


# -- 80: the fair comparison, given sets, students and scores


def compared_fairly(source: str) -> Tensors:
    page = run(source, t=stats.t)
    return [
        torch.stack(
            page["fair"](
                numbers(1.0), numbers(3.0), lambda x, y, seed: x.sum() + seed * y.sum(), float
            )
        )
    ]


def numbers(scale: float) -> Callable[[int], tuple[Tensor, Tensor]]:
    return lambda seed: (
        scale * torch.rand(4, generator=generator(seed, 0, "x")).double(),
        torch.arange(4),
    )


def interval_of_the_library() -> Tensors:
    gains = [float(numbers(1.0)(seed)[0].sum() - numbers(3.0)(seed)[0].sum()) for seed in range(5)]
    limits = interval(gains)
    assert limits is not None
    return [torch.tensor([sum(gains) / 5, *limits]).double()]


# -- 85: the search by a proxy, of linear networks, and the rank correlation


def searched(source: str) -> Tensors:
    page = run(source)
    images, labels = numbers(1.0)(0)
    builds = [lambda width=width: two_layers(width) for width in (2, 3, 5)]
    losses = page["search_by"](
        builds,
        images[:, None],
        labels,
        lambda network: network(images[:, None]).sum(),
        SEED,
        UPDATES,
    )
    first, second = (numbers(1.0)(seed)[0] for seed in (3, 4))
    return [losses.detach(), page["rank_correlation"](first, second)]


def two_layers(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 4)).double()


def searched_by_the_library() -> Tensors:
    """AdamW of the library, from the same first weights and on the same rows."""
    images, labels = numbers(1.0)(0)
    sums = []
    for width in (2, 3, 5):
        torch.manual_seed(SEED)
        network = two_layers(width)
        weights = {name: value.detach() for name, value in network.named_parameters()}
        state: Any = optimisers.begin("adamw", weights)
        for _ in range(UPDATES):
            rows = torch.randint(4, (64,))
            leaves = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
            loss = F.cross_entropy(
                functional_call(network, leaves, (images[rows, None],)), labels[rows]
            )
            slopes = dict(
                zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True)
            )
            weights, state = optimisers.descend(
                weights, slopes, state, learning_rate=0.005, weight_decay=0.01
            )
        sums.append(functional_call(network, weights, (images[:, None],)).sum())
    first, second = (numbers(1.0)(seed)[0].numpy() for seed in (3, 4))
    return [torch.stack(sums).detach(), torch.tensor(rank_correlation(first, second)).double()]


ROWS: dict[str, Row] = {
    "05 DM": Row(
        "05_matching",
        match,
        matched,
        ("body(members[rows]).mean(0)", "body(members[rows])[0]"),
        taped=True,
    ),
    "05 DC": Row(
        "05_matching",
        match_gradients,
        matched_gradients,
        ("a.ndim > 1", "a.ndim > 2"),
        tag="gradient-matching",
        taped=True,
    ),
    "10 toys": Row("10_ideal_data", toys, library_toys, ("momentum=0.98", "momentum=0.9")),
    "20 SRe2L": Row(
        "20_inverting_a_network",
        recover,
        recovered,
        ("(mean_gap + variance_gap)", "mean_gap"),
        taped=True,
    ),
    "20 labels": Row(
        "20_inverting_a_network",
        page_online,
        library_online,
        ("(student(view) / temperature)", "student(view)"),
        tag="relabel",
    ),
    "21 DWA": Row(
        "21_diversity",
        adjust,
        adjusted,
        ("weight += radius", "weight -= radius"),
        tolerance=1e-8,
        taped=True,
    ),
    "30 FADRM": Row(
        "30_data_residuals",
        residuals,
        library_residuals,
        ("alpha * resized(images, side) +", "resized(images, side) +"),
        taped=True,
    ),
    "30 FADRM, two sizes": Row(
        "30_data_residuals",
        functools.partial(residuals, small=12),
        functools.partial(library_residuals, small=12),
        ("stage % 2 == 0", "stage % 2 == 1"),
        taped=True,
    ),
    "40 KRR-ST": Row(
        "40_bases", distil, distilled, ("falling.step()", "None"), tolerance=1e-7, taped=True
    ),
    "40 Boost": Row(
        "40_bases",
        pair,
        paired,
        ("range(4)", "(0, 2, 1, 3)"),
        tag="views",
        tolerance=1e-7,
        taped=True,
    ),
    "45 ReLA": Row(
        "45_representations", represent, represented, ("z @ z.T / tau", "z @ z.T"), taped=True
    ),
    "50 KIP": Row("50_kernels", learn, learned, ("ridge * K", "0 * K"), taped=True),
    "60 DD": Row(
        "60_learning_through_training",
        unrolled,
        distilled_by_the_library,
        ("weights[name] - rate * slope", "weights[name] - 0.1 * slope"),
        taped=True,
        tolerance=1e-5,  # the first rates come from another formula in float32
    ),
    "60 SLDD": Row(
        "60_learning_through_training",
        unrolled_labels,
        labels_by_the_library,
        ("learned.append(labels)", "pass"),
        taped=True,
        tolerance=1e-5,
    ),
    "65 LD": Row(
        "65_learned_labels",
        labelled,
        labelled_by_the_library,
        ("0.01 * local", "0.02 * local"),
        taped=True,
    ),
    "70 GTN": Row(
        "70_generators",
        taught_to_teach,
        taught_by_the_library,
        ("momentum * speed[name] + slope", "slope"),
        taped=True,
    ),
    "75 herding": Row(
        "75_memories",
        herd,
        herded,
        ("features[chosen].sum(0) + features", "features"),
        tag="herding",
    ),
    "75 Mnemonics": Row(
        "75_memories",
        remembered,
        remembered_by_the_library,
        ("0.5 * 4 * drift", "0.5 * 2 * drift"),
        taped=True,
    ),
    "80 a fair comparison": Row(
        "80_arena",
        compared_fairly,
        interval_of_the_library,
        ("/ len(gains) ** 0.5", ""),
        tolerance=1e-6,
    ),
    "85 a search by a proxy": Row(
        "85_at_work",
        searched,
        searched_by_the_library,
        ("ranks - ranks.mean(1, keepdim=True)", "ranks"),
    ),
    "62 MTT": Row(
        "62_trajectories",
        matched_paths,
        paths_of_the_library,
        ("momentum=0.5", "momentum=0.4"),
        taped=True,
    ),
}


def test_every_whole_method_has_a_row() -> None:
    pages = {
        path.stem
        for path in SOLUTIONS.glob("*.ipynb")
        if '"whole-method"' in path.read_text(encoding="utf-8")
    }
    assert pages - {row.lesson for row in ROWS.values()} == set()


def gap(first: Tensors, second: Tensors) -> float:
    """The largest difference; of what has not the same shapes, infinite."""
    if [tensor.shape for tensor in first] != [tensor.shape for tensor in second]:
        return math.inf
    gaps = [float((mine - theirs).abs().max()) for mine, theirs in zip(first, second, strict=True)]
    return max(gaps)


@pytest.mark.parametrize("name", ROWS)
def test_the_page_is_the_library_and_notices_a_dropped_term(name: str) -> None:
    row = ROWS[name]
    source = source_of(ROWS[name])
    with TAPE.recorded():
        by_library = row.library()
    term, without = row.dropped
    assert term in source
    with TAPE.played() if row.taped else contextlib.nullcontext():
        by_page = row.page(source)
    with TAPE.played() if row.taped else contextlib.nullcontext():
        by_edited_page = row.page(source.replace(term, without))
    assert (
        gap(by_page, by_library) < row.tolerance
        and gap(by_edited_page, by_library) > 1e3 * row.tolerance
    )
