"""Makes three tables of ddlab/records/tables which lesson 85 shows: what small sets are good for
beside training one student.

python notebooks/studies/at_work.py remembering   # memories of classes that are gone, 5 minutes
python notebooks/studies/at_work.py moving        # networks pre-trained on one kind of image, probed on another, 4 minutes
python notebooks/studies/at_work.py biased        # colours that go with the class, 20 minutes
"""

import dataclasses
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch
from table import save

import ddlab
from ddlab import data as datasets
from ddlab import methods, networks
from ddlab.core import randomness
from ddlab.data import ImageData
from ddlab.evaluation import class_incremental
from ddlab.lessons.bases import unlabelled
from ddlab.methods import boost, krr_st, mnemonics, representation_selection
from ddlab.networks import Network
from ddlab.runs import NOTHING, Inputs, Run, process
from ddlab.training import supervised
from ddlab.unlabelled import pretraining, probing

Rows = Iterator[list[Any]]
SEEDS = range(10)
QUIET: dict[str, Any] = {"device": "cpu", "progress": False}

# ------------------------------------------------------------------------- remembering
OWN_MEMORIES: dict[str, dict[str, Any]] = {
    "random": {"exemplar_step": "none", "start": "random"},
    "herding": {"exemplar_step": "none"},
    "Mnemonics": {},
}
SETS = {"DM": methods.dm, "DSA": methods.dsa, "SRe2L": methods.sre2l, "DWA": methods.dwa}
# What an image holds in a memory of one image of each class.
REMEMBERED = ["memory", "seed", "accuracies", "forgotten", "seconds"]


def remembering() -> Rows:
    """Digits two by two with one image of each digit that is gone: accuracy after each phase."""
    data = datasets.load("digits")
    for seed in SEEDS:
        teacher = ddlab.train_teacher(
            data, supervised.Config.for_data(data, "teacher", seed=seed), **QUIET
        )
        for memory in (*OWN_MEMORIES, *SETS):
            began = time.process_time()
            distilled = None
            changes = OWN_MEMORIES.get(memory, {})
            if memory in SETS:
                config = SETS[memory].Config.teaching(images_per_class=1, seed=seed)
                distilled = ddlab.distill(SETS[memory].NAME, data, teacher, config=config, **QUIET)
            phases = mnemonics.Config.teaching(images_per_class=1, **changes)
            result = class_incremental(distilled, data, config=phases, seeds=(seed,), **QUIET)
            accuracies = [round(accuracy, 4) for accuracy in result.accuracies]
            yield [
                memory,
                seed,
                accuracies,
                round(result.mean_forgetting, 4),
                round(time.process_time() - began, 1),
            ]


# ------------------------------------------------------------------------------ moving
MOVED = ["images", "target", "seed", "accuracy"]


def coloured_digits() -> ImageData:
    """Digits in the three equal channels that a network of shapes expects."""
    digits = datasets.load("digits")
    images = {
        f"{split}_images": getattr(digits, f"{split}_images").repeat(1, 3, 1, 1)
        for split in ("train", "test")
    }
    return dataclasses.replace(
        digits, name="digits-16-rgb", mean=digits.mean.repeat(3), std=digits.std.repeat(3), **images
    )


def moving() -> Rows:
    """Networks pre-trained without labels on the floats of twenty images of shapes, probed on both."""
    shapes = unlabelled.images()
    targets = {"shapes": shapes, "digits": coloured_digits()}
    inputs = Inputs(data=shapes, teachers=(unlabelled.teacher(),), device="cpu")
    budget: dict[str, Any] = {"budget": unlabelled.BUDGET}
    for seed in SEEDS:
        configs = {
            "real": (
                representation_selection,
                representation_selection.Config.teaching(seed=seed, **budget),
            ),
            "KRR-ST": (
                krr_st,
                krr_st.Config.teaching(network=unlabelled.NETWORK, seed=seed, **budget),
            ),
            "Boost": (boost, unlabelled.config(seed=seed)),
        }
        for name, network in pretrained(configs, inputs, seed).items():
            for target, data in targets.items():
                yield [name, target, seed, round(probing.probe_once(network, data, seed), 4)]
    for target, data in targets.items():
        yield ["all shapes", target, 0, round(probing.probe_once(unlabelled.teacher(), data, 0), 4)]


def pretrained(
    configs: dict[str, tuple[Any, Any]], inputs: Inputs, seed: int
) -> dict[str, Network]:
    """Return a network for each set, and the one with which all of them begin."""
    learned: dict[str, Network] = {}
    training = pretraining.Config.teaching(seed=seed)
    for name, (method, config) in configs.items():
        set_inputs = Inputs(
            distilled=Run(method, config, inputs, keep=NOTHING).to_end(), device="cpu"
        )
        if not learned:
            begin = process.start(pretraining, training, set_inputs)
            learned["untrained"] = pretraining.finish(training, set_inputs, begin)
        learned[name] = Run(pretraining, training, set_inputs, keep=NOTHING).to_end()
    return learned


# ------------------------------------------------------------------------------ biased
# The share of images that have the colour of their class; by chance one of ten has.
SHARES = {"nine of ten": 0.9, "half": 0.5, "one of ten": 0.1}
FEWER = range(5)
IMAGES = 10  # of each class
BIASED = ["images", "colours", "seed", "as_trained", "exchanged", "followed"]


