"""Makes ddlab/records/tables/teaching_stability.json: GTN with and without weight normalisation at
four rates, and its plans in networks of other families, which lesson 70 shows.

python notebooks/studies/teaching_stability.py            # half an hour
"""

import time
from statistics import fmean
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.core import NonFiniteError
from ddlab.methods import gtn
from ddlab.training import ordered

SEEDS = range(10)
RATES = (0.005, 0.02, 0.08, 0.32)
STUDENTS = 3
QUIET: dict[str, Any] = {"device": "cpu", "progress": False}
NETWORKS = {
    "ConvNet": gtn.Config.teaching().network,
    "wider ConvNet": networks.spec("convnet", width=24, depth=2, norm="instance"),
    "LeNet": networks.spec("lenet"),
    "MLP": networks.spec("mlp"),
}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("digits")
    rows: list[list[Any]] = []

    def taught(distilled: Any, network: str, seed: int) -> float:
        """Return the mean accuracy of three new networks after all steps of a plan."""
        spec = NETWORKS[network].for_data(data)
        starts = [
            networks.initialise(spec, seed=100 * seed + student) for student in range(STUDENTS)
        ]
        return fmean(
            float(ddlab.accuracy(ordered.after_steps(distilled, start), data)) for start in starts
        )

    for seed in SEEDS:
        for weight_norm in (True, False):
            for rate in RATES:
                # No gradient is cut, since that would hide what weight normalisation is for.
                config = gtn.Config.teaching(
                    seed=seed, weight_norm=weight_norm, learning_rate=rate, longest=None
                )
                try:
                    accuracy = taught(
                        ddlab.distill(gtn, data, config=config, **QUIET), "ConvNet", seed
                    )
                except NonFiniteError:
                    accuracy = 1 / data.classes  # it diverged; nothing is left that could teach
                rows.append(["one network", "ConvNet", weight_norm, rate, seed, round(accuracy, 4)])
        for learners, changes in {
            "one network": {},
            "random networks": {"architectures": "random"},
        }.items():
            config = gtn.Config.teaching(seed=seed, **changes)
            distilled = ddlab.distill(gtn, data, config=config, **QUIET)
            for network in NETWORKS:
                accuracy = taught(distilled, network, seed)
                rows.append([learners, network, True, None, seed, round(accuracy, 4)])
        print(*rows[-16:], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "GTN's teaching preset on digits (16 px): twelve steps of twenty images, 100 updates. Accuracy of three "
        "new networks after all steps. With a rate: no gradient is cut, weight normalisation on or off; a "
        "run that diverged counts as chance. Without one: the preset, learned in its own ConvNet or in a random "
        "network for each update, and students of four families."
    )
    cost = {"threads": 1, "cpu_seconds": round(time.process_time() - began)}
    columns = ["learner", "student", "weight_norm", "rate", "seed", "accuracy"]
    save("teaching_stability", description, columns, rows, **cost)


if __name__ == "__main__":
    main()
