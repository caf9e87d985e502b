"""Makes ddlab/records/tables/memory_phases.json: memories in two, five and ten phases, and a
classifier by class means beside the network's own, which lesson 75 shows.

python notebooks/studies/memory_phases.py            # a quarter of an hour
"""

from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import Any

import torch
from study import Setting, Study, images_of

import ddlab
from ddlab import networks
from ddlab.distilled import DistilledSet
from ddlab.evaluation.incremental import class_accuracies
from ddlab.methods import mnemonics
from ddlab.networks import Network
from ddlab.training.phases import class_ends, class_order

PHASES = (2, 5, 10)
EXEMPLARS = 2
MEMORIES: dict[str, dict[str, Any]] = {
    "random": {"exemplar_step": "none", "start": "random"},
    "herding": {"exemplar_step": "none"},
    "learned": {"adjust_old": False},
    "learned, earlier ones too": {"adjust_old": True},
}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each memory in each number of phases."""
    for seed in seeds:
        for phases in PHASES:
            yield from ((memory, phases, seed) for memory in MEMORIES)


def measure(memory: str, phases: int, seed: int) -> tuple[float, ...]:
    """Return the accuracy at the end and on average, of the network and of the class means."""
    data = images_of("digits")
    inputs = ddlab.Inputs(data=data, device="cpu")
    config = mnemonics.Config.teaching(
        images_per_class=EXEMPLARS, tasks=phases, seed=seed, **MEMORIES[memory]
    )
    run = ddlab.Run(mnemonics, config, inputs).advance()
    ends = class_ends(config, data.classes)
    by_phase, means_by_phase = [], []
    for end, weights in zip(ends, run.state().models, strict=True):
        by_phase.append(fmean(class_accuracies(config, inputs, weights, end)))
        network = Network(spec=config.network.for_data(data), weights=dict(weights))
        classes = class_order(data.classes, config.order_seed)[:end]
        means_by_phase.append(accuracy_by_means(network, run.result(), classes))
    return by_phase[-1], fmean(by_phase), means_by_phase[-1], fmean(means_by_phase)


def accuracy_by_means(network: Network, exemplars: DistilledSet, classes: list[int]) -> float:
    """Return the accuracy on these classes of the nearest class mean among the exemplars' features."""
    data = images_of("digits")
    features = networks.predict(network, exemplars.images).features.flatten(1)
    features = torch.nn.functional.normalize(features)
    means = torch.stack([features[exemplars.labels == label].mean(0) for label in classes])
    chosen = torch.isin(data.test_labels, torch.tensor(classes))
    test_images = data.normalised(split="test")
    answers = networks.predict(network, test_images[chosen]).features.flatten(1)
    nearest = torch.cdist(torch.nn.functional.normalize(answers), means).argmin(1)
    is_correct = torch.tensor(classes)[nearest] == data.test_labels[chosen]
    return float(is_correct.double().mean())


STUDY = Study(
    name="memory_phases",
    description="Digits (16 px) in two, five or ten phases, Mnemonics' teaching preset, two exemplars of "
    "each class: accuracy on all classes at the end and on average over the phases, by the "
    "network, and by the nearest mean of the final exemplars' features (iCaRL's classifier).",
    setting=("memory", "phases", "seed"),
    measured=("last", "average", "means_last", "means_average"),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
