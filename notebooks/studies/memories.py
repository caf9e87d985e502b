"""Makes ddlab/records/tables/memories.json: what is left of digits that were learned two by two,
for each memory, which lesson 75 shows.

python notebooks/studies/memories.py            # an hour
"""

from collections.abc import Iterable, Iterator
from typing import Any

from study import QUIET, Setting, Study, images_of

import ddlab
from ddlab.distilled import DistilledSet
from ddlab.evaluation import class_incremental
from ddlab.methods import dm, mnemonics, selection

COUNTS = (1, 2, 5)
CENTRES = {"k-means centres": "centres", "nearest to centres": "k_means"}
PLAIN: dict[str, Any] = {"exemplar_step": "none"}
OWN: dict[str, dict[str, Any]] = {
    "random": PLAIN | {"start": "random"},
    "herding": PLAIN,
    "learned": {},
    "learned, 15 temporary steps": {"temporary_steps": 15},
    "learned from random": {"start": "random"},
    "random, no distillation loss": PLAIN | {"start": "random", "distillation_weight": 0.0},
    "herding, no distillation loss": PLAIN | {"distillation_weight": 0.0},
}
LIMITS: dict[str, dict[str, Any]] = {
    "none": {"start": "none"},
    "everything": {"start": "random"} | PLAIN,
}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Nothing and everything, then each memory of one, two and five images of a class."""
    for seed in seeds:
        yield "none", 0, seed
        yield "everything", int(images_of("digits").class_counts().min()), seed
        for count in COUNTS:
            for memory in (*OWN, *CENTRES, "DM"):
                if "15" not in memory or count < COUNTS[-1]:  # these take long
                    yield memory, count, seed


def exemplars(memory: str, count: int, seed: int) -> DistilledSet | None:
    """Return the images of a memory that does not choose its own."""
    if memory == "DM":
        config = dm.Config.teaching(images_per_class=count, seed=seed)
        return ddlab.distill("dm", images_of("digits"), config=config, **QUIET)
    if memory in CENTRES:
        chosen = selection.Config(kind=CENTRES[memory], images_per_class=count, seed=seed)
        return ddlab.distill("selection", images_of("digits"), config=chosen, **QUIET)
    return None


def measure(memory: str, count: int, seed: int) -> tuple[float, ...]:
    """Return the accuracy at the end and on average, and what is forgotten."""
    changes = (OWN | LIMITS).get(memory, {})
    config = mnemonics.Config.teaching(images_per_class=max(count, 1), **changes)
    result = class_incremental(
        exemplars(memory, count, seed), images_of("digits"), config=config, seeds=(seed,), **QUIET
    )
    return (
        result.accuracies[-1],
        result.average_accuracy,
        result.forgetting_of_first,
        result.mean_forgetting,
    )


STUDY = Study(
    name="memories",
    description="Digits (16 px) two by two, one network: accuracy on all ten at the end, mean of the "
    "accuracies after each phase, and what is forgotten of the first task and of each but the "
    "last; Mnemonics' teaching preset with other memories of so many images of a class.",
    setting=("memory", "exemplars", "seed"),
    measured=("last", "average", "first_forgotten", "forgotten"),
    seeds=range(20),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
