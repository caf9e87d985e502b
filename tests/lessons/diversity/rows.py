"""What the tests of all lessons ask of lesson 21; `tests.lessons.rows` says which."""

import copy
import functools
from typing import Any

import torch

from ddlab import records
from ddlab.methods import (
    dwa,
)
from ddlab.methods.shared import descent
from ddlab.runs import Inputs
from tests.lessons.gains import Gain, between, mean
from tests.lessons.whole_method import (
    TAPE,
    UPDATES,
    Row,
    Tensors,
    data_of,
    run,
    source_of,
    teacher_of,
    updated,
)


def adjust(source: str) -> Tensors:
    data = data_of()
    rows = descent.real_image_indices(data, 2, seed=0)
    recover = run(source_of("21", "recovery"))["recover"]
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


def diverse(column: str, new: tuple, old: tuple) -> Gain:
    names = ("start", "lambda_var", "push")
    return between(
        "diversity",
        column,
        dict(zip(names, new, strict=False)),
        dict(zip(names, old, strict=False)),
    )


def against_real(column: str) -> Gain:
    """DWA's images, minus the random real ones that they began as."""
    dwa = {"start": "real", "lambda_var": 0.11, "push": "directed"}
    return between("diversity", column, dwa, {"start": "real images"})


REAL = ("real", 0.11, "none")


NOISE = ("noise", 0.01, "none")


LONG_PUSH = ("real", 0.11, "directed, ρ = .5")


def pushed(
    network: Any,
    radius: float,
    draw: Any = torch.randn,
    only: str = "",
    together: bool = True,
) -> Any:
    copied = copy.deepcopy(network).requires_grad_(False)
    chosen = [
        (weight, draw(weight.shape)) for name, weight in copied.named_parameters() if only in name
    ]
    length = torch.stack([direction.norm() for _, direction in chosen]).norm()
    for weight, direction in chosen:
        weight += radius * direction / (length if together else direction.norm())
    return copied


def moved_itself(network: Any, *_others: Any) -> Any:
    with torch.no_grad():
        next(network.parameters()).add_(0.1)
    return copy.deepcopy(network)


METHODS = {
    "DWA": Row(
        adjust, adjusted, ("weight += radius", "weight -= radius"), tolerance=1e-8, taped=True
    ),
}


LABS = {
    "DiversityLab": lambda g: {
        "data": g.data,
        "teacher": g.teacher,
        "config": dwa.SMALL,
        "student": g.student,
        "points": 12,
    },
    "FivePoints": lambda g: {},
    "TwoGaps": lambda g: {},
}


SENTENCES = [
    (
        "with the usual weights lie closer together than real ones",
        lambda: diverse("distance", NOISE, ("real images",)).behind,
    ),
    (
        "From real images the weight adds about three points",
        lambda: (
            0.02 < diverse("hard", REAL, ("real", 0.01, "none")).mean < 0.04
            and 0.02 < diverse("online", REAL, ("real", 0.01, "none")).mean < 0.04
        ),
    ),
    (
        "a directed push covers two points less of the real images",
        lambda: (
            diverse("coverage", ("real", 0.11, "directed"), REAL).behind
            and -0.025 < diverse("coverage", ("real", 0.11, "directed"), REAL).mean < -0.015
        ),
    ),
    (
        "at equal coverage, students of real starts are 19 points ahead of students of images from noise",
        lambda: (
            diverse("coverage", LONG_PUSH, NOISE).unseen
            and round(100 * diverse("online", LONG_PUSH, NOISE).mean) == 19
        ),
    ),
    (
        "hardly moves them (.3% at most)",
        lambda: all(
            abs(diverse("distance", ("real", 0.11, push), REAL).mean)
            < 0.0035 * mean("diversity", "distance", start="real", lambda_var=0.11, push="none")
            for push in ("random", "directed")
        ),
    ),
    (
        "More weight pulls images apart",
        lambda: (
            diverse("distance", ("noise", 0.11, "none"), NOISE).ahead
            and diverse("distance", REAL, ("real", 0.01, "none")).ahead
        ),
    ),
    (
        "from real images they cover more",
        lambda: diverse("coverage", REAL, ("real", 0.01, "none")).ahead,
    ),
    (
        "A real start pulls images together",
        lambda: diverse("distance", ("real", 0.01, "none"), NOISE).behind,
    ),
    (
        "covers 2.5 times as much at a weight of .01, and 4.0 times as much at .11",
        lambda: (
            [
                round(
                    mean("diversity", "coverage", start="real", lambda_var=weight, push="none")
                    / mean("diversity", "coverage", start="noise", lambda_var=weight),
                    1,
                )
                for weight in (0.01, 0.11)
            ]
            == [2.5, 4.0]
        ),
    ),
    (
        "the images that lie farther apart cover less",
        lambda: diverse("coverage", ("noise", 0.11, "none"), NOISE).behind,
    ),
    (
        "A directed push even covers a little less than a random one",
        lambda: diverse("coverage", ("real", 0.11, "directed"), ("real", 0.11, "random")).behind,
    ),
    (
        "the push nothing that ten pairs can show",
        lambda: all(
            diverse("online", ("real", 0.11, push), REAL).unseen for push in ("random", "directed")
        ),
    ),
    (
        "points ahead of the real images that they began as",
        lambda: 0.02 < against_real("hard").mean < 0.03,
    ),
    (
        "With the teacher's labels, students do best on random real images",
        lambda: -0.07 < against_real("online").mean < -0.055,
    ),
    (
        "DWA is ahead of SRe2L with every student.",
        lambda: all(
            between(
                "architectures", "online", {"method": "DWA"}, {"method": "SRe2L"}, architecture=name
            ).ahead
            for name in dict.fromkeys(
                row["architecture"] for row in records.load("architectures").rows
            )
        ),
    ),
]


RIGHT = [
    ("random push", lambda network, x, y, k, radius: pushed(network, radius)),
]


WRONG = [
    ("random push", lambda n, x, y, k, r: n, "moved by 0"),
    ("random push", lambda n, x, y, k, r: pushed(n, r, torch.ones), "same direction"),
    ("random push", lambda n, x, y, k, r: pushed(n, r, torch.rand), "no negative numbers"),
    ("random push", lambda n, x, y, k, r: pushed(n, 2 * r), "moved by 0.6"),
    ("random push", lambda n, x, y, k, r: pushed(n, r, together=False), "Each parameter tensor"),
    ("random push", lambda n, x, y, k, r: pushed(n, r, only="classifier"), "stayed where"),
    ("random push", moved_itself, "move a copy"),
]
