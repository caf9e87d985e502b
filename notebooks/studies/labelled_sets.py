"""Makes ddlab/records/tables/labelled_sets.json: networks that were pre-trained on sets made with
labels, by the probe of lesson 40.

python notebooks/studies/labelled_sets.py            # ten minutes
"""

import time
from typing import Any

import torch
from table import save

import ddlab
from ddlab.lessons.bases import unlabelled
from ddlab.methods import dm, dsa, selection

SEEDS = range(10)
PER_CLASS = 2  # of ten classes: twenty images, like the sets without labels


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = unlabelled.images()
    options: dict[str, Any] = {"device": "cpu", "progress": False}
    shared: dict[str, Any] = {"images_per_class": PER_CLASS}
    rows = []
    for seed in SEEDS:
        arms = {
            "random real": (selection, selection.Config(seed=seed, **shared)),
            "DM": (dm, dm.Config.teaching(seed=seed, **shared)),
            "DSA": (dsa, dsa.Config.teaching(seed=seed, networks=20, **shared)),
        }
        for name, (method, config) in arms.items():
            distilled = ddlab.distill(method, data, config=config, **options)
            targets = torch.nn.functional.one_hot(distilled.labels, data.classes).float()
            images = distilled.images
            accuracy = unlabelled.probe_score(data, images, targets - 1 / data.classes, seed=seed)
            rows.append([name, seed, round(accuracy, 4)])
        print(*rows[-3:], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Boost, Tables 1 and 2. Shapes at 16 px: a network learns twenty images, two of each class, with "
        "their class labels (centred one-hot targets, squared error, 300 epochs), and a linear probe "
        "measures its features. DM and DSA are their teaching presets (DSA with 20 networks). A seed is "
        "every draw; real images with a teacher's vectors are in the record unlabelled_sets."
    )
    cost = {"threads": 1, "cpu_seconds": round(time.process_time() - began)}
    save("labelled_sets", description, ["images", "seed", "accuracy"], rows, **cost)


if __name__ == "__main__":
    main()
