"""Makes ddlab/records/tables/text_networks.json: what six learned sentences teach three kinds of
network, from the start they met and from others, which lesson 60 shows.

python notebooks/studies/text_networks.py            # minutes
"""

import functools
from collections.abc import Iterable, Iterator
from statistics import fmean

from study import Setting, Study

from ddlab import networks
from ddlab.data import text
from ddlab.lessons.learning_through_training.sentences import World

NETWORKS = {"TextConvNet": "text_conv", "RNN": "text_rnn", "LSTM": "text_lstm"}
STARTS = {"one start": "fixed", "new starts": "random"}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each network with one start and with new ones."""
    for seed in seeds:
        yield from ((network, starts, seed) for network in NETWORKS for starts in STARTS)


@functools.cache
def world() -> World:
    """The questions, and what was learned from them."""
    return World(text.questions(), device="cpu")


def measure(network: str, starts: str, seed: int) -> tuple[float, float]:
    """Return the accuracy from the start of the seed, and the mean from three others."""
    setting = world().start.replace(
        network=networks.spec(NETWORKS[network]), starts=STARTS[starts], seed=seed
    )
    own, *others = world().scores(world().run(setting), watch=lambda *_: None)
    return own, fmean(others)


STUDY = Study(
    name="text_networks",
    description="TDD on the questions, a sentence of each of six kinds, the explorer's settings, for "
    "three networks that read: test accuracy after three steps from the start of the run's seed, "
    "and the mean from three others. Four new starts in every update, or one.",
    setting=("network", "starts", "seed"),
    measured=("own", "others"),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
