"""What the tests of all lessons ask of lesson 60; `tests.lessons.rows` says which."""

from typing import Any

import torch

from ddlab import records
from ddlab.data import text
from ddlab.methods import (
    dd,
    sldd,
    tdd,
)
from ddlab.runs import Inputs
from tests.lessons.gains import Gain, between, gain
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


def starts(learner: str, steps: int, images: str) -> Gain:
    return between(
        "unrolled_starts",
        "others",
        {"images": images},
        {"images": "class means"},
        learner=learner,
        steps=steps,
    )


def more_by_steps(learner: str, steps: int) -> Gain:
    """By how much the lead over class means grows from one step to so many, for one start."""
    table = records.load("unrolled_starts")
    leads = []
    for count in (steps, 1):
        learned, means = (
            table.values("others", learner=learner, steps=count, images=images)
            for images in ("one start", "class means")
        )
        leads.append([a - b for a, b in zip(learned, means, strict=True)])
    return gain(*leads)


METHODS = {
    "DD": Row(
        unrolled,
        distilled_by_the_library,
        ("weights[name] - rate * slope", "weights[name] - 0.1 * slope"),
        taped=True,
        tolerance=1e-5,
    ),
    "SLDD": Row(
        unrolled_labels,
        labels_by_the_library,
        ("learned.append(labels)", "pass"),
        taped=True,
        tolerance=1e-5,
    ),
}


LABS = {
    "SentenceLab": lambda g: {
        "questions": text.questions(count=72, length=6, dim=6),
        "config": tdd.Config.teaching(epochs=1, iterations=3, batch_size=8),
    },
    "StepsLab": lambda g: {"data": g.data, "config": dd.Config.teaching(epochs=1, iterations=2)},
    "OnePoint": lambda g: {},
}


SENTENCES = [
    (
        "More steps help the perceptron's images more than they help class means",
        lambda: all(more_by_steps("perceptron", n).ahead for n in (3, 10)),
    ),
    (
        "The ConvNet's fall further behind",
        lambda: more_by_steps("ConvNet", 10).behind,
    ),
    (
        "are ten points behind class means after one step",
        lambda: starts("perceptron", 1, "one start").behind,
    ),
    (
        "After three or ten steps no difference is seen",
        lambda: all(starts("perceptron", n, "one start").unseen for n in (3, 10)),
    ),
    (
        "are ahead at every $N$, by 26, 23 and 8 points",
        lambda: (
            [round(100 * starts("perceptron", n, "four starts an update").mean) for n in (1, 3, 10)]
            == [26, 23, 8]
        ),
    ),
    (
        "Sentences for one start lose much on others",
        lambda: all(
            between(
                "text_networks",
                "others",
                {"starts": "new starts"},
                {"starts": "one start"},
                network=network,
            ).ahead
            for network in ("TextConvNet", "RNN", "LSTM")
        ),
    ),
    (
        "the images fall further behind",
        lambda: (
            starts("ConvNet", 10, "one start").mean
            < starts("ConvNet", 3, "one start").mean
            < starts("ConvNet", 1, "one start").mean
            < 0
        ),
    ),
]


WRONG = [
    ("carry", dd.Config.teaching(images_per_class=2), "images_per_class"),
    ("carry", dd.Config.teaching(epochs=6), "at most N = 5"),
    ("carry", dd.Config.teaching(starts="pretrained"), "fixed or random"),
    ("carry", dd.Config.teaching(starts="random"), "You may spend"),
    ("carry", dd.Config.teaching(initial_rate=1e30, iterations=1), "No images"),
]


TRAINED = {
    "a fixed start": ("carry", dd.Config.teaching(epochs=4), "met one start"),
    "few updates": (
        "carry",
        dd.Config.teaching(starts="random", networks=8, epochs=5, iterations=25),
        "25 updates are few",
    ),
    "new starts": (
        "carry",
        dd.Config.teaching(starts="random", networks=2, epochs=3, iterations=160),
        "",
    ),
}
