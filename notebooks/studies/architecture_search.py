"""Makes ddlab/records/tables/architecture_search.json: how small sets rank 24 ConvNets, which lesson 70 shows.

python notebooks/studies/architecture_search.py            # minutes on two cores
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.evaluation import across
from ddlab.methods import dc, dm, gtn, selection
from ddlab.methods.distillation import from_images
from ddlab.runs import Run
from ddlab.training import supervised

SEEDS, STUDENTS, IMAGES = (0, 1, 2), 2, 5
SPACE = [
    networks.spec("convnet", norm="instance", width=width, depth=depth, pooling=pooling)
    for width, depth, pooling in itertools.product((4, 8, 16, 32), (1, 2, 3), ("average", "max"))
]
PLAIN: dict[str, Any] = {"crop_pixels": 0, "flip": False, "mixup_alpha": 0.0}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began, data = time.time(), datasets.load("shapes", size=16)
    inputs, rows = ddlab.Inputs(data=data, device="cpu"), []

    def ranked(proxy: str, seed: int, made: ddlab.DistilledSet, labels: str, config: Any = None, students: int = STUDENTS) -> None:
        seeds = [100 * seed + each for each in range(students)]
        found = across(made, data, networks=SPACE, labels=labels, config=config, seeds=seeds, jobs=2, progress=False)
        for spec in SPACE:
            count = sum(value.numel() for value in networks.initialise(spec.for_data(data), seed=0).weights.values())
            rows.append([proxy, seed, spec.title, count, round(found.evaluations[spec.title].mean, 4)])
        print(proxy, seed, f"{time.time() - began:.0f} s", flush=True)

    everything = from_images(data.normalised(), data.train_labels, data)
    long = supervised.Config.teaching(**PLAIN, epochs=30, batch_size=64)
    for seed in SEEDS[:2]:
        ranked("all images", seed, everything, "hard", long, 1)
    short = supervised.Config.teaching(**PLAIN, epochs=60)
    for seed in SEEDS:
        learned = {"steps": 20, "inner_batch": 30, "architectures": "random", "seed": seed, "iterations": 150}
        learned["network"] = networks.spec("convnet", norm="instance", width=16, depth=3)
        for proxy, own in (("GTN", {}), ("real steps", {"generator": "real"})):
            ranked(proxy, seed, Run(gtn, gtn.Config.teaching(**learned | own), inputs).advance().result(), "steps")
        few = {"images_per_class": IMAGES, "seed": seed}
        sets = {
            "random images": Run(selection, selection.Config(**few), inputs),
            "DM": Run(dm, dm.Config.teaching(**few), inputs),
            "DC": Run(dc, dc.Config.teaching(**few, networks=15), inputs),
        }
        for proxy, run in sets.items():
            ranked(proxy, seed, run.advance().result(), "hard", short)
    description = (
        "Test accuracy on shapes (16 px) of 24 ConvNets after training on all images or on a small set; "
        f"all images: 30 epochs, one network; sets: mean of {STUDENTS} networks; GTN and real steps: 20 steps of 30 images, "
        f"rates learned; others: {IMAGES} images a class, 60 epochs."
    )
    save("architecture_search", description, ["proxy", "seed", "network", "parameters", "accuracy"], rows, seconds=round(time.time() - began))


if __name__ == "__main__":
    main()
