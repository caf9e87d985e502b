"""Makes ddlab/records/tables/diversity.json: what the start, the variance gap's weight and a push
each do, which lesson 21 shows.

python notebooks/studies/diversity.py            # half an hour
"""

import time
from statistics import fmean
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.evaluation import measures
from ddlab.lessons.diversity.checks import coverage
from ddlab.methods import dwa, selection
from ddlab.training import supervised

SEEDS = range(10)
IMAGES_PER_CLASS = 10
SMALL = networks.spec("convnet", width=32)
ARMS = [(start, weight, "none") for start in ("noise", "real") for weight in (0.01, 0.11)]
ARMS += [("real", 0.11, push) for push in ("random", "directed")]


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("shapes", size=16)
    rows = []
    quiet: dict[str, Any] = {"device": "cpu", "progress": False}
    teacher = ddlab.train_teacher(
        data, supervised.Config.quick(data, "teacher", network=SMALL), **quiet
    )
    recipe = supervised.Config.quick(data, network=SMALL)
    for seed in SEEDS:
        chosen = selection.Config(images_per_class=IMAGES_PER_CLASS, seed=seed)
        sets: dict[Any, Any] = {
            ("real images", None, "none"): ddlab.distill(
                "selection", data, teacher, chosen, **quiet
            )
        }
        for start, weight, push in ARMS:
            config = dwa.Config.teaching(
                images_per_class=IMAGES_PER_CLASS,
                iterations=150,
                initialisation=start,
                lambda_var=weight,
                perturbation=push,
                seed=seed,
            )
            sets[start, weight, push] = ddlab.distill("dwa", data, teacher, config, **quiet)
        for (start, weight, push), image_set in sets.items():
            apart = fmean(measures.feature_distance(image_set, teacher).tolist())
            covered = coverage(data, teacher, image_set.images)
            learned = [
                ddlab.evaluate(
                    image_set,
                    data,
                    teacher=teacher,
                    labels=labels,
                    config=recipe,
                    seeds=(seed,),
                    **quiet,
                ).mean
                for labels in ("hard", "online")
            ]
            rows.append(
                [
                    start,
                    weight,
                    push,
                    seed,
                    *(round(value, 4) for value in (apart, covered, *learned)),
                ]
            )
            print(*rows[-1], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        f"Shapes (16 px), {IMAGES_PER_CLASS} images of each class, one teacher (ConvNet, width 32), 150 "
        "iterations: from noise or real images, with "
        "two weights of the variance gap (the mean gap: .01), no push, a random one or DWA's "
        "(12 steps, .015); the random real "
        "images of the same seed. Normalised feature distance, coverage of 300 real images, "
        "students with class labels and online labels."
    )
    columns = ["start", "lambda_var", "push", "seed", "distance", "coverage", "hard", "online"]
    save(
        "diversity",
        description,
        columns,
        rows,
        threads=1,
        cpu_seconds=round(time.process_time() - began),
    )


if __name__ == "__main__":
    main()
