"""Makes ddlab/records/tables/few_updates.json: BYOL with and without a prior's targets, on a part
of the images or on all, by other schedules and with other networks, which lesson 45 shows.

python notebooks/studies/few_updates.py 0 1 2 3 > /tmp/first.txt      # some seeds, six minutes each
python notebooks/studies/few_updates.py /tmp/first.txt /tmp/second.txt    # written from what these runs have printed
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from representations import probed, shapes
from table import save

from ddlab import networks
from ddlab.distilled import DistilledSet
from ddlab.lessons.representations.setting import NETWORK, PRIORS, make_prior, make_set, objective
from ddlab.networks import NetworkSpec
from ddlab.runs import NOTHING, Inputs, Run
from ddlab.unlabelled import with_targets

SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
ALONE: dict[str, Any] = {"schedule": "constant", "share": 0.0}
SCHEDULES: dict[str, dict[str, Any]] = {
    "switch": {"schedule": "switch"},
    "adaptive": {"schedule": "adaptive"},
    "constant": {"schedule": "constant", "share": 0.5},
}
OTHER_NETWORKS = {
    "ConvNet": NETWORK,
    "LeNet": networks.spec("lenet"),
    "ViT": networks.spec("vit", width=64, depth=3),
    "ShuffleNetV2": networks.spec("shufflenet_v2_x0_5"),
}
# ShuffleNet takes ten times as long as the others.
SLOW_SEEDS = 3


def measure(seed: int) -> None:
    """One seed: weights, untrained prior, subsets and views."""
    sets: dict[str, DistilledSet] = {}
    for name in PRIORS:
        prior = make_prior(name, shapes, seed=seed)
        began = time.process_time()
        sets[name] = make_set(prior, shapes)
        seconds = time.process_time() - began
        print(
            json.dumps([name, "targets", "none", "none", 1.0, seed, 0.0, round(seconds, 2)]),
            flush=True,
        )

    def run(
        prior: str,
        network: str = "ConvNet",
        schedule: str = "switch",
        subset: str = "dynamic",
        ratio: float = 0.5,
        targets: DistilledSet | None = None,
    ) -> None:
        spec: NetworkSpec = OTHER_NETWORKS[network]
        changes = ALONE if prior == "none" else SCHEDULES[schedule]
        training = objective(shapes, "byol", spec)
        config = with_targets.Config(
            objective=training,
            ratio=ratio,
            subset=subset,
            seed=seed,
            first_views="objective",
            **changes,
        )
        distilled = targets or sets["untrained" if prior == "none" else prior]
        began = time.process_time()
        trained = Run(
            with_targets, config, Inputs(distilled=distilled, device="cpu"), keep=NOTHING
        ).to_end()
        seconds = time.process_time() - began
        accuracy = round(probed(trained), 4)
        row = [prior, network, schedule, subset, ratio, seed, accuracy, round(seconds, 1)]
        print(json.dumps(row), flush=True)

    for ratio in SHARES:
        for prior in ("none", "untrained", "strong"):
            run(prior, ratio=ratio)
    for prior in ("none", "strong"):
        run(prior, ratio=0.1, subset="static")
    run("weak")
    for prior in PRIORS:
        for schedule in ("adaptive", "constant"):
            run(prior, schedule=schedule)
    for network in tuple(OTHER_NETWORKS)[1:]:
        spec = OTHER_NETWORKS[network]
        if network == "ShuffleNetV2" and seed >= SLOW_SEEDS:
            continue
        for prior in ("none", "untrained", "strong"):
            name = "untrained" if prior == "none" else prior
            run(prior, network, targets=make_set(make_prior(name, shapes, seed=seed), shapes, spec))


def main() -> None:
    """Measure the seeds that are named, or write what other runs have printed."""
    torch.set_num_threads(1)
    if sys.argv[1].isdigit():
        for seed in map(int, sys.argv[1:]):
            measure(seed)
        return
    rows = [
        json.loads(line) for path in sys.argv[1:] for line in Path(path).read_text().splitlines()
    ]
    description = (
        "ReLA, Table 2, figures 4 and 4c, Table 3, appendix J. Shapes (16 px, 5,000 images): BYOL for "
        "twelve epochs of a part (share) of the images in batches of 50, alone or with a prior's "
        "targets, drawn anew for each epoch (dynamic) or once (static). Lambda is 1 for the first half "
        "and then 0 (switch), Algorithm 1's (adaptive), or .5 throughout. Priors are ConvNets of width "
        "32, learners of width 16. Accuracy of a linear probe; CPU-seconds of training, or of the "
        "targets. A seed is every draw."
    )
    columns = ["prior", "network", "schedule", "subset", "share", "seed", "accuracy", "cpu_seconds"]
    save("few_updates", description, columns, rows, threads=1)


if __name__ == "__main__":
    main()
