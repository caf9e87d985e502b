"""What the tests of all lessons ask of lesson 75; `tests.lessons.rows` says which."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ddlab import networks
from ddlab.methods import mnemonics, selection
from ddlab.runs import Inputs
from ddlab.training.phases import arrivals
from tests.lessons.gains import Gain, between
from tests.lessons.whole_method import (
    FOUR,
    SEED,
    TAPE,
    UPDATES,
    Row,
    Tensors,
    data_of,
    doubled,
    run,
)

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
        for rows, places in (arrivals(MNEMONICS, data, phase) for phase in (0, 1))
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


def memories(new: str, old: str, count: int, column: str = "last") -> Gain:
    return between("memories", column, {"memory": new}, {"memory": old}, exemplars=count)


def cut_without_gradient(*arguments: Any) -> Tensor:
    return torch.zeros(())


def halves_along_the_first_component(images: Tensor) -> Tensor:
    flat = images.flatten(1)
    centred = flat - flat.mean(0)
    side = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[0] > 0
    return torch.stack([images[side].mean(0), images[~side].mean(0)])


def random_halves(images: Tensor) -> Tensor:
    order = torch.randperm(len(images))
    return torch.stack([half.mean(0) for half in images[order].chunk(2)])


METHODS = {
    "herding": Row(herd, herded, ("features[chosen].sum(0) + features", "features"), tag="herding"),
    "Mnemonics": Row(
        remembered, remembered_by_the_library, ("0.5 * 4 * drift", "0.5 * 2 * drift"), taped=True
    ),
}


LABS = {
    "MemoryLab": lambda g: {"data": g.data, "config": mnemonics.SMALL},
    "PlaneLab": lambda g: {},
}


SENTENCES = [
    (
        "**Learned exemplars: no difference seen** from herding's, from which they start, at any size",
        lambda: all(memories("learned", "herding", n).unseen for n in (1, 2, 5)),
    ),
    (
        "herding's is about ten points ahead of a random image. With five exemplars no difference from "
        "random images is seen.",
        lambda: (
            0.085 < memories("herding", "random", 1).mean < 0.115
            and memories("random", "herding", 5).unseen
        ),
    ),
    (
        "herding's image is about ten points ahead of a random one",
        lambda: 0.085 < memories("herding", "random", 1).mean < 0.115,
    ),
    (
        "With two and five exemplars, averages of groups (*k-means centres*) and the real images "
        "nearest to them are about two points ahead of herding",
        lambda: all(
            memories(name, "herding", n).ahead and 0.015 < memories(name, "herding", n).mean < 0.025
            for name in ("k-means centres", "nearest to centres")
            for n in (2, 5)
        ),
    ),
    (
        "With one, lesson 05's images are three points ahead",
        lambda: (
            memories("DM", "herding", 1).ahead and 0.025 < memories("DM", "herding", 1).mean < 0.035
        ),
    ),
    (
        "With one exemplar per class, the loss lessens forgetting by five points",
        lambda: (
            0.045
            < memories("herding, no distillation loss", "herding", 1, "forgotten").mean
            < 0.055
        ),
    ),
    (
        "With two and five, the network ends two and three points higher without it",
        lambda: (
            [
                round(100 * memories("herding, no distillation loss", "herding", n).mean)
                for n in (2, 5)
            ]
            == [2, 3]
            and memories("herding, no distillation loss", "herding", 2).ahead
        ),
    ),
]


WRONG = [
    ("halves", cut_without_gradient, "No gradient"),
]


TRAINED = {
    "one image twice": ("pair", lambda images: images[:1].repeat(2, 1, 1, 1), "are equal"),
    "random halves": ("pair", random_halves, "nearly alike"),
    "the first two": ("pair", lambda images: images[:2], "untypical"),
    "two groups": ("pair", halves_along_the_first_component, ""),
}
