"""Makes ddlab/records/tables/teaching_stability.json: GTN with and without weight normalisation at
four rates, and its plans in networks of other families, which lesson 70 shows.

python notebooks/studies/teaching_stability.py            # half an hour
"""

import functools
from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import Any

from study import Setting, Study, images_of

import ddlab
from ddlab import networks
from ddlab.core import NonFiniteError
from ddlab.distilled import DistilledSet
from ddlab.methods import gtn
from ddlab.training import ordered

RATES = (0.005, 0.02, 0.08, 0.32)
STUDENTS = 3
LEARNERS: dict[str, dict[str, Any]] = {
    "one network": {},
    "random networks": {"architectures": "random"},
}
NETWORKS = {
    "ConvNet": gtn.Config.teaching().network,
    "wider ConvNet": networks.spec("convnet", width=24, depth=2, norm="instance"),
    "LeNet": networks.spec("lenet"),
    "MLP": networks.spec("mlp"),
}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each rate with and without weight normalisation, then each family at the preset's rate."""
    for seed in seeds:
        for weight_norm in (True, False):
            yield from (("one network", "ConvNet", weight_norm, rate, seed) for rate in RATES)
        for learner in LEARNERS:
            yield from ((learner, student, True, None, seed) for student in NETWORKS)


@functools.lru_cache(1)
def plan(learner: str, weight_norm: bool, rate: float | None, seed: int) -> DistilledSet:
    """Return a plan of twelve steps."""
    changes = LEARNERS[learner]
    if rate is not None:
        # No gradient is cut, since that would hide what weight normalisation is for.
        changes = {"weight_norm": weight_norm, "learning_rate": rate, "longest": None}
    config = gtn.Config.teaching(seed=seed, **changes)
    return ddlab.distill(gtn, images_of("digits"), config=config, device="cpu", progress=False)


def measure(learner: str, student: str, weight_norm: bool, rate: float | None, seed: int) -> float:
    """Return the mean accuracy of three new networks after all steps of a plan."""
    data = images_of("digits")
    try:
        distilled = plan(learner, weight_norm, rate, seed)
    except NonFiniteError:
        return 1 / data.classes  # it diverged; nothing is left that could teach
    spec = NETWORKS[student].for_data(data)
    starts = [networks.initialise(spec, seed=100 * seed + number) for number in range(STUDENTS)]
    return fmean(
        float(ddlab.accuracy(ordered.after_steps(distilled, start), data)) for start in starts
    )


STUDY = Study(
    name="teaching_stability",
    description="GTN's teaching preset on digits (16 px): twelve steps of twenty images, 100 updates. "
    "Accuracy of three new networks after all steps. With a rate: no gradient is cut, weight "
    "normalisation on or off; a run that diverged counts as chance. Without one: the preset, "
    "learned in its own ConvNet or in a random network for each update, and students of four "
    "families.",
    setting=("learner", "student", "weight_norm", "rate", "seed"),
    measured=("accuracy",),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
