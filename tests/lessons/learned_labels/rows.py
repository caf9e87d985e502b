"""What the tests of all lessons ask of lesson 65; `tests.lessons.rows` says which."""

import torch
import torch.nn.functional as F
from torch import Tensor

import ddlab
from ddlab import networks
from ddlab.methods import ld
from ddlab.runs import Inputs
from tests.lessons.gains import Gain, between, mean
from tests.lessons.whole_method import (
    SEED,
    UPDATES,
    Row,
    Tensors,
    data_of,
    doubled,
    perceptron,
    run,
    updated,
)

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


def label_gain(times: int) -> Gain:
    network_name = "the learner's network"
    return between(
        "learned_labels",
        "accuracy",
        {"pictures": "learned labels"},
        {"pictures": "true labels"},
        times=times,
        network=network_name,
    )


def pictured(count: int, pictures: str = "shapes", rival: str = "one real digit") -> Gain:
    """Return what pictures with learned labels gain over ten real images of a kind."""
    return between(
        "learned_labels",
        "accuracy",
        {"pictures": pictures, "count": count},
        {"pictures": rival, "count": 10},
        network=LEARNER,
    )


LEARNER = "the learner's network"
DIGITS = "a hundred digits, learned labels"


def by_network(student: str, learner: str, other: str) -> Gain:
    """What a student gains from the labels that one network learned, over those of another."""
    return between(
        "label_networks", "accuracy", {"learner": learner}, {"learner": other}, student=student
    )


def shapes_by(trained_on: str, rival: str) -> Gain:
    """What perceptrons that are tested on shapes gain."""
    return between("swapped_labels", "accuracy", {"trained_on": trained_on}, {"trained_on": rival})


def blurred_noise(width: int, seed: int) -> Tensor:
    noise = torch.randn(100, 1, 16, 16, generator=torch.Generator().manual_seed(seed))
    return F.avg_pool2d(noise, width, 1, width // 2)


METHODS = {
    "LD": Row(labelled, labelled_by_the_library, ("0.01 * local", "0.02 * local"), taped=True),
}


LABS = {
    "LabelLab": lambda g: {"data": g.data, "config": ld.SMALL, "pictures": 10},
    "TwoPoints": lambda g: {},
}


SENTENCES = [
    (
        "no difference is seen. A perceptron falls",
        lambda: (
            by_network("ConvNet", "ConvNet", "perceptron").unseen
            and by_network("perceptron", "perceptron", "ConvNet").ahead
        ),
    ),
    (
        "are ahead of ten class means, and three points behind a hundred real shapes",
        lambda: (
            shapes_by(DIGITS, "class means").ahead
            and round(100 * shapes_by(DIGITS, "a hundred shapes").mean) == -3
        ),
    ),
    (
        "learned labels are at most a point ahead of the true ones during the training",
        lambda: not label_gain(1).behind and 0 < label_gain(1).mean < 0.0125,
    ),
    (
        "and five points behind after three times as many steps",
        lambda: label_gain(3).behind and -0.06 < label_gain(3).mean < -0.045,
    ),
    ("of the digits, at least as much as ten real digits", lambda: not pictured(100).behind),
    (
        "is still four to five points ahead of five hundred shapes (3 to 6)",
        lambda: -0.055 < pictured(500, rival="class means").mean < -0.035,
    ),
    (
        "a perceptron classifies about two thirds of the digits",
        lambda: (
            0.64
            < mean("learned_labels", "accuracy", pictures="shapes", count=100, network=LEARNER)
            < 0.72
        ),
    ),
]


WRONG = [
    ("pictures", torch.zeros(3, 1, 16, 16), "must have shape"),
    ("pictures", torch.full((100, 1, 16, 16), torch.nan), "NaN"),
    ("pictures", ddlab.data.load("digits").normalised(slice(100)), "cosine"),
    ("pictures", torch.zeros(100, 1, 16, 16), "correlation"),
    ("pictures", torch.randn(100, 1, 16, 16), "correlation"),
]


TRAINED = {
    "3 px, seed 0": ("pictures", blurred_noise(3, 0), ""),
    "3 px, seed 9": ("pictures", blurred_noise(3, 9).numpy(), ""),
    "5 px, seed 1": ("pictures", blurred_noise(5, 1).tolist(), ""),
}
