"""Makes ddlab/records/tables/fadrm_plus.json: FADRM with one network and with three in turn
(FADRM+), by the labels of either.

python notebooks/studies/fadrm_plus.py            # eight minutes
"""

import time
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.methods import fadrm
from ddlab.training import supervised

SEEDS = range(5)
IMAGES_PER_CLASS = 5
NETWORKS = ("convnet", "shufflenet_v2_x0_5", "mobilenet_v2")
QUIET: dict[str, Any] = {"device": "cpu", "progress": False}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    rows = []
    data = datasets.load("shapes", size=16, train=2000)
    usual = supervised.Config.quick(data, "teacher")
    teachers = [ddlab.train_teacher(data, usual, **QUIET)]
    for name in NETWORKS[1:]:
        teachers.append(
            ddlab.train_teacher(
                data, usual.replace(network=networks.spec(name), epochs=10), **QUIET
            )
        )
    reached = [float(ddlab.accuracy(value, data)) for value in teachers]
    print(reached, f"{time.process_time() - began:.0f} s", flush=True)
    student = supervised.Config.quick(data, network=teachers[0].spec)
    for seed in SEEDS:
        config = fadrm.Config(images_per_class=IMAGES_PER_CLASS, iterations=120, seed=seed)
        for images, makers in {"one network": teachers[:1], "three networks": teachers}.items():
            distilled = ddlab.distill("fadrm", data, makers, config, **QUIET)
            for labels, judges in {"one network": teachers[:1], "three networks": teachers}.items():
                relabelled = ddlab.from_images(distilled.images, distilled.labels, data, judges)
                options: dict[str, Any] = {
                    "labels": "online",
                    "config": student,
                    "seeds": (seed,),
                    "teacher": judges,
                }
                rows.append(
                    [
                        images,
                        labels,
                        seed,
                        round(ddlab.evaluate(relabelled, data, **options, **QUIET).mean, 4),
                    ]
                )
        print(*rows[-4:], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Shapes at 16 px (2,000 images), five images of each class, 120 updates, three "
        "merges; a ConvNet, or it, a ShuffleNetV2-.5 and a "
        "MobileNetV2 in turn (test accuracy "
        f"{', '.join(f'{value:.3f}' for value in reached)}); a ConvNet student with online "
        "labels, of one "
        "or the mean of three."
    )
    cost = {"threads": 1, "cpu_seconds": round(time.process_time() - began)}
    save("fadrm_plus", description, ["images", "labels", "seed", "accuracy"], rows, **cost)


if __name__ == "__main__":
    main()
