"""Makes ddlab/records/tables/recovered.json: what images recovered from noise and from real ones
teach, which lesson 20 shows.

python notebooks/studies/recovered.py            # ten minutes
"""

import time
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab.methods import selection, sre2l
from ddlab.methods.shared import descent
from ddlab.training import supervised

SEEDS = range(10)
LABELS = ("hard", "stored", "online")
NO_GAPS = {"lambda_mean": 0.0, "lambda_var": 0.0}
FROM_REAL = {"initialisation": "real"}
ARMS: dict[str, dict[str, Any]] = {
    "recovered from noise": {},
    "recovered from noise, no gaps": NO_GAPS,
    "recovered from noise, rate 1": {"learning_rate": 1.0},
    "recovered from noise, rate 1, no gaps": NO_GAPS | {"learning_rate": 1.0},
    "recovered from real": FROM_REAL,
    "recovered from real, no gaps": FROM_REAL | NO_GAPS,
    "recovered from real, rate .02": FROM_REAL | {"learning_rate": 0.02},
    "recovered from real, rate 1": FROM_REAL | {"learning_rate": 1.0},
}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("digits")
    rows = []
    options: dict[str, Any] = {"device": "cpu", "progress": False}
    recipe, trained = (supervised.Config.quick(data, role) for role in ("student", "teacher"))
    for seed in SEEDS:
        teacher = ddlab.train_teacher(data, trained.replace(seed=seed), **options)
        (chosen,) = descent.real_image_indices(data, 1, seed=seed)
        images, labels = data.normalised(chosen), data.train_labels[chosen]
        sets = {"real": ddlab.from_images(images, labels, data, teacher)}
        typical = selection.Config.teaching(kind="k_means", seed=seed)
        sets["typical"] = ddlab.distill("selection", data, teacher, config=typical, **options)
        for name, changes in ARMS.items():
            config = sre2l.Config.teaching(images_per_class=1, seed=seed, **changes)
            sets[name] = ddlab.distill("sre2l", data, teacher, config=config, **options)
        for name, image_set in sets.items():
            for labels_told in LABELS:
                student_options: dict[str, Any] = {
                    "labels": labels_told,
                    "config": recipe,
                    "seeds": (seed,),
                }
                evaluation = ddlab.evaluate(
                    image_set, data, teacher=teacher, **student_options, **options
                )
                rows.append([name, labels_told, seed, round(evaluation.mean, 4)])
        print(*rows[-3 * len(sets) :], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Digits (16 px), one image of each class, a teacher for each seed: students of real "
        "images, of those that SRe2L (teaching preset) "
        "made of them and of noise, at several learning rates, with and without the batch-norm "
        "gaps, and of typical real ones (nearest to the mean of their class)."
    )
    save(
        "recovered",
        description,
        ["images", "labels", "seed", "accuracy"],
        rows,
        threads=1,
        cpu_seconds=round(time.process_time() - began),
    )


if __name__ == "__main__":
    main()
