"""Makes ddlab/records/tables/matching_views.json: DSA through each of its operations alone, and
through all, which lesson 05 shows.

python notebooks/studies/matching_views.py            # 40 minutes
"""

import time
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab.data import siamese_views
from ddlab.lessons.matching.world import student_config
from ddlab.methods import dsa

# Images per class -> random networks, and seeds: an update of five images has ten inner ones.
SIZES = {1: (100, 8), 5: (20, 5)}
OPERATIONS = ("", "color", "crop", "cutout", "flip", "scale", "rotate", siamese_views.UPRIGHT)


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("digits")
    rows = list[list[Any]]()
    options: dict[str, Any] = {"device": "cpu", "progress": False}
    for count, (networks, seeds) in SIZES.items():
        for seed in range(seeds):
            for operation in OPERATIONS:
                config = dsa.Config.teaching(
                    strategy=operation, images_per_class=count, networks=networks, seed=seed
                )
                distilled = ddlab.distill(dsa, data, config=config, **options)
                student = student_config(data).replace(strategy=operation)
                trained = ddlab.evaluate(
                    distilled, data, labels="hard", seeds=(seed,), config=student, **options
                )
                name = "all" if operation == siamese_views.UPRIGHT else operation or "none"
                rows.append([name, count, seed, round(trained.mean, 4)])
                print(*rows[-1], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Accuracy on digits (16 px) of students of DSA's images, which were matched through one of its "
        "operations, or all but flips, the same for real and learned images; DSA's teaching preset, begun "
        "as real images, with 100 random networks for one image per class and 20 for five. Students see "
        "the images through the same operation."
    )
    save(
        "matching_views",
        description,
        ["operation", "images", "seed", "accuracy"],
        rows,
        threads=1,
        cpu_seconds=round(time.process_time() - began),
    )


if __name__ == "__main__":
    main()
