"""Makes ddlab/records/tables/labelled_sets.json: networks that were pre-trained on sets made with
labels, by the probe of lesson 40.

python notebooks/studies/labelled_sets.py            # ten minutes
"""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from study import Setting, Study

import ddlab
from ddlab.lessons.bases import unlabelled
from ddlab.methods import dm, dsa, selection

PER_CLASS = 2  # of ten classes: twenty images, like the sets without labels
METHODS: dict[str, tuple[Any, Any]] = {
    "random real": (selection, selection.Config()),
    "DM": (dm, dm.Config.teaching()),
    "DSA": (dsa, dsa.Config.teaching(networks=20)),
}


def settings(seeds: Iterable[int]) -> Iterator[Setting]:
    """Each kind of images."""
    for seed in seeds:
        yield from ((images, seed) for images in METHODS)


def measure(images: str, seed: int) -> float:
    """Return the accuracy of a linear probe."""
    data = unlabelled.images()
    method, config = METHODS[images]
    config = config.replace(images_per_class=PER_CLASS, seed=seed)
    distilled = ddlab.distill(method, data, config=config, device="cpu", progress=False)
    targets = torch.nn.functional.one_hot(distilled.labels, data.classes).float()
    return unlabelled.probe_score(data, distilled.images, targets - 1 / data.classes, seed=seed)


STUDY = Study(
    name="labelled_sets",
    description="Boost, Tables 1 and 2. Shapes at 16 px: a network learns twenty images, two of each "
    "class, with their class labels (centred one-hot targets, squared error, 300 epochs), and a "
    "linear probe measures its features. DM and DSA are their teaching presets (DSA with 20 "
    "networks). A seed is every draw; real images with a teacher's vectors are in the record "
    "unlabelled_sets.",
    setting=("images", "seed"),
    measured=("accuracy",),
    seeds=range(10),
    settings=settings,
    measure=measure,
)

if __name__ == "__main__":
    STUDY.main()
