"""Makes the four tables of ddlab/records/tables that lesson 21 shows of DWA on generated images:
weights, pushes, and other students.

python notebooks/studies/diversity_tables.py variance_sweep --seeds 0     # also adjustment_grid, ...

An earlier commit made the tables, the rows of which say what is made again here.
"""

import functools
from typing import Any

from study import QUIET, again, fields_of, images_of, main_of

import ddlab
from ddlab import methods, networks
from ddlab.distilled import DistilledSet
from ddlab.evaluation import measures
from ddlab.lessons.diversity.checks import coverage
from ddlab.networks import Network
from ddlab.training import supervised

METHODS = {"random real images": "selection", "SRe2L": "sre2l", "DWA": "dwa"}
RECOVERY = {"iterations": 150, "roll_pixels": 2}
SMALL = networks.spec("convnet", width=32)
ARMS = "method images_per_class initialisation lambda_mean lambda_var perturbation "
ARMS += "adjustment_steps adjustment_radius seed"
MEASURED = "hard online distance coverage"


@functools.cache
def teacher() -> Network:
    """The one teacher of all tables."""
    config = supervised.Config.for_data(images_of("shapes"), "teacher", network=SMALL)
    return ddlab.train_teacher(images_of("shapes"), config, **QUIET)


def image_set(*, method: str, **fields: Any) -> DistilledSet:
    """Return the images of a method; what does not apply to it is None."""
    module = methods.get(METHODS[method])
    config = module.Config(**fields_of(module, **RECOVERY | fields))
    return ddlab.distill(METHODS[method], images_of("shapes"), teacher(), config, **QUIET)


def accuracy(distilled: DistilledSet, labels: Any, seed: int, **changes: Any) -> float:
    """Return the accuracy of a student."""
    config = supervised.Config.quick(images_of("shapes"), network=SMALL).replace(**changes)
    judge = teacher()
    named = ddlab.from_images(distilled.images, distilled.labels, images_of("shapes"), judge)
    return ddlab.evaluate(
        named,
        images_of("shapes"),
        labels=labels,
        teacher=judge,
        config=config,
        seeds=(seed,),
        **QUIET,
    ).mean


def measure(*, seed: int, **fields: Any) -> tuple[float, ...]:
    """Accuracy with class labels and with online ones, feature distance, coverage of 300 real images."""
    fields.pop("weights", None)
    distilled = image_set(seed=seed, **fields)
    return (
        accuracy(distilled, "hard", seed),
        accuracy(distilled, "online", seed),
        float(measures.feature_distance(distilled, teacher()).mean()),
        coverage(images_of("shapes"), teacher(), distilled.images),
    )


def architectures(*, architecture: str, seed: int, **fields: Any) -> float:
    """Students of other families with online labels."""
    spec = SMALL if architecture == "convnet" else networks.spec(architecture)
    distilled = image_set(seed=seed, **fields)
    short: dict[str, Any] = {"network": spec, "epochs": 30, "batch_size": 25}
    return accuracy(distilled, "online", seed, **short)


STUDIES = (
    again("variance_sweep", f"weights {ARMS}", MEASURED, 5, measure),
    again("adjustment_grid", ARMS, MEASURED, 5, measure),
    again("perturbation_kinds", ARMS, MEASURED, 10, measure),
    again("architectures", f"architecture {ARMS}", "online", 3, architectures),
)

if __name__ == "__main__":
    main_of(STUDIES)
