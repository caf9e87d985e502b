"""Makes ddlab/records/tables/text_networks.json: what six learned sentences teach three kinds of
network, from the start they met and from others, which lesson 60 shows.

python notebooks/studies/text_networks.py            # minutes
"""

import statistics
import time

import torch
from table import save

from ddlab import networks
from ddlab.data import text
from ddlab.lessons.learning_through_training.sentences import World

SEEDS = range(10)
NETWORKS = {"TextConvNet": "text_conv", "RNN": "text_rnn", "LSTM": "text_lstm"}
STARTS = {"fixed": "one start", "random": "new starts"}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    world = World(text.questions(), device="cpu")
    rows = []
    for seed in SEEDS:
        for network, family in NETWORKS.items():
            for starts, name in STARTS.items():
                setting = world.start.replace(
                    network=networks.spec(family), starts=starts, seed=seed
                )
                own, *others = world.scores(world.run(setting), watch=lambda *_: None)
                mean = round(statistics.fmean(others), 4)
                rows.append([network, name, seed, round(own, 4), mean])
                print(*rows[-1], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "TDD on the questions, a sentence of each of six kinds, the explorer's settings, for three "
        "networks that read: test accuracy after three steps from the start of the run's seed, "
        "and the mean from three others. Four new starts in every update, or one."
    )
    save(
        "text_networks",
        description,
        ["network", "starts", "seed", "own", "others"],
        rows,
        threads=1,
        cpu_seconds=round(time.process_time() - began),
    )


if __name__ == "__main__":
    main()
