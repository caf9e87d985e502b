"""Makes ddlab/records/tables/learned_labels.json: what learned labels teach beside controls, which
lesson 65 shows.

python notebooks/studies/learned_labels.py            # half an hour
"""

import time

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.lessons.learned_labels.lab import STUDENT_KINDS, World
from ddlab.methods import ld

SEEDS = range(30)
FEW, MANY = 100, 500
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
        setting = world.start.replace(seed=seed)
        for source in ("noise", "shapes"):
            for count, student_kinds in ((FEW, STUDENT_KINDS), (MANY, STUDENT_KINDS[:1])):
                for student_kind in student_kinds:
                    chosen = setting.replace(source=source, pictures=count)
                    score = world.score(chosen, student_kind, **quiet)
                    rows.append([source, count, student_kind, 1, seed, round(score, 4)])
        for name, kind in (("one real digit", "random"), ("class means", "centres")):
            score = world.rival(setting.network, seed, kind, **quiet)
            rows.append([name, 10, STUDENT_KINDS[0], 1, seed, round(score, 4)])
        distilled = ddlab.distill("ld", data, config=ld.Config.teaching(seed=seed), **options)
        true = ddlab.from_images(distilled.images, torch.arange(100) % 10, data)
        recipe = ld.student(distilled, network=networks.spec("mlp"))
        for times in LENGTHS:
            config = recipe.replace(epochs=times * recipe.epochs)
            five_seeds = range(5 * seed, 5 * seed + 5)
            for name, of, labels in (
                ("learned labels", distilled, "stored"),
                ("true labels", true, "hard"),
            ):
                score = ddlab.evaluate(
                    of, data, labels=labels, config=config, seeds=five_seeds, **options
                )
                rows.append([name, FEW, STUDENT_KINDS[0], times, seed, round(score.mean, 4)])
        print(*rows[-14:], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Digits (16 px) taught by 100 or 500 pictures with labels of LD (teaching preset), by ten "
        "real images, and by a hundred real digits with LD's or with true labels, for as long as "
        "LD found best and three times as long; mean of two students (of five for digits)."
    )
    columns = ["pictures", "count", "network", "times", "seed", "accuracy"]
    cpu_seconds = round(time.process_time() - began)
    save("learned_labels", description, columns, rows, threads=1, cpu_seconds=cpu_seconds)


if __name__ == "__main__":
    main()