def colour_of(label: torch.Tensor, classes: int) -> torch.Tensor:
    """Return the colour of a class, three factors of brightness [n, 3]."""
    angle = 2 * torch.pi * label / classes
    shift = torch.tensor([0.0, 2.0, 4.0]) * torch.pi / 3
    return 0.5 + 0.5 * torch.cos(angle[:, None] + shift)


def coloured(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return images whose light has the colour of these labels, as bytes."""
    grey = images.float().mean(1, keepdim=True)
    return (grey * colour_of(labels, 10)[:, :, None, None]).round().to(torch.uint8)


def other_labels(labels: torch.Tensor, seed: int, stream: str) -> torch.Tensor:
    """Return another class for each label, drawn anew."""
    draws = randomness.generator(seed, 0, stream)
    return (labels + torch.randint(1, 10, labels.shape, generator=draws)) % 10


def coloured_shapes(share: float, seed: int) -> ImageData:
    """Shapes of 16 px; a share of them has the colour of its class, the others that of another one."""
    shapes = datasets.load("shapes", size=16)
    images = {}
    for split in ("train", "test"):
        labels = getattr(shapes, f"{split}_labels")
        goes = (
            torch.rand(labels.shape, generator=randomness.generator(seed, 0, f"{split} goes"))
            < share
        )
        colours = torch.where(goes, labels, other_labels(labels, seed, f"{split} colours"))
        images[f"{split}_images"] = coloured(getattr(shapes, f"{split}_images"), colours)
    return ImageData(
        name="shapes-16-coloured",
        class_names=shapes.class_names,
        train_labels=shapes.train_labels,
        test_labels=shapes.test_labels,
        **images,
    )


def biased() -> Rows:
    """Students of images whose colours go with the class, tested with the colours of other classes."""
    shapes = datasets.load("shapes", size=16)
    count = {"images_per_class": IMAGES}
    for seed in FEWER:
        exchanged = other_labels(shapes.test_labels, seed, "exchanged")
        for words, share in SHARES.items():
            data = coloured_shapes(share, seed)
            teacher = ddlab.train_teacher(
                data, supervised.Config.for_data(data, "teacher", seed=seed), **QUIET
            )
            configs = {
                "random": (
                    "selection",
                    methods.selection.Config(kind="random", seed=seed, **count),
                ),
                "herding": (
                    "selection",
                    methods.selection.Config(kind="herding", seed=seed, **count),
                ),
                "DM": ("dm", methods.dm.Config.teaching(seed=seed, **count)),
                "DC": ("dc", methods.dc.Config.teaching(seed=seed, networks=5, **count)),
                "MTT": ("mtt", methods.mtt.Config.teaching(seed=seed, **count)),
                "SRe2L": ("sre2l", methods.sre2l.Config.teaching(seed=seed, **count)),
            }
            students = {"all": teacher}
            for name, (method, config) in configs.items():
                distilled = ddlab.distill(method, data, teacher, config=config, **QUIET)
                training = supervised.Config.for_data(distilled, labels="hard", seed=seed)
                students[name] = Run(
                    supervised, training, Inputs(distilled=distilled, device="cpu"), keep=NOTHING
                ).to_end()
            changed = dataclasses.replace(data, test_images=coloured(shapes.test_images, exchanged))
            for name, network in students.items():
                as_trained, other = (predicted(network, images) for images in (data, changed))
                shares = [
                    (as_trained == data.test_labels),
                    (other == data.test_labels),
                    (other == exchanged),
                ]
                yield [
                    name,
                    words,
                    seed,
                    *(round(float(share.float().mean()), 4) for share in shares),
                ]


def predicted(network: Network, data: ImageData) -> torch.Tensor:
    """Return the predicted class of each test image."""
    return networks.predict(network, data.normalised(split="test")).logits.argmax(1)


TABLES = {
    "remembering": (
        remembering,
        REMEMBERED,
        "Digits (16 px) two by two, one network, one image in memory of each digit that is gone: accuracy on the digits "
        "met after each of five phases, and the mean forgetting. Mnemonics' teaching preset with other memories; "
        "seconds of the set and the five phases.",
    ),
    "moving": (
        moving,
        MOVED,
        "Networks (ConvNet-3 of widths 16, 32 and 64) pre-trained without labels on the floats of twenty images of shapes (16 px), "
        "and a linear probe of them on shapes and on digits in three equal channels.",
    ),
    "biased": (
        biased,
        BIASED,
        "Shapes (16 px) in grey times a colour; nine of ten, half or one of ten (chance) have the colour of their class. "
        "Ten images of each class. Test accuracy with colours as in training, with the colour of another class, "
        "and the share of predictions that follow this colour.",
    ),
}


def main() -> None:
    """Compute and save."""
    torch.set_num_threads(1)
    name = sys.argv[1]
    make, columns, description = TABLES[name]
    began = time.process_time()
    rows = []
    for row in make():
        rows.append(row)
        print(*row, f"{time.process_time() - began:.0f} s", flush=True)
    seconds = round(time.process_time() - began)
    save(
        name,
        description,
        columns,
        rows,
        command=f"python notebooks/studies/at_work.py {name}",
        threads=1,
        cpu_seconds=seconds,
    )


if __name__ == "__main__":
    main()
