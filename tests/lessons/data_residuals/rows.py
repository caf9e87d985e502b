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


def points(lead: Gain) -> list[int]:
    """A gain in percentage points, as the page prints it."""
    return [round(100 * value) for value in lead]


def patches_ahead() -> dict[str, Gain]:
    """The patches minus FADRM, at each step of the students' recipe."""
    kinds = dict.fromkeys(row["labels"] for row in records.load("residual_labels").rows)
    by_method = {"method": "random real images"}, {"method": "FADRM"}
    return {kind: between("residual_labels", "accuracy", *by_method, labels=kind) for kind in kinds}


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
    "Survival": lambda g: {},
    "ResidualLab": lambda g: {
        "data": g.data,
        "teacher": g.teacher,
        "config": fadrm.SMALL.replace(images_per_class=1),
        "student": g.student,
        "seeds": 1,
    },
    "CropLab": lambda g: {"data": g.data, "teacher": g.teacher, "config": rded.SMALL},
}


SENTENCES = [
    (
        "students of the patches, which involve no learning, are seven points ahead still (2 to 12)",
        lambda: points(residual("alpha 0.5")) == [-7, -12, -2],
    ),
    (
        "At $\\alpha$ = 0, .2 and .4 no difference from the patches is seen (+2, -1 to +5; +3, -2 to +7; "
        "+1, -3 to +5)",
        lambda: (
            [points(residual(f"alpha {alpha}")) for alpha in ("0", "0.2", "0.4")]
            == [[2, -1, 5], [3, -2, 7], [1, -3, 5]]
        ),
    ),
    (
        "with it ($\\alpha = .5$), students of the same run end eleven points higher than without it (6 to "
        "16)",
        lambda: points(residual("alpha 0.5", "alpha 1")) == [11, 6, 16],
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
        "students do best on such crops",
        lambda: residual("RDED, one crop").ahead and residual("RDED, one crop", "alpha 0.4").ahead,
    ),
    (
        "the patches are ahead at every step. Five pairs show it at two of the eight: labels stored once, "
        "and labels for every view",
        lambda: (
            all(lead.mean > 0 for lead in patches_ahead().values())
            and [labels for labels, lead in patches_ahead().items() if lead.ahead]
            == ["stored once", "for every view"]
        ),
    ),
    (
        "At every α from .5 on, students do better with two sizes than with one",
        lambda: all(two_sizes(ratio) > 0 for ratio in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
    ),
]
