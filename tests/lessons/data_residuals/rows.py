"""What the tests of all lessons ask of lesson 30; `tests.lessons.rows` says which."""

import functools

import pytest
from torch import Tensor

from ddlab import networks, records
from ddlab.methods import fadrm, rded
from ddlab.methods.shared import descent
from ddlab.networks import Network
from ddlab.runs import Inputs
from tests.lessons.gains import Gain, between
from tests.lessons.rows import BUTTON, Recipe
from tests.lessons.whole_method import SEED, UPDATES, Row, Tensors, data_of, doubled, run, updated

COLOUR = {"size": 16, "channels": 3}


def patches() -> Tensor:
    return data_of(**COLOUR).normalised(descent.real_image_indices(data_of(**COLOUR), 1, seed=3)[0])


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
    images = [fadrm.resample(state.images, full) for state in states[:-1]]
    return [*images, states[-1].done[0]]


def two_sizes(ratio: float) -> float:
    """How far FADRM at two sizes is ahead of FADRM at one, for a merge ratio."""
    return between(
        "residuals",
        "online",
        {"small_size": 48},
        {"small_size": None},
        method="FADRM",
        merge_ratio=ratio,
        merges=3,
        patches="real",
        precision="float32",
    ).mean


def residual(new: str, old: str = "patches") -> Gain:
    return between("residual_pairs", "accuracy", {"images": new}, {"images": old})


METHODS = {
    "FADRM": Row(
        residuals,
        library_residuals,
        ("alpha * resized(images, side) +", "resized(images, side) +"),
        taped=True,
    ),
    "FADRM, two sizes": Row(
        functools.partial(residuals, small=12),
        functools.partial(library_residuals, small=12),
        ("stage % 2 == 0", "stage % 2 == 1"),
        taped=True,
    ),
}


LABS = {
    "ResidualLab": lambda g: {
        "data": g.data,
        "teacher": g.teacher,
        "config": fadrm.SMALL.replace(images_per_class=1),
        "student": g.student,
        "seeds": 1,
    },
    "CropLab": lambda g: {"data": g.data, "teacher": g.teacher, "config": rded.SMALL},
}


RECIPES = [
    Recipe("Does a residual", (("merge_ratio", 0.2), (BUTTON, "Train students"))),
]


SENTENCES = [
    (
        "the patches, which involve no learning, teach .07 more still",
        lambda: residual("alpha 0.5").behind,
    ),
    (
        "At $\\alpha = .4$, the leftmost point above, no difference from the patches is seen",
        lambda: residual("alpha 0.4").unseen,
    ),
    (
        "with it ($\\alpha = .5$) the same run teaches .11 more than without",
        lambda: residual("alpha 0.5", "alpha 1").ahead,
    ),
    (
        "Ten pairs cannot distinguish either from FADRM",
        lambda: all(
            residual("alpha 0.5", leash).unseen for leash in ("stopped early", "pulled back")
        ),
    ),
    (
        "No variant is ahead of its own start beyond chance",
        lambda: (
            not any(
                residual(images, start).ahead
                for images, start in (
                    ("alpha 0.5", "patches"),
                    ("alpha 0.4", "patches"),
                    ("alpha 0.5, two sizes", "patches"),
                    ("alpha 0.5, crops", "RDED, one crop"),
                )
            )
        ),
    ),
    (
        "such crops teach most",
        lambda: residual("RDED, one crop").ahead and residual("RDED, one crop", "alpha 0.4").ahead,
    ),
    (
        "At every step the patches ",
        lambda: all(
            between(
                "residual_labels",
                "accuracy",
                {"method": "random real images"},
                {"method": "FADRM"},
                labels=labels,
            ).mean
            > 0
            for labels in {row["labels"] for row in records.load("residual_labels").rows}
        ),
    ),
    (
        "At every α from .5 on, two sizes teach more than one",
        lambda: all(two_sizes(ratio) > 0 for ratio in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
    ),
]
