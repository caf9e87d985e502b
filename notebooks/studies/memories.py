"""Makes ddlab/records/tables/memories.json: what is left of digits that were learned two by two,
for each memory, which lesson 75 shows.

python notebooks/studies/memories.py            # an hour
"""

import time
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab.evaluation import class_incremental
from ddlab.methods import dm, mnemonics, selection

SEEDS = range(20)
COUNTS = (1, 2, 5)
CENTRES = {"k-means centres": "centres", "nearest to centres": "k_means"}
PLAIN: dict[str, Any] = {"exemplar_step": "none"}
VARIANTS: dict[str, dict[str, Any]] = {
    "random": PLAIN | {"start": "random"},
    "herding": PLAIN,
    "learned": {},
    "learned, 15 temporary steps": {"temporary_steps": 15},
    "learned from random": {"start": "random"},
    "random, no distillation loss": PLAIN | {"start": "random", "distillation_weight": 0.0},
    "herding, no distillation loss": PLAIN | {"distillation_weight": 0.0},
}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("digits")
    rows = []
    options: dict[str, Any] = {"device": "cpu", "progress": False}

    def measure(memory: str, count: int, seed: int, exemplars: Any = None, **changes: Any) -> None:
        config = mnemonics.Config.teaching(images_per_class=max(count, 1), **changes)
        result = class_incremental(exemplars, data, config=config, seeds=(seed,), **options)
        numbers = (
            result.accuracies[-1],
            result.average_accuracy,
            result.forgetting_of_first,
            result.mean_forgetting,
        )
        rows.append([memory, count, seed, *(round(value, 4) for value in numbers)])
        print(*rows[-1], f"{time.process_time() - began:.0f} s", flush=True)

    for seed in SEEDS:
        measure("none", 0, seed, start="none")
        measure("everything", int(data.class_counts().min()), seed, start="random", **PLAIN)
        for count in COUNTS:
            for memory, changes in VARIANTS.items():
                if "15" not in memory or count < COUNTS[-1]:  # these take long
                    measure(memory, count, seed, **changes)
            for memory, kind in CENTRES.items():
                chosen = selection.Config(kind=kind, images_per_class=count, seed=seed)
                measure(
                    memory, count, seed, ddlab.distill("selection", data, config=chosen, **options)
                )
            matched = dm.Config.teaching(images_per_class=count, seed=seed)
            measure("DM", count, seed, ddlab.distill("dm", data, config=matched, **options))
    description = (
        "Digits (16 px) two by two, one network: accuracy on all ten at the end, mean of the "
        "accuracies after each phase, and what is "
        "forgotten of the first task and of each but the last; Mnemonics' teaching preset "
        "with other memories of so many images of a class."
    )
    columns = ["memory", "exemplars", "seed", "last", "average", "first_forgotten", "forgotten"]
    save(
        "memories",
        description,
        columns,
        rows,
        threads=1,
        cpu_seconds=round(time.process_time() - began),
    )


if __name__ == "__main__":
    main()
