"""Makes ddlab/records/tables/learned_labels.json: what learned labels teach beside controls, which
lesson 65 shows.

python notebooks/studies/learned_labels.py            # a quarter of an hour
"""


import time

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.lessons.learned_labels.lab import STUDENT_KINDS, World
from ddlab.methods import ld

SEEDS = range(20)
LENGTHS = (1, 3)


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("digits")
    rows = []
    world = World(data, device="cpu")
    quiet = {"watch": lambda *_: None}
    options = {"progress": False, "device": "cpu"}
    for seed in SEEDS:
        setting = world.start.replace(seed=seed, pictures=100)
        for source in ("noise", "shapes"):
            for student_kind in STUDENT_KINDS:
                score = world.score(setting.replace(source=source), student_kind, **quiet)
                rows.append([source, student_kind, 1, seed, round(score, 4)])
        for name, kind in (("one real digit", "random"), ("class means", "centres")):
            rows.append([name, STUDENT_KINDS[0], 1, seed, round(world.rival(setting.network, seed, kind, **quiet), 4)])
        distilled = ddlab.distill("ld", data, config=ld.Config.teaching(seed=seed), **options)
        true = ddlab.from_images(distilled.images, torch.arange(100) % 10, data)
        recipe = ld.student(distilled, network=networks.spec("mlp"))
        for times in LENGTHS:
            for name, of, labels in (("learned labels", distilled, "stored"), ("true labels", true, "hard")):
                config = recipe.replace(epochs=times * recipe.epochs)
                score = ddlab.evaluate(
                    of, data, labels=labels, config=config, seeds=range(5 * seed, 5 * seed + 5), **options
                )
                rows.append([name, STUDENT_KINDS[0], times, seed, round(score.mean, 4)])
        print(*rows[-12:], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Digits (16 px) taught by a hundred pictures with labels of LD (teaching preset), by "
            "ten real images, and by a hundred real "
        "digits with LD's or with true labels, for as long as LD found best and three times "
            "as long; mean of two students (of five for digits)."
    )
    columns = ["pictures", "network", "times", "seed", "accuracy"]
    save("learned_labels", description, columns, rows, threads=1, cpu_seconds=round(time.process_time() - began))


if __name__ == "__main__":
    main()
