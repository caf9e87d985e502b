"""Makes ddlab/records/tables/generative_teaching.json: what curricula, weight norm and a generator
do for GTN, which lesson 70 shows.

python notebooks/studies/generative_teaching.py            # a quarter of an hour
"""

import time
from typing import Any

import torch
from table import save

from ddlab import data as datasets
from ddlab.lessons.generators.lab import ORDERS, STUDENTS, World
from ddlab.methods import gtn

SEEDS = range(10)
VARIANTS: dict[str, dict[str, Any]] = {
    "GTN": {},
    "batches shuffled": {"curriculum": "batches_shuffled"},
    "all shuffled": {"curriculum": "all_shuffled"},
    "fresh noise": {"curriculum": "none"},
    "weight norm off": {"weight_norm": False},
    "no generator": {"generator": "none"},
    "real batches": {"generator": "real"},
}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    world = World(datasets.load("digits"), device="cpu")
    rows = []
    for seed in SEEDS:
        for variant, changes in VARIANTS.items():
            paths = world.learned(gtn.Config.teaching(seed=seed, **changes), watch=lambda *_: None)
            rows += [[variant, seed, order, round(paths[order][-1], 4)] for order in ORDERS]
            print(
                seed,
                variant,
                rows[-len(ORDERS) :],
                f"{time.process_time() - began:.0f} s",
                flush=True,
            )
    description = (
        "Test accuracy on digits (16 px) after twelve steps of twenty images, mean of "
        f"{STUDENTS} networks: GTN's teaching "
        "preset, its steps as they are or shuffled afterwards, and the same with one choice "
        "changed; rates and momenta are learned in all."
    )
    save(
        "generative_teaching",
        description,
        ["variant", "seed", "shuffled", "accuracy"],
        rows,
        threads=1,
        cpu_seconds=round(time.process_time() - began),
    )


if __name__ == "__main__":
    main()
