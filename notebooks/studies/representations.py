"""Makes ddlab/records/tables/representations.json: networks that learn a prior's targets first, or
none, which lesson 45 shows.

python notebooks/studies/representations.py --jobs 2            # half an hour
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from study import Setting, Study
from torch import Tensor

from ddlab import data as datasets
from ddlab import networks
from ddlab.core import randomness
from ddlab.data import ImageData
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

PRIORS = ("untrained", "weak", "strong")
OTHER_OBJECTIVES = ("byol", "barlow_twins", "vicreg", "simsiam", "dino", "moco", "swav")
PER_CLASS = 10
ALONE: dict[str, Any] = {"schedule": "constant", "share": 0.0}
# Appendix K: a distilled set's own images with the targets of the teacher that made it.
SMALL: dict[str, tuple[Any, Any]] = {
    "random real": (selection, selection.Config(kind="random")),
    "RDED": (rded, rded.Config.teaching()),
    "SRe2L": (sre2l, sre2l.Config.teaching()),
}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Priors as they are, each objective with and without targets, and small sets by targets alone."""
    for seed in seeds:
        yield from ((prior, "none", "all", 0, seed) for prior in (*PRIORS, "none"))
        yield from (("none", "simclr", "all", updates, seed) for updates in (600, 1200))
        changed = ("untrained, W trained", "untrained, shuffled", "pixels")
        yield from ((prior, "simclr", "all", 600, seed) for prior in (*PRIORS, *changed))
        yield UNTRAINED, "none", "all", 600, seed
        for name in OTHER_OBJECTIVES:
            yield from ((prior, name, "all", 600, seed) for prior in ("none", UNTRAINED))
        yield "classifier", "none", "all", 0, seed
        yield from (("classifier", "none", images, 600, seed) for images in (*SMALL, "all"))


@functools.cache
def shapes() -> ImageData:
    """The data."""
    return datasets.load("shapes", size=16)


@functools.lru_cache(3)
def prior_network(name: str, seed: int) -> Network:
    """Return a prior of a seed."""
    return make_prior(name, shapes(), seed=seed)


@functools.lru_cache(3)
def prior_set(name: str, seed: int) -> DistilledSet:
    """Return all images with a prior's targets."""
    return make_set(prior_network(name, seed), shapes())


@functools.lru_cache(1)
def classifier(seed: int) -> Network:
    """Return a teacher that learned the labels."""
    spec = networks.spec("convnet", width=32)
    learning = supervised.Config.teaching(network=spec, epochs=10, seed=seed)
    return Run(supervised, learning, Inputs(data=shapes(), device="cpu"), keep=NOTHING).to_end()


def probed(network: Network) -> float:
    """Return the test accuracy of logistic regression on the features of all training images."""
    parts = [shapes().normalised(split=split).split(500) for split in ("train", "test")]
    train_features, test_features = (
        torch.cat([networks.predict(network, part).features for part in split_parts])
        for split_parts in parts
    )
    predicted = predictions("linear", train_features, shapes().train_labels, test_features, 1e-3)
    return float((predicted == shapes().test_labels).double().mean())


def trained(
    distilled: DistilledSet,
    seed: int,
    name: str = "simclr",
    epochs: int = 12,
    ratio: float = 0.5,
    **changes: Any,
) -> Network:
    """Return a network after ReLA-F: at first by a set's targets, from half way by the objective alone."""
    training = objective(shapes(), name, epochs=epochs)
    usual: dict[str, Any] = {"schedule": "switch", "first_views": "objective"}
    config = with_targets.Config(objective=training, ratio=ratio, seed=seed, **usual | changes)
    inputs = Inputs(distilled=distilled, device="cpu")
    return Run(with_targets, config, inputs, keep=NOTHING).to_end()


def with_other(distilled: DistilledSet, targets: Tensor) -> DistilledSet:
    """Return the same images with other targets [n, k]."""
    return distilled.with_targets(
        Representations(tensors={"representations": targets.float()[None]})
    )


def pixel_targets(count: int) -> Tensor:
    """Return the first principal components of the pixels, each of deviation 1, [n, k]."""
    points = shapes().normalised().flatten(1).double()
    components = torch.pca_lowrank(points - points.mean(0), q=count, niter=8)[0]
    return components / components.std(0)


def small_set(images: str, seed: int) -> DistilledSet:
    """Return ten images of each class with a classifier's targets."""
    inputs = Inputs(data=shapes(), teachers=(classifier(seed),), device="cpu")
    method, config = SMALL[images]
    config = config.replace(images_per_class=PER_CLASS, seed=seed)
    return rela.with_targets(
        cache.run(method, config, inputs), rela.Config(network=NETWORK), inputs
    )


def learner(prior: str, name: str, images: str, updates: int, seed: int) -> Network:
    """Return the network of a setting."""
    if prior == "classifier":
        if updates == 0:
            return classifier(seed)
        if images == "all":
            return trained(make_set(classifier(seed), shapes()), seed, switch=1.0)
        distilled = small_set(images, seed)
        return trained(distilled, seed, ratio=1.0, epochs=300, switch=1.0)
    if updates == 0:
        if prior != "none":
            return prior_network(prior, seed)
        return networks.initialise(NETWORK.for_data(shapes(), outputs=1), seed=seed)
    if prior in ("weak", "strong"):
        return trained(prior_set(prior, seed), seed)
    plain = prior_set(UNTRAINED, seed)
    if prior == "none":
        return trained(plain, seed, name, epochs=updates // 50, **ALONE)
    targets = plain.target("representations").values[0]
    if prior == "pixels":
        return trained(with_other(plain, pixel_targets(targets.shape[1])), seed)
    if prior == "untrained, shuffled":
        draw = randomness.generator(seed, 0, "shuffled targets")
        order = torch.randperm(len(targets), generator=draw)
        return trained(with_other(plain, targets[order]), seed)
    if prior == "untrained, W trained":
        return trained(plain, seed, train_projection=True)
    return trained(plain, seed, switch=1.0) if name == "none" else trained(plain, seed, name)


def measure(prior: str, name: str, images: str, updates: int, seed: int) -> float:
    """Return the accuracy of a linear probe."""
    return probed(learner(prior, name, images, updates, seed))


STUDY = Study(
    name="representations",
    description="Shapes (16 px, 5,000 images): a ConvNet-3 of width 16, 600 updates of 50 images, the "
    "first half by a prior's targets alone, the second by the objective alone; a set of ten images "
    "a class by targets throughout. Priors are twice as wide. A seed is every draw. Accuracy of a "
    "linear probe.",
    setting=("prior", "objective", "images", "updates", "seed"),
    measured=("accuracy",),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
