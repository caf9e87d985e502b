"""Makes ddlab/records/tables/residual_counts.json: FADRM, its patches and RDED with one, ten and
fifty images of each class, which lesson 30 shows.

python notebooks/studies/residual_counts.py            # half an hour
"""

import time
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab.methods import fadrm, rded, selection
from ddlab.training import supervised

SEEDS = range(5)
COUNTS = (1, 10, 50)
QUIET: dict[str, Any] = {"device": "cpu", "progress": False}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("shapes", size=16)
    usual = supervised.Config.quick(data, "teacher")
    teacher = ddlab.train_teacher(data, usual, **QUIET)
    student = supervised.Config.quick(data, network=teacher.spec)
    rows = []
    whole = ddlab.accuracy(teacher, data)
    for seed in SEEDS:
        for count in COUNTS:
            shared: dict[str, Any] = {"images_per_class": count, "seed": seed}
            arms = {
                "random real": (selection, selection.Config(**shared)),
                "RDED": (rded, rded.Config.teaching(**shared)),
                "FADRM": (fadrm, fadrm.Config(iterations=120, merge_ratio=0.5, **shared)),
            }
            for name, (method, config) in arms.items():
                distilled = ddlab.distill(method, data, teacher, config, **QUIET)
                options: dict[str, Any] = {
                    "labels": "online",
                    "teacher": teacher,
                    "config": student,
                }
                trained = ddlab.evaluate(distilled, data, seeds=(seed,), **options, **QUIET)
                rows.append([name, count, seed, round(trained.mean, 4)])
                print(*rows[-1], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "FADRM, Table 1. Shapes of 16 px (5,000 images), a ConvNet-3 as teacher, which itself reaches "
        f"{float(whole):.4f}, and as students (100 epochs, online labels). FADRM: 120 updates, three merges, "
        "alpha .5, on one real image each. A seed is every draw."
    )
    cost = {"threads": 1, "cpu_seconds": round(time.process_time() - began)}
    save("residual_counts", description, ["images", "count", "seed", "accuracy"], rows, **cost)


if __name__ == "__main__":
    main()
