"""Makes ddlab/records/tables/generative_teaching.json: what curricula, weight norm and a generator
do for GTN, which lesson 70 shows.

python notebooks/studies/generative_teaching.py            # a quarter of an hour
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from study import Setting, Study

from ddlab import data as datasets
from ddlab.lessons.generators.lab import ORDERS, STUDENTS, World
from ddlab.methods import gtn

VARIANTS: dict[str, dict[str, Any]] = {
    "GTN": {},
    "batches shuffled": {"curriculum": "batches_shuffled"},
    "all shuffled": {"curriculum": "all_shuffled"},
    "fresh noise": {"curriculum": "none"},
    "weight norm off": {"weight_norm": False},
    "no generator": {"generator": "none"},
    "real batches": {"generator": "real"},
}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each variant, its steps as they are and shuffled."""
    for seed in seeds:
        for variant in VARIANTS:
            yield from ((variant, seed, order) for order in ORDERS)


@functools.cache
def world() -> World:
    """The digits, and what was learned for them."""
    return World(datasets.load("digits"), device="cpu")


def measure(variant: str, seed: int, shuffled: str) -> float:
    """Return the mean accuracy after the last step."""
    config = gtn.Config.teaching(seed=seed, **VARIANTS[variant])
    return world().learned(config, watch=lambda *_: None)[shuffled][-1]


STUDY = Study(
    name="generative_teaching",
    description="Test accuracy on digits (16 px) after twelve steps of twenty images, mean of "
    f"{STUDENTS} networks: GTN's teaching preset, its steps as they are or shuffled afterwards, "
    "and the same with one choice changed; rates and momenta are learned in all.",
    setting=("variant", "seed", "shuffled"),
    measured=("accuracy",),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
