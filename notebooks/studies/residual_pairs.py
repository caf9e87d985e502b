"""Makes ddlab/records/tables/residual_pairs.json: what FADRM's images teach beside their patches
and two leashes, which lesson 30 shows.

python notebooks/studies/residual_pairs.py            # an hour
"""

import time
from typing import Any

import torch
from table import save
from torch import Tensor

import ddlab
from ddlab import data as datasets
from ddlab import records, runs
from ddlab.distilled import DistilledSet
from ddlab.methods import fadrm, rded, selection
from ddlab.runs import Inputs
from ddlab.training import supervised

SEEDS = range(10)
IMAGES_PER_CLASS = 5
RATIOS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
QUIET: dict[str, Any] = {"device": "cpu", "progress": False}
data = datasets.load("shapes", size=64, train=4000, test=1000)
teacher = records.teacher("shapes64")
student = supervised.Config.quick(data, network=teacher.spec, epochs=100)


def batches(distilled: DistilledSet) -> Tensor:
    """[images of a class, classes, channels, h, w], in the order in which FADRM makes them."""
    return distilled.images[distilled.labels.argsort(stable=True).view(-1, IMAGES_PER_CLASS).T]


def leashed(patches: DistilledSet, reference: DistilledSet, seed: int) -> dict[str, DistilledSet]:
    """A run without merges, as far from its patches as the reference is, batch by batch: stopped
    there, or pulled back from its end.
    """
    config = fadrm.Config(images_per_class=IMAGES_PER_CLASS, iterations=120, merges=0, seed=seed)
    starts = batches(patches)
    images_by_arm = {"stopped early": [], "pulled back": []}
    distances_moved = (batches(reference) - starts).flatten(2).norm(dim=2).mean(1)
    stopped, pulled = images_by_arm.values()
    for step in runs.steps(fadrm, config, Inputs(data=data, teachers=(teacher,), device="cpu")):
        batch, iteration = divmod(step.index - 1, config.iterations)
        last = iteration + 1 == config.iterations
        images = step.state.done[batch] if last else step.state.images
        distance = (images - starts[batch]).flatten(1).norm(dim=1).mean()
        if len(stopped) == batch and (last or distance >= distances_moved[batch]):
            stopped.append(images)
        if last:
            pulled.append(
                starts[batch]
                + min(float(distances_moved[batch] / distance), 1.0) * (images - starts[batch])
            )
    labels = torch.arange(data.classes).repeat(IMAGES_PER_CLASS)
    return {
        name: ddlab.from_images(torch.cat(images), labels, data, teacher)
        for name, images in images_by_arm.items()
    }


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    rows = []
    for seed in SEEDS:
        options: dict[str, Any] = {"images_per_class": IMAGES_PER_CLASS, "seed": seed}
        configs: dict[str, tuple[Any, Any]] = {"patches": (selection, selection.Config(**options))}
        configs["RDED, one crop"] = rded, rded.Config.teaching(factor=1, **options)
        published = fadrm.Config(iterations=120, **options)
        configs |= {
            f"alpha {ratio:g}": (fadrm, published.replace(merge_ratio=ratio)) for ratio in RATIOS
        }
        configs["alpha 0.5, two sizes"] = fadrm, published.replace(small_size=48)
        configs["alpha 0.5, crops"] = fadrm, published.replace(patches="crop")
        sets = {
            arm: ddlab.distill(method, data, teacher, config, **QUIET)
            for arm, (method, config) in configs.items()
        }
        sets |= leashed(sets["patches"], sets["alpha 0.5"], seed)
        for arm, distilled in sets.items():
            student_options: dict[str, Any] = {
                "labels": "online",
                "config": student,
                "seeds": (seed,),
            }
            rows.append(
                [
                    arm,
                    seed,
                    round(
                        ddlab.evaluate(
                            distilled, data, teacher=teacher, **student_options, **QUIET
                        ).mean,
                        4,
                    ),
                ]
            )
        print(*rows[-len(sets) :], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Shapes at 64 px (4,000 images, 1,000 to test), the shipped ConvNet-5 of width 16 as "
        "teacher and as students (100 epochs, online "
        "labels), five images of each class, 120 updates, three merges. A seed is the draw "
        "of images and the student's seed."
    )
    cost = {"threads": 1, "cpu_seconds": round(time.process_time() - began)}
    save("residual_pairs", description, ["images", "seed", "accuracy"], rows, **cost)


if __name__ == "__main__":
    main()
