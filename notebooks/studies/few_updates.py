"""Makes ddlab/records/tables/few_updates.json: BYOL with and without a prior's targets, on a part
of the images or on all, by other schedules and with other networks, which lesson 45 shows.

python notebooks/studies/few_updates.py --jobs 2            # half an hour
"""

import functools
import time
from collections.abc import Iterable, Iterator
from typing import Any

from representations import prior_network, probed, shapes
from study import Setting, Study

from ddlab import networks
from ddlab.distilled import DistilledSet
from ddlab.lessons.representations.setting import NETWORK, PRIORS, UNTRAINED, make_set, objective
from ddlab.runs import NOTHING, Inputs, Run
from ddlab.unlabelled import with_targets

SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
ALONE: dict[str, Any] = {"schedule": "constant", "share": 0.0}
SCHEDULES: dict[str, dict[str, Any]] = {
    "switch": {"schedule": "switch"},
    "adaptive": {"schedule": "adaptive"},
    "constant": {"schedule": "constant", "share": 0.5},
}
NETWORKS = {
    "ConvNet": NETWORK,
    "LeNet": networks.spec("lenet"),
    "ViT": networks.spec("vit", width=64, depth=3),
    "ShuffleNetV2": networks.spec("shufflenet_v2_x0_5"),
}
# ShuffleNet takes ten times as long as the others.
SLOW_SEEDS = 3


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Targets, shares, subsets, schedules, networks."""
    three = ("none", UNTRAINED, "strong")
    for seed in seeds:
        yield from ((prior, "targets", "none", "none", 1.0, seed) for prior in PRIORS)
        for share in SHARES:
            yield from ((prior, "ConvNet", "switch", "dynamic", share, seed) for prior in three)
        for prior in ("none", "strong"):
            yield prior, "ConvNet", "switch", "static", 0.1, seed
        yield "weak", "ConvNet", "switch", "dynamic", 0.5, seed
        for prior in PRIORS:
            for schedule in ("adaptive", "constant"):
                yield prior, "ConvNet", schedule, "dynamic", 0.5, seed
        for network in tuple(NETWORKS)[1:]:
            if network != "ShuffleNetV2" or seed < SLOW_SEEDS:
                yield from ((prior, network, "switch", "dynamic", 0.5, seed) for prior in three)


@functools.lru_cache(4)
def targets_of(prior: str, network: str, seed: int) -> tuple[DistilledSet, float]:
    """Return all images with a prior's targets for a network, and their CPU-seconds."""
    spec = () if network == "ConvNet" else (NETWORKS[network],)
    teacher = prior_network(prior, seed)
    began = time.process_time()
    return make_set(teacher, shapes(), *spec), time.process_time() - began


def measure(
    prior: str, network: str, schedule: str, subset: str, share: float, seed: int
) -> tuple[float, float]:
    """Return the accuracy of a linear probe, and the CPU-seconds of training or of the targets."""
    if network == "targets":
        return 0.0, round(targets_of(prior, "ConvNet", seed)[1], 2)
    changes = ALONE if prior == "none" else SCHEDULES[schedule]
    training = objective(shapes(), "byol", NETWORKS[network])
    config = with_targets.Config(
        objective=training,
        ratio=share,
        subset=subset,
        seed=seed,
        first_views="objective",
        **changes,
    )
    distilled, _ = targets_of(UNTRAINED if prior == "none" else prior, network, seed)
    began = time.process_time()
    inputs = Inputs(distilled=distilled, device="cpu")
    trained = Run(with_targets, config, inputs, keep=NOTHING).to_end()
    seconds = time.process_time() - began
    return probed(trained), round(seconds, 1)


STUDY = Study(
    name="few_updates",
    description="ReLA, Table 2, figures 4 and 4c, Table 3, appendix J. Shapes (16 px, 5,000 images): BYOL "
    "for twelve epochs of a part (share) of the images in batches of 50, alone or with a prior's "
    "targets, drawn anew for each epoch (dynamic) or once (static). Lambda is 1 for the first half "
    "and then 0 (switch), Algorithm 1's (adaptive), or .5 throughout. Priors are ConvNets of width "
    "32, learners of width 16. Accuracy of a linear probe; CPU-seconds of training, or of the "
    "targets. A seed is every draw.",
    setting=("prior", "network", "schedule", "subset", "share", "seed"),
    measured=("accuracy", "cpu_seconds"),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
