"""What the tests of all lessons ask of lesson 40; `tests.lessons.rows` says which."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ddlab import networks
from ddlab.core.randomness import derived_seed
from ddlab.methods import boost, krr_st
from ddlab.networks import Network
from ddlab.runs import Inputs
from tests.lessons.gains import Gain, between
from tests.lessons.whole_method import (
    SEED,
    TAPE,
    UPDATES,
    Row,
    Tensors,
    data_of,
    doubled,
    run,
    source_of,
)

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
    loop = source_of("40")
    pairs_of = run(source.replace("size=16", "size=8"))["pairs_of"]
    return page_pairs(
        loop, lambda Bx, Cx, By, Cy: pairs_of(Bx.flatten(1), Cx, By, Cy), list(FIRST.values())
    )


def unlabelled(new: str, old: str = "real") -> Gain:
    return between("unlabelled_sets", "accuracy", {"images": new}, {"images": old})


AS_BEGUN = "bases, no views, not learned"
AS_BEGUN_FEW = "bases, no views, few, not learned"


def points(lead: Gain) -> list[float]:
    """A gain in percentage points, as the page prints it."""
    return [round(100 * value, 1) for value in lead]


METHODS = {
    "KRR-ST": Row(distil, distilled, ("falling.step()", "None"), tolerance=1e-7, taped=True),
    "Boost": Row(
        pair, paired, ("range(4)", "(0, 2, 1, 3)"), tag="views", tolerance=1e-7, taped=True
    ),
}


LABS = {
    "BasesLab": lambda g: {
        "data": g.data,
        "teacher": g.teacher,
        "images": 8,
        "settings": "bases=4",
    },
}


SENTENCES = [
    (
        "which are eight points ahead of twenty real images without any learning",
        lambda: round(unlabelled("principal, few").mean, 3) == 0.081,
    ),
    (
        "Learning helps twenty whole images by 2.0 points (.4 to 3.7)",
        lambda: unlabelled("KRR-ST").ahead and round(unlabelled("KRR-ST").mean, 3) == 0.020,
    ),
    (
        "No difference is seen for the 32 pairs of V = 40 (-2.2 to +2.2)",
        lambda: points(unlabelled("bases, no views", AS_BEGUN)) == [0.0, -2.2, 2.2],
    ),
    (
        "learning harms the 128 pairs of V = 10 by 3.0 points (1.9 to 4.0)",
        lambda: points(unlabelled("bases, no views, few", AS_BEGUN_FEW)) == [-3.0, -4.0, -1.9],
    ),
    (
        "**The split of the floats is worth more than learning.**",
        lambda: unlabelled(AS_BEGUN_FEW, AS_BEGUN).mean > unlabelled("KRR-ST").mean,
    ),
    (
        "At V = 10 its views are worth",
        lambda: unlabelled("Boost, few", "bases, no views, few").ahead,
    ),
    (
        "is behind bases that are not learned at V = 10 ({1}); at V = 40 no difference is seen ({0})",
        lambda: (
            unlabelled("Boost, few", AS_BEGUN_FEW).behind
            and unlabelled("Boost", AS_BEGUN).unseen
            and unlabelled("Boost", "bases, no views").unseen
        ),
    ),
    (
        "Only the ViT gains.",
        lambda: all(
            between(
                "self_supervised_architectures",
                "source",
                {"method": "Boost"},
                {"method": "untrained"},
                architecture=name,
            ).ahead
            is (name == "ViT")
            for name in ("VGG11", "ResNet-18", "AlexNet", "MobileNetV2", "ViT")
        ),
    ),
]
