"""Makes ddlab/records/tables/representations.json: networks that learn a prior's targets first, or
none, which lesson 45 shows.

python notebooks/studies/representations.py 0 1 2 3 > /tmp/first.txt      # some seeds, six minutes each
python notebooks/studies/representations.py /tmp/first.txt /tmp/second.txt    # written from what these runs have printed
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from table import save
from torch import Tensor

from ddlab import data as datasets
from ddlab import networks
from ddlab.core import randomness
from ddlab.distilled import DistilledSet, Representations
from ddlab.lessons.representations.setting import (
    NETWORK,
    UNTRAINED,
    make_prior,
    make_set,
    objective,
)
from ddlab.methods import rded, rela, selection, sre2l
from ddlab.networks import Network
from ddlab.runs import NOTHING, Inputs, Run, cache
from ddlab.training import supervised
from ddlab.unlabelled import predictions, with_targets

OTHER_OBJECTIVES = ("byol", "barlow_twins", "vicreg", "simsiam", "dino", "moco", "swav")
PER_CLASS = 10
shapes = datasets.load("shapes", size=16)


def probed(network: Network) -> float:
    """Test accuracy of logistic regression on the features of all training images."""
    parts = [shapes.normalised(split=split).split(500) for split in ("train", "test")]
    train_features, test_features = (
        torch.cat([networks.predict(network, part).features for part in split_parts])
        for split_parts in parts
    )
    predicted = predictions("linear", train_features, shapes.train_labels, test_features, 1e-3)
    return float((predicted == shapes.test_labels).double().mean())


def trained(
    distilled: DistilledSet,
    seed: int,
    name: str = "simclr",
    epochs: int = 12,
    ratio: float = 0.5,
    **changes: Any,
) -> Network:
    """A network after ReLA-F on a set with targets: at first these, from half way the objective
    alone.
    """
    training = objective(shapes, name, epochs=epochs)
    usual: dict[str, Any] = {"schedule": "switch", "first_views": "objective"}
    config = with_targets.Config(objective=training, ratio=ratio, seed=seed, **usual | changes)
    return Run(
        with_targets, config, Inputs(distilled=distilled, device="cpu"), keep=NOTHING
    ).to_end()


def with_other(distilled: DistilledSet, targets: Tensor) -> DistilledSet:
    """The same images with other targets [n, k]."""
    return distilled.with_targets(
        Representations(tensors={"representations": targets.float()[None]})
    )


def pixel_targets(count: int) -> Tensor:
    """The first principal components of the pixels, each of deviation 1, [n, k]."""
    points = shapes.normalised().flatten(1).double()
    components = torch.pca_lowrank(points - points.mean(0), q=count, niter=8)[0]
    return components / components.std(0)


def measure(seed: int) -> None:
    """One seed: weights, untrained prior, subsets, views, and the images of small sets."""
    began = time.process_time()

    def row(prior: str, name: str, images: str, updates: int, network: Network) -> None:
        print(
            json.dumps([prior, name, images, updates, seed, round(probed(network), 4)]), flush=True
        )

    priors = {name: make_prior(name, shapes, seed=seed) for name in ("untrained", "weak", "strong")}
    sets = {name: make_set(prior, shapes) for name, prior in priors.items()}
    for name, prior in priors.items():
        row(name, "none", "all", 0, prior)
    spec = NETWORK.for_data(shapes, outputs=1)
    row("none", "none", "all", 0, networks.initialise(spec, seed=seed))
    alone: dict[str, Any] = {"schedule": "constant", "share": 0.0}
    plain = sets[UNTRAINED]
    targets = plain.target("representations").values[0]
    order = torch.randperm(
        len(targets), generator=randomness.generator(seed, 0, "shuffled targets")
    )
    row("none", "simclr", "all", 600, trained(plain, seed, **alone))
    row("none", "simclr", "all", 1200, trained(plain, seed, epochs=24, **alone))
    for name, distilled in sets.items():
        row(name, "simclr", "all", 600, trained(distilled, seed))
    row("untrained, W trained", "simclr", "all", 600, trained(plain, seed, train_projection=True))
    row(
        "untrained, shuffled",
        "simclr",
        "all",
        600,
        trained(with_other(plain, targets[order]), seed),
    )
    row(
        "pixels",
        "simclr",
        "all",
        600,
        trained(with_other(plain, pixel_targets(targets.shape[1])), seed),
    )
    row("untrained", "none", "all", 600, trained(plain, seed, switch=1.0))
    for name in OTHER_OBJECTIVES:
        row("none", name, "all", 600, trained(plain, seed, name, **alone))
        row("untrained", name, "all", 600, trained(plain, seed, name))
    # Appendix K: a distilled set's own images with the targets of the teacher that made it.
    learning = supervised.Config.teaching(
        network=networks.spec("convnet", width=32), epochs=10, seed=seed
    )
    teacher = Run(supervised, learning, Inputs(data=shapes, device="cpu"), keep=NOTHING).to_end()
    inputs = Inputs(data=shapes, teachers=(teacher,), device="cpu")
    row("classifier", "none", "all", 0, teacher)
    config = rela.Config(network=NETWORK)
    small = {
        "random real": (
            selection,
            selection.Config(kind="random", images_per_class=PER_CLASS, seed=seed),
        ),
        "RDED": (rded, rded.Config.teaching(images_per_class=PER_CLASS, seed=seed)),
        "SRe2L": (sre2l, sre2l.Config.teaching(images_per_class=PER_CLASS, seed=seed)),
    }
    for name, (method, method_config) in small.items():
        distilled = rela.with_targets(cache.run(method, method_config, inputs), config, inputs)
        row(
            "classifier",
            "none",
            name,
            600,
            trained(distilled, seed, ratio=1.0, epochs=300, switch=1.0),
        )
    row("classifier", "none", "all", 600, trained(make_set(teacher, shapes), seed, switch=1.0))
    print(f"seed {seed}: {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)


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
        "Shapes (16 px, 5,000 images): a ConvNet-3 of width 16, 600 updates of 50 images, "
        "the first half by a prior's targets alone, the "
        "second by the objective alone; a set of ten images a class by targets throughout. "
        "Priors are twice as wide. A seed is every draw. "
        "Accuracy of a linear probe."
    )
    save(
        "representations",
        description,
        ["prior", "objective", "images", "updates", "seed", "accuracy"],
        rows,
        threads=1,
    )


if __name__ == "__main__":
    main()
