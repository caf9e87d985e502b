"""Makes ddlab/records/tables/unrolled_starts.json: what ten images teach the start they met, and
others, which lesson 60 shows.

python notebooks/studies/unrolled_starts.py            # a quarter of an hour
"""

import time

import torch
from table import save

from ddlab import data as datasets
from ddlab.lessons.learning_through_training.lab import World

SEEDS = range(10)
STEPS = (1, 3, 10)


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    world = World(datasets.load("digits"), device="cpu")
    rows = []
    quiet = {"watch": lambda *_: None}
    for seed in SEEDS:
        for learner in ("perceptron", "ConvNet"):
            for steps in STEPS:
                for starts in ("fixed", "random"):
                    # Four unrolled ConvNets an update take an hour.
                    if (learner, starts) != ("ConvNet", "random"):
                        setting = world.start.replace(
                            learner=learner, epochs=steps, starts=starts, seed=seed
                        )
                        own_accuracy, *other_accuracies = world.scores(setting, **quiet)
                        name = {"fixed": "one start", "random": "four starts an update"}[starts]
                        rows.append(
                            [
                                learner,
                                steps,
                                name,
                                seed,
                                round(own_accuracy, 4),
                                round(sum(other_accuracies) / len(other_accuracies), 4),
                            ]
                        )
                means = world.rival(world.config(setting).network, steps, seed, **quiet)
                rows.append([learner, steps, "class means", seed, None, round(means, 4)])
                print(*rows[-2:], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "DD on digits (16 px), ten images, the explorer's settings: test accuracy after N "
        "steps from the start of the run's seed, and the "
        "mean from five others; class means at the best of five rates, from the same five. "
        "100 updates, a ConvNet (width 16) 60."
    )
    columns = ["learner", "steps", "images", "seed", "own", "others"]
    save(
        "unrolled_starts",
        description,
        columns,
        rows,
        threads=1,
        cpu_seconds=round(time.process_time() - began),
    )


if __name__ == "__main__":
    main()
