"""Makes ddlab/records/tables/trajectories.json: what images and what the rate do for MTT's loss and
for students, which lesson 62 shows.

python notebooks/studies/trajectories.py            # a quarter of an hour
"""

import functools
from collections.abc import Iterable, Iterator

import torch
from study import Setting, Study

from ddlab import data as datasets
from ddlab.explorers.ready import in_steps
from ddlab.lessons.trajectories.world import RATES, World
from ddlab.methods import mtt

STEPS = (1, 5, 10, 20)
REAL = {"class means": "centres", "random real": "random"}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """MTT's images, then class means and random ones at the best rate and at MTT's."""
    for seed in seeds:
        for steps in STEPS:
            yield "MTT", steps, seed
            for name in REAL:
                yield f"{name}, best rate", steps, seed
                yield f"{name}, MTT's rate", steps, seed


@functools.cache
def world() -> World:
    """The digits, their experts, and what was learned from them."""
    return World(datasets.load("digits"), device="cpu")


def measure(images: str, steps: int, seed: int) -> tuple[float, float, float]:
    """Return the share of the squared distance that is left, a student's accuracy, and MTT's rate."""
    here = world()
    config = mtt.Config.teaching(expert_epochs=5, inner_steps=steps, seed=seed)
    state = here.of(config).advance().state()
    learned_rate = float(state.rate)
    rates = (learned_rate,)
    if images == "MTT":
        distilled = mtt.finish(config, here.inputs, state)
    else:
        name, rate_name = images.split(", ")
        distilled = here.chosen(REAL[name], seed=seed)
        rates = tuple(RATES) if rate_name == "best rate" else rates
    left = min(here.distance_left(config, distilled.images, rate) for rate in rates)
    spec = config.network.for_data(here.data)
    sets = [in_steps(distilled, spec, torch.full((1, 1), rate), config.passes) for rate in rates]
    accuracy = max(here._mean(stepped, [seed], watch=lambda *_: None) for stepped in sets)
    return left, accuracy, learned_rate


STUDY = Study(
    name="trajectories",
    description="Digits (16 px), ten images, five experts: share of the squared distance that is left "
    "after N steps, and test accuracy of a student after 200 steps; with MTT's learned rate, or "
    "the best of three. MTT begins from the random real images.",
    setting=("images", "steps", "seed"),
    measured=("left", "accuracy", "learned_rate"),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
