"""Makes ddlab/records/tables/trajectories.json: what images and what the rate do for MTT's loss and
for students, which lesson 62 shows.

python notebooks/studies/trajectories.py            # a quarter of an hour
"""

import time

import torch
from table import save

from ddlab import data as datasets
from ddlab.explorers.ready import in_steps
from ddlab.lessons.trajectories.world import RATES, World
from ddlab.methods import mtt

SEEDS = range(10)
STEPS = (1, 5, 10, 20)


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    world = World(datasets.load("digits"), device="cpu")
    rows = []
    quiet = {"watch": lambda *_: None}
    for seed in SEEDS:
        for steps in STEPS:
            config = mtt.Config.teaching(expert_epochs=5, inner_steps=steps, seed=seed)
            run = world.of(config).advance()
            spec = config.network.for_data(world.data)
            state = run.state()
            learned = (float(state.rate),)
            arms = {"MTT": (mtt.finish(config, world.inputs, state), learned)}
            for name, kind in (("class means", "centres"), ("random real", "random")):
                chosen = world.chosen(kind, seed=seed)
                arms[f"{name}, best rate"] = (chosen, tuple(RATES))
                arms[f"{name}, MTT's rate"] = (chosen, learned)
            for name, (distilled, rates) in arms.items():
                distance_left = min(
                    world.distance_left(config, distilled.images, rate) for rate in rates
                )
                sets = [
                    in_steps(distilled, spec, torch.full((1, 1), rate), config.passes)
                    for rate in rates
                ]
                taught = max(world._mean(stepped, [seed], **quiet) for stepped in sets)
                rows.append(
                    [
                        name,
                        steps,
                        seed,
                        round(distance_left, 4),
                        round(taught, 4),
                        round(float(state.rate), 4),
                    ]
                )
            print(*rows[-len(arms) :], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Digits (16 px), ten images, five experts: share of the squared distance that is "
        "left after N steps, and test accuracy of a "
        "student after 200 steps; with MTT's learned rate, or the best of three. MTT begins "
        "from the random real images."
    )
    columns = ["images", "steps", "seed", "left", "accuracy", "learned_rate"]
    save(
        "trajectories",
        description,
        columns,
        rows,
        threads=1,
        cpu_seconds=round(time.process_time() - began),
    )


if __name__ == "__main__":
    main()
