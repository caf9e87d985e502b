"""Makes ddlab/records/tables/unrolled_starts.json: what ten images teach the start they met, and
others, which lesson 60 shows.

python notebooks/studies/unrolled_starts.py            # a quarter of an hour
"""

import functools
from collections.abc import Iterable, Iterator
from statistics import fmean

from study import Setting, Study

from ddlab import data as datasets
from ddlab.lessons.learning_through_training.lab import World

LEARNERS = ("perceptron", "ConvNet")
STEPS = (1, 3, 10)
STARTS = {"one start": "fixed", "four starts an update": "random"}
MEANS = "class means"


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each learner, number of steps and kind of images."""
    for seed in seeds:
        for learner in LEARNERS:
            for steps in STEPS:
                for images in (*STARTS, MEANS):
                    # Four unrolled ConvNets an update take an hour.
                    if (learner, images) != ("ConvNet", "four starts an update"):
                        yield learner, steps, images, seed


@functools.cache
def world() -> World:
    """The digits, and what was learned from them."""
    return World(datasets.load("digits"), device="cpu")


def measure(learner: str, steps: int, images: str, seed: int) -> tuple[float | None, float]:
    """Return the accuracy from the start of the seed, and the mean from five others."""
    starts = STARTS.get(images, "fixed")
    setting = world().start.replace(learner=learner, inner_steps=steps, starts=starts, seed=seed)
    if images == MEANS:
        network = world().config(setting).network
        return None, world().rival(network, steps, seed, watch=lambda *_: None)
    own, *others = world().scores(setting, watch=lambda *_: None)
    return own, fmean(others)


STUDY = Study(
    name="unrolled_starts",
    description="DD on digits (16 px), ten images, the explorer's settings: test accuracy after N "
    "steps from the start of the run's seed, and the mean from five others; class means at the "
    "best of five rates, from the same five. 100 updates; the ConvNet has width 16.",
    setting=("learner", "steps", "images", "seed"),
    measured=("own", "others"),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
