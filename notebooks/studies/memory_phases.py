"""Makes ddlab/records/tables/memory_phases.json: memories in two, five and ten phases, and a
classifier by class means beside the network's own, which lesson 75 shows.

python notebooks/studies/memory_phases.py            # a quarter of an hour
"""

import time
from statistics import fmean
from typing import Any

import torch
from table import save
from torch import Tensor

import ddlab
from ddlab import data as datasets
from ddlab import networks
from ddlab.evaluation.incremental import class_accuracies
from ddlab.methods import mnemonics
from ddlab.networks import Network
from ddlab.training.phases import class_ends, class_order

SEEDS = range(10)
PHASES = (2, 5, 10)
EXEMPLARS = 2
VARIANTS: dict[str, dict[str, Any]] = {
    "random": {"exemplar_step": "none", "start": "random"},
    "herding": {"exemplar_step": "none"},
    "learned": {"adjust_old": False},
    "learned, earlier ones too": {"adjust_old": True},
}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    began = time.process_time()
    data = datasets.load("digits")
    test_images = data.normalised(split="test")
    inputs = ddlab.Inputs(data=data, device="cpu")
    rows = []
    for seed in SEEDS:
        for tasks in PHASES:
            for memory, changes in VARIANTS.items():
                config = mnemonics.Config.teaching(
                    images_per_class=EXEMPLARS, tasks=tasks, seed=seed, **changes
                )
                run = ddlab.Run(mnemonics, config, inputs).advance()
                exemplars = run.result()
                state = run.state()
                ends = class_ends(config, data.classes)
                by_phase, means_by_phase = [], []
                for phase, weights in enumerate(state.models):
                    own = class_accuracies(config, inputs, weights, ends[phase])
                    by_phase.append(fmean(own))
                    network = Network(spec=spec_of(config, data), weights=dict(weights))
                    means_by_phase.append(
                        by_means(network, exemplars, ends[phase], data, config, test_images)
                    )
                rows.append(
                    [
                        memory,
                        tasks,
                        seed,
                        round(by_phase[-1], 4),
                        round(fmean(by_phase), 4),
                        round(means_by_phase[-1], 4),
                        round(fmean(means_by_phase), 4),
                    ]
                )
        print(*rows[-12:], f"{time.process_time() - began:.0f} s", flush=True)
    description = (
        "Digits (16 px) in two, five or ten phases, Mnemonics' teaching preset, two exemplars of each class: "
        "accuracy on all classes at the end and on average over the phases, by the network, and by the nearest mean "
        "of the final exemplars' features (iCaRL's classifier)."
    )
    cost = {"threads": 1, "cpu_seconds": round(time.process_time() - began)}
    columns = ["memory", "phases", "seed", "last", "average", "means_last", "means_average"]
    save("memory_phases", description, columns, rows, **cost)


def spec_of(config: mnemonics.Config, data: Any) -> Any:
    """Return the network of the phases."""
    return config.network.for_data(data)


def by_means(
    network: Network, exemplars: Any, seen: int, data: Any, config: Any, test_images: Tensor
) -> float:
    """Return the accuracy on the classes seen of the nearest class mean among the exemplars' features."""
    classes = class_order(data.classes, config.order_seed)[:seen]
    features = networks.predict(network, exemplars.images).features.flatten(1)
    features = torch.nn.functional.normalize(features)
    means = torch.stack([features[exemplars.labels == label].mean(0) for label in classes])
    chosen = torch.isin(data.test_labels, torch.tensor(classes))
    answers = networks.predict(network, test_images[chosen]).features.flatten(1)
    nearest = torch.cdist(torch.nn.functional.normalize(answers), means).argmin(1)
    right = torch.tensor(classes)[nearest] == data.test_labels[chosen]
    return float(right.double().mean())


if __name__ == "__main__":
    main()
