"""What the tests of all lessons ask of lesson 10; `tests.lessons.rows` says which."""

import functools
from typing import Any

import torch
from torch import nn

from ddlab.lessons.ideal_data import checks as ideal_data
from ddlab.lessons.ideal_data import networks as toy_networks
from ddlab.lessons.ideal_data import toys as toy_world
from ddlab.lessons.ideal_data.toys import Config as Toy
from tests.lessons.gains import Gain, gain
from tests.lessons.whole_method import UPDATES, Row, Tensors, run


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


@functools.cache
def toy_students(exact: bool) -> Any:
    """Lesson 10: the seven Sigmas."""
    seeds = 20 if exact else 100
    configs = [
        toy_world.Config(deviation=sigma, seeds=seeds, exact_gradient=exact)
        for sigma in ideal_data.SIGMAS
    ]
    return ideal_data.on_original(toy_world.train(configs))


def toy(measure: str, new: float, old: float, exact: bool = False) -> Gain:
    values = getattr(toy_students(exact), measure)[-1]
    return gain(*(values[ideal_data.SIGMAS.index(sigma)].tolist() for sigma in (new, old)))


@functools.cache
def taught_toys() -> dict[str, Any]:
    usual = toy_world.Config(deviation=1.0, seeds=100)
    configs = [
        usual,
        *(usual.replace(relabelling=1.0, teacher=name) for name in ideal_data.TEACHERS),
    ]
    judged = ideal_data.on_original(toy_world.train(configs))
    return {"error": judged.mean_squared_error[-1], "right": judged.accuracy_fraction[-1]}


def teachers(measure: str, new: int, old: int) -> Gain:
    values = taught_toys()[measure]
    return gain(values[new].tolist(), values[old].tolist())


METHODS = {
    "toys": Row(toys, library_toys, ("momentum=0.98", "momentum=0.9")),
}


LABS = {
    "SigmaLab": lambda g: {"settings": "steps=3,seeds=2"},
    "RhoLab": lambda g: {"settings": "steps=3,seeds=2"},
    "TenLab": lambda g: {},
}


SENTENCES = [
    (
        "they fall a little from the narrowest samples to $\\Sigma = 0.2$",
        lambda: (
            toy("mean_squared_error", 0.2, 0.05).behind
            and toy("accuracy_fraction", 0.2, 0.05).ahead
        ),
    ),
    (
        "**Narrow samples are better than true ones, in probabilities and in decisions.**",
        lambda: (
            toy("mean_squared_error", 0.2, 0.5).behind and toy("accuracy_fraction", 0.2, 0.5).ahead
        ),
    ),
    (
        "so networks keep the boundary of their start",
        lambda: toy("mean_squared_error", 0.05, 0.2, exact=True).ahead,
    ),
    (
        "The *decisions* of all settings from 0.2 to 1 are then equally good",
        lambda: all(
            abs(toy("accuracy_fraction", sigma, 0.2, exact=True).mean) < 0.002
            for sigma in (0.3, 0.5, 0.7, 1.0)
        ),
    ),
    (
        "Their *probabilities* stay wrong without any noise",
        lambda: toy("mean_squared_error", 1.0, 0.2, exact=True).mean > 0.03,
    ),
    ("**In probabilities the trained network is better**", lambda: teachers("error", 1, 2).behind),
    (
        "**In decisions the posterior is a little better**",
        lambda: teachers("right", 2, 1).ahead and teachers("right", 2, 1).mean < 0.01,
    ),
    (
        "Both teachers remove the noise of the labels",
        lambda: teachers("right", 1, 0).ahead and teachers("right", 2, 0).ahead,
    ),
]


RIGHT = [
    ("quiet", Toy(deviation=1.0, relabelling=0.8)),
]


WRONG = [
    ("quiet", Toy(deviation=1.0, momentum=0.9, learning_rate=0.01), "Shorter steps"),
    ("quiet", Toy(deviation=1.0, relabelling=0.1), "smaller share"),
    ("quiet", Toy(deviation=1.0, relabelling=1.0), "hardly anything is left"),
    ("quiet", Toy(deviation=0.2), "you changed deviation"),
]
