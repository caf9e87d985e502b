"""Makes three tables of ddlab/records/tables which lesson 85 shows: what small sets are good for
beside training one student.

python notebooks/studies/at_work.py remembering   # memories of classes that are gone, 5 minutes
python notebooks/studies/at_work.py moving        # networks pre-trained on one kind of image, probed on another, 4 minutes
python notebooks/studies/at_work.py biased        # colours that go with the class, 20 minutes
"""

import dataclasses
import functools
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from study import QUIET, Setting, Study, main_of

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

# ------------------------------------------------------------------------- remembering
OWN_MEMORIES: dict[str, dict[str, Any]] = {
    "random": {"exemplar_step": "none", "start": "random"},
    "herding": {"exemplar_step": "none"},
    "Mnemonics": {},
}
# What an image holds in a memory of one image of each class.
SETS = {"DM": methods.dm, "DSA": methods.dsa, "SRe2L": methods.sre2l, "DWA": methods.dwa}


def settings_of_memories(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each memory."""
    for seed in seeds:
        yield from ((memory, seed) for memory in (*OWN_MEMORIES, *SETS))


@functools.lru_cache(1)
def teacher_of_digits(seed: int) -> Network:
    """Return the teacher of a seed."""
    data = datasets.load("digits")
    return ddlab.train_teacher(
        data, supervised.Config.for_data(data, "teacher", seed=seed), **QUIET
    )


def remembering(memory: str, seed: int) -> tuple[list[float], float, float]:
    """Digits two by two with one image of each digit that is gone: accuracy after each phase, the
    mean forgetting, and seconds of the set and the phases.
    """
    data = datasets.load("digits")
    teacher = teacher_of_digits(seed)
    began = time.process_time()
    distilled = None
    if memory in SETS:
        config = SETS[memory].Config.teaching(images_per_class=1, seed=seed)
        distilled = ddlab.distill(SETS[memory].NAME, data, teacher, config=config, **QUIET)
    phases = mnemonics.Config.teaching(images_per_class=1, **OWN_MEMORIES.get(memory, {}))
    result = class_incremental(distilled, data, config=phases, seeds=(seed,), **QUIET)
    seconds = round(time.process_time() - began, 1)
    return list(result.accuracies), result.mean_forgetting, seconds


# ------------------------------------------------------------------------------ moving
BUDGET: dict[str, Any] = {"budget": unlabelled.BUDGET}
UNLABELLED: dict[str, tuple[Any, Any]] = {
    "real": (representation_selection, representation_selection.Config.teaching(**BUDGET)),
    "KRR-ST": (krr_st, krr_st.Config.teaching(network=unlabelled.NETWORK, **BUDGET)),
    "Boost": (boost, unlabelled.config(seed=0)),
}
TARGETS = ("shapes", "digits")


def settings_of_moves(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each kind of images with each target; the teacher once."""
    for seed in seeds:
        for images in ("untrained", *UNLABELLED):
            yield from ((images, target, seed) for target in TARGETS)
    yield from (("all shapes", target, 0) for target in TARGETS)


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


@functools.lru_cache(4)
def pretrained(images: str, seed: int) -> Network:
    """Return a network that learned a set without labels, or the one with which all begin."""
    if images == "all shapes":
        return unlabelled.teacher()
    method, config = UNLABELLED["real" if images == "untrained" else images]
    inputs = Inputs(data=unlabelled.images(), teachers=(unlabelled.teacher(),), device="cpu")
    distilled = Run(method, config.replace(seed=seed), inputs, keep=NOTHING).to_end()
    set_inputs = Inputs(distilled=distilled, device="cpu")
    training = pretraining.Config.teaching(seed=seed)
    if images == "untrained":
        begin = process.start(pretraining, training, set_inputs)
        return pretraining.finish(training, set_inputs, begin)
    return Run(pretraining, training, set_inputs, keep=NOTHING).to_end()


def moving(images: str, target: str, seed: int) -> float:
    """Networks pre-trained on the floats of twenty shapes: accuracy of a probe on shapes or digits."""
    data = coloured_digits() if target == "digits" else unlabelled.images()
    return probing.probe(pretrained(images, seed), data, device="cpu")


# ------------------------------------------------------------------------------ biased
# The share of images that have the colour of their class; by chance one of ten has.
SHARES = {"nine of ten": 0.9, "half": 0.5, "one of ten": 0.1}
IMAGES = 10  # of each class
COUNT: dict[str, Any] = {"images_per_class": IMAGES}
LABELLED: dict[str, tuple[str, Any]] = {
    "random": ("selection", methods.selection.Config(kind="random", **COUNT)),
    "herding": ("selection", methods.selection.Config(kind="herding", **COUNT)),
    "DM": ("dm", methods.dm.Config.teaching(**COUNT)),
    "DC": ("dc", methods.dc.Config.teaching(networks=5, **COUNT)),
    "MTT": ("mtt", methods.mtt.Config.teaching(**COUNT)),
    "SRe2L": ("sre2l", methods.sre2l.Config.teaching(**COUNT)),
}


def settings_of_colours(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each share of colours that go with the class, and all data and each set."""
    for seed in seeds:
        for colours in SHARES:
            yield from ((images, colours, seed) for images in ("all", *LABELLED))


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


@functools.lru_cache(1)
def coloured_scene(colours: str, seed: int) -> tuple[ImageData, Network]:
    """Return data of a share of colours, and a teacher."""
    data = coloured_shapes(SHARES[colours], seed)
    config = supervised.Config.for_data(data, "teacher", seed=seed)
    return data, ddlab.train_teacher(data, config, **QUIET)


def biased(images: str, colours: str, seed: int) -> tuple[float, ...]:
    """Students of images whose colours go with the class: accuracy with colours as in training, with
    those of other classes, and the share of answers that follow these.
    """
    shapes = datasets.load("shapes", size=16)
    data, network = coloured_scene(colours, seed)
    if images in LABELLED:
        method, config = LABELLED[images]
        distilled = ddlab.distill(method, data, network, config=config.replace(seed=seed), **QUIET)
        training = supervised.Config.for_data(distilled, labels="hard", seed=seed)
        inputs = Inputs(distilled=distilled, device="cpu")
        network = Run(supervised, training, inputs, keep=NOTHING).to_end()
    exchanged = other_labels(shapes.test_labels, seed, "exchanged")
    changed = dataclasses.replace(data, test_images=coloured(shapes.test_images, exchanged))
    as_trained, other = (predicted(network, test) for test in (data, changed))
    return tuple(
        float(share.float().mean())
        for share in (
            as_trained == data.test_labels,
            other == data.test_labels,
            other == exchanged,
        )
    )


def predicted(network: Network, data: ImageData) -> torch.Tensor:
    """Return the predicted class of each test image."""
    return networks.predict(network, data.normalised(split="test")).logits.argmax(1)


STUDIES = (
    Study(
        name="remembering",
        description="Digits (16 px) two by two, one network, one image in memory of each digit that is "
        "gone: accuracy on the digits met after each of five phases, and the mean forgetting. "
        "Mnemonics' teaching preset with other memories; seconds of the set and the five phases.",
        setting=("memory", "seed"),
        measured=("accuracies", "forgotten", "seconds"),
        seeds=range(10),
        settings=settings_of_memories,
        measure=remembering,
    ),
    Study(
        name="moving",
        description="Networks (ConvNet-3 of widths 16, 32 and 64) pre-trained without labels on the "
        "floats of twenty images of shapes (16 px), and a linear probe of them on shapes and on "
        "digits in three equal channels.",
        setting=("images", "target", "seed"),
        measured=("accuracy",),
        seeds=range(10),
        settings=settings_of_moves,
        measure=moving,
    ),
    Study(
        name="biased",
        description="Shapes (16 px) in grey times a colour; nine of ten, half or one of ten (chance) have "
        "the colour of their class. Ten images of each class. Test accuracy with colours as in "
        "training, with the colour of another class, and the share of predictions that follow "
        "this colour.",
        setting=("images", "colours", "seed"),
        measured=("as_trained", "exchanged", "followed"),
        seeds=range(5),
        settings=settings_of_colours,
        measure=biased,
    ),
)

if __name__ == "__main__":
    main_of(STUDIES)
