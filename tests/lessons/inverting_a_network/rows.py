"""What the tests of all lessons ask of lesson 20; `tests.lessons.rows` says which."""

from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from ddlab import networks
from ddlab.core.randomness import generator
from ddlab.methods import sre2l
from ddlab.methods.shared import descent
from ddlab.networks import Network
from ddlab.runs import Inputs
from ddlab.training import losses, supervised
from tests.lessons.gains import Gain, between
from tests.lessons.whole_method import UPDATES, Row, Tensors, data_of, run, teacher_of, updated


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


def recovered_gain(images: str, labels: str, rival: str = "real") -> Gain:
    return between("recovered", "accuracy", {"images": images}, {"images": rival}, labels=labels)


RECOVERIES = (
    "recovered from noise",
    "recovered from noise, rate 1",
    "recovered from real",
    "recovered from real, rate .02",
    "recovered from real, rate 1",
)


def recover(source: str) -> Tensors:
    data = data_of()
    teacher = teacher_of(trained=True)
    noise = descent.noise_images(data, data.classes, seed=0, batch=0, device="cpu").double()
    learn = run(source)["recover"]
    arguments = teacher.module(), torch.arange(data.classes), noise, *data.valid_range()
    return [learn(*arguments, iterations=UPDATES, weight=0.02)]


def gap_gain(images: str, labels: str) -> Gain:
    """What matching the stored statistics gains."""
    return recovered_gain(images, labels, f"{images}, no gaps")


METHODS = {
    "SRe2L": Row(recover, recovered, ("(mean_gap + variance_gap)", "mean_gap"), taped=True),
    "labels": Row(
        page_online,
        library_online,
        ("(student(view) / temperature)", "student(view)"),
        tag="relabel",
    ),
}


LABS = {
    "StoredStatistics": lambda g: {"data": g.data, "teacher": g.teacher},
    "RecoveryLab": lambda g: {
        "data": g.data,
        "teacher": g.teacher,
        "student": g.student,
        "iterations": 4,
    },
}


SENTENCES = [
    (
        "students of images recovered *from real ones* end four to seven points ahead of students of "
        "the images that these started from",
        lambda: all(
            recovered_gain("recovered from real", labels).ahead
            and 0.035 < recovered_gain("recovered from real", labels).mean < 0.075
            for labels in ("hard", "stored", "online")
        ),
    ),
    (
        "From noise, images are far behind at the authors' rate",
        lambda: all(
            recovered_gain("recovered from noise", labels).high < -0.05
            for labels in ("hard", "stored", "online")
        ),
    ),
    (
        "A rate of 1 gains about fifteen points",
        lambda: all(
            0.13
            < recovered_gain("recovered from noise, rate 1", labels, "recovered from noise").mean
            < 0.17
            for labels in ("hard", "stored", "online")
        ),
    ),
    (
        "enough to draw level with online labels, but not with class labels: there the images from noise "
        "remain about ten points behind",
        lambda: (
            recovered_gain("recovered from noise, rate 1", "online").unseen
            and recovered_gain("recovered from noise, rate 1", "hard").behind
            and -0.105 < recovered_gain("recovered from noise, rate 1", "hard").mean < -0.09
        ),
    ),
    (
        "no certain gain with online labels",
        lambda: (
            gap_gain("recovered from real", "online").unseen
            and gap_gain("recovered from real", "hard").ahead
            and gap_gain("recovered from real", "stored").ahead
        ),
    ),
    (
        "level with them at a rate of 1",
        lambda: recovered_gain("recovered from noise, rate 1", "online").unseen,
    ),
    (
        "**No recovered set is ahead of typical real images**",
        lambda: (
            not any(
                recovered_gain(images, labels, "typical").mean > 0
                for images in RECOVERIES
                for labels in ("hard", "stored", "online")
            )
        ),
    ),
    (
        "With online labels ten pairs show no difference between typical images and images "
        "recovered from real ones; with class labels the typical images are fifteen points ahead",
        lambda: (
            recovered_gain("typical", "online", "recovered from real").unseen
            and 0.14 < recovered_gain("typical", "hard", "recovered from real").mean < 0.155
        ),
    ),
    (
        "matching the stored statistics raises students by 13 to 25 points with online labels",
        lambda: (
            [
                round(100 * recovered_gain(images, "online", f"{images}, no gaps").mean)
                for images in ("recovered from noise", "recovered from noise, rate 1")
            ]
            == [13, 25]
        ),
    ),
    (
        "With images from noise students do at most as well as with random real ones",
        lambda: (
            not any(
                recovered_gain(images, labels).ahead
                for images in RECOVERIES
                if "noise" in images
                for labels in ("hard", "stored", "online")
            )
        ),
    ),
]


WRONG = [
    ("ahead", 0.5, "Give a Config"),
    ("ahead", (None, None, sre2l.Config.teaching(images_per_class=2)), "equal budget"),
]
