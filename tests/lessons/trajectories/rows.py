"""What the tests of all lessons ask of lesson 62; `tests.lessons.rows` says which."""

import dataclasses

import torch
from torch import Tensor, nn

from ddlab import networks, records
from ddlab.methods import mtt
from ddlab.runs import Inputs
from ddlab.training import ordered, trajectories
from tests.lessons.gains import Gain, between
from tests.lessons.whole_method import (
    SEED,
    TAPE,
    UPDATES,
    Row,
    Tensors,
    data_of,
    doubled,
    perceptron,
    run,
)

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


def paths(column: str, new: str, old: str, steps: int = 10) -> Gain:
    return between("trajectories", column, {"images": new}, {"images": old}, steps=steps)


def closer_runs(steps: int) -> int:
    """In how many of ten pairs MTT ends closer to the expert than class means."""
    table = records.load("trajectories")
    pairs = zip(
        table.values("left", images="MTT", steps=steps),
        table.values("left", images="class means, best rate", steps=steps),
        strict=True,
    )
    return sum(learned < means for learned, means in pairs)


METHODS = {
    "MTT": Row(matched_paths, paths_of_the_library, ("momentum=0.5", "momentum=0.4"), taped=True),
}


LABS = {
    "TrajectoryLab": lambda g: {"data": g.data, "config": mtt.SMALL.replace(strategy="", passes=2)},
    "OneExpert": lambda g: {},
}


SENTENCES = [
    (
        "their students are twenty points ahead",
        lambda: 0.17 < paths("accuracy", "MTT", "random real, MTT's rate").mean < 0.22,
    ),
    (
        "ten pairs of students show no difference",
        lambda: paths("accuracy", "MTT", "class means, best rate").unseen,
    ),
    (
        "With one to ten steps learned images lead closer",
        lambda: all(
            paths("left", "MTT", "class means, best rate", steps=n).behind for n in (1, 5, 10)
        ),
    ),
    (
        "with twenty nine of ten runs end closer, and one fails",
        lambda: (
            paths("left", "MTT", "class means, best rate", steps=20).unseen
            and closer_runs(steps=20) == 9
        ),
    ),
    (
        "end five and three points *behind* students of class means",
        lambda: (
            [
                round(100 * paths("accuracy", "MTT", "class means, best rate", steps=n).mean)
                for n in (1, 5)
            ]
            == [-5, -3]
            and all(
                paths("accuracy", "MTT", "class means, best rate", steps=n).behind for n in (1, 5)
            )
        ),
    ),
    (
        "With ten and twenty steps no difference is seen",
        lambda: all(
            paths("accuracy", "MTT", "class means, best rate", steps=n).unseen for n in (10, 20)
        ),
    ),
]
