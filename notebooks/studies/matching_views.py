"""Makes ddlab/records/tables/matching_views.json: DM through DSA's operations, one by one, which
lesson 05 shows.

python notebooks/studies/matching_views.py            # ten minutes
"""


import time
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab.lessons.matching.world import student_config
from ddlab.methods import dm

SEEDS = range(8)
COUNTS = (1, 5)
OPERATIONS = ("", "color", "crop", "cutout", "flip", "scale", "rotate")


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("digits")
    rows = list[list[Any]]()
    options: dict[str, Any] = {"device": "cpu", "progress": False}
    for seed in SEEDS:
        for count in COUNTS:
            for operation in OPERATIONS:
                config = dm.Config.teaching(strategy=operation, images_per_class=count, seed=seed)
                distilled = ddlab.distill(dm, data, config=config, **options)
                taught = ddlab.evaluate(distilled, data, labels="hard", seeds=(seed,), config=student_config(data), **options)
                rows.append([operation or "none", count, seed, round(taught.mean, 4)])
                print(*rows[-1], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Accuracy on digits (16 px) of students of DM's images, which were matched through "
            "one operation of DSA, the same for real "
        "and learned images; DM's teaching preset, begun as real images. Students see the "
            "images plain."
    )
    save("matching_views", description, ["operation", "images", "seed", "accuracy"], rows, threads=1,
         cpu_seconds=round(time.process_time() - began))


if __name__ == "__main__":
    main()
