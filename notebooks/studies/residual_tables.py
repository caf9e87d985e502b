"""Makes two tables of ddlab/records/tables that lesson 30 shows of FADRM on generated images: ratios,
merges, sizes, patches, and labels on the way to its student.

python notebooks/studies/residual_tables.py residuals --seeds 0     # also residual_labels

An earlier commit made the tables, the rows of which say what is made again here.
"""

import math
from typing import Any

import torch
from residual_pairs import scene
from study import QUIET, again, fields_of, main_of
from torch import Tensor

import ddlab
from ddlab import methods
from ddlab.distilled import DistilledSet
from ddlab.lessons.data_residuals import entropy
from ddlab.training import supervised

METHODS = {
    "random real images": "selection",
    "SRe2L": "sre2l",
    "FADRM": "fadrm",
    "RDED": "rded",
}
PRECISIONS = {"float32": "single", "bfloat16": "mixed"}
SMALL_BATCHES: dict[str, Any] = {"batch_size": 16}
HALVES: dict[str, Any] = SMALL_BATCHES | {"teacher_statistics": "halves"}
CUTMIX: dict[str, Any] = HALVES | {"mixup_alpha": 0.0, "cutmix_alpha": 1.0}
LABELS: dict[str, tuple[str, dict[str, Any]]] = {
    "class labels": ("hard", {}),
    "stored once": ("stored", {}),
    "for every view": ("online", {}),
    "for every view, batches of 16": ("online", SMALL_BATCHES),
    "the same, teacher in train mode": ("online", HALVES),
    "the same, CutMix": ("online", CUTMIX),
    "the same, learning rate ends at half": ("online", CUTMIX | {"stretch": 2.0}),
}
ARMS = "method images_per_class merge_ratio merges small_size patches precision factor seed"


def image_set(*, method: str, precision: str | None, **fields: Any) -> DistilledSet:
    """Return the images of a method; what does not apply to it is None."""
    data, teacher = scene()
    module = methods.get(METHODS[method])
    shared = {"iterations": 120, "precision": PRECISIONS.get(precision or "")}
    config = module.Config(**fields_of(module, **shared | fields))
    return ddlab.distill(METHODS[method], data, teacher, config, **QUIET)


def accuracy(distilled: DistilledSet, labels: Any, seed: int, **changes: Any) -> float:
    """Return the accuracy of a student."""
    data, teacher = scene()
    config = supervised.Config.quick(data, network=teacher.spec, epochs=100).replace(**changes)
    named = ddlab.from_images(distilled.images, distilled.labels, data, teacher)
    return ddlab.evaluate(
        named, data, labels=labels, teacher=teacher, config=config, seeds=(seed,), **QUIET
    ).mean


def miller_madow(images: Tensor) -> Tensor:
    """Return what is added to the entropy of each image's histograms, uint8 [n, c, h, w] -> [n] bits.

    It is the correction of Miller (1955): a histogram of few numbers has too little entropy.
    """
    pixels = images.shape[2] * images.shape[3]
    values = torch.tensor(
        [[len(channel.unique()) for channel in image] for image in images], dtype=torch.float64
    )
    return (values.mean(1) - 1) / (2 * pixels * math.log(2))


def residuals(*, seed: int, **fields: Any) -> tuple[float, ...]:
    """Accuracy with class labels and with online ones, bits of the pixels, contrast of the images."""
    distilled = image_set(seed=seed, **fields)
    pixels = distilled.to_uint8()
    bits = (entropy.pixel_entropy(pixels) + miller_madow(pixels)).mean()
    return (
        accuracy(distilled, "hard", seed),
        accuracy(distilled, "online", seed),
        float(bits),
        float(distilled.images.std((1, 2, 3)).mean()),
    )


def residual_labels(*, labels: str, seed: int, **fields: Any) -> float:
    """A student by each kind of labels."""
    kind, changes = LABELS[labels]
    return accuracy(image_set(seed=seed, **fields), kind, seed, **changes)


STUDIES = (
    again("residuals", ARMS, "hard online pixel_entropy contrast", 5, residuals),
    again("residual_labels", f"labels {ARMS}", "accuracy", 5, residual_labels),
)

if __name__ == "__main__":
    main_of(STUDIES)
